"""Confidence limits: of every level, of ratios by Fieller's theorem, of what is computed; results of tests."""

import html
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias, final

import numpy as np
import scipy
from scipy.special import ndtr, ndtri

from kernelease.arrays import Floats
from kernelease.errors import ParameterError

# --------------------
# Confidence limits at every level, Fieller's limits of a ratio, and results of tests.


Interval: TypeAlias = tuple[float, float]
REAL_LINE: Interval = (-math.inf, math.inf)
CONFIDENCE = 0.95  # the usual level of an interval
SIGNIFICANCE = 0.05  # and of a test
DRAWS = 999  # from the null distribution
LEAST_DRAWS = 19  # so that p can be 0.05
SCORES = 0.85  # weight of a test's few plain scores; the rest is that of the kernel, which sees everything


_LEAST_P = 1e-300  # what is less is 0 in floats


class ConfidenceLimits(ABC):
    """A confidence interval of every level."""

    __slots__ = ()

    @abstractmethod
    def at(self, level: float) -> Interval:
        """The interval that covers the truth with probability at least `level`."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NormalLimits(ConfidenceLimits):
    """The truth is between two numbers, each known up to normal noise: `low` ± `low_error`, `high` ± `high_error`.

    They are one number where the release measured the very thing that was asked. Where a part was not measured (where
    in its cell a number lies), they are apart by the largest bias in either direction, at least by `gap`: then both
    ends can't be missed at once, and the critical value is smaller (Imbens & Manski 2004). `within` holds all possible
    answers.

    >>> exact = NormalLimits(low=5.0, high=5.0, low_error=1.0, high_error=1.0)
    >>> [round(end, 2) for end in exact.at(0.95)]
    [3.04, 6.96]
    """

    low: float
    high: float
    low_error: float
    high_error: float
    gap: float = 0.0
    within: Interval = REAL_LINE
    laplace: bool = False  # Laplace noise, whose tails are longer than the normal law's

    def at(self, level: float) -> Interval:
        error = max(self.low_error, self.high_error)
        factor = critical_value(level, self.gap / error if error > 0.0 else math.inf, laplace=self.laplace)
        # Moving a centre to the nearest possible answer moves it no further from the truth: the interval stays valid.
        low, high = (_clip(end, self.within) for end in (self.low, self.high))
        ends = low - factor * self.low_error, high + factor * self.high_error
        return _clip(ends[0], self.within), _clip(ends[1], self.within)


@final
@dataclass(frozen=True, slots=True)
class UnknownLimits(ConfidenceLimits):
    """Anything that is possible."""

    within: Interval = REAL_LINE

    def at(self, level: float) -> Interval:
        return self.within


def critical_value(level: float, shift: float = 0.0, *, laplace: bool = False) -> float:
    """c with Φ(c) − Φ(−c − shift) = level: of a normal estimate whose interval is `shift` errors longer than 2c.

    With a shift of 0 it is the two-sided quantile, and with a large one the one-sided. For Laplace noise (`laplace`) it
    is at least the quantile of a single Laplace variable of the same variance, the longest-tailed case.

    >>> round(critical_value(0.95), 3), round(critical_value(0.95, 50.0), 3)
    (1.96, 1.645)
    """
    if not 0.0 < level < 1.0:
        raise ParameterError(f"level must be between 0 and 1, like 0.95, got {level!r}.")
    one, two = float(ndtri(level)), float(ndtri(0.5 + level / 2.0))
    if laplace:
        return max(two, -math.log1p(-level) / math.sqrt(2.0))
    if shift <= 0.0 or shift > 40.0 or two <= max(one, 0.0):
        return two if shift <= 0.0 else max(one, 0.0)
    return float(scipy.optimize.brentq(lambda c: ndtr(c) - ndtr(-c - shift) - level, max(one, 0.0) - 1e-9, two + 1e-9))


def clip_interval(within: Interval, ends: Interval) -> Interval:
    """An interval cut to what is possible; one that misses all of that is moved to its nearest end first.

    >>> clip_interval((0.0, 1.0), (-0.5, 0.5)), clip_interval((0.0, 1.0), (-0.5, -0.3))
    ((0.0, 0.5), (0.0, 0.1))
    """
    half = (ends[1] - ends[0]) / 2.0
    if ends[1] < within[0]:
        ends = (within[0], within[0] + half)
    elif ends[0] > within[1]:
        ends = (within[1] - half, within[1])
    return _clip(ends[0], within), _clip(ends[1], within)


def _clip(value: float, within: Interval) -> float:
    return min(max(value, within[0]), within[1])


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

    @classmethod
    def of(cls, sums: Sequence[float] | Floats, covariance: Floats) -> "Ratio":
        """The ratio of two sums, with the covariance of their errors: (2,), (2, 2)."""
        return cls(
            numerator=float(sums[0]),
            denominator=float(sums[1]),
            variances=(float(covariance[0, 0]), float(covariance[1, 1])),
            covariance=float(covariance[0, 1]),
        )

    @property
    def value(self) -> float:
        """The ratio; NaN where the denominator is not positive, as no true denominator is."""
        return self.numerator / self.denominator if self.denominator > 0.0 else math.nan

    @property
    def standard_error(self) -> float:
        """The standard error to first order; infinite where the denominator is not positive."""
        if self.denominator <= 0.0:
            return math.inf
        return math.sqrt(max(0.0, self.variance(self.value))) / self.denominator

    def variance(self, ratio: float) -> float:
        """The variance of numerator − ratio·denominator."""
        first, second = self.variances
        return first - 2.0 * ratio * self.covariance + ratio * ratio * second

    def blur(self, error: float) -> "Ratio":
        """The same with one more error of the ratio, independent of the others: a standard deviation."""
        return replace(self, variances=(self.variances[0] + (error * self.denominator) ** 2, self.variances[1]))

    def interval(self, factor: float) -> Interval:
        """All t with (numerator − t·denominator)² ≤ factor²·variance(t)."""
        first, second = self.variances
        square = factor * factor
        quadratic = self.denominator**2 - square * second
        if quadratic <= 0.0 or self.denominator <= 0.0:
            return REAL_LINE
        half = self.numerator * self.denominator - square * self.covariance
        root = math.sqrt(max(0.0, half * half - quadratic * (self.numerator**2 - square * first)))
        return (half - root) / quadratic, (half + root) / quadratic


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """A statistic, the probability of one at least as large if the hypothesis holds, and what that means.

    A p-value from draws counts them, (1 + draws that are no smaller) / (1 + draws): it keeps its level for any number
    of draws, and is never 0.
    """

    __test__: ClassVar[bool] = False  # not a test of pytest's

    hypothesis: str
    statistic: float
    p_value: float
    draws: int | None  # None where p was computed, not drawn
    remark: str = ""

    @classmethod
    def from_draws(
        cls, hypothesis: str, observed: float, null: Floats, *, statistic: float | None = None, remark: str = ""
    ) -> "TestResult":
        """Compare an observed number with draws of it under the null: (draws,)."""
        return cls(
            hypothesis=hypothesis,
            statistic=observed if statistic is None else statistic,
            p_value=float(1 + (null >= observed).sum()) / (1 + len(null)),
            draws=len(null),
            remark=remark,
        )

    def with_scores(self, p_value: float | None) -> "TestResult":
        """This test and one by scores as one, by a mean of both p-values in which the scores weigh most."""
        if p_value is None:
            return self
        plainer = p_value / SCORES <= self.p_value / (1.0 - SCORES)
        together = combined_p(p_value, self.p_value, SCORES)
        return replace(self, p_value=together, draws=None if plainer else self.draws)

    def rejects(self, level: float = SIGNIFICANCE) -> bool:
        """Whether the hypothesis is rejected at a level: it is so, wrongly, at most with that probability."""
        if not 0.0 < level < 1.0:
            raise ParameterError(f"level must be between 0 and 1, got {level!r}.")
        return self.p_value <= level

    @property
    def words(self) -> str:
        """The result in a sentence."""
        drawn = self.draws is not None and self.p_value <= 1.0 / (1 + self.draws)
        least = ", the least that so many draws can give" if drawn else ""
        p_value = f"p = {self.p_value:.3g}{least}"
        if self.rejects():
            verdict = f"Evidence against: {self.hypothesis} ({p_value})."
        else:
            verdict = f"No evidence against: {self.hypothesis} ({p_value}). That does not prove it."
        return f"{verdict} {self.remark}".rstrip()

    def __str__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.words)}</p>"


def combined_p(first: float, second: float, weight: float) -> float:
    """p of two tests together: of their weighted harmonic mean (Wilson 2019), as if they were independent.

    With p and q even between 0 and 1, weight/p + (1 − weight)/q is at least h where p ≤ a = weight/(h − 1 + weight),
    and else where q ≤ (1 − weight)/(h − weight/p), whose average over p has a closed form. Parts of a level that are
    added up (Bonferroni) waste what both tests find: at 0.05 and a weight of 0.85 they reject in 4.3 to 4.9 of 100, the
    more they go together the fewer, and this one in 4.8 to 5.0.

    >>> round(combined_p(0.05, 0.05, 0.85), 4), round(combined_p(0.05, 0.6, 0.85), 4)
    (0.0526, 0.0613)
    """
    rest = 1.0 - weight
    mean = weight / max(first, _LEAST_P) + rest / max(second, _LEAST_P)
    most = weight / (mean - rest)
    logarithm = math.log(mean - weight) + math.log(mean - rest) - math.log(weight * rest)
    return min(1.0, most + rest / mean * (1.0 - most + weight / mean * logarithm))


def rejected_level(limits: ConfidenceLimits, value: float) -> float:
    """p: 1 less the greatest level whose interval leaves a value out, to 1 part in a million.

    >>> round(rejected_level(NormalLimits(low=1.96, high=1.96, low_error=1.0, high_error=1.0), 0.0), 3)
    0.05
    """
    low, high = 0.0, 30.0  # −log of what the level leaves
    for _ in range(40):
        middle = 0.5 * (low + high)
        ends = limits.at(min(max(-math.expm1(-middle), 1e-12), 1.0 - 1e-12))
        low, high = (low, middle) if ends[0] <= value <= ends[1] else (middle, high)
    return math.exp(-high)


def check_draws(draws: int) -> int:
    """The number of draws, if they are enough for a test at the usual level."""
    if draws < LEAST_DRAWS:
        raise ParameterError(f"draws must be at least {LEAST_DRAWS}, so that p can be 0.05, got {draws!r}.")
    return draws


def wilson_hilferty(squares: Floats) -> Floats:
    """Sums of squares on the scale of a standard normal: the cube root (Wilson & Hilferty 1931) removes their skew.

    The observed one is scaled together with the draws: under the hypothesis it is one of them, and stays so.
    """
    mean = np.maximum(squares.mean(axis=0), 1e-300)
    spread = np.maximum(squares.var(axis=0) / (9.0 * mean**2), 1e-300)  # 2/9 over the degrees of freedom
    scores: Floats = (np.cbrt(squares / mean) - (1.0 - spread)) / np.sqrt(spread)
    return scores


# --------------------
# Confidence limits of a sum, product or quotient of two estimates, and of a monotone function of one.
#
# Each estimate has limits of its own, which need not be alike on both sides. From how far these reach and from the
# correlation of the errors follow the limits of a combination (Zou & Donner 2008, the method of variance estimates
# recovery), which for normal errors are the usual ones, and for a quotient Fieller's. Biases add up. Where nothing
# says how the errors go together, both estimates are taken at half of what the level leaves, and every pair of values
# between their limits is possible.


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PairLimits(ConfidenceLimits):
    """Limits of a function of two estimates whose errors have a known correlation, or (None) an unknown one."""

    first: Operand
    second: Operand
    correlation: float | None

    def at(self, level: float) -> Interval:
        if self.correlation is None or not all(math.isfinite(one.bias) for one in (self.first, self.second)):
            return self._apart(level)
        return self.joint(level, self.correlation)

    def _apart(self, level: float) -> Interval:
        """The limits however the errors go together."""
        each = 1.0 - (1.0 - level) / 2.0
        return self.over(self.first.limits.at(each), self.second.limits.at(each))

    @abstractmethod
    def over(self, first: Interval, second: Interval) -> Interval:
        """The least and the greatest value where each estimate is anywhere in an interval."""

    @abstractmethod
    def joint(self, level: float, correlation: float) -> Interval:
        """The limits where the errors have this correlation."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SumLimits(PairLimits):
    """Limits of a + b: each side reaches √(r² + s² + 2ρ·r·s), where a's reaches r and b's s, and both biases."""

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
    """Limits of a / b, by Fieller's theorem: without ends where b may be 0."""

    def over(self, first: Interval, second: Interval) -> Interval:
        if _contains_zero(second):
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
    """Limits of a·b: by the sum of logarithms if neither may be 0, else by every pair of values between the limits."""

    def over(self, first: Interval, second: Interval) -> Interval:
        corners = [times(one, other) for one, other in itertools.product(first, second)]
        return min(corners), max(corners)

    def joint(self, level: float, correlation: float) -> Interval:
        parts = [_log_and_sign(one, level) for one in (self.first, self.second)]
        if any(part is None for part in parts):
            return self._apart(level)
        (one, sign), (other, turned) = (part for part in parts if part is not None)
        low, high = SumLimits(first=one, second=other, correlation=sign * turned * correlation).at(level)
        ends = sign * turned * math.exp(low), sign * turned * math.exp(high)
        return min(ends), max(ends)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MonotoneLimits(ConfidenceLimits):
    """Limits of an increasing function of an estimate: the function of its limits; `falling` where it decreases."""

    limits: ConfidenceLimits
    function: Callable[[float], float]
    falling: bool = False

    def at(self, level: float) -> Interval:
        low, high = (self.function(end) for end in self.limits.at(level))
        return (high, low) if self.falling else (low, high)


