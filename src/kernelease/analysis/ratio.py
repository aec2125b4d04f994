"""Ratios of two noisy sums, by Fieller's theorem."""

import math
from dataclasses import dataclass
from typing import final

from kernelease.analysis.limits import EVERYWHERE, Interval


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """numerator / denominator, of two sums with jointly normal errors.

    A ratio t is plausible where numerator − t·denominator is, a sum with a known variance: no approximation enters,
    however noisy the denominator is. Where that could be 0, every t is plausible: the interval has no ends.

    >>> clear = Ratio(numerator=20.0, denominator=10.0, variances=(1.0, 1.0), covariance=0.0)
    >>> [round(end, 3) for end in clear.interval(1.96)], round(clear.standard_error, 4)
    ([1.626, 2.534], 0.2236)
    >>> Ratio(numerator=20.0, denominator=1.5, variances=(1.0, 1.0), covariance=0.0).interval(1.96)
    (-inf, inf)
    """

    numerator: float
    denominator: float
    variances: tuple[float, float]
    covariance: float

    @property
    def value(self) -> float:
        """The ratio; NaN where the denominator is not positive, as no true denominator is."""
        return self.numerator / self.denominator if self.denominator > 0.0 else math.nan

    @property
    def standard_error(self) -> float:
        """To first order; infinite where the denominator is not positive."""
        if self.denominator <= 0.0:
            return math.inf
        return math.sqrt(max(0.0, self.spread(self.value))) / self.denominator

    def spread(self, ratio: float) -> float:
        """The variance of numerator − ratio·denominator."""
        first, second = self.variances
        return first - 2.0 * ratio * self.covariance + ratio * ratio * second

    def interval(self, factor: float) -> Interval:
        """All t with (numerator − t·denominator)² ≤ factor²·spread(t)."""
        first, second = self.variances
        square = factor * factor
        quadratic = self.denominator**2 - square * second
        if quadratic <= 0.0 or self.denominator <= 0.0:
            return EVERYWHERE
        half = self.numerator * self.denominator - square * self.covariance
        root = math.sqrt(max(0.0, half * half - quadratic * (self.numerator**2 - square * first)))
        return (half - root) / quadratic, (half + root) / quadratic
