"""Gaussians, their likelihood, climbing and sliding Frank–Wolfe; and tilted weights."""

import numpy as np
import pytest

import kernelease as ke
from kernelease.arrays import Floats
from kernelease.features.fourier import Fourier
from kernelease.features.nystrom import Nystrom
from kernelease.fit.gaussians.likelihood import (
    FourierLikelihood,
    JointLikelihood,
    Likelihood,
    SampleLikelihood,
    SubspaceLikelihood,
    overlaps,
)
from kernelease.fit.gaussians.sliding_frank_wolfe import SlidingFrankWolfe, climb, distinct
from kernelease.fit.tilting import Tilting, match_mean
from kernelease.measured.embeddings import Gaussians
from kernelease.seeds import PublicSeed

KERNEL = ke.kernels.Gaussian(lengthscale=(1.0, 1.0))
MAP = Fourier.random(KERNEL, features=1024, dimension=2, seed=PublicSeed(0))
TRUTH = Gaussians(
    centres=np.array([[2.0, -3.0], [-4.0, 1.0]]), widths=np.array([0.5, 0.0]), weights=np.array([0.6, 0.4])
)
SOURCE = ke.fit.NormalPoints(dimension=2, scale=4.0)


def _likelihood(noise: float) -> FourierLikelihood:
    exact = TRUTH.weights @ FourierLikelihood(MAP, np.zeros(MAP.dimension), 1.0).features(TRUTH.centres, TRUTH.widths)
    noisy = exact + noise * np.random.default_rng(0).standard_normal(MAP.dimension)
    return FourierLikelihood(MAP, noisy / noise, noise)


def _likelihoods() -> dict[str, Likelihood]:
    basis = Nystrom.spanning(KERNEL, SOURCE.draw(40, np.random.default_rng(0)))
    exact = TRUTH.sample(500, np.random.default_rng(2))
    target = basis.evaluate(exact).mean(axis=0) / 0.01
    subspace = SubspaceLikelihood(np.asarray(basis.points), basis.change_of_basis / 0.01, target, 0.01)
    waves = _likelihood(0.01)
    both = JointLikelihood(waves, subspace)
    sample = SampleLikelihood(both, TRUTH, 1000.0, np.random.default_rng(6))
    return {"waves": waves, "subspace": subspace, "both": both, "sample": sample}


def _gaussians(likelihood: Likelihood, solver: SlidingFrankWolfe) -> Gaussians:
    generator = np.random.default_rng(1)
    return solver.gaussians(likelihood, lambda count: SOURCE.draw(count, generator), generator)


def test_a_gaussian_has_the_mean_features_of_its_points() -> None:
    likelihood = FourierLikelihood(MAP, np.zeros(MAP.dimension), 1.0)
    gaussian = Gaussians(centres=np.array([[1.0, 2.0]]), widths=np.array([0.4]), weights=np.ones(1))
    sample = MAP.evaluate(gaussian.sample(20_000, np.random.default_rng(0))).mean(axis=0)
    features = likelihood.features(gaussian.centres, gaussian.widths)[0]
    assert np.linalg.norm(sample - features) < 0.02
    points, weights = gaussian.crosses()
    assert np.linalg.norm(weights @ MAP.evaluate(points) - features) < 0.03


def test_the_likelihood_has_its_feature_map_s_own_values_to_the_bit() -> None:
    """It holds the frequencies itself, so that a step of a fit stays in one module."""
    likelihood = FourierLikelihood(MAP, np.zeros(MAP.dimension), 1.0)
    points, residual = SOURCE.draw(40, np.random.default_rng(4)), np.random.default_rng(5).normal(size=MAP.dimension)
    points[0] = 1e300, -1e300  # beyond what the map tells apart
    assert np.array_equal(likelihood.features(points, np.zeros(40)), MAP.evaluate(points))
    heights, gradients = likelihood.witness(points, residual, 0.0)
    values, slopes = MAP.value_and_gradient(points, residual)
    assert np.array_equal(heights, values)
    assert np.array_equal(gradients, slopes)


