"""Sums over rows of offsets within cells, and of sides of columns; groups and leaves."""

import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.measured.blocks import Block, NoisyBlock, NoisyBlocks, RowSums, within
from kernelease.measured.sums import Look, Ramp, Whole
from kernelease.privacy.sensitivity import Neighbours, Sensitivity, row_sensitivity, sides_sensitivity
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Hierarchy

# --------------------
# Columns of two levels: groups, which are counted with other columns, and the leaves in them, counted alone.


Levels: TypeAlias = tuple[Integers | None, ...]
"""Of each column: the group of each atom where its atoms are leaves in groups, None elsewhere."""


def declared_levels(columns: Sequence[Column]) -> Levels:
    """The groups of columns whose atoms are leaves, as they are declared; None where each leaf is a group."""
    found = [column.atom_groups if isinstance(column, Hierarchy) else None for column in columns]
    return tuple(None if own is None or int(own.max()) + 1 == len(own) else own for own in found)


def levels_of(noisy: NoisyBlocks) -> Levels:
    """The groups of columns whose atoms are leaves: those without an order that were counted in fewer cells alone."""
    ordered = noisy.ordered or (0,) * len(noisy.sizes)
    found: dict[int, Integers] = {}
    for block in (one.block for one in noisy.blocks if one.block.alone):
        if not ordered[block.columns[0]] and block.cells < noisy.sizes[block.columns[0]]:
            found.setdefault(block.columns[0], block.groups[0])
    return tuple(found.get(column) for column in range(len(noisy.sizes)))


def in_groups(noisy: NoisyBlocks, levels: Levels) -> NoisyBlocks:
    """The same measurements in which groups are the atoms; those of leaves are left out."""
    if all(groups is None for groups in levels):
        return noisy
    sizes = (
        size if groups is None else int(groups.max()) + 1 for size, groups in zip(noisy.sizes, levels, strict=True)
    )
    return dataclasses.replace(
        noisy,
        sizes=tuple(sizes),
        blocks=tuple(_in_groups(one, levels) for one in noisy.blocks if not of_leaves(one.block, levels)),
        moments=tuple(_in_groups(one, levels) for one in noisy.moments),
    )


def of_leaves(block: Block, levels: Levels) -> bool:
    """Whether a block is of a column's leaves, one by one: there are always fewer groups."""
    if not block.alone or (groups := levels[block.columns[0]]) is None:
        return False
    return block.cells == len(groups)


def of_atoms(blocks: Sequence[Block], levels: Levels) -> list[Block]:
    """Blocks in cells of groups as such in cells of atoms; those that are in cells of atoms already stay.

    Blocks that share cells share them afterwards: thousands of candidates hold no array each.
    """
    if all(groups is None for groups in levels):
        return list(blocks)
    known: dict[tuple[int, int], Integers] = {}

    def spread(column: int, cells: Integers) -> Integers:
        own = levels[column]
        if own is None or len(cells) == len(own):
            return cells
        return known.setdefault((column, id(cells)), cells[own])

    return [dataclasses.replace(block, groups=tuple(map(spread, block.columns, block.groups))) for block in blocks]


def _in_groups(one: NoisyBlock, levels: Levels) -> NoisyBlock:
    own = [levels[column] for column in one.block.columns]
    if all(groups is None for groups in own):
        return one
    parts = zip(one.block.groups, own, strict=True)
    groups = tuple(cells if level is None else within(level, cells) for cells, level in parts)
    return dataclasses.replace(one, block=dataclasses.replace(one.block, groups=groups))


# --------------------
# A number as the middle of its cell plus an offset: geometry that measuring and answering share.


