"""Work on all cores, in bounded memory, with results in order."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")

_AHEAD = 2  # items per thread that may wait: one in work, one ready, so that no thread stands idle


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spread(work: Callable[[S], T], items: Iterable[S], threads: int) -> Iterator[T]:
    """`work` of every item in threads; the results in the items' order.

    Items are taken by the caller's thread while others work, and at most two per thread are in memory. NumPy, SciPy's
    sparse products and Arrow let go of the interpreter's lock while they compute. An exception comes out where its
    result would have.

    >>> list(spread(str.upper, "abc", 2))
    ['A', 'B', 'C']
    """
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads) as pool:
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
