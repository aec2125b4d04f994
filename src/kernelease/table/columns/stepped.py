"""Cells of whole ticks: integers, days, microseconds."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.table.columns.celled import DEFAULT_CELLS, Celled, cells_of_levels
from kernelease.table.columns.column import Codes

MOST_SINGLE = 128  # up to so many legal values have an atom each, where `cells` is not declared


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped(Celled):
    """A column whose values are whole ticks from `low` to `high`, `tick` apart.

    With v the cell as an integer number of ticks, rounded down, its code in exact integer arithmetic is

        (min(max(v, low), high) − low) DIV step

    and this is all that another engine needs. All cells are `step` ticks wide, the last one perhaps less.
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
    def _most_cells(self) -> int:
        return self.cells or (MOST_SINGLE if self._levels <= MOST_SINGLE else DEFAULT_CELLS)

    @property
    def _levels(self) -> int:
        return (self.high - self.low) // self.tick + 1

    @property
    def _group(self) -> int:
        return cells_of_levels(self._levels, self._most_cells)[0]

    @property
    def cell_count(self) -> int:
        """The number of cells: one for each legal value, or for each run of consecutive ones."""
        return cells_of_levels(self._levels, self._most_cells)[1]

    @property
    def step(self) -> int:
        """The width of a cell in ticks."""
        return self._group * self.tick

    @property
    @abstractmethod
    def _default_tick(self) -> int | None:
        """`default` in ticks."""

    @property
    def _default_code(self) -> int:
        tick = self._default_tick
        return 0 if tick is None else (tick - self.low) // self.step

    @property
    def _scale(self) -> float:
        """The unit of `edges` and `centres` per tick."""
        return 1.0

    @abstractmethod
    def _text(self, tick: int) -> str:
        """A tick as people write it."""

    def _bounds(self) -> tuple[Integers, Integers]:
        """The first and the last level of each cell."""
        first = np.arange(self.cell_count, dtype=np.int64) * self._group
        return first, np.minimum(first + self._group, self._levels) - 1

    def edges(self) -> Floats:
        """Where the cells begin, and the first value past the last one: (cell_count + 1,)."""
        first, last = self._bounds()
        return (self.low + np.append(first, last[-1] + 1) * self.tick) * self._scale

    def _cell_centres(self) -> Floats:
        first, last = self._bounds()
        return (self.low + (first + last) * self.tick / 2) * self._scale

    def _cell_labels(self) -> tuple[str, ...]:
        first, last = (self.low + level * self.tick for level in self._bounds())
        return tuple(
            self._text(a) if a == b else f"{self._text(a)}..{self._text(b)}"
            for a, b in zip(first.tolist(), last.tolist(), strict=True)
        )

    def _codes(self, ticks: Integers) -> Codes:
        """The cells of ticks that are already clamped."""
        offsets = ticks - self.low
        if self.step > 1:
            offsets //= self.step
        return offsets.astype(np.int32)

    def _draw(self, cells: Integers, generator: np.random.Generator) -> Integers:
        first, last = self._bounds()
        level = generator.integers(first[cells], last[cells], endpoint=True)
        return np.asarray(self.low + level * self.tick, dtype=np.int64)
