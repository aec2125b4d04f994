"""Where the two ends of a confidence interval lie, for each level."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeAlias, final

from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from kernelease.errors import ParameterError

Interval: TypeAlias = tuple[float, float]

EVERYWHERE: Interval = (-math.inf, math.inf)


class Limits(ABC):
    """A confidence interval of every level."""

    __slots__ = ()

    @abstractmethod
    def at(self, level: float) -> Interval:
        """The interval that covers the truth with probability at least `level`."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Between(Limits):
    """The truth is between two numbers, each known up to normal noise: `low` ± `low_error`, `high` ± `high_error`.

    They are one number where the release measured the very thing that was asked. Where a part was not measured (where
    in its cell a number lies), they are apart by the largest bias in either direction, at least by `gap`: then both
    ends can't be missed at once, and the critical value is smaller. `within` holds all possible answers.

    >>> exact = Between(low=5.0, high=5.0, low_error=1.0, high_error=1.0)
    >>> [round(end, 2) for end in exact.at(0.95)]
    [3.04, 6.96]
    """

    low: float
    high: float
    low_error: float
    high_error: float
    gap: float = 0.0
    within: Interval = EVERYWHERE
    heavy: bool = False  # Laplace noise, whose tails are longer than the normal law's

    def at(self, level: float) -> Interval:
        error = max(self.low_error, self.high_error)
        factor = critical(level, self.gap / error if error > 0.0 else math.inf, heavy=self.heavy)
        # Moving a centre to the nearest possible answer moves it no further from the truth: the interval stays valid.
        low, high = (_into(end, self.within) for end in (self.low, self.high))
        ends = low - factor * self.low_error, high + factor * self.high_error
        return _into(ends[0], self.within), _into(ends[1], self.within)


@final
@dataclass(frozen=True, slots=True)
class Unknown(Limits):
    """Anything that is possible."""

    within: Interval = EVERYWHERE

    def at(self, level: float) -> Interval:
        return self.within


def critical(level: float, shift: float = 0.0, *, heavy: bool = False) -> float:
    """c with Φ(c) − Φ(−c − shift) = level: of a normal estimate whose interval is `shift` errors longer than 2c.

    With a shift of 0 it is the two-sided quantile, and with a large one the one-sided. For Laplace noise (`heavy`) it
    is at least the quantile of a single Laplace variable of the same variance, the longest-tailed case.

    >>> round(critical(0.95), 3), round(critical(0.95, 50.0), 3)
    (1.96, 1.645)
    """
    if not 0.0 < level < 1.0:
        raise ParameterError(f"level must be between 0 and 1, like 0.95, got {level!r}.")
    one, two = float(ndtri(level)), float(ndtri(0.5 + level / 2.0))
    if heavy:
        return max(two, -math.log1p(-level) / math.sqrt(2.0))
    if shift <= 0.0 or shift > 40.0 or two <= max(one, 0.0):
        return two if shift <= 0.0 else max(one, 0.0)
    return float(brentq(lambda c: ndtr(c) - ndtr(-c - shift) - level, max(one, 0.0) - 1e-9, two + 1e-9))


def into(within: Interval, ends: Interval) -> Interval:
    """An interval cut to what is possible; one that misses all of that is moved to its nearest end first.

    >>> into((0.0, 1.0), (-0.5, 0.5)), into((0.0, 1.0), (-0.5, -0.3))
    ((0.0, 0.5), (0.0, 0.1))
    """
    half = (ends[1] - ends[0]) / 2.0
    if ends[1] < within[0]:
        ends = (within[0], within[0] + half)
    elif ends[0] > within[1]:
        ends = (within[1] - half, within[1])
    return _into(ends[0], within), _into(ends[1], within)


def _into(value: float, within: Interval) -> float:
    return min(max(value, within[0]), within[1])
