"""Sums of products of variables, each a function of one column, from counts and moments."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias, final

import numpy as np
import pyarrow as pa

from kernelease.analysis.estimands import numbers_of
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.marginal import Marginal
from kernelease.analysis.offset_sums import OffsetSums
from kernelease.analysis.representatives import cell_ranges, representatives
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
    `loose` how far that may put the sum itself.
    """

    pieces: tuple[Piece, ...]
    bias: float = 0.0
    halves: dict[int, float] = field(default_factory=dict)
    loose: float = 0.0

    @property
    def value(self) -> float:
        """Its estimate."""
        return sum(float(function @ sums.counts) for sums, function in self.pieces)

    def less(self, other: "Product") -> "Product":
        """The difference; how far the smaller sum may be off becomes a bias of it."""
        taken = tuple((sums, -function) for sums, function in other.pieces)
        return Product((*self.pieces, *taken), self.bias + other.bias + other.loose, self.halves, self.loose)


def product(evidence: Evidence, terms: Sequence[Term], marginal: Marginal) -> Product:
    """Σ Π terms over all rows, from the marginal of their columns.

    With x = m + u, the middle of its cell and the offset from it, Σ x·g = Σ m·g + Σ u·g and
    Σ x·y = Σ m·m′ + Σ u·m′ + Σ m·u′ + Σ u·u′: counts give the first sum, moments the others. A column without moments
    is taken at the middle of its cells, and may be off by half of their width. A number of which the square is asked
    for is summed over its finest cells.
    """
    columns = [_Axis.of(evidence, place, marginal, terms) for place in range(len(marginal.columns))]
    base = reduce(np.multiply.outer, [axis.values for axis in columns]).ravel()
    pieces: list[Piece] = [(marginal, base)]
    for axis in columns:
        other = next((one for one in columns if one is not axis), None)
        pieces += axis.pieces(evidence, other)
    pieces += _both(evidence, columns)
    halves = {axis.column: math.sqrt(_mean_square(marginal, place, axis.half)) for place, axis in enumerate(columns)}
    bias = sum(_bias(marginal, columns, axis) for axis in columns)
    return Product(tuple(pieces), bias, halves, _loose(marginal, columns))


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


def number_term(evidence: Evidence, column: Column) -> Term:
    """A number, less about its mean, and 0 for NULL."""
    index, points = evidence.schema.names.index(column.name), representatives(column)
    numbers = numbers_of(column, pa.table({column.name: points.values}))
    low, high = cell_ranges(numbers, points.atoms)
    known = ~np.isnan(low)
    middle, half = np.where(known, (low + high) / 2, 0.0), np.where(known, (high - low) / 2, 0.0)
    marginal = evidence.marginals((index,))[0]
    cells = np.bincount(marginal.groups[0], minlength=marginal.size)
    shares = (marginal.shares / cells)[marginal.groups[0]] * known
    centre = float(shares @ middle / shares.sum()) if shares.sum() > 0.0 else float(middle[known].mean())
    return Term(
        name=column.name,
        column=index,
        middle=np.where(known, middle - centre, 0.0),
        half=half,
        centre=centre,
        number=column if isinstance(column, Celled) else None,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """One column of a product: what it is on each cell, and the number in it whose offsets are measured."""

    column: int
    values: Floats  # (cells,)
    half: Floats  # (cells,)
    declared: Celled | None = None
    slopes: Floats | None = None  # (cells of its moments,): by which its offsets count, where it stands squared
    slack: Floats | None = None  # (cells,): the bias of a square

    @classmethod
    def of(cls, evidence: Evidence, place: int, marginal: Marginal, terms: Sequence[Term]) -> "_Axis":
        column, groups = marginal.columns[place], marginal.groups[place]
        own = [term for term in terms if term.column == column]
        numbers = [term for term in own if term.number is not None]
        found = _offsets(evidence, numbers[0], groups, len(marginal.columns)) if numbers else None
        told = [term.on(groups) for term in own if term.number is None]
        flags = reduce(np.multiply, [middle for middle, _ in told], np.ones(int(groups.max()) + 1))
        unsure = reduce(np.maximum, [half for _, half in told], np.zeros_like(flags))
        if found is not None and (len(numbers) == 1 or len(marginal.columns) == 1) and not unsure.any():
            return cls._about(numbers, groups, flags, *found)
        parts = [term.on(groups) for term in numbers]
        values = reduce(np.multiply, [middle for middle, _ in parts], flags)
        half = reduce(np.maximum, [half for _, half in parts], unsure)
        if found is None or len(numbers) < 2:
            return cls(column=column, values=values, half=half)
        bias = (2.0 * np.abs(parts[0][0]) * half + half**2) * np.abs(flags)
        return cls(column=column, values=values, half=np.zeros_like(half), slack=bias)

    @classmethod
    def _about(cls, numbers: Sequence[Term], groups: Integers, flags: Floats, own: Offsets, cells: Integers) -> "_Axis":
        """A number, or its square, about the middles of the cells of its moments."""
        term, column = numbers[0], numbers[0].column
        assert column is not None  # numbers are of a column
        centred = np.where(np.isnan(own.middle), 0.0, own.middle - term.centre)
        coarse = np.zeros(int(groups.max()) + 1, dtype=np.int64)
        coarse[groups] = cells
        known, half = ~np.isnan(own.middle)[coarse], np.full(len(coarse), own.slack)
        if len(numbers) == 1:
            return cls(column=column, values=centred[coarse] * flags, half=half * known, declared=term.number)
        middle, within = term.on(groups)
        inside = np.where(known, middle - centred[coarse], 0.0)
        width = np.where(known, within, 0.0)
        square = centred[coarse] ** 2 + inside**2 + width**2 / 3.0
        bias = 2.0 * np.abs(inside) * width + width**2 / 3.0 + 2.0 * np.abs(centred[coarse]) * own.slack
        return cls(
            column=column,
            values=square * flags,
            half=half * known,
            declared=term.number,
            slopes=2.0 * centred,
            slack=bias,
        )

    def pieces(self, evidence: Evidence, other: "_Axis | None") -> list[Piece]:
        """Its offsets times what the other column is."""
        moments = evidence.moments
        if self.declared is None or moments is None:
            return []
        if other is None:
            found = moments.alone(self.column, self.declared)
            assert found is not None  # or they would not be its offsets
            return [(found[0], np.ones(found[0].size) if self.slopes is None else self.slopes)]
        beside = moments.beside(self.column, self.declared, other.column)
        assert beside is not None  # every pair that is aligned has one
        return [(beside[0], other.values)]


def _offsets(evidence: Evidence, term: Term, groups: Integers, columns: int) -> tuple[Offsets, Integers] | None:
    """The offsets of a term's numbers and their cells, where these are the marginal's, or made of a single column's."""
    moments = evidence.moments
    if moments is None or term.column is None or term.number is None:
        return None
    cells, found = moments.cells(term.column), moments.alone(term.column, term.number)
    if cells is None or found is None:
        return None
    refines = len(np.unique(np.stack([groups, cells]), axis=1).T) == int(groups.max()) + 1
    return (found[1], cells) if np.array_equal(groups, cells) or (columns == 1 and refines) else None


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


def _bias(marginal: Marginal, columns: Sequence[_Axis], axis: _Axis) -> float:
    """By how much a square may be off in all, with the rows where the counts say they are."""
    if axis.slack is None:
        return 0.0
    rows = marginal.total or max(1.0, float(marginal.counts.sum()))
    others = reduce(np.multiply.outer, [np.abs(one.values) if one is not axis else axis.slack for one in columns])
    return rows * float(marginal.shares @ others.ravel())
