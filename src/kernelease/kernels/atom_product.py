"""The kernel of encoded rows: a likeness of atoms for each column, multiplied."""

from dataclasses import dataclass, field
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers, Rows, finite_numbers
from kernelease.errors import ParameterError
from kernelease.kernels.categorical import Similarity
from kernelease.kernels.composite import OnColumns, Product
from kernelease.kernels.kernel import Kernel
from kernelease.kernels.parameters import check_tuple


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AtomProduct(Kernel):
    """k(x, y) = Π_j likeness_j[x_j, y_j] on rows of atom codes, (n, columns): code c of column j is `values[c]`.

    The same to the bit as the Product of each column's Similarity, whose bounds it has, but by looking codes up in
    arrays instead of hashing cells. A cell that is no code counts as the nearest one.

    >>> sex = Similarity(values=(0.0, 1.0), matrix=((1.0, 0.5), (0.5, 1.0)), default=0.0)
    >>> AtomProduct(columns=(sex, sex)).gram(np.array([[0.0, 1.0]]), np.array([[0.0, 0.0], [1.0, 0.0]]))
    array([[0.5 , 0.25]])
    """

    columns: tuple[Similarity, ...]
    _product: Product = field(init=False, repr=False, compare=False)
    _bound: float = field(init=False, repr=False, compare=False)
    _tables: tuple[Floats, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_tuple("AtomProduct: columns", self.columns, 1, 4096)
        given: tuple[object, ...] = self.columns
        for part in given:
            if not isinstance(part, Similarity) or part.values != tuple(range(len(part.values))):
                raise ParameterError("AtomProduct: each column must be a Similarity whose values are 0, 1, 2, …")
        product = Product(kernels=tuple(OnColumns(kernel=part, columns=(i,)) for i, part in enumerate(self.columns)))
        object.__setattr__(self, "_product", product)
        object.__setattr__(self, "_bound", product.bound)
        object.__setattr__(self, "_tables", tuple(np.array(part.matrix) for part in self.columns))

    @property
    def bound(self) -> float:
        return self._bound

    @property
    def nonnegative(self) -> bool:
        return all(bool((table >= 0.0).all()) for table in self._tables)

    @property
    def lipschitz(self) -> float | None:
        return None

    def evaluation_error(self, columns: int) -> float:
        return self._product.evaluation_error(columns)

    def admit(self, rows: Rows) -> Rows:
        """Codes as float64, each the nearest of its column: (n, columns)."""
        cells = np.asarray(rows)
        if cells.ndim != 2 or cells.shape[1] != len(self.columns):
            raise ParameterError(f"AtomProduct: rows must have {len(self.columns)} columns.")
        most = np.array([len(table) - 1.0 for table in self._tables])
        return np.clip(np.rint(finite_numbers(cells)), 0.0, most)

    def _codes(self, rows: Rows) -> Integers:
        """(n, columns) → (columns, n)."""
        return np.ascontiguousarray(self.admit(rows).T.astype(np.int64))

    def gram(self, x: Rows, y: Rows) -> Floats:
        left, right = self._codes(x), self._codes(y)
        total: Floats = self._tables[0][left[0]].take(right[0], axis=1)
        for table, a, b in zip(self._tables[1:], left[1:], right[1:], strict=True):
            total *= table[a].take(b, axis=1)
        return total

    def diagonal(self, x: Rows) -> Floats:
        codes = self._codes(x)
        total: Floats = self._tables[0].diagonal()[codes[0]]
        for table, code in zip(self._tables[1:], codes[1:], strict=True):
            total = total * table.diagonal()[code]
        return total
