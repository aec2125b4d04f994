"""Columns that others determine, and combinations that never occur, as noisy counts of pairs show them beyond doubt.

A mixture of products can't hold a map: with few components it spreads every value of the one column over several of
the other. So columns that are determined become one with the column that tells them, a *compound*: the fit has that
one alone, what was measured of the others is said of it, and rows read the others off it. Where a pair is no map,
rows of values that the counts put beyond doubt as never together exchange them with other rows. All of it follows
from noisy counts: it is public, and free.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar, final

import numpy as np
import scipy
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.fit.mixtures.beyond import rake
from kernelease.fit.mixtures.one_way import CHANCE, OneWay, one_ways
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks, complete_each, refines, within
from kernelease.measured.offsets import levels_of

OFF = 0.01  # convention: of all rows, those off a map that is one: half or twice as much makes no table worse
# research: Tables: columns that others determine. Standard deviations of noise that may seem to be off a map
DOUBT = 2.0
# research: Tables: columns that others determine. Of what a column varies, the part that a map may leave unexplained
UNEXPLAINED = 0.05
# research: Tables: columns that others determine. Of what independent columns would have, the most rows that a
# combination may hold by its noisy count and its doubt, to be one that never occurs
NEVER = 0.1
# convention: standard deviations of a sum of squares from which on two columns depend on each other beyond doubt:
# half or twice as much makes no table worse
DEPENDENT = 6.0
HEAVY = 4.0  # convention: standard deviations of a value's count: noise never hides what goes with it
LONG, MOST_NUMBERS = (
    64,
    100_000,
)  # limit: values of each of two columns that are looked at one by one, and their product
EXCHANGES = 30  # limit: of time: turns in which rows look for one to exchange a value with


# --------------------
# A pair of columns: whether the second is determined by the first, and what never occurs.


def information(counts: NDArray[np.floating]) -> float:
    """What two columns tell of each other, by counts of both: Σ P log(P / p pᵀ)."""
    joint = np.maximum(counts, 0.0).astype(np.float64)
    joint /= max(float(joint.sum()), 1e-300)
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    here = joint > 0.0
    return float(joint[here] @ np.log(joint[here] / product[here]))


@final
@dataclass(frozen=True, kw_only=True)  # without slots: what is computed of it once is kept with it
class Pair:
    """Two columns, the cells of their atoms, and noisy counts of these: the second column follows the first."""

    columns: tuple[int, int]
    groups: tuple[Integers, Integers]
    counts: Floats  # (cells, cells)
    alone: tuple[Floats, Floats]  # counts of each column's cells, by its own counts: (cells,) each
    sigma: float
    own: float = 0.0  # the noise of counts of a column's atoms

    @property
    def reverse(self) -> "Pair":
        """The same pair, the other way round."""
        (one, other), (first, second), (alone, beside) = self.columns, self.groups, self.alone
        return dataclasses.replace(
            self, columns=(other, one), groups=(second, first), counts=self.counts.T, alone=(beside, alone)
        )

    @property
    def rows(self) -> float:
        """How many rows there are, by the first column."""
        return max(1.0, float(self.alone[0].sum()))

    @property
    def single(self) -> Integers:
        """The atom of each cell of the second column that holds one only; −1 for others: (cells,)."""
        members = np.bincount(self.groups[1])
        atoms = np.zeros(len(members), dtype=np.int64)
        atoms[self.groups[1]] = np.arange(len(self.groups[1]))
        return np.where(members == 1, atoms, -1)

    @cached_property
    def map(self) -> Integers:
        """The likeliest cell of the second column for each cell of the first; of as many long ones, one for each.

        A cell of n rows of which all go with one other has a count of n there, and of 0 elsewhere, with noise σ: the
        likelihood of that one is e^(n·count/σ²) times how often it occurs at all. Where each goes with one, both have
        as many rows.
        """
        held = np.maximum(self.alone[0], 0.0)[:, None]
        beside = np.maximum(self.alone[1], 0.0)
        if self.counts.shape[0] == self.counts.shape[1] > LONG:
            both = (held + beside) / 2.0
            unlike = (held - beside) ** 2 / (4.0 * max(self.own, 1e-9 * self.sigma) ** 2)
            gain = (self.counts - both / 2.0) * both / self.sigma**2 - unlike
            best: Integers = scipy.optimize.linear_sum_assignment(gain, maximize=True)[1]
            return best
        prior = np.log(np.maximum(beside, 1.0) / self.rows)
        likeliest: Integers = (self.counts * held / self.sigma**2 + prior).argmax(axis=1)
        return likeliest

    def off_map(self) -> float | None:
        """The share of rows off the map that takes each cell to its likeliest; None where it is no map.

        Cells whose rows stand out of the noise are looked at: of lighter ones the largest count is one of noise, and
        seems to be on any map; and of those that their own noise made heavy, rows seem to be off it. They must hold
        most of all rows, and the map most of the rows of each. No value of more rows than may be off it is left out
        by the map.
        """
        heavy = self.alone[0] >= HEAVY * max(self.sigma, self.own)
        rows = float(self.alone[0][heavy].sum())
        if not (self.single >= 0).all() or rows < self.rows / 2.0:
            return None
        there = np.flatnonzero(heavy)
        onto = self.counts[there, self.map[there]]
        left_out = np.setdiff1d(np.arange(len(self.alone[1])), self.map)
        if (onto + DOUBT * self.sigma < self.alone[0][there] / 2.0).any():  # NULL, say, whose rows may be anywhere
            return None
        if (self.alone[1][left_out] > OFF * self.rows + HEAVY * self.sigma).any():  # NULL, which rows of any may have
            return None
        on = float(onto.sum())
        seen = self.sigma * math.sqrt(len(there))
        varies = rows * (1.0 - float(self.alone[1].max()) / self.rows)
        off = max(0.0, rows - on)
        doubt = DOUBT * math.hypot(self.sigma, self.own) * math.sqrt(len(there))
        sure = off <= OFF * rows + doubt and off + seen <= UNEXPLAINED * varies
        return off / rows if sure else None

    def rest(self) -> int | None:
        """The cell of the second column that rows of any value may be in, where all others are on a map; else None.

        A date that may be missing, say: where it is there, another tells it. As in `off_map`, values whose other rows
        stand out of the noise are looked at, and the map must hold most rows of each, and all but a few of all. Most
        rows in the cell itself are spread as they would be if it had nothing to do with the first column.
        """
        rest = int(self.alone[1].argmax())
        held, others = self.alone[0] - self.counts[:, rest], np.delete(self.counts, rest, axis=1)
        there = np.flatnonzero(held >= HEAVY * math.hypot(self.sigma, self.own))
        onto, rows = others[there].max(axis=1, initial=0.0), float(held[there].sum())
        missing, merged = float(self.alone[1][rest]), float(self.alone[1][self.single < 0].sum())
        if missing <= OFF * self.rows + HEAVY * self.sigma or merged > UNEXPLAINED * self.rows:
            return None
        spread = self.alone[0] * (missing / self.rows) + DOUBT * self.sigma
        if float(np.maximum(self.counts[:, rest] - spread, 0.0).sum()) > missing / 2.0:
            return None
        if rows < (self.rows - missing) / 2.0 or (onto + DOUBT * self.sigma < held[there] / 2.0).any():
            return None
        seen, doubt = (noise * math.sqrt(len(there)) for noise in (self.sigma, math.hypot(self.sigma, self.own)))
        off, varies = max(0.0, rows - float(onto.sum())), rows - float(np.delete(self.alone[1], rest).max(initial=0.0))
        sure = off <= OFF * rows + DOUBT * doubt and off + seen < UNEXPLAINED * varies
        return rest if sure else None

    def may_be_one_to_one(self) -> bool:
        """Whether columns of equally many values depend on each other beyond doubt, whatever their cells.

        Σ (count − what independent columns have)² is then more than the same sum of noise is ever likely to be.
        """
        if len(self.groups[0]) != len(self.groups[1]):
            return False
        away = self.counts - np.multiply.outer(*self.alone) / self.rows
        beyond = float((away**2).sum()) / self.sigma**2 - away.size
        return beyond > DEPENDENT * math.sqrt(2.0 * away.size)

    def may_be_map(self) -> bool:
        """Whether values that stand out, in cells of their own, go with one cell of the second column each.

        No more of their rows may be elsewhere than off a map, but for noise, and most of what they vary is told by it.
        """
        there = np.flatnonzero((np.bincount(self.groups[0]) == 1) & (self.alone[0] >= HEAVY * self.sigma))
        counts = self.counts[there]
        rows, on = float(self.alone[0][there].sum()), float(counts.max(axis=1, initial=0.0).sum())
        doubt = DOUBT * math.hypot(self.sigma, self.own) * math.sqrt(len(there))
        varies = rows - float(counts.sum(axis=0).max(initial=0.0))
        return rows - on <= OFF * rows + doubt and max(0.0, rows - on) + doubt < varies / 2.0

    @property
    def merged_share(self) -> float:
        """The share of rows in cells of several values, of the column that has more of them."""
        shares = [
            float(own[np.bincount(groups) > 1].sum()) / self.rows
            for own, groups in zip(self.alone, self.groups, strict=True)
        ]
        return max(shares)

    @cached_property
    def never(self) -> NDArray[np.bool_]:
        """Which combinations never occur, beyond doubt: (cells, cells)."""
        expected = np.multiply.outer(*(np.maximum(own, 0.0) for own in self.alone)) / self.rows
        doubt = DOUBT * self.sigma
        return np.asarray((np.maximum(self.counts, 0.0) + doubt <= NEVER * expected) & (self.counts <= doubt))

    def expected_counts(self, counts: Floats, cells: Sequence[Integers]) -> Floats:
        """Expected counts of pairs of finer cells, those of all columns being `cells`; 0 for values never together.

        Single columns stay as they are.
        """
        return rake(np.where(self.never_in(cells), 0.0, counts), counts)

    def seen_in(self, cells: Sequence[Integers]) -> bool:
        """Whether cells of all columns are fine enough to tell what is never together."""
        return all(refines(cells[column], own) for column, own in zip(self.columns, self.groups, strict=True))

    def never_in(self, cells: Sequence[Integers]) -> NDArray[np.bool_]:
        """Which pairs of finer cells of the two columns, given those of all columns, never occur: (cells, cells)."""
        inside = [within(cells[column], own) for column, own in zip(self.columns, self.groups, strict=True)]
        return self.never[np.ix_(*inside)]

    def wrong(self, rows: Integers) -> Integers:
        """Rows, of (columns, n), whose values are never together."""
        first, second = (groups[rows[column]] for column, groups in zip(self.columns, self.groups, strict=True))
        return np.flatnonzero(self.never[first, second])

    def part(self, rows: Integers, generator: np.random.Generator) -> Integers:
        """The same rows, where those that are wrong have another value of the second column, as the counts have it."""
        wrong = self.wrong(rows)
        return self._draw_others(rows, wrong, generator) if wrong.size else rows

    def _draw_others(self, rows: Integers, wrong: Integers, generator: np.random.Generator) -> Integers:
        """Another value of the second column for some rows, of those that their first one may have."""
        first, second = self.columns
        inside = np.bincount(rows[second], minlength=len(self.groups[1])).astype(np.float64)
        held = np.maximum(np.bincount(self.groups[1], inside), 1e-300)
        chances = np.where(self.never, 0.0, np.maximum(self.counts, 0.0))[self.groups[0][rows[first, wrong]]]
        below = np.cumsum(chances[:, self.groups[1]] * (inside / held[self.groups[1]]), axis=1)
        can = below[:, -1] > 0.0
        marks = generator.random(len(wrong)) * below[:, -1]
        drawn = (below <= marks[:, None]).sum(axis=1)
        result = rows.copy()
        result[second, wrong[can]] = drawn[can]
        return result


# --------------------
# Compounds: columns that are determined, as one with the column that tells them.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Compounds:
    """Of each column of a table: which of fewer columns it is read off, and its atom for each atom of that one."""

    origins: tuple[int, ...]
    atoms: tuple[Integers, ...]  # (atoms of its origin,) each
    own: tuple[int, ...]  # of each of the fewer columns, that of the table which tells all others in it
    loose: frozenset[int] = frozenset()  # columns of which some rows are off the map: their own counts say so

    @classmethod
    def of(cls, sizes: Sequence[int], maps: Sequence[Pair], columns: Sequence[OneWay]) -> "Compounds":
        """Columns of so many atoms, by maps in an order in which they can be applied.

        A value that no other one leads to is an atom of its own beside that which it is seen with most.
        """
        own = [column for column in range(len(sizes)) if column not in {pair.columns[1] for pair in maps}]
        root = {column: column for column in own}
        atoms = {column: np.arange(size) for column, size in enumerate(sizes) if column in root}
        for pair in maps:
            first, second = pair.columns
            root[second] = root[first]
            inside = [column for column, other in root.items() if other == root[first] and column != second]
            onto = pair.single[pair.map][pair.groups[0]]
            atoms[second] = onto[atoms[first]]
            missing = np.setdiff1d(np.arange(sizes[second]), atoms[second])
            if missing.size:
                beside = _with_most(pair, missing, columns[first].distribution)
                like = np.array([int(np.flatnonzero(atoms[first] == atom)[0]) for atom in beside])
                atoms |= {column: np.append(atoms[column], atoms[column][like]) for column in inside}
                atoms[second] = np.append(atoms[second], missing)
        told = [(root[pair.columns[1]], pair.columns[1]) for pair in maps]
        return cls(
            origins=tuple(own.index(root[column]) for column in range(len(sizes))),
            atoms=tuple(atoms[column] for column in range(len(sizes))),
            own=tuple(own),
            loose=frozenset(
                column
                for first, column in told
                if _disagree(columns[first], columns[column], atoms[first], atoms[column])
            ),
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Atoms of each of the fewer columns."""
        return tuple(len(self.atoms[column]) for column in self.own)

    @property
    def any(self) -> bool:
        """Whether some column is read off another."""
        return len(self.own) < len(self.origins)

    def read_off(self, rows: Integers, alone: dict[int, Floats], generator: np.random.Generator) -> Integers:
        """Rows of all columns from those of the fewer: (fewer, n) → (columns, n).

        Of `loose` columns some rows are off the map, as few as can be to meet their shares `alone`.
        """
        result = np.stack([own[rows[origin]] for origin, own in zip(self.origins, self.atoms, strict=True)])
        for column in self.loose:
            result[column] = _loosen(result[column], alone[column], generator)
        return result

    def pair(self, pair: Pair) -> Pair:
        """The same pair, of the fewer columns."""
        (one, other), (first, second) = pair.columns, pair.groups
        groups = first[self.atoms[one]], second[self.atoms[other]]
        return dataclasses.replace(pair, columns=(self.origins[one], self.origins[other]), groups=groups)

    def together(self, columns: Sequence[int]) -> bool:
        """Whether two of some columns are read off the same one."""
        return len({self.origins[column] for column in columns}) < len(columns)

    def blocks(self, blocks: Sequence[NoisyBlock]) -> tuple[NoisyBlock, ...]:
        """The blocks of several columns as such of the fewer; those whose columns tell each other say nothing more."""
        kept = [one for one in blocks if len(one.block.columns) > 1 and not self.together(one.block.columns)]
        return tuple(map(self._block, kept))

    def _block(self, one: NoisyBlock) -> NoisyBlock:
        columns = tuple(self.origins[column] for column in one.block.columns)
        groups = tuple(own[self.atoms[column]] for column, own in zip(one.block.columns, one.block.groups, strict=True))
        return dataclasses.replace(one, block=dataclasses.replace(one.block, columns=columns, groups=groups))

    def is_told(self, column: int) -> bool:
        """Whether a column is read off another."""
        return self.own[self.origins[column]] != column

    def on_map(self, column: int) -> bool:
        """Whether all rows of a column are read off another."""
        return self.is_told(column) and column not in self.loose

    def one_ways(self, columns: Sequence[OneWay]) -> tuple[OneWay, ...]:
        """Each of the fewer columns on its own; its distribution is by all that was measured of those read off it."""
        return tuple(self._one_way(place, columns) for place in range(len(self.own)))

    def _one_way(self, place: int, columns: Sequence[OneWay]) -> OneWay:
        first = columns[self.own[place]]
        shares, distribution = (_deal(own, self.atoms[self.own[place]]) for own in (first.shares, first.distribution))
        for column in (one for one, origin in enumerate(self.origins) if origin == place and self.on_map(one)):
            cells, own = self.atoms[column], columns[column]
            members, held = np.bincount(cells), np.bincount(cells, distribution)
            pull = members * first.variance / (members * first.variance + own.variance)
            distribution = distribution * ((held + (own.distribution - held) * pull) / held)[cells]
        return OneWay(shares=shares, variance=first.variance, distribution=distribution / distribution.sum())


