"""The looks before all else: on which grid a number lies, where its rows are, which values many rows share."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np
import scipy
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.exact.counting import ExactCounts
from kernelease.measured.counts import Counts
from kernelease.measured.looks import Laid, Look, NoisyLook
from kernelease.methods.interactions.singles import noise_scale
from kernelease.privacy.mechanisms import PrivacyFilter
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import block_sensitivity
from kernelease.table.columns.cells import Celled, LaidLevels, comb_classes, split_levels, terms_within
from kernelease.table.columns.column import MOST_ATOMS, Column
from kernelease.table.columns.numbers import FEW, Numeric, is_looked_at, on_grid, spacing_of, to_ticks
from kernelease.table.schema import Schema

Flags: TypeAlias = NDArray[np.bool_]
Steps: TypeAlias = tuple[tuple[int, int], ...]  # of progressions, with their remainders

# --------------------
# What it costs.


# convention: of the budget, for each column that is laid: half or twice as much makes no table worse
SHARE = 0.012
MOST_SHARE = 0.07  # research: Tables: texture of numbers. The same for all of them
COMB = 0.16  # research: Tables: texture of numbers. Of a column's share, for each of its two combs of grids
# convention: the same for its comb of endings, over a comb of grids: half or twice as much makes no table worse
ENDS = 0.5
RUNS = 256  # convention: runs of the first zoom: as many as a column has cells that is not laid
PARTS = 16  # research: Tables: texture of numbers. Into which a zoom cuts a run
MOST_PARTS = 64  # limit: into which a zoom cuts a run where legal values are very many: a look has room for no more
ZOOMS = 4  # convention: from so many zooms on, runs are cut into more parts
GRIDS = (Fraction(10), Fraction(5), Fraction(5, 2))  # convention: what people round to: times powers of ten
MOST_CELLS = MOST_ATOMS - 1  # limit: of a look; NULL is one more atom


def share(columns: Sequence[Column]) -> float:
    """The part of the budget that looks take."""
    return min(MOST_SHARE, SHARE * sum(map(is_looked_at, columns)))


def most_atoms(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The same columns, where each that is laid has as many atoms as it can get."""
    return tuple(
        dataclasses.replace(column, cells=MOST_LAID)
        if isinstance(column, Celled) and to_ticks(column) is not None
        else column
        for column in columns
    )


def most_look_numbers(columns: Sequence[Column]) -> int:
    """The most noisy numbers of all looks."""
    found = (to_ticks(column) for column in columns if is_looked_at(column))
    return sum((zooms(one) + 3) * MOST_ATOMS for one in found if one is not None)


def expected_look_numbers(columns: Sequence[Column]) -> int:
    """How many noisy numbers looks have where few runs are cut: three combs and some zooms of each column."""
    found = (to_ticks(column) for column in columns if is_looked_at(column))
    return sum(3 * (len(grids_of(one)) + 2) + ENDINGS + RUNS * zooms(one) for one in found if one is not None)


def zooms(column: Numeric) -> int:
    """How many zooms it takes, at most, from runs to single values."""
    number = column.levels.number
    return 1 if number <= FEW else 1 + math.ceil(math.log(number / RUNS, parts_of(number)) - 1e-9)


def parts_of(number: int) -> int:
    """Into how many parts a run is cut."""
    root: float = (number / RUNS) ** (1.0 / (ZOOMS - 1))
    return min(MOST_PARTS, max(PARTS, math.ceil(root)))


# --------------------
# Combs: on which grid values lie, and how they end.


