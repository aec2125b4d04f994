"""Random binning features of the Laplace kernel: which cell of a random grid a row falls in."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers, Rows
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap
from kernelease.features.grid import DEFAULT_STEPS, LARGEST_STEP, checked_resolution, default_resolution, grid_columns
from kernelease.kernels.numeric import Laplace
from kernelease.kernels.rounding import sqrt_above, step_below
from kernelease.seeds import PublicSeed

Words = NDArray[np.uint64]

_MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_HALF = np.uint64(32)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RandomBinning(FeatureMap):
    """Random binning (Rahimi & Recht 2007): φ(x) has 1/√G at the bucket of the cell of x, on each of G grids.

    A grid has pitch δ_d ~ Gamma(2, ℓ_d) and a uniform shift in column d. Two rows share a cell with probability
    Π_d exp(−|x_d − y_d|/ℓ_d), the product Laplace kernel. Cells are hashed to `buckets` (B) per grid, J = G·B, which
    adds (1 − k)/B ≤ 1/B to the kernel in expectation: two distinct cells share a bucket with probability 1/B. The
    grids are rounded to the columns' `resolution`, a relative error of about 10⁻⁶ in ℓ at the default.

    Norm 1, and no inner product is negative, so the diameter is √2: the smallest there is for Laplace noise or
    add-remove neighbours. The features are piecewise constant, hence without gradient.

    `pitches` and `shifts` (G, d) are in grid steps; `keys` (G,) are the public keys of the hash.

    >>> from kernelease.kernels import Laplace
    >>> phi = RandomBinning.random(Laplace(lengthscale=1.0), grids=3, buckets=8, dimension=2, seed=PublicSeed(1))
    >>> phi.dimension, int(phi.integers(np.zeros((1, 2))).sum()), phi.diameter
    (24, 3, 1.4142135623730951)
    """

    pitches: Integers = field(repr=False)
    shifts: Integers = field(repr=False)
    keys: Words = field(repr=False)
    buckets: int
    resolution: tuple[float, ...]

    def __post_init__(self) -> None:
        resolution = checked_resolution(self.resolution, "RandomBinning")
        pitches, shifts = np.array(self.pitches, dtype=np.int64), np.array(self.shifts, dtype=np.int64)
        keys = np.array(self.keys, dtype=np.uint64)
        if pitches.ndim != 2 or shifts.shape != pitches.shape or keys.shape != (len(pitches),) or not len(keys):
            raise ParameterError(
                "RandomBinning: pitches and shifts must have shape (G, d) and keys (G,) with G at least 1, "
                f"got {pitches.shape}, {shifts.shape} and {keys.shape}."
            )
        if pitches.shape[1] != len(resolution):
            raise ParameterError(
                f"RandomBinning: resolution must have one entry per column ({pitches.shape[1]}), got {len(resolution)}."
            )
        if (pitches < 1).any() or (shifts < 0).any() or (shifts >= pitches).any() or (pitches > LARGEST_STEP).any():
            raise ParameterError("RandomBinning: pitches must be from 1 to 2⁴³ grid steps, and 0 ≤ shifts < pitches.")
        if not 1 <= self.buckets <= 2**31:
            raise ParameterError(f"RandomBinning: buckets must be from 1 to 2³¹, got {self.buckets!r}.")
        for name, value in (("pitches", pitches), ("shifts", shifts), ("keys", keys)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "resolution", resolution)

    @classmethod
    def random(cls, kernel: Laplace, *, grids: int, buckets: int, dimension: int, seed: PublicSeed) -> Self:
        """G = `grids` independent grids for rows of `dimension` columns, each with `buckets` (B) buckets."""
        if not isinstance(kernel, Laplace):
            raise ParameterError(f"RandomBinning: the kernel must be Laplace, got {type(kernel).__name__}.")
        if grids < 1 or dimension < 1:
            raise ParameterError(
                f"RandomBinning: grids and dimension must be at least 1, got grids={grids!r}, dimension={dimension!r}."
            )
        generator = seed.generator("random binning")
        resolution = default_resolution(kernel.lengthscale, dimension)
        drawn = np.rint(generator.gamma(2.0, DEFAULT_STEPS, (grids, dimension)))  # the grid has 2²⁰ steps in ℓ_d
        pitches = np.clip(drawn, 1, LARGEST_STEP).astype(np.int64)
        return cls(
            pitches=pitches,
            shifts=generator.integers(0, pitches),
            keys=generator.integers(0, 2**64, grids, dtype=np.uint64),
            buckets=buckets,
            resolution=resolution,
        )

    @property
    def dimension(self) -> int:
        """J = G·B."""
        return len(self.keys) * self.buckets

    @property
    def step(self) -> float:
        """1/√G, rounded down."""
        return step_below(len(self.keys))

    @property
    def norm_bound(self) -> float:
        """1: a single 1 in each of G grids."""
        return 1.0

    @property
    def diameter(self) -> float:
        """√2: the inner product of two rows is the share of grids that put them in one bucket, never negative."""
        return sqrt_above(2)

    @property
    def norm_bound_l1(self) -> float:
        """√G."""
        return sqrt_above(len(self.keys))

    @property
    def diameter_l1(self) -> float:
        """2√G."""
        return 2.0 * self.norm_bound_l1

    def integers(self, rows: Rows) -> Integers:
        """1 at the row's bucket of each grid: (n, d) → (n, J)."""
        result = np.zeros((len(rows), self.dimension), dtype=np.int64)
        for grid, chosen in self._buckets(rows):
            result[np.arange(len(rows)), grid * self.buckets + chosen] = 1
        return result

    def total(self, rows: Rows) -> Integers:
        """Rows per bucket, over any number of rows: (n, d) → (J,)."""
        counts = [np.bincount(chosen, minlength=self.buckets) for _, chosen in self._buckets(rows)]
        return np.concatenate(counts).astype(np.int64)

    def _buckets(self, rows: Rows) -> Iterator[tuple[int, Integers]]:
        """The bucket of every row, grid by grid: (n,) each."""
        columns = grid_columns(rows, self.resolution, "RandomBinning")
        for grid in range(len(self.keys)):
            word = np.full(columns.shape[1], self.keys[grid])
            for column, pitch, shift in zip(columns, self.pitches[grid], self.shifts[grid], strict=True):
                word = _mixed(word ^ ((column + shift) // pitch).view(np.uint64))
            yield grid, (((word >> _HALF) * np.uint64(self.buckets)) >> _HALF).view(np.int64)

    def evaluate(self, points: Rows) -> Floats:
        """φ of public points: (m, d) → (m, J)."""
        return np.multiply(self.integers(points), self.step, dtype=np.float64)


def _mixed(word: Words) -> Words:
    """The finaliser of SplitMix64 (Steele et al. 2014): a bijection of 64-bit words that spreads every bit."""
    for shift, multiplier in zip(_SHIFTS, _MULTIPLIERS, strict=False):
        word = (word ^ (word >> shift)) * multiplier
    return word ^ (word >> _SHIFTS[2])
