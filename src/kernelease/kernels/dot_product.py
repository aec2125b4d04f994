"""Kernels of the dot product of numeric rows: on a declared box, so that they are bounded, and on the unit sphere."""

import math
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from kernelease.arrays import Floats, Integers, Rows, finite_numbers
from kernelease.errors import ParameterError, check_integer, check_number, check_scale, check_tuple
from kernelease.kernels.discrete import Kronecker
from kernelease.kernels.elementary import sum_above
from kernelease.kernels.kernel import Kernel, as_rows, each_alone, each_pair, product, sum_over_columns
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
        return each_alone(self._columns_checked(x), self._block)

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

    bound: ClassVar[float] = 1.0

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


SPHERE_STEPS = 2**16  # of the grid in a radius. limit: sums of products of 4,096 rows are whole numbers below 2⁵³
MOST_SPHERE_COLUMNS = 1024  # limit: all second moments are half a million numbers
MOST_CLASSES = 4096  # limit: a mean for each
UNDECLARED = -1.0  # the code of a class that is not on the list
_NEAREST_RADIUS = 1.0 - 2.0**-10  # of rows that lie on the grid already, and stay. derived: √1024 steps of the grid


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSphere(Kernel):
    """k((x, a), (y, b)) = ((1 + x·y)/2)² if a = b, else 0: vectors of norm 1 in `dimension` columns, with a class.

    Its features are the moments of each class: a count, a mean, second moments. A row is a vector followed by the
    place of its class in `classes`; any other number there is no class, and such a row has no features. Vectors are
    scaled to norm 1. Declare the classes, don't collect them from private rows: a class that one person has would give
    that person away.

    >>> kernel = LabelledSphere(dimension=2, classes=("sport", "law"))
    >>> kernel.gram([[1.0, 0.0, 0]], [[2.0, 0.0, 0], [0.0, 3.0, 0], [1.0, 0.0, 1]])
    array([[1.  , 0.25, 0.  ]])
    """

    dimension: int
    classes: tuple[Hashable, ...]

    bound: ClassVar[float] = 1.0
    nonnegative: ClassVar[bool] = True
    lipschitz: ClassVar[float | None] = None  # the class is no number

    def __post_init__(self) -> None:
        check_integer("LabelledSphere: dimension", self.dimension, 1, MOST_SPHERE_COLUMNS)
        check_tuple("LabelledSphere: classes", self.classes, 1, MOST_CLASSES)
        Kronecker(values=self.classes)  # refuses what is not distinct

    def evaluation_error(self, columns: int) -> float:
        # x·y has a product and d − 1 sums relative to Σ|x_j·y_j| ≤ 1; 1 + u, a half, a square add 3; one to spare.
        return (self.dimension + 5) * ROUNDING

    def admit(self, rows: Rows) -> Floats:
        """Vectors on the grid of the sphere, and places of classes: (n, d + 1) → (n, d + 1)."""
        cells = as_rows(rows)
        self.check_columns(cells)
        vectors = sphere_steps(cells[:, :-1]) / float(SPHERE_STEPS)
        return np.column_stack([vectors, self.codes(cells)])

    def codes(self, rows: Rows) -> Floats:
        """The place of each row's class, −1 where it has none: (n, d + 1) → (n,)."""
        cells = rows[:, -1]
        if cells.dtype != np.float64:
            cells = np.array([cell if isinstance(cell, float) else UNDECLARED for cell in cells], dtype=np.float64)
        with np.errstate(invalid="ignore"):
            declared = (cells >= 0.0) & (cells < len(self.classes)) & (cells == np.floor(cells))
        return np.where(declared, cells, UNDECLARED) + 0.0  # no −0

    def gram(self, x: Rows, y: Rows) -> Floats:
        return each_pair(self.admit(x), self.admit(y), self._block)

    def diagonal(self, x: Rows) -> Floats:
        return each_alone(self.admit(x), self._block)

    def check_columns(self, rows: Rows) -> None:
        """Refuse rows that are not a vector and a class."""
        if rows.shape[1] != self.dimension + 1:
            raise ParameterError(
                f"LabelledSphere: rows must have {self.dimension} columns and a class, got {rows.shape[1]} columns."
            )

    def _block(self, x: Floats, y: Floats, out: Floats, scratch: Floats) -> None:
        sum_over_columns(product, x[:-1], y[:-1], out, scratch, weights=1.0)
        np.clip(out, -1.0, 1.0, out=out)
        out += 1.0
        out *= 0.5
        out *= out
        mine, theirs = x[-1][:, np.newaxis], y[-1]
        out *= (mine == theirs) & (mine >= 0.0)


def sphere_steps(vectors: Rows) -> Integers:
    """Vectors scaled to norm 1, as whole steps of a grid, toward 0: (n, d) → (n, d) with Σ v² ≤ 2³² in integers.

    A function of each row alone: elementwise operations, and a sum over columns in their order. Vectors of the grid
    whose norm is 1 up to 2⁻¹⁰ stay as they are; a vector of zeros, or of damaged cells, stays 0.
    """
    cells = finite_numbers(vectors)
    largest = np.abs(cells).max(axis=1, keepdims=True, initial=0.0)
    with np.errstate(all="ignore"):
        scaled = cells / np.where(largest > 0.0, largest, 1.0)
        squares = np.zeros(len(cells))
        for column in scaled.T:
            squares += column * column
        unit = scaled / np.sqrt(np.where(squares > 0.0, squares, 1.0))[:, None]
        steps = within_norm(np.trunc(unit * SPHERE_STEPS).astype(np.int64), SPHERE_STEPS)
        given = np.clip(cells, -1.0, 1.0) * SPHERE_STEPS
    whole = (given == np.trunc(given)).all(axis=1) & (largest[:, 0] <= 1.0)
    kept = given[whole].astype(np.int64)
    sizes = (kept**2).sum(axis=1)
    near = (sizes <= SPHERE_STEPS**2) & (sizes >= (_NEAREST_RADIUS * SPHERE_STEPS) ** 2)
    steps[np.flatnonzero(whole)[near]] = kept[near]
    return steps


def within_norm(values: Integers, limit: int) -> Integers:
    """Rows scaled down, toward zero, until Σ v² ≤ limit²: an integer inequality, since r ≥ √Σv² gives v·limit/r."""
    values = np.clip(values, -limit, limit)
    squares = (values**2).sum(axis=1)
    over = squares > limit**2
    # A float64 square root is within 2⁻⁵² of the true one, so the next whole number is above it.
    roots = np.rint(np.sqrt(squares[over].astype(np.float64))).astype(np.int64) + 1
    values[over] = np.sign(values[over]) * (np.abs(values[over]) * limit // roots[:, None])
    return values
