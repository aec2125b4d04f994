"""Gaussians of any shape: many round ones are merged where that explains as much with fewer parameters."""

import numpy as np
from scipy.stats import multivariate_normal

import kernelease as ke
from kernelease.features.nystrom import Nystrom
from kernelease.fit.gaussians.ellipsoids import Ellipsoids, fit_ellipsoids, merge_gaussians
from kernelease.fit.gaussians.likelihood import SubspaceLikelihood
from kernelease.fit.gaussians.sliding_frank_wolfe import Whereabouts
from kernelease.measured.embeddings import Gaussians

KERNEL = ke.kernels.Gaussian(lengthscale=1.0)
PLACES = np.random.default_rng(9).standard_normal((400, 2)) * [3.0, 1.0]
LAW = Whereabouts(middle=np.zeros(2), spread=np.full(2, 5.0))
FLAT = Ellipsoids(
    weights=np.ones(1), centres=np.array([[0.5, -0.2]]), factors=np.array([[[2.0, 0.0], [0.3, 0.1]]])
)  # as long as two lengthscales, as thick as a tenth of one
ROW = Gaussians(  # what covers it with round ones
    centres=np.column_stack([np.linspace(-3.5, 4.5, 9), np.linspace(-0.8, 0.4, 9)]),
    widths=np.full(9, 0.5),
    weights=np.exp(-0.5 * np.linspace(-2.0, 2.0, 9) ** 2) / np.exp(-0.5 * np.linspace(-2.0, 2.0, 9) ** 2).sum(),
)


def _likelihood(mean: np.ndarray | None = None, noise: float = 1e-3, seed: int = 0) -> SubspaceLikelihood:
    """Coordinates of a mean in the span of places, with noise of standard deviation 1e-3."""
    basis = Nystrom.spanning(KERNEL, PLACES, max_rank=60)
    target = np.zeros(basis.dimension) if mean is None else mean
    drawn = np.random.default_rng(seed).standard_normal(basis.dimension)
    return SubspaceLikelihood(np.asarray(basis.points), basis.change_of_basis / noise, target + drawn, noise)


def test_features_are_the_means_of_draws() -> None:
    likelihood = _likelihood()
    points = FLAT.centres + np.random.default_rng(1).standard_normal((200_000, 2)) @ FLAT.factors[0].T
    drawn = likelihood.features(points, np.zeros(len(points)))
    error = drawn.std(axis=0) / np.sqrt(len(points))
    assert np.all(np.abs(drawn.mean(axis=0) - FLAT.features(likelihood)) < 6.0 * error + 1e-9)


def test_slopes_are_those_of_the_features() -> None:
    likelihood, step = _likelihood(), 1e-6
    two, one = merge_gaussians(ROW, [2, 1])
    assert (len(two), len(one)) == (2, 1)
    slopes = two.slopes(likelihood)
    assert slopes.shape == (two.parameters, len(likelihood.target))
    rows, columns = np.tril_indices(2)
    for index, (row, column) in enumerate(zip(rows, columns, strict=True)):
        moved = [two.factors.copy(), two.factors.copy()]
        moved[0][1, row, column] += step
        moved[1][1, row, column] -= step
        ends = [Ellipsoids(weights=two.weights, centres=two.centres, factors=f).features(likelihood) for f in moved]
        np.testing.assert_allclose(slopes[2 + 4 + 3 + index], (ends[0] - ends[1]) / (2.0 * step), atol=1e-4)


def test_merging_keeps_the_mean_and_the_covariance() -> None:
    (one,) = merge_gaussians(ROW, [1])
    mean = ROW.weights @ ROW.centres
    gaps = ROW.centres - mean
    np.testing.assert_allclose(one.centres[0], mean)
    np.testing.assert_allclose(
        one.factors[0] @ one.factors[0].T, (gaps.T * ROW.weights) @ gaps + 0.25 * np.eye(2), atol=1e-12
    )


def test_a_flat_gaussian_is_found_behind_round_ones() -> None:
    """Its moments are known to about a hundredth, where round ones have a thickness of half a lengthscale."""
    likelihood = _likelihood(FLAT.features(_likelihood()))
    found = fit_ellipsoids(likelihood, ROW, LAW)
    assert found is not None
    assert found.parameters < ROW.parameters
    points, weights = found.spread(4000, np.random.default_rng(0))
    gaps = points - weights @ points
    np.testing.assert_allclose(weights @ points, FLAT.centres[0], atol=0.1)
    np.testing.assert_allclose((gaps.T * weights) @ gaps, [[4.0, 0.6], [0.6, 0.1]], atol=0.4)


def test_round_gaussians_that_are_apart_stay_as_they_are() -> None:
    apart = Gaussians(
        centres=np.array([[3.0, 0.0], [-3.0, 0.5]]), widths=np.array([0.4, 0.3]), weights=np.array([0.6, 0.4])
    )
    seen = _likelihood()
    likelihood = _likelihood(apart.weights @ seen.features(apart.centres, apart.widths))
    found = fit_ellipsoids(likelihood, apart, LAW)
    assert found is None or len(found) == 2


def test_points_of_ellipsoids_have_their_mean_and_covariance() -> None:
    points, weights = FLAT.spread(500, np.random.default_rng(0))
    np.testing.assert_allclose(weights @ points, FLAT.centres[0], atol=1e-9)
    gaps = points - FLAT.centres[0]
    np.testing.assert_allclose((gaps.T * weights) @ gaps, FLAT.factors[0] @ FLAT.factors[0].T, atol=1e-9)


def test_scores_are_derivatives_of_the_logarithm_of_the_density() -> None:
    two = next(merge_gaussians(ROW, [2]))
    points, step = np.array([[0.3, -0.1], [-2.0, 0.4], [3.0, 0.2]]), 1e-6
    parameters = np.concatenate([np.log(two.weights), two.centres.ravel(), two.factors[:, *np.tril_indices(2)].ravel()])

    def log_density(numbers: np.ndarray) -> np.ndarray:
        logits, centres, triangles = np.split(numbers, [2, 6])
        total = np.zeros(len(points))
        for logit, centre, (a, b, c) in zip(logits, centres.reshape(2, 2), triangles.reshape(2, 3), strict=True):
            law = multivariate_normal(centre, [[a * a, a * b], [a * b, b * b + c * c]])
            total += np.exp(logit) / np.exp(logits).sum() * law.pdf(points)
        return np.log(total)

    scores = two.scores(points)
    for index in range(two.parameters):
        moved = [parameters + sign * step * np.eye(two.parameters)[index] for sign in (1.0, -1.0)]
        slope = (log_density(moved[0]) - log_density(moved[1])) / (2.0 * step)
        assert np.allclose(scores[:, index], slope, rtol=1e-4, atol=1e-4)