@pytest.mark.parametrize("name", ["waves", "subspace", "both", "sample"])
def test_slopes_are_those_of_finite_differences(name: str) -> None:
    likelihood = _likelihoods()[name]
    centres, widths = np.array([[1.5, -2.5], [-3.5, 0.5]]), np.array([0.4, 0.7])
    slopes = likelihood.slopes(centres, widths)
    assert np.allclose(slopes.features, likelihood.features(centres, widths))
    step = 1e-6
    wider = (likelihood.features(centres, widths + step) - likelihood.features(centres, widths - step)) / (2 * step)
    assert np.allclose(slopes.by_width, wider, atol=1e-6 * np.abs(wider).max())
    for column, slope in enumerate(slopes.by_centre):
        move = step * np.eye(2)[column]
        moved = (likelihood.features(centres + move, widths) - likelihood.features(centres - move, widths)) / (2 * step)
        assert np.allclose(slope, moved, atol=1e-6 * np.abs(moved).max())


@pytest.mark.parametrize("name", ["waves", "subspace", "both", "sample"])
def test_the_witness_is_what_features_say_of_the_residual(name: str) -> None:
    likelihood = _likelihoods()[name]
    residual = likelihood.residual(TRUTH)
    points = SOURCE.draw(7, np.random.default_rng(3))
    heights, gradients = likelihood.witness(points, residual, 0.5)
    assert np.allclose(heights, likelihood.features(points, np.full(7, 0.5)) @ residual)
    by_centre = likelihood.slopes(points, np.full(7, 0.5)).by_centre
    assert np.allclose(gradients, (by_centre @ residual).T)
    roughly = likelihood.heights(points, residual, 0.5)  # in single precision, of sums of so many
    assert np.allclose(roughly, heights, atol=1e-6 * np.abs(residual).sum() / 0.01)


def test_gaussians_in_a_subspace_have_the_mean_coordinates_of_their_points() -> None:
    likelihood = _likelihoods()["subspace"]
    gaussian = Gaussians(centres=np.array([[1.0, 2.0]]), widths=np.array([0.4]), weights=np.ones(1))
    sample = gaussian.sample(20_000, np.random.default_rng(0))
    points = likelihood.features(sample, np.zeros(len(sample))).mean(axis=0)
    blurred = likelihood.features(gaussian.centres, gaussian.widths)[0]
    assert np.linalg.norm(points - blurred) < 0.02 * np.linalg.norm(blurred)


def test_gaussians_are_found_with_their_widths() -> None:
    found = _gaussians(_likelihood(1e-4), SlidingFrankWolfe(lengthscale=1.0, widths=(2.0, 0.3)))
    exact = FourierLikelihood(MAP, np.zeros(MAP.dimension), 1.0)
    difference = found.weights @ exact.features(found.centres, found.widths) - TRUTH.weights @ exact.features(
        TRUTH.centres, TRUTH.widths
    )
    assert np.linalg.norm(difference) < 0.01
    heaviest = found.centres[np.argmax(found.weights)]
    assert np.linalg.norm(heaviest - TRUTH.centres[0]) < 0.2


def test_wide_gaussians_lead_to_mass_far_from_every_start() -> None:
    """In 20 columns no start comes near the rows, and at the kernel's own lengthscale nothing shows the way."""
    dimension = 20
    kernel = ke.kernels.Gaussian(lengthscale=1.0)
    frequencies = kernel.frequencies(np.random.default_rng(0), 512, dimension)
    frequencies[256:] /= 8.0
    waves = Fourier(frequencies=frequencies, resolution=(2.0**-20,) * dimension)
    place = np.full((1, dimension), 1.5)
    likelihood = FourierLikelihood(waves, waves.evaluate(place)[0] / 1e-3, 1e-3)
    generator = np.random.default_rng(1)
    found = SlidingFrankWolfe(lengthscale=1.0, widths=(8.0, 4.0, 2.0, 1.0, 0.3)).gaussians(
        likelihood, lambda count: 2.0 * generator.standard_normal((count, dimension)), generator
    )
    assert np.linalg.norm(found.weights @ found.centres - place[0]) < 0.2


