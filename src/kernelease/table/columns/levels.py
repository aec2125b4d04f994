"""Legal values of a range cut into cells: equal ones, ones that widen, or such as noisy counts have laid."""

import decimal
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias, final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError

# --------------------
# Numbers as they are written: exact decimals, how many digits, short text.


MOST_DECIMALS = 15  # digits that a float64 holds
_FINER = 3  # more digits than tell cells apart: a thousand values in each
_POWERS = np.array([float(f"1e{exponent}") for exponent in range(300)])  # of ten, the nearest to each
_NONE = 400  # digits of a cell without width: none are enough


def fraction(number: float) -> Fraction:
    """The decimal that was written, exactly."""
    return Fraction(decimal.Decimal(repr(number)))


def decimals_of(number: float) -> int:
    """How many digits follow the point in a number as it was written.

    >>> decimals_of(0.25), decimals_of(1e-7), decimals_of(300.0)
    (2, 7, 0)
    """
    exponent = decimal.Decimal(repr(number)).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def interval_labels(edges: Floats, points: int) -> tuple[str, ...]:
    """The cells between some edges in words; with points, the first and the last cell are single values."""
    written = distinct(edges)
    labels = [f"[{a}, {b})" for a, b in pairwise(written)]
    if not points:
        return (*labels[:-1], f"[{written[-2]}, {written[-1]}]")
    return (f"{edges[0]}", f"({labels[1][1:]}", *labels[2:-1], f"{edges[-1]}")


def distinct(numbers: Floats) -> list[str]:
    """Numbers as short text: six digits, or as many as it takes to tell them apart."""
    written: list[str] = []
    for digits in range(6, 18):
        written = [f"{number:.{digits}g}" for number in numbers]
        if len(set(written)) == len(set(numbers)):
            break
    return written


def digits_within(widths: Floats) -> Integers:
    """How many digits follow the point of values in cells of some widths, three more than tell such cells apart.

    >>> digits_within(np.array([250.0, 0.25]))
    array([1, 4])
    """
    with np.errstate(divide="ignore"):
        places = np.where(widths > 0.0, np.ceil(-np.log10(widths)) + _FINER, _NONE)
    return np.maximum(places, 0).astype(np.int64)


def printed(values: Floats, digits: Integers) -> Floats:
    """Values rounded to their digits; as they are where no number of digits is enough.

    >>> printed(np.array([1 / 3, -0.0001]), np.array([2, 2])).tolist()
    [0.33, 0.0]
    """
    factors = _POWERS[np.minimum(digits, len(_POWERS) - 1)]
    with np.errstate(over="ignore"):
        rounded = np.rint(values * factors) / factors + 0.0  # no −0
    return np.where((digits < len(_POWERS)) & np.isfinite(rounded), rounded, values)


# --------------------
# Cutting a range of legal values into cells.


FEWEST = 4  # cells with points: one for each end, and at least two for what lies between


def points_in(cells: int) -> int:
    """How many of the cells at each end are points of a single value: 1, or 0 if there are too few cells."""
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


@final
@dataclass(frozen=True, slots=True)
class LaidLevels:
    """Levels 0, 1, …, number − 1 in cells that begin at the levels of `first`: 0, and others in rising order.

    >>> [level.tolist() for level in LaidLevels(9, (0, 4, 5)).bounds()]
    [[0, 4, 5], [3, 4, 8]]
    """

    number: int
    first: tuple[int, ...]

    @property
    def points(self) -> int:
        """0: whether the first and the last cell are points does not matter here."""
        return 0

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.first)

    def bounds(self) -> tuple[Integers, Integers]:
        """The first and the last level of each cell: (cells,) each."""
        first = np.array(self.first, dtype=np.int64)
        return first, np.append(first[1:], self.number) - 1


