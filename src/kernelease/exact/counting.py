"""Exact counts of blocks and exact sums of weights over private rows, and the ways from them to noisy ones.

A plan (`passes.py`) says which columns are counted together. It is public, and decides how long a pass takes: whatever
it is, every row is in one cell of each block, and adds 1 there, its person's weight, or no more than the block's limit.
"""

import functools
import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.sparse import csc_array

from kernelease.arrays import BigIntegers, Integers, block_slices
from kernelease.errors import PrivacyError
from kernelease.machine import cores
from kernelease.measured.blocks import MOST_COLUMNS, Block, NoisyBlock
from kernelease.measured.counts import Counts
from kernelease.measured.sums import CodedRows
from kernelease.passes import Batch, EncodedRows, Forest, Grouping, Layout, Weighing, spread
from kernelease.privacy.accounting import Selection
from kernelease.privacy.mechanisms import PrivacyFilter, measure, select
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import Neighbours, Private, distance_sensitivity, public_number
from kernelease.table.columns.column import Codes

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
class PartialCounts(Private):
    """Counts of a layout's groups over some of the rows: Σ over all parts is the counts of the table.

    They are integers, so which rows are in which part, in which order they come and in what batches changes nothing.
    Cells are gathered in two bytes each until there is a chunk of rows, or two where columns are few, and counted in
    four while none can be more. Room for them is made with the first: of many threads, few may get any.
    """

    __slots__ = ("_added", "_cells", "_counts", "_gathered", "_joint", "_layout", "_narrow", "_rows", "_views")

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._counts: NDArray[Any] = np.zeros(layout.starts[-1], dtype=np.int32)
        self._views: dict[int, Callable[[NDArray[Any]], NDArray[Any]]] = {}
        self._gathered, self._rows = 0, 0
        if any(int(layout.views[column].max()) >= layout.lengths[column] for column in set().union(*layout.groups)):
            raise IndexError("A plan has cells beyond the table that it counts them in.")

    def _make_room(self) -> None:
        self._views = {i: _look_up(self._layout.views[i]) for i in sorted(set().union(*self._layout.groups))}
        rows = 2 * CHUNK if 4 * CHUNK * len(self._views) <= _FEW else CHUNK
        self._cells = {column: np.empty(rows, dtype=np.uint16) for column in self._views}
        self._added: NDArray[Any] = np.ones(rows, dtype=np.int32)  # what each row of the chunk adds
        self._narrow, self._joint = np.empty(rows, dtype=np.uint16), np.empty(rows, dtype=np.int32)

    def add(self, batch: Batch) -> None:
        """Gather a batch of any size, and count whenever there is a chunk."""
        codes, weights = batch
        if not self._views:
            self._make_room()
        if weights is not None and self._added.dtype != np.int64:
            self._added = np.empty_like(self._joint, dtype=np.int64)
        start, count = 0, len(codes[0])
        while start < count:
            rows = min(count - start, len(self._joint) - self._gathered)
            self._gather(codes, weights, slice(start, start + rows))
            start += rows
            if self._gathered == len(self._joint):
                self.settle()

    def any(self) -> bool:
        """Whether a row was added."""
        return self._gathered + self._rows > 0

    def settle(self) -> None:
        """Count what was gathered last."""
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

    def total(self) -> Integers:
        """The counts of all groups so far, one group after the other: a new array each time."""
        self.settle()
        return self._counts.astype(np.int64)

    def _gather(self, codes: Sequence[NDArray[Any]], weights: Integers | None, part: slice) -> None:
        place = slice(self._gathered, self._gathered + part.stop - part.start)
        for column, view in self._views.items():
            self._cells[column][place] = view(codes[column][part])
        if weights is not None:
            self._added[place] = weights[part]
        self._gathered = place.stop

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
    return tables_of(layout, total_counts(encoded, layout, threads), blocks)


