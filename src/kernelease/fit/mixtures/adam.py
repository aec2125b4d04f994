"""Adam (Kingma & Ba 2015) on arrays in single precision, in place."""

from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

Single: TypeAlias = NDArray[np.float32]  # half the memory traffic; noise is far above its precision

MEMORY, LONG_MEMORY = np.float32(0.9), np.float32(0.99)  # a run has a few hundred steps: 0.999 would outlast it
LEAST = np.float32(1e-12)


def correction(step: int) -> float:
    """What makes up for averages that start at 0, at a step counted from 1: √(1 − γᵗ)/(1 − βᵗ)."""
    return float(np.sqrt(1.0 - LONG_MEMORY**step) / (1.0 - MEMORY**step))


@final
class Adam:
    """Steps along gradients, each coordinate scaled by its own recent size."""

    __slots__ = ("_moments", "_parameters", "_squares", "_steps")

    def __init__(self, parameters: tuple[Single, ...]) -> None:
        self._parameters = parameters
        self._moments = tuple(np.zeros_like(p) for p in parameters)
        self._squares = tuple(np.zeros_like(p) for p in parameters)
        self._steps = 0

    def update(self, gradients: tuple[Single, ...], rate: float) -> None:
        """One step downhill. The gradients' arrays are used up: they hold no gradient afterwards."""
        self._steps += 1
        for arrays in zip(self._parameters, self._moments, self._squares, gradients, strict=True):
            _step(*arrays, np.float32(rate * correction(self._steps)))


def _step(parameter: Single, moment: Single, square: Single, gradient: Single, rate: np.float32) -> None:
    """All in place: m ← βm + (1 − β)g, v ← γv + (1 − γ)g², parameter ← parameter − rate·m/√v."""
    moment -= gradient
    moment *= MEMORY
    moment += gradient
    gradient *= gradient
    square -= gradient
    square *= LONG_MEMORY
    square += gradient
    np.sqrt(square, out=gradient)
    gradient += LEAST
    np.divide(moment, gradient, out=gradient)
    gradient *= rate
    parameter -= gradient
