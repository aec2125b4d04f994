"""The likelihood of Gaussians, given noisy embeddings: their features, how these change as they move, what is missing.

All vectors are *whitened*: divided by the standard deviation of the noise, so that −2 log L = ‖residual‖² is a χ².
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Rows
from kernelease.measured.gaussians import Gaussians


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
