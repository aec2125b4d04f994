"""Columns of two levels: groups, which are counted with other columns, and the leaves in them, counted alone."""

import dataclasses
from collections.abc import Sequence
from typing import TypeAlias

from kernelease.arrays import Integers
from kernelease.measured.block import Block, within
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks
from kernelease.table.columns.column import Column
from kernelease.table.columns.hierarchy import Hierarchy

Levels: TypeAlias = tuple[Integers | None, ...]
"""Of each column: the group of each atom where its atoms are leaves in groups, None elsewhere."""


def declared_levels(columns: Sequence[Column]) -> Levels:
    """The groups of columns whose atoms are leaves, as they are declared; None where each leaf is a group."""
    found = [column.atom_groups if isinstance(column, Hierarchy) else None for column in columns]
    return tuple(None if own is None or int(own.max()) + 1 == len(own) else own for own in found)


def levels_of(noisy: NoisyBlocks) -> Levels:
    """The groups of columns whose atoms are leaves: those without an order that were counted in fewer cells alone."""
    ordered = noisy.ordered or (0,) * len(noisy.sizes)
    found: dict[int, Integers] = {}
    for block in (one.block for one in noisy.blocks if len(one.block.columns) == 1):
        if not ordered[block.columns[0]] and block.cells < noisy.sizes[block.columns[0]]:
            found.setdefault(block.columns[0], block.groups[0])
    return tuple(found.get(column) for column in range(len(noisy.sizes)))


def in_groups(noisy: NoisyBlocks, levels: Levels) -> NoisyBlocks:
    """The same measurements in which groups are the atoms; those of leaves are left out."""
    if all(groups is None for groups in levels):
        return noisy
    sizes = (
        size if groups is None else int(groups.max()) + 1 for size, groups in zip(noisy.sizes, levels, strict=True)
    )
    return dataclasses.replace(
        noisy,
        sizes=tuple(sizes),
        blocks=tuple(_in_groups(one, levels) for one in noisy.blocks if not of_leaves(one.block, levels)),
        moments=tuple(_in_groups(one, levels) for one in noisy.moments),
    )


def of_leaves(block: Block, levels: Levels) -> bool:
    """Whether a block is of a column's leaves, one by one: there are always fewer groups."""
    if len(block.columns) != 1 or (groups := levels[block.columns[0]]) is None:
        return False
    return block.cells == len(groups)


def of_atoms(blocks: Sequence[Block], levels: Levels) -> list[Block]:
    """Blocks in cells of groups as such in cells of atoms; those that are in cells of atoms already stay.

    Blocks that share cells share them afterwards: thousands of candidates hold no array each.
    """
    if all(groups is None for groups in levels):
        return list(blocks)
    known: dict[tuple[int, int], Integers] = {}

    def spread(column: int, cells: Integers) -> Integers:
        own = levels[column]
        if own is None or len(cells) == len(own):
            return cells
        return known.setdefault((column, id(cells)), cells[own])

    return [dataclasses.replace(block, groups=tuple(map(spread, block.columns, block.groups))) for block in blocks]


def _in_groups(one: NoisyBlock, levels: Levels) -> NoisyBlock:
    groups = tuple(
        cells if own is None else within(own, cells)
        for cells, own in zip(one.block.groups, _of(one.block.columns, levels), strict=True)
    )
    return dataclasses.replace(one, block=dataclasses.replace(one.block, groups=groups))


def _of(columns: Sequence[int], levels: Levels) -> list[Integers | None]:
    return [levels[column] for column in columns]
