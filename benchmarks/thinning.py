"""What thinning to n rows loses, beside as many independent draws: MMD, and the error of counts and means.

    python benchmarks/thinning.py [--repeats 20]

A release (ε = 1) of a generated table of 20,000 rows and 4 columns. The truth here is the release itself: what is
measured is the loss by taking n of its rows. MMD is in the kernel in which thinning keeps the balance; the marginal
errors and the mean are not what it looks at.
"""

import math
import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks.checks import table
from benchmarks.simulated import SCHEMA, people
from kernelease.analysis.comparisons.mean_embedding import common_coordinates
from kernelease.analysis.comparisons.tables import marginal_errors
from kernelease.table.encode import Encoder

ROWS = 20_000
SIZES = (100, 300, 1_000, 3_000)


def main(repeats: Annotated[int, typer.Option(help="Samples of each size.", min=2)] = 20) -> None:
    """Print the table."""
    release = ke.release(
        people(np.random.default_rng(0), ROWS),
        schema=SCHEMA,
        privacy=ke.Privacy(epsilon=1.0, delta=1e-6),
        noise=ke.SeededNoise(0),
    )
    losses = Losses(release)
    generator = np.random.default_rng(1)
    rows, seconds = [], 0.0
    for size in SIZES:
        start = time.perf_counter()
        thinned = [release.sample(size, seed=seed) for seed in range(repeats)]
        seconds = (time.perf_counter() - start) / repeats
        drawn = [
            release.rows.take(pa.array(generator.choice(release.table.num_rows, size, p=release.weights)))
            for _ in range(repeats)
        ]
        ours, theirs = (np.mean([losses.of(sample) for sample in samples], axis=0) for samples in (thinned, drawn))
        rows.append((f"{size:,}", *(f"{a:.4f} / {b:.4f} = {a / b:.2f}" for a, b in zip(ours, theirs, strict=True))))
    header = ("rows", "MMD", "one-way", "two-way", "mean of age")
    print(table(f"Loss by thinning / by independent draws = ratio (mean of {repeats})", header, rows))
    print(f"\n{SIZES[-1]:,} rows are thinned in {seconds:.2f} s.")


class Losses:
    """Distances of a sample from the release that it was taken from."""

    def __init__(self, release: ke.Release) -> None:
        assert release.measurements.measured is not None
        (mean,) = common_coordinates([release.measurements.measured], SCHEMA.columns)
        self._parts = [part.coordinates for part in mean.parts]
        self._codes = self._encode(release.rows)
        self._means = [part.features(self._codes).mean(axis=0) for part in self._parts]
        self._age = float(np.mean(release.rows.column("age").to_numpy()))

    def of(self, sample: pa.Table) -> tuple[float, float, float, float]:
        codes = self._encode(sample)
        squares = [
            np.sum((part.features(codes).mean(axis=0) - mean) ** 2)
            for part, mean in zip(self._parts, self._means, strict=True)
        ]
        errors = marginal_errors(self._codes, codes, SCHEMA.sizes)
        age = abs(float(np.mean(sample.column("age").to_numpy())) - self._age)
        return math.sqrt(sum(squares)), errors.mean_one_way, errors.mean_two_way, age

    @staticmethod
    def _encode(rows: pa.Table) -> np.ndarray:
        return Encoder(SCHEMA).encode(rows).astype(np.int64)


if __name__ == "__main__":
    typer.run(main)
