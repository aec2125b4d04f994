"""Groups of columns that together hold every pair: counting a group counts all its pairs at once."""

import functools
import itertools
import math


@functools.lru_cache(maxsize=64)
def pair_cover(sizes: tuple[int, ...], largest: int = 2**16) -> tuple[tuple[int, ...], ...]:
    """Groups of columns, each of at most `largest` joint cells unless it is a single pair, that cover all pairs.

    Greedy: start from the largest pair that is left, add the column that covers most new pairs for its size. Fewer
    passes over the rows than one per pair, and the counts of each still fit the processor's cache.

    >>> pair_cover((2, 3, 4))
    ((0, 1, 2),)
    """
    left: set[tuple[int, int]] = set(itertools.combinations(range(len(sizes)), 2))
    groups: list[tuple[int, ...]] = [] if left else [(column,) for column in range(len(sizes))]
    while left:
        widest = max(left, key=lambda pair: (sizes[pair[0]] * sizes[pair[1]], pair))
        group = set(widest)
        while (best := _best_addition(group, sizes, left, largest)) is not None:
            group.add(best)
        left -= set(itertools.combinations(sorted(group), 2))
        groups.append(tuple(sorted(group)))
    return tuple(groups)


def _best_addition(group: set[int], sizes: tuple[int, ...], left: set[tuple[int, int]], largest: int) -> int | None:
    room = largest // math.prod(sizes[column] for column in group)
    gains = {
        column: sum((min(column, other), max(column, other)) in left for other in group) / math.log(sizes[column] + 1)
        for column in range(len(sizes))
        if column not in group and sizes[column] <= room
    }
    best = max(gains, key=lambda column: (gains[column], -column), default=None)
    return best if best is not None and gains[best] > 0 else None
