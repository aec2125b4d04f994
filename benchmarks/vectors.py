"""Adaptive alone on the paper's data: RKHS distances over several runs, beside what they must not pass.

python benchmarks/vectors.py [--dimension 2] [--runs 5] [--epsilon 1] [--published/--no-published]

The same releases are part of `make bench-paper`, which takes half an hour more.
"""

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks import mixtures
from benchmarks.checks import table
from benchmarks.contenders import MANY_ROWS, TARGETS, Contender, released
from benchmarks.mixtures import DIMENSIONS
from benchmarks.published import EPSILONS
from benchmarks.reproduction import private_truth


def main(
    dimension: Annotated[list[int] | None, typer.Option(help="2 or 5 columns; both if not given.")] = None,
    epsilon: Annotated[list[float] | None, typer.Option(help="ε, several times for several; all if not given.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Releases at each ε.")] = 5,
    published: Annotated[bool | None, typer.Option(help="With 10,000 published rows only, or without; both.")] = None,
) -> None:
    """Release, measure the distance, and print a table."""
    lines = []
    for columns in dimension or DIMENSIONS:
        truth = private_truth(columns)
        for rows in (False, True) if published is None else (published,):
            points = ke.fit.PublishedRows(MANY_ROWS) if rows else mixtures.prior(columns)
            contender = Contender(lambda _, points=points: {"Adaptive": ke.Adaptive(points=points)})
            for value, target in zip(EPSILONS, TARGETS[columns, rows], strict=True):
                if epsilon and value not in epsilon:
                    continue
                done = [released(contender, truth, value, run)["Adaptive"] for run in range(runs)]
                errors, seconds = np.array([d[0] for d in done]), np.array([d[2] for d in done])
                median = float(np.median(errors))
                spread = f"{errors.min():.4g} to {errors.max():.4g}"
                verdict = "yes" if median <= target else "NO"
                named = f"{MANY_ROWS:,}" if rows else "none"
                took = f"{seconds.mean():.0f} (at most {seconds.max():.0f})"
                lines.append((columns, named, f"{value:g}", f"{median:.4g}", spread, f"{target:g}", verdict, took))
                print(*lines[-1], flush=True)
    header = ("D", "published rows", "ε", "median", f"{runs} runs", "at most", "met", "seconds")
    print(table("Adaptive: RKHS distance to the private embedding, N = 100,000, δ = 1e-6", header, lines))


if __name__ == "__main__":
    typer.run(main)
