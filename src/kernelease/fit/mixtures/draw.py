"""Rows from a mixture, with little sampling error: rounded, not random, numbers of rows, improved by swaps.

Independent draws of n rows are off by √n in every count. Two rows of one component may swap their values of a column
without leaving the model: columns are independent within a component. Swaps that bring the counts of pairs nearer to
what the mixture expects are kept. Single columns stay as they are.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.fit.mixtures.adam import Single
from kernelease.fit.mixtures.mixture import Mixture

WORK = 500_000_000  # limit: counts looked up, in all: about two seconds
MOST_SWEEPS = 6  # research: Tables: one constant at a time. Over all columns
MOST_CELLS = 128  # limit: of a column: finer detail is left as it was drawn
ALL_CELLS = 3000  # limit: of all columns together: their pairs are held in memory
# limit: swaps that are judged together: some, or this part of all rows; arrays of that length are quick
_FEWEST, _PARTS = 512, 64


def draw_rows(mixture: Mixture, count: int, generator: np.random.Generator, *, whole: int | None = None) -> Integers:
    """`count` rows of atoms, (columns, count), for a table of `whole` rows, if they are a part of one.

    Components get numbers of rows in proportion to their weights, and each column's atoms in proportion to their
    probabilities, so that every single column is met to within a row or so. Swaps then bring pairs of columns near the
    mixture's own, as often as a table of that size affords.
    """
    if count < 1:
        raise ParameterError(f"draw_rows: count must be at least 1, got {count!r}.")
    members = np.diff(_quantiles(mixture.weights, count, generator), prepend=0)
    components = np.repeat(np.arange(len(members)), members)
    rows = _rows(mixture, members, generator)
    rows = swapped(rows, components, mixture, generator, sweeps=_sweeps(max(count, whole or 0), len(rows)))
    return rows[:, generator.permutation(count)]


def _quantiles(weights: Floats, count: int, generator: np.random.Generator) -> Integers:
    """How many of `count` equally spaced marks, with one random offset, lie below each cumulative weight."""
    marks = np.ceil(np.cumsum(weights / weights.sum()) * count - generator.random()).astype(np.int64)
    marks = np.clip(marks, 0, count)
    marks[-1] = count
    return marks


def _rows(mixture: Mixture, members: Integers, generator: np.random.Generator) -> Integers:
    """Atoms for the members of each component in turn, shuffled within it: (columns, n)."""
    widths = [p.shape[1] for p in mixture.columns]
    rows = np.empty((len(widths), int(members.sum())), dtype=np.int64)
    owners = np.repeat(np.arange(len(members)), members)
    # Columns of like width go together: a loop over components for each of them alone takes most of the time.
    for scale in sorted({width.bit_length() for width in widths}):
        alike = [column for column, width in enumerate(widths) if width.bit_length() == scale]
        numbers = _numbers([mixture.columns[column] for column in alike], members, generator)
        for column, number in zip(alike, numbers, strict=True):
            atoms = np.repeat(np.tile(np.arange(number.shape[1]), len(members)), number.ravel())
            rows[column] = atoms[np.argsort(owners + generator.random(len(atoms)))]
    return rows


def _numbers(columns: Sequence[Floats], members: Integers, generator: np.random.Generator) -> list[Integers]:
    """For each column, how many members of each component get each atom: (M, atoms).

    Every component gets what it expects of each atom, rounded up or down, and passes its rounding errors on to the next
    one, so that those of the whole column stay below a row or so. The order of components is random, for each column
    anew: rounding then ties no two columns together.
    """
    widest = max(p.shape[1] for p in columns)
    expected = np.stack([np.pad(p, ((0, 0), (0, widest - p.shape[1]))) for p in columns]) * members[:, None]
    numbers = np.floor(expected).astype(np.int64)
    left = members - numbers.sum(axis=2)  # (columns, M)
    places, carried = np.arange(len(columns)), np.zeros((len(columns), widest))
    orders = np.stack([generator.permutation(len(members)) for _ in columns], axis=1)
    for order in orders:  # one component of each column
        carried += expected[places, order] - numbers[places, order]
        owed = np.where(expected[places, order] > 0.0, carried, -np.inf)  # never an atom that can't be
        rank = np.argsort(np.argsort(-owed, axis=1, kind="stable"), axis=1)
        more = rank < left[places, order][:, None]
        numbers[places, order] += more
        carried -= more
    return [number[:, : p.shape[1]] for number, p in zip(numbers, columns, strict=True)]


def _sweeps(count: int, columns: int) -> int:
    """How often all columns of so many rows are swapped: less often in a larger table."""
    return min(MOST_SWEEPS, WORK // max(1, 2 * count * columns * (columns - 1)))


def swapped(
    rows: Integers, components: Integers, mixture: Mixture, generator: np.random.Generator, *, sweeps: int
) -> Integers:
    """The same rows, (columns, n), after sweeps of swaps within components (n,)."""
    columns = len(rows)
    if sweeps == 0 or columns < 2:
        return rows
    result, excess = rows.copy(), _Excess.of(rows, mixture)
    for _ in range(sweeps):
        for column in generator.permutation(columns):
            with_whom = _partners(result[column], components, generator)
            excess.sweep(result[column], int(column), with_whom)
    return result


def _partners(
    values: Integers, components: Integers, generator: np.random.Generator
) -> list[tuple[Integers, Integers]]:
    """Batches of disjoint pairs of rows of the same component whose values differ, in random order."""
    order = np.argsort(components + generator.random(len(values)))
    first, second = order[:-1], order[1:]
    every_other = np.arange(len(first)) % 2 == generator.integers(2)
    pairs = every_other & (components[first] == components[second]) & (values[first] != values[second])
    chosen = generator.permutation(np.flatnonzero(pairs))
    batch = max(_FEWEST, len(values) // _PARTS)
    parts = [chosen[start : start + batch] for start in range(0, len(chosen), batch)]
    return [(first[part], second[part]) for part in parts]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Excess:
    """Of every pair of cells, how many rows there are above what the mixture expects, and what an excess weighs.

    Cells of all columns are numbered together: `excess` and `weight` are symmetric, (C, C).
    """

    places: tuple[slice, ...]  # of each column: its cells among all
    table: Integers  # (n, columns): the cells of each row
    excess: Single
    weight: Single

    @classmethod
    def of(cls, rows: Integers, mixture: Mixture) -> "_Excess":
        most = max(2, min(MOST_CELLS, ALL_CELLS // len(rows)))
        own = [_cells(mixture.marginal(column), most) for column in range(len(rows))]
        ends = np.cumsum([int(cells.max()) + 1 for cells in own])
        starts = np.concatenate([[0], ends[:-1]])
        cells = tuple(start + group for start, group in zip(starts, own, strict=True))
        q = np.concatenate([mixture.grouped(i, group) for i, group in enumerate(own)], axis=1).astype(np.float32)
        expected = rows.shape[1] * ((q * mixture.weights[:, None].astype(np.float32)).T @ q)
        table = np.stack([cells[i][column] for i, column in enumerate(rows)], axis=1).astype(np.int64)
        places = tuple(slice(int(start), int(end)) for start, end in zip(starts, ends, strict=True))
        return cls(
            places=places,
            table=table,
            excess=_counts(table, places) - expected,
            weight=1.0 / np.maximum(expected, np.float32(1.0)),
        )

    def sweep(self, values: Integers, column: int, partners: list[tuple[Integers, Integers]]) -> None:
        """Swap the values (n,) of a column between partners, in place, wherever that helps."""
        place = self.places[column]
        excess = np.ascontiguousarray(self.excess[:, place])
        weight = np.ascontiguousarray(self.weight[:, place])
        weight[place] = 0.0  # the column itself is no partner of its own
        for first, second in partners:
            one, other = self.table[first, column] - place.start, self.table[second, column] - place.start
            changes = _Changes.of(self.table[first], self.table[second], one, other, width=weight.shape[1])
            keep = changes.gain(excess, weight) < 0.0
            changes.apply(excess, keep)
            left, right = first[keep], second[keep]
            values[left], values[right] = values[right], values[left]
            self.table[left, column], self.table[right, column] = self.table[right, column], self.table[left, column]
        self.excess[:, place], self.excess[place] = excess, excess.T


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Changes:
    """Where counts fall and rise if each of a batch of swaps is made: flat places in (C, cells of the column)."""

    fall: tuple[Integers, Integers]  # each (batch, columns)
    rise: tuple[Integers, Integers]
    same: NDArray[
        np.bool_
    ]  # (batch, columns): whether both rows are in one cell of that column, so that nothing changes

    @classmethod
    def of(cls, here: Integers, there: Integers, one: Integers, other: Integers, *, width: int) -> "_Changes":
        one, other = one[:, None], other[:, None]
        same = (here == there) | (one == other)
        here, there = here * width, there * width
        return cls(fall=(here + one, there + other), rise=(here + other, there + one), same=same)

    def gain(self, excess: Single, weight: Single) -> Single:
        """By how much Σ weight · excess² changes: (batch,)."""
        falls, rises = (weight * (1 - 2 * excess)).ravel(), (weight * (1 + 2 * excess)).ravel()
        moved = sum(falls.take(place) for place in self.fall) + sum(rises.take(place) for place in self.rise)
        change: Single = np.where(self.same, np.float32(0.0), moved).sum(axis=1)
        return change

    def apply(self, excess: Single, keep: NDArray[np.bool_]) -> None:
        """Move the counts, for the swaps that are made. Where both rows share a cell, rise and fall cancel."""
        flat = excess.reshape(-1)
        for places, change in ((self.fall, -1.0), (self.rise, 1.0)):
            for place in places:
                np.add.at(flat, place[keep].ravel(), np.float32(change))


def _counts(table: Integers, places: tuple[slice, ...]) -> Single:
    """How many rows are in each pair of cells: (n, columns) → (C, C)."""
    counts = np.zeros((places[-1].stop,) * 2, dtype=np.float32)
    for (i, one), (j, other) in itertools.combinations(enumerate(places), 2):
        shape = one.stop - one.start, other.stop - other.start
        joint = (table[:, i] - one.start) * shape[1] + (table[:, j] - other.start)
        counts[one, other] = np.bincount(joint, minlength=shape[0] * shape[1]).reshape(shape)
        counts[other, one] = counts[one, other].T
    return counts


def _cells(marginal: Floats, most: int) -> Integers:
    """Atoms in their order, in at most `most` cells of about equal mass."""
    if len(marginal) <= most:
        return np.arange(len(marginal))
    below = np.cumsum(marginal) - marginal / 2
    return np.unique(np.floor(below / below[-1] * (most - 1)), return_inverse=True)[1].astype(np.int64)
