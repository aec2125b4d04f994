"""Exact sums of weights of blocks in one pass over encoded rows: the moments beside the counts."""

from collections.abc import Iterable, Sequence

import numpy as np

from kernelease.arrays import BigIntegers, Integers, block_slices
from kernelease.measured.block import Block
from kernelease.private.encoded import Batch

_LIMB, _LOWER = 32, 2**32 - 1  # bits, and the number that has them all: 2³¹ parts may be added up
_CHUNK = 2**13  # rows at a time: weights up to 2²⁸ times those of persons, below 2²⁰, add up to less than 2⁶²


def weigh_blocks(
    batches: Iterable[Batch], blocks: Sequence[Block], columns: int, fine: tuple[int, ...]
) -> list[BigIntegers]:
    """Of each block, the sum of its weights over the rows of each cell, in its shape: Σ_rows weight·Π_i t_i.

    `fine` are the columns whose codes on a finer grid follow those of all `columns`; for the others, f = a.
    """
    totals = [np.zeros(block.cells, dtype=object) for block in blocks]
    places = {column: columns + index for index, column in enumerate(fine)}
    for codes, persons in batches:
        for part in block_slices(codes.shape[1], _CHUNK):
            rows = codes[:, part].astype(np.int64)
            person = None if persons is None else persons[part]
            for block, total in zip(blocks, totals, strict=True):
                np.add(total, _chunk(block, rows, person, places), out=total)
    return [total.reshape(block.shape) for block, total in zip(blocks, totals, strict=True)]


def in_limbs(tables: Sequence[BigIntegers]) -> Integers:
    """Sums of any size as 64-bit integers that can be added up: their lower 32 bits, then the rest of each."""
    flat = np.concatenate([table.ravel() for table in tables])
    return np.concatenate([flat & _LOWER, flat >> _LIMB]).astype(np.int64)


def from_limbs(limbs: Integers, blocks: Sequence[Block]) -> list[BigIntegers]:
    """The sums of each block, in its shape, from what `in_limbs` gave, added up over parts."""
    lower, upper = limbs.reshape(2, -1).astype(object)
    tables = np.split(lower + upper * (_LOWER + 1), np.cumsum([block.cells for block in blocks])[:-1])
    return [table.reshape(block.shape) for table, block in zip(tables, blocks, strict=True)]


def _chunk(block: Block, rows: Integers, person: Integers | None, places: dict[int, int]) -> BigIntegers:
    """The sums over a few rows: (cells,)."""
    weights = np.ones(rows.shape[1], dtype=np.int64) if person is None else person
    for column, ramp in zip(block.columns, block.ramps, strict=True):
        if ramp is not None:
            weights = weights * ramp.of(rows[column], rows[places.get(column, column)])
    sums = np.zeros(block.cells, dtype=np.int64)
    np.add.at(sums, _cells(block, rows), weights)
    return sums.astype(object)


def _cells(block: Block, rows: Integers) -> Integers:
    """The cell of each row, row by row of the block's table: (n,)."""
    cells = np.zeros(rows.shape[1], dtype=np.int64)
    for column, group, size in zip(block.columns, block.groups, block.shape, strict=True):
        cells = cells * size + group[rows[column]]
    return cells
