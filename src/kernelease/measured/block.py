"""A contingency block: which counts to measure."""

from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Integers
from kernelease.errors import ParameterError

MOST_COLUMNS = 3  # of a block: no method counts more of them together


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
