"""Means of numbers whose offsets within cells were measured, alone or beside one other column."""

import functools
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from kernelease.analysis.cell_sums import Way, best_ways
from kernelease.analysis.estimands import Estimand, NumericValue
from kernelease.analysis.estimate import Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.marginal import Marginal
from kernelease.analysis.offset_sums import OffsetPart, OffsetSums
from kernelease.analysis.ratio_estimator import RatioEstimator
from kernelease.analysis.representatives import (
    LEAST,
    Axis,
    CellValues,
    Grids,
    about_middles,
    few,
    marking,
    middles_and_halves,
    parts_of,
    representatives,
    weighted,
)
from kernelease.arrays import Floats, Integers
from kernelease.table.columns.celled import Celled


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Offsets:
    """Counts, and what stands for the numbers of each cell: its middle up to a slack, or (NaN) they themselves."""

    marginal: Marginal
    cells: Integers  # (atoms,)
    sums: OffsetSums
    middle: Floats  # (cells,)
    slack: Floats  # (cells,)
    used: NDArray[np.bool_]  # (cells,): whether its offsets are added to the middle


def offset_estimator(
    evidence: Evidence, estimand: Estimand, divisor: float | None, grids: Grids
) -> RatioEstimator | None:
    """The mean of a number, from counts and the offsets that make it narrower; None for other questions.

    Σ x·1{rows} = Σ middle of x's cell·1{rows} + Σ offset·1{rows}: counts give the first, moments the second. Which rows
    are meant must follow from the cells of the other column.
    """
    part = estimand.numerator
    if not isinstance(part, NumericValue) or not isinstance(part.column, Celled):
        return None
    columns, index = evidence.positions(estimand.columns), evidence.schema.names.index(part.column.name)
    if len(columns) > 2 or part.column.name in part.where.columns:
        return None
    found = (
        _alone(evidence, index, part.column) if len(columns) == 1 else _beside(evidence, columns, index, part.column)
    )
    if found is None:
        return None
    marginal = found.marginal
    key = index, marginal, marking(estimand.conditions, (evidence.schema.columns[one] for one in marginal.columns))
    axes = functools.partial(_axes, evidence, estimand, index, found)
    functions = grids.grid((key, True), axes).values(part, estimand.denominator)
    if functions.possible is None:
        return None
    function = found.used.astype(np.float64)
    if len(marginal.columns) > 1:
        chosen = grids.grid((key, False), lambda: [axis for axis in axes() if axis[0] != part.column.name])
        rows = chosen.values(part.where, None)
        if not rows.exact:
            return None
        function = rows.middle()[0]
    sampled = evidence.target is Target.POPULATION
    sampling = _within(evidence, part.column, index, marginal, functions, found) if sampled else 0.0
    low, high = (float(extreme) for extreme in (part.column.bounds()[0][0], part.column.bounds()[1][-1]))
    return RatioEstimator(
        marginal=marginal,
        functions=functions,
        target=evidence.target,
        possible=(min(low, 0.0), max(high, 0.0)) if estimand.denominator is None else (low, high),
        divisor=divisor,
        offset=OffsetPart.of(found.sums, function, sampling),
    )


def _axes(evidence: Evidence, estimand: Estimand, index: int, found: _Offsets) -> list[Axis]:
    """The columns of the counts; the number itself by what stands for it in each of its cells."""
    axes = []
    for column, groups in zip(found.marginal.columns, found.marginal.groups, strict=True):
        declared = evidence.schema.columns[column]
        points = weighted(representatives(declared, estimand.conditions), evidence.shares(column) + LEAST)
        if column == index:
            points = about_middles(points, found.cells, found.middle, found.slack)
        axes.append((declared.name, few(points, declared, groups, estimand.conditions, estimand.valued), groups))
    return axes


def _alone(evidence: Evidence, index: int, column: Celled) -> _Offsets | None:
    """Counts of a column, as fine as is worth their noise in each cell, and the offsets that are worth theirs."""
    moments = evidence.moments
    found = None if moments is None else moments.alone(index, column)
    cells = None if moments is None else moments.cells(index)
    if found is None or cells is None:
        return None
    marginal = max(evidence.marginals((index,)), key=lambda one: one.size)
    coarse = parts_of(marginal.groups[0], cells)
    if coarse is None:
        return None
    sums, own = found
    middle, half, nothing = np.nan_to_num(own.middle)[coarse], np.nan_to_num(own.half)[coarse], np.zeros(len(own.half))
    values, slack = middles_and_halves(column, marginal.groups[0])
    ways = (
        Way(values=middle, slack=half, variances=nothing),
        Way(values=middle, slack=np.where(half > 0.0, own.slack, 0.0), variances=sums.variances),
        Way(values=values, slack=slack, variances=nothing),
    )
    chosen = best_ways(marginal, coarse, ways)
    off = np.array([own.half, np.where(own.half > 0.0, own.slack, 0.0), np.full_like(own.half, np.nan)])
    off = np.where(np.isnan(own.half), np.nan, off[chosen, np.arange(len(chosen))])
    return _Offsets(marginal=marginal, cells=cells, sums=sums, middle=own.middle, slack=off, used=chosen == 1)


def _beside(evidence: Evidence, columns: tuple[int, ...], index: int, column: Celled) -> _Offsets | None:
    """The counts of a column beside another in the cells of its offsets, and all offsets that were measured."""
    moments, tabulated = evidence.moments, evidence.tabulated
    other = next(one for one in columns if one != index)
    found = None if moments is None else moments.beside(index, column, other)
    cells = None if moments is None else moments.cells(index)
    if found is None or cells is None or tabulated is None:
        return None
    marginal, own = tabulated.aligned(columns, {index: cells}), found[1]
    if marginal is None:
        return None
    slack = np.where(np.isnan(own.half), np.nan, np.where(own.told & (own.half > 0.0), own.slack, own.half))
    return _Offsets(marginal=marginal, cells=cells, sums=found[0], middle=own.middle, slack=slack, used=own.told)


def _within(
    evidence: Evidence, column: Celled, index: int, marginal: Marginal, functions: CellValues, found: _Offsets
) -> float:
    """What the spread of numbers within cells adds to the sampling variance of their sum over the rows that count.

    By counts of the column alone, as they are; where numbers stand for themselves, it is in the function already.
    """
    finest = max(evidence.marginals((index,)), key=lambda one: one.size)
    parts, cells = parts_of(finest.groups[0], found.cells), marginal.groups[marginal.columns.index(index)]
    if parts is None:
        return 0.0
    middle, _ = middles_and_halves(column, finest.groups[0])
    held, first, second = (np.bincount(parts, finest.counts * middle**power) for power in range(3))
    rows, half = np.where(held > 0.0, held, np.inf), np.nan_to_num(middles_and_halves(column, found.cells)[1])
    variance = np.clip(second / rows - (first / rows) ** 2, 0.0, half**2) * ~np.isnan(found.slack)
    coarse = np.zeros(int(cells.max()) + 1, dtype=np.int64)
    coarse[cells] = found.cells
    axis = [-1 if other == index else 1 for other in marginal.columns]
    spread = np.broadcast_to(variance[coarse].reshape(axis), marginal.shape).ravel()
    return max(0.0, float(marginal.counts @ (spread * functions.middle()[1])))
