"""What a pass over the rows is for: which columns are counted or weighed together. All of it is public.

An auditor of counts may skip this: whatever the plan, `exact/counting.py` gives the same integers.
"""

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Integers
from kernelease.errors import CapacityError
from kernelease.measured.blocks import Block, Ramp, refined
from kernelease.table.columns.column import MOST_ATOMS, Codes

# --------------------
# Groups of columns that cover all wanted sets: counting a group counts all its sets at once.


MANY = 1000  # sets: from there on the search costs more than it saves (5,995 pairs: 3 s)
LARGEST_GROUP = 2**26  # joint cells of one wanted set: a table of 512 MiB


@functools.lru_cache(maxsize=64)
def cover(
    sizes: tuple[int, ...], wanted: frozenset[tuple[int, ...]], largest: int = 2**16
) -> tuple[tuple[int, ...], ...]:
    """Groups of columns, each of at most `largest` joint cells unless it is a single wanted set, that hold all sets.

    Greedy: start from the largest set that is left, add the column that completes most sets. Fewer passes
    over the rows than one per set, and the counts of each group still fit the processor's cache. Many pairs are covered
    by bundles of columns, two at a time: the search would take longer than counting.

    >>> cover((2, 3, 4), frozenset({(0, 1), (0, 2), (1, 2)}))
    ((0, 1, 2),)
    """
    if len(wanted) > MANY:
        return _by_bundles(sizes, wanted, largest)
    left = {frozenset(columns) for columns in wanted}
    groups: list[tuple[int, ...]] = []
    while left:
        widest = max(left, key=lambda columns: (_number_of_cells(columns, sizes), sorted(columns)))
        group = set(_countable(widest, sizes))
        while (best := _best_addition(group, sizes, left, largest)) is not None:
            group.add(best)
        left = {columns for columns in left if not columns <= group}
        groups.append(tuple(sorted(group)))
    return tuple(groups)


def _by_bundles(
    sizes: tuple[int, ...], wanted: frozenset[tuple[int, ...]], largest: int
) -> tuple[tuple[int, ...], ...]:
    """Columns in bundles of at most √largest joint cells; sets within two bundles are counted with both."""
    bundle, cells, number = {}, 1, 0
    for column in sorted({column for columns in wanted for column in columns}, key=lambda c: (sizes[c], c)):
        if cells * sizes[column] > math.isqrt(largest):
            number, cells = number + 1, 1
        bundle[column], cells = number, cells * sizes[column]
    sets: dict[frozenset[int], list[tuple[int, ...]]] = {}
    for columns in sorted(wanted):
        sets.setdefault(frozenset(bundle[column] for column in columns), []).append(columns)
    groups: list[tuple[int, ...]] = []
    for held in sets.values():
        union = tuple(sorted({column for columns in held for column in columns}))
        groups += (
            [union] if _number_of_cells(union, sizes) <= largest else [_countable(columns, sizes) for columns in held]
        )
    return tuple(groups)