def _disagree(first: OneWay, told: OneWay, atoms: Integers, onto: Integers) -> bool:
    """Whether a column's own counts are not those that it has if all of its rows are on the map, beyond chance."""
    sums = np.bincount(onto, _deal(first.shares, atoms))
    noise = np.sqrt(np.bincount(onto) * first.variance + told.variance)
    most = CHANCE + math.sqrt(2.0 * math.log(len(sums)))
    return bool((np.abs(told.shares - sums) > most * noise).any())


def _loosen(values: Integers, shares: Floats, generator: np.random.Generator) -> Integers:
    """The same atoms of a column, (n,), of which as few as can be are others, so that each has its share."""
    wanted = np.floor(np.cumsum(shares / shares.sum()) * len(values) + generator.random()).astype(np.int64)
    wanted[-1] = len(values)
    more = np.diff(wanted, prepend=0) - np.bincount(values, minlength=len(shares))
    order = np.argsort(values + generator.random(len(values)))
    rank = np.arange(len(values)) - np.searchsorted(values[order], values[order])
    taken = order[rank < np.maximum(-more, 0)[values[order]]]
    result = values.copy()
    result[taken] = generator.permutation(np.repeat(np.arange(len(shares)), np.maximum(more, 0)))
    return result


def _deal(shares: Floats, atoms: Integers) -> Floats:
    """Shares of atoms, where some stand for several: the first of these has nearly all. (atoms,) → (more,)."""
    first = np.unique(atoms, return_index=True)[1]
    parts = np.full(len(atoms), 1e-3)
    parts[first] = 1.0
    dealt: Floats = shares[atoms] * parts / np.bincount(atoms, parts)[atoms]
    return dealt


