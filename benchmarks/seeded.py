"""Whether a change of the code changes releases: digests of twelve, made with seeded noise.

python benchmarks/seeded.py > before.txt      then change the code, and again
python benchmarks/seeded.py | diff before.txt -

A line has the digest of all noisy integers and that of the synthetic rows. The noise comes from a seed, so that
the same code gives the same line on the same machine; public tables are there where the folder shared is.
"""

import hashlib
import io
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks.generated_tables import KINDS, generated
from benchmarks.public_tables import TABLES
from kernelease.kernels.numeric import Gaussian

ROWS = 6_000  # of each table: enough for pairs, sets of three, details and moments
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def tables() -> Iterator[tuple[str, Any, ke.Schema, float]]:
    """Name, rows, schema and ε of each table."""
    yield "clinic", EXAMPLES / "clinic.csv", ke.Schema.load(EXAMPLES / "clinic.toml"), 1.0
    for name in ("br2000", "stroke", "fire", "bank", "diamonds", "national2019"):
        if TABLES.is_dir():
            yield name, _first_rows(name), ke.Schema.load(TABLES / f"{name}.toml"), 1.0
    if TABLES.is_dir():
        yield "bank, near 0", _first_rows("bank"), ke.Schema.load(TABLES / "bank.toml"), 0.1
    for kind in KINDS:
        table, schema = generated(kind, columns=8, rows=ROWS)
        yield kind, table, schema, 1.0


def _first_rows(name: str) -> pa.Table:
    path = TABLES / ("national2019_ten.csv" if name == "national2019" else f"{name}_train.csv.gz")
    text = {"dtype": str, "keep_default_na": False} if name == "national2019" else {}
    return pd.read_csv(path, nrows=ROWS, **text)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _told(release: ke.Release) -> str:
    recorded = release.measurements.measured.replay
    numbers = repr([[int(number) for number in vector.integers] for vector in recorded.vectors] + [recorded.picks])
    rows = io.BytesIO()
    with pa.ipc.new_stream(rows, release.table.schema) as stream:
        stream.write_table(release.table.combine_chunks())
    return f"{_digest(numbers.encode())} {_digest(rows.getvalue())}"


def main() -> None:
    """Print a line for each release."""
    warnings.simplefilter("ignore")
    for name, rows, schema, epsilon in tables():
        privacy = ke.Privacy(epsilon=epsilon, delta=1e-6)
        release = ke.release(rows, schema=schema, privacy=privacy, noise=ke.SeededNoise(7))
        print(f"{name:14}{_told(release)}", flush=True)
    vectors = np.random.default_rng(0).normal(size=(ROWS, 2))
    for name, epsilon in (("vectors", 1.0), ("vectors, near 0", 0.1)):
        privacy = ke.Privacy(epsilon=epsilon, delta=1e-6)
        release = ke.release(vectors, kernel=Gaussian(lengthscale=1.0), privacy=privacy, noise=ke.SeededNoise(7))
        print(f"{name:14}{_told(release)}", flush=True)


if __name__ == "__main__":
    main()
