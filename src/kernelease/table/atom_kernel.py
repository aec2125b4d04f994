"""A kernel on encoded rows, made from a schema alone: the owner knows columns, not kernels."""

from collections.abc import Sequence

import numpy as np

from kernelease.arrays import Floats
from kernelease.kernels.atom_product import AtomProduct
from kernelease.kernels.categorical import Similarity
from kernelease.kernels.kernel import Kernel
from kernelease.table.columns.column import Column

CONTRAST = 0.5  # rows that agree nowhere in a column keep 1 − this of their likeness. convention: a half
LENGTHSCALE = 0.2  # of a column's declared range. convention: a fifth of it is near


def atom_kernel(columns: Sequence[Column]) -> Kernel:
    """k(x, y) = Π over columns of (1 − c) + c·likeness of the two atoms, on rows of atom codes.

    Ordered atoms are alike as a Gaussian of their distance, with a lengthscale of a fifth of the declared range; others
    are alike only to themselves. Nothing is read from private rows.
    """
    return AtomProduct(columns=tuple(_column_kernel(column) for column in columns))


def _column_kernel(column: Column) -> Similarity:
    matrix = (1.0 - CONTRAST) + CONTRAST * _likeness(column)
    return Similarity(
        values=tuple(float(code) for code in range(column.size)),
        matrix=tuple(tuple(row) for row in matrix.tolist()),
        default=float(column.unknown),
    )


def _likeness(column: Column) -> Floats:
    likeness = np.eye(column.size)
    places = column.centres()
    ordinary = np.flatnonzero(~np.isnan(places))
    if getattr(column, "scale", "linear") == "log":  # its cells are equally far apart
        places[ordinary] = np.arange(len(ordinary))
    if not column.ordered or len(ordinary) < 2:
        return likeness
    span = float(np.ptp(places[ordinary]))
    distance = (places[ordinary, None] - places[None, ordinary]) / (LENGTHSCALE * span)
    likeness[np.ix_(ordinary, ordinary)] = np.exp(-0.5 * distance**2)
    return likeness
