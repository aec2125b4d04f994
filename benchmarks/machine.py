"""Where a benchmark ran, in a few words; and its parts in processes of their own."""

import os
import platform
import shelve
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

Unit = TypeVar("Unit")
Result = TypeVar("Result")


def described() -> str:
    """Cores, memory, Python: what times and memory depend on. No name, no address."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {gigabytes:.0f} GiB, {_processor()}, Python {platform.python_version()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def in_processes(
    function: Callable[[Unit], Result], units: Iterable[Unit], jobs: int, kept: Path | None = None
) -> Iterator[Result]:
    """The result of each unit, in their order; those that a file has `kept` are taken from it, the others put there."""
    units = list(units)
    with shelve.open(str(kept)) if kept else nullcontext({}) as known:  # noqa: S301  # the user's own file
        fresh = _in_processes(function, [unit for unit in units if repr(unit) not in known], jobs)
        for unit in units:
            if repr(unit) not in known:
                known[repr(unit)] = next(fresh)
            yield known[repr(unit)]


def _in_processes(function: Callable[[Unit], Result], units: list[Unit], jobs: int) -> Iterator[Result]:
    """Every process has one thread: CPU seconds are those of one core."""
    if jobs == 1:
        yield from map(function, units)
        return
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")  # read by the processes that are about to start
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(function, units)
