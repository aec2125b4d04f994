"""The first rounds: every column on its own, how finely it is counted, and its share of the budget."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.measured.blocks import Block
from kernelease.measured.counts import Contrasts, Counts
from kernelease.measured.offsets import declared_levels
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.sensitivity import Neighbours, Sensitivity, block_sensitivity
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Category

# --------------------
# Columns as plans see them: of a hierarchy only the groups.


def group_values(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The same columns, where those in groups have these for their values.

    >>> from kernelease.table.columns.listed import Hierarchy
    >>> code = Hierarchy(name="code", values=("E10", "E11", "I10"), prefix=1, nullable=True)
    >>> [column.size for column in group_values([code])]
    [3]
    """
    found = zip(columns, declared_levels(columns), strict=True)
    return tuple(
        column if own is None else Category(name=column.name, values=tuple(np.unique(own).tolist()))
        for column, own in found
    )


def leaves(columns: Sequence[Column]) -> tuple[int, ...]:
    """How many leaves there are in the groups of each column; 0 where it has none."""
    return tuple(0 if own is None else len(own) for own in declared_levels(columns))


# --------------------
# Dividing the budget among single columns, pairs, and sets that are chosen later.


SIZE = 0.03  # research: Tables: constants that matter. For the number of rows, where it is private
# research: Tables: constants that matter. Of the budget for single columns; the most grows with the logarithm (to
# base 2) of the number of columns
LEAST_SINGLES, MOST_SINGLES, MORE_FOR_MORE = 0.15, 0.3, 0.03
# research: Tables: constants that matter. What a larger set gets of the budget, over what a pair gets
TRIPLE = 0.5
# convention: of the share of pairs, for details of some. Half or twice as much changes no table's error by more than
# chance (docs/research.md: Tables: constants that matter)
DETAILS = 0.03
CHOICE = 0.02  # research: Tables: constants that matter. Of the budget for choosing them
FOREST_CHOICE = 0.04  # convention: or a forest of pairs. docs/research.md: Tables: a forest that misses no strong pair
MOST_TRIPLES = 40  # limit: sets of three or four: the fit's time grows with them
FOREST = 0.08  # research: Tables: constants that matter. Of the budget for counts of a forest, where pairs are chosen


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Parts of the budget (of μ², or of a pure ε). They add up to 1; what a round leaves goes to the next."""

    size: float
    singles: float
    pairs: float
    choice: float
    triples: float
    count: int  # of the sets of three or four
    forest: float = 0.0  # of the pairs that are chosen first
    most: int | None = None  # pairs that are measured, where they are chosen; None: all
    interactions: bool = False  # whether pairs are measured as interactions
    details: float = 0.0  # of some pairs; where there are none, of the sets
    sides: float = 0.0  # of all columns, where pairs are not counted

    @classmethod
    def rule(
        cls,
        columns: int,
        signal: float,
        *,
        known_rows: bool,
        target: bool,
        interactions: bool = False,
        triples: int | None = None,
    ) -> "Shares":
        """Shares by the number of columns and the `signal`: rows over the noise of all atoms' counts together.

        Where the noise is as large as the counts (signal near 1), a release is mostly single columns; where it is
        small, they are cheap: their share falls as 1/√signal. Pairs and larger sets part the rest: there are more
        such sets the better they can be seen, and each gets `TRIPLE` of what a pair gets. With a `target` there are
        fewer sets of three to choose from.
        """
        size = 0.0 if known_rows else SIZE
        if columns == 1:
            return cls(
                size=size, singles=1.0 - size, pairs=0.0, choice=0.0, triples=0.0, count=0, interactions=interactions
            )
        singles = max(LEAST_SINGLES, min(_most_singles(columns), signal**-0.5))
        most = columns * (columns - 1) * (columns - 2) // 6 - (columns - 1) * (columns - 2) // 2 * target
        wished = min(MOST_TRIPLES, int(5.0 * signal**0.5)) if triples is None else triples
        count = max(0, min(wished, most))
        choice = CHOICE if count else 0.0
        sets, together = TRIPLE * count, 1.0 - size - singles - choice
        third = together * sets / (columns * (columns - 1) / 2 + sets)
        details = DETAILS * (together - third) if interactions and count else 0.0
        return cls(
            size=size,
            singles=singles,
            pairs=1.0 - size - singles - choice - third - details,
            choice=choice,
            triples=third,
            count=count,
            interactions=interactions,
            details=details,
        )

    def beside(self, aside: float) -> "Shares":
        """The same parts of what is left where so much of the whole is set aside.

        The number of rows keeps its part: it is counted before anything else, and whatever is set aside.
        """
        parts = ("singles", "pairs", "choice", "triples", "forest", "details", "sides")
        left = 1.0 - aside * (1.0 + self.size / math.fsum(getattr(self, part) for part in parts))
        return self._scale(left, *parts)

    def after(self, left: float) -> "Shares":
        """The same where a part alone is left for what follows pairs: details, a choice, and larger sets."""
        return self._scale(left, "choice", "triples", "details")

    def _scale(self, factor: float, *parts: str) -> "Shares":
        scaled: dict[str, Any] = {part: getattr(self, part) * factor for part in parts}
        return dataclasses.replace(self, **scaled)

    def alone(self, sides: float) -> "Shares":
        """The same where less than a forest can be seen: single columns alone, and the sides on which rows lie."""
        singles = 1.0 - self.size - sides
        return dataclasses.replace(
            self, singles=singles, sides=sides, pairs=0.0, choice=0.0, triples=0.0, count=0, most=0, details=0.0
        )

    def with_choice(self, most: int) -> "Shares":
        """The same where at most so many pairs can be seen: they are chosen, and there are no larger sets."""
        return dataclasses.replace(
            self,
            pairs=1.0 - self.size - self.singles - FOREST_CHOICE - FOREST,
            choice=FOREST_CHOICE,
            forest=FOREST,
            triples=0.0,
            count=0,
            most=most,
            details=0.0,
        )


def _most_singles(columns: int) -> float:
    """The most that single columns get: every column takes part in more pairs the more there are.

    >>> [round(_most_singles(columns), 2) for columns in (2, 16, 64, 1000)]
    [0.33, 0.42, 0.48, 0.6]
    """
    return MOST_SINGLES + MORE_FOR_MORE * math.log2(columns)


# --------------------
# How finely to count columns: atoms, and cells of them, that hold enough rows to be seen through the noise.


# research: Tables: constants that matter. What holds so many standard deviations of its noise is seen: an atom, and a
# fine cell of an ordered column in a detail
SEEN = 4.0
EMPTY = 2e-6  # limit: of a column's rows: an atom with less has none, as no distribution makes any atom impossible
_TURNS = 3  # convention: after which needs change by less than the noise of the counts that they come from

Noise: TypeAlias = Callable[[float], float]  # share of the budget → standard deviation of a count, in rows


def noise_scale(privacy: Privacy, total: Loss, sensitivity: Sensitivity, share: float) -> float:
    """The standard deviation that `measure` would add for a share of the budget `total`, before it is drawn."""
    if privacy.pure:
        return math.sqrt(2.0) * sensitivity.l1 / (share * privacy.epsilon)
    return sensitivity.l2 / math.sqrt(share * total.mu_squared)


def count_noise(privacy: Privacy, total: Loss) -> Noise:
    """The noise of a count, in rows, for each share of the budget."""
    sensitivity = block_sensitivity(privacy.relation)
    return functools.cache(lambda share: noise_scale(privacy, total, sensitivity, share))


def atoms_seen(distributions: Sequence[Floats], rows: float, share: float, noise: Noise, power: float) -> list[float]:
    """For each column, how many of its atoms can be seen through the noise if it gets the share it needs.

    An atom of a share p counts for min(1, p / (`SEEN`·σ)), where σ is the noise of a share. A column of 500 values of
    which one holds nearly all rows needs no more than one of two values. What a column gets grows with this `power` of
    what it needs, and this follows from the noise that it gets: a few turns settle both.

    >>> even, single = np.full(100, 0.01), np.array([0.99] + [0.0001] * 99)
    >>> [round(need, 1) for need in atoms_seen([even, single], 10_000, 1.0, lambda share: 20 / share**0.5, 0.5)]
    [100.0, 1.4]
    """
    needs = [float(len(one)) for one in distributions]
    for _ in range(_TURNS):
        powers = np.array(needs) ** power
        sigmas = [noise(float(part)) / rows for part in share * powers / powers.sum()]
        needs = [
            max(1.0, float(np.minimum(1.0, p / (SEEN * sigma)).sum()))
            for p, sigma in zip(distributions, sigmas, strict=True)
        ]
    return needs


def cells_of(distribution: Floats, least: float, ordered: int, *, unseen: float = 0.0) -> Integers:
    """Atoms grouped into cells that hold a share of at least `least` each, as far as they can: (atoms,).

    An atom as heavy as that is a cell of its own. Of the first `ordered` atoms only neighbours share a cell; what
    follows them (NULL, say) keeps cells of its own. Atoms without an order share a cell with others of their weight;
    those lighter than `unseen`, whose weight is noise, with their neighbours: cells that noise chose are too light.

    >>> cells_of(np.array([0.1, 0.1, 0.5, 0.12, 0.1, 0.08]), 0.2, 6).tolist()
    [0, 0, 1, 2, 2, 2]
    >>> cells_of(np.array([0.1, 0.6, 0.05, 0.25]), 0.2, 0).tolist()
    [2, 0, 2, 1]
    """
    if ordered == 0:
        return _unordered_cells(distribution, least, unseen)
    cells = _ordered_cells(distribution[:ordered], least)
    special = np.arange(len(distribution) - ordered) + int(cells.max()) + 1
    return np.concatenate([cells, special]).astype(np.int64)


def _ordered_cells(distribution: Floats, least: float) -> Integers:
    cells = np.zeros(len(distribution), dtype=np.int64)
    cell, held = 0, 0.0
    for atom, share in enumerate(distribution):
        if atom and (held >= least or share >= least):
            cell, held = cell + 1, 0.0
        cells[atom] = cell
        held += share
    if cell and held < least / 2:  # too little is left for a cell
        cells[cells == cell] = cell - 1
    return cells


def _unordered_cells(distribution: Floats, least: float, unseen: float) -> Integers:
    cells = np.zeros(len(distribution), dtype=np.int64)
    heavy = np.flatnonzero(distribution >= least)
    cells[heavy] = np.arange(len(heavy))
    light = np.flatnonzero(distribution < least)
    cell, held = len(heavy), 0.0
    weights = np.where(distribution[light] > unseen, distribution[light], 0.0)
    for atom in light[np.argsort(-weights, kind="stable")]:
        cells[atom] = cell
        held += distribution[atom]
        if held >= least:
            cell, held = cell + 1, 0.0
    return cells


def coarser(cells: Integers, distribution: Floats, least: float, ordered: int) -> Integers:
    """Cells of cells: a grouping of atoms that never parts what `cells` holds together."""
    masses: Floats = np.bincount(cells, distribution).astype(np.float64)
    in_order = int(cells[ordered - 1]) + 1 if ordered else 0
    grouped: Integers = cells_of(masses, least, in_order)[cells]
    return grouped


def halve_cells(cells: Integers, rows: Floats, ends: tuple[Floats, Floats], noise: float) -> Integers:
    """The same cells, where those of a number that are wide and full are cut into halves of their width: (atoms,).

    A row of a cell may be off its middle by half the width h. Where a cell of n rows about m is cut in two, Σx of its
    rows is known better by about n·h/2, and worse by a count's noise times how far m is from the mean, or at least the
    standard deviation: a cell is cut as long as the former is more than the latter. So the last cell of a skewed
    number, as full as all others and much wider, becomes several. `rows` are those of each atom, `ends` the least and
    the greatest number of the first atoms, in order: the others (NULL) stay as they are.

    >>> ends = np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0, 4.0, 90.0])
    >>> halve_cells(np.array([0, 0, 1, 1, 1, 2]), np.array([50.0, 50.0, 40.0, 30.0, 30.0, 9.0]), ends, 10.0).tolist()
    [0, 0, 1, 1, 2, 3]
    """
    count = len(ends[0])
    low, high = ends
    held = rows[:count]
    middle, total = low / 2 + high / 2, max(float(held.sum()), 1e-300)
    mean = float(held @ middle) / total
    spread = float(np.sqrt(held @ (middle - mean) ** 2 / total))
    starts = set(np.flatnonzero(np.diff(cells[:count], prepend=-1)).tolist())
    waiting = list(zip(sorted(starts), [*sorted(starts)[1:], count], strict=True))
    while waiting:
        first, last = waiting.pop()
        there = np.flatnonzero(held[first:last] > EMPTY * total)
        if not there.size:
            continue
        start, end = low[first + there[0]], high[first + there[-1]]  # atoms without rows at its ends don't make it wide
        half, centre = (end - start) / 2.0, (end + start) / 2.0
        cost = noise * max(abs(centre - mean), spread)
        cut = min(max(int(np.searchsorted(low, centre)), first + 1), last - 1)
        if first < cut < last and float(held[first:last].sum()) * half / 2.0 > cost:
            starts.add(cut)
            waiting += [(first, cut), (cut, last)]
    flags = np.zeros(count, dtype=np.int64)
    flags[sorted(starts - {0})] = 1
    own = np.cumsum(flags)
    return np.concatenate([own, own[-1] + cells[count:] - cells[count - 1]]).astype(np.int64)


def width(cells: Integers) -> int:
    """The number of cells of a grouping."""
    return int(cells.max()) + 1


# --------------------
# The first two rounds: every column once, then again with the share that its first counts call for.


SINGLE_POWER = 0.5  # research: Tables: constants that matter. A column's share grows with this power of its atoms
FIRST = 0.3  # research: Tables: constants that matter. Of the share of single columns, for a first look
LONG = 128  # research: Tables: constants that matter. More ordered atoms than that are measured in runs, too
RUN = 16  # research: Tables: constants that matter. Atoms of a run
COARSE = 1.0 / 3.0  # research: Tables: constants that matter. Of a long column's share, for the runs
LEAVES = 2.0  # research: Tables: leaves of a hierarchy. Of the share of a column's groups, for its leaves


def single_blocks(
    columns: Sequence[Column],
    share: float,
    *,
    centred: bool,
    interactions: bool = False,
    needs: Sequence[float] | None = None,
    leaves: Sequence[int] = (),
) -> tuple[Block, ...]:
    """A block for each column, atom by atom, and a second one in runs of atoms for a long one.

    Noise on a sum of many atoms adds up; measured in runs as well, both the shape and the detail are seen. Counts of
    pairs show such sums, too, and `interactions` do not: beside these, or where no pairs are measured, a column of more
    than two runs is measured in runs as well, for half as much.
    A column's part of the share follows from how many of its atoms there are to be seen: its `needs`, or all. Where
    they are `centred`, noise is less, and the number of rows has to be known from elsewhere.

    A column whose atoms are groups of `leaves`, so many (0: none), has a block of these, too, for a part beside
    that of the groups. It is not centred: of so many counts the mean says next to nothing.
    """
    sizes = [column.size for column in columns] if needs is None else needs
    beside = [LEAVES if count else 0.0 for count in leaves] or [0.0] * len(columns)
    powers = np.array(sizes, dtype=np.float64) ** SINGLE_POWER
    whole = float((powers * (1.0 + np.array(beside))).sum())
    blocks: list[Block] = []
    in_order = [column.in_order for column in columns]
    for index, (column, part) in enumerate(zip(columns, share * powers / whole, strict=True)):
        ordered = in_order[index]
        short = interactions and ordered > 2 * RUN
        coarse = COARSE if ordered > LONG else COARSE / 2.0 if short else 0.0
        fine = part * (1.0 - coarse)
        kind = Contrasts if centred and column.size > 1 else Counts  # what has one value has nothing but its mean
        blocks.append(kind(columns=(index,), groups=(np.arange(column.size),), share=float(fine)))
        if coarse > 0.0:
            runs = _runs(column.size, ordered)
            blocks.append(kind(columns=(index,), groups=(runs,), share=float(part - fine)))
        if beside[index] > 0.0:
            every = np.arange(leaves[index])
            blocks.append(Counts(columns=(index,), groups=(every,), share=float(beside[index] * part)))
    return tuple(blocks)


def first_look(columns: int, *, pure: bool) -> float:
    """The part of single columns' share for a first look at them: all, where a second one has nothing to share out.

    Nor is there one where privacy is pure: of Laplace noise, two looks for half the price each have more than one.
    """
    return 1.0 if columns == 1 or pure else FIRST


def number_of_rows(share: float) -> Block:
    """A block of no columns: one cell, in which every row is."""
    return Counts(columns=(), groups=(), share=share)


def centres(columns: int, neighbours: Neighbours, *, pure: bool) -> bool:
    """Whether single columns are measured without their mean, and so up to the number of rows.

    Under add-remove a row moves them less then: half as far (squared), where there are two values. Under replace-one it
    moves no mean, and where privacy is pure it moves them farther, in L1. One column alone tells the number best.
    """
    return columns > 1 and neighbours is Neighbours.ADD_REMOVE and not pure


def _runs(atoms: int, ordered: int) -> Integers:
    runs = np.arange(ordered) // RUN
    return np.concatenate([runs, np.arange(atoms - ordered) + int(runs[-1]) + 1]).astype(np.int64)
