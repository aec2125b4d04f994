"""The paper's greedy pre-images: each point brings the set closer, and it stops where the noise begins."""

import itertools
import math

import numpy as np
import pytest

from kernelease.errors import CapacityError, ParameterError
from kernelease.features import FeatureMap, Nystrom, OneHot
from kernelease.fit import (
    Constraint,
    Free,
    GreedyPreimages,
    L1Ball,
    NormalPoints,
    Outcome,
    PointSource,
    PublicPoints,
    Simplex,
)
from kernelease.seeds import PublicSeed
from tests.fit.embeddings import KERNEL, mixture, noisy_embedding, of_mixture, waves

SOURCE = NormalPoints(dimension=2, scale=3.0)
SEED = PublicSeed(4)


@pytest.mark.slow
@pytest.mark.parametrize("constraint", [L1Ball(1.0), L1Ball(0.3), Simplex(), Free()], ids=repr)
@pytest.mark.parametrize("floor", [1e-3, 0.02])
def test_no_point_takes_the_set_farther_away(constraint: Constraint, floor: float) -> None:
    """Up to the precision of the weights: a thousandth of the noise's energy."""
    noisy = of_mixture(floor=floor)
    solver = GreedyPreimages(points=30, constraint=constraint)
    path = list(solver.path(noisy, noisy.mean, SOURCE, SEED))
    squares = np.array([distance**2 for _, distance in path])
    assert [len(synthetic) for synthetic, _ in path] == list(range(1, 31))
    assert (np.diff(squares) <= max(1e-3 * floor**2, 1e-9)).all()
    for (fewer, _), (more, _) in itertools.pairwise(path):
        assert (more.points[:-1] == fewer.points).all()
    for synthetic, distance in path:
        assert distance == pytest.approx(synthetic.distance(noisy.feature_map, noisy.mean), abs=1e-6)
        assert constraint.project(synthetic.weights) == pytest.approx(synthetic.weights, abs=1e-9)


def test_the_first_point_is_a_peak_of_the_witness_function() -> None:
    noisy = of_mixture()
    first, _ = next(GreedyPreimages(points=1).path(noisy, noisy.mean, SOURCE, SEED))
    phi = waves()
    value, gradient = phi.value_and_gradient(first.points, noisy.mean)
    assert np.abs(gradient).max() < 1e-4
    grid = np.stack(np.meshgrid(np.linspace(-6, 6, 61), np.linspace(-6, 6, 61)), axis=-1).reshape(-1, 2)
    assert value[0] >= (phi.evaluate(grid) @ noisy.mean).max() - 1e-3


@pytest.mark.parametrize("constraint", [L1Ball(1.0), Simplex()], ids=repr)
@pytest.mark.parametrize("seed", range(5))
def test_it_stops_at_the_noise_floor(constraint: Constraint, seed: int) -> None:
    noisy = of_mixture(floor=0.05, seed=seed)
    solver = GreedyPreimages(points=100, constraint=constraint)
    solution = solver.solve(noisy, noisy.mean, SOURCE, PublicSeed(seed))
    assert solution.outcome is Outcome.NOISE_FLOOR
    assert solution.distance <= noisy.noise_floor == pytest.approx(0.05)
    assert solution.iterations == len(solution.synthetic) < 40


def test_it_goes_on_to_the_last_point_when_asked() -> None:
    noisy = of_mixture(floor=0.2)
    paper = GreedyPreimages(points=12, stop_at_noise=False).solve(noisy, noisy.mean, SOURCE, SEED)
    ours = GreedyPreimages(points=12).solve(noisy, noisy.mean, SOURCE, SEED)
    assert paper.outcome is Outcome.POINT_LIMIT
    assert ours.outcome is Outcome.NOISE_FLOOR
    assert len(ours.synthetic) < len(paper.synthetic) == 12
    assert (paper.synthetic.points[: len(ours.synthetic)] == ours.synthetic.points).all()


def test_too_few_points_are_said_to_be_too_few() -> None:
    noisy = of_mixture(floor=1e-4)
    solution = GreedyPreimages(points=3).solve(noisy, noisy.mean, SOURCE, SEED)
    assert solution.outcome is Outcome.POINT_LIMIT
    assert solution.distance > noisy.noise_floor


def test_under_the_simplex_no_point_is_wasted_on_a_valley() -> None:
    """A point where the witness function is lowest would need a negative weight."""
    noisy = of_mixture(floor=0.02)
    solution = GreedyPreimages(points=60, constraint=Simplex()).solve(noisy, noisy.mean, SOURCE, SEED)
    assert solution.outcome is Outcome.NOISE_FLOOR
    assert (solution.synthetic.weights > 1e-6).mean() > 0.7


def test_a_bounded_set_can_have_negative_weights() -> None:
    phi = waves()
    positive, negative = phi.evaluate(np.array([[0.0, 0.0]]))[0], phi.evaluate(np.array([[3.0, 3.0]]))[0]
    noisy = noisy_embedding(phi, 0.5 * positive - 0.5 * negative, 1e-6)
    solution = GreedyPreimages(points=10).solve(noisy, noisy.mean, SOURCE, SEED)
    assert solution.distance < 0.05
    assert solution.synthetic.weights.min() < -0.4


def test_a_silent_target_has_a_defined_result() -> None:
    noisy = noisy_embedding(waves(), np.zeros(100), 0.0)
    solution = GreedyPreimages(points=3).solve(noisy, noisy.mean, SOURCE, SEED)
    assert solution.distance == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    "source",
    [
        PublicPoints(mixture(5, seed=2)),
        PublicPoints([[0.0, "no number"], [math.nan, math.inf], [None, 1.0]]),
        NormalPoints(dimension=2, scale=1e300),
    ],
    ids=["few points", "damaged points", "far points"],
)
def test_every_source_can_be_started_from(source: PointSource) -> None:
    noisy = of_mixture()
    solution = GreedyPreimages(points=5).solve(noisy, noisy.mean, source, SEED)
    assert np.isfinite(solution.synthetic.points).all()
    assert solution.synthetic.points.dtype == np.float64


@pytest.mark.parametrize(
    "phi",
    [OneHot(("a", "b")), Nystrom.spanning(KERNEL, mixture(20), tolerance=1e-3)],
    ids=lambda phi: type(phi).__name__,
)
def test_maps_without_a_gradient_are_refused(phi: FeatureMap) -> None:
    message = f"needs Fourier features, got {type(phi).__name__}"
    with pytest.raises(ParameterError, match=message):
        GreedyPreimages().check(phi, SOURCE)
    noisy = noisy_embedding(phi, np.zeros(phi.dimension), 0.1)
    with pytest.raises(ParameterError, match=message):
        GreedyPreimages().solve(noisy, noisy.mean, SOURCE, SEED)


@pytest.mark.parametrize("number", [0, -1, 2.5, math.nan, True, "3"])
def test_numbers_of_points_and_starts_are_positive_integers(number: int) -> None:
    with pytest.raises(ParameterError, match="GreedyPreimages: points must be an integer from 1"):
        GreedyPreimages(points=number)
    with pytest.raises(ParameterError, match="GreedyPreimages: starts must be an integer from 1"):
        GreedyPreimages(starts=number)


def test_more_than_memory_is_refused() -> None:
    with pytest.raises(CapacityError, match=r"GreedyPreimages: 1,000,000,000 points would need"):
        GreedyPreimages(points=10**9).check(waves(), SOURCE)
    with pytest.raises(CapacityError, match=r"GreedyPreimages: 1,000,000,000 starts would need"):
        GreedyPreimages(starts=10**9).check(waves(), SOURCE)
