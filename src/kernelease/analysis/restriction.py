"""The rows that a question is about: a condition as flags of cells, and what was counted of such rows."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.analysis.estimands import Indicator, cell_label
from kernelease.analysis.representatives import (
    LEAST,
    CellValues,
    Representatives,
    cell_values,
    few,
    representatives,
    weighted,
)
from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.estimate.marginal import Marginal, tabulation
from kernelease.measured.blocks import NoisyBlocks
from kernelease.table.columns.column import Column

DOUBT = 2.0  # standard errors that the rows of cut cells may be more than counted, as for quantiles
MOST_CUT = 0.25  # of the rows that are meant: with more of them in doubt, nothing is linear in them


@final
class ConditionalMarginal(Marginal):
    """The cells of some columns of a larger marginal, of the rows in those of its cells whose flag is 1.

    A function of the columns is one of the larger marginal's cells, 0 where the flag is 0: all its estimates are those
    of the larger marginal, with the same noise. How many rows there are is not public. Where a condition cuts through a
    cell, its flag is the share of its rows that are likely meant, and off by at most its `slack`.
    """

    def __init__(self, whole: Marginal, columns: tuple[int, ...], flags: Floats, slack: Floats) -> None:
        places = [whole.columns.index(column) for column in columns]
        super().__init__(columns, tuple(whole.groups[place] for place in places), None, whole.sources)
        self._whole, self._flags, self._slack = whole, flags, slack
        self._cells = _cells(whole, places)

    @cached_property
    def counts(self) -> Floats:
        weights = self._whole.counts * self._flags
        return np.bincount(self._cells, weights=weights, minlength=self.size).astype(np.float64)

    def joint(self, functions: Sequence[Floats]) -> tuple[Floats, Floats]:
        return self._whole.joint([self._lifted(function) for function in functions])

    def coefficients(self, function: Floats) -> dict[int, Floats]:
        return self._whole.coefficients(self._lifted(function))

    def variances(self) -> Floats:
        return self._variances

    @cached_property
    def _variances(self) -> Floats:
        """Variances of the sums themselves."""
        every = np.eye(self.size)
        return np.array([max(0.0, float(self.joint([one])[1][0, 0])) for one in every])

    @property
    def cut(self) -> bool:
        """Whether it is not known of some rows if they are meant."""
        return bool(self._slack.any())

    def doubt(self, function: Floats) -> float:
        """How far the sum of a function may be off by the rows of cells that the condition cuts through."""
        spread = np.abs(function[self._cells]) * self._slack
        value, variance = self._whole.joint([spread])
        return max(0.0, float(value[0])) + DOUBT * math.sqrt(max(0.0, float(variance[0, 0])))

    def _lifted(self, function: Floats) -> Floats:
        """A function of these cells as one of the larger marginal's: (cells,) → (cells of it,)."""
        return np.asarray(function[self._cells] * self._flags)


def conditional_marginals(
    declared: tuple[Column, ...], noisy: NoisyBlocks, chosen: Indicator, columns: tuple[int, ...]
) -> tuple[Marginal, ...]:
    """What was measured of some columns among the rows that fulfil a condition, by each round that did.

    All columns of the condition must have been counted together with them. A round whose cells it cuts through is left
    out where another is not cut. Else the rows of the cut cells are in doubt; many of them, and it is refused.
    """
    own = {index for index, column in enumerate(declared) if column.name in chosen.columns}
    measured = tabulation(noisy).marginals(tuple(sorted(own | set(columns))))
    found = [(whole, _values(declared, noisy, chosen, whole)) for whole in measured]
    exact = [one for one in found if one[1].exact]
    if found and not exact:
        _refuse_vague(declared, *found[0], chosen)
    return tuple(
        ConditionalMarginal(whole, columns, *_flags(declared, chosen, whole, functions))
        for whole, functions in exact or found
    )


def _refuse_vague(declared: Sequence[Column], marginal: Marginal, functions: CellValues, chosen: Indicator) -> None:
    """Where too many of the rows may or may not be meant, an answer to first order in them would not hold."""
    flags, slack = _flags(declared, chosen, marginal, functions)
    rows = np.maximum(marginal.counts, 0.0)
    if float(rows @ slack) > MOST_CUT * float(rows @ flags):
        raise ParameterError(_cut(declared, marginal, functions, chosen))


