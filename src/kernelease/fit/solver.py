"""Reduced-set solvers: where points start, the weighted points, and a report about them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from enum import Enum, unique
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Rows
from kernelease.errors import ParameterError, check_integer
from kernelease.features.feature_map import FeatureMap
from kernelease.fit.weights import Constraint, Simplex, WeightSolver
from kernelease.kernels.kernel import as_rows
from kernelease.kinds import Kind
from kernelease.machine import refuse_beyond_memory
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.seeds import PublicSeed
from kernelease.table.domain import Domain

# --------------------
# Weighted points, and a solver's report about them.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticSet(Kind):
    """(z₁, w₁) … (z_M, w_M): what is published. Σ w_m k(z_m, ·) represents the private table."""

    points: Rows
    weights: Floats

    def __post_init__(self) -> None:
        if len(self.points) != len(self.weights):
            raise ParameterError(
                f"SyntheticSet: needs one weight per point, got {len(self.weights)} for {len(self.points)} points."
            )

    def __len__(self) -> int:
        return len(self.weights)

    def embedding(self, feature_map: FeatureMap) -> Floats:
        """Σ w_m φ(z_m): (J,)."""
        return self.weights @ feature_map.evaluate(self.points)

    def distance(self, feature_map: FeatureMap, target: Floats) -> float:
        """‖Σ w_m φ(z_m) − target‖: how well the set represents a (noisy) embedding."""
        return float(np.linalg.norm(self.embedding(feature_map) - target))

    def as_float32(self) -> "SyntheticSet":
        """The same set with points rounded to float32 (numbers only)."""
        if self.points.dtype == object:
            raise ParameterError("as_float32: these points hold more than numbers.")
        return replace(self, points=self.points.astype(np.float32).astype(np.float64))


@final
@unique
class Outcome(Enum):
    """How a solver ended, in words that say what to do."""

    EXACT = "The weights express the estimated embedding exactly."
    OPTIMAL = "The best weights under the constraint were found, to the stated tolerance."
    NOISE_FLOOR = "Stopped at the noise floor: coming closer would fit noise."
    ITERATION_LIMIT = "Stopped at the iteration limit; more iterations may come closer."
    POINT_LIMIT = "All the points that were asked for are placed; more points may come closer."
    NO_PROGRESS = "No further point brings the fit closer."
    CONVERTED = "Made from the points of another solution; the distance is its own."
    SELECTED = "Drawn by the exponential mechanism among all candidates."


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """A synthetic set with its distance to the noisy embedding, the noise floor it should reach, and what happened."""

    synthetic: SyntheticSet
    distance: float
    noise_floor: float
    outcome: Outcome
    iterations: int = 0

    def table(self, domain: Domain, count: int | None, generator: np.random.Generator) -> pa.Table:
        """The points with their weights; there are as many as were fitted."""
        if count is not None:
            raise ParameterError(
                "rows: points are weighted, not drawn. `release.forms.uniform` and `release.sample` make any number."
            )
        return domain.table_of_points(self.synthetic.points, self.synthetic.weights, generator)

    def __str__(self) -> str:
        return (
            f"{len(self.synthetic)} points, distance to the noisy embedding {self.distance:.4g} "
            f"(noise floor {self.noise_floor:.4g}). {self.outcome.value}"
        )


# --------------------
# Starting points: public rows, or a law that the owner declares.


class PointSource(Kind, ABC):
    """A public source of candidate points. It must not be made from private rows."""

    @abstractmethod
    def draw(self, count: int, generator: np.random.Generator) -> Rows:
        """At most `count` points: (m, d). A source that has fewer gives all it has."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """d: number of columns."""

    def within(self, points: Rows) -> Rows:
        """The nearest points to these that rows can be at, where the source says so: (m, d)."""
        return points

    @property
    def published(self) -> int:
        """How many rows of the private table these are, if any: they then have no guarantee."""
        return 0


def check_points(name: str, source: object) -> None:
    """Raise unless `source` says where public points come from: an array of them is no source yet."""
    if not isinstance(source, PointSource | PublishedRows):
        raise ParameterError(
            f"{name} must be a PointSource, as NormalPoints(dimension=2) or PublicPoints(rows), got "
            f"{type(source).__name__}."
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NormalPoints(PointSource):
    """Points from N(mean, scale²) in each of d columns: the paper's q. Its spread must cover where rows can be.

    >>> NormalPoints(dimension=2, scale=500.0).draw(3, np.random.default_rng(0)).shape
    (3, 2)
    """

    dimension: int
    mean: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.dimension < 1 or not 0.0 < self.scale < np.inf or not np.isfinite(self.mean):
            raise ParameterError(
                f"NormalPoints: needs at least one column, a finite mean and a positive scale, "
                f"got {self.dimension!r}, {self.mean!r} and {self.scale!r}."
            )

    def draw(self, count: int, generator: np.random.Generator) -> Rows:
        return generator.normal(self.mean, self.scale, size=(count, self.dimension))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UniformPoints(PointSource):
    """Points from a declared box low ≤ x ≤ high."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.low) != len(self.high) or not self.low:
            raise ParameterError(
                f"UniformPoints: low and high need a number per column each, got {len(self.low)} and {len(self.high)}."
            )
        for column, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            if not -np.inf < low < high < np.inf:
                raise ParameterError(
                    f"UniformPoints: column {column} must have finite bounds with low < high, got {low!r} and {high!r}."
                )

    @property
    def dimension(self) -> int:
        return len(self.low)

    def draw(self, count: int, generator: np.random.Generator) -> Rows:
        return generator.uniform(self.low, self.high, size=(count, self.dimension))

    def within(self, points: Rows) -> Rows:
        return np.clip(points, self.low, self.high)


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PublicPoints(PointSource):
    """Given public rows, in their order.

    By default they are auxiliary knowledge (`--public FILE`), and every private row stays protected. `published` says
    that so many rows of the private table itself are out already (`--published-rows FILE`), these among them: they have
    no guarantee, and which they are must not depend on private values.
    """

    points: Rows
    published: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", as_rows(self.points))
        if len(self.points) == 0:
            raise ParameterError("PublicPoints: needs at least one public row, got none.")
        if self.published < 0:
            raise ParameterError(f"PublicPoints: published must be at least 0, got {self.published!r}.")

    def __repr__(self) -> str:
        return f"PublicPoints({len(self.points)} rows)"

    @property
    def dimension(self) -> int:
        return int(self.points.shape[1])

    def draw(self, count: int, generator: np.random.Generator) -> Rows:
        return self.points[:count]


