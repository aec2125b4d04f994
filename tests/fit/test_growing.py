"""Growing Gaussians: optima are found, chance is not followed, and what its penalty outweighs is dropped."""

import numpy as np
import pytest

import kernelease as ke
from kernelease.features.fourier import Fourier
from kernelease.features.nystrom import Nystrom
from kernelease.fit.gaussians.likelihood import FourierLikelihood, JointLikelihood, SubspaceLikelihood
from kernelease.fit.gaussians.sliding_frank_wolfe import (
    ANYWHERE,
    Growing,
    LevenbergMarquardt,
    Whereabouts,
    removal_costs,
    splits,
)
from kernelease.measured.embeddings import Gaussians
from kernelease.seeds import PublicSeed

KERNEL = ke.kernels.Gaussian(lengthscale=1.0)
TRUTH = Gaussians(
    centres=np.array([[2.0, -3.0], [-4.0, 1.0], [2.5, -1.5]]),
    widths=np.array([0.5, 0.3, 0.4]),
    weights=np.array([0.5, 0.3, 0.2]),
)
OPTIMISER = LevenbergMarquardt(lengthscale=1.0, widest=4.0, likeness=0.7)
PLACES = 3.0 * np.random.default_rng(9).standard_normal((400, 2))


def _joint(noise: float, seed: int = 0, truth: Gaussians = TRUTH) -> JointLikelihood:
    """Waves and a subspace of exact Gaussians, with noise."""
    generator = np.random.default_rng(seed)
    waves = Fourier.random(KERNEL, features=512, dimension=2, seed=PublicSeed(0))
    basis = Nystrom.spanning(KERNEL, PLACES, max_rank=60)
    parts = (
        FourierLikelihood(waves, np.zeros(512), noise),
        SubspaceLikelihood(np.asarray(basis.points), basis.change_of_basis / noise, np.zeros(basis.dimension), noise),
    )
    exact = [truth.weights @ part.features(truth.centres, truth.widths) for part in parts]
    noisy = [vector + generator.standard_normal(len(vector)) for vector in exact]
    return JointLikelihood(
        FourierLikelihood(waves, noisy[0], noise),
        SubspaceLikelihood(parts[1].points, parts[1].basis, noisy[1], noise),
    )


def _error(likelihood: JointLikelihood, gaussians: Gaussians) -> float:
    """The squared distance to the truth, in units of the noise."""
    wrong = gaussians.weights @ likelihood.features(gaussians.centres, gaussians.widths)
    return float(((wrong - TRUTH.weights @ likelihood.features(TRUTH.centres, TRUTH.widths)) ** 2).sum())


def test_optimising_from_nearby_finds_the_gaussians() -> None:
    likelihood = _joint(1e-3)
    nearby = Gaussians(centres=TRUTH.centres + 0.3, widths=np.full(3, 0.8), weights=np.full(3, 1 / 3))
    fitted = OPTIMISER.fit(likelihood, nearby).gaussians
    assert np.abs(fitted.centres - TRUTH.centres).max() < 0.05
    assert np.abs(fitted.widths - TRUTH.widths).max() < 0.1
    assert np.abs(fitted.weights - TRUTH.weights).max() < 0.02


def test_optimising_never_ends_higher_than_it_began() -> None:
    likelihood = _joint(1e-2)
    generator = np.random.default_rng(3)
    for _ in range(5):
        start = Gaussians(
            centres=3.0 * generator.standard_normal((4, 2)),
            widths=generator.uniform(0.1, 1.0, 4),
            weights=generator.dirichlet(np.ones(4)),
        )
        residual = likelihood.residual(start)
        assert LevenbergMarquardt(lengthscale=1.0, widest=4.0).fit(likelihood, start).misfit <= residual @ residual * (
            1 + 1e-9
        )


def test_gaussians_grow_from_nothing_to_what_is_there() -> None:
    """Three Gaussians have twelve parameters (eleven free): so much noise is followed, and hardly more."""
    likelihood = _joint(1e-3)
    grown = Growing(optimiser=OPTIMISER).grow(likelihood, PLACES, Gaussians.none(2))
    assert len(grown.gaussians) == 3
    assert _error(likelihood, grown.gaussians) < 35.0
    assert abs(grown.misfit - len(likelihood.target)) < 5.0 * np.sqrt(2.0 * len(likelihood.target))


