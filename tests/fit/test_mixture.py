"""Mixtures of products: gradients, the noise floor, and what is kept of a table."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.fit.mixtures import objective as objective_module
from kernelease.fit.mixtures.beyond import Detail, poor
from kernelease.fit.mixtures.misfit import Correlations, Pairs, Set, Singles, Stack, apart, correlations, stack_sets
from kernelease.fit.mixtures.mixture import Mixture, MixtureSolver, ties_of
from kernelease.fit.mixtures.objective import Objective, Ties, Told, softmax_weights, trust
from kernelease.fit.solver import Outcome
from kernelease.measured.blocks import Block, NoisyBlock, NoisyBlocks
from kernelease.measured.counts import Contrasts, Counts
from kernelease.noises import SeededNoise
from kernelease.seeds import PublicSeed
from tests.fit.tables import all_blocks, dependent, noisy_blocks
from tests.measured.kinds import as_contrasts

SIZES = (3, 4, 2, 5)
CODES = dependent(2000, SIZES)


def by_class(sizes: tuple[int, ...], hub: int) -> list[Block]:
    """Every pair per class of one column, and single columns."""
    blocks = [block for block in all_blocks(sizes, 3) if len(block.columns) == 1]
    for block in all_blocks(sizes, 2):
        if len(block.columns) == 2 and hub not in block.columns:
            groups = (*block.groups, np.arange(sizes[hub]))
            blocks.append(Counts(columns=(*block.columns, hub), groups=groups, share=block.share))
    return [dataclasses.replace(block, share=1.0 / len(blocks)) for block in blocks]


def by_coarse_class(sizes: tuple[int, ...], hub: int) -> list[Block]:
    """All pairs, and every pair per class of one column in cells of two atoms."""
    coarse = [
        dataclasses.replace(block, groups=tuple(group // 2 for group in block.groups))
        for block in by_class(sizes, hub)
        if len(block.columns) == 3
    ]
    blocks = [*all_blocks(sizes, 2), *coarse]
    return [dataclasses.replace(block, share=1.0 / len(blocks)) for block in blocks]


def interactions(blocks: list[Block]) -> list[Block]:
    """The same with every pair as an interaction."""
    return [as_contrasts(block) if len(block.columns) == 2 else block for block in blocks]


def in_few_cells_too() -> list[Block]:
    """Pairs of wider columns once more, in two cells of each."""
    blocks = [*all_blocks(SIZES, 2), *(block for block in all_blocks(SIZES, 2, width=2)[4:] if 2 not in block.columns)]
    return [dataclasses.replace(block, share=1.0 / len(blocks)) for block in blocks]


def with_four(columns: tuple[int, ...]) -> list[Block]:
    """Sets of up to three columns, and one of four in two cells of each."""
    four = Counts(columns=columns, groups=tuple(np.arange(SIZES[i]) * 2 // SIZES[i] for i in columns), share=1.0)
    blocks = [*all_blocks(SIZES, 3), four]
    return [dataclasses.replace(block, share=1.0 / len(blocks)) for block in blocks]


LAYOUTS = {
    "pairs as a matrix": lambda: noisy_blocks(CODES, SIZES),
    "coarse pairs": lambda: noisy_blocks(CODES, SIZES, all_blocks(SIZES, 2, width=2)),
    "pairs and triples one by one": lambda: noisy_blocks(CODES, SIZES, all_blocks(SIZES, 3)),
    "a set of four, too": lambda: noisy_blocks(CODES, SIZES, all_blocks(SIZES, 4)),
    "a set of four in other cells": lambda: noisy_blocks(CODES, SIZES, with_four((3, 1, 0, 2))),
    "few pairs one by one": lambda: noisy_blocks(CODES, SIZES, all_blocks(SIZES, 2)[:6]),
    "interactions as a matrix": lambda: noisy_blocks(CODES, SIZES, interactions(all_blocks(SIZES, 2))),
    "interactions beside triples": lambda: noisy_blocks(CODES, SIZES, interactions(all_blocks(SIZES, 3))),
    "few interactions one by one": lambda: noisy_blocks(CODES, SIZES, interactions(all_blocks(SIZES, 2)[:6])),
    "interactions in few cells, too": lambda: noisy_blocks(CODES, SIZES, interactions(in_few_cells_too())),
    "columns in an order": lambda: noisy_blocks(CODES, SIZES, ordered=(3, 4, 0, 4)),
    "pairs per class": lambda: noisy_blocks(
        dependent(2000, (2, 3, 2, 3, 2)), (2, 3, 2, 3, 2), by_class((2, 3, 2, 3, 2), 4)
    ),
    "pairs, and per class in coarser cells": lambda: noisy_blocks(
        dependent(2000, (4,) * 5), (4,) * 5, by_coarse_class((4,) * 5, 4)
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_number_that_was_measured_is_in_the_objective(layout: str) -> None:
    """χ² of all terms together is that of single columns and of each block: none is left out, none counted twice."""
    noisy = LAYOUTS[layout]()
    objective = Objective.of(noisy)
    logits, weights = np.zeros((objective.size, 1), dtype=np.float32), np.zeros(1, dtype=np.float32)
    q, w = objective.normalise(logits), softmax_weights(weights)
    wide = objective.groupings.extend(q)
    singles = objective.terms[0].add(wide, w, np.zeros_like(wide), np.zeros_like(w))
    total, _ = objective.gradients(logits, weights, 0.0)
    blocks = sum(misfit.chi_squared * misfit.numbers for misfit in objective.misfits(q, w))
    assert total * objective.numbers == pytest.approx(singles + blocks, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_are_those_of_the_objective(layout: str) -> None:
    """Against central differences of ½ Σ trust·χ² + κ·KL, computed from the joint distribution of all columns."""
    noisy = LAYOUTS[layout]()
    objective, generator, kappa = Objective.of(noisy), np.random.default_rng(1), 30.0
    logits = generator.normal(size=(objective.size, 3)).astype(np.float32)
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


def off_correlation(term: Correlations, pair: tuple[int, ...], q: np.ndarray, w: np.ndarray) -> float:
    """How far the covariance of two columns' scores is from what their correlation should be."""
    first, second = ((q[:, term.places[i]], term.scores[i].astype(np.float64)) for i in pair)
    means = [float(w @ part @ own) for part, own in (first, second)]
    variances = [float(w @ part @ (own - mean) ** 2) for (part, own), mean in zip((first, second), means, strict=True)]
    covariance = float(w @ ((first[0] @ (first[1] - means[0])) * (second[0] @ (second[1] - means[1]))))
    return covariance - float(term.target[pair]) * math.sqrt(variances[0] * variances[1])


