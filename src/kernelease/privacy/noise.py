"""Where noise comes from: the operating system, through OpenDP's exact samplers.

`SystemNoise` is the only source that makes a release private. `SeededNoise` exists for reproducible experiments; it is
a type of its own, and whatever it touches says NOT PRIVATE.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol, final

import numpy as np

from kernelease.arrays import Integers, block_slices
from kernelease.errors import CapacityError, ParameterError, ResourceError
from kernelease.machine import cores, require_memory, workers

# OpenDP saturates draws at ±2⁶³. At these scales that happens with probability below 2e⁻⁸¹⁹² a draw.
LARGEST_GAUSSIAN_SCALE = 2.0**56
LARGEST_LAPLACE_SCALE = 2.0**50  # the same, for longer tails
_FOR_OPENDP = 2**29  # bytes of addresses that its library takes, with what it stands on
_BLOCK = 4096  # draws at a time, so that threads share them evenly


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
            "take a coarser feature grid."
        )


@functools.cache
def _samplers() -> Any:
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
        return self._draw(_samplers().gaussian(scale=float(scale)), size)

    def laplace(self, scale: float, size: int) -> Integers:
        """Independent discrete Laplace integers."""
        check_scale(scale, LARGEST_LAPLACE_SCALE)
        return self._draw(_samplers().laplace(scale=float(scale)), size)

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        """Gumbel noisy max, which is the exponential mechanism."""
        check_scale(scale)
        return int(_samplers().noisy_max(scale=float(scale))(list(scores)))

    def _draw(self, measurement: Any, size: int) -> Integers:
        def draw(count: int) -> Integers:
            return np.array(measurement([0] * count), dtype=np.int64)

        blocks = [s.stop - s.start for s in block_slices(size, _BLOCK)]
        if len(blocks) < 2:
            return draw(size)
        with workers(min(self.threads or cores(), len(blocks))) as pool:
            return np.concatenate(list(pool.map(draw, blocks)))


def try_noise(source: NoiseSource) -> None:
    """Load OpenDP and draw from each of its laws once, before any budget is spent; what is drawn is thrown away.

    Raises `ResourceError` where that fails. Noise from elsewhere needs no library, and a seed's stream is not moved.
    """
    if not isinstance(source, SystemNoise):
        return
    try:
        samplers = _samplers()
        for law in (samplers.gaussian, samplers.laplace, samplers.noisy_max):
            law(scale=2.0)([0, 0])
    except Exception as error:
        require_memory(_FOR_OPENDP, "load OpenDP, which draws the noise")  # the system may say it in other words
        raise ResourceError(
            f"Noise can't be drawn: OpenDP does not work here ({type(error).__name__}: {str(error)[:200]}). Install it "
            "anew. Nothing was spent."
        ) from error


@final
class SeededNoise:
    """NOT PRIVATE. Reproducible noise for experiments: whoever knows the seed can subtract it.

    The laws are those of `SystemNoise` up to the rounding of floats. Successive draws continue one stream, so two
    measurements never share noise. A release made with it is marked on its certificate, and verification rejects it.
    """

    __slots__ = ("_generator", "seed")

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._generator = np.random.default_rng(seed)

    def __repr__(self) -> str:
        return f"SeededNoise({self.seed}) (NOT PRIVATE)"

    @property
    def private(self) -> bool:
        """False."""
        return False

    def gaussian(self, scale: float, size: int) -> Integers:
        """Rounded Gaussian numbers."""
        check_scale(scale)
        return np.rint(self._generator.normal(0.0, scale, size)).astype(np.int64)

    def laplace(self, scale: float, size: int) -> Integers:
        """Rounded Laplace numbers."""
        check_scale(scale, LARGEST_LAPLACE_SCALE)
        return np.rint(self._generator.laplace(0.0, scale, size)).astype(np.int64)

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        """Gumbel noisy max in floats."""
        check_scale(scale)
        best = max(scores)
        shifted = np.array([(score - best) / scale for score in scores])
        return int(np.argmax(shifted + self._generator.gumbel(size=len(scores))))
