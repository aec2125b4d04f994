"""Algorithm 2 with the greedy solver: RKHS distances along its path, several fits at a time."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import kernelease as ke
from benchmarks import mixtures
from benchmarks.machine import in_processes
from benchmarks.published import DELTA, EPSILONS
from benchmarks.truth import Truth
from kernelease.arrays import Floats, Rows
from kernelease.exact.rows import ExactEmbedding
from kernelease.privacy.mechanisms import PrivacyFilter
from kernelease.privacy.sensitivity import ROWS

FEATURES = 10_000
COUNTS = (1, 3, 5, 10, 17, 31, 56, 100, 177, 316)  # the published numbers of points, up to 316


@dataclass(frozen=True)
class Fit:
    """One noisy embedding to fit, and where the greedy solver starts. All of it is public."""

    noisy: ke.measured.NoisyEmbedding
    source: ke.fit.NormalPoints
    seed: ke.PublicSeed
    counts: tuple[int, ...]

    def path(self) -> tuple[Rows, list[Floats]]:
        """All points in the order they were placed, and the weights of the first M of them for each count."""
        solver = ke.fit.GreedyPreimages(points=self.counts[-1], constraint=ke.fit.L1Ball(1.0), stop_at_noise=False)
        sets = [synthetic for synthetic, _ in solver.path(self.noisy, self.noisy.mean, self.source, self.seed)]
        return sets[-1].points, [sets[count - 1].weights for count in self.counts]


def path_errors(truth: Truth, rows: Rows, runs: int, counts: tuple[int, ...] = COUNTS) -> Floats:
    """RKHS distances at each ε, in each run (features, starts and noise of its own), at each count: (3, runs, m)."""
    fits = list(_fits(truth, rows, runs, counts))
    errors = [_errors(truth, *path) for path in in_processes(Fit.path, fits, os.cpu_count() or 1)]
    return np.array(errors).reshape(runs, len(EPSILONS), len(counts)).transpose(1, 0, 2)


def _fits(truth: Truth, rows: Rows, runs: int, counts: tuple[int, ...]) -> Iterator[Fit]:
    source = mixtures.prior(rows.shape[1])
    for run in range(runs):
        seed = ke.PublicSeed(run)
        feature_map = ke.features.Fourier.random(truth.kernel, features=FEATURES, dimension=source.dimension, seed=seed)
        exact = ExactEmbedding.of(rows, feature_map, threads=os.cpu_count() or 1)
        for epsilon in EPSILONS:
            privacy = ke.Privacy(epsilon=epsilon, delta=DELTA)
            budget = PrivacyFilter.open(
                privacy,
                ledger=ke.MemoryLedger(privacy),
                subject=ROWS,
                coordinates=FEATURES,
                purpose="a run of the benchmark",
            )
            yield Fit(exact.privatise(budget, noise=ke.SystemNoise()), source, seed, counts)


def _errors(truth: Truth, points: Rows, weights: list[Floats]) -> list[float]:
    """The distance of each prefix of the points with its weights."""
    gram, similarity = truth.kernel.gram(points, points), truth.similarity(points)
    squared = [truth.energy - 2.0 * w @ similarity[: len(w)] + w @ gram[: len(w), : len(w)] @ w for w in weights]
    return np.sqrt(np.maximum(squared, 0.0)).tolist()
