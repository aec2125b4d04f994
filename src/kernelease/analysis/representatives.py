"""Values that represent the atoms of a column, and the range of numerator and denominator in each cell."""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.analysis.estimands import InCell, Indicator, Integrand, NumericValue, numbers_of
from kernelease.analysis.inference import Interval
from kernelease.arrays import Floats, Integers
from kernelease.errors import CapacityError
from kernelease.measured.views import cell_ranges
from kernelease.table.columns.cells import Celled, Stepped
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Hierarchy, Listed
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.expressions.logic import Compared, Condition, Leaf
from kernelease.table.parsing import number_array

EVEN = np.linspace(0.0, 1.0, 5)  # where in each cell values are, both ends among them
CLOSE = 0.5 - 0.5 * np.cos(np.linspace(0.0, math.pi, 33))  # where a function's average needs them: closer at the ends
DAY = 86_400_000_000  # in microseconds
YEAR = {"date": 365.25, "datetime": 365.25 * 86_400_000_000}  # in a date's own scale: a trend is per year
LEAST = 1e-9  # of all rows, in every atom: so that every cell has an average
_DUST = 1e-9  # of a spacing: what binary fractions leave behind decimals
LARGEST_GRID = 4_000_000  # representatives of all columns together


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Representatives:
    """Values of a column, and the atom of each: (m,). `weights` average over an atom whose values are even.

    A function that is monotone between them within each cell has its least and greatest value among them. `loose` are
    the weights of rows that noise hides: where in their cell these may be.
    """

    atoms: Integers
    values: pa.Array
    weights: Floats
    loose: Floats | None = None  # (m,); None where they are the weights

    @property
    def spreading(self) -> Floats:
        """The weights of rows that noise hides."""
        return self.weights if self.loose is None else self.loose


def representatives(column: Column, conditions: Iterable[Condition] = (), places: Floats = EVEN) -> Representatives:
    """The values that decide how conditions, and functions that are monotone in a cell, come out on each atom."""
    if isinstance(column, Hierarchy):
        return _leaves(column)
    if isinstance(column, Listed):
        values = column.every_value
        return Representatives(atoms=np.arange(column.size), values=values, weights=np.ones(len(values)))
    if not isinstance(column, Celled):
        return _one_for_each(column)
    first, last = extremes(column)
    spread = first + np.outer(places, last - first)  # (places, cells)
    spread[0], spread[-1] = first, last
    numbers = _legal(column, spread, first)
    marks = _marks(column, conditions)
    atoms = column.encode(_arrow(column, np.append(numbers.ravel(), marks)))
    order = np.unique(np.stack([atoms.astype(np.float64), np.append(numbers.ravel(), marks)]), axis=1)
    null = [column.cell_count] * column.nullable
    return Representatives(
        atoms=np.append(order[0].astype(np.int64), np.array(null, dtype=np.int64)),
        values=pa.concat_arrays([_arrow(column, order[1]), pa.nulls(len(null), column.arrow_type)]),
        weights=np.append(_lengths(order[0], order[1], spacing_of(column)), np.ones(len(null))),
    )


def _lengths(atoms: Floats, numbers: Floats, spacing: float | None) -> Floats:
    """How much of its atom each of some numbers, in order, is the nearest of: as long a part, or so many legal values.

    >>> _lengths(np.array([0.0, 0.0, 0.0, 1.0]), np.array([0.0, 1.0, 4.0, 6.0]), None)
    array([0.5, 2. , 1.5, 1. ])
    """
    same = np.append(False, atoms[1:] == atoms[:-1])
    gaps = np.where(same, np.append(0.0, np.diff(numbers)), 0.0 if spacing is None else spacing)
    after = np.append(np.where(same[1:], gaps[1:], 0.0 if spacing is None else spacing), spacing or 0.0)
    lengths = 0.5 * (gaps + after)
    alone = ~same & ~np.append(same[1:], False)
    return np.asarray(np.where(alone, 1.0, lengths))


def _one_for_each(column: Column) -> Representatives:
    every = np.arange(column.size)
    values = column.decode(every, np.random.default_rng(0))
    return Representatives(atoms=every, values=values, weights=np.ones(column.size))


_leaves = lru_cache(maxsize=4)(_one_for_each)  # of a hierarchy, by group: thousands


