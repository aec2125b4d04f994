"""A release compared with a sample or another release: whether they differ, how far, and where.

D = μ̃ − ν̂ holds the noise of the release and the sampling error of either side, so ‖D‖² is too large on average by the
sum of their variances, tr V. That sum is known, and is subtracted. Fitted rows take no part in D; they stand only for
the sampling variance of the private table, a term of order 1/N.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa

from kernelease.analysis.comparisons.mean_embedding import (
    ErrorDraws,
    ReleasedMean,
    ScaledScatter,
    Scatter,
    count_deviation,
    draw_errors,
)
from kernelease.analysis.comparisons.tables import ContingencyTable, SampleRows, contingency_tables
from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.inference import DRAWS, ConfidenceLimits, Interval, TestResult, check_draws, wilson_hilferty
from kernelease.analysis.plots import difference_chart
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.estimate.marginal import tabulation
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.seeds import PublicSeed
from kernelease.table.columns.column import Column
from kernelease.table.schema import Schema

# --------------------
# A release beside a sample, or beside another release: the maximum mean discrepancy, and whether it is 0.


_GRID = 400  # lengths at which a test is inverted to an interval


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstSample:
    """A release and the rows of a sample. `fitted` gives synthetic rows, for the sampling variance of the table."""

    released: ReleasedMean
    sample: SampleRows
    fitted: Callable[[], SampleRows]
    seed: int = 0

    def mmd(self, target: Target, draws: int = DRAWS) -> Estimate:
        """Between the private table and the sample, both as they are; or between the populations they came from."""
        scatter = self._scatter(self.sample)
        sampled = [ScaledScatter(scatter=scatter, rate=1.0 / scatter.units)]
        if target is Target.TABLE:
            sampled = []
        else:
            sampled.append(ScaledScatter(scatter=self._scatter(self.fitted()), rate=1.0 / self.released.rows))
        difference = self._difference(scatter)
        error = self._error(sampled, direction_of(difference), draws)
        return mmd_estimate(difference, error, target=target, about="MMD to the sample")

    def test(self, target: Target, draws: int = DRAWS) -> TestResult:
        """Under the hypothesis the private rows vary as those of the sample do: no fitted row is needed."""
        hypothesis = "The sample comes from the distribution of the private table"
        return self._test(hypothesis, 1.0 / self.sample.units, target, draws)

    def goodness(self, target: Target, draws: int = DRAWS) -> TestResult:
        """The same with the rows of the sample as the whole distribution, which has no sampling error."""
        return self._test("The private rows come from the distribution given by these rows", 0.0, target, draws)

    def _test(self, hypothesis: str, of_sample: float, target: Target, draws: int) -> TestResult:
        scatter, of_table = self._scatter(self.sample), 1.0 / self.released.rows if target is Target.POPULATION else 0.0
        difference = self._difference(scatter)
        sampled = [ScaledScatter(scatter=scatter, rate=of_sample + of_table)]
        return _result(hypothesis, difference, self._error(sampled, direction_of(difference), draws))

    def _scatter(self, rows: SampleRows) -> Scatter:
        generator = PublicSeed(self.seed).generator("groups")
        return Scatter.of(rows, [part.coordinates for part in self.released.parts], generator)

    def _difference(self, scatter: Scatter) -> list[Floats]:
        return [part.mean - mean for part, mean in zip(self.released.parts, scatter.means, strict=True)]

    def _error(self, sampled: list[ScaledScatter], direction: list[Floats], draws: int) -> ErrorDraws:
        generator = PublicSeed(self.seed).generator("null")
        return draw_errors([self.released], sampled, direction, generator, draws=check_draws(draws))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstRelease:
    """Two releases, in the coordinates that they share; `fitted` are synthetic rows of each."""

    released: tuple[ReleasedMean, ReleasedMean]
    fitted: tuple[Callable[[], SampleRows], Callable[[], SampleRows]]
    seed: int = 0

    def mmd(self, target: Target, draws: int = DRAWS) -> Estimate:
        """Between the two private tables, or between the populations that they came from."""
        difference = self._difference()
        error = self._error(target, direction_of(difference), draws)
        return mmd_estimate(difference, error, target=target, about="MMD of two releases")

    def test(self, target: Target, draws: int = DRAWS) -> TestResult:
        """Sampling variance by the synthetic rows of each; it matters where the noise is small beside it."""
        difference = self._difference()
        error = self._error(target, direction_of(difference), draws)
        return _result("The two private tables come from one distribution", difference, error)

    def _difference(self) -> list[Floats]:
        one, other = self.released
        return [a.mean - b.mean for a, b in zip(one.parts, other.parts, strict=True)]

    def _error(self, target: Target, direction: list[Floats], draws: int) -> ErrorDraws:
        sampled = []
        if target is Target.POPULATION:
            coordinates = [part.coordinates for part in self.released[0].parts]
            for index, (released, fitted) in enumerate(zip(self.released, self.fitted, strict=True)):
                generator = PublicSeed(self.seed).generator(f"groups {index}")
                scatter = Scatter.of(fitted(), coordinates, generator)
                sampled.append(ScaledScatter(scatter=scatter, rate=1.0 / released.rows))
        generator = PublicSeed(self.seed).generator("null")
        return draw_errors(self.released, sampled, direction, generator, draws=check_draws(draws))


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MmdLimits(ConfidenceLimits):
    """Limits for θ = ‖δ‖ where ‖δ + e‖² was observed and draws of e are at hand.

    A length θ is in the interval unless ‖δ + e‖² = θ² + 2θ⟨e, u⟩ + ‖e‖² would be as far out as the observed number,
    on either side, with probability below half of 1 − level; u is the observed direction.
    """

    observed: float  # ‖D‖²
    error: ErrorDraws  # its direction is D/‖D‖

    def at(self, level: float) -> Interval:
        if not 0.0 < level < 1.0:
            raise ParameterError(f"level must be between 0 and 1, got {level!r}.")
        reach = np.sqrt(self.observed) + 6.0 * np.sqrt(self.error.trace)
        lengths = np.linspace(0.0, float(reach), _GRID + 1)
        lower, upper = (np.empty(_GRID + 1) for _ in range(2))
        tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        for index, length in enumerate(lengths):
            drawn = length**2 + 2.0 * length * self.error.projections + self.error.squares
            lower[index], upper[index] = np.quantile(drawn, tails)
        inside = np.flatnonzero((lower <= self.observed) & (self.observed <= upper))
        if len(inside) == 0:  # closer than noise allows for any length: nothing speaks for more than 0
            return 0.0, float(lengths[1])
        spacing = float(lengths[1])
        return max(0.0, float(lengths[inside[0]]) - spacing), float(lengths[inside[-1]]) + spacing


def mmd_estimate(difference: list[Floats], error: ErrorDraws, *, target: Target, about: str) -> Estimate:
    """‖δ‖ from D = δ + e, part by part, with draws of e: √max(0, ‖D‖² − tr V)."""
    observed = squared_norm(difference)
    squared = observed - error.trace
    value = float(np.sqrt(max(0.0, squared)))
    # Var ‖D‖² = Var(2θ⟨e, u⟩ + ‖e‖²); a length's error is that of its square over 2θ, or its root where θ is nil.
    deviation = float(np.std(2.0 * value * error.projections + error.squares))
    spread = min(deviation / (2.0 * value), np.sqrt(deviation)) if value > 0.0 else np.sqrt(deviation)
    share = error.noise_trace / error.trace if error.trace > 0.0 else 0.0
    remark = (
        "" if squared > 0.0 else "The squared distance is below what noise and sampling alone give: nothing is seen."
    )
    return Estimate(
        value=value,
        parts=Parts(noise=float(spread * np.sqrt(share)), sampling=float(spread * np.sqrt(1.0 - share))),
        limits=MmdLimits(observed=observed, error=error),
        target=target,
        about=about,
        remark=remark,
    )


def direction_of(difference: list[Floats]) -> list[Floats]:
    """D/‖D‖, part by part."""
    norm = np.sqrt(squared_norm(difference))
    return [part / norm if norm > 0.0 else part for part in difference]


def squared_norm(difference: list[Floats]) -> float:
    """‖D‖²."""
    return sum(float(part @ part) for part in difference)


def _result(hypothesis: str, difference: list[Floats], error: ErrorDraws) -> TestResult:
    """The largest of the parts' distances and of their sum, each on one scale, against the same of the draws.

    One kernel alone sees little of a difference that lies in one column of many; taking the largest and drawing the
    null of that very maximum keeps the level, and finds both kinds (as in aggregated MMD tests, Schrab et al. 2023).
    """
    observed = np.array([float(part @ part) for part in difference])
    squares = np.vstack([observed, error.part_squares])
    scores = wilson_hilferty(np.column_stack([squares, squares.sum(axis=1)])).max(axis=1)  # of parts, and of their sum
    return TestResult.from_draws(
        hypothesis, float(scores[0]), scores[1:], statistic=float(observed.sum()) - error.trace
    )


# --------------------
# Where two distributions differ: cell by cell, with the error of each difference.


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
    for one in _finest_tables(noisy, schema, present, columns):
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
    for here in _finest_tables(one, schema, frozenset(range(len(schema))), columns):
        there = others.get(here.key)
        if there is None:
            continue
        there = _complete(there, two)
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


def _finest_tables(
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
            chosen.append(_complete(finest, noisy))
        elif columns is not None:
            raise ParameterError(f"witness: {' and '.join(columns)} were not counted together, or not in both.")
    return chosen


def _complete(one: ContingencyTable, noisy: NoisyBlocks) -> ContingencyTable:
    """Centred counts as counts, with all that was measured; the variance is the largest of a count."""
    if not one.centred:
        return one
    cells = dict(zip(one.columns, one.groups, strict=True))
    found = tabulation(noisy).marginal_in(one.columns, cells)
    assert found is not None  # the table itself is one of the marginal's views
    return dataclasses.replace(
        one, counts=found.counts.reshape(found.shape), variance=float(found.variances().max()), centred=False
    )


def _squared_error(one: ContingencyTable, noisy: NoisyBlocks, target: Target) -> Floats:
    """Squared errors of a release's shares: noise, an estimated number of rows, the sampling of its table."""
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
