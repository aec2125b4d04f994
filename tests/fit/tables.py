"""Small tables of atoms, and noisy blocks of them."""

import itertools

import numpy as np

from kernelease.arrays import Integers
from kernelease.exact.counting import ExactCounts
from kernelease.measured.blocks import Block, NoisyBlocks
from kernelease.measured.counts import Counts
from kernelease.methods.interactions.rounds import join_blocks
from kernelease.noises import SeededNoise
from kernelease.passes import EncodedRows
from kernelease.privacy import Privacy
from kernelease.privacy.noise import NoiseSource
from tests.privacy.toys import open_filter

PRIVACY = Privacy(epsilon=1.0, delta=1e-6)


def counts_of(codes: Integers, sizes: tuple[int, ...]) -> ExactCounts:
    """Exact counts of codes, (columns, n)."""
    return ExactCounts.of(EncodedRows(lambda: iter([(codes, None)]), sizes), sizes)


def all_blocks(sizes: tuple[int, ...], most: int = 2, width: int = 1) -> list[Block]:
    """Every set of up to `most` columns, with `width` atoms to a cell where there are several columns."""
    sets = [s for k in range(1, most + 1) for s in itertools.combinations(range(len(sizes)), k)]
    return [
        Counts(
            columns=s,
            groups=tuple(np.arange(sizes[i]) // (1 if len(s) == 1 else width) for i in s),
            share=1.0 / len(sets),
        )
        for s in sets
    ]


def noisy_blocks(
    codes: Integers,
    sizes: tuple[int, ...],
    blocks: list[Block] | None = None,
    *,
    epsilon: float = 1.0,
    noise: NoiseSource | None = None,
    ordered: tuple[int, ...] = (),
) -> NoisyBlocks:
    """Blocks of codes (columns, n) with seeded noise."""
    privacy = Privacy(epsilon=epsilon, delta=1e-6)
    counts = counts_of(codes, sizes)
    wanted = all_blocks(sizes) if blocks is None else blocks
    parts = counts.privatise(wanted, open_filter(privacy, 10**6), noise=noise or SeededNoise(0))
    return join_blocks(parts, counts, privacy.relation, ordered=ordered)


def dependent(rows: int, sizes: tuple[int, ...], seed: int = 0) -> Integers:
    """Columns that all depend on one hidden class: (columns, rows)."""
    generator = np.random.default_rng(seed)
    hidden = generator.integers(0, 4, rows)
    centres = [generator.integers(0, size, 4) for size in sizes]
    return np.stack(
        [
            np.where(generator.random(rows) < 0.7, centre[hidden], generator.integers(0, size, rows))
            for size, centre in zip(sizes, centres, strict=True)
        ]
    )
