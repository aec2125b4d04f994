"""What a feature map is: rows to integer vectors of known norm and diameter, by way of a declared grid."""

from abc import ABC, abstractmethod

import numpy as np

from kernelease.arrays import LARGEST, BigIntegers, Floats, Integers, Rows, finite_numbers
from kernelease.errors import ParameterError
from kernelease.kernels.kernel import as_rows
from kernelease.kinds import Kind


class FeatureMap(Kind, ABC):
    """φ: a row to a vector whose norm and diameter are known before any row is seen.

    On the private side a row becomes *integers* that depend on that row alone (`integers`), integers are summed
    exactly, and a public function of that sum (`project`, usually the identity) is what a mechanism adds noise to:
    one unit of it is `step` in feature units. On the public side `evaluate` gives φ of synthetic points as floats.

    The bounds belong to the map itself, never to the kernel that it approximates, and hold for every input whatever:
    NaN, infinities, unknown categories.
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of coordinates that are released (J)."""

    @property
    def width(self) -> int:
        """Number of integers that a row contributes; differs from `dimension` only where `project` does something."""
        return self.dimension

    @property
    @abstractmethod
    def step(self) -> float:
        """What one unit of `project`'s result is worth in feature units."""

    @property
    @abstractmethod
    def norm_bound(self) -> float:
        """R ≥ sup ‖φ(x)‖, rounding included."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """≥ sup ‖φ(x) − φ(x′)‖, rounding included."""

    @property
    @abstractmethod
    def diameter_l1(self) -> float:
        """≥ sup ‖φ(x) − φ(x′)‖₁, rounding included."""

    @property
    @abstractmethod
    def norm_bound_l1(self) -> float:
        """≥ sup ‖φ(x)‖₁, rounding included."""

    @property
    def block_rows(self) -> int:
        """How many rows to handle at once: about 32 MiB of integers. Changes no bit of the result."""
        return max(16, min(2**16, 2**22 // self.width))

    @abstractmethod
    def integers(self, rows: Rows) -> Integers:
        """A row's integers, a function of that row alone: (n, d) → (n, width). Each is below 2⁴⁶ in size."""

    def total(self, rows: Rows) -> Integers:
        """Sum of `integers` over at most `block_rows` rows: (n, d) → (width,). Override where a sum is quicker."""
        total: Integers = self.integers(rows).sum(axis=0)
        return total

    def project(self, total: BigIntegers) -> BigIntegers:
        """The released coordinates of an exact sum, in units of `step`: (width,) → (dimension,). Public and fixed."""
        return total

    def evaluate(self, points: Rows) -> Floats:
        """φ of synthetic points, in floats: (m, d) → (m, J). A map that is not `integers` times `step` says its own."""
        return np.multiply(self.integers(points), self.step, dtype=np.float64)


# ---- Numbers to integers on a declared grid: the first thing that happens to a private number.


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


def grid_reach(resolution: tuple[float, ...]) -> Floats:
    """The largest number of each column that a grid holds: (d,)."""
    return np.minimum(np.array(resolution) * float(LARGEST_STEP), LARGEST)


def clamped_points(points: Rows, resolution: tuple[float, ...], owner: str) -> Floats:
    """Public points as floats within the range of the grid, not rounded to it: (m, d) → (m, d)."""
    reach = grid_reach(resolution)
    if points.dtype == np.float64 and points.shape[1:] == reach.shape:  # as in a fit, which asks hundreds of times
        return np.asarray(np.clip(np.nan_to_num(points, nan=0.0), -reach, reach))
    return np.clip(finite_numbers(checked_rows(points, len(resolution), owner)), -reach, reach)
