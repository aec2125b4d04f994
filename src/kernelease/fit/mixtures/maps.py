"""Columns that others determine, and combinations that never occur, as noisy counts of pairs show them beyond doubt.

A mixture of products can't hold a map: with few components it spreads every value of the one column over several of
the other. So rows are drawn from the mixture, and a column that is determined is read off the column that tells it.
Where a pair is no map, values that the counts put beyond doubt as never together are parted again. All of it follows
from noisy counts: it is public, and free.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.fit.mixtures.one_way import OneWay, one_ways
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks
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
LONG, MOST_NUMBERS = (
    64,
    100_000,
)  # limit: values of each of two columns that are looked at one by one, and their product
PASSES = 2  # convention: over all pairs: what parts one pair may join another


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two columns, the cells of their atoms, and noisy counts of these: the second column follows the first."""

    columns: tuple[int, int]
    groups: tuple[Integers, Integers]
    counts: Floats  # (cells, cells)
    alone: tuple[Floats, Floats]  # counts of each column's cells, by its own counts: (cells,) each
    sigma: float

    @property
    def turned(self) -> "Pair":
        """The same pair, the other way round."""
        (one, other), (first, second), (alone, beside) = self.columns, self.groups, self.alone
        return Pair(
            columns=(other, one),
            groups=(second, first),
            counts=self.counts.T,
            alone=(beside, alone),
            sigma=self.sigma,
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

    @property
    def map(self) -> Integers:
        """The heaviest cell of the second column for each cell of the first; of as many long ones, one for each."""
        if self.counts.shape[0] == self.counts.shape[1] > LONG:
            best: Integers = scipy.optimize.linear_sum_assignment(self.counts, maximize=True)[1]
            return best
        heaviest: Integers = self.counts.argmax(axis=1)
        return heaviest

    def off_map(self) -> float | None:
        """The share of rows off the map that takes each cell to its heaviest; None where it is no map."""
        if not (self.single >= 0).all():
            return None
        rows = self.rows
        on = float(self.counts[np.arange(len(self.counts)), self.map].sum())
        seen = self.sigma * math.sqrt(len(self.counts))
        varies = rows - float(self.alone[1].max())
        off = max(0.0, rows - on)
        sure = off <= OFF * rows + DOUBT * seen and off + seen <= UNEXPLAINED * varies
        return off / rows if sure else None

    def may_be_one_to_one(self) -> bool:
        """Whether columns of equally many values depend on each other beyond doubt, whatever their cells.

        Σ (count − what independent columns have)² is then more than the same sum of noise is ever likely to be.
        """
        if len(self.groups[0]) != len(self.groups[1]):
            return False
        away = self.counts - np.multiply.outer(*self.alone) / self.rows
        beyond = float((away**2).sum()) / self.sigma**2 - away.size
        return beyond > DEPENDENT * math.sqrt(2.0 * away.size)

    def never(self) -> NDArray[np.bool_]:
        """Which combinations never occur, beyond doubt: (cells, cells)."""
        expected = np.multiply.outer(*(np.maximum(own, 0.0) for own in self.alone)) / self.rows
        return np.asarray(np.maximum(self.counts, 0.0) + DOUBT * self.sigma <= NEVER * expected)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Maps:
    """Maps from column to column, in an order in which they can be applied, and pairs that are never together."""

    maps: tuple[Pair, ...]
    parted: tuple[Pair, ...]

    def applied(self, rows: Integers, generator: np.random.Generator) -> Integers:
        """Rows, (columns, n), that keep to them."""
        if not self.maps and not self.parted:
            return rows
        result = rows.copy()
        for _ in range(PASSES):
            for pair in self.parted:
                _part(result, pair, generator)
        for pair in self.maps:
            first, second = pair.columns
            result[second] = pair.single[pair.map][pair.groups[0]][result[first]]
        return result


def maps_of(noisy: NoisyBlocks) -> Maps:
    """What the pairs that were measured say. Columns whose atoms are leaves in groups are left out."""
    pairs = _pairs(noisy)
    found = [(off, one) for pair in pairs for one in (pair, pair.turned) if (off := one.off_map()) is not None]
    maps = _ordered(
        [one for _, one in sorted(found, key=lambda each: (-len(each[1].counts), each[0], each[1].columns))]
    )
    read_off = {pair.columns[1] for pair in maps}
    parted = tuple(
        pair if pair.counts.shape[0] >= pair.counts.shape[1] else pair.turned
        for pair in pairs
        if not read_off & set(pair.columns) and pair.never().any()
    )
    return Maps(maps=maps, parted=parted)


def most_closer_numbers(sizes: Sequence[int]) -> int:
    """The most counts of closer looks at pairs of long columns."""
    products = [one * other for one, other in itertools.combinations([size for size in sizes if size > LONG], 2)]
    return max((product for product in products if product <= MOST_NUMBERS), default=0)


def closer_look(noisy: NoisyBlocks) -> tuple[int, int] | None:
    """Two long columns without an order that may go one to one, those with most values; None where there are none."""
    ordered = noisy.ordered or (0,) * len(noisy.sizes)
    found = [
        pair.columns
        for pair in _pairs(noisy)
        if all(noisy.sizes[column] > LONG and not ordered[column] for column in pair.columns)
        and pair.counts.size < math.prod(noisy.sizes[column] for column in pair.columns) <= MOST_NUMBERS
        and pair.may_be_one_to_one()
    ]
    return max(found, key=lambda pair: (noisy.sizes[pair[0]] * noisy.sizes[pair[1]], pair), default=None)


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
    return [_mean([_pair(one, columns, noisy.rows) for one in known]) for known in finest.values()]


def _mean(pairs: Sequence[Pair]) -> Pair:
    """Pairs in the same cells as one, weighted by precision."""
    precisions = np.array([pair.sigma**-2.0 for pair in pairs])
    counts = np.einsum("p,pij->ij", precisions / precisions.sum(), np.stack([pair.counts for pair in pairs]))
    return dataclasses.replace(pairs[0], counts=counts, sigma=float(precisions.sum() ** -0.5))


def _pair(one: NoisyBlock, columns: Sequence[OneWay], rows: float) -> Pair:
    first, second = one.block.columns
    groups = one.block.groups[0], one.block.groups[1]
    alone: tuple[Floats, Floats] = (
        (np.bincount(groups[0], columns[first].shares) * rows).astype(np.float64),
        (np.bincount(groups[1], columns[second].shares) * rows).astype(np.float64),
    )
    counts = one.block.complete(one.values, alone, rows)
    return Pair(columns=(first, second), groups=groups, counts=counts, alone=alone, sigma=one.sigma)


def _ordered(found: Sequence[Pair]) -> tuple[Pair, ...]:
    """Maps of which each column is told by one other at most, and none by itself: those that tell come first."""
    told: dict[int, int] = {}
    chosen: dict[int, Pair] = {}
    for pair in found:
        first, second = pair.columns
        origin = first
        while origin in told:
            origin = told[origin]
        if second not in told and origin != second:
            told[second], chosen[second] = first, pair
    order: list[Pair] = []
    placed: set[int] = set()
    while len(order) < len(chosen):
        for column, pair in chosen.items():
            if column not in placed and (pair.columns[0] not in told or pair.columns[0] in placed):
                order.append(pair)
                placed.add(column)
    return tuple(order)


def _part(rows: Integers, pair: Pair, generator: np.random.Generator) -> None:
    """Give rows of combinations that never occur another value of the second column, in place, as counts have it."""
    never = pair.never()
    first, second = (groups[rows[column]] for column, groups in zip(pair.columns, pair.groups, strict=True))
    wrong = np.flatnonzero(never[first, second])
    if not wrong.size:
        return
    inside = np.bincount(rows[pair.columns[1]], minlength=len(pair.groups[1])).astype(np.float64)
    chances = np.where(never, 0.0, np.maximum(pair.counts, 0.0))[first[wrong]][:, pair.groups[1]]
    held = np.maximum(np.bincount(pair.groups[1], inside), 1e-300)
    below = np.cumsum(chances * (inside / held[pair.groups[1]]), axis=1)
    possible = below[:, -1] > 0.0
    marks = generator.random(len(wrong)) * below[:, -1]
    drawn = (below <= marks[:, None]).sum(axis=1)
    rows[pair.columns[1], wrong[possible]] = drawn[possible]
