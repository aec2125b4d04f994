"""Columns whose atoms are cells of a declared range, and those whose cells are whole ticks of it."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.errors import SchemaError
from kernelease.table.columns.column import MOST_ATOMS, NULL_LABEL, Codes, Column
from kernelease.table.columns.levels import FEWEST, Levels, LogLevels
from kernelease.table.columns.spelling import nearest

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

    ordered: ClassVar[bool] = True

    def _check_cells(self) -> None:
        if self.cells is not None and (type(self.cells) is not int or not 1 <= self.cells <= MOST_ATOMS):
            raise self.error("cells", f"cells must be an integer from 1 to {MOST_ATOMS}, got {self.cells!r}.")

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
    def _levels(self) -> Levels | LogLevels:
        return Levels((self.high - self.low) // self.tick + 1, self._most_cells)

    @property
    def starts(self) -> Integers | None:
        """The first tick of each cell but the first, where cells widen with the value; else None."""
        return self.bounds()[0][1:] if isinstance(self._levels, LogLevels) else None

    @property
    def cell_count(self) -> int:
        """The number of cells: one for each legal value; or one for `min`, for each run of values, and for `max`."""
        return self._levels.cells

    @property
    def points(self) -> int:
        """1 if `min` and `max` are points beside runs of values, else 0."""
        return self._levels.points

    @property
    def step(self) -> int:
        """The width of a cell between the points in ticks, where it is the same for all."""
        levels = self._levels
        assert isinstance(levels, Levels)
        return levels.run * self.tick

    @property
    def origin(self) -> int:
        """Where the first cell begins that is no point."""
        return self.low + self.points * self.tick

    @property
    def top(self) -> int:
        """The highest legal value in ticks."""
        return self.low + (self._levels.number - 1) * self.tick

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
        first, last = self._levels.bounds()
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
        levels = self._levels
        if isinstance(levels, LogLevels):
            return np.searchsorted(self.bounds()[0][1:], ticks, side="right").astype(np.int32)
        codes = ticks - (self.low + levels.points * self.tick)
        if (step := levels.run * self.tick) > 1:
            codes //= step  # rounds down: −1 below the origin
        if levels.points:
            codes += levels.points
            np.copyto(codes, levels.cells - 1, where=ticks >= self.top)
        return codes.astype(np.int32)

    def decodes_to(self, values: pa.Array) -> bool:
        """Whether each is a whole number of `tick` from `low`, and at most `high`."""
        kind = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
        ticks = values.drop_null().cast(kind).to_numpy().astype(np.int64)
        return bool(np.all((ticks >= self.low) & (ticks <= self.top) & ((ticks - self.low) % self.tick == 0)))

    def _draw(self, cells: Integers, generator: np.random.Generator) -> Integers:
        first, last = self._levels.bounds()
        level = generator.integers(first[cells], last[cells], endpoint=True)
        return np.asarray(self.low + level * self.tick, dtype=np.int64)