SURE = 0.01  # research: Tables: texture of numbers. Of all rows: so few off a grid are rounded to it…
# convention: …or so many standard deviations of noise: half or twice as much makes no table worse…
DOUBT = 2.0
MOST_DOUBT = 0.05  # research: Tables: texture of numbers. …of which none may be more than that part of all rows
# convention: standard deviations beyond those of the largest of many counts, from which on rows lie on a progression
# on purpose: half or twice as much makes no table worse
SHOWN = 1.0
# research: Tables: texture of numbers. Rows of a stretch with its own share of rows on grids, over the noise of a count
ROWS_OF_STRETCH = 50.0
STRETCHES = 4  # research: Tables: texture of numbers. Of a column's range, each with its own share of rows on grids
ROUNDED = 4  # convention: decimals of a share
PATTERN = 10_000  # convention: values of a progression that are looked at for how many are in each class of a comb
TURNS = 30  # limit: of weighing what cells have of each progression: more moves no share by .01
ALIKE = 1e-6  # limit: of what a progression shows beyond others: what is shorter is rounding
ENDINGS = 100  # convention: remainders that are told apart, at most: two digits
# convention: so often each of them is among the values of half of the rows, which makes a smooth density even over
# them: half or twice as often makes no table worse
PERIODS = 2
# convention: cells at either side over which the density of values is averaged: half or twice as many make no table
# worse
BESIDE = 4


def grids_of(column: Numeric) -> tuple[int, ...]:
    """Public grids, in legal values, coarsest first: 1, 2.5 and 5 times powers of ten, where these are whole.

    >>> from kernelease.table.columns.numbers import Number
    >>> grids_of(Number(name="price", min=0.0, max=100.0, resolution=0.05))
    (100, 50, 20, 10, 5, 2)
    """
    return _multiples(column, GRIDS)


def _multiples(column: Numeric, of: Sequence[Fraction]) -> tuple[int, ...]:
    spacing, number = spacing_of(column), column.levels.number
    tens = range(math.floor(math.log10(spacing)) - 1, math.floor(math.log10(spacing * number)) + 1)
    found = {grid * Fraction(10) ** ten / spacing for ten in tens for grid in of}
    return tuple(sorted((int(g) for g in found if g.denominator == 1 and 1 < g <= number / PARTS), reverse=True))


def modulus_of(column: Numeric, within: float = math.inf) -> int:
    """The number whose remainders tell how values end: the largest power of ten of at most `ENDINGS` legal values.

    Half of the rows lie `within` so many legal values, which hold each ending `PERIODS` times. 1 for none.

    >>> from kernelease.table.columns.numbers import Number
    >>> price = Number(name="price", min=0.0, max=100.0, decimals=2)
    >>> modulus_of(price), modulus_of(price, within=300)
    (100, 100)
    >>> modulus_of(price, within=30)
    10
    """
    return max((ten for ten in _multiples(column, GRIDS[:1]) if ten <= min(ENDINGS, within / PERIODS)), default=1)


def progressions_of(grids: Sequence[int], modulus: int) -> Steps:
    """What rows may lie on on purpose, as steps and remainders: each grid, and each ending of those that are told.

    >>> progressions_of((100, 10, 5), 5)
    ((100, 0), (10, 0), (5, 0), (5, 1), (5, 2), (5, 3), (5, 4))
    """
    ending = [grid for grid in grids if modulus % grid == 0]
    return (*((grid, 0) for grid in grids), *((step, rest) for step in ending for rest in range(1, step)))


@functools.lru_cache(maxsize=64)
def expected_classes(grids: tuple[int, ...], modulus: int, progressions: Steps) -> Floats:
    """Of values spread over each progression, and over all, the part in each class: (classes, progressions + 1).

    Classes are those of a comb.
    """
    table = np.zeros((len(grids) + modulus, len(progressions) + 1))
    for place, (step, remainder) in enumerate((*progressions, (1, 0))):
        values = np.arange(1, PATTERN + 1, dtype=np.int64) * step + remainder
        table[:, place] = np.bincount(comb_classes(values, grids, modulus), minlength=len(table)) / PATTERN
    table.setflags(write=False)  # it is shared
    return table


