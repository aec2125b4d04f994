"""Noise that protects nobody: from a seed, for experiments, and none at all, for rehearsals before the charge.

`SeededNoise` is a type of its own, and whatever it touches says NOT PRIVATE.
"""

from collections.abc import Sequence
from typing import ClassVar, final

import numpy as np

from kernelease.arrays import Integers
from kernelease.privacy.noise import LARGEST_LAPLACE_SCALE, check_scale


@final
class SeededNoise:
    """NOT PRIVATE. Reproducible noise for experiments: whoever knows the seed can subtract it.

    The laws are those of `SystemNoise` up to the rounding of floats. Successive draws continue one stream, so two
    measurements never share noise. A release made with it is marked on its certificate, and verification rejects it.
    """

    __slots__ = ("_generator", "seed")

    private: ClassVar[bool] = False

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._generator = np.random.default_rng(seed)

    def __repr__(self) -> str:
        return f"SeededNoise({self.seed}) (NOT PRIVATE)"

    def gaussian(self, scale: float, size: int) -> Integers:
        check_scale(scale)
        return np.rint(self._generator.normal(0.0, scale, size)).astype(np.int64)

    def laplace(self, scale: float, size: int) -> Integers:
        check_scale(scale, LARGEST_LAPLACE_SCALE)
        return np.rint(self._generator.laplace(0.0, scale, size)).astype(np.int64)

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        """Gumbel noisy max in floats."""
        check_scale(scale)
        best = max(scores)
        shifted = np.array([(score - best) / scale for score in scores])
        return int(np.argmax(shifted + self._generator.gumbel(size=len(scores))))


@final
class Silence:
    """No noise at all; it refuses the scales that the samplers refuse."""

    private: ClassVar[bool] = False

    def gaussian(self, scale: float, size: int) -> Integers:
        check_scale(scale)
        return np.zeros(size, dtype=np.int64)

    def laplace(self, scale: float, size: int) -> Integers:
        check_scale(scale, LARGEST_LAPLACE_SCALE)
        return np.zeros(size, dtype=np.int64)

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        check_scale(scale)
        return 0
