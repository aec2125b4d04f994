"""Encoded private rows that can be read in several passes."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Integers
from kernelease.private.private import Private

# codes (columns, n), with those of finer cells below them; integer weights (n,) or None for 1 each
Batch: TypeAlias = tuple[NDArray[Any], Integers | None]

MOST_KEPT = 2**28  # bytes: rows beyond it are read again from their source


@final
class EncodedRows(Private):
    """Batches of codes, kept in memory after the first pass where they are small. Private: no values, no length.

    A method that looks at noisy counts before it asks for more needs the rows again. A table whose codes take at most
    256 MiB (a byte or two a cell) is read once; a larger one is read from its source in every pass.
    """

    __slots__ = ("_kept", "_read", "_type", "fine", "weighted")

    def __init__(
        self,
        read: Callable[[], Iterator[Batch]],
        sizes: tuple[int, ...],
        *,
        weighted: bool = False,
        fine: tuple[int, ...] = (),
    ) -> None:
        self.weighted = weighted  # whether rows are parts of persons
        self.fine = fine  # the columns whose codes on a finer grid follow all atoms, in this order
        self._read = read
        self._type = np.uint8 if max(sizes) <= 2**8 and not fine else np.uint16
        self._kept: list[Batch] | None = None

    def batches(self) -> Iterator[Batch]:
        """One pass over all rows."""
        return self._first() if self._kept is None else iter(self._kept)

    def _first(self) -> Iterator[Batch]:
        kept: list[Batch] | None = []
        held = 0
        for codes, weights in self._read():
            yield codes, weights
            if kept is not None:
                narrow = codes.astype(self._type)
                held += narrow.nbytes + (0 if weights is None else weights.nbytes)
                kept = [*kept, (narrow, weights)] if held <= MOST_KEPT else None
        self._kept = kept