def total_counts(rows: EncodedRows, layout: Layout, threads: int) -> Integers:
    """The counts of all groups over all rows. Each thread adds to counts of its own, which are added up at the end."""
    threads = max(1, min(threads, _MOST_TABLES // (8 * layout.starts[-1])))
    parts = rows.parts(lambda: PartialCounts(layout), threads=threads)
    some = [part for part in parts if part.any()]
    for _ in spread(PartialCounts.settle, some, threads):
        pass
    return functools.reduce(np.add, (part.total() for part in some), np.zeros(layout.starts[-1], dtype=np.int64))


def tables_of(layout: Layout, counts: Integers, blocks: Sequence[Block]) -> list[Integers]:
    """The table of each block from the counts of all groups, one after the other, row by row of their tables."""
    totals = np.split(counts, layout.starts[1:-1])
    whole = {g: total.reshape(layout.cells(g)) for g, total in zip(layout.groups, totals, strict=True)}
    holding: dict[int, list[tuple[int, ...]]] = {}
    for group in layout.groups:
        for column in group:
            holding.setdefault(column, []).append(group)
    near = [min((holding[column] for column in block.columns), key=len) for block in blocks]
    return [block_of({g: whole[g] for g in n}, block, layout.views) for n, block in zip(near, blocks, strict=True)]


def block_of(tables: dict[tuple[int, ...], Integers], block: Block, views: Sequence[Codes] | None = None) -> Integers:
    """A block's table from the smallest of a group of columns which holds all of its own.

    The axes of a group's table are the cells of `views`, or atoms where there are none.
    """
    group = min((group for group in tables if set(block.columns) <= set(group)), key=lambda group: tables[group].size)
    axes = [group.index(column) for column in block.columns]
    table: Integers = np.einsum(tables[group], range(len(group)), axes)  # summed over all other columns
    for column, cells in zip(block.columns, block.groups, strict=True):
        grouping = cells if views is None else _through(views[column], cells)
        table = _sum_groups(table, grouping)
        table = np.moveaxis(table, 0, -1)  # the next axis comes first; after all of them the order is as before
    return table


def _through(view: Codes, cells: Integers) -> Integers:
    """The grouping of a view's cells that gives the same as `cells` gives for atoms."""
    grouping = np.zeros(int(view.max()) + 1, dtype=np.int64)
    grouping[view] = cells
    return grouping


def _look_up(view: Codes) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """The cells of atoms, none of them beyond the view: (n,) → (n,)."""
    narrow = pa.array(view.astype(np.uint16))

    def check(codes: NDArray[Any]) -> NDArray[Any]:
        if codes.size and (int(codes.max()) >= len(view) or (codes.dtype.kind == "i" and int(codes.min()) < 0)):
            raise IndexError(f"A code is beyond the {len(view)} atoms of its column.")
        return codes

    def looked_up(codes: NDArray[Any]) -> NDArray[Any]:
        return np.from_dlpack(pc.take(narrow, pa.array(check(codes)), boundscheck=False))

    return check if np.array_equal(view, np.arange(len(view))) else looked_up


def _sum_groups(table: Integers, cells: Integers) -> Integers:
    """Sums over the atoms of each cell along the first axis."""
    if np.array_equal(cells, np.arange(len(table))):
        return table
    grouped = np.zeros((int(cells.max()) + 1, *table.shape[1:]), dtype=np.int64)
    np.add.at(grouped, cells, table)
    return grouped


# --------------------
# Exact sums of weights: the moments.


_WEIGHED = 2**14  # rows at a time, so that what is made of them stays in the cache…
# …and rows whose sums fit 64 bits: weights up to 2²⁸, times those of persons, below 2²⁰, add up to at most 2⁶²
_MOST_ROWS, _MOST_ROWS_OF_PERSONS = 2**34, 2**14


@final
class PartialWeights(Private):
    """Sums of the weights of blocks over some of the rows: Σ over all parts is the sums of the table.

    `fine` are the columns whose codes on a finer grid follow those of all `columns`; for the others, f = a.
    """

    __slots__ = ("_fine", "_rows", "_sums", "_totals", "_wanted", "plan")

    def __init__(self, plan: Weighing, columns: int, fine: tuple[int, ...]) -> None:
        self.plan, self._wanted = plan, plan.wanted_steps()
        self._fine = {column: columns + index for index, column in enumerate(fine)}
        counts = [math.prod(int(group.max()) + 1 for _, group in cells) for cells in plan.cells]
        shapes = [(count, len(steps)) for count, steps in zip(counts, self._wanted, strict=True)]
        self._totals: list[BigIntegers] = [np.zeros(shape, dtype=object) for shape in shapes]
        self._sums: list[Integers] = [np.zeros(shape, dtype=np.int64) for shape in shapes]
        self._rows = 0  # that are in the sums, and not in the totals yet

    def add(self, batch: Batch) -> None:
        """Weigh a batch of any size."""
        codes, persons = batch
        most = _MOST_ROWS if persons is None else _MOST_ROWS_OF_PERSONS
        for part in block_slices(len(codes[0]), _WEIGHED):
            if self._rows + part.stop - part.start > most:
                self._flush()
            self._rows += part.stop - part.start
            self._weigh([column[part] for column in codes], None if persons is None else persons[part])

    def totals(self) -> list[BigIntegers]:
        """The sums of each block so far, row by row of its table: (cells, numbers) each."""
        self._flush()
        return [self._totals[cell][:, np.searchsorted(self._wanted[cell], own)] for cell, own in self.plan.places]

    def _flush(self) -> None:
        for total, sums in zip(self._totals, self._sums, strict=True):
            np.add(total, sums, out=total)
            sums[:] = 0
        self._rows = 0

    def _weigh(self, codes: Sequence[NDArray[Any]], persons: Integers | None) -> None:
        found = self.plan.program.numbers(CodedRows(codes, self._fine))
        numbers = {step: found[step] if persons is None else found[step] * persons for step in self.plan.program.wanted}
        ones, starts = np.ones(len(codes[0]), dtype=np.int64), np.arange(len(codes[0]) + 1, dtype=np.int32)
        for cells, wanted, sums in zip(self.plan.cells, self._wanted, self._sums, strict=True):
            if not cells:
                sums[0] += [int(numbers[step].sum()) for step in wanted]
                continue
            rows = csc_array((ones, _cells(cells, codes), starts), shape=(len(sums), len(ones)))  # each in its cell
            np.add(sums, rows @ np.stack([numbers[step] for step in wanted], axis=1), out=sums)


def weigh_rows(rows: EncodedRows, blocks: Sequence[Block], columns: int, *, threads: int) -> list[BigIntegers]:
    """For each block, the sums of what rows add to it, each times its person's weight, in its shape.

    Each thread adds to sums of its own, which are added up at the end.
    """
    plan = Weighing.of(blocks)
    return sums_of_blocks(blocks, rows.parts(lambda: PartialWeights(plan, columns, rows.fine), threads=threads))


def sums_of_blocks(blocks: Sequence[Block], parts: Sequence[PartialWeights]) -> list[BigIntegers]:
    """The sums of each block, in its shape, over all parts.

    A `PrivacyError` if the plan weighed a row by more than its block is charged for.
    """
    plan = parts[0].plan
    if any(plan.most(place) > block.whole for block, place in zip(blocks, plan.places, strict=True)):
        raise PrivacyError("A plan weighs rows by more than is charged for. Nothing was drawn.")
    sums = zip(*(part.totals() for part in parts), strict=True)
    return [np.add.reduce(own).reshape(block.shape) for own, block in zip(sums, blocks, strict=True)]


def _cells(cells: Sequence[Grouping], codes: Sequence[NDArray[Any]]) -> Codes:
    """The cell of each row, row by row of the table: (n,)."""
    joint = np.zeros(len(codes[0]), dtype=np.int32)
    for column, group in cells:
        joint *= int(group.max()) + 1
        joint += group.astype(np.int32).take(codes[column])
    return joint


# --------------------
# The doors: what a method may ask of a table's counts.


Counter: TypeAlias = Callable[[Sequence[Block]], list[Integers]]
Again: TypeAlias = Callable[[Any], "ExactCounts"]  # of a schema
Weigher: TypeAlias = Callable[[Sequence[Block]], list[BigIntegers]]


@final
class ExactCounts(Private):
    """How many rows hold each combination of cells, for the blocks that are asked for. Private: it shows no value.

    Single columns are counted once, at the start; every other call is a pass over the rows. `privatise` and `choose`
    are the only ways out, and each charges the budget before it draws noise.
    """

    __slots__ = ("_count", "_counter", "_singles", "_weigher", "again", "sizes", "unit")

    def __init__(
        self, counter: Counter, sizes: tuple[int, ...], *, weigher: Weigher, unit: int = 1, count: int | None = None
    ) -> None:
        self.sizes = sizes
        self.again: Again | None = None  # counts of the same rows by another schema: some columns, in other cells
        self.unit = unit  # what one row (or person) adds in all
        self._counter, self._weigher = counter, weigher  # of counts, and of moments
        singles = [Counts(columns=(i,), groups=(np.arange(size),), share=0.0) for i, size in enumerate(sizes)]
        self._singles: dict[tuple[int, ...], Integers] = {(i,): table for i, table in enumerate(counter(singles))}
        rows = int(self._singles[0,].sum())  # every row is in exactly one cell of every block
        self._count = rows if count is None else count

    @classmethod
    def of(cls, rows: EncodedRows, sizes: tuple[int, ...], *, unit: int = 1) -> "ExactCounts":
        """Counts of encoded rows."""
        return cls(
            lambda blocks: count_blocks(rows, blocks, sizes, threads=cores()),
            sizes,
            unit=unit,
            weigher=lambda blocks: weigh_rows(rows, blocks, len(sizes), threads=cores()),
        )

    def first(self, columns: int) -> "ExactCounts":
        """The same rows with so many of their first columns alone."""
        counter, weigher, unit, count = self._counter, self._weigher, self.unit, self._count
        return ExactCounts(counter, self.sizes[:columns], weigher=weigher, unit=unit, count=count)

    def public_rows(self, neighbours: Neighbours) -> float | None:
        """The number of rows (or persons) where the relation makes it public, else None; refused if public and 0."""
        known = public_number(self._count, neighbours)
        return None if known is None else known / self.unit

    def privatise(
        self, blocks: Sequence[Block], budget: PrivacyFilter, *, noise: NoiseSource, stage: int = 0
    ) -> tuple[NoisyBlock, ...]:
        """Charge each block's share of the budget, then add noise to its counts, or sums of weights."""
        self.public_rows(budget.neighbours)
        exact, neighbours = self._exact(blocks), budget.neighbours
        moved, labels = [block.sensitivity(neighbours, self.unit) for block in blocks], [one.label for one in blocks]
        measured = [
            measure(table.ravel().astype(object), far, budget=budget, share=block.share, noise=noise, label=label)
            for block, table, far, label in zip(blocks, exact, moved, labels, strict=True)
        ]
        pairs = zip(blocks, measured, strict=True)
        return tuple([NoisyBlock(block=one, measurement=own, unit=self.unit, round=stage) for one, own in pairs])

    def choose(
        self,
        candidates: Sequence[Block],
        expected: Sequence[Integers],
        handicaps: Sequence[int],
        budget: PrivacyFilter,
        *,
        count: int,
        share: float,
        noise: NoiseSource,
        forest: bool = False,
    ) -> tuple[tuple[int, ...], tuple[Selection, ...]]:
        """Private choice of the `count` candidates whose counts are farthest from what is `expected` of them.

        Their places come back, and the selections as they were drawn: each is an index among those left by then.

        The score of a candidate is Σ |count − expected| over its cells, less its handicap: both are public integers in
        units, so that one row moves a score by exactly `distance_sensitivity` at most. Of four columns it is half of
        what their distance has beyond that of any three of them: what three show is theirs to show. Each choice
        costs an equal part of `share`, and candidates are chosen once. A `forest` is made of pairs that join columns
        which no chosen pairs join yet; where none is left, no more is chosen or charged.
        """
        step = distance_sensitivity(budget.neighbours, unit=self.unit)
        scores = [
            _distance(table - guess) - handicap
            for table, guess, handicap in zip(self._exact(candidates), expected, handicaps, strict=True)
        ]
        trees = Forest([candidate.columns for candidate in candidates], len(self.sizes))
        free = np.ones(len(candidates), dtype=bool)
        chosen: list[int] = []
        picks: list[Selection] = []
        while len(chosen) < count and (left := np.flatnonzero(free & trees.open if forest else free)).size:
            pick = select(
                [scores[index] for index in left],
                step,
                budget=budget,
                share=share / count,
                noise=noise,
                label="choice of a block",
            )
            index = int(left[pick.index])
            free[index] = False
            trees.join(index)
            chosen.append(index)
            picks.append(pick)
        return tuple(chosen), tuple(picks)

    def _exact(self, blocks: Sequence[Block]) -> list[NDArray[Any]]:
        """The exact integers of each block, in its shape: what it makes of counts, or of sums of weights."""
        weighted = [block for block in blocks if block.weighs]
        weighed = iter(self._weigher(weighted) if weighted else [])
        few, four = (self._joint(blocks, sizes) for sizes in (range(2, MOST_COLUMNS), [MOST_COLUMNS]))

        def table(block: Block) -> NDArray[Any]:
            if block.weighs:
                return next(weighed)
            if not block.columns:
                return np.array(self._singles[0,].sum())
            if len(block.columns) == 1:
                return block_of(self._singles, block)
            return next(four if len(block.columns) == MOST_COLUMNS else few)

        tables = [table(block) for block in blocks]
        return [block.exact(own) for block, own in zip(blocks, tables, strict=True)]

    def _joint(self, blocks: Sequence[Block], sizes: Container[int]) -> Iterator[Integers]:
        """The tables of counts of so many columns: of four in a pass apart, as others would make their cells finer."""
        wanted = [block for block in blocks if not block.weighs and len(block.columns) in sizes]
        return iter(self._counter(wanted) if wanted else [])


def _distance(away: Integers) -> int:
    """Σ |away| over the cells of a table; of four columns, half of what that is beyond the same of any three of them.

    A row moves Σ |away| by at most as much in sums along an axis as in the table, so their difference by twice that,
    and half of it, rounded down, by once.
    """
    whole = int(np.abs(away).sum())
    if away.ndim < MOST_COLUMNS:
        return whole
    return (whole - max(int(np.abs(away.sum(axis=axis)).sum()) for axis in range(away.ndim))) // 2
