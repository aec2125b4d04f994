"""Indicator features: one-hot categories, cells of a random grid, hashed n-grams of strings."""

import hashlib
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Integers, Rows
from kernelease.errors import ParameterError
from kernelease.features.feature_map import (
    DEFAULT_STEPS,
    LARGEST_STEP,
    FeatureMap,
    checked_resolution,
    checked_rows,
    default_resolution,
    grid_columns,
)
from kernelease.kernels.discrete import Kronecker
from kernelease.kernels.elementary import sqrt_above, step_below
from kernelease.kernels.numeric import Laplace
from kernelease.seeds import PublicSeed

# ---- A single 1 in each of some parts: φ(x)·φ(y) is the share of parts in which two rows have it in the same place.


class OneOfEach(FeatureMap):
    """Features that are 1/√c at one place of each of c parts, and 0 elsewhere."""

    __slots__ = ()

    norm_bound: ClassVar[float] = 1.0
    """1: one place in each part."""
    diameter: ClassVar[float] = sqrt_above(2)
    """√2: inner products are shares of equal parts, never negative."""

    @property
    @abstractmethod
    def parts(self) -> int:
        """c: how many parts there are."""

    @property
    def step(self) -> float:
        """1/√c, rounded down."""
        return step_below(self.parts)

    @property
    def norm_bound_l1(self) -> float:
        return sqrt_above(self.parts)

    @property
    def diameter_l1(self) -> float:
        return 2.0 * self.norm_bound_l1


# ---- One-hot features of categories.


Values: TypeAlias = tuple[Hashable, ...]


