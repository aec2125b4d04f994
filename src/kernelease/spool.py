"""Where codes lie between two passes over the rows: in memory, then on disk in a file without a name."""

import shutil
import tempfile
import threading
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Integers

# --------------------
# Arrays on disk, in a file without a name.


Arrays: TypeAlias = tuple[NDArray[Any] | None, ...]
_Shape: TypeAlias = tuple[str, tuple[int, ...]] | None  # of one array: its type and shape

MOST_OF_DISK = 0.5  # of what is free in the temporary folder: the rest is for others


@final
class Spool:
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
# The batches of one pass.


# the codes of each column, with those of finer cells after them: (n,) each; integer weights (n,) or None for 1 each
Batch: TypeAlias = tuple[Sequence[NDArray[Any]], Integers | None]

MOST_KEPT = 2**28  # bytes: rows beyond it are kept on disk


@final
class Kept:
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
