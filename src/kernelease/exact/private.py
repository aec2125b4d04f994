"""What objects that hold private values refuse, and encoded rows that are read in several passes."""

import itertools
from abc import ABC
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn, Protocol, TypeVar, final

import numpy as np

from kernelease.errors import ParameterError, PrivacyError
from kernelease.machine import lent, spread
from kernelease.privacy.sensitivity import Neighbours
from kernelease.spool import Batch, Kept


class Private(ABC):  # noqa: B024  # abstract in what it is for: there is nothing to implement
    """Holds private values. It prints none, has no length, no truth value, can't be iterated, copied or pickled.

    Any of these would tell something of the rows to whoever happens to look: a log, a debugger, a test of truth.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(private)"

    def __len__(self) -> NoReturn:
        raise PrivacyError(f"{type(self).__name__} has no length: how many rows it holds may be private.")

    def __iter__(self) -> NoReturn:
        raise PrivacyError(f"{type(self).__name__} can't be iterated: it holds private values.")

    def __bool__(self) -> NoReturn:
        raise PrivacyError(f"{type(self).__name__} has no truth value: it would depend on private rows.")

    def __reduce__(self) -> Any:
        raise PrivacyError(f"{type(self).__name__} can't be pickled or copied: it holds private values.")

    __getstate__ = __reduce__


def public_number(count: int, neighbours: Neighbours) -> int | None:
    """A number of rows where the relation makes it public, else None; a `ParameterError` if it is public and 0."""
    if neighbours is Neighbours.ADD_REMOVE:
        return None
    if count == 0:  # N is public under replace-one, so this says nothing private
        raise ParameterError("The table is empty: under replace-one there is no row to protect or describe.")
    return count


class _Partial(Protocol):
    def add(self, batch: Batch, /) -> None: ...


P = TypeVar("P", bound=_Partial)
T = TypeVar("T")


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
        self._kept: Kept | None = None

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
        for _ in self.each(lent(parts, lambda part, batch: part.add(batch)), threads=threads):
            pass
        return parts

    def _narrow(self, batch: Batch) -> Iterator[Batch]:
        codes, weights = batch
        yield tuple(column.astype(kind) for column, kind in zip(codes, self._types, strict=True)), weights

    def _first(self, work: Callable[[Batch], T], threads: int) -> Iterator[T]:
        kept: Kept | None = Kept()

        def encoded(item: Any) -> list[tuple[Batch, T]]:
            return [(batch, work(batch)) for batch in self._encode(item)]

        for batch, result in itertools.chain.from_iterable(spread(encoded, self._read(), threads)):
            yield result
            if kept is not None and not kept.add(batch):
                kept = None
        self._kept = kept