def on_purpose(seen: Floats, table: Floats) -> list[int]:
    """The progressions that rows lie on on purpose, and last what shows values on none.

    Counts of classes, (classes,), are a mixture of what each progression alone would show, (classes, progressions + 1),
    both in standard deviations of their noise. One after the other is taken that explains most of what is left, as
    long as noise does not: a grid explains the many remainders of its values better than any of these. Those that
    noise explains beside the others are dropped.
    """
    kept, least = [table.shape[1] - 1], SHOWN + math.sqrt(2.0 * math.log(table.shape[1]))
    while True:
        rest = seen - table @ mixture_of(seen, table, kept)
        beside = np.linalg.qr(table[:, kept])[0]
        own = table - beside @ (beside.T @ table)
        lengths, none = np.linalg.norm(own, axis=0), ALIKE * np.linalg.norm(table, axis=0)
        scores = np.where(lengths > none, own.T @ rest / np.maximum(lengths, none), 0.0)
        if scores.max() < least:
            break
        kept.append(int(np.argmax(scores)))
    while True:
        weights = mixture_of(seen, table, kept)
        errors = np.sqrt(np.diag(np.linalg.pinv(table[:, kept].T @ table[:, kept])))
        weak = [(weights[k], k) for k, error in zip(kept[1:], errors[1:], strict=True) if weights[k] < least * error]
        if not weak:
            return sorted(kept)
        kept.remove(min(weak)[1])


def mixture_of(seen: Floats, table: Floats, kept: Sequence[int]) -> Floats:
    """The rows on each progression that explain counts of classes best, where there are only those that are `kept`."""
    rows = np.zeros(table.shape[1])
    rows[kept] = scipy.optimize.nnls(table[:, kept], seen)[0]
    return rows


def base_grid(counts: Floats, sigma: float, grids: Sequence[int]) -> int:
    """The coarsest grid, in legal values, that all rows lie on but for noise; 1 where there is none.

    >>> base_grid(np.array([5.0, 95.0, 900.0, 2.0]), 1.0, (100, 50, 10))
    10
    """
    total, table = float(counts.sum()), expected_classes(tuple(grids), 1, progressions_of(grids, 1))
    for grid in grids:
        off = np.array([one % grid != 0 for one in (*grids, 1)])  # classes, and grids that rows off it may lie on
        shown = np.where(off[:, None], table, 0.0)[:, off]
        lengths = np.maximum(np.linalg.norm(shown, axis=0), 1e-9)
        rows, doubt = (counts @ shown) / lengths**2, DOUBT * sigma / lengths
        largest = 1.0 + math.sqrt(2.0 * math.log(max(1, len(rows)))) / DOUBT  # of so many, by noise alone
        if doubt.max() <= MOST_DOUBT * total and (rows <= np.maximum(SURE * total, largest * doubt)).all():
            return grid
    return 1


def shares_in_cells(
    parts: Floats,
    stretches: Integers,
    rows: Floats,
    *,
    levels: LaidLevels,
    phase: int,
    progressions: Steps,
) -> Floats:
    """The part of each cell's rows drawn from each progression, if its stretch has such `parts` on each, and on none.

    Rows on a progression are in the cells that hold values of it: a narrow cell with one has more of them, and others
    none. Of some progressions most values may be spikes, in cells of their own. So weights are sought by which all
    cells together have the parts, if the density of values is that of the `rows` in some cells side by side: of one
    alone, noise is why it was cut. (stretches, progressions + 1), (cells,), (cells,) → (cells, progressions).
    """
    low, high = (end[:, None] + phase for end in levels.bounds())
    steps, remainders = np.array([*progressions, (1, 0)], dtype=np.int64).T
    first, last = terms_within(low, high, steps, remainders)
    values = np.where(stretches[:, None] > 0, (last - first + 1) * steps, 0.0)  # of each progression, in its steps
    member = np.arange(1, len(parts) + 1)[:, None] == stretches  # (stretches, cells)
    held = np.maximum(_around(np.where(stretches > 0, rows, 0.0)), 0.0)
    weights, mixed = parts, values
    for _ in range(TURNS):
        mixed = values * weights[np.maximum(stretches - 1, 0)]
        density = held / np.maximum(_around(mixed.sum(axis=1)), 1e-300)
        made = _parts_of_whole((member * density) @ mixed)
        weights = _parts_of_whole(weights * np.divide(parts, made, out=np.ones_like(parts), where=made > 0.0))
    rounded: Floats = np.floor(_parts_of_whole(mixed)[:, :-1] * 10**ROUNDED) / 10**ROUNDED
    return rounded


