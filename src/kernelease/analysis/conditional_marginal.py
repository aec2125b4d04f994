"""The counts of the cells of a few columns among the rows that a question is about."""

from collections.abc import Sequence
from functools import cached_property
from typing import final

import numpy as np

from kernelease.analysis.marginal import Marginal
from kernelease.arrays import Floats, Integers


@final
class ConditionalMarginal(Marginal):
    """The cells of some columns of a larger marginal, of the rows in those of its cells whose flag is 1.

    A function of the columns is one of the larger marginal's cells, 0 where the flag is 0: all its estimates are those
    of the larger marginal, with the same noise. How many rows there are is not public.
    """

    def __init__(self, whole: Marginal, columns: tuple[int, ...], flags: Floats) -> None:
        places = [whole.columns.index(column) for column in columns]
        super().__init__(columns, tuple(whole.groups[place] for place in places), None, whole.sources)
        self._whole, self._flags = whole, flags
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
        """Of the sums themselves."""
        every = np.eye(self.size)
        return np.array([max(0.0, float(self.joint([one])[1][0, 0])) for one in every])

    def _lifted(self, function: Floats) -> Floats:
        """A function of these cells as one of the larger marginal's: (cells,) → (cells of it,)."""
        return np.asarray(function[self._cells] * self._flags)


def _cells(whole: Marginal, places: Sequence[int]) -> Integers:
    """The cell of some columns, for each cell of all."""
    grid = np.indices(whole.shape).reshape(len(whole.shape), -1)
    cell = np.zeros(whole.size, dtype=np.int64)
    for place in places:
        cell = cell * whole.shape[place] + grid[place]
    return cell