def _placed(
    declared: Sequence[Column], chosen: Indicator, marginal: Marginal
) -> list[tuple[int, Column, Representatives, Integers]]:
    """The columns of the condition: place in the marginal, representatives, and the cell of each atom."""
    every = zip((declared[index] for index in marginal.columns), marginal.groups, strict=True)
    return [
        (place, column, representatives(column, chosen.conditions), groups)
        for place, (column, groups) in enumerate(every)
        if column.name in chosen.columns
    ]


def _values(declared: Sequence[Column], noisy: NoisyBlocks, chosen: Indicator, marginal: Marginal) -> CellValues:
    """Whether rows are meant, in the cells of the condition's columns."""
    axes = [
        (column.name, few(held, column, groups, chosen.conditions), groups)
        for place, column, points, groups in _placed(declared, chosen, marginal)
        for held in [weighted(points, _shares(noisy, marginal.columns[place], column))]
    ]
    return cell_values(axes, chosen, None)


def _shares(noisy: NoisyBlocks, index: int, column: Column) -> Floats:
    """About how all rows are distributed over the atoms of a column: (atoms,)."""
    measured = tabulation(noisy).marginals((index,))
    if not measured:
        return np.ones(column.size)
    finest = max(measured, key=lambda one: one.size)
    return (finest.shares / np.bincount(finest.groups[0]))[finest.groups[0]] + LEAST


def _flags(
    declared: Sequence[Column], chosen: Indicator, marginal: Marginal, functions: CellValues
) -> tuple[Floats, Floats]:
    """The share of each cell's rows that are meant, and how far off it may be: (cells,) each."""
    sizes = [
        size if declared[index].name in chosen.columns else 1
        for index, size in zip(marginal.columns, marginal.shape, strict=True)
    ]
    least, middle, most = (
        np.broadcast_to(part[0].reshape(sizes), marginal.shape).ravel()
        for part in (functions.least(0.0), functions.middle(), functions.greatest(0.0))
    )
    return middle, np.maximum(most - middle, middle - least)


def _cut(declared: Sequence[Column], marginal: Marginal, functions: CellValues, chosen: Indicator) -> str:
    """Which cell the condition cuts through, and what to ask instead."""
    axes = _placed(declared, chosen, marginal)
    far = int(np.argmax(functions.greatest(0.0)[0] - functions.least(0.0)[0]))
    place = np.unravel_index(far, [int(groups.max()) + 1 for _, _, _, groups in axes])
    cells = [
        (column, points, np.flatnonzero(groups == cell))
        for (_, column, points, groups), cell in zip(axes, place, strict=True)
    ]
    through = [one for one in cells if _varies(*one, chosen)] or cells
    told = " and ".join(f"{column.name} {cell_label(column, atoms.tolist())}" for column, _, atoms in through)
    together = ", ".join(declared[index].name for index in marginal.columns)
    return (
        f"condition: it cuts through {told}, one cell of what was counted of {together}, and many of its rows are "
        "there. Ask with a condition at the ends of cells, so that all rows of a cell are meant or none."
    )


def _varies(column: Column, points: Representatives, atoms: Integers, chosen: Indicator) -> bool:
    """Whether a test of this column alone has several outcomes in a cell."""
    inside = np.isin(points.atoms, atoms)
    table = pa.table({column.name: points.values.filter(pa.array(inside))})
    leaves = [leaf for part in chosen.conditions for leaf in part.leaves() if leaf.names == (column.name,)]
    return any(len(set(leaf.test(table).to_pylist())) > 1 for leaf in leaves)


def _cells(whole: Marginal, places: Sequence[int]) -> Integers:
    """The cell of some columns, for each cell of all."""
    grid = np.indices(whole.shape).reshape(len(whole.shape), -1)
    cell = np.zeros(whole.size, dtype=np.int64)
    for place in places:
        cell = cell * whole.shape[place] + grid[place]
    return cell
