"""Kernels of numeric columns: functions of the scaled difference (x − y)/ℓ, with a spectral law to draw from."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from kernelease.arrays import Floats, Integers, Rows, block_slices, finite_numbers
from kernelease.errors import ParameterError, check_number, check_scale, check_tuple
from kernelease.kernels.elementary import (
    EXP_CUTOFF,
    EXP_ERROR,
    LOG_ERROR,
    exp_negative,
    exp_negative_in_place,
    log_positive,
)
from kernelease.kernels.kernel import (
    Kernel,
    absolute_difference,
    as_rows,
    each_pair,
    squared_difference,
    sum_over_columns,
    sums_of_pairs,
)

MOST_COLUMNS = 4096  # of what a file may ask for: the error of a sum over columns grows with their number
ROUNDING = 2.0**-53  # relative error of one IEEE operation


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftInvariant(Kernel):
    """A kernel of (x − y)/ℓ on numeric rows, with k(x, x) = 1.

    `lengthscale` (ℓ) is in units of the columns: one for all, or a tuple with one per column. Take it from the schema
    or from public data: a lengthscale measured on private rows leaks them. Cells that are not numbers count as 0.
    """

    lengthscale: float | tuple[float, ...]

    bound: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        each = self.lengthscale if isinstance(self.lengthscale, tuple) else (self.lengthscale,)
        check_tuple(f"{type(self).__name__}: lengthscale", each, 1, MOST_COLUMNS)
        for value in each:
            check_scale(f"{type(self).__name__}: lengthscale", value)

    @abstractmethod
    def block(self, x: Floats, y: Floats, out: Floats, scratch: Floats) -> None:
        """Write k of all pairs into `out`: columns (d, r), (d, c) → (r, c). `scratch` has the shape of `out`.

        A function of (x − y)² or |x − y| in each column, so that k(x, y) and k(y, x) are the same to the bit.
        """

    @abstractmethod
    def gradient(self, x: Rows, y: Rows) -> Floats:
        """∂k(x[i], y[j])/∂y[j], for moving synthetic points: (n, d), (m, d) → (n, m, d). 0 where there is none."""

    @abstractmethod
    def unit_frequencies(self, generator: np.random.Generator, count: int, dimension: int) -> Floats:
        """`frequencies` at ℓ = 1: (count, dimension)."""

    def admit(self, rows: Rows) -> Floats:
        return finite_numbers(as_rows(rows))

    def gram(self, x: Rows, y: Rows) -> Floats:
        return each_pair(self.columns_checked(x), self.columns_checked(y), self.block)

    def total(self, x: Rows, y: Rows, *, per_unit: float) -> Integers:
        return sums_of_pairs(self.columns_checked(x), self.columns_checked(y), self.block, per_unit=per_unit)

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

    nonnegative: ClassVar[bool] = True

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


# ---- Kernels of numeric columns. All are 1 on the diagonal, never negative, and have a spectral law to draw from.


_GOLDEN = (1.0 + math.sqrt(5.0)) / 2.0
_HUGE = 1e308  # log(1 + this) = 709: with alpha ≥ 0.1 the power is below exp(−EXP_CUTOFF), which counts as 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian(Radial):
    """The Gaussian kernel, k(x, y) = exp(−‖x − y‖² / 2ℓ²).

    >>> Gaussian(lengthscale=2.0).gram(np.zeros((1, 3)), np.ones((2, 3))).round(3)
    array([[0.687, 0.687]])
    """

    scale: ClassVar[float] = 0.5
    unit_lipschitz: ClassVar[float] = math.exp(-0.5)  # r·exp(−r²/2) is largest at r = 1

    def evaluation_error(self, columns: int) -> float:
        return EXP_ERROR + self.argument_error(columns) / 2  # |exp(−t(1 + η)) − exp(−t)| ≤ η·t·exp(−t), at most η/e

    def profile(self, t: Floats, scratch: Floats) -> None:
        exp_negative_in_place(t, scratch)

    def slope(self, t: Floats) -> Floats:
        return exp_negative(t)

    def unit_frequencies(self, generator: np.random.Generator, count: int, dimension: int) -> Floats:
        return generator.standard_normal((count, dimension))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace(ShiftInvariant):
    """The Laplace kernel in product form, k(x, y) = exp(−‖x − y‖₁ / ℓ).

    Its Lipschitz constant √(Σ 1/ℓ_j²) grows with the number of columns: it is known where `lengthscale` is a tuple.

    >>> Laplace(lengthscale=2.0).gram(np.zeros((1, 3)), np.ones((2, 3))).round(3)
    array([[0.223, 0.223]])
    """

    nonnegative: ClassVar[bool] = True

    @property
    def lipschitz(self) -> float | None:
        if not isinstance(self.lengthscale, tuple):
            return None
        return math.hypot(*(1.0 / value for value in self.lengthscale))  # ∂k/∂x_j = ±k/ℓ_j, and k → 1

    def evaluation_error(self, columns: int) -> float:
        # Relative error of the exponent: a difference, d − 1 sums, 1/ℓ and its product, one to spare. Then as Gaussian.
        return EXP_ERROR + (columns + 3) * ROUNDING / 2

    def block(self, x: Floats, y: Floats, out: Floats, scratch: Floats) -> None:
        weights = self.per_column(lambda value: 1.0 / value)
        sum_over_columns(absolute_difference, x, y, out, scratch, weights=weights)
        exp_negative_in_place(out, scratch)

    def gradient(self, x: Rows, y: Rows) -> Floats:
        rows, points = self.columns_checked(x), self.columns_checked(y)
        inverse: Floats = np.asarray(self.per_column(lambda value: 1.0 / value), dtype=np.float64)
        factor = each_pair(rows, points, self.block)[:, :, np.newaxis]
        return (factor * inverse) * np.sign(rows[:, np.newaxis] - points)

    def unit_frequencies(self, generator: np.random.Generator, count: int, dimension: int) -> Floats:
        return generator.standard_cauchy((count, dimension))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Matern32(Radial):
    """The Matérn kernel of smoothness 3/2, k = (1 + s)·exp(−s) with s = √3·‖x − y‖/ℓ.

    >>> Matern32(lengthscale=2.0).gram(np.zeros((1, 3)), np.ones((2, 3))).round(3)
    array([[0.558, 0.558]])
    """

    scale: ClassVar[float] = 3.0
    unit_lipschitz: ClassVar[float] = math.sqrt(3.0) * math.exp(-1.0)  # −∂k/∂r = √3·s·exp(−s), largest at s = 1

    def evaluation_error(self, columns: int) -> float:
        # s = √t has relative error η/2 + 2⁻⁵³ and moves k by that times s²·exp(−s) ≤ 0.55; then two roundings of k ≤ 1.
        return EXP_ERROR + self.argument_error(columns) / 2 + 3 * ROUNDING

    def profile(self, t: Floats, scratch: Floats) -> None:
        _root(t)
        factor = t + 1.0
        exp_negative_in_place(t, scratch)
        t *= factor
        np.minimum(t, 1.0, out=t)

    def slope(self, t: Floats) -> Floats:
        return 3.0 * exp_negative(np.sqrt(t))

    def unit_frequencies(self, generator: np.random.Generator, count: int, dimension: int) -> Floats:
        return _student(generator, count, dimension, degrees=3)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Matern52(Radial):
    """The Matérn kernel of smoothness 5/2, k = (1 + s + s²/3)·exp(−s) with s = √5·‖x − y‖/ℓ.

    >>> Matern52(lengthscale=2.0).gram(np.zeros((1, 3)), np.ones((2, 3))).round(3)
    array([[0.604, 0.604]])
    """

    scale: ClassVar[float] = 5.0
    # −∂k/∂r = (√5/3)(s + s²)·exp(−s), largest where s² = s + 1: at the golden ratio, whose s + s² is its cube.
    unit_lipschitz: ClassVar[float] = math.sqrt(5.0) / 3.0 * _GOLDEN**3 * math.exp(-_GOLDEN)

    def evaluation_error(self, columns: int) -> float:
        # As Matern32, with (s² + s³)·exp(−s)/3 ≤ 0.61, and seven roundings in the factor and its product.
        return EXP_ERROR + self.argument_error(columns) / 2 + 8 * ROUNDING

    def profile(self, t: Floats, scratch: Floats) -> None:
        _root(t)
        factor = t * (1.0 / 3.0)
        factor += 1.0
        factor *= t
        factor += 1.0
        exp_negative_in_place(t, scratch)
        t *= factor
        np.minimum(t, 1.0, out=t)

    def slope(self, t: Floats) -> Floats:
        _root(t)
        return (5.0 / 3.0) * (1.0 + t) * exp_negative(t)

    def unit_frequencies(self, generator: np.random.Generator, count: int, dimension: int) -> Floats:
        return _student(generator, count, dimension, degrees=5)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RationalQuadratic(Radial):
    """The rational quadratic kernel, k(x, y) = (1 + ‖x − y‖² / 2αℓ²)^−α: Gaussian kernels of many widths.

    A small `alpha` (α, from 0.1 to 1000) keeps far rows alike. Above 1000 it is a Gaussian kernel to three digits.

    >>> RationalQuadratic(lengthscale=2.0, alpha=1.0).gram(np.zeros((1, 3)), np.ones((2, 3))).round(3)
    array([[0.727, 0.727]])
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        Radial.__post_init__(self)
        check_number("RationalQuadratic: alpha", self.alpha, 0.1, 1000.0)

    @property
    def scale(self) -> float:
        return 0.5 / self.alpha

    @property
    def unit_lipschitz(self) -> float:
        # −∂k/∂r = r·(1 + r²/2α)^(−α−1), largest at r² = 2α/(2α + 1).
        odd = 2.0 * self.alpha + 1.0
        return math.sqrt(2.0 * self.alpha / odd) * math.exp(-(self.alpha + 1.0) * math.log1p(1.0 / odd))

    def evaluation_error(self, columns: int) -> float:
        # With L = log(1 + t), k = exp(−αL). η moves k by η·αt(1 + t)^(−α−1) < η/2. Rounding 1 + t moves L by 2⁻⁵³, the
        # logarithm by LOG_ERROR·(1 + L), the product αL by 2⁻⁵³·αL; and αL·exp(−αL) < 1/2.
        absolute, relative = ROUNDING + LOG_ERROR, ROUNDING + LOG_ERROR
        return EXP_ERROR + self.argument_error(columns) / 2 + (self.alpha * absolute + relative / 2) * (1 + 2.0**-30)

    def profile(self, t: Floats, scratch: Floats) -> None:
        _power(t, self.alpha)
        exp_negative_in_place(t, scratch)

    def slope(self, t: Floats) -> Floats:
        _power(t, self.alpha + 1.0)
        return exp_negative(t)

    def unit_frequencies(self, generator: np.random.Generator, count: int, dimension: int) -> Floats:
        precision = generator.standard_gamma(self.alpha, (count, 1)) / self.alpha  # E exp(−τr²/2) = k for τ ~ Γ(α, α)
        return np.sqrt(precision) * generator.standard_normal((count, dimension))


def _root(t: Floats) -> None:
    """t ← √t, cut just beyond where exp is 0, so that a polynomial times it stays finite."""
    np.sqrt(t, out=t)
    np.minimum(t, EXP_CUTOFF + 1.0, out=t)


def _power(t: Floats, exponent: float) -> None:
    """t ← exponent·log(1 + t)."""
    np.minimum(t, _HUGE, out=t)
    t += 1.0
    for rows in block_slices(len(t), max(1, 2**13 // t.shape[1])):  # log takes fresh memory: small pieces are quicker
        np.multiply(log_positive(t[rows]), exponent, out=t[rows])


def _student(generator: np.random.Generator, count: int, dimension: int, *, degrees: int) -> Floats:
    """Multivariate t: its characteristic function is the Matérn kernel of smoothness degrees/2 at √degrees·r."""
    mixing = np.sqrt(degrees / generator.chisquare(degrees, (count, 1)))
    return generator.standard_normal((count, dimension)) * mixing
