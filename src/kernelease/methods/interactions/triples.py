"""The last round: sets of three columns, chosen privately where the fit of pairs is farthest from the table."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.fit.mixtures.mixture import Mixture
from kernelease.fit.mixtures.one_way import one_ways
from kernelease.measured.block import Block
from kernelease.measured.blocks import NoisyBlocks
from kernelease.methods.interactions.resolution import Noise, coarser, width
from kernelease.methods.interactions.shares import MOST_TRIPLES

MOST_CANDIDATES = 1000  # limit: sets that are looked at
MOST_NUMBERS = 40_000  # limit: noisy counts: half a second of exact draws
SMALLEST_LEAST = 1e-6  # limit: share of a cell: no column has a million
# research: Tables: one constant at a time. Rows expected in a cell of three columns, over the noise of its count
VISIBLE = 1.0


def triple_cells(
    noisy: NoisyBlocks, pairs: Sequence[Block], *, count: int, share: float, noise: Noise
) -> list[Integers]:
    """The cells of each column in sets of three: one cell where it can't be in any.

    They never part what the cells of pairs hold together, and hold so many rows that three columns' cells together
    hold about as many as the noise of a count. No set is larger than all numbers that are set aside for this round.
    """
    wanted = (VISIBLE * noise(share / count) / noisy.rows) ** (1.0 / 3.0) if count else 1.0
    least = max(SMALLEST_LEAST, wanted)
    while least < 1.0:
        if _widest(cells := _cells(noisy, pairs, least)) <= MOST_NUMBERS:
            return cells
        least *= 1.2
    return [np.zeros(size, dtype=np.int64) for size in noisy.sizes]


def candidates(
    noisy: NoisyBlocks, mixture: Mixture, cells: Sequence[Integers], *, count: int, share: float
) -> tuple[tuple[Block, ...], int]:
    """Sets of three that could be measured, for an equal part of the share; and how many of them may be.

    Sets that were measured already are left out. Of too many, half are those whose columns depend on each other most
    by the fitted model, which is public, and half those of fewest cells: what no two of three columns show (a parity,
    say) is seen best there.
    """
    sets = _sets(cells, [block.block for block in noisy.blocks])
    if len(sets) > MOST_CANDIDATES:
        sets = _promising(sets, _dependence(mixture, cells), [width(grouping) for grouping in cells])
    most = min(count, len(sets), MOST_NUMBERS // _widest(cells))
    blocks = (Block(columns=s, groups=tuple(cells[i] for i in s), share=share / most) for s in sets)
    return tuple(blocks), most


def _promising(sets: Sequence[tuple[int, ...]], dependence: Floats, widths: Sequence[int]) -> list[tuple[int, ...]]:
    """`MOST_CANDIDATES` of the sets."""

    def dependent(one: tuple[int, ...]) -> float:
        return float(sum(sorted(dependence[i, j] for i, j in itertools.combinations(one, 2))[1:]))

    strongest = sorted(sets, key=lambda one: -dependent(one))
    half, others = strongest[: MOST_CANDIDATES // 2], strongest[MOST_CANDIDATES // 2 :]
    smallest = sorted(others, key=lambda one: math.prod(widths[i] for i in one))
    return half + smallest[: MOST_CANDIDATES - len(half)]


def any_sets(cells: Sequence[Integers], pairs: Sequence[Block]) -> bool:
    """Whether there is a set of three that can be measured and was not."""
    return len(_sets(cells, pairs)) > 0


def _sets(cells: Sequence[Integers], known: Sequence[Block]) -> list[tuple[int, ...]]:
    measured = {frozenset(block.columns) for block in known}
    several = [i for i, grouping in enumerate(cells) if width(grouping) > 1]
    return [s for s in itertools.combinations(several, 3) if frozenset(s) not in measured]


def _widest(cells: Sequence[Integers]) -> int:
    return math.prod(sorted(width(grouping) for grouping in cells)[-3:])


def most_numbers(sizes: Sequence[int], count: int | None) -> int:
    """The most counts of this round: of `count` sets, or of as many as there may be."""
    return min(MOST_NUMBERS, math.prod(sorted(sizes)[-3:]) * (MOST_TRIPLES if count is None else count))


def expected_counts(mixture: Mixture, blocks: Sequence[Block], rows: float, unit: int) -> list[Integers]:
    """What the fitted model says of each block, as whole units."""
    return [np.rint(rows * unit * mixture.joint(block.columns, block.groups)).astype(np.int64) for block in blocks]


def handicaps(blocks: Sequence[Block], noise: Noise, unit: int) -> list[int]:
    """What noise alone would put between a block's counts and the truth: Σ E|noise| over its cells, in units."""
    return [round(math.sqrt(2.0 / math.pi) * noise(block.share) * block.cells * unit) for block in blocks]


def _cells(noisy: NoisyBlocks, pairs: Sequence[Block], least: float) -> list[Integers]:
    ordered = noisy.ordered or (0,) * len(noisy.sizes)
    result = []
    for column, one in enumerate(one_ways(noisy)):
        held = [block.groups[block.columns.index(column)] for block in pairs if column in block.columns]
        if held:
            result.append(coarser(max(held, key=width), one.distribution, least, ordered[column]))
        else:
            result.append(np.zeros(noisy.sizes[column], dtype=np.int64))
    return result


def _dependence(mixture: Mixture, cells: Sequence[Integers]) -> Floats:
    """Of each pair of columns, the L1 distance between their joint distribution and the product: (D, D)."""
    parts = [mixture.grouped(column, group) for column, group in enumerate(cells)]
    dependence = np.zeros((len(cells),) * 2)
    for i, j in itertools.combinations(range(len(cells)), 2):
        joint = (parts[i] * mixture.weights[:, None]).T @ parts[j]
        dependence[i, j] = np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum()
    return dependence
