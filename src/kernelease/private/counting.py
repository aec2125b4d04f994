"""Exact counts of blocks in one pass over encoded rows."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from kernelease.arrays import Integers, block_slices
from kernelease.measured.block import Block
from kernelease.private.cover import cover
from kernelease.private.encoded import Batch, EncodedRows
from kernelease.private.private import Private
from kernelease.table.columns.column import Codes

CHUNK = 2**17  # rows counted at a time: fewer, and adding tables up costs more than counting; more leave the cache
_MOST_TABLES = 2**30  # bytes of all threads' counts together: where one table is large, fewer threads count


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

    def tables(self, counts: Integers, blocks: Sequence[Block]) -> list[Integers]:
        """The table of each block from the counts of all groups, one after the other, row by row of their tables."""
        totals = np.split(counts, self.starts[1:-1])
        whole = {g: total.reshape(self.cells(g)) for g, total in zip(self.groups, totals, strict=True)}
        holding: dict[int, list[tuple[int, ...]]] = {}
        for group in self.groups:
            for column in group:
                holding.setdefault(column, []).append(group)
        near = [min((holding[column] for column in block.columns), key=len) for block in blocks]
        return [block_of({g: whole[g] for g in n}, block, self.views) for n, block in zip(near, blocks, strict=True)]


@final
class PartialCounts(Private):
    """Counts of a layout's groups over some of the rows: Σ over all parts is the counts of the table.

    They are integers, so which rows are in which part, in which order they come and in what batches changes nothing.
    """

    __slots__ = ("_counts", "_joint", "_layout", "_ones", "_starts", "_waiting")

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._starts = layout.starts
        self._counts: Integers = np.zeros(self._starts[-1], dtype=np.int64)
        self._ones, self._joint = np.ones(CHUNK, dtype=np.int32), np.empty(CHUNK, dtype=np.int32)
        self._waiting: list[Batch] = []  # fewer rows than a chunk: a table is not added up for a handful of them

    def add(self, batch: Batch) -> None:
        """Count a batch of any size, with those that wait once there are enough of them."""
        self._waiting.append(batch)
        if sum(codes.shape[1] for codes, _ in self._waiting) >= CHUNK:
            self._count()

    def total(self) -> Integers:
        """The counts of all groups so far, one group after the other: a new array each time."""
        self._count()
        return self._counts.copy()

    def _count(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        codes = waiting[0][0] if len(waiting) == 1 else np.concatenate([codes for codes, _ in waiting], axis=1)
        weights = (
            None if waiting[0][1] is None else np.concatenate([weight for _, weight in waiting if weight is not None])
        )
        for part in block_slices(codes.shape[1], CHUNK):
            self._count_chunk(codes[:, part], None if weights is None else weights[part])

    def _count_chunk(self, codes: NDArray[Any], weights: Integers | None) -> None:
        layout, count = self._layout, codes.shape[1]
        cells = {column: _cells(layout.views[column], codes[column]) for column in set().union(*layout.groups)}
        added = self._ones[:count] if weights is None else weights
        for group, start, stop in zip(layout.groups, self._starts, self._starts[1:], strict=False):
            joint = _joint(cells, group, layout.lengths, out=self._joint[:count])
            self._counts[start:stop] += _histogram(joint, added, stop - start)


def count_blocks(
    rows: EncodedRows | Iterable[Batch], blocks: Sequence[Block], sizes: tuple[int, ...], *, threads: int = 1
) -> list[Integers]:
    """The table of each block, in its shape: how many rows (or how much weight) each cell holds.

    Counts are integers, so batches, order and threads change nothing.
    """
    layout = Layout.of(blocks, sizes)
    encoded = rows if isinstance(rows, EncodedRows) else EncodedRows(lambda: iter(rows), sizes)
    return layout.tables(total_counts(encoded, layout, threads), blocks)


def total_counts(rows: EncodedRows, layout: Layout, threads: int) -> Integers:
    """The counts of all groups over all rows. Each thread adds to counts of its own, which are added up at the end."""
    threads = max(1, min(threads, _MOST_TABLES // (8 * layout.starts[-1])))
    idle = [PartialCounts(layout) for _ in range(threads)]

    def count(batch: Batch) -> None:
        own = idle.pop()  # a list's pop and append are atomic, and there are no more tasks at a time than threads
        own.add(batch)
        idle.append(own)

    for _ in rows.each(count, threads=threads):
        pass
    return sum((part.total() for part in idle), np.zeros(layout.starts[-1], dtype=np.int64))


def block_of(tables: dict[tuple[int, ...], Integers], block: Block, views: Sequence[Codes] | None = None) -> Integers:
    """A block's table from that of a group of columns which holds all of its own.

    The axes of a group's table are the cells of `views`, or atoms where there are none.
    """
    group, table = next((group, table) for group, table in tables.items() if set(block.columns) <= set(group))
    table = table.sum(axis=tuple(axis for axis, column in enumerate(group) if column not in block.columns))
    table = np.moveaxis(table, np.argsort(np.argsort(block.columns)), range(len(block.columns)))
    for column, cells in zip(block.columns, block.groups, strict=True):
        grouping = cells if views is None else _through(views[column], cells)
        table = _grouped(table, grouping)
        table = np.moveaxis(table, 0, -1)  # the next axis comes first; after all of them the order is as before
    return table


def _set(block: Block) -> tuple[int, ...]:
    return tuple(sorted(block.columns))


def _views(blocks: Sequence[Block], sizes: tuple[int, ...]) -> tuple[Codes, ...]:
    """The grouping of each column that all blocks share; its atoms where they differ."""
    given: dict[int, list[Integers]] = {}
    for block in blocks:
        for column, group in zip(block.columns, block.groups, strict=True):
            given.setdefault(column, []).append(group)
    views = []
    for column, size in enumerate(sizes):
        first, *others = given.get(column, [np.arange(size)])
        shared = all(np.array_equal(first, other) for other in others)
        views.append((first if shared else np.arange(size)).astype(np.int32))
    return tuple(views)


def _through(view: Codes, cells: Integers) -> Integers:
    """The grouping of a view's cells that gives the same as `cells` gives for atoms."""
    grouping = np.zeros(int(view.max()) + 1, dtype=np.int64)
    grouping[view] = cells
    return grouping


