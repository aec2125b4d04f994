"""Encoded private rows that can be read in several passes, kept on disk in a file without a name."""

import itertools
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Integers
from kernelease.machine import spread
from kernelease.private.private import Private

# --------------------
# Arrays on disk, in a file without a name.


Arrays: TypeAlias = tuple[NDArray[Any] | None, ...]
_Shape: TypeAlias = tuple[str, tuple[int, ...]] | None  # of one array: its type and shape

MOST_OF_DISK = 0.5  # of what is free in the temporary folder: the rest is for others


@final
class Spool(Private):
    """Private arrays in the owner's temporary folder (`TMPDIR`), in a file that no other process can open.

    The file has no name, and the system deletes it with the last descriptor: also after `kill -9`, and there is nothing
    to clean up at the next start.
    """

    __slots__ = ("_file", "_lock", "_places", "_room", "_shapes")

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="kernelease-")  # noqa: SIM115  # open as long as this lives
        self._room = int(MOST_OF_DISK * shutil.disk_usage(tempfile.gettempdir()).free)
        self._lock = threading.Lock()
        self._places = [0]  # where each entry begins, and the end
        self._shapes: list[tuple[_Shape, ...]] = []

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # else there was no temporary folder
            self._file.close()

    @property
    def count(self) -> int:
        """How many entries there are: batches, not rows."""
        return len(self._shapes)

    def add(self, arrays: Arrays) -> bool:
        """Append an entry; False where the disk has no room, and then the spool is of no more use."""
        size = sum(array.nbytes for array in arrays if array is not None)
        if self._places[-1] + size > self._room:
            return False
        try:
            for array in arrays:
                if array is not None:
                    self._file.write(np.ascontiguousarray(array).data)
            self._file.flush()
        except OSError:  # the disk is full
            return False
        self._places.append(self._places[-1] + size)
        self._shapes.append(tuple(None if array is None else (array.dtype.str, array.shape) for array in arrays))
        return True

    def read(self, place: int) -> tuple[Any, ...]:
        """An entry, as it was added; from any thread."""
        with self._lock:
            self._file.seek(self._places[place])
            content = self._file.read(self._places[place + 1] - self._places[place])
        return _arrays(content, self._shapes[place])


def _arrays(content: bytes, shapes: Sequence[_Shape]) -> Arrays:
    arrays: list[NDArray[Any] | None] = []
    start = 0
    for shape in shapes:
        if shape is None:
            arrays.append(None)
            continue
        array = np.frombuffer(content, shape[0], int(np.prod(shape[1])), start).reshape(shape[1])
        arrays.append(array)
        start += array.nbytes
    return tuple(arrays)


# --------------------
# The encoded rows.


# the codes of each column, with those of finer cells after them: (n,) each; integer weights (n,) or None for 1 each
Batch: TypeAlias = tuple[Sequence[NDArray[Any]], Integers | None]
T = TypeVar("T")


class Partial(Protocol):
    """Sums over some of the rows."""

    def add(self, batch: Batch, /) -> None: ...


P = TypeVar("P", bound=Partial)

MOST_KEPT = 2**28  # bytes: rows beyond it are kept on disk


@final
class EncodedRows(Private):
    """Batches of codes, kept after the first pass. Private: no values, no length.

    A method that looks at noisy counts before it asks for more needs the rows again. A table whose codes take at most
    256 MiB (a byte or two a cell) is kept in memory; what is beyond goes to a nameless file, or is read again from its
    source where there is no room for one. `encode` makes batches of what `read` yields, in any thread; without it,
    batches are read as they are, of any integers, and put into a byte or two.
    """

    __slots__ = ("_encode", "_kept", "_read", "_types", "fine", "weighted")

    def __init__(
        self,
        read: Callable[[], Iterator[Any]],
        sizes: tuple[int, ...],
        *,
        encode: Callable[[Any], Iterable[Batch]] | None = None,
        weighted: bool = False,
        fine: tuple[int, ...] = (),
    ) -> None:
        self.weighted = weighted  # whether rows are parts of persons
        self.fine = fine  # the columns whose codes on a finer grid follow all atoms, in this order
        self._read = read
        self._encode = self._narrow if encode is None else encode
        self._types = [np.uint8 if size <= 2**8 else np.uint16 for size in sizes] + [np.uint16] * len(fine)
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

    def parts(self, make: Callable[[], P], *, threads: int) -> list[P]:
        """One pass: partial sums that `make` begins, one for each thread, and which all rows are added to."""
        parts = [make() for _ in range(threads)]
        idle = list(parts)

        def add(batch: Batch) -> None:
            own = idle.pop()  # a list's pop and append are atomic, and there are no more tasks at a time than threads
            own.add(batch)
            idle.append(own)

        for _ in self.each(add, threads=threads):
            pass
        return parts

    def _narrow(self, batch: Batch) -> Iterator[Batch]:
        codes, weights = batch
        yield tuple(column.astype(kind) for column, kind in zip(codes, self._types, strict=True)), weights

    def _first(self, work: Callable[[Batch], T], threads: int) -> Iterator[T]:
        kept: _Kept | None = _Kept()

        def encoded(item: Any) -> list[tuple[Batch, T]]:
            return [(batch, work(batch)) for batch in self._encode(item)]

        for batch, result in itertools.chain.from_iterable(spread(encoded, self._read(), threads)):
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
        codes, weights = batch
        size = sum(array.nbytes for array in codes) + (0 if weights is None else weights.nbytes)
        if self._spool is None and size <= self._room:
            self._room -= size
            self._held.append(batch)
            return True
        try:
            self._spool = Spool() if self._spool is None else self._spool
        except OSError:  # no temporary folder that can be written to
            return False
        return self._spool.add((*codes, weights))

    def places(self) -> Iterable[int]:
        return range(len(self._held) + (0 if self._spool is None else self._spool.count))

    def batch(self, place: int) -> Batch:
        if place < len(self._held):
            return self._held[place]
        if self._spool is None:
            raise IndexError(place)
        *codes, weights = self._spool.read(place - len(self._held))
        return codes, weights
