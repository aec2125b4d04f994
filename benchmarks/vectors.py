"""Adaptive alone on the paper's data: RKHS distances over several runs, beside what they must not pass.

python benchmarks/vectors.py [--dimension 2] [--runs 20] [--epsilon 1] [--no-published] [--jobs 16] [--write]

The same releases, fewer of them, are part of `make bench-paper`, which takes half an hour more. With --write the table
goes to docs/benchmarks-vectors.md.
"""

import sys
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks import machine, mixtures
from benchmarks.checks import VECTORS, markdown, table, write_part
from benchmarks.contenders import MANY_ROWS, TARGETS, Contender, released
from benchmarks.mixtures import DIMENSIONS
from benchmarks.published import EPSILONS
from benchmarks.reproduction import private_truth
from benchmarks.truth import OfRows

Case = tuple[int, bool, float]  # columns, whether rows are published, ε
Line = tuple[str | float, ...]
ALLOWED_WORST = 2.0  # times the median: the worst run
HEADER = ("D", "published rows", "ε", "median", "at most", "worst", "over median", "met", "CPU s", "at most")


def main(
    dimension: Annotated[list[int] | None, typer.Option(help="2 or 5 columns; both if not given.")] = None,
    epsilon: Annotated[list[float] | None, typer.Option(help="ε, several times for several; all if not given.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Releases at each ε.")] = 20,
    published: Annotated[bool | None, typer.Option(help="With 10,000 published rows only, or without; both.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    kept: Annotated[Path | None, typer.Option(help="A file of results: go on from them.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the page.")] = False,
) -> None:
    """Release, measure the distance, and print a table."""
    cases = [
        (columns, rows, value)
        for value in epsilon or EPSILONS
        for columns in sorted(dimension or DIMENSIONS, reverse=True)  # what takes longest first
        for rows in ((False, True) if published is None else (published,))
    ]
    units = [(case, run) for case in cases for run in range(runs)]
    done = groupby(zip(units, machine.in_processes(_score, units, jobs, kept), strict=True), key=lambda one: one[0][0])
    lines = []
    for case, scores in done:
        lines.append(_line(case, np.array([score for _, score in scores])))
        print(*lines[-1], flush=True)
    lines.sort(key=lambda line: (line[0], line[1] != "none"))
    print(table("Adaptive: RKHS distance to the private embedding, N = 100,000, δ = 1e-6", HEADER, lines))
    if write:
        words = f"""`make bench-vectors` ({machine.described()}): RKHS distance to the private embedding of the paper's
            data, N = 100,000, δ = 1e-6, median and worst of {runs} releases, beside what was asked of the median; CPU
            seconds of a release, their mean and the most. The worst of all is to stay within twice the median."""
        write_part(VECTORS, "The paper's data", words, markdown(HEADER, lines))


@lru_cache
def _truth(columns: int) -> OfRows:
    return private_truth(columns)


def _score(unit: tuple[Case, int]) -> tuple[float, float]:
    (columns, rows, epsilon), run = unit
    points = ke.fit.PublishedRows(MANY_ROWS) if rows else mixtures.prior(columns)
    contender = Contender(lambda _: {"Adaptive": ke.Adaptive(points=points)})
    error, _, seconds = released(contender, _truth(columns), epsilon, run)["Adaptive"]
    return error, seconds


def _line(case: Case, scores: np.ndarray) -> Line:
    columns, rows, epsilon = case
    errors, seconds = scores.T
    median, worst = float(np.median(errors)), float(errors.max())
    target = TARGETS[columns, rows][EPSILONS.index(epsilon)]
    met = "yes" if median <= target and worst <= ALLOWED_WORST * median else "**no**"
    named = f"{MANY_ROWS:,}" if rows else "none"
    return (
        columns, named, f"{epsilon:g}", f"{median:.3g}", f"{target:g}", f"{worst:.3g}", f"{worst / median:.2f}", met,
        f"{seconds.mean():.1f}", f"{seconds.max():.1f}",
    )  # fmt: skip


if __name__ == "__main__":
    typer.run(main)
