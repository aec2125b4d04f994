"""The conformance suite of reduced-set solvers: what a release says about its fit, for a solver someone just wrote."""

import numpy as np

from kernelease.arrays import Floats
from kernelease.fit.points.source import PointSource
from kernelease.fit.solution import Outcome, Solution
from kernelease.fit.solver import PointSolver
from kernelease.fit.weights.constraints import Constraint
from kernelease.fit.weights.weight_solver import WeightSolver
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.seeds import PublicSeed

_NOT_A_SOLVERS = (Outcome.SELECTED, Outcome.CONVERTED)


def check_solver(
    solver: PointSolver,
    noisy: NoisyEmbedding,
    source: PointSource,
    *,
    constraint: Constraint | None = None,
    tolerance: float = 1e-6,
) -> None:
    """Raise an `AssertionError` that says which property fails, for a public `noisy` embedding and `source` of points.

    - One finite weight per point, as many columns as the source has, and the embedding's own noise floor.
    - The distance is that of the returned set to the target, up to `tolerance`·‖target‖, also for a target that is
      not the noisy mean.
    - Weights lie in `constraint`, where one is given.
    - The same seed gives the same set, to the bit, and neither target nor embedding is changed. (So fresh randomness,
      of noise or of a global generator, shows.)
    - The outcome is true: at the noise floor, exact, or not to be improved by other weights.
    """
    solver.check(noisy.feature_map, source)
    for share in (1.0, 0.5):
        target = share * noisy.mean
        solution = _solved(solver, noisy, target, source)
        _check_form(solution, noisy, source)
        _check_distance(solution, noisy, target, tolerance)
        if constraint is not None:
            _check_weights(solution.synthetic.weights, constraint, tolerance)
        _check_outcome(solution, noisy, target, constraint, tolerance)


def _require(holds: object, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)


def _solved(solver: PointSolver, noisy: NoisyEmbedding, target: Floats, source: PointSource) -> Solution:
    """The solution, the second time."""
    given, total = target.copy(), noisy.sum.copy()
    first, second = (solver.solve(noisy, given, source, PublicSeed(1)) for _ in range(2))
    _require(np.array_equal(given, target), "The target must not be changed.")
    _require(np.array_equal(noisy.sum, total), "The noisy embedding must not be changed.")
    _require(
        np.array_equal(first.synthetic.points, second.synthetic.points)
        and np.array_equal(first.synthetic.weights, second.synthetic.weights)
        and first.distance == second.distance,
        "The same seed must give the same set: all randomness comes from the seed.",
    )
    return second


def _check_form(solution: Solution, noisy: NoisyEmbedding, source: PointSource) -> None:
    points, weights = solution.synthetic.points, solution.synthetic.weights
    _require(len(weights) >= 1, "There must be at least one point.")
    _require(
        points.ndim == 2 and points.shape[1] == source.dimension,
        f"Points must have the {source.dimension} columns of the source, got shape {points.shape}.",
    )
    _require(weights.shape == (len(points),), f"There must be one weight per point, got shape {weights.shape}.")
    _require(np.isfinite(weights).all(), "Weights must be finite.")
    _require(points.dtype == object or np.isfinite(points).all(), "Points must be finite.")
    _require(
        solution.noise_floor == noisy.noise_floor,
        f"noise_floor must be the embedding's, {noisy.noise_floor!r}, got {solution.noise_floor!r}.",
    )


def _check_distance(solution: Solution, noisy: NoisyEmbedding, target: Floats, tolerance: float) -> None:
    found = solution.synthetic.distance(noisy.feature_map, target)
    _require(
        abs(solution.distance - found) <= tolerance * float(np.linalg.norm(target)),
        f"distance must be that of the set to the target, {found!r}, got {solution.distance!r}.",
    )


def _check_weights(weights: Floats, constraint: Constraint, tolerance: float) -> None:
    excess = float(np.abs(constraint.project(weights) - weights).sum())
    _require(excess <= tolerance, f"Weights must lie in {constraint!r}, but are {excess:.3g} away.")


def _check_outcome(
    solution: Solution, noisy: NoisyEmbedding, target: Floats, constraint: Constraint | None, tolerance: float
) -> None:
    outcome, size = solution.outcome, float(np.linalg.norm(target))
    _require(outcome not in _NOT_A_SOLVERS, f"{outcome} is not for solvers to say.")
    if outcome is Outcome.NOISE_FLOOR:
        above = solution.distance - solution.noise_floor
        _require(above <= tolerance * size, f"The distance is {above:.3g} above the noise floor it claims.")
    if outcome is Outcome.EXACT:
        _require(
            solution.distance <= tolerance * size, f"The fit claims to be exact, but is {solution.distance:.3g} off."
        )
    if outcome is Outcome.OPTIMAL and constraint is not None:
        design = noisy.feature_map.evaluate(solution.synthetic.points).T
        best = WeightSolver(constraint=constraint).solve(design, target).objective
        gain = solution.distance**2 - best
        _require(gain <= tolerance * size**2, f"Weights that claim to be optimal can be improved by {gain:.3g}.")
