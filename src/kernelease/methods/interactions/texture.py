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
from kernelease.table.columns.cells import Celled, LaidLevels, split_levels
from kernelease.table.columns.column import MOST_ATOMS, Column
from kernelease.table.columns.numbers import FEW, Numeric, is_looked_at, on_grid, spacing_of, to_ticks
from kernelease.table.schema import Schema

Flags: TypeAlias = NDArray[np.bool_]

# --------------------
# What it costs.


# convention: of the budget, for each column that is laid: half or twice as much makes no table worse
SHARE = 0.012
MOST_SHARE = 0.07  # research: Tables: texture of numbers. The same for all of them
COMB = 0.2  # research: Tables: texture of numbers. Of a column's share, for each of its two combs
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
    return sum((zooms(one) + 2) * MOST_ATOMS for one in found if one is not None)


def expected_look_numbers(columns: Sequence[Column]) -> int:
    """How many noisy numbers looks have where few runs are cut: two combs and some zooms of each column."""
    found = (to_ticks(column) for column in columns if is_looked_at(column))
    return sum(2 * (len(grids_of(one)) + 2) + RUNS * zooms(one) for one in found if one is not None)


def zooms(column: Numeric) -> int:
    """How many zooms it takes, at most, from runs to single values."""
    number = column.levels.number
    return 1 if number <= FEW else 1 + math.ceil(math.log(number / RUNS, parts_of(number)) - 1e-9)


def parts_of(number: int) -> int:
    """Into how many parts a run is cut."""
    root: float = (number / RUNS) ** (1.0 / (ZOOMS - 1))
    return min(MOST_PARTS, max(PARTS, math.ceil(root)))


# --------------------
# Combs: on which grid values lie.


SURE = 0.01  # research: Tables: texture of numbers. Of all rows: so few off a grid are rounded to it…
# convention: …or so many standard deviations of noise: half or twice as much makes no table worse…
DOUBT = 2.0
MOST_DOUBT = 0.05  # research: Tables: texture of numbers. …of which none may be more than that part of all rows
# convention: standard deviations from which on rows lie on a grid on purpose: half or twice as much makes no table
# worse
SHOWN = 3.5
# research: Tables: texture of numbers. Rows of a stretch with its own share of rows on grids, over the noise of a count
ROWS_OF_STRETCH = 50.0
STRETCHES = 4  # research: Tables: texture of numbers. Of a column's range, each with its own share of rows on grids
ROUNDED = 4  # convention: decimals of a share
PATTERN = 20_000  # convention: multiples of a grid that are looked at for how many lie on coarser ones


def grids_of(column: Numeric) -> tuple[int, ...]:
    """Public grids, in legal values, coarsest first: 1, 2.5 and 5 times powers of ten, where these are whole.

    >>> from kernelease.table.columns.numbers import Number
    >>> grids_of(Number(name="price", min=0.0, max=100.0, resolution=0.05))
    (100, 50, 20, 10, 5, 2)
    """
    spacing, number = spacing_of(column), column.levels.number
    tens = range(math.floor(math.log10(spacing)) - 1, math.floor(math.log10(spacing * number)) + 1)
    found = {grid * Fraction(10) ** ten / spacing for ten in tens for grid in GRIDS}
    return tuple(sorted((int(g) for g in found if g.denominator == 1 and 1 < g <= number / PARTS), reverse=True))


@functools.lru_cache(maxsize=64)
def expected_classes(grids: tuple[int, ...]) -> Floats:
    """Of values spread over the multiples of each grid, and over all, the part in each class: (classes, grids + 1)."""
    steps = [*grids, 1]
    table = np.zeros((len(steps), len(steps)))
    for place, step in enumerate(steps):
        values = np.arange(PATTERN, dtype=np.int64) * step
        klass = np.full(PATTERN, len(grids))
        for other in range(len(grids) - 1, -1, -1):
            klass[values % grids[other] == 0] = other
        table[:, place] = np.bincount(klass, minlength=len(steps)) / PATTERN
    table.setflags(write=False)  # it is shared
    return table


def parts_on_grids(counts: Floats, sigma: float, grids: Sequence[int]) -> Floats:
    """Of the rows of a stretch, the part that lies on each grid on purpose, and last of those that do on none.

    Counts of classes, (classes,), are a mixture of what each grid alone would show: non-negative least squares. Grids
    that noise explains are left out, from the weakest on.
    """
    table, total = expected_classes(tuple(grids)), max(1.0, float(counts.sum()))
    kept = list(range(len(grids) + 1))
    while True:
        weights = np.zeros(len(grids) + 1)
        weights[kept] = scipy.optimize.nnls(table[:, kept], counts)[0]
        errors = sigma * np.sqrt(np.diag(np.linalg.pinv(table[:, kept].T @ table[:, kept])))
        weak = [(weights[k], k) for k, error in zip(kept, errors, strict=True) if weights[k] < SHOWN * error]
        weak = [one for one in weak if one[1] != len(grids)]
        if not weak:
            break
        kept.remove(min(weak)[1])
    return weights / max(float(weights.sum()), 1e-9 * total)


def base_grid(counts: Floats, sigma: float, grids: Sequence[int]) -> int:
    """The coarsest grid, in legal values, that all rows lie on but for noise; 1 where there is none.

    >>> base_grid(np.array([5.0, 95.0, 900.0, 2.0]), 1.0, (100, 50, 10))
    10
    """
    total, table = float(counts.sum()), expected_classes(tuple(grids))
    for grid in grids:
        off = np.array([one % grid != 0 for one in (*grids, 1)])  # classes, and grids that rows off it may lie on
        shown = np.where(off[:, None], table, 0.0)[:, off]
        lengths = np.maximum(np.linalg.norm(shown, axis=0), 1e-9)
        rows, doubt = (counts @ shown) / lengths**2, DOUBT * sigma / lengths
        largest = 1.0 + math.sqrt(2.0 * math.log(max(1, len(rows)))) / DOUBT  # of so many, by noise alone
        if doubt.max() <= MOST_DOUBT * total and (rows <= np.maximum(SURE * total, largest * doubt)).all():
            return grid
    return 1


