"""Sums of products of variables, each a function of one column, from counts and moments; means and variances."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TypeAlias, final

import numpy as np
from scipy.special import ndtri

from kernelease.arrays import Floats, Integers
from kernelease.estimate.marginal import Marginal, parts_of
from kernelease.estimate.offset_sums import Moments, OffsetSums
from kernelease.measured.offsets import Offsets
from kernelease.measured.views import cell_ranges
from kernelease.table.columns.column import Celled, Column

# --------------------
# How finely to sum a function of a column: some ways, and the one for each cell that makes the interval shortest.


LEVEL = 0.95  # of the interval that is made shortest
MOST = 2.0  # standard errors by which a cell may hold more rows than counted


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What stands for the function on each fine cell, how far off it may be there, and noise beyond that of counts."""

    values: Floats  # (fine cells,)
    slack: Floats  # (fine cells,)
    variances: Floats  # (cells,)


def best_ways(marginal: Marginal, cells: Integers, ways: Sequence[Way]) -> Integers:
    """For each cell, which way to take: (fine cells,) → (cells,). `cells` says which one each fine cell is a part of.

    The first way is the same on all parts of a cell: it has no noise of how rows are spread over these, and the most
    slack. From it on, that change is made, again and again, which shortens the 95 % interval most. A cell is taken to
    hold as many rows as the noise allows: were it taken at its count, one that noise has emptied would be summed so
    that its rows count least.
    """
    size, noise = int(cells.max()) + 1, marginal.variances()
    counts, covariance = marginal.joint([(cells == cell).astype(np.float64) for cell in range(size)])
    rows = np.maximum(counts, 0.0) + MOST * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    variances = [
        np.bincount(cells, noise * (way.values - ways[0].values) ** 2, minlength=size) + way.variances for way in ways
    ]
    bounds = [rows * _largest(way.slack, cells, size) for way in ways]
    base = float(marginal.joint([ways[0].values])[1][0, 0])
    return _greedy(np.array(variances), np.array(bounds), max(0.0, base))


def _largest(slack: Floats, cells: Integers, size: int) -> Floats:
    largest = np.zeros(size)
    np.maximum.at(largest, cells, slack)
    return largest


def _greedy(variances: Floats, bounds: Floats, base: float) -> Integers:
    """The way of each cell, by the variance and the bound of each: (ways, cells), (ways, cells) → (cells,).

    >>> _greedy(np.array([[0.0, 0.0, 0.0], [1.0, 1e6, 1.0]]), np.array([[50.0, 50.0, 0.0], [1.0, 1.0, 0.0]]), 100.0)
    array([1, 0, 0])
    """
    factor, every = float(ndtri(0.5 + LEVEL / 2.0)), np.arange(bounds.shape[1])
    chosen = np.zeros(bounds.shape[1], dtype=np.int64)
    while True:
        variance, bound = base + float(variances[chosen, every].sum()), float(bounds[chosen, every].sum())
        longer = factor * np.sqrt(np.maximum(variance + variances - variances[chosen, every], 0.0))
        change = longer + bounds - bounds[chosen, every] - factor * math.sqrt(variance)
        way, cell = np.unravel_index(int(np.argmin(change)), change.shape)
        if not change[way, cell] < -1e-9 * (factor * math.sqrt(variance) + bound):
            return chosen
        chosen[cell] = way


# --------------------
# Sums of products of variables, each a function of one column, from counts and moments.


