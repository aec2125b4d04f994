"""Kernels made of kernels: sums, products, kernels of some columns, and the kernel of encoded rows.

What a cell must look like is the business of the part that reads it: a column may be text to one part and a category
to another. So the `admit` of a composite only fixes the shape and the type of the array, and its `gram` hands each part
rows that this part has admitted. A composite of composites works the same way, down to the leaves.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from kernelease.arrays import Floats, Integers, Rows, finite_numbers
from kernelease.errors import ParameterError, check_integer, check_number, check_tuple
from kernelease.kernels.discrete import Similarity
from kernelease.kernels.elementary import product_above, sum_above
from kernelease.kernels.kernel import Kernel, as_rows, check_same_columns
from kernelease.kernels.numeric import MOST_COLUMNS, ROUNDING


@dataclass(frozen=True, slots=True, kw_only=True)
class Composite(Kernel):
    """Several kernels of the same rows, joined entry by entry."""

    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        check_tuple(f"{type(self).__name__}: kernels", self.kernels, 1, MOST_COLUMNS)
        for kernel in self.kernels:
            _check_kernel(type(self).__name__, kernel)

    @abstractmethod
    def join(self, parts: Callable[[Kernel], Floats]) -> Floats:
        """The entries of the whole from those of each part, in the order of `kernels`."""

    def admit(self, rows: Rows) -> Rows:
        """A two-dimensional array; its cells are left to the parts."""
        return as_rows(rows)

    def gram(self, x: Rows, y: Rows) -> Floats:
        rows, points = as_rows(x), as_rows(y)
        check_same_columns(rows, points)
        return self._within_bound(self.join(lambda part: part.gram(part.admit(rows), part.admit(points))))

    def diagonal(self, x: Rows) -> Floats:
        rows = as_rows(x)
        return self._within_bound(self.join(lambda part: part.diagonal(part.admit(rows))))

    def _within_bound(self, values: Floats) -> Floats:
        return np.clip(values, -self.bound, self.bound)  # rounding may have passed the bound, the exact value can't


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedSum(Composite):
    """k(x, y) = Σ wᵢ·kᵢ(x, y) with weights wᵢ ≥ 0: rows are alike if they are alike in some respect.

    >>> from kernelease.kernels.numeric import Gaussian, Laplace
    >>> both = WeightedSum(kernels=(Gaussian(lengthscale=1.0), Laplace(lengthscale=1.0)), weights=(0.5, 0.5))
    >>> both.bound, both.gram([[0.0]], [[1.0]]).round(3)
    (1.0, array([[0.487]]))
    """

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        Composite.__post_init__(self)
        check_tuple("WeightedSum: weights", self.weights, len(self.kernels), len(self.kernels))
        for weight in self.weights:
            check_number("WeightedSum: each of weights", weight, 0.0, 1e100)
        if not any(self.weights):
            raise ParameterError("WeightedSum: at least one of weights must be positive.")
        _ = self.bound  # raises where it is not finite

    @property
    def bound(self) -> float:
        return sum_above(product_above((w, kernel.bound)) for w, kernel in self._parts())

    @property
    def nonnegative(self) -> bool:
        return all(kernel.nonnegative for weight, kernel in self._parts() if weight > 0.0)

    @property
    def lipschitz(self) -> float | None:
        constants = [(weight, kernel.lipschitz) for weight, kernel in self._parts() if weight > 0.0]
        known = [weight * constant for weight, constant in constants if constant is not None]
        return sum(known) if len(known) == len(constants) else None

    def evaluation_error(self, columns: int) -> float:
        # Σ wᵢ·eᵢ, one rounding in each product and one per sum, relative to Σ wᵢ·(boundᵢ + eᵢ).
        errors = sum(weight * kernel.evaluation_error(columns) for weight, kernel in self._parts())
        return errors + (len(self.kernels) + 1) * ROUNDING * (self.bound + errors)

    def join(self, parts: Callable[[Kernel], Floats]) -> Floats:
        weights = iter(self.weights)
        total = next(weights) * parts(self.kernels[0])
        for weight, kernel in zip(weights, self.kernels[1:], strict=True):
            total += weight * parts(kernel)
        return total

    def _parts(self) -> Iterator[tuple[float, Kernel]]:
        return zip(self.weights, self.kernels, strict=True)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Product(Composite):
    """k(x, y) = Π kᵢ(x, y): rows are alike only if they are alike in every respect.

    >>> from kernelease.kernels.discrete import Kronecker
    >>> from kernelease.kernels.numeric import Gaussian
    >>> age = OnColumns(kernel=Gaussian(lengthscale=10.0), columns=(0,))
    >>> sex = OnColumns(kernel=Kronecker(values=("f", "m")), columns=(1,))
    >>> Product(kernels=(age, sex)).gram([[30, "f"]], [[40, "f"], [30, "m"]]).round(3)
    array([[0.607, 0.   ]])
    """

    def __post_init__(self) -> None:
        Composite.__post_init__(self)
        _ = self.bound  # raises where it is not finite

    @property
    def bound(self) -> float:
        return product_above(kernel.bound for kernel in self.kernels)

    @property
    def nonnegative(self) -> bool:
        return all(kernel.nonnegative for kernel in self.kernels)

    @property
    def lipschitz(self) -> float | None:
        # |Π kᵢ(x) − Π kᵢ(x′)| ≤ Σᵢ |kᵢ(x) − kᵢ(x′)|·Π_{j≠i} boundⱼ, changing one factor at a time.
        constants = [kernel.lipschitz for kernel in self.kernels]
        known = [constant for constant in constants if constant is not None]
        if len(known) < len(constants):
            return None
        return _leave_one_out(known, [kernel.bound for kernel in self.kernels])

    def evaluation_error(self, columns: int) -> float:
        # One factor at a time, as for `lipschitz`, with every other factor at most boundⱼ + eⱼ; one rounding a product.
        errors = [kernel.evaluation_error(columns) for kernel in self.kernels]
        sizes = [kernel.bound + error for kernel, error in zip(self.kernels, errors, strict=True)]
        return _leave_one_out(errors, sizes) + len(sizes) * ROUNDING * product_above(sizes)

    def join(self, parts: Callable[[Kernel], Floats]) -> Floats:
        total = parts(self.kernels[0])
        for kernel in self.kernels[1:]:
            total = total * parts(kernel)
        return total


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OnColumns(Kernel):
    """A kernel of some columns: k(x, y) = kernel(x[columns], y[columns]). Columns are counted from 0.

    >>> from kernelease.kernels.discrete import Spectrum
    >>> OnColumns(kernel=Spectrum(), columns=(1,)).gram([[1, "Ada"]], [[2, "Ada"], [1, "Bob"]])
    array([[1., 0.]])
    """

    kernel: Kernel
    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        _check_kernel("OnColumns", self.kernel)
        check_tuple("OnColumns: columns", self.columns, 1, MOST_COLUMNS)
        for column in self.columns:
            check_integer("OnColumns: each of columns", column, 0, 2**31)
        if len(set(self.columns)) < len(self.columns):
            raise ParameterError(f"OnColumns: columns must be distinct, got {self.columns!r}.")

    @property
    def bound(self) -> float:
        return self.kernel.bound

    @property
    def nonnegative(self) -> bool:
        return self.kernel.nonnegative

    @property
    def lipschitz(self) -> float | None:
        return self.kernel.lipschitz  # dropping columns brings no two rows apart

    def evaluation_error(self, columns: int) -> float:
        return self.kernel.evaluation_error(len(self.columns))

    def admit(self, rows: Rows) -> Rows:
        """A two-dimensional array of all columns; the cells are left to the kernel."""
        return as_rows(rows)

    def gram(self, x: Rows, y: Rows) -> Floats:
        return self.kernel.gram(self._slice(x), self._slice(y))

    def diagonal(self, x: Rows) -> Floats:
        return self.kernel.diagonal(self._slice(x))

    def _slice(self, rows: Rows) -> Rows:
        cells = as_rows(rows)
        if cells.shape[1] <= max(self.columns):
            raise ParameterError(
                f"OnColumns: rows must have a column {max(self.columns)}, counted from 0, got {cells.shape[1]} columns."
            )
        return self.kernel.admit(cells[:, list(self.columns)])


def _leave_one_out(terms: list[float], factors: list[float]) -> float:
    """Σᵢ termsᵢ·Π_{j≠i} factorsⱼ."""
    return sum(term * product_above(factors[:i] + factors[i + 1 :]) for i, term in enumerate(terms))


def _check_kernel(owner: str, kernel: object) -> None:
    if not isinstance(kernel, Kernel):
        raise ParameterError(f"{owner}: every part must be a Kernel, got {type(kernel).__name__}.")


# ---- The kernel of encoded rows: a likeness of atoms for each column, multiplied.


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

    lipschitz: ClassVar[float | None] = None

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
