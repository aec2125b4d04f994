"""Weights for fixed points: min ‖Aw − b‖² over a convex set, by active sets and accelerated projected gradient."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.fit.weights.active_set import nearest_in_hull
from kernelease.fit.weights.constraints import Constraint, Free, Simplex

EXACT_COORDINATES = 4096  # gradient steps beyond. research: Vectors: weights on the simplex, exactly
NOISE_PRECISION = 1e-3  # of the squared noise floor. derived: an error at the floor grows by 0.05 %


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FittedWeights:
    """Weights, ‖Aw − b‖², and a proved bound on how much lower it could be (the duality gap)."""

    weights: Floats
    objective: float
    gap: float
    iterations: int
    converged: bool


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WeightSolver:
    """min ‖Aw − b‖² with w in `constraint`: by active sets, or by FISTA with restarts (O'Donoghue & Candès 2015).

    It stops when the duality gap is below `tolerance`·‖b‖², which proves that no weights are better by more. Active
    sets are exact and need the columns of A; gradient steps need only AᵀA, and take a start that is nearly right.

    >>> A = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    >>> WeightSolver().solve(A, np.array([0.25, 0.75])).weights.round(3)
    array([0.25, 0.75, 0.  ])
    """

    constraint: Constraint = Simplex()
    tolerance: float = 1e-9
    iterations: int = 2000

    def __post_init__(self) -> None:
        if self.iterations < 1 or not 0.0 < self.tolerance < 1.0:
            raise ParameterError(
                f"WeightSolver: iterations must be at least 1 and tolerance between 0 and 1, "
                f"got {self.iterations!r} and {self.tolerance!r}."
            )

    def solve(self, design: Floats, target: Floats, start: Floats | None = None) -> FittedWeights:
        """Weights for the columns of `design`: (F, M), (F,) → (M,)."""
        if isinstance(self.constraint, Free):
            weights = np.linalg.lstsq(design, target, rcond=1e-12)[0].astype(np.float64)
            objective = _squared(design @ weights - target)
            return FittedWeights(weights=weights, objective=objective, gap=0.0, iterations=1, converged=True)
        start = self._exact(design, target) if start is None else start
        if design.shape[1] <= design.shape[0]:
            return self.solve_quadratic(design.T @ design, design.T @ target, _squared(target), start)
        return self._accelerated(lambda w: design.T @ (design @ w), design.T @ target, _squared(target), start)

    def solve_quadratic(
        self, gram: Floats, linear: Floats, energy: float, start: Floats | None = None
    ) -> FittedWeights:
        """The same from AᵀA (M, M), Aᵀb (M,) and ‖b‖²: quicker where there are fewer points than features."""
        if isinstance(self.constraint, Free):
            weights = np.linalg.lstsq(gram, linear, rcond=1e-12)[0].astype(np.float64)
            objective = max(0.0, float(weights @ (gram @ weights - 2.0 * linear)) + energy)
            return FittedWeights(weights=weights, objective=objective, gap=0.0, iterations=1, converged=True)
        return self._accelerated(lambda w: gram @ w, linear, energy, start)

    def _exact(self, design: Floats, target: Floats) -> Floats | None:
        if len(design) > EXACT_COORDINATES:
            return None
        corners = self.constraint.corners(design)
        shares = None if corners is None else nearest_in_hull(corners, target)
        return None if shares is None else self.constraint.mixture(shares)

    def _accelerated(
        self, product: Callable[[Floats], Floats], linear: Floats, energy: float, start: Floats | None
    ) -> FittedWeights:
        weights = self.constraint.project(self.constraint.start(len(linear)) if start is None else start)
        step = 1.0 / _largest_eigenvalue(product, len(linear))
        ahead, momentum, iteration = weights, 1.0, 0
        allowed = self.tolerance * max(energy, float(np.finfo(float).tiny))
        gap = self._gap(product, linear, weights)
        while gap > allowed and iteration < self.iterations:
            iteration += 1
            proposal = self.constraint.project(ahead - step * (product(ahead) - linear))
            if (ahead - proposal) @ (proposal - weights) > 0.0:  # going uphill: forget the momentum
                momentum = 1.0
            following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            ahead = proposal + (momentum - 1.0) / following * (proposal - weights)
            weights, momentum = proposal, following
            if iteration % 20 == 0 or iteration == self.iterations:
                gap = self._gap(product, linear, weights)
        objective = max(0.0, float(weights @ (product(weights) - 2.0 * linear)) + energy)
        return FittedWeights(
            weights=weights, objective=objective, gap=gap, iterations=iteration, converged=bool(gap <= allowed)
        )

    def _gap(self, product: Callable[[Floats], Floats], linear: Floats, weights: Floats) -> float:
        """⟨∇, w⟩ − min ⟨∇, v⟩ over allowed v: by convexity no allowed v is better than w by more."""
        half_gradient = product(weights) - linear
        return 2.0 * (float(half_gradient @ weights) - self.constraint.lowest(half_gradient))


def tolerance_at_noise(noise_floor: float, target: Floats) -> float:
    """A solver's tolerance at which no more than a thousandth of the noise's energy could still be gained."""
    energy = _squared(target)
    return min(0.5, max(1e-9, NOISE_PRECISION * noise_floor**2 / energy)) if energy else 0.5


def _squared(vector: Floats) -> float:
    return float(vector @ vector)


def _largest_eigenvalue(product: Callable[[Floats], Floats], size: int) -> float:
    """By power iteration, with 2 % on top (a step a little too short is safe, one too long is not)."""
    direction = 1.0 + 1e-3 * np.arange(size) / size
    value = 0.0
    for _ in range(30):
        image = product(direction)
        value = float(np.linalg.norm(image))
        if value == 0.0:
            return 1.0
        direction = image / value
    return 1.02 * value
