"""Exact statistics of a permutation test: of the rows as they are, and of the same rows in random orders.

All are norms of integer vectors, rounded down to integers: one row moves each by at most its `Sensitivity`, whatever
the order (docs/proofs/permutation-tests.md).
"""

import math
from collections.abc import Iterator
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers, block_slices
from kernelease.errors import CapacityError
from kernelease.privacy.filter import PrivacyFilter
from kernelease.privacy.mechanisms import exceed
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import Sensitivity, covariance_sensitivity, mean_distance_sensitivity
from kernelease.privacy.step import Measurement
from kernelease.private.private import Private
from kernelease.table.atom_features import STEPS, AtomFeatures, PairFeatures

MOST_PRODUCTS = 2**16  # of two columns' features: so many are squared in Python's integers for each order
MOST_ROWS = 2**22  # of either table: (n + m)² products of two features below 2⁸ stay below 2⁶³
_AT_ONCE = 2**24  # rows times orders that are summed at a time: 128 MiB


@final
class PermutedStatistics(Private):
    """One statistic of the rows, and those of the same rows reordered. Private: `exceed` is the only way out.

    `unit` is what one integer is worth in the kernel's own measure.
    """

    __slots__ = ("_observed", "_others", "_sensitivity", "unit")

    def __init__(self, statistics: list[int], sensitivity: Sensitivity, *, unit: float) -> None:
        self._observed, *self._others = statistics
        self._sensitivity = sensitivity
        self.unit = unit

    @classmethod
    def distances(
        cls, first: Integers, second: Integers, features: PairFeatures, *, draws: int, generator: np.random.Generator
    ) -> "PermutedStatistics":
        """n·m·MMD of two tables of atom codes, (n, columns) and (m, columns), and of random halves of their rows."""
        sizes = _checked(len(first)), _checked(len(second))
        rows = np.concatenate([first, second])
        squares = np.zeros(draws + 1, dtype=object)
        for place in block_slices(draws + 1, max(1, _AT_ONCE // len(rows))):
            chosen = _halves(place, sizes, generator)
            for block in features.blocks(rows):
                sums = np.rint(chosen @ block).astype(np.int64)  # integers below 2⁵³: exact
                total = np.rint(block.sum(axis=0)).astype(np.int64)
                squares[place] += _squares(len(rows) * sums - sizes[0] * total)
        return cls(
            [math.isqrt(square) for square in squares],
            mean_distance_sensitivity(features.squared_diameter, sizes),
            unit=features.unit / math.prod(sizes),
        )

    @classmethod
    def covariances(
        cls, codes: Integers, columns: tuple[AtomFeatures, AtomFeatures], *, draws: int, generator: np.random.Generator
    ) -> "PermutedStatistics":
        """n²·√HSIC of two columns of atom codes, (n, 2), and of the same with the second in random orders."""
        count, (one, other) = _checked(len(codes)), columns
        if one.size * other.size > MOST_PRODUCTS:
            raise CapacityError(
                f"The two columns have {one.size} and {other.size} features; a test takes a product of at most "
                f"{MOST_PRODUCTS:,}. Declare groups of their values."
            )
        means = np.outer(one.integers[codes[:, 0]].sum(axis=0), other.integers[codes[:, 1]].sum(axis=0))
        statistics = []
        for second in _orders(codes[:, 1], draws, generator):
            difference = count * _products(codes[:, 0], second, columns) - means
            statistics.append(math.isqrt(int(_squares(difference.reshape(1, -1))[0])))
        return cls(
            statistics,
            covariance_sensitivity((one.squared_diameter, other.squared_diameter), count),
            unit=1.0 / (count * STEPS) ** 2,
        )

    def exceed(self, level: float, *, budget: PrivacyFilter, noise: NoiseSource, label: str) -> Measurement:
        """By how much the statistic passes its critical value, in integers, with noise: above 0 the test rejects.

        p = (1 + those that are no smaller) / (1 + all) is at most `level` exactly where the noisy statistic is above
        the ⌊level·(1 + all)⌋-th largest of the noisy others.
        """
        rank = math.floor(level * (1 + len(self._others)))
        return exceed(self._observed, self._others, rank, self._sensitivity, budget=budget, noise=noise, label=label)


def _checked(count: int) -> int:
    if count > MOST_ROWS:
        raise CapacityError(f"A test on rows takes at most {MOST_ROWS:,} of them: take a random part.")
    return count


def _halves(place: slice, sizes: tuple[int, int], generator: np.random.Generator) -> Floats:
    """1 for the rows that count as the first table's; as they are in the very first: (orders, rows)."""
    chosen = np.zeros((place.stop - place.start, sum(sizes)))
    for number, row in enumerate(chosen, start=place.start):
        row[generator.permutation(sum(sizes))[: sizes[0]] if number else slice(sizes[0])] = 1.0
    return chosen


def _orders(codes: Integers, draws: int, generator: np.random.Generator) -> Iterator[Integers]:
    """As they are, then in random orders."""
    yield codes
    for _ in range(draws):
        yield generator.permutation(codes)


def _products(first: Integers, second: Integers, columns: tuple[AtomFeatures, AtomFeatures]) -> Integers:
    """Σ φ(x)ψ(y)ᵀ over rows, by way of their contingency table: (r, s)."""
    one, other = (column.integers.astype(np.float64) for column in columns)
    counts = np.bincount(first * len(other) + second, minlength=len(one) * len(other))
    products: Floats = one.T @ counts.reshape(len(one), len(other)).astype(np.float64) @ other
    return np.rint(products).astype(np.int64)


def _squares(vectors: Integers) -> Integers:
    """The squared norm of each row, in Python's integers, which can't overflow: (k, F) → (k,)."""
    squares: Integers = (vectors.astype(object) ** 2).sum(axis=1)
    return squares
