"""Tables: noisy counts of every column and every pair of columns, and a mixture of products that matches them."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Integers
from kernelease.embedding.blocks import Block, NoisyBlocks
from kernelease.embedding.contingency import ExactCounts
from kernelease.errors import CapacityError, ParameterError
from kernelease.fit.mixture import Mixture, MixtureSolver
from kernelease.privacy.filter import PrivacyFilter
from kernelease.privacy.noise import NoiseSource
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed
from kernelease.table import Codes, Column

CELLS_CAP = 1_000_000  # noisy counts: about ten seconds of exact draws
SHARE_POWER = 1.0 / 3.0  # a block's share of the budget grows with the cube root of its cells


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Interactions:
    """Measure the counts of all single columns and pairs; fit a mixture of products; draw rows.

    `pair_cells` is the most cells that a column of numbers or dates has in a pair block (on its own it keeps all its
    atoms). It is halved until all blocks together have at most a million cells.
    """

    solver: MixtureSolver = MixtureSolver()
    pair_cells: int = 128

    def __post_init__(self) -> None:
        if self.pair_cells < 2:
            raise ParameterError(f"Interactions: pair_cells must be at least 2, got {self.pair_cells!r}.")

    def plan(self, columns: Sequence[Column]) -> tuple[Block, ...]:
        """Which blocks to measure, with their shares of the budget. Only public sizes decide."""
        pair_cells = self.pair_cells
        while True:
            blocks = _blocks(columns, pair_cells)
            if sum(block.cells for block in blocks) <= CELLS_CAP:
                return blocks
            if pair_cells == 2:
                raise CapacityError(
                    f"Interactions: the pairs of {len(columns)} columns have more than {CELLS_CAP:,} cells even when "
                    "numbers are cut in two. Declare fewer categories, or release fewer columns together."
                )
            pair_cells //= 2

    def count(
        self, batches: Iterable[tuple[Codes, Integers | None]], columns: Sequence[Column], *, unit: int = 1
    ) -> ExactCounts:
        """The private pass: exact counts of batches of (codes, weights)."""
        return ExactCounts.of(batches, tuple(column.size for column in columns), unit=unit)

    def measure(
        self, counts: ExactCounts, columns: Sequence[Column], budget: PrivacyFilter, *, noise: NoiseSource
    ) -> NoisyBlocks:
        """The planned blocks with noise."""
        return counts.privatise(self.plan(columns), budget, noise=noise)

    def fit(self, noisy: NoisyBlocks, seed: PublicSeed, progress: Progress = SILENT) -> Mixture:
        """The public step: free, and repeatable with another solver."""
        return self.solver.solve(noisy, seed, progress)


def _blocks(columns: Sequence[Column], pair_cells: int) -> tuple[Block, ...]:
    singles = [(np.arange(column.size),) for column in columns]
    grouped = [_grouping(column, pair_cells) for column in columns]
    chosen: list[tuple[tuple[int, ...], tuple[Integers, ...]]] = [((i,), groups) for i, groups in enumerate(singles)]
    chosen += [((i, j), (grouped[i], grouped[j])) for i, j in itertools.combinations(range(len(columns)), 2)]
    cells = np.array([np.prod([int(group.max()) + 1 for group in groups]) for _, groups in chosen], dtype=np.float64)
    shares = cells**SHARE_POWER / (cells**SHARE_POWER).sum()
    return tuple(
        Block(columns=indices, groups=groups, share=float(share))
        for (indices, groups), share in zip(chosen, shares, strict=True)
    )


def _grouping(column: Column, most: int) -> Integers:
    """Neighbouring atoms of an ordered column in at most `most` cells; NULL and other keep cells of their own."""
    if not column.ordered:
        return np.arange(column.size)
    ordinary = int(np.count_nonzero(~np.isnan(column.centres())))
    width = -(-ordinary // most)
    cells = np.arange(ordinary) // width
    special = np.arange(column.size - ordinary) + (int(cells.max()) + 1 if ordinary else 0)
    return np.concatenate([cells, special]).astype(np.int64)
