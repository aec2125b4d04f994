"""A contingency block: which counts, contrasts of counts, or sums of offsets within cells, to measure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Integers
from kernelease.errors import ParameterError
from kernelease.kinds import Kind
from kernelease.measured.ramp import Ramp

MOST_COLUMNS = 4  # of a block: no method counts more of them together
LARGEST_LIMIT = 2**28  # of a product of weights: summed over a batch of persons' rows it fits 64 bits


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Kind):
    """Which sums to measure: over the rows of each cell of up to four columns, Σ Π_i t_i.

    `groups[i][a]` is the cell of atom a of column `columns[i]`. Without `ramps` a row weighs 1, and sums are counts:
    one-hot features of norm exactly 1; a block of no column is the number of rows. With ramps t_i is a public whole
    number of the row's value in column i, at most `ramps[i].limit` in size, or 1 where `ramps[i]` is None: a *moment*.

    A `centred` block is of counts with the mean over the cells of each column taken out, times the number of cells: of
    one column (m·I − J) x, J all ones, which says how it is distributed and not how many rows there are; of two
    (m·I − J) X (n·I − J), their *interaction*, which says how they go together and nothing about either alone.
    """

    columns: tuple[int, ...]
    groups: tuple[Integers, ...]
    share: float  # of the release's budget
    ramps: tuple[Ramp | None, ...] = ()
    centred: bool = False

    def __post_init__(self) -> None:
        if len(self.columns) > MOST_COLUMNS or len(self.groups) != len(self.columns):
            raise ParameterError(
                f"Block: needs up to four columns and a grouping for each, got {len(self.columns)} and "
                f"{len(self.groups)}."
            )
        if len(set(self.columns)) != len(self.columns):
            raise ParameterError(f"Block: each column once, got {self.columns!r}.")
        if self.ramps and (len(self.ramps) != len(self.columns) or self.weighted not in (1, 2)):
            raise ParameterError("Block: of its columns one or two are weighted; the others need None as their ramp.")
        if self.centred and (len(self.columns) not in (1, 2) or self.ramps or min(self.shape) < 2):
            raise ParameterError("Block: what is centred are counts of one or two columns, of two cells or more each.")
        if self.limit > LARGEST_LIMIT:
            raise ParameterError(f"Block: a row may weigh at most {LARGEST_LIMIT}, got ramps up to {self.limit}.")

    @property
    def weighted(self) -> int:
        """How many of its columns weigh rows: 0 for counts."""
        return sum(ramp is not None for ramp in self.ramps)

    @property
    def limit(self) -> int:
        """The most that a row can weigh, either way: 1 for counts."""
        return math.prod(ramp.limit for ramp in self.ramps if ramp is not None)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along each column."""
        return tuple(int(group.max()) + 1 for group in self.groups)

    @property
    def cells(self) -> int:
        """Number of sums."""
        return int(np.prod(self.shape))

    @property
    def numbers(self) -> int:
        """Number of sums that do not follow from the others."""
        return math.prod(size - 1 for size in self.shape) if self.centred else self.cells


def finest(blocks: Iterable[Block]) -> list[int]:
    """Positions of some blocks: for each set of columns, of the one with most cells."""
    most: dict[frozenset[int], tuple[int, int]] = {}
    for place, block in enumerate(blocks):
        key = frozenset(block.columns)
        if key not in most or block.cells > most[key][0]:
            most[key] = block.cells, place
    return sorted(place for _, place in most.values())


def details(blocks: Iterable[Block]) -> list[int]:
    """Positions of some blocks: of two columns, in more cells than an earlier one has of the same columns."""
    most: dict[frozenset[int], int] = {}
    places = []
    for place, block in enumerate(blocks):
        key = frozenset(block.columns)
        if len(key) == 2 and block.cells > most.get(key, block.cells):
            places.append(place)
        most.setdefault(key, block.cells)
    return places


def refined(groups: Sequence[Integers]) -> Integers:
    """The coarsest cells that tell apart what any of the groupings does: (atoms,)."""
    found = groups[0]
    for group in groups[1:]:
        found = np.unique(found * (int(group.max()) + 1) + group, return_inverse=True)[1].reshape(-1)
    return found


def within(cells: Integers, group: Integers) -> Integers:
    """The group of each of a column's cells, from those of its atoms."""
    result = np.zeros(int(cells.max()) + 1, dtype=np.int64)
    result[cells] = group
    return result
