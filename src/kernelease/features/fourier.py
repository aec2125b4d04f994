"""Random Fourier features: paired, in fixed point, of norm at most 1 in integers."""

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers, Rows, block_slices
from kernelease.errors import ParameterError
from kernelease.features.feature_map import (
    FeatureMap,
    checked_resolution,
    clamped_points,
    default_resolution,
    grid_columns,
)
from kernelease.kernels.elementary import sqrt_above, step_below
from kernelease.kernels.numeric import Radial, ShiftInvariant
from kernelease.seeds import PublicSeed

# ---- The unit circle in integers: cosines and sines of 2¹⁶ angles, rounded toward zero.
#
# Rounding toward zero is what makes cos² + sin² ≤ 1 hold *in integers*, and with it the norm of every Fourier feature
# map. The table is made of Python integers and `math.isqrt` only, so that it is the same on every machine; a sine of
# the C library may differ in its last bit between two of them.


ANGLE_BITS = 16  # of a turn: cosines and sines of 2¹⁶ angles take 1 MiB
RADIUS = 2**18  # ROWS_PER_SUM sines then add up to at most 2³⁰, within a half word
ROWS_PER_SUM = 2**12  # so many packed entries can be added before the sine's part reaches its neighbour's bits
_HALF_WORD = 2**31  # sums of sines lie in the lower 32 bits, signed
_GUARD_BITS = 96  # of the recursion, far more than RADIUS has


def _first_angle() -> tuple[int, int]:
    """Cosine and sine of 2π/2¹⁶ in units of 2⁻⁹⁶, by halving a right angle fourteen times."""
    one = 1 << _GUARD_BITS
    cosine, sine = 0, one
    for _ in range(ANGLE_BITS - 2):
        cosine, sine = math.isqrt((one + cosine) * one // 2), math.isqrt((one - cosine) * one // 2)
    return cosine, sine


def _first_quarter() -> list[tuple[int, int]]:
    """(cos, sin) of the angles from 0 up to a quarter turn, in units of 1/RADIUS, rounded toward zero."""
    one, shift = 1 << _GUARD_BITS, _GUARD_BITS - RADIUS.bit_length() + 1
    cosine, sine = _first_angle()
    entries = [(RADIUS, 0)]
    x, y = cosine, sine
    for _ in range(2 ** (ANGLE_BITS - 2) - 1):
        entries.append((x >> shift, y >> shift))
        x, y = (x * cosine - y * sine) // one, (x * sine + y * cosine) // one
    return entries


@functools.cache
def circle() -> tuple[Integers, Integers]:
    """Cosines and sines of the angles 2πi/2¹⁶ in units of 1/RADIUS, cos² + sin² ≤ RADIUS² for each: two of (2¹⁶,).

    >>> cosines, sines = circle()
    >>> int((cosines**2 + sines**2).max()) == RADIUS**2
    True
    """
    quarter = np.array(_first_quarter(), dtype=np.int64)
    x, y = quarter[:, 0], quarter[:, 1]
    cosines, sines = np.concatenate([x, -y, -x, y]), np.concatenate([y, x, -y, -x])
    for table in (cosines, sines):
        table.setflags(write=False)
    return cosines, sines


@functools.cache
def packed_circle() -> Integers:
    """cos·2³² + sin in one word, so that one look-up and one addition serve both: (2¹⁶,)."""
    cosines, sines = circle()
    packed: Integers = (cosines << 32) + sines
    packed.setflags(write=False)
    return packed


def unpack(sums: Integers) -> tuple[Integers, Integers]:
    """The sums of cosines and of sines from sums of at most `ROWS_PER_SUM` packed entries."""
    sines = ((sums + _HALF_WORD) & (2 * _HALF_WORD - 1)) - _HALF_WORD
    return (sums - sines) >> 32, sines


# ---- Cosine and sine together, for public points. Private rows use the integer table in `circle`.


CELLS = 2**14  # about so many at a time are quickest: they stay in the processor's cache


def cosines_and_sines(phases: Floats) -> tuple[Floats, Floats]:
    """Both, elementwise, from t = tan(p/2): cos p = 2/(1 + t²) − 1 and sin p = 2t/(1 + t²).

    One call of the library in place of two, and a vectorised one on many processors, where sines and cosines are not.

    >>> [wave.round(6) for wave in cosines_and_sines(np.array([0.0, math.pi / 2.0, math.pi]))]
    [array([ 1.,  0., -1.]), array([0., 1., 0.])]
    """
    t = np.tan(0.5 * phases)
    scale = 2.0 / (1.0 + t * t)
    return scale - 1.0, t * scale


# ---- The feature map.


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

    norm_bound: ClassVar[float] = 1.0
    """1: cos² + sin² ≤ 1 for each pair of table entries."""
    diameter: ClassVar[float] = 2.0
    """2: two rows half a turn apart at each frequency have opposite features."""
    block_rows: ClassVar[int] = ROWS_PER_SUM
    """As many as a word holds the sum of: loops over fewer are slower."""

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
        for name, value in (("frequencies", counts / scale), ("turns", _wrap(counts))):
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
        blocks = -(-count // dimension)
        q, r = np.linalg.qr(seed.generator("Fourier directions").standard_normal((blocks, dimension, dimension)))
        q *= np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]  # else LAPACK's signs spoil uniformity
        directions = q.transpose(0, 2, 1).reshape(blocks * dimension, dimension)[:count]
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
    def amplitude(self) -> float:
        """Of each wave: 1/√(J/2), rounded down."""
        return RADIUS * self.step

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
        result = np.empty((len(points), self.dimension))
        for block, cosines, sines in self._waves(clamped_points(points, self.resolution, "Fourier")):
            result[block] = np.concatenate([cosines, sines], axis=1)
        result *= self.amplitude
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
        a, b = (coefficients * self.amplitude).reshape(2, -1)
        values, gradients = np.empty(len(points)), np.empty(np.shape(points))
        for block, cosines, sines in self._waves(clamped_points(points, self.resolution, "Fourier")):
            values[block] = cosines @ a + sines @ b
            gradients[block] = (b * cosines - a * sines) @ self.frequencies
        return values, gradients

    def _waves(self, points: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
        """Blocks of public points, and the cosines and sines of ω·z at these: (m, F) each."""
        columns = np.ascontiguousarray(self.frequencies.T)
        for block in block_slices(len(points), max(1, CELLS // len(self.frequencies))):
            yield block, *cosines_and_sines(points[block] @ columns)


def _pairs(features: int, dimension: int) -> int:
    if features < 2 or features % 2 or dimension < 1:
        raise ParameterError(
            f"Fourier: features must be even and at least 2 (a cosine and a sine each), and dimension at least 1, "
            f"got features={features!r}, dimension={dimension!r}."
        )
    return features // 2


def _wrap(counts: Floats) -> NDArray[np.uint64]:
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
