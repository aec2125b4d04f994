"""Gaussians as Fourier features see them."""

from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Rows
from kernelease.features.fourier import Fourier
from kernelease.fit.gaussians.likelihood import Likelihood, Slopes


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
        """By centre: each pair of waves rotated by a quarter turn. By width: through the damping."""
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
