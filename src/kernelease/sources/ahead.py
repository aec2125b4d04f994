"""Reading one batch ahead: the next one is read and encoded while this one is counted."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def one_ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items in the same order, each made in another thread while the one before is in use.

    Two items are in memory at a time. An exception comes out where its item would have.

    >>> list(one_ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    nothing = object()
    with ThreadPoolExecutor(1) as worker:
        following = worker.submit(next, items, nothing)
        while (item := following.result()) is not nothing:
            following = worker.submit(next, items, nothing)
            yield item  # type: ignore[misc]  # not `nothing`
