"""Sums of offsets within cells, as all moments of a column estimate them."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.estimate.marginal import Equations, equations
from kernelease.measured.blocks import Block, NoisyBlock, NoisyBlocks
from kernelease.measured.offsets import Ends, Offsets, measured_width, offsets
from kernelease.measured.views import Precision
from kernelease.privacy.accounting import Law
from kernelease.table.columns.column import Celled

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
        values = np.array([float(weight @ self._weighted) for weight in solved])
        covariance = np.array([[float(weight @ other) for other in functions] for weight in solved])
        return values, 0.5 * (covariance + covariance.T)

    @cached_property
    def counts(self) -> Floats:
        """The estimate of every sum: (cells,)."""
        return self._solve(self._weighted)

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
    def _weighted(self) -> Floats:
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
        return self._known(column, declared, None)

    def beside(self, column: int, declared: Celled, other: int) -> tuple[OffsetSums, Offsets] | None:
        """The offsets of a column in each cell of another one; None where that was not measured."""
        return self._known(column, declared, other)

    def product(self, one: int, first: Celled, other: int, second: Celled) -> OffsetSums | None:
        """The sum of the products of two columns' offsets."""
        for moment in self._numbered:
            block = moment.block
            if block.weighted == 2 and block.columns == (one, other):
                scale = np.array(
                    [self._beside(one, first, block, 0).widest * self._beside(other, second, block, 1).widest]
                )
                only = np.zeros(1, dtype=np.int64)
                view = OffsetView.of(moment, only, only, scale)
                return OffsetSums(1, [view], laplace=moment.laplace)
        return None

    def _known(self, column: int, declared: Celled, other: int | None) -> tuple[OffsetSums, Offsets] | None:
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
        about = [one for one in self._numbered if one.block.columns[0] == column and one.block.weighted == 1]
        pairs = [one.block for one in about if len(one.block.columns) == 2]
        held = [block for block in pairs if block.columns[1] == other]
        if other is not None and not held:
            return None
        over = self._beside(column, declared, pairs[0], 0) if pairs else own
        size = len(own.middle) if other is None else int(held[0].groups[1].max()) + 1
        left_out = (~over.told).astype(np.int64)
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
    return Moments(noisy.moments, len(noisy.without_details.blocks))