def _around(numbers: Floats) -> Floats:
    """The sum of each and of `BESIDE` neighbours at either side."""
    return np.convolve(numbers, np.ones(2 * BESIDE + 1))[BESIDE : BESIDE + len(numbers)]


def _parts_of_whole(weights: Floats) -> Floats:
    """Rows that add up to 1, or are zeros."""
    whole = weights.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(weights, whole, out=np.zeros_like(weights), where=whole > 0.0))


def stretches_of(first: Integers, runs: "Runs", sigma: float) -> Integers:
    """The stretch of each cell of several values, from 1 on, about as many rows in each; 0 for single values.

    There are as many as a comb whose counts have such noise can tell of.
    """
    widths = np.diff(np.append(first, runs.number))
    several = widths > 1
    held = np.where(several, np.maximum(rows_in(first, runs), 0.0), 0.0)
    rows = np.cumsum(held)
    whole = max(float(rows[-1]), 1e-9)
    most = max(1, min(STRETCHES, int(whole / (ROWS_OF_STRETCH * sigma))))
    middle = rows - held / 2
    stretch = 1 + np.minimum((most * middle / whole).astype(np.int64), most - 1)
    order = np.unique(stretch[several], return_inverse=True)[1] + 1
    result = np.zeros(len(first), dtype=np.int64)
    result[several] = order
    return result


def span_of(first: Integers, runs: "Runs") -> float:
    """How many levels the middle half of the rows in cells of several values lies within."""
    widths = np.diff(np.append(first, runs.number))
    held = np.where(widths > 1, np.maximum(rows_in(first, runs), 0.0), 0.0)
    ends = np.searchsorted(np.cumsum(held), held.sum() * np.array([0.25, 0.75]))
    low, high = first[np.minimum(ends, len(first) - 1)]
    return float(high - low)


def rows_in(first: Integers, runs: "Runs") -> Floats:
    """The rows of each cell, as far as runs say: (cells,)."""
    cells = np.searchsorted(first, runs.first, side="right") - 1
    return np.asarray(np.bincount(cells, runs.counts, minlength=len(first)), dtype=np.float64)


# --------------------
# Zooms: where rows are.


