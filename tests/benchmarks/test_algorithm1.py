"""Algorithm 1 in the benchmark: the authors' basis, and the published projections."""

import numpy as np
import pytest

import kernelease as ke
from benchmarks import mixtures
from benchmarks.algorithm1 import OURS, PAPER, TOLERANCE, Basis, Experiment
from benchmarks.published import published
from benchmarks.reproduction import private_truth
from benchmarks.truth import OfRows
from kernelease.features.nystrom import Order, partial_cholesky


def test_the_basis_is_the_ordered_cholesky_of_the_package():
    kernel, points = mixtures.kernel(2), mixtures.private_rows(2, 700)
    ours = Basis.of(kernel, points)
    theirs = partial_cholesky(kernel, points, tolerance=TOLERANCE, order=Order.GIVEN)
    np.testing.assert_array_equal(ours.joined, theirs.pivots)
    np.testing.assert_allclose(ours.factor, theirs.factor[theirs.pivots], atol=1e-9)
    assert ours.rank(700) == theirs.rank
    assert ours.rank(1) == 1


@pytest.mark.parametrize("dimension", mixtures.DIMENSIONS)
def test_projections_are_the_published_ones(dimension):
    curve = published(dimension).leak
    few = curve.points <= 100
    truth = private_truth(dimension)
    projection = Experiment.of(truth, truth.rows[:100]).projection(curve.points[few])
    np.testing.assert_allclose(projection, curve.projection[few], rtol=1e-5)


@pytest.mark.statistical
def test_noise_has_the_size_that_the_calibration_says():
    """Each squared noise norm is σ²·χ² of 1,000 draws in all: 5 standard deviations, false alarms below 1e-6."""
    truth = OfRows(mixtures.kernel(2), mixtures.private_rows(2, 2000))
    experiment = Experiment.of(truth, truth.rows[:50])
    counts = np.array([50])
    rank = experiment.basis.rank(50)
    repeats = 1000 // rank
    privacy = ke.Privacy(epsilon=0.1, delta=1e-6)
    projection = experiment.projection(counts)
    for noise, ratio in ((PAPER, 2 * 52.99), (OURS, np.sqrt(2) * 36.30)):
        squared = (experiment.errors(counts, noise, privacy, repeats) ** 2 - projection**2).sum()
        sigma = np.sqrt(squared / (rank * repeats))
        assert sigma == pytest.approx(ratio / 2000, rel=5 / np.sqrt(2 * rank * repeats))
