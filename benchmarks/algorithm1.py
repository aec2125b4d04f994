"""Algorithm 1 for many numbers of public points at once: one basis, of which each smaller one is a prefix."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular

import kernelease as ke
from benchmarks.truth import OfRows
from kernelease.arrays import Floats, Integers, Rows, block_slices
from kernelease.features.nystrom import Nystrom, PartialCholesky
from kernelease.kernels.kernel import Kernel
from kernelease.privacy.mechanisms import PrivacyFilter, measure
from kernelease.privacy.sensitivity import ROWS, Sensitivity, sum_sensitivity

TOLERANCE = 1e-5  # the authors drop a point whose squared distance to the span of those before is at most this
WIDEST = 2048  # the largest rank for which the feature map is built; above it, its sensitivity is taken from there
_BLOCK = 256


@dataclass(frozen=True)
class Noise:
    """How σ follows from (ε, δ): the paper's way, or ours."""

    calibration: ke.privacy.Calibration
    lemma: bool  # whether the diameter is the paper's 2, not √2


PAPER = Noise(ke.privacy.Calibration.CLASSIC, lemma=True)
OURS = Noise(ke.privacy.Calibration.ANALYTIC, lemma=False)


@dataclass(frozen=True)
class Basis:
    """The authors' basis: points in their order, each joined unless it is (nearly) in the span of those before.

    The same as `partial_cholesky(..., order=Order.GIVEN)`, in blocks, so that 10,000 points take seconds.
    """

    points: Rows  # the points that joined, (F, D)
    joined: Integers  # their places in the given order, (F,)
    factor: Floats  # L with LLᵀ = K of the joined points, (F, F)

    @classmethod
    def of(cls, kernel: Kernel, points: Rows, *, tolerance: float = TOLERANCE) -> Self:
        joined = np.empty(0, dtype=np.int64)
        factor = np.zeros((len(points), len(points)))  # the system gives memory only where something is written
        for block in block_slices(len(points), _BLOCK):
            candidates, rank = points[block], len(joined)
            known = _forward(factor[:rank, :rank], kernel.gram(points[joined], candidates)).T
            new, corner = _in_order(kernel.gram(candidates, candidates) - known @ known.T, tolerance)
            joined = np.append(joined, block.start + new)
            factor[rank : len(joined), :rank] = known[new]
            factor[rank : len(joined), rank : len(joined)] = corner
        return cls(points=points[joined], joined=joined, factor=factor[: len(joined), : len(joined)])

    def rank(self, count: int) -> int:
        """How many of the first `count` points have joined."""
        return int(np.searchsorted(self.joined, count))

    def coordinates(self, similarities: Floats) -> Floats:
        """Coordinates of a function in the basis, from its values at the points: (F,) → (F,)."""
        return _forward(self.factor, similarities[:, None])[:, 0]

    def feature_map(self, kernel: Kernel, rank: int) -> Nystrom:
        """The product's map onto the first `rank` basis functions."""
        whole = PartialCholesky(pivots=np.arange(len(self.points)), factor=self.factor, residuals=np.empty(0))
        return Nystrom.from_factor(kernel, self.points, whole, rank=rank)


def _forward(factor: Floats, right: Floats) -> Floats:
    """L⁻¹·right, block by block: (F, F), (F, n) → (F, n)."""
    result = right.copy()
    for s in block_slices(len(factor), _BLOCK):
        result[s] -= factor[s, : s.start] @ result[: s.start]
        result[s] = solve_triangular(factor[s, s], result[s], lower=True)
    return result


def _in_order(gram: Floats, tolerance: float) -> tuple[Integers, Floats]:
    """Which points join, in order, and their Cholesky factor: (n, n) → (m,), (m, m)."""
    new: list[int] = []
    factor = np.empty_like(gram)
    for i in range(len(gram)):
        if gram[i, i] > tolerance:
            column = gram[:, i] / np.sqrt(gram[i, i])
            gram = gram - np.outer(column, column)
            factor[:, len(new)] = column
            new.append(i)
    chosen = np.array(new, dtype=np.int64)
    return chosen, np.tril(factor[chosen, : len(new)])


