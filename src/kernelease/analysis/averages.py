"""Means, probabilities, counts, expectations and cross-tables: averages over the rows of a private table."""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.analysis.estimands import (
    NUMERIC,
    Columns,
    Estimand,
    Indicator,
    Integrand,
    NumericValue,
    RowFunction,
    columns_read,
    numbers_of,
    present,
)
from kernelease.analysis.estimate import Estimate, Parts, Source, Target
from kernelease.analysis.feature_averages import feature_average
from kernelease.analysis.frechet import frechet_bounds
from kernelease.analysis.groups import EstimateTable, Groups, answer_by_group
from kernelease.analysis.inference import CONFIDENCE, ConfidenceLimits, Interval, UnknownLimits, critical_value
from kernelease.analysis.inside import Unevenness, axes_of, is_only_uneven, unevenness
from kernelease.analysis.ratio_estimator import RatioEstimator, marginal_source, ratio_source
from kernelease.analysis.representatives import (
    CLOSE,
    EVEN,
    LEAST,
    Axis,
    CellValues,
    Grids,
    Representatives,
    about_middles,
    marking,
    middles_and_halves,
)
from kernelease.arrays import Floats, Integers
from kernelease.errors import CapacityError, ParameterError
from kernelease.estimate.marginal import Marginal, Way, best_ways, parts_of
from kernelease.estimate.products import OffsetPart, OffsetSums
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Hierarchy
from kernelease.table.derived import Formula
from kernelease.table.expressions.logic import Condition
from kernelease.table.expressions.terms import Arithmetic, Extracted, Term

if TYPE_CHECKING:
    from kernelease.analysis.evidence import Evidence

# --------------------
# Terms that are sums of columns, each times a number.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """constant + Σ weight · column, of columns of numbers."""

    constant: float
    weights: tuple[tuple[Column, float], ...]

    def _times(self, factor: float) -> "Linear":
        scaled = tuple((column, weight * factor) for column, weight in self.weights)
        return Linear(constant=self.constant * factor, weights=scaled)

    def _plus(self, other: "Linear") -> "Linear":
        weights = dict(self.weights)
        for column, weight in other.weights:
            weights[column] = weights.get(column, 0.0) + weight
        return Linear(constant=self.constant + other.constant, weights=tuple(weights.items()))


def linear(term: Term) -> Linear | None:
    """A term as such a sum; None where it is none.

    >>> from kernelease.table.columns import Integer
    >>> from kernelease.table.expressions.logic import parse_term
    >>> columns = [Integer(name=name, min=0, max=9) for name in "ab"]
    >>> found = linear(parse_term("2 * (a - b) / 4 + 1", columns))
    >>> found.constant, [(column.name, weight) for column, weight in found.weights]
    (1.0, [('a', 0.5), ('b', -0.5)])
    >>> linear(parse_term("a * b", columns)) is None
    True
    """
    if isinstance(term, Extracted | str):
        return None
    if isinstance(term, Column):
        return Linear(constant=0.0, weights=((term, 1.0),)) if term.family == "number" else None
    if not isinstance(term, Arithmetic):
        return Linear(constant=float(term), weights=())
    left, right = linear(term.left), linear(term.right)
    return None if left is None or right is None else _combine(left, term.sign, right)


def _combine(left: Linear, sign: str, right: Linear) -> Linear | None:
    if sign in "+-":
        return left._plus(right._times(1.0 if sign == "+" else -1.0))
    if sign == "*" and not left.weights:
        return right._times(left.constant)
    if right.weights or (sign == "/" and right.constant == 0.0):
        return None
    return left._times(right.constant if sign == "*" else 1.0 / right.constant)


# --------------------
# Linear functions of several columns: sums of one estimate for each column, which need no joint counts.


TOGETHER = "a sum of means, each from its own counts; the interval holds however their errors go together"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SummedLimits(ConfidenceLimits):
    """constant + Σ weight · part, off by at most `slack` more.

    Each of k parts has an interval that misses with a k-th of the chance: all hold together, whatever the noises have
    in common (Bonferroni).
    """

    parts: tuple[tuple[float, ConfidenceLimits], ...]
    constant: float
    slack: float

    def at(self, level: float) -> Interval:
        each = 1.0 - (1.0 - level) / len(self.parts)
        ends = [sorted(weight * end for end in limits.at(each)) for weight, limits in self.parts]
        low, high = (self.constant + sum(end[side] for end in ends) for side in (0, 1))
        return low - self.slack, high + self.slack