def _histogram(joint: Codes, added: NDArray[Any], cells: int) -> NDArray[Any]:
    """What each cell gets if every row adds to that of its index: (n,), (n,) → (cells,).

    As a product of a sparse matrix of one column, since SciPy lets go of the interpreter's lock while it multiplies and
    `numpy.bincount` does not. It checks no index: cells come from `views`, which are looked up with a check.
    """
    column = csc_array((added, joint, np.array([0, len(joint)], dtype=np.int32)), shape=(cells, 1))
    table: NDArray[Any] = column @ np.ones(1, dtype=added.dtype)
    return table


def _cells(view: Codes, codes: NDArray[Any]) -> Codes:
    """The cell of each atom, none of them beyond the view: (n,)."""
    if np.array_equal(view, np.arange(len(view))):  # every atom is its own cell
        if codes.size and int(codes.max()) >= len(view):
            raise IndexError(f"A code is beyond the {len(view)} atoms of its column.")
        return codes.astype(np.int32)
    return view.take(codes)


def _joint(cells: dict[int, Codes], group: tuple[int, ...], lengths: tuple[int, ...], *, out: Codes) -> Codes:
    """One index for the cells of all columns of a group: (n,), written to `out`."""
    np.copyto(out, cells[group[0]])
    for column in group[1:]:
        out *= lengths[column]
        out += cells[column]
    return out


def _grouped(table: Integers, cells: Integers) -> Integers:
    """Sums over the atoms of each cell along the first axis."""
    grouped = np.zeros((int(cells.max()) + 1, *table.shape[1:]), dtype=np.int64)
    np.add.at(grouped, cells, table)
    return grouped
