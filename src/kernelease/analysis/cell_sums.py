"""How finely to sum a function of a column: some ways, and the one for each cell that makes the interval shortest."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.analysis.inference import CONFIDENCE, critical_value
from kernelease.analysis.marginal import Marginal
from kernelease.arrays import Floats, Integers

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
    factor, every = critical_value(CONFIDENCE), np.arange(bounds.shape[1])
    chosen = np.zeros(bounds.shape[1], dtype=np.int64)
    while True:
        variance, bound = base + float(variances[chosen, every].sum()), float(bounds[chosen, every].sum())
        longer = factor * np.sqrt(np.maximum(variance + variances - variances[chosen, every], 0.0))
        change = longer + bounds - bounds[chosen, every] - factor * math.sqrt(variance)
        way, cell = np.unravel_index(int(np.argmin(change)), change.shape)
        if not change[way, cell] < -1e-9 * (factor * math.sqrt(variance) + bound):
            return chosen
        chosen[cell] = way
