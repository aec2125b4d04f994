"""What a kernel is, the rows that it takes, the bounds that it carries, and sums over all pairs of two sets of rows."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers, Rows, as_float64, block_slices, cell_number
from kernelease.errors import ParameterError
from kernelease.kinds import Kind

# ---- Rows, as a kernel takes them.


def as_rows(rows: Any, *, columns: int | None = None) -> Rows:
    """A two-dimensional array of rows, or a `ParameterError` that names the shape (never a value).

    Every number becomes a float64 and everything else stays as it is, cell by cell: whether one row holds a text among
    numbers must not change what becomes of the other rows (a list handed to NumPy whole would turn them all to text).
    `columns` is how many an empty list has, which does not show them itself.

    >>> as_rows([[1, 2], [3, "x"]])
    array([[1.0, 2.0],
           [3.0, 'x']], dtype=object)
    """
    array = rows if isinstance(rows, np.ndarray) else _object_array(rows, columns)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ParameterError(f"Rows must be a two-dimensional array with at least one column, got shape {array.shape}.")
    if array.dtype == np.float64:
        return array.copy()  # the caller's may change
    if array.dtype.kind in "fiub":
        return as_float64(array)
    cells = np.empty(array.shape, dtype=object)
    cells.ravel()[:] = [_plain_cell(cell) for cell in array.ravel().tolist()]
    return cells


def _object_array(rows: Any, columns: int | None) -> NDArray[Any]:
    """Nested sequences as an array of the cells themselves; tables that know how (pandas) convert themselves."""
    if hasattr(rows, "__array__"):
        return np.asarray(rows)
    listed = [list(row) if isinstance(row, Iterable) and not isinstance(row, str) else [row] for row in rows]
    widths = {len(row) for row in listed} or {columns or 0}
    if widths == {0}:
        raise ParameterError(
            "Rows must have columns, and an empty list shows none. Give an array of shape (0, columns)."
        )
    if len(widths) != 1:
        raise ParameterError("Rows must all have the same number of columns.")
    array = np.empty((len(listed), widths.pop()), dtype=object)
    for index, row in enumerate(listed):
        array[index] = row
    return array


def _plain_cell(cell: object) -> object:
    return cell_number(cell, math.inf) if isinstance(cell, (bool, int, float, np.number)) else cell


# ---- What a kernel is, and the bounds that it carries.


class Kernel(Kind, ABC):
    """A positive-definite function k(x, y) on rows, with the bounds that privacy and rates rest on.

    Every evaluation is elementwise and in a fixed order over columns: k(x, y) depends on x and y alone, to the bit,
    whatever other rows are in the same array.
    """

    @property
    @abstractmethod
    def bound(self) -> float:
        """sup k(x, x). The norm of k(x, ·) is at most its square root."""

    @property
    @abstractmethod
    def nonnegative(self) -> bool:
        """Whether k(x, y) ≥ 0 for all x and y: two rows are then at most √(2·bound) apart, not 2·√bound."""

    @property
    @abstractmethod
    def lipschitz(self) -> float | None:
        """L with |k(x, y) − k(x′, y)| ≤ L·‖x − x′‖ for all x, x′, y, or None where there is none."""

    @abstractmethod
    def evaluation_error(self, columns: int) -> float:
        """sup |computed k(x, y) − exact k(x, y)| for rows of so many columns that `admit` returned."""

    @abstractmethod
    def admit(self, rows: Rows) -> Rows:
        """Rows made legal for this kernel, cell by cell: clamped, damaged cells replaced. Never raises for a value."""

    @abstractmethod
    def gram(self, x: Rows, y: Rows) -> Floats:
        """K[i, j] = k(x[i], y[j]): (n, d), (m, d) → (n, m)."""

    def total(self, x: Rows, y: Rows, *, per_unit: float) -> Integers:
        """Σ_i of k(x[i], y[j])·per_unit, each rounded to a whole number before: (n, d), (m, d) → (m,), exact.

        Floats add whole numbers up to 2⁵² without rounding, so that the order changes nothing.
        """
        result = np.zeros(len(y), dtype=np.int64)
        for rows in block_slices(len(x), _addable(self.bound * per_unit)):
            values = self.gram(x[rows], y) * per_unit
            np.rint(values, out=values)
            result += values.sum(axis=0).astype(np.int64)
        return result

    def diagonal(self, x: Rows) -> Floats:
        """k(x[i], x[i]): (n, d) → (n,)."""
        return np.array([self.gram(x[i : i + 1], x[i : i + 1])[0, 0] for i in range(len(x))])

    @property
    def diameter(self) -> float:
        """sup ‖k(x, ·) − k(x′, ·)‖ in the kernel's own space."""
        return float(np.sqrt((2.0 if self.nonnegative else 4.0) * self.bound))


