"""The last round: how far numbers and dates lie from the middles of their cells, alone and beside other columns.

Counts say in which cell a number is. The sums of offsets say the rest, so that means, means of groups and products of
numbers become linear functions of what was measured, with no gap of a cell's width.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.measured.block import Block
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.offsets import BITS, BITS_OF_PRODUCT, Offsets, offsets
from kernelease.methods.interactions.pairs import Noise
from kernelease.methods.interactions.resolution import cells_of
from kernelease.privacy.noise import LARGEST_LAPLACE_SCALE
from kernelease.table.columns.celled import Celled
from kernelease.table.columns.column import Column

MOMENTS = 0.01  # research: Tables: moments beside counts. Of the budget, where there are numbers or dates
ALONE = 1.0 / 3.0  # convention: of that, for single columns, cell by cell
# convention: of the share of the moment with the widest cell: no moment gets less
LEAST_PART = 0.02
FEW = 1.0 / 16.0  # convention: of all rows, in a cell of a column that is in no pair
FEWEST_BITS = 12  # limit: of weights: fewer would round offsets coarsely
SPARE = 2  # limit: bits between the noise of a moment and the largest that can be drawn
MOST_NUMBERS = 100_000  # limit: noisy sums: about a second of exact draws


def share(columns: Sequence[Column]) -> float:
    """The share of the budget that is set aside: none where there is nothing but categories."""
    return MOMENTS if any(isinstance(column, Celled) for column in columns) else 0.0


def most_numbers(columns: Sequence[Column]) -> int:
    """The most sums of this round, whatever the cells turn out to be."""
    numbers = [column.size for column in columns if isinstance(column, Celled)]
    beside = len(numbers) * (sum(column.size for column in columns) + len(numbers))
    return min(MOST_NUMBERS, sum(numbers) + beside)


def moment_blocks(
    columns: Sequence[Column], noisy: NoisyBlocks, distributions: Sequence[Floats], total: float, noise: Noise
) -> tuple[Block, ...]:
    """Blocks of all moments, for `total` of the budget; none where every cell holds one value, or noise is too large.

    A column's offsets are those from the middles of its cells in pairs. Alone they are summed in each of these cells;
    beside another column over all of them, in each cell of the other; beside another number also times its offset.
    Wider cells need larger sums: a block's share grows with the width of its widest cell, over the column's range.
    """
    cells = [_cells(noisy, i, column, p) for i, (column, p) in enumerate(zip(columns, distributions, strict=True))]
    blocks = _blocks(columns, noisy, cells, total, 2 * BITS_OF_PRODUCT)
    if not blocks:
        return ()
    room = math.floor(math.log2(LARGEST_LAPLACE_SCALE / noise(min(block.share for block in blocks)))) - SPARE
    if room >= 2 * BITS_OF_PRODUCT:
        return blocks
    return _blocks(columns, noisy, cells, total, room) if room >= FEWEST_BITS else ()


def _blocks(
    columns: Sequence[Column], noisy: NoisyBlocks, cells: Sequence[Integers], total: float, bits: int
) -> tuple[Block, ...]:
    """The blocks with weights of at most so many bits, their shares adding up to `total`."""
    alone = _parted(_alone(columns, cells, min(BITS, bits)), ALONE)
    beside = _parted(_beside(columns, noisy, cells, bits), 1.0 - ALONE)
    numbers = itertools.accumulate(block.cells for block, _ in [*alone, *beside])
    few = [one for one, sums in zip([*alone, *beside], numbers, strict=True) if sums <= MOST_NUMBERS]
    whole = sum(part for _, part in few)
    return tuple(dataclasses.replace(block, share=total * part / whole) for block, part in few)


def _cells(noisy: NoisyBlocks, index: int, column: Column, distribution: Floats) -> Integers:
    """The cells of a column in the first block that has it beside another; else cells of many rows each."""
    for block in noisy.blocks:
        if len(block.block.columns) > 1 and index in block.block.columns:
            return block.block.groups[block.block.columns.index(index)]
    return cells_of(distribution, FEW, column.in_order)


def _offsets(column: Column, cells: Integers, *, apart: bool, bits: int) -> Offsets | None:
    return offsets(column, cells, apart=apart, bits=bits) if isinstance(column, Celled) else None


def _alone(columns: Sequence[Column], cells: Sequence[Integers], bits: int) -> list[tuple[Block, float]]:
    found = []
    for index, column in enumerate(columns):
        if (own := _offsets(column, cells[index], apart=True, bits=bits)) is not None:
            found.append((Block(columns=(index,), groups=(cells[index],), share=0.0, ramps=(own.ramp,)), own.relative))
    return found


def _beside(
    columns: Sequence[Column], noisy: NoisyBlocks, cells: Sequence[Integers], bits: int
) -> list[tuple[Block, float]]:
    """For every pair that was counted: the offsets of each in the cells of the other, and the product of both."""
    found = []
    pairs = {pair for block in noisy.blocks for pair in itertools.combinations(sorted(block.block.columns), 2)}
    for one, other in sorted(pairs):
        for first, second in ((one, other), (other, one)):
            if (own := _offsets(columns[first], cells[first], apart=False, bits=min(BITS, bits))) is not None:
                groups = np.zeros_like(cells[first]), cells[second]
                block = Block(columns=(first, second), groups=groups, share=0.0, ramps=(own.ramp, None))
                found.append((block, own.relative))
        both = [_offsets(columns[i], cells[i], apart=False, bits=bits // 2) for i in (one, other)]
        if both[0] is not None and both[1] is not None:
            groups = np.zeros_like(cells[one]), np.zeros_like(cells[other])
            ramps = both[0].ramp, both[1].ramp
            block = Block(columns=(one, other), groups=groups, share=0.0, ramps=ramps)
            found.append((block, math.prod(own.relative for own in both if own is not None)))
    return found


def _parted(blocks: Sequence[tuple[Block, float]], part: float) -> list[tuple[Block, float]]:
    """The blocks with parts that add up to `part`, in proportion to widths."""
    if not blocks:
        return []
    widest = max(width for _, width in blocks)
    widths = [max(LEAST_PART * widest, width) for _, width in blocks]
    return [(block, part * width / sum(widths)) for (block, _), width in zip(blocks, widths, strict=True)]