def _with_most(pair: Pair, missing: Integers, distribution: Floats) -> Integers:
    """The atom of the first column that each of some atoms of the second is seen with most."""
    cells = pair.counts[:, pair.groups[1][missing]].argmax(axis=0)
    heaviest = [np.flatnonzero(pair.groups[0] == cell) for cell in cells]
    return np.array([int(own[np.argmax(distribution[own])]) for own in heaviest])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PartMap:
    """A column that another one tells, but for rows in one cell of it, which any may be in."""

    columns: tuple[int, int]
    cells: Integers  # of the second column's atoms
    onto: Integers  # (atoms of the first,): which of these it tells; −1 where that can't be seen
    rest: int

    @classmethod
    def of(cls, pair: Pair) -> "PartMap | None":
        """By the counts of a pair, where they show one."""
        if (rest := pair.rest()) is None:
            return None
        counts = pair.counts.copy()
        counts[:, rest] = -np.inf
        held = pair.alone[0] - pair.counts[:, rest]
        onto = np.where(held >= HEAVY * math.hypot(pair.sigma, pair.own), counts.argmax(axis=1), -1)
        return cls(columns=pair.columns, cells=pair.groups[1], onto=onto[pair.groups[0]], rest=rest)

    def apply(self, rows: Integers, generator: np.random.Generator) -> Integers:
        """Rows, (columns, n), on the map: what is off it becomes a value that other rows have in the cell it tells."""
        first, second = self.columns
        own, told = self.cells[rows[second]], self.onto[rows[first]]
        order = np.argsort(own, kind="stable")
        begin, end = (np.searchsorted(own[order], np.maximum(told, 0), side=side) for side in ("left", "right"))
        wrong = np.flatnonzero((told >= 0) & (own != self.rest) & (own != told) & (begin < end))
        picked = begin[wrong] + (generator.random(len(wrong)) * (end - begin)[wrong]).astype(np.int64)
        result = rows.copy()
        result[second, wrong] = rows[second, order[picked]]
        return result


