"""Weights near a public guess: maximum entropy, with a strength that the noise itself decides."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import scipy
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtri

from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.kinds import Kind

_STEPS = 120  # of the dual's descent. convention: none near is worse
_PATIENCE = 16.0  # strengths that are worse than the best over such a range end it. convention: none near is worse
_DESCENT = 4.0  # from one strength to the next, below the natural one. convention: none near is worse
_VISIBLE = 0.02  # of a strength: weaker directions stand still at it. convention: none near is worse
_POWERS = 8  # of an iteration that finds the largest variance. limit: of time, it need not be exact
_DENSE = 512  # directions that are all found at once. limit: of time, a tenth of a second


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tilted:
    """Weights, the strength λ that they have, and Stein's estimate of their squared error in units of the noise."""

    weights: Floats
    strength: float
    risk: float
    freedom: float  # the number of directions that follow the noise
    fitted: Floats  # what the weights make of the target: (J,)

    def surpasses(self, other: "Tilted", doubt: float) -> bool:
        """Whether the estimated error is lower by more than `doubt` standard deviations of that estimate.

        The difference of two estimates is off by about 2 e·(one fit − the other), e the noise.
        """
        chance = 2.0 * doubt * float(np.linalg.norm(self.fitted - other.fitted))
        return self.risk + chance < other.risk


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tilting(Kind):
    """Tries strengths from the largest variance of a direction down to `weakest`, each `ratio` times the next.

    >>> features = 100.0 * np.array([[0.0], [1.0]])
    >>> Tilting().solve(features, np.array([75.0]), np.array([0.5, 0.5])).weights.round(2)
    array([0.25, 0.75])
    """

    weakest: float = 32.0
    ratio: float = 2.0

    def __post_init__(self) -> None:
        if not (self.weakest > 0.0 and self.ratio > 1.0):
            raise ParameterError(
                f"Tilting: weakest must be positive and ratio above 1, got {self.weakest!r} and {self.ratio!r}."
            )

    def solve(self, features: Floats, target: Floats, base: Floats) -> Tilted:
        """The weights of least estimated error, among the base itself and all strengths: (M, J), (J,), (M,)."""
        frame = _Frame.of(features, target, base)
        strength = max(self.weakest, frame.largest_variance())
        problem = frame.problem(_VISIBLE * strength)
        trial, best = problem.start(), frame.judge(base, math.inf, 0.0)
        waited = 1.0
        while strength >= self.weakest and waited < _PATIENCE:
            if problem.least > _VISIBLE * strength:
                wider = frame.problem(_VISIBLE * strength, near=problem.basis)
                trial, problem = trial.turn(problem, wider), wider
            trial = problem.descend(trial, strength)
            tilted = frame.judge(trial.weights, strength, problem.freedom(trial, strength))
            best, waited = (tilted, 1.0) if tilted.risk < best.risk else (best, waited * self.ratio)
            strength /= self.ratio
        return best

    def descend(self, features: Floats, target: Floats, base: Floats, *, natural: float, doubt: float = 0.0) -> Tilted:
        """The weights at the natural strength, or at weaker ones while they surpass it: (M, J), (J,), (M,)."""
        frame = _Frame.of(features, target, base)
        strength = max(natural, self.weakest)
        best = frame.at(strength)
        while strength > self.weakest:
            strength = max(self.weakest, strength / _DESCENT)
            weaker = frame.at(strength)
            if not weaker.surpasses(best, doubt):
                break
            best = weaker
        return best


def match_mean(features: Floats, target: Floats, base: Floats, *, strength: float) -> Floats:
    """Weights near the base whose mean is close to a target without noise: (M, J), (J,), (M,) → (M,)."""
    problem = _Frame.of(features, target, base).problem(_VISIBLE * strength)
    return problem.descend(problem.start(), strength).weights


@final
@dataclass(frozen=True, slots=True)
class _Trial:
    """The dual variables at one strength, their weights, and the covariance of the features under these."""

    dual: Floats  # (n,)
    weights: Floats  # (M,)
    covariance: Floats  # (n, n)

    def turn(self, here: "_Problem", there: "_Problem") -> "_Trial":
        """The same as other directions see it."""
        dual = (here.basis @ self.dual) @ there.basis
        return _Trial(dual, self.weights, there.covariance(self.weights))


