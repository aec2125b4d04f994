"""Integers and numbers."""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.arrays import LARGEST, Floats, Integers
from kernelease.table.columns.celled import DEFAULT_CELLS, Celled, cells_of_levels
from kernelease.table.columns.column import Codes
from kernelease.table.columns.stepped import Stepped
from kernelease.table.reading import dense, read_numbers

LARGEST_INTEGER = 2**53  # up to here a float64 is exact, so integers that arrive as floats or text lose nothing


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Integer(Stepped):
    """Whole numbers from `min` to `max`, `resolution` apart.

    Up to 128 legal values have an atom each; more are grouped into at most 64 equal cells, or `cells`. A number with
    a fraction is rounded down. The code of v is (clamp(v, low, high) − low) DIV step, in integers.

    >>> age = Integer(name="age", min=17, max=90)
    >>> age.size, age.encode(pa.array([3, 17, None, 40, 1000])).tolist()
    (74, [0, 0, 0, 23, 73])
    >>> Integer(name="fnlwgt", min=0, max=1_500_000, nullable=True).labels()[-2:]
    ('1476594..1500000', 'NULL')
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
    """Numbers from `min` to `max`, in at most 64 equal cells, or `cells`.

    The code of x is defined by these float64 operations, each rounded once as IEEE 754 says, so that every engine
    with double-precision arithmetic finds the same cell:

        clamp(floor((clamp(x, low, high) − origin) / width), 0, cell_count − 1)

    Without a `resolution`, origin = min and width = (max − min) / cell_count, and a decoded value is uniform in its
    cell. With one, legal values are min, min + resolution, … ≤ max: a cell of a table counts as the nearest of them
    (origin = min − resolution/2), a cell of the range holds a run of them, and one of those is decoded.

    >>> height = Number(name="height", min=0.0, max=2.5, resolution=0.5, nullable=True)
    >>> height.encode(pa.array([-1.0, 0.2, 0.3, float("inf"), float("nan")])).tolist()
    [0, 0, 1, 5, 6]
    >>> height.origin, height.width, height.labels()
    (-0.25, 0.5, ('0.0', '0.5', '1.0', '1.5', '2.0', '2.5', 'NULL'))
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
        if self.resolution <= 0.0 or self._levels < 2:
            raise self.error("resolution", f"resolution must be positive and at most max - min, got {self.resolution}.")
        if self._levels > 2**50 or self.resolution < 16 * math.ulp(max(abs(self.min), abs(self.max))):
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
    def _levels(self) -> int:
        """The number of legal values, counted in the decimals that the owner wrote."""
        low, high, resolution = (_fraction(x) for x in (self.min, self.max, self.resolution or 1.0))
        return (high - low) // resolution + 1

    @property
    def _grouped(self) -> tuple[int, int]:
        return cells_of_levels(self._levels, self.cells or DEFAULT_CELLS)

    @property
    def cell_count(self) -> int:
        """The number of cells."""
        return (self.cells or DEFAULT_CELLS) if self.resolution is None else self._grouped[1]

    @property
    def width(self) -> float:
        """The width of a cell."""
        if self.resolution is None:
            return (self.max - self.min) / self.cell_count
        return float(_fraction(self.resolution) * self._grouped[0])

    @property
    def origin(self) -> float:
        """Where the first cell begins."""
        if self.resolution is None:
            return self.min
        return float(_fraction(self.min) - _fraction(self.resolution) / 2)

    @property
    def _default_code(self) -> int:
        return 0 if self.default is None else int(self._cells(np.array([self.default]))[0])

    def _cells(self, numbers: Floats) -> Codes:
        """The formula above; numbers must not be NaN."""
        scaled = np.clip(numbers, self.low, self.high)
        scaled -= self.origin
        scaled /= self.width
        np.floor(scaled, out=scaled)
        return np.clip(scaled, 0, self.cell_count - 1, out=scaled).astype(np.int32)

    def _encode(self, array: pa.Array) -> Codes:
        numbers = read_numbers(array)
        absent = np.isnan(numbers)
        if not absent.any():
            return self._cells(numbers)
        codes = self._cells(np.where(absent, self.low, numbers))
        np.copyto(codes, self.unknown, where=absent)
        return codes

    def edges(self) -> Floats:
        """Where the cells begin, and `max`, up to rounding: (cell_count + 1,)."""
        return np.clip(self.origin + np.arange(self.cell_count + 1) * self.width, self.min, self.max)

    def _bounds(self) -> tuple[Integers, Integers]:
        """The first and the last legal value of each cell, counted from `min`."""
        first = np.arange(self.cell_count, dtype=np.int64) * self._grouped[0]
        return first, np.minimum(first + self._grouped[0], self._levels) - 1

    def _values(self, levels: Integers) -> Floats:
        """min + level · resolution, without the dust that binary fractions leave behind decimals."""
        resolution = self.resolution or 1.0
        digits = max(_decimals(self.min), _decimals(resolution))
        values = self.min + levels.astype(np.float64) * resolution
        rounded: Floats = values if digits > 15 else np.round(values, digits)
        return np.clip(rounded, self.min, self.max)

    def _cell_centres(self) -> Floats:
        if self.resolution is None:
            return self.origin + (np.arange(self.cell_count, dtype=np.float64) + 0.5) * self.width
        first, last = self._bounds()
        return np.minimum(self.min + (first + last) / 2 * self.resolution, self.max)

    def _cell_labels(self) -> tuple[str, ...]:
        if self.resolution is None:
            edges = [f"{edge:.6g}" for edge in self.edges()]
            ends = [")"] * (self.cell_count - 1) + ["]"]
            return tuple(f"[{a}, {b}{end}" for a, b, end in zip(edges[:-1], edges[1:], ends, strict=True))
        first, last = (self._values(level).tolist() for level in self._bounds())
        return tuple(f"{a}" if a == b else f"{a}..{b}" for a, b in zip(first, last, strict=True))

    def _draw(self, cells: Integers, generator: np.random.Generator) -> Floats:
        if self.resolution is not None:
            first, last = self._bounds()
            return self._values(generator.integers(first[cells], last[cells], endpoint=True))
        values = np.clip(self.origin + (cells + generator.random(len(cells))) * self.width, self.min, self.max)
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
    numbers = array.cast(pa.float64())
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)


def _number_key(column: Integer | Number, literal: object) -> float:
    if isinstance(literal, bool) or not isinstance(literal, int | float):
        raise column.error("type", f"holds numbers and can't be compared with {literal!r}.")
    return float(literal)