def by_hand(noisy: NoisyBlocks, objective: Objective, logits: np.ndarray, weights: np.ndarray, kappa: float) -> float:
    """The objective in float64, from each block on its own."""
    w = np.exp(weights) / np.exp(weights).sum()
    q = [(np.exp(logits[p]) / np.exp(logits[p]).sum(axis=0)).T for p in objective.places]
    total, trusted = 0.0, 2.0 if any(isinstance(block.block, Contrasts) for block in noisy.blocks) else 1.0
    for term in (one for one in objective.terms if isinstance(one, Correlations)):
        total += sum(
            0.5 * float(term.precision[pair]) * off_correlation(term, pair, np.concatenate(q, axis=1), w) ** 2
            for pair in itertools.combinations(range(len(term.places)), 2)
        )
    for one, cells, p in zip(objective.columns, objective.cells, q, strict=True):
        variance = np.bincount(cells) * one.variance
        total += 0.5 * trusted * float((((w @ p) - np.bincount(cells, one.shares)) ** 2 / variance).sum())
    for block in noisy.blocks:
        if len(block.block.columns) == 1:
            continue
        parts = []
        for column, group in zip(block.block.columns, block.block.groups, strict=True):
            cells = objective.cells[column]
            onto = np.zeros((cells.max() + 1, group.max() + 1))
            onto[cells, group] = 1.0
            parts.append(q[column] @ onto)
        model = np.einsum(("m,ma,mb->ab", "m,ma,mb,mc->abc", "m,ma,mb,mc,md->abcd")[len(parts) - 2], w, *parts)
        if isinstance(block.block, Contrasts):
            model = model - model.mean(axis=0) - model.mean(axis=1, keepdims=True) + model.mean()
        chi_squared = float((((model - block.values / noisy.rows) * noisy.rows / block.sigma) ** 2).sum())
        total += 0.5 * trust([block], objective.columns, noisy.rows)[0] * chi_squared
    prior = [objective.prior[p].astype(np.float64) for p in objective.places]
    divergence = sum((p * np.log(p / r)).sum(axis=1) for p, r in zip(q, prior, strict=True))
    for count, p, r in zip(noisy.ordered, q, prior, strict=False):
        bends = np.log(1.0 + np.diff(np.log(p / r)[:, :count], n=2, axis=1) ** 2)
        for first in range(count - 2):
            three = r[first : first + 3]
            divergence = divergence + 0.5 * three.min() / three.max() * bends[:, first]
    return total + kappa * float(w @ divergence)