def test_pure_noise_gives_one_wide_gaussian() -> None:
    noise = np.random.default_rng(5).standard_normal(MAP.dimension)
    found = _gaussians(FourierLikelihood(MAP, noise, 1.0), SlidingFrankWolfe(lengthscale=1.0, significance=6.0))
    assert len(found) == 1


def test_only_fourier_features_are_taken() -> None:
    basis = Nystrom.spanning(KERNEL, SOURCE.draw(5, np.random.default_rng(0)))
    with pytest.raises(ke.errors.ParameterError, match="needs Fourier features, got Nystrom"):
        SlidingFrankWolfe(lengthscale=1.0).check(basis, SOURCE)


def test_it_serves_as_a_solver_of_random_features() -> None:
    rows = TRUTH.sample(4000, np.random.default_rng(0))
    method = ke.RandomFeatures(start=SOURCE, features=512, solver=SlidingFrankWolfe(lengthscale=1.0))
    released = ke.release(
        rows, kernel=KERNEL, method=method, privacy=ke.Privacy(epsilon=1.0, delta=1e-6), noise=ke.SeededNoise(0)
    )
    assert released.weights.sum() == pytest.approx(1.0)
    assert np.abs(released.weights @ released.points - rows.mean(axis=0)).max() < 0.2


def test_climbing_ends_on_the_peak_and_peaks_are_distinct() -> None:
    def hill(points: Floats) -> tuple[Floats, Floats]:
        values = np.exp(-0.5 * (points**2).sum(axis=1))
        return values, -points * values[:, None]

    points, heights = climb(hill, np.array([[1.0, 1.0], [-2.0, 0.5]]), 1.0)
    assert np.abs(points).max() < 0.05
    assert len(distinct(points, heights, 1.0, 5)) == 1


def test_different_numbers_of_centres_and_weights_are_refused() -> None:
    with pytest.raises(ke.errors.ParameterError, match="one centre, one width and one weight each"):
        Gaussians(centres=np.zeros((2, 1)), widths=np.zeros(2), weights=np.ones(1))


def test_samples_are_as_many_as_asked_and_in_proportion() -> None:
    sample = TRUTH.sample(100, np.random.default_rng(0))
    assert len(sample) == 100
    assert abs(int((sample[:, 0] > -1.0).sum()) - 60) <= 1


def test_tilted_weights_follow_the_data_where_the_noise_is_low_and_the_base_where_it_is_high() -> None:
    features = np.random.default_rng(0).standard_normal((200, 5))
    truth = np.random.default_rng(1).dirichlet(np.ones(200))
    base = np.full(200, 1.0 / 200)
    errors = {}
    for sigma in (1e-3, 10.0):
        noisy = truth @ features + sigma * np.random.default_rng(2).standard_normal(5)
        tilted = Tilting().solve(features / sigma, noisy / sigma, base)
        errors[sigma] = float(np.linalg.norm((tilted.weights - truth) @ features))
        assert tilted.weights.sum() == pytest.approx(1.0)
    assert errors[1e-3] < 0.01
    assert errors[10.0] < 1.1 * float(np.linalg.norm((base - truth) @ features))


def test_the_estimated_risk_is_right_on_average() -> None:
    """Stein's estimate against the true squared error, over 50 draws of noise: both have the same mean.

    The truth is so far from the base that the base is never chosen: the least of several estimates would be too low.
    """
    generator = np.random.default_rng(0)
    features = 5.0 * generator.standard_normal((60, 8))
    truth = generator.dirichlet(np.full(60, 0.03)) @ features
    base = np.full(60, 1.0 / 60)
    solver = Tilting(weakest=8.0, ratio=1e9)  # one strength beside the base
    excess = []
    for _ in range(50):
        tilted = solver.solve(features, truth + generator.standard_normal(8), base)
        excess.append(tilted.risk - float(((tilted.weights @ features - truth) ** 2).sum()))
    assert abs(np.mean(excess)) < 4.0 * np.std(excess) / np.sqrt(50)