# convention: standard deviations of a run's count from which on it is cut: half or twice as much makes no table worse
HEAVY = 2.5
SEEN = 0.5  # research: Tables: texture of numbers. Standard deviations beyond those of the largest of many counts
COARSE = 32  # research: Tables: texture of numbers. Equal runs of the range, where no row was seen
# convention: standard deviations from which on a single value is an atom: half or twice as much makes no table worse
SPIKE = 3.0
MOST_LAID = 640  # limit: atoms of a column that is laid
ATOMS = 200  # research: Tables: texture of numbers. Runs of about as many rows each


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Cells of a column's levels, how many rows each holds as far as is known, and with which variance.

    A cell is `seen` if its count, or that of a cell which it is a part of, stood out of the noise of all.
    """

    number: int
    first: Integers  # (cells,)
    counts: Floats  # (cells,)
    variances: Floats  # (cells,)
    seen: Flags  # (cells,)

    @classmethod
    def of(cls, number: int, first: Integers, counts: Floats, sigma: float) -> "Runs":
        """What a first look says."""
        variances = np.full(len(first), sigma**2)
        return cls(number=number, first=first, counts=counts, variances=variances, seen=_stand_out(counts, sigma))

    @property
    def widths(self) -> Integers:
        """Levels of each cell: (cells,)."""
        return np.diff(np.append(self.first, self.number))

    def heavy(self, sigma: float) -> Integers:
        """Whether each is to be cut."""
        return np.asarray((self.counts > HEAVY * sigma) & (self.widths > 1))

    def cut_heavy(self, sigma: float) -> Integers:
        """Where cells begin if all heavy ones are cut, or the heaviest, where there are too many."""
        parts, heavy = parts_of(self.number), self.heavy(sigma)
        room = max(1, (MOST_CELLS - len(self.first)) // parts)
        chosen = np.flatnonzero(heavy)
        chosen = chosen[np.argsort(-self.counts[chosen], kind="stable")][:room]
        into = np.ones(len(self.first), dtype=np.int64)
        into[chosen] = parts
        return np.array(split_levels(LaidLevels(self.number, tuple(self.first.tolist())), into), dtype=np.int64)

    def refine(self, first: Integers, counts: Floats, sigma: float) -> "Runs":
        """What is known after a look at finer cells: both are put together, cell by cell of the coarser ones."""
        variance = sigma**2
        parent = np.searchsorted(self.first, first, side="right") - 1
        children = np.bincount(parent, minlength=len(self.first))
        sums = np.bincount(parent, counts, minlength=len(self.first))
        spread = children * variance
        best = (self.counts / self.variances + sums / spread) / (1.0 / self.variances + 1.0 / spread)
        return Runs(
            number=self.number,
            first=first,
            counts=counts + ((best - sums) / children)[parent],
            variances=np.where(children == 1, 1.0 / (1.0 / self.variances + 1.0 / variance), variance)[parent],
            seen=self.seen[parent] | _stand_out(counts, sigma),
        )


def _stand_out(counts: Floats, sigma: float) -> Flags:
    return np.asarray(counts > (math.sqrt(2.0 * math.log(len(counts))) + SEEN) * sigma)


def equal_runs(number: int) -> Integers:
    """The first level of each of `RUNS` equal runs, the first and the last of them of one value; or of each value."""
    if number <= FEW:
        return np.arange(number, dtype=np.int64)
    inner = 1 + np.arange(RUNS - 2, dtype=object) * (number - 2) // (RUNS - 2)
    return np.array([0, *inner.tolist(), number - 1], dtype=np.int64)


def lay(runs: Runs) -> Integers:
    """Where the atoms of a column begin: (cells,).

    An atom is a value that many rows share, or a run of about as many rows as others have. Cells in which no row can
    be seen are not joined with those in which there are some; beyond the last of these, atoms double in width, up to a
    small part of the range. Where that is more atoms than there may be, single values need twice the rows, and so on.
    """
    seen = runs.seen
    if runs.number <= FEW:
        return equal_runs(runs.number)
    if not seen.any():  # rows are spread so evenly that no cell stands out: few cells, whose counts do
        return np.unique([1, runs.number - 1, *(runs.number * part // COARSE for part in range(COARSE))])
    bulk = np.flatnonzero(seen)
    end = int(runs.first[bulk[-1]] + runs.widths[bulk[-1]])
    found: set[int] = set()
    for times in range(64):
        starts = _starts_between(int(bulk[0]), int(bulk[-1]) + 1, runs, SPIKE * 2.0**times)
        width = _median_width(starts, end)
        left = [starts[0] - (2**k - 1) * width for k in range(1, 64)]
        right = [end + (2**k - 1) * width for k in range(64)]
        even = [s for s in (runs.number * part // COARSE for part in range(COARSE)) if not starts[0] <= s <= end]
        outside = [0, *even, *(s for s in left if s > 0), *(s for s in right if s < runs.number)]
        if len(found := {*outside, *starts}) <= MOST_LAID:
            break
    return np.array(sorted(found), dtype=np.int64)[:MOST_LAID]


def _starts_between(begin: int, end: int, runs: Runs, spike: float) -> list[int]:
    """Where atoms begin among cells that hold rows; a value is one from so many standard deviations of rows on."""
    counts, widths, seen = runs.counts, runs.widths, runs.seen
    deviation = np.sqrt(runs.variances)
    rows = float(np.maximum(counts, 0.0).sum())
    least = max(rows / ATOMS, float(np.median(deviation)))
    starts: list[int] = []
    held, empty = math.inf, True  # rows of the atom that is being made
    for cell in range(begin, end):
        count, first, wide = max(0.0, float(counts[cell])), int(runs.first[cell]), int(widths[cell])
        own = count >= least or (wide == 1 and count > spike * deviation[cell])
        if own or held >= least or (seen[cell] and empty):
            starts.append(first)
            held, empty = 0.0, True
        parts = min(wide, int(count / least)) if own else 1
        starts += [first + wide * part // parts for part in range(1, parts)]
        held = math.inf if own else held + count
        empty = empty and not seen[cell]
    return starts


def _median_width(starts: Sequence[int], end: int) -> int:
    return max(1, int(np.median(np.diff([*starts, end]))))


# --------------------
# All looks at all columns, stage by stage: each is one pass over the rows.


@final
class Looks:
    """The columns that are laid, what was seen of each, and the budget that pays for it."""

    __slots__ = ("_again", "_budget", "_columns", "_noise", "_schema", "taken")

    def __init__(self, counts: ExactCounts, schema: Schema, budget: PrivacyFilter, noise: NoiseSource) -> None:
        self._again, self._schema, self._budget, self._noise = counts.again, schema, budget, noise
        found = {index: to_ticks(column) for index, column in enumerate(schema)}
        self._columns = {index: column for index, column in found.items() if column is not None}
        self.taken: list[NoisyLook] = []

    def lay(self) -> tuple[Laid, ...]:
        """Look at each column, comb, zooms and comb, and lay it."""
        if not self._columns or self._again is None:
            return ()
        looked_at = [index for index, column in self._columns.items() if column.levels.number > FEW]
        part = share(self._schema.columns) / max(1, len(looked_at))
        self._on_grids(COMB * part)
        runs = self._zoom((1.0 - (2.0 + ENDS) * COMB) * part)
        first = {index: lay(one) for index, one in runs.items()}
        shares = self._comb(first, runs, COMB * part) if looked_at else {}
        plain = (), np.zeros((0, 0))
        looks = [(self._look(index, first[index], share=0.0), *shares.get(index, plain)) for index in self._columns]
        return tuple(
            Laid(
                column=one.column,
                numerator=one.numerator,
                denominator=one.denominator,
                first=one.first,
                progressions=progressions,
                shares=parts,
            )
            for one, progressions, parts in looks
        )

    def _comb(self, first: dict[int, Integers], runs: dict[int, Runs], part: float) -> dict[int, tuple[Steps, Floats]]:
        """The share of each cell's rows on each progression, as combs of grids and endings show it, without spikes."""
        grids, endings = [], []
        for index, own in first.items():
            column, stretches = self._columns[index], stretches_of(own, runs[index], self._level(part))
            if (every := grids_of(column)) and stretches.any():
                grids.append(self._look(index, own, share=part, grids=every, stretches=stretches))
                if (modulus := modulus_of(column, span_of(own, runs[index]))) > 1:
                    endings.append(self._look(index, own, share=ENDS * part, modulus=modulus, stretches=stretches))
        combs: dict[int, list[NoisyLook]] = {}
        for seen in (*self._measure(grids), *self._measure(endings)):
            combs.setdefault(seen.look.column, []).append(seen)
        return {index: self._shares(own, rows_in(first[index], runs[index])) for index, own in combs.items()}

    def _shares(self, combs: Sequence[NoisyLook], rows: Floats) -> tuple[Steps, Floats]:
        """What the combs of one column say: progressions, and the share of each cell's rows on each."""
        look = combs[0].look
        column, grids = self._columns[look.column], look.grids
        every = progressions_of(grids, combs[-1].look.modulus)
        tables = [expected_classes(one.look.grids, one.look.modulus, every) / one.sigma for one in combs]
        counts = [
            one.counts[1 : 1 + int(look.stretches.max()) * len(table)].reshape(-1, len(table)) / one.sigma
            for one, table in zip(combs, tables, strict=True)
        ]
        seen, table = np.hstack(counts), np.vstack(tables)
        kept = on_purpose(seen.sum(axis=0) / math.sqrt(len(seen)), table)
        if len(kept) == 1:
            return (), np.zeros((0, 0))
        parts = _parts_of_whole(np.array([mixture_of(own, table, kept)[kept] for own in seen]))
        progressions = tuple(every[place] for place in kept[:-1])
        levels = LaidLevels(column.levels.number, tuple(look.first.tolist()))
        shares = shares_in_cells(
            parts, look.stretches, rows, levels=levels, phase=column.phase, progressions=progressions
        )
        return progressions, shares

    def _on_grids(self, part: float) -> None:
        combs = {i: grids_of(column) for i, column in self._columns.items() if column.levels.number > FEW}
        whole = np.zeros(1, dtype=np.int64)
        looks = [
            self._look(index, whole, share=part, grids=grids, stretches=whole + 1)
            for index, grids in combs.items()
            if grids
        ]
        for seen in self._measure(looks):
            index = seen.look.column
            classes = seen.counts[1 : len(seen.look.grids) + 2]
            step = base_grid(classes, seen.sigma, seen.look.grids)
            coarser = on_grid(self._columns[index], spacing_of(self._columns[index]) * step)
            if step > 1 and coarser is not None:
                self._columns[index] = coarser

    def _zoom(self, part: float) -> dict[int, Runs]:
        most = {index: zooms(column) for index, column in self._columns.items()}
        first = {index: equal_runs(column.levels.number) for index, column in self._columns.items()}
        runs: dict[int, Runs] = {}
        waiting = [index for index in self._columns if len(first[index]) < self._columns[index].levels.number]
        for index in set(self._columns) - set(waiting):
            flat = np.ones(len(first[index]))
            runs[index] = Runs.of(len(flat), first[index], flat, 1e-9)
        while waiting:
            looks = [self._look(index, first[index], share=part / most[index]) for index in waiting]
            measured, again = self._measure(looks), []
            for seen in measured:
                index, cells = seen.look.column, len(seen.look.first)
                counts, number = seen.counts[:cells], self._columns[index].levels.number
                runs[index] = (
                    runs[index].refine(seen.look.first, counts, seen.sigma)
                    if index in runs
                    else Runs.of(number, seen.look.first, counts, seen.sigma)
                )
                first[index] = runs[index].cut_heavy(seen.sigma)
                looked = sum(one.look.column == index and not one.look.is_comb for one in self.taken)
                if len(first[index]) > cells and looked < most[index]:
                    again.append(index)
            waiting = again
        return runs

    def _level(self, part: float) -> float:
        """The noise of a look's counts for a share, in rows."""
        sensitivity = block_sensitivity(self._budget.neighbours)
        return noise_scale(self._budget.privacy, self._budget.total, sensitivity, part)

    def _look(
        self,
        index: int,
        first: Integers,
        *,
        share: float,
        grids: tuple[int, ...] = (),
        modulus: int = 1,
        stretches: Integers | None = None,
    ) -> Look:
        grid = spacing_of(self._columns[index])
        return Look(
            column=index,
            numerator=grid.numerator,
            denominator=grid.denominator,
            first=first,
            share=share,
            grids=grids,
            modulus=modulus,
            stretches=np.zeros(0, dtype=np.int64) if stretches is None else stretches,
        )

    def _alone(self, look: Look) -> Column:
        """The column as it is looked at, without other columns: they matter where it is read, and in released rows."""
        return dataclasses.replace(look.of(self._schema.columns[look.column].as_released), null_when=None)

    def _measure(self, looks: Sequence[Look]) -> list[NoisyLook]:
        if not looks or self._again is None:
            return []
        columns = tuple(self._alone(look) for look in looks)
        schema = dataclasses.replace(self._schema, columns=columns, derived=(), order=(), constraints=(), analyses=())
        blocks = [
            Counts(columns=(place,), groups=(np.arange(column.size),), share=look.share)
            for place, (look, column) in enumerate(zip(looks, columns, strict=True))
        ]
        noisy = self._again(schema).privatise(blocks, self._budget, noise=self._noise)
        found = [
            NoisyLook(look=look, measurement=one.measurement, unit=one.unit)
            for look, one in zip(looks, noisy, strict=True)
        ]
        self.taken += found
        return found
