"""The last rounds: sets of three or four columns, chosen privately, offsets within cells, how numbers go together."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.measured.blocks import MOST_COLUMNS, Block, NoisyBlocks
from kernelease.measured.counts import Counts
from kernelease.measured.offsets import (
    BITS,
    BITS_OF_PRODUCT,
    Ends,
    Moments,
    Offsets,
    offsets,
)
from kernelease.measured.spreads import MOST_SPREAD, Spread
from kernelease.methods.interactions.pairs import finest_cells
from kernelease.methods.interactions.singles import MOST_TRIPLES, Noise, cells_of, coarser, width
from kernelease.privacy.noise import LARGEST_GAUSSIAN_SCALE, LARGEST_LAPLACE_SCALE
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Column

if TYPE_CHECKING:
    from kernelease.fit.mixtures.mixture import Mixture

# --------------------
# Sets of three or four columns, chosen privately where the fit of pairs is farthest from the table.


MOST_CANDIDATES = 1000  # limit: sets of three that are looked at
MOST_FOURS = 250  # limit: sets of four that are looked at: all of ten columns
MOST_NARROW = 20  # limit: columns of fewest cells of which every set of four is thought of: 4,845
MOST_SET_NUMBERS = 40_000  # limit: noisy counts: half a second of exact draws
SMALLEST_LEAST = 1e-6  # limit: share of a cell: no column has a million

Columns: TypeAlias = tuple[int, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The cells of each column in sets of three, and in sets of four: one cell where it can't be in any."""

    threes: tuple[Integers, ...]
    fours: tuple[Integers, ...]

    @classmethod
    def of(
        cls,
        noisy: NoisyBlocks,
        distributions: Sequence[Floats],
        pairs: Sequence[Block],
        *,
        count: int,
        share: float,
        noise: Noise,
    ) -> "Cells":
        """Cells of columns with these distributions.

        They never part what the cells of pairs hold together, and those of four not what those of three do.

        They hold so many rows that the cells of a set's columns together hold about as many as the noise of a count.
        No set of three is larger than all numbers that are set aside for this round, and no set of four than its part
        of them.
        """
        coarsening = _Coarsening(distributions=distributions, ordered=noisy.ordered or (0,) * noisy.width)
        known = finest_cells(pairs)
        held = [known.get(column, one) for column, one in enumerate(coarsening.one_cell)]
        if not count:
            return cls(threes=coarsening.one_cell, fours=coarsening.one_cell)
        visible = noise(share / count) / noisy.rows
        threes = coarsening.of(held, visible ** (1.0 / 3.0), size=3, most=MOST_SET_NUMBERS)
        fours = coarsening.of(threes, visible**0.25, size=4, most=MOST_SET_NUMBERS // count)
        return cls(threes=threes, fours=fours)

    def any_sets(self, known: Sequence[Block]) -> bool:
        """Whether there is a set that can be measured and was not."""
        return len(_threes(self.threes, known)) > 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Coarsening:
    """How cells of columns become fewer: by what each holds, and, of the first atoms, next to its neighbours."""

    distributions: Sequence[Floats]
    ordered: Sequence[int]

    @property
    def one_cell(self) -> tuple[Integers, ...]:
        """All atoms of a column together."""
        return tuple(np.zeros(len(one), dtype=np.int64) for one in self.distributions)

    def of(self, cells: Sequence[Integers], least: float, *, size: int, most: int) -> tuple[Integers, ...]:
        """Cells of cells with at least such a share of the rows each, or more until no set has more than `most`."""
        least = max(SMALLEST_LEAST, least)
        while least < 1.0:
            columns = zip(cells, self.distributions, self.ordered, strict=True)
            found = tuple(coarser(own, one, least, ordered) for own, one, ordered in columns)
            if _widest(found, size) <= most:
                return found
            least *= 1.2
        return self.one_cell


def candidates(
    noisy: NoisyBlocks, mixture: "Mixture", cells: Cells, *, count: int, share: float
) -> tuple[tuple[Block, ...], int]:
    """Sets that could be measured, for an equal part of the share; and how many of them may be.

    Sets that were measured already are left out. Of too many, half are those whose columns depend on each other most
    by the fitted model, which is public, and half those of fewest cells: what no fewer columns show (a parity, say) is
    seen best there.
    """
    threes = _threes(cells.threes, [block.block for block in noisy.blocks])
    dependence = _dependence(mixture, cells.threes)
    fours = _promising(_fours(cells.fours, threes, dependence), dependence, cells.fours, MOST_FOURS)
    most = min(count, len(threes), MOST_SET_NUMBERS // _widest(cells.threes, 3))
    three_blocks = _set_blocks(
        _promising(threes, dependence, cells.threes, MOST_CANDIDATES), cells.threes, share / most
    )
    return three_blocks + _set_blocks(fours, cells.fours, share / most), most


def _set_blocks(sets: Sequence[Columns], cells: Sequence[Integers], share: float) -> tuple[Block, ...]:
    groups = [tuple([cells[i] for i in s]) for s in sets]
    return tuple([Counts(columns=s, groups=own, share=share) for s, own in zip(sets, groups, strict=True)])


def _promising(sets: Sequence[Columns], dependence: Floats, cells: Sequence[Integers], most: int) -> list[Columns]:
    """The most promising sets, at most this many."""
    if len(sets) <= most:
        return list(sets)
    strongest = sorted(sets, key=lambda one: -_dependent(one, dependence))
    half, others = strongest[: most // 2], strongest[most // 2 :]
    widths = [width(grouping) for grouping in cells]
    smallest = sorted(others, key=lambda one: math.prod(widths[i] for i in one))
    return half + smallest[: most - len(half)]


def _dependent(one: Columns, dependence: Floats) -> float:
    """How much the columns of a set depend on each other: by as many pairs, the strongest, as can join them all."""
    return float(sum(sorted(dependence[i, j] for i, j in itertools.combinations(one, 2))[1 - len(one) :]))


def _threes(cells: Sequence[Integers], known: Sequence[Block]) -> list[Columns]:
    measured = {frozenset(block.columns) for block in known}
    return [s for s in itertools.combinations(_several(cells), 3) if frozenset(s) not in measured]


def _fours(cells: Sequence[Integers], threes: Sequence[Columns], dependence: Floats) -> list[Columns]:
    """All sets of the columns of fewest cells, and those of three that depend on each other most with one more."""
    several = _several(cells)
    narrow = sorted(sorted(several, key=lambda i: width(cells[i]))[:MOST_NARROW])
    sets: set[Columns] = set(itertools.combinations(narrow, 4))
    if len(several) > len(narrow):
        within = [s for s in threes if set(s) <= set(several)]
        strongest = sorted(within, key=lambda one: -_dependent(one, dependence))[: MOST_FOURS // 2]
        sets |= {tuple(sorted((*s, i))) for s in strongest for i in several if i not in s}
    return sorted(sets)


def _several(cells: Sequence[Integers]) -> list[int]:
    return [i for i, grouping in enumerate(cells) if width(grouping) > 1]


def _widest(cells: Sequence[Integers], size: int) -> int:
    """The most cells of a set of so many columns."""
    return math.prod(sorted(width(grouping) for grouping in cells)[-size:])


def most_set_numbers(sizes: Sequence[int], count: int | None) -> int:
    """The most counts of this round: of `count` sets, or of as many as there may be."""
    return min(MOST_SET_NUMBERS, math.prod(sorted(sizes)[-MOST_COLUMNS:]) * (MOST_TRIPLES if count is None else count))


def expected_counts(mixture: "Mixture", blocks: Sequence[Block], rows: float, unit: int) -> list[Integers]:
    """What the fitted model says of each block, as whole units."""
    return [np.rint(rows * unit * mixture.joint(block.columns, block.groups)).astype(np.int64) for block in blocks]


def handicaps(blocks: Sequence[Block], cells: Cells, noise: Noise, unit: int) -> list[int]:
    """What noise alone would put between a block's counts and the truth: Σ E|noise| over its cells, in units.

    Of four columns at least as much as of any three of them, whose cells are finer: where nothing can be seen, sets of
    four are not chosen for having fewer cells.
    """
    widths = [width(grouping) for grouping in cells.threes]

    def numbers(block: Block) -> int:
        widest = math.prod(sorted(widths[i] for i in block.columns)[-3:])
        return max(block.cells, widest) if len(block.columns) > 3 else block.cells

    levels = {share: math.sqrt(2.0 / math.pi) * noise(share) for share in {block.share for block in blocks}}
    return [round(levels[block.share] * numbers(block) * unit) for block in blocks]


def _dependence(mixture: "Mixture", cells: Sequence[Integers]) -> Floats:
    """For each pair of columns, the L1 distance between their joint distribution and the product: (D, D)."""
    parts = [mixture.group_shares(column, group) for column, group in enumerate(cells)]
    dependence = np.zeros((len(cells),) * 2)
    for i, j in itertools.combinations(range(len(cells)), 2):
        joint = (parts[i] * mixture.weights[:, None]).T @ parts[j]
        dependence[i, j] = np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum()
    return dependence


# --------------------
# Sets of columns that were promised to an analysis: public, and measured in every release.


PROMISED = 0.1  # convention: of the budget, for each set of columns that an analysis needs…
MOST_PROMISED = 0.5  # convention: …and for all of them together
WHOLE = 8  # limit: values of a column that are all told apart in a promised set


def promised_share(sets: Sequence[Columns]) -> float:
    """The share of the budget that is set aside for promised sets."""
    return min(MOST_PROMISED, PROMISED * len(sets))


def most_promised_numbers(sizes: Sequence[int], sets: Sequence[Columns]) -> int:
    """The most counts of this round."""
    return min(MOST_SET_NUMBERS * len(sets), sum(math.prod(sizes[i] for i in one) for one in sets))


def promised_blocks(
    noisy: NoisyBlocks, distributions: Sequence[Floats], sets: Sequence[Columns], *, share: float, noise: Noise
) -> tuple[Block, ...]:
    """A block for each promised set, in cells that hold about as many rows as the noise of a count; two at least.

    They never part what the cells of pairs hold together, so that counts of both add up.
    """
    known = finest_cells([one.block for one in noisy.blocks if len(one.block.columns) == 2])
    visible = noise(share / len(sets)) / noisy.rows
    blocks = []
    for one in sets:
        least = max(SMALLEST_LEAST, visible ** (1.0 / len(one)))
        groups = [_told_apart(noisy, distributions, column, known.get(column), least) for column in one]
        while math.prod(map(width, groups)) > MOST_SET_NUMBERS and least < 1.0:
            least *= 1.2
            groups = [_told_apart(noisy, distributions, column, known.get(column), least) for column in one]
        blocks.append(Counts(columns=one, groups=tuple(groups), share=share / len(sets)))
    return tuple(blocks)


def _told_apart(
    noisy: NoisyBlocks, distributions: Sequence[Floats], column: int, known: Integers | None, least: float
) -> Integers:
    """The cells of a column: its values where they are few, else cells of many rows, and two at least."""
    own, ordered = distributions[column], (noisy.ordered or (0,) * noisy.width)[column]
    every: Integers = np.arange(len(own))
    if len(own) <= WHOLE:
        return every
    cells = every if known is None else known
    found = coarser(cells, own, least, ordered)
    while width(found) < 2 and least > SMALLEST_LEAST:
        least *= 0.5
        found = coarser(cells, own, least, ordered)
    return found if width(found) > 1 else cells


# --------------------
# Sums of offsets: how far numbers and dates lie from the middles of their cells.
#
# Counts say in which cell a number is. The sums of offsets say the rest, so that means, means of groups and products
# of numbers become linear functions of what was measured, with no gap of a cell's width.


MOMENTS = 0.01  # research: Tables: constants that matter. Of the budget, where there are numbers or dates
ALONE = 1.0 / 3.0  # convention: of that, for single columns, cell by cell
# convention: of the share of the moment with the widest cell: no moment gets less
LEAST_PART = 0.02
FEW = 1.0 / 16.0  # convention: of all rows, in a cell of a column that is in no pair
FEWEST_BITS = 12  # limit: of weights: fewer would round offsets coarsely
SPARE = 2  # limit: bits between the noise of a moment and the largest that can be drawn
MOST_MOMENT_NUMBERS = 100_000  # limit: noisy sums: about a second of exact draws


def share(columns: Sequence[Column]) -> float:
    """The share of the budget that is set aside: none where there is nothing but categories."""
    return MOMENTS if any(isinstance(column, Celled) for column in columns) else 0.0


def most_moment_numbers(columns: Sequence[Column]) -> int:
    """The most sums of this round, whatever the cells turn out to be."""
    numbers = [column.size for column in columns if isinstance(column, Celled)]
    beside = len(numbers) * (sum(column.size for column in columns) + len(numbers))
    return min(MOST_MOMENT_NUMBERS, sum(numbers) + beside)


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
    ends = [Ends.of(column) if isinstance(column, Celled) else None for column in columns]
    cells = [_cells(noisy, i, column, p) for i, (column, p) in enumerate(zip(columns, distributions, strict=True))]
    about = noise(total * (1.0 - ALONE) / max(1, len(_pairs(noisy)))) / noisy.blocks[0].unit
    rows = [np.bincount(own, noisy.rows * p).astype(np.float64) for own, p in zip(cells, distributions, strict=True)]
    apart = [
        None if column is None else offsets(column, own, apart=True) for column, own in zip(ends, cells, strict=True)
    ]
    narrow = [_narrow(own, n, about) for own, n in zip(apart, rows, strict=True)]
    scales = [_deviation(column, p) for column, p in zip(ends, distributions, strict=True)]
    blocks = _moment_blocks(ends, noisy, cells, narrow, scales, total, 2 * BITS_OF_PRODUCT)
    if not blocks:
        return ()
    room = math.floor(math.log2(LARGEST_LAPLACE_SCALE / noise(min(block.share for block in blocks)))) - SPARE
    if room >= 2 * BITS_OF_PRODUCT:
        return blocks
    return _moment_blocks(ends, noisy, cells, narrow, scales, total, room) if room >= FEWEST_BITS else ()


def _moment_blocks(
    columns: Sequence[Ends | None],
    noisy: NoisyBlocks,
    cells: Sequence[Integers],
    narrow: Sequence[float],
    scales: Sequence[float],
    total: float,
    bits: int,
) -> tuple[Block, ...]:
    """The blocks with weights of at most so many bits, their shares adding up to `total`."""
    alone = _scale_parts(_alone(columns, cells, scales, min(BITS, bits)), ALONE)
    beside = _scale_parts(_beside(columns, _pairs(noisy), cells, narrow, scales, bits), 1.0 - ALONE)
    numbers = itertools.accumulate(block.cells for block, _ in [*alone, *beside])
    few = [one for one, sums in zip([*alone, *beside], numbers, strict=True) if sums <= MOST_MOMENT_NUMBERS]
    whole = sum(part for _, part in few)
    return tuple(dataclasses.replace(block, share=total * part / whole) for block, part in few)


def _cells(noisy: NoisyBlocks, index: int, column: Column, distribution: Floats) -> Integers:
    """The cells of a column in the first block that has it beside another; else cells of many rows each."""
    for block in noisy.blocks:
        if len(block.block.columns) > 1 and index in block.block.columns:
            return block.block.groups[block.block.columns.index(index)]
    return cells_of(distribution, FEW, column.in_order)


def _narrow(found: Offsets | None, rows: Floats, noise: float) -> float:
    """The half width up to which cells are summed: the noise of their sum, and what the others may be off, are least.

    With 95 % limits of the noise, 2·noise·h + Σ rows·half over the cells whose half is above h.
    """
    if found is None:
        return math.inf
    half = np.nan_to_num(found.half)
    widths = np.unique(half[half > 0.0])
    costs = [2.0 * noise * width + float(rows @ np.where(half > width, half, 0.0)) for width in widths]
    return float(widths[int(np.argmin(costs))])


def _pairs(noisy: NoisyBlocks) -> list[tuple[int, int]]:
    """All pairs of columns that were counted together."""
    return sorted({pair for block in noisy.blocks for pair in itertools.combinations(sorted(block.block.columns), 2)})


def _deviation(column: Ends | None, distribution: Floats) -> float:
    """The standard deviation of a number or date in its own unit, by a noisy distribution; 1 for others."""
    if column is None:
        return 1.0
    low, high = column.lowest, column.highest
    middle, shares = low / 2 + high / 2, np.maximum(distribution[: len(low)], 0.0)
    mean = float(np.average(middle, weights=shares)) if shares.any() else float(middle.mean())
    square = float(np.average((middle - mean) ** 2, weights=shares)) if shares.any() else 0.0
    return math.sqrt(square) if square > 0.0 else max(1.0, float(high[-1] - low[0]))


def _alone(
    columns: Sequence[Ends | None], cells: Sequence[Integers], scales: Sequence[float], bits: int
) -> list[tuple[Block, float]]:
    numbers = [(index, column) for index, column in enumerate(columns) if column is not None]
    each = [offsets(column, cells[index], apart=True, bits=bits) for index, column in numbers]
    found: list[tuple[Block, float]] = []
    for (index, _), own in zip(numbers, each, strict=True):
        if own is not None:
            block = Moments(columns=(index,), groups=(cells[index],), share=0.0, ramps=(own.ramp,))
            found.append((block, own.widest / scales[index]))
    return found


def _beside(
    columns: Sequence[Ends | None],
    pairs: Sequence[tuple[int, int]],
    cells: Sequence[Integers],
    narrow: Sequence[float],
    scales: Sequence[float],
    bits: int,
) -> list[tuple[Block, float]]:
    """For every pair that was counted: the offsets of each in the cells of the other, and the product of both."""

    @functools.cache
    def about(index: int, most: int) -> Offsets | None:
        column = columns[index]
        if column is None:
            return None
        return offsets(column, cells[index], apart=False, bits=most, narrow=narrow[index])

    found: list[tuple[Block, float]] = []
    for one, other in pairs:
        for first, second in ((one, other), (other, one)):
            if (own := about(first, min(BITS, bits))) is not None:
                groups = np.zeros_like(cells[first]), cells[second]
                block = Moments(columns=(first, second), groups=groups, share=0.0, ramps=(own.ramp, None))
                found.append((block, own.widest / scales[first]))
        both = [about(index, bits // 2) for index in (one, other)]
        if both[0] is not None and both[1] is not None:
            groups = np.zeros_like(cells[one]), np.zeros_like(cells[other])
            ramps = both[0].ramp, both[1].ramp
            block = Moments(columns=(one, other), groups=groups, share=0.0, ramps=ramps)
            found.append((block, both[0].widest / scales[one] * both[1].widest / scales[other]))
    return found


def _scale_parts(blocks: Sequence[tuple[Block, float]], part: float) -> list[tuple[Block, float]]:
    """The blocks with parts that add up to `part`, in proportion to widths."""
    if not blocks:
        return []
    widest = max(width for _, width in blocks)
    widths = [max(LEAST_PART * widest, width) for _, width in blocks]
    return [(block, part * width / sum(widths)) for (block, _), width in zip(blocks, widths, strict=True)]


# --------------------
# How numbers go together more finely than their cells: lengths and widths, prices and sums, ratios and their parts.
#
# Cells of pairs blur what several numbers have to do with each other, and no pair shows a relation of three. A mixture
# of products says how wide its rows are in every direction; in units of that, second moments of the real rows tell
# where these are much narrower. One small vector of sums has them all.


FEW_ATOMS = 16  # limit: of a number: so few are seen one by one in pairs
WIDE = 2  # convention: times as many squared units as numbers, from which on a row is left out
DOUBT = 1.0 / 16.0  # convention: of a squared unit, the noise up to which a spread is measured
MOST_FOR_SPREAD = 0.03  # convention: of the budget
FAR = 4.0  # convention: deviations from the median to which scores go
PER_SCORE, PER_MIX = 64, 16  # limit: of a score's and of a mixing's unit: steps as small as no noise shows
NARROWEST = 1e-3  # limit: of a column's own unit, squared: no direction is taken as narrower
_OUTSIDE = 2**24  # limit: the score of what has no number: beyond all others together
_QUANTILES = (0.001, 0.16, 0.5, 0.84)  # convention: the least number, and one deviation about the median


def most_spread_numbers(columns: Sequence[Column]) -> int:
    """The most sums of products."""
    width = min(MOST_SPREAD, sum(map(_is_number, columns))) + 1
    return width * (width + 1) // 2 if width > 2 else 0


def _is_number(column: Column) -> bool:
    return column.tag in ("integer", "number") and column.size > FEW_ATOMS


def spread_block(
    columns: Sequence[Column], mixture: "Mixture", rows: float, most: float, noise: Noise, unit: int = 1
) -> Spread | None:
    """How the numbers of a table go together, in units of a mixture; None where noise would hide it.

    As many as can be seen for `most` of the budget, those first that go with another most closely. None either where
    its noise, in integers of which a row (or person) adds `unit` to a count, would be larger than can be drawn.
    """
    scores = _scores(columns, mixture)
    if len(scores) < 2:
        return None
    places, covariance = list(scores), _covariance(mixture, scores)
    deviations = np.sqrt(np.maximum(np.diag(covariance), NARROWEST))
    strength = np.abs(covariance / np.outer(deviations, deviations) - np.eye(len(places))).max(axis=0)
    order = np.argsort(-strength, kind="stable")[:MOST_SPREAD]
    for count in range(len(order), 1, -1):
        # of a symmetric matrix of noise τ in each place no direction has more than about τ·√(2·count)
        sigma = DOUBT * rows / ((1 + WIDE * count) * math.sqrt(2.0 * count))
        if (share := least_share(noise, sigma, min(most, MOST_FOR_SPREAD))) is not None:
            chosen = np.sort(order[:count])
            inner = {places[i]: scores[places[i]] for i in chosen}
            block = _spread(inner, covariance[np.ix_(chosen, chosen)], share)
            return block if unit * noise(share) * block.limit <= LARGEST_GAUSSIAN_SCALE / 2**SPARE else None
    return None


def _spread(scores: dict[int, Floats], covariance: Floats, share: float) -> Spread:
    """The block of these columns, mixed so that what has that covariance has a spread of 1 in every direction."""
    widths, directions = np.linalg.eigh(covariance)
    one, own = PER_SCORE * PER_MIX, scores.values()
    whole = [np.where(np.isnan(each), _OUTSIDE, np.rint(PER_SCORE * np.nan_to_num(each))) for each in own]
    return Spread(
        columns=tuple(scores),
        groups=tuple(np.zeros(len(each), dtype=np.int64) for each in own),
        share=share,
        scores=tuple(each.astype(np.int64) for each in whole),
        mixing=np.rint(PER_MIX * directions / np.sqrt(np.maximum(widths, NARROWEST))).astype(np.int64),
        one=one,
        limit=(1 + WIDE * len(scores)) * one**2,
    )


def _covariance(mixture: "Mixture", scores: dict[int, Floats]) -> Floats:
    """The covariance of scores in rows of a mixture, those that have all of them."""
    known = {i: np.where(np.isnan(own), 0.0, 1.0) for i, own in scores.items()}
    weights = mixture.weights * np.prod([mixture.columns[i] @ own for i, own in known.items()], axis=0)
    weights = weights / max(float(weights.sum()), SMALLEST_LEAST)
    means, within = [], []
    for i, own in scores.items():
        held = mixture.columns[i] * known[i]
        held = held / np.maximum(held.sum(axis=1, keepdims=True), SMALLEST_LEAST)
        first, second = held @ np.nan_to_num(own), held @ np.nan_to_num(own) ** 2
        means.append(first)
        within.append(float(weights @ (second - first**2)))
    table = np.array(means)
    centred = table - (table @ weights)[:, None]
    covariance: Floats = (centred * weights) @ centred.T + np.diag(within)
    return covariance


def _scores(columns: Sequence[Column], mixture: "Mixture") -> dict[int, Floats]:
    """A number for each atom of each number, in deviations from its median; NULL has NaN.

    Of logarithms, where rows are above 0, if these are more even about their medians in all columns together.
    """
    numbers = {i: column.centres() for i, column in enumerate(columns) if _is_number(column)}
    ends = {i: _quantiles(own, mixture.marginal(i)) for i, own in numbers.items()}
    above = {i: np.log(own) for i, own in ends.items() if own[0] > 0.0}
    if sum(_skew(own) for own in above.values()) < sum(_skew(ends[i]) for i in above):
        numbers |= {i: np.log(np.maximum(numbers[i], ends[i][0])) for i in above}
        ends |= above
    return {
        i: np.clip((own - ends[i][2]) / ((ends[i][3] - ends[i][1]) / 2.0), -FAR, FAR)
        for i, own in numbers.items()
        if ends[i][3] > ends[i][1]
    }


def _quantiles(numbers: Floats, shares: Floats) -> Floats:
    """`_QUANTILES` of a column's numbers: (4,)."""
    order = np.argsort(numbers, kind="stable")[: int(np.count_nonzero(~np.isnan(numbers)))]
    below = np.cumsum(shares[order])
    places = np.searchsorted(below, np.array(_QUANTILES) * below[-1])
    quantiles: Floats = numbers[order[np.minimum(places, len(order) - 1)]]
    return quantiles


def _skew(ends: Floats) -> float:
    """How uneven a column is about its median: 0 where it is even."""
    _, low, middle, high = ends.tolist()
    uneven: float = abs(high + low - 2.0 * middle) / max(high - low, SMALLEST_LEAST)
    return uneven


def least_share(noise: Noise, sigma: float, most: float) -> float | None:
    """The least share of the budget for which a count has no more noise than σ, to a thousandth; None above `most`."""
    if most <= 0.0 or noise(most) > sigma:
        return None
    low, high = 0.0, most
    while high - low > most / 1000.0:
        middle = (low + high) / 2.0
        low, high = (low, middle) if noise(middle) <= sigma else (middle, high)
    return high
