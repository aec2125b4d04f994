"""Moving Gaussians: all weights, widths and centres together, by Levenberg–Marquardt steps on the squared misfit."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats
from kernelease.fit.gaussians.likelihood import Likelihood
from kernelease.measured.gaussians import Gaussians

LEAST = 1e-5  # weights below are none. research: Vectors: one constant at a time
# Widths, in lengthscales: narrower ones can't be told from points. research: Vectors: one constant at a time
_NARROWEST = 0.03
_FARTHEST = 0.5  # that a centre moves in one step, in lengthscales. research: Vectors: one constant at a time
_FACTOR = 1.5  # the most by which log-weights and log-variances change. research: Vectors: one constant at a time
# At first, then changed by factors. research: Vectors: one constant at a time
_DAMPING, _RELIEF, _TIGHTENING, _ATTEMPTS = 1e-2, 5.0, 4.0, 8
_GAIN = 0.05  # of χ²: steps that gain less are not worth taking. research: Vectors: one constant at a time


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FittedGaussians:
    """Gaussians, and their misfit: ‖target − Σ w_k·f_k‖² plus what unlike widths cost."""

    gaussians: Gaussians
    misfit: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LevenbergMarquardt:
    """Steps of damped least squares in log-weights, log-variances and centres, all unconstrained.

    `likeness` is how far log-variances are expected to be from their mean: widths that the data say little about are
    then like those of the others (infinite: no such pull). `lengthscale` is the kernel's, `widest` bounds the widths.
    """

    lengthscale: float
    widest: float
    likeness: float = math.inf
    steps: int = 40

    def fit(self, likelihood: Likelihood, gaussians: Gaussians) -> FittedGaussians:
        """From these Gaussians to a local optimum; Gaussians that lose their weight on the way are dropped."""
        state = _State.of(gaussians, _NARROWEST * self.lengthscale)
        misfit, damping = self._misfit(likelihood, state), _DAMPING
        for _ in range(self.steps):
            normal, slope = self._equations(likelihood, state)
            for _ in range(_ATTEMPTS):
                step = np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-6), slope)
                moved = self._moved(state, step.astype(np.float64, copy=False))
                reached = self._misfit(likelihood, moved)
                if reached < misfit:
                    break
                damping *= _TIGHTENING
            else:
                break
            gain, state, misfit = misfit - reached, moved, reached
            damping = max(damping / _RELIEF, 1e-6)
            kept = state.weights > LEAST
            if not kept.all():
                state = state.only(kept)
                misfit = self._misfit(likelihood, state)
            elif gain < _GAIN:
                break
        return FittedGaussians(gaussians=state.gaussians, misfit=misfit)

    def _misfit(self, likelihood: Likelihood, state: "_State") -> float:
        residual = likelihood.residual(state.gaussians)
        unlike = self._unlike(state) @ state.variances
        return float(residual @ residual + unlike @ unlike)

    def _unlike(self, state: "_State") -> Floats:
        """The matrix that takes log-variances to their distance from the weighted mean, over `likeness`: (K, K)."""
        matrix: Floats = (np.eye(len(state.weights)) - state.weights) / self.likeness
        return matrix

    def _equations(self, likelihood: Likelihood, state: "_State") -> tuple[Floats, Floats]:
        """The normal equations of the linearised misfit: (p, p), (p,) with p = (d + 2)·K."""
        gaussians = state.gaussians
        slopes = likelihood.slopes(gaussians.centres, gaussians.widths)
        weights = gaussians.weights[:, None]
        fitted = gaussians.weights @ slopes.features
        moves = np.concatenate(
            [
                weights * (slopes.features - fitted),
                weights * (0.5 * gaussians.widths[:, None]) * slopes.by_width,
                *(weights * column for column in slopes.by_centre),
            ]
        )
        normal, slope = moves @ moves.T, moves @ (likelihood.target - fitted)
        count = len(gaussians)
        spread = slice(count, 2 * count)
        unlike = self._unlike(state)
        normal[spread, spread] += unlike.T @ unlike
        slope[spread] -= unlike.T @ (unlike @ state.variances)
        return normal, slope

    def _moved(self, state: "_State", step: Floats) -> "_State":
        count, dimension = state.centres.shape
        weights, variances = np.clip(step[: 2 * count].reshape(2, count), -_FACTOR, _FACTOR)
        far = step[2 * count :].reshape(dimension, count).T
        sizes = np.linalg.norm(far, axis=1, keepdims=True)
        far *= np.minimum(1.0, _FARTHEST * self.lengthscale / np.maximum(sizes, np.finfo(float).tiny))
        bounds = 2.0 * np.log([_NARROWEST * self.lengthscale, self.widest])
        return _State(
            logits=state.logits + weights,
            variances=np.clip(state.variances + variances, *bounds),
            centres=state.centres + far,
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Gaussians in unconstrained variables."""

    logits: Floats  # of the weights, up to a constant
    variances: Floats  # their logarithms
    centres: Floats

    @classmethod
    def of(cls, gaussians: Gaussians, narrowest: float) -> "_State":
        return cls(
            logits=np.log(np.maximum(gaussians.weights, LEAST)),
            variances=2.0 * np.log(np.maximum(gaussians.widths, narrowest)),
            centres=gaussians.centres,
        )

    @property
    def weights(self) -> Floats:
        masses: Floats = np.exp(self.logits - self.logits.max())
        masses /= masses.sum()
        return masses

    @property
    def gaussians(self) -> Gaussians:
        return Gaussians(centres=self.centres, widths=np.exp(0.5 * self.variances), weights=self.weights)

    def only(self, kept: NDArray[np.bool_]) -> "_State":
        return _State(logits=self.logits[kept], variances=self.variances[kept], centres=self.centres[kept])
