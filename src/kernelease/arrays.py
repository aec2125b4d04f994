"""Shapes, how rows are cut into blocks, and checks of declared parameters.

A set of rows is a two-dimensional array, one row each: float64 where all columns are numbers, `object` where numbers,
categories and strings are mixed. n is a number of rows, d of columns, m of synthetic points, J of features.
"""

import math
import numbers
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from kernelease.errors import ParameterError

# --------------------
# Shapes, and how rows are cut into blocks.


Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
BigIntegers: TypeAlias = NDArray[np.object_]  # Python integers: they can't overflow
Rows: TypeAlias = NDArray[Any]  # (n, d), float64 or object

LARGEST = 1e150  # numbers are clamped to ±this: their squares still fit a float64


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
    if array.dtype.kind in "fiub":
        return _as_float64(array)
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
    return _number(cell, math.inf) if isinstance(cell, (bool, int, float, np.number)) else cell


def _as_float64(array: NDArray[Any]) -> Floats:
    with np.errstate(all="ignore"):  # a cell too large for a float64 becomes infinity, and no warning says so
        return array.astype(np.float64)


def finite_numbers(cells: Any) -> Floats:
    """Every cell as a finite float64, with no exception: NaN and what is not a number become 0, ±inf is clamped.

    A rule per cell, fixed in advance: whether a cell was damaged changes nobody else's row and raises nothing.
    """
    array = np.asarray(cells)
    if array.dtype.kind not in "fiub":
        flat = [_number(cell, 0.0) for cell in array.ravel().tolist()]
        array = np.array(flat, dtype=np.float64).reshape(array.shape)
    numbers = np.nan_to_num(_as_float64(array), nan=0.0, posinf=LARGEST, neginf=-LARGEST)
    return np.clip(numbers, -LARGEST, LARGEST)


def _number(cell: object, otherwise: float) -> float:
    """A cell as a float; what can't be one is `otherwise`, whatever its own conversion raises."""
    try:
        return float(cell)  # type: ignore[arg-type]  # anything may come
    except OverflowError:  # an integer beyond every float
        return math.inf if isinstance(cell, int) and cell > 0 else -math.inf
    except Exception:  # noqa: BLE001  # a cell's own __float__ may raise anything, and no cell may raise
        return otherwise


def block_slices(count: int, block: int) -> Iterator[slice]:
    """Slices of at most `block` that cover range(count).

    >>> [(s.start, s.stop) for s in block_slices(5, 2)]
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, count, block):
        yield slice(start, min(start + block, count))


# --------------------
# Checks of declared parameters. They are public, so the messages may show them.


SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100  # the square of a scale, and one over it, is far from under- and overflow


def check_scale(name: str, value: object) -> None:
    """Raise unless `value` is a positive number whose square can be computed with."""
    if not (_is_number(value) and SMALLEST_SCALE <= value <= LARGEST_SCALE):
        raise ParameterError(f"{name} must be a positive, finite number from 1e-100 to 1e100, got {value!r}.")


def check_number(name: str, value: object, smallest: float, largest: float) -> None:
    """Raise unless smallest ≤ value ≤ largest."""
    if not (_is_number(value) and smallest <= value <= largest):
        raise ParameterError(f"{name} must be a number from {smallest:g} to {largest:g}, got {value!r}.")


def check_integer(name: str, value: object, smallest: int, largest: int) -> None:
    """Raise unless `value` is an integer with smallest ≤ value ≤ largest."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not smallest <= int(value) <= largest:
        end = "on" if largest > sys.maxsize // 2 else f"to {largest}"
        raise ParameterError(f"{name} must be an integer from {smallest} {end}, got {value!r}.")


def check_tuple(name: str, value: object, fewest: int, most: int) -> None:
    """Raise unless `value` is a tuple of `fewest` to `most` things."""
    if not isinstance(value, tuple):
        raise ParameterError(f"{name} must be a tuple, got {type(value).__name__}.")
    if not fewest <= len(value) <= most:
        wanted = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        raise ParameterError(f"{name} must be a tuple of length {wanted}, got {len(value)}.")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
