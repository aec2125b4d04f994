"""Encoded private rows that can be read in several passes."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Integers
from kernelease.private.parallel import spread
from kernelease.private.private import Private
from kernelease.private.spool import Spool

# codes (columns, n), with those of finer cells below them; integer weights (n,) or None for 1 each
Batch: TypeAlias = tuple[NDArray[Any], Integers | None]
T = TypeVar("T")

MOST_KEPT = 2**28  # bytes: rows beyond it are kept on disk


@final
class EncodedRows(Private):
    """Batches of codes, kept after the first pass. Private: no values, no length.

    A method that looks at noisy counts before it asks for more needs the rows again. A table whose codes take at most
    256 MiB (a byte or two a cell) is kept in memory; what is beyond goes to a nameless file, or is read again from its
    source where there is no room for one. `encode` makes a batch of what `read` yields, in any thread; without it,
    batches are read as they are.
    """

    __slots__ = ("_encode", "_kept", "_read", "_type", "fine", "weighted")

    def __init__(
        self,
        read: Callable[[], Iterator[Any]],
        sizes: tuple[int, ...],
        *,
        encode: Callable[[Any], Batch] | None = None,
        weighted: bool = False,
        fine: tuple[int, ...] = (),
    ) -> None:
        self.weighted = weighted  # whether rows are parts of persons
        self.fine = fine  # the columns whose codes on a finer grid follow all atoms, in this order
        self._read = read
        self._encode = encode
        self._type = np.uint8 if max(sizes) <= 2**8 and not fine else np.uint16
        self._kept: _Kept | None = None

    def batches(self) -> Iterator[Batch]:
        """One pass over all rows, in the order of the source."""
        return self.each(lambda batch: batch, threads=1)

    def each(self, work: Callable[[Batch], T], *, threads: int) -> Iterator[T]:
        """One pass: `work` of every batch in threads, and its results in the order of the source."""
        if self._kept is not None:
            kept = self._kept
            return spread(lambda place: work(kept.batch(place)), kept.places(), threads)
        return self._first(work, threads)

    def _first(self, work: Callable[[Batch], T], threads: int) -> Iterator[T]:
        kept: _Kept | None = _Kept()

        def encoded(item: Any) -> tuple[Batch, T]:
            codes, weights = item if self._encode is None else self._encode(item)
            narrow = codes.astype(self._type), weights
            return narrow, work(narrow)

        for batch, result in spread(encoded, self._read(), threads):
            yield result
            if kept is not None and not kept.add(batch):
                kept = None
        self._kept = kept


class _Kept:
    """The batches of one pass: the first in memory, the others in a spool."""

    def __init__(self) -> None:
        self._held: list[Batch] = []
        self._room = MOST_KEPT
        self._spool: Spool | None = None

    def add(self, batch: Batch) -> bool:
        """Keep a batch; False if there is no room for it."""
        size = sum(array.nbytes for array in batch if array is not None)
        if self._spool is None and size <= self._room:
            self._room -= size
            self._held.append(batch)
            return True
        try:
            self._spool = Spool() if self._spool is None else self._spool
        except OSError:  # no temporary folder that can be written to
            return False
        return self._spool.add(batch)

    def places(self) -> Iterable[int]:
        return range(len(self._held) + (0 if self._spool is None else self._spool.count))

    def batch(self, place: int) -> Batch:
        if place < len(self._held):
            return self._held[place]
        if self._spool is None:
            raise IndexError(place)
        codes, weights = self._spool.read(place - len(self._held))
        return codes, weights
