"""Pairs of columns, in cells that can be seen through the noise."""

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import CapacityError
from kernelease.measured.block import Block
from kernelease.methods.interactions.resolution import Noise, cells_of, coarser, parted, width
from kernelease.table.columns.celled import Celled
from kernelease.table.columns.column import Column

MOST_NUMBERS = 400_000  # limit: noisy counts: about five seconds of exact draws
MOST_CELLS = 600  # limit: of all columns: the fit's work grows with their square
MOST_COLUMNS = 1000  # limit: of a table: their pairs are looked at in seconds
MOST_CLASSES = 8  # limit: of a target that stay apart
# research: Tables: a target where counts are faint. Times the share, for pairs with a target that do not split others
FAVOUR = 3.0
POWER = 0.25  # research: Tables: pairs in few cells, too. A block's share grows with this power of its numbers
# research: Tables: one constant at a time. Rows expected in a cell of a pair, over the noise of its count
VISIBLE, VISIBLE_BESIDE_TARGET = 0.5, 0.1
# research: Tables: cells of categories. Of the share of a cell of an ordered column, and cells of one column at most
FINER, MOST_OF_ONE = 0.05, 128
# research: Tables: details of pairs. Of the noise of a pair's count: atoms of fewer rows are grouped in their own order
UNSEEN = 1.0
# research: Tables: pairs in few cells, too. The least share of a cell, of an ordered column and of others
FEW_ORDERED, FEW = 0.25, 0.1
# research: Tables: pairs in few cells, too. The part of a pair's share where the noise of a count is of all rows, which
# falls with its root; the most; and where it would be less, there is none
FAINT_FOR_FEW, MOST_FOR_FEW, LEAST_FOR_FEW = 3.5, 0.4, 0.11


def pair_blocks(
    columns: Sequence[Column],
    distributions: Sequence[Floats],
    *,
    rows: float,
    share: float,
    noise: Noise,
    target: int | None = None,
    favoured: int | None = None,
    centred: bool = False,
) -> tuple[Block, ...]:
    """A block for each pair; with a target, for each pair and the target's classes, and each column and the target.

    They are counts, or `centred`: interactions.

    Cells of ordered columns hold so many rows, by the noisy distributions of single columns, that two columns' cells
    together hold about half as many as the noise of a count; those of categories fewer. Where not even halves of a
    column could be seen, there is no block at all.
    """
    sets = _sets(len(columns), target)
    visible = VISIBLE if target is None else VISIBLE_BESIDE_TARGET
    count = noise(share / len(sets))
    least, unseen = math.sqrt(visible * count / rows), UNSEEN * count
    while least <= 0.5:
        cells = [
            _classes(column, p, least) if i == target else _finer(column, rows * p, least * rows, count, unseen)
            for i, (column, p) in enumerate(zip(columns, distributions, strict=True))
        ]
        if _few(cells):
            blocks = blocks_of(sets, cells, share, favoured=favoured, centred=centred)
            if centred:
                blocks = in_few_cells_too(blocks, columns, distributions, rows=rows, noise=noise)
            if sum(block.cells for block in blocks) <= MOST_NUMBERS:
                return blocks
        least, count = least * 1.1, math.inf  # where cells are scarce, none is spent on wide ones
    return ()


def interaction_noise(columns: Sequence[Column], noise: Noise) -> Noise:
    """The noise of interactions, about: √((1 − 1/m)(1 − 1/n)) of that of counts, on average over the columns."""
    less = float(np.mean([1.0 - 1.0 / max(2, column.size) for column in columns]))
    return lambda share: less * noise(share)


def pair_cells(
    columns: Sequence[Column], distributions: Sequence[Floats], *, rows: float, share: float, noise: Noise, most: int
) -> list[Integers]:
    """The cells of each column in pairs that are chosen later, `most` of them: one cell where it can't be in any."""
    count = noise(share / most)
    least = math.sqrt(VISIBLE * count / rows)
    while least <= 0.5:
        cells = [
            _cells(column, rows * p, least * rows, count) for column, p in zip(columns, distributions, strict=True)
        ]
        widest = math.prod(sorted(width(grouping) for grouping in cells)[-2:])
        if 3 * most * widest <= 2 * MOST_NUMBERS and _few(cells):
            return cells
        least, count = least * 1.2, math.inf
    return [np.zeros(column.size, dtype=np.int64) for column in columns]


def blocks_of(
    sets: Sequence[tuple[int, ...]],
    cells: Sequence[Integers],
    share: float,
    *,
    favoured: int | None = None,
    centred: bool = False,
) -> tuple[Block, ...]:
    """A block for each set of columns, its share of the budget by its numbers, more with a favoured column.

    Interactions are of columns with two cells or more.
    """
    if centred:
        sets = [columns for columns in sets if min(width(cells[i]) for i in columns) > 1]
    powers = np.array([math.prod(width(cells[i]) - centred for i in columns) ** POWER for columns in sets])
    powers *= np.array([FAVOUR if favoured in columns else 1.0 for columns in sets])
    return tuple(
        Block(columns=columns, groups=tuple(cells[i] for i in columns), share=float(part), centred=centred)
        for columns, part in zip(sets, share * powers / powers.sum(), strict=True)
    )