def _countable(columns: Iterable[int], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The columns in order, or `CapacityError`."""
    if _number_of_cells(columns, sizes) > LARGEST_GROUP:
        raise CapacityError(
            f"Columns {tuple(sorted(columns))} have {_number_of_cells(columns, sizes):,} cells together; at most "
            f"{LARGEST_GROUP:,} can be counted. Group their atoms into fewer cells."
        )
    return tuple(sorted(columns))


def _number_of_cells(columns: Iterable[int], sizes: tuple[int, ...]) -> int:
    return math.prod(sizes[column] for column in columns)


def _best_addition(group: set[int], sizes: tuple[int, ...], left: set[frozenset[int]], largest: int) -> int | None:
    room = largest // _number_of_cells(group, sizes)
    missing = [columns - group for columns in left if len(columns - group) == 1]
    gains = {
        column: sum(column in rest for rest in missing)
        for column in {column for rest in missing for column in rest}
        if sizes[column] <= room
    }
    return max(gains, key=lambda column: (gains[column], -column), default=None)


# --------------------
# How blocks are counted.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How to count blocks in one pass: columns grouped into cells, and groups of columns counted together."""

    views: tuple[Codes, ...]  # of each column: the cell of each atom
    lengths: tuple[int, ...]  # of each column: its number of cells
    groups: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, blocks: Sequence[Block], sizes: tuple[int, ...]) -> "Layout":
        """The layout for some blocks of a table whose columns have so many atoms."""
        views = _views(blocks, sizes)
        lengths = tuple(int(view.max()) + 1 for view in views)
        return cls(views=views, lengths=lengths, groups=cover(lengths, frozenset(_set(block) for block in blocks)))

    def cells(self, group: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a group's table."""
        return tuple(self.lengths[column] for column in group)

    @property
    def starts(self) -> tuple[int, ...]:
        """Where the table of each group begins in an array of all of them, and where the last one ends."""
        return tuple(itertools.accumulate((math.prod(self.cells(group)) for group in self.groups), initial=0))


def _set(block: Block) -> tuple[int, ...]:
    return tuple(sorted(block.columns))


def _views(blocks: Sequence[Block], sizes: tuple[int, ...]) -> tuple[Codes, ...]:
    """The grouping of each column that all blocks share; where they differ its atoms, or cells of many atoms."""
    given: dict[int, list[Integers]] = {}
    for block in blocks:
        for column, group in zip(block.columns, block.groups, strict=True):
            given.setdefault(column, []).append(group)
    views = []
    for column, size in enumerate(sizes):
        distinct = {id(group): group for group in given.get(column, [np.arange(size)])}
        groups = list({group.tobytes(): group for group in distinct.values()}.values())
        apart = np.arange(size) if size <= MOST_ATOMS else refined(groups)
        views.append((groups[0] if len(groups) == 1 else apart).astype(np.int32))
    return tuple(views)


# --------------------
# How blocks are weighed.


Grouping: TypeAlias = tuple[int, Integers]  # a column, and the cell of each of its atoms


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing:
    """How to weigh blocks in one pass. Many share the weights of a column, many its cells: each is found once."""

    ramps: tuple[tuple[int, Ramp], ...]  # a column, and what its values weigh
    weights: tuple[tuple[int, ...], ...]  # products of these
    cells: tuple[tuple[Grouping, ...], ...]  # none where there is one cell
    places: tuple[tuple[int, int], ...]  # of each block: its cells, and its weight

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> "Weighing":
        """The distinct ramps, weights and cells of some blocks."""
        ramps: dict[Any, tuple[int, Ramp]] = {}
        weights: dict[tuple[Any, ...], int] = {}
        cells: dict[tuple[Any, ...], tuple[Grouping, ...]] = {}
        places = []
        for block in blocks:
            factors = {_key(c, r.start, r.slope, r.limit): (c, r) for c, r in _ramps(block)}
            ramps |= factors
            groupings = {_key(c, group): (c, group) for c, group in _groupings(block)}
            cells.setdefault(tuple(groupings), tuple(groupings.values()))
            places.append((tuple(groupings), weights.setdefault(tuple(factors), len(weights))))
        numbers, order = ({key: i for i, key in enumerate(found)} for found in (ramps, cells))
        return cls(
            ramps=tuple(ramps.values()),
            weights=tuple(tuple(numbers[key] for key in factors) for factors in weights),
            cells=tuple(cells.values()),
            places=tuple((order[key], weight) for key, weight in places),
        )

    def wanted(self) -> list[list[int]]:
        """For each of the cells, the weights that are summed in them."""
        return [sorted({weight for own, weight in self.places if own == cell}) for cell in range(len(self.cells))]


def _key(column: int, *parts: Any) -> tuple[Any, ...]:
    return column, *(part.tobytes() if isinstance(part, np.ndarray) else part for part in parts)


def _ramps(block: Block) -> list[tuple[int, Ramp]]:
    return [(c, ramp) for c, ramp in zip(block.columns, block.ramps, strict=True) if ramp is not None]


def _groupings(block: Block) -> list[Grouping]:
    """The columns that are in several cells: the others do not part any row from another."""
    return [(c, group) for c, group in zip(block.columns, block.groups, strict=True) if group.any()]


# --------------------
# A forest over columns: which pairs would join two of its trees.


@final
class Forest:
    """Columns joined to trees by pairs; at first every column is a tree of its own.

    >>> forest = Forest([(0, 1), (1, 2), (0, 2)], 3)
    >>> forest.join(0), forest.join(1), forest.open.tolist()
    (None, None, [False, False, False])
    """

    __slots__ = ("_first", "_second", "_tree")

    def __init__(self, pairs: Sequence[tuple[int, ...]], columns: int) -> None:
        self._tree: Integers = np.arange(columns)
        self._first, self._second = (np.array([pair[end] for pair in pairs], dtype=np.int64) for end in (0, -1))

    @property
    def open(self) -> NDArray[np.bool_]:
        """Whether each pair would join two trees."""
        joins: NDArray[np.bool_] = self._tree[self._first] != self._tree[self._second]
        return joins

    def join(self, pair: int) -> None:
        """Make one tree of the two that a pair touches."""
        one, other = self._tree[self._first[pair]], self._tree[self._second[pair]]
        self._tree[self._tree == other] = one
