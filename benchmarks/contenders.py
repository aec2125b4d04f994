"""Whole releases, as an owner would make them: each method at its defaults, beside the paper's best over all M."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import kernelease as ke
from benchmarks import mixtures
from benchmarks.published import DELTA, EPSILONS
from benchmarks.truth import OfRows
from kernelease.methods.method import Context

PUBLISHED_ROWS = 1_000  # the paper's best over all M has up to ten times as many


@dataclass(frozen=True)
class Contender:
    """What to compare: for a number of columns, methods that measure alike and fit differently, by name."""

    methods: Callable[[int], dict[str, ke.Method]]
    published_rows: bool = False  # whether it is given the published rows
    slow: bool = False  # released once at each ε, not several times; left out of a quick run


def _subspace(points: ke.NormalPoints | ke.PublishedRows) -> dict[str, ke.Method]:
    return {
        "Subspace, free weights": ke.Subspace(points=points),
        "Subspace": ke.Subspace(points=points, constraint=ke.Simplex()),
    }


def _random_features(dimension: int) -> dict[str, ke.Method]:
    solver = ke.GreedyPreimages(points=316, constraint=ke.Simplex())
    return {"RandomFeatures": ke.RandomFeatures(start=mixtures.prior(dimension), features=10_000, solver=solver)}


# Another method is one line more.
CONTENDERS = (
    Contender(lambda d: _subspace(mixtures.prior(d)), slow=True),
    Contender(_random_features),
    Contender(lambda _: _subspace(ke.PublishedRows(PUBLISHED_ROWS)), published_rows=True),
)
DRAWN = ("Subspace", "RandomFeatures")  # in the figure


@dataclass(frozen=True)
class Score:
    """RKHS distances of one method: for each ε, one per run; and the mean seconds that a release took."""

    name: str
    published_rows: bool
    drawn: bool
    errors: list[list[float]]
    points: list[int]  # in the last run
    seconds: list[float]


def scores(contender: Contender, truth: OfRows, dimension: int, runs: int) -> list[Score]:
    """Release several times at each ε (once if slow), and compare with the truth."""
    names = contender.methods(dimension)
    results = {name: Score(name, contender.published_rows, name in DRAWN, [], [], []) for name in names}
    for epsilon in EPSILONS:
        outcomes = [_released(contender, truth, epsilon, run) for run in range(1 if contender.slow else runs)]
        for name, score in results.items():
            errors, points, seconds = zip(*(outcome[name] for outcome in outcomes), strict=True)
            score.errors.append(list(errors))
            score.points.append(points[-1])
            score.seconds.append(sum(seconds) / len(seconds))
    return list(results.values())


def _released(contender: Contender, truth: OfRows, epsilon: float, run: int) -> dict[str, tuple[float, int, float]]:
    """Measure once, fit with each method: error, number of points, seconds."""
    privacy = ke.Privacy(epsilon=epsilon, delta=DELTA)
    context = Context(
        kernel=truth.kernel,
        privacy=privacy,
        ledger=ke.MemoryLedger(privacy),
        noise=ke.SystemNoise(),
        seed=ke.PublicSeed(run),
        threads=os.cpu_count() or 1,
    )
    methods = contender.methods(truth.rows.shape[1])
    start = time.perf_counter()
    measured = next(iter(methods.values())).measure(truth.rows, context)
    measuring = time.perf_counter() - start
    outcomes = {}
    for name, method in methods.items():
        start = time.perf_counter()
        synthetic = method.fit(measured, context).synthetic
        seconds = measuring + time.perf_counter() - start
        outcomes[name] = (truth.distance(synthetic.points, synthetic.weights), len(synthetic), seconds)
    return outcomes
