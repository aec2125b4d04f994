"""A Gaussian for each class of vectors on the unit sphere, from noisy moments, with what the noise made of them undone.

A class has a noisy share of the rows, a noisy mean and a noisy matrix of second moments. The mean is unbiased, and
taken as it is. A covariance is a matrix with independent noise of known size τ in every entry: the eigenvalues of such
noise alone lie within ±2τ√d, and one that stands out at λ is that of a direction whose true eigenvalue is best
estimated by √(λ² − 4τ²d) (Gavish & Donoho 2017, for symmetric matrices). What does not stand out is taken as equal in
all directions. The covariance of all classes together is cleaned first, then the difference of each class from it,
whose noise is larger: classes look alike until there is evidence that they don't.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.features.moments import ClassMoments, unit_vectors
from kernelease.measured.embeddings import NoisyEmbedding

_LEAST_VARIANCE = 1e-9  # of a direction, beside the mean of all. limit: of floats, so that a covariance has an inverse
_LEAST_TRACE = 0.01  # of a covariance. limit: rows of norm 1 whose mean has norm 1 would all be one


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ClassLaw:
    """Σ w_a·N(m_a, C_a), scaled to norm 1: shares w (C,), means m (C, d), and covariances C_a = c_a·(P + VᵀD_aV)₊.

    P is the covariance of all classes, (d, d); D_a, (C, p, p), is how class a differs from it along the directions V,
    (p, d), or in all columns. c_a makes a row's mean squared norm 1, as it is. `mean_errors` (C,) are the standard
    deviations of the noise in each number of a mean.
    """

    shares: Floats
    means: Floats
    pooled: Floats
    differences: Floats
    directions: Floats | None
    mean_errors: Floats

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.means.shape[1])

    def covariance(self, code: int) -> Floats:
        """C_a: (d, d)."""
        variances, axes = self._axes(code)
        matrix: Floats = (axes * variances) @ axes.T
        return matrix

    def _axes(self, code: int) -> tuple[Floats, Floats]:
        """Variances and principal axes of a class: (d,), (d, d) by column."""
        difference = self.differences[code]
        if self.directions is not None:
            difference = self.directions.T @ difference @ self.directions
        variances, axes = np.linalg.eigh(self.pooled + difference)
        positive = np.maximum(variances, _LEAST_VARIANCE * max(float(variances.mean()), _LEAST_TRACE))
        square = float(self.means[code] @ self.means[code]) - self.dimension * float(self.mean_errors[code]) ** 2
        trace = min(1.0, max(_LEAST_TRACE, 1.0 - square))
        return positive * (trace / positive.sum()), axes

    def sample(self, count: int, generator: np.random.Generator) -> tuple[Floats, Integers]:
        """Vectors of norm 1 and their classes, in numbers as near the shares as whole ones are: (n, d), (n,)."""
        ends = np.floor(np.cumsum(self.shares) * count + 0.5)
        numbers = np.diff(np.minimum(ends, count), prepend=0.0).astype(np.int64)
        numbers[int(np.argmax(self.shares))] += count - int(numbers.sum())
        parts = []
        for code in np.flatnonzero(numbers):
            variances, axes = self._axes(int(code))
            root = (axes * np.sqrt(variances)) @ axes.T  # one and the same, whichever axes LAPACK chooses
            parts.append(self.means[code] + generator.standard_normal((int(numbers[code]), self.dimension)) @ root)
        return unit_vectors(np.concatenate(parts)), np.repeat(np.arange(len(numbers)), numbers)

    def log_densities(self, vectors: Floats) -> Floats:
        """log w_a + log of the Gaussian's density at each vector: (n, d) → (n, C); −inf for a class without rows."""
        result = np.full((len(vectors), len(self.shares)), -math.inf)
        for code in np.flatnonzero(self.shares > 0.0):
            variances, axes = self._axes(int(code))
            turned = (vectors - self.means[code]) @ axes
            result[:, code] = math.log(self.shares[code]) - 0.5 * (
                (turned**2 / variances).sum(axis=1) + np.log(variances).sum()
            )
        return result


