"""A numerator and a denominator on the cells of some columns: what they may be in each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.analysis.integrand import Integrand
from kernelease.analysis.limits import Interval
from kernelease.analysis.representatives import Representatives
from kernelease.arrays import Floats, Integers
from kernelease.errors import CapacityError

LARGEST_GRID = 4_000_000  # representatives of all columns together


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Cellwise:
    """Values of two functions at the representatives of each cell: (r,) each, ordered by cell.

    Where in its cell a row lies was not measured, so that any of them may be the row's. A denominator is 0 or 1.
    """

    cell: Integers
    numerator: Floats
    denominator: Floats
    weights: Floats  # for averages over a cell
    size: int  # number of cells

    @property
    def possible(self) -> Interval | None:
        """The least and the greatest numerator where the denominator is 1; None where it never is."""
        here = self.denominator > 0.0
        return (float(self.numerator[here].min()), float(self.numerator[here].max())) if here.any() else None

    @property
    def exact(self) -> bool:
        """Whether neither function varies within a cell."""
        same = self.cell[1:] == self.cell[:-1]
        return not any(np.any(np.diff(values)[same] != 0.0) for values in (self.numerator, self.denominator))

    def middle(self) -> tuple[Floats, Floats]:
        """The average of both functions over each cell: (cells,) each."""
        count, above, below = (
            np.bincount(self.cell, weights=self.weights * values, minlength=self.size)
            for values in (np.ones_like(self.numerator), self.numerator, self.denominator)
        )
        return above / count, below / count

    def evened(self) -> "Cellwise":
        """The same with every row at the middle of its cell."""
        numerator, denominator = self.middle()
        return Cellwise(
            cell=np.arange(self.size),
            numerator=numerator,
            denominator=denominator,
            weights=np.ones(self.size),
            size=self.size,
        )

    def least(self, ratio: float) -> tuple[Floats, Floats]:
        """In each cell the pair for which numerator − ratio·denominator is least: (cells,) each."""
        return self._first(self.numerator - ratio * self.denominator)

    def greatest(self, ratio: float) -> tuple[Floats, Floats]:
        """In each cell the pair for which numerator − ratio·denominator is greatest: (cells,) each."""
        return self._first(ratio * self.denominator - self.numerator)

    def _first(self, score: Floats) -> tuple[Floats, Floats]:
        order = np.lexsort((score, self.cell))
        chosen = order[np.searchsorted(self.cell, np.arange(self.size))]  # `cell` is sorted, and so are they
        return self.numerator[chosen], self.denominator[chosen]

    @property
    def gap(self) -> float:
        """By how much the greatest numerator is above the least in every cell whose denominator is 1 throughout."""
        sure = self._first(self.denominator)[1]
        inside = sure > 0.0
        if not inside.any():
            return 0.0
        low, high = self.least(0.0)[0], self.greatest(0.0)[0]
        return float((high - low)[inside].min())


def cellwise(
    columns: Sequence[tuple[str, Representatives, Integers]], numerator: Integrand, denominator: Integrand | None
) -> Cellwise:
    """Both functions on all combinations of the columns' representatives.

    Each column comes with its name, representatives and the cell of each of its atoms. Without a denominator that is 1.
    """
    counts = [len(points.atoms) for _, points, _ in columns]
    if math.prod(counts) > LARGEST_GRID:
        raise CapacityError(
            f"The question needs more than {LARGEST_GRID:,} combinations of values. Ask about fewer columns at once."
        )
    places = np.indices(counts).reshape(len(counts), -1)
    cell = np.zeros(places.shape[1], dtype=np.int64)
    weights = np.ones(places.shape[1])
    size, arrays = 1, {}
    for (name, points, groups), place in zip(columns, places, strict=True):
        cells = int(groups.max()) + 1
        size, cell = size * cells, cell * cells + groups[points.atoms][place]
        weights = weights * points.weights[place]
        arrays[name] = points.values.take(pa.array(place))
    table = pa.table(arrays)
    order = np.argsort(cell, kind="stable")
    return Cellwise(
        cell=cell[order],
        numerator=numerator.of(table)[order],
        denominator=np.ones(len(cell)) if denominator is None else denominator.of(table)[order],
        weights=weights[order],
        size=size,
    )