def shares_in_cells(wanted: Floats, levels: LaidLevels, phase: int, grids: Sequence[int]) -> Floats:
    """The part of each cell's rows that is drawn from each grid, where their stretch has `wanted` of each, and of none.

    Rows on a grid are in the cells that hold values of it: a narrow cell with one has more of them, and others none.
    (cells, grids + 1) → (cells, grids).
    """
    first, last = (end + phase for end in levels.bounds())
    steps = np.array([*grids, 1], dtype=np.int64)
    values = last[:, None] // steps - -(-first[:, None] // steps) + 1  # of each grid in each cell
    weights = wanted * values * steps
    whole = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, whole, out=np.zeros_like(weights), where=whole > 0.0)[:, :-1]
    rounded: Floats = np.floor(shares * 10**ROUNDED) / 10**ROUNDED
    return rounded


def stretches_of(first: Integers, runs: "Runs", sigma: float) -> Integers:
    """The stretch of each cell of several values, from 1 on, about as many rows in each; 0 for single values.

    There are as many as a comb whose counts have such noise can tell of.
    """
    widths = np.diff(np.append(first, runs.number))
    several = widths > 1
    held = np.bincount(
        np.searchsorted(first, runs.first, side="right") - 1, np.maximum(runs.counts, 0.0), minlength=len(first)
    )
    rows = np.cumsum(np.where(several, held, 0.0))
    whole = max(float(rows[-1]), 1e-9)
    most = max(1, min(STRETCHES, int(whole / (ROWS_OF_STRETCH * sigma))))
    middle = rows - np.where(several, held, 0.0) / 2
    stretch = 1 + np.minimum((most * middle / whole).astype(np.int64), most - 1)
    order = np.unique(stretch[several], return_inverse=True)[1] + 1
    result = np.zeros(len(first), dtype=np.int64)
    result[several] = order
    return result


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
    small part of the range.
    """
    counts, widths = runs.counts, runs.widths
    rows = float(np.maximum(counts, 0.0).sum())
    deviation = np.sqrt(runs.variances)
    seen = runs.seen
    if runs.number <= FEW:
        return equal_runs(runs.number)
    if not seen.any():  # rows are spread so evenly that no cell stands out: few cells, whose counts do
        return np.unique([1, runs.number - 1, *(runs.number * part // COARSE for part in range(COARSE))])
    least = max(rows / ATOMS, float(np.median(deviation)))
    bulk = np.flatnonzero(seen)
    starts: list[int] = []
    held, empty = math.inf, True  # rows of the atom that is being made
    for cell in range(int(bulk[0]), int(bulk[-1]) + 1):
        count, first, wide = max(0.0, float(counts[cell])), int(runs.first[cell]), int(widths[cell])
        own = count >= least or (wide == 1 and count > SPIKE * deviation[cell])
        if own or held >= least or (seen[cell] and empty):
            starts.append(first)
            held, empty = 0.0, True
        parts = min(wide, int(count / least)) if own else 1
        starts += [first + wide * part // parts for part in range(1, parts)]
        held = math.inf if own else held + count
        empty = empty and not seen[cell]
    end = int(runs.first[bulk[-1]] + widths[bulk[-1]])
    width = _median_width(starts, end)
    left = [starts[0] - (2**k - 1) * width for k in range(1, 64)]
    right = [end + (2**k - 1) * width for k in range(64)]
    even = [s for s in (runs.number * part // COARSE for part in range(COARSE)) if not starts[0] <= s <= end]
    outside = [0, *even, *(s for s in left if s > 0), *(s for s in right if s < runs.number)]
    return np.array(sorted({*outside, *starts}), dtype=np.int64)[:MOST_LAID]


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
        runs = self._zoom((1.0 - 2.0 * COMB) * part)
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
                grids=grids,
                shares=parts,
            )
            for one, grids, parts in looks
        )

    def _comb(
        self, first: dict[int, Integers], runs: dict[int, Runs], part: float
    ) -> dict[int, tuple[tuple[int, ...], Floats]]:
        """The share of each cell's rows on each grid, as a comb without the spikes shows it."""
        looks = []
        for index, own in first.items():
            stretches = stretches_of(own, runs[index], self._level(part))
            if (grids := grids_of(self._columns[index])) and stretches.any():
                looks.append(self._look(index, own, share=part, grids=grids, stretches=stretches))
        found = {}
        for seen in self._measure(looks):
            stretches, classes = seen.look.stretches, len(seen.look.grids) + 1
            counts = seen.counts[1 : 1 + int(stretches.max()) * classes].reshape(-1, classes)
            parts = np.array([parts_on_grids(own, seen.sigma, seen.look.grids) for own in counts])
            used = np.flatnonzero(parts[:, :-1].any(axis=0))
            if used.size:
                column = self._columns[seen.look.column]
                grids = tuple(seen.look.grids[place] for place in used)
                wanted = np.where(stretches[:, None] > 0, parts[np.maximum(stretches - 1, 0)], 0.0)[:, [*used, -1]]
                levels = LaidLevels(column.levels.number, tuple(seen.look.first.tolist()))
                found[seen.look.column] = grids, shares_in_cells(wanted, levels, column.phase, grids)
        return found

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
                looked = sum(one.look.column == index and not one.look.grids for one in self.taken)
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