def in_few_cells_too(
    blocks: Sequence[Block],
    columns: Sequence[Column],
    distributions: Sequence[Floats],
    *,
    rows: float,
    noise: Noise,
) -> tuple[Block, ...]:
    """The same interactions, each with another one for a part of its share: of the same columns, in few cells.

    A dependence that is spread over many cells may be below the noise in each of them, and far above it in sums over
    parts of the range. The part is the larger, the fainter a count of many cells is. A column has the same cells in all
    of the blocks.
    """
    few: dict[int, Integers] = {}
    result = []
    for block in blocks:
        part = min(MOST_FOR_FEW, FAINT_FOR_FEW * math.sqrt(noise(block.share) / rows))
        for column, cells in zip(block.columns, block.groups, strict=True):
            if column not in few:
                few[column] = _few_cells(columns[column], distributions[column], cells)
        groups = tuple(few[column] for column in block.columns)
        shape = [width(group) for group in groups]
        if part < LEAST_FOR_FEW or min(shape) < 2 or 2 * math.prod(shape) > block.cells:
            result.append(block)
            continue
        result.append(dataclasses.replace(block, share=(1.0 - part) * block.share))
        result.append(dataclasses.replace(block, groups=groups, share=part * block.share))
    return tuple(result)


def finest_cells(pairs: Sequence[Block]) -> dict[int, Integers]:
    """The cells of each column of the pairs."""
    cells: dict[int, Integers] = {}
    for block in pairs:
        for column, group in zip(block.columns, block.groups, strict=True):
            cells[column] = max(cells.get(column, group), group, key=width)
    return cells


def with_share(blocks: Sequence[Block], share: float) -> tuple[Block, ...]:
    """The same blocks with another share for all of them together."""
    scale = share / sum(block.share for block in blocks)
    return tuple(dataclasses.replace(block, share=block.share * scale) for block in blocks)


def most_numbers(sizes: Sequence[int], target: int | None) -> int:
    """The most counts of this round, whatever the cells turn out to be, and again in cells half as many."""
    numbers = sum(math.prod(sizes[i] for i in columns) for columns in _sets(len(sizes), target))
    return min(MOST_NUMBERS, 3 * numbers // 2)


def check_width(columns: Sequence[Column]) -> None:
    """Refuse a table of more columns than were tried."""
    if len(columns) > MOST_COLUMNS:
        raise CapacityError(
            f"Interactions: {len(columns)} columns are too many; at most {MOST_COLUMNS} can be released together. "
            "Release fewer columns."
        )


def _few(cells: Sequence[Integers]) -> bool:
    return sum(width(grouping) for grouping in cells) <= max(MOST_CELLS, 3 * len(cells))


def _sets(count: int, target: int | None) -> list[tuple[int, ...]]:
    if target is None:
        return list(itertools.combinations(range(count), 2))
    others = [i for i in range(count) if i != target]
    return [(i, j, target) for i, j in itertools.combinations(others, 2)] + [(i, target) for i in others]


def _classes(column: Column, distribution: Floats, least: float) -> Integers:
    """The classes of a target."""
    if column.size <= MOST_CLASSES:
        return np.arange(column.size)
    return cells_of(distribution, max(least, 1.0 / MOST_CLASSES), column.in_order)


def _cells(column: Column, rows: Floats, least: float, noise: float) -> Integers:
    """Cells of at least so many of the `rows` of each atom; those of a number, wide for the noise, are parted."""
    cells = cells_of(rows, least, column.in_order)
    if not isinstance(column, Celled) or noise == math.inf:
        return cells
    lowest, highest = (end.astype(np.float64) for end in column.bounds())
    return parted(cells, rows, (lowest, highest), noise)


def _finer(column: Column, rows: Floats, least: float, noise: float, unseen: float) -> Integers:
    """The same; where atoms have no order, of `FINER` of so many rows, and at most `MOST_OF_ONE` of them.

    Neighbours in an order are alike, and lose little in one cell. Atoms that have nothing but their weight in common
    are not alike: a cell of them keeps nothing of what each has to do with another column.
    """
    if column.in_order:
        return _cells(column, rows, least, noise)
    share = FINER * least
    while width(cells := cells_of(rows, share, 0, unseen=unseen)) > MOST_OF_ONE:
        share *= 1.1
    return cells


def _few_cells(column: Column, distribution: Floats, cells: Integers) -> Integers:
    share = FEW_ORDERED if column.in_order else FEW
    return coarser(cells, distribution, share, column.in_order)