def law_of(stages: tuple[NoisyEmbedding, ...], more: tuple[Floats, ...] | None = None) -> ClassLaw:
    """The law that noisy moments describe: of one stage, or of one of all columns and one of a few directions.

    `more` is added to the noisy mean of each stage: noise, to see what it does.
    """
    maps = [_moments_map(stage) for stage in stages]
    means = (
        [stage.mean for stage in stages] if more is None else [s.mean + m for s, m in zip(stages, more, strict=True)]
    )
    moments = [feature_map.moments(mean) for feature_map, mean in zip(maps, means, strict=True)]
    errors = np.array([[stage.sigma * each for each in m.errors] for m, stage in zip(moments, stages, strict=True)])
    shares, share_error = _combine([m.shares for m in moments], errors[:, 0])
    sums, sum_error = _combine([m.means for m in moments], errors[:, 1])
    members = np.maximum(shares, share_error)
    centres, mean_errors = sums / members[:, None], sum_error / members
    centres = centres / np.maximum(1.0, np.linalg.norm(centres, axis=1, keepdims=True))
    weights = np.maximum(shares, 0.0)
    weights = weights / weights.sum() if weights.any() else np.full(len(shares), 1.0 / len(shares))

    first, seconds = maps[0], moments[0].seconds
    total, dimension = max(float(shares.sum()), share_error), centres.shape[1]
    between = (centres.T * weights) @ centres - float(weights @ mean_errors**2) * np.eye(dimension)
    noise = errors[0, 2] * math.sqrt(first.tables)
    pooled = clean(seconds.sum(axis=0) / total - between, noise / total)
    last, directions = moments[-1], maps[-1].directions
    turned = centres if directions is None else centres @ directions.T
    expected = pooled if directions is None else directions @ pooled @ directions.T
    differences = np.zeros((len(shares), *expected.shape))
    if len(last.seconds) == len(shares):
        for code, second in enumerate(last.seconds):
            own = second / members[code] - np.outer(turned[code], turned[code])
            own += mean_errors[code] ** 2 * np.eye(len(own))
            differences[code] = clean(own - expected, errors[-1, 2] / members[code])
    return ClassLaw(
        shares=weights,
        means=centres,
        pooled=pooled,
        differences=differences,
        directions=directions,
        mean_errors=mean_errors,
    )


def clean(matrix: Floats, noise: float) -> Floats:
    """A symmetric matrix without what noise makes of its eigenvalues: (d, d).

    `noise` is that of the diagonal; off it, it is smaller by √2. The mean of the diagonal is kept.

    >>> clean(np.diag([3.0, 0.0, 0.0]), 0.0).round(6).diagonal()
    array([3., 0., 0.])
    >>> clean(np.diag([3.0, 0.0, 0.0]), 10.0).round(6).diagonal()
    array([1., 1., 1.])
    """
    size = len(matrix)
    level = float(np.trace(matrix)) / size
    values, axes = np.linalg.eigh(matrix - level * np.eye(size))
    edge = standing_out(size, noise)
    shrunk = np.sign(values) * np.sqrt(np.maximum(values**2 - edge**2, 0.0))
    result: Floats = (axes * shrunk) @ axes.T + level * np.eye(size)
    return result


def standing_out(size: int, noise: float) -> float:
    """The largest eigenvalue that noise alone has, 2τ√d with τ = noise/√2."""
    return noise * math.sqrt(2.0 * size)


def _combine(estimates: list[Floats], errors: Floats) -> tuple[Floats, float]:
    """Several estimates of the same numbers as the best one, and its error."""
    precisions = errors**-2.0
    total = float(precisions.sum())
    best: Floats = np.tensordot(precisions, np.stack(estimates), axes=1) / total
    return best, total**-0.5


def _moments_map(stage: NoisyEmbedding) -> ClassMoments:
    if not isinstance(stage.feature_map, ClassMoments):
        raise ParameterError("ClassLaw: needs the measured moments of classes.")
    return stage.feature_map