@final
@dataclass(frozen=True)
class _Frame:
    """Features and target as seen from the base's mean."""

    mean: Floats  # (J,)
    features: Floats  # (M, J), centred
    target: Floats  # (J,), likewise
    base: Floats  # (M,)

    @classmethod
    def of(cls, features: Floats, target: Floats, base: Floats) -> "_Frame":
        mean = base @ features
        return cls(mean, features - mean, target - mean, base)

    @property
    def weighted_features(self) -> Floats:
        """Features times the roots of their weights: the covariance under the base is that matrix' square."""
        return self.features * np.sqrt(self.base)[:, None]

    @cached_property
    def axes(self) -> tuple[Floats, Floats]:
        """All directions of the covariance under the base, with their variances in ascending order: (J,), (J, J)."""
        variances, axes = np.linalg.eigh(self.weighted_features.T @ self.weighted_features)
        return variances, axes

    def largest_variance(self) -> float:
        """Of all directions under the base, from below, by power iteration."""
        weighted = self.weighted_features
        direction = np.sqrt((weighted**2).sum(axis=0))
        size = float(np.linalg.norm(direction))
        for _ in range(_POWERS):
            if size == 0.0:
                break
            direction = (weighted @ (direction / size)) @ weighted
            size = float(np.linalg.norm(direction))
        return size

    def problem(self, least: float, near: Floats | None = None) -> "_Problem":
        """The directions whose variance under the base is above `least`, which alone the weights can move."""
        weighted = self.weighted_features
        bound = max(least, 1e-12 * float((weighted**2).sum()))
        few = None if "axes" in vars(self) else leading(weighted, bound, near)
        variances, basis = self.axes if few is None else few
        variances, basis = variances[variances > bound], basis[:, variances > bound]
        log_base = np.log(np.maximum(self.base, np.finfo(float).tiny))
        return _Problem(basis, self.features @ basis, self.target @ basis, log_base, variances, least)

    def at(self, strength: float) -> Tilted:
        """The fit at one strength, from the base."""
        problem = self.problem(_VISIBLE * strength)
        trial = problem.descend(problem.start(), strength)
        return self.judge(trial.weights, strength, problem.freedom(trial, strength))

    def judge(self, weights: Floats, strength: float, freedom: float) -> Tilted:
        """The result with an estimate of the error in all directions, also those that the weights can't move."""
        moved = weights @ self.features
        residual = self.target - moved
        return Tilted(
            weights=weights,
            strength=strength,
            risk=float(residual @ residual) - len(residual) + 2.0 * freedom,
            freedom=freedom,
            fitted=self.mean + moved,
        )


def leading(matrix: Floats, least: float, near: Floats | None = None) -> tuple[Floats, Floats] | None:
    """Eigenvalues of AᵀA above `least`, in ascending order, and their directions, or None: (M, J) → (n,), (J, n).

    By iterating a subspace that grows until it holds all of them. None where finding all of AᵀA is cheaper.
    Those within a few percent of `least` may be left out. `near` are directions to start from: (J, m).
    """
    columns = matrix.shape[1]
    size = 64 if near is None else max(64, 2 * near.shape[1])
    generator = np.random.default_rng(0)
    basis = np.empty((columns, 0)) if near is None else near
    while columns > _DENSE and 4 * size < min(matrix.shape):
        fresh = generator.standard_normal((columns, size - basis.shape[1]))
        basis = np.hstack([basis, fresh])
        for _ in range(2):
            basis = np.linalg.qr(matrix.T @ (matrix @ basis))[0]
        inside = matrix @ basis
        variances, turn = np.linalg.eigh(inside.T @ inside)
        basis = basis @ turn
        kept = variances > least
        if 4 * int(kept.sum()) < 3 * size:
            return variances[kept], basis[:, kept]
        size *= 2
    return None


@final
@dataclass(frozen=True, slots=True)
class _Problem:
    """The dual problem in leading directions of the base's covariance, where it is well scaled."""

    basis: Floats  # (J, n)
    features: Floats  # (M, n)
    target: Floats  # (n,)
    log_base: Floats  # (M,)
    variances: Floats  # (n,), in ascending order
    least: float  # smaller ones were left out

    def start(self) -> _Trial:
        """The base, as it is."""
        return _Trial(np.zeros(len(self.variances)), np.exp(self.log_base), np.diag(self.variances))

    def descend(self, start: _Trial, strength: float) -> _Trial:
        """The weights at one strength, from those of a greater one."""
        if len(self.variances) == 0:
            return start
        dual = self._dual(strength, start)
        weights = self._weights(dual, strength)
        return _Trial(dual, weights, self.covariance(weights))

    def _dual(self, strength: float, start: _Trial) -> Floats:
        """u at one strength: (n,)."""
        factor = np.linalg.cholesky(_stiffness(start.covariance, strength))  # the Hessian is nearly I in these

        def value_and_gradient(scaled: Floats) -> tuple[float, Floats]:
            dual = solve_triangular(factor, scaled, lower=True, trans="T")
            exponents = self.log_base + self.features @ (dual / strength)
            highest = exponents.max()
            masses = np.exp(exponents - highest)
            total = masses.sum()
            value = 0.25 * dual @ dual - dual @ self.target + strength * (highest + np.log(total))
            gradient = 0.5 * dual - self.target + (masses / total) @ self.features
            return float(value), solve_triangular(factor, gradient, lower=True)

        options = {"maxiter": _STEPS, "maxcor": 20, "ftol": 1e-12, "gtol": 1e-4}
        found = scipy.optimize.minimize(
            value_and_gradient, factor.T @ start.dual, jac=True, method="L-BFGS-B", options=options
        )
        solution: Floats = solve_triangular(factor, found.x, lower=True, trans="T")
        return solution

    def _weights(self, dual: Floats, strength: float) -> Floats:
        exponents = self.log_base + self.features @ (dual / strength)
        masses: Floats = np.exp(exponents - exponents.max())
        masses /= masses.sum()
        return masses

    def covariance(self, weights: Floats) -> Floats:
        """C of the features under weights: (M,) → (n, n)."""
        mean = weights @ self.features
        covariance: Floats = (self.features.T * weights) @ self.features - np.outer(mean, mean)
        return covariance

    def freedom(self, trial: _Trial, strength: float) -> float:
        """The number of directions that follow the noise, Σ c/(c + λ/2) over the eigenvalues c of the covariance."""
        if len(self.variances) == 0:
            return 0.0
        factor = np.linalg.cholesky(_stiffness(trial.covariance, strength))
        inverse, _ = dtrtri(factor.T, lower=0)
        return len(factor) - 0.5 * float((inverse**2).sum())


def _stiffness(covariance: Floats, strength: float) -> Floats:
    """½ + C/λ, the Hessian of the dual."""
    return covariance / strength + 0.5 * np.eye(len(covariance))
