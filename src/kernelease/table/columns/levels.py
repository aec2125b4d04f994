"""Legal values in order, put into cells."""

import decimal
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import final

import numpy as np

from kernelease.arrays import Integers

FEWEST = 4  # cells with points: one for each end, and at least two for what lies between


def points_in(cells: int) -> int:
    """Of so many cells, how many at each end are points that hold a single value: 1, or 0 if there are too few."""
    return int(cells >= FEWEST)


@final
@dataclass(frozen=True, slots=True)
class Levels:
    """Levels 0, 1, …, number − 1 in at most `most` cells.

    A level each, if that is enough. Else the first and the last level keep cells of their own, the *points*: there
    clamping heaps up rows, and there zeros and caps are. Those between are in equal runs, the last one perhaps
    shorter. Fewer than 4 cells are runs only.

    >>> [level.tolist() for level in Levels(9, 5).bounds()]
    [[0, 1, 4, 7, 8], [0, 3, 6, 7, 8]]
    """

    number: int
    most: int

    @property
    def points(self) -> int:
        """The number of points at each end, beside runs of several levels: 1 or 0."""
        return points_in(self.most) if self.number > self.most else 0

    @property
    def run(self) -> int:
        """The number of levels in a run."""
        return -(-(self.number - 2 * self.points) // (self.most - 2 * self.points))

    @property
    def cells(self) -> int:
        """The number of cells."""
        return -(-(self.number - 2 * self.points) // self.run) + 2 * self.points

    def bounds(self) -> tuple[Integers, Integers]:
        """The first and the last level of each cell: (cells,) each."""
        end = self.number - self.points
        runs = np.arange(self.points, end, self.run, dtype=np.int64)
        first = np.concatenate([np.arange(self.points), runs, np.arange(end, self.number)])
        return first, np.append(first[1:], self.number) - 1


@final
@dataclass(frozen=True, slots=True)
class LogLevels:
    """Levels 0, 1, …, number − 1 of the values low + level · tick, in at most `most` cells that widen with the value.

    The first and the last level are points. What lies between is cut where the logarithm is equally spaced, beginning
    at the first value above 0; cells that would hold no level are left out.

    >>> [level.tolist() for level in LogLevels(1001, 6, Fraction(0), Fraction(1)).bounds()]
    [[0, 1, 6, 32, 178, 1000], [0, 5, 31, 177, 999, 1000]]
    """

    number: int
    most: int
    low: Fraction
    tick: Fraction

    @property
    def points(self) -> int:
        """1: there are always points."""
        return 1

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self._starts) + 2

    @property
    def _starts(self) -> tuple[int, ...]:
        """The first level of each cell between the points."""
        least = self.low if self.low > 0 else self.tick
        cuts = log_cuts(least, self.low + (self.number - 1) * self.tick, self.most - 2)
        levels = [-int((self.low - Fraction(cut)) // self.tick) for cut in cuts]  # rounded up
        return tuple(sorted({1, *(level for level in levels if 1 < level < self.number - 1)}))

    def bounds(self) -> tuple[Integers, Integers]:
        """The first and the last level of each cell: (cells,) each."""
        first = np.array([0, *self._starts, self.number - 1], dtype=np.int64)
        return first, np.append(first[1:], self.number) - 1


def levels_of(low: Fraction, high: Fraction, tick: Fraction, most: int, scale: str) -> Levels | LogLevels:
    """The values low, low + tick, … ≤ high in at most `most` cells, equal ones or, for "log", ones that widen."""
    levels = Levels(int((high - low) // tick) + 1, most)
    return levels if scale == "linear" or levels.number <= most else LogLevels(levels.number, most, low, tick)


@lru_cache(maxsize=256)
def log_cuts(low: Fraction, high: Fraction, cells: int) -> tuple[decimal.Decimal, ...]:
    """Where the logarithm of low … high is cut into equal cells, to six digits, or as many as tell them apart.

    They are public decimals, the same on every machine: decimal arithmetic rounds logarithms correctly, and cells are
    then found by comparison alone.

    >>> [str(cut) for cut in log_cuts(Fraction(1), Fraction(1000), 6)]
    ['3.16228', '10.0000', '31.6228', '100.000', '316.228']
    """
    with decimal.localcontext(decimal.Context(prec=40)):
        first, last = (decimal.Decimal(end.numerator) / end.denominator for end in (low, high))
        step = (last.ln() - first.ln()) / cells
        exact = [(first.ln() + step * i).exp() for i in range(1, cells)]
        rounded = (tuple(decimal.Context(prec=digits).create_decimal(cut) for cut in exact) for digits in (6, 12))
        apart = (cuts for cuts in rounded if all(a < b for a, b in pairwise([first, *cuts, last])))
        return next(apart, tuple(exact))
