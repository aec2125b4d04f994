"""What a release says about a private table, or some of its rows, and which questions it can answer."""

import datetime
import hashlib
import html
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from kernelease.analysis.estimands import (
    NUMERIC,
    InCell,
    Indicator,
    Integrand,
    Through,
    cell_label,
    parse_condition,
    single_valued,
)
from kernelease.analysis.estimate import Target, align
from kernelease.analysis.inference import CONFIDENCE, critical_value
from kernelease.analysis.inside import Unevenness, hidden_places, meant_rows
from kernelease.analysis.representatives import (
    LEAST,
    YEAR,
    CellValues,
    Representatives,
    atom_numbers,
    cell_values,
    few,
    representatives,
    weigh_atoms,
)
from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.estimate.marginal import (
    DOUBT,
    BlockCounts,
    ConditionalMarginal,
    Flags,
    Marginal,
    Tabulation,
    tabulation,
)
from kernelease.estimate.products import Moments, moments_of
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.embeddings import NoisyEmbedding, NoisyEmbeddings
from kernelease.measured.measured import Measured
from kernelease.measured.views import common_coarsening
from kernelease.privacy.sensitivity import Neighbours
from kernelease.table.columns.column import MOST_ATOMS, NULL_LABEL, Column
from kernelease.table.columns.listed import Boolean, Hierarchy, Listed
from kernelease.table.derived import text_of
from kernelease.table.expressions.logic import Compared, Condition, Leaf, Missing
from kernelease.table.expressions.terms import Literal
from kernelease.table.schema import Schema

# --------------------
# The rows that a question is about: a condition as flags of cells, and what was counted of such rows.


MOST_CUT = 0.25  # of the rows that are meant: with more of them in doubt, nothing is linear in them


def conditional_marginals(
    evidence: "Evidence", noisy: NoisyBlocks, chosen: Indicator, columns: tuple[int, ...]
) -> tuple[Marginal, ...]:
    """What was measured of some columns among the rows that fulfil a condition, by each round that did.

    All columns of the condition must have been counted together with them. A round whose cells it cuts through is left
    out where another is not cut. Else it is in doubt which rows of the cut cells are meant; with many of them, it is
    refused.
    """
    declared = evidence.schema.columns
    own = {index for index, column in enumerate(declared) if column.name in chosen.columns}
    measured = tabulation(noisy).marginals(tuple(sorted(own | set(columns))))
    found = [(whole, _values(evidence, chosen, whole)) for whole in measured]
    exact = [one for one in found if one[1].exact]
    flags = [_flags(evidence, chosen, *one) for one in exact or found]
    if found and not exact:
        _refuse_vague(declared, *found[0], chosen, flags[0])
    return tuple(ConditionalMarginal(one[0], columns, own) for one, own in zip(exact or found, flags, strict=True))


def _refuse_vague(
    declared: Sequence[Column], marginal: Marginal, functions: CellValues, chosen: Indicator, flags: Flags
) -> None:
    """Where too many of the rows may or may not be meant, an answer to first order in them would not hold."""
    rows = np.maximum(marginal.counts, 0.0)
    doubted = float(rows @ flags.slack) + DOUBT * math.sqrt(float(flags.variance.sum()))
    if doubted > MOST_CUT * float(rows @ flags.meant):
        raise ParameterError(_cut_message(declared, marginal, functions, chosen))


def _axes_of(
    declared: Sequence[Column], chosen: Indicator, marginal: Marginal
) -> list[tuple[int, Column, Representatives, Integers]]:
    """The columns of the condition: place in the marginal, representatives, and the cell of each atom."""
    every = zip((declared[index] for index in marginal.columns), marginal.groups, strict=True)
    return [
        (place, column, representatives(column, chosen.conditions), groups)
        for place, (column, groups) in enumerate(every)
        if column.name in chosen.columns
    ]