@final
@dataclass(frozen=True, slots=True)
class ReciprocalLimits(ConfidenceLimits):
    """Limits of 1 / a: without ends where a may be 0."""

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


def times(one: float, other: float) -> float:
    """The product, 0 where one of them is 0 and the other infinite."""
    return 0.0 if one == 0.0 or other == 0.0 else one * other


def _log_and_sign(one: Operand, level: float) -> tuple[Operand, float] | None:
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


# --------------------
# What a test on private rows tells, in place of a release.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateTest:
    """What a test on private rows tells: whether the hypothesis is rejected at a level that was chosen before.

    `margin` is how far the noisy statistic lies above its noisy critical value, in the measure of the kernel; the test
    rejects where it is above 0. `noise` is the standard deviation of the noise in the statistic. There is no p-value:
    with so little noise it would say more of a row than ε allows (docs/proofs/permutation-tests.md).
    """

    hypothesis: str
    level: float
    margin: float
    noise: float
    epsilon: float
    protected: str
    entry: int | None  # of the ledger that was given
    private: bool

    @property
    def rejected(self) -> bool:
        """Whether the hypothesis is rejected: wrongly with a probability of at most `level`."""
        return self.margin > 0.0

    @property
    def statement(self) -> str:
        """What was spent, and on whom."""
        if not self.private:
            return "NOT PRIVATE: the noise came from a seed."
        books = "no ledger was given: count it yourself" if self.entry is None else f"entry {self.entry} of the ledger"
        return (
            f"This answer is ε-differentially private with ε = {self.epsilon:g} and δ = 0: it protects "
            f"{self.protected}, under replace-one ({books})."
        )

    @property
    def words(self) -> str:
        """The result in a few sentences."""
        found = (
            f"Evidence against: {self.hypothesis}."
            if self.rejected
            else f"No evidence against: {self.hypothesis}. That does not prove it."
        )
        side = "above" if self.rejected else "below"
        return (
            f"{found} Level {self.level:g}; the statistic is {abs(self.margin):.3g} {side} its critical value, with "
            f"noise of {self.noise:.3g}. {self.statement}"
        )

    def __str__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.words)}</p>"
