"""Integer features of atoms: a kernel on encoded rows whose norms are inequalities of integers.

A column's features are V (atoms, r) with V·Vᵀ near STEPS²·likeness. Whatever rounding makes of them, they *are* the
kernel: its values, and the diameter of its features, are those of the integers.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import CapacityError
from kernelease.table.columns.column import Column
from kernelease.table.likeness import CONTRAST, likeness

STEPS = 2**8  # of a feature of norm 1. convention: likeness to half a percent, and sums far below 2⁵³
MOST_ATOMS = 4096  # of a column, whose Gram matrix is then 128 MiB
_NEGLIGIBLE = 1e-2  # of the largest eigenvalue: what is below adds cost, and no power


@final
@dataclass(frozen=True)
class AtomFeatures:
    """Integers for each atom of a column: (atoms, r)."""

    integers: Integers

    @classmethod
    def of(cls, column: Column) -> "AtomFeatures":
        """From the eigenvectors of the likeness of atoms; of atoms that are alike to themselves alone, one each."""
        if column.size > MOST_ATOMS:
            raise CapacityError(
                f"column {column.name!r} has {column.size:,} cells; a test takes at most {MOST_ATOMS:,}. "
                "Declare fewer cells, or groups of its values."
            )
        alike = likeness(column)
        if np.array_equal(alike, np.eye(column.size)):
            return cls(STEPS * np.eye(column.size, dtype=np.int64))
        values, vectors = np.linalg.eigh(alike)
        kept = values > _NEGLIGIBLE * values[-1]
        return cls(np.rint(STEPS * vectors[:, kept] * np.sqrt(values[kept])).astype(np.int64))

    def beside_constant(self) -> "AtomFeatures":
        """Those of (1 − c) + c·likeness, the kernel that a row's columns are multiplied of."""
        ones = np.full((len(self.integers), 1), round(STEPS * math.sqrt(1.0 - CONTRAST)), dtype=np.int64)
        scaled = np.rint(math.sqrt(CONTRAST) * self.integers).astype(np.int64)
        return AtomFeatures(np.hstack([ones, scaled]))

    @property
    def size(self) -> int:
        """r."""
        return int(self.integers.shape[1])

    @cached_property
    def gram(self) -> Integers:
        """k(a, b) of all atoms, exactly: (atoms, atoms)."""
        floats = self.integers.astype(np.float64)  # products far below 2⁵³: exact, and quicker than integers
        return np.rint(floats @ floats.T).astype(np.int64)

    @property
    def squared_diameter(self) -> int:
        """max ‖v(a) − v(b)‖² over all atoms."""
        norms = np.diagonal(self.gram)
        return int((norms[:, None] + norms - 2 * self.gram).max())


@final
@dataclass(frozen=True, kw_only=True)
class PairFeatures:
    """Features of a row: for each pair of columns the products of theirs, side by side.

    The kernel is Σ over pairs of k_i·k_j, with k_j = (1 − c) + c·likeness: it sees how each column is distributed, and
    how each two go together. One column alone stands for itself.
    """

    columns: tuple[AtomFeatures, ...]

    @classmethod
    def of(cls, columns: Sequence[Column]) -> "PairFeatures":
        """For declared columns."""
        return cls(columns=tuple(AtomFeatures.of(column).beside_constant() for column in columns))

    @property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """The columns of each kernel that is added."""
        return tuple(itertools.combinations(range(len(self.columns)), 2)) or ((0,),)

    @property
    def unit(self) -> float:
        """What one step of a feature is worth, where the kernel of a row with itself is about 1."""
        return 1.0 / (math.sqrt(len(self.sets)) * float(STEPS ** len(self.sets[0])))

    @property
    def squared_diameter(self) -> int:
        """At least max ‖v(x) − v(y)‖² = k(x, x) + k(y, y) − 2·k(x, y), set by set, from the range of each k_i."""
        ranges = [(int(column.gram.min()), int(np.diagonal(column.gram).max())) for column in self.columns]
        corners = [[math.prod(ends) for ends in itertools.product(*(ranges[i] for i in one))] for one in self.sets]
        return sum(2 * (max(products) - min(products)) for products in corners)

    def blocks(self, codes: Integers) -> Iterator[Floats]:
        """The features of rows of atom codes, set by set: (n, columns) → (n, r₁·r₂), integers as floats."""
        for one in self.sets:
            parts = [self.columns[i].integers[codes[:, i]].astype(np.float64) for i in one]
            yield parts[0] if len(parts) == 1 else np.einsum("na,nb->nab", *parts).reshape(len(codes), -1)
