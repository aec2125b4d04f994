"""Sums of products of variables, each a function of one column, from counts and moments."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TypeAlias, final

import numpy as np

from kernelease.analysis.estimate import Source, Weights
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.marginal import Marginal
from kernelease.analysis.offset_sums import OffsetSums
from kernelease.analysis.representatives import Way, best_ways, cell_ranges, parts_of
from kernelease.arrays import Floats, Integers
from kernelease.measured.offsets import Offsets
from kernelease.table.columns.celled import Celled
from kernelease.table.columns.column import Column

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

    `halves` says of each column how far its numbers may be from those that were multiplied, a root mean square, and
    `loose` how far that may put the sum itself. `shares` parts the bias by the column that it comes from.
    """

    pieces: tuple[Piece, ...]
    bias: float = 0.0
    halves: dict[int, float] = field(default_factory=dict)
    loose: float = 0.0
    shares: dict[int, float] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """Its estimate."""
        return sum(float(function @ sums.counts) for sums, function in self.pieces)

    def less(self, other: "Product") -> "Product":
        """The difference; how far the smaller sum may be off becomes a bias of it."""
        taken = tuple((sums, -function) for sums, function in other.pieces)
        bias = self.bias + other.bias + other.loose
        return Product((*self.pieces, *taken), bias, self.halves, self.loose, self.shares)


def product(evidence: Evidence, terms: Sequence[Term], marginal: Marginal) -> Product:
    """Σ Π terms over all rows, from the marginal of their columns.

    With x = m + u, the middle of its cell and the offset from it, Σ x·g = Σ m·g + Σ u·g and
    Σ x·y = Σ m·m′ + Σ u·m′ + Σ m·u′ + Σ u·u′: counts give the first sum, moments the others. Where a cell's offsets
    were not measured, a number is taken at the middle of its cell, and may be off by half of its width. Of a single
    column the finest cells are summed, and only those offsets used that are worth their noise.
    """
    columns = [_Axis.of(evidence, place, marginal, terms) for place in range(len(marginal.columns))]
    base = reduce(np.multiply.outer, [axis.values for axis in columns]).ravel()
    pieces: list[Piece] = [(marginal, base)]
    for axis in columns:
        pieces += axis.pieces(next((one for one in columns if one is not axis), None))
    pieces += _both(evidence, columns)
    halves = {axis.column: math.sqrt(_mean_square(marginal, place, axis.half)) for place, axis in enumerate(columns)}
    shares = _biases(marginal, columns)
    return Product(tuple(pieces), sum(shares.values()), halves, _loose(marginal, columns), shares)


def covariance_of(sums: Sequence[Sequence[tuple[float, Product]]], sigmas: Sequence[float]) -> Floats:
    """The covariance, by the noise of all blocks, of weighted sums of products: (k, k)."""
    rows = [_weights(one) for one in sums]
    return np.array(
        [
            [sum(sigmas[p] ** 2 * float(one[p] @ other[p]) for p in one.keys() & other.keys()) for other in rows]
            for one in rows
        ]
    ).reshape(len(rows), len(rows))


def _weights(wanted: Sequence[tuple[float, Product]]) -> dict[int, Floats]:
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


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProductSource(Source):
    """The error of Σ weight·product by noise: what a coefficient or a correlation is to first order."""

    evidence: Evidence
    terms: tuple[tuple[float, Product], ...]

    @property
    def laplace(self) -> bool:
        return any(sums.laplace for _, part in self.terms for sums, _ in part.pieces)

    def functions(self) -> Sequence[tuple[object, Floats]]:
        return [(sums, scale * function) for scale, part in self.terms for sums, function in part.pieces]

    def weights(self) -> Weights:
        tabulated = self.evidence.tabulated
        assert tabulated is not None  # the sums came from it
        release = self.evidence.fingerprint
        return {
            (release, position): tabulated.sigmas[position] * weight
            for position, weight in _weights(self.terms).items()
        }