BITS = 20  # of the weights of one column, at most…
BITS_OF_PRODUCT = 14  # …and of each of two: their product is then at most 2²⁸


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Offsets:
    """x = middle[cell] + unit[cell]·t, up to `slack`, where t is the weight that `ramp` gives to x.

    Units are the column's own: numbers, days, microseconds. Atoms without a number (NULL) have the weight 0, and their
    cells the middle NaN. A cell of a single value has the unit 0 where cells are told apart, and so has one that is
    too wide: its offsets are not measured.
    """

    middle: Floats  # (cells,)
    half: Floats  # (cells,): half its width
    unit: Floats  # (cells,)
    ramp: Ramp
    slack: float

    @property
    def widest(self) -> float:
        """Half the width of the widest cell that is measured."""
        return float(self.unit.max()) * self.ramp.limit

    @property
    def told_cells(self) -> NDArray[np.bool_]:
        """Whether offsets say where in a cell its numbers lie: (cells,)."""
        told: NDArray[np.bool_] = (self.half == 0.0) | (self.unit > 0.0)
        return told


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The lowest and the highest number of each of a column's cells of values, and of the finer ones that rows have.

    A column is asked once, and its cells are summed in many ways.
    """

    size: int  # atoms, those without a number too
    lowest: Floats  # (cells of values,)
    highest: Floats
    finer: tuple[Floats, Floats] | None  # the same of finer cells, where there are some

    @classmethod
    def of(cls, column: Celled) -> "Ends":
        """Those of a declared column."""
        (lowest, highest), finer = column.ends(), column.finer
        return cls(size=column.size, lowest=lowest, highest=highest, finer=None if finer is None else finer.ends())


def offsets(
    column: Celled | Ends, cells: Integers, *, apart: bool, bits: int = BITS, narrow: float = math.inf
) -> Offsets | None:
    """The offsets of a column's numbers about the middles of cells: (atoms,) → `Offsets`.

    Where cells are told `apart`, each has its own unit, its half width over 2^bits; where they are not, the widest
    one's. Cells whose half width is above `narrow` are left out. None where no cell holds more than one value: nothing
    is left to measure.
    """
    ends = column if isinstance(column, Ends) else Ends.of(column)
    known = cells[: len(ends.lowest)]
    low, high = np.full((2, int(cells.max()) + 1), np.nan)
    np.fmin.at(low, known, ends.lowest)
    np.fmax.at(high, known, ends.highest)
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    if not np.nanmax(half) > 0.0:
        return None
    left_in = half <= max(narrow, float(half[half > 0.0].min()))  # NULL has no half
    unit = np.ldexp(np.where(left_in, half if apart else half[left_in].max(), 0.0), -bits)
    ramp = _ramp(ends, known, middle, unit, 1 << bits)
    return Offsets(middle=middle, half=half, unit=unit, ramp=ramp, slack=_slack(ends, known, middle, unit, ramp))


def measured_width(column: Celled | Ends, cells: Integers, ramp: Ramp) -> float:
    """Half the width of the widest cell that a ramp gives weights to: what `narrow` was."""
    found = offsets(column, cells, apart=True)
    weighed = np.bincount(cells, (ramp.start != 0) | (ramp.slope != 0)) > 0.0
    return 0.0 if found is None else float(np.max(found.half, where=weighed & ~np.isnan(found.half), initial=0.0))


def _ramp(ends: Ends, cells: Integers, middle: Floats, unit: Floats, limit: int) -> Ramp:
    """Weights that are linear in the fine code within each atom of several values, and constant in the others."""
    lowest, highest = ends.lowest, ends.highest
    scale = np.divide(1.0, unit, out=np.zeros_like(unit), where=unit > 0.0)[cells]
    start, slope = np.zeros((2, ends.size), dtype=np.int64)
    atoms = np.arange(len(lowest))
    if ends.finer is None:
        start[atoms] = np.rint((lowest - middle[cells]) * scale)
        return Ramp(start=start, slope=slope, limit=limit)
    first, last = ends.finer
    centre = first / 2 + last / 2
    left, right = (np.maximum(np.searchsorted(first, bound, side="right") - 1, 0) for bound in (lowest, highest))
    several, between = lowest < highest, (left + right) // 2
    rise = np.where(several, (centre[right] - centre[left]) / np.maximum(right - left, 1), 0.0)
    slope[atoms] = np.rint(rise * scale)
    at = np.where(several, centre[between], lowest)
    start[atoms] = np.rint((at - middle[cells]) * scale) - slope[atoms] * np.where(several, between, 0)
    return Ramp(start=start, slope=slope, limit=limit)


def _slack(ends: Ends, cells: Integers, middle: Floats, unit: Floats, ramp: Ramp) -> float:
    """The farthest that a legal value can be from middle + unit·t, by both ends of every fine cell in every atom."""
    lowest, highest = ends.lowest, ends.highest
    first, last = (lowest, highest) if ends.finer is None else ends.finer
    fine = np.arange(len(first))
    worst = 0.0
    for end in (first, last):  # a fine cell lies in one atom, or in two
        atom = np.maximum(np.searchsorted(lowest, end, side="right") - 1, 0)
        near = middle[cells[atom]] + unit[cells[atom]] * ramp.of(atom, fine)
        told = unit[cells[atom]] > 0.0
        for value in (np.maximum(first, lowest[atom]), np.minimum(last, highest[atom])):
            worst = max(worst, float(np.abs(np.where(told, value - near, 0.0)).max()))
    return worst


# --------------------
# Moments: sums of what rows weigh, by how far their numbers lie from the middles of cells.


@final
@dataclass(frozen=True, kw_only=True)
class Moments(RowSums):
    """Over the rows of each cell Σ Π_i t_i, where t_i is a public whole number of the row's value in column i.

    It is at most `ramps[i].limit` in size, or 1 where `ramps[i]` is None. In rows, each of them counts between −1 and
    1. Counts say nothing of where in its cell a number is, and moments nothing of counts: they are estimated apart
    (`estimate.offset_sums`), and rows are drawn to agree with them within cells.
    """

    ramps: tuple[Ramp | None, ...] = field()

    def __post_init__(self) -> None:
        if len(self.ramps) != len(self.columns) or self.ramp_count not in (1, 2):
            raise ParameterError("Moments: of its columns one or two are weighted; the others need None as their ramp.")
        RowSums.__post_init__(self)

    @cached_property
    def addends(self) -> tuple[Whole, ...]:
        """The product of its weights."""
        weights = [ramp.at(column) for column, ramp in zip(self.columns, self.ramps, strict=True) if ramp is not None]
        return (functools.reduce(operator.mul, weights),)

    def sensitivity(self, neighbours: Neighbours, unit: int) -> Sensitivity:
        """A row adds to one cell what it weighs; under replace-one another may take it away there."""
        return row_sensitivity(neighbours, unit=self.whole * unit)

    @property
    def label(self) -> str:
        return f"offsets of columns {self.columns}"


# --------------------
# On which sides of their middles rows lie in several columns.
#
# Counts of two columns need a noise that single cells can be seen through. A table of few rows, or of many columns, has
# none such, but sums over all rows can still be told: how often two columns are both above their middles, or both
# below. One vector has them for all pairs of columns at once, and one row moves it less than as many counts of pairs.


MOST_SIDES = 64  # limit: columns of a block of sides: their pairs are two thousand sums


@final
@dataclass(frozen=True, kw_only=True)
class Sides(RowSums):
    """Whether rows lie on the same sides of columns: Σ s_i s_j over rows, i < j, with the side s_i of a row's atom.

    A side is 1 or −1; what belongs to neither, a missing number say, has 0. All of it is public.
    """

    sides: tuple[Integers, ...]  # (atoms,) each
    ordered: tuple[int, ...]  # of each column, how many of its first atoms are in an order: 0 for names

    most_columns: ClassVar[int] = MOST_SIDES
    moves_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 2 <= len(self.columns) == len(self.sides) == len(self.ordered):
            raise ParameterError("Sides: needs two columns or more, with the side of each atom and an order for each.")
        if any(own.ndim != 1 or not {-1, 1} <= set(own.tolist()) <= {-1, 0, 1} for own in self.sides):
            raise ParameterError("Sides: each column has atoms on both sides, 1 and −1, and 0 for those on neither.")
        if any(not 0 <= count <= len(own) for count, own in zip(self.ordered, self.sides, strict=True)):
            raise ParameterError(f"Sides: no more atoms are in an order than there are, got {self.ordered!r}.")
        RowSums.__post_init__(self)

    @cached_property
    def addends(self) -> tuple[Whole, ...]:
        """The products of all pairs of sides."""
        looks = [Look(column=c, values=own) for c, own in zip(self.columns, self.sides, strict=True)]
        return tuple([one * other for one, other in itertools.combinations(looks, 2)])

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """A number for each pair of columns."""
        return (math.comb(len(self.columns), 2),)

    def sensitivity(self, neighbours: Neighbours, unit: int) -> Sensitivity:
        """Of D columns, a row adds D(D − 1)/2 products of size 1; those of two rows are no farther apart than D."""
        return sides_sensitivity(neighbours, columns=len(self.columns), unit=unit)

    def mover(
        self, values: Floats, sigma: float, rows: float, columns: tuple[int | None, ...], atoms: tuple[Integers, ...]
    ) -> "RowSides | None":
        """What deals rows anew, by the columns that have a place of their own in them; None where fewer than two do."""
        placed = [place for place, column in enumerate(columns) if column is not None]
        if len(placed) < 2:
            return None
        table = np.zeros((len(columns), len(columns)))
        table[np.triu_indices(len(columns), 1)] = values.ravel() / rows
        return RowSides(
            columns=tuple([column for column in columns if column is not None]),
            sides=tuple([self.sides[i][atoms[i]] for i in placed]),
            keys=tuple([np.where(self.ordered[i] > atoms[i], atoms[i], self.sides[i][atoms[i]]) for i in placed]),
            ordered=tuple([self.ordered[i] > 0 for i in placed]),
            measured=(table + table.T)[np.ix_(placed, placed)],
            noise=sigma / rows,
        )

    @property
    def label(self) -> str:
        return f"sides of {len(self.columns)} columns"


# --------------------
# Rows that lie on the same sides as often as was measured.
#
# Each column's values are dealt to the rows anew, in the order of normal scores that have been turned toward the
# correlations that sides tell: for two normal numbers that are cut in the middle, E s s′ = (2/π)·asin ρ.


_TURNS = 4  # convention: after which products of sides are where they should be, to a hundredth
_WIDTHS = (0.05, 0.1, 0.2, 0.4, 0.8)  # convention: of asin ρ of columns that go together, in standard deviations
_SHARES = 8  # convention: of such pairs, from one of all to all but one
_STEEPEST = 0.95 * math.pi / 2.0  # limit: of asin ρ: correlations are not asked to be nearer to 1
_NARROWEST = 1e-3  # limit: of a variance, in any direction: a correlation matrix stays one that can be inverted
_RAREST = 1e-3  # limit: of a side's share of rows


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RowSides:
    """What was measured of sides, for rows of a mixture: D of its columns."""

    columns: tuple[int, ...]
    sides: tuple[Integers, ...]  # (atoms,) each
    keys: tuple[Integers, ...]  # (atoms,) each: by what values come first: their order, or their sides
    ordered: tuple[bool, ...]
    measured: Floats  # (D, D): the mean product of two sides; 0 on the diagonal
    noise: float  # of each

    def move(self, rows: Integers, generator: np.random.Generator) -> Integers:
        """The same rows, (columns, n), with values of each column dealt to others of them."""
        if rows.shape[1] <= len(self.columns):
            return rows
        wanted = self._goal(self._sides_of(rows))
        result = rows.copy()
        for _ in range(_TURNS):
            self._turn(result, wanted, generator)
        return result

    def _sides_of(self, rows: Integers) -> Integers:
        """(D, n)."""
        return np.stack([own[rows[column]] for column, own in zip(self.columns, self.sides, strict=True)])

    def _goal(self, sides: Integers) -> Floats:
        """The mean products that rows should have: their own, and of what was measured beyond them the likely part."""
        upper = np.triu_indices(len(sides), 1)
        own, slopes = _products(sides), _slopes(sides)
        beyond = ((self.measured - own) / slopes)[upper]
        own[upper] += slopes[upper] * likely(beyond, self.noise / slopes[upper])
        return np.triu(own, 1) + np.triu(own, 1).T

    def _turn(self, rows: Integers, wanted: Floats, generator: np.random.Generator) -> None:
        """Deal every column once, in place."""
        sides = self._sides_of(rows)
        scores = np.stack(
            [
                _normal_scores(key[rows[column]], own != 0, generator)
                for column, key, own in zip(self.columns, self.keys, sides, strict=True)
            ]
        )
        now: Floats = np.asarray(np.corrcoef(scores))
        angles = np.arcsin(np.clip(now, -1.0, 1.0)) + (wanted - _products(sides)) / _slopes(sides)
        turned = _transport(now, _as_correlations(np.sin(np.clip(angles, -_STEEPEST, _STEEPEST)))) @ scores
        for place, (column, own) in enumerate(zip(self.columns, sides, strict=True)):
            inside = np.flatnonzero(own)
            values = rows[column, inside]
            if self.ordered[place]:
                rows[column, inside[np.argsort(turned[place, inside])]] = values[np.argsort(scores[place, inside])]
            else:
                rows[column, inside] = _exchange(values, own[inside], turned[place, inside])


def likely(found: Floats, noise: Floats) -> Floats:
    """What is to be expected of asin ρ, found with noise, where some are 0 and the others normal about 0.

    How many are, and how far from 0, is not known: the mean over `_SHARES` and `_WIDTHS`, by their likelihood.

    >>> likely(np.array([0.1, -0.1, 0.05, 0.9]), np.full(4, 0.1)).round(1).tolist()
    [0.0, -0.0, 0.0, 0.9]
    """
    fewest = 1.0 / (len(found) + 1)
    squares, variances = noise**2, np.array(_WIDTHS)[:, None] ** 2
    gains = 0.5 * (np.log(squares / (squares + variances)) + found**2 * (1.0 / squares - 1.0 / (squares + variances)))
    shares = np.geomspace(fewest, 1.0 - fewest, _SHARES)[:, None, None]
    both = np.logaddexp(np.log(shares) + gains, np.log1p(-shares))  # over the likelihood of noise alone
    evidence = both.sum(axis=2)
    parts = np.exp(np.log(shares) + gains - both) * (variances / (squares + variances))
    weights = np.exp(evidence - evidence.max())
    expected: Floats = found * np.einsum("sw,swn->n", weights / weights.sum(), parts)
    return expected


def _products(sides: Integers) -> Floats:
    """Mean products of sides: (D, n) → (D, D)."""
    signs = sides.astype(np.float64)
    products: Floats = signs @ signs.T / sides.shape[1]
    return products


def _slopes(sides: Integers) -> Floats:
    """By how much a mean product grows with asin ρ, near ρ = 0, where columns are cut as here: (D, D).

    4 φ(t) φ(t′), with the places t of the cuts in normal scores, of the rows that are on a side of both columns.
    """
    here = np.count_nonzero(sides, axis=1) / sides.shape[1]
    below = np.count_nonzero(sides < 0, axis=1) / np.maximum(1, np.count_nonzero(sides, axis=1))
    cuts = ndtri(np.clip(below, _RAREST, 1.0 - _RAREST))
    heights = 2.0 * np.maximum(here, _RAREST) * np.exp(-0.5 * cuts**2) / math.sqrt(2.0 * math.pi)
    slopes: Floats = np.outer(heights, heights)
    return slopes


def _normal_scores(keys: Integers, inside: NDArray[np.bool_], generator: np.random.Generator) -> Floats:
    """Normal scores of keys among those inside, in a random order where they are equal; 0 for all others: (n,)."""
    scores = np.zeros(len(keys))
    places = np.flatnonzero(inside)
    order = places[np.lexsort((generator.random(len(places)), keys[places]))]
    scores[order] = ndtri((np.arange(len(order)) + 0.5) / max(1, len(order)))
    return scores


def _as_correlations(table: Floats) -> Floats:
    """The matrix without directions of negative variance, with ones on its diagonal."""
    np.fill_diagonal(table, 1.0)
    widths, directions = np.linalg.eigh(table)
    table = (directions * np.maximum(widths, _NARROWEST)) @ directions.T
    deviations = np.sqrt(np.diag(table))
    correlations: Floats = table / np.outer(deviations, deviations)
    return correlations


def _transport(now: Floats, wanted: Floats) -> Floats:
    """The symmetric map that gives normal numbers of one covariance another, and moves them the least."""
    widths, directions = np.linalg.eigh(now)
    roots = np.sqrt(np.maximum(widths, _NARROWEST))
    root, back = ((directions * own) @ directions.T for own in (roots, 1.0 / roots))
    inner, turned = np.linalg.eigh(root @ wanted @ root)
    transport: Floats = back @ (turned * np.sqrt(np.maximum(inner, 0.0))) @ turned.T @ back
    return transport


def _exchange(values: Integers, sides: Integers, turned: Floats) -> Integers:
    """Names, of which as few as possible change places: rows that now come above the cut take those of others."""
    above = np.zeros(len(values), dtype=bool)
    above[np.argsort(turned)[np.count_nonzero(sides < 0) :]] = True
    entering, leaving = np.flatnonzero(above & (sides < 0)), np.flatnonzero(~above & (sides > 0))
    result = values.copy()
    result[entering], result[leaving] = values[leaving], values[entering]
    return result
