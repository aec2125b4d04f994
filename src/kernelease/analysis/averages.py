"""Means, probabilities, counts, expectations and cross-tables: averages over the rows of a private table."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from kernelease.analysis.conditions import present
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
)
from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.evidence import Evidence, Spread
from kernelease.analysis.feature_averages import feature_average
from kernelease.analysis.frechet import frechet_bounds
from kernelease.analysis.grouping import grouped
from kernelease.analysis.groups import EstimateTable, Groups
from kernelease.analysis.inference import (
    CONFIDENCE,
    ConfidenceLimits,
    Interval,
    NormalLimits,
    Ratio,
    UnknownLimits,
    clipped,
    critical_value,
)
from kernelease.analysis.marginal import Marginal
from kernelease.analysis.marginal_source import ratio_source
from kernelease.analysis.representatives import LEAST, CellValues, cell_values, representatives, weighted
from kernelease.analysis.sums import weighted_sum
from kernelease.arrays import Floats
from kernelease.errors import CapacityError, ParameterError
from kernelease.table.derived.computed import Formula
from kernelease.table.expressions.linear import linear
from kernelease.table.expressions.logic import Condition

MOST_CELLS = 4096  # of a cross-table: more would not be read, and take minutes
EVENLY = "assumes that rows are spread within each cell as the column's own counts are"
_ITERATIONS = 30  # of the search for the worst values in ambiguous cells; two or three suffice


def mean(
    evidence: Evidence, column: str, *, where: str | None = None, by: str | Sequence[str] | None = None
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

    return _asked(evidence, ratio, f"mean of {column}", where, by)


def probability(
    evidence: Evidence, event: str, *, where: str | None = None, by: str | Sequence[str] | None = None
) -> Estimate | Groups:
    """The share of rows for which `event` is true, among those for which `where` is."""
    base, hits = evidence.where(where), evidence.where(event)

    def ratio(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        chosen = Indicator((*base.parts, *group))
        return Indicator((*chosen.parts, *hits.parts)), chosen if chosen.parts else None

    return _asked(evidence, ratio, f"probability of {event}", where, by)


def count(evidence: Evidence, where: str | None = None, *, by: str | Sequence[str] | None = None) -> Estimate | Groups:
    """How many rows (or persons) there are for which `where` is true."""
    base = evidence.where(where)

    def ratio(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        return Indicator((*base.parts, *group)), None

    return _asked(evidence, ratio, "number of rows", where, by, is_total=True)


def expectation(
    evidence: Evidence,
    function: Callable[[Columns], Any],
    *,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
) -> Estimate | Groups:
    """The mean of a function of a row, over the rows for which it is defined (not NaN) and `where` is true.

    The function gets the columns by name, each as an array, and gives one number per row. Within each cell of a number
    that it reads it should be monotone: its extremes are looked for at five values of each cell.
    """
    names, base = columns_read(function, evidence.sample()), evidence.where(where)

    def ratio(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        chosen = Indicator((*base.parts, *group))
        return RowFunction(function, names, chosen), RowFunction(function, names, chosen, presence=True)

    name = getattr(function, "__name__", "a function")
    return _asked(evidence, ratio, f"expectation of {'a function' if '<' in name else name}", where, by)


def _derived_mean(
    evidence: Evidence, column: str, where: str | None, by: str | Sequence[str] | None
) -> Estimate | Groups:
    """Of what is linear in measured columns, from their own means; of the rest, as the expectation of a function."""
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

    names = structure.origins(column)

    def ratio(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        chosen = Indicator((*base.parts, *group))
        return RowFunction(function, names, chosen), RowFunction(function, names, chosen, presence=True)

    return _asked(evidence, ratio, f"mean of {column}", where, by)


def crosstab(evidence: Evidence, first: str, second: str, *, where: str | None = None) -> EstimateTable:
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
    estimates = tuple(
        tuple(
            average(
                evidence,
                Estimand(
                    numerator=Indicator((*base.parts, one, other)),
                    denominator=base if base.parts else None,
                    about=f"share of {first} {label} and {second} {name}",
                ),
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


def _asked(
    evidence: Evidence,
    ratio: Callable[[tuple[Condition, ...]], tuple[Integrand, Integrand | None]],
    about: str,
    where: str | None,
    by: str | Sequence[str] | None,
    *,
    is_total: bool = False,
) -> Estimate | Groups:
    told = about if where is None else f"{about} where {where}"

    def answer(group: tuple[Condition, ...], words: str) -> Estimate:
        numerator, denominator = ratio(group)
        return average(evidence, Estimand(numerator=numerator, denominator=denominator, about=words, is_total=is_total))

    if by is None:
        return answer((), told)
    names = [name for part in ratio(()) if part is not None for name in part.columns]
    return grouped(evidence, by, names, lambda group, label: answer(group, f"{told} for {label}"))


def average(evidence: Evidence, estimand: Estimand) -> Estimate:
    """The estimate of an average over all rows.

    What was measured jointly is answered from its noisy counts alone, and the rest (so are three columns whose cells
    are too coarse for the question) by the extremes over all tables that agree with them. Where several rounds
    measured it, the one with the least noise and the finest cells answers.
    """
    if not evidence.counted:
        return feature_average(evidence, estimand)
    measured = evidence.marginals(evidence.positions(estimand.columns) or (0,))
    estimate = _from_marginals(evidence, estimand, measured) if measured else frechet_bounds(evidence, estimand)
    if estimate is None:
        return _nothing(evidence, estimand)
    return estimate if math.isfinite(estimate.value) else _placed(estimate, evidence, estimand)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RatioEstimator:
    """Σ numerator / Σ denominator over all rows, from a marginal that both are functions of.

    Within a cell both may vary. θ ≥ t says that Σ (numerator − t·denominator) ≥ 0, so that the least of this function
    in each cell, a function of the cells, gives the lower end of the interval by a test of each t, and the greatest
    the upper end. Where nothing varies within cells both are Fieller's interval, or for a known denominator the usual.
    """

    marginal: Marginal
    functions: CellValues
    target: Target
    possible: Interval  # the least and the greatest numerator where the denominator is 1
    divisor: float | None = None  # a public number in place of the sum of denominators

    @property
    def within(self) -> Interval:
        """All possible answers."""
        if self.divisor is None or self.divisor == self.marginal.total:
            return self.possible
        return -math.inf if self.possible[0] < 0.0 else 0.0, math.inf  # of a number of rows that nobody knows

    @property
    def width(self) -> float:
        """About how long the interval of the numerator's sum would be on evenly filled cells, whatever was measured."""
        low, high = self.functions.least(0.0)[0], self.functions.greatest(0.0)[0]
        error = math.sqrt(max(0.0, float(self.marginal.joint([self.functions.middle()[0]])[1][0, 0])))
        rows = self.marginal.total or max(1.0, float(self.marginal.counts.sum()))
        return 4.0 * error + rows * float((high - low).mean())

    def ratio(self, pair: tuple[Floats, Floats], target: Target | None = None) -> Ratio:
        """The ratio of two functions of the cells, with the covariance of their errors."""
        values, covariance = self.marginal.joint(pair)
        if (self.target if target is None else target) is Target.POPULATION:
            covariance = covariance + self.marginal.sampling(pair)
        if self.divisor is not None:
            values[1], covariance[1, :], covariance[:, 1] = self.divisor, 0.0, 0.0
        return Ratio.of(values, covariance)

    def end(self, factor: float, upper: bool) -> float:
        """One end of the interval, `factor` standard errors out; may be infinite."""
        choose = self.functions.greatest if upper else self.functions.least
        place = int(upper)
        guess, pair = 0.0, choose(0.0)
        for _ in range(_ITERATIONS):
            found = self.ratio(pair).interval(factor)[place]
            if self.divisor is not None or not math.isfinite(found) or found == guess:
                return found
            guess, previous = found, pair
            pair = choose(guess)
            if all(np.array_equal(new, old) for new, old in zip(pair, previous, strict=True)):
                return found
        return guess

    def _ends(self, factor: float) -> Interval:
        return self.end(factor, False), self.end(factor, True)

    def estimate(self, *, scale: float = 1.0, about: str = "") -> Estimate:
        """The estimate of `scale` times the ratio."""
        pair = self.functions.middle()
        ratio, noise = self.ratio(pair), self.ratio(pair, Target.TABLE)
        low, high = self.within
        value = min(max(ratio.value, low), high) if ratio.denominator > 0.0 else math.nan
        bounds = [value if self.functions.exact else clipped(self.within, (end, end))[0] for end in self._ends(0.0)]
        parts = Parts.of(
            scale * ratio.standard_error,
            noise=scale * noise.standard_error,
            bias=scale * max(0.0, value - bounds[0], bounds[1] - value) if math.isfinite(value) else math.inf,
        )
        limits = RatioLimits(estimator=self, scale=scale, error=ratio.standard_error)
        return Estimate(
            value=scale * value,
            parts=parts,
            limits=limits,
            target=self.target,
            about=about,
            possible=(scale * low, scale * high),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RatioLimits(ConfidenceLimits):
    """The interval of a `RatioEstimator`, solved when it is asked for."""

    estimator: RatioEstimator
    scale: float
    error: float

    def at(self, level: float) -> Interval:
        estimator = self.estimator
        shift = estimator.functions.gap / self.error if 0.0 < self.error < math.inf else 0.0
        factor = critical_value(level, shift, laplace=estimator.marginal.laplace)
        if estimator.divisor is not None:
            return self._plain(level)
        low, high = clipped(estimator.within, estimator._ends(factor))
        return self.scale * low, self.scale * high

    def _plain(self, level: float) -> Interval:
        low, high = (
            self.estimator.ratio(choose(0.0))
            for choose in (self.estimator.functions.least, self.estimator.functions.greatest)
        )
        ends = NormalLimits(
            low=low.value,
            high=high.value,
            low_error=low.standard_error,
            high_error=high.standard_error,
            gap=self.estimator.functions.gap if self.estimator.divisor == self.estimator.marginal.total else 0.0,
            within=self.estimator.within,
            laplace=self.estimator.marginal.laplace,
        ).at(level)
        return self.scale * ends[0], self.scale * ends[1]


def _from_marginals(evidence: Evidence, estimand: Estimand, measured: tuple[Marginal, ...]) -> Estimate | None:
    """The estimate from the marginal that suits it best; None where no row can exist."""
    every = (_ratio_estimator(evidence, estimand, marginal) for marginal in measured)
    found = [one for one in every if one is not None]
    if not found:
        return None
    # By the noise and the cells alone: a choice in sight of the noisy counts would favour lucky ones.
    estimator = found[0] if len(found) == 1 else min(found, key=lambda one: one.width)
    if len(estimator.marginal.columns) > 2 and not estimator.functions.exact:  # what pairs say of finer cells helps
        with suppress(CapacityError):
            return frechet_bounds(evidence, estimand)
    even = evidence.spread is Spread.EVEN and not estimator.functions.exact
    chosen = replace(estimator, functions=estimator.functions.evened()) if even else estimator
    scale = evidence.total if estimand.is_total and evidence.public_total else 1.0
    estimate = chosen.estimate(scale=scale, about=estimand.about)
    pair = chosen.functions.middle()
    source = ratio_source(evidence, chosen.marginal, pair, chosen.ratio(pair), estimate.parts, chosen.divisor, scale)
    estimate = replace(estimate, source=source)
    return replace(estimate, remark=EVENLY) if even else estimate


def _ratio_estimator(evidence: Evidence, estimand: Estimand, marginal: Marginal) -> RatioEstimator | None:
    axes = []
    for index, groups in zip(marginal.columns, marginal.groups, strict=True):
        column = evidence.schema.columns[index]
        points = weighted(representatives(column, estimand.conditions), evidence.shares(index) + LEAST)
        axes.append((column.name, points, groups))
    functions = cell_values(axes, estimand.numerator, estimand.denominator)
    if functions.possible is None:
        return None
    return RatioEstimator(
        marginal=marginal,
        functions=functions,
        target=evidence.target,
        possible=functions.possible,
        divisor=_divisor(evidence, estimand),
    )


def _divisor(evidence: Evidence, estimand: Estimand) -> float | None:
    """What the sum is divided by where no noisy sum is."""
    if estimand.denominator is not None:
        return None
    if evidence.public_total:
        return evidence.total
    return 1.0 if estimand.is_total else None


def _placed(estimate: Estimate, evidence: Evidence, estimand: Estimand) -> Estimate:
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


def _nothing(evidence: Evidence, estimand: Estimand) -> Estimate:
    """The answer about rows that can't exist."""
    return Estimate(
        value=math.nan,
        parts=Parts(noise=math.inf),
        limits=UnknownLimits(),
        target=evidence.target,
        about=estimand.about,
        remark="no row that the schema allows fulfils the condition",
    )
