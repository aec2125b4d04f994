"""How finely to count columns together: cells that hold enough rows to be seen through the noise."""

import numpy as np

from kernelease.arrays import Floats, Integers


def cells_of(distribution: Floats, least: float, ordered: int) -> Integers:
    """Atoms grouped into cells that hold a share of at least `least` each, as far as they can: (atoms,).

    An atom as heavy as that is a cell of its own. Of the first `ordered` atoms only neighbours share a cell; what
    follows them (NULL, say) keeps cells of its own. Atoms without an order share a cell with others of their weight.

    >>> cells_of(np.array([0.1, 0.1, 0.5, 0.12, 0.1, 0.08]), 0.2, 6).tolist()
    [0, 0, 1, 2, 2, 2]
    >>> cells_of(np.array([0.1, 0.6, 0.05, 0.25]), 0.2, 0).tolist()
    [2, 0, 2, 1]
    """
    if ordered == 0:
        return _unordered(distribution, least)
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


def _unordered(distribution: Floats, least: float) -> Integers:
    cells = np.zeros(len(distribution), dtype=np.int64)
    heavy = np.flatnonzero(distribution >= least)
    cells[heavy] = np.arange(len(heavy))
    light = np.flatnonzero(distribution < least)
    cell, held = len(heavy), 0.0
    for atom in light[np.argsort(-distribution[light], kind="stable")]:
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


def width(cells: Integers) -> int:
    """The number of cells of a grouping."""
    return int(cells.max()) + 1
