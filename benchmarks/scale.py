"""Every engine over the same generated table, beside what reading it takes: the table of docs/scale.md.

    python benchmarks/scale.py [--rows 2000000] [--write]

Each engine counts all pairs of 14 columns in a process of its own, after a table of 1,000 rows that loads what is
loaded once and is not timed. "Same bytes" compares a sum of all counts with that of one core. Spark's memory is that of
the driver's Python; what a worker takes is bounded by a test.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import private_pass
import pyarrow.parquet as pq
import typer
from private_pass import SCHEMA

from kernelease.methods.interactions.pairs import pair_blocks
from kernelease.seeds import PublicSeed
from kernelease.sources.private_rows import private_table

PAGE = Path(__file__).parent.parent / "docs" / "scale.md"


def counted(data: Any, *, push_down: bool = False) -> int:
    """A sum over the exact counts of every pair."""
    counts = private_table(data, SCHEMA, seed=PublicSeed(0), push_down=push_down).counts()
    uniform = [np.full(size, 1.0 / size) for size in SCHEMA.sizes]
    tables = counts._exact(pair_blocks(SCHEMA.columns, uniform, rows=1e7, share=1.0, noise=lambda _: 100.0))
    return zlib.crc32(b"".join(table.tobytes() for table in tables))


def decoded(path: Path) -> int:
    private_pass.decoding(path)
    return 0


def by_duckdb(path: Path) -> int:
    import duckdb  # noqa: PLC0415

    connection = duckdb.connect()
    return counted(connection.sql(f"SELECT * FROM '{path}'"), push_down=True)


def by_spark(path: Path) -> int:
    from pyspark.sql import SparkSession  # noqa: PLC0415

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    return counted(spark.read.parquet(str(path)))


ENGINES: dict[str, tuple[Callable[[Path], int], int | None]] = {
    "ceiling: pyarrow decodes the file, all cores": (decoded, None),
    "one core": (counted, 1),
    "all cores": (counted, None),
    "DuckDB counts (push-down)": (by_duckdb, None),
    "Spark, local[*]": (by_spark, None),
}


def child(function: str, path: str, small: str) -> None:
    """Time one engine after a small table, and print seconds, MiB and the sum."""
    import resource  # noqa: PLC0415

    globals()[function](Path(small))
    start = time.perf_counter()
    result = globals()[function](Path(path))
    seconds = time.perf_counter() - start
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, result)


def run(function: str, path: Path, small: Path, cores: int | None, repeats: int) -> tuple[float, float, int]:
    """The quickest of some processes, on so many cores."""
    held = "" if cores is None else f"import os; os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}]); "
    code = f"{held}import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import scale; "
    code += f"scale.child({function!r}, {str(path)!r}, {str(small)!r})"
    answers = []
    for _ in range(repeats):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        seconds, memory, result = done.stdout.split()[-3:]
        answers.append((float(seconds), float(memory), int(result)))
    return min(answers)


def main(rows: int = 2_000_000, repeats: int = 3, write: bool = False) -> None:
    """Measure, print, and with --write put the table on its page."""
    lines = ["| engine | M rows/s | MiB | same bytes |", "| --- | --- | --- | --- |"]
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder, "rows.parquet"), Path(folder, "small.parquet")
        private_pass.write_table(path, rows)
        private_pass.write_table(small, 1000)
        expected = None
        for name, (function, cores) in ENGINES.items():
            seconds, memory, result = run(function.__name__, path, small, cores, repeats)
            expected = result if name == "one core" else expected
            same = "" if function is decoded else "yes" if result == expected else "NO"
            lines.append(f"| {name} | {rows / seconds / 1e6:.2f} | {memory:.0f} | {same} |")
        groups = pq.ParquetFile(path).num_row_groups
    cores = len(os.sched_getaffinity(0))
    lines.append(f"\n{rows:,} rows in {groups} row groups, {cores} cores, the best of {repeats}; `make bench-scale`.")
    print("\n".join(lines))
    if write:
        table = "<!-- measured -->\n" + "\n".join(lines) + "\n<!-- /measured -->"
        PAGE.write_text(re.sub("<!-- measured -->.*<!-- /measured -->", table, PAGE.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    typer.run(main)