def ridge(rows: int, size: int, seed: int = 0) -> np.ndarray:
    """Three columns of so many cells each: the second nearly tells the first, the third has nothing to do with them."""
    generator = np.random.default_rng(seed)
    first = generator.integers(0, size, rows)
    second = np.clip(first + generator.integers(0, 2, rows), 0, size - 1)
    return np.stack([first, second, generator.integers(0, size, rows)])


def ties_in(noisy: NoisyBlocks) -> Ties:
    """The ties that a fit shows."""
    objective, mixture = Objective.of(noisy), MixtureSolver(fits=1).solve(noisy, PublicSeed(0))
    cells = [mixture.group_shares(column, own).T for column, own in enumerate(objective.cells)]
    return ties_of(np.concatenate(cells).astype(np.float32), mixture.weights.astype(np.float32), objective.places)


def test_columns_that_nearly_tell_each_other_are_tied_and_others_are_not() -> None:
    """A tie is positive for cells that go together, and negative for others."""
    ((one, other, tie),) = ties_in(noisy_blocks(ridge(8000, 6), (6, 6, 6)))
    assert (one, other) == (slice(0, 6), slice(6, 12))
    assert (np.diag(tie) > 0.0).all()
    assert tie[0, 5] < 0.0


def test_gradients_with_ties_are_those_of_the_objective() -> None:
    """Against central differences of κ Σ w (KL − Σ q_iᵀ tie q_j) and χ²."""
    noisy = noisy_blocks(CODES, SIZES)
    plain, generator, kappa = Objective.of(noisy), np.random.default_rng(1), 30.0
    places = itertools.pairwise(plain.places)
    shapes = [(one, other, (one.stop - one.start, other.stop - other.start)) for one, other in places]
    ties = tuple((one, other, generator.normal(size=shape).astype(np.float32)) for one, other, shape in shapes)
    tied = dataclasses.replace(plain, ties=ties)
    logits = generator.normal(size=(plain.size, 3)).astype(np.float32)
    weight_logits = generator.normal(size=3).astype(np.float32)
    _, without = plain.gradients(logits.copy(), weight_logits, kappa)
    _, gradients = tied.gradients(logits.copy(), weight_logits, kappa)

    def reward(logits: np.ndarray, weights: np.ndarray) -> float:
        q = np.concatenate([(np.exp(logits[p]) / np.exp(logits[p]).sum(axis=0)).T for p in plain.places], axis=1)
        w = np.exp(weights) / np.exp(weights).sum()
        each = [np.einsum("mc,cd,md->m", q[:, one], tie, q[:, other]) for one, other, tie in ties]
        return -kappa * float(w @ np.sum(each, axis=0)) / plain.numbers

    for which, parameters in enumerate((logits, weight_logits)):
        for place in np.ndindex(parameters.shape):
            moved = [[logits.astype(np.float64), weight_logits.astype(np.float64)] for _ in range(2)]
            moved[0][which][place] += 1e-3
            moved[1][which][place] -= 1e-3
            slope = (reward(*moved[0]) - reward(*moved[1])) / 2e-3
            found = float(gradients[which][place] - without[which][place])
            assert found == pytest.approx(slope, rel=2e-2, abs=2e-3 * float(np.abs(gradients[which]).max()))


def test_the_mean_of_two_fits_is_nearer_where_columns_nearly_tell_each_other() -> None:
    """One blurs them."""
    codes, size = ridge(3000, 12), 12
    noisy = noisy_blocks(codes, (size,) * 3)
    truth = np.histogram2d(codes[0], codes[1], bins=size)[0] / codes.shape[1]
    found = [MixtureSolver(fits=fits).solve(noisy, PublicSeed(0)) for fits in (1, 2)]
    one, both = [float(np.abs(fit.pair(0, 1) - truth).sum()) for fit in found]
    assert both < 0.95 * one
    assert len(found[1].weights) == 2 * len(found[0].weights)


