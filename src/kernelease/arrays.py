"""Shapes, and how rows are cut into blocks.

A set of rows is a two-dimensional array, one row each: float64 where all columns are numbers, `object` where numbers,
categories and strings are mixed. n is a number of rows, d of columns, m of synthetic points, J of features.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelease.errors import ParameterError

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
BigIntegers: TypeAlias = NDArray[np.object_]  # Python integers: they can't overflow
Rows: TypeAlias = NDArray[Any]  # (n, d), float64 or object

LARGEST = 1e150  # numbers are clamped to ±this: their squares still fit a float64


def as_rows(rows: Any) -> Rows:
    """A two-dimensional array of rows, or a `ParameterError` that names the shape (never a value).

    >>> as_rows([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    array = np.asarray(rows)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ParameterError(f"Rows must be a two-dimensional array with at least one column, got shape {array.shape}.")
    if array.dtype.kind not in "fiub":
        return array.astype(object)
    with np.errstate(all="ignore"):  # a cell too large for a float64 becomes infinity, and no warning says so
        return array.astype(np.float64)


def finite_numbers(cells: Any) -> Floats:
    """Every cell as a finite float64, with no exception: NaN and what is not a number become 0, ±inf is clamped.

    A rule per cell, fixed in advance: whether a cell was damaged changes nobody else's row and raises nothing.
    """
    array = np.asarray(cells)
    if array.dtype.kind not in "fiub":
        array = np.array([_number(cell) for cell in array.ravel()], dtype=np.float64).reshape(array.shape)
    with np.errstate(all="ignore"):
        numbers = array.astype(np.float64)
    return np.clip(np.nan_to_num(numbers, nan=0.0, posinf=LARGEST, neginf=-LARGEST), -LARGEST, LARGEST)


def _number(cell: object) -> float:
    try:
        return float(cell)  # type: ignore[arg-type]  # anything may come; what is not a number is caught below
    except (TypeError, ValueError, OverflowError):
        return 0.0


def block_slices(count: int, block: int) -> Iterator[slice]:
    """Slices of at most `block` that cover range(count).

    >>> [(s.start, s.stop) for s in block_slices(5, 2)]
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, count, block):
        yield slice(start, min(start + block, count))
