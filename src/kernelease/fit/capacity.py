"""How much memory one array may take. What needs more is refused before any budget is spent."""

import math

from kernelease.errors import CapacityError

MEMORY_CAP = 4 * 2**30  # bytes that a single array may take. limit: of small machines


def refuse_beyond_memory(what: str, *shape: int) -> None:
    """Raise `CapacityError` if a float64 array of this shape would pass the cap; before any budget is spent.

    >>> refuse_beyond_memory("A thousand points", 1000, 2)
    """
    needed = 8 * math.prod(shape)
    if needed > MEMORY_CAP:
        raise CapacityError(
            f"{what} would need {needed / 2**30:,.0f} GiB in one array; the cap is {MEMORY_CAP / 2**30:.0f} GiB."
        )