Piece: TypeAlias = tuple[Marginal | OffsetSums, Floats]  # sums that were estimated, and a function of their cells


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A function of one column: its middle on each atom, and by how much it may differ from that within the atom.

    The intercept has no column. `centre` was subtracted from the numbers, and is put back into the intercept.
    `number` is the column whose numbers these are.
    """

    name: str
    column: int | None
    middle: Floats  # (atoms,), or (1,)
    half: Floats  # (atoms,), or (1,)
    centre: float = 0.0
    number: Celled | None = None

    def on(self, groups: Integers) -> tuple[Floats, Floats]:
        """Middle and half on the cells of its column, between the extremes of their atoms: (cells,) each."""
        low, high = cell_ranges(self.middle - self.half, groups)[0], cell_ranges(self.middle + self.half, groups)[1]
        return (low + high) / 2, (high - low) / 2


@final
@dataclass(frozen=True, slots=True)
class Product:
    """A sum of products as sums of functions of what was estimated, off by at most `bias`.

    `halves` says of each column how far its numbers may be from those that were multiplied, a root mean square. `blurs`
    are the standard deviations that stand for both, by the column that they come from, where numbers may be anywhere in
    their cells, each cell for itself.
    """

    pieces: tuple[Piece, ...]
    bias: float = 0.0
    halves: dict[int, float] = field(default_factory=dict)
    blurs: dict[int, float] = field(default_factory=dict)

    @property
    def blur(self) -> float:
        """All of them together."""
        return math.hypot(*self.blurs.values())

    @property
    def value(self) -> float:
        """Its estimate."""
        return sum(float(function @ sums.counts) for sums, function in self.pieces)

    def less(self, other: "Product") -> "Product":
        """The difference."""
        taken = tuple((sums, -function) for sums, function in other.pieces)
        every = self.blurs.keys() | other.blurs.keys()
        blurs = {one: math.hypot(self.blurs.get(one, 0.0), other.blurs.get(one, 0.0)) for one in every}
        return Product((*self.pieces, *taken), self.bias + other.bias, self.halves, blurs)


def product(moments: Moments | None, terms: Sequence[Term], marginal: Marginal) -> Product:
    """Σ Π terms over all rows, from the marginal of their columns and the moments, where these are of the same rows.

    With x = m + u, the middle of its cell and the offset from it, Σ x·g = Σ m·g + Σ u·g and
    Σ x·y = Σ m·m′ + Σ u·m′ + Σ m·u′ + Σ u·u′: counts give the first sum, moments the others. Where a cell's offsets
    were not measured, a number is taken at the middle of its cell, and may be off by half of its width. Of a single
    column the finest cells are summed, and only those offsets used that are worth their noise.
    """
    columns = [_Axis.of(moments, place, marginal, terms) for place in range(len(marginal.columns))]
    base = reduce(np.multiply.outer, [axis.values for axis in columns]).ravel()
    pieces: list[Piece] = [(marginal, base)]
    for axis in columns:
        pieces += axis.pieces(next((one for one in columns if one is not axis), None))
    pieces += _both(moments, columns)
    halves = {axis.column: math.sqrt(_mean_square(marginal, place, axis.half)) for place, axis in enumerate(columns)}
    blurs = {axis.column: _blur(marginal, columns, axis) for axis in columns}
    return Product(tuple(pieces), _bias(marginal, columns), halves, blurs)


def covariance_of(sums: Sequence[Sequence[tuple[float, Product]]], sigmas: Sequence[float]) -> Floats:
    """The covariance, by the noise of all blocks, of weighted sums of products: (k, k)."""
    rows = [block_weights(one) for one in sums]
    return np.array(
        [
            [sum(sigmas[p] ** 2 * float(one[p] @ other[p]) for p in one.keys() & other.keys()) for other in rows]
            for one in rows
        ]
    ).reshape(len(rows), len(rows))


def block_weights(wanted: Sequence[tuple[float, Product]]) -> dict[int, Floats]:
    """A weighted sum of products as weights of the noisy numbers of each block."""
    functions: dict[int, Piece] = {}
    for weight, part in wanted:
        for sums, function in part.pieces:
            before = functions.get(id(sums), (sums, np.zeros(sums.size)))[1]
            functions[id(sums)] = sums, before + weight * function
    total: dict[int, Floats] = {}
    for sums, function in functions.values():
        for position, cells in sums.coefficients(function).items():
            total[position] = total[position] + cells if position in total else cells
    return total


def number_term(column: Column, marginal: Marginal) -> Term:
    """A number, less about its mean by the marginal of its column alone, and 0 for NULL."""
    low, high = _atom_ranges(column)
    known = ~np.isnan(low)
    middle, half = np.where(known, (low + high) / 2, 0.0), np.where(known, (high - low) / 2, 0.0)
    cells = np.maximum(1, np.bincount(marginal.groups[0], minlength=marginal.size))  # a forged one may have no atoms
    rows = (marginal.counts / cells)[marginal.groups[0]] * known  # unbiased: a tail has no rows that noise put there
    mean = float(rows @ middle / rows.sum()) if rows.sum() > 0.0 else float(middle[known].mean())
    centre = min(max(mean, float(middle[known].min())), float(middle[known].max()))
    return Term(
        name=column.name,
        column=marginal.columns[0],
        middle=np.where(known, middle - centre, 0.0),
        half=half,
        centre=centre,
        number=column if isinstance(column, Celled) else None,
    )


def _atom_ranges(column: Column) -> tuple[Floats, Floats]:
    """The least and the greatest number of each atom, NaN where it has none: (atoms,) each."""
    if not isinstance(column, Celled):
        return column.centres(), column.centres()
    low, high = (np.append(end.astype(np.float64), [np.nan] * column.nullable) for end in column.bounds())
    return low, high


def present_term(column: Column, term: Term) -> Term | None:
    """1 where a column has a number, if it may have none."""
    missing = np.isnan(column.centres())
    flags = (~missing).astype(np.float64)
    return Term(name="", column=term.column, middle=flags, half=np.zeros_like(flags)) if missing.any() else None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """One column of a product: what it is on each cell, and the offsets of the number in it that are used."""

    column: int
    values: Floats  # (cells,)
    half: Floats  # (cells,): how far the number may be from that, where no offsets say
    slack: Floats  # (cells,): how far it, or its square, may be off in all, where offsets say the rest
    declared: Celled | None = None
    offsets: OffsetSums | None = None
    slopes: Floats | None = None  # (cells of its offsets,): by which they count; None where the other column says that

    @classmethod
    def of(cls, moments: Moments | None, place: int, marginal: Marginal, terms: Sequence[Term]) -> "_Axis":
        column, groups = marginal.columns[place], marginal.groups[place]
        own = [term for term in terms if term.column == column]
        numbers = [term for term in own if term.number is not None]
        told = [term.on(groups) for term in own if term.number is None]
        flags = reduce(np.multiply, [middle for middle, _ in told], np.ones(int(groups.max()) + 1))
        unsure = reduce(np.maximum, [half for _, half in told], np.zeros_like(flags))
        found = _measured(moments, marginal, place, numbers) if numbers and not unsure.any() else None
        if found is not None:
            return cls._alone(marginal, numbers, flags, found) if found.alone else cls._beside(numbers[0], flags, found)
        parts = [term.on(groups) for term in numbers]
        values = reduce(np.multiply, [middle for middle, _ in parts], flags)
        half = reduce(np.maximum, [half for _, half in parts], unsure)
        nothing = np.zeros_like(half)
        if len(numbers) < 2 or moments is None or moments.cells(column) is None:
            return cls(column=column, values=values, half=half, slack=nothing)
        bias = (2.0 * np.abs(parts[0][0]) * half + half**2) * np.abs(flags)
        return cls(column=column, values=values, half=nothing, slack=bias)

    @classmethod
    def _beside(cls, term: Term, flags: Floats, found: "_Measured") -> "_Axis":
        """A number beside another column: at the middles of its cells, off by their halves where these are too wide."""
        own = found.own
        known = ~np.isnan(own.middle)
        slack = np.where(known, np.where(own.told, own.slack, own.half), 0.0) * np.abs(flags)
        return cls(
            column=found.column,
            values=np.where(known, own.middle - term.centre, 0.0) * flags,
            half=np.zeros_like(slack),
            slack=np.nan_to_num(slack),
            declared=term.number,
            offsets=found.sums,
        )

    @classmethod
    def _alone(cls, marginal: Marginal, numbers: Sequence[Term], flags: Floats, found: "_Measured") -> "_Axis":
        """A number, or its square: as fine as is worth the noise in each cell of its offsets, with these or without."""
        ways, slopes = (_first_powers if len(numbers) == 1 else _squares)(numbers[0], marginal.groups[0], found)
        ways = [replace(way, values=way.values * flags, slack=way.slack * np.abs(flags)) for way in ways]
        chosen = best_ways(marginal, found.coarse, ways)
        here = chosen[found.coarse], np.arange(len(flags))
        return cls(
            column=found.column,
            values=np.array([way.values for way in ways])[here],
            half=np.zeros_like(flags),
            slack=np.array([way.slack for way in ways])[here],
            declared=numbers[0].number,
            offsets=found.sums,
            slopes=slopes * (chosen == 1),
        )

    def pieces(self, other: "_Axis | None") -> list[Piece]:
        """Its offsets times what the other column is."""
        if self.offsets is None:
            return []
        if self.slopes is not None:
            return [(self.offsets, self.slopes)] if self.slopes.any() else []
        assert other is not None  # or the slopes would be there
        return [(self.offsets, other.values)]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """The offsets of a column, and which of their cells each cell of a marginal is a part of."""

    column: int
    sums: OffsetSums
    own: Offsets
    coarse: Integers  # (cells of the marginal,)
    alone: bool


def _first_powers(term: Term, groups: Integers, found: _Measured) -> tuple[list[Way], Floats]:
    """Ways to sum a number (middles of wide cells; these and offsets; middles of fine cells), and how offsets count."""
    own, coarse = found.own, found.coarse
    known, nothing = ~np.isnan(own.middle), np.zeros(len(own.middle))
    middle, half = np.where(known, own.middle - term.centre, 0.0)[coarse], np.nan_to_num(own.half)[coarse]
    values, slack = (np.where(known[coarse], part, 0.0) for part in term.on(groups))
    ways = [
        Way(values=middle, slack=half, variances=nothing),
        Way(values=middle, slack=np.where(half > 0.0, own.slack, 0.0), variances=found.sums.variances),
        Way(values=values, slack=slack, variances=nothing),
    ]
    return ways, np.ones_like(nothing)


def _squares(term: Term, groups: Integers, found: _Measured) -> tuple[list[Way], Floats]:
    """The same for its square. With m the middle of a wide cell and u the offset from it, x² = m² + 2m·u + u².

    Fine cells of half width w about x′ say u² up to 2·|x′ − m|·w + w², and without offsets x² up to 2·|x′|·w + w².
    """
    own, coarse = found.own, found.coarse
    known, nothing = ~np.isnan(own.middle)[coarse], np.zeros(len(own.middle))
    centred, half = np.nan_to_num(own.middle - term.centre), np.nan_to_num(own.half)
    ends = (centred - half) ** 2, (centred + half) ** 2
    least = np.where(np.abs(centred) <= half, 0.0, np.minimum(*ends))
    most, about = np.maximum(*ends), centred[coarse]
    values, width = (np.where(known, part, 0.0) for part in term.on(groups))
    inside, even = np.where(known, values - about, 0.0), width**2 / 3.0
    told = 2.0 * (np.abs(inside) * width + even + np.abs(about) * np.where(half[coarse] > 0.0, own.slack, 0.0))
    fine = values**2 + even, 2.0 * (np.abs(values) * width + even)
    ways = [
        Way(
            values=(0.5 * (least + most))[coarse] * known,
            slack=(0.5 * (most - least))[coarse] * known,
            variances=nothing,
        ),
        Way(
            values=about**2 * known + inside**2 + even,
            slack=told,
            variances=(2.0 * centred) ** 2 * found.sums.variances,
        ),
        Way(values=fine[0], slack=fine[1], variances=nothing),
    ]
    return ways, 2.0 * centred


def _measured(moments: Moments | None, marginal: Marginal, place: int, numbers: Sequence[Term]) -> _Measured | None:
    """The offsets of a number: alone, with cells that are parts of theirs; or beside another column, in their cells."""
    column, groups, number = marginal.columns[place], marginal.groups[place], numbers[0].number
    cells = None if moments is None else moments.cells(column)
    if moments is None or cells is None or number is None or len(marginal.columns) > 2:
        return None
    alone = len(marginal.columns) == 1
    if not alone and (len(numbers) > 1 or not np.array_equal(groups, cells)):
        return None
    found = moments.alone(column, number) if alone else moments.beside(column, number, marginal.columns[1 - place])
    coarse = parts_of(groups, cells)
    if found is None or coarse is None:
        return None
    return _Measured(column=column, sums=found[0], own=found[1], coarse=coarse, alone=alone)


def _both(moments: Moments | None, columns: Sequence[_Axis]) -> list[Piece]:
    """The products of two columns' offsets."""
    if len(columns) != 2 or moments is None:
        return []
    (one, first), (other, second) = ((axis.column, axis.declared) for axis in columns)
    if first is None or second is None:
        return []
    found = moments.product(one, first, other, second)
    return [] if found is None else [(found, np.ones(1))]