def about_middles(points: Representatives, cells: Integers, middle: Floats, slack: Floats) -> Representatives:
    """Three values, the middle of a cell and its slack below and above, in place of its numbers: (cells,), (cells,).

    `points` are numbers, `cells` those of each atom. Where the slack is NaN, numbers stay as they are. Their weights
    are those of Simpson's rule, which has the variance of even values.
    """
    stays = np.flatnonzero(np.isnan(slack[cells[points.atoms]]))
    atoms = np.flatnonzero(~np.isnan(slack[cells]))
    numbers = np.concatenate([end[cells[atoms]] for end in (middle - slack, middle, middle + slack)])
    weight = np.bincount(points.atoms, weights=points.weights, minlength=len(cells))[atoms] / 6.0
    return Representatives(
        atoms=np.concatenate([points.atoms[stays], atoms, atoms, atoms]),
        values=pa.concat_arrays([points.values.take(number_array(stays)).cast(pa.float64()), number_array(numbers)]),
        weights=np.concatenate([points.weights[stays], weight, 4.0 * weight, weight]),
        loose=np.concatenate([points.spreading[stays], weight, 4.0 * weight, weight]),
    )


def outcomes(points: Representatives, column: Column, leaves: Sequence[Leaf]) -> Integers:
    """A number for each combination of outcomes (true, false, null) of tests of a column: (m,)."""
    found = np.zeros(len(points.atoms), dtype=np.int64)
    for flags in _flags(points, column, leaves):  # one after the other: rows of a matrix are slow to sort
        found = np.unique(3 * found + flags, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return found


def _flags(points: Representatives, column: Column, leaves: Sequence[Leaf]) -> list[Integers]:
    table = pa.table({column.name: points.values})
    return [np.asarray(pc.fill_null(pc.cast(leaf.test(table), pa.int8()), 2), dtype=np.int64) for leaf in leaves]


def few(
    points: Representatives,
    column: Column,
    cells: Integers,
    conditions: Iterable[Condition],
    valued: frozenset[str] = frozenset(),
) -> Representatives:
    """Of leaves in groups, one for each cell (atoms,) and outcome of the tests, weighing as much as all of them.

    Of columns whose values matter beside that, and of all others, every one.
    """
    if not isinstance(column, Hierarchy) or column.name in valued:
        return points
    tests = [leaf for condition in conditions for leaf in condition.leaves() if column.name in leaf.names]
    if any(len(leaf.names) > 1 for leaf in tests):
        return points
    kind = cells[points.atoms]
    for flag in _flags(points, column, tests):
        kind = _renumber(3 * kind + flag)
    first = np.empty(int(kind.max()) + 1, dtype=np.int64)
    first[kind[::-1]] = np.arange(len(kind))[::-1]
    return Representatives(
        atoms=points.atoms[first],
        values=points.values.take(pa.array(first)),
        weights=np.bincount(kind, points.weights).astype(np.float64),
        loose=np.bincount(kind, points.spreading).astype(np.float64),
    )


def _renumber(kind: Integers) -> Integers:
    """The same kinds as numbers without gaps, in their order: sorting thousands takes longer."""
    used = np.zeros(int(kind.max()) + 1, dtype=np.int64)
    used[kind] = 1
    numbers: Integers = (np.cumsum(used) - 1)[kind]
    return numbers


def weigh_atoms(points: Representatives, shares: Floats, places: Floats | None = None) -> Representatives:
    """The same, where atoms weigh as much as a distribution says: (atoms,) → weights; and where hidden rows may be."""
    even = np.bincount(points.atoms, weights=points.weights, minlength=len(shares))
    loose = None if places is None else points.weights * (places / even)[points.atoms]
    return replace(points, weights=points.weights * (shares / even)[points.atoms], loose=loose)


def extremes(column: Celled) -> tuple[Floats, Floats]:
    """The least and the greatest value of each cell, in the column's own scale (days, microseconds): (cells,) each."""
    lowest, highest = column.bounds()
    return lowest.astype(np.float64), highest.astype(np.float64)


def middles_and_halves(column: Celled, cells: Integers) -> tuple[Floats, Floats]:
    """The middle of each cell of a column's atoms and half its width, 0 where it has no number: (cells,) each."""
    lowest, highest = (np.append(end, np.full(column.size - len(end), np.nan)) for end in extremes(column))
    low, high = cell_ranges(lowest, highest, cells)
    return np.nan_to_num((low + high) / 2), np.nan_to_num((high - low) / 2)


def atom_numbers(column: Column) -> Floats:
    """The middle of each atom: numbers, booleans as 0 and 1, dates in years since 1970; NaN for NULL."""
    if column.tag in YEAR:
        assert isinstance(column, Celled)
        low, high = extremes(column)
        middle = 0.5 * (low + high) / YEAR[column.tag]
        return np.append(middle, np.full(column.size - len(middle), np.nan))
    points = weigh_atoms(representatives(column), np.ones(column.size))
    numbers = numbers_of(column, pa.table({column.name: points.values}))
    total = np.bincount(points.atoms, weights=points.weights, minlength=column.size)
    sums = np.bincount(points.atoms, weights=points.weights * np.nan_to_num(numbers), minlength=column.size)
    missing = np.zeros(column.size, dtype=bool)
    missing[points.atoms[np.isnan(numbers)]] = True
    return np.where(missing, np.nan, sums / np.maximum(total, 1e-300))


def _legal(column: Celled, numbers: Floats, first: Floats) -> Floats:
    spacing = spacing_of(column)
    return numbers if spacing is None else np.asarray(first + np.rint((numbers - first) / spacing) * spacing)


def spacing_of(column: Celled) -> float | None:
    """How far legal values are apart; None for a continuum."""
    if isinstance(column, Stepped):
        return float(column.tick)
    assert isinstance(column, Number)
    return column.spacing


def _marks(column: Celled, conditions: Iterable[Condition]) -> Floats:
    """The values around each number that a condition compares the column with, all of them legal.

    Where each cell has one value there are none but these.
    """
    if np.array_equal(*extremes(column)):
        return np.empty(0)
    found: list[float] = []
    for leaf in (leaf for condition in conditions for leaf in condition.leaves()):
        if isinstance(leaf, Compared) and column.name in leaf.names:
            found += _thresholds(column, leaf)
    low, high = (float(extreme) for extreme in (extremes(column)[0][0], extremes(column)[1][-1]))
    spacing, marks = spacing_of(column), np.clip(np.array(found, dtype=np.float64), low, high)
    if spacing is None:
        around = np.concatenate([np.nextafter(marks, -np.inf), marks, np.nextafter(marks, np.inf)])
    else:
        level = np.floor((marks - low) / spacing + _DUST)
        around = low + np.concatenate([level - 1, level, level + 1]) * spacing
    return np.asarray(np.clip(around, low, high))


def _thresholds(column: Celled, leaf: Compared) -> list[float]:
    """What a test compares the column with: a literal, or the extremes of the other column's cells."""
    if not isinstance(leaf.right, Column):
        return [leaf.left.key(leaf.right) / (DAY if isinstance(column, Date) else 1)]
    other = leaf.right if leaf.left.name == column.name else leaf.left
    if not isinstance(other, Celled):
        return []
    scale = (DAY if isinstance(other, Date) else 1) / (DAY if isinstance(column, Date) else 1)
    return [float(value) * scale for ends in extremes(other) for value in ends]


def _arrow(column: Celled, numbers: Any) -> pa.Array:
    """Numbers in the column's own scale as values of its type."""
    if isinstance(column, Number):
        digits = None if column.spacing is None else 10 - math.floor(math.log10(column.spacing))
        return number_array(np.asarray(numbers if digits is None else np.round(numbers, digits), dtype=np.float64))
    whole = np.rint(numbers).astype(np.int64)
    if isinstance(column, Integer):
        return number_array(whole)
    if isinstance(column, Datetime):
        return number_array(whole).cast(column.arrow_type)
    return number_array(whole.astype(np.int32)).cast(column.arrow_type)


@final
@dataclass(frozen=True, kw_only=True)
class CellValues:
    """Values of two functions at the representatives of some cells: (r,) each, ordered by cell.

    Where in its cell a row lies was not measured, so that any of them may be the row's. A denominator is 0 or 1. In all
    other cells the numerator is 0 throughout, and the denominator `otherwise`.
    """

    size: int  # number of all cells
    cells: Integers  # (some cells,), in order
    starts: Integers  # (some cells,): the first representative of each
    place: Integers  # (r,): which of these cells it is in
    numerator: Floats
    denominator: Floats
    weights: Floats  # for averages over a cell
    loose: Floats  # the same for rows that noise hides
    otherwise: float

    @property
    def cell(self) -> Integers:
        """The cell of each representative: (r,)."""
        return self.cells[self.place]

    @property
    def possible(self) -> Interval | None:
        """The least and the greatest numerator where the denominator is 1; None where it never is."""
        here = self.numerator[self.denominator > 0.0]
        if self.otherwise and len(self.cells) < self.size:
            here = np.append(here, 0.0)
        return (float(here.min()), float(here.max())) if here.size else None

    @cached_property
    def exact(self) -> bool:
        """Whether neither function varies within a cell."""
        same = self.place[1:] == self.place[:-1]
        return not any(np.any(np.diff(values)[same] != 0.0) for values in (self.numerator, self.denominator))

    def middle(self) -> tuple[Floats, Floats]:
        """The average of both functions over each cell: (cells,) each."""
        return self._middle

    @cached_property
    def _middle(self) -> tuple[Floats, Floats]:
        count, above, below = (
            np.bincount(self.place, weights=weights, minlength=len(self.cells))
            for weights in (self.weights, self.weights * self.numerator, self.weights * self.denominator)
        )
        return self._spread(above / count, below / count)

    @cached_property
    def spread(self) -> Floats:
        """How both functions vary over each cell: variance, covariance, variance: (3, cells)."""
        return self._varies(self.weights)

    @cached_property
    def hidden_spread(self) -> Floats:
        """How far both may be from their averages on rows that noise hides: (3, cells)."""
        return self._varies(self.loose)

    def _varies(self, weights: Floats) -> Floats:
        size, found = len(self.cells), np.zeros((3, self.size))
        count = np.bincount(self.place, weights=weights, minlength=size)
        above, below = (
            values - own[self.cell]
            for values, own in zip((self.numerator, self.denominator), self._middle, strict=True)
        )
        for line, products in zip(found, (above * above, above * below, below * below), strict=True):
            line[self.cells] = np.bincount(self.place, weights=weights * products, minlength=size) / count
        return found

    def least(self, ratio: float) -> tuple[Floats, Floats]:
        """In each cell the pair for which numerator − ratio·denominator is least: (cells,) each."""
        return self._first(self.numerator - ratio * self.denominator)

    def greatest(self, ratio: float) -> tuple[Floats, Floats]:
        """In each cell the pair for which numerator − ratio·denominator is greatest: (cells,) each."""
        return self._first(ratio * self.denominator - self.numerator)

    @cached_property
    def gap(self) -> float:
        """By how much the greatest numerator is above the least in every cell whose denominator is 1 throughout."""
        sure = self._first(self.denominator)[1]
        inside = sure > 0.0
        if not inside.any():
            return 0.0
        low, high = self.least(0.0)[0], self.greatest(0.0)[0]
        return float((high - low)[inside].min())

    def _first(self, score: Floats) -> tuple[Floats, Floats]:
        """The pair of the lowest score in each cell, the first of several."""
        if not len(score):
            return self._spread(score, score)
        lowest = np.flatnonzero(score == np.minimum.reduceat(score, self.starts)[self.place])[::-1]
        chosen = self.starts.copy()
        chosen[self.place[lowest]] = lowest
        return self._spread(self.numerator[chosen], self.denominator[chosen])

    def _spread(self, numerator: Floats, denominator: Floats) -> tuple[Floats, Floats]:
        """Both functions in all cells, by what they are in some."""
        above, below = np.zeros(self.size), np.full(self.size, self.otherwise)
        above[self.cells], below[self.cells] = numerator, denominator
        return above, below


Axis: TypeAlias = tuple[str, Representatives, Integers]
"""A column of a grid: its name, its representatives and the cell of each of its atoms."""


@final
class Grid:
    """All combinations of the representatives of some columns, ordered by cell: what functions of a row are tried on.

    What is about one column alone is asked of that column's representatives, and not of all combinations.
    """

    def __init__(self, axes: Sequence[Axis]) -> None:
        counts = [len(points.atoms) for _, points, _ in axes]
        if math.prod(counts) > LARGEST_GRID:
            raise CapacityError(
                f"The question needs more than {LARGEST_GRID:,} combinations of values. "
                "Ask about fewer columns at once."
            )
        places = np.indices(counts).reshape(len(counts), -1)
        cell, size = np.zeros(places.shape[1], dtype=np.int64), 1
        for (_, points, groups), place in zip(axes, places, strict=True):
            cells = int(groups.max()) + 1
            size, cell = size * cells, cell * cells + groups[points.atoms][place]
        order = np.argsort(cell, kind="stable")
        self.size, self.cell = size, cell[order]
        self._places = {name: place[order] for (name, _, _), place in zip(axes, places, strict=True)}
        self._atoms = {name: points.atoms for name, points, _ in axes}
        self._columns = {name: pa.table({name: points.values}) for name, points, _ in axes}
        self.weights, self.loose = np.ones(len(order)), np.ones(len(order))
        for name, points, _ in axes:
            self.weights = self.weights * points.weights[self._places[name]]
            self.loose = self.loose * points.spreading[self._places[name]]

    @cached_property
    def table(self) -> pa.Table:
        """All combinations as rows."""
        return pa.table(
            {name: own.column(name).take(number_array(self._places[name])) for name, own in self._columns.items()}
        )

    def values(self, numerator: Integrand, denominator: Integrand | None, *, everywhere: bool = False) -> CellValues:
        """Both functions on the combinations of cells in which they are not 0, or of all cells.

        Without a denominator that is 1.
        """
        shared = numerator.conditions if denominator is None else denominator.conditions
        rows = self._rows([] if everywhere else [part for part in numerator.conditions if part in shared])
        first = np.append(True, np.diff(self.cell[rows]) != 0)[: len(rows)]
        return CellValues(
            size=self.size,
            cells=self.cell[rows][first],
            starts=np.flatnonzero(first),
            place=np.cumsum(first) - 1,
            numerator=self._of(numerator, rows),
            denominator=np.ones(len(rows)) if denominator is None else self._of(denominator, rows),
            weights=self.weights[rows],
            loose=self.loose[rows],
            otherwise=float(denominator is None),
        )

    def _rows(self, conditions: Sequence[Condition]) -> Integers:
        """All combinations of those cells in which all conditions may hold."""
        every = np.arange(len(self.cell))
        hit = np.zeros(self.size, dtype=bool)
        hit[self.cell[self._flags(conditions, every)]] = True
        return np.flatnonzero(hit[self.cell])

    def _of(self, function: Integrand, rows: Integers) -> Floats:
        """A function on some combinations."""
        if isinstance(function, Indicator):
            return self._flags(function.parts, rows).astype(np.float64)
        if isinstance(function, NumericValue):
            name = function.column.name
            numbers = numbers_of(function.column, self._columns[name])
            known = np.where(np.isnan(numbers), 0.0, numbers)[self._places[name][rows]]
            return known * self._flags(function.where.parts, rows)
        return function.of(self.table)[rows]

    def _flags(self, conditions: Sequence[Condition], rows: Integers) -> NDArray[np.bool_]:
        """Whether conditions hold on some combinations."""
        flags = np.ones(len(rows), dtype=bool)
        for part in conditions:
            names = part.columns
            alone = self._holds(part, names[0]) if len(names) == 1 else None
            flags &= part.holds(self.table)[rows] if alone is None else alone[self._places[names[0]][rows]]
        return flags

    def _holds(self, part: Condition, name: str) -> NDArray[np.bool_]:
        """Whether a condition on one column alone holds at its representatives."""
        return np.isin(self._atoms[name], part.atoms) if isinstance(part, InCell) else part.holds(self._columns[name])


@final
class Grids:
    """The grids of a question: each is made once, whatever the number of its groups."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Grid] = {}

    def grid(self, key: Hashable, axes: Callable[[], Sequence[Axis]]) -> Grid:
        """The grid of a key, from its axes where it is new."""
        if key not in self._made:
            self._made[key] = Grid(axes())
        return self._made[key]


def marking(conditions: Iterable[Condition], columns: Iterable[Column]) -> Hashable:
    """What a grid of columns depends on in conditions: numbers that are compared; in groups of leaves, all outcomes."""
    if any(isinstance(column, Hierarchy) for column in columns):
        return tuple(conditions)
    return tuple(leaf for part in conditions for leaf in part.leaves() if isinstance(leaf, Compared))


def cell_values(axes: Sequence[Axis], numerator: Integrand, denominator: Integrand | None) -> CellValues:
    """Both functions on all combinations of the columns' representatives. Without a denominator that is 1."""
    return Grid(axes).values(numerator, denominator, everywhere=True)
