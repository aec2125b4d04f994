"""Kernels of the scaled difference (x − y)/ℓ of numeric rows."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelease.arrays import Floats, Rows, as_rows, finite_numbers
from kernelease.errors import ParameterError
from kernelease.kernels.kernel import Kernel
from kernelease.kernels.pairs import each_pair, squared_difference, sum_over_columns
from kernelease.kernels.parameters import check_scale, check_tuple

MOST_COLUMNS = 4096  # of what a file may ask for: the error of a sum over columns grows with their number
ROUNDING = 2.0**-53  # relative error of one IEEE operation


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftInvariant(Kernel):
    """A kernel of (x − y)/ℓ on numeric rows, with k(x, x) = 1.

    `lengthscale` (ℓ) is in units of the columns: one for all, or a tuple with one per column. Take it from the schema
    or from public data: a lengthscale measured on private rows leaks them. Cells that are not numbers count as 0.
    """

    lengthscale: float | tuple[float, ...]

    def __post_init__(self) -> None:
        each = self.lengthscale if isinstance(self.lengthscale, tuple) else (self.lengthscale,)
        check_tuple(f"{type(self).__name__}: lengthscale", each, 1, MOST_COLUMNS)
        for value in each:
            check_scale(f"{type(self).__name__}: lengthscale", value)

    @abstractmethod
    def block(self, x: Floats, y: Floats, out: Floats, scratch: Floats) -> None:
        """Write k of all pairs into `out`: columns (d, r), (d, c) → (r, c). `scratch` has the shape of `out`."""

    @abstractmethod
    def gradient(self, x: Rows, y: Rows) -> Floats:
        """∂k(x[i], y[j])/∂y[j], for moving synthetic points: (n, d), (m, d) → (n, m, d). 0 where there is none."""

    @abstractmethod
    def unit_frequencies(self, generator: np.random.Generator, count: int, dimension: int) -> Floats:
        """`frequencies` at ℓ = 1: (count, dimension)."""

    @property
    def bound(self) -> float:
        return 1.0

    def admit(self, rows: Rows) -> Floats:
        return finite_numbers(as_rows(rows))

    def gram(self, x: Rows, y: Rows) -> Floats:
        return each_pair(self.columns_checked(x), self.columns_checked(y), self.block)

    def diagonal(self, x: Rows) -> Floats:
        return np.ones(len(self.columns_checked(x)))

    def frequencies(self, generator: np.random.Generator, count: int, dimension: int) -> Floats:
        """Draws ω with E cos(ω·(x − y)) = k(x, y), in radians per unit of the columns: (count, dimension)."""
        self._check_dimension(dimension)
        if count < 1:
            raise ParameterError(f"{type(self).__name__}: count of frequencies must be at least 1, got {count}.")
        return self.unit_frequencies(generator, count, dimension) / np.asarray(self.lengthscale, dtype=np.float64)

    def columns_checked(self, rows: Rows) -> Floats:
        """Admitted rows with as many columns as there are lengthscales."""
        admitted = self.admit(rows)
        self._check_dimension(admitted.shape[1])
        return admitted

    def per_column(self, of: Callable[[float], float]) -> float | tuple[float, ...]:
        """of(ℓ), for the one lengthscale or for each."""
        if isinstance(self.lengthscale, tuple):
            return tuple(of(value) for value in self.lengthscale)
        return of(self.lengthscale)

    def _check_dimension(self, columns: int) -> None:
        if isinstance(self.lengthscale, tuple) and columns != len(self.lengthscale):
            raise ParameterError(
                f"{type(self).__name__}: rows must have one column per lengthscale ({len(self.lengthscale)}), "
                f"got {columns}."
            )
        if not 1 <= columns <= MOST_COLUMNS:
            raise ParameterError(f"{type(self).__name__}: rows must have 1 to {MOST_COLUMNS} columns, got {columns}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Radial(ShiftInvariant):
    """A mixture of Gaussian kernels of different widths: a function of t = scale·‖(x − y)/ℓ‖²."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """The constant in t, chosen so that `profile` is simple."""

    @property
    @abstractmethod
    def unit_lipschitz(self) -> float:
        """`lipschitz` at ℓ = 1."""

    @abstractmethod
    def profile(self, t: Floats, scratch: Floats) -> None:
        """t becomes k, in place; t may be inf."""

    @abstractmethod
    def slope(self, t: Floats) -> Floats:
        """−(1/r)·∂k/∂r at r = ‖(x − y)/ℓ‖, so that ∂k/∂y = slope·(x − y)/ℓ²."""

    @property
    def nonnegative(self) -> bool:
        return True

    @property
    def lipschitz(self) -> float | None:
        # ∇k = (dk/dr)·(x − y)/(ℓ²r), and ‖(x − y)/ℓ²‖ ≤ r/min ℓ, with equality along the shortest column.
        smallest = min(self.lengthscale) if isinstance(self.lengthscale, tuple) else self.lengthscale
        return self.unit_lipschitz / smallest

    def argument_error(self, columns: int) -> float:
        """Relative error of t: (d + 7)·2⁻⁵³."""
        # A difference, squared: 2 + 1 roundings; d − 1 sums; scale, ℓ², their quotient and its product: 4.
        # That is d + 6, and one more pays for all products of errors, since d·2⁻⁵³ is tiny. What underflows in
        # a square is below 2⁻¹⁰⁷⁴/ℓ² ≤ 1e-123 and vanishes in the margin that each kernel leaves.
        return (columns + 7) * ROUNDING

    def block(self, x: Floats, y: Floats, out: Floats, scratch: Floats) -> None:
        self._argument(x, y, out, scratch)
        self.profile(out, scratch)

    def gradient(self, x: Rows, y: Rows) -> Floats:
        rows, points = self.columns_checked(x), self.columns_checked(y)
        factor = each_pair(rows, points, self._slope_block)[:, :, np.newaxis]
        inverse: Floats = np.asarray(self.per_column(lambda value: 1.0 / (value * value)), dtype=np.float64)
        return (factor * inverse) * (rows[:, np.newaxis] - points)

    def _argument(self, x: Floats, y: Floats, out: Floats, scratch: Floats) -> None:
        weights = self.per_column(lambda value: self.scale / (value * value))
        sum_over_columns(squared_difference, x, y, out, scratch, weights=weights)

    def _slope_block(self, x: Floats, y: Floats, out: Floats, scratch: Floats) -> None:
        self._argument(x, y, out, scratch)
        out[...] = self.slope(out)
