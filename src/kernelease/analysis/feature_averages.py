"""Averages from a noisy mean embedding: what a linear function of the features says, and what it leaves open."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa

from kernelease.analysis.estimands import Columns, Estimand, evaluate_function
from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.inference import REAL_LINE, ConfidenceLimits, Interval, Ratio, critical_value
from kernelease.arrays import Floats, Rows
from kernelease.errors import ParameterError
from kernelease.features.moments import unit_vectors
from kernelease.kernels.dot_product import LabelledSphere
from kernelease.kernels.kernel import as_rows
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.privacy.accounting import Law
from kernelease.privacy.sensitivity import Neighbours, count_increment
from kernelease.table.domain import Domain
from kernelease.table.domains import Decoder, LabelledDomain
from kernelease.table.encode import Encoder
from kernelease.table.schema import Schema

if TYPE_CHECKING:
    from kernelease.analysis.evidence import Evidence

ELSEWHERE = 2000  # legal rows, at random, on which functions are looked at beside the synthetic ones
RIDGES = tuple(10.0**power for power in range(-8, 3))
REMARK = (
    "the part of the function that the features leave open is bounded by what it does on the points at hand, "
    "and not beyond them"
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LinearFit:
    """h ≈ c + a·φ: coefficients (J,), the constant, and the residual's range over all points looked at."""

    coefficients: Floats
    constant: float
    correction: float  # the synthetic rows' mean of h − c − a·φ
    range: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureAverages:
    """Functions of points, known on synthetic points with weights and on more points, and a noisy embedding.

    For h the estimate is a·μ̃ + c + Σ w (h − c − a·φ)(z): the features' part from the measurement, with variance
    σ²‖a‖², and the rest from the synthetic points. The rest is off by at most its range (more where weights are
    negative). a minimises the whole width among ridge solutions, so that more noise means fewer features used.
    """

    embedding: NoisyEmbedding
    features: Floats  # φ of all points: (n, J)
    weights: Floats  # of the synthetic points; 0 for the others: (n,)

    @classmethod
    def of(cls, embedding: NoisyEmbedding, points: Rows, weights: Floats, others: Rows) -> "FeatureAverages":
        """Synthetic points with their weights, and other points to look at."""
        every = np.concatenate([points, others]) if len(others) else points
        padded = np.concatenate([weights / weights.sum(), np.zeros(len(others))])
        return cls(embedding=embedding, features=embedding.feature_map.evaluate(every), weights=padded)

    def fit(self, values: Floats, z: float = 1.96) -> LinearFit:
        """The linear function of the features with the shortest interval: h at all points (n,) → coefficients."""
        emphasis = np.sqrt(0.5 * np.maximum(self.weights, 0.0) + 0.5 / len(values))
        centre = float((emphasis**2) @ values / (emphasis**2).sum())
        mean = (emphasis**2) @ self.features / (emphasis**2).sum()
        design = (self.features - mean) * emphasis[:, None]
        left, singular, right = np.linalg.svd(design, full_matrices=False)
        target = left.T @ ((values - centre) * emphasis)
        found = []
        for ridge in RIDGES:
            scale = ridge * float(singular[0]) ** 2 if len(singular) else 1.0
            coefficients = right.T @ (singular / (singular**2 + scale) * target)
            found.append(self._fit(values, coefficients, centre - float(mean @ coefficients)))
        found.append(self._fit(values, np.zeros(self.features.shape[1]), centre))
        return min(found, key=lambda one: z * self.embedding.sigma * np.linalg.norm(one.coefficients) + one.range)

    def _fit(self, values: Floats, coefficients: Floats, constant: float) -> LinearFit:
        rest = values - constant - self.features @ coefficients
        return LinearFit(
            coefficients=coefficients,
            constant=constant,
            correction=float(self.weights @ rest),
            range=float(rest.max() - rest.min()) * (1.0 + float(np.maximum(-self.weights, 0.0).sum())),
        )

    def sum(self, fitted: LinearFit) -> float:
        """The estimate of Σh over all rows."""
        rows = self.embedding.rows
        return float(fitted.coefficients @ self.embedding.sum) + rows * (fitted.constant + fitted.correction)

    def estimate(
        self, numerator: Floats, denominator: Floats | None, *, target: Target, about: str, is_total: bool = False
    ) -> Estimate:
        """Σ numerator / Σ denominator; both are known at all points: (n,). With `is_total`, Σ numerator."""
        ones = np.ones_like(numerator)
        top = self.fit(numerator)
        bottom = self.fit(ones if denominator is None else denominator)
        noise = self._noise(top, bottom, is_total)
        functions = np.stack([numerator, ones if denominator is None else denominator])
        both = noise + self._sampling(functions, is_total) if target is Target.POPULATION else noise
        sums = self.sum(top), 1.0 if is_total else self.sum(bottom)
        limits = _FiellerLimits(
            ratio=Ratio.of(sums, both),
            noise=Ratio.of(sums, noise),
            bias=(top.range * self.embedding.rows, 0.0 if is_total else bottom.range * self.embedding.rows),
            possible=_possible(numerator, denominator, self.embedding.rows if is_total else 1.0),
            laplace=self.embedding.measurement.step.law is Law.LAPLACE,
        )
        return limits.estimate(target, about)

    def _noise(self, top: LinearFit, bottom: LinearFit, is_total: bool) -> Floats:
        """The covariance of both sums by the noise of the features, and of the number of rows where it has some."""
        measurement, feature_map = self.embedding.measurement, self.embedding.feature_map
        counted = 0.0
        if self.embedding.neighbours is Neighbours.ADD_REMOVE:
            counted = measurement.standard_deviation / count_increment(feature_map)
        pair = np.stack(
            [_scale(one, measurement.standard_deviation * feature_map.step, counted) for one in (top, bottom)]
        )
        if is_total:
            pair[1] = 0.0
        covariance: Floats = pair @ pair.T
        return covariance

    def _sampling(self, functions: Floats, is_total: bool) -> Floats:
        """The covariance of both sums over tables drawn from the population, by the synthetic points."""
        weights = np.maximum(self.weights, 0.0)
        centred = functions - (functions @ self.weights)[:, None]
        covariance: Floats = self.embedding.rows * (centred * weights) @ centred.T
        if is_total:
            covariance[1, :] = covariance[:, 1] = 0.0
        return covariance


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _FiellerLimits(ConfidenceLimits):
    """Fieller's interval of a ratio whose two sums are each off by up to a bias."""

    ratio: Ratio
    noise: Ratio
    bias: tuple[float, float]  # of the two sums
    possible: Interval
    laplace: bool

    def at(self, level: float) -> Interval:
        low, high = self.ratio.interval(critical_value(level, laplace=self.laplace))
        low, high = low - self._shift(low), high + self._shift(high)
        return max(low, self.possible[0]), min(high, self.possible[1])

    def _shift(self, ratio: float) -> float:
        """How far the biases of numerator and denominator can move a ratio."""
        below = self.ratio.denominator - self.bias[1]
        if below <= 0.0 or not math.isfinite(ratio):
            return math.inf
        return (self.bias[0] + abs(ratio) * self.bias[1]) / below

    def estimate(self, target: Target, about: str) -> Estimate:
        value = self.ratio.value
        parts = Parts.of(self.ratio.standard_error, noise=self.noise.standard_error)
        parts = replace(parts, bias=self._shift(value))
        value = min(max(value, self.possible[0]), self.possible[1])
        return Estimate(
            value=value, parts=parts, limits=self, target=target, about=about, remark=REMARK, possible=self.possible
        )


