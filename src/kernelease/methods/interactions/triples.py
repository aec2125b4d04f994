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
from kernelease.methods.interactions.pairs import Noise
from kernelease.methods.interactions.resolution import coarser, width
from kernelease.methods.interactions.shares import MOST_TRIPLES

MOST_CANDIDATES = 500
MOST_NUMBERS = 40_000  # noisy counts
VISIBLE = 1.0  # rows expected in a cell of three columns, over the noise of its count


def candidates(
    noisy: NoisyBlocks, mixture: Mixture, *, count: int, share: float, noise: Noise
) -> tuple[tuple[Block, ...], int]:
    """Sets of three that could be measured, each for its part of the share; and how many of them may be.

    Cells never part what the cells of pairs hold together, and hold so many rows that three columns' cells together
    hold about as many as the noise of a count. Sets that were measured already are left out. Of too many, those stay
    whose columns depend on each other most by the fitted model, which is public.
    """
    cells = _cells(noisy, (VISIBLE * noise(share / count) / noisy.rows) ** (1.0 / 3.0))
    known = {frozenset(block.block.columns) for block in noisy.blocks}
    several = [i for i, grouping in enumerate(cells) if width(grouping) > 1]
    sets = [s for s in itertools.combinations(several, 3) if frozenset(s) not in known]
    if len(sets) > MOST_CANDIDATES:
        dependence = _dependence(mixture, cells)
        sets = sorted(sets, key=lambda s: -sum(sorted(dependence[i, j] for i, j in itertools.combinations(s, 2))[1:]))
    blocks = tuple(
        Block(columns=s, groups=tuple(cells[i] for i in s), share=share / count) for s in sets[:MOST_CANDIDATES]
    )
    widest = max((block.cells for block in blocks), default=1)
    return blocks, min(count, len(blocks), max(1, MOST_NUMBERS // widest))


def most_numbers(sizes: Sequence[int], count: int | None) -> int:
    """The most counts of this round: of `count` sets, or of as many as there may be."""
    widest = sorted((math.prod(s) for s in itertools.combinations(sorted(sizes)[-12:], 3)), reverse=True)
    return min(MOST_NUMBERS, sum(widest[: MOST_TRIPLES if count is None else count]))


def expected_counts(mixture: Mixture, blocks: Sequence[Block], rows: float, unit: int) -> list[Integers]:
    """What the fitted model says of each block, as whole units."""
    return [np.rint(rows * unit * _joint(mixture, block)).astype(np.int64) for block in blocks]


def handicaps(blocks: Sequence[Block], noise: Noise, unit: int) -> list[int]:
    """What noise alone would put between a block's counts and the truth: Σ E|noise| over its cells, in units."""
    return [round(math.sqrt(2.0 / math.pi) * noise(block.share) * block.cells * unit) for block in blocks]


def _cells(noisy: NoisyBlocks, least: float) -> list[Integers]:
    ordered = noisy.ordered or (0,) * len(noisy.sizes)
    result = []
    for column, one in enumerate(one_ways(noisy)):
        pairs = [b.block for b in noisy.blocks if len(b.block.columns) > 1 and column in b.block.columns]
        if pairs:
            cells = pairs[0].groups[pairs[0].columns.index(column)]
            result.append(coarser(cells, one.distribution, least, ordered[column]))
        else:
            result.append(np.zeros(noisy.sizes[column], dtype=np.int64))
    return result


def _joint(mixture: Mixture, block: Block) -> Floats:
    first, second, third = map(mixture.grouped, block.columns, block.groups)
    joint = (first[:, :, None] * second[:, None, :] * mixture.weights[:, None, None]).reshape(len(first), -1)
    table: Floats = (joint.T @ third).reshape(block.shape)
    return table


def _dependence(mixture: Mixture, cells: Sequence[Integers]) -> Floats:
    """Of each pair of columns, the L1 distance between their joint distribution and the product: (D, D)."""
    parts = [mixture.grouped(column, group) for column, group in enumerate(cells)]
    dependence = np.zeros((len(cells),) * 2)
    for i, j in itertools.combinations(range(len(cells)), 2):
        joint = (parts[i] * mixture.weights[:, None]).T @ parts[j]
        dependence[i, j] = np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum()
    return dependence
