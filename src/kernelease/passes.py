"""Passes over encoded rows: which columns are counted or weighed together, in which threads, where codes lie meanwhile.

Plans are public. An auditor of counts may skip them: whatever the plan, `exact/counting.py` gives the same integers.
"""

import functools
import itertools
import math
import shutil
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.arrays import Integers
from kernelease.errors import CapacityError
from kernelease.machine import workers
from kernelease.measured.blocks import Block, refine
from kernelease.measured.sums import Program
from kernelease.privacy.sensitivity import Private
from kernelease.table.columns.column import MOST_ATOMS, Codes
from kernelease.table.encode import NarrowColumn

# ---- Groups of columns that cover all wanted sets: counting a group counts all its sets at once.


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
        widest = max(left, key=lambda columns: (_number_of_cells(columns, sizes), sorted(columns)))
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
        groups += (
            [union] if _number_of_cells(union, sizes) <= largest else [_countable(columns, sizes) for columns in held]
        )
    return tuple(groups)


def _countable(columns: Iterable[int], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The columns in order, or `CapacityError`."""
    if _number_of_cells(columns, sizes) > LARGEST_GROUP:
        raise CapacityError(
            f"Columns {tuple(sorted(columns))} have {_number_of_cells(columns, sizes):,} cells together; at most "
            f"{LARGEST_GROUP:,} can be counted. Group their atoms into fewer cells."
        )
    return tuple(sorted(columns))


def _number_of_cells(columns: Iterable[int], sizes: tuple[int, ...]) -> int:
    return math.prod(sizes[column] for column in columns)


def _best_addition(group: set[int], sizes: tuple[int, ...], left: set[frozenset[int]], largest: int) -> int | None:
    room = largest // _number_of_cells(group, sizes)
    missing = [columns - group for columns in left]
    gains = Counter(column for rest in missing if len(rest) == 1 for column in rest if sizes[column] <= room)
    return max(gains, key=lambda column: (gains[column], -column), default=None)


# ---- How blocks are counted.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How to count blocks in one pass: columns grouped into cells, and groups of columns counted together."""

    views: tuple[Codes, ...]  # of each column: the cell of each atom
    lengths: tuple[int, ...]  # of each column: its number of cells
    groups: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, blocks: Sequence[Block], sizes: tuple[int, ...]) -> "Layout":
        """The layout for some blocks of a table whose columns have so many atoms."""
        views = _views(blocks, sizes)
        lengths = tuple(int(view.max()) + 1 for view in views)
        return cls(
            views=views, lengths=lengths, groups=cover(lengths, frozenset(_columns_of(block) for block in blocks))
        )

    def cells(self, group: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a group's table."""
        return tuple(self.lengths[column] for column in group)

    @property
    def starts(self) -> tuple[int, ...]:
        """Where the table of each group begins in an array of all of them, and where the last one ends."""
        return tuple(itertools.accumulate((math.prod(self.cells(group)) for group in self.groups), initial=0))


def _columns_of(block: Block) -> tuple[int, ...]:
    return tuple(sorted(block.columns))


def _views(blocks: Sequence[Block], sizes: tuple[int, ...]) -> tuple[Codes, ...]:
    """The grouping of each column that all blocks share; where they differ its atoms, or cells of many atoms."""
    given: dict[int, list[Integers]] = {}
    for block in blocks:
        for column, group in zip(block.columns, block.groups, strict=True):
            given.setdefault(column, []).append(group)
    views = []
    for column, size in enumerate(sizes):
        distinct = {id(group): group for group in given.get(column, [np.arange(size)])}
        groups = list({group.tobytes(): group for group in distinct.values()}.values())
        apart = np.arange(size) if size <= MOST_ATOMS else refine(groups)
        views.append((groups[0] if len(groups) == 1 else apart).astype(np.int32))
    return tuple(views)


# ---- How blocks are weighed.


Grouping: TypeAlias = tuple[int, Integers]  # a column, and the cell of each of its atoms


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing:
    """How to add up what rows add in one pass. Many blocks share numbers, many their cells: each is found once."""

    program: Program  # of all numbers
    cells: tuple[tuple[Grouping, ...], ...]  # none where there is one cell
    places: tuple[tuple[int, tuple[int, ...]], ...]  # of each block: its cells, and the steps to its numbers

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> "Weighing":
        """The distinct numbers and cells of some blocks."""
        program = Program.of([number for block in blocks for number in block.addends])
        order: dict[Any, int] = {}
        cells, places, wanted = [], [], iter(program.wanted)
        for block in blocks:
            groupings = _groupings(block)
            key = tuple((column, group.tobytes()) for column, group in groupings)
            if key not in order:
                cells.append(groupings)
                order[key] = len(order)
            places.append((order[key], tuple(itertools.islice(wanted, len(block.addends)))))
        return cls(program=program, cells=tuple(cells), places=tuple(places))

    def wanted_steps(self) -> list[list[int]]:
        """For each of the cells, the steps to the numbers that are summed in them."""
        each = range(len(self.cells))
        return [sorted({step for cell, steps in self.places if cell == own for step in steps}) for own in each]

    def most(self, place: tuple[int, tuple[int, ...]]) -> int:
        """The most that a row can add to a number of a block, by its place."""
        return max(self.program.steps[step][0].most for step in place[1])


def _groupings(block: Block) -> tuple[Grouping, ...]:
    """The columns that are in several cells: the others do not part any row from another."""
    return tuple((c, group) for c, group in zip(block.columns, block.groups, strict=True) if group.any())


# ---- A forest over columns: which pairs would join two of its trees.


@final
class Forest:
    """Columns joined to trees by pairs; at first every column is a tree of its own.

    >>> forest = Forest([(0, 1), (1, 2), (0, 2)], 3)
    >>> forest.join(0), forest.join(1), forest.open.tolist()
    (None, None, [False, False, False])
    """

    __slots__ = ("_first", "_second", "_tree")

    def __init__(self, pairs: Sequence[tuple[int, ...]], columns: int) -> None:
        self._tree: Integers = np.arange(columns)
        self._first, self._second = (np.array([pair[end] for pair in pairs], dtype=np.int64) for end in (0, -1))

    @property
    def open(self) -> NDArray[np.bool_]:
        """Whether each pair would join two trees."""
        joins: NDArray[np.bool_] = self._tree[self._first] != self._tree[self._second]
        return joins

    def join(self, pair: int) -> None:
        """Make one tree of the two that a pair touches."""
        one, other = self._tree[self._first[pair]], self._tree[self._second[pair]]
        self._tree[self._tree == other] = one


# ---- Work on many items, in threads.


S = TypeVar("S")
T = TypeVar("T")

_AHEAD = 2  # items per thread that may wait: one in work, one ready, so that no thread stands idle


def spread(work: Callable[[S], T], items: Iterable[S], threads: int) -> Iterator[T]:
    """`work` of every item in threads; the results in the items' order.

    Items are taken by the caller's thread while others work, and at most two per thread are in memory. NumPy, SciPy's
    sparse products and Arrow let go of the interpreter's lock while they compute. An exception comes out where its
    result would have. A single item is work for the caller: threads would take longer to start.

    >>> list(spread(str.upper, "abc", 2))
    ['A', 'B', 'C']
    """
    rest = iter(items)
    first = list(itertools.islice(rest, 2))
    if len(first) < 2:
        yield from map(work, first)
        return
    waiting: deque[Future[T]] = deque()
    with workers(threads) as pool:
        try:
            for item in itertools.chain(first, rest):
                waiting.append(pool.submit(work, item))
                if len(waiting) > _AHEAD * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


# ---- Arrays on disk, in a file without a name.


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


# ---- Encoded rows, read in several passes.


class _Partial(Protocol):
    def add(self, batch: Batch, /) -> None: ...


P = TypeVar("P", bound=_Partial)


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
        return self._each(None, 1)

    def parts(self, make: Callable[[], P], *, threads: int) -> list[P]:
        """One pass: partial sums that `make` begins, one for each thread, and which all rows are added to."""
        parts = [make() for _ in range(threads)]
        deque(self._each([*parts], threads), maxlen=0)
        return parts

    def recode(
        self, columns: Sequence[int | tuple[NarrowColumn, int]], sizes: tuple[int, ...], *, fine: tuple[int, ...]
    ) -> "EncodedRows":
        """The same rows in other columns: the codes at a place, or codes that a column makes of the numbers at one."""

        def encode(batch: Batch) -> list[Batch]:
            codes, weights = batch
            made = [codes[one] if isinstance(one, int) else one[0].encode(pa.array(codes[one[1]])) for one in columns]
            return [(tuple(made), weights)]

        return EncodedRows(self.batches, sizes, encode=encode, weighted=self.weighted, fine=fine)

    def _each(self, idle: list[P] | None, threads: int) -> Iterator[Batch]:
        """One pass, in which each item's batches are added to a part that is idle; the first keeps them.

        A list's pop and append are atomic, and there are no more tasks at a time than threads.
        """
        known, kept = self._kept, Kept() if self._kept is None else None

        def work(item: Any) -> list[Batch]:
            batches = list(self._encode(item)) if known is None else [known.batch(item)]
            if idle is None:
                return batches
            own = idle.pop()
            for batch in batches:
                own.add(batch)
            idle.append(own)
            return batches if known is None else []

        items = self._read() if known is None else known.places()
        for batch in itertools.chain.from_iterable(spread(work, items, threads)):
            yield batch
            if kept is not None and not kept.add(batch):
                kept = None
        if known is None:
            self._kept = kept

    def _narrow(self, batch: Batch) -> Iterator[Batch]:
        codes, weights = batch
        yield tuple(column.astype(kind) for column, kind in zip(codes, self._types, strict=True)), weights