_Map = TypeVar("_Map", Pair, PartMap)


# --------------------
# What all pairs say.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Maps:
    """Maps from column to column, in an order in which they can be applied, and pairs that are never together."""

    maps: tuple[Pair, ...]
    parted: tuple[Pair, ...]

    def apply(self, rows: Integers, generator: np.random.Generator) -> Integers:
        """Rows, (columns, n), that keep to them: columns that are told are read off those that tell."""
        result = separate(rows, self.parted, generator)
        for pair in self.maps:
            first, second = pair.columns
            result = result.copy()
            result[second] = pair.single[pair.map][pair.groups[0]][result[first]]
        return result


def separate(rows: Integers, pairs: Sequence[Pair], generator: np.random.Generator) -> Integers:
    """Rows, (columns, n), without values that are never together.

    Rows that have some exchange one of them with another row, if both together have fewer then: every column keeps what
    it has. Where that does not help, rows get another value, as the counts have it.
    """
    result, looked_at = rows.copy() if pairs else rows, np.arange(rows.shape[1])
    onto: dict[int, list[Pair]] = {}
    for one in itertools.chain.from_iterable((pair, pair.reverse) for pair in pairs):
        onto.setdefault(one.columns[1], []).append(one)
    for _ in range(EXCHANGES):
        wrong: dict[int, list[Integers]] = {}
        there = result[:, looked_at]
        for pair in pairs:
            if (found := pair.wrong(there)).size:
                for column in pair.columns:
                    wrong.setdefault(column, []).append(looked_at[found])
        if not wrong:
            return result
        touched = []
        for column, each in wrong.items():
            touched += [*each, _exchange(result, np.unique(np.concatenate(each)), column, onto[column], generator)]
        looked_at = np.unique(np.concatenate(touched))  # no other row can be wrong now
    for pair in pairs:
        result = pair.part(result, generator)
    return result


