"""Moments of vectors as feature maps: rows themselves within a ball, and those of norm 1 class by class.

`ClassMoments` holds counts, means, second moments of all columns or of a few directions. In
whole numbers, with G = 2¹⁶ grid steps in a radius and v the vector's steps (Σ v² ≤ G²), a row of class a adds

    29·G²              to the count of a,
    29·m·v_i           to its sums, with m as below,
    29·v_i², 41·v_i·v_j (i < j)  to its second moments: 41² ≤ 2·29², so that their norm is at most 29·Σ v².

With m² ≤ G²·(1 + 41²/(2·29²)) the dot product of two rows of one class is never negative, whatever their vectors:
29²·G⁴ + 29²·m²·s + ½·41²·s² + ½·q ≥ 0 for s = v·v′ in ±G² and q ≥ 0 (docs/proofs/class-moments.md). Rows of two
classes share no count and no sum. So two rows are at most √2·R apart, where R is the norm of one. Where second moments
are those of projected vectors, m = G does the same: 29²·G²·(G² + s) ≥ 0.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, final

import numpy as np

from kernelease.arrays import Floats, Integers, Rows, finite_numbers
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap, checked_resolution, checked_rows, grid_columns
from kernelease.kernels.dot_product import SPHERE_STEPS, LabelledSphere, sphere_steps, within_norm
from kernelease.kernels.elementary import sqrt_above
from kernelease.kernels.kernel import as_rows

# ---- Rows themselves.


_BALL_STEPS = 2**20  # grid steps in a reach
_MOST_COLUMNS = 2**16  # sums of their squares stay below 2⁶²


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ball(FeatureMap):
    """φ(x) = (x − m)/r, column by column, scaled down to norm 1 where it is longer: its mean is that of the rows.

    `middle` (m) and `reach` (r) must be public: those of a law of points, never of private rows. Rows beyond the
    ellipsoid of these half axes count as if they were on it.

    >>> ball = Ball(middle=(1.0, 0.0), reach=(2.0, 4.0))
    >>> ball.evaluate(np.array([[2.0, 0.0], [1.0, 40.0]]))
    array([[0.5, 0. ],
           [0. , 1. ]])
    >>> ball.norm_bound, ball.diameter
    (1.0, 2.0)
    """

    middle: tuple[float, ...]
    reach: tuple[float, ...]

    step: ClassVar[float] = 1.0 / _BALL_STEPS
    """2⁻²⁰."""
    norm_bound: ClassVar[float] = 1.0
    """`within_norm` keeps to it, in integers."""
    diameter: ClassVar[float] = 2.0
    """Rows at opposite ends of the ball are that far apart."""

    def __post_init__(self) -> None:
        reach = checked_resolution(self.reach, "Ball")
        middle = tuple(float(number) for number in self.middle)
        if len(middle) != len(reach) or len(reach) > _MOST_COLUMNS or not all(map(math.isfinite, middle)):
            raise ParameterError(
                f"Ball: middle and reach must have a number for each of at most {_MOST_COLUMNS} columns."
            )
        object.__setattr__(self, "middle", middle)
        object.__setattr__(self, "reach", reach)

    @property
    def dimension(self) -> int:
        """A number for each column."""
        return len(self.reach)

    @property
    def norm_bound_l1(self) -> float:
        """√d."""
        return sqrt_above(Fraction(self.dimension))

    @property
    def diameter_l1(self) -> float:
        """2√d."""
        return 2.0 * self.norm_bound_l1

    def integers(self, rows: Rows) -> Integers:
        """(x − m)/r in steps of 2⁻²⁰, each cell by itself, then Σ v² ≤ 2⁴⁰ in integers: (n, d) → (n, d)."""
        cells = finite_numbers(checked_rows(rows, self.dimension, "Ball"))
        with np.errstate(all="ignore"):
            gaps = cells - np.array(self.middle)
        grid = tuple(each / _BALL_STEPS for each in self.reach)
        return within_norm(grid_columns(gaps, grid, "Ball", _BALL_STEPS).T, _BALL_STEPS)

    def evaluate(self, points: Rows) -> Floats:
        """φ of public points, not rounded: (m, d) → (m, d)."""
        cells = finite_numbers(checked_rows(points, self.dimension, "Ball"))
        gaps = np.clip((cells - np.array(self.middle)) / np.array(self.reach), -1.0, 1.0)
        return np.asarray(gaps / np.maximum(1.0, np.linalg.norm(gaps, axis=1, keepdims=True)), dtype=np.float64)


# ---- Moments of classes.


SQUARE, PRODUCT = 29, 41  # weights of v_i² and v_i·v_j in whole numbers. derived: 41² = 2·29² − 1
_PROJECTION_STEPS = 2**15  # of the grid of a projection's entries. limit: its products with a row stay below 2⁵³
_BLOCK = 4096  # rows at a time. limit: their sums of products are whole numbers below 2⁵³


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """A sum of `ClassMoments`, or a noisy one, over a number of rows, in plain units: what follows is per row.

    `seconds` has one matrix for each class, or one for all classes together; `errors` are the standard deviations of
    shares, means and diagonal second moments where the sum has noise of standard deviation 1 in feature units. The
    noise of a second moment off the diagonal is smaller by 29/41, about √½.
    """

    shares: Floats  # (C,): of the rows
    means: Floats  # (C, d): sums over a class, divided by the number of all rows
    seconds: Floats  # (C or 1, p, p), likewise
    errors: tuple[float, float, float]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassMoments(FeatureMap):
    """The features of `LabelledSphere`: for the class of a row, a count, the vector, and its second moments.

    With `pooled`, second moments are those of all classes together. With a `projection`, (p, d) whole numbers in units
    of 2⁻¹⁵, they are those of p directions: projected vectors are scaled down until their norm is at most 1.

    >>> kernel = LabelledSphere(dimension=2, classes=("sport", "law"))
    >>> phi = ClassMoments(kernel=kernel)
    >>> phi.dimension, round(phi.norm_bound, 3), round(phi.diameter, 3)
    (12, 1.0, 1.414)
    """

    kernel: LabelledSphere
    pooled: bool = False
    projection: Integers | None = field(default=None, repr=False)

    step: ClassVar[float] = 1.0 / (2.0 * SQUARE * SPHERE_STEPS**2)
    """1/(58·G²): rows on the sphere then have norm 1, up to the rounding of the weights."""
    block_rows: ClassVar[int] = _BLOCK
    """4,096: their sums are matrix products of whole numbers below 2⁵³."""

    def __post_init__(self) -> None:
        if self.projection is None:
            return
        matrix = np.array(self.projection, dtype=np.int64)
        if matrix.ndim != 2 or matrix.shape[1] != self.kernel.dimension or not 1 <= len(matrix) <= matrix.shape[1]:
            raise ParameterError(
                f"ClassMoments: projection must have shape (p, d) with p from 1 to d = {self.kernel.dimension}, "
                f"got {matrix.shape}."
            )
        if np.abs(matrix).max() > _PROJECTION_STEPS:
            raise ParameterError("ClassMoments: each entry of projection must be from −2¹⁵ to 2¹⁵, for −1 to 1.")
        matrix.setflags(write=False)
        object.__setattr__(self, "projection", matrix)

    @classmethod
    def onto(cls, kernel: LabelledSphere, directions: Floats) -> "ClassMoments":
        """Second moments of each class along orthonormal directions: (p, d)."""
        steps = np.clip(np.rint(directions * _PROJECTION_STEPS), -_PROJECTION_STEPS, _PROJECTION_STEPS)
        return cls(kernel=kernel, projection=steps.astype(np.int64))

    @property
    def directions(self) -> Floats | None:
        """The projection in plain units: (p, d)."""
        return None if self.projection is None else self.projection / float(_PROJECTION_STEPS)

    @property
    def classes(self) -> int:
        return len(self.kernel.classes)

    @property
    def width_of_products(self) -> int:
        """p: vectors of so many numbers have second moments."""
        return self.kernel.dimension if self.projection is None else len(self.projection)

    @property
    def tables(self) -> int:
        """How many matrices of second moments there are."""
        return 1 if self.pooled else self.classes

    @property
    def dimension(self) -> int:
        """C + C·d + p(p + 1)/2 for each matrix of second moments."""
        pairs = self.width_of_products * (self.width_of_products + 1) // 2
        return self.classes * (1 + self.kernel.dimension) + self.tables * pairs

    @property
    def mean_factor(self) -> int:
        """m: the weight of a step of the vector, beside that of the count."""
        if self.projection is not None:
            return SPHERE_STEPS
        return math.isqrt(SPHERE_STEPS**2 * (2 * SQUARE**2 + PRODUCT**2) // (2 * SQUARE**2))

    @property
    def squared_limit(self) -> int:
        """R² in integers: 29²·G²·(G² + m² + G²)."""
        return SQUARE**2 * SPHERE_STEPS**2 * (2 * SPHERE_STEPS**2 + self.mean_factor**2)

    @property
    def norm_bound(self) -> float:
        return sqrt_above(self.squared_limit * Fraction(self.step) ** 2)

    @property
    def diameter(self) -> float:
        """√2·R: no dot product of two rows is negative."""
        return sqrt_above(2 * self.squared_limit * Fraction(self.step) ** 2)

    @property
    def norm_bound_l1(self) -> float:
        """√n·R, with n the coordinates that a row fills."""
        filled = 1 + self.kernel.dimension + self.width_of_products * (self.width_of_products + 1) // 2
        return sqrt_above(filled * self.squared_limit * Fraction(self.step) ** 2)

    @property
    def diameter_l1(self) -> float:
        return 2.0 * self.norm_bound_l1

    def integers(self, rows: Rows) -> Integers:
        """The count, sums and second moments that a row adds: (n, d + 1) → (n, J)."""
        result = np.zeros((len(rows), self.dimension), dtype=np.int64)
        for index, row in enumerate(as_rows(rows)):
            result[index] = self.total(row[None])
        return result

    def total(self, rows: Rows) -> Integers:
        """Their sum. Matrix products of whole numbers below 2⁵³ are exact in any order: (n, d + 1) → (J,)."""
        cells = as_rows(rows)
        self.kernel.check_columns(cells)
        steps, codes = sphere_steps(cells[:, :-1]), self.kernel.codes(cells)
        declared = codes >= 0.0
        steps, codes = steps[declared], codes[declared].astype(np.int64)
        products = self._project(steps).astype(np.float64)
        one = np.eye(self.classes, dtype=np.float64)[codes]  # (n, C)
        counts, sums = one.sum(axis=0), one.T @ steps.astype(np.float64)
        parts = [products] if self.pooled else [products[codes == code] for code in range(self.classes)]
        tables = [(part.T @ part)[self._upper] * self._weights for part in parts]
        counts *= float(SQUARE * SPHERE_STEPS**2)
        whole = np.concatenate([counts, (sums * (SQUARE * self.mean_factor)).ravel(), *tables])
        return whole.astype(np.int64)

    def _project(self, steps: Integers) -> Integers:
        """The vectors whose second moments are taken, within the ball, in steps: (n, d) → (n, p)."""
        if self.projection is None:
            return steps
        turned = (steps.astype(np.float64) @ self.projection.T.astype(np.float64)).astype(np.int64)
        return within_norm(np.sign(turned) * (np.abs(turned) // _PROJECTION_STEPS), SPHERE_STEPS)

    @property
    def _upper(self) -> tuple[Integers, Integers]:
        return np.triu_indices(self.width_of_products)

    @property
    def _weights(self) -> Floats:
        """29 on the diagonal, 41 off it: (p(p + 1)/2,)."""
        rows, columns = self._upper
        return np.where(rows == columns, float(SQUARE), float(PRODUCT))

    def evaluate(self, points: Rows) -> Floats:
        """φ of public points, which are scaled to norm 1, and not rounded: (m, d + 1) → (m, J)."""
        return np.concatenate(
            [np.empty((0, self.dimension)), *self.evaluate_blocks(points, max(1, 2**22 // self.dimension))]
        )

    def evaluate_blocks(self, points: Rows, block: int) -> Iterator[Floats]:
        """The same in blocks of so many points."""
        cells = as_rows(points)
        self.kernel.check_columns(cells)
        vectors, codes = unit_vectors(cells[:, :-1]), self.kernel.codes(cells)
        for start in range(0, len(cells), block):
            yield self._features(vectors[start : start + block], codes[start : start + block])

    def _features(self, vectors: Floats, codes: Floats) -> Floats:
        directions = self.directions
        turned = vectors if directions is None else _within_ball(vectors @ directions.T)
        rows, columns = self._upper
        products = turned[:, rows] * turned[:, columns] * (self._weights * (self.step * SPHERE_STEPS**2))
        same = codes[:, None] == np.arange(self.classes)
        means = same[:, :, None] * vectors[:, None, :] * (SQUARE * self.mean_factor * SPHERE_STEPS * self.step)
        seconds = products * (codes >= 0.0)[:, None]
        if not self.pooled:
            seconds = (same[:, :, None] * products[:, None, :]).reshape(len(vectors), -1)
        return np.hstack([0.5 * same, means.reshape(len(vectors), -1), seconds])

    def moments(self, mean: Floats) -> Moments:
        """A mean of features, per row, as shares, means and second moments: (J,)."""
        d, p = self.kernel.dimension, self.width_of_products
        counts, sums, tables = np.split(mean, np.cumsum([self.classes, self.classes * d]))
        factor = SQUARE * self.mean_factor * SPHERE_STEPS * self.step
        rows, columns = self._upper
        seconds = np.zeros((self.tables, p, p))
        unit = self.step * SPHERE_STEPS**2
        seconds[:, rows, columns] = tables.reshape(self.tables, -1) / (self._weights * unit)
        seconds[:, columns, rows] = seconds[:, rows, columns]
        return Moments(
            shares=counts / 0.5,
            means=sums.reshape(self.classes, d) / factor,
            seconds=seconds,
            errors=(2.0, 1.0 / factor, 1.0 / (SQUARE * unit)),
        )

    def assemble(self, shares: Floats, means: Floats, seconds: Floats) -> Floats:
        """The mean of features that has these moments, per row: (C,), (C, d), (C, d, d) → (J,)."""
        directions = self.directions
        turned = seconds if directions is None else directions @ seconds @ directions.T
        tables = turned.sum(axis=0, keepdims=True) if self.pooled else turned
        rows, columns = self._upper
        unit = self.step * SPHERE_STEPS**2
        factor = SQUARE * self.mean_factor * SPHERE_STEPS * self.step
        products = tables[:, rows, columns] * (self._weights * unit)
        return np.concatenate([0.5 * shares, (means * factor).ravel(), products.ravel()])


def unit_vectors(vectors: Rows) -> Floats:
    """Vectors of norm 1, in floats; 0 stays 0: (n, d) → (n, d)."""
    cells = finite_numbers(vectors)
    largest = np.abs(cells).max(axis=1, keepdims=True, initial=0.0)
    scaled = cells / np.where(largest > 0.0, largest, 1.0)
    sizes = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(sizes > 0.0, sizes, 1.0), dtype=np.float64)


def _within_ball(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.maximum(1.0, np.linalg.norm(vectors, axis=1, keepdims=True)), dtype=np.float64)
