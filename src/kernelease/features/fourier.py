"""Random Fourier features: paired, in fixed point, of norm at most 1 in integers."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers, Rows, block_slices
from kernelease.errors import ParameterError
from kernelease.features.circle import ANGLE_BITS, RADIUS, ROWS_PER_SUM, circle, packed_circle, unpack
from kernelease.features.feature_map import FeatureMap
from kernelease.features.grid import checked_resolution, clamped_points, default_resolution, grid_columns
from kernelease.features.waves import CELLS, cosines_and_sines
from kernelease.kernels.rounding import sqrt_above, step_below
from kernelease.kernels.shift_invariant import Radial, ShiftInvariant
from kernelease.seeds import PublicSeed

_CELLS = 2**15  # phases at hand at once: they stay in the processor's cache
_TURN = 2.0**64  # phases are unsigned 64-bit integers, which wrap once a turn
_SHIFT = np.uint64(64 - ANGLE_BITS)
_HALF_ANGLE = np.uint64(1 << (63 - ANGLE_BITS))


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fourier(FeatureMap):
    """Paired Fourier features, φ(x) = (cos ω₁·x, …, cos ω_F·x, sin ω₁·x, …, sin ω_F·x)/√F with F = J/2.

    φ(x)·φ(y) is the mean of cos ω·(x − y), which a shift-invariant kernel with spectral law ω ~ p has as expectation.
    The norm is 1 for every row. The offset form √(2/J)·cos(ω·x + b) has norms up to √2, and is not offered. Features
    of a positive kernel do go negative, so the diameter is 2.

    `frequencies` (F, d) are in radians per unit of the data; they are rounded to multiples of 2⁻⁶⁴ turns per grid
    step. `resolution` is the grid step of each column: numbers are rounded to it, and clamped to ±2⁴³ steps. Both are
    public: a lengthscale or a resolution measured on private rows leaks them.

    >>> phi = Fourier(frequencies=np.array([[1.0], [2.0]]), resolution=(2.0**-20,))
    >>> phi.integers(np.array([[0.0], [np.nan]]))
    array([[262144, 262144,      0,      0],
           [262144, 262144,      0,      0]])
    >>> phi.dimension, phi.norm_bound, phi.diameter
    (4, 1.0, 2.0)
    """

    frequencies: Floats = field(repr=False)
    resolution: tuple[float, ...]
    turns: NDArray[np.uint64] = field(init=False, repr=False)  # frequencies in turns per grid step, in units of 2⁻⁶⁴

    def __post_init__(self) -> None:
        frequencies = np.array(self.frequencies, dtype=np.float64)
        resolution = checked_resolution(self.resolution, "Fourier")
        if frequencies.ndim != 2 or len(frequencies) == 0 or frequencies.shape[1] != len(resolution):
            raise ParameterError(
                f"Fourier: frequencies must have shape (J/2, {len(resolution)}), one column per entry of resolution, "
                f"got {frequencies.shape}."
            )
        scale = np.array(resolution) * (_TURN / math.tau)
        counts = np.rint(frequencies * scale)
        if not np.isfinite(counts).all():
            raise ParameterError("Fourier: frequencies must be finite, and so must frequencies·resolution·2⁶⁴.")
        for name, value in (("frequencies", counts / scale), ("turns", _wrapped(counts))):
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "resolution", resolution)

    @classmethod
    def random(
        cls,
        kernel: ShiftInvariant,
        *,
        features: int,
        dimension: int,
        seed: PublicSeed,
        resolution: tuple[float, ...] | None = None,
    ) -> Self:
        """J = `features` independent features for rows of `dimension` columns, grid: a lengthscale over 2²⁰.

        >>> from kernelease.kernels import Gaussian
        >>> Fourier.random(Gaussian(lengthscale=1.0), features=100, dimension=2, seed=PublicSeed(0)).dimension
        100
        """
        count = _pairs(features, dimension)
        frequencies = kernel.frequencies(seed.generator("Fourier frequencies"), count, dimension)
        grid = default_resolution(kernel.lengthscale, dimension) if resolution is None else resolution
        return cls(frequencies=frequencies, resolution=grid)

    @classmethod
    def orthogonal(
        cls,
        kernel: ShiftInvariant,
        *,
        features: int,
        dimension: int,
        seed: PublicSeed,
        resolution: tuple[float, ...] | None = None,
    ) -> Self:
        """Frequencies orthogonal in blocks of d, with the kernel's own radial law (Yu et al. 2016): less variance.

        Each frequency alone has the law of `random`, so the features are as unbiased. For radial kernels only: the law
        of others is not the same in all directions.
        """
        count = _pairs(features, dimension)
        if not isinstance(kernel, Radial):
            raise ParameterError(
                f"Fourier.orthogonal: the kernel must be radial, got {type(kernel).__name__}. Use Fourier.random."
            )
        grid = default_resolution(kernel.lengthscale, dimension) if resolution is None else resolution
        draws = kernel.unit_frequencies(seed.generator("Fourier radii"), count, dimension)
        radii = np.sqrt((draws**2).sum(axis=1, keepdims=True))
        directions = _orthogonal_directions(seed.generator("Fourier directions"), count, dimension)
        scale = np.asarray(kernel.lengthscale, dtype=np.float64)
        return cls(frequencies=radii * directions / scale, resolution=grid)

    @property
    def dimension(self) -> int:
        """J: a cosine and a sine per frequency."""
        return 2 * len(self.frequencies)

    @property
    def step(self) -> float:
        """1/(2¹⁸·√(J/2)), rounded down."""
        return step_below(RADIUS**2 * len(self.frequencies))

    @property
    def norm_bound(self) -> float:
        """1: cos² + sin² ≤ 1 for each pair of table entries."""
        return 1.0

    @property
    def diameter(self) -> float:
        """2: two rows half a turn apart at each frequency have opposite features."""
        return 2.0

    @property
    def norm_bound_l1(self) -> float:
        """√J: |cos| + |sin| ≤ √2 for each pair, and (J/2)·√2/√(J/2) = √J."""
        return sqrt_above(self.dimension)

    @property
    def diameter_l1(self) -> float:
        """2√J, by the triangle inequality; reached by opposite features at odd multiples of 45°."""
        return 2.0 * self.norm_bound_l1

    def integers(self, rows: Rows) -> Integers:
        """Cosines and sines of every frequency, in units of `step`: (n, d) → (n, J)."""
        cosines, sines = circle()
        count = len(self.frequencies)
        result = np.empty((len(rows), 2 * count), dtype=np.int64)
        for block, pairs, angles in self._angles(rows):
            result[block, pairs] = cosines[angles].T
            result[block, count:][:, pairs] = sines[angles].T
        return result

    def total(self, rows: Rows) -> Integers:
        """Sum of `integers` over any number of rows, in a few nanoseconds per row and frequency: (n, d) → (J,)."""
        table, count = packed_circle(), len(self.frequencies)
        sums = np.zeros(2 * count, dtype=np.int64)
        for _, pairs, angles in self._angles(rows):
            cosines, sines = unpack(np.take(table, angles, mode="clip").sum(axis=1))
            sums[pairs] += cosines
            sums[count:][pairs] += sines
        return sums

    def _angles(self, rows: Rows) -> Iterator[tuple[slice, slice, Integers]]:
        """Blocks of rows and of frequencies, and the angle of each in 2¹⁶ to the turn: (f, n)."""
        columns = grid_columns(rows, self.resolution, "Fourier").view(np.uint64)
        for block in block_slices(columns.shape[1], ROWS_PER_SUM):
            for pairs in block_slices(len(self.frequencies), max(1, _CELLS // (block.stop - block.start))):
                yield block, pairs, _nearest_angles(self.turns[pairs], columns[:, block])

    def evaluate(self, points: Rows) -> Floats:
        """φ of public points: (m, d) → (m, J)."""
        result = np.empty((len(points), self.dimension))
        for block, cosines, sines in self._waves(points):
            result[block] = np.concatenate([cosines, sines], axis=1)
        result *= RADIUS * self.step
        return result

    def gradient(self, points: Rows, coefficients: Floats) -> Floats:
        """∂/∂z of coefficients·φ(z) at each point z: (m, d), (J,) → (m, d)."""
        return self.value_and_gradient(points, coefficients)[1]

    def value_and_gradient(self, points: Rows, coefficients: Floats) -> tuple[Floats, Floats]:
        """coefficients·φ(z) and its gradient at each point z: (m, d), (J,) → (m,), (m, d)."""
        if np.shape(coefficients) != (self.dimension,):
            raise ParameterError(
                f"Fourier: coefficients must have shape ({self.dimension},), got {np.shape(coefficients)}."
            )
        a, b = (coefficients * (RADIUS * self.step)).reshape(2, -1)
        values, gradients = np.empty(len(points)), np.empty((len(points), len(self.resolution)))
        for block, cosines, sines in self._waves(points):
            values[block] = cosines @ a + sines @ b
            gradients[block] = (b * cosines - a * sines) @ self.frequencies
        return values, gradients

    def _waves(self, points: Rows) -> Iterator[tuple[slice, Floats, Floats]]:
        """Blocks of public points, and the cosines and sines of their phases: (m, F) each."""
        z = clamped_points(points, self.resolution, "Fourier")
        per_turn = np.ascontiguousarray(self.frequencies.T) / math.tau
        for block in block_slices(len(z), max(1, CELLS // len(self.frequencies))):
            yield block, *cosines_and_sines(z[block] @ per_turn)


def _pairs(features: int, dimension: int) -> int:
    if features < 2 or features % 2 or dimension < 1:
        raise ParameterError(
            f"Fourier: features must be even and at least 2 (a cosine and a sine each), and dimension at least 1, "
            f"got features={features!r}, dimension={dimension!r}."
        )
    return features // 2


def _wrapped(counts: Floats) -> NDArray[np.uint64]:
    """Whole numbers modulo 2⁶⁴, exactly."""
    remainder = np.fmod(counts, _TURN)
    size = np.abs(remainder).astype(np.uint64)
    return np.where(remainder < 0, np.uint64(0) - size, size)


def _nearest_angles(turns: NDArray[np.uint64], columns: NDArray[np.uint64]) -> Integers:
    """Phases Σ ω_d·x_d modulo one turn (2⁶⁴), rounded to 2¹⁶ angles: (f, d), (d, n) → (f, n).

    Wrap-around is exact, so the order of columns and the width of the processor's registers change nothing. A
    floating-point matrix product here lets one row change the last bits of another's phase.
    """
    phases: NDArray[np.uint64] = turns[:, 0, None] * columns[0]
    for i in range(1, len(columns)):
        phases += turns[:, i, None] * columns[i]
    phases += _HALF_ANGLE
    phases >>= _SHIFT
    return phases.view(np.int64)


def _orthogonal_directions(generator: np.random.Generator, count: int, dimension: int) -> Floats:
    """Unit vectors, each uniform on the sphere, orthogonal within blocks of d: (count, d)."""
    blocks = -(-count // dimension)
    q, r = np.linalg.qr(generator.standard_normal((blocks, dimension, dimension)))
    q *= np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]  # else LAPACK's signs spoil uniformity
    return q.transpose(0, 2, 1).reshape(blocks * dimension, dimension)[:count]
