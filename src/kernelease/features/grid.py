"""Numbers to integers on a declared grid: the first thing that happens to a private number."""

import numpy as np

from kernelease.arrays import Floats, Integers, Rows, as_rows, finite_numbers
from kernelease.errors import ParameterError

LARGEST_STEP = 2**43  # numbers are clamped to ±this many grid steps
DEFAULT_STEPS = 2**20  # grid steps in a lengthscale, where no resolution is declared
_FINEST, _COARSEST = 1e-150, 1e150  # a finite number divided by a resolution in this range can't overflow


def checked_resolution(resolution: tuple[float, ...], owner: str) -> tuple[float, ...]:
    """One grid step per column, or a `ParameterError`."""
    if not resolution or not all(_FINEST <= step <= _COARSEST for step in resolution):
        raise ParameterError(
            f"{owner}: resolution must hold one number from {_FINEST} to {_COARSEST} per column, got {resolution!r}."
        )
    return tuple(float(step) for step in resolution)


def default_resolution(lengthscale: float | tuple[float, ...], columns: int) -> tuple[float, ...]:
    """A lengthscale over 2²⁰ for each column."""
    each = lengthscale if isinstance(lengthscale, tuple) else (lengthscale,) * columns
    if len(each) != columns:
        raise ParameterError(f"The kernel has {len(each)} lengthscales, one per column, but dimension is {columns}.")
    return tuple(float(scale) / DEFAULT_STEPS for scale in each)


def checked_rows(rows: Rows, columns: int, owner: str) -> Rows:
    """Rows of the right number of columns, or a `ParameterError` that names the shape and no value."""
    array = as_rows(rows)
    if array.shape[1] != columns:
        raise ParameterError(f"{owner}: rows must have {columns} columns, got {array.shape[1]}.")
    return array


def grid_columns(rows: Rows, resolution: tuple[float, ...], owner: str, limit: int = LARGEST_STEP) -> Integers:
    """The nearest grid point of every cell, clamped to ±limit steps, one column after the other: (n, d) → (d, n).

    Division, rounding and comparison are exact IEEE operations on one cell at a time, so a cell's integer can't
    depend on its neighbours in memory. No floating-point flag that a cell raises may become an exception.
    """
    cells = finite_numbers(checked_rows(rows, len(resolution), owner))
    with np.errstate(all="ignore"):
        steps = np.rint(cells.T / np.array(resolution)[:, None])
    return np.ascontiguousarray(np.clip(steps, -limit, limit).astype(np.int64))


def clamped_points(points: Rows, resolution: tuple[float, ...], owner: str) -> Floats:
    """Public points as floats within the range of the grid, not rounded to it: (m, d) → (m, d)."""
    reach = np.array(resolution) * float(LARGEST_STEP)
    return np.clip(finite_numbers(checked_rows(points, len(resolution), owner)), -reach, reach)