def _mean_square(marginal: Marginal, place: int, values: Floats) -> float:
    axis = [-1 if other == place else 1 for other in range(len(marginal.shape))]
    return float(marginal.shares @ np.broadcast_to((values**2).reshape(axis), marginal.shape).ravel())


def _blur(marginal: Marginal, columns: Sequence[_Axis], own: _Axis) -> float:
    """The standard deviation of the sum, where one column's numbers lie anywhere in the slack and half of each cell.

    A cell has as many rows as were counted, or as noise leaves open.
    """
    parts = [axis.half + axis.slack if axis is own else np.abs(axis.values) + axis.half for axis in columns]
    if not (own.half + own.slack).any():
        return 0.0
    rows = np.maximum(marginal.counts, 0.0) ** 2 + marginal.variances()
    return math.sqrt(float(rows @ reduce(np.multiply.outer, parts).ravel() ** 2) / 3.0)


def _bias(marginal: Marginal, columns: Sequence[_Axis]) -> float:
    """By how much the sum may be off: the rows of each column's cells times their slack and what the others are.

    Rows are estimated without bias; a cell of which that says less than none has none. Of a single column, whose cells
    are fine, all are added up before.
    """
    counts, found = marginal.counts.reshape(marginal.shape), 0.0
    for place, axis in enumerate(columns):
        others = [np.abs(one.values) + one.slack for one in columns if one is not axis]
        rest = np.moveaxis(counts, place, 0).reshape(len(axis.slack), -1)
        rows = rest @ reduce(np.multiply.outer, others, np.ones(())).ravel()
        found += float(axis.slack @ np.maximum(rows, 0.0)) if others else abs(float(axis.slack @ rows))
    return found


