"""How finely to count columns: atoms, and cells of them, that hold enough rows to be seen through the noise."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from kernelease.arrays import Floats, Integers

# research: Tables: moments beside counts. Of the noise of a count, what one more cell is taken to add to an interval
ADDED = 1.0
# research: Tables: single columns, twice. An atom is seen whole where it holds so many standard deviations of its noise
SEEN = 2.0
_TURNS = 3  # convention: after which needs change by less than the noise of the counts that they come from

Noise: TypeAlias = Callable[[float], float]  # share of the budget → standard deviation of a count, in rows


def atoms_seen(distributions: Sequence[Floats], rows: float, share: float, noise: Noise, power: float) -> list[float]:
    """Of each column, how many of its atoms the noise will let through if it gets what it needs.

    An atom of a share p counts for min(1, p / (`SEEN`·σ)), where σ is the noise of a share. A column of 500 values of
    which one holds nearly all rows needs no more than one of two values. What a column gets grows with this `power` of
    what it needs, and this follows from the noise that it gets: a few turns settle both.

    >>> even, single = np.full(100, 0.01), np.array([0.99] + [0.0001] * 99)
    >>> [round(need, 1) for need in atoms_seen([even, single], 10_000, 1.0, lambda share: 20 / share**0.5, 0.5)]
    [100.0, 1.9]
    """
    needs = [float(len(one)) for one in distributions]
    for _ in range(_TURNS):
        powers = np.array(needs) ** power
        sigmas = [noise(float(part)) / rows for part in share * powers / powers.sum()]
        needs = [
            max(1.0, float(np.minimum(1.0, p / (SEEN * sigma)).sum()))
            for p, sigma in zip(distributions, sigmas, strict=True)
        ]
    return needs


def cells_of(distribution: Floats, least: float, ordered: int, *, unseen: float = 0.0) -> Integers:
    """Atoms grouped into cells that hold a share of at least `least` each, as far as they can: (atoms,).

    An atom as heavy as that is a cell of its own. Of the first `ordered` atoms only neighbours share a cell; what
    follows them (NULL, say) keeps cells of its own. Atoms without an order share a cell with others of their weight;
    those lighter than `unseen`, whose weight is noise, with their neighbours: cells that noise chose are too light.

    >>> cells_of(np.array([0.1, 0.1, 0.5, 0.12, 0.1, 0.08]), 0.2, 6).tolist()
    [0, 0, 1, 2, 2, 2]
    >>> cells_of(np.array([0.1, 0.6, 0.05, 0.25]), 0.2, 0).tolist()
    [2, 0, 2, 1]
    """
    if ordered == 0:
        return _unordered(distribution, least, unseen)
    cells = _ordered(distribution[:ordered], least)
    special = np.arange(len(distribution) - ordered) + int(cells.max()) + 1
    return np.concatenate([cells, special]).astype(np.int64)


def _ordered(distribution: Floats, least: float) -> Integers:
    cells = np.zeros(len(distribution), dtype=np.int64)
    cell, held = 0, 0.0
    for atom, share in enumerate(distribution):
        if atom and (held >= least or share >= least):
            cell, held = cell + 1, 0.0
        cells[atom] = cell
        held += share
    if cell and held < least / 2:  # too little is left for a cell
        cells[cells == cell] = cell - 1
    return cells


def _unordered(distribution: Floats, least: float, unseen: float) -> Integers:
    cells = np.zeros(len(distribution), dtype=np.int64)
    heavy = np.flatnonzero(distribution >= least)
    cells[heavy] = np.arange(len(heavy))
    light = np.flatnonzero(distribution < least)
    cell, held = len(heavy), 0.0
    weights = np.where(distribution[light] > unseen, distribution[light], 0.0)
    for atom in light[np.argsort(-weights, kind="stable")]:
        cells[atom] = cell
        held += distribution[atom]
        if held >= least:
            cell, held = cell + 1, 0.0
    return cells


def coarser(cells: Integers, distribution: Floats, least: float, ordered: int) -> Integers:
    """Cells of cells: a grouping of atoms that never parts what `cells` holds together."""
    masses: Floats = np.bincount(cells, distribution).astype(np.float64)
    in_order = int(cells[ordered - 1]) + 1 if ordered else 0
    grouped: Integers = cells_of(masses, least, in_order)[cells]
    return grouped


def parted(cells: Integers, rows: Floats, ends: tuple[Floats, Floats], noise: float) -> Integers:
    """The same cells, where those of a number that are wide and full are cut into halves of their width: (atoms,).

    A row of a cell may be off its middle by half the width h. Where a cell of n rows about m is cut in two, Σx of its
    rows is known better by about n·h/2, and worse by a count's noise times how far m is from the mean, or at least the
    standard deviation: a cell is cut as long as the former is more than the latter. So the last cell of a skewed
    number, as full as all others and much wider, becomes several. `rows` are those of each atom, `ends` the least and
    the greatest number of the first atoms, in order: the others (NULL) stay as they are.

    >>> ends = np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0, 4.0, 90.0])
    >>> parted(np.array([0, 0, 1, 1, 1, 2]), np.array([50.0, 50.0, 40.0, 30.0, 30.0, 9.0]), ends, 10.0).tolist()
    [0, 0, 1, 1, 2, 3]
    """
    count = len(ends[0])
    low, high = ends
    held = rows[:count]
    middle, total = low / 2 + high / 2, max(float(held.sum()), 1e-300)
    mean = float(held @ middle) / total
    spread = float(np.sqrt(held @ (middle - mean) ** 2 / total))
    starts = set(np.flatnonzero(np.diff(cells[:count], prepend=-1)).tolist())
    waiting = list(zip(sorted(starts), [*sorted(starts)[1:], count], strict=True))
    while waiting:
        first, last = waiting.pop()
        half, centre = (high[last - 1] - low[first]) / 2.0, (high[last - 1] + low[first]) / 2.0
        cost = ADDED * noise * max(abs(centre - mean), spread)
        cut = min(max(int(np.searchsorted(low, centre)), first + 1), last - 1)
        if first < cut < last and float(held[first:last].sum()) * half / 2.0 > cost:
            starts.add(cut)
            waiting += [(first, cut), (cut, last)]
    flags = np.zeros(count, dtype=np.int64)
    flags[sorted(starts - {0})] = 1
    own = np.cumsum(flags)
    return np.concatenate([own, own[-1] + cells[count:] - cells[count - 1]]).astype(np.int64)


def width(cells: Integers) -> int:
    """The number of cells of a grouping."""
    return int(cells.max()) + 1