def _values(evidence: "Evidence", chosen: Indicator, marginal: Marginal) -> CellValues:
    """Whether rows are meant, in the cells of the condition's columns."""
    axes = []
    for place, column, points, groups in _axes_of(evidence.schema.columns, chosen, marginal):
        index = marginal.columns[place]
        held = weigh_atoms(points, evidence.shares(index) + LEAST, hidden_places(evidence, index, groups))
        axes.append((column.name, few(held, column, groups, chosen.conditions), groups))
    return cell_values(axes, chosen, None)


def _flags(evidence: "Evidence", chosen: Indicator, marginal: Marginal, functions: CellValues) -> Flags:
    """The share of each cell's rows that are meant, and how far off it may be."""
    declared = evidence.schema.columns
    sizes = [
        size if declared[index].name in chosen.columns else 1
        for index, size in zip(marginal.columns, marginal.shape, strict=True)
    ]

    def over(values: Floats) -> Floats:
        return np.broadcast_to(values.reshape(sizes), marginal.shape).ravel()

    return meant_rows(evidence, marginal, functions, chosen.conditions, over)


def _cut_message(declared: Sequence[Column], marginal: Marginal, functions: CellValues, chosen: Indicator) -> str:
    """Which cell the condition cuts through, and what to ask instead."""
    axes = _axes_of(declared, chosen, marginal)
    far = int(np.argmax(functions.greatest(0.0)[0] - functions.least(0.0)[0]))
    place = np.unravel_index(far, [int(groups.max()) + 1 for _, _, _, groups in axes])
    cells = [
        (column, points, np.flatnonzero(groups == cell))
        for (_, column, points, groups), cell in zip(axes, place, strict=True)
    ]
    through = [one for one in cells if _varies(*one, chosen)] or cells
    told = " and ".join(f"{column.name} {cell_label(column, atoms.tolist())}" for column, _, atoms in through)
    together = ", ".join(declared[index].name for index in marginal.columns)
    return (
        f"condition: it cuts through {told}, one cell of what was counted of {together}, and many of its rows are "
        "there. Ask with a condition at the ends of cells, so that all rows of a cell are meant or none."
    )


def _varies(column: Column, points: Representatives, atoms: Integers, chosen: Indicator) -> bool:
    """Whether a test of this column alone has several outcomes in a cell."""
    inside = np.isin(points.atoms, atoms)
    table = pa.table({column.name: points.values.filter(pa.array(inside))})
    leaves = [leaf for part in chosen.conditions for leaf in part.leaves() if leaf.names == (column.name,)]
    return any(len(set(leaf.test(table).to_pylist())) > 1 for leaf in leaves)


# --------------------
# What to say when the columns of a question were not measured together.


MOST_NAMED = 6  # sets of columns that a message lists


def _measured_together(names: Sequence[str], missing: set[int], sets: set[tuple[int, ...]]) -> str:
    """The sets of as many columns that were measured, those that share most with the missing one first."""
    large = [one for one in sets if len(one) >= min(3, len(missing))]
    if not large:
        return " Only single columns and pairs were." if len(missing) > 2 else ""
    nearest = sorted(large, key=lambda one: (-len(missing & set(one)), len(one), one))
    more = f", and {len(large) - MOST_NAMED} more" if len(large) > MOST_NAMED else ""
    return f" Measured together were {'; '.join(_list_names(names, one) for one in nearest[:MOST_NAMED])}{more}."


def _list_names(names: Sequence[str], columns: Iterable[int]) -> str:
    return ", ".join(names[index] for index in sorted(columns))


# --------------------
# The evidence itself: all measured blocks of a release, and what follows from them.


