"""Where two distributions differ: cell by cell, with the error of each difference."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa

from kernelease.analysis.comparisons.contingency import ContingencyTable, contingency_tables
from kernelease.analysis.comparisons.mean_embedding import count_deviation
from kernelease.analysis.comparisons.sample import SampleRows
from kernelease.analysis.estimate import Target
from kernelease.analysis.marginal import tabulation
from kernelease.analysis.plots import difference_chart
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.table.columns.column import Column
from kernelease.table.schema import Schema


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One cell: its share in the release and in the sample (or another release), and the error of the difference."""

    columns: str
    cell: str
    release: float
    other: float
    standard_error: float

    @property
    def value(self) -> float:
        """Release minus the other."""
        return self.release - self.other

    @property
    def z(self) -> float:
        """The difference in units of its standard error."""
        return self.value / self.standard_error if self.standard_error > 0.0 else 0.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """Signed differences of all cells of some columns: positive where the release has more.

    For a table the shares come from the noisy counts, combined over all blocks that hold the column. Of m cells about
    one in twenty is beyond two standard errors by chance alone: for a verdict, test.
    """

    differences: tuple[Difference, ...]

    def top(self, count: int = 10) -> tuple[Difference, ...]:
        """The cells that differ most, in units of their error."""
        return tuple(sorted(self.differences, key=lambda one: -abs(one.z))[:count])

    def to_arrow(self) -> pa.Table:
        """All of them as a table."""
        names = ("columns", "cell", "release", "other", "value", "standard_error", "z")
        return pa.table({name: [getattr(one, name) for one in self.differences] for name in names})

    def plot(self, columns: str | None = None) -> Any:
        """An Altair chart of the differences with bars of two standard errors. Needs the extra `plot`."""
        chosen = [one for one in self.differences if columns in (None, one.columns)]
        if not chosen:
            raise ParameterError(f"witness: there is no {columns!r}; there are {self._names()}.")
        return difference_chart(chosen)

    def __str__(self) -> str:
        lines = [f"{one.columns} {one.cell}: {one.value:+.4f} ± {2 * one.standard_error:.4f}" for one in self.top(5)]
        return "\n".join(lines)

    def _names(self) -> str:
        return ", ".join(dict.fromkeys(one.columns for one in self.differences))


def table_witness(
    noisy: NoisyBlocks,
    schema: Schema,
    sample: SampleRows,
    *,
    columns: Sequence[str] | None = None,
    target: Target = Target.POPULATION,
) -> Witness:
    """A release beside a sample: of every column that both have, or of the joint cells of the columns named."""
    present = sample.columns or frozenset(range(len(schema)))
    units, per_person = sample.units, np.bincount(sample.persons)
    weights = 1.0 / (units * per_person[sample.persons])
    found: list[Difference] = []
    for one in _chosen(noisy, schema, present, columns):
        cells = [groups[sample.rows[:, column]] for column, groups in zip(one.columns, one.groups, strict=True)]
        flat = np.ravel_multi_index(cells, one.counts.shape)
        other = np.asarray(np.bincount(flat, weights, minlength=one.counts.size), dtype=np.float64)
        error = _squared_error(one, noisy, target) + other * (1.0 - other) / max(1, units - 1)
        found += _differences(one, schema, one.counts.ravel() / noisy.rows, other, np.sqrt(error))
    return Witness(differences=tuple(found))


def release_witness(
    one: NoisyBlocks,
    two: NoisyBlocks,
    schema: Schema,
    *,
    columns: Sequence[str] | None = None,
    target: Target = Target.POPULATION,
) -> Witness:
    """Two releases of tables with the same columns."""
    others = contingency_tables(two)
    found: list[Difference] = []
    for here in _chosen(one, schema, frozenset(range(len(schema))), columns):
        there = others.get(here.key)
        if there is None:
            continue
        there = _completed(there, two)
        error = _squared_error(here, one, target) + _squared_error(there, two, target)
        shares = here.counts.ravel() / one.rows, there.counts.ravel() / two.rows
        found += _differences(here, schema, *shares, np.sqrt(error))
    if not found:
        raise ParameterError("witness: the releases counted no columns in the same cells.")
    return Witness(differences=tuple(found))


