"""Noisy mean embeddings, in stages: what the methods for vectors measure, and Gaussians that describe it."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy
from scipy.special import ndtri

from kernelease.arrays import Floats, Rows
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap
from kernelease.features.nystrom import Nystrom
from kernelease.kernels.kernel import Kernel
from kernelease.kinds import Kind
from kernelease.measured.measured import (
    Choice,
    Measured,
    RecordedNoise,
    Recording,
    all_private,
    check_integers,
    check_rows,
    digest,
    needed_by,
)
from kernelease.privacy.accounting import Law, Measurement, Step
from kernelease.privacy.sensitivity import Neighbours, count_increment, sum_sensitivity
from kernelease.table.domain import Domain

# --------------------
# One noisy mean embedding. It is public: everything done with it is free.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyEmbedding(Kind):
    """μ̃: the mean of a feature map over the private rows, plus known noise.

    Under replace-one `rows` is the public N. Under add-remove it is the noisy count n̂, at least 1: a table so small
    that its noisy count is not positive is described as one row.
    """

    feature_map: FeatureMap
    measurement: Measurement
    neighbours: Neighbours
    rows: float

    @property
    def sum(self) -> Floats:
        """Σ φ(x) plus noise, in feature units: (J,)."""
        return self.measurement.values[: self.feature_map.dimension] * self.feature_map.step

    @property
    def mean(self) -> Floats:
        """μ̃ = Σ φ(x) / rows, with noise: (J,)."""
        return self.sum / self.rows

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise in each coordinate of `mean`."""
        return self.measurement.standard_deviation * self.feature_map.step / self.rows

    @property
    def count_error(self) -> float:
        """Standard deviation of the noise in `rows`, over `rows`: 0 where N is public."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            return 0.0
        return self.measurement.standard_deviation / (count_increment(self.feature_map) * self.rows)

    @property
    def noise_floor(self) -> float:
        """√E‖noise‖²: how far μ̃ is from the true mean embedding, and how close a good fit should come to μ̃."""
        return self.sigma * math.sqrt(self.feature_map.dimension)

    @property
    def private(self) -> bool:
        """Whether the noise came from the operating system. False means NOT PRIVATE."""
        return self.measurement.private

    def check(self) -> None:
        """Raise `ParameterError` unless the numbers are those of the features, and of the number of rows."""
        check_rows(self.rows)
        step = self.measurement.step
        counted = self.neighbours is Neighbours.ADD_REMOVE
        if step.coordinates != self.feature_map.dimension + counted:
            raise ParameterError("the noisy numbers are not those of the features.")
        check_integers(self.measurement.integers, step.coordinates)
        if counted and self.rows != noisy_rows(self.feature_map, self.measurement):
            raise ParameterError("the number of rows is not the noisy count.")

    def __repr__(self) -> str:
        mark = "" if self.private else ", NOT PRIVATE"
        law = "Gaussian" if self.measurement.step.law is Law.GAUSSIAN else "Laplace"
        return f"NoisyEmbedding({self.feature_map.dimension} coordinates, {law} noise {self.sigma:.3g} each{mark})"


def noisy_rows(feature_map: FeatureMap, measurement: Measurement) -> float:
    """n̂ under add-remove, from the last noisy number: at least 1."""
    return max(1.0, float(measurement.values[-1]) / count_increment(feature_map))


# --------------------
# Gaussians: a coarse description of a distribution, each with a centre, a width and a weight.


_TAIL = 1e-9  # a Sobol sequence may hold 0, where the normal law has no quantile


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussians(Kind):
    """Σ w_k·N(z_k, s_k²·I): centres z (K, d), widths s (K,), weights w (K,) on the probability simplex.

    >>> pair = Gaussians(centres=np.zeros((2, 3)), widths=np.array([0.0, 1.0]), weights=np.array([0.5, 0.5]))
    >>> len(pair), pair.crosses()[0].shape
    (2, (12, 3))
    """

    centres: Floats
    widths: Floats
    weights: Floats

    def __post_init__(self) -> None:
        if not len(self.centres) == len(self.widths) == len(self.weights):
            raise ParameterError("Gaussians: needs one centre, one width and one weight each.")

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def parameters(self) -> int:
        """A weight, a width and d coordinates each."""
        return len(self) * (int(self.centres.shape[1]) + 2)

    @classmethod
    def none(cls, dimension: int) -> "Gaussians":
        """No Gaussians, in `dimension` columns."""
        return cls(centres=np.empty((0, dimension)), widths=np.empty(0), weights=np.empty(0))

    def join(self, centres: Floats, width: float) -> "Gaussians":
        """These and further Gaussians of one width, which have no weight yet."""
        return Gaussians(
            centres=np.concatenate([self.centres, centres]),
            widths=np.concatenate([self.widths, np.full(len(centres), width)]),
            weights=np.concatenate([self.weights, np.zeros(len(centres))]),
        )

    def with_weights(self, weights: Floats) -> "Gaussians":
        """The same with other weights, without the Gaussians whose weight is then 0."""
        kept = weights > 0.0
        return Gaussians(
            centres=self.centres[kept], widths=self.widths[kept], weights=weights[kept] / weights[kept].sum()
        )

    def crosses(self) -> tuple[Floats, Floats]:
        """Each Gaussian as 2d points z ± s·√d·e_i of equal weight: (2dK, d) and (2dK,).

        They have its mean and covariance, so its embedding up to the fourth order in s over the lengthscale.
        """
        dimension = self.centres.shape[1]
        points = self.centres[:, None, :] + self.widths[:, None, None] * cross(dimension)
        return points.reshape(-1, dimension), np.repeat(self.weights / (2 * dimension), 2 * dimension)

    def sample(self, count: int, generator: np.random.Generator, *, jitter: float = 0.0) -> Floats:
        """Points of the mixture with every width raised to √(s² + jitter²), in numbers ∝ weight: (count, d)."""
        ends = np.floor(np.cumsum(self.weights) / self.weights.sum() * count + generator.random())
        numbers = np.diff(np.minimum(ends, count), prepend=0.0).astype(np.int64)
        members = np.repeat(np.arange(len(self)), numbers)
        spread = np.hypot(self.widths[members], jitter)[:, None]
        return self.centres[members] + spread * generator.standard_normal((len(members), self.centres.shape[1]))

    def spread(self, count: int, generator: np.random.Generator, *, least: int = 1) -> tuple[Floats, Floats]:
        """Points of the mixture, about `count` in numbers ∝ weight, more even than random ones: (m, d), (m,).

        Each Gaussian has points of a scrambled Sobol sequence, `least` or more, shifted and turned so that their mean
        and covariance are the Gaussian's own where they are enough for that. The second array is the weight of each,
        with sum 1.
        """
        shares = self.weights / self.weights.sum()
        numbers = np.maximum(least, np.rint(shares * count)).astype(np.int64)
        dimension = self.centres.shape[1]
        parts = []
        for centre, width, number in zip(self.centres, self.widths, numbers, strict=True):
            parts.append(centre + width * even_points(int(number), dimension, generator))
        return np.concatenate(parts), np.repeat(shares / numbers, numbers)


def even_points(count: int, dimension: int, generator: np.random.Generator) -> Floats:
    """Standard normal points, more even than random ones; of mean 0 and covariance I, if enough for that: (m, d)."""
    sequence = scipy.stats.qmc.Sobol(dimension, rng=generator)
    even = sequence.random_base2(math.ceil(math.log2(count)))[:count]
    points: Floats = ndtri(np.clip(even, _TAIL, 1.0 - _TAIL))
    if count <= 2 * dimension:
        return points
    centred = points - points.mean(axis=0)
    lower = np.linalg.cholesky(centred.T @ centred / len(points))
    return np.asarray(np.linalg.solve(lower, centred.T).T, dtype=np.float64)


def cross(dimension: int) -> Floats:
    """±√d·e_i: equally weighted points of mean 0 and covariance I: (2d, d)."""
    axes = math.sqrt(dimension) * np.eye(dimension)
    return np.concatenate([axes, -axes])


# --------------------
# Embeddings in stages: what Subspace, RandomFeatures and Adaptive measure.


_SLACK = 1 + 1e-9  # for floats that were written in decimal and read again


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyEmbeddings(Measured):
    """One noisy embedding, or several of the same rows, each chosen in sight of those before it.

    `candidates` are the public points that a fit may use, and `law` the Gaussians that the stages were taken for, in
    units of the kernel's lengthscales, where a method looks for them.
    """

    stages: tuple[NoisyEmbedding, ...]
    candidates: Rows
    law: Gaussians | None = None
    published: int = 0
    choices: tuple[Choice, ...] = ()

    def __post_init__(self) -> None:
        if not self.stages or self.published < 0:
            raise ParameterError("NoisyEmbeddings: needs at least one stage, and no negative number of rows.")

    @property
    def embedding(self) -> NoisyEmbedding:
        """The last stage: what answers are taken from."""
        return self.stages[-1]

    @property
    def neighbours(self) -> Neighbours:
        return self.embedding.neighbours

    @property
    def rows(self) -> float:
        return self.embedding.rows

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(stage.measurement.step for stage in self.stages)

    @property
    def private(self) -> bool:
        return all_private(self.stages)

    @property
    def width(self) -> int:
        return int(self.candidates.shape[1])

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels of the stages that measure a subspace."""
        maps = (stage.feature_map for stage in self.stages)
        return tuple(feature_map.kernel for feature_map in maps if isinstance(feature_map, Nystrom))

    @property
    def replay(self) -> RecordedNoise:
        counted = self.neighbours is Neighbours.ADD_REMOVE
        vectors = tuple(Recording(integers=stage.measurement.integers, counted=counted) for stage in self.stages)
        return RecordedNoise(vectors=vectors, picks=(), private=self.private)

    @property
    def published_rows(self) -> int:
        return self.published

    @property
    def fingerprint(self) -> str:
        return digest(self.embedding.measurement.integers)

    def least_sensitivities(self, neighbours: Neighbours, unit: int) -> tuple[float, ...]:
        """Least sensitivities, by each map's diameter or norm; features weigh rows alike, so `unit` has to be 1."""
        if unit != 1:
            raise ParameterError("embeddings protect rows, not persons.")
        for stage in self.stages:
            _check_map(stage)
        return tuple(
            needed_by(stage.measurement.step, sum_sensitivity(stage.feature_map, neighbours)) for stage in self.stages
        )

    def check(self, domain: Domain) -> None:
        """Stages of one relation and one number of rows."""
        for stage in self.stages:
            stage.check()
            if stage.neighbours is not self.neighbours:
                raise ParameterError("the stages are of different neighbour relations.")
            if self.neighbours is Neighbours.REPLACE_ONE and stage.rows != self.rows:
                raise ParameterError("the stages are of different numbers of rows.")
        if domain.sizes is not None and self.candidates.shape[1] != len(domain.sizes):
            raise ParameterError("the public points have other columns than the schema.")

    @property
    def accuracy(self) -> str:
        """The noise of the last stage."""
        noisy = self.embedding
        return (
            f"A mean of {noisy.feature_map.dimension:,} features was measured; the noise of each has a standard "
            f"deviation of {noisy.sigma:.3g}, together {noisy.noise_floor:.3g} in the norm of the kernel."
        )


def _check_map(stage: NoisyEmbedding) -> None:
    """The one number in a feature map that shrinks its diameter, and that a file could understate."""
    feature_map = stage.feature_map
    if isinstance(feature_map, Nystrom) and feature_map.stretch * _SLACK < feature_map.least_stretch:
        raise ParameterError("the stretch of the subspace is understated.")