USABLE = 0.25  # of the count: half the length of a usable 95 % interval
LOOKED_AT = 5  # cells of a marginal whose noise is computed: all have nearly the same
EVERYBODY = Indicator(())
KEPT = 512  # marginals of chosen rows that stay at hand: those of a few questions by group
HEADER = ("columns", "cells", "noise of a count", "smallest usable group")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Declared columns, what was measured of them with known noise, and synthetic rows where there are any.

    `target` says whose value is asked for, and `chosen` which rows are meant: all counts, weights and totals are of
    those. Answers come from the measurements; the rows only say where within its limits an answer that was not
    measured is likely to be.
    """

    schema: Schema
    measured: Measured
    rows: pa.Table | None = None
    weights: Floats | None = None
    target: Target = Target.TABLE
    chosen: Indicator = EVERYBODY
    _kept: dict[tuple[Indicator, tuple[int, ...]], tuple[Marginal, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    uneven: dict[Marginal, Unevenness] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # known so far
    _shares: dict[int, Floats] = field(default_factory=dict, init=False, repr=False, compare=False)  # of columns
    _everybody: "Evidence | None" = field(default=None, init=False, repr=False, compare=False)  # where rows are chosen

    def within(self, chosen: Indicator) -> "Evidence":
        """What is said about the rows that fulfil conditions, in place of all rows.

        Where these cut through cells, `answer_estimate` and `answer_model` count the rows in doubt; nothing else does.
        """
        if not chosen.parts:
            return self
        weights = None if self.rows is None or self.weights is None else self.weights * chosen.of(self.rows)
        some = weights is not None and bool(np.any(weights > 0.0))
        rows = replace(self, chosen=chosen, rows=self.rows if some else None, weights=weights if some else None)
        object.__setattr__(rows, "_kept", self._kept)  # of the same measurements: the next question finds it
        object.__setattr__(rows, "_everybody", self.everybody)
        return rows

    @property
    def everybody(self) -> "Evidence":
        """What is said about all rows."""
        return self._everybody or self

    @property
    def total(self) -> float:
        """Rows, or persons: public, or a noisy count."""
        if not self.chosen.parts:
            return self.measured.rows
        counted = self.marginals(self.positions(self.chosen.columns))
        return max(1.0, float(counted[0].counts.sum())) if counted else 1.0

    @property
    def public_total(self) -> bool:
        """Whether `total` is known without noise."""
        return self.measured.neighbours is Neighbours.REPLACE_ONE and not self.chosen.parts

    @property
    def has_counts(self) -> bool:
        """Whether columns were counted, so that answers come from counts."""
        return isinstance(self.measured, NoisyBlocks)

    @property
    def embedding(self) -> NoisyEmbedding | None:
        """The noisy mean of features, where one was measured."""
        return self.measured.embedding if isinstance(self.measured, NoisyEmbeddings) else None

    def column(self, name: str) -> Column:
        """A declared column, or an error that suggests one."""
        return self.schema.column(name)

    def where(self, text: str | None) -> Indicator:
        """A condition in words, as a function of rows; None holds for all of them."""
        return EVERYBODY if text is None else Indicator((parse_condition(text, self.schema, self.schema.structure),))

    def groups(self, name: str, *sets: Iterable[str]) -> list[tuple[str, Condition]]:
        """The label and the condition of each value of a column; of numbers and dates, each cell.

        Cells are as fine as the column was measured together with each of some sets of columns; thousands of values in
        groups are told by group. The values of a derived column are groups of those of the measured column that says
        them.
        """
        if name in self.schema.structure.derivations:
            return self._derived_groups(name)
        column, index = self.column(name), self.schema.names.index(name)
        cells: Integers = np.arange(column.size)
        if isinstance(column, Hierarchy) and column.size > MOST_ATOMS:  # too many to tell one by one
            cells = column.atom_groups
        for one in sets:
            if measured := self.marginals(self.positions({name, *one})):
                theirs = measured[0].groups[measured[0].columns.index(index)]
                cells = common_coarsening(cells, theirs)[0][cells]
        ends = np.cumsum(np.bincount(cells))[:-1]
        members = sorted(tuple(own.tolist()) for own in np.split(np.argsort(cells, kind="stable"), ends))
        return [(cell_label(column, atoms), InCell(column=column, atoms=atoms)) for atoms in members]

    def _derived_groups(self, name: str) -> list[tuple[str, Condition]]:
        structure = self.schema.structure
        origins = structure.origins(name)
        origin = self.column(origins[0] if len(origins) == 1 else name)  # several: refused, with their names
        if not single_valued(origin):
            _ = self.column(name)
        column, every = structure.derivations[name].column, pa.table({origin.name: representatives(origin).values})
        values = structure.derive(every, name).to_pylist()
        known = list(dict.fromkeys(value for value in values if value is not None))
        listed = column.labels() if isinstance(column, Listed | Boolean) else ()
        known.sort(key=lambda value: listed.index(text_of(value)) if listed else value)
        missing: list[tuple[str, Leaf]] = [(NULL_LABEL, Missing(column=column))] if None in values else []
        groups = [(text_of(value), Compared(left=column, operator="==", right=_literal(value))) for value in known]
        return [
            (label, Through(leaf=leaf, origin=origin.name, structure=structure)) for label, leaf in (*groups, *missing)
        ]

    def shares(self, index: int) -> Floats:
        """About how the rows are distributed over the atoms of a column: (atoms,).

        By the synthetic rows, out of which the noise is taken as far as it can be; else by what was counted.
        """
        if index not in self._shares:
            self._shares[index] = self._likely(index)
        return self._shares[index]

    def _likely(self, index: int) -> Floats:
        column = self.schema.columns[index]
        if self.rows is not None and self.weights is not None:
            codes = column.encode(self.rows.column(column.name))
            return np.bincount(codes, np.maximum(self.weights, 0.0), minlength=column.size).astype(np.float64)
        finest = self.finest((index,))
        if finest is None:
            return np.ones(column.size)
        return (finest.shares / np.bincount(finest.groups[0]))[finest.groups[0]]

    def positions(self, names: Iterable[str]) -> tuple[int, ...]:
        """Where some columns are in the schema, in its order."""
        wanted = set(names)
        return tuple(index for index, name in enumerate(self.schema.names) if name in wanted)

    @property
    def counts(self) -> Sequence[BlockCounts]:
        """The noisy blocks as plain numbers, in their order."""
        return tabulation(self.measured).counts if isinstance(self.measured, NoisyBlocks) else ()

    def marginals(self, columns: tuple[int, ...]) -> tuple[Marginal, ...]:
        """What was measured of some columns jointly, by each round that did; none where none did."""
        if not isinstance(self.measured, NoisyBlocks):
            return ()
        if self.chosen.parts:
            return self._conditional(self.measured, columns)
        return tabulation(self.measured).marginals(columns)

    def finest(self, columns: tuple[int, ...]) -> Marginal | None:
        """That of the most cells; None where no round measured the columns jointly."""
        return max(self.marginals(columns), key=lambda one: one.size, default=None)

    @property
    def row_shares(self) -> Floats:
        """The weights of the synthetic rows, of which none is below 0, as shares: (rows,)."""
        assert self.weights is not None  # whoever asks has looked
        weights = np.maximum(self.weights, 0.0)
        return np.asarray(weights / weights.sum())

    def _conditional(self, noisy: NoisyBlocks, columns: tuple[int, ...]) -> tuple[Marginal, ...]:
        key = self.chosen, columns
        found = self._kept.pop(key, None)
        if found is None:
            found = conditional_marginals(self.everybody, noisy, *key)
        self._kept[key] = found  # the last to be forgotten
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return found

    @property
    def tabulation(self) -> Tabulation | None:
        """All noisy counts and moments of a table; None where there are none."""
        return tabulation(self.measured) if isinstance(self.measured, NoisyBlocks) else None

    @property
    def moments(self) -> Moments | None:
        """The sums of offsets within cells; None where there are none, or only those of all rows."""
        if isinstance(self.measured, NoisyBlocks) and not self.chosen.parts:
            return moments_of(self.measured)
        return None

    def not_together(self, columns: Iterable[int], what: str, instead: str) -> ParameterError:
        """What to say where some columns, and those of the chosen rows, were not measured together: and a way out."""
        missing, names = {*columns, *self.positions(self.chosen.columns)}, self.schema.names
        known = _measured_together(names, missing, {part.block.columns for part in self.counts})
        rows = " among such rows" if self.chosen.parts else ""
        return ParameterError(
            f"{what}: {_list_names(names, missing)} were not measured together, so nothing says how they go "
            f"together{rows}.{known} {instead}"
        )

    @property
    def fingerprint(self) -> str:
        """A name for the noise of a release: the same whenever the same noisy numbers are read."""
        digest = hashlib.sha256()
        for part in self.counts:
            digest.update(repr((part.block.columns, part.block.shape, part.round)).encode())
            digest.update(np.ascontiguousarray(part.values).tobytes())
        if self.embedding is not None:
            digest.update(np.ascontiguousarray(self.embedding.mean).tobytes())
        return digest.hexdigest()

    def synthetic(self, numerator: Integrand, denominator: Integrand | None) -> float | None:
        """The ratio of the two sums over the synthetic rows; None where these can't say."""
        if self.rows is None or self.weights is None:
            return None
        below = self.weights if denominator is None else self.weights * denominator.of(self.rows)
        total = float(below.sum())
        return float(self.weights @ numerator.of(self.rows)) / total if total > 0.0 else None

    def deviation(self, name: str, label: str = "", function: Callable[[Floats], Floats] | None = None) -> float:
        """The standard deviation of a number or date (in years), or of whether a column has a value; 0 without rows.

        It is that of the synthetic rows: a scale to judge answers by. With a `function`, of that of the numbers.
        """
        if self.rows is None or self.weights is None or name not in self.schema.names:
            return 0.0
        column = self.column(name)
        codes = column.encode(self.rows.column(name))
        if label:
            atom = column.labels().index(label) if label in column.labels() else -1
            values = (codes == atom).astype(np.float64)
        elif column.tag in (*NUMERIC, *YEAR):
            numbers = atom_numbers(column)
            values = (numbers if function is None else function(numbers))[codes]
        else:
            return 0.0
        kept = ~np.isnan(values)
        weights = np.maximum(self.weights, 0.0)[kept]
        if not weights.sum() > 0.0:
            return 0.0
        centre = float(np.average(values[kept], weights=weights))
        return math.sqrt(float(np.average((values[kept] - centre) ** 2, weights=weights)))

    def sample(self) -> pa.Table:
        """A few legal rows, to try a function on."""
        first = np.zeros(2, dtype=np.int64)
        arrays = [column.decode(first, np.random.default_rng(0)) for column in self.schema]
        return pa.Table.from_arrays(arrays, names=list(self.schema.names))

    def numeric(self, name: str, what: str, tags: Sequence[str] = ("integer", "number", "boolean")) -> Column:
        """A column with numbers, or an error that says what it is."""
        column = self.column(name)
        if column.tag not in tags:
            raise ParameterError(f"{what}: column {name!r} is of type {column.tag}; it must be {' or '.join(tags)}.")
        return column


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Answerable:
    """What is known about a column, or about how two go together: from their own finest block, else a larger one.

    `noise` is the standard deviation of the count of one of its `cells`, in rows. `smallest` is how many rows a group
    that is one cell must have for the 95 % interval of its size to reach at most a quarter of it to either side; a
    group of k cells needs √k times as many. All three are None where the columns were not measured together.
    """

    columns: tuple[str, ...]
    cells: int | None
    noise: float | None
    smallest: float | None

    @property
    def is_measured(self) -> bool:
        """Whether the columns were measured, together if there are two."""
        return self.noise is not None

    def share(self, rows: float) -> float | None:
        """`smallest` as a share of all rows."""
        return None if self.smallest is None else self.smallest / rows