@final
@dataclass(frozen=True, slots=True)
class OneHot(OneOfEach):
    """One-hot features: φ(x) has 1/√c at the atom of each of c columns, so φ(x)·φ(y) is the share of equal columns.

    `values` are the declared categories of one column, or a tuple of such tuples, one per column. What is not declared
    is the column's last atom, *other*. NaN counts as None, as for the `Kronecker` kernel. Declare the categories, don't
    collect them from private rows: a category that one person has would give that person away. Norm 1, diameter √2.

    >>> phi = OneHot(("red", "green"))
    >>> phi.integers(np.array([["green"], ["blue"], [None]], dtype=object))
    array([[0, 1, 0],
           [0, 0, 1],
           [0, 0, 1]])
    >>> OneHot((("red", "green"), (0, 1, 2))).dimension
    7
    """

    values: Values | tuple[Values, ...]
    _columns: tuple[Kronecker, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        several = tuple(values for values in self.values if isinstance(values, tuple))
        columns = several if several and len(several) == len(self.values) else (self.values,)
        object.__setattr__(self, "_columns", tuple(Kronecker(values=values) for values in columns))

    @property
    def dimension(self) -> int:
        """J: the declared values of every column, and one *other* each."""
        return sum(len(column.values) + 1 for column in self._columns)

    @property
    def parts(self) -> int:
        return len(self._columns)

    def atoms(self, rows: Rows) -> Integers:
        """The atom of every cell, numbered within its column; *other* is the last: (n, c) → (n, c)."""
        cells = checked_rows(rows, len(self._columns), "OneHot")
        return np.stack([column.codes(cells[:, i, None]) for i, column in enumerate(self._columns)], axis=1)

    def integers(self, rows: Rows) -> Integers:
        """1 at the atom of each column: (n, c) → (n, J)."""
        atoms = self.atoms(rows)
        result = np.zeros((len(atoms), self.dimension), dtype=np.int64)
        np.put_along_axis(result, atoms + self._offsets, 1, axis=1)
        return result

    def total(self, rows: Rows) -> Integers:
        """Rows per atom, over any number of rows: (n, c) → (J,)."""
        return np.bincount((self.atoms(rows) + self._offsets).ravel(), minlength=self.dimension).astype(np.int64)

    @property
    def _offsets(self) -> Integers:
        return np.cumsum([0, *(len(column.values) + 1 for column in self._columns[:-1])])


# ---- Random binning features of the Laplace kernel: which cell of a random grid a row falls in.


Words = NDArray[np.uint64]

_MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_HALF = np.uint64(32)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RandomBinning(OneOfEach):
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
        return len(self.keys) * self.buckets

    @property
    def parts(self) -> int:
        return len(self.keys)

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
                word = _mix(word ^ ((column + shift) // pitch).view(np.uint64))
            yield grid, (((word >> _HALF) * np.uint64(self.buckets)) >> _HALF).view(np.int64)


def _mix(word: Words) -> Words:
    """The finaliser of SplitMix64 (Steele et al. 2014): a bijection of 64-bit words that spreads every bit."""
    for shift, multiplier in zip(_SHIFTS, _MULTIPLIERS, strict=False):
        word = (word ^ (word >> shift)) * multiplier
    return word ^ (word >> _SHIFTS[2])


# ---- Hashed n-gram features of strings.


Place: TypeAlias = tuple[int, int]  # a bucket and a sign

_UNIT = 2**20  # fixed point of a feature: errors of 2⁻²⁰ are far below any noise
_START, _END = "\x02", "\x03"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HashedNgrams(FeatureMap):
    """Hashed n-gram counts of one string column, divided by their norm: φ(x) = c/‖c‖₂, J = `buckets`.

    Text is cut and padded as by the `Spectrum` kernel, which φ(x)·φ(y) approximates: at most `max_length` characters,
    n − 1 (at least 1) boundary characters at both ends, and what is not text counts as empty. Two different n-grams
    share a bucket with probability 1/J, which biases the unsigned form upward; with `signed` each n-gram also has a
    random sign and most of the bias averages out. The unsigned form has no negative inner products and diameter √2,
    the signed form has diameter 2.

    `seed` keys the hash (BLAKE2b, the same on every machine); it is public.

    >>> phi = HashedNgrams(n=2, buckets=64, max_length=100)
    >>> a, b, c = phi.evaluate(np.array([["abcdef"], ["abcdex"], [None]], dtype=object))
    >>> float(a @ a) <= 1.0, bool(a @ b > a @ c)
    (True, True)
    """

    n: int
    buckets: int
    max_length: int
    signed: bool = False
    seed: PublicSeed = field(default_factory=PublicSeed)

    step: ClassVar[float] = 1.0 / _UNIT
    """2⁻²⁰."""
    norm_bound: ClassVar[float] = 1.0
    """1: ⌊c·2²⁰/‖c‖⌋ has a sum of squares of at most 2⁴⁰."""

    def __post_init__(self) -> None:
        if self.n < 1 or self.max_length < 1:
            raise ParameterError(
                f"HashedNgrams: n and max_length must be at least 1, got n={self.n!r}, max_length={self.max_length!r}."
            )
        if not 1 <= self.buckets <= 2**31:
            raise ParameterError(f"HashedNgrams: buckets must be from 1 to 2³¹, got {self.buckets!r}.")

    @property
    def dimension(self) -> int:
        return self.buckets

    @property
    def diameter(self) -> float:
        """√2, or 2 where signs make negative inner products."""
        return 2.0 if self.signed else sqrt_above(2)

    @property
    def norm_bound_l1(self) -> float:
        """√m, where at most m buckets are hit: no more than there are n-grams."""
        return sqrt_above(min(self.buckets, self.max_length + 2 * self._padding - self.n + 1))

    @property
    def diameter_l1(self) -> float:
        """2√m, or √J times the diameter where that is less."""
        return min(2.0 * self.norm_bound_l1, sqrt_above(self.buckets * (4 if self.signed else 2)))

    def integers(self, rows: Rows) -> Integers:
        """⌊c·2²⁰/‖c‖⌋, toward zero: (n, 1) → (n, J)."""
        result = np.zeros((len(rows), self.buckets), dtype=np.int64)
        for row, vector in enumerate(self._vectors(rows)):
            if vector:
                result[row, list(vector)] = list(vector.values())
        return result

    def total(self, rows: Rows) -> Integers:
        """Sum of `integers` over any number of rows: (n, 1) → (J,)."""
        result = np.zeros(self.buckets, dtype=np.int64)
        for vector in self._vectors(rows):
            if vector:  # signed counts may all cancel
                result[list(vector)] += list(vector.values())
        return result

    def _vectors(self, rows: Rows) -> Iterator[dict[int, int]]:
        """The entries of each row's integers that are not zero, by bucket."""
        places: dict[str, Place] = {}
        for cell in checked_rows(rows, 1, "HashedNgrams")[:, 0]:
            counts: Counter[int] = Counter()
            for gram, count in Counter(self._ngrams(cell)).items():
                if gram not in places:
                    places[gram] = self._place(gram)
                bucket, sign = places[gram]
                counts[bucket] += sign * count
            yield _normalise(counts)

    @property
    def _padding(self) -> int:
        return max(1, self.n - 1)

    def _ngrams(self, cell: object) -> Iterator[str]:
        text = str.__getitem__(cell, slice(self.max_length)) if isinstance(cell, str) else ""
        padded = _START * self._padding + text + _END * self._padding
        return (padded[i : i + self.n] for i in range(len(padded) - self.n + 1))

    def _place(self, gram: str) -> Place:
        """The bucket and the sign of an n-gram. Not Python's `hash`, which changes from one process to the next."""
        data, key = gram.encode("utf-8", "surrogatepass"), self.seed.value.to_bytes(8)
        word = int.from_bytes(hashlib.blake2b(data, digest_size=8, key=key).digest())
        return (word >> 1) % self.buckets, -1 if self.signed and word & 1 else 1


def _normalise(counts: Counter[int]) -> dict[int, int]:
    """⌊|c|·2²⁰/‖c‖⌋ with the sign of c: Σ v² ≤ 2⁴⁰ since each v² ≤ c²·2⁴⁰/Σc² in exact arithmetic.

    With signs, all counts of a row may cancel: its vector is then zero.
    """
    square = sum(count * count for count in counts.values())
    sizes = {bucket: math.isqrt(count * count * _UNIT**2 // square) for bucket, count in counts.items() if count}
    return {bucket: size if counts[bucket] > 0 else -size for bucket, size in sizes.items()}
