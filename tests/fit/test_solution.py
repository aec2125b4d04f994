"""Weighted sets and what is said about them."""

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.fit import Outcome, Solution, SyntheticSet
from tests.fit.embeddings import mixture, waves

PHI = waves()
SET = SyntheticSet(points=mixture(4), weights=np.array([0.5, 0.75, -0.5, 0.25]))


def test_embedding_and_distance_are_the_sums_they_stand_for() -> None:
    expected = sum(
        weight * PHI.evaluate(point[None, :])[0] for point, weight in zip(SET.points, SET.weights, strict=True)
    )
    assert SET.embedding(PHI) == pytest.approx(expected, abs=1e-12)
    target = np.ones(PHI.dimension)
    assert SET.distance(PHI, target) == pytest.approx(np.sqrt(np.sum((expected - target) ** 2)))
    assert len(SET) == 4


def test_float32_points_are_rounded_and_stay_float64() -> None:
    rounded = SET.as_float32()
    assert rounded.points.dtype == np.float64
    assert (rounded.points == SET.points.astype(np.float32)).all()
    assert (rounded.points != SET.points).any()
    assert (rounded.weights == SET.weights).all()
    assert (rounded.as_float32().points == rounded.points).all()


def test_text_has_no_float32() -> None:
    words = SyntheticSet(points=np.array([["a"]], dtype=object), weights=np.ones(1))
    with pytest.raises(ParameterError, match="more than numbers"):
        words.as_float32()


def test_points_and_weights_must_match() -> None:
    with pytest.raises(ParameterError, match="one weight per point, got 2 for 3 points"):
        SyntheticSet(points=np.zeros((3, 1)), weights=np.ones(2))


def test_a_solution_says_in_words_what_happened() -> None:
    solution = Solution(synthetic=SET, distance=0.125, noise_floor=0.25, outcome=Outcome.NOISE_FLOOR)
    assert str(solution).startswith(
        "4 points, distance to the noisy embedding 0.125 (noise floor 0.25). Stopped at the"
    )
    assert all(outcome.value.endswith(".") for outcome in Outcome)
