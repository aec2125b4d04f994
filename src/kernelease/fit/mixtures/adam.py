"""Adam (Kingma & Ba 2015) on arrays in single precision, in place."""

from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

Single: TypeAlias = NDArray[np.float32]  # half the memory traffic; noise is far above its precision

_MEMORY, _LONG_MEMORY = np.float32(0.9), np.float32(0.99)  # a run has a few hundred steps: 0.999 would outlast it
_LEAST = np.float32(1e-12)


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
        correction = np.sqrt(1.0 - _LONG_MEMORY**self._steps) / (1.0 - _MEMORY**self._steps)
        for arrays in zip(self._parameters, self._moments, self._squares, gradients, strict=True):
            _step(*arrays, np.float32(rate * correction))


def _step(parameter: Single, moment: Single, square: Single, gradient: Single, rate: np.float32) -> None:
    """All in place: m ← βm + (1 − β)g, v ← γv + (1 − γ)g², parameter ← parameter − rate·m/√v."""
    moment -= gradient
    moment *= _MEMORY
    moment += gradient
    gradient *= gradient
    square -= gradient
    square *= _LONG_MEMORY
    square += gradient
    np.sqrt(square, out=gradient)
    gradient += _LEAST
    np.divide(moment, gradient, out=gradient)
    gradient *= rate
    parameter -= gradient