@final
@dataclass(frozen=True, slots=True)
class Answers:
    """Every column and every pair of columns of a release; `rows` is how many rows the private table has."""

    rows: float
    items: tuple[Answerable, ...]
    notices: tuple[str, ...] = ()  # what the release can't show at all

    def __getitem__(self, names: str | tuple[str, ...]) -> Answerable:
        wanted = {names} if isinstance(names, str) else set(names)
        for item in self.items:
            if set(item.columns) == wanted:
                return item
        raise KeyError(names)

    def best(self, pairs: int) -> "Answers":
        """Every column, and so many pairs: those that show the smallest groups."""
        ranked = sorted(
            (item for item in self.items if len(item.columns) > 1),
            key=lambda item: math.inf if item.smallest is None else item.smallest,
        )
        return replace(self, items=(*(item for item in self.items if len(item.columns) == 1), *ranked[:pairs]))

    @property
    def lines(self) -> list[tuple[str, str, str, str]]:
        """Columns, cells, noise of a count, smallest group; as text."""
        return [(" × ".join(item.columns), *self._texts_of(item)) for item in self.items]

    def _texts_of(self, item: Answerable) -> tuple[str, str, str]:
        if item.cells is None or item.noise is None or item.smallest is None:
            return "not measured", "-", "-"
        if item.smallest > self.rows:
            return f"{item.cells:,}", f"{item.noise:,.1f}", "none: the noise hides every single cell"
        return f"{item.cells:,}", f"{item.noise:,.1f}", f"{item.smallest:,.0f} rows ({item.smallest / self.rows:.1%})"

    def __str__(self) -> str:
        return "\n".join([*self.notices, *align([HEADER, *self.lines])])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        def row(cells: tuple[str, ...], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row(line, "td") for line in self.lines)
        told = "".join(f"<p><b>{html.escape(notice)}</b></p>" for notice in self.notices)
        return f"{told}<table><thead>{row(HEADER, 'th')}</thead><tbody>{body}</tbody></table>"


