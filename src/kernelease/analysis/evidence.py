"""What a release says about a private table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.analysis.conditions import InCell, parse_condition
from kernelease.analysis.estimate import Target
from kernelease.analysis.integrand import Integrand, Whether
from kernelease.analysis.marginal import Counts, Marginal, marginals
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.privacy.neighbours import Neighbours
from kernelease.table import Column, Schema
from kernelease.table.expressions import Condition


@final
@unique
class Spread(StrEnum):
    """Where in their cells values lie: anywhere; or as the column's own counts say, else evenly: an assumption."""

    ANY = "any"
    EVEN = "even"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Declared columns, what was measured of them with known noise, and synthetic rows where there are any.

    `target` says whose value is asked for, and `spread` what may be assumed about values within a cell. Answers come
    from the measurements; the rows only say where within its limits an answer that was not measured is likely to be.
    """

    schema: Schema
    total: float  # rows, or persons: public, or a noisy count
    blocks: NoisyBlocks | None = None
    embedding: NoisyEmbedding | None = None
    rows: pa.Table | None = None
    weights: Floats | None = None
    target: Target = Target.TABLE
    spread: Spread = Spread.ANY
    _counts: list[Counts] = field(default_factory=list, repr=False, compare=False)
    _marginals: dict[tuple[int, ...], tuple[Marginal, ...]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def public_total(self) -> bool:
        """Whether `total` is known without noise."""
        measured = self.blocks or self.embedding
        return measured is not None and measured.neighbours is Neighbours.REPLACE_ONE

    def column(self, name: str) -> Column:
        """A declared column, or an error that suggests one."""
        return self.schema.column(name)

    def where(self, text: str | None) -> Whether:
        """A condition in words, as a function of rows; None holds for all of them."""
        return Whether(()) if text is None else Whether((parse_condition(text, self.schema),))

    def groups(self, name: str, others: Iterable[str] = ()) -> list[tuple[str, Condition]]:
        """The label and the condition of each value of a column; of numbers and dates, each cell.

        Cells are as fine as the column was measured together with the other columns.
        """
        column, index = self.column(name), self.schema.names.index(name)
        hosts = self.marginals(self.positions({name, *others}))
        cells = hosts[0].groups[hosts[0].columns.index(index)] if hosts else np.arange(column.size)
        members = sorted(tuple(np.flatnonzero(cells == cell).tolist()) for cell in np.unique(cells))
        labels = column.labels()
        join = _range_label if column.ordered else " or ".join
        return [(join([labels[atom] for atom in atoms]), InCell(column=column, atoms=atoms)) for atoms in members]

    def shares(self, index: int) -> Floats:
        """About how the rows are distributed over the atoms of a column: (atoms,)."""
        hosts = self.marginals((index,))
        if not hosts:
            return np.ones(self.schema.columns[index].size)
        finest = max(hosts, key=lambda host: host.size)
        return (finest.shares / np.bincount(finest.groups[0]))[finest.groups[0]]

    def positions(self, names: Iterable[str]) -> tuple[int, ...]:
        """Where some columns are in the schema, in its order."""
        wanted = set(names)
        return tuple(index for index, name in enumerate(self.schema.names) if name in wanted)

    @property
    def counts(self) -> Sequence[Counts]:
        """The noisy blocks as plain numbers, in their order."""
        if not self._counts and self.blocks is not None:
            self._counts.extend(Counts.of(noisy) for noisy in self.blocks.blocks)
        return self._counts

    def marginals(self, columns: tuple[int, ...]) -> tuple[Marginal, ...]:
        """What was measured of some columns jointly, by each round that did; none where none did."""
        if self.blocks is None:
            return ()
        if columns not in self._marginals:
            self._marginals[columns] = marginals(self.counts, columns, self.total if self.public_total else None)
        return self._marginals[columns]

    def synthetic(self, numerator: Integrand, denominator: Integrand | None) -> float | None:
        """The ratio of the two sums over the synthetic rows; None where these can't say."""
        if self.rows is None or self.weights is None:
            return None
        below = self.weights if denominator is None else self.weights * denominator.of(self.rows)
        total = float(below.sum())
        return float(self.weights @ numerator.of(self.rows)) / total if total > 0.0 else None

    def sample(self) -> pa.Table:
        """A few legal rows, to try a function on."""
        arrays = [column.decode(np.arange(column.size)[:2].repeat(2)[:2], _public()) for column in self.schema]
        return pa.Table.from_arrays(arrays, schema=self.schema.arrow_schema())

    def numeric(self, name: str, what: str, tags: Sequence[str] = ("integer", "number", "boolean")) -> Column:
        """A column with numbers, or an error that says what it is."""
        column = self.column(name)
        if column.tag not in tags:
            raise ParameterError(f"{what}: column {name!r} is of type {column.tag}; it must be {' or '.join(tags)}.")
        return column


def _range_label(labels: list[str]) -> str:
    """One label for neighbouring cells.

    >>> _range_label(["18..20", "21..23"]), _range_label(["0.0", "(0, 1.25)", "[1.25, 2.5)"]), _range_label(["7", "8"])
    ('18..23', '[0.0, 2.5)', '7..8')
    """
    first, last = labels[0], labels[-1]
    if len(labels) == 1:
        return first
    if not any(label.startswith(("[", "(")) for label in labels):
        return f"{first.partition('..')[0]}..{last.rpartition('..')[2]}"
    start = first.partition(", ")[0] if ", " in first else f"[{first}"
    return f"{start}, {last.partition(', ')[2] if ', ' in last else f'{last}]'}"


def _public() -> np.random.Generator:
    return np.random.default_rng(0)
