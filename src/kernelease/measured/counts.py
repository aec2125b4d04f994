"""Counts, how many rows are in each cell of some columns, and contrasts: counts less what fewer columns say."""

import functools
import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.measured.blocks import Block, NoisyBlock
from kernelease.measured.views import NoisySums, Precision, View, along, best_mean, common_coarsening
from kernelease.privacy.sensitivity import Neighbours, Sensitivity, block_sensitivity, centred_sensitivity

# --------------------
# Counts.


@final
@dataclass(frozen=True, kw_only=True)
class Counts(Block):
    """How many rows are in each cell: one-hot features of norm exactly 1. Of no column, the number of rows."""

    def exact(self, table: NDArray[Any]) -> NDArray[Any]:
        return table

    def sensitivity(self, neighbours: Neighbours, unit: int) -> Sensitivity:
        """A row is in one cell."""
        return block_sensitivity(neighbours, unit=unit)

    def off_products(self, cells: int) -> float:
        """Nothing: the probability of a cell is the product of those of its columns' cells."""
        return 0.0

    def numbers_in(self, table: Floats) -> Floats:
        return table

    def spread(self, numbers: Floats) -> Floats:
        return numbers

    def complete(self, numbers: Floats, alone: Any, rows: float) -> Floats:
        return numbers

    def covers(self, columns: tuple[int, ...]) -> bool:
        return set(self.columns) >= set(columns)

    def tells(self, columns: tuple[int, ...]) -> bool:
        """Always: of other columns, how many rows there are."""
        return True

    def view(self, numbers: Floats, sigma: float, columns: tuple[int, ...], groups: tuple[Integers, ...]) -> NoisySums:
        """Sums over the cells of the columns; a block that has none of them is the sum of all cells."""
        return NoisySums.of(numbers, sigma, *self._sums(columns, groups))

    def coefficients(
        self, sigma: float, columns: tuple[int, ...], groups: tuple[Integers, ...], weight: Floats
    ) -> Floats:
        """Those of the sum that it is in."""
        return NoisySums.coefficients(sigma, *self._sums(columns, groups), weight)

    @property
    def label(self) -> str:
        return f"counts of columns {self.columns}" if self.columns else "number of rows"

    def _sums(self, columns: tuple[int, ...], groups: tuple[Integers, ...]) -> tuple[Integers, Integers]:
        """The finest sums that both the columns and this block can form: the sum of each cell of one and the other."""
        index = np.zeros(tuple(int(group.max()) + 1 for group in groups), dtype=np.int64)
        spread = np.zeros(self.shape, dtype=np.int64)
        for axis, column in enumerate(self.columns):
            if column in columns:
                place = columns.index(column)
                ours, theirs = common_coarsening(groups[place], self.groups[axis])
                cells = int(theirs.max()) + 1
                index = index * cells + along(ours, place, index.ndim)
                spread = spread * cells + along(theirs, axis, spread.ndim)
        return index.ravel(), spread.ravel()


# --------------------
# Contrasts.