def weighted_sum(parts: Sequence[tuple[float, Estimate]], constant: float, slack: float, about: str) -> Estimate:
    """constant + Σ weight · estimate, off by at most `slack` more.

    >>> half = Estimate.normal(10.0, noise=1.0)
    >>> total = weighted_sum([(0.5, half), (0.5, half)], 1.0, 0.0, "")
    >>> total.value, total.standard_error, [round(end, 2) for end in total.interval()]
    (11.0, 1.0, [8.76, 13.24])
    """
    possible = [sorted(weight * end for end in part.possible) for weight, part in parts]
    return Estimate(
        value=constant + sum(weight * part.value for weight, part in parts),
        parts=Parts(
            noise=sum(abs(weight) * part.parts.noise for weight, part in parts),
            sampling=sum(abs(weight) * part.parts.sampling for weight, part in parts),
            bias=slack + sum(abs(weight) * part.parts.bias for weight, part in parts),
        ),
        limits=SummedLimits(
            parts=tuple((weight, part.limits) for weight, part in parts), constant=constant, slack=slack
        ),
        target=parts[0][1].target,
        about=about,
        remark=TOGETHER,
        possible=(constant + sum(low for low, _ in possible), constant + sum(high for _, high in possible)),
    )


# --------------------
# Means of numbers from cells and offsets, of all rows or by the values of one other column.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Offsets:
    """Counts, and a value for the numbers of each cell: its middle, up to a slack, or NaN: the numbers themselves."""

    marginal: Marginal
    cells: Integers  # (atoms,)
    sums: OffsetSums
    middle: Floats  # (cells,)
    slack: Floats  # (cells,)
    used: NDArray[np.bool_]  # (cells,): whether its offsets are added to the middle


def offset_estimator(
    evidence: "Evidence", estimand: Estimand, divisor: float | None, grids: Grids
) -> RatioEstimator | None:
    """The mean of a number, from counts and the offsets that make it narrower; None for other questions.

    Σ x·1{rows} = Σ middle of x's cell·1{rows} + Σ offset·1{rows}: counts give the first, moments the second. Which rows
    are meant must follow from the cells of the other column.
    """
    part = estimand.numerator
    if not isinstance(part, NumericValue) or not isinstance(part.column, Celled):
        return None
    columns, index = evidence.positions(estimand.columns), evidence.schema.names.index(part.column.name)
    if len(columns) > 2 or part.column.name in part.where.columns:
        return None
    found = (
        _alone(evidence, index, part.column) if len(columns) == 1 else _beside(evidence, columns, index, part.column)
    )
    if found is None:
        return None
    marginal = found.marginal
    key = index, marginal, marking(estimand.conditions, (evidence.schema.columns[one] for one in marginal.columns))
    axes = functools.partial(_offset_axes, evidence, estimand, index, found)
    functions = grids.grid((key, True), axes).values(part, estimand.denominator)
    if functions.possible is None:
        return None
    function = found.used.astype(np.float64)
    if len(marginal.columns) > 1:
        chosen = grids.grid((key, False), lambda: [axis for axis in axes() if axis[0] != part.column.name])
        rows = chosen.values(part.where, None)
        if not rows.exact:
            return None
        function = rows.middle()[0]
    sampled = evidence.target is Target.POPULATION
    sampling = _within(evidence, part.column, index, marginal, functions, found) if sampled else 0.0
    low, high = (float(extreme) for extreme in (part.column.bounds()[0][0], part.column.bounds()[1][-1]))
    return RatioEstimator(
        marginal=marginal,
        functions=functions,
        target=evidence.target,
        possible=(min(low, 0.0), max(high, 0.0)) if estimand.denominator is None else (low, high),
        divisor=divisor,
        offset=OffsetPart.of(found.sums, function, sampling),
        uneven=_beside_offsets(evidence, estimand, index, found),
    )


