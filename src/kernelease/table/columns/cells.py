"""Columns whose atoms are cells of a range: legal values in equal cells, in ones that widen, or as they were laid."""

import decimal
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Self, TypeAlias, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError, SchemaError, nearest
from kernelease.table.columns.column import MOST_ATOMS, NULL_LABEL, Codes, Column, is_name
from kernelease.table.parsing import read_numbers

# ---- Cutting a range of legal values into cells.


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
        return -(-(self.number - 2 * self.points) // self.run) + 2 * self.points

    def bounds(self) -> tuple[Integers, Integers]:
        """The first and the last level of each cell: (cells,) each."""
        end = self.number - self.points
        runs = np.arange(self.points, end, self.run, dtype=np.int64)
        first = np.concatenate([np.arange(self.points), runs, np.arange(end, self.number)])
        return first, np.append(first[1:], self.number) - 1


@final
@dataclass(frozen=True, slots=True)
class LaidLevels:
    """Levels 0, 1, …, number − 1 in cells that begin at the levels of `first`: 0, and others in rising order.

    `points` is 1 where the first and the last level are points. Where levels are `listed`, these are the only ones: a
    cell each, and nothing between them.

    >>> [level.tolist() for level in LaidLevels(9, (0, 4, 5)).bounds()]
    [[0, 4, 5], [3, 4, 8]]
    >>> [level.tolist() for level in LaidLevels(9, (0, 4, 8), listed=True).bounds()]
    [[0, 4, 8], [0, 4, 8]]
    """

    number: int
    first: tuple[int, ...]
    points: int = 0
    listed: bool = False

    @property
    def cells(self) -> int:
        return len(self.first)

    def bounds(self) -> tuple[Integers, Integers]:
        """The first and the last level of each cell: (cells,) each."""
        first = np.array(self.first, dtype=np.int64)
        return first, first if self.listed else np.append(first[1:], self.number) - 1


def log_levels(number: int, most: int, low: Fraction, tick: Fraction) -> LaidLevels:
    """Levels 0, 1, …, number − 1 of the values low + level · tick, in at most `most` cells that widen with the value.

    The first and the last level are points. What lies between is cut where the logarithm is equally spaced, beginning
    at the first value above 0; cells that would hold no level are left out.

    >>> [level.tolist() for level in log_levels(1001, 6, Fraction(0), Fraction(1)).bounds()]
    [[0, 1, 6, 32, 178, 1000], [0, 5, 31, 177, 999, 1000]]
    """
    cuts = log_cuts(low if low > 0 else tick, low + (number - 1) * tick, most - 2)
    levels = [-int((low - Fraction(cut)) // tick) for cut in cuts]  # rounded up
    inner = sorted({1, *(level for level in levels if 1 < level < number - 1)})
    return LaidLevels(number, (0, *inner, number - 1), points=1)


AnyLevels: TypeAlias = Levels | LaidLevels


def levels_of(low: Fraction, high: Fraction, tick: Fraction, most: int, scale: str) -> AnyLevels:
    """The values low, low + tick, … ≤ high in at most `most` cells, equal ones or, for "log", ones that widen."""
    levels = Levels(int((high - low) // tick) + 1, most)
    return levels if scale == "linear" or levels.number <= most else log_levels(levels.number, most, low, tick)


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


# ---- Texture: cells that follow from noisy counts, and the progressions that values within them lie on.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Texture:
    """How a number was laid: the first level of each cell, and which share of a cell's rows lies on which progression.

    A progression is a step and a remainder, in resolutions: a value of v resolutions lies on it if v mod step is the
    remainder. Grids are those of remainder 0; prices that end in .99 are on (100, 99). `shares[c][p]` is the part of
    the rows of cell c that is drawn from those of its values that lie on progression p; the rest is drawn from all of
    them. Whoever declares a column says nothing of it: it follows from what was measured.
    """

    first: tuple[int, ...]
    progressions: tuple[tuple[int, int], ...] = ()
    shares: tuple[tuple[float, ...], ...] = ()
    looked: bool = False  # whether a part of the budget was spent on it before

    def __post_init__(self) -> None:
        if not self.first or self.first[0] != 0 or any(a >= b for a, b in pairwise(self.first)):
            raise ParameterError("Texture: cells begin at 0, and at other levels in rising order.")
        if any(step < 2 or not 0 <= remainder < step for step, remainder in self.progressions):
            raise ParameterError("Texture: progressions have steps of two levels or more, and remainders below these.")
        if len(self.shares) != (len(self.first) if self.progressions else 0):
            raise ParameterError("Texture: where there are progressions, there are shares for each cell.")
        if any(len(own) != len(self.progressions) or min(own) < 0.0 or not sum(own) <= _WHOLE for own in self.shares):
            raise ParameterError("Texture: shares of progressions are at least 0, and at most 1 together.")

    def draw_levels(
        self, cells: Integers, bounds: tuple[Integers, Integers], phase: int, generator: np.random.Generator
    ) -> Integers:
        """A level of each cell: of those on a progression that is drawn first, where the cell has any of them: (n,)."""
        low, high = bounds[0][cells], bounds[1][cells]
        if not self.progressions:
            return np.asarray(generator.integers(low, high, endpoint=True))
        ends = np.cumsum(np.array(self.shares), axis=1)[cells]
        drawn = (generator.random(len(cells))[:, None] >= ends).sum(axis=1)
        step, remainder = np.array([*self.progressions, (1, 0)], dtype=np.int64)[drawn].T
        first, last = terms_within(low + phase, high + phase, step, remainder)
        there = first <= last
        step, remainder = np.where(there, step, 1), np.where(there, remainder, 0)
        low, high = (np.where(there, end, plain + phase) for end, plain in ((first, low), (last, high)))
        return np.asarray(generator.integers(low, high, endpoint=True) * step + remainder - phase)


def terms_within(low: Integers, high: Integers, step: Integers, remainder: Integers) -> tuple[Integers, Integers]:
    """The first and the last k of which low ≤ k·step + remainder ≤ high; the last is below the first for none."""
    return -((remainder - low) // step), (high - remainder) // step


_WHOLE = 1.0 + 1e-9  # of shares that were added up in floats


# ---- Columns whose atoms are cells of a declared range, and those whose cells are whole ticks of it.


MOST_CELLS = 256  # where `cells` is not declared
SCALES = ("linear", "log")


@dataclass(frozen=True, slots=True, kw_only=True)
class Celled(Column):
    """A column of cells of [min, max], in order; then NULL. What is outside is clamped to `min` or `max`.

    A cell holds one legal value, if `cells` is enough for all of them. If not, `min` and `max` still have cells of
    their own, *points*, since rows heap up there; equal cells cover what lies between. Of fewer than 4 cells none is a
    point.

    `cells` is the most cells to use, 256 if it is not declared: more cells see finer detail and cost more noise. A
    missing or unparsable cell is NULL; in a column that is not nullable, the cell of `default`, or the lowest cell
    where none is declared.
    """

    cells: int | None = None
    texture: Texture | None = None  # how it was laid, where it was: no file declares it

    ordered: ClassVar[bool] = True
    _size_key: ClassVar[str] = "cells"

    def _check_cells(self) -> None:
        if self.cells is not None and (type(self.cells) is not int or not 1 <= self.cells <= MOST_ATOMS):
            raise self.error("cells", f"cells must be an integer from 1 to {MOST_ATOMS}, got {self.cells!r}.")

    def _check_values(self) -> None:
        """Of a column that may list its legal values: that these are all it says of them."""
        values = self._raw_field("values")
        if values is None:
            return
        if not 2 <= len(values) < MOST_ATOMS or any(a >= b for a, b in pairwise(values)):
            raise self.error("values", f"values must be from 2 to {MOST_ATOMS - 1} numbers in rising order. Sort them.")
        if (self._raw_field("min"), self._raw_field("max")) != (values[0], values[-1]):
            raise self.error("values", "min and max follow from values: the first and the last. Remove both.")
        usual = {"cells": (None,), "resolution": (None, 1), "decimals": (None,), "scale": ("linear",)}
        if any(self._raw_field(key) not in plain for key, plain in usual.items() if hasattr(self, key)):
            raise self.error("values", "values say it all: remove cells, resolution, decimals and scale.")

    def _check_default(self, low: float, high: float) -> None:
        default = self._raw_field("default")
        if default is not None and not low <= default <= high:
            raise self.error("default", f"default must be from min to max, got {default}.")

    def _check_scale(self, low: float, least: float | None) -> None:
        """`least` is the distance of legal values, where there is one: the first value above 0 where `low` is 0."""
        scale = self._raw_field("scale")
        if scale not in SCALES:
            raise self.error(
                "scale", f"scale must be {' or '.join(SCALES)}, got {scale!r}.{nearest(str(scale), SCALES)}"
            )
        if scale == "linear":
            return
        if low < 0:
            raise self.error("min", f"a scale of logarithms begins at 0 or above, got min = {low}.")
        if low == 0 and least is None:
            raise self.error(
                "scale", "a scale of logarithms from 0 on needs decimals or a resolution: the first value above 0."
            )
        if self._most_cells < FEWEST:
            raise self.error("cells", f"a scale of logarithms needs at least {FEWEST} cells, got {self.cells}.")

    @property
    def _most_cells(self) -> int:
        return self.cells or MOST_CELLS

    @property
    @abstractmethod
    def levels(self) -> AnyLevels:
        """The legal values, counted from 0, in cells."""

    @property
    @abstractmethod
    def phase(self) -> int:
        """Which multiple of the distance of legal values the lowest of them is; 0 where it is none."""

    def ends(self) -> tuple[Floats, Floats]:
        """The least and the greatest number of each cell: (cells,) each."""
        lowest, highest = self.bounds()
        return lowest.astype(np.float64), highest.astype(np.float64)

    @property
    def in_order(self) -> int:
        return self.cell_count

    def _drawn_levels(self, cells: Integers, generator: np.random.Generator) -> Integers:
        """A level of each cell: uniformly, or on grids as its texture says."""
        texture = self.texture or Texture(first=(0,))
        return texture.draw_levels(cells, self.levels.bounds(), self.phase, generator)

    @property
    @abstractmethod
    def cell_count(self) -> int:
        """The number of cells: the atoms other than NULL."""

    @property
    @abstractmethod
    def points(self) -> int:
        """1 if `min` and `max` are points beside cells of several values, else 0: the code of the first such cell."""

    @property
    def finer(self) -> Self | None:
        """The same column in as many cells as there can be; None where each cell holds one value already."""
        cells = MOST_ATOMS - self.nullable
        if np.array_equal(*self.bounds()):
            return None
        if self.texture is not None:
            parts = np.full(self.cell_count, cells // self.cell_count)
            return replace(self, texture=Texture(first=split_levels(self.levels, parts))) if parts[0] > 1 else None
        while cells > self.cell_count:
            try:
                return replace(self, cells=cells)
            except SchemaError:  # narrower than float64 can tell apart here
                cells //= 2
        return None

    @property
    def size(self) -> int:
        return self.cell_count + self.nullable

    @property
    @abstractmethod
    def _default_code(self) -> int:
        """The code of `default`, or 0."""

    @property
    def missing(self) -> int:
        """NULL, else the cell of `default`, else the lowest cell."""
        return self.cell_count if self.nullable else self._default_code

    @abstractmethod
    def edges(self) -> Floats:
        """Where the cells begin, and where the last one ends: (cell_count + 1,)."""

    @abstractmethod
    def bounds(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The lowest and the highest value of each cell, in the unit of `low` and `high`: (cell_count,) each."""

    @abstractmethod
    def _cell_labels(self) -> tuple[str, ...]:
        """A label for each cell."""

    def labels(self) -> tuple[str, ...]:
        """The range of each cell; NULL."""
        return self._cell_labels() + (NULL_LABEL,) * self.nullable

    @abstractmethod
    def _cell_centres(self) -> Floats:
        """The mean of the legal values in each cell."""

    def centres(self) -> Floats:
        return np.append(self._cell_centres(), [np.nan] * self.nullable)

    @abstractmethod
    def _draw(self, cells: Integers, generator: np.random.Generator) -> NDArray[Any]:
        """A legal value of each cell, uniformly."""

    def _decode(self, codes: Codes, generator: np.random.Generator) -> pa.Array:
        null = codes == self.cell_count
        values = self._draw(np.where(null, 0, codes).astype(np.int64), generator)
        return self._to_arrow(values, null)

    def _to_arrow(self, values: NDArray[Any], null: NDArray[np.bool_]) -> pa.Array:
        return pa.array(values, self.arrow_type, mask=null)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked(Celled):
    """A number: its legal values can be counted, and its cells may follow from noisy counts of them.

    `minus` names a column of the schema that is taken off, row by row: what is read is how far apart the two are.
    """

    @abstractmethod
    def level_of(self, numbers: Floats) -> Integers:
        """The legal value that each number counts as, counted from 0: (n,) → (n,). None may be NaN."""

    @abstractmethod
    def lay(self, grid: Fraction, texture: Texture) -> Self:
        """The same column in cells of the multiples of a grid; a `ParameterError` where it can't be laid so."""

    @property
    def as_released(self) -> Column:
        changes: dict[str, Any] = {"source": None, "minus": None}
        return replace(self, **changes)

    def _check_minus(self) -> None:
        if (minus := self._raw_field("minus")) is None:
            return
        if not is_name(minus):
            raise self.error("minus", f"minus must be the name of a column of the schema, got {minus!r}.")
        if self.source is None:
            raise self.error(
                "minus", f"minus needs from, the column of the source that {minus!r} is taken off. Add it."
            )

    @property
    def fallback(self) -> float:
        """The number that a missing cell counts as where the column is not nullable: `default`, or the lowest."""
        default = self._raw_field("default")
        return float(self.bounds()[0][self.missing] if default is None else default)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped(Celled):
    """A column whose values are whole ticks from `low` to `high`, `tick` apart.

    With v the cell as an integer number of ticks, rounded down, its code in exact integer arithmetic is

        0                                if v < low + tick
        cell_count − 1                   if v ≥ top
        points + (v − origin) DIV step   otherwise

    and this is all that another engine needs. The cells between the points are `step` ticks wide, the last of them
    perhaps less. On a scale of logarithms they widen, and the code is the number of `starts` that are not above v.
    """

    _scale: ClassVar[float] = 1.0

    @abstractmethod
    def _in_ticks(self, value: Any) -> int:
        """A declared value, `min`, `max` or `default`, in ticks."""

    @property
    def tick(self) -> int:
        """`resolution` in ticks: legal values are low, low + tick, … ≤ high."""
        return int(self._raw_field("resolution"))

    @property
    def low(self) -> int:
        """`min` in ticks."""
        return self._in_ticks(self._raw_field("min"))

    @property
    def high(self) -> int:
        """`max` in ticks."""
        return self._in_ticks(self._raw_field("max"))

    @property
    def levels(self) -> AnyLevels:
        number = (self.high - self.low) // self.tick + 1
        return Levels(number, self._most_cells) if self.texture is None else LaidLevels(number, self.texture.first)

    @property
    def phase(self) -> int:
        """`low` over `tick`, where that is whole."""
        return self.low // self.tick if self.low % self.tick == 0 else 0

    @property
    def starts(self) -> Integers:
        """The first tick of each cell but the first: of listed values, from which on each is the nearest."""
        first, last = self.bounds()
        return (last[:-1] + first[1:] + 1) // 2 if self._is_listed else first[1:]

    @property
    def _is_listed(self) -> bool:
        return isinstance(self.levels, LaidLevels) and self.levels.listed

    @property
    def even(self) -> bool:
        """Whether all cells between the points are of one width, so that dividing finds them."""
        return isinstance(self.levels, Levels)

    @property
    def cell_count(self) -> int:
        """The number of cells: one for each legal value; or one for `min`, for each run of values, and for `max`."""
        return self.levels.cells

    @property
    def points(self) -> int:
        """1 if `min` and `max` are points beside runs of values, else 0."""
        return self.levels.points

    @property
    def step(self) -> int:
        """The width of a cell between the points in ticks, where it is the same for all."""
        levels = self.levels
        assert isinstance(levels, Levels)
        return levels.run * self.tick

    @property
    def origin(self) -> int:
        """Where the first cell begins that is no point."""
        return self.low + self.points * self.tick

    @property
    def top(self) -> int:
        """The highest legal value in ticks."""
        return self.low + (self.levels.number - 1) * self.tick

    @property
    def _default_code(self) -> int:
        default = self._raw_field("default")
        return 0 if default is None else int(self._codes(np.array([self._in_ticks(default)]))[0])

    @abstractmethod
    def _text(self, tick: int) -> str:
        """A tick as people write it."""

    def bounds(self) -> tuple[Integers, Integers]:
        """The lowest and the highest legal value of each cell in ticks: (cell_count,) each."""
        first, last = self.levels.bounds()
        return self.low + first * self.tick, self.low + last * self.tick

    def edges(self) -> Floats:
        """Where the cells begin, and the first value past the last one: (cell_count + 1,)."""
        lowest, highest = self.bounds()
        return np.append(lowest, highest[-1] + self.tick) * self._scale

    def _cell_centres(self) -> Floats:
        lowest, highest = self.bounds()
        return (lowest + (highest - lowest) / 2) * self._scale

    def _cell_labels(self) -> tuple[str, ...]:
        return tuple(
            self._text(a) if a == b else f"{self._text(a)}..{self._text(b)}"
            for a, b in zip(*(bound.tolist() for bound in self.bounds()), strict=True)
        )

    def _codes(self, ticks: Integers) -> Codes:
        """The cells of ticks that are already clamped."""
        levels = self.levels
        if not isinstance(levels, Levels):
            return np.searchsorted(self.starts, ticks, side="right").astype(np.int32)
        codes = ticks - (self.low + levels.points * self.tick)
        if (step := levels.run * self.tick) > 1:
            codes //= step  # rounds down: −1 below the origin
        if levels.points:
            codes += levels.points
            np.copyto(codes, levels.cells - 1, where=ticks >= self.top)
        return codes.astype(np.int32)

    def decodes_to(self, values: pa.Array) -> bool:
        """Whether each is a whole number of `tick` from `low`, and at most `high`; or is listed, where values are."""
        kind = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
        ticks = values.drop_null().cast(kind).to_numpy().astype(np.int64)
        if self._is_listed:
            return bool(np.isin(ticks, self.bounds()[0]).all())
        return bool(np.all((ticks >= self.low) & (ticks <= self.top) & ((ticks - self.low) % self.tick == 0)))

    def _draw(self, cells: Integers, generator: np.random.Generator) -> Integers:
        return np.asarray(self.low + self._drawn_levels(cells, generator) * self.tick, dtype=np.int64)


# ---- Combs: which of some grids a number lies on, or how it ends.


def comb_classes(values: Integers, grids: Sequence[int], modulus: int) -> Integers:
    """The first of the grids that divides each value; else the number of grids and what is left mod `modulus`: (n,)."""
    classes = len(grids) + values % modulus  # rounded down: not negative
    for place in range(len(grids) - 1, -1, -1):
        classes[values % grids[place] == 0] = place
    return classes


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Comb(Column):
    """Which of some public grids a number of a column lies on, and how it ends, in each of some stretches of its cells.

    With v the legal value that a number counts as, in multiples of the distance of legal values, its class is that of
    the first of `grids` that divides v; where none does, the number of grids and v mod `modulus`, from 0 on whatever
    sign v has. `stretches[c]` is the stretch of cell c of the column, counted from 1, or 0 for what is left out. The
    code is 0 for what is left out, else 1 + (stretch − 1)·(grids + modulus) + class; NULL comes last. No file declares
    it, and nothing is decoded from it: a look counts it.

    >>> from kernelease.table.columns import Integer
    >>> price = Integer(name="price", min=-9, max=9_999)
    >>> comb = Comb(name="price", of=price, grids=(100, 25), modulus=3, stretches=(1,) * price.cell_count)
    >>> comb.encode(pa.array([300, 325, 326, -1])).tolist(), comb.labels()
    ([1, 2, 5, 5], ('left out', '1: 100', '1: 25', '1: 0 mod 3', '1: 1 mod 3', '1: 2 mod 3'))
    """

    of: Ticked
    grids: tuple[int, ...]
    modulus: int = 1
    stretches: tuple[int, ...]

    tag: ClassVar[str] = "comb"
    family: ClassVar[str] = "category"
    ordered: ClassVar[bool] = False
    arrow_type: ClassVar[pa.DataType] = pa.int64()

    def _check(self) -> None:
        if len(self.stretches) != self.of.cell_count or min(self.stretches) < 0 or min((*self.grids, self.modulus)) < 1:
            raise self.error("type", "a comb needs a stretch for each cell, and grids and a modulus of at least 1.")

    @property
    def classes(self) -> int:
        """One for each grid, and one for each remainder of what lies on none."""
        return len(self.grids) + self.modulus

    @property
    def present(self) -> int:
        """The codes of what is not NULL."""
        return 1 + max(self.stretches) * self.classes

    @property
    def size(self) -> int:
        """What is left out, the classes of each stretch, and NULL."""
        return self.present + self.of.nullable

    @property
    def missing(self) -> int:
        """NULL, else the code of what the column takes in its place."""
        if self.of.nullable:
            return self.present
        return int(self._codes(np.array([self.of.fallback]))[0])

    def labels(self) -> tuple[str, ...]:
        """The stretch, and the grid in legal values, or the remainder."""
        named = [*map(str, self.grids), *(f"{remainder} mod {self.modulus}" for remainder in range(self.modulus))]
        every = tuple(f"{stretch + 1}: {name}" for stretch in range(max(self.stretches)) for name in named)
        return ("left out", *every, *(("NULL",) * self.of.nullable))

    def _codes(self, numbers: Floats) -> Codes:
        value = self.of.level_of(numbers) + self.of.phase
        klass = comb_classes(value, self.grids, self.modulus)
        stretch = np.array(self.stretches, dtype=np.int64)[self.of.encode(pa.array(numbers))]
        return np.where(stretch > 0, 1 + (stretch - 1) * self.classes + klass, 0).astype(np.int32)

    def _encode(self, array: pa.Array) -> Codes:
        numbers = read_numbers(array)
        absent = np.isnan(numbers)
        codes = self._codes(np.where(absent, float(self.of.bounds()[0][0]), numbers))
        np.copyto(codes, self.unknown, where=absent)
        return codes

    def _decode(self, codes: Codes, generator: np.random.Generator) -> pa.Array:
        return pa.array(codes.astype(np.int64), mask=codes >= self.present)

    def decodes_to(self, values: pa.Array) -> bool:
        codes = values.drop_null().to_numpy()
        return bool(np.all((codes >= 0) & (codes < self.present)))

    def keys(self, array: pa.Array) -> pa.Array:
        return array

    def key(self, literal: object) -> object:
        return literal
