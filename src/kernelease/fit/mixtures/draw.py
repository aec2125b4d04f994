"""Rows from a mixture, with little sampling error: rounded, not random, numbers of rows, improved by swaps."""

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.fit.mixtures.mixture import Mixture
from kernelease.fit.mixtures.swaps import settle


def draw_rows(mixture: Mixture, count: int, generator: np.random.Generator) -> Integers:
    """`count` rows of atoms, (columns, count).

    Components get numbers of rows in proportion to their weights, and each column's atoms in proportion to their
    probabilities, so that every single column is met to within a row or so. Swaps then bring pairs of columns near the
    mixture's own.
    """
    if count < 1:
        raise ParameterError(f"draw_rows: count must be at least 1, got {count!r}.")
    members = np.diff(_quantiles(mixture.weights, count, generator), prepend=0)
    components = np.repeat(np.arange(len(members)), members)
    rows = np.stack([_column(p, members, generator) for p in mixture.columns])
    settled = settle(rows, components, mixture, generator)
    return settled[:, generator.permutation(count)]


def _quantiles(weights: Floats, count: int, generator: np.random.Generator) -> Integers:
    """How many of `count` equally spaced marks, with one random offset, lie below each cumulative weight."""
    marks = np.ceil(np.cumsum(weights / weights.sum()) * count - generator.random()).astype(np.int64)
    marks = np.clip(marks, 0, count)
    marks[-1] = count
    return marks


def _column(probabilities: Floats, members: Integers, generator: np.random.Generator) -> Integers:
    """Atoms of one column for the members of each component in turn, shuffled within it: (n,).

    Every component gets what it expects of each atom, rounded up or down, and passes its rounding errors on to the next
    one, so that those of the whole column stay below a row or so. The order of components is random, for each column
    anew: rounding then ties no two columns together.
    """
    expected = probabilities * members[:, None]
    numbers = np.floor(expected).astype(np.int64)
    carried = np.zeros(probabilities.shape[1])
    for component in generator.permutation(len(members)):
        left = int(members[component] - numbers[component].sum())
        owed = carried + expected[component] - numbers[component]
        if left > 0:
            numbers[component, np.argsort(-owed, kind="stable")[:left]] += 1
        carried += expected[component] - numbers[component]
    atoms = np.repeat(np.tile(np.arange(probabilities.shape[1]), len(members)), numbers.ravel())
    order = np.lexsort((generator.random(len(atoms)), np.repeat(np.arange(len(members)), members)))
    shuffled: Integers = atoms[order]
    return shuffled
