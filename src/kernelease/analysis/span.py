"""Averages of what was measured: unbiased, with the known variance of the noise."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.analysis.cellwise import Cellwise
from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.limits import Between, Interval, Limits, critical, into
from kernelease.analysis.marginal import Marginal
from kernelease.analysis.ratio import Ratio
from kernelease.arrays import Floats

_STEPS = 30  # of the search for the worst values in ambiguous cells; two or three suffice


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Σ numerator / Σ denominator over all rows, from a marginal that both are functions of.

    Within a cell both may vary. θ ≥ t says that Σ (numerator − t·denominator) ≥ 0, so that the least of this function
    in each cell, a function of the cells, gives the lower end of the interval by a test of each t, and the greatest
    the upper end. Where nothing varies within cells both are Fieller's interval, or for a known denominator the usual.
    """

    marginal: Marginal
    functions: Cellwise
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
        return Ratio(
            numerator=float(values[0]),
            denominator=float(values[1]),
            variances=(float(covariance[0, 0]), float(covariance[1, 1])),
            covariance=float(covariance[0, 1]),
        )

    def end(self, factor: float, upper: bool) -> float:
        """One end of the interval, `factor` standard errors out; may be infinite."""
        choose = self.functions.greatest if upper else self.functions.least
        place = int(upper)
        guess, pair = 0.0, choose(0.0)
        for _ in range(_STEPS):
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
        bounds = [value if self.functions.exact else into(self.within, (end, end))[0] for end in self._ends(0.0)]
        error = noise.standard_error
        parts = Parts(
            noise=scale * error,
            sampling=scale * math.sqrt(max(0.0, ratio.standard_error**2 - error**2)) if math.isfinite(error) else 0.0,
            bias=scale * max(0.0, value - bounds[0], bounds[1] - value) if math.isfinite(value) else math.inf,
        )
        limits = SpanLimits(span=self, scale=scale, error=ratio.standard_error)
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
class SpanLimits(Limits):
    """The interval of a `Span`, solved when it is asked for."""

    span: Span
    scale: float
    error: float

    def at(self, level: float) -> Interval:
        span = self.span
        shift = span.functions.gap / self.error if 0.0 < self.error < math.inf else 0.0
        factor = critical(level, shift, heavy=span.marginal.heavy)
        if span.divisor is not None:
            return self._plain(level)
        low, high = into(span.within, span._ends(factor))
        return self.scale * low, self.scale * high

    def _plain(self, level: float) -> Interval:
        low, high = (
            self.span.ratio(choose(0.0)) for choose in (self.span.functions.least, self.span.functions.greatest)
        )
        ends = Between(
            low=low.value,
            high=high.value,
            low_error=low.standard_error,
            high_error=high.standard_error,
            gap=self.span.functions.gap if self.span.divisor == self.span.marginal.total else 0.0,
            within=self.span.within,
            heavy=self.span.marginal.heavy,
        ).at(level)
        return self.scale * ends[0], self.scale * ends[1]
