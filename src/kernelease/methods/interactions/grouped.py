"""Columns as they are planned for: of those whose atoms are leaves in groups, the groups."""

from collections.abc import Sequence

import numpy as np

from kernelease.measured.levels import declared_levels
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Category


def grouped(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The same columns, where those in groups have these for their values.

    >>> from kernelease.table.columns.hierarchy import Hierarchy
    >>> code = Hierarchy(name="code", values=("E10", "E11", "I10"), prefix=1, nullable=True)
    >>> [column.size for column in grouped([code])]
    [3]
    """
    found = zip(columns, declared_levels(columns), strict=True)
    return tuple(
        column if own is None else Category(name=column.name, values=tuple(np.unique(own).tolist()))
        for column, own in found
    )


def leaves(columns: Sequence[Column]) -> tuple[int, ...]:
    """How many leaves there are in the groups of each column; 0 where it has none."""
    return tuple(0 if own is None else len(own) for own in declared_levels(columns))
