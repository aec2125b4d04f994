"""Integers and numbers, and the ticks in which they are laid where their cells follow from noisy counts."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Self, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.arrays import LARGEST, Floats, Integers
from kernelease.errors import ParameterError
from kernelease.table.columns.cells import (
    AnyLevels,
    LaidLevels,
    Levels,
    Stepped,
    Texture,
    Ticked,
    levels_of,
    log_cuts,
    points_in,
)
from kernelease.table.columns.column import Codes, Column
from kernelease.table.parsing import (
    MOST_DECIMALS,
    decimals_of,
    dense,
    digits_within,
    fraction,
    interval_labels,
    read_numbers,
    round_to_digits,
)

LARGEST_INTEGER = 2**53  # up to here a float64 is exact, so integers that arrive as floats or text lose nothing


def is_finite(value: object) -> bool:
    """Whether a value is a number that a column may hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numeric(Ticked):
    """What integers and numbers share: how they are compared, and laid in cells that follow from noisy counts."""

    family: ClassVar[str] = "number"

    def keys(self, array: Any) -> Any:
        """Numbers as float64, NULL for NaN."""
        numbers = array.cast(pa.float64(), safe=False)  # integers beyond 2⁵³ are rounded, not refused
        return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)

    def key(self, literal: object) -> float:
        if isinstance(literal, bool) or not isinstance(literal, int | float):
            raise self.error("type", f"holds numbers and can't be compared with {literal!r}.")
        try:
            return float(literal)
        except OverflowError:  # an integer of more than 308 digits is beyond every cell
            return math.inf if literal > 0 else -math.inf

    def lay(self, grid: Fraction, texture: Texture) -> Self:
        declared = to_ticks(self)
        if declared is None:
            raise ParameterError(f"column {self.name!r} was laid, and should not have been.")
        found = on_grid(declared, grid)
        if found is None or (grid / spacing_of(declared)).denominator != 1 or texture.first[-1] >= found.levels.number:
            raise ParameterError(f"column {self.name!r} was laid beyond its legal values.")
        looked = replace(found, texture=replace(texture, looked=declared.levels.number > FEW))
        assert isinstance(looked, type(self))
        return looked


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Integer(_Numeric, Stepped):
    """Whole numbers from `min` to `max`, `resolution` apart.

    Up to 256 legal values, or `cells`, have an atom each; of more, `min` and `max` have one, and equal cells cover
    those between; with `scale` "log", cells whose logarithms are equal. A number with a fraction is rounded down.
    Where legal values are not evenly spaced, `values` lists them, in rising order from `min` to `max`: each has an
    atom, and a number counts as the nearest of them.

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
    values: tuple[int, ...] | None = None
    scale: str = "linear"
    default: int | None = None
    minus: str | None = None

    tag: ClassVar[str] = "integer"
    arrow_type: ClassVar[pa.DataType] = pa.int64()

    def _check(self) -> None:
        if any(type(value) is not int for value in self.values or ()):
            raise self.error("values", "values must be integers. Fractions: type = 'number'.")
        for key in ("min", "max", "resolution", "default"):
            value = getattr(self, key)
            if type(value) is not int and not (key == "default" and value is None):
                remedy = "Write it without quotes" if isinstance(value, str) else "Fractions: type = 'number'"
                raise self.error(key, f"{key} must be an integer, got {value!r}. {remedy}.")
        for key in ("min", "max"):
            if abs(getattr(self, key)) > LARGEST_INTEGER:
                raise self.error(key, f"{key} must be from -2^53 to 2^53. Declare larger numbers as type = 'number'.")
        if self.min >= self.max:
            raise self.error("max", f"min must be below max, got {self.min} and {self.max}. Widen the range.")
        if not 1 <= self.resolution <= self.max - self.min:
            raise self.error("resolution", f"resolution must be from 1 to max - min, got {self.resolution}.")
        self._check_cells()
        self._check_values()
        self._check_scale(self.min, self.resolution)
        self._check_default(self.min, self.max)
        self._check_minus()

    @property
    def levels(self) -> AnyLevels:
        if self.texture is not None:
            return LaidLevels((self.max - self.min) // self.resolution + 1, self.texture.first)
        if self.values is not None:
            return LaidLevels(self.max - self.min + 1, tuple(value - self.min for value in self.values), listed=True)
        return levels_of(
            Fraction(self.min), Fraction(self.max), Fraction(self.resolution), self._most_cells, self.scale
        )

    def _in_ticks(self, value: int) -> int:
        return value

    def _text(self, tick: int) -> str:
        return str(tick)

    def level_of(self, numbers: Floats) -> Integers:
        ticks = np.floor(np.clip(numbers, self.low, self.high)).astype(np.int64)
        if self.values is not None:
            return self.levels.bounds()[0][self._codes(ticks)]
        return np.minimum((ticks - self.low) // self.resolution, self.levels.number - 1)

    def _encode(self, array: pa.Array) -> Codes:
        if pa.types.is_integer(array.type):
            values = dense(array)
            if values.dtype == np.uint64:
                values = np.minimum(values, np.uint64(2 * LARGEST_INTEGER))
            return self._codes(np.clip(values.astype(np.int64, copy=False), self.low, self.high))
        numbers = read_numbers(array)
        absent = np.isnan(numbers)
        ticks = np.floor(np.clip(np.where(absent, self.low, numbers), self.low, self.high))
        codes = self._codes(ticks.astype(np.int64))
        np.copyto(codes, self.unknown, where=absent)
        return codes


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Number(_Numeric):
    """Numbers from `min` to `max`, in at most 256 cells, or `cells`.

    The code of x is defined by these float64 operations, each rounded once as IEEE 754 says, so that every engine
    with double-precision arithmetic finds the same cell:

        0                                                                              if x < bottom
        cell_count − 1                                                                 if x ≥ top
        points + clamp(floor((x − origin) / width), 0, cell_count − 2·points − 1)      otherwise

    Without a `resolution`, the first atom is `min` alone, the last `max` alone, those between are equal cells of what
    lies strictly between, and a decoded value is uniform in its cell. With one, legal values are min,
    min + resolution, … ≤ max: a cell of a table counts as the nearest of them, a cell of the range holds a run of
    them, and one of those is decoded. `decimals` stand for the resolution that they are: 2 for 0.01. Where neither is
    declared, values are printed with three digits more than tell cells apart.

    With `scale` "log", the cells between the points are those whose logarithms are equal, and the code is the number
    of `cuts` that are not above x. These are decimals, computed once: what is compared is the same everywhere.

    Where legal values are not evenly spaced, `values` lists them, in rising order from `min` to `max`: each has a cell,
    and a number counts as the nearest of them.

    >>> share = Number(name="share", min=0.0, max=1.0, cells=6, nullable=True)
    >>> share.encode(pa.array([-1.0, 0.0, 1e-300, 0.5, 0.999, 1.0, float("inf"), float("nan")])).tolist()
    [0, 0, 1, 3, 4, 5, 5, 6]
    >>> share.labels()
    ('0.0', '(0, 0.25)', '[0.25, 0.5)', '[0.5, 0.75)', '[0.75, 1)', '1.0', 'NULL')
    >>> Number(name="height", min=0.0, max=2.5, resolution=0.5).labels()
    ('0.0', '0.5', '1.0', '1.5', '2.0', '2.5')
    >>> Number(name="income", min=1.0, max=1e6, cells=8, scale="log").labels()
    ('1.0', '(1, 10)', '[10, 100)', '[100, 1000)', '[1000, 10000)', '[10000, 100000)', '[100000, 1e+06)', '1000000.0')
    >>> Number(name="dose", min=0.0, max=250.0, values=(0.0, 12.5, 250.0)).encode(pa.array([-1.0, 6.2, 7.0])).tolist()
    [0, 0, 1]
    """

    min: float
    max: float
    resolution: float | None = None
    decimals: int | None = None
    values: tuple[float, ...] | None = None
    scale: str = "linear"
    default: float | None = None
    minus: str | None = None

    tag: ClassVar[str] = "number"
    arrow_type: ClassVar[pa.DataType] = pa.float64()

    def _check(self) -> None:
        if self.values is not None:
            if not all(map(is_finite, self.values)):
                raise self.error("values", "values must be finite numbers. Write them without quotes.")
            object.__setattr__(self, "values", tuple(map(float, self.values)))
        for key in ("min", "max", "resolution", "default"):
            value = getattr(self, key)
            if value is None and key in ("resolution", "default"):
                continue
            if not is_finite(value):
                raise self.error(key, f"{key} must be a finite number, at most {LARGEST} in size, got {value!r}.")
            object.__setattr__(self, key, float(value))
        if self.min >= self.max:
            raise self.error("max", f"min must be below max, got {self.min} and {self.max}. Widen the range.")
        self._check_cells()
        self._check_values()
        self._check_decimals()
        self._check_resolution()
        self._check_scale(self.min, self.spacing)
        self._check_default(self.min, self.max)
        self._check_minus()
        if not self._distinguishable():
            raise self.error("max", "the cells are narrower than float64 can tell apart here. Declare fewer cells.")

    def _check_decimals(self) -> None:
        if self.decimals is None:
            return
        if type(self.decimals) is not int or not 0 <= self.decimals <= MOST_DECIMALS:
            raise self.error(
                "decimals", f"decimals must be an integer from 0 to {MOST_DECIMALS}, got {self.decimals!r}."
            )
        if self.resolution is not None:
            raise self.error("decimals", "decimals and resolution say the same thing. Remove one of them.")
        if max(decimals_of(self.min), decimals_of(self.max)) > self.decimals:
            raise self.error("decimals", f"min and max must have at most {self.decimals} decimals themselves.")

    def _check_resolution(self) -> None:
        spacing = self.spacing
        key = next((key for key in ("decimals", "values") if getattr(self, key) is not None), "resolution")
        if spacing is None:
            return
        if spacing <= 0.0 or self._number_of_levels < 2:
            raise self.error(key, f"{key} must be positive and at most max - min, got {spacing}.")
        if self._number_of_levels > 2**50 or spacing < 16 * math.ulp(max(abs(self.min), abs(self.max))):
            mended = " Round them: a few digits tell them apart." if key == "values" else ""
            raise self.error(key, f"{key}: {spacing} is finer than float64 can hold here.{mended}")

    def _distinguishable(self) -> bool:
        with np.errstate(all="ignore"):  # a width of 0 is one of the things to find out
            return np.array_equal(self._cells(self._cell_centres()), np.arange(self.cell_count))

    @property
    def low(self) -> float:
        return self.min

    @property
    def high(self) -> float:
        return self.max

    @property
    def spacing(self) -> float | None:
        """How far legal values are apart, by `resolution` or `decimals`; None for a continuum.

        Of listed values, their last digit: all are multiples of it from `min` on.
        """
        decimals = self.decimals if self.values is None else max(map(decimals_of, self.values))
        return self.resolution if decimals is None else float(f"1e-{decimals}")

    @property
    def digits(self) -> int | None:
        """How many digits follow the point where values are printed; None where no number of them is enough."""
        if self.spacing is None:
            most = int(self._digits.max())
            return most if most <= MOST_DECIMALS else None
        return max(decimals_of(self.min), decimals_of(self.spacing))

    @property
    def _digits(self) -> Integers:
        """For a continuum: of the values in each cell, three more than tell cells apart: (cell_count,)."""
        widths = np.diff(self.edges())
        return digits_within(widths if self.scale == "log" else np.full_like(widths, widths.max()))

    @property
    def _number_of_levels(self) -> int:
        low, high, spacing = (fraction(x) for x in (self.min, self.max, self.spacing or 1.0))
        return int((high - low) // spacing) + 1

    @property
    def phase(self) -> int:
        multiple = fraction(self.min) / fraction(self.spacing or 1.0)
        return int(multiple) if multiple.denominator == 1 else 0

    @property
    def levels(self) -> AnyLevels:
        """The legal values, counted in the decimals that the owner wrote."""
        if self.texture is not None:
            return LaidLevels(self._number_of_levels, self.texture.first)
        if self.values is not None:
            return LaidLevels(self._number_of_levels, _steps(self.values, self.spacing or 1.0), listed=True)
        low, high, spacing = (fraction(x) for x in (self.min, self.max, self.spacing or 1.0))
        return levels_of(low, high, spacing, self._most_cells, self.scale)

    @property
    def cell_count(self) -> int:
        return self._most_cells if self.spacing is None else self.levels.cells

    @property
    def points(self) -> int:
        return points_in(self._most_cells) if self.spacing is None else self.levels.points

    @property
    def cuts(self) -> Floats | None:
        """Where each cell but the first begins, where cells widen with the value; else None: (cell_count − 1,)."""
        if self.values is not None:
            return np.array(_between(self.values))
        if self.spacing is not None:
            levels = self.levels
            if isinstance(levels, Levels):
                return None
            return np.array(_halfways(self.min, self.spacing, tuple(levels.bounds()[0][1:].tolist())))
        if self.scale == "linear":
            return None
        inner = log_cuts(fraction(self.min), fraction(self.max), self._most_cells - 2)
        return np.array([self.bottom, *map(float, inner), self.max])

    @property
    def width(self) -> float:
        """The width of a cell between the points, where it is the same for all."""
        if self.spacing is None:
            return (self.max - self.min) / (self.cell_count - 2 * self.points)
        levels = self.levels
        assert isinstance(levels, Levels)
        return float(fraction(self.spacing) * levels.run)

    @property
    def origin(self) -> float:
        """Where the first cell begins that is no point."""
        return self.min if self.spacing is None else self.halfway(self.points)

    @property
    def bottom(self) -> float:
        """The smallest number that does not count as `min`."""
        return math.nextafter(self.min, math.inf) if self.spacing is None else self.halfway(1)

    @property
    def top(self) -> float:
        """The smallest number that counts as the highest legal value."""
        return self.max if self.spacing is None else self.halfway(self._number_of_levels - 1)

    def halfway(self, level: int) -> float:
        """The number from which on a legal value is the nearest, up to rounding."""
        return _halfways(self.min, self.spacing or 1.0, (level,))[0]

    @property
    def _default_code(self) -> int:
        return 0 if self.default is None else int(self._cells(np.array([self.default]))[0])

    def level_of(self, numbers: Floats) -> Integers:
        """The legal value that each number counts as, counted from 0: (n,) → (n,). None may be NaN.

        clamp(floor((clamp(x, min, max) − start) / spacing), 0, levels − 1), each operation rounded once.
        """
        if self.spacing is None:
            raise self.error("resolution", "a continuum has no legal values to count.")
        if self.values is not None:
            return self.levels.bounds()[0][self._cells(numbers)]
        scaled = (np.clip(numbers, self.min, self.max) - self.halfway(0)) / self.spacing
        levels: Integers = np.clip(np.floor(scaled), 0, self._number_of_levels - 1).astype(np.int64)
        return levels

    def _cells(self, numbers: Floats) -> Codes:
        """The formula above; numbers must not be NaN."""
        if (cuts := self.cuts) is not None:
            return np.searchsorted(cuts, numbers, side="right").astype(np.int32)
        points, count = self.points, self.cell_count
        with np.errstate(over="ignore"):  # far beyond `max`, which is clamped
            scaled = (numbers - self.origin) / self.width
        codes = np.clip(scaled, 0, count - 2 * points - 1, out=scaled).astype(np.int32)  # rounds down: not negative
        codes += points
        np.copyto(codes, 0, where=numbers < self.bottom)
        np.copyto(codes, count - 1, where=numbers >= self.top)
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
        if (cuts := self.cuts) is not None:
            return np.concatenate([[self.min, self.min if self.spacing is None else cuts[0]], cuts[1:], [self.max]])
        inner = np.arange(self.cell_count + 1 - 2 * self.points)
        edges = np.clip(self.origin + inner * self.width, self.min, self.max)
        return np.concatenate([[self.min], edges[:-1], [self.top, self.max]]) if self.points else edges

    def bounds(self) -> tuple[Floats, Floats]:
        """The lowest and the highest value of each cell, up to rounding: (cell_count,) each."""
        if self.spacing is not None:
            first, last = self.levels.bounds()
            return self._values(first), self._values(last)
        edges = self.edges()
        lowest, highest = edges[:-1], np.append(np.nextafter(edges[1:-1], -np.inf), self.max)
        if self.points:
            highest[0], lowest[1] = self.min, self.bottom
        return lowest, highest

    def _values(self, levels: Integers) -> Floats:
        """min + level · resolution, without the dust that binary fractions leave behind decimals."""
        spacing = self.spacing or 1.0
        digits = max(decimals_of(self.min), decimals_of(spacing))
        values = self.min + levels.astype(np.float64) * spacing
        rounded: Floats = values if digits > 15 else np.round(values, digits)
        return np.clip(rounded, self.min, self.max)

    def _cell_centres(self) -> Floats:
        if self.spacing is None and self.scale == "log":
            edges = self.edges()
            return edges[:-1] + np.diff(edges) / 2
        if self.spacing is None:
            inner = np.arange(self.cell_count) - self.points
            return np.clip(self.origin + (inner + 0.5) * self.width, self.min, self.max)
        first, last = self.levels.bounds()
        return np.minimum(self.min + (first + last) / 2 * self.spacing, self.max)

    def _cell_labels(self) -> tuple[str, ...]:
        if self.spacing is None:
            return interval_labels(self.edges(), self.points)
        return tuple(
            f"{a}" if a == b else f"{a}..{b}" for a, b in zip(*(b.tolist() for b in self.bounds()), strict=True)
        )

    def _draw(self, cells: Integers, generator: np.random.Generator) -> Floats:
        if self.spacing is not None:
            return self._values(self._drawn_levels(cells, generator))
        edges, share = self.edges(), generator.random(len(cells))
        values = round_to_digits(edges[cells] + share * np.diff(edges)[cells], self._digits[cells])
        return np.where(self._cells(values) == cells, values, self._middles()[cells])  # rounding may cross an edge

    def _middles(self) -> Floats:
        """One value of each cell of a continuum: its centre, printed if that does not leave the cell."""
        centres = self._cell_centres()
        rounded = round_to_digits(centres, self._digits)
        return np.where(self._cells(rounded) == np.arange(self.cell_count), rounded, centres)

    def decodes_to(self, values: pa.Array) -> bool:
        """Whether each is a legal value; of a continuum, one with no more digits than are printed in its cell."""
        numbers = values.drop_null().to_numpy()
        if not np.all((numbers >= self.min) & (numbers <= self.max)):  # no NaN, either
            return False
        if self.spacing is not None:
            levels = np.rint((numbers - self.min) / self.spacing).astype(np.int64)
            listed = self.values is None or np.isin(levels, self.levels.bounds()[0]).all()
            return bool(listed and np.all(_same_bits(self._values(levels), numbers)))
        cells, edges = self._cells(numbers), self.edges()
        written = np.where(np.diff(edges)[cells] > 0.0, round_to_digits(numbers, self._digits[cells]), edges[cells])
        return bool(np.all(_same_bits(written, numbers) | _same_bits(self._middles()[cells], numbers)))


@lru_cache(maxsize=256)
def _halfways(low: float, spacing: float, levels: tuple[int, ...]) -> tuple[float, ...]:
    """The numbers from which on low + level · spacing is the nearest legal value, up to rounding."""
    least, step = fraction(low), fraction(spacing)
    below, each = 2 * least.numerator * step.denominator, step.numerator * least.denominator
    whole = 2 * least.denominator * step.denominator  # integers are divided without error but for the last rounding
    return tuple((below + each * (2 * level - 1)) / whole for level in levels)


@lru_cache(maxsize=256)
def _steps(values: tuple[float, ...], spacing: float) -> tuple[int, ...]:
    """How many steps each is from the first."""
    low, step = fraction(values[0]), fraction(spacing)
    return tuple(int((fraction(value) - low) / step) for value in values)


@lru_cache(maxsize=256)
def _between(values: tuple[float, ...]) -> tuple[float, ...]:
    """Between neighbours, up to rounding: from there on the upper one is the nearest."""
    return tuple(float((fraction(a) + fraction(b)) / 2) for a, b in pairwise(values))


def _same_bits(one: Floats, other: Floats) -> NDArray[np.bool_]:
    """Which floats are the same to the bit: −0 is not 0."""
    return np.asarray(one.view(np.int64) == other.view(np.int64))


# ---- Numbers whose cells may follow from noisy counts: which they are, and in which ticks they are laid.


Numeric: TypeAlias = Integer | Number


MOST_LEVELS = 2**48  # limit: legal values of a column that is laid: a level and a multiple of it fit 64 bits
FEW = 512  # convention: legal values that all get an atom, without a look: half or twice as much makes no table worse
LONG = 128  # limit: legal values from which on a range may be wider than its rows: fewer are counted one by one
FINEST = 16  # limit: of the distance of floats at the ends of a range: ticks that are finer can't be told apart


def is_looked_at(column: Column) -> bool:
    """Whether looks at a column come first, or came: not where each of its values gets an atom anyway."""
    texture = getattr(column, "texture", None)
    found = to_ticks(column)
    return (texture is not None and texture.looked) or (found is not None and found.levels.number > FEW)


def to_ticks(column: Column) -> Numeric | None:
    """A column that can be laid, in legal values; None for one that keeps its declared cells.

    It is an integer or a number with many legal values, whose `cells` and `values` are not declared. A number without
    `decimals` and `resolution` gets those that its values are printed with: three digits more than tell 256 cells
    apart.

    >>> to_ticks(Number(name="carat", min=0.2, max=5.1)).spacing, to_ticks(Integer(name="age", min=0, max=99))
    (1e-05, None)
    """
    if not isinstance(column, Integer | Number) or column.cells is not None or column.values is not None:
        return None
    if column.texture is not None:
        return None
    if isinstance(column, Number) and column.spacing is None:
        digits = column.digits
        if digits is None or digits > MOST_DECIMALS:
            return None
        spacing = float(f"1e-{digits}")
        if spacing < FINEST * math.ulp(max(abs(column.min), abs(column.max))):
            return None
        return on_grid(column, Fraction(1, 10**digits))
    return column if LONG < column.levels.number <= MOST_LEVELS else None


def on_grid(column: Numeric, grid: Fraction) -> Numeric | None:
    """The same column, whose legal values are the multiples of a grid between `min` and `max`; None for under two."""
    low, high = (fraction(end) for end in (column.min, column.max))
    first, last = -(-low // grid), high // grid
    if not 1 <= last - first < MOST_LEVELS:
        return None
    least, most = first * grid, last * grid
    default = None if column.default is None else min(max(Fraction(column.default), least), most)
    kind = int if isinstance(column, Integer) else float
    changes: dict[str, Any] = {"min": kind(least), "max": kind(most), "resolution": kind(grid)}
    changes["default"] = None if default is None else kind(default)
    if isinstance(column, Number):
        changes["decimals"] = None
    return replace(column, **changes)


def spacing_of(column: Numeric) -> Fraction:
    """The distance of legal values, as it was written."""
    return Fraction(column.resolution) if isinstance(column, Integer) else fraction(column.spacing or 1.0)
