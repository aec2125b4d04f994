"""What weights may be: free, on the probability simplex, or of bounded L1 norm."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.kinds import Kind


class Constraint(Kind, ABC):
    """A convex set of weight vectors."""

    @property
    @abstractmethod
    def signed(self) -> bool:
        """Whether weights may be negative."""

    @abstractmethod
    def project(self, weights: Floats) -> Floats:
        """The nearest allowed weights: (M,) → (M,)."""

    @abstractmethod
    def lowest(self, gradient: Floats) -> float:
        """min ⟨gradient, w⟩ over the set, −∞ if there is none: it bounds how far weights are from the best ones."""

    @abstractmethod
    def start(self, count: int) -> Floats:
        """Weights to start from: (count,)."""

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

    @property
    def signed(self) -> bool:
        """True."""
        return True

    def project(self, weights: Floats) -> Floats:
        """The weights themselves."""
        return weights

    def lowest(self, gradient: Floats) -> float:
        """0 where the gradient vanishes, else −∞."""
        return 0.0 if not np.any(gradient) else -np.inf

    def start(self, count: int) -> Floats:
        """Zeros."""
        return np.zeros(count)


@final
@dataclass(frozen=True, slots=True)
class Simplex(Constraint):
    """w ≥ 0 and Σw = 1: the weights of a probability distribution. Projecting onto it removes much of the noise."""

    @property
    def signed(self) -> bool:
        """False."""
        return False

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
        """Uniform weights."""
        return np.full(count, 1.0 / count)

    def corners(self, design: Floats) -> Floats | None:
        """The columns themselves."""
        return design


@final
@dataclass(frozen=True, slots=True)
class L1Ball(Constraint):
    """Σ|w| ≤ C: what consistency of functions of the released variables needs (the paper's appendix)."""

    radius: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.radius < np.inf:
            raise ParameterError(f"L1Ball: radius must be positive and finite, got {self.radius!r}.")

    @property
    def signed(self) -> bool:
        """True."""
        return True

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

    def start(self, count: int) -> Floats:
        """Zeros."""
        return np.zeros(count)

    def corners(self, design: Floats) -> Floats | None:
        """Each column times ±C, and 0 for weights that stay inside."""
        return self.radius * np.hstack([design, -design, np.zeros((len(design), 1))])

    def mixture(self, shares: Floats) -> Floats:
        """C times what the corners of either sign have."""
        plus, minus = np.split(shares[:-1], 2)
        return self.radius * (plus - minus)
