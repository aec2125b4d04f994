"""What the machine has: cores to work on, threads that start, memory that can be had. Nothing here looks at a row."""

import errno
import math
import mmap
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, TypeVar, final

from kernelease.errors import CapacityError, ResourceError

S = TypeVar("S")
T = TypeVar("T")

MEMORY_CAP = 4 * 2**30  # bytes that a single array may take. limit: of small machines
_AHEAD = 2  # items per thread that may wait: one in work, one ready, so that no thread stands idle
_FOR_A_THREAD = 2**25  # bytes: a stack of 8 MiB, and what it takes to say that it runs


def refuse_beyond_memory(what: str, *shape: int) -> None:
    """Raise `CapacityError` if a float64 array of this shape would pass the cap; before any budget is spent.

    >>> refuse_beyond_memory("A thousand points", 1000, 2)
    """
    needed = 8 * math.prod(shape)
    if needed > MEMORY_CAP:
        raise CapacityError(
            f"{what} would need {needed / 2**30:,.0f} GiB in one array; the cap is {MEMORY_CAP / 2**30:.0f} GiB."
        )


def require_memory(size: int, purpose: str) -> None:
    """Raise `ResourceError` unless so many bytes can be had now: to be asked before any budget is spent."""
    if not _can_have(size):
        raise ResourceError(
            f"There is not enough memory to {purpose}: {size / 2**20:,.0f} MiB more can't be had. Close other "
            "programs, raise this process's limit (`ulimit -v`), or use a larger machine. Nothing was spent."
        )


def _can_have(size: int) -> bool:
    """Whether the system would give so many bytes. They are not written to, so they take none from others."""
    try:
        mmap.mmap(-1, size).close()
    except (OSError, MemoryError, OverflowError):
        return False
    return True


def is_shortage(error: BaseException) -> bool:
    """Whether an error of any library says that memory ran out, and nothing about a file that was being read.

    >>> is_shortage(OSError(12, "Cannot allocate memory")), is_shortage(OSError(5, "Input/output error"))
    (True, False)
    """
    if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__:
        return True
    return isinstance(error, OSError) and error.errno == errno.ENOMEM


def refuse_shortage(error: BaseException) -> None:
    """Raise `MemoryError` where an error says that memory ran out: whoever catches it may think of damage else."""
    if is_shortage(error):
        raise MemoryError from None


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def workers(threads: int) -> Executor:
    """This many threads; if memory or permission is missing to start them, the caller's own does the work.

    Python waits for ever for a thread that has no memory to say that it runs, and a pool that fails to start one keeps
    the task that it was given. So threads are tried before any task is.
    """
    startable = _can_have(_FOR_A_THREAD * threads) and _can_start(threads)
    return ThreadPoolExecutor(threads) if startable else _Here()


def _can_start(threads: int) -> bool:
    done, started = threading.Event(), list[threading.Thread]()
    try:
        for _ in range(threads):
            thread = threading.Thread(target=done.wait)
            thread.start()
            started.append(thread)
    except RuntimeError:  # the system allows no more of them
        return False
    finally:
        done.set()
        for thread in started:
            thread.join()
    return True


@final
class _Here(Executor):
    """The caller's own thread, which works when it is told to."""

    def submit(self, fn: Callable[..., T], /, *arguments: Any, **options: Any) -> "Future[T]":
        done: Future[T] = Future()
        try:
            done.set_result(fn(*arguments, **options))
        except Exception as error:  # noqa: BLE001  # whoever asks for the result gets it
            done.set_exception(error)
        return done


def spread(work: Callable[[S], T], items: Iterable[S], threads: int) -> Iterator[T]:
    """`work` of every item in threads; the results in the items' order.

    Items are taken by the caller's thread while others work, and at most two per thread are in memory. NumPy, SciPy's
    sparse products and Arrow let go of the interpreter's lock while they compute. An exception comes out where its
    result would have.

    >>> list(spread(str.upper, "abc", 2))
    ['A', 'B', 'C']
    """
    waiting: deque[Future[T]] = deque()
    with workers(threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > _AHEAD * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