@dataclass(frozen=True)
class Scale:
    """What the mechanism needs to know of a feature map."""

    step: float
    sensitivity: Sensitivity

    @classmethod
    def of(cls, feature_map: Nystrom) -> Self:
        return cls(feature_map.step, sum_sensitivity(feature_map, ke.Neighbours.REPLACE_ONE))


@dataclass(frozen=True)
class Experiment:
    """Algorithm 1 on one data set with one list of public points, of which the first M are used."""

    truth: OfRows
    basis: Basis
    coordinates: Floats  # of the private mean embedding, without noise: (F,)
    _scales: dict[int, dict[bool, Scale]] = field(default_factory=dict)

    @classmethod
    def of(cls, truth: OfRows, points: Rows) -> Self:
        basis = Basis.of(truth.kernel, points)
        return cls(truth, basis, basis.coordinates(truth.similarity(basis.points)))

    def projection(self, counts: Integers) -> Floats:
        """Distance of the mean embedding to the span of the first M points, without noise: (m,) → (m,)."""
        captured = np.append(0.0, np.cumsum(self.coordinates**2))
        ranks = [self.basis.rank(count) for count in counts]
        return np.sqrt(np.maximum(self.truth.energy - captured[ranks], 0.0))

    def errors(self, counts: Integers, noise: Noise, privacy: ke.Privacy, repeats: int) -> Floats:
        """RKHS distances of released embeddings, fresh noise in each repeat: (m,) → (repeats, m).

        In an orthonormal basis the squared distance is that of the projection plus the squared norm of the noise.
        """
        privacy = replace(privacy, calibration=noise.calibration)
        squared = np.tile(self.projection(counts) ** 2, (repeats, 1))
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for rank, members in self._sharing_a_map(counts):
                scale = self._scale(min(rank, WIDEST))[noise.lemma]
                draws = pool.map(lambda _, s=scale, r=rank: self._noise(s, r, privacy), range(repeats))
                drawn = np.pad(np.cumsum(np.array(list(draws)) ** 2, axis=1), ((0, 0), (1, 0)))
                squared[:, members] += drawn[:, [self.basis.rank(counts[m]) for m in members]]
        return np.sqrt(squared)

    def _sharing_a_map(self, counts: Integers) -> Iterator[tuple[int, list[int]]]:
        """Ranks, each with the places in `counts` that have it; all beyond the widest map are taken together."""
        ranks = np.array([self.basis.rank(count) for count in counts])
        for rank in sorted(set(ranks[ranks <= WIDEST].tolist())):
            yield rank, np.flatnonzero(ranks == rank).tolist()
        if ranks.max() > WIDEST:
            yield int(ranks.max()), np.flatnonzero(ranks > WIDEST).tolist()

    def _scale(self, rank: int) -> dict[bool, Scale]:
        """With our diameter and with the lemma's, from one map: building it is the dear part."""
        if rank not in self._scales:
            feature_map = self.basis.feature_map(self.truth.kernel, rank)
            self._scales[rank] = {lemma: Scale.of(replace(feature_map, lemma=lemma)) for lemma in (False, True)}
        return self._scales[rank]

    def _noise(self, scale: Scale, rank: int, privacy: ke.Privacy) -> Floats:
        """What the product's mechanism adds to the first `rank` coordinates of the mean: (rank,)."""
        unit = scale.step / len(self.truth.rows)
        exact = np.rint(self.coordinates[:rank] / unit)
        budget = PrivacyFilter.open(
            privacy,
            ledger=ke.MemoryLedger(privacy),
            subject=ROWS,
            coordinates=rank,
            purpose="a repeat of the benchmark",
        )
        measured = measure(
            exact.astype(np.int64).astype(object),
            scale.sensitivity,
            budget=budget,
            share=1.0,
            noise=ke.SystemNoise(),
            label="coordinates",
        )
        return (measured.values - exact) * unit
