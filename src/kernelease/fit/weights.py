"""Weights for fixed points: their constraints, and the nearest ones by active sets and projected gradient."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import scipy

from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.kinds import Kind

# --------------------
# Constraints on weights: none, the probability simplex, or a bounded L1 norm.


class Constraint(Kind, ABC):
    """A convex set of weight vectors."""

    signed: ClassVar[bool] = True
    """Whether weights may be negative."""

    @abstractmethod
    def project(self, weights: Floats) -> Floats:
        """The nearest allowed weights: (M,) → (M,)."""

    @abstractmethod
    def lowest(self, gradient: Floats) -> float:
        """min ⟨gradient, w⟩ over the set, −∞ if there is none: it bounds how far weights are from the best ones."""

    def start(self, count: int) -> Floats:
        """Weights to start from: (count,)."""
        return np.zeros(count)

    def corners(self, design: Floats) -> Floats | None:
        """Aw for each corner w of the set, where it has corners: (F, M) → (F, V)."""
        return None

    def mixture(self, shares: Floats) -> Floats:
        """The weights that are a mixture of the corners, with these shares: (V,) → (M,)."""
        return shares


@final
@dataclass(frozen=True, slots=True)
class Free(Constraint):
    """No constraint. The weights of the paper's Algorithm 1; they may be large and of either sign."""

    def project(self, weights: Floats) -> Floats:
        return weights

    def lowest(self, gradient: Floats) -> float:
        """0 where the gradient vanishes, else −∞."""
        return 0.0 if not np.any(gradient) else -np.inf


@final
@dataclass(frozen=True, slots=True)
class Simplex(Constraint):
    """w ≥ 0 and Σw = 1: the weights of a probability distribution. Projecting onto it removes much of the noise."""

    signed: ClassVar[bool] = False

    def project(self, weights: Floats) -> Floats:
        """Euclidean projection by sorting (Held, Wolfe & Crowder 1974).

        >>> Simplex().project(np.array([0.5, 0.9, -1.0]))
        array([0.3, 0.7, 0. ])
        """
        below = weights - weights.max()  # a shift changes nothing, and next to a large number 1 would be rounded away
        descending = -np.sort(-below)
        excess = (np.cumsum(descending) - 1.0) / np.arange(1, len(weights) + 1)
        threshold = excess[np.flatnonzero(descending > excess)[-1]]
        projected: Floats = np.maximum(below - threshold, 0.0)
        return projected

    def lowest(self, gradient: Floats) -> float:
        """The least entry: all the weight goes there."""
        return float(gradient.min())

    def start(self, count: int) -> Floats:
        return np.full(count, 1.0 / count)

    def corners(self, design: Floats) -> Floats | None:
        return design


@final
@dataclass(frozen=True, slots=True)
class L1Ball(Constraint):
    """Σ|w| ≤ C: what consistency of functions of the released variables needs (the paper's appendix)."""

    radius: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.radius < np.inf:
            raise ParameterError(f"L1Ball: radius must be positive and finite, got {self.radius!r}.")

    def project(self, weights: Floats) -> Floats:
        """Euclidean projection: soft thresholding, by way of the simplex.

        >>> L1Ball(1.0).project(np.array([2.0, -0.5]))
        array([ 1., -0.])
        """
        if np.abs(weights).sum() <= self.radius:
            return weights
        return np.copysign(self.radius * Simplex().project(np.abs(weights) / self.radius), weights)

    def lowest(self, gradient: Floats) -> float:
        """All the weight on the entry of largest size, with the opposite sign."""
        return -self.radius * float(np.abs(gradient).max())

    def corners(self, design: Floats) -> Floats | None:
        """Each column times ±C, and 0 for weights that stay inside."""
        return self.radius * np.hstack([design, -design, np.zeros((len(design), 1))])

    def mixture(self, shares: Floats) -> Floats:
        """C times what the corners of either sign have."""
        plus, minus = np.split(shares[:-1], 2)
        return self.radius * (plus - minus)


# --------------------
# The nearest point of a convex hull, exactly: by active sets (Lawson & Hanson 1974).


_ROUNDS = 1000  # or 3 per coordinate. limit: a problem that needs more is so degenerate that it may go in circles


def nearest_in_hull(corners: Floats, target: Floats) -> Floats | None:
    """λ ≥ 0 with Σλ = 1 and Σ λᵢ·cornerᵢ nearest to the target: (F, V), (F,) → (V,). None where it had to give up.

    Let C hold the corners minus the target. For u = s·λ the best s leaves κ²‖Cλ‖²/(‖Cλ‖² + κ²) of
    ‖Cu‖² + κ²(Σu − 1)², which grows with ‖Cλ‖. So least squares over u ≥ 0 finds the best λ, for any κ > 0.

    >>> nearest_in_hull(np.array([[0.0, 2.0, 2.0], [0.0, 0.0, 2.0]]), np.array([1.0, -3.0]))
    array([0.5, 0.5, 0. ])
    """
    scale = float(np.linalg.norm(target)) or 1.0
    moved = np.vstack([corners - target[:, np.newaxis], np.full((1, corners.shape[1]), scale)])
    try:
        found = scipy.optimize.nnls(
            moved, np.append(np.zeros(len(target)), scale), maxiter=max(_ROUNDS, 3 * len(moved))
        )[0]
    except RuntimeError:  # too many iterations
        return None
    shares: Floats = found / found.sum()
    return shares


# --------------------
# The weights: min ‖Aw − b‖² over a convex set.


EXACT_COORDINATES = 4096  # gradient steps beyond. limit: of time, two minutes
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
            objective = _square(design @ weights - target)
            return FittedWeights(weights=weights, objective=objective, gap=0.0, iterations=1, converged=True)
        start = self._exact(design, target) if start is None else start
        if design.shape[1] <= design.shape[0]:
            return self.solve_quadratic(design.T @ design, design.T @ target, _square(target), start)
        return self._accelerate(lambda w: design.T @ (design @ w), design.T @ target, _square(target), start)

    def solve_quadratic(
        self, gram: Floats, linear: Floats, energy: float, start: Floats | None = None
    ) -> FittedWeights:
        """The same from AᵀA (M, M), Aᵀb (M,) and ‖b‖²: quicker where there are fewer points than features."""
        if isinstance(self.constraint, Free):
            weights = np.linalg.lstsq(gram, linear, rcond=1e-12)[0].astype(np.float64)
            objective = max(0.0, float(weights @ (gram @ weights - 2.0 * linear)) + energy)
            return FittedWeights(weights=weights, objective=objective, gap=0.0, iterations=1, converged=True)
        return self._accelerate(lambda w: gram @ w, linear, energy, start)

    def _exact(self, design: Floats, target: Floats) -> Floats | None:
        if len(design) > EXACT_COORDINATES:
            return None
        corners = self.constraint.corners(design)
        shares = None if corners is None else nearest_in_hull(corners, target)
        return None if shares is None else self.constraint.mixture(shares)

    def _accelerate(
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
    energy = _square(target)
    return min(0.5, max(1e-9, NOISE_PRECISION * noise_floor**2 / energy)) if energy else 0.5


def _square(vector: Floats) -> float:
    return float(vector @ vector)


def _largest_eigenvalue(product: Callable[[Floats], Floats], size: int) -> float:
    """The largest eigenvalue by power iteration, plus 2 % (a step a little too short is safe, one too long is not)."""
    direction = 1.0 + 1e-3 * np.arange(size) / size
    value = 0.0
    for _ in range(30):
        image = product(direction)
        value = float(np.linalg.norm(image))
        if value == 0.0:
            return 1.0
        direction = image / value
    return 1.02 * value