def number_term(evidence: Evidence, column: Column) -> Term:
    """A number, less about its mean, and 0 for NULL."""
    index = evidence.schema.names.index(column.name)
    low, high = _atom_ranges(column)
    known = ~np.isnan(low)
    middle, half = np.where(known, (low + high) / 2, 0.0), np.where(known, (high - low) / 2, 0.0)
    measured = evidence.marginals((index,))
    if not measured:
        raise evidence.not_together((index,), column.name, "Ask about all rows, or about fewer columns.")
    marginal = measured[0]
    cells = np.maximum(1, np.bincount(marginal.groups[0], minlength=marginal.size))  # a forged one may have no atoms
    rows = (marginal.counts / cells)[marginal.groups[0]] * known  # unbiased: a tail has no rows that noise put there
    mean = float(rows @ middle / rows.sum()) if rows.sum() > 0.0 else float(middle[known].mean())
    centre = min(max(mean, float(middle[known].min())), float(middle[known].max()))
    return Term(
        name=column.name,
        column=index,
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


def present_term(evidence: Evidence, term: Term) -> Term | None:
    """1 where a column has a number, if it may have none."""
    assert term.column is not None  # numbers are of a column
    missing = np.isnan(evidence.schema.columns[term.column].centres())
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
    def of(cls, evidence: Evidence, place: int, marginal: Marginal, terms: Sequence[Term]) -> "_Axis":
        column, groups = marginal.columns[place], marginal.groups[place]
        own = [term for term in terms if term.column == column]
        numbers = [term for term in own if term.number is not None]
        told = [term.on(groups) for term in own if term.number is None]
        flags = reduce(np.multiply, [middle for middle, _ in told], np.ones(int(groups.max()) + 1))
        unsure = reduce(np.maximum, [half for _, half in told], np.zeros_like(flags))
        found = _measured(evidence, marginal, place, numbers) if numbers and not unsure.any() else None
        if found is not None:
            return cls._alone(marginal, numbers, flags, found) if found.alone else cls._beside(numbers[0], flags, found)
        parts = [term.on(groups) for term in numbers]
        values = reduce(np.multiply, [middle for middle, _ in parts], flags)
        half = reduce(np.maximum, [half for _, half in parts], unsure)
        nothing = np.zeros_like(half)
        if len(numbers) < 2 or evidence.moments is None or evidence.moments.cells(column) is None:
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


def _measured(evidence: Evidence, marginal: Marginal, place: int, numbers: Sequence[Term]) -> _Measured | None:
    """The offsets of a number: alone, with cells that are parts of theirs; or beside another column, in their cells."""
    moments, column, groups, number = (
        evidence.moments,
        marginal.columns[place],
        marginal.groups[place],
        numbers[0].number,
    )
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


def _both(evidence: Evidence, columns: Sequence[_Axis]) -> list[Piece]:
    """The products of two columns' offsets."""
    if len(columns) != 2 or evidence.moments is None:
        return []
    (one, first), (other, second) = ((axis.column, axis.declared) for axis in columns)
    if first is None or second is None:
        return []
    found = evidence.moments.product(one, first, other, second)
    return [] if found is None else [(found, np.ones(1))]


def _mean_square(marginal: Marginal, place: int, values: Floats) -> float:
    axis = [-1 if other == place else 1 for other in range(len(marginal.shape))]
    return float(marginal.shares @ np.broadcast_to((values**2).reshape(axis), marginal.shape).ravel())


def _loose(marginal: Marginal, columns: Sequence[_Axis]) -> float:
    """By how much the product may be off in all where each column is off by its half."""
    far = reduce(np.multiply.outer, [np.abs(axis.values) + axis.half for axis in columns])
    near = reduce(np.multiply.outer, [np.abs(axis.values) for axis in columns])
    rows = marginal.total or max(1.0, float(marginal.counts.sum()))
    return rows * float(marginal.shares @ (far - near).ravel())


def _biases(marginal: Marginal, columns: Sequence[_Axis]) -> dict[int, float]:
    """By how much each column may put the sum off: the rows of its cells times their slack and what the others are.

    Rows are estimated without bias; a cell of which that says less than none has none. Of a single column, whose cells
    are fine, all are added up before.
    """
    counts, found = marginal.counts.reshape(marginal.shape), {}
    for place, axis in enumerate(columns):
        others = [np.abs(one.values) + one.slack for one in columns if one is not axis]
        rest = np.moveaxis(counts, place, 0).reshape(len(axis.slack), -1)
        rows = rest @ reduce(np.multiply.outer, others, np.ones(())).ravel()
        found[axis.column] = float(axis.slack @ np.maximum(rows, 0.0)) if others else abs(float(axis.slack @ rows))
    return found