def _exchange(
    rows: Integers, some: Integers, column: int, pairs: Sequence[Pair], generator: np.random.Generator
) -> Integers:
    """Exchange the values of a column between some rows and one other each, in place, where fewer are wrong then.

    The other rows come back.
    """
    others = np.setdiff1d(generator.integers(0, rows.shape[1], 2 * len(some)), some)
    others = generator.permutation(others)[: len(some)]
    some = generator.permutation(some)[: len(others)]

    def wrong(here: Integers, values: Integers) -> Integers:
        cells = [(pair.groups[0][rows[pair.columns[0], here]], pair.groups[1][values]) for pair in pairs]
        found: Integers = np.sum([pair.never[cell] for pair, cell in zip(pairs, cells, strict=True)], axis=0)
        return found

    own, theirs = rows[column, some], rows[column, others]
    better = wrong(some, theirs) + wrong(others, own) < wrong(some, own) + wrong(others, theirs)
    rows[column, some[better]], rows[column, others[better]] = theirs[better], own[better]
    return others[better]


def maps_of(noisy: NoisyBlocks) -> Maps:
    """What the pairs that were measured say. Columns whose atoms are leaves in groups are left out."""
    pairs = _pairs(noisy)
    found = [(off, one) for pair in pairs for one in (pair, pair.reverse) if (off := one.off_map()) is not None]
    maps = _order([one for _, one in sorted(found, key=lambda each: (-len(each[1].counts), each[0], each[1].columns))])
    read_off = {pair.columns[1] for pair in maps}
    apart = tuple(
        pair if pair.counts.shape[0] >= pair.counts.shape[1] else pair.reverse
        for pair in pairs
        if not read_off & set(pair.columns) and pair.never.any()
    )
    return Maps(maps=maps, parted=apart)