@final
@dataclass(frozen=True, kw_only=True)
class Contrasts(Block):
    """Counts with the mean over the cells of each column taken out, times the number of cells.

    Of one column (m·I − J) x, J all ones, which says how it is distributed and not how many rows there are; of two
    (m·I − J) X (n·I − J), their *interaction*, which says how they go together and nothing about either alone. Noise
    along these means says nothing and is taken out of `values`, so that it is the same in all directions that are left.
    """

    def __post_init__(self) -> None:
        Block.__post_init__(self)
        if len(self.columns) not in (1, 2) or min(self.grid) < 2:
            raise ParameterError("Contrasts: are of one or two columns, of two cells or more each.")

    @cached_property
    def numbers(self) -> int:
        """Those that are left without means."""
        return math.prod(size - 1 for size in self.grid)

    def exact(self, table: NDArray[Any]) -> NDArray[Any]:
        """Counts less their means along each axis, times the number of cells, exactly."""
        table = table.astype(object)
        for axis, size in enumerate(table.shape):
            table = size * table - table.sum(axis=axis, keepdims=True)
        return table

    def sensitivity(self, neighbours: Neighbours, unit: int) -> Sensitivity:
        """A row is in one cell, and in the means along both columns."""
        return centred_sensitivity(neighbours, shape=self.grid, unit=unit)

    @property
    def whole(self) -> int:
        """The number of cells, before means go."""
        return self.cells

    def values(self, numbers: Floats) -> Floats:
        """Without the noise of their means."""
        return without_means(numbers)

    def lacks(self, alone: Sequence[float], rows: float) -> float:
        """The mean of one column's counts, or those along two: each over the cells that it is spread over."""
        if len(alone) == 1:
            return rows / self.cells
        (m, n), (first, second) = self.grid, alone
        return math.hypot(first / n, second / m)

    @property
    def adds_up(self) -> bool:
        return False

    def off_products(self, cells: int) -> float:
        """The mean probability of a cell."""
        return 1.0 / cells

    def numbers_in(self, table: Floats) -> Floats:
        return without_means(table)

    def spread(self, numbers: Floats) -> Floats:
        """The same: taking out means is its own transpose."""
        return without_means(numbers)

    def complete(self, numbers: Floats, alone: Sequence[Floats], rows: float) -> Floats:
        """With the means that the number of rows, and each of two columns, tell."""
        if len(alone) == 1:
            return numbers + rows / self.cells
        one, other = alone
        return numbers + (one[:, None] / len(other) + other / len(one) - rows / self.cells)

    def covers(self, columns: tuple[int, ...]) -> bool:
        return set(self.columns) == set(columns)

    def tells(self, columns: tuple[int, ...]) -> bool:
        return set(self.columns) <= set(columns)

    def view(
        self, numbers: Floats, sigma: float, columns: tuple[int, ...], groups: tuple[Integers, ...]
    ) -> "NoisyContrasts":
        """Contrasts between sums of the columns' cells."""
        axes, sums = self._axes_and_sums(columns, groups)
        for axis, (_, theirs) in enumerate(sums):
            numbers = _sum_axis(numbers, theirs, int(theirs.max()) + 1, axis)
        return NoisyContrasts(
            shape=tuple(int(group.max()) + 1 for group in groups),
            axes=axes,
            onto=tuple(ours for ours, _ in sums),
            held=tuple(np.bincount(theirs).astype(np.float64) for _, theirs in sums),
            values=numbers,
            precision=sigma**-2.0,
        )

    def coefficients(
        self, sigma: float, columns: tuple[int, ...], groups: tuple[Integers, ...], weight: Floats
    ) -> Floats:
        """Those of the sum that it is in."""
        _, sums = self._axes_and_sums(columns, groups)
        table = self.view(np.zeros(self.shape), sigma, columns, groups).weigh(weight)
        return table[np.ix_(*(theirs for _, theirs in sums))].ravel()

    @property
    def label(self) -> str:
        return f"centred counts of columns {self.columns}"

    def _axes_and_sums(
        self, columns: tuple[int, ...], groups: tuple[Integers, ...]
    ) -> tuple[tuple[int, ...], list[tuple[Integers, Integers]]]:
        """Where its columns are, and along each the sum of each cell of the marginal and of its own."""
        axes = tuple(columns.index(column) for column in self.columns)
        return axes, [common_coarsening(groups[at], own) for at, own in zip(axes, self.groups, strict=True)]


def without_means(table: Floats) -> Floats:
    """A table less its mean along each axis, one after the other.

    >>> without_means(np.array([3.0, 1.0])).tolist(), without_means(np.array([[3.0, 1.0], [1.0, 3.0]])).tolist()
    ([1.0, -1.0], [[1.0, -1.0], [-1.0, 1.0]])
    """
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def squared_interactions(noisy: Sequence[NoisyBlock], distributions: Sequence[Floats], rows: float) -> Floats:
    """Of contrasts of two columns each, Σ over cells of how far these go together, squared, without bias by noise."""
    return np.array([_square_of(one, [distributions[i] for i in one.block.columns], rows) for one in noisy])