def test_fits_of_which_the_mean_is_taken_weigh_the_same() -> None:
    """And the mean is as near to the counts as it says."""
    noisy = noisy_blocks(CODES, SIZES)
    one, both = [MixtureSolver(components=40, steps=60, fits=fits).solve(noisy, PublicSeed(0)) for fits in (1, 2)]
    np.testing.assert_allclose(both.weights[:40], one.weights / 2.0, rtol=1e-4)
    assert both.weights[40:].sum() == pytest.approx(0.5)
    for misfit, block in zip(both.misfits, [own for own in noisy.blocks if len(own.block.columns) > 1], strict=True):
        model = noisy.rows * both.joint(block.block.columns, block.block.groups)
        expected = float(np.mean((block.values - model) ** 2)) / block.sigma**2
        assert misfit.chi_squared == pytest.approx(expected, rel=1e-3)


def test_columns_that_have_nothing_to_do_with_each_other_are_not_tied() -> None:
    """Then all fits are drawn toward independent columns."""
    assert ties_in(noisy_blocks(np.random.default_rng(0).integers(0, 4, (3, 2000)), (4, 4, 4))) == ()


def test_neighbours_in_an_order_are_bent_together_and_others_are_not() -> None:
    """NULL follows the cells in an order, and is nobody's neighbour; nor is a value that most rows have."""
    assert not Objective.of(noisy_blocks(CODES, SIZES)).bends.any()
    spiked = np.where(np.random.default_rng(0).random(2000) < 0.9, 2, np.arange(2000) % 6)
    codes = np.stack([np.arange(2000) % 6, spiked])
    exact = Objective.of(noisy_blocks(codes, (6, 6), ordered=(5, 6), epsilon=100.0))
    even, uneven = exact.bends[:6], exact.bends[6:]
    np.testing.assert_allclose(even, [1.0] * 3 + [0.0] * 3, rtol=0.05)  # the fourth would have NULL in it
    assert uneven[:3].max() < 0.05


def test_smooth_company_is_kept_better_where_cells_are_in_an_order() -> None:
    """Two numbers that rise together, in 12 cells each: with the order known, the fit is nearer to the truth."""
    generator = np.random.default_rng(0)
    first = generator.normal(size=4000)
    second = 0.8 * first + 0.6 * generator.normal(size=4000)
    codes = np.stack([np.searchsorted(np.quantile(x, np.arange(1, 12) / 12), x) for x in (first, second)])
    truth = np.histogram2d(*codes, bins=12)[0] / 4000

    def error(ordered: tuple[int, ...]) -> float:
        fits = [
            MixtureSolver().solve(
                noisy_blocks(codes, (12, 12), ordered=ordered, noise=SeededNoise(seed)), PublicSeed(0)
            )
            for seed in range(5)
        ]
        return float(np.mean([np.abs(fit.pair(0, 1) - truth).sum() for fit in fits]))

    assert error((12, 12)) < 0.9 * error(())


def test_each_layout_takes_the_terms_it_is_named_for() -> None:
    kinds = {name: [type(term) for term in apart(Objective.of(make()).terms)] for name, make in LAYOUTS.items()}
    assert kinds["pairs as a matrix"] == [Singles, Pairs]
    assert kinds["pairs and triples one by one"] == [Singles, Pairs, Set, Set, Set, Set]
    assert kinds["a set of four, too"] == [Singles, Pairs, Set, Set, Set, Set, Set]
    assert kinds["a set of four in other cells"] == [Singles, Pairs, Set, Set, Set, Set, Set]
    assert kinds["few pairs one by one"] == [Singles, Set, Set]
    assert kinds["interactions as a matrix"] == [Singles, Pairs]
    assert kinds["interactions beside triples"] == [Singles, Pairs, Set, Set, Set, Set]
    assert kinds["few interactions one by one"] == [Singles, Set, Set]
    assert kinds["interactions in few cells, too"] == [Singles, Pairs]
    assert kinds["pairs per class"] == [Singles, Pairs, Pairs]


def test_a_stack_of_sets_has_their_gradients_and_misfit() -> None:
    objective, generator = Objective.of(LAYOUTS["a set of four in other cells"]()), np.random.default_rng(1)
    q = objective.normalise(generator.normal(size=(objective.size, 7)).astype(np.float32))
    w, wide = softmax_weights(generator.normal(size=7).astype(np.float32)), objective.groupings.extend(q)
    sets = [term for term in objective.terms if isinstance(term, Set)]
    assert {len(one.places) for one in sets} == {3, 4}
    together, each = ((np.zeros_like(wide), np.zeros_like(w)) for _ in range(2))
    misfit = Stack.of(sets, len(wide)).add(wide, w, *together)
    assert misfit == pytest.approx(sum(one.add(wide, w, *each) for one in sets), rel=1e-4)
    for one, other in zip(together, each, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * float(np.abs(other).max()))