def test_two_that_one_gaussian_covers_are_told_apart() -> None:
    """No place beside it promises anything, but the witness curves upward along the line between them."""
    two = Gaussians(centres=np.array([[-0.5, 0.0], [0.5, 0.0]]), widths=np.full(2, 0.4), weights=np.full(2, 0.5))
    likelihood = _joint(1e-3, truth=two)
    one = OPTIMISER.fit(likelihood, Gaussians(centres=np.zeros((1, 2)), widths=np.full(1, 0.6), weights=np.ones(1)))
    promises, axes = splits(likelihood, one.gaussians)
    assert promises[0] > 100.0
    assert abs(axes[0, 0]) > 0.99
    far = np.array([[20.0, 20.0]])  # the only place that may be tried
    grown = Growing(optimiser=OPTIMISER).grow(likelihood, far, one.gaussians).gaussians
    assert len(grown) == 2
    assert np.abs(np.sort(grown.centres[:, 0]) - [-0.5, 0.5]).max() < 0.05


def test_pure_noise_grows_no_second_gaussian() -> None:
    one = Gaussians(centres=np.zeros((1, 2)), widths=np.array([0.4]), weights=np.ones(1))
    for seed in range(4):
        grown = Growing(optimiser=OPTIMISER).grow(_joint(1e-2, seed, one), PLACES, Gaussians.none(2))
        assert len(grown.gaussians) == 1


def test_gaussians_that_explain_nothing_are_dropped() -> None:
    likelihood = _joint(1e-3)
    spurious = Gaussians(
        centres=np.vstack([TRUTH.centres, [[7.0, 7.0]]]),
        widths=np.append(TRUTH.widths, 0.4),
        weights=np.append(0.999 * TRUTH.weights, 0.001),
    )
    grown = Growing(optimiser=OPTIMISER).grow(likelihood, np.empty((0, 2)), spurious)
    assert len(grown.gaussians) == 3


@pytest.mark.parametrize("likeness", [0.3, 3.0])
def test_widths_that_nothing_is_known_about_are_like_the_others(likeness: float) -> None:
    """A light Gaussian in much noise: the pull keeps its width near the heavy one's, and less so as it is weaker."""
    truth = Gaussians(
        centres=np.array([[0.0, 0.0], [4.0, 4.0]]), widths=np.array([0.4, 0.4]), weights=np.array([0.97, 0.03])
    )
    start = Gaussians(centres=truth.centres, widths=np.array([0.4, 2.0]), weights=truth.weights)
    ratios = []
    for seed in range(5):
        likelihood = _joint(5e-3, seed, truth)
        fitted = LevenbergMarquardt(lengthscale=1.0, widest=4.0, likeness=likeness).fit(likelihood, start).gaussians
        ratios.append(abs(float(np.log(fitted.widths[-1] / fitted.widths[0]))))
    assert (np.mean(ratios) < 0.3) == (likeness < 1.0)


@pytest.mark.parametrize("whereabouts", [ANYWHERE, Whereabouts(middle=np.zeros(2), spread=np.full(2, 4.0))])
def test_centres_that_no_feature_sees_come_home(whereabouts: Whereabouts) -> None:
    """A Gaussian far from all points of a subspace is seen by nothing: only what is known before can place it."""
    far = TRUTH.join(np.array([[60.0, -80.0]]), 0.5).with_weights(np.append(0.95 * TRUTH.weights, 0.05))
    seen = _joint(1e-2, truth=far).parts[1]
    optimiser = LevenbergMarquardt(lengthscale=1.0, widest=4.0, steps=400, whereabouts=whereabouts)
    fitted = optimiser.fit(seen, far).gaussians
    farthest = float(np.linalg.norm(fitted.centres, axis=1).max())
    assert (farthest > 99.0) if whereabouts is ANYWHERE else (farthest < 20.0)  # five spreads


def test_expected_centres_move_visible_gaussians_by_less_than_the_noise() -> None:
    likelihood = _joint(1e-2)
    home = Whereabouts.of(5.0 * np.random.default_rng(0).standard_normal((500, 2)), 1.0)
    free, kept = (
        LevenbergMarquardt(lengthscale=1.0, widest=4.0, likeness=0.7, whereabouts=each).fit(likelihood, TRUTH).gaussians
        for each in (ANYWHERE, home)
    )
    assert np.abs(free.centres - kept.centres).max() < 0.02


