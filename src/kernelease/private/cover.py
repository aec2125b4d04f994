"""Groups of columns that together hold every wanted set: counting a group counts all its sets at once."""

import functools
import math
from collections.abc import Iterable

from kernelease.errors import CapacityError

MANY = 1000  # sets: from there on the search costs more than it saves (5,995 pairs: 3 s)
LARGEST_GROUP = 2**26  # joint cells of one wanted set: a table of 512 MiB


@functools.lru_cache(maxsize=64)
def cover(
    sizes: tuple[int, ...], wanted: frozenset[tuple[int, ...]], largest: int = 2**16
) -> tuple[tuple[int, ...], ...]:
    """Groups of columns, each of at most `largest` joint cells unless it is a single wanted set, that hold all sets.

    Greedy: start from the largest set that is left, add the column that completes most sets. Fewer passes
    over the rows than one per set, and the counts of each group still fit the processor's cache. Many pairs are covered
    by bundles of columns, two at a time: the search would take longer than counting.

    >>> cover((2, 3, 4), frozenset({(0, 1), (0, 2), (1, 2)}))
    ((0, 1, 2),)
    """
    if len(wanted) > MANY:
        return _by_bundles(sizes, wanted, largest)
    left = {frozenset(columns) for columns in wanted}
    groups: list[tuple[int, ...]] = []
    while left:
        widest = max(left, key=lambda columns: (_cells(columns, sizes), sorted(columns)))
        group = set(_countable(widest, sizes))
        while (best := _best_addition(group, sizes, left, largest)) is not None:
            group.add(best)
        left = {columns for columns in left if not columns <= group}
        groups.append(tuple(sorted(group)))
    return tuple(groups)


def _by_bundles(
    sizes: tuple[int, ...], wanted: frozenset[tuple[int, ...]], largest: int
) -> tuple[tuple[int, ...], ...]:
    """Columns in bundles of at most √largest joint cells; sets within two bundles are counted with both."""
    bundle, cells, number = {}, 1, 0
    for column in sorted({column for columns in wanted for column in columns}, key=lambda c: (sizes[c], c)):
        if cells * sizes[column] > math.isqrt(largest):
            number, cells = number + 1, 1
        bundle[column], cells = number, cells * sizes[column]
    sets: dict[frozenset[int], list[tuple[int, ...]]] = {}
    for columns in sorted(wanted):
        sets.setdefault(frozenset(bundle[column] for column in columns), []).append(columns)
    groups: list[tuple[int, ...]] = []
    for held in sets.values():
        union = tuple(sorted({column for columns in held for column in columns}))
        groups += [union] if _cells(union, sizes) <= largest else [_countable(columns, sizes) for columns in held]
    return tuple(groups)


def _countable(columns: Iterable[int], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The columns in order, or `CapacityError`."""
    if _cells(columns, sizes) > LARGEST_GROUP:
        raise CapacityError(
            f"Columns {tuple(sorted(columns))} have {_cells(columns, sizes):,} cells together; at most "
            f"{LARGEST_GROUP:,} can be counted. Group their atoms into fewer cells."
        )
    return tuple(sorted(columns))


def _cells(columns: Iterable[int], sizes: tuple[int, ...]) -> int:
    return math.prod(sizes[column] for column in columns)


def _best_addition(group: set[int], sizes: tuple[int, ...], left: set[frozenset[int]], largest: int) -> int | None:
    room = largest // _cells(group, sizes)
    missing = [columns - group for columns in left if len(columns - group) == 1]
    gains = {
        column: sum(column in rest for rest in missing)
        for column in {column for rest in missing for column in rest}
        if sizes[column] <= room
    }
    return max(gains, key=lambda column: (gains[column], -column), default=None)
