"""The likelihood of Gaussians, given noisy embeddings, as Fourier features and as a subspace see them.

All vectors are *whitened*: divided by the standard deviation of the noise, so that −2 log L = ‖residual‖² is a χ².
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Rows, block_slices
from kernelease.features.fourier import Fourier
from kernelease.measured.embeddings import Gaussians

# --------------------
# The likelihood itself: features of Gaussians, their derivatives, and the residual.


@final
@dataclass(frozen=True, slots=True)
class Slopes:
    """Features of K Gaussians, (K, n), and their derivatives by each one's width, (K, n), and centre, (d, K, n)."""

    features: Floats
    by_width: Floats
    by_centre: Floats


class Likelihood(ABC):
    """L ∝ exp(−‖target − Σ w_k·f_k‖²/2), with f_k the features of the k-th Gaussian and w_k its weight.

    The witness function ⟨residual, E φ(z + s·ξ)⟩ says where to put more of them.
    """

    __slots__ = ()
    target: Floats
    """What was measured, whitened: (n,)."""

    @abstractmethod
    def features(self, centres: Floats, widths: Floats) -> Floats:
        """E φ(z_k + s_k·ξ) for standard normal ξ: (K, d), (K,) → (K, n)."""

    @abstractmethod
    def slopes(self, centres: Floats, widths: Floats) -> Slopes:
        """The same with derivatives."""

    @abstractmethod
    def witness(self, points: Rows, residual: Floats, width: float) -> tuple[Floats, Floats]:
        """The witness at Gaussians of one width, and its gradient: (m, d), (n,) → (m,), (m, d)."""

    def residual(self, gaussians: Gaussians) -> Floats:
        """What the Gaussians leave of the target: (n,)."""
        return self.target - gaussians.weights @ self.features(gaussians.centres, gaussians.widths)


@final
class JointLikelihood(Likelihood):
    """The product of the likelihoods of several embeddings of the same rows, whose noise is independent."""

    __slots__ = ("parts", "target")

    def __init__(self, *parts: Likelihood) -> None:
        self.parts = parts
        self.target = np.concatenate([part.target for part in parts])

    def features(self, centres: Floats, widths: Floats) -> Floats:
        """Those of all parts, side by side."""
        return np.hstack([part.features(centres, widths) for part in self.parts])

    def slopes(self, centres: Floats, widths: Floats) -> Slopes:
        """Those of all parts, side by side."""
        each = [part.slopes(centres, widths) for part in self.parts]
        return Slopes(
            features=np.hstack([slopes.features for slopes in each]),
            by_width=np.hstack([slopes.by_width for slopes in each]),
            by_centre=np.concatenate([slopes.by_centre for slopes in each], axis=2),
        )

    def witness(self, points: Rows, residual: Floats, width: float) -> tuple[Floats, Floats]:
        """The sum of the parts' witnesses."""
        heights, gradients = np.zeros(len(points)), np.zeros(points.shape)
        ends = np.cumsum([len(part.target) for part in self.parts])[:-1]
        for part, left in zip(self.parts, np.split(residual, ends), strict=True):
            height, gradient = part.witness(points, left, width)
            heights += height
            gradients += gradient
        return heights, gradients


# --------------------
# Gaussians as Fourier features see them.