def answers(evidence: Evidence) -> Answers:
    """Look through everything that was measured."""
    count = len(evidence.schema)
    sets = [(index,) for index in range(count)] + list(itertools.combinations(range(count), 2))
    return Answers(evidence.total, tuple(_answerable(evidence, columns) for columns in sets))


def _answerable(evidence: Evidence, columns: tuple[int, ...]) -> Answerable:
    names = tuple(evidence.schema.names[index] for index in columns)
    tabulated = evidence.tabulation
    measured = [] if tabulated is None else [part for _, part in tabulated.covering(columns)]
    if not measured:
        return Answerable(columns=names, cells=None, noise=None, smallest=None)
    best = min(measured, key=lambda part: (len(part.block.columns), -math.prod(part.sizes(columns)), part.sigma))
    noise = _deviation(evidence, best, columns)
    factor = critical_value(CONFIDENCE, laplace=best.laplace) / USABLE
    return Answerable(columns=names, cells=math.prod(best.sizes(columns)), noise=noise, smallest=factor * noise)


def _deviation(evidence: Evidence, counts: BlockCounts, columns: tuple[int, ...]) -> float:
    """Standard deviation of the noise of one cell's count, from all blocks of its round: the largest of a few.

    With n cells in the marginal, it is looked for among the first, the last and some between them.
    """
    alone = counts.sigma if counts.block.adds_up else math.inf  # contrasts alone say no count
    own = alone * math.sqrt(counts.block.cells / math.prod(counts.sizes(columns)))
    found = [one for one in evidence.marginals(columns) if any(part is counts for _, part in one.sources)]
    if not found:
        return own
    cells = np.unique(np.linspace(0, found[0].size - 1, LOOKED_AT).round().astype(np.int64))
    functions = [(np.arange(found[0].size) == cell).astype(np.float64) for cell in cells]
    variances = np.diag(found[0].joint(functions)[1])
    return min(own, math.sqrt(max(0.0, float(variances.max()))))


def _literal(value: Any) -> Literal:
    """A value of a derived column as conditions have it: dates are text."""
    text: Literal = value.isoformat() if isinstance(value, datetime.date) else value
    return text
