"""Whether intervals from replicate data sets cover: tables of 2,000 rows drawn from a known law, ε = 1.

    python benchmarks/replicates.py [--repeats 40]

Each repeat draws a table, releases it, makes 8 replicate data sets and asks whether the 90 % interval of each statistic
holds the law's own value. Beside it the naive interval, which takes the synthetic rows for real ones.
"""

import math
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks.checks import table
from benchmarks.simulated import SCHEMA, people

ROWS = 2_000
REPLICATES = 8
NORMAL = 1.6449  # of a 90 % interval
METHOD = ke.Interactions(solver=ke.fit.MixtureSolver(components=100), triples=0)
COLUMNS = SCHEMA.columns[0], SCHEMA.columns[2], SCHEMA.columns[3]
STATISTICS = ("mean age", "share in the west", "share of smokers", "share over 60", "covariance of age and smoking")


def statistics(rows: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Values, and their standard errors if the rows were a sample."""
    age = rows.column("age").to_numpy().astype(np.float64)
    west = np.array(rows.column("ward")) == "west"
    smoker = np.array(rows.column("smoker").to_pylist(), dtype=np.float64)
    product = (age - age.mean()) * (smoker - smoker.mean())
    parts = np.stack([age, west, smoker, age > 60, product])
    return parts.mean(axis=1), parts.std(axis=1) / math.sqrt(len(age))


def main(repeats: Annotated[int, typer.Option(help="Tables.", min=5)] = 40) -> None:
    """Print the table."""
    truth, _ = statistics(people(np.random.default_rng(10**6), 1_000_000))
    schema = ke.Schema(COLUMNS)
    covered, naive, errors, misses = (np.zeros(len(STATISTICS)) for _ in range(4))
    for seed in range(repeats):
        release = ke.release(
            people(np.random.default_rng(seed), ROWS).select(schema.names),
            schema=schema,
            privacy=ke.Privacy(epsilon=1.0, delta=1e-6),
            method=METHOD,
            noise=ke.SeededNoise(seed),
        )
        samples = release.forms.samples(REPLICATES, method=METHOD, seed=1000 * seed)
        value, deviation = statistics(release.rows)
        others = np.array([statistics(one)[0] for one in samples])
        estimates = [samples.combine(v, list(column)) for v, column in zip(value, others.T, strict=True)]
        ends = np.array([estimate.interval(0.9) for estimate in estimates])
        covered += (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        naive += np.abs(value - truth) <= NORMAL * deviation
        errors += np.array([estimate.standard_error for estimate in estimates])
        misses += (value - truth) ** 2
    rows = [
        (name, float(c), float(n), float(e), float(m))
        for name, c, n, e, m in zip(
            STATISTICS, covered / repeats, naive / repeats, errors / repeats, np.sqrt(misses / repeats), strict=True
        )
    ]
    header = ("statistic", "covered", "naive", "mean standard error", "true error")
    print(table(f"90 % intervals from {REPLICATES} replicates ({repeats} tables)", header, rows))


if __name__ == "__main__":
    typer.run(main)
