"""Error against the number of rows for both algorithms, with slopes fitted in log-log beside the theorems' rates.

The error is the RKHS distance to the embedding of the *law* that rows are drawn from, which is what the theorems
speak of; for a Gaussian mixture it is known in closed form. ε = 1, δ = 10⁻⁶, whole releases, fresh rows in each run.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks import figures, mixtures
from benchmarks.checks import table
from benchmarks.truth import OfMixture

EPSILON, DELTA = 1.0, 1e-6
PUBLISHED_SHARE = 0.1
NOTE = """
The theorems bound the error from above, for any bounded data; a smooth kernel on smooth data may do better.
Without published rows they let the number of points grow without limit; where a cap decides, the error levels off."""
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Subject:
    """An algorithm in a scenario: its method for D columns and N rows, and the rate that its theorem proves."""

    name: str
    method: Callable[[int, int], ke.methods.Method]
    theorem: Callable[[int], float]
    points: int | None = None  # a cap that no theorem has, named in the table


def _subspace(points: int) -> Subject:
    return Subject(
        "Algorithm 1, no published rows",
        lambda d, n: ke.Subspace(points=mixtures.prior(d), count=points),
        lambda d: -1.0 / (d + 1),
        points,
    )


WITH_ROWS = Subject(
    "Algorithm 1, 10 % published",
    lambda d, n: ke.Subspace(points=ke.fit.PublishedRows(max(1, int(PUBLISHED_SHARE * n)))),
    lambda d: -0.5,
)
FEATURES = Subject(
    "Algorithm 2",
    lambda d, n: ke.RandomFeatures(
        start=mixtures.prior(d),
        solver=ke.fit.GreedyPreimages(points=100, constraint=ke.fit.Simplex(), stop_at_noise=False),
    ),
    lambda d: -1.0 / 3.0,
)
PLAN = {
    2: ((1_000, 3_162, 10_000, 31_623, 100_000), (_subspace(2048), WITH_ROWS, FEATURES)),
    5: ((1_000, 3_162, 10_000, 31_623), (_subspace(1024), WITH_ROWS, FEATURES)),
}


@dataclass(frozen=True)
class Series:
    """Errors of one subject: for each N, one per run; and the slopes fitted to each run."""

    dimension: int
    name: str
    theorem: float
    points: int | None
    rows: list[int]
    errors: list[list[float]]
    slopes: list[float]
    seconds: float


def measure(subject: Subject, dimension: int, sizes: tuple[int, ...], runs: int) -> Series:
    """Release tables of every size, `runs` times each."""
    start = time.perf_counter()
    errors = np.array([[_error(subject, dimension, n, run) for run in range(runs)] for n in sizes])
    slopes = [float(np.polyfit(np.log(sizes), np.log(errors[:, run]), 1)[0]) for run in range(runs)]
    return Series(
        dimension=dimension,
        name=subject.name,
        theorem=subject.theorem(dimension),
        points=subject.points,
        rows=list(sizes),
        errors=errors.tolist(),
        slopes=slopes,
        seconds=time.perf_counter() - start,
    )


def _error(subject: Subject, dimension: int, rows: int, run: int) -> float:
    truth = OfMixture(dimension)
    release = ke.release(
        mixtures.private_rows(dimension, rows, sample=run + 1),
        kernel=truth.kernel,
        method=subject.method(dimension, rows),
        privacy=ke.Privacy(epsilon=EPSILON, delta=DELTA),
        seed=run,
    )
    return truth.distance(release.points, release.weights)


def report(series: list[Series]) -> str:
    """Errors by N, and slopes beside the theorems'."""
    sizes = sorted({n for one in series for n in one.rows})
    header = ["", *(f"N = {n:,}" for n in sizes), "slope", "theorem", "seconds"]
    rows = []
    for one in series:
        medians = {n: float(np.median(runs)) for n, runs in zip(one.rows, one.errors, strict=True)}
        cap = f" ({one.points:,} points)" if one.points else ""
        slope = f"{np.median(one.slopes):.2f} ({min(one.slopes):.2f} … {max(one.slopes):.2f})"
        cells = [medians.get(n, "") for n in sizes]
        rows.append(
            [f"D = {one.dimension}: {one.name}{cap}", *cells, slope, f"{one.theorem:.2f}", f"{one.seconds:.0f}"]
        )
    return table(
        "RKHS distance to the true embedding, ε = 1 (median over runs; slopes: median, lowest … highest)", header, rows
    )


def main(
    runs: Annotated[int, typer.Option(min=1, help="Fresh tables of each size.")] = 3,
    out: Annotated[Path, typer.Option(help="Folder for JSON and plots.")] = HERE / "results",
) -> None:
    """Fit the convergence rates of both algorithms."""
    series = [
        measure(subject, dimension, sizes, runs)
        for dimension, (sizes, subjects) in PLAN.items()
        for subject in subjects
    ]
    print(report(series))
    print(NOTE)
    results: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "series": [asdict(one) for one in series]}
    out.mkdir(parents=True, exist_ok=True)
    (out / "rates.json").write_text(json.dumps(results, indent=1) + "\n")
    figures.save(figures.rates(results), out / "rates")
    print(f"\nResults and plot are in {out}.")


if __name__ == "__main__":
    typer.run(main)
