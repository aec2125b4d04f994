"""Whether what was computed twice is the same, up to the rounding of floats."""

import dataclasses
import math
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

ROUNDING = 1e-6  # relative: what another order of additions does to a fit, and far below what matters


def alike(one: Any, other: Any) -> bool:
    """Whether two objects are of one kind and hold the same, numbers in them up to rounding.

    An array is compared on the scale of its largest number, so that small whole numbers have to be the same.

    >>> alike(np.array([1.0, 1e-9]), np.array([1.0, 0.0])), alike(np.array([1, 2]), np.array([1, 3]))
    (True, False)
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return _same_arrays(one, other)
    if isinstance(one, float):
        return math.isclose(one, other, rel_tol=ROUNDING)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if dataclasses.is_dataclass(one) and not isinstance(one, Enum):
        names = [field.name for field in dataclasses.fields(one) if field.init]
        return all(alike(getattr(one, name), getattr(other, name)) for name in names)
    return bool(one == other)


def same_rows(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables hold the same rows; weights and the coordinates of points up to the rounding of a fit."""
    if one.schema != other.schema or one.num_rows != other.num_rows:
        return False
    return all(_same_columns(first, second) for first, second in zip(one.columns, other.columns, strict=True))


def _same_columns(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    if one.equals(other):
        return True
    if not pa.types.is_floating(one.type) or one.null_count or other.null_count:
        return False
    return _close(one.to_numpy(), other.to_numpy())


def _same_arrays(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return one.tolist() == other.tolist() if one.dtype.kind not in "fiu" else _close(one, other)


def _close(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    first, second = (array.astype(np.float64) for array in (one, other))
    return bool(np.allclose(first, second, rtol=ROUNDING, atol=ROUNDING * float(np.abs(second).max(initial=0.0))))
