"""Whole releases, as an owner would make them: each method at its defaults, beside the paper's best over all M."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import kernelease as ke
from benchmarks import mixtures
from benchmarks.checks import Check
from benchmarks.published import DELTA, EPSILONS
from benchmarks.truth import OfRows
from kernelease.exact.rows import PrivateArray
from kernelease.methods.method import Context
from kernelease.privacy.noise import NoiseSource
from kernelease.table.domains import VectorDomain

PUBLISHED_ROWS = 1_000  # the paper's best over all M has up to ten times as many
MANY_ROWS = 10_000  # as many as the paper has at most


@dataclass(frozen=True)
class Contender:
    """What to compare: for a number of columns, methods that measure alike and fit differently, by name."""

    methods: Callable[[int], dict[str, ke.methods.Method]]
    published_rows: int = 0  # how many it is given
    slow: bool = False  # released once at each ε, not several times; left out of a quick run
    least_runs: int = 1


def _subspace(points: ke.fit.NormalPoints | ke.fit.PublishedRows) -> dict[str, ke.methods.Method]:
    return {
        "Subspace, free weights": ke.Subspace(points=points),
        "Subspace": ke.Subspace(points=points, constraint=ke.fit.Simplex()),
    }


def _random_features(dimension: int) -> dict[str, ke.methods.Method]:
    solver = ke.fit.GreedyPreimages(points=316, constraint=ke.fit.Simplex())
    return {"RandomFeatures": ke.RandomFeatures(start=mixtures.prior(dimension), features=10_000, solver=solver)}


def _adaptive(points: ke.fit.NormalPoints | ke.fit.PublishedRows) -> dict[str, ke.methods.Method]:
    return {"Adaptive": ke.Adaptive(points=points)}


# Another method is one line more.
CONTENDERS = (
    Contender(lambda d: _subspace(mixtures.prior(d)), slow=True),
    Contender(_random_features),
    Contender(lambda _: _subspace(ke.fit.PublishedRows(PUBLISHED_ROWS)), published_rows=PUBLISHED_ROWS),
    Contender(lambda d: _adaptive(mixtures.prior(d)), least_runs=5),
    Contender(lambda _: _adaptive(ke.fit.PublishedRows(MANY_ROWS)), published_rows=MANY_ROWS, least_runs=5),
)
DRAWN = ("Subspace", "RandomFeatures", "Adaptive")  # in the figure


@dataclass(frozen=True)
class Score:
    """RKHS distances of one method: for each ε, one per run; and the mean CPU seconds that a release took."""

    name: str
    published_rows: int
    drawn: bool
    errors: list[list[float]]
    points: list[int]  # in the last run
    seconds: list[float]


def scores(
    contender: Contender, truth: OfRows, dimension: int, runs: int, *, noise: NoiseSource | None = None
) -> list[Score]:
    """Release several times at each ε (once if slow), with fresh noise if none is given, and compare with the truth."""
    names = contender.methods(dimension)
    results = {name: Score(name, contender.published_rows, name in DRAWN, [], [], []) for name in names}
    for epsilon in EPSILONS:
        outcomes = [
            released(contender, truth, epsilon, run, ke.SystemNoise() if noise is None else noise)
            for run in range(1 if contender.slow else max(runs, contender.least_runs))
        ]
        for name, score in results.items():
            errors, points, seconds = zip(*(outcome[name] for outcome in outcomes), strict=True)
            score.errors.append(list(errors))
            score.points.append(points[-1])
            score.seconds.append(sum(seconds) / len(seconds))
    return list(results.values())


def released(
    contender: Contender, truth: OfRows, epsilon: float, run: int, noise: NoiseSource
) -> dict[str, tuple[float, int, float]]:
    """Measure once, fit with each method: error, number of points, CPU seconds."""
    privacy = ke.Privacy(epsilon=epsilon, delta=DELTA)
    context = Context(
        domain=VectorDomain(truth.kernel),
        privacy=privacy,
        ledger=ke.MemoryLedger(privacy),
        noise=noise,
        seed=ke.PublicSeed(run),
        threads=os.cpu_count() or 1,
    )
    methods = contender.methods(truth.rows.shape[1])
    start = time.process_time()
    measured = next(iter(methods.values())).measure(PrivateArray(truth.rows), context)
    measuring = time.process_time() - start
    outcomes = {}
    for name, method in methods.items():
        start = time.process_time()
        synthetic = method.fit(measured, context.seed).synthetic
        seconds = measuring + time.process_time() - start
        outcomes[name] = (truth.distance(synthetic.points, synthetic.weights), len(synthetic), seconds)
    return outcomes


# What the medians of Adaptive must not pass, by number of columns and whether 10,000 rows are published.
TARGETS = {
    (2, False): (0.026, 0.0031, 0.00042),
    (5, False): (0.039, 0.0047, 0.00064),
    (2, True): (0.0070, 0.0025, 0.00043),
    (5, True): (0.0078, 0.0033, 0.00085),
}


def targets_met(entries: Sequence[Score], dimension: int) -> list[Check]:
    """One check per ε for each entry of Adaptive."""
    return [
        Check(
            f"Adaptive, {entry.published_rows or 'no'} published rows, ε = {epsilon:g}: at most {target:g}",
            f"median {np.median(errors):.4g} of {len(errors)} runs",
            bool(np.median(errors) <= target),
        )
        for entry in entries
        if entry.name == "Adaptive"
        for epsilon, errors, target in zip(
            EPSILONS, entry.errors, TARGETS[dimension, entry.published_rows > 0], strict=True
        )
    ]
