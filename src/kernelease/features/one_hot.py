"""One-hot features of categories."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TypeAlias, final

import numpy as np

from kernelease.arrays import Floats, Integers, Rows
from kernelease.features.feature_map import FeatureMap
from kernelease.features.grid import checked_rows
from kernelease.kernels.categorical import Kronecker
from kernelease.kernels.rounding import sqrt_above, step_below

Values: TypeAlias = tuple[Hashable, ...]


@final
@dataclass(frozen=True, slots=True)
class OneHot(FeatureMap):
    """One-hot features: φ(x) has 1/√c at the atom of each of c columns, so φ(x)·φ(y) is the share of equal columns.

    `values` are the declared categories of one column, or a tuple of such tuples, one per column. What is not declared
    is the column's last atom, *other*. NaN counts as None, as for the `Kronecker` kernel. Declare the categories, don't
    collect them from private rows: a category that one person has would give that person away. Norm 1, diameter √2.

    >>> phi = OneHot(("red", "green"))
    >>> phi.integers(np.array([["green"], ["blue"], [None]], dtype=object))
    array([[0, 1, 0],
           [0, 0, 1],
           [0, 0, 1]])
    >>> OneHot((("red", "green"), (0, 1, 2))).dimension
    7
    """

    values: Values | tuple[Values, ...]
    _columns: tuple[Kronecker, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        several = tuple(values for values in self.values if isinstance(values, tuple))
        columns = several if several and len(several) == len(self.values) else (self.values,)
        object.__setattr__(self, "_columns", tuple(Kronecker(values=values) for values in columns))

    @property
    def dimension(self) -> int:
        """J: the declared values of every column, and one *other* each."""
        return sum(len(column.values) + 1 for column in self._columns)

    @property
    def step(self) -> float:
        """1/√c, rounded down."""
        return step_below(len(self._columns))

    @property
    def norm_bound(self) -> float:
        """1: one atom in each column."""
        return 1.0

    @property
    def diameter(self) -> float:
        """√2: inner products are shares of equal columns, never negative."""
        return sqrt_above(2)

    @property
    def norm_bound_l1(self) -> float:
        """√c."""
        return sqrt_above(len(self._columns))

    @property
    def diameter_l1(self) -> float:
        """2√c."""
        return 2.0 * self.norm_bound_l1

    def atoms(self, rows: Rows) -> Integers:
        """The atom of every cell, numbered within its column; *other* is the last: (n, c) → (n, c)."""
        cells = checked_rows(rows, len(self._columns), "OneHot")
        return np.stack([column.codes(cells[:, i, None]) for i, column in enumerate(self._columns)], axis=1)

    def integers(self, rows: Rows) -> Integers:
        """1 at the atom of each column: (n, c) → (n, J)."""
        atoms = self.atoms(rows)
        result = np.zeros((len(atoms), self.dimension), dtype=np.int64)
        np.put_along_axis(result, atoms + self._offsets, 1, axis=1)
        return result

    def total(self, rows: Rows) -> Integers:
        """Rows per atom, over any number of rows: (n, c) → (J,)."""
        return np.bincount((self.atoms(rows) + self._offsets).ravel(), minlength=self.dimension).astype(np.int64)

    @property
    def _offsets(self) -> Integers:
        return np.cumsum([0, *(len(column.values) + 1 for column in self._columns[:-1])])

    def evaluate(self, points: Rows) -> Floats:
        """φ of public points: (m, c) → (m, J)."""
        return np.multiply(self.integers(points), self.step, dtype=np.float64)
