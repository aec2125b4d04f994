"""Sums over rows of a release, from its counts and moments: of offsets within cells, and of products of variables.

Means and variances follow from these.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TypeAlias, final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.estimate.marginal import Equations, Marginal, Way, best_ways, equations, parts_of
from kernelease.measured.blocks import Block, NoisyBlock, NoisyBlocks
from kernelease.measured.offsets import Ends, Offsets, measured_width, offsets
from kernelease.measured.views import Precision, cell_ranges
from kernelease.privacy.accounting import Law
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Column

# --------------------
# Sums of offsets within cells, as all moments of a column estimate them.


_KNOWN = 1e-3  # of the largest unit: offsets in a cell of one value are 0, to so many times less than in the widest


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetView:
    """What one moment says: `index[c]` is the sum that cell c is in, `spread[b]` the sum of its own cell b.

    Nothing is known of a sum that not both have in full: its precision is 0.
    """

    position: int  # of the moment, after all blocks of counts
    index: Integers  # (cells,)
    spread: Integers  # (cells of the moment,)
    scale: Floats  # (cells of the moment,): the column's unit for a whole row
    values: Floats  # (sums,), in the column's unit
    precision: Floats  # (sums,), 1/variance

    @classmethod
    def of(cls, moment: "_Moment", index: Integers, spread: Integers, scale: Floats) -> "OffsetView":
        """The sums of a moment's cells, `scale` times each."""
        known, count = np.where(scale > 0.0, scale, _KNOWN * float(scale.max())), 1 + max(index.max(), spread.max())
        values: Floats = np.bincount(spread, scale * moment.values.ravel(), minlength=count).astype(np.float64)
        variance = np.bincount(spread, (known * moment.sigma) ** 2, minlength=count)
        shared = [np.bincount(part, minlength=count) > 0 for part in (index, spread)]
        precision = np.divide(1.0, variance, out=np.zeros(count), where=shared[0] & shared[1])
        return cls(
            position=moment.position, index=index, spread=spread, scale=scale, values=values, precision=precision
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    """A noisy moment as plain numbers, with its position after all blocks of counts."""

    position: int
    block: Block
    values: Floats
    sigma: float
    laplace: bool  # Laplace noise

    @classmethod
    def of(cls, position: int, noisy: NoisyBlock) -> "_Moment":
        """Read a released moment, once."""
        laplace = noisy.measurement.step.law is Law.LAPLACE
        return cls(position=position, block=noisy.block, values=noisy.values, sigma=noisy.sigma, laplace=laplace)


@final
class OffsetSums:
    """Σ (x − middle of its cell) over the rows of each cell: estimates of least variance, with their covariance.

    With u the exact sums (cells,), each view says y_v = G_v u + noise of variance 1/P_v, so that h·u has the estimate
    λ·Σ_v G_vᵀP_v y_v with M λ = h, M = Σ_v G_vᵀ P_v G_v, and two of them the covariance λ_h·k.
    """

    def __init__(self, size: int, views: Sequence[OffsetView], *, laplace: bool) -> None:
        self.size = size
        self.views = tuple(views)
        self.laplace = laplace

    def joint(self, functions: Sequence[Floats]) -> tuple[Floats, Floats]:
        """The estimates of several functions' sums, and their covariance: (k,), (k, k)."""
        solved = [self._solve(function) for function in functions]
        values = np.array([float(weight @ self._by_precision) for weight in solved])
        covariance = np.array([[float(weight @ other) for other in functions] for weight in solved])
        return values, 0.5 * (covariance + covariance.T)

    @cached_property
    def counts(self) -> Floats:
        """The estimate of every sum: (cells,)."""
        return self._solve(self._by_precision)

    @cached_property
    def variances(self) -> Floats:
        """Of the estimate of every sum: (cells,)."""
        return np.asarray(np.diag(self._solve(np.eye(self.size))))

    def coefficients(self, function: Floats) -> dict[int, Floats]:
        """The estimate of a function as a weighted sum of noisy numbers: weights for the cells of each moment."""
        weight = self._solve(function)
        found = {}
        for view in self.views:
            summed = np.bincount(view.index, weight, minlength=len(view.values)) * view.precision
            found[view.position] = summed[view.spread] * view.scale
        return found

    @cached_property
    def _by_precision(self) -> Floats:
        total = np.zeros(self.size)
        for view in self.views:
            total += (view.precision * view.values)[view.index]
        return total

    @cached_property
    def _equations(self) -> Equations:
        return equations(self.size, [Precision(index=view.index, weights=view.precision) for view in self.views])

    def _solve(self, function: Floats) -> Floats:
        """M⁻¹ of a function, (cells,), or of several side by side, (cells, k)."""
        return self._equations.solve(function.reshape(self.size, -1)).reshape(function.shape)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetPart:
    """What offsets add to a sum of numbers, function·sums: its estimate, the variances of its noise and of sampling."""

    sums: OffsetSums
    function: Floats  # (cells,)
    value: float
    variance: float
    sampling: float

    @classmethod
    def of(cls, sums: OffsetSums, function: Floats, sampling: float) -> "OffsetPart":
        """The sum of a function of the cells."""
        values, covariance = sums.joint([function])
        variance = max(0.0, float(covariance[0, 0]))
        return cls(sums=sums, function=function, value=float(values[0]), variance=variance, sampling=sampling)


@final
class Moments:
    """All moments of a release, by the columns whose offsets they sum."""

    def __init__(self, moments: Sequence[NoisyBlock], first: int) -> None:
        self._numbered = tuple(map(_Moment.of, itertools.count(first), moments))
        self._ends: dict[int, Ends] = {}  # of each column that was asked about
        self._found: dict[tuple[int, ...], tuple[OffsetSums, Offsets] | None] = {}  # so that each is made once
        self._cells = {
            noisy.block.columns[0]: noisy.block.groups[0] for noisy in moments if len(noisy.block.columns) == 1
        }

    def cells(self, column: int) -> Integers | None:
        """The cells about whose middles a column's offsets are measured: (atoms,); None where none are."""
        return self._cells.get(column)

    def alone(self, column: int, declared: Celled) -> tuple[OffsetSums, Offsets] | None:
        """The offsets of a column in each of its cells."""
        return self._measured_sums(column, declared, None)

    def beside(self, column: int, declared: Celled, other: int) -> tuple[OffsetSums, Offsets] | None:
        """The offsets of a column in each cell of another one; None where that was not measured."""
        return self._measured_sums(column, declared, other)

    def product(self, one: int, first: Celled, other: int, second: Celled) -> OffsetSums | None:
        """The sum of the products of two columns' offsets."""
        for moment in self._numbered:
            block = moment.block
            if block.ramp_count == 2 and block.columns == (one, other):
                scale = np.array(
                    [self._beside(one, first, block, 0).widest * self._beside(other, second, block, 1).widest]
                )
                only = np.zeros(1, dtype=np.int64)
                view = OffsetView.of(moment, only, only, scale)
                return OffsetSums(1, [view], laplace=moment.laplace)
        return None

    def _measured_sums(self, column: int, declared: Celled, other: int | None) -> tuple[OffsetSums, Offsets] | None:
        key = (column,) if other is None else (column, other)
        if key not in self._found:
            self._found[key] = self._sums(column, declared, other)
        return self._found[key]

    def _beside(self, column: int, declared: Celled, block: Block, axis: int) -> Offsets:
        """The offsets that a block sums over all cells of a column, but those that it leaves out."""
        ramp, cells, ends = block.ramps[axis], self._cells[column], self._ends_of(column, declared)
        assert ramp is not None  # it is weighted
        bits, narrow = ramp.limit.bit_length() - 1, measured_width(ends, cells, ramp)
        own = offsets(ends, cells, apart=False, bits=bits, narrow=narrow)
        assert own is not None  # or it would not have been measured
        return own

    def _ends_of(self, column: int, declared: Celled) -> Ends:
        if column not in self._ends:
            self._ends[column] = Ends.of(declared)
        return self._ends[column]

    def _sums(self, column: int, declared: Celled, other: int | None) -> tuple[OffsetSums, Offsets] | None:
        cells = self.cells(column)
        own = None if cells is None else offsets(self._ends_of(column, declared), cells, apart=True)
        if cells is None or own is None:
            return None
        about = [one for one in self._numbered if one.block.columns[0] == column and one.block.ramp_count == 1]
        pairs = [one.block for one in about if len(one.block.columns) == 2]
        held = [block for block in pairs if block.columns[1] == other]
        if other is not None and not held:
            return None
        over = self._beside(column, declared, pairs[0], 0) if pairs else own
        size = len(own.middle) if other is None else int(held[0].groups[1].max()) + 1
        left_out = (~over.told_cells).astype(np.int64)
        views = [_view(one, own, over, left_out, other, size) for one in about]
        sums = OffsetSums(size, views, laplace=any(one.laplace for one in about))
        return sums, own if other is None else over


def _view(moment: _Moment, own: Offsets, over: Offsets, left_out: Integers, other: int | None, size: int) -> OffsetView:
    """Of the sums over a column's cells (`other` is None), or over those that are told, in each cell of the other."""
    block = moment.block
    alone = len(block.columns) == 1
    scale = np.nan_to_num(own.half) if alone else np.full(block.cells, over.widest)
    if alone if other is None else block.columns[1:] == (other,):
        return OffsetView.of(moment, np.arange(size), np.arange(block.cells), scale)
    index = left_out if other is None else np.zeros(size, dtype=np.int64)
    spread = left_out if alone else np.zeros(block.cells, dtype=np.int64)
    return OffsetView.of(moment, index, spread, scale)


def moments_of(noisy: NoisyBlocks) -> Moments:
    """The moments of a release, read once."""
    return noisy.once(_moments)


def _moments(noisy: NoisyBlocks) -> Moments:
    return Moments(noisy.offsets, len(noisy.without_details.blocks))


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
        low, high = cell_ranges(self.middle - self.half, self.middle + self.half, groups)
        return (low + high) / 2, (high - low) / 2


@final
@dataclass(frozen=True, slots=True)
class Product:
    """A sum of products as sums of functions of what was estimated, off by at most `bias`.

    `halves` says of each column how far its numbers may be from those that were multiplied, a root mean square. `blurs`
    are the standard deviations that stand for both, by the column that they come from, where numbers may be anywhere in
    their cells, each cell for itself. `left_out` are parts that were not summed, since noise hides them, each with a
    matrix of the second moments of the cells' sums.
    """

    pieces: tuple[Piece, ...]
    bias: float = 0.0
    halves: dict[int, float] = field(default_factory=dict)
    blurs: dict[int, float] = field(default_factory=dict)
    left_out: tuple[tuple[Piece, Floats], ...] = ()

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


def product(
    moments: Moments | None, terms: Sequence[Term], marginal: Marginal, *, tailed: int | None = None
) -> Product:
    """Σ Π terms over all rows, from the marginal of their columns and the moments, where these are of the same rows.

    With x = m + u, the middle of its cell and the offset from it, Σ x·g = Σ m·g + Σ u·g and
    Σ x·y = Σ m·m′ + Σ u·m′ + Σ m·u′ + Σ u·u′: counts give the first sum, moments the others. Where a cell's offsets
    were not measured, a number is taken at the middle of its cell, and may be off by half of its width. Of a single
    column the finest cells are summed, and only those offsets used that are worth their noise. A column that is
    `tailed` has few rows in its widest cells.
    """
    columns = [_Axis.of(moments, place, marginal, terms) for place in range(len(marginal.columns))]
    base = reduce(np.multiply.outer, [axis.values for axis in columns]).ravel()
    pieces: list[Piece] = [(marginal, base)]
    for axis in columns:
        pieces += axis.pieces(next((one for one in columns if one is not axis), None))
    pieces += _both(moments, columns)
    halves = {axis.column: math.sqrt(_mean_square(marginal, place, axis.half)) for place, axis in enumerate(columns)}
    blurs = {axis.column: _blur(marginal, columns, axis, few=axis.column == tailed) for axis in columns}
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


def left_out_variance(wanted: Sequence[tuple[float, Product]]) -> float:
    """The variance of a weighted sum of products by what was left out of them: of the same sums, together."""
    found: dict[int, tuple[Floats, Floats]] = {}
    for weight, part in wanted:
        for (sums, function), moments in part.left_out:
            before = found.get(id(sums), (np.zeros(sums.size), moments))[0]
            found[id(sums)] = before + weight * function, moments
    return sum(max(0.0, float(function @ moments @ function)) for function, moments in found.values())


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
        found = _offsets_of(moments, marginal, place, numbers) if numbers and not unsure.any() else None
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
        slack = np.where(known, np.where(own.told_cells, own.slack, own.half), 0.0) * np.abs(flags)
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


def _offsets_of(moments: Moments | None, marginal: Marginal, place: int, numbers: Sequence[Term]) -> _Measured | None:
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


def _blur(marginal: Marginal, columns: Sequence[_Axis], own: _Axis, *, few: bool) -> float:
    """The standard deviation of the sum, where one column's numbers lie anywhere in the slack and half of each cell.

    A cell has as many rows as were counted, or as noise leaves open. Where they are `few`, noise leaves fewer open in a
    column's cell as a whole than in its parts beside another column: no more than if all were at one place of that.
    """
    doubt = own.half + own.slack
    if not doubt.any():
        return 0.0
    parts = [doubt if axis is own else np.abs(axis.values) + axis.half for axis in columns]
    rows = np.maximum(marginal.counts, 0.0) ** 2 + marginal.variances()
    found = float(rows @ reduce(np.multiply.outer, parts).ravel() ** 2)
    if few and len(columns) == 2:
        place = next(place for place, axis in enumerate(columns) if axis is own)
        shares = marginal.shares.reshape(marginal.shape).sum(axis=place)
        square = float(one_place(shares) @ parts[1 - place] ** 2)
        found = min(found, square * float(squared_rows_along(marginal, place) @ doubt**2))
    return math.sqrt(found / 3.0)


def one_place(shares: Floats) -> Floats:
    """How likely few rows are all in each cell: half as all rows, half even, since what is rare may be common there."""
    return np.asarray(0.5 * (shares + 1.0 / len(shares)))


def squared_rows_along(marginal: Marginal, place: int) -> Floats:
    """n² of each cell of one column of a marginal, no less than noise leaves open: (cells of the column,)."""
    lines = np.moveaxis(np.zeros((marginal.shape[place], *marginal.shape)), 1 + place, 1)
    lines[np.arange(len(lines)), np.arange(len(lines))] = 1.0
    counts, noise = marginal.joint(list(np.moveaxis(lines, 1, 1 + place).reshape(len(lines), -1)))
    return np.asarray(np.maximum(counts, 0.0) ** 2 + np.diag(noise))


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
        return noises([self], sigmas)[0]


def noises(estimates: Sequence[Linearised], sigmas: Sequence[float]) -> list[float]:
    """The standard deviation of each value by the noise of all blocks, of functions of the same sums."""
    covariance = covariance_of([[(1.0, one)] for one in estimates[0].sums], sigmas)
    return [math.sqrt(max(0.0, float(one.gradient @ covariance @ one.gradient))) for one in estimates]


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
