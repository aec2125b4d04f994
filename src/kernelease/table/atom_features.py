"""How alike two atoms of a declared column are, as a kernel and as integer features of known norm.

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
from kernelease.kernels.composite import AtomProduct
from kernelease.kernels.discrete import Similarity
from kernelease.kernels.kernel import Kernel
from kernelease.table.columns.column import MOST_ATOMS, Column

# ---- How alike two atoms are: by the declaration alone.


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


# ---- Integer features of atoms, with norms that are proved in integers.


STEPS = 2**8  # of a feature of norm 1. convention: likeness to half a percent, and sums far below 2⁵³
MOST_TEST_ATOMS = 4096  # limit: of a column, whose Gram matrix is then 128 MiB
_NEGLIGIBLE = 1e-2  # convention: of the largest eigenvalue: what is below adds cost, and no power


@final
@dataclass(frozen=True)
class AtomFeatures:
    """Integers for each atom of a column: (atoms, r)."""

    integers: Integers

    @classmethod
    def of(cls, column: Column) -> "AtomFeatures":
        """Features from the eigenvectors of the atoms' likeness; one each for atoms that are like no other."""
        if column.size > MOST_TEST_ATOMS:
            raise CapacityError(
                f"column {column.name!r} has {column.size:,} cells; a test takes at most {MOST_TEST_ATOMS:,}. "
                "Declare fewer cells, or groups of its values."
            )
        alike = likeness(column)
        if np.array_equal(alike, np.eye(column.size)):
            return cls(STEPS * np.eye(column.size, dtype=np.int64))
        values, vectors = np.linalg.eigh(alike)
        kept = values > _NEGLIGIBLE * values[-1]
        return cls(np.rint(STEPS * vectors[:, kept] * np.sqrt(values[kept])).astype(np.int64))

    def beside_constant(self) -> "AtomFeatures":
        """Features of (1 − c) + c·likeness, the kernel of one column in the product over a row."""
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
        """The kernel of declared columns."""
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


# ---- The default kernel of a table, made from its schema.


def atom_kernel(columns: Sequence[Column]) -> Kernel:
    """k(x, y) = Π over columns of (1 − c) + c·likeness of the two atoms, on rows of atom codes.

    Ordered atoms are alike as a Gaussian of their distance, with a lengthscale of a fifth of the declared range; others
    are alike only to themselves. Nothing is read from private rows.
    """
    return AtomProduct(columns=tuple(_column_kernel(column) for column in columns))


def _column_kernel(column: Column) -> Similarity:
    if column.size > MOST_ATOMS:
        raise CapacityError(
            f"column {column.name!r} has {column.size:,} values; a kernel takes at most {MOST_ATOMS:,}. Release it by "
            "its counts, the default method, or declare its groups as a category."
        )
    matrix = (1.0 - CONTRAST) + CONTRAST * likeness(column)
    return Similarity(
        values=tuple(float(code) for code in range(column.size)),
        matrix=tuple(tuple(row) for row in matrix.tolist()),
        default=float(column.unknown),
    )
