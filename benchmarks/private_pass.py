"""The private pass of a table against plain counting: a generated Parquet table of 14 columns, all pairs.

    python benchmarks/private_pass.py [--rows 10000000]

Both in the same run: our reading, encoding and counting from the file (and the same with noise), and one
numpy.bincount per pair of columns over the already encoded array. Prints times, their ratio, how the time grows with
the rows, and the largest resident memory.
"""

import itertools
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer

from kernelease import Interactions, Privacy
from kernelease.methods.interactions.pairs import pair_blocks
from kernelease.pipeline import measure
from kernelease.seeds import PublicSeed
from kernelease.sources.private_table import private_table
from kernelease.table import Category, Integer, Number, Schema

SIZES = {"sector": 9, "school": 16, "marital": 7, "job": 15, "kin": 6, "origin": 42, "sex": 2, "income": 2}
SCHEMA = Schema(
    (
        Integer(name="age", min=17, max=90),
        Integer(name="hours", min=1, max=99),
        Integer(name="grade", min=1, max=16),
        Number(name="gain", min=0.0, max=100_000.0),
        Number(name="loss", min=0.0, max=5_000.0),
        Number(name="weight_kg", min=30.0, max=200.0),
        *(Category(name=name, values=tuple(f"{name} {i}" for i in range(size))) for name, size in SIZES.items()),
    ),
    name="generated",
)

PRIVACY = Privacy(epsilon=1.0, delta=1e-9)


def write_table(path: Path, rows: int, block: int = 500_000) -> None:
    """Generate rows in blocks, so that making the file needs no more memory than reading it."""
    generator = np.random.default_rng(0)
    writer = None
    for start in range(0, rows, block):
        count = min(block, rows - start)
        columns = {
            "age": generator.integers(10, 100, count),
            "hours": generator.integers(1, 100, count),
            "grade": generator.integers(1, 17, count),
            "gain": generator.exponential(900.0, count),
            "loss": generator.exponential(90.0, count),
            "weight_kg": generator.normal(75.0, 15.0, count),
        }
        for name, size in SIZES.items():
            labels = pa.array([f"{name} {i}" for i in range(size)])
            codes = pa.array(generator.integers(0, size, count).astype(np.int32))
            columns[name] = pa.DictionaryArray.from_arrays(codes, labels)
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def private_pass(path: Path) -> float:
    """Seconds from the file to exact counts of every column and every pair, in cells as of a uniform table."""
    start = time.perf_counter()
    counts = private_table(path, SCHEMA, seed=PublicSeed(0)).counts()
    uniform = [np.full(size, 1.0 / size) for size in SCHEMA.sizes]
    counts._exact(pair_blocks(SCHEMA.columns, uniform, rows=1e7, share=1.0, noise=lambda _: 100.0))
    return time.perf_counter() - start


def whole_measurement(path: Path) -> float:
    """Seconds from the file to noisy counts: all that needs private rows."""
    start = time.perf_counter()
    measure(path, schema=SCHEMA, privacy=PRIVACY, method=Interactions(triples=0))
    return time.perf_counter() - start


def plain_counting(path: Path) -> float:
    """Seconds for one bincount per pair over an encoded array (reading and encoding not counted)."""
    codes = np.ascontiguousarray(private_table(path, SCHEMA, seed=PublicSeed(0)).array().T.astype(np.int32))
    sizes = SCHEMA.sizes
    start = time.perf_counter()
    for i, j in itertools.combinations(range(len(sizes)), 2):
        np.bincount(codes[i] * sizes[j] + codes[j], minlength=sizes[i] * sizes[j])
    return time.perf_counter() - start


def peak_memory(path: Path) -> float:
    """The largest resident memory of a process that does the private pass alone, in MiB."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import private_pass as p, pathlib, resource; "
    )
    code += f"p.private_pass(pathlib.Path({str(path)!r})); print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def main(rows: int = 10_000_000, repeats: int = 3) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        quarter, whole = Path(folder, "quarter.parquet"), Path(folder, "whole.parquet")
        write_table(quarter, rows // 4)
        write_table(whole, rows)
        ours = min(private_pass(whole) for _ in range(repeats))
        smaller = min(private_pass(quarter) for _ in range(repeats))
        memory = peak_memory(whole)
        noisy = min(whole_measurement(whole) for _ in range(repeats))
        plain = min(plain_counting(whole) for _ in range(repeats))
    pairs = len(SCHEMA) * (len(SCHEMA) - 1) // 2
    print(f"{rows:,} rows, {len(SCHEMA)} columns, {pairs} pairs; the best of {repeats} runs each")
    print(f"file to exact counts:              {ours:7.2f} s")
    print(f"file to noisy counts:              {noisy:7.2f} s")
    print(f"one bincount per pair, encoded:    {plain:7.2f} s")
    print(f"ratio (at most 1 is asked for):    {ours / plain:7.2f}")
    print(f"four times the rows take:          {ours / smaller:7.2f} times as long")
    print(f"largest resident memory:           {memory:7.0f} MiB (at most 1,024 are asked for)")
    print(f"of this process, all included:     {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:7.0f} MiB")


if __name__ == "__main__":
    typer.run(main)