def test_the_natural_strength_is_kept_where_the_base_is_right() -> None:
    """Rows drawn from the base itself: the natural weights are closer than the base, and about as close as any."""
    generator = np.random.default_rng(0)
    features = generator.standard_normal((400, 6))
    base = np.full(400, 1.0 / 400)
    rows, errors = 500, []
    for _ in range(20):
        truth = features[generator.integers(400, size=rows)].mean(axis=0)
        sigma = 0.03
        noisy = truth + sigma * generator.standard_normal(6)
        tilted = Tilting().descend(features / sigma, noisy / sigma, base, natural=2.0 * rows, doubt=2.0)
        errors.append([np.sum((weights @ features - truth) ** 2) for weights in (tilted.weights, base)])
    ours, theirs = np.mean(errors, axis=0)
    assert ours < 0.5 * theirs
    assert ours < 6 * sigma**2  # what plain noisy numbers are off by


def test_the_natural_strength_is_left_where_the_base_is_wrong() -> None:
    generator = np.random.default_rng(0)
    features = generator.standard_normal((400, 6))
    base = np.full(400, 1.0 / 400)
    truth = generator.dirichlet(np.full(400, 0.02)) @ features
    sigma = 0.01
    noisy = truth + sigma * generator.standard_normal(6)
    tilted = Tilting().descend(features / sigma, noisy / sigma, base, natural=2e6)
    assert tilted.strength < 2e6 / 4
    assert np.linalg.norm(tilted.weights @ features - truth) < 0.2 * np.linalg.norm(base @ features - truth)


def test_matched_weights_have_the_mean_that_is_asked_for() -> None:
    generator = np.random.default_rng(0)
    features = 50.0 * generator.standard_normal((300, 5))
    target = generator.dirichlet(np.ones(300)) @ features
    weights = match_mean(features, target, np.full(300, 1.0 / 300), strength=1.0)
    assert weights.min() > 0.0
    assert weights.sum() == pytest.approx(1.0)
    assert np.linalg.norm(weights @ features - target) < 0.05 * np.linalg.norm(features.mean(axis=0) - target)


def test_spread_points_are_closer_to_their_gaussians_than_random_ones() -> None:
    likelihood = _likelihoods()["subspace"]
    law = TRUTH.weights @ likelihood.features(TRUTH.centres, TRUTH.widths)
    generator = np.random.default_rng(4)
    errors = {}
    random = TRUTH.sample(256, generator)
    made = {"spread": TRUTH.spread(256, generator), "random": (random, np.full(len(random), 1.0 / len(random)))}
    for name, (points, weights) in made.items():
        mean = weights @ likelihood.features(points, np.zeros(len(points)))
        errors[name] = float(np.linalg.norm(mean - law))
    assert np.isfinite(TRUTH.spread(1, generator)[0]).all()
    assert errors["spread"] < 0.5 * errors["random"]


def test_spread_points_have_the_moments_of_their_gaussians() -> None:
    points, weights = TRUTH.spread(256, np.random.default_rng(4))
    mean = TRUTH.weights @ TRUTH.centres
    gaps = TRUTH.centres - mean
    covariance = (gaps.T * TRUTH.weights) @ gaps + float(TRUTH.weights @ TRUTH.widths**2) * np.eye(2)
    np.testing.assert_allclose(weights @ points, mean, atol=1e-12)
    np.testing.assert_allclose(np.cov(points.T, aweights=weights, bias=True), covariance, atol=1e-12)


def test_impossible_strengths_are_refused() -> None:
    with pytest.raises(ke.errors.ParameterError, match="weakest must be positive"):
        Tilting(weakest=0.0)


