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
from kernelease.methods.interactions.resolution import Noise, cells_of
from kernelease.privacy.noise import LARGEST_LAPLACE_SCALE
from kernelease.table.columns.celled import Celled
from kernelease.table.columns.column import Column

MOMENTS = 0.01  # research: Tables: moments beside counts. Of the budget, where there are numbers or dates
ALONE = 1.0 / 3.0  # convention: of that, for single columns, cell by cell
# convention: of the share of the moment with the widest cell: no moment gets less
LEAST_PART = 0.02
# research: Tables: moments beside counts. Of how far the rows of a cell that is left out could be off
DOUBT = 0.5
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
    Sums over all cells leave out those that are so wide, and hold so few rows, that they would add more noise than
    they tell. Wider cells need larger sums: a block's share grows with the width of its widest cell, in standard
    deviations of the column.
    """
    cells = [_cells(noisy, i, column, p) for i, (column, p) in enumerate(zip(columns, distributions, strict=True))]
    about = noise(total * (1.0 - ALONE) / max(1, len(_pairs(noisy)))) / noisy.blocks[0].unit
    rows = [np.bincount(own, noisy.rows * p).astype(np.float64) for own, p in zip(cells, distributions, strict=True)]
    narrow = [_narrow(column, own, n, about) for column, own, n in zip(columns, cells, rows, strict=True)]
    scales = [_deviation(column, p) for column, p in zip(columns, distributions, strict=True)]
    blocks = _blocks(columns, noisy, cells, narrow, scales, total, 2 * BITS_OF_PRODUCT)
    if not blocks:
        return ()
    room = math.floor(math.log2(LARGEST_LAPLACE_SCALE / noise(min(block.share for block in blocks)))) - SPARE
    if room >= 2 * BITS_OF_PRODUCT:
        return blocks
    return _blocks(columns, noisy, cells, narrow, scales, total, room) if room >= FEWEST_BITS else ()


def _blocks(
    columns: Sequence[Column],
    noisy: NoisyBlocks,
    cells: Sequence[Integers],
    narrow: Sequence[float],
    scales: Sequence[float],
    total: float,
    bits: int,
) -> tuple[Block, ...]:
    """The blocks with weights of at most so many bits, their shares adding up to `total`."""
    alone = _parted(_alone(columns, cells, scales, min(BITS, bits)), ALONE)
    beside = _parted(_beside(columns, _pairs(noisy), cells, narrow, scales, bits), 1.0 - ALONE)
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


def _narrow(column: Column, cells: Integers, rows: Floats, noise: float) -> float:
    """The half width up to which cells are summed: the noise of their sum, and what the others may be off, are least.

    With 95 % limits of the noise, 2·noise·h + DOUBT·Σ rows·half over the cells whose half is above h.
    """
    found = _offsets(column, cells, apart=True, bits=BITS)
    if found is None:
        return math.inf
    half = np.nan_to_num(found.half)
    widths = np.unique(half[half > 0.0])
    costs = [2.0 * noise * width + DOUBT * float(rows @ np.where(half > width, half, 0.0)) for width in widths]
    return float(widths[int(np.argmin(costs))])


def _pairs(noisy: NoisyBlocks) -> list[tuple[int, int]]:
    """All pairs of columns that were counted together."""
    return sorted({pair for block in noisy.blocks for pair in itertools.combinations(sorted(block.block.columns), 2)})


def _offsets(column: Column, cells: Integers, *, apart: bool, bits: int, narrow: float = math.inf) -> Offsets | None:
    return offsets(column, cells, apart=apart, bits=bits, narrow=narrow) if isinstance(column, Celled) else None


def _deviation(column: Column, distribution: Floats) -> float:
    """The standard deviation of a number or date in its own unit, by a noisy distribution; 1 for others."""
    if not isinstance(column, Celled):
        return 1.0
    low, high = (bound.astype(np.float64) for bound in column.bounds())
    middle, shares = low / 2 + high / 2, np.maximum(distribution[: column.cell_count], 0.0)
    mean = float(np.average(middle, weights=shares)) if shares.any() else float(middle.mean())
    square = float(np.average((middle - mean) ** 2, weights=shares)) if shares.any() else 0.0
    return math.sqrt(square) if square > 0.0 else max(1.0, float(high[-1] - low[0]))


def _alone(
    columns: Sequence[Column], cells: Sequence[Integers], scales: Sequence[float], bits: int
) -> list[tuple[Block, float]]:
    found = []
    for index, column in enumerate(columns):
        if (own := _offsets(column, cells[index], apart=True, bits=bits)) is not None:
            block = Block(columns=(index,), groups=(cells[index],), share=0.0, ramps=(own.ramp,))
            found.append((block, own.widest / scales[index]))
    return found


def _beside(
    columns: Sequence[Column],
    pairs: Sequence[tuple[int, int]],
    cells: Sequence[Integers],
    narrow: Sequence[float],
    scales: Sequence[float],
    bits: int,
) -> list[tuple[Block, float]]:
    """For every pair that was counted: the offsets of each in the cells of the other, and the product of both."""

    def about(index: int, most: int) -> Offsets | None:
        return _offsets(columns[index], cells[index], apart=False, bits=most, narrow=narrow[index])

    found = []
    for one, other in pairs:
        for first, second in ((one, other), (other, one)):
            if (own := about(first, min(BITS, bits))) is not None:
                groups = np.zeros_like(cells[first]), cells[second]
                block = Block(columns=(first, second), groups=groups, share=0.0, ramps=(own.ramp, None))
                found.append((block, own.widest / scales[first]))
        both = [about(index, bits // 2) for index in (one, other)]
        if both[0] is not None and both[1] is not None:
            groups = np.zeros_like(cells[one]), np.zeros_like(cells[other])
            ramps = both[0].ramp, both[1].ramp
            block = Block(columns=(one, other), groups=groups, share=0.0, ramps=ramps)
            found.append((block, both[0].widest / scales[one] * both[1].widest / scales[other]))
    return found


def _parted(blocks: Sequence[tuple[Block, float]], part: float) -> list[tuple[Block, float]]:
    """The blocks with parts that add up to `part`, in proportion to widths."""
    if not blocks:
        return []
    widest = max(width for _, width in blocks)
    widths = [max(LEAST_PART * widest, width) for _, width in blocks]
    return [(block, part * width / sum(widths)) for (block, _), width in zip(blocks, widths, strict=True)]