def _beside_offsets(evidence: "Evidence", estimand: Estimand, index: int, found: _Offsets) -> Unevenness | None:
    """How uneven rows are in cells that are summed by numbers themselves, and wholly where a slack stands for them."""
    marginal = found.marginal
    if not is_only_uneven(evidence.schema.columns, marginal, estimand.conditions, estimand.value_columns):
        return None
    axis = marginal.columns.index(index)
    slack = np.full(marginal.shape[axis], np.nan)
    slack[marginal.groups[axis]] = found.slack[found.cells]
    shape = [-1 if other == axis else 1 for other in range(len(marginal.shape))]
    told = np.broadcast_to(np.isnan(slack).reshape(shape), marginal.shape).ravel()
    known = unevenness(evidence, marginal)
    return Unevenness(own=np.where(told, known.own, 1.0), hidden=np.where(told, known.hidden, 0.0))


def _offset_axes(evidence: "Evidence", estimand: Estimand, index: int, found: _Offsets) -> list[Axis]:
    """The columns of the counts; the number itself by what stands for it in each of its cells."""

    def standing(column: int, points: Representatives) -> Representatives:
        return about_middles(points, found.cells, found.middle, found.slack) if column == index else points

    return axes_of(evidence, found.marginal, estimand.conditions, estimand.value_columns, change=standing)


def _alone(evidence: "Evidence", index: int, column: Celled) -> _Offsets | None:
    """Counts of a column, as fine as is worth their noise in each cell, and the offsets that are worth theirs."""
    moments = evidence.moments
    found = None if moments is None else moments.alone(index, column)
    cells = None if moments is None else moments.cells(index)
    if found is None or cells is None:
        return None
    marginal = max(evidence.marginals((index,)), key=lambda one: one.size)
    coarse = parts_of(marginal.groups[0], cells)
    if coarse is None:
        return None
    sums, own = found
    middle, half, nothing = np.nan_to_num(own.middle)[coarse], np.nan_to_num(own.half)[coarse], np.zeros(len(own.half))
    values, slack = middles_and_halves(column, marginal.groups[0])
    ways = (
        Way(values=middle, slack=half, variances=nothing),
        Way(values=middle, slack=np.where(half > 0.0, own.slack, 0.0), variances=sums.variances),
        Way(values=values, slack=slack, variances=nothing),
    )
    chosen = best_ways(marginal, coarse, ways)
    off = np.array([own.half, np.where(own.half > 0.0, own.slack, 0.0), np.full_like(own.half, np.nan)])
    off = np.where(np.isnan(own.half), np.nan, off[chosen, np.arange(len(chosen))])
    return _Offsets(marginal=marginal, cells=cells, sums=sums, middle=own.middle, slack=off, used=chosen == 1)


def _beside(evidence: "Evidence", columns: tuple[int, ...], index: int, column: Celled) -> _Offsets | None:
    """The counts of a column beside another in the cells of its offsets, and all offsets that were measured."""
    moments, tabulated = evidence.moments, evidence.tabulation
    other = next(one for one in columns if one != index)
    found = None if moments is None else moments.beside(index, column, other)
    cells = None if moments is None else moments.cells(index)
    if found is None or cells is None or tabulated is None:
        return None
    marginal, own = tabulated.marginal_in(columns, {index: cells}), found[1]
    if marginal is None:
        return None
    slack = np.where(np.isnan(own.half) | ~own.told_cells, np.nan, np.where(own.half > 0.0, own.slack, 0.0))
    return _Offsets(marginal=marginal, cells=cells, sums=found[0], middle=own.middle, slack=slack, used=own.told_cells)


def _within(
    evidence: "Evidence", column: Celled, index: int, marginal: Marginal, functions: CellValues, found: _Offsets
) -> float:
    """What the spread of numbers within cells adds to the sampling variance of their sum over the rows that count.

    By counts of the column alone, as they are; where numbers stand for themselves, it is in the function already.
    """
    finest = max(evidence.marginals((index,)), key=lambda one: one.size)
    parts, cells = parts_of(finest.groups[0], found.cells), marginal.groups[marginal.columns.index(index)]
    if parts is None:
        return 0.0
    middle, _ = middles_and_halves(column, finest.groups[0])
    held, first, second = (np.bincount(parts, finest.counts * middle**power) for power in range(3))
    rows, half = np.where(held > 0.0, held, np.inf), np.nan_to_num(middles_and_halves(column, found.cells)[1])
    variance = np.clip(second / rows - (first / rows) ** 2, 0.0, half**2) * ~np.isnan(found.slack)
    coarse = np.zeros(int(cells.max()) + 1, dtype=np.int64)
    coarse[cells] = found.cells
    axis = [-1 if other == index else 1 for other in marginal.columns]
    spread = np.broadcast_to(variance[coarse].reshape(axis), marginal.shape).ravel()
    return max(0.0, float(marginal.counts @ (spread * functions.middle()[1])))