def compounds_of(noisy: NoisyBlocks) -> tuple[Compounds, tuple[Pair, ...], tuple[PartMap, ...]]:
    """Columns that are read off others; of what is left, pairs that are never together, and columns told in part."""
    columns, pairs = one_ways(noisy), _pairs(noisy)
    compounds = Compounds.of(noisy.sizes, maps_of(noisy).maps, columns)
    left = [compounds.pair(pair) for pair in pairs if not compounds.together(pair.columns)]
    apart = [pair for pair in left if pair.never.any()]
    both = [one for pair in pairs for one in (pair, pair.reverse) if not compounds.together(pair.columns)]
    told = [compounds.pair(one) for one in both if not compounds.is_told(one.columns[1])]
    parts = [part for part in map(PartMap.of, sorted(told, key=lambda one: -len(one.counts))) if part is not None]
    return (
        compounds,
        tuple(pair if pair.counts.shape[0] >= pair.counts.shape[1] else pair.reverse for pair in apart),
        _order(parts),
    )


def most_closer_numbers(sizes: Sequence[int]) -> int:
    """The most counts of a closer look at a pair of columns."""
    products = (one * other for one, other in itertools.combinations(sizes, 2))
    return max((product for product in products if product <= MOST_NUMBERS), default=0)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CloserLook:
    """Two columns that may go one to one, and the noise of a count, in rows, through which that shows."""

    columns: tuple[int, int]
    sigma: float | None  # None: the less, the better