def test_three_small_sets_of_like_shape_are_a_stack_and_two_are_not() -> None:
    objective = Objective.of(LAYOUTS["pairs and triples one by one"]())
    one = next(term for term in objective.terms if isinstance(term, Set))
    two, three = (
        stack_sets([dataclasses.replace(one) for _ in range(count)], objective.groupings.width) for count in (2, 3)
    )
    assert [type(term) for term in two] == [Set, Set]
    assert [type(term) for term in three] == [Stack]
    assert len(apart(three)) == 3


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


def nearly_determined(rows: int, seed: int = 0) -> np.ndarray:
    """An hour, its quarter of the day, a class that the quarter nearly decides, and a column on its own."""
    generator = np.random.default_rng(seed)
    hour = generator.integers(0, 24, rows)
    quarter = hour // 6
    group = np.where(generator.random(rows) < 0.97, quarter % 3, generator.integers(0, 3, rows))
    return np.stack([hour, quarter, group, generator.integers(0, 5, rows)])


@pytest.mark.statistical
def test_columns_that_determine_each_other_are_held_near_the_noise_floor() -> None:
    """Every pair at noise of a few rows among 60,000; where a map is not quite held, it is named, and nothing else is.

    Of ten draws four leave the map beyond noise, with a χ² of 1.8 to 2.8 per number: 7 is more than six standard
    deviations above the mean of those.
    """
    for seed in range(3):
        noisy = noisy_blocks(nearly_determined(60_000), (24, 4, 3, 5), epsilon=2.0, noise=SeededNoise(seed))
        mixture = MixtureSolver().solve(noisy, PublicSeed(seed))
        assert {misfit.columns for misfit in poor(mixture.misfits)} <= {(0, 1)}
        assert all(misfit.chi_squared < 7.0 for misfit in poor(mixture.misfits))
        wrong = mixture.pair(0, 1)[np.arange(24)[:, None] // 6 != np.arange(4)]
        assert wrong.sum() < 0.02  # of .75, if they were independent


def test_chance_alone_is_not_followed() -> None:
    """Independent columns stay independent, where the noisy counts say otherwise."""
    generator = np.random.default_rng(0)
    sizes = (6, 5, 4, 7)
    codes = np.stack([generator.integers(0, size, 3000) for size in sizes])
    noisy = noisy_blocks(codes, sizes, epsilon=0.2)
    mixture = MixtureSolver().solve(noisy, PublicSeed(0))
    for block in (b for b in noisy.blocks if len(b.block.columns) == 2):
        i, j = block.block.columns
        product = np.outer(mixture.marginal(i), mixture.marginal(j))
        seen = np.abs(block.values / noisy.rows - product).sum()
        assert np.abs(mixture.pair(i, j) - product).sum() < 0.2 * seen


def test_more_budget_is_never_worse() -> None:
    sizes = (6, 7, 5, 6, 4)
    codes = dependent(5000, sizes)
    errors = []
    for epsilon in (0.1, 0.5, 2.5, 12.0):
        mixture = MixtureSolver().solve(noisy_blocks(codes, sizes, epsilon=epsilon), PublicSeed(0))
        tables = [
            (np.histogram2d(codes[i], codes[j], bins=(range(sizes[i] + 1), range(sizes[j] + 1)))[0] / 5000, i, j)
            for i in range(5)
            for j in range(i)
        ]
        errors.append(np.mean([np.abs(mixture.pair(i, j) - table).sum() for table, i, j in tables]))
    assert errors == sorted(errors, reverse=True)


def test_finer_cells_and_more_signal_never_leave_fewer_components() -> None:
    solver = MixtureSolver()
    for signal in (10.0, 1000.0, 100_000.0):
        components = [solver.effort(cells, signal)[0] for cells in range(20, 601, 20)]
        assert components == sorted(components)
    assert [solver.effort(200, s) for s in (1.0, 100.0, 1e4)] == sorted(
        solver.effort(200, s) for s in (1.0, 100.0, 1e4)
    )
    assert solver.aim(1e4) < solver.aim(100.0) < solver.aim(1.0) < 1.0
    assert MixtureSolver(goal=0.7).aim(100.0) == 0.7


def test_a_model_that_cannot_hold_a_block_says_which() -> None:
    noisy = noisy_blocks(nearly_determined(20_000), (24, 4, 3, 5), epsilon=5.0)
    mixture = MixtureSolver(components=2, steps=50).solve(noisy, PublicSeed(0))
    assert mixture.outcome is Outcome.ITERATION_LIMIT
    assert (0, 1) in [misfit.columns for misfit in poor(mixture.misfits)]
    assert poor(mixture.misfits)[0].chi_squared == max(misfit.chi_squared for misfit in mixture.misfits)


def test_the_misfit_of_a_block_is_its_own() -> None:
    """Against the mixture's own pair tables."""
    noisy = noisy_blocks(CODES, SIZES, all_blocks(SIZES, 3))
    mixture = MixtureSolver(components=20, steps=60).solve(noisy, PublicSeed(0))
    several = [block for block in noisy.blocks if len(block.block.columns) > 1]
    for block, misfit in zip(several, mixture.misfits, strict=True):
        parts = [mixture.columns[column] for column in block.block.columns]
        subscripts = "m,ma,mb->ab" if len(parts) == 2 else "m,ma,mb,mc->abc"
        model = np.einsum(subscripts, mixture.weights, *parts)
        chi_squared = np.mean((block.values - noisy.rows * model) ** 2) / block.sigma**2
        assert misfit.columns == block.block.columns
        assert misfit.chi_squared == pytest.approx(chi_squared, rel=1e-3)


def test_a_pair_that_was_measured_twice_counts_twice() -> None:
    """Two blocks of one pair: the target is their mean, weighted by precision."""
    blocks = [dataclasses.replace(block, share=0.05) for block in all_blocks(SIZES, 2)]
    noisy = noisy_blocks(CODES, SIZES, [*blocks, blocks[4]])
    term = Objective.of(noisy).terms[1]
    assert isinstance(term, Pairs)
    first, second = noisy.blocks[4], noisy.blocks[-1]
    assert np.allclose(term.target[:3, 3:7], (first.values + second.values) / 2 / noisy.rows, atol=1e-5)
    assert term.precision[0, 3] == pytest.approx(2 * (noisy.rows / first.sigma) ** 2, rel=1e-5)


@pytest.mark.parametrize("columns", [(0, 1), (1, 0)])
def test_a_detail_counts_beside_its_pair_as_far_as_its_sums_can_be_seen(columns: tuple[int, int]) -> None:
    blocks = [dataclasses.replace(block, share=0.05) for block in all_blocks(SIZES, 2, width=2)]
    fine = Counts(columns=columns, groups=tuple(np.arange(SIZES[i]) for i in columns), share=0.3)
    noisy = noisy_blocks(CODES, SIZES, [*blocks, fine])
    (detail,) = noisy.details
    term = Objective.of(noisy.without_details, [Detail.of(detail, noisy.rows)]).terms[1]
    assert isinstance(term, Pairs)
    pair = next(one for one in noisy.blocks if one.block.columns == (0, 1))
    rows, others = pair.block.groups
    sums = np.zeros(pair.block.shape)
    np.add.at(sums, np.ix_(rows, others), detail.values if columns == (0, 1) else detail.values.T)
    weights = (noisy.rows / detail.sigma) ** 2 / np.outer(np.bincount(rows), np.bincount(others))
    own, here = (noisy.rows / pair.sigma) ** 2, np.s_[: len(sums), len(sums) : len(sums) + sums.shape[1]]
    assert np.allclose(term.precision[here], own + weights, rtol=1e-5)
    wanted = (own * pair.values + weights * sums) / (own + weights) / noisy.rows
    assert np.allclose(term.target[here], wanted, atol=1e-5)


@pytest.mark.parametrize("columns", [(0, 3), (3, 0)])
def test_a_detail_counts_by_itself_where_its_pair_was_counted_in_coarser_cells(columns: tuple[int, int]) -> None:
    """Column 4 is read off column 3: it parts cells of 3 that no pair does, and the detail tells these apart, too."""
    blocks = [dataclasses.replace(block, share=0.05) for block in all_blocks(SIZES, 2, width=2)]
    fine = Counts(columns=columns, groups=tuple(np.arange(SIZES[i]) for i in columns), share=0.3)
    noisy = noisy_blocks(CODES, SIZES, [*blocks, fine])
    (detail,) = noisy.details
    shares = np.bincount(CODES[3], minlength=5) / CODES.shape[1]
    told = Told(column=3, cells=np.arange(5), shares=shares, variances=np.full(5, 1e-4))
    objective = Objective.of(noisy.without_details, [Detail.of(detail, noisy.rows)], told=[told])
    (term,) = [one for one in objective.terms if isinstance(one, Set)]
    rows = objective.cells[0]
    sums = np.zeros((int(rows.max()) + 1, 5))
    np.add.at(sums, rows, detail.values if columns == (0, 3) else detail.values.T)
    assert np.allclose(term.target, sums / noisy.rows, atol=1e-5)
    variances = np.outer(np.bincount(rows), np.ones(5)) * detail.sigma**2
    assert np.allclose(term.precision, noisy.rows**2 / variances, rtol=1e-5)
    q, w = objective.normalise(np.zeros((objective.size, 2), dtype=np.float32)), np.full(2, 0.5, dtype=np.float32)
    assert objective.misfits(q, w)[-1].columns == (0, 3)  # so that a detail that is badly held is trusted more


def test_a_detail_whose_fine_cell_is_in_two_cells_tells_of_both_as_one() -> None:
    """Column 4 is read off column 3, and one of its values is told by an atom of its own, which shares a fine cell."""
    blocks = [dataclasses.replace(block, share=0.05) for block in all_blocks(SIZES, 2, width=2)]
    shared = np.array([0, 1, 2, 3, 0])
    fine = Counts(columns=(0, 3), groups=(np.arange(SIZES[0]), shared), share=0.3)
    noisy = noisy_blocks(CODES, SIZES, [*blocks, fine])
    (detail,) = noisy.details
    shares = np.bincount(CODES[3], minlength=5) / CODES.shape[1]
    told = Told(column=3, cells=np.arange(5), shares=shares, variances=np.full(5, 1e-4))
    objective = Objective.of(noisy.without_details, [Detail.of(detail, noisy.rows)], told=[told])
    (term,) = [one for one in objective.terms if isinstance(one, Set)]
    rows = objective.cells[0]
    sums = np.zeros((int(rows.max()) + 1, 4))
    np.add.at(sums, rows, detail.values)
    assert np.allclose(term.target, sums / noisy.rows, atol=1e-5)
    logits = np.random.default_rng(0).normal(size=(objective.size, 2)).astype(np.float32)
    q, w = objective.normalise(logits), np.full(2, 0.5, dtype=np.float32)
    first, second = (q[place].astype(np.float64) for place in (objective.places[0], objective.places[3]))
    model = noisy.rows * (first @ np.diag(w) @ np.stack([second[shared == cell].sum(axis=0) for cell in range(4)]).T)
    variances = detail.sigma**2 * np.outer(np.bincount(rows), np.ones(4))
    assert objective.misfits(q, w)[-1].chi_squared == pytest.approx(np.mean((sums - model) ** 2 / variances), rel=1e-3)


def test_trust_is_higher_for_pairs_that_depend_on_each_other() -> None:
    generator = np.random.default_rng(0)
    hidden = generator.integers(0, 4, 5000)
    codes = np.stack([hidden, hidden, generator.integers(0, 4, 5000)])
    noisy = noisy_blocks(codes, (4, 4, 4), epsilon=0.3)
    columns = Objective.of(noisy).columns
    trusts = {b.block.columns: trust([b], columns, noisy.rows)[0] for b in noisy.blocks if len(b.block.columns) == 2}
    assert trusts[0, 1] > 1.5 > trusts[0, 2]
    assert trusts[0, 1] > 1.5 > trusts[1, 2]


def test_a_rough_fit_takes_few_steps_but_keeps_what_was_asked_for() -> None:
    assert MixtureSolver().rough().effort(500, 5000.0) == (400, 100)
    assert MixtureSolver(components=7, steps=9).rough().effort(500, 5000.0) == (7, 9)


def test_blocks_beyond_chance_are_trusted_more() -> None:
    """A single product of columns: pairs that depend on each other are above 1, the column on its own is not."""
    noisy = noisy_blocks(nearly_determined(20_000), (24, 4, 3, 5), epsilon=0.2)
    objective = Objective.of(noisy)
    before = [float(trusts[0].max()) for trusts in objective.trusts]
    objective.lean(objective.normalise(np.log(objective.prior)[:, None].copy()), np.ones(1, dtype=np.float32))
    more = [float(trusts[0].max()) > old for old, trusts in zip(before, objective.trusts, strict=True)]
    assert dict(zip([b.block.columns for b in objective.blocks], more, strict=True)) == {
        (0, 1): True,
        (0, 2): True,
        (0, 3): False,
        (1, 2): True,
        (1, 3): False,
        (2, 3): False,
    }


def number_columns(rows: int, correlation: float, size: int = 24) -> NoisyBlocks:
    """Two numbers of such a correlation and a third by itself, in cells of an order, with all pairs counted."""
    generator = np.random.default_rng(5)
    first, second, third = generator.normal(size=(3, rows))
    values = first, correlation * first + math.sqrt(1.0 - correlation**2) * second, third
    codes = np.stack([np.clip((size / 2 + size / 6 * own).astype(np.int64), 0, size - 1) for own in values])
    noisy = noisy_blocks(codes, (size,) * 3, epsilon=1.0)
    return dataclasses.replace(noisy, ordered=(size,) * 3)


def test_rank_correlations_follow_from_the_counts_where_they_are_beyond_chance() -> None:
    (found,) = [one for one in Objective.of(number_columns(20_000, 0.9)).terms if isinstance(one, Correlations)]
    assert len(found.places) == 2
    assert found.target[0, 1] == pytest.approx(0.89, abs=0.03)
    unordered = dataclasses.replace(number_columns(20_000, 0.9), ordered=())
    assert not any(isinstance(one, Correlations) for one in Objective.of(unordered).terms)
    assert not any(isinstance(one, Correlations) for one in Objective.of(number_columns(20_000, 0.0)).terms)


def test_a_block_that_tells_values_from_null_alone_says_nothing_of_their_order() -> None:
    """Its two groups have one mean rank: a correlation would be 0 over 0, which ended releases after the charge."""
    noisy = number_columns(20_000, 0.9, size=6)
    noisy = dataclasses.replace(noisy, ordered=(6, 5, 6))  # the last atom of the second is NULL
    apart = np.array([0, 0, 0, 0, 0, 1])

    def coarse(one: NoisyBlock) -> NoisyBlock:
        if one.block.columns != (0, 1):
            return one
        table = one.measurement.integers.reshape(6, 6)
        groups = (one.block.groups[0], apart)
        merged = np.stack([table[:, :5].sum(axis=1), table[:, 5]], axis=1).ravel()
        step = dataclasses.replace(one.measurement.step, coordinates=12)
        return dataclasses.replace(
            one,
            block=dataclasses.replace(one.block, groups=groups),
            measurement=dataclasses.replace(one.measurement, integers=merged, step=step),
        )

    noisy = dataclasses.replace(noisy, blocks=tuple(map(coarse, noisy.blocks)))
    found = [one for one in Objective.of(noisy).terms if isinstance(one, Correlations)]
    assert found == []


def test_a_column_whose_rows_are_all_in_one_cell_tells_no_rank_correlation() -> None:
    noisy = number_columns(20_000, 0.9)
    several = [block for block in noisy.blocks if len(block.block.columns) > 1]
    even, single = np.full(24, 1 / 24), np.eye(24)[0]
    places = [slice(24 * column, 24 * column + 24) for column in range(3)]
    options = {"ordered": noisy.ordered, "sure": 4.0, "trust": 10.0}
    found = correlations(several, noisy.rows, [even, single, even], [np.arange(24)] * 3, places, **options)
    assert found is None
    found = correlations(several, noisy.rows, [even, even, even], [np.arange(24)] * 3, places, **options)
    assert found is not None
    assert len(found.places) == 2


def test_a_strong_correlation_is_not_drawn_toward_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def correlation() -> float:
        joint = MixtureSolver().solve(number_columns(20_000, 0.9), PublicSeed(0)).pair(0, 1)
        codes = np.stack(np.unravel_index(np.arange(joint.size), joint.shape))
        table = np.cov(codes, aweights=joint.ravel())
        return float(table[0, 1] / math.sqrt(table[0, 0] * table[1, 1]))

    kept = correlation()
    monkeypatch.setattr(objective_module, "correlations", lambda *_, **__: None)
    assert kept > correlation() + 0.02
