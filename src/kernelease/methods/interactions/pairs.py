"""Which pairs of columns to measure, in which cells, and details of those that nearly determine each other."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import CapacityError
from kernelease.measured.blocks import Block, NoisyBlocks, finest, refine, with_share
from kernelease.measured.counts import Contrasts, Counts, squared_interactions
from kernelease.measured.offsets import MOST_SIDES, Sides
from kernelease.methods.interactions.singles import (
    SEEN,
    Noise,
    Shares,
    cells_of,
    coarser,
    halve_cells,
    width,
)
from kernelease.privacy.sensitivity import Neighbours, Sensitivity, sides_sensitivity
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Column

if TYPE_CHECKING:
    from kernelease.fit.mixtures.mixture import Mixture

# --------------------
# Cells of a pair that are large enough to be seen through the noise.


MOST_PAIR_NUMBERS = 400_000  # limit: noisy counts: about five seconds of exact draws
MOST_CELLS = 600  # limit: of all columns: the fit's work grows with their square
MOST_COLUMNS = 1000  # limit: of a table: their pairs are looked at in seconds
MOST_CLASSES = 8  # limit: of a target that stay apart
# research: Tables: constants that matter. Times the share, for pairs with a target that do not split others
FAVOUR = 3.0
PAIR_POWER = 0.25  # research: Tables: constants that matter. A block's share grows with this power of its numbers
# research: Tables: constants that matter. Rows expected in a cell of a pair, over the noise of its count
VISIBLE, VISIBLE_BESIDE_TARGET = 0.5, 0.1
# convention: of the share of a cell of an ordered column. Half or twice as much changes no table's error by more than
# chance (docs/research.md: Tables: constants that matter)
FINER = 0.05
MOST_OF_ONE = 128  # limit: cells of one column: more are not kept apart when rows are drawn, either
# research: Tables: constants that matter. The least share of a cell, of an ordered column and of others
FEW_ORDERED, FEW = 0.25, 0.1
# research: Tables: constants that matter. The part of a pair's share where the noise of a count is of all rows, which
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
    least, unseen = math.sqrt(visible * count / rows), count
    ends = _ends(columns)
    while least <= 0.5:
        cells = [
            _classes(column, p, least) if i == target else _finer(column, rows * p, least * rows, count, unseen, own)
            for i, (column, p, own) in enumerate(zip(columns, distributions, ends, strict=True))
        ]
        if _few(cells):
            blocks = blocks_of(sets, cells, share, favoured=favoured, centred=centred)
            if centred:
                blocks = in_few_cells_too(blocks, columns, distributions, rows=rows, noise=noise)
            if sum(block.cells for block in blocks) <= MOST_PAIR_NUMBERS:
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
    least, ends = math.sqrt(VISIBLE * count / rows), _ends(columns)
    while least <= 0.5:
        cells = [
            _cells(column, rows * p, least * rows, count, own)
            for column, p, own in zip(columns, distributions, ends, strict=True)
        ]
        widest = math.prod(sorted(width(grouping) for grouping in cells)[-2:])
        if 3 * most * widest <= 2 * MOST_PAIR_NUMBERS and _few(cells):
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
    powers = np.array([math.prod(width(cells[i]) - centred for i in columns) ** PAIR_POWER for columns in sets])
    kind = Contrasts if centred else Counts
    powers *= np.array([FAVOUR if favoured in columns else 1.0 for columns in sets])
    return tuple(
        kind(columns=columns, groups=tuple(cells[i] for i in columns), share=float(part))
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


def most_pair_numbers(sizes: Sequence[int], target: int | None) -> int:
    """The most counts of this round, whatever the cells turn out to be, in cells half as many, and in both again."""
    numbers = sum(math.prod(sizes[i] for i in columns) for columns in _sets(len(sizes), target))
    return 2 * min(MOST_PAIR_NUMBERS, 3 * numbers // 2)


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


def _ends(columns: Sequence[Column]) -> list[tuple[Floats, Floats] | None]:
    """Of columns of numbers, the least and the greatest number of each cell."""
    return [column.ends() if isinstance(column, Celled) else None for column in columns]


def _cells(column: Column, rows: Floats, least: float, noise: float, ends: tuple[Floats, Floats] | None) -> Integers:
    """Cells of at least so many of the `rows` of each atom; those of a number, wide for the noise, are parted."""
    cells = cells_of(rows, least, column.in_order)
    return cells if ends is None or noise == math.inf else halve_cells(cells, rows, ends, noise)


def _finer(
    column: Column, rows: Floats, least: float, noise: float, unseen: float, ends: tuple[Floats, Floats] | None
) -> Integers:
    """The same; where atoms have no order, of `FINER` of so many rows, and at most `MOST_OF_ONE` of them.

    Neighbours in an order are alike, and lose little in one cell. Atoms that have nothing but their weight in common
    are not alike: a cell of them keeps nothing of what each has to do with another column.
    """
    if column.in_order:
        return _cells(column, rows, least, noise, ends)
    share = FINER * least
    while width(cells := cells_of(rows, share, 0, unseen=unseen)) > MOST_OF_ONE:
        share *= 1.1
    return cells


def _few_cells(column: Column, distribution: Floats, cells: Integers) -> Integers:
    share = FEW_ORDERED if column.in_order else FEW
    return coarser(cells, distribution, share, column.in_order)


# --------------------
# A second look at pairs, where all are measured as interactions.
#
# Of two columns that have nothing to do with each other a rough count says enough: what it shows is shrunk to nothing,
# and that is right. Of two that go together in many cells all noise is an error of the release. Which are which the
# first look says, for nothing.


# convention: of the share of pairs, what waits for the second look. Twice as much is nearer on tables of few rows
# and farther on long ones (docs/research.md: Tables: a second look at pairs)
AGAIN = 0.15
CERTAIN = 2.0  # convention: standard deviations by which interactions must stand out, all cells of a pair together
LITTLE = 0.1  # convention: of what a pair has already: with less it is not counted again


def second_look(
    noisy: NoisyBlocks, pairs: Sequence[Block], distributions: Sequence[Floats], share: float
) -> tuple[Block, ...]:
    """The interactions that gain most from a second count in the same cells, for `share` of the budget together.

    Where none stands out these are all of them again, in the same proportions.
    """
    columns = {pairs[place].columns for place in finest(pairs)}
    first = [noisy.blocks[place] for place in finest([one.block for one in noisy.blocks])]
    found = [one for one in first if one.block.columns in columns]
    squares = squared_interactions(found, distributions, noisy.rows)
    noise = np.array([one.sigma**2 for one in found])
    numbers = np.array([one.block.numbers for one in found])
    had = np.array([one.block.share for one in found])
    clear = np.flatnonzero(squares > CERTAIN * noise * np.sqrt(2.0 * numbers))
    if not len(clear):
        return with_share(pairs, share)
    more = np.zeros(len(found))
    more[clear] = worth_adding(squares[clear], (had * noise * numbers)[clear], had[clear], share)
    more[more <= LITTLE * had] = 0.0
    if not more.any():
        return with_share(pairs, share)
    again = zip(found, share / more.sum() * more, strict=True)
    return tuple(dataclasses.replace(one.block, share=float(part)) for one, part in again if part)


def worth_adding(squares: Floats, noise: Floats, had: Floats, total: float) -> Floats:
    """How much more of the budget each pair should get, `total` together, so that what is left wrong is least.

    Interactions of square s under noise of square a/share, shrunk as is best, are off by s·a/(s·share + a); the sum is
    least where share = c·√a − a/s, with one c for all that get any.

    >>> worth_adding(np.array([9.0, 9.0, 1e-9]), np.array([1.0, 4.0, 4.0]), np.array([0.1, 0.1, 0.1]), 0.6).round(3)
    array([0.241, 0.359, 0.   ])
    """
    owed, slope = had + noise / squares, np.sqrt(noise)
    order = np.argsort(owed / slope)
    levels = (total + np.cumsum(owed[order])) / np.cumsum(slope[order])
    level = levels[np.flatnonzero(levels >= (owed / slope)[order])[-1]]
    more: Floats = np.maximum(0.0, level * slope - owed)
    return more


# --------------------
# Sides, where not even a forest of pairs can be seen: whether rows are above or below the middles of columns.


SIDES = 0.25  # convention: of the budget, at most. A third costs single columns more than it is worth
CLEAR, DIM = 0.125, 0.2  # convention: the noise of a mean product that is wanted, and at most. Of what goes together: 1


def sides_share(
    columns: int, rows: float, noise: Callable[[Sensitivity, float], float], neighbours: Neighbours
) -> float:
    """What of the budget the sides of so many columns get: what they need, at most `SIDES`; 0 where they stay dim."""
    moved = sides_sensitivity(neighbours, columns=min(columns, MOST_SIDES))
    return next((share for share in _SHARES if noise(moved, share) <= (CLEAR if share < SIDES else DIM) * rows), 0.0)


_SHARES = tuple(SIDES * step / 64.0 for step in range(1, 65))


def most_side_numbers(columns: int) -> int:
    """The most noisy numbers of a block of sides."""
    return math.comb(min(MOST_SIDES, columns), 2)


def side_block(columns: Sequence[Column | None], distributions: Sequence[Floats], share: float) -> Sides | None:
    """The sides of columns, those that can be halved most evenly; None where fewer than two can be.

    A column that is None has no place in it. One that has fewer than `FEW` of its rows on a side says little.
    """
    found = {i: _sides(column, distributions[i]) for i, column in enumerate(columns) if column is not None}
    even = {i: min(float(distributions[i][own == side].sum()) for side in (-1, 1)) for i, own in found.items()}
    chosen = sorted(sorted((i for i in even if even[i] >= FEW), key=lambda i: -even[i])[:MOST_SIDES])
    if len(chosen) < 2:
        return None
    return Sides(
        columns=tuple(chosen),
        groups=tuple([np.zeros(len(found[i]), dtype=np.int64) for i in chosen]),
        share=share,
        sides=tuple([found[i] for i in chosen]),
        ordered=tuple([column.in_order for i in chosen if (column := columns[i]) is not None]),
    )


def _sides(column: Column, distribution: Floats) -> Integers:
    """The side of each atom: of values in an order, above their middle or not; of names, the most frequent or not."""
    sides = np.full(len(distribution), -1, dtype=np.int64)
    if not column.in_order:
        sides[int(np.argmax(distribution))] = 1
        return sides
    below = np.cumsum(distribution[: column.in_order])
    cut = 1 + int(np.argmin(np.abs(below[:-1] - below[-1] / 2.0))) if column.in_order > 1 else 1
    sides[cut:] = 1
    sides[column.in_order :] = 0
    return sides


# --------------------
# Choosing pairs, where all of them would drown in noise.
#
# A forest of pairs is chosen privately: the pairs farthest from independence that join columns not joined yet. Once
# it is measured, the fitted model says which other pairs must depend on each other, and that is free.


# research: Tables: constants that matter. Of all rows: the noise of a count at which a pair is still worth measuring
FAINT = 1.0 / 72.0
FAINT_IF_ALL = 2.0 * FAINT  # derived: where all pairs can have it no choice is paid for, and none is left out
MOST_CANDIDATES = 20_000  # limit: pairs that are looked at
# convention: L1 distance from independence, by the model, from which on a pair is measured. Half or twice as much
# changes no table's error by more than chance (docs/research.md: Tables: constants that matter)
DEPENDENT = 0.01


def affordable(pairs: int, share: float, rows: float, noise: Noise) -> int:
    """How many of so many pairs can be measured for a share together, with a noise of `FAINT` of all rows at most.

    >>> affordable(91, 0.5, 10_000, lambda share: 5.0 / share**0.5), affordable(91, 0.5, 1, lambda share: 5.0)
    (91, 0)
    """
    low, high = 0, pairs
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if noise(share / middle) <= FAINT * rows else (low, middle - 1)
    return low


def candidates(cells: Sequence[Integers], generator: np.random.Generator) -> tuple[Block, ...]:
    """Pairs of columns that have several cells each: all, or as many as can be looked at, drawn in public."""
    several = [column for column, grouping in enumerate(cells) if width(grouping) > 1]
    pairs = list(itertools.combinations(several, 2))
    if len(pairs) > MOST_CANDIDATES:
        kept = np.sort(generator.choice(len(pairs), MOST_CANDIDATES, replace=False))
        pairs = [pairs[index] for index in kept]
    return tuple(Counts(columns=pair, groups=(cells[pair[0]], cells[pair[1]]), share=0.0) for pair in pairs)


def independent_counts(
    blocks: Sequence[Block], distributions: Sequence[Floats], rows: float, unit: int
) -> list[Integers]:
    """What each block would hold if its columns were independent, as whole units."""
    expected = []
    for block in blocks:
        first, second = (
            np.bincount(group, distributions[column]) for column, group in zip(block.columns, block.groups, strict=True)
        )
        expected.append(np.rint(rows * unit * np.outer(first, second)).astype(np.int64))
    return expected


def chance(expected: Sequence[Integers], unit: int) -> list[int]:
    """How far from what is expected chance alone would put the counts of independent columns: Σ E|·|, in units."""
    return [round(math.sqrt(2.0 / math.pi) * float(np.sqrt(table * float(unit)).sum())) for table in expected]


def suggest(
    mixture: "Mixture", cells: Sequence[Integers], known: Sequence[Block], most: int, first: int | None = None
) -> list[tuple[int, int]]:
    """Pairs that were not measured, most dependent by the model first; those with the column `first` before all."""
    dependence = _dependence(mixture, cells)
    measured = {frozenset(block.columns) for block in known}
    several = [column for column, grouping in enumerate(cells) if width(grouping) > 1]
    pairs = [pair for pair in itertools.combinations(several, 2) if frozenset(pair) not in measured]
    worth = [pair for pair in pairs if first in pair or dependence[pair] >= DEPENDENT]
    return sorted(worth, key=lambda pair: (first not in pair, -dependence[pair]))[:most]


def _dependence(mixture: "Mixture", cells: Sequence[Integers]) -> Floats:
    """For each pair of columns, the L1 distance between their joint distribution and the product: (D, D)."""
    parts = [mixture.group_shares(column, group) for column, group in enumerate(cells)]
    q = np.concatenate(parts, axis=1)
    single = mixture.weights @ q
    apart = np.abs((q * mixture.weights[:, None]).T @ q - np.outer(single, single))
    starts = np.cumsum([0, *(part.shape[1] for part in parts[:-1])])
    dependence: Floats = np.add.reduceat(np.add.reduceat(apart, starts, axis=0), starts, axis=1)
    return dependence


# --------------------
# Details: pairs of columns that nearly determine each other, once more in finer cells.
#
# The cells of pairs are as fine as counts of two independent columns can be seen. Where one column nearly determines
# the other, rows are along a line, not all over the table: much finer cells hold enough of them. Which pairs those
# are, the first fit of all pairs tells, which is public.


MOST_DETAIL_NUMBERS = 200_000  # limit: noisy counts: two and a half seconds of exact draws
# research: Tables: constants that matter. The part of one column that the other tells (Goodman & Kruskal's τ) from
# which on a pair has a detail
STRONG = 0.25
# convention: of all rows: a smaller part in cells of several atoms, or left to be told, is not worth a detail. Half or
# twice as much changes no table's error by more than chance (docs/research.md: Tables: constants that matter)
WORTH = 0.015
# derived: Σ n/√share over details, of n cells along the line each, is least where shares go with this power of n
DETAIL_POWER = 2.0 / 3.0


def merged_share(cells: Integers, distribution: Floats) -> float:
    """The share of rows in cells that hold several atoms."""
    return float(distribution[np.bincount(cells)[cells] > 1].sum())


def any_merged(pairs: Sequence[Block], distributions: Sequence[Floats]) -> bool:
    """Whether some column has so many rows in cells of several atoms that there may be details."""
    return any(merged_share(own, distributions[column]) > WORTH for column, own in finest_cells(pairs).items())


def most_detail_numbers(sizes: Sequence[int]) -> int:
    """The most counts of details."""
    return min(MOST_DETAIL_NUMBERS, sum(one * other for one, other in itertools.combinations(sizes, 2)))


def detail_blocks(
    columns: Sequence[Column],
    distributions: Sequence[Floats],
    mixture: "Mixture",
    pairs: Sequence[Block],
    *,
    rows: float,
    shares: tuple[float, float],
    noise: Noise,
) -> tuple[Block, ...]:
    """Blocks of a forest of pairs, the closest first: each for what a pair has, within the `shares` of all together."""
    cells = finest_cells(pairs)
    links = _links(mixture, cells, distributions)
    each, (least, most) = float(np.mean([block.share for block in pairs])), shares

    def share(count: int) -> float:
        return min(most, max(least, count * each))

    expected = max(1, min(len(links), len(columns) - 1))  # of a forest
    seen = SEEN * noise(share(expected) / expected) / rows
    fine = {i: _fine(columns[i], distributions[i], cells[i], seen) for pair in links for i in pair}
    sets = _forest(links, {i: width(own) for i, own in fine.items()})
    needs = np.array([max(width(fine[i]) for i in pair) ** DETAIL_POWER for pair in sets])
    return tuple(
        dataclasses.replace(pairs[0], columns=pair, groups=tuple(fine[i] for i in pair), share=float(part))
        for pair, part in zip(sets, share(len(sets)) * needs / needs.sum(), strict=True)
    )


def _links(mixture: "Mixture", cells: dict[int, Integers], distributions: Sequence[Floats]) -> list[tuple[int, int]]:
    """The pairs that nearly determine each other, by the mixture, and have something left to be told within cells.

    Those from which there is most to be gained come first.
    """
    parts = {column: mixture.group_shares(column, own) for column, own in cells.items()}
    open_to = [column for column, own in cells.items() if merged_share(own, distributions[column]) > WORTH]
    worth: dict[tuple[int, int], float] = {}
    for pair in itertools.combinations(sorted(cells), 2):
        if not set(pair).isdisjoint(open_to):
            one, other = pair
            told = determination((parts[one] * mixture.weights[:, None]).T @ parts[other])
            if told > STRONG:
                left = max(_left(mixture, i, j, cells[i], parts[i]) for i, j in (pair, pair[::-1]))
                worth[pair] = told * left
    return sorted((pair for pair in worth if worth[pair] > WORTH), key=lambda pair: (-worth[pair], pair))


def _left(mixture: "Mixture", column: int, other: int, cells: Integers, part: Floats) -> float:
    """How much the atoms of two columns may still tell of each other within the `cells` of the one, (M, cells).

    That is no more than either of them varies there, by Gini's measure 1 − Σp².
    """
    alone = mixture.marginal(column)
    held = np.maximum(np.bincount(cells, alone), 1e-300)
    own = 1.0 - np.bincount(cells, alone**2) / held**2
    beside = (part * mixture.weights[:, None]).T @ mixture.columns[other]  # (cells, atoms)
    theirs = 1.0 - (beside**2).sum(axis=1) / held**2
    return float(held @ np.minimum(own, theirs))


def determination(joint: Floats) -> float:
    """The part of the one column's variation that the other explains: Goodman & Kruskal's τ, of both the larger.

    >>> round(determination(np.array([[0.5, 0.0], [0.0, 0.5]])), 6), round(determination(np.full((2, 2), 0.25)), 6)
    (1.0, 0.0)
    """
    parts = []
    for table in (joint, joint.T):
        alone = float((table.sum(axis=1) ** 2).sum())
        given = float((table**2 / np.maximum(table.sum(axis=0), 1e-300)).sum())
        parts.append((given - alone) / (1.0 - alone) if alone < 1.0 else 0.0)
    return max(parts)


def _forest(pairs: Sequence[tuple[int, int]], widths: dict[int, int]) -> list[tuple[int, int]]:
    """The pairs that join columns no earlier one joins, as long as there is room for their numbers.

    What goes with one column goes with those that go with it: a pair that closes a ring adds little.
    """
    parts: dict[int, int] = {}
    kept, numbers = [], 0
    for pair in pairs:
        one, other = (parts.setdefault(column, column) for column in pair)
        size = math.prod(widths[column] for column in pair)
        if one != other and numbers + size <= MOST_DETAIL_NUMBERS:
            kept.append(pair)
            numbers += size
            parts = {column: one if part == other else part for column, part in parts.items()}
    return kept


def _fine(column: Column, distribution: Floats, cells: Integers, least: float) -> Integers:
    """Atoms, or runs of them in an order that hold so many rows; none in two cells."""
    if not column.in_order:
        return np.arange(column.size)
    return refine([cells, cells_of(distribution, least, column.in_order)])


# --------------------
# Planning pairs: their cells and shares, from what is known of single columns.


# convention: of the share of sets, the most that details have with their own: half, never met on nine tables
TAKEN = 0.5


def pair_noise(columns: Sequence[Column], shares: Shares, noise: Noise) -> Noise:
    """The noise through which pairs are seen, for each share of the budget."""
    return interaction_noise(columns, noise) if shares.interactions else noise


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """What a round of pairs is planned from: columns and their distributions, rows, shares, and the noise of a count.

    A `target` of few classes may `split` all pairs where they are counts; else pairs with it get a larger share.
    """

    columns: tuple[Column, ...]
    distributions: tuple[Floats, ...]
    rows: float
    shares: Shares
    noise: Noise
    target: int | None = None
    split: bool = False

    def every(self) -> tuple[Block, ...]:
        """A block for each pair, with what was set aside for details where there can be none."""
        splits = self.split and not self.shares.interactions
        blocks = pair_blocks(
            self.columns,
            self.distributions,
            rows=self.rows,
            share=self.shares.pairs,
            noise=pair_noise(self.columns, self.shares, self.noise),
            target=self.target if splits else None,
            favoured=None if splits else self.target,
            centred=self.shares.interactions,
        )
        if not blocks or self.shares.details == 0.0 or any_merged(blocks, self.distributions):
            return blocks
        return with_share(blocks, self.shares.pairs + self.shares.details)

    def details(self, mixture: "Mixture", pairs: Sequence[Block]) -> tuple[Block, ...]:
        """Details: pairs whose columns nearly determine each other by a first fit, once more in finer cells."""
        if self.shares.details == 0.0 or not any_merged(pairs, self.distributions):
            return ()
        return detail_blocks(
            self.columns,
            self.distributions,
            mixture,
            pairs,
            rows=self.rows,
            shares=(self.shares.details, self.shares.details + TAKEN * self.shares.triples),
            noise=pair_noise(self.columns, self.shares, self.noise),
        )

    def cells(self) -> list[Integers]:
        """The cells of each column in pairs that are chosen."""
        share, most = self.shares.forest + self.shares.pairs, self.shares.most or 0
        if most == 0:
            return [np.zeros(column.size, dtype=np.int64) for column in self.columns]
        noise = pair_noise(self.columns, self.shares, self.noise)
        return pair_cells(self.columns, self.distributions, rows=self.rows, share=share, noise=noise, most=most)

    def chosen_blocks(
        self, sets: Sequence[tuple[int, ...]], cells: Sequence[Integers], share: float
    ) -> tuple[Block, ...]:
        """Pairs that were chosen, in these cells of their columns, as they are measured."""
        interactions = self.shares.interactions
        blocks = blocks_of(sets, cells, share, favoured=self.target, centred=interactions)
        if not interactions:
            return blocks
        noise = pair_noise(self.columns, self.shares, self.noise)
        return in_few_cells_too(blocks, self.columns, self.distributions, rows=self.rows, noise=noise)