def closer_look(noisy: NoisyBlocks) -> CloserLook | None:
    """Two columns, not both in an order, that may go one to one: those of most values; None where there are none.

    Of long ones most cells hold many values, and all that can be seen is that they depend on each other.
    """
    ordered, columns = noisy.ordered or (0,) * len(noisy.sizes), one_ways(noisy)
    found = []
    for pair in _pairs(noisy):
        sizes = [noisy.sizes[column] for column in pair.columns]
        if math.prod(sizes) > MOST_NUMBERS:
            continue
        if min(sizes) > LONG and not any(ordered[column] for column in pair.columns):
            if pair.counts.size < math.prod(sizes) and pair.may_be_one_to_one():
                found.append((sizes, CloserLook(columns=pair.columns, sigma=None)))
        elif not all(ordered[column] for column in pair.columns):
            sigma = _telling(pair, columns, noisy.rows)
            untold = pair.merged_share > UNEXPLAINED or pair.sigma > sigma
            if untold and pair.may_be_map() and pair.reverse.may_be_map():
                found.append((sizes, CloserLook(columns=pair.columns, sigma=sigma)))
    return max(found, key=lambda each: (math.prod(each[0]), each[1].columns), default=(None, None))[1]


def _telling(pair: Pair, columns: Sequence[OneWay], rows: float) -> float:
    """The largest noise of a count at which a map can be told, by `Pair.off_map`.

    Values that noise may hide have no more rows than a map may leave unexplained, and no more seem to be off it.
    """
    found = []
    for column in pair.columns:
        counts = rows * np.sort(columns[column].distribution)
        hidden = np.searchsorted(np.cumsum(counts), UNEXPLAINED * rows, side="right")
        least = float(counts[min(int(hidden), len(counts) - 1)])
        varied = UNEXPLAINED * (rows - float(counts[-1])) / math.sqrt(max(1, int((counts >= least).sum())))
        found.append(min(least / HEAVY, varied - pair.own))
    return max(0.0, min(found))


