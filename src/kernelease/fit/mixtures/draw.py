"""Rows from a mixture, with little sampling error: rounded, not random, numbers of rows, improved by swaps.

Independent draws of n rows are off by √n in every count. Two rows of one component may swap their values of a column
without leaving the model: columns are independent within a component. Swaps that bring the counts of pairs nearer to
what the mixture expects are kept. Single columns stay as they are.
"""

import itertools
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.fit.mixtures.adam import Single
from kernelease.fit.mixtures.mixture import Mixture

WORK = 400_000_000  # counts looked up, in all: a few seconds
MOST_SWEEPS = 8
MOST_CELLS = 128  # of a column: finer detail is left as it was drawn
_BATCH = 512  # swaps that are judged together


def draw_rows(mixture: Mixture, count: int, generator: np.random.Generator) -> Integers:
    """`count` rows of atoms, (columns, count).

    Components get numbers of rows in proportion to their weights, and each column's atoms in proportion to their
    probabilities, so that every single column is met to within a row or so. Swaps then bring pairs of columns near the
    mixture's own.
    """
    if count < 1:
        raise ParameterError(f"draw_rows: count must be at least 1, got {count!r}.")
    members = np.diff(_quantiles(mixture.weights, count, generator), prepend=0)
    components = np.repeat(np.arange(len(members)), members)
    rows = np.stack([_column(p, members, generator) for p in mixture.columns])
    return swapped(rows, components, mixture, generator)[:, generator.permutation(count)]


def _quantiles(weights: Floats, count: int, generator: np.random.Generator) -> Integers:
    """How many of `count` equally spaced marks, with one random offset, lie below each cumulative weight."""
    marks = np.ceil(np.cumsum(weights / weights.sum()) * count - generator.random()).astype(np.int64)
    marks = np.clip(marks, 0, count)
    marks[-1] = count
    return marks


def _column(probabilities: Floats, members: Integers, generator: np.random.Generator) -> Integers:
    """Atoms of one column for the members of each component in turn, shuffled within it: (n,).

    Every component gets what it expects of each atom, rounded up or down, and passes its rounding errors on to the next
    one, so that those of the whole column stay below a row or so. The order of components is random, for each column
    anew: rounding then ties no two columns together.
    """
    expected = probabilities * members[:, None]
    numbers = np.floor(expected).astype(np.int64)
    carried = np.zeros(probabilities.shape[1])
    for component in generator.permutation(len(members)):
        left = int(members[component] - numbers[component].sum())
        owed = carried + expected[component] - numbers[component]
        if left > 0:
            numbers[component, np.argsort(-owed, kind="stable")[:left]] += 1
        carried += expected[component] - numbers[component]
    atoms = np.repeat(np.tile(np.arange(probabilities.shape[1]), len(members)), numbers.ravel())
    order = np.lexsort((generator.random(len(atoms)), np.repeat(np.arange(len(members)), members)))
    shuffled: Integers = atoms[order]
    return shuffled


def swapped(rows: Integers, components: Integers, mixture: Mixture, generator: np.random.Generator) -> Integers:
    """The same rows, (columns, n), after sweeps of swaps within components (n,); fewer sweeps for a larger table."""
    columns, count = rows.shape
    sweeps = min(MOST_SWEEPS, WORK // max(1, 4 * count * columns * (columns - 1)))
    if sweeps == 0 or columns < 2:
        return rows
    better = rows.copy()
    excess = _Excess.of(rows, mixture)
    for _ in range(sweeps):
        for column in generator.permutation(columns):
            for first, second in _partners(better[column], components, generator):
                excess.swap(better, int(column), first, second)
    return better


def _partners(
    values: Integers, components: Integers, generator: np.random.Generator
) -> list[tuple[Integers, Integers]]:
    """Batches of disjoint pairs of rows of the same component whose values differ, in random order."""
    order = np.lexsort((generator.random(len(values)), components))
    first, second = order[:-1], order[1:]
    every_other = np.arange(len(first)) % 2 == generator.integers(2)
    pairs = every_other & (components[first] == components[second]) & (values[first] != values[second])
    chosen = generator.permutation(np.flatnonzero(pairs))
    parts = [chosen[start : start + _BATCH] for start in range(0, len(chosen), _BATCH)]
    return [(first[part], second[part]) for part in parts]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Excess:
    """Of every pair of columns, how many rows there are above what the mixture expects, and what an excess weighs."""

    cells: tuple[Integers, ...]  # of each column: the cell of each atom
    excess: dict[tuple[int, int], Single]
    weight: dict[tuple[int, int], Single]

    @classmethod
    def of(cls, rows: Integers, mixture: Mixture) -> "_Excess":
        count, columns = rows.shape[1], range(len(rows))
        cells = tuple(_cells(mixture.marginal(i)) for i in columns)
        grouped = [mixture.grouped(i, cells[i]) for i in columns]
        excess, weight = {}, {}
        for i, j in itertools.combinations(columns, 2):
            expected = count * ((grouped[i] * mixture.weights[:, None]).T @ grouped[j])
            joint = cells[i][rows[i]] * expected.shape[1] + cells[j][rows[j]]
            there = np.bincount(joint, minlength=expected.size).reshape(expected.shape)
            excess[i, j] = (there - expected).astype(np.float32)
            weight[i, j] = (1.0 / np.maximum(expected, 1.0)).astype(np.float32)
            excess[j, i], weight[j, i] = excess[i, j].T, weight[i, j].T  # views: both change together
        return cls(cells=cells, excess=excess, weight=weight)

    def swap(self, rows: Integers, column: int, first: Integers, second: Integers) -> None:
        """Swap the values of a column between the rows `first` and `second`, wherever that helps."""
        one, other = (self.cells[column][rows[column, r]] for r in (first, second))
        gain = np.zeros(len(first), dtype=np.float32)
        places = [(i, self.cells[i][rows[i, first]], self.cells[i][rows[i, second]]) for i in range(len(rows))]
        for i, here, there in places:
            if i != column:
                moved = self._moved(i, column, here, there, one, other)
                gain += np.where((here == there) | (one == other), np.float32(0.0), moved)
        keep: NDArray[np.bool_] = gain < 0.0
        for i, here, there in places:
            if i != column:
                table = self.excess[i, column]
                for place, cell, change in ((here, one, -1), (there, other, -1), (here, other, 1), (there, one, 1)):
                    np.add.at(table, (place[keep], cell[keep]), np.float32(change))
        swapped = first[keep], second[keep]
        rows[column, swapped[0]], rows[column, swapped[1]] = rows[column, swapped[1]], rows[column, swapped[0]]

    def _moved(self, i: int, column: int, here: Integers, there: Integers, one: Integers, other: Integers) -> Single:
        """By how much Σ weight · excess² changes: (n,)."""
        excess, weight = self.excess[i, column], self.weight[i, column]
        taken = sum(weight[c] * (1 - 2 * excess[c]) for c in ((here, one), (there, other)))
        given = sum(weight[c] * (1 + 2 * excess[c]) for c in ((here, other), (there, one)))
        return np.asarray(taken + given, dtype=np.float32)


def _cells(marginal: NDArray[np.float64]) -> Integers:
    """Atoms in their order, in at most `MOST_CELLS` cells of about equal mass."""
    if len(marginal) <= MOST_CELLS:
        return np.arange(len(marginal))
    below = np.cumsum(marginal) - marginal / 2
    return np.unique(np.floor(below / below[-1] * (MOST_CELLS - 1)), return_inverse=True)[1].astype(np.int64)
