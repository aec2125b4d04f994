"""Weighted synthetic points, and what a solver says about them."""

from dataclasses import dataclass, replace
from enum import Enum, unique
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Rows
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap
from kernelease.kinds import Kind
from kernelease.table.domain import Domain


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticSet(Kind):
    """(z₁, w₁) … (z_M, w_M): what is published. Σ w_m k(z_m, ·) stands for the private table."""

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
        """‖Σ w_m φ(z_m) − target‖: how well the set stands for a (noisy) embedding."""
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
            raise ParameterError("rows: points are weighted, not drawn. `Release.uniform` and export make any number.")
        return domain.weighted(self.synthetic.points, self.synthetic.weights, generator)

    def __str__(self) -> str:
        return (
            f"{len(self.synthetic)} points, distance to the noisy embedding {self.distance:.4g} "
            f"(noise floor {self.noise_floor:.4g}). {self.outcome.value}"
        )
