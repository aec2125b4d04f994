"""Adam (Kingma & Ba 2015) on arrays in single precision, in place."""

from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

Single: TypeAlias = NDArray[np.float32]  # half the memory traffic; noise is far above its precision


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
        """One step downhill."""
        self._steps += 1
        correction = np.sqrt(1.0 - 0.999**self._steps) / (1.0 - 0.9**self._steps)
        for parameter, moment, square, gradient in zip(
            self._parameters, self._moments, self._squares, gradients, strict=True
        ):
            np.add(moment, np.float32(0.1) * (gradient - moment), out=moment)
            np.add(square, np.float32(0.001) * (gradient * gradient - square), out=square)
            stride = np.float32(rate * correction) * moment / (np.sqrt(square) + np.float32(1e-12))
            np.subtract(parameter, stride, out=parameter)
