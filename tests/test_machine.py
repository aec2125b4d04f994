"""Work on all cores: the same results in the same order, and a bounded number of items at a time."""

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from kernelease import machine
from kernelease.errors import ResourceError
from kernelease.machine import cores, one_thread
from kernelease.passes import spread
from kernelease.sources import open_source


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_results_come_in_the_items_order(threads: int) -> None:
    gate = threading.Event()

    def work(item: int) -> int:
        if item == 0 and threads > 1:
            assert gate.wait(300)  # the first is the last to be done
        if item == threads - 1:
            gate.set()
        return item * item

    assert list(spread(work, range(50), threads)) == [item * item for item in range(50)]


def test_no_more_than_two_items_per_thread_wait() -> None:
    taken: list[int] = []

    def items():  # type: ignore[no-untyped-def]
        for item in range(100):
            taken.append(item)
            yield item

    results = spread(str, items(), 2)
    next(results)
    assert len(taken) == 5
    results.close()  # type: ignore[attr-defined]


def test_an_exception_comes_out_where_its_result_would_have() -> None:
    results = spread(lambda item: 1 // item, [1, 1, 0, 1], 2)
    assert [next(results), next(results)] == [1, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_there_is_a_core() -> None:
    assert cores() >= 1


# ------------------------------------------------------------------------------------------ where the machine has less


def test_threads_that_have_no_memory_are_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would wait for ever for one of them to say that it runs."""
    monkeypatch.setattr(machine, "_FOR_A_THREAD", 2**60)
    here = threading.get_ident()
    assert set(spread(lambda _: threading.get_ident(), range(9), 4)) == {here}


def test_threads_that_the_system_does_not_allow_are_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, allowed = threading.Thread.start, [2]

    def start(thread: threading.Thread) -> None:
        if allowed[0] == 0:
            raise RuntimeError("can't start new thread")
        allowed[0] -= 1
        honest(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    here = threading.get_ident()
    assert list(spread(lambda item: (item, threading.get_ident()), range(9), 4)) == [(item, here) for item in range(9)]


def test_an_exception_comes_out_where_its_result_would_have_without_threads_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "_FOR_A_THREAD", 2**60)
    results = spread(lambda item: 1 // item, [1, 0, 1], 1)
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_memory_that_can_not_be_had_is_told_in_a_line() -> None:
    machine.require_memory(2**20, "make a release")
    with pytest.raises(ResourceError, match=r"not enough memory to make a release: .* MiB more can't be had"):
        machine.require_memory(2**62, "make a release")


@pytest.mark.parametrize(
    ("error", "short"),
    [
        (MemoryError(), True),
        (pa.ArrowMemoryError("malloc of size 64 failed"), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (type("OutOfMemoryException", (Exception,), {})(), True),  # as DuckDB calls it
        (OSError(errno.EIO, "Input/output error"), False),
        (pa.ArrowInvalid("Not a Parquet file"), False),
    ],
)
def test_want_of_memory_is_told_from_damage(error: Exception, short: bool) -> None:
    assert machine.is_shortage(error) is short
    with pytest.raises(MemoryError) if short else nullcontext():
        machine.refuse_shortage(error)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_a_file_that_memory_does_not_suffice_for_is_not_called_damaged(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, table = tmp_path / f"people.{kind}", pa.table({"age": [1, 2, 3]})
    {"csv": pyarrow.csv.write_csv, "parquet": pyarrow.parquet.write_table, "arrow": pyarrow.feather.write_feather}[
        kind
    ](table, path)
    source = open_source(path)

    def short(self: object, columns: tuple[str, ...]) -> Iterator[None]:
        raise pa.ArrowMemoryError("malloc of size 64 failed")
        yield

    monkeypatch.setattr(type(source), "_parts", short)
    with pytest.raises(MemoryError):
        list(source.batches(("age",)))


def _threads_of_blas() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_linear_algebra_gets_its_threads_back() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        before = _threads_of_blas()
        with one_thread():
            assert _threads_of_blas() == {1}
        assert _threads_of_blas() == before


RELEASE = """
import hashlib
import numpy as np
import kernelease as ke

rows = np.random.default_rng(0).normal(size=(3000, 2))
method = ke.Adaptive(points=ke.fit.NormalPoints(dimension=2, scale=2.0), rank=256, features=256)
kernel = ke.kernels.Gaussian(lengthscale=0.5)
made = ke.release(rows, kernel=kernel, method=method, privacy=(1, 1e-6), noise=ke.SeededNoise(0))
print(hashlib.sha256(made.vectors().rows.tobytes() + made.vectors().weights.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_vectors_are_the_same_to_the_bit_however_many_threads_there_are() -> None:
    hashes = set()
    for threads in ("1", "4"):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": threads, "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, "-c", RELEASE]
        hashes.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(hashes) == 1
