"""Exact counts of blocks in one pass over encoded rows."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Integers, block_slices
from kernelease.measured.block import Block
from kernelease.private.cover import cover
from kernelease.private.encoded import Batch
from kernelease.table.columns.column import Codes

_CHUNK = 2**17  # rows at a time: the cells of a column then take 512 KiB


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

    def tables(self, totals: Sequence[Integers], blocks: Sequence[Block]) -> list[Integers]:
        """The table of each block from the counts of each group, row by row of its table."""
        whole = {g: total.reshape(self.cells(g)) for g, total in zip(self.groups, totals, strict=True)}
        holding: dict[int, list[tuple[int, ...]]] = {}
        for group in self.groups:
            for column in group:
                holding.setdefault(column, []).append(group)
        near = [min((holding[column] for column in block.columns), key=len) for block in blocks]
        return [block_of({g: whole[g] for g in n}, block, self.views) for n, block in zip(near, blocks, strict=True)]


def count_blocks(batches: Iterable[Batch], blocks: Sequence[Block], sizes: tuple[int, ...]) -> list[Integers]:
    """The table of each block, in its shape: how many rows (or how much weight) each cell holds.

    Counts are integers, so batches, order and threads change nothing.
    """
    layout = Layout.of(blocks, sizes)
    totals = [np.zeros(math.prod(layout.cells(group)), dtype=np.int64) for group in layout.groups]
    wanted = sorted({column for group in layout.groups for column in group})
    for codes, weights in batches:
        for part in block_slices(codes.shape[1], _CHUNK):
            cells = {column: layout.views[column][codes[column, part]] for column in wanted}
            weight = None if weights is None else weights[part].astype(np.float64)  # integers far below 2⁵³
            for group, total in zip(layout.groups, totals, strict=True):
                counted = np.bincount(_joint(cells, group, layout.lengths), weight, minlength=len(total))
                np.add(total, counted.astype(np.int64), out=total)
    return layout.tables(totals, blocks)


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


def _joint(cells: dict[int, Codes], group: tuple[int, ...], lengths: tuple[int, ...]) -> Codes:
    """One index for the cells of all columns of a group: (n,)."""
    joint: Codes = cells[group[0]].copy()
    for column in group[1:]:
        joint *= lengths[column]
        joint += cells[column]
    return joint


def _grouped(table: Integers, cells: Integers) -> Integers:
    """Sums over the atoms of each cell along the first axis."""
    grouped = np.zeros((int(cells.max()) + 1, *table.shape[1:]), dtype=np.int64)
    np.add.at(grouped, cells, table)
    return grouped