def _square_of(noisy: NoisyBlock, distributions: Sequence[Floats], rows: float) -> float:
    one, other = map(np.bincount, noisy.block.groups, distributions)
    beyond = noisy.values - noisy.block.numbers_in(np.multiply.outer(rows * one, other).astype(np.float64))
    return float((beyond**2).sum()) - noisy.sigma**2 * noisy.block.numbers


# --------------------
# How contrasts see the counts of a few columns: as contrasts between sums of their cells.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyContrasts(View):
    """Centred counts of one or two of a marginal's columns, with noise of one `precision` in each.

    Along each of its columns, in the block's order, the marginal's cells and the block's make up the finest sums that
    both can form: `onto` is the sum of each cell of the marginal, `held` how many of the block's k cells are in a sum.

    Along one column, sums of centred counts are y_s = p_s − (n_s/k)Σp with noise of covariance σ²(n_s·1[s = t] −
    n_s n_t/k), of which 1[s = t]/(σ²n_s) is a generalised inverse: GᵀPG = 1[s = t]/(σ²n_s) − 1/(σ²k), which is what
    counts would tell less what they would tell of Σp. Of two columns it is the product of two such matrices, and of
    matrices of ones for other columns.
    """

    shape: tuple[int, ...]  # of the marginal
    axes: tuple[int, ...]  # of the block's columns in it
    onto: tuple[Integers, ...]
    held: tuple[Floats, ...]
    values: Floats  # of the sums: an axis for each of the block's columns
    precision: float  # 1/σ²

    def weigh(self, function: Floats) -> Floats:
        """PG of a function: (cells,) → a table of the sums."""
        table: Floats = function.reshape(self.shape).sum(axis=self._others).transpose(self._ranks)
        for axis, (cells, held) in enumerate(zip(self.onto, self.held, strict=True)):
            table = _sum_axis(table, cells, len(held), axis)
        return self._apply_precision(table)

    @property
    def terms(self) -> tuple[Precision, ...]:
        """GᵀPG: what counts would tell, less what these would tell of the sums over either column, and of both."""
        chosen = itertools.product((True, False), repeat=len(self.axes))
        return tuple(self._term(kept) for kept in chosen)

    def _term(self, kept: tuple[bool, ...]) -> Precision:
        """Of the product of 1[s = t]/n_s along some columns, and of −1/k along the others."""
        index, weights = np.zeros((1,) * len(self.shape), dtype=np.int64), np.array([self.precision])
        for axis, cells, held, own in zip(self.axes, self.onto, self.held, kept, strict=True):
            if own:
                index = index * len(held) + along(cells, axis, len(self.shape))
                weights = np.multiply.outer(weights, 1.0 / held).ravel()
            else:
                weights = -weights / held.sum()
        return Precision(index=np.broadcast_to(index, self.shape).ravel(), weights=weights)

    @property
    def by_precision(self) -> Floats:
        return self._spread(self._apply_precision(self.values))

    @property
    def whole(self) -> bool:
        """Whether it is of all the marginal's columns, in the marginal's cells."""
        return len(self.axes) == len(self.shape) and all(
            len(held) == self.shape[axis] and float(held.max()) == 1.0
            for axis, held in zip(self.axes, self.held, strict=True)
        )

    @property
    def variances(self) -> Floats:
        """Of `values`: a table of the sums."""
        parts = (held - held**2 / held.sum() for held in self.held)
        variances: Floats = functools.reduce(np.multiply.outer, parts) / self.precision
        return variances

    @property
    def key(self) -> Hashable:
        """Which sums along which columns."""
        return self.axes, b"".join(map(np.ndarray.tobytes, self.onto)), b"".join(map(np.ndarray.tobytes, self.held))

    def merge(self, others: Sequence["NoisyContrasts"]) -> "NoisyContrasts":
        views = [self, *others]
        values, precision = best_mean([view.values for view in views], [view.precision for view in views])
        return replace(self, values=values, precision=precision)

    @property
    def only_total(self) -> bool:
        return False

    @property
    def resolution(self) -> int:
        """All cells of the marginal, or none."""
        return math.prod(self.shape) if self.whole else 0

    def counts(self, estimates: Floats) -> tuple[Floats, float]:
        """The estimates: contrasts alone are no counts."""
        return estimates, 1.0 / self.precision

    def bounds(self, beside: Sequence[View], shape: tuple[int, ...], *, known: bool) -> Floats:
        """With what contrasts leave out: the number of rows and, of two columns, the counts of each."""
        if len(shape) == 1:
            held, rows = self.held[0], _rows_variance(beside, known=known)
            result: Floats = self.variances + (held / held.sum()) ** 2 * rows
            return result
        return self._of_pairs(beside, shape, known=known)

    def _of_pairs(self, beside: Sequence[View], shape: tuple[int, ...], *, known: bool) -> Floats:
        """Of x_ab + x_a/n + x_b/m − N/mn, in which N is what was counted without regard to the two, or is known."""
        (first, lacks_first), (second, lacks_second) = (_alone(beside, axis, shape) for axis in (0, 1))
        (m, n), variances = shape, self.variances.copy()
        if self.axes == (1, 0):
            variances = variances.T
        if lacks_first.any() or lacks_second.any():
            lacks = lacks_first[:, None] / n + lacks_second / m - 1.0 / math.prod(shape)
            rows = _rows_variance(beside, known=known)
            variances = variances + first[:, None] / n**2 + second / m**2 + lacks**2 * rows
        else:  # N is the sum of the first column
            variances = variances + first[:, None] / n**2
            variances = variances + (second * (1.0 - 2.0 / n) + second.sum() / n**2) / m**2
        result: Floats = variances.ravel()
        return result

    def of_column(self, axis: int, shape: tuple[int, ...]) -> tuple[Floats, Floats] | None:
        """They lack the mean: an equal part of all rows for each of the block's cells."""
        if self.axes != (axis,) or len(self.values) != shape[axis]:
            return None
        return self.variances, self.held[0] / self.held[0].sum()

    @property
    def _others(self) -> tuple[int, ...]:
        """The axes of the marginal's other columns."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.axes)

    @property
    def _ranks(self) -> list[int]:
        """Of each of the block's columns, its place among them in the marginal."""
        return [sorted(self.axes).index(axis) for axis in self.axes]

    def _apply_precision(self, table: Floats) -> Floats:
        """P of a table of the sums."""
        for axis, held in enumerate(self.held):
            table = table / along(held, axis, table.ndim) - table.sum(axis=axis, keepdims=True) / held.sum()
        return self.precision * table

    def _spread(self, table: Floats) -> Floats:
        """Of a table of the sums: for each cell of the marginal, what its sum has."""
        own: Floats = table[np.ix_(*self.onto)].transpose(np.argsort(self._ranks))
        return np.broadcast_to(np.expand_dims(own, self._others), self.shape).ravel()


def _alone(views: Sequence[View], axis: int, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Of a single column, cell by cell: the variance of what was measured, and the part of N that it lacks."""
    found = [told for view in reversed(views) if (told := view.of_column(axis, shape)) is not None]
    if not found:
        raise ParameterError("An interaction was measured of a column that was not counted on its own.")
    return found[0]


def _rows_variance(views: Sequence[View], *, known: bool) -> float:
    """Of the number of rows as it was counted without regard to these columns; 0 where it is known."""
    if known:
        return 0.0
    found = [variance for view in views if (variance := view.rows_variance) is not None]
    if not found:
        raise ParameterError("A column was measured up to the number of rows, which was not counted.")
    return found[0]


def _sum_axis(table: Floats, cells: Integers, count: int, axis: int) -> Floats:
    """A table whose cells along an axis are added up: the sum that each is in is given."""
    if count == table.shape[axis] and np.array_equal(cells, np.arange(count)):
        return table
    result = np.zeros((count, *np.delete(table.shape, axis)))
    np.add.at(result, cells, np.moveaxis(table, axis, 0))
    return np.moveaxis(result, 0, axis)
