"""What a noisy embedding says about blobs: their features, how the misfit changes as they move, where mass is missing.

All vectors are *whitened*: divided by the standard deviation of the noise, so that a squared distance is a χ².
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Rows
from kernelease.features.fourier import Fourier
from kernelease.fit.blobs import Blobs


@final
@dataclass(frozen=True, slots=True)
class Misfit:
    """target − Σ w_k·f_k (J,), and for each blob the witness ⟨f_k, residual⟩ with its derivatives."""

    residual: Floats
    heights: Floats  # (K,)
    by_centre: Floats  # (K, d)
    by_width: Floats  # (K,)


@final
@dataclass(frozen=True, slots=True)
class Landscape:
    """A target to fit blobs to, and the witness function ⟨residual, E φ(z + s·ξ)⟩ that says where to put more.

    With Fourier features a blob of width s has φ(z) times exp(−s²‖ω‖²/2), exactly.
    """

    feature_map: Fourier
    target: Floats  # (J,), whitened
    sigma: float

    def features(self, centres: Floats, widths: Floats) -> Floats:
        """E φ(z_k + s_k·ξ) for standard normal ξ: (K, d), (K,) → (K, J)."""
        return self.feature_map.evaluate(centres) * self._damping(widths) / self.sigma

    def residual(self, blobs: Blobs) -> Floats:
        """What the blobs leave of the target: (J,)."""
        return self.target - blobs.weights @ self.features(blobs.centres, blobs.widths)

    def misfit(self, blobs: Blobs) -> Misfit:
        """Derivatives by rotating each pair of waves a quarter turn, and by that of the damping."""
        waves = self.features(blobs.centres, blobs.widths)
        residual = self.target - blobs.weights @ waves
        cosines, sines = np.hsplit(waves, 2)
        a, b = residual.reshape(2, -1)
        frequencies = self.feature_map.frequencies
        agreement = cosines * a + sines * b
        by_width = -blobs.widths * (agreement @ (frequencies**2).sum(axis=1))
        return Misfit(residual, agreement.sum(axis=1), (cosines * b - sines * a) @ frequencies, by_width)

    def witness(self, points: Rows, residual: Floats, width: float) -> tuple[Floats, Floats]:
        """The witness at blobs of one width, and its gradient: (m, d), (J,) → (m,), (m, d)."""
        damped = residual * self._damping(np.array([width]))[0] / self.sigma
        return self.feature_map.value_and_gradient(points, damped)

    def _damping(self, widths: Floats) -> Floats:
        """(K,) → (K, J)."""
        squares = (self.feature_map.frequencies**2).sum(axis=1)
        damping = np.exp(-0.5 * np.outer(widths**2, squares))
        return np.hstack([damping, damping])
