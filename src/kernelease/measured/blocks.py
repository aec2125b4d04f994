"""Noisy contingency blocks: the public side of counting."""

from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.privacy.mechanisms import Measurement, Selection
from kernelease.privacy.neighbours import Neighbours

MOST_COLUMNS = 3
LEAST_SIGMA = 1e-3  # rows: at an ε of thousands Laplace noise on integers is 0, and precisions would be infinite


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Which counts to measure: those of one, two or three columns, with the atoms of each grouped into cells.

    `groups[i][a]` is the cell of atom a of column `columns[i]`: one-hot features of norm exactly 1.
    """

    columns: tuple[int, ...]
    groups: tuple[Integers, ...]
    share: float  # of the release's budget

    def __post_init__(self) -> None:
        if not 1 <= len(self.columns) <= MOST_COLUMNS or len(self.groups) != len(self.columns):
            raise ParameterError(
                f"Block: needs one to three columns and a grouping for each, got {len(self.columns)} and "
                f"{len(self.groups)}."
            )
        if len(set(self.columns)) != len(self.columns):
            raise ParameterError(f"Block: each column once, got {self.columns!r}.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along each column."""
        return tuple(int(group.max()) + 1 for group in self.groups)

    @property
    def cells(self) -> int:
        """Number of counts."""
        return int(np.prod(self.shape))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyBlock:
    """A block's counts with noise, in rows (or persons): `values` has the block's shape, `sigma` is of each count.

    `round` 0 measures every column and, where all can be seen, every pair; only the cells of pairs follow from noisy
    single columns. What a later round measures was chosen: privately, or by a fit to what was measured before.
    """

    block: Block
    measurement: Measurement
    unit: int
    round: int = 0

    @property
    def values(self) -> Floats:
        """Noisy counts."""
        return self.measurement.values.reshape(self.block.shape) / self.unit

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise of each count; nothing is taken as known to better than `LEAST_SIGMA`."""
        return max(LEAST_SIGMA, self.measurement.standard_deviation / self.unit)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyBlocks:
    """All that was measured of a table: noisy blocks, and the number of rows (noisy unless it is public)."""

    sizes: tuple[int, ...]  # atoms of each column
    blocks: tuple[NoisyBlock, ...]
    neighbours: Neighbours
    rows: float
    ordered: tuple[int, ...] = ()  # of each column, how many of its first atoms are in an order that means something
    selections: tuple[Selection, ...] = ()  # private choices of what to measure

    @property
    def private(self) -> bool:
        """Whether all noise came from the operating system. False means NOT PRIVATE."""
        return all(block.measurement.private for block in self.blocks) and all(s.private for s in self.selections)


def estimated_rows(blocks: tuple[NoisyBlock, ...]) -> float:
    """The number of rows from the blocks' own sums, each weighted by its precision; at least 1.

    Every row is in exactly one cell of every block, so the count is free: nothing more has to be measured.
    """
    precisions = np.array([1.0 / (block.block.cells * block.sigma**2) for block in blocks])
    sums = np.array([block.values.sum() for block in blocks])
    return max(1.0, float(precisions @ sums / precisions.sum()))
