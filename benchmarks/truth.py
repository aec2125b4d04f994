"""What no release may show: how far a weighted set is from the private mean embedding. For evaluation only."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from benchmarks import mixtures
from kernelease.arrays import Floats, Rows, block_slices
from kernelease.kernels.kernel import Kernel

T = TypeVar("T")
_BLOCK = 2048


class Truth(ABC):
    """A mean embedding μ that is known, and distances to it in the kernel's own space."""

    kernel: Kernel

    @property
    @abstractmethod
    def energy(self) -> float:
        """‖μ‖²."""

    @abstractmethod
    def similarity(self, points: Rows) -> Floats:
        """μ(z) at each point z: (M, D) → (M,)."""

    def distance(self, points: Rows, weights: Floats) -> float:
        """‖μ − Σ w_m k(z_m, ·)‖, by ‖μ‖² − 2 w·μ(z) + wᵀKw."""
        used = weights != 0.0
        z, w = points[used], weights[used]
        squared = self.energy - 2.0 * float(w @ self.similarity(z)) + float(w @ self.kernel.gram(z, z) @ w)
        return float(np.sqrt(max(0.0, squared)))


@dataclass(frozen=True)
class OfRows(Truth):
    """μ = (1/N) Σ k(xₙ, ·) for private rows x.

    `known_energy` is the mean of the Gram matrix where it is known: computing it takes N²/2 kernel values.
    """

    kernel: Kernel
    rows: Rows
    known_energy: float | None = None

    @cached_property
    def energy(self) -> float:
        return mean_gram(self.kernel, self.rows) if self.known_energy is None else self.known_energy

    def similarity(self, points: Rows) -> Floats:
        sums = _in_threads(lambda s: self.kernel.gram(points[s], self.rows).sum(axis=1), len(points), block=32)
        return np.concatenate(list(sums)) / len(self.rows)


@dataclass(frozen=True)
class OfMixture(Truth):
    """μ = E k(X, ·) for the mixture that the rows are drawn from, in closed form."""

    dimension: int

    @property
    def kernel(self) -> Kernel:
        return mixtures.kernel(self.dimension)

    @cached_property
    def energy(self) -> float:
        centres = mixtures.means(self.dimension)
        return float(mixtures.shares() @ self._smoothed(centres, draws=2) @ mixtures.shares())

    def similarity(self, points: Rows) -> Floats:
        return self._smoothed(points, draws=1) @ mixtures.shares()

    def _smoothed(self, points: Rows, *, draws: int) -> Floats:
        """E k(X, z) for X of each component, z fixed (1 draw) or of spread 30 itself (2): (M, D) → (M, 10)."""
        narrow = np.asarray(mixtures.kernel(self.dimension).lengthscale) ** 2
        wide = narrow + draws * mixtures.SPREAD**2
        squared = (points[:, None, :] - mixtures.means(self.dimension)) ** 2
        return np.sqrt(np.prod(narrow / wide)) * np.exp(-0.5 * (squared / wide).sum(axis=2))


def mean_gram(kernel: Kernel, rows: Rows) -> float:
    """(1/N²) Σ k(xₘ, xₙ), by blocks on all cores."""

    def upper(s: slice) -> float:
        total = float(kernel.gram(rows[s], rows[s]).sum())
        for t in block_slices(len(rows) - s.stop, _BLOCK):
            total += 2.0 * float(kernel.gram(rows[s], rows[s.stop + t.start : s.stop + t.stop]).sum())
        return total

    return sum(_in_threads(upper, len(rows), block=_BLOCK)) / len(rows) ** 2


def _in_threads(function: Callable[[slice], T], count: int, *, block: int) -> Iterator[T]:
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from pool.map(function, block_slices(count, block))
