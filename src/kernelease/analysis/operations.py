"""Confidence limits of a sum, product or quotient of two estimates, and of a monotone function of one.

Each estimate has limits of its own, which need not be alike on both sides. From how far these reach and from the
correlation of the errors follow the limits of a combination (Zou & Donner 2008, the method of variance estimates
recovery), which for normal errors are the usual ones, and for a quotient Fieller's. Biases add up. Where nothing says
how the errors go together, both estimates are taken at half of what the level leaves, and every pair of values between
their limits is possible.
"""

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from kernelease.analysis.inference import REAL_LINE, ConfidenceLimits, Interval, Ratio


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """An estimate as one of two in a combination."""

    value: float
    bias: float
    limits: ConfidenceLimits

    def reaches(self, level: float) -> Interval:
        """How far its limits are below and above the value, apart from the bias."""
        low, high = self.limits.at(level)
        return max(0.0, self.value - low - self.bias), max(0.0, high - self.value - self.bias)

    @property
    def extremes(self) -> Interval:
        """The value with the whole bias on either side."""
        return self.value - self.bias, self.value + self.bias


class PairLimits(ConfidenceLimits):
    """Of a function of two estimates whose errors have a known correlation, or (None) an unknown one."""

    __slots__ = ()

    first: Operand
    second: Operand
    correlation: float | None

    def at(self, level: float) -> Interval:
        if self.correlation is None or not all(math.isfinite(one.bias) for one in (self.first, self.second)):
            each = 1.0 - (1.0 - level) / 2.0
            return self.over(self.first.limits.at(each), self.second.limits.at(each))
        return self.joint(level, self.correlation)

    @abstractmethod
    def over(self, first: Interval, second: Interval) -> Interval:
        """The least and the greatest value where each estimate is anywhere in an interval."""

    @abstractmethod
    def joint(self, level: float, correlation: float) -> Interval:
        """The limits where the errors have this correlation."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SumLimits(PairLimits):
    """Of a + b: each side reaches √(r² + s² + 2ρ·r·s), where a's reaches r and b's reaches s, and both biases."""

    first: Operand
    second: Operand
    correlation: float | None

    def over(self, first: Interval, second: Interval) -> Interval:
        return first[0] + second[0], first[1] + second[1]

    def joint(self, level: float, correlation: float) -> Interval:
        value, bias = self.first.value + self.second.value, self.first.bias + self.second.bias
        reaches = zip(self.first.reaches(level), self.second.reaches(level), strict=True)
        below, above = (_length(one, other, correlation) for one, other in reaches)
        return value - bias - below, value + bias + above


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuotientLimits(PairLimits):
    """Of a / b, by Fieller's theorem: without ends where b may be 0."""

    first: Operand
    second: Operand
    correlation: float | None

    def over(self, first: Interval, second: Interval) -> Interval:
        if second[0] <= 0.0 <= second[1]:
            return REAL_LINE
        corners = [one / other for one, other in itertools.product(first, second)]
        return min(corners), max(corners)

    def joint(self, level: float, correlation: float) -> Interval:
        reaches = self.first.reaches(level), self.second.reaches(level)
        corners = itertools.product(self.first.extremes, self.second.extremes)
        ends = [_fieller(a, b, *reaches, correlation) for a, b in corners]
        if not all(math.isfinite(end) for pair in ends for end in pair) or _contains_zero(self.second.extremes):
            return REAL_LINE
        return min(low for low, _ in ends), max(high for _, high in ends)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProductLimits(PairLimits):
    """Of a·b: that of the sum of logarithms where neither may be 0, else every pair of values between the limits."""

    first: Operand
    second: Operand
    correlation: float | None

    def over(self, first: Interval, second: Interval) -> Interval:
        corners = [_times(one, other) for one, other in itertools.product(first, second)]
        return min(corners), max(corners)

    def joint(self, level: float, correlation: float) -> Interval:
        parts = [_sided(one, level) for one in (self.first, self.second)]
        if any(part is None for part in parts):
            each = 1.0 - (1.0 - level) / 2.0
            return self.over(self.first.limits.at(each), self.second.limits.at(each))
        (one, sign), (other, turned) = (part for part in parts if part is not None)
        low, high = SumLimits(first=one, second=other, correlation=sign * turned * correlation).at(level)
        ends = sign * turned * math.exp(low), sign * turned * math.exp(high)
        return min(ends), max(ends)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MonotoneLimits(ConfidenceLimits):
    """Of an increasing function of an estimate: the function of its limits; `falling` where it decreases."""

    limits: ConfidenceLimits
    function: Callable[[float], float]
    falling: bool = False

    def at(self, level: float) -> Interval:
        low, high = (self.function(end) for end in self.limits.at(level))
        return (high, low) if self.falling else (low, high)


@final
@dataclass(frozen=True, slots=True)
class ReciprocalLimits(ConfidenceLimits):
    """Of 1 / a: without ends where a may be 0."""

    limits: ConfidenceLimits

    def at(self, level: float) -> Interval:
        low, high = self.limits.at(level)
        return REAL_LINE if _contains_zero((low, high)) else (1.0 / high, 1.0 / low)


def _length(one: float, other: float, correlation: float) -> float:
    return math.sqrt(max(0.0, one * one + other * other + 2.0 * correlation * one * other))


def _fieller(a: float, b: float, first: Interval, second: Interval, correlation: float) -> Interval:
    """Limits of a / b from how far those of a and b reach below and above; a negative b is turned around with a."""
    if b < 0.0:
        return _fieller(-a, -b, first[::-1], second[::-1], correlation)
    far, near = (second[1], second[0]) if a > 0.0 else (second[0], second[1])

    def ratio(one: float, other: float) -> Interval:
        covariance = correlation * one * other
        return Ratio(numerator=a, denominator=b, variances=(one**2, other**2), covariance=covariance).interval(1.0)

    return ratio(first[0], far)[0], ratio(first[1], near)[1]


def _contains_zero(interval: Interval) -> bool:
    return interval[0] <= 0.0 <= interval[1]


def _times(one: float, other: float) -> float:
    return 0.0 if one == 0.0 or other == 0.0 else one * other


def _sided(one: Operand, level: float) -> tuple[Operand, float] | None:
    """The logarithm of the size of an estimate, and its sign; None where its limits hold 0."""
    low, high = one.limits.at(level)
    if _contains_zero((low, high)) or _contains_zero(one.extremes):
        return None
    sign = 1.0 if one.value > 0.0 else -1.0
    limits = MonotoneLimits(limits=one.limits, function=log_of_size, falling=sign < 0.0)
    smallest = min(abs(end) for end in one.extremes)
    bias = math.log(abs(one.value) / smallest)
    return Operand(value=math.log(abs(one.value)), bias=bias, limits=limits), sign


def log_of_size(value: float) -> float:
    """log |x|, and −∞ for 0."""
    return math.log(abs(value)) if value != 0.0 else -math.inf


def logarithm(value: float) -> float:
    """log x for positive x; −∞ below."""
    return math.log(value) if value > 0.0 else -math.inf


def square_root(value: float) -> float:
    """√x for positive x; 0 below."""
    return math.sqrt(max(0.0, value))


def exponential(value: float) -> float:
    """exp x; ∞ where it is too large to be told."""
    return math.exp(value) if value < 700.0 else math.inf


def logit(share: float) -> float:
    """log(p / (1 − p)); ∓∞ at 0 and 1."""
    if share <= 0.0 or share >= 1.0:
        return -math.inf if share <= 0.0 else math.inf
    return math.log(share / (1.0 - share))