def feature_average(evidence: "Evidence", estimand: Estimand) -> Estimate:
    """The answer to a question about a table, from a noisy embedding of its atoms."""
    if evidence.embedding is None or evidence.rows is None or evidence.weights is None:
        raise ParameterError("This release has no noisy numbers to answer from.")
    rows, others = evidence.rows.select(list(evidence.schema.names)), _legal_rows(evidence.schema)
    encoder = Encoder(evidence.schema)
    points = [as_rows(encoder.encode(table)) for table in (rows, others)]
    featured = FeatureAverages.of(evidence.embedding, points[0], evidence.weights, points[1])
    every = pa.concat_tables([rows, others])
    return featured.estimate(
        estimand.numerator.of(every),
        None if estimand.denominator is None else estimand.denominator.of(every),
        target=evidence.target,
        about=estimand.about,
        is_total=estimand.is_total,
    )


def vector_expectation(
    embedding: NoisyEmbedding,
    domain: Domain,
    table: pa.Table,
    points: Rows,
    weights: Floats,
    function: Callable[[Columns], Any],
    target: Target,
) -> Estimate:
    """The mean of a function of the columns x0, x1, … of a release of vectors; `points` are as features take them."""
    others = _anywhere(domain.kernel) if isinstance(domain, LabelledDomain) else _around(points)
    whole = domain.table_of_points(others, np.ones(len(others)), np.random.default_rng(0))
    more = whole.drop_columns([domain.weight_name]).cast(table.schema)
    values = evaluate_function(function, Columns(pa.concat_tables([table, more])))
    if np.isnan(values).any():
        raise ParameterError("expectation: the function must be defined everywhere: it gave NaN.")
    return FeatureAverages.of(embedding, points, weights, others).estimate(
        values, None, target=target, about="expectation of a function"
    )


def _legal_rows(schema: Schema) -> pa.Table:
    generator = np.random.default_rng(0)
    codes = np.stack([generator.integers(0, column.size, ELSEWHERE) for column in schema], axis=1)
    return Decoder(schema).decode(codes, generator)


def _around(points: Rows) -> Rows:
    """Points of the box around the synthetic ones, at random; none where these are not numbers."""
    if points.dtype != np.float64 or len(points) == 0:
        return points[:0]
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray(np.random.default_rng(0).uniform(low, high, (ELSEWHERE, points.shape[1])))


def _anywhere(kernel: LabelledSphere) -> Rows:
    """Vectors of norm 1 in any direction, each with the place of any class."""
    generator = np.random.default_rng(0)
    vectors = unit_vectors(generator.standard_normal((ELSEWHERE, kernel.dimension)))
    return np.column_stack([vectors, generator.integers(0, len(kernel.classes), ELSEWHERE)])


def _possible(numerator: Floats, denominator: Floats | None, scale: float) -> Interval:
    here = numerator if denominator is None else numerator[denominator > 0.0]
    return (scale * float(here.min()), scale * float(here.max())) if len(here) else REAL_LINE


def _scale(fitted: LinearFit, sigma: float, counted: float) -> Floats:
    """The estimate of a sum as weights of independent standard errors: those of the features, and the count's."""
    return np.append(sigma * fitted.coefficients, counted * (fitted.constant + fitted.correction))
