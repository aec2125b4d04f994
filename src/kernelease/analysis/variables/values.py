"""Values of a variable as arrays: numbers, codes of anything else."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats
from kernelease.errors import ParameterError


def values_of(column: Any) -> NDArray[Any]:
    """Values of a column as an array: float64 with NaN for NULL, or objects."""
    array = np.asarray(column)
    return array.astype(np.float64) if array.dtype.kind in "iuf" else array


def as_matrix(values: NDArray[Any]) -> Floats:
    """Numbers, one row for each value: (n,) or (n, d) → (n, d)."""
    if values.dtype.kind not in "fiub":
        raise ParameterError(
            "This variable's values are not numbers: ask for a probability, as (X == 'a').probability()."
        )
    numbers: Floats = values.astype(np.float64).reshape(len(values), -1)
    return numbers


def as_codes(values: NDArray[Any]) -> Floats:
    """Numbers as they are, NaN as far out; everything else numbered: what rows can be told apart by."""
    if values.dtype.kind in "fiu":
        numbers = values.astype(np.float64).reshape(len(values), -1)
        largest = np.nanmax(np.abs(numbers), initial=1.0, where=np.isfinite(numbers))
        return np.nan_to_num(numbers, nan=3.0 * float(largest), posinf=3.0 * largest, neginf=-3.0 * largest)
    return np.unique(values.astype(str), return_inverse=True)[1].reshape(len(values), -1).astype(np.float64)
