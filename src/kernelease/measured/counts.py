"""Counts: how many rows are in each cell of some columns."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.measured.blocks import Block
from kernelease.measured.views import NoisySums, along, common_coarsening
from kernelease.privacy.sensitivity import Neighbours, Sensitivity, block_sensitivity


@final
@dataclass(frozen=True, kw_only=True)
class Counts(Block):
    """How many rows are in each cell: one-hot features of norm exactly 1. Of no column, the number of rows."""

    def exact(self, table: NDArray[Any]) -> NDArray[Any]:
        """The counts themselves."""
        return table

    def sensitivity(self, neighbours: Neighbours, unit: int) -> Sensitivity:
        """A row is in one cell."""
        return block_sensitivity(neighbours, unit=unit)

    def off_products(self, cells: int) -> float:
        """Nothing: the probability of a cell is the product of those of its columns' cells."""
        return 0.0

    def seen(self, table: Floats) -> Floats:
        """All of it."""
        return table

    def spread(self, numbers: Floats) -> Floats:
        """As they are."""
        return numbers

    def complete(self, numbers: Floats, alone: Any, rows: float) -> Floats:
        """They are complete."""
        return numbers

    def covers(self, columns: tuple[int, ...]) -> bool:
        """All of its columns, and any of them."""
        return set(self.columns) >= set(columns)

    def tells(self, columns: tuple[int, ...]) -> bool:
        """Always: of other columns, how many rows there are."""
        return True

    def view(self, numbers: Floats, sigma: float, columns: tuple[int, ...], groups: tuple[Integers, ...]) -> NoisySums:
        """Sums over the cells of the columns; a block that has none of them is the sum of all cells."""
        return NoisySums.of(numbers, sigma, *self._sums(columns, groups))

    def coefficients(
        self, sigma: float, columns: tuple[int, ...], groups: tuple[Integers, ...], weight: Floats
    ) -> Floats:
        """Those of the sum that it is in."""
        return NoisySums.coefficients(sigma, *self._sums(columns, groups), weight)

    @property
    def label(self) -> str:
        """Counts, or the number of rows."""
        return f"counts of columns {self.columns}" if self.columns else "number of rows"

    def _sums(self, columns: tuple[int, ...], groups: tuple[Integers, ...]) -> tuple[Integers, Integers]:
        """The finest sums that both the columns and this block can form: the sum of each cell of one and the other."""
        index = np.zeros(tuple(int(group.max()) + 1 for group in groups), dtype=np.int64)
        spread = np.zeros(self.shape, dtype=np.int64)
        for axis, column in enumerate(self.columns):
            if column in columns:
                place = columns.index(column)
                ours, theirs = common_coarsening(groups[place], self.groups[axis])
                cells = int(theirs.max()) + 1
                index = index * cells + along(ours, place, index.ndim)
                spread = spread * cells + along(theirs, axis, spread.ndim)
        return index.ravel(), spread.ravel()
