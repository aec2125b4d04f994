"""Herding: equal weights, and closer to the target than independent draws."""

import numpy as np
import pytest

from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.features import OneHot
from kernelease.fit import SyntheticSet, herd
from tests.fit.embeddings import mixture, waves

PHI = waves(features=200)
CANDIDATES = mixture(1500, seed=3)
TARGET: Floats = PHI.evaluate(mixture(4000)).mean(axis=0)


def _distance(count: int) -> float:
    return herd(PHI, TARGET, CANDIDATES, count).distance(PHI, TARGET)


def _independent(count: int) -> float:
    """Root mean squared distance of draws with replacement."""
    generator = np.random.default_rng(0)
    draws = (CANDIDATES[generator.integers(len(CANDIDATES), size=count)] for _ in range(50))
    sets = (SyntheticSet(points=points, weights=np.full(count, 1.0 / count)) for points in draws)
    return float(np.sqrt(np.mean([drawn.distance(PHI, TARGET) ** 2 for drawn in sets])))


def test_weights_are_equal_and_points_are_candidates() -> None:
    drawn = herd(PHI, TARGET, CANDIDATES, 30)
    assert drawn.weights.tolist() == [1.0 / 30] * 30
    assert set(map(tuple, drawn.points)) <= set(map(tuple, CANDIDATES))


def test_the_first_point_is_the_nearest_one() -> None:
    first = herd(PHI, TARGET, CANDIDATES, 1)
    distances = np.linalg.norm(PHI.evaluate(CANDIDATES) - TARGET, axis=1)
    assert first.points.tolist() == CANDIDATES[[distances.argmin()]].tolist()


def test_more_points_begin_like_fewer() -> None:
    assert (herd(PHI, TARGET, CANDIDATES, 9).points == herd(PHI, TARGET, CANDIDATES, 20).points[:9]).all()


def test_each_step_is_the_nearest_one() -> None:
    features = PHI.evaluate(CANDIDATES)
    chosen = PHI.evaluate(herd(PHI, TARGET, CANDIDATES, 12).points)
    for step in range(12):
        sums = chosen[:step].sum(axis=0) + features
        best = np.linalg.norm(sums - (step + 1) * TARGET, axis=1).min()
        assert np.linalg.norm(chosen[: step + 1].sum(axis=0) - (step + 1) * TARGET) == pytest.approx(best)


def test_distance_falls_faster_than_that_of_independent_draws() -> None:
    """At best as 1/n, against 1/√n; the candidates that there are set a floor."""
    for count in (10, 40, 160):
        assert _distance(count) < 0.6 * _independent(count)
    assert _distance(160) < _distance(10) / 8.0  # 1/√n would be a quarter
    assert _independent(160) > _independent(10) / 6.0


def test_repeats_are_allowed() -> None:
    phi = OneHot(("a", "b"))
    drawn = herd(phi, phi.evaluate(np.array([["a"]], dtype=object))[0], np.array([["b"], ["a"]], dtype=object), 3)
    assert drawn.points[:, 0].tolist() == ["a", "a", "a"]


@pytest.mark.parametrize(("candidates", "count"), [(CANDIDATES, 0), (CANDIDATES, -3), (CANDIDATES[:0], 5)])
def test_refusals(candidates: Floats, count: int) -> None:
    with pytest.raises(ParameterError, match="at least one point and one candidate"):
        herd(PHI, TARGET, candidates, count)
