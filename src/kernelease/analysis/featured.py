"""Averages from a noisy mean embedding: what a linear function of the features says, and what it leaves open."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.limits import EVERYWHERE, Interval, Limits, critical
from kernelease.analysis.ratio import Ratio
from kernelease.arrays import Floats, Rows
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.sensitivity import count_increment
from kernelease.privacy.step import Law

RIDGES = tuple(10.0**power for power in range(-8, 3))
REMARK = (
    "the part of the function that the features leave open is bounded by what it does on the points at hand, "
    "and not beyond them"
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """h ≈ c + a·φ: coefficients (J,), the constant, and the residual's range over all points looked at."""

    coefficients: Floats
    constant: float
    correction: float  # the synthetic rows' mean of h − c − a·φ
    range: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Featured:
    """Functions of points, known on synthetic points with weights and on more points, and a noisy embedding.

    For h the estimate is a·μ̃ + c + Σ w (h − c − a·φ)(z): the features' part from the measurement, with variance
    σ²‖a‖², and the rest from the synthetic points. The rest is off by at most its range (more where weights are
    negative). a minimises the whole width among ridge solutions, so that more noise means fewer features used.
    """

    embedding: NoisyEmbedding
    features: Floats  # φ of all points: (n, J)
    weights: Floats  # of the synthetic points; 0 for the others: (n,)

    @classmethod
    def of(cls, embedding: NoisyEmbedding, points: Rows, weights: Floats, others: Rows) -> "Featured":
        """Synthetic points with their weights, and other points to look at."""
        every = np.concatenate([points, others]) if len(others) else points
        padded = np.concatenate([weights / weights.sum(), np.zeros(len(others))])
        return cls(embedding=embedding, features=embedding.feature_map.evaluate(every), weights=padded)

    def fit(self, values: Floats, z: float = 1.96) -> Fitted:
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
            found.append(self._fitted(values, coefficients, centre - float(mean @ coefficients)))
        found.append(self._fitted(values, np.zeros(self.features.shape[1]), centre))
        return min(found, key=lambda one: z * self.embedding.sigma * np.linalg.norm(one.coefficients) + one.range)

    def _fitted(self, values: Floats, coefficients: Floats, constant: float) -> Fitted:
        rest = values - constant - self.features @ coefficients
        return Fitted(
            coefficients=coefficients,
            constant=constant,
            correction=float(self.weights @ rest),
            range=float(rest.max() - rest.min()) * (1.0 + float(np.maximum(-self.weights, 0.0).sum())),
        )

    def sum(self, fitted: Fitted) -> float:
        """The estimate of Σh over all rows."""
        rows = self.embedding.rows
        return float(fitted.coefficients @ self.embedding.sum) + rows * (fitted.constant + fitted.correction)

    def estimate(
        self, numerator: Floats, denominator: Floats | None, *, target: Target, about: str, total: bool = False
    ) -> Estimate:
        """Σ numerator / Σ denominator; both are known at all points: (n,). With `total`, Σ numerator."""
        ones = np.ones_like(numerator)
        top = self.fit(numerator)
        bottom = self.fit(ones if denominator is None else denominator)
        noise = self._noise(top, bottom, total)
        functions = np.stack([numerator, ones if denominator is None else denominator])
        both = noise + self._sampling(functions, total) if target is Target.POPULATION else noise
        sums = self.sum(top), 1.0 if total else self.sum(bottom)
        limits = _Limits(
            ratio=_ratio(sums, both),
            noise=_ratio(sums, noise),
            bias=(top.range * self.embedding.rows, 0.0 if total else bottom.range * self.embedding.rows),
            possible=_possible(numerator, denominator, self.embedding.rows if total else 1.0),
            heavy=self.embedding.measurement.law is Law.LAPLACE,
        )
        return limits.estimate(target, about)

    def _noise(self, top: Fitted, bottom: Fitted, total: bool) -> Floats:
        """The covariance of both sums by the noise of the features, and of the number of rows where it has some."""
        measurement, feature_map = self.embedding.measurement, self.embedding.feature_map
        counted = 0.0
        if self.embedding.neighbours is Neighbours.ADD_REMOVE:
            counted = measurement.standard_deviation / count_increment(feature_map)
        pair = np.stack(
            [_scaled(one, measurement.standard_deviation * feature_map.step, counted) for one in (top, bottom)]
        )
        if total:
            pair[1] = 0.0
        covariance: Floats = pair @ pair.T
        return covariance

    def _sampling(self, functions: Floats, total: bool) -> Floats:
        """The covariance of both sums over tables drawn from the population, by the synthetic points."""
        weights = np.maximum(self.weights, 0.0)
        centred = functions - (functions @ self.weights)[:, None]
        covariance: Floats = self.embedding.rows * (centred * weights) @ centred.T
        if total:
            covariance[1, :] = covariance[:, 1] = 0.0
        return covariance


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Limits(Limits):
    """Fieller's interval of a ratio whose two sums are each off by up to a bias."""

    ratio: Ratio
    noise: Ratio
    bias: tuple[float, float]  # of the two sums
    possible: Interval
    heavy: bool

    def at(self, level: float) -> Interval:
        low, high = self.ratio.interval(critical(level, heavy=self.heavy))
        low, high = low - self._shift(low), high + self._shift(high)
        return max(low, self.possible[0]), min(high, self.possible[1])

    def _shift(self, ratio: float) -> float:
        """By how much the biases of numerator and denominator can move a ratio."""
        below = self.ratio.denominator - self.bias[1]
        if below <= 0.0 or not math.isfinite(ratio):
            return math.inf
        return (self.bias[0] + abs(ratio) * self.bias[1]) / below

    def estimate(self, target: Target, about: str) -> Estimate:
        value = self.ratio.value
        error = self.noise.standard_error
        both = self.ratio.standard_error
        parts = Parts(
            noise=error,
            sampling=math.sqrt(max(0.0, both**2 - error**2)) if math.isfinite(both) else 0.0,
            bias=self._shift(value),
        )
        value = min(max(value, self.possible[0]), self.possible[1])
        return Estimate(
            value=value, parts=parts, limits=self, target=target, about=about, remark=REMARK, possible=self.possible
        )


def _possible(numerator: Floats, denominator: Floats | None, scale: float) -> Interval:
    here = numerator if denominator is None else numerator[denominator > 0.0]
    return (scale * float(here.min()), scale * float(here.max())) if len(here) else EVERYWHERE


def _scaled(fitted: Fitted, sigma: float, counted: float) -> Floats:
    """The estimate of a sum as weights of independent standard errors: those of the features, and the count's."""
    return np.append(sigma * fitted.coefficients, counted * (fitted.constant + fitted.correction))


def _ratio(sums: tuple[float, float], covariance: Floats) -> Ratio:
    return Ratio(
        numerator=sums[0],
        denominator=sums[1],
        variances=(float(covariance[0, 0]), float(covariance[1, 1])),
        covariance=float(covariance[0, 1]),
    )