def test_public_points_that_are_all_one_still_let_centres_move() -> None:
    """A law of one point has no spread: it is taken to be as wide as the kernel."""
    single = Whereabouts.of(np.full((10, 2), 3.0), 1.0)
    assert single.spread.tolist() == [1.0, 1.0]
    likelihood = _joint(1e-3)
    optimiser = LevenbergMarquardt(lengthscale=1.0, widest=4.0, likeness=0.7, whereabouts=single)
    fitted = optimiser.fit(likelihood, TRUTH).gaussians
    assert np.abs(fitted.centres - TRUTH.centres).max() < 0.05


def test_growth_that_is_stuck_begins_anew_from_many_places() -> None:
    """One wide Gaussian over three: growing could stop there, pruning the places' hull ends at all three."""
    likelihood = _joint(1e-3)
    stuck = OPTIMISER.fit(likelihood, Gaussians(centres=np.zeros((1, 2)), widths=np.array([3.0]), weights=np.ones(1)))
    growing = Growing(optimiser=OPTIMISER)
    anew = growing.begin_anew(likelihood, PLACES, stuck)
    assert anew.misfit < stuck.misfit
    assert _error(likelihood, anew.gaussians) < 60.0
    assert growing.begin_anew(likelihood, PLACES, anew).misfit <= anew.misfit
    assert Growing(optimiser=OPTIMISER, parameters=4).begin_anew(likelihood, PLACES, stuck) is stuck


def test_what_is_removed_first_costs_least() -> None:
    """A double of a Gaussian costs next to nothing, whatever it weighs; one that stands alone costs more."""
    likelihood = _joint(1e-3)
    doubled = Gaussians(
        centres=np.vstack([TRUTH.centres, TRUTH.centres[:1] + 0.01]),
        widths=np.append(TRUTH.widths, TRUTH.widths[0]),
        weights=np.array([0.25, 0.3, 0.2, 0.25]),
    )
    costs = removal_costs(likelihood, doubled)
    assert np.maximum(costs[0], costs[3]) < 0.01 * np.minimum(costs[1], costs[2])


def test_widths_that_are_alike_are_fitted_as_one_and_others_are_not() -> None:
    """Evidence decides: with widths all the same they are known as well as one is, and nothing pulls unlike ones."""
    growing = Growing(optimiser=OPTIMISER)
    same = Gaussians(centres=TRUTH.centres, widths=np.full(3, 0.4), weights=TRUTH.weights)
    loose = OPTIMISER.fit(_joint(3e-3, truth=same), same).gaussians
    polished, likeness = growing.polish(_joint(3e-3, truth=same), same)
    assert likeness < 0.1
    assert np.ptp(polished.widths) < 0.3 * np.ptp(loose.widths)
    unlike = Gaussians(centres=TRUTH.centres, widths=np.array([0.8, 0.1, 0.4]), weights=TRUTH.weights)
    polished, likeness = growing.polish(_joint(1e-4, truth=unlike), unlike)
    assert likeness == OPTIMISER.likeness
    assert np.abs(polished.widths - unlike.widths).max() < 0.05


def test_polishing_drops_what_does_not_pay() -> None:
    likelihood = _joint(1e-3)
    more = TRUTH.join(np.array([[0.0, 3.0]]), 0.4).with_weights(np.array([0.49, 0.3, 0.2, 0.01]))
    assert len(Growing(optimiser=OPTIMISER).polish(likelihood, more)[0]) == 3


def test_a_sketch_changes_how_far_a_step_goes_and_not_where_to() -> None:
    """The slope is that of all frequencies; dot products are those of some, off by chance."""
    waves = _joint(0.01).parts[0]
    assert isinstance(waves, FourierLikelihood)
    residual = waves.residual(TRUTH)
    exact, slope = waves.linearise(TRUTH.centres, TRUTH.widths, residual)
    sketched, same = waves.with_sketch(7).linearise(TRUTH.centres, TRUTH.widths, residual)
    np.testing.assert_allclose(same, slope, rtol=1e-9, atol=1e-9 * np.abs(slope).max())
    off = np.abs(sketched - exact).max() / np.abs(exact).max()
    assert 0.0 < off < 0.7