def vector_witness(noisy: NoisyEmbedding, points: Any, sample: Any, *, target: Target = Target.POPULATION) -> Witness:
    """f(z) = ⟨φ(z), μ̃ − ν̂⟩ at given points, each up to noise and sampling."""
    at, rows = noisy.feature_map.evaluate(points), noisy.feature_map.evaluate(sample)
    inner = rows @ at.T  # (n, points)
    release, other = at @ noisy.mean, inner.mean(axis=0)
    variance = inner.var(axis=0, ddof=1) if len(rows) > 1 else np.zeros(len(at))
    sampling = 1.0 / len(rows) + (1.0 / noisy.rows if target is Target.POPULATION else 0.0)
    error = np.sqrt(noisy.sigma**2 * np.einsum("mf,mf->m", at, at) + variance * sampling)
    return Witness(
        differences=tuple(
            Difference(
                columns="point",
                cell=", ".join(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in point),
                release=float(a),
                other=float(b),
                standard_error=float(e),
            )
            for point, a, b, e in zip(np.asarray(points).tolist(), release, other, error, strict=True)
        )
    )


def _chosen(
    noisy: NoisyBlocks, schema: Schema, present: frozenset[int], columns: Sequence[str] | None
) -> list[ContingencyTable]:
    """The tables to show, each in the cells where it was counted most finely."""
    wanted = (
        [(index,) for index in sorted(present)]
        if columns is None
        else [tuple(sorted(schema.names.index(schema.column(name).name) for name in columns))]
    )
    tables = contingency_tables(noisy, among=present, every_round=True).values()
    chosen = []
    for indices in wanted:
        candidates = [one for one in tables if one.columns == indices]
        if candidates:
            finest = max(candidates, key=lambda one: (one.counts.size, -one.variance))
            chosen.append(_completed(finest, noisy))
        elif columns is not None:
            raise ParameterError(f"witness: {' and '.join(columns)} were not counted together, or not in both.")
    return chosen


def _completed(one: ContingencyTable, noisy: NoisyBlocks) -> ContingencyTable:
    """Centred counts as counts, with all that was measured; the variance is the largest of a count."""
    if not one.centred:
        return one
    cells = dict(zip(one.columns, one.groups, strict=True))
    found = tabulation(noisy).aligned(one.columns, cells)
    assert found is not None  # the table itself is one of the marginal's views
    return dataclasses.replace(
        one, counts=found.counts.reshape(found.shape), variance=float(found.variances().max()), centred=False
    )


def _squared_error(one: ContingencyTable, noisy: NoisyBlocks, target: Target) -> Floats:
    """Of the shares of a release: noise, an estimated number of rows, and the sampling of its table."""
    shares = np.clip(one.counts.ravel() / noisy.rows, 0.0, 1.0)
    error = one.variance / noisy.rows**2 + (count_deviation(noisy) * shares) ** 2
    if target is Target.POPULATION:
        error = error + shares * (1.0 - shares) / noisy.rows
    return np.asarray(error, dtype=np.float64)


def _differences(one: ContingencyTable, schema: Schema, here: Floats, there: Floats, error: Floats) -> list[Difference]:
    labels = [_labels(schema.columns[c], groups) for c, groups in zip(one.columns, one.groups, strict=True)]
    name = " × ".join(schema.names[column] for column in one.columns)
    cells = np.stack(np.unravel_index(np.arange(one.counts.size), one.counts.shape), axis=1)
    return [
        Difference(
            columns=name,
            cell=" × ".join(label[index] for label, index in zip(labels, cell, strict=True)),
            release=float(a),
            other=float(b),
            standard_error=float(e),
        )
        for cell, a, b, e in zip(cells, here, there, error, strict=True)
    ]


def _labels(column: Column, groups: Any) -> list[str]:
    """A label for each cell: its only atom's, or the first and last of several."""
    atoms, labels = column.labels(), []
    for cell in range(int(groups.max()) + 1):
        members = np.flatnonzero(groups == cell)
        first, last = atoms[members[0]], atoms[members[-1]]
        labels.append(first if len(members) == 1 else f"{first} to {last}")
    return labels