@final
@dataclass(frozen=True, slots=True)
class ListedLevels:
    """Those of the levels 0, 1, …, number − 1 that are listed, in rising order: a cell each, and nothing between them.

    >>> [level.tolist() for level in ListedLevels(9, (0, 4, 8)).bounds()]
    [[0, 4, 8], [0, 4, 8]]
    """

    number: int
    listed: tuple[int, ...]

    @property
    def points(self) -> int:
        """0: all are points."""
        return 0

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.listed)

    def bounds(self) -> tuple[Integers, Integers]:
        """The level of each cell, twice: (cells,) each."""
        listed = np.array(self.listed, dtype=np.int64)
        return listed, listed


AnyLevels: TypeAlias = Levels | LogLevels | LaidLevels | ListedLevels


def levels_of(low: Fraction, high: Fraction, tick: Fraction, most: int, scale: str) -> Levels | LogLevels:
    """The values low, low + tick, … ≤ high in at most `most` cells, equal ones or, for "log", ones that widen."""
    levels = Levels(int((high - low) // tick) + 1, most)
    return levels if scale == "linear" or levels.number <= most else LogLevels(levels.number, most, low, tick)


def split_levels(levels: AnyLevels, parts: Integers) -> tuple[int, ...]:
    """Where cells begin if each is cut into so many equal ones, or as many as it has levels.

    >>> split_levels(LaidLevels(9, (0, 4, 5)), np.array([2, 2, 3]))
    (0, 2, 4, 5, 6, 7)
    """
    first, last = levels.bounds()
    widths = last - first + 1
    count = np.minimum(widths, np.maximum(parts, 1))
    place = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    starts = np.repeat(first, count) + place * np.repeat(widths, count) // np.repeat(count, count)
    return tuple(starts.tolist())


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


# --------------------
# Texture: cells that follow from noisy counts, and the grids that values within them lie on.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Texture:
    """How a number was laid: the first level of each cell, and which share of a cell's rows lies on which grid.

    `grids` are distances in levels: a value lies on a grid if it is a multiple of so many resolutions. `shares[c][g]`
    is the part of the rows of cell c that is drawn from those of its values that lie on grid g; the rest is drawn from
    all of them. Whoever declares a column says nothing of it: it follows from what was measured.
    """

    first: tuple[int, ...]
    grids: tuple[int, ...] = ()
    shares: tuple[tuple[float, ...], ...] = ()
    looked: bool = False  # whether a part of the budget was spent on it before

    def __post_init__(self) -> None:
        if not self.first or self.first[0] != 0 or any(a >= b for a, b in pairwise(self.first)):
            raise ParameterError("Texture: cells begin at 0, and at other levels in rising order.")
        if any(grid < 2 for grid in self.grids) or len(self.shares) != (len(self.first) if self.grids else 0):
            raise ParameterError("Texture: grids are of two levels or more, with shares for each cell.")
        if any(len(own) != len(self.grids) or min(own) < 0.0 or not sum(own) <= _WHOLE for own in self.shares):
            raise ParameterError("Texture: shares of grids are at least 0, and at most 1 together.")

    def drawn(
        self, cells: Integers, bounds: tuple[Integers, Integers], phase: int, generator: np.random.Generator
    ) -> Integers:
        """A level of each cell: of those on a grid that is drawn first, where the cell has any of them: (n,)."""
        low, high = bounds[0][cells], bounds[1][cells]
        if self.grids:
            step = np.append(np.array(self.grids, dtype=np.int64), 1)
            ends = np.cumsum(np.array(self.shares), axis=1)[cells]
            step = step[(generator.random(len(cells))[:, None] >= ends).sum(axis=1)]
            first, last = -(-(low + phase) // step), (high + phase) // step
            there = first <= last
            low, high = (np.where(there, end, plain + phase) for end, plain in ((first, low), (last, high)))
            step = np.where(there, step, 1)
            return np.asarray(generator.integers(low, high, endpoint=True) * step - phase)
        return np.asarray(generator.integers(low, high, endpoint=True))


_WHOLE = 1.0 + 1e-9  # of shares that were added up in floats
