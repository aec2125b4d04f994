"""Kernels of the dot product of numeric rows, on a declared box so that they are bounded."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import (
    Floats,
    Rows,
    as_rows,
    check_integer,
    check_number,
    check_scale,
    check_tuple,
    finite_numbers,
)
from kernelease.elementary import sum_above
from kernelease.errors import ParameterError
from kernelease.kernels.kernel import Kernel, each_pair, product, sum_over_columns
from kernelease.kernels.numeric import MOST_COLUMNS, ROUNDING

MOST_DEGREE = 64  # of what a file may ask for: a feature of degree p takes p products


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxKernel(Kernel):
    """k(x, y) = Σ_p a_p·u^p with a_p ≥ 0 and u = x·y/(d·b²), which is in [−1, 1] for rows in the box |x_j| ≤ b.

    `half_width` (b) and `dimension` (d) are declared, never measured on private rows: rows are clamped to the box.
    """

    half_width: float
    dimension: int

    def __post_init__(self) -> None:
        check_scale(f"{type(self).__name__}: half_width", self.half_width)
        check_integer(f"{type(self).__name__}: dimension", self.dimension, 1, MOST_COLUMNS)

    @property
    @abstractmethod
    def taylor(self) -> tuple[float, ...]:
        """The coefficients a_0, a_1, … of the powers of u."""

    @abstractmethod
    def profile(self, u: Floats, scratch: Floats) -> None:
        """u becomes k, in place."""

    @property
    def lipschitz(self) -> float | None:
        # ∂k/∂x = k′(u)·y/(d·b²), and k′ is largest at u = 1, ‖y‖ at a corner: b·√d. The clamp brings no two rows apart.
        derivative = math.fsum(p * a for p, a in enumerate(self.taylor))
        return derivative / (self.half_width * math.sqrt(self.dimension))

    @property
    def argument_error(self) -> float:
        """Absolute error of u: (d + 5)·2⁻⁵³."""
        # A product, d − 1 sums, 1/(d·b²) and its product 4, one to spare: relative to Σ|x_j·y_j|/(d·b²) ≤ 1.
        return (self.dimension + 5) * ROUNDING

    def admit(self, rows: Rows) -> Floats:
        return np.clip(finite_numbers(as_rows(rows)), -self.half_width, self.half_width)

    def gram(self, x: Rows, y: Rows) -> Floats:
        return each_pair(self._columns_checked(x), self._columns_checked(y), self._block)

    def diagonal(self, x: Rows) -> Floats:
        columns = self._columns_checked(x).T
        out = np.empty((columns.shape[1], 1))
        self._block(columns, columns[:, :, np.newaxis], out, np.empty_like(out))  # each row broadcast with itself only
        return out[:, 0]

    def _block(self, x: Floats, y: Floats, out: Floats, scratch: Floats) -> None:
        weight = 1.0 / (self.dimension * self.half_width * self.half_width)
        sum_over_columns(product, x, y, out, scratch, weights=weight)
        np.clip(out, -1.0, 1.0, out=out)  # rounding may have passed 1 by a little
        self.profile(out, scratch)

    def _columns_checked(self, rows: Rows) -> Floats:
        admitted = self.admit(rows)
        if admitted.shape[1] != self.dimension:
            raise ParameterError(
                f"{type(self).__name__}: rows must have {self.dimension} columns, got {admitted.shape[1]}."
            )
        return admitted


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Polynomial(BoxKernel):
    """The polynomial kernel k(x, y) = ((u + c)/(1 + c))^p of degree p and offset c, with u = x·y/(d·b²).

    >>> Polynomial(degree=2, offset=1.0, half_width=1.0, dimension=2).gram(np.eye(2), np.ones((1, 2)))
    array([[0.5625],
           [0.5625]])
    """

    degree: int
    offset: float = 1.0

    def __post_init__(self) -> None:
        BoxKernel.__post_init__(self)
        check_integer("Polynomial: degree", self.degree, 1, MOST_DEGREE)
        check_number("Polynomial: offset", self.offset, 0.0, 1e100)

    @property
    def taylor(self) -> tuple[float, ...]:
        """C(p, q)·c^(p − q)/(1 + c)^p for q = 0 … p."""
        constant, linear = self.offset / (1.0 + self.offset), 1.0 / (1.0 + self.offset)
        p = self.degree
        return tuple(math.comb(p, q) * constant ** (p - q) * linear**q for q in range(p + 1))

    @property
    def bound(self) -> float:
        return 1.0

    @property
    def nonnegative(self) -> bool:
        return self.degree % 2 == 0 or self.offset >= 1.0  # an even power, or a power of u + c ≥ 0

    def evaluation_error(self, columns: int) -> float:
        # |u + c|/(1 + c) ≤ 1 has u's error and three roundings; its p-th power p times that, and p − 1 roundings.
        return self.degree * (self.argument_error + 5 * ROUNDING)

    def profile(self, u: Floats, scratch: Floats) -> None:
        u += self.offset
        u /= 1.0 + self.offset
        scratch[...] = u
        for _ in range(self.degree - 1):  # np.power need not round the same way everywhere
            u *= scratch


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DotProduct(BoxKernel):
    """The kernel Σ_p a_p·u^p of declared Taylor coefficients a_0, a_1, … ≥ 0, with u = x·y/(d·b²).

    Its bound is Σ a_p. It counts as non-negative where all odd coefficients are 0.

    >>> DotProduct(coefficients=(0.5, 0.0, 0.5), half_width=1.0, dimension=2).gram(np.eye(2), np.ones((1, 2)))
    array([[0.625],
           [0.625]])
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        BoxKernel.__post_init__(self)
        check_tuple("DotProduct: coefficients", self.coefficients, 1, MOST_DEGREE + 1)
        for value in self.coefficients:
            check_number("DotProduct: each of coefficients", value, 0.0, 1e100)
        if not any(self.coefficients):
            raise ParameterError("DotProduct: at least one of coefficients must be positive.")

    @property
    def taylor(self) -> tuple[float, ...]:
        return self.coefficients

    @property
    def bound(self) -> float:
        return sum_above(self.coefficients)

    @property
    def nonnegative(self) -> bool:
        return not any(self.coefficients[1::2])

    def evaluation_error(self, columns: int) -> float:
        # u's error times k′ ≤ Σ p·a_p, and two roundings per degree in Horner's rule, relative to Σ a_p.
        derivative = math.fsum(p * a for p, a in enumerate(self.coefficients))
        return self.argument_error * derivative + (2 * len(self.coefficients) + 1) * ROUNDING * self.bound

    def profile(self, u: Floats, scratch: Floats) -> None:
        scratch[...] = u
        u.fill(self.coefficients[-1])
        for coefficient in self.coefficients[-2::-1]:
            u *= scratch
            u += coefficient
        np.clip(u, -self.bound, self.bound, out=u)
