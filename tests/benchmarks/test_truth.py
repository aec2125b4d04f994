"""Distances to the private embedding, against direct sums and closed forms."""

import numpy as np
import pytest

from benchmarks import mixtures
from benchmarks.truth import OfMixture, OfRows, mean_gram


@pytest.fixture
def truth():
    return OfRows(mixtures.kernel(2), mixtures.private_rows(2, 3000))


@pytest.mark.slow
def test_mean_gram_is_the_mean_of_the_gram_matrix(truth):
    assert mean_gram(truth.kernel, truth.rows) == pytest.approx(truth.kernel.gram(truth.rows, truth.rows).mean())


def test_the_rows_themselves_are_at_distance_zero(truth):
    assert truth.distance(truth.rows, np.full(3000, 1 / 3000)) == pytest.approx(0.0, abs=1e-7)


def test_distance_is_a_norm_of_differences(truth):
    points, weights = truth.rows[:5], np.array([0.5, -0.25, 0.0, 0.25, 0.5])
    everything = np.vstack([truth.rows, points])
    signed = np.append(np.full(3000, 1 / 3000), -weights)
    expected = np.sqrt(signed @ truth.kernel.gram(everything, everything) @ signed)
    assert truth.distance(points, weights) == pytest.approx(expected)


def test_known_energy_is_taken_as_given(truth):
    assert OfRows(truth.kernel, truth.rows, known_energy=0.5).energy == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("dimension", mixtures.DIMENSIONS)
def test_the_mixture_is_what_many_rows_come_near(dimension):
    rows = mixtures.private_rows(dimension, 5000, sample=1)
    law = OfMixture(dimension)
    # E‖μ̂ − μ‖² = (1 − ‖μ‖²)/N for a kernel with k(x, x) = 1.
    expected = np.sqrt((1.0 - law.energy) / len(rows))
    assert law.distance(rows, np.full(len(rows), 1 / len(rows))) == pytest.approx(expected, rel=0.3)
