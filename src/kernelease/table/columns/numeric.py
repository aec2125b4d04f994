"""Integers and numbers."""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.arrays import LARGEST, Floats, Integers
from kernelease.table.columns.celled import Celled, Stepped
from kernelease.table.columns.column import Codes
from kernelease.table.columns.levels import Levels, points_in
from kernelease.table.reading.arrow import dense
from kernelease.table.reading.numbers import read_numbers

LARGEST_INTEGER = 2**53  # up to here a float64 is exact, so integers that arrive as floats or text lose nothing


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Integer(Stepped):
    """Whole numbers from `min` to `max`, `resolution` apart.

    Up to 256 legal values, or `cells`, have an atom each; of more, `min` and `max` have one, and equal cells cover
    those between. A number with a fraction is rounded down.

    >>> age = Integer(name="age", min=17, max=90)
    >>> age.size, age.encode(pa.array([3, 17, None, 40, 1000])).tolist()
    (74, [0, 0, 0, 23, 73])
    >>> gain = Integer(name="gain", min=0, max=99_999, cells=10, nullable=True)
    >>> gain.encode(pa.array([-5, 0, 1, 12_500, 12_501, 99_998, 99_999, 10**6])).tolist()
    [0, 0, 1, 1, 2, 8, 9, 9]
    >>> gain.labels()[:2], gain.labels()[-3:]
    (('0', '1..12500'), ('87501..99998', '99999', 'NULL'))
    """

    min: int
    max: int
    resolution: int = 1
    default: int | None = None

    tag: ClassVar[str] = "integer"
    family: ClassVar[str] = "number"

    def _check(self) -> None:
        for key in ("min", "max", "resolution", "default"):
            value = getattr(self, key)
            if type(value) is not int and not (key == "default" and value is None):
                raise self.error(key, f"{key} must be an integer, got {value!r}. Fractions: type = 'number'.")
        for key in ("min", "max"):
            if abs(getattr(self, key)) > LARGEST_INTEGER:
                raise self.error(key, f"{key} must be from -2^53 to 2^53. Declare larger numbers as type = 'number'.")
        if self.min >= self.max:
            raise self.error("max", f"min must be below max, got {self.min} and {self.max}. Widen the range.")
        if not 1 <= self.resolution <= self.max - self.min:
            raise self.error("resolution", f"resolution must be from 1 to max - min, got {self.resolution}.")
        self._check_cells()
        _check_default(self)

    @property
    def arrow_type(self) -> pa.DataType:
        """int64."""
        return pa.int64()

    @property
    def low(self) -> int:
        """`min`."""
        return self.min

    @property
    def high(self) -> int:
        """`max`."""
        return self.max

    @property
    def tick(self) -> int:
        """`resolution`."""
        return self.resolution

    @property
    def _default_tick(self) -> int | None:
        return self.default

    def _text(self, tick: int) -> str:
        return str(tick)

    def _encode(self, array: pa.Array) -> Codes:
        if pa.types.is_integer(array.type):
            return self._codes(np.clip(_int64(array), self.low, self.high))
        numbers = read_numbers(array)
        absent = np.isnan(numbers)
        ticks = np.floor(np.clip(np.where(absent, self.low, numbers), self.low, self.high))
        codes = self._codes(ticks.astype(np.int64))
        np.copyto(codes, self.unknown, where=absent)
        return codes

    def keys(self, array: pa.Array) -> pa.Array:
        return _number_keys(array)

    def key(self, literal: object) -> float:
        return _number_key(self, literal)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Celled):
    """Numbers from `min` to `max`, in at most 256 cells, or `cells`.

    The code of x is defined by these float64 operations, each rounded once as IEEE 754 says, so that every engine
    with double-precision arithmetic finds the same cell:

        0                                                                              if x < bottom
        cell_count − 1                                                                 if x ≥ top
        points + clamp(floor((x − origin) / width), 0, cell_count − 2·points − 1)      otherwise

    Without a `resolution`, the first atom is `min` alone, the last `max` alone, those between are equal cells of what
    lies strictly between, and a decoded value is uniform in its cell. With one, legal values are min,
    min + resolution, … ≤ max: a cell of a table counts as the nearest of them, a cell of the range holds a run of
    them, and one of those is decoded.

    >>> share = Number(name="share", min=0.0, max=1.0, cells=6, nullable=True)
    >>> share.encode(pa.array([-1.0, 0.0, 1e-300, 0.5, 0.999, 1.0, float("inf"), float("nan")])).tolist()
    [0, 0, 1, 3, 4, 5, 5, 6]
    >>> share.labels()
    ('0.0', '(0, 0.25)', '[0.25, 0.5)', '[0.5, 0.75)', '[0.75, 1)', '1.0', 'NULL')
    >>> Number(name="height", min=0.0, max=2.5, resolution=0.5).labels()
    ('0.0', '0.5', '1.0', '1.5', '2.0', '2.5')
    """

    min: float
    max: float
    resolution: float | None = None
    default: float | None = None

    tag: ClassVar[str] = "number"
    family: ClassVar[str] = "number"

    def _check(self) -> None:
        for key in ("min", "max", "resolution", "default"):
            value = getattr(self, key)
            if value is None and key in ("resolution", "default"):
                continue
            if not _is_finite(value):
                raise self.error(key, f"{key} must be a finite number, at most {LARGEST} in size, got {value!r}.")
            object.__setattr__(self, key, float(value))
        if self.min >= self.max:
            raise self.error("max", f"min must be below max, got {self.min} and {self.max}. Widen the range.")
        self._check_cells()
        self._check_resolution()
        _check_default(self)
        if not self._distinguishable():
            raise self.error("max", "the cells are narrower than float64 can tell apart here. Declare fewer cells.")

    def _check_resolution(self) -> None:
        if self.resolution is None:
            return
        if self.resolution <= 0.0 or self._levels.number < 2:
            raise self.error("resolution", f"resolution must be positive and at most max - min, got {self.resolution}.")
        if self._levels.number > 2**50 or self.resolution < 16 * math.ulp(max(abs(self.min), abs(self.max))):
            raise self.error("resolution", f"resolution {self.resolution} is finer than float64 can hold here.")

    def _distinguishable(self) -> bool:
        with np.errstate(all="ignore"):  # a width of 0 is one of the things to find out
            return np.array_equal(self._cells(self._cell_centres()), np.arange(self.cell_count))

    @property
    def arrow_type(self) -> pa.DataType:
        """float64."""
        return pa.float64()

    @property
    def low(self) -> float:
        """`min`."""
        return self.min

    @property
    def high(self) -> float:
        """`max`."""
        return self.max

    @property
    def _levels(self) -> Levels:
        """The legal values, counted in the decimals that the owner wrote."""
        low, high, resolution = (_fraction(x) for x in (self.min, self.max, self.resolution or 1.0))
        return Levels((high - low) // resolution + 1, self._most_cells)

    @property
    def cell_count(self) -> int:
        """The number of cells."""
        return self._most_cells if self.resolution is None else self._levels.cells

    @property
    def points(self) -> int:
        """1 if `min` and `max` are points beside cells of several values, else 0."""
        return points_in(self._most_cells) if self.resolution is None else self._levels.points

    @property
    def width(self) -> float:
        """The width of a cell between the points."""
        if self.resolution is None:
            return (self.max - self.min) / (self.cell_count - 2 * self.points)
        return float(_fraction(self.resolution) * self._levels.run)

    @property
    def origin(self) -> float:
        """Where the first cell begins that is no point."""
        return self.min if self.resolution is None else self._halfway(self.points)

    @property
    def bottom(self) -> float:
        """The smallest number that does not count as `min`."""
        return math.nextafter(self.min, math.inf) if self.resolution is None else self._halfway(1)

    @property
    def top(self) -> float:
        """The smallest number that counts as the highest legal value."""
        return self.max if self.resolution is None else self._halfway(self._levels.number - 1)

    def _halfway(self, level: int) -> float:
        """From where on numbers are nearest to a legal value, up to rounding."""
        return float(_fraction(self.min) + _fraction(self.resolution or 1.0) * (2 * level - 1) / 2)

    @property
    def _default_code(self) -> int:
        return 0 if self.default is None else int(self._cells(np.array([self.default]))[0])

    def _cells(self, numbers: Floats) -> Codes:
        """The formula above; numbers must not be NaN."""
        scaled = np.clip(numbers, self.low, self.high)
        scaled -= self.origin
        scaled /= self.width
        np.floor(scaled, out=scaled)
        codes = np.clip(scaled, 0, self.cell_count - 2 * self.points - 1, out=scaled).astype(np.int32)
        codes += self.points
        np.copyto(codes, 0, where=numbers < self.bottom)
        np.copyto(codes, self.cell_count - 1, where=numbers >= self.top)
        return codes

    def _encode(self, array: pa.Array) -> Codes:
        numbers = read_numbers(array)
        absent = np.isnan(numbers)
        if not absent.any():
            return self._cells(numbers)
        codes = self._cells(np.where(absent, self.low, numbers))
        np.copyto(codes, self.unknown, where=absent)
        return codes

    def edges(self) -> Floats:
        """Where the cells begin, and `max`, up to rounding: (cell_count + 1,). Points of a continuum have no width."""
        inner = np.arange(self.cell_count + 1 - 2 * self.points)
        edges = np.clip(self.origin + inner * self.width, self.min, self.max)
        return np.concatenate([[self.min], edges[:-1], [self.top, self.max]]) if self.points else edges

    def bounds(self) -> tuple[Floats, Floats]:
        """The lowest and the highest value of each cell, up to rounding: (cell_count,) each."""
        if self.resolution is not None:
            first, last = self._levels.bounds()
            return self._values(first), self._values(last)
        edges = self.edges()
        lowest, highest = edges[:-1], np.append(np.nextafter(edges[1:-1], -np.inf), self.max)
        if self.points:
            highest[0], lowest[1] = self.min, self.bottom
        return lowest, highest

    def _values(self, levels: Integers) -> Floats:
        """min + level · resolution, without the dust that binary fractions leave behind decimals."""
        resolution = self.resolution or 1.0
        digits = max(_decimals(self.min), _decimals(resolution))
        values = self.min + levels.astype(np.float64) * resolution
        rounded: Floats = values if digits > 15 else np.round(values, digits)
        return np.clip(rounded, self.min, self.max)

    def _cell_centres(self) -> Floats:
        if self.resolution is None:
            inner = np.arange(self.cell_count) - self.points
            return np.clip(self.origin + (inner + 0.5) * self.width, self.min, self.max)
        first, last = self._levels.bounds()
        return np.minimum(self.min + (first + last) / 2 * self.resolution, self.max)

    def _cell_labels(self) -> tuple[str, ...]:
        if self.resolution is None:
            return self._interval_labels()
        return tuple(
            f"{a}" if a == b else f"{a}..{b}" for a, b in zip(*(b.tolist() for b in self.bounds()), strict=True)
        )

    def _interval_labels(self) -> tuple[str, ...]:
        edges = _distinct(self.edges())
        labels = [f"[{a}, {b})" for a, b in pairwise(edges)]
        if not self.points:
            return (*labels[:-1], f"[{edges[-2]}, {edges[-1]}]")
        return (f"{self.min}", f"({labels[1][1:]}", *labels[2:-1], f"{self.max}")

    def _draw(self, cells: Integers, generator: np.random.Generator) -> Floats:
        if self.resolution is not None:
            first, last = self._levels.bounds()
            return self._values(generator.integers(first[cells], last[cells], endpoint=True))
        places = cells - self.points + generator.random(len(cells))
        values = np.clip(self.origin + places * self.width, self.min, self.max)
        return np.where(self._cells(values) == cells, values, self._cell_centres()[cells])  # rounding may cross an edge

    def keys(self, array: pa.Array) -> pa.Array:
        return _number_keys(array)

    def key(self, literal: object) -> float:
        return _number_key(self, literal)


def _int64(array: pa.Array) -> Integers:
    values = dense(array)
    if values.dtype == np.uint64:
        values = np.minimum(values, np.uint64(2 * LARGEST_INTEGER))
    return values.astype(np.int64, copy=False)


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def _distinct(numbers: Floats) -> list[str]:
    """Numbers as short text: six digits, or as many as it takes to tell them apart."""
    written: list[str] = []
    for digits in range(6, 18):
        written = [f"{number:.{digits}g}" for number in numbers]
        if len(set(written)) == len(set(numbers)):
            break
    return written


def _fraction(number: float) -> Fraction:
    """The decimal that was written, exactly."""
    return Fraction(Decimal(repr(number)))


def _decimals(number: float) -> int:
    exponent = Decimal(repr(number)).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def _check_default(column: Integer | Number) -> None:
    if column.default is not None and not column.min <= column.default <= column.max:
        raise column.error("default", f"default must be from min to max, got {column.default}.")


def _number_keys(array: Any) -> Any:
    numbers = array.cast(pa.float64(), safe=False)  # integers beyond 2⁵³ are rounded, not refused
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)


def _number_key(column: Integer | Number, literal: object) -> float:
    if isinstance(literal, bool) or not isinstance(literal, int | float):
        raise column.error("type", f"holds numbers and can't be compared with {literal!r}.")
    try:
        return float(literal)
    except OverflowError:  # an integer of more than 308 digits is beyond every cell
        return math.inf if literal > 0 else -math.inf