def _addable(largest: float) -> int:
    """How many numbers of that size have a sum of at most 2⁵²."""
    return max(1, int(2.0**52 / largest))


# ---- All pairs of two sets of rows, block by block, with sums over columns in a fixed order.
#
# A matrix product may sum in another order when a row is added or dropped, and then changes low bits of *other* rows.
# Here every pair sees the same elementwise operations in the same order, wherever it stands in the array.


BLOCK = 2**15  # pairs at once: three arrays of 256 KiB stay in the second-level cache
WIDTH = 2**12  # points at once: long inner loops, the quickest shape of a block

Term: TypeAlias = Callable[[Floats, Floats, Floats], None]
"""term(a, b, out): out ← something of a (r, 1) and b (c,), elementwise."""

Block: TypeAlias = Callable[[Floats, Floats, Floats, Floats], None]
"""block(x, y, out, scratch): out (r, c) ← values of all pairs of x (d, r) and y (d, c), data columns first."""


def each_pair(x: Floats, y: Floats, block: Block) -> Floats:
    """Values of all pairs, computed block by block in memory that is used again: (n, d), (m, d) → (n, m)."""
    check_same_columns(x, y)
    x_columns, y_columns = np.ascontiguousarray(x.T), np.ascontiguousarray(y.T)
    result = np.empty((len(x), len(y)))
    width = max(1, min(len(y), WIDTH))
    height = max(1, BLOCK // width)
    memory = np.empty((2, height * width))  # fresh memory for each block costs more time than the arithmetic
    for rows in block_slices(len(x), height):
        for points in block_slices(len(y), width):
            shape = (rows.stop - rows.start, points.stop - points.start)
            out, scratch = (buffer[: shape[0] * shape[1]].reshape(shape) for buffer in memory)
            block(x_columns[:, rows], y_columns[:, points], out, scratch)
            result[rows, points] = out
    return result


def sums_of_pairs(x: Floats, y: Floats, block: Block, *, per_unit: float) -> Integers:
    """What `Kernel.total` is for a kernel of at most 1 whose blocks are the same for k(y, x), to the bit.

    Rows lie along the inner loops and are added up while they are in the cache: no pair's value is ever written down.
    """
    check_same_columns(x, y)
    x_columns, y_columns = np.ascontiguousarray(x.T), np.ascontiguousarray(y.T)
    result = np.zeros(len(y), dtype=np.int64)
    width = max(1, min(len(x), WIDTH, _addable(per_unit)))
    height = max(1, BLOCK // width)
    memory = np.empty((2, height * width))
    for rows in block_slices(len(x), width):
        for points in block_slices(len(y), height):
            shape = (points.stop - points.start, rows.stop - rows.start)
            out, scratch = (buffer[: shape[0] * shape[1]].reshape(shape) for buffer in memory)
            block(y_columns[:, points], x_columns[:, rows], out, scratch)
            out *= per_unit
            np.rint(out, out=out)
            result[points] += out.sum(axis=1).astype(np.int64)
    return result


def each_alone(x: Floats, block: Block) -> Floats:
    """Values of each row paired with itself, by the operations of `each_pair`: (n, d) → (n,)."""
    columns = x.T
    out = np.empty((len(x), 1))
    block(columns, columns[:, :, np.newaxis], out, np.empty_like(out))  # each row broadcast with itself only
    return out[:, 0]


def check_same_columns(x: Floats, y: Floats) -> None:
    """Raise unless both have as many columns. The numbers of rows stay out of the message: they may be private."""
    if x.shape[1] != y.shape[1]:
        raise ParameterError(
            f"Both sets of rows must have the same number of columns, got {x.shape[1]} and {y.shape[1]}."
        )


def sum_over_columns(
    term: Term, x: Floats, y: Floats, out: Floats, scratch: Floats, *, weights: float | tuple[float, ...]
) -> None:
    """out ← Σ_j weight_j·term(x_j, y_j), first column first: (d, r), (d, c) → (r, c).

    A sum that passes the largest number is inf, in silence: no private value may decide whether there is a warning.
    """
    with np.errstate(over="ignore"):
        for column in range(len(x)):
            target = scratch if column else out
            term(x[column][:, np.newaxis], y[column], target)
            if isinstance(weights, tuple):
                target *= weights[column]
            if column:
                out += scratch
        if not isinstance(weights, tuple):
            out *= weights


def squared_difference(a: Floats, b: Floats, out: Floats) -> None:
    """out ← (a − b)²."""
    np.subtract(a, b, out=out)
    np.multiply(out, out, out=out)


def absolute_difference(a: Floats, b: Floats, out: Floats) -> None:
    """out ← |a − b|."""
    np.subtract(a, b, out=out)
    np.abs(out, out=out)


def product(a: Floats, b: Floats, out: Floats) -> None:
    """out ← a·b."""
    np.multiply(a, b, out=out)
