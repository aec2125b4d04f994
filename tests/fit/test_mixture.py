"""Mixtures of products: gradients, the noise floor, and what is kept of a table."""

import dataclasses

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.fit.mixtures.mixture import Mixture, MixtureSolver
from kernelease.fit.mixtures.objective import Objective, softmax_weights
from kernelease.fit.mixtures.terms import Pairs, Set, Singles
from kernelease.fit.solution import Outcome
from kernelease.measured.block import Block
from kernelease.measured.blocks import NoisyBlocks
from kernelease.seeds import PublicSeed
from tests.fit.tables import all_blocks, dependent, noisy_blocks

SIZES = (3, 4, 2, 5)
CODES = dependent(2000, SIZES)


def by_class(sizes: tuple[int, ...], hub: int) -> list[Block]:
    """Every pair per class of one column, and single columns."""
    blocks = [block for block in all_blocks(sizes, 3) if len(block.columns) == 1]
    for block in all_blocks(sizes, 2):
        if len(block.columns) == 2 and hub not in block.columns:
            groups = (*block.groups, np.arange(sizes[hub]))
            blocks.append(Block(columns=(*block.columns, hub), groups=groups, share=block.share))
    return [dataclasses.replace(block, share=1.0 / len(blocks)) for block in blocks]


LAYOUTS = {
    "pairs as a matrix": lambda: noisy_blocks(CODES, SIZES),
    "coarse pairs": lambda: noisy_blocks(CODES, SIZES, all_blocks(SIZES, 2, width=2)),
    "pairs and triples one by one": lambda: noisy_blocks(CODES, SIZES, all_blocks(SIZES, 3)),
    "few pairs one by one": lambda: noisy_blocks(CODES, SIZES, all_blocks(SIZES, 2)[:6]),
    "pairs per class": lambda: noisy_blocks(
        dependent(2000, (2, 3, 2, 3, 2)), (2, 3, 2, 3, 2), by_class((2, 3, 2, 3, 2), 4)
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_are_those_of_the_objective(layout: str) -> None:
    """Against central differences of ½χ² + κ·KL, computed from the joint distribution of all columns."""
    noisy = LAYOUTS[layout]()
    objective, generator, kappa = Objective.of(noisy), np.random.default_rng(1), 30.0
    logits = generator.normal(size=(3, objective.size)).astype(np.float32)
    weight_logits = generator.normal(size=3).astype(np.float32)
    _, gradients = objective.gradients(logits, weight_logits, kappa)
    for which, parameters in enumerate((logits, weight_logits)):
        for place in np.ndindex(parameters.shape):
            step = 1e-3
            ends = []
            for sign in (1, -1):
                moved = [logits.astype(np.float64), weight_logits.astype(np.float64)]
                moved[which][place] += sign * step
                ends.append(by_hand(noisy, objective, moved[0], moved[1], kappa))
            slope = (ends[0] - ends[1]) / (2 * step) / objective.numbers
            slack = 2e-3 * float(np.abs(gradients[which]).max())
            assert float(gradients[which][place]) == pytest.approx(slope, rel=2e-2, abs=slack)


def by_hand(noisy: NoisyBlocks, objective: Objective, logits: np.ndarray, weights: np.ndarray, kappa: float) -> float:
    """The objective in float64, from each block on its own."""
    w = np.exp(weights) / np.exp(weights).sum()
    q = [np.exp(logits[:, p]) / np.exp(logits[:, p]).sum(axis=1, keepdims=True) for p in objective.places]
    total = 0.0
    for one, cells, p in zip(objective.columns, objective.cells, q, strict=True):
        variance = np.bincount(cells) * one.variance
        total += 0.5 * float((((w @ p) - np.bincount(cells, one.shares)) ** 2 / variance).sum())
    for block in noisy.blocks:
        if len(block.block.columns) == 1:
            continue
        parts = []
        for column, group in zip(block.block.columns, block.block.groups, strict=True):
            cells = objective.cells[column]
            onto = np.zeros((cells.max() + 1, group.max() + 1))
            onto[cells, group] = 1.0
            parts.append(q[column] @ onto)
        model = np.einsum("m,ma,mb->ab", w, *parts) if len(parts) == 2 else np.einsum("m,ma,mb,mc->abc", w, *parts)
        total += 0.5 * float((((model - block.values / noisy.rows) * noisy.rows / block.sigma) ** 2).sum())
    prior = [objective.prior[p].astype(np.float64) for p in objective.places]
    divergence = sum((p * np.log(p / r)).sum(axis=1) for p, r in zip(q, prior, strict=True))
    return total + kappa * float(w @ divergence)


def test_each_layout_takes_the_terms_it_is_named_for() -> None:
    kinds = {name: [type(term) for term in Objective.of(make()).terms] for name, make in LAYOUTS.items()}
    assert kinds["pairs as a matrix"] == [Singles, Pairs]
    assert kinds["pairs and triples one by one"] == [Singles, Pairs, Set, Set, Set, Set]
    assert kinds["few pairs one by one"] == [Singles, Set, Set]
    assert kinds["pairs per class"] == [Singles, Pairs, Pairs]


def fitted(noisy: NoisyBlocks) -> Mixture:
    return MixtureSolver(components=60, steps=300).solve(noisy, PublicSeed(0))


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_a_fit_ends_at_the_noise_floor_and_not_below(epsilon: float) -> None:
    sizes = (6, 7, 5, 6, 4)
    mixture = fitted(noisy_blocks(dependent(5000, sizes), sizes, epsilon=epsilon))
    assert mixture.outcome is Outcome.NOISE_FLOOR
    assert 0.8 < mixture.chi_squared < 1.1


def test_a_fit_is_nearer_to_the_table_than_its_noisy_counts_and_than_independence() -> None:
    sizes = (6, 7, 5, 6, 4)
    codes = dependent(5000, sizes)
    noisy = noisy_blocks(codes, sizes, epsilon=0.5)
    mixture = fitted(noisy)
    errors = np.zeros(3)
    for block in (b for b in noisy.blocks if len(b.block.columns) == 2):
        i, j = block.block.columns
        truth = np.histogram2d(codes[i], codes[j], bins=(range(sizes[i] + 1), range(sizes[j] + 1)))[0] / 5000
        model, product = mixture.pair(i, j), np.outer(mixture.marginal(i), mixture.marginal(j))
        errors += [np.abs(guess - truth).sum() for guess in (model, block.values / noisy.rows, product)]
    assert errors[0] < 0.7 * errors[1]
    assert errors[0] < 0.7 * errors[2]


def test_without_joint_blocks_the_fit_is_the_product_of_single_columns() -> None:
    noisy = noisy_blocks(CODES, SIZES, all_blocks(SIZES, 1))
    mixture = MixtureSolver().solve(noisy, PublicSeed(0))
    assert len(mixture.weights) == 1
    assert np.allclose(mixture.pair(0, 1), np.outer(mixture.marginal(0), mixture.marginal(1)))


def test_the_same_seed_gives_the_same_mixture() -> None:
    noisy = noisy_blocks(CODES, SIZES)
    first, second = (MixtureSolver(components=20, steps=30).solve(noisy, PublicSeed(3)) for _ in range(2))
    assert np.array_equal(first.weights, second.weights)
    assert all(np.array_equal(a, b) for a, b in zip(first.columns, second.columns, strict=True))


def test_weights_are_a_distribution() -> None:
    weights = softmax_weights(np.array([500.0, 0.0, -500.0], dtype=np.float32))
    assert weights.sum() == pytest.approx(1.0)
    assert (weights > 0).all()


@pytest.mark.parametrize("wrong", [{"components": 0}, {"steps": 0}, {"goal": 0.0}, {"rate": -1.0}])
def test_senseless_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="MixtureSolver"):
        MixtureSolver(**wrong)
