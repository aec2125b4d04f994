"""Exact counts of blocks, and exact sums of weights, in one pass over encoded rows."""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.sparse import csc_array

from kernelease.arrays import BigIntegers, Integers, block_slices
from kernelease.errors import CapacityError
from kernelease.machine import workers
from kernelease.measured.blocks import Block, Ramp, refined
from kernelease.private.encoded import Batch, EncodedRows
from kernelease.private.private import Private
from kernelease.table.columns.column import MOST_ATOMS, Codes
from kernelease.table.reading import dense

# --------------------
# Groups of columns that cover all wanted sets: counting a group counts all its sets at once.


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
    missing = [columns - group for columns in left if len(columns - group) == 1]
    gains = {
        column: sum(column in rest for rest in missing)
        for column in {column for rest in missing for column in rest}
        if sizes[column] <= room
    }
    return max(gains, key=lambda column: (gains[column], -column), default=None)


# --------------------
# Exact counts.


CHUNK = 2**18  # rows read at a time: fewer, and what is done once for all of them costs more
# bytes of gathered cells: where two chunks have no more, they are counted at a time, and threads meet at the
# interpreter's lock half as often
_FEW = 2**24
_NARROW = 2**16  # cells that two bytes tell apart
_FOUR_BYTES = 2**31 - 1  # rows whose counts fit them, however they fall
_MOST_TABLES = 2**30  # bytes of all threads' counts together: where one table is large, fewer threads count


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
        return cls(views=views, lengths=lengths, groups=cover(lengths, frozenset(_set(block) for block in blocks)))

    def cells(self, group: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a group's table."""
        return tuple(self.lengths[column] for column in group)

    @property
    def starts(self) -> tuple[int, ...]:
        """Where the table of each group begins in an array of all of them, and where the last one ends."""
        return tuple(itertools.accumulate((math.prod(self.cells(group)) for group in self.groups), initial=0))

    def tables(self, counts: Integers, blocks: Sequence[Block]) -> list[Integers]:
        """The table of each block from the counts of all groups, one after the other, row by row of their tables."""
        totals = np.split(counts, self.starts[1:-1])
        whole = {g: total.reshape(self.cells(g)) for g, total in zip(self.groups, totals, strict=True)}
        holding: dict[int, list[tuple[int, ...]]] = {}
        for group in self.groups:
            for column in group:
                holding.setdefault(column, []).append(group)
        near = [min((holding[column] for column in block.columns), key=len) for block in blocks]
        return [block_of({g: whole[g] for g in n}, block, self.views) for n, block in zip(near, blocks, strict=True)]


@final
class PartialCounts(Private):
    """Counts of a layout's groups over some of the rows: Σ over all parts is the counts of the table.

    They are integers, so which rows are in which part, in which order they come and in what batches changes nothing.
    Cells are gathered in two bytes each until there is a chunk of rows, or two where columns are few: a table is not
    added up for a handful of them.
    Counts are in four bytes for as long as none can be more: less to read and write for each chunk.
    """

    __slots__ = ("_added", "_cells", "_counts", "_gathered", "_joint", "_layout", "_narrow", "_rows", "_views")

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._counts: NDArray[Any] = np.zeros(layout.starts[-1], dtype=np.int32)
        self._views = {column: _look_up(layout.views[column]) for column in sorted(set().union(*layout.groups))}
        rows = 2 * CHUNK if 4 * CHUNK * len(self._views) <= _FEW else CHUNK
        self._cells = {column: np.empty(rows, dtype=np.uint16) for column in self._views}
        self._added: NDArray[Any] = np.ones(rows, dtype=np.int32)  # what each row of the chunk adds
        self._narrow, self._joint = np.empty(rows, dtype=np.uint16), np.empty(rows, dtype=np.int32)
        self._gathered, self._rows = 0, 0

    def add(self, batch: Batch) -> None:
        """Gather a batch of any size, and count whenever there is a chunk."""
        codes, weights = batch
        if weights is not None and self._added.dtype != np.int64:
            self._added = np.empty_like(self._joint, dtype=np.int64)
        start, count = 0, len(codes[0])
        while start < count:
            rows = min(count - start, len(self._joint) - self._gathered)
            self._gather(codes, weights, slice(start, start + rows))
            start += rows
            if self._gathered == len(self._joint):
                self._count()

    def total(self) -> Integers:
        """The counts of all groups so far, one group after the other: a new array each time."""
        self._count()
        return self._counts.astype(np.int64)

    def _gather(self, codes: Sequence[NDArray[Any]], weights: Integers | None, part: slice) -> None:
        place = slice(self._gathered, self._gathered + part.stop - part.start)
        for column, view in self._views.items():
            self._cells[column][place] = view(codes[column][part])
        if weights is not None:
            self._added[place] = weights[part]
        self._gathered = place.stop

    def _count(self) -> None:
        count, self._gathered = self._gathered, 0
        if not count:
            return
        self._rows += count
        if self._added.dtype == np.int64 or self._rows > _FOUR_BYTES:
            self._counts = self._counts.astype(np.int64, copy=False)
        starts = self._layout.starts
        for group, start, stop in zip(self._layout.groups, starts, starts[1:], strict=False):
            self._join(group, stop - start, count)
            self._counts[start:stop] += self._histogram(stop - start, count)

    def _join(self, group: tuple[int, ...], cells: int, count: int) -> None:
        """One index for the cells of all columns of a group: (n,). In two bytes where these hold it: half the time."""
        joint, (first, *others) = self._joint[:count], group
        out = self._narrow[:count] if others and cells <= _NARROW else joint
        index: NDArray[Any] = self._cells[first][:count]
        for column in others:
            np.multiply(index, self._layout.lengths[column], out=out, dtype=out.dtype)
            index = np.add(out, self._cells[column][:count], out=out)
        if index is not joint:
            np.copyto(joint, index)

    def _histogram(self, cells: int, count: int) -> NDArray[Any]:
        """What each cell gets if every row adds to that of its index: (cells,).

        As a product of a sparse matrix of one column, since SciPy lets go of the interpreter's lock while it multiplies
        and `numpy.bincount` does not. It checks no index: cells come from `views`, which are looked up with a check.
        """
        whole = np.array([0, count], dtype=np.int32)
        column = csc_array((self._added[:count], self._joint[:count], whole), shape=(cells, 1))
        table: NDArray[Any] = column @ np.ones(1, dtype=self._added.dtype)
        return table


def count_blocks(
    rows: EncodedRows | Iterable[Batch], blocks: Sequence[Block], sizes: tuple[int, ...], *, threads: int = 1
) -> list[Integers]:
    """The table of each block, in its shape: how many rows (or how much weight) each cell holds.

    Counts are integers, so batches, order and threads change nothing.
    """
    layout = Layout.of(blocks, sizes)
    encoded = rows if isinstance(rows, EncodedRows) else EncodedRows(lambda: iter(rows), sizes)
    return layout.tables(total_counts(encoded, layout, threads), blocks)


def total_counts(rows: EncodedRows, layout: Layout, threads: int) -> Integers:
    """The counts of all groups over all rows. Each thread adds to counts of its own, which are added up at the end."""
    threads = max(1, min(threads, _MOST_TABLES // (8 * layout.starts[-1])))
    parts = rows.parts(lambda: PartialCounts(layout), threads=threads)
    with workers(threads) as pool:
        totals = pool.map(PartialCounts.total, parts)  # each still has to count what it has gathered last
    return functools.reduce(np.add, totals, np.zeros(layout.starts[-1], dtype=np.int64))


def block_of(tables: dict[tuple[int, ...], Integers], block: Block, views: Sequence[Codes] | None = None) -> Integers:
    """A block's table from the smallest of a group of columns which holds all of its own.

    The axes of a group's table are the cells of `views`, or atoms where there are none.
    """
    group = min((group for group in tables if set(block.columns) <= set(group)), key=lambda group: tables[group].size)
    axes = [group.index(column) for column in block.columns]
    table: Integers = np.einsum(tables[group], range(len(group)), axes)  # summed over all other columns
    for column, cells in zip(block.columns, block.groups, strict=True):
        grouping = cells if views is None else _through(views[column], cells)
        table = _grouped(table, grouping)
        table = np.moveaxis(table, 0, -1)  # the next axis comes first; after all of them the order is as before
    return table


def _set(block: Block) -> tuple[int, ...]:
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
        apart = np.arange(size) if size <= MOST_ATOMS else refined(groups)
        views.append((groups[0] if len(groups) == 1 else apart).astype(np.int32))
    return tuple(views)


def _through(view: Codes, cells: Integers) -> Integers:
    """The grouping of a view's cells that gives the same as `cells` gives for atoms."""
    grouping = np.zeros(int(view.max()) + 1, dtype=np.int64)
    grouping[view] = cells
    return grouping


def _look_up(view: Codes) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """The cells of atoms, none of them beyond the view: (n,) → (n,)."""
    narrow = pa.array(view.astype(np.uint16))

    def checked(codes: NDArray[Any]) -> NDArray[Any]:
        if codes.size and (int(codes.max()) >= len(view) or (codes.dtype.kind == "i" and int(codes.min()) < 0)):
            raise IndexError(f"A code is beyond the {len(view)} atoms of its column.")
        return codes

    def looked_up(codes: NDArray[Any]) -> NDArray[Any]:
        return dense(pc.take(narrow, pa.array(checked(codes)), boundscheck=False))

    return checked if np.array_equal(view, np.arange(len(view))) else looked_up


def _grouped(table: Integers, cells: Integers) -> Integers:
    """Sums over the atoms of each cell along the first axis."""
    if np.array_equal(cells, np.arange(len(table))):
        return table
    grouped = np.zeros((int(cells.max()) + 1, *table.shape[1:]), dtype=np.int64)
    np.add.at(grouped, cells, table)
    return grouped


# --------------------
# Exact sums of weights: the moments.


Grouping: TypeAlias = tuple[int, Integers]  # a column, and the cell of each of its atoms

_LIMB, _LOWER = 32, 2**32 - 1  # bits, and the number that has them all: 2³¹ parts may be added up
_CHUNK = 2**14  # rows at a time, so that what is made of them stays in the cache…
# …and rows whose sums fit 64 bits: weights up to 2²⁸, times those of persons, below 2²⁰, add up to at most 2⁶²
_MOST_ROWS, _MOST_ROWS_OF_PERSONS = 2**34, 2**14


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing:
    """How to weigh blocks in one pass. Many share the weights of a column, many its cells: each is found once."""

    ramps: tuple[tuple[int, Ramp], ...]  # a column, and what its values weigh
    weights: tuple[tuple[int, ...], ...]  # products of these
    cells: tuple[tuple[Grouping, ...], ...]  # none where there is one cell
    places: tuple[tuple[int, int], ...]  # of each block: its cells, and its weight

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> "Weighing":
        """The distinct ramps, weights and cells of some blocks."""
        ramps: dict[Any, tuple[int, Ramp]] = {}
        weights: dict[tuple[Any, ...], int] = {}
        cells: dict[tuple[Any, ...], tuple[Grouping, ...]] = {}
        places = []
        for block in blocks:
            factors = {_key(c, r.start, r.slope, r.limit): (c, r) for c, r in _ramps(block)}
            ramps |= factors
            groupings = {_key(c, group): (c, group) for c, group in _groupings(block)}
            cells.setdefault(tuple(groupings), tuple(groupings.values()))
            places.append((tuple(groupings), weights.setdefault(tuple(factors), len(weights))))
        numbers, order = ({key: i for i, key in enumerate(found)} for found in (ramps, cells))
        return cls(
            ramps=tuple(ramps.values()),
            weights=tuple(tuple(numbers[key] for key in factors) for factors in weights),
            cells=tuple(cells.values()),
            places=tuple((order[key], weight) for key, weight in places),
        )

    def wanted(self) -> list[list[int]]:
        """For each of the cells, the weights that are summed in them."""
        return [sorted({weight for own, weight in self.places if own == cell}) for cell in range(len(self.cells))]


@final
class PartialWeights(Private):
    """Sums of the weights of blocks over some of the rows: Σ over all parts is the sums of the table.

    `fine` are the columns whose codes on a finer grid follow those of all `columns`; for the others, f = a.
    """

    __slots__ = ("_fine", "_plan", "_rows", "_sums", "_totals", "_wanted")

    def __init__(self, plan: Weighing, columns: int, fine: tuple[int, ...]) -> None:
        self._plan, self._wanted = plan, plan.wanted()
        self._fine = {column: columns + index for index, column in enumerate(fine)}
        shapes = [(_count(cells), len(wanted)) for cells, wanted in zip(plan.cells, self._wanted, strict=True)]
        self._totals: list[BigIntegers] = [np.zeros(shape, dtype=object) for shape in shapes]
        self._sums: list[Integers] = [np.zeros(shape, dtype=np.int64) for shape in shapes]
        self._rows = 0  # that are in the sums, and not in the totals yet

    def add(self, batch: Batch) -> None:
        """Weigh a batch of any size."""
        codes, persons = batch
        most = _MOST_ROWS if persons is None else _MOST_ROWS_OF_PERSONS
        for part in block_slices(len(codes[0]), _CHUNK):
            if self._rows + part.stop - part.start > most:
                self._flush()
            self._rows += part.stop - part.start
            self._weigh([column[part] for column in codes], None if persons is None else persons[part])

    def totals(self) -> list[BigIntegers]:
        """The sums of each block so far, row by row of its table: (cells,) each."""
        self._flush()
        return [self._totals[cell][:, self._wanted[cell].index(weight)] for cell, weight in self._plan.places]

    def _flush(self) -> None:
        for total, sums in zip(self._totals, self._sums, strict=True):
            np.add(total, sums, out=total)
            sums[:] = 0
        self._rows = 0

    def _weigh(self, codes: Sequence[NDArray[Any]], persons: Integers | None) -> None:
        ramps = [ramp.of(codes[c], codes[self._fine.get(c, c)]) for c, ramp in self._plan.ramps]
        ones, starts = np.ones(len(codes[0]), dtype=np.int64), np.arange(len(codes[0]) + 1, dtype=np.int32)
        weights = [_product([ramps[i] for i in own], persons) for own in self._plan.weights]
        for cells, wanted, sums in zip(self._plan.cells, self._wanted, self._sums, strict=True):
            if not cells:
                sums[0] += [int(weights[weight].sum()) for weight in wanted]
                continue
            rows = csc_array((ones, _cells(cells, codes), starts), shape=(len(sums), len(ones)))  # each in its cell
            np.add(sums, rows @ np.stack([weights[weight] for weight in wanted], axis=1), out=sums)


def weigh_blocks(
    batches: Iterable[Batch], blocks: Sequence[Block], columns: int, fine: tuple[int, ...]
) -> list[BigIntegers]:
    """For each block, the sum of its weights over the rows of each cell, in its shape: Σ_rows weight·Π_i t_i."""
    part = PartialWeights(Weighing.of(blocks), columns, fine)
    for batch in batches:
        part.add(batch)
    return _shaped(blocks, [part])


def weigh_rows(rows: EncodedRows, blocks: Sequence[Block], columns: int, *, threads: int) -> list[BigIntegers]:
    """The same on all cores: each thread adds to sums of its own, which are added up at the end."""
    plan = Weighing.of(blocks)
    return _shaped(blocks, rows.parts(lambda: PartialWeights(plan, columns, rows.fine), threads=threads))


def in_limbs(tables: Sequence[BigIntegers]) -> Integers:
    """Sums of any size as 64-bit integers that can be added up: their lower 32 bits, then the rest of each."""
    flat = np.concatenate([table.ravel() for table in tables])
    return np.concatenate([flat & _LOWER, flat >> _LIMB]).astype(np.int64)


def from_limbs(limbs: Integers, blocks: Sequence[Block]) -> list[BigIntegers]:
    """The sums of each block, in its shape, from what `in_limbs` gave, added up over parts."""
    lower, upper = limbs.reshape(2, -1).astype(object)
    tables = np.split(lower + upper * (_LOWER + 1), np.cumsum([block.cells for block in blocks])[:-1])
    return [table.reshape(block.shape) for table, block in zip(tables, blocks, strict=True)]


def _shaped(blocks: Sequence[Block], parts: Sequence[PartialWeights]) -> list[BigIntegers]:
    sums = zip(*(part.totals() for part in parts), strict=True)
    return [np.add.reduce(own).reshape(block.shape) for own, block in zip(sums, blocks, strict=True)]


def _key(column: int, *parts: Any) -> tuple[Any, ...]:
    return column, *(part.tobytes() if isinstance(part, np.ndarray) else part for part in parts)


def _ramps(block: Block) -> list[tuple[int, Ramp]]:
    return [(c, ramp) for c, ramp in zip(block.columns, block.ramps, strict=True) if ramp is not None]


def _groupings(block: Block) -> list[Grouping]:
    """The columns that are in several cells: the others do not part any row from another."""
    return [(c, group) for c, group in zip(block.columns, block.groups, strict=True) if group.any()]


def _count(cells: Sequence[Grouping]) -> int:
    return math.prod(int(group.max()) + 1 for _, group in cells)


def _product(factors: Sequence[Integers], persons: Integers | None) -> Integers:
    product = factors[0] if len(factors) == 1 else factors[0] * factors[1]
    return product if persons is None else product * persons


def _cells(cells: Sequence[Grouping], codes: Sequence[NDArray[Any]]) -> Codes:
    """The cell of each row, row by row of the table: (n,)."""
    joint = np.zeros(len(codes[0]), dtype=np.int32)
    for column, group in cells:
        joint *= int(group.max()) + 1
        joint += group.astype(np.int32).take(codes[column])
    return joint
