"""Weights for points as the source gives them."""

import math

import numpy as np
import pytest

from kernelease.errors import CapacityError, ParameterError
from kernelease.features import OneHot
from kernelease.fit import FixedPoints, Free, NormalPoints, Outcome, PublicPoints, Simplex
from kernelease.seeds import PublicSeed
from tests.fit.embeddings import mixture, noisy_embedding, of_mixture, waves

SOURCE = NormalPoints(dimension=2, scale=3.0)


def test_points_are_those_of_the_source() -> None:
    public = mixture(30, seed=5)
    noisy = of_mixture()
    for points in (10, 30, 500):  # a source that has fewer gives all it has
        solution = FixedPoints(points=points).solve(noisy, noisy.mean, PublicPoints(public), PublicSeed(0))
        assert solution.synthetic.points.tolist() == public[:points].tolist()
        assert solution.outcome is Outcome.OPTIMAL


def test_points_depend_on_the_seed_alone() -> None:
    quiet, loud = of_mixture(floor=0.01), of_mixture(floor=1.0, seed=9)
    sets = [FixedPoints(points=9).solve(noisy, noisy.mean, SOURCE, PublicSeed(2)).synthetic for noisy in (quiet, loud)]
    assert (sets[0].points == sets[1].points).all()
    other = FixedPoints(points=9).solve(quiet, quiet.mean, SOURCE, PublicSeed(3)).synthetic
    assert (sets[0].points != other.points).any()


def test_free_weights_are_those_of_least_squares() -> None:
    noisy = of_mixture()
    solution = FixedPoints(points=40, constraint=Free()).solve(noisy, noisy.mean, SOURCE, PublicSeed(0))
    features = noisy.feature_map.evaluate(solution.synthetic.points)
    assert features @ (solution.synthetic.weights @ features - noisy.mean) == pytest.approx(np.zeros(40), abs=1e-9)


def test_any_feature_map_will_do() -> None:
    phi = OneHot(("a", "b", "c"))
    noisy = noisy_embedding(phi, np.array([0.2, 0.5, 0.3, 0.0]), 1e-9)
    source = PublicPoints(np.array([["a"], ["b"], ["c"]], dtype=object))
    solution = FixedPoints(points=3, constraint=Simplex()).solve(noisy, noisy.mean, source, PublicSeed(0))
    assert solution.synthetic.weights == pytest.approx([0.2, 0.5, 0.3], abs=1e-6)


@pytest.mark.parametrize("number", [0, -1, 2.5, math.nan, True])
def test_numbers_are_positive_integers(number: int) -> None:
    with pytest.raises(ParameterError, match="FixedPoints: points must be an integer from 1"):
        FixedPoints(points=number)
    with pytest.raises(ParameterError, match="FixedPoints: iterations must be an integer from 1"):
        FixedPoints(iterations=number)


def test_more_points_than_memory_are_refused() -> None:
    with pytest.raises(
        CapacityError, match=r"FixedPoints: 10,000,000,000 points would need 7,451 GiB .*the cap is 4 GiB"
    ):
        FixedPoints(points=10**10).check(waves(), SOURCE)
    FixedPoints(points=1000).check(waves(), SOURCE)