def _pairs(noisy: NoisyBlocks) -> list[Pair]:
    """Every pair of columns that was measured, in its finest cells."""
    leaves = levels_of(noisy)
    if any(groups is not None for groups in leaves):
        return []
    columns = one_ways(noisy)
    finest: dict[frozenset[int], list[NoisyBlock]] = {}
    for one in (block for block in noisy.blocks if len(block.block.columns) == 2):
        known = finest.setdefault(frozenset(one.block.columns), [one])
        if one.block.cells > known[0].block.cells:
            known[:] = [one]
        elif one is not known[0] and one.block.columns == known[0].block.columns:
            same = all(map(np.array_equal, one.block.groups, known[0].block.groups))
            known += [one] if same else []
    every = [one for known in finest.values() for one in known]
    alone = [_alone(one, columns, noisy.rows) for one in every]
    tables = complete_each(every, alone, noisy.rows)
    pairs = iter([_pair(*one, columns, noisy.rows) for one in zip(every, alone, tables, strict=True)])
    return [_mean([next(pairs) for _ in known]) for known in finest.values()]


def _mean(pairs: Sequence[Pair]) -> Pair:
    """Pairs in the same cells as one, weighted by precision."""
    precisions = np.array([pair.sigma**-2.0 for pair in pairs])
    counts = np.einsum("p,pij->ij", precisions / precisions.sum(), np.stack([pair.counts for pair in pairs]))
    return dataclasses.replace(pairs[0], counts=counts, sigma=float(precisions.sum() ** -0.5))


def _alone(one: NoisyBlock, columns: Sequence[OneWay], rows: float) -> tuple[Floats, Floats]:
    """Counts of the cells of each of two columns, by the column alone."""
    (first, second), groups = one.block.columns, one.block.groups
    return (
        (np.bincount(groups[0], columns[first].shares) * rows).astype(np.float64),
        (np.bincount(groups[1], columns[second].shares) * rows).astype(np.float64),
    )


def _pair(
    one: NoisyBlock, alone: tuple[Floats, Floats], counts: Floats, columns: Sequence[OneWay], rows: float
) -> Pair:
    first, second = one.block.columns
    groups = one.block.groups[0], one.block.groups[1]
    own = rows * math.sqrt(max(columns[first].variance, columns[second].variance))
    return Pair(columns=(first, second), groups=groups, counts=counts, alone=alone, sigma=one.sigma, own=own)


def _order(found: Sequence[_Map]) -> tuple[_Map, ...]:
    """Maps of which each column is told by one other at most, and none by itself: those that tell come first."""
    told: dict[int, int] = {}
    chosen: dict[int, _Map] = {}
    for pair in found:
        first, second = pair.columns
        origin = first
        while origin in told:
            origin = told[origin]
        if second not in told and origin != second:
            told[second], chosen[second] = first, pair
    order: list[_Map] = []
    placed: set[int] = set()
    while len(order) < len(chosen):
        for column, pair in chosen.items():
            if column not in placed and (pair.columns[0] not in told or pair.columns[0] in placed):
                order.append(pair)
                placed.add(column)
    return tuple(order)
