"""Where a mixture starts: rows that follow single columns and the strongest pairs."""

import dataclasses

import numpy as np

from kernelease.fit.mixtures.mixture import Start
from kernelease.fit.mixtures.objective import Objective
from kernelease.measured.blocks import Block, NoisyBlocks
from kernelease.measured.counts import Counts
from tests.fit.tables import all_blocks, noisy_blocks


def started(noisy: NoisyBlocks, count: int = 2000) -> list[np.ndarray]:
    """For each column, the cell on which each component has most of its mass."""
    objective = Objective.of(noisy)
    logits = Start.of(noisy, objective).blurred_rows(count, np.random.default_rng(0))
    assert logits.shape == (objective.size, count)
    return [logits[place].argmax(axis=0) for place in objective.places]


def copies(rows: int = 20_000) -> np.ndarray:
    """A column, a copy of it, and one on its own."""
    generator = np.random.default_rng(1)
    one = generator.choice(5, rows, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    return np.stack([one, one, generator.integers(0, 3, rows)])


def with_singles(block: Block) -> NoisyBlocks:
    singles = [dataclasses.replace(single, share=0.2) for single in all_blocks((5, 5, 3), 1)]
    return noisy_blocks(copies(), (5, 5, 3), [*singles, block])


def test_a_copy_starts_as_a_copy_and_columns_as_measured() -> None:
    first, second, third = started(noisy_blocks(copies(), (5, 5, 3)))
    assert np.mean(first == second) > 0.95
    shares = np.bincount(first, minlength=5) / len(first)
    assert np.abs(shares - [0.4, 0.3, 0.15, 0.1, 0.05]).max() < 0.03
    assert abs(np.corrcoef(first, third)[0, 1]) < 0.1


def test_coarse_cells_and_pairs_per_class_are_followed_too() -> None:
    halves, whole = np.arange(5) // 3, tuple(np.arange(size) for size in (5, 5, 3))
    first, second, _ = started(with_singles(Counts(columns=(0, 1), groups=(halves, halves), share=0.3)))
    assert np.mean(first == second) > 0.95
    first, second, _ = started(with_singles(Counts(columns=(0, 1, 2), groups=whole, share=0.3)))
    assert np.mean(first == second) > 0.95


def test_without_pairs_rows_are_those_of_independent_columns() -> None:
    cells = started(noisy_blocks(copies(), (5, 5, 3), all_blocks((5, 5, 3), 1)))
    assert not np.any(cells)  # each column has one cell alone: nothing was measured of it together with others