@final
@dataclass(frozen=True, slots=True)
class FourierLikelihood(Likelihood):
    """A Gaussian of width s has the features of its centre times exp(−s²‖ω‖²/2), exactly, whatever the kernel."""

    feature_map: Fourier
    target: Floats  # (J,), whitened
    sigma: float

    def features(self, centres: Floats, widths: Floats) -> Floats:
        """(K, d), (K,) → (K, J)."""
        return self.feature_map.evaluate(centres) * self._damping(widths) / self.sigma

    def slopes(self, centres: Floats, widths: Floats) -> Slopes:
        """Derivatives by centre (each pair of waves, turned by a quarter) and by width (through the damping)."""
        waves = self.features(centres, widths)
        frequencies = self.feature_map.frequencies
        cosines, sines = np.hsplit(waves, 2)
        turned = np.hstack([-sines, cosines])
        squares = np.tile((frequencies**2).sum(axis=1), 2)
        return Slopes(
            features=waves,
            by_width=-widths[:, None] * squares * waves,
            by_centre=np.stack([turned * np.tile(column, 2) for column in frequencies.T]),
        )

    def witness(self, points: Rows, residual: Floats, width: float) -> tuple[Floats, Floats]:
        """(m, d), (J,) → (m,), (m, d)."""
        damped = residual * self._damping(np.array([width]))[0] / self.sigma
        return self.feature_map.value_and_gradient(points, damped)

    def _damping(self, widths: Floats) -> Floats:
        """(K,) → (K, J)."""
        squares = (self.feature_map.frequencies**2).sum(axis=1)
        damping = np.exp(-0.5 * np.outer(widths**2, squares))
        return np.hstack([damping, damping])


# --------------------
# Gaussians as a subspace of the Gaussian kernel sees them.


_BLOCK = 512  # Gaussians at a time. limit: 512 by 4,096 points are 16 MiB


@final
@dataclass(frozen=True, slots=True)
class SubspaceLikelihood(Likelihood):
    """Coordinates W·k(z, ·) in the span of points z, in units of the kernel's lengthscales.

    For the Gaussian kernel a Gaussian of width s has E k(z, c + s·ξ) = (1 + s²)^(−d/2)·exp(−‖z − c‖²/2(1 + s²)).
    """

    points: Floats  # (F, d), in lengthscales
    basis: Floats  # W over the standard deviation of the noise: (F, F)
    target: Floats  # (F,), whitened

    def features(self, centres: Floats, widths: Floats) -> Floats:
        """(K, d), (K,) → (K, F)."""
        blocks = [_blurred(centres[s], widths[s], self.points)[0] @ self.basis.T for s in _blocks(len(centres))]
        return np.concatenate(blocks) if blocks else np.empty((0, len(self.points)))

    def slopes(self, centres: Floats, widths: Floats) -> Slopes:
        """The kernel's derivatives, in the same coordinates."""
        kernel, squares = _blurred(centres, widths, self.points)
        variances = 1.0 + widths[:, None] ** 2
        dimension = centres.shape[1]
        by_variance = kernel * (squares / variances - dimension) / (2.0 * variances)
        gaps = (self.points.T[:, None, :] - centres.T[:, :, None]) / variances
        stacked = np.concatenate([kernel[None], (2.0 * widths[:, None] * by_variance)[None], kernel * gaps])
        shape = stacked.shape
        turned = (stacked.reshape(-1, shape[2]) @ self.basis.T).reshape(shape)  # one product: W is read only once
        return Slopes(features=turned[0], by_width=turned[1], by_centre=turned[2:])

    def witness(self, points: Rows, residual: Floats, width: float) -> tuple[Floats, Floats]:
        """(m, d), (F,) → (m,), (m, d)."""
        amounts = residual @ self.basis
        heights, gradients = np.empty(len(points)), np.empty(points.shape)
        for s in _blocks(len(points)):
            kernel, _ = _blurred(points[s], np.full(len(points[s]), width), self.points)
            kernel *= amounts
            heights[s] = kernel.sum(axis=1)
            gradients[s] = (kernel @ self.points - heights[s, None] * points[s]) / (1.0 + width**2)
        return heights, gradients


def _blurred(centres: Floats, widths: Floats, points: Floats) -> tuple[Floats, Floats]:
    """E k(z, c + s·ξ) and ‖z − c‖²: (K, d), (K,), (F, d) → (K, F), (K, F)."""
    variances = 1.0 + widths[:, None] ** 2
    squares = np.zeros((len(centres), len(points)))
    for mine, theirs in zip(centres.T, points.T, strict=True):
        squares += (mine[:, None] - theirs) ** 2
    return variances ** (-centres.shape[1] / 2.0) * np.exp(-0.5 * squares / variances), squares


def _blocks(count: int) -> list[slice]:
    return list(block_slices(count, _BLOCK))
