"""Cells of whole ticks: integers, days, microseconds."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.table.columns.celled import Celled
from kernelease.table.columns.column import Codes
from kernelease.table.columns.levels import Levels


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped(Celled):
    """A column whose values are whole ticks from `low` to `high`, `tick` apart.

    With v the cell as an integer number of ticks, rounded down, its code in exact integer arithmetic is

        0                                if v < low + tick
        cell_count − 1                   if v ≥ top
        points + (v − origin) DIV step   otherwise

    and this is all that another engine needs. The cells between the points are `step` ticks wide, the last of them
    perhaps less.
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
    def _levels(self) -> Levels:
        return Levels((self.high - self.low) // self.tick + 1, self._most_cells)

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
        """The width of a cell between the points in ticks."""
        return self._levels.run * self.tick

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
        codes = ticks - self.origin
        if self.step > 1:
            codes //= self.step  # rounds down: −1 below the origin
        if self.points:
            codes += self.points
            np.copyto(codes, self.cell_count - 1, where=ticks >= self.top)
        return codes.astype(np.int32)

    def _draw(self, cells: Integers, generator: np.random.Generator) -> Integers:
        first, last = self._levels.bounds()
        level = generator.integers(first[cells], last[cells], endpoint=True)
        return np.asarray(self.low + level * self.tick, dtype=np.int64)