# --------------------
# The mean and the variance of a number, from the same sums.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Linearised:
    """A function of sums near what they are: its value, and its slope by each of them. It is off by at most `bias`.

    `blur` is the standard deviation that stands for that.
    """

    value: float
    sums: tuple[Product, ...]
    gradient: Floats  # (sums,)
    bias: float
    blur: float
    within: tuple[float, float]  # all that is possible

    def noise(self, sigmas: Sequence[float]) -> float:
        """The standard deviation of the value by the noise of all blocks."""
        covariance = covariance_of([[(1.0, one)] for one in self.sums], sigmas)
        return math.sqrt(max(0.0, float(self.gradient @ covariance @ self.gradient)))


def mean_and_variance(
    column: Column, term: Term, marginal: Marginal, moments: Moments | None
) -> tuple[Linearised, Linearised]:
    """E[x] and E[x²] − E[x]² over the rows that have a number: how many these are, Σ x and Σ x² say both.

    A number that may be off by u, a root mean square, moves the mean and the standard deviation by at most u.
    """
    assert term.column is not None  # numbers are of a column
    known = present_term(column, term)
    flags = [] if known is None else [known]
    powers: tuple[list[Term], ...] = ([], [term], [term, term])
    sums = tuple(product(moments, [*numbers, *flags], marginal) for numbers in powers)
    rows, first, second = (one.value for one in sums)
    rows = max(rows, 1.0)
    mean = first / rows
    variance = max(0.0, second / rows - mean**2)
    away, off = sums[1].bias / rows, sums[2].halves.get(term.column, 0.0)
    low, high = float((term.middle - term.half).min()), float((term.middle + term.half).max())
    spread = sums[2].bias / rows + (2.0 * abs(mean) + away) * away + (2.0 * math.sqrt(variance) + off) * off
    blurs = np.array([one.blur for one in sums]) / rows
    return Linearised(
        value=term.centre + mean,
        sums=sums,
        gradient=np.array([-mean, 1.0, 0.0]) / rows,
        bias=away + off,
        blur=float(blurs[1]),
        within=(term.centre + low, term.centre + high),
    ), Linearised(
        value=variance,
        sums=sums,
        gradient=np.array([2.0 * mean**2 - second / rows, -2.0 * mean, 1.0]) / rows,
        bias=spread,
        blur=math.hypot(float(blurs[2]), 2.0 * mean * float(blurs[1])),
        within=(0.0, (high - low) ** 2 / 4.0),
    )
