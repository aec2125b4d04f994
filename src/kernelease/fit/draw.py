"""Rows from a mixture, with little sampling error: systematic rather than independent draws."""

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.fit.mixture import Mixture


def draw_rows(mixture: Mixture, count: int, generator: np.random.Generator) -> Integers:
    """`count` rows of atoms, (columns, count).

    Components get numbers of rows in proportion to their weights, and within a component each column's atoms are taken
    at equally spaced quantiles and shuffled, so that every marginal is met to within a row where it can be.
    """
    if count < 1:
        raise ParameterError(f"draw_rows: count must be at least 1, got {count!r}.")
    members = np.diff(_quantiles(mixture.weights, count, generator), prepend=0)
    rows = np.empty((len(mixture.columns), count), dtype=np.int64)
    start = 0
    for component in np.flatnonzero(members):
        stop = start + int(members[component])
        for row, column in zip(rows, mixture.columns, strict=True):
            row[start:stop] = _systematic(column[component], stop - start, generator)
        start = stop
    return rows[:, generator.permutation(count)]


def _quantiles(weights: Floats, count: int, generator: np.random.Generator) -> Integers:
    """How many of `count` equally spaced marks, with one random offset, lie below each cumulative weight."""
    marks = np.ceil(np.cumsum(weights / weights.sum()) * count - generator.random()).astype(np.int64)
    marks = np.clip(marks, 0, count)
    marks[-1] = count
    return marks


def _systematic(probabilities: Floats, count: int, generator: np.random.Generator) -> Integers:
    """Atoms at equally spaced quantiles, in random order: (count,)."""
    numbers = np.diff(_quantiles(probabilities, count, generator), prepend=0)
    return generator.permutation(np.repeat(np.arange(len(probabilities)), numbers))
