"""The private pass of a table against its ceilings: a generated table of 14 columns, all pairs.

    python benchmarks/private_pass.py [--rows 10000000] [--largest 10000000]

In turns, in one process: our reading, encoding and counting from a file, what pyarrow takes to decode that file, on as
many cores, and what it takes where each core decodes row groups of its own, as ours do (its own reader keeps one core
busy). Then the same with noise; one numpy.bincount per pair of columns over the already encoded array; the pass with
codes kept in memory, on disk, and not at all; rows per second on one core and on all of them; and how time and memory
grow with the rows, up to `--largest` of them (10⁸ take minutes), which are generated in batches and are never in
memory or on disk all at once.
"""

import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, final
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import typer

from kernelease import Interactions, Privacy, passes
from kernelease.methods.interactions.pairs import pair_blocks
from kernelease.pipeline import measure
from kernelease.seeds import PublicSeed
from kernelease.sources.private_rows import private_table
from kernelease.sources.source import Source
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


def blocks_of_rows(rows: int, block: int = 500_000) -> Iterator[pa.Table]:
    """Generated rows in blocks, so that making them needs no more memory than reading."""
    generator = np.random.default_rng(0)
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
        yield pa.table(columns)


def write_table(path: Path, rows: int) -> None:
    """A Parquet file, or a CSV file if it is called so."""
    tables = blocks_of_rows(rows)
    first = next(tables)
    make = pyarrow.csv.CSVWriter if path.suffix == ".csv" else pq.ParquetWriter
    with make(path, _plain(first, path).schema) as writer:
        for table in itertools.chain([first], tables):
            writer.write_table(_plain(table, path))


def _plain(table: pa.Table, path: Path) -> pa.Table:
    """Text in place of dictionaries, which CSV files do not have."""
    if path.suffix != ".csv":
        return table
    kinds = [pa.string() if pa.types.is_dictionary(column.type) else column.type for column in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Generated(Source):
    """Rows that are made while they are read. One block is made, and comes again and again."""

    rows: int

    def names(self) -> tuple[str, ...]:
        return SCHEMA.names

    def declared_schema(self) -> None:
        return None

    def describe(self) -> str:
        return "generated rows"

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        (block,) = blocks_of_rows(min(self.rows, 500_000))
        for start in range(0, self.rows, block.num_rows):
            yield from block.slice(0, min(block.num_rows, self.rows - start)).to_batches()


def private_pass(path: Any) -> float:
    """Seconds from a source to exact counts of every column and every pair, in cells as of a uniform table."""
    start = time.perf_counter()
    counts = private_table(path, SCHEMA, seed=PublicSeed(0)).counts()
    uniform = [np.full(size, 1.0 / size) for size in SCHEMA.sizes]
    counts._exact(pair_blocks(SCHEMA.columns, uniform, rows=1e7, share=1.0, noise=lambda _: 100.0))
    return time.perf_counter() - start


def side_by_side(path: Path, repeats: int) -> tuple[float, ...]:
    """Our pass and pyarrow's decoding in turns: the shortest seconds of each, and the fewest CPU seconds of each.

    Then the least and the greatest ratio of seconds in one turn. Where others use the machine too, the ratio of CPU
    seconds says more than that of seconds.
    """
    functions = (private_pass, decoding, decoding_of_groups)
    turns = [[_timed(function, path) for function in functions] for _ in range(repeats + 1)]
    turns = turns[1:]  # the first one loads and allocates what is needed once
    ratios = [ours[0] / ceiling[0] for ours, ceiling, _ in turns]
    best_of = [[min(values) for values in zip(*measured, strict=True)] for measured in zip(*turns, strict=True)]
    return *(seconds for seconds, _ in best_of), *(cpu for _, cpu in best_of[:2]), min(ratios), max(ratios)


def _timed(function: Callable[[Any], float], data: Any) -> tuple[float, float]:
    start = time.process_time()
    return function(data), time.process_time() - start


def pass_with_codes(path: Path, where: str) -> float:
    """Seconds of the pass where codes are kept in "memory", on "disk", or are read again from the "source"."""
    room = {"memory": sys.maxsize, "disk": 0, "source": 0}[where]
    made = mock.Mock(side_effect=OSError) if where == "source" else passes.Spool
    with mock.patch.object(passes, "MOST_KEPT", room), mock.patch.object(passes, "Spool", made):
        return private_pass(path)


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


def decoding(path: Path) -> float:
    """Seconds that pyarrow takes to read the file in batches and throw them away, on the cores that there are."""
    start = time.perf_counter()
    if path.suffix == ".csv":
        batches: Any = pyarrow.csv.open_csv(path)
    else:
        batches = pq.ParquetFile(path, read_dictionary=list(SIZES), pre_buffer=False).iter_batches(batch_size=2**17)
    for _ in batches:
        pass
    return time.perf_counter() - start


def decoding_of_groups(path: Path) -> float:
    """The same for a Parquet file where each core decodes row groups of its own; other files as above."""
    if path.suffix == ".csv":
        return decoding(path)
    start = time.perf_counter()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(partial(_decode_group, path), range(pq.ParquetFile(path).num_row_groups)))
    return time.perf_counter() - start


