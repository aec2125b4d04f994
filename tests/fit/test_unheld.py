"""Blocks that a mixture can't hold: rows are moved to what was measured of them."""

import dataclasses

import numpy as np
import pytest

from kernelease.fit.mixtures.beyond import Unheld, move_values
from kernelease.fit.mixtures.draw import draw_rows
from kernelease.fit.mixtures.mixture import Mixture, MixtureSolver
from kernelease.fit.solver import Outcome
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks
from kernelease.seeds import PublicSeed
from tests.fit.tables import noisy_blocks
from tests.fit.test_mixture import nearly_determined

ROWS, SIZES = 20_000, (24, 4, 3, 5)


@pytest.fixture(scope="module")
def fitted() -> tuple[NoisyBlocks, Mixture]:
    noisy = noisy_blocks(nearly_determined(ROWS), SIZES, epsilon=5.0)
    return noisy, MixtureSolver(components=2, steps=50).solve(noisy, PublicSeed(0))


def told_by(pair: NoisyBlock, rows: float) -> Unheld:
    """What a block says by itself."""
    return Unheld(block=pair.block, values=pair.values, variances=np.full(pair.values.shape, pair.sigma**2), rows=rows)


def test_rows_hold_a_pair_that_one_component_can_not():
    """An hour decides its quarter of the day: χ² per number falls from hundreds to what noise explains."""
    codes = nearly_determined(ROWS)
    noisy = noisy_blocks(codes, SIZES, epsilon=5.0)
    pair = next(block for block in noisy.blocks if block.block.columns == (0, 1))
    alone = Mixture(
        weights=np.ones(1),
        columns=tuple(np.bincount(own, minlength=size)[None] / ROWS for own, size in zip(codes, SIZES, strict=True)),
        chi_squared=1.0,
        outcome=Outcome.ITERATION_LIMIT,
    )
    model = dataclasses.replace(alone, unheld=(told_by(pair, noisy.rows),))
    with_it, without = (draw_rows(one, ROWS, np.random.default_rng(0)) for one in (model, alone))
    assert model.poorly_held_by(without)[0].chi_squared > 100.0
    assert model.poorly_held_by(with_it) == ()


def test_moved_rows_have_the_wanted_counts_and_single_columns_as_before(fitted):
    _, mixture = fitted
    pair = mixture.unheld_pairs[0]
    first, second = pair.columns
    generator = np.random.default_rng(0)
    rows = np.stack([generator.integers(0, size, ROWS) for size in SIZES])
    counts = np.histogram2d(rows[first], rows[second], bins=[np.arange(SIZES[c] + 1) for c in (first, second)])[0]
    wanted = pair.toward(counts, pair.groups)
    after = move_values(rows, pair.columns, pair.groups, wanted, generator)
    reached = np.histogram2d(after[first], after[second], bins=[np.arange(SIZES[c] + 1) for c in (first, second)])[0]
    assert np.abs(reached - wanted).max() < 3.0
    assert all(np.array_equal(np.bincount(a), np.bincount(b)) for a, b in zip(rows, after, strict=True))
    assert wanted.sum(axis=0) == pytest.approx(counts.sum(axis=0), rel=1e-2)


def test_what_noise_explains_is_left_alone(fitted):
    """A table at the noise floor stays; one far from it moves nearly all the way."""
    noisy, _ = fitted
    pair = next(block for block in noisy.blocks if block.block.columns == (0, 1))
    unheld = told_by(pair, noisy.rows)
    truth = np.histogram2d(*nearly_determined(ROWS)[:2], bins=[np.arange(25), np.arange(5)])[0] + 0.1
    assert np.abs(unheld.toward(truth, unheld.groups) - truth).max() < 4.0 * pair.sigma
    even = np.outer(truth.sum(axis=1), truth.sum(axis=0)) / truth.sum()
    assert np.abs(unheld.toward(even, unheld.groups) - truth).max() < 5.0 * pair.sigma


def test_finer_cells_keep_their_proportions(fitted):
    """The block knows nothing within its cells: two that are in one of them are multiplied alike."""
    noisy, _ = fitted
    pair = next(block for block in noisy.blocks if block.block.columns == (1, 2))
    split = dataclasses.replace(pair.block, groups=(np.arange(8) // 2, np.arange(3)))
    unheld = told_by(dataclasses.replace(pair, block=split), noisy.rows)
    even = np.full((8, 3), ROWS / 24)
    after = unheld.toward(even, (np.arange(8), np.arange(3)))
    assert after[::2] == pytest.approx(after[1::2])
    assert after.sum(axis=1) == pytest.approx(even.sum(axis=1), rel=1e-2)