@pytest.mark.parametrize("name", ["waves", "subspace", "both", "sample"])
def test_what_steps_are_made_of_is_what_the_slopes_say(name: str) -> None:
    """The agreement with the residual exactly; the products of a subspace are at least those of its span."""
    likelihood = _likelihoods()[name]
    gaussians = Gaussians(
        centres=np.array([[1.5, -2.5], [-3.5, 0.5]]), widths=np.array([0.4, 0.7]), weights=np.array([0.3, 0.7])
    )
    slopes = likelihood.slopes(gaussians.centres, gaussians.widths)
    moves = np.concatenate([slopes.features, slopes.by_width, *slopes.by_centre])
    residual = likelihood.residual(gaussians)
    np.testing.assert_allclose(residual, likelihood.target - gaussians.weights @ slopes.features, atol=1e-9)
    products, agreement = likelihood.linearise(gaussians.centres, gaussians.widths, residual)
    np.testing.assert_allclose(agreement, moves @ residual, rtol=1e-9, atol=1e-6)
    outside = np.linalg.eigvalsh(products - moves @ moves.T)
    assert outside[0] > -1e-9 * outside[-1] - 1e-6


def test_the_mean_of_a_sample_is_as_noisy_as_its_likelihood_says() -> None:
    """Means of 20 rows, seen with noise of variance 1, have residuals of variance 1 in all directions, once
    whitened; without it those that chance moves most stand out."""
    likelihood, generator = _likelihoods()["both"], np.random.default_rng(7)
    sample = SampleLikelihood(likelihood, TRUTH, 20.0, np.random.default_rng(6))
    law = TRUTH.weights @ likelihood.features(TRUTH.centres, TRUTH.widths)
    members = generator.choice(2, (100, 20), p=TRUTH.weights)
    rows = TRUTH.centres[members] + TRUTH.widths[members][:, :, None] * generator.standard_normal((100, 20, 2))
    means = [likelihood.features(one, np.zeros(20)).mean(axis=0) for one in rows]
    residuals = np.array(means) - law + generator.standard_normal((100, len(law)))
    for axis in sample.axes.T[-3:]:
        assert (residuals @ axis).std() > 3.0
        assert 0.7 < (sample._whiten(residuals) @ axis).std() < 1.3


def test_half_of_a_triangular_basis_does_what_all_of_it_does() -> None:
    subspace = _likelihoods()["subspace"]
    assert isinstance(subspace, SubspaceLikelihood)
    half = SubspaceLikelihood(subspace.points, subspace.basis, subspace.target, subspace.sigma, triangular=True)
    np.testing.assert_allclose(half.residual(TRUTH), subspace.residual(TRUTH), atol=1e-9)
    for one, two in zip(
        half.linearise(TRUTH.centres, TRUTH.widths, half.target),
        subspace.linearise(TRUTH.centres, TRUTH.widths, half.target),
        strict=True,
    ):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-6)


def test_overlaps_are_derivatives_of_the_closed_form() -> None:
    """By central differences of E k: features, widths, centres, in this order."""
    centres, widths = np.array([[0.3, -0.2], [1.0, 0.4]]), np.array([0.5, 0.8])

    def value(one: np.ndarray, two: np.ndarray) -> float:
        v = 1.0 + one[0] ** 2 + two[0] ** 2
        return float(np.exp(-0.5 * ((one[1:] - two[1:]) ** 2).sum() / v) / v)

    def moved(parameters: np.ndarray, index: int) -> list[tuple[float, np.ndarray]]:
        """The points and signs of a central difference; index 0 is the feature itself."""
        if index == 0:
            return [(1.0, parameters)]
        step = 1e-4 * (np.arange(3) == index - 1)
        return [(5e3, parameters + step), (-5e3, parameters - step)]

    parameters = np.column_stack([widths, centres])
    found = overlaps(centres, widths).reshape(4, 2, 4, 2)
    for i, k, j, m in np.ndindex(4, 2, 4, 2):
        expected = sum(
            one * two * value(a, b) for one, a in moved(parameters[k], i) for two, b in moved(parameters[m], j)
        )
        assert found[i, k, j, m] == pytest.approx(expected, abs=1e-6)
