"""A noisy mean embedding: the public side of the barrier. Everything done with it is free."""

import math
from dataclasses import dataclass
from typing import final

from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap
from kernelease.kinds import Kind
from kernelease.measured.measured import check_integers, check_rows
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.sensitivity import count_increment
from kernelease.privacy.step import Law, Measurement


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
        law = "Gaussian" if self.measurement.law is Law.GAUSSIAN else "Laplace"
        return f"NoisyEmbedding({self.feature_map.dimension} coordinates, {law} noise {self.sigma:.3g} each{mark})"


def noisy_rows(feature_map: FeatureMap, measurement: Measurement) -> float:
    """n̂ under add-remove, from the last noisy number: at least 1."""
    return max(1.0, float(measurement.values[-1]) / count_increment(feature_map))
