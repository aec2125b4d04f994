"""Shapes, how rows are cut into blocks, cells as finite numbers, and the numbers in arrays of Arrow.

A set of rows is a two-dimensional array, one row each: float64 where all columns are numbers, `object` where numbers,
categories and strings are mixed. n is a number of rows, d of columns, m of synthetic points, J of features.
"""

import math
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
BigIntegers: TypeAlias = NDArray[np.object_]  # Python integers: they can't overflow
Rows: TypeAlias = NDArray[Any]  # (n, d), float64 or object

LARGEST = 1e150  # numbers are clamped to ±this: their squares still fit a float64


def as_float64(array: NDArray[Any]) -> Floats:
    """Numbers of any kind as float64."""
    with np.errstate(all="ignore"):  # a cell too large for a float64 becomes infinity, and no warning says so
        return array.astype(np.float64)


def finite_numbers(cells: Any) -> Floats:
    """Every cell as a finite float64, with no exception: NaN and what is not a number become 0, ±inf is clamped.

    A rule per cell, fixed in advance: whether a cell was damaged changes nobody else's row and raises nothing.
    """
    array = np.asarray(cells)
    if array.dtype.kind not in "fiub":
        flat = [cell_number(cell, 0.0) for cell in array.ravel().tolist()]
        array = np.array(flat, dtype=np.float64).reshape(array.shape)
    numbers = np.nan_to_num(as_float64(array), nan=0.0, posinf=LARGEST, neginf=-LARGEST)
    return np.clip(numbers, -LARGEST, LARGEST)


def cell_number(cell: object, otherwise: float) -> float:
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
