"""How alike two atoms of a declared column are: nothing is read from private rows."""

import numpy as np

from kernelease.arrays import Floats
from kernelease.table.columns.column import Column

CONTRAST = 0.5  # rows that agree nowhere in a column keep 1 − this of their likeness. convention: a half
LENGTHSCALE = 0.2  # of a column's declared range. convention: a fifth of it is near


def likeness(column: Column) -> Floats:
    """How alike two atoms of a column are: (atoms, atoms), 1 on the diagonal."""
    alike = np.eye(column.size)
    places = column.centres()
    ordinary = np.flatnonzero(~np.isnan(places))
    if getattr(column, "scale", "linear") == "log":  # its cells are equally far apart
        places[ordinary] = np.arange(len(ordinary))
    if not column.ordered or len(ordinary) < 2:
        return alike
    span = float(np.ptp(places[ordinary]))
    distance = (places[ordinary, None] - places[None, ordinary]) / (LENGTHSCALE * span)
    alike[np.ix_(ordinary, ordinary)] = np.exp(-0.5 * distance**2)
    return alike
