"""Which pairs of columns to measure where all of them would drown in noise.

A forest of pairs is chosen privately: the pairs farthest from independence that join columns not joined yet. Once it is
measured, the fitted model says which other pairs must depend on each other, and that is free.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.fit.mixtures.mixture import Mixture
from kernelease.measured.block import Block
from kernelease.methods.interactions.resolution import Noise, width

# research: Tables: what to measure. Of all rows: the noise of a count at which a pair is still worth measuring
FAINT = 1.0 / 72.0
# research: Tables: all pairs, and sets of three. The same where all pairs can have it, and fewer than two
# a column could be chosen
FAINT_IF_ALL = 1.0 / 30.0
MOST_CANDIDATES = 20_000  # limit: pairs that are looked at
# research: Tables: one constant at a time. L1 distance from independence, by the model, from which on a pair is
# measured
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
    return tuple(Block(columns=pair, groups=(cells[pair[0]], cells[pair[1]]), share=0.0) for pair in pairs)


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


def suggested(
    mixture: Mixture, cells: Sequence[Integers], known: Sequence[Block], most: int, first: int | None = None
) -> list[tuple[int, int]]:
    """Pairs that were not measured, most dependent by the model first; those with the column `first` before all."""
    dependence = _dependence(mixture, cells)
    measured = {frozenset(block.columns) for block in known}
    several = [column for column, grouping in enumerate(cells) if width(grouping) > 1]
    pairs = [pair for pair in itertools.combinations(several, 2) if frozenset(pair) not in measured]
    worth = [pair for pair in pairs if first in pair or dependence[pair] >= DEPENDENT]
    return sorted(worth, key=lambda pair: (first not in pair, -dependence[pair]))[:most]


def _dependence(mixture: Mixture, cells: Sequence[Integers]) -> Floats:
    """Of each pair of columns, the L1 distance between their joint distribution and the product: (D, D)."""
    parts = [mixture.grouped(column, group) for column, group in enumerate(cells)]
    q = np.concatenate(parts, axis=1)
    single = mixture.weights @ q
    apart = np.abs((q * mixture.weights[:, None]).T @ q - np.outer(single, single))
    starts = np.cumsum([0, *(part.shape[1] for part in parts[:-1])])
    dependence: Floats = np.add.reduceat(np.add.reduceat(apart, starts, axis=0), starts, axis=1)
    return dependence
