"""Rows of one column that holds anything: texts, categories, objects."""

import numpy as np

from kernelease.arrays import Rows


def column(*cells: object) -> Rows:
    """Each cell as a row of its own: (n, 1)."""
    rows = np.empty((len(cells), 1), dtype=object)
    rows[:, 0] = cells
    return rows
