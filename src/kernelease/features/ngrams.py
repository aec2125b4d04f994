"""Hashed n-gram features of strings."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, final

import numpy as np

from kernelease.arrays import Floats, Integers, Rows
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap
from kernelease.features.grid import checked_rows
from kernelease.kernels.rounding import sqrt_above
from kernelease.seeds import PublicSeed

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

    def __post_init__(self) -> None:
        if self.n < 1 or self.max_length < 1:
            raise ParameterError(
                f"HashedNgrams: n and max_length must be at least 1, got n={self.n!r}, max_length={self.max_length!r}."
            )
        if not 1 <= self.buckets <= 2**31:
            raise ParameterError(f"HashedNgrams: buckets must be from 1 to 2³¹, got {self.buckets!r}.")

    @property
    def dimension(self) -> int:
        """J = `buckets`."""
        return self.buckets

    @property
    def step(self) -> float:
        """2⁻²⁰."""
        return 1.0 / _UNIT

    @property
    def norm_bound(self) -> float:
        """1: ⌊c·2²⁰/‖c‖⌋ has a sum of squares of at most 2⁴⁰."""
        return 1.0

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

    def evaluate(self, points: Rows) -> Floats:
        """φ of public strings: (m, 1) → (m, J)."""
        return np.multiply(self.integers(points), self.step, dtype=np.float64)

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
            yield _normalised(counts)

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


def _normalised(counts: Counter[int]) -> dict[int, int]:
    """⌊|c|·2²⁰/‖c‖⌋ with the sign of c: Σ v² ≤ 2⁴⁰ since each v² ≤ c²·2⁴⁰/Σc² in exact arithmetic.

    With signs, all counts of a row may cancel: its vector is then zero.
    """
    square = sum(count * count for count in counts.values())
    sizes = {bucket: math.isqrt(count * count * _UNIT**2 // square) for bucket, count in counts.items() if count}
    return {bucket: size if counts[bucket] > 0 else -size for bucket, size in sizes.items()}
