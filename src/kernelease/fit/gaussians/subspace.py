"""Gaussians as a subspace of the Gaussian kernel sees them."""

from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Rows, block_slices
from kernelease.fit.gaussians.likelihood import Likelihood, Slopes

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
