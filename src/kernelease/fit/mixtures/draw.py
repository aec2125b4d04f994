"""Rows from a mixture, with little sampling error: rounded, not random, numbers of rows, improved by swaps."""

from collections.abc import Sequence

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.fit.mixtures.details import in_detail
from kernelease.fit.mixtures.mixture import Mixture
from kernelease.fit.mixtures.swaps import affordable_sweeps, swapped
from kernelease.fit.mixtures.unheld import moved


def draw_rows(mixture: Mixture, count: int, generator: np.random.Generator, *, whole: int | None = None) -> Integers:
    """`count` rows of atoms, (columns, count), for a table of `whole` rows, if they are a part of one.

    Components get numbers of rows in proportion to their weights, and each column's atoms in proportion to their
    probabilities, so that every single column is met to within a row or so. Swaps then bring pairs of columns near the
    mixture's own, as often as a table of that size affords, and pairs that the mixture can't hold are moved to what was
    measured of them. Details follow, and leaves, in each group on its own.
    """
    if count < 1:
        raise ParameterError(f"draw_rows: count must be at least 1, got {count!r}.")
    members = np.diff(_quantiles(mixture.weights, count, generator), prepend=0)
    components = np.repeat(np.arange(len(members)), members)
    rows = _rows(mixture, members, generator)
    sweeps = affordable_sweeps(max(count, whole or 0), len(rows))
    rows = swapped(rows, components, mixture, generator, sweeps=sweeps)
    rows = _with_unheld(rows, mixture, generator)
    if mixture.details:
        rows = in_detail(rows, mixture.details, mixture.cells, generator)
    for column, leaves in enumerate(mixture.leaves):
        if leaves is not None:
            rows[column] = leaves.drawn(rows[column], generator)
    return rows[:, generator.permutation(count)]


def _quantiles(weights: Floats, count: int, generator: np.random.Generator) -> Integers:
    """How many of `count` equally spaced marks, with one random offset, lie below each cumulative weight."""
    marks = np.ceil(np.cumsum(weights / weights.sum()) * count - generator.random()).astype(np.int64)
    marks = np.clip(marks, 0, count)
    marks[-1] = count
    return marks


def _rows(mixture: Mixture, members: Integers, generator: np.random.Generator) -> Integers:
    """Atoms for the members of each component in turn, shuffled within it: (columns, n)."""
    widths = [p.shape[1] for p in mixture.columns]
    rows = np.empty((len(widths), int(members.sum())), dtype=np.int64)
    owners = np.repeat(np.arange(len(members)), members)
    # Columns of like width go together: a loop over components for each of them alone takes most of the time.
    for scale in sorted({width.bit_length() for width in widths}):
        alike = [column for column, width in enumerate(widths) if width.bit_length() == scale]
        numbers = _numbers([mixture.columns[column] for column in alike], members, generator)
        for column, number in zip(alike, numbers, strict=True):
            atoms = np.repeat(np.tile(np.arange(number.shape[1]), len(members)), number.ravel())
            rows[column] = atoms[np.argsort(owners + generator.random(len(atoms)))]
    return rows


def _numbers(columns: Sequence[Floats], members: Integers, generator: np.random.Generator) -> list[Integers]:
    """For each column, how many members of each component get each atom: (M, atoms).

    Every component gets what it expects of each atom, rounded up or down, and passes its rounding errors on to the next
    one, so that those of the whole column stay below a row or so. The order of components is random, for each column
    anew: rounding then ties no two columns together.
    """
    widest = max(p.shape[1] for p in columns)
    expected = np.stack([np.pad(p, ((0, 0), (0, widest - p.shape[1]))) for p in columns]) * members[:, None]
    numbers = np.floor(expected).astype(np.int64)
    left = members - numbers.sum(axis=2)  # (columns, M)
    places, carried = np.arange(len(columns)), np.zeros((len(columns), widest))
    orders = np.stack([generator.permutation(len(members)) for _ in columns], axis=1)
    for order in orders:  # one component of each column
        carried += expected[places, order] - numbers[places, order]
        owed = np.where(expected[places, order] > 0.0, carried, -np.inf)  # never an atom that can't be
        rank = np.argsort(np.argsort(-owed, axis=1, kind="stable"), axis=1)
        more = rank < left[places, order][:, None]
        numbers[places, order] += more
        carried -= more
    return [number[:, : p.shape[1]] for number, p in zip(numbers, columns, strict=True)]


def _with_unheld(rows: Integers, mixture: Mixture, generator: np.random.Generator) -> Integers:
    """The same rows with pairs that the mixture can't hold moved to what was measured of them, the worst first.

    A column that is in one of these stays where it is, beside which the next ones are moved.
    """
    placed: set[int] = set()
    for pair in mixture.unheld_pairs:
        wanted = pair.toward(rows.shape[1] * mixture.joint(pair.columns, pair.groups), pair.groups)
        if pair.columns[0] not in placed:
            rows = moved(rows, pair.columns, pair.groups, wanted, generator)
        elif pair.columns[1] not in placed:
            rows = moved(rows, pair.columns[::-1], pair.groups[::-1], wanted.T, generator)
        placed.update(pair.columns)
    return rows
