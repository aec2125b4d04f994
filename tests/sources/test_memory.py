"""Memory is bounded by the batches, not by the table."""

import gc
import gzip
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from kernelease.sources import CsvFormat, Source, open_source
from kernelease.table import Records

MIB = 2**20
STATM = Path("/proc/self/statm")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not STATM.exists(), reason="resident memory is read from /proc")]


def resident() -> int:
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(source: Source, measure: Callable[[], int] = resident) -> tuple[int, int]:
    """The rows, and by how much memory grew at most while they were read."""
    next(iter(source.batches(source.names())))  # what is loaded once, whatever the size
    gc.collect()
    pa.default_memory_pool().release_unused()
    before, most, rows = measure(), 0, 0
    for batch in source.batches(source.names()):
        rows += batch.num_rows
        most = max(most, measure() - before)
    return rows, most


def growth_in_a_new_process(path: Path, csv: CsvFormat) -> tuple[int, int]:
    """The same where no other test has been: what an allocator keeps depends on what it gave out before."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(growth_of_a_file, path, csv).result()


def growth_of_a_file(path: Path, csv: CsvFormat) -> tuple[int, int]:
    return growth(open_source(path, csv=csv))


LINE = b"39,State-gov,77516,Bachelors,13,Never-married,Adm-clerical,Not-in-family,White,Male\n"
HEADER = b"a,b,c,d,e,f,g,h,i,j\n"
QUOTED = b'39,"State, gov",77516,"Bache\nlors",13,Never-married,Adm-clerical,Not-in-family,White,Male\n'
DAMAGED = LINE * 1000 + b'39,"State\n'
BODIES = {  # what it begins with, a piece, how often, and where records end
    "clean": (b"", LINE, 128 * MIB // len(LINE), Records.QUOTED),
    "one in a thousand lines damaged": (b"", DAMAGED, 64 * MIB // len(DAMAGED), Records.LINES),
    "a thousand lines merged by damage": (b"", DAMAGED, 64 * MIB // len(DAMAGED), Records.QUOTED),
    "one line": (b"", b"x" * MIB, 128, Records.QUOTED),
    "one line of separators": (b"", b"," * MIB, 128, Records.LINES),
    "records over lines": (b"", QUOTED, 64 * MIB // len(QUOTED), Records.QUOTED),
    "a quote that is never closed": (b'"', LINE, 64 * MIB // len(LINE), Records.QUOTED),
    "quotes that mean nothing": (b"", LINE.replace(b"State", b'St"te'), 64 * MIB // len(LINE), Records.QUOTED),
}


@pytest.mark.parametrize(("start", "piece", "times", "records"), BODIES.values(), ids=BODIES)
def test_csv(start: bytes, piece: bytes, times: int, records: Records, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(HEADER + start + piece * times)
    rows, most = growth_in_a_new_process(path, CsvFormat(records=records))
    merged = piece == DAMAGED and records is Records.QUOTED  # records of 60 kB each, and copies of a few of them
    assert most < (48 if merged else 32) * MIB
    assert rows == 1 or rows > 100_000


def test_the_measure_notices_what_is_kept(tmp_path: Path) -> None:
    class Hoarder:
        def names(self) -> tuple[str, ...]:
            return ()

        def batches(self, _: object) -> list[pa.RecordBatch]:
            return list(source.batches(source.names()))

    path = tmp_path / "t.csv"
    path.write_bytes(HEADER + LINE * (128 * MIB // len(LINE)))
    source = open_source(path)
    assert growth(Hoarder())[1] > 64 * MIB  # type: ignore[arg-type]  # as much of a source as is needed


def test_compressed_csv(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(HEADER + LINE * (128 * MIB // len(LINE)), 1))
    assert path.stat().st_size < 2 * MIB
    rows, most = growth(open_source(path))
    assert most < 32 * MIB
    assert rows == 128 * MIB // len(LINE)


@pytest.mark.parametrize("distinct", [50, 5_000_000])
@pytest.mark.parametrize("groups", [1, 10])
def test_parquet(groups: int, distinct: int, tmp_path: Path) -> None:
    path, rows = tmp_path / "t.parquet", 5_000_000
    numbers = np.random.default_rng(0).integers(distinct, size=rows)
    table = pa.table({"number": numbers, "word": pa.array(numbers).cast(pa.string())})
    pq.write_table(table, path, row_group_size=rows // groups)
    assert table.nbytes > 64 * MIB
    del table, numbers
    found, most = growth(open_source(path), pa.total_allocated_bytes)  # Arrow's own, without what its allocator hoards
    assert found == rows
    assert most < 16 * MIB + path.stat().st_size / groups


def test_feather_in_batches(tmp_path: Path) -> None:
    path, batch = tmp_path / "t.arrow", pa.record_batch({"number": np.arange(2**16), "word": ["some word"] * 2**16})
    with pa.ipc.new_file(path, batch.schema) as writer:
        for _ in range(60):
            writer.write_batch(batch)
    rows, most = growth(open_source(path))
    assert rows == 60 * 2**16
    assert most < 32 * MIB


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_statistics_files(kind: str, tmp_path: Path) -> None:
    path, rows = tmp_path / f"t.{kind}", 300_000
    words = np.array(["some word", "another one"], dtype=object)
    frame = pd.DataFrame({"number": np.arange(rows, dtype=float), "word": words[np.arange(rows) % 2]})
    {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[kind](frame, path)
    del frame
    found, most = growth(open_source(path))
    assert found == rows
    assert most < 32 * MIB


def test_postgresql(postgres: str) -> None:
    query = "SELECT i AS number, repeat('word', 20) AS word FROM generate_series(1, 1000000) AS i"
    rows, most = growth(open_source(postgres, query=query))
    assert rows == 1_000_000
    assert most < 32 * MIB
