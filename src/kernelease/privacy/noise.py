"""Where noise comes from: the operating system, through OpenDP's exact samplers.

`SystemNoise` is the only source here that makes a release private: whatever `SeededNoise` touches says NOT PRIVATE.
A source of one's own that calls itself `private` is taken at its word: nothing can check its law, or that it is secret.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol, final, runtime_checkable

import numpy as np

from kernelease.arrays import Integers, block_slices
from kernelease.errors import CapacityError, ParameterError
from kernelease.machine import cores, workers

# OpenDP saturates draws at ±2⁶³. At these scales that happens with probability below 2e⁻⁸¹⁹² a draw.
LARGEST_GAUSSIAN_SCALE = 2.0**56
LARGEST_LAPLACE_SCALE = 2.0**50  # the same, for longer tails
LEAST_LAPLACE_SCALE = 1 / 12  # in integers: one draw in 80,000 differs from 0, and σ = 0.0035 is still a number
_BLOCK = 4096  # draws at a time, so that threads share them evenly


@runtime_checkable
class NoiseSource(Protocol):
    """Integer noise of an exact law. `private` says whether it may protect anyone."""

    @property
    def private(self) -> bool:
        """Whether the noise is unpredictable: True for the operating system's randomness only."""
        ...

    def gaussian(self, scale: float, size: int) -> Integers:
        """Independent discrete Gaussian integers, P(k) ∝ exp(−k²/2·scale²)."""
        ...

    def laplace(self, scale: float, size: int) -> Integers:
        """Independent discrete Laplace integers, P(k) ∝ exp(−|k|/scale)."""
        ...

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        """An index drawn with probability ∝ exp(score/scale)."""
        ...


def check_scale(scale: float, largest: float = LARGEST_GAUSSIAN_SCALE) -> None:
    """Refuse a scale at which 64-bit integers could saturate."""
    if not 0.0 < scale < math.inf:
        raise ParameterError(f"Noise: scale must be positive and finite, got {scale!r}.")
    if scale > largest:
        raise CapacityError(
            f"Noise: scale must be at most 2^{math.log2(largest):.0f} grid steps, got {scale:.3g}: "
            "take a larger epsilon, fewer rows or a coarser feature grid."
        )


@functools.cache
def samplers() -> Any:
    """OpenDP's samplers, loaded with the first draw: its prelude would take scikit-learn and a second along.

    OpenDP asks for consent to constructors whose proofs are not yet vetted by its own process.
    """
    from opendp import domains, measurements, measures, metrics, mod  # noqa: PLC0415

    mod.enable_features("contrib")
    # Vectors of 64-bit integers: OpenDP's `int` alone means 32 bits, and saturates noise there without a word.
    vectors = domains.vector_domain(domains.atom_domain(T="i64"))
    return SimpleNamespace(
        gaussian=functools.partial(measurements.make_gaussian, vectors, metrics.l2_distance(T="f64")),
        laplace=functools.partial(measurements.make_laplace, vectors, metrics.l1_distance(T="i64")),
        noisy_max=functools.partial(
            measurements.make_noisy_max,
            vectors,
            metrics.linf_distance(T="i64"),
            measures.zero_concentrated_divergence(),
        ),
    )


@final
@dataclass(frozen=True, slots=True)
class SystemNoise:
    """Exact noise from the operating system's randomness. There is nothing to seed."""

    threads: int = 0  # 0: one per core; the samplers release the interpreter lock

    @property
    def private(self) -> bool:
        """True."""
        return True

    def gaussian(self, scale: float, size: int) -> Integers:
        """Independent discrete Gaussian integers."""
        check_scale(scale)
        return self._draw(samplers().gaussian(scale=float(scale)), size)

    def laplace(self, scale: float, size: int) -> Integers:
        """Independent discrete Laplace integers."""
        check_scale(scale, LARGEST_LAPLACE_SCALE)
        return self._draw(samplers().laplace(scale=float(scale)), size)

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        """Gumbel noisy max, which is the exponential mechanism."""
        check_scale(scale)
        return int(samplers().noisy_max(scale=float(scale))(list(scores)))

    def _draw(self, measurement: Any, size: int) -> Integers:
        def draw(count: int) -> Integers:
            return np.array(measurement([0] * count), dtype=np.int64)

        if size <= _BLOCK:
            return draw(size)
        blocks = [s.stop - s.start for s in block_slices(size, _BLOCK)]
        with workers(min(self.threads or cores(), len(blocks))) as pool:
            return np.concatenate(list(pool.map(draw, blocks)))
