"""Weights near a public guess: maximum entropy, with a strength that the noise itself decides."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy
from scipy.linalg import eigh, solve_triangular

from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.kinds import Kind

_STEPS = 120  # of the dual's descent. convention: none near is worse
_PATIENCE = 4  # strengths worse than the best so far, in a row, end it. convention: none near is worse
_DESCENT = 4.0  # from one strength to the next, below the natural one. convention: none near is worse
_VISIBLE = 0.02  # of the weakest strength: weaker directions stand still. convention: none near is worse


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
        problem = frame.seen(_VISIBLE * self.weakest)
        best, worse = problem.untilted(), 0
        for trial in problem.path(self.weakest, self.ratio):
            best, worse = (trial, 0) if trial.risk < best.risk else (best, worse + 1)
            if worse == _PATIENCE:
                break
        return frame.judged(best)

    def descend(self, features: Floats, target: Floats, base: Floats, *, natural: float, doubt: float = 0.0) -> Tilted:
        """The weights at the natural strength, or at weaker ones while they surpass it: (M, J), (J,), (M,)."""
        frame = _Frame.of(features, target, base)
        strength = max(natural, self.weakest)
        problem = frame.seen(_VISIBLE * max(self.weakest, strength / _DESCENT))  # serves the first two strengths
        best = frame.judged(problem.above(_VISIBLE * strength).at(strength))
        while strength > self.weakest:
            strength = max(self.weakest, strength / _DESCENT)
            if problem.least > _VISIBLE * strength:
                problem = frame.seen(_VISIBLE * strength)
            weaker = frame.judged(problem.at(strength))
            if not weaker.surpasses(best, doubt):
                break
            best = weaker
        return best


def matched(features: Floats, target: Floats, base: Floats, *, strength: float) -> Floats:
    """Weights near the base whose mean is close to a target without noise: (M, J), (J,), (M,) → (M,)."""
    return _Frame.of(features, target, base).seen(_VISIBLE * strength).solved(strength)


@final
@dataclass(frozen=True, slots=True)
class _Trial:
    """Weights at one strength, judged by the directions that they can move."""

    weights: Floats
    strength: float
    risk: float
    freedom: float


@final
@dataclass(frozen=True, slots=True)
class _Frame:
    """Features and target as seen from the base's mean, with the base's covariance."""

    mean: Floats  # (J,)
    features: Floats  # (M, J), centred
    target: Floats  # (J,), likewise
    log_base: Floats  # (M,)
    covariance: Floats  # (J, J)

    @classmethod
    def of(cls, features: Floats, target: Floats, base: Floats) -> "_Frame":
        mean = base @ features
        centred = features - mean
        log_base = np.log(np.maximum(base, np.finfo(float).tiny))
        return cls(mean, centred, target - mean, log_base, (centred.T * base) @ centred)

    def seen(self, least: float) -> "_Problem":
        """The directions whose variance under the base is above `least`, which alone the weights can move."""
        largest = float(np.trace(self.covariance))
        variances, basis = eigh(self.covariance, subset_by_value=(max(least, 1e-12 * largest), np.inf))
        return _Problem(self.features @ basis, self.target @ basis, self.log_base, variances, least)

    def judged(self, trial: _Trial) -> Tilted:
        """The result with an estimate of the error in all directions, also those that the weights can't move."""
        moved = trial.weights @ self.features
        residual = self.target - moved
        return Tilted(
            weights=trial.weights,
            strength=trial.strength,
            risk=float(residual @ residual) - len(residual) + 2.0 * trial.freedom,
            freedom=trial.freedom,
            fitted=self.mean + moved,
        )


@final
@dataclass(frozen=True, slots=True)
class _Problem:
    """The dual problem in the eigenbasis of the base's covariance, where it is well scaled."""

    features: Floats  # (M, n)
    target: Floats  # (n,)
    log_base: Floats  # (M,)
    variances: Floats  # (n,), in ascending order
    least: float  # smaller ones were left out

    def above(self, least: float) -> "_Problem":
        """The directions whose variance is above `least`, of these."""
        seen = self.variances > least
        return _Problem(self.features[:, seen], self.target[seen], self.log_base, self.variances[seen], least)

    def untilted(self) -> _Trial:
        """The base, as it is."""
        weights = np.exp(self.log_base)
        risk = float(self.target @ self.target) - len(self.target)
        return _Trial(weights, np.inf, risk, 0.0)

    def solved(self, strength: float) -> Floats:
        """The weights at one strength, from the base: (M,)."""
        return self.weights(self.dual(strength, np.zeros(len(self.variances)), np.diag(self.variances)), strength)

    def at(self, strength: float) -> _Trial:
        """The fit at one strength, from the base."""
        if len(self.variances) == 0:
            return self.untilted()
        weights = self.solved(strength)
        return self._tried(strength, weights, self.covariance(weights))

    def path(self, weakest: float, ratio: float) -> Iterator[_Trial]:
        if len(self.variances) == 0:
            return
        dual, covariance = np.zeros(len(self.variances)), np.diag(self.variances)
        strength = max(weakest, float(self.variances[-1]))
        while strength >= weakest:
            dual = self.dual(strength, dual, covariance)
            weights = self.weights(dual, strength)
            covariance = self.covariance(weights)
            yield self._tried(strength, weights, covariance)
            strength /= ratio

    def dual(self, strength: float, start: Floats, covariance: Floats) -> Floats:
        """u at one strength, from that of a greater one and the covariance there: (n,)."""
        factor = np.linalg.cholesky(_stiffness(covariance, strength))  # in these coordinates the Hessian is nearly I

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
            value_and_gradient, factor.T @ start, jac=True, method="L-BFGS-B", options=options
        )
        solution: Floats = solve_triangular(factor, found.x, lower=True, trans="T")
        return solution

    def weights(self, dual: Floats, strength: float) -> Floats:
        exponents = self.log_base + self.features @ (dual / strength)
        masses: Floats = np.exp(exponents - exponents.max())
        masses /= masses.sum()
        return masses

    def covariance(self, weights: Floats) -> Floats:
        """C of the features under weights: (M,) → (n, n)."""
        mean = weights @ self.features
        covariance: Floats = (self.features.T * weights) @ self.features - np.outer(mean, mean)
        return covariance

    def _tried(self, strength: float, weights: Floats, covariance: Floats) -> _Trial:
        fitted = weights @ self.features
        freedom = len(fitted) - 0.5 * float(np.trace(np.linalg.inv(_stiffness(covariance, strength))))
        residual = self.target - fitted
        risk = float(residual @ residual) - len(fitted) + 2.0 * freedom
        return _Trial(weights, strength, risk, freedom)


def _stiffness(covariance: Floats, strength: float) -> Floats:
    """½ + C/λ, the Hessian of the dual."""
    return covariance / strength + 0.5 * np.eye(len(covariance))