@final
@dataclass(frozen=True, slots=True)
class PublishedRows(Kind):
    """The first `count` rows of the private table are public already (the paper's publishable subset).

    Neighbouring tables then differ in the *other* rows only: the published ones have no guarantee, and the certificate
    says so. Which rows are published must not depend on private values.
    """

    count: int

    def __post_init__(self) -> None:
        check_integer("PublishedRows: count", self.count, 1, 2**62)

    @property
    def published(self) -> int:
        """How many rows have no guarantee."""
        return self.count


# --------------------
# The solver: a noisy embedding in, weighted synthetic points out.


class PointSolver(Kind, ABC):
    """Finds (z, w) with Σ w_m φ(z_m) ≈ target. Sees nothing private; starts from a public source of points."""

    def check(self, feature_map: FeatureMap, source: PointSource) -> None:  # most solvers take every map
        """Raise for what this solver can't do. Methods call it before they charge any budget."""

    @abstractmethod
    def solve(self, noisy: NoisyEmbedding, target: Floats, source: PointSource, seed: PublicSeed) -> Solution:
        """A synthetic set near `target` (an estimate made from `noisy`), with its distance to it: (J,) → Solution."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPoints(PointSolver):
    """Points as the source gives them; only the weights are fitted, under `constraint`."""

    points: int = 1000
    constraint: Constraint = Simplex()
    iterations: int = 2000

    def __post_init__(self) -> None:
        check_integer("FixedPoints: points", self.points, 1, 2**62)
        check_integer("FixedPoints: iterations", self.iterations, 1, 2**62)

    def check(self, feature_map: FeatureMap, source: PointSource) -> None:
        width = max(source.dimension, feature_map.dimension)
        refuse_beyond_memory(f"FixedPoints: {self.points:,} points", self.points, width)

    def solve(self, noisy: NoisyEmbedding, target: Floats, source: PointSource, seed: PublicSeed) -> Solution:
        """Weights for the drawn points."""
        points = source.draw(self.points, seed.generator("fixed points"))
        solver = WeightSolver(constraint=self.constraint, iterations=self.iterations)
        fitted = solver.solve(noisy.feature_map.evaluate(points).T, target)
        return Solution(
            synthetic=SyntheticSet(points=points, weights=fitted.weights),
            distance=fitted.objective**0.5,
            noise_floor=noisy.noise_floor,
            outcome=Outcome.OPTIMAL if fitted.converged else Outcome.ITERATION_LIMIT,
            iterations=fitted.iterations,
        )


# --------------------
# Estimators of the mean embedding that act after the noise, and so cost no budget.
#
# The empirical mean is what the barrier measures. Shrinkage (Muandet et al. 2016) moves the noisy mean towards a
# public guess; done after the noise it is post-processing. docs/proofs/means.md says why shrinkage or quadrature
# weights *before* the noise are not offered.


class Estimator(Kind, ABC):
    """A public function of a noisy embedding that estimates the true one."""

    @abstractmethod
    def estimate(self, noisy: NoisyEmbedding) -> Floats:
        """An estimate of the mean embedding: (J,)."""


@final
@dataclass(frozen=True, slots=True)
class EmpiricalMean(Estimator):
    """The noisy mean itself: unbiased."""

    def estimate(self, noisy: NoisyEmbedding) -> Floats:
        return noisy.mean


@final
@dataclass(frozen=True, slots=True)
class Shrinkage(Estimator):
    """Positive-part James–Stein: guess + max(0, 1 − (J − 2)σ²/‖μ̃ − guess‖²)·(μ̃ − guess).

    `guess` is a public set whose embedding is shrunk towards (None: towards zero). Its squared error is never above
    the noisy mean's in expectation, for J ≥ 3, wherever the truth lies.
    """

    guess: SyntheticSet | None = None

    def estimate(self, noisy: NoisyEmbedding) -> Floats:
        guess = np.zeros_like(noisy.mean) if self.guess is None else self.guess.embedding(noisy.feature_map)
        offset = noisy.mean - guess
        energy = float(offset @ offset)
        if energy == 0.0:
            return guess
        return guess + max(0.0, 1.0 - max(0, len(offset) - 2) * noisy.sigma**2 / energy) * offset