def _decode_group(path: Path, group: int) -> None:
    file = pq.ParquetFile(path, read_dictionary=list(SIZES), pre_buffer=False)
    for _ in file.iter_batches(batch_size=2**17, row_groups=[group], use_threads=False):
        pass


def in_child(expression: str, cores: int | None = None) -> list[float]:
    """The numbers that an expression gives in a process of its own, on so many cores, and that process's MiB."""
    held = "" if cores is None else f"os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}]); "
    code = (
        f"import os, sys, resource, pathlib; {held}sys.path.insert(0, {str(Path(__file__).parent)!r}); "
        f"import private_pass as p; value = {expression}; numbers = value if isinstance(value, tuple) else [value]; "
        "print(*numbers, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.splitlines()[-1].split()]


def best(function: str, path: Path, repeats: int, cores: int | None = None, more: str = "") -> float:
    """The shortest time of a function of this file, in a process of its own."""
    return in_child(f"min(p.{function}(pathlib.Path({str(path)!r}){more}) for _ in range({repeats}))", cores)[0]


def show(label: str, value: str) -> None:
    print(f"{label + ':':<48}{value}", flush=True)


def show_side_by_side(kind: str, path: Path, rows: int, repeats: int) -> None:
    """Ours against both ceilings, for a file of so many rows."""
    ours, ceiling, groups, cpu, least, low, high, memory = in_child(
        f"p.side_by_side(pathlib.Path({str(path)!r}), {repeats})"
    )
    show(f"{kind}, {rows:,} rows, file to exact counts", f"{ours:.2f} s, {rows / ours / 1e6:.1f} M rows/s")
    show(
        f"{kind}, decoded by pyarrow alone",
        f"{ceiling:.2f} s; ours takes {ours / ceiling:.2f} times that ({low:.2f} to {high:.2f})",
    )
    if path.suffix == ".parquet":
        show(f"{kind}, a row group per core", f"{groups:.2f} s; ours takes {ours / groups:.2f} times that")
    show(f"{kind}, CPU seconds of both", f"{cpu:.2f} and {least:.2f}, {cpu / least:.2f} times; {memory:.0f} MiB")


def main(rows: int = 10_000_000, repeats: int = 3, largest: int = 10_000_000) -> None:
    """Measure and print."""
    cores = len(os.sched_getaffinity(0))
    pairs = len(SCHEMA) * (len(SCHEMA) - 1) // 2
    print(f"{rows:,} rows, {len(SCHEMA)} columns, {pairs} pairs, {cores} cores; the best of {repeats} runs each")
    with tempfile.TemporaryDirectory() as folder:
        files = {"Parquet": (Path(folder, "rows.parquet"), rows), "CSV": (Path(folder, "rows.csv"), rows // 5)}
        for kind, (path, count) in files.items():
            write_table(path, count)
            show_side_by_side(kind, path, count, repeats)
        parquet = files["Parquet"][0]
        show("file to noisy counts", f"{best('whole_measurement', parquet, repeats):.2f} s")
        show("one bincount per pair, encoded", f"{best('plain_counting', parquet, repeats):.2f} s")
        for where in ("memory", "disk", "source"):
            seconds = best("pass_with_codes", parquet, repeats, more=f", {where!r}")
            show(f"codes from {where}", f"{seconds:.2f} s")
        for number in sorted({1, *(2**i for i in range(1, 10) if 2**i < cores), cores}):
            seconds = best("private_pass", parquet, repeats, number)
            show(f"on {number} cores", f"{seconds:.2f} s, {rows / seconds / number / 1e6:.2f} M rows/s per core")
    size = 10**6
    while size <= largest:
        seconds, cpu, memory = in_child(f"p._timed(p.private_pass, p.Generated(rows={size}))")
        a_row = f"{1e9 * seconds / size:.0f} ns a row, {1e9 * cpu / size:.0f} of CPU"
        show(f"{size:,} generated rows", f"{seconds:.2f} s, {a_row}, {memory:.0f} MiB")
        size *= 10


if __name__ == "__main__":
    typer.run(main)
