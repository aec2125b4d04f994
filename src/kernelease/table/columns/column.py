"""What every column is: a finite list of atoms, and the way to them and back; and columns cut into cells of a range."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError, SchemaError, is_encodable, nearest
from kernelease.table.columns.levels import FEWEST, AnyLevels, LaidLevels, Levels, ListedLevels, Texture, split_levels
from kernelease.table.reading import dense

Codes: TypeAlias = NDArray[np.int32]

MOST_ATOMS = 4096  # of one column: a pair of such columns still fits a contingency table of 128 MiB
NULL_LABEL = "NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(ABC):
    """A declared column: codes 0 … size − 1 for its atoms, the legal values first, NULL last if it is nullable.

    Everything here is public knowledge. `encode` gives every cell a code by a rule that looks at that cell alone and
    raises for no value: what is missing becomes `missing`, what is not declared becomes `unknown`, numbers and dates
    beyond the bounds are clamped.
    """

    name: str
    nullable: bool = False
    source: str | None = field(default=None, repr=False)
    """Its name in the source, `from` in a schema file, where that is another one."""
    null_when: str | None = None
    """A condition on the row under which a released value is NULL, whatever was drawn."""

    tag: ClassVar[str]
    """The word for this type in a schema file."""
    ordered: ClassVar[bool]
    """Whether the legal atoms have an order that means something."""
    family: ClassVar[str]
    """Columns of one family can be compared in a constraint."""
    most_atoms: ClassVar[int] = MOST_ATOMS
    """The limit of its size."""

    def __post_init__(self) -> None:
        if not is_name(self._given("name")):
            raise SchemaError(f"A column's name must be a non-empty string, got {self.name!r}.", path=("columns",))
        if self.source is not None and not is_name(self._given("source")):
            raise self.error("from", f"from must be the name of a column of the source, got {self.source!r}.")
        if not isinstance(self._given("nullable"), bool):
            raise self.error("nullable", f"nullable must be true or false, got {self.nullable!r}.")
        if self.nullable and self._given("default") is not None:
            raise self.error(
                "default", "a nullable column has no default: what is missing is NULL. Remove one of them."
            )
        if self.null_when is not None and not isinstance(self._given("null_when"), str):
            raise self.error("null_when", f"null_when must be a condition in text, got {self.null_when!r}.")
        self._check()
        if self.size > self.most_atoms:
            listed = self._size_key == "values" and self.most_atoms == MOST_ATOMS
            remedy = " Values in groups are of type hierarchy." if listed else ""
            limit = f"{self.size} atoms are more than the limit of {self.most_atoms}."
            raise self.error(self._size_key, f"{limit} Declare fewer, coarser ones.{remedy}")

    @property
    def source_name(self) -> str:
        """Its name in the source."""
        return self.name if self.source is None else self.source

    def _given(self, key: str) -> Any:
        """A field before it was checked: a file may say anything."""
        return getattr(self, key)

    @abstractmethod
    def _check(self) -> None:
        """Validate the fields, or raise `self.error`."""

    @property
    @abstractmethod
    def _size_key(self) -> str:
        """The key to blame when there are too many atoms."""

    @property
    @abstractmethod
    def arrow_type(self) -> pa.DataType:
        """The type of decoded values."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of atoms."""

    @property
    def null(self) -> int | None:
        """The code of NULL, the last atom; None if the column is not nullable."""
        return self.size - 1 if self.nullable else None

    @property
    @abstractmethod
    def missing(self) -> int:
        """The code of a cell that is absent: null, NaN, an empty text that is not declared."""

    @property
    @abstractmethod
    def unknown(self) -> int:
        """The code of a cell that holds something undeclared or unparsable."""

    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """One human-readable label per atom."""

    @abstractmethod
    def centres(self) -> Floats:
        """A number for each atom, for statistics; NaN for atoms that have none: (size,)."""

    @property
    def in_order(self) -> int:
        """How many of the first atoms are in an order that means something (NULL and the like come last)."""
        return int(np.count_nonzero(~np.isnan(self.centres()))) if self.ordered else 0

    def encode(self, array: pa.Array | pa.ChunkedArray) -> Codes:
        """The code of every cell of an Arrow array of any type: (n,) int32. No value makes it raise."""
        if isinstance(array, pa.ChunkedArray):
            return np.concatenate([np.empty(0, dtype=np.int32), *(self.encode(chunk) for chunk in array.chunks)])
        kind = array.type
        if isinstance(kind, pa.BaseExtensionType):
            return self.encode(array.storage)
        if pa.types.is_dictionary(kind):
            return self._through_dictionary(array)
        if pa.types.is_run_end_encoded(kind):
            return self.encode(pc.run_end_decode(array))
        if pa.types.is_null(kind) or len(array) == 0:
            return np.full(len(array), self.missing, dtype=np.int32)
        return self._with_missing(array, self._encode(array))

    @abstractmethod
    def _encode(self, array: pa.Array) -> Codes:
        """The codes of a plain array, a new one each time. What it gives where a null is will be replaced."""

    def _with_missing(self, array: pa.Array, codes: Codes) -> Codes:
        if array.null_count:
            np.copyto(codes, self.missing, where=array.is_null().to_numpy(zero_copy_only=False))
        return codes

    def _through_dictionary(self, array: pa.DictionaryArray) -> Codes:
        codes = self.encode(array.dictionary)
        if len(codes) == 0:
            return np.full(len(array), self.missing, dtype=np.int32)
        indices = dense(array.indices).astype(np.intp, copy=False)
        return self._with_missing(array.indices, codes.take(indices, mode="clip"))

    def decode(self, codes: NDArray[Any], generator: np.random.Generator) -> pa.Array:
        """A legal value for every code, drawn at random within a cell: (n,) → n values of `arrow_type`."""
        array = np.asarray(codes)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ParameterError(
                f"Column {self.name!r}: codes must be integers, (n,), got {array.dtype} {array.shape}."
            )
        if array.size and not 0 <= int(array.min()) <= int(array.max()) < self.size:
            raise ParameterError(f"Column {self.name!r}: codes must be from 0 to {self.size - 1}.")
        return self._decode(array.astype(np.int32, copy=False), generator)

    @abstractmethod
    def _decode(self, codes: Codes, generator: np.random.Generator) -> pa.Array:
        """`decode` of codes that are in range."""

    @abstractmethod
    def decodes_to(self, values: pa.Array) -> bool:
        """Whether `decode` could have given each of these values of `arrow_type`, NULLs aside, to its last bit.

        A digit beyond the declared resolution could carry a secret from the private rows.
        """

    @abstractmethod
    def keys(self, array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Values of `arrow_type` as something that Arrow compares in the column's own order, for constraints."""

    @abstractmethod
    def key(self, literal: object) -> Any:
        """A literal of a constraint among `keys`, or a `SchemaError` that says what is expected."""

    def error(self, key: str, message: str) -> SchemaError:
        """A `SchemaError` about one key of this column."""
        return SchemaError(f"column {self.name!r}: {message}", path=("columns", self.name, key))


def is_name(value: object) -> bool:
    """Whether a column may be called so."""
    return isinstance(value, str) and value != "" and is_encodable(value)


# --------------------
# Columns whose atoms are cells of a declared range, and those whose cells are whole ticks of it.


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

    def _check_cells(self) -> None:
        if self.cells is not None and (type(self.cells) is not int or not 1 <= self.cells <= MOST_ATOMS):
            raise self.error("cells", f"cells must be an integer from 1 to {MOST_ATOMS}, got {self.cells!r}.")

    def _check_values(self) -> None:
        """Of a column that may list its legal values: that these are all it says of them."""
        values = self._given("values")
        if values is None:
            return
        if not 2 <= len(values) < MOST_ATOMS or any(a >= b for a, b in pairwise(values)):
            raise self.error("values", f"values must be from 2 to {MOST_ATOMS - 1} numbers in rising order. Sort them.")
        if (self._given("min"), self._given("max")) != (values[0], values[-1]):
            raise self.error("values", "min and max follow from values: the first and the last. Remove both.")
        usual = {"cells": (None,), "resolution": (None, 1), "decimals": (None,), "scale": ("linear",)}
        if any(self._given(key) not in plain for key, plain in usual.items() if hasattr(self, key)):
            raise self.error("values", "values say it all: remove cells, resolution, decimals and scale.")

    def _check_default(self, low: float, high: float) -> None:
        default = self._given("default")
        if default is not None and not low <= default <= high:
            raise self.error("default", f"default must be from min to max, got {default}.")

    def _check_scale(self, low: float, least: float | None) -> None:
        """`least` is the distance of legal values, where there is one: the first value above 0 where `low` is 0."""
        scale = self._given("scale")
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
    def _size_key(self) -> str:
        return "cells"

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
        """All cells."""
        return self.cell_count

    def _drawn_levels(self, cells: Integers, generator: np.random.Generator) -> Integers:
        """A level of each cell: uniformly, or on grids as its texture says."""
        texture = self.texture or Texture(first=(0,))
        return texture.drawn(cells, self.levels.bounds(), self.phase, generator)

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
        lowest, highest = self.bounds()
        most = MOST_ATOMS - self.nullable
        if self.texture is not None:
            levels = self.levels
            assert isinstance(levels, LaidLevels)
            parts = most // self.cell_count
            if np.array_equal(lowest, highest) or parts < 2:
                return None
            return replace(self, texture=Texture(first=split_levels(levels, np.full(self.cell_count, parts))))
        if np.array_equal(lowest, highest) or self.cell_count >= most:
            return None
        return self._in_cells(most)

    def _in_cells(self, cells: int) -> Self | None:
        try:
            return replace(self, cells=cells)
        except SchemaError:  # narrower than float64 can tell apart here
            return self._in_cells(cells // 2) if cells // 2 > self.cell_count else None

    @property
    def size(self) -> int:
        """The cells, and NULL."""
        return self.cell_count + self.nullable

    @property
    @abstractmethod
    def _default_code(self) -> int:
        """The code of `default`, or 0."""

    @property
    def missing(self) -> int:
        """NULL, else the cell of `default`, else the lowest cell."""
        return self.cell_count if self.nullable else self._default_code

    @property
    def unknown(self) -> int:
        """As for a missing cell: a number or date that can't be read is not there."""
        return self.missing

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
        """The mean of the legal values in each cell, in the unit of `edges`; NaN for NULL."""
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
    """A number: its legal values can be counted, and its cells may follow from noisy counts of them."""

    @abstractmethod
    def level_of(self, numbers: Floats) -> Integers:
        """The legal value that each number counts as, counted from 0: (n,) → (n,). None may be NaN."""

    @abstractmethod
    def laid(self, grid: Fraction, texture: Texture) -> Self:
        """The same column in cells of the multiples of a grid; a `ParameterError` where it can't be laid so."""

    @property
    def fallback(self) -> float:
        """The number that a missing cell counts as where the column is not nullable: `default`, or the lowest."""
        default = self._given("default")
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

    @property
    @abstractmethod
    def low(self) -> int:
        """`min` in ticks."""

    @property
    @abstractmethod
    def high(self) -> int:
        """`max` in ticks."""

    @property
    @abstractmethod
    def tick(self) -> int:
        """`resolution` in ticks: legal values are low, low + tick, … ≤ high."""

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
        return (last[:-1] + first[1:] + 1) // 2 if isinstance(self.levels, ListedLevels) else first[1:]

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
    @abstractmethod
    def _default_tick(self) -> int | None:
        """`default` in ticks."""

    @property
    def _default_code(self) -> int:
        tick = self._default_tick
        return 0 if tick is None else int(self._codes(np.array([tick]))[0])

    @property
    def _scale(self) -> float:
        """The unit of `edges` and `centres` per tick."""
        return 1.0

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
        if isinstance(self.levels, ListedLevels):
            return bool(np.isin(ticks, self.bounds()[0]).all())
        return bool(np.all((ticks >= self.low) & (ticks <= self.top) & ((ticks - self.low) % self.tick == 0)))

    def _draw(self, cells: Integers, generator: np.random.Generator) -> Integers:
        return np.asarray(self.low + self._drawn_levels(cells, generator) * self.tick, dtype=np.int64)
