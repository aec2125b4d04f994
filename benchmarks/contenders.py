"""Whole releases, as an owner would make them: each method at its defaults, beside the paper's best over all M."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import kernelease as ke
from benchmarks import mixtures
from benchmarks.published import DELTA, EPSILONS
from benchmarks.truth import OfRows

PUBLISHED_ROWS = 10_000


@dataclass(frozen=True)
class Contender:
    """A method to compare: for a number of columns, what to release with."""

    name: str
    method: Callable[[int], ke.Method]
    published_rows: bool = False  # whether it is given the 10,000 published rows
    slow: bool = False  # released once at each ε, not `runs` times; left out of a quick run
    drawn: bool = True  # whether it is in the figure


# Another method is one line more.
CONTENDERS = (
    Contender("Subspace, free weights", lambda d: ke.Subspace(points=mixtures.prior(d)), slow=True, drawn=False),
    Contender("Subspace", lambda d: ke.Subspace(points=mixtures.prior(d), constraint=ke.Simplex()), slow=True),
    Contender(
        "RandomFeatures",
        lambda d: ke.RandomFeatures(
            start=mixtures.prior(d), features=10_000, solver=ke.GreedyPreimages(points=316, constraint=ke.Simplex())
        ),
    ),
    Contender(
        "Subspace, free weights",
        lambda _: ke.Subspace(points=ke.PublishedRows(PUBLISHED_ROWS)),
        published_rows=True,
        slow=True,
        drawn=False,
    ),
    Contender(
        "Subspace",
        lambda _: ke.Subspace(points=ke.PublishedRows(PUBLISHED_ROWS), constraint=ke.Simplex()),
        published_rows=True,
        slow=True,
    ),
)


@dataclass(frozen=True)
class Score:
    """RKHS distances of one contender: for each ε, one per run; and the mean seconds that a release took."""

    name: str
    published_rows: bool
    drawn: bool
    errors: list[list[float]]
    points: list[int]  # with a weight that is not zero, in the last run
    seconds: list[float]


def score(contender: Contender, truth: OfRows, dimension: int, runs: int) -> Score:
    """Release `runs` times at each ε (once if slow), and compare with the truth."""
    runs = 1 if contender.slow else runs
    result = Score(contender.name, contender.published_rows, contender.drawn, [], [], [])
    for epsilon in EPSILONS:
        start = time.perf_counter()
        releases = [
            ke.release(
                truth.rows,
                kernel=truth.kernel,
                method=contender.method(dimension),
                privacy=ke.Privacy(epsilon=epsilon, delta=DELTA),
                seed=run,
            )
            for run in range(runs)
        ]
        result.seconds.append((time.perf_counter() - start) / runs)
        result.points.append(int((releases[-1].weights != 0.0).sum()))
        result.errors.append([truth.distance(release.points, release.weights) for release in releases])
    return result