# --------------------
# The averages themselves.


MOST_CELLS = 4096  # of a cross-table: more would not be read, and take minutes
Ratio: TypeAlias = Callable[[tuple[Condition, ...]], tuple[Integrand, Integrand | None]]
"""Numerator and denominator among the rows of a group, by its conditions."""


def mean(
    evidence: "Evidence", column: str, *, where: str | None = None, by: str | Sequence[str] | None = None
) -> Estimate | Groups:
    """The mean of a column of numbers over the rows that have one, and for which `where` is true; booleans are 0, 1."""
    if column in evidence.schema.structure.derivations:
        return _derived_mean(evidence, column, where, by)
    declared, base = evidence.column(column), evidence.where(where)
    known = present(declared)

    def ratio(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        chosen = Indicator((*base.parts, *group))
        complete = Indicator((*chosen.parts, *known))
        return NumericValue(declared, chosen), complete if complete.parts else None

    found, spread = _ask(evidence, ratio, f"mean of {column}", where, by), 2.0 * evidence.deviation(column)
    return found if not spread > 0.0 else _with_spread(found, spread)


def _with_spread(found: Estimate | Groups, spread: float) -> Estimate | Groups:
    if isinstance(found, Estimate):
        return replace(found, spread=spread)
    return Groups(found.by, {label: replace(one, spread=spread) for label, one in found.items()})


def probability(
    evidence: "Evidence", event: str, *, where: str | None = None, by: str | Sequence[str] | None = None
) -> Estimate | Groups:
    """The share of rows for which `event` is true, among those for which `where` is."""
    base, hits = evidence.where(where), evidence.where(event)

    def ratio(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        chosen = Indicator((*base.parts, *group))
        return Indicator((*chosen.parts, *hits.parts)), chosen if chosen.parts else None

    return _ask(evidence, ratio, f"probability of {event}", where, by)


def probability_within(evidence: "Evidence", event: str, where: str, group: tuple[Condition, ...]) -> Estimate:
    """The share of rows for which `event` is true, among those of a group for which `where` is."""
    chosen = Indicator((*evidence.where(where).parts, *group))
    inside = Indicator((*chosen.parts, *evidence.where(event).parts))
    return average(evidence, Estimand(numerator=inside, denominator=chosen, about=f"probability of {event}"))


def count(
    evidence: "Evidence", where: str | None = None, *, by: str | Sequence[str] | None = None
) -> Estimate | Groups:
    """How many rows (or persons) there are for which `where` is true."""
    base = evidence.where(where)

    def ratio(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        return Indicator((*base.parts, *group)), None

    about = "number of rows" if evidence.schema.unit is None else "number of persons"
    return _ask(evidence, ratio, about, where, by, is_total=True)


def expectation(
    evidence: "Evidence",
    function: Callable[[Columns], Any],
    *,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
) -> Estimate | Groups:
    """The mean of a function of a row, over the rows for which it is defined (not NaN) and `where` is true.

    The function gets the columns by name, each as an array, and gives one number per row. Within each cell of a number
    that it reads it should be monotone: its extremes are looked for at five values of each cell.
    """
    ratio = _mean_of_function(function, columns_read(function, evidence.sample()), evidence.where(where))
    name = getattr(function, "__name__", "a function")
    return _ask(evidence, ratio, f"expectation of {'a function' if '<' in name else name}", where, by)


def _mean_of_function(function: Callable[[Columns], Any], names: tuple[str, ...], base: Indicator) -> Ratio:
    def ratio(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        chosen = Indicator((*base.parts, *group))
        return RowFunction(function, names, chosen), RowFunction(function, names, chosen, presence=True)

    return ratio


def _derived_mean(
    evidence: "Evidence", column: str, where: str | None, by: str | Sequence[str] | None
) -> Estimate | Groups:
    """The mean of a derived column: from the columns' own means if it is linear in them, else as an expectation."""
    structure = evidence.schema.structure
    derivation, base = structure.derivations[column], evidence.where(where)
    if derivation.column.tag not in NUMERIC:
        raise ParameterError(f"Column {column!r} is of type {derivation.column.tag} and has no mean.")
    found = linear(derivation.term) if isinstance(derivation, Formula) and by is None else None
    if found is not None and all(one in evidence.schema.columns and not one.nullable for one, _ in found.weights):
        told = f"mean of {column}" if where is None else f"mean of {column} where {where}"
        parts = [(weight, mean(evidence, one.name, where=where)) for one, weight in found.weights]
        slack = 0.5 * 10.0**-derivation.decimals if isinstance(derivation, Formula) else 0.0
        return weighted_sum([(w, one) for w, one in parts if isinstance(one, Estimate)], found.constant, slack, told)

    def function(columns: Columns) -> Floats:
        return numbers_of(derivation.column, pa.table({column: structure.derive(columns.table, column)}))

    ratio = _mean_of_function(function, structure.origins(column), base)
    return _ask(evidence, ratio, f"mean of {column}", where, by)


def crosstab(evidence: "Evidence", first: str, second: str, *, where: str | None = None) -> EstimateTable:
    """The share of rows in each cell of two columns, among those for which `where` is true."""
    base = evidence.where(where)
    if first == second:
        raise ParameterError(f"crosstab: needs two different columns, got {first!r} twice.")
    down, across = (evidence.groups(name, (first, second, *base.columns)) for name in (first, second))
    if len(down) * len(across) > MOST_CELLS:
        raise CapacityError(
            f"crosstab: {first} by {second} has {len(down) * len(across):,} cells, more than {MOST_CELLS:,}. "
            "Ask for probabilities of ranges instead."
        )
    grids = Grids()
    estimates = tuple(
        tuple(
            average(
                evidence,
                Estimand(
                    numerator=Indicator((*base.parts, one, other)),
                    denominator=base if base.parts else None,
                    about=f"share of {first} {label} and {second} {name}",
                ),
                grids,
            )
            for name, other in across
        )
        for label, one in down
    )
    return EstimateTable(
        title=f"{first} \\ {second}",
        rows=tuple(label for label, _ in down),
        columns=tuple(label for label, _ in across),
        estimates=estimates,
    )


def _ask(
    evidence: "Evidence",
    ratio: Ratio,
    about: str,
    where: str | None,
    by: str | Sequence[str] | None,
    *,
    is_total: bool = False,
) -> Estimate | Groups:
    told, grids = about if where is None else f"{about} where {where}", Grids()

    def answer(group: tuple[Condition, ...], words: str) -> Estimate:
        numerator, denominator = ratio(group)
        estimand = Estimand(numerator=numerator, denominator=denominator, about=words, is_total=is_total)
        return average(evidence, estimand, grids)

    if by is None:
        return answer((), told)
    names = [name for part in ratio(()) if part is not None for name in part.columns]
    return answer_by_group(evidence, by, names, lambda group, label: answer(group, f"{told} for {label}"))


def average(evidence: "Evidence", estimand: Estimand, grids: Grids | None = None) -> Estimate:
    """The estimate of an average over all rows.

    What was measured jointly is answered from its noisy counts alone, and the rest (so are three columns whose cells
    are too coarse for the question) by the extremes over all tables that agree with them. Where several rounds
    measured it, the one with the least noise and the finest cells answers. `grids` are those of questions that differ
    in the group that they are about.
    """
    if not evidence.has_counts:
        return feature_average(evidence, estimand)
    measured = evidence.marginals(evidence.positions(estimand.columns) or (0,))
    if measured:
        estimate = _from_marginals(evidence, estimand, measured, grids or Grids())
    else:
        estimate = _bounds(evidence, estimand)
    if estimate is None:
        return _nothing(evidence, estimand)
    return estimate if math.isfinite(estimate.value) else _with_value(estimate, evidence, estimand)


def _from_marginals(
    evidence: "Evidence", estimand: Estimand, measured: tuple[Marginal, ...], grids: Grids
) -> Estimate | None:
    """The estimate from the marginal that suits it best; None where no row can exist."""
    estimator = _best(evidence, estimand, measured, grids)
    if estimator is None:
        return None
    if not estimator.is_settled and _finer_elsewhere(evidence, estimator.marginal):
        with suppress(CapacityError):
            return _bounds(evidence, estimand)
    scale = evidence.total if estimand.is_total and evidence.public_total else 1.0
    estimate = estimator.estimate(scale=scale, about=estimand.about)
    pair = estimator.functions.middle()
    source = ratio_source(evidence, estimator, pair, estimate.parts, scale)
    return replace(estimate, source=source)


def _bounds(evidence: "Evidence", estimand: Estimand) -> Estimate | None:
    """The extremes over all tables that agree with what was measured; None where no row can exist."""

    def source_of(marginal: Marginal, function: Floats, sampling: float) -> Source | None:
        return marginal_source(evidence, marginal, function, sampling=sampling)

    return frechet_bounds(evidence, estimand, source_of)


def _finer_elsewhere(evidence: "Evidence", marginal: Marginal) -> bool:
    """Whether fewer of its columns were measured in finer cells: pairs of three, or the leaves of groups."""
    columns = (evidence.schema.columns[index] for index in marginal.columns)
    return len(marginal.columns) > 2 or (
        len(marginal.columns) == 2 and any(isinstance(column, Hierarchy) for column in columns)
    )


def _best(
    evidence: "Evidence", estimand: Estimand, measured: tuple[Marginal, ...], grids: Grids
) -> RatioEstimator | None:
    """The best way by noise and the columns' own shares: choosing by these very counts would favour lucky ones."""
    offset = offset_estimator(evidence, estimand, _divisor(evidence, estimand), grids)
    if offset is not None and len(offset.marginal.columns) == 1:  # all ways to sum a column were weighed for it
        return offset
    told = _in_groups(evidence, estimand, measured, grids)
    every = [_ratio_estimator(evidence, estimand, one, grids) for one in told]
    counted = [one for one in every if one is not None]
    counted = _surely_narrower(evidence, counted)
    found = [*counted, offset] if offset is not None else counted
    if len(found) < 2:
        return found[0] if found else None
    return min(found, key=lambda one: one.width(_independent_shares(evidence, one.marginal)))


def _in_groups(
    evidence: "Evidence", estimand: Estimand, measured: tuple[Marginal, ...], grids: Grids
) -> tuple[Marginal, ...]:
    """The groups of a column of leaves where the question cuts none: they know as much of it, in fewer cells."""
    index = measured[0].columns[0]
    column = evidence.schema.columns[index]
    if len(measured[0].columns) > 1 or not isinstance(column, Hierarchy) or evidence.chosen.parts:
        return measured
    assert evidence.tabulation is not None  # it is what was measured
    found = evidence.tabulation.marginal_in((index,), {index: column.atom_groups})
    estimator = None if found is None else _ratio_estimator(evidence, estimand, found, grids)
    return (found,) if found is not None and estimator is not None and estimator.functions.exact else measured


def _surely_narrower(evidence: "Evidence", found: list[RatioEstimator]) -> list[RatioEstimator]:
    """Those of cells that the question does not cut; others only where they are narrower however columns go together.

    How many rows a cell that is cut leaves in doubt is a guess, and with independent columns it may be far too low.
    """
    finest = max(found, key=lambda one: one.marginal.size, default=None)
    exact = [one for one in found if one.functions.exact or (one.is_settled and one is finest)]
    if not exact:
        return found
    least = min(one.width(_independent_shares(evidence, one.marginal)) for one in exact)
    others = [one for one in found if not any(one is other for other in exact)]
    return exact + [one for one in others if one.width(_most(evidence, one.marginal), surely=True) < least]


def _most(evidence: "Evidence", marginal: Marginal) -> Floats:
    """The most rows that each cell of a marginal can hold, as shares, by its columns' own: (cells,)."""
    shares = functools.reduce(np.minimum.outer, _shares_by_column(evidence, marginal))
    return np.asarray(shares, dtype=np.float64).ravel()


def _independent_shares(evidence: "Evidence", marginal: Marginal) -> Floats:
    """About how the rows are distributed over the cells of a marginal, if its columns were independent: (cells,)."""
    shares = functools.reduce(np.multiply.outer, _shares_by_column(evidence, marginal))
    product = np.asarray(shares, dtype=np.float64).ravel()
    return np.asarray(product / product.sum())


def _shares_by_column(evidence: "Evidence", marginal: Marginal) -> Iterator[Floats]:
    return map(functools.partial(_column_shares, evidence), marginal.columns, marginal.groups)


def _column_shares(evidence: "Evidence", index: int, groups: Integers) -> Floats:
    """About how the rows are distributed over cells of a column: (atoms,) → (cells,).

    Counts of atoms are added up as they are: those below 0 make up for rows that noise put into empty ones.
    """
    finest = evidence.finest((index,))
    parts = None if finest is None else parts_of(finest.groups[0], groups)
    if finest is None or parts is None:
        return np.asarray(np.bincount(groups, evidence.shares(index) + LEAST), dtype=np.float64)
    return np.maximum(np.bincount(parts, finest.counts) / evidence.total, 0.0) + LEAST


def _ratio_estimator(
    evidence: "Evidence", estimand: Estimand, marginal: Marginal, grids: Grids
) -> RatioEstimator | None:
    key = marginal, marking(estimand.conditions, (evidence.schema.columns[index] for index in marginal.columns))
    grid = grids.grid(
        key,
        lambda: axes_of(evidence, marginal, estimand.conditions, estimand.value_columns, _places(evidence, estimand)),
    )
    functions = grid.values(estimand.numerator, estimand.denominator)
    if functions.possible is None:
        return None
    return RatioEstimator(
        marginal=marginal,
        functions=functions,
        target=evidence.target,
        possible=functions.possible,
        divisor=_divisor(evidence, estimand),
        uneven=_unevenness(evidence, estimand, marginal, functions),
    )


def _unevenness(
    evidence: "Evidence", estimand: Estimand, marginal: Marginal, functions: CellValues
) -> Unevenness | None:
    """How uneven rows are within cells, where functions vary by numbers alone."""
    columns, conditions, valued = evidence.schema.columns, estimand.conditions, estimand.value_columns
    if functions.exact or not is_only_uneven(columns, marginal, conditions, valued):
        return None
    return unevenness(evidence, marginal)


def _places(evidence: "Evidence", estimand: Estimand) -> Floats:
    """Where in cells a function is tried: five places miss a logarithm's average by two of its standard deviations.

    Of several numbers they must do, as there are as many combinations as their product.
    """
    numbers = [name for name in estimand.value_columns if isinstance(evidence.column(name), Celled)]
    return CLOSE if isinstance(estimand.numerator, RowFunction) and len(numbers) == 1 else EVEN


def _divisor(evidence: "Evidence", estimand: Estimand) -> float | None:
    """What the sum is divided by where no noisy sum is."""
    if estimand.denominator is not None:
        return None
    if evidence.public_total:
        return evidence.total
    return 1.0 if estimand.is_total else None


def _with_value(estimate: Estimate, evidence: "Evidence", estimand: Estimand) -> Estimate:
    """The estimate with the value of the synthetic rows, where they have one, else with the middle of its interval."""
    low, high = estimate.interval()
    found = evidence.synthetic(estimand.numerator, estimand.denominator)
    if found is None and not math.isfinite(high - low):
        return estimate
    scale = evidence.total if estimand.is_total else 1.0
    value = 0.5 * (low + high) if found is None else min(max(scale * found, low), high)
    noise = estimate.parts.noise if math.isfinite(estimate.parts.noise) else 0.0
    bias = max(0.0, max(value - low, high - value) - critical_value(CONFIDENCE) * noise)
    return replace(estimate, value=value, parts=Parts(noise=noise, bias=bias))


def _nothing(evidence: "Evidence", estimand: Estimand) -> Estimate:
    """The answer about rows that can't exist."""
    return Estimate(
        value=math.nan,
        parts=Parts(noise=math.inf),
        limits=UnknownLimits(),
        target=evidence.target,
        about=estimand.about,
        remark="no row that the schema allows fulfils the condition",
    )
