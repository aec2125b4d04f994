"""The paper's reduced-set solver: pre-images one at a time, then weights of bounded L1 norm. The baseline."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy

from kernelease.arrays import Floats, Rows, finite_numbers
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap
from kernelease.features.fourier import Fourier
from kernelease.fit.points.source import PointSource
from kernelease.fit.solution import Outcome, Solution, SyntheticSet
from kernelease.fit.solver import PointSolver
from kernelease.fit.weights.constraints import Constraint, L1Ball
from kernelease.fit.weights.weight_solver import WeightSolver, tolerance_at_noise
from kernelease.kernels.parameters import check_integer
from kernelease.machine import refuse_beyond_memory
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.seeds import PublicSeed


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GreedyPreimages(PointSolver):
    """Each new point climbs the residual's witness function f(z) = ⟨residual, φ(z)⟩ from the best of `starts` draws.

    After each point all weights are solved again under `constraint`. With `stop_at_noise` it ends when the distance to
    the noisy embedding is down to the noise floor; the paper's code goes on to the last point.
    """

    points: int = 100
    constraint: Constraint = L1Ball(1.0)
    starts: int = 64
    stop_at_noise: bool = True

    def __post_init__(self) -> None:
        check_integer("GreedyPreimages: points", self.points, 1, 2**62)
        check_integer("GreedyPreimages: starts", self.starts, 1, 2**62)

    def check(self, feature_map: FeatureMap, source: PointSource) -> None:
        """Refuse maps without a gradient, and more points or starts than memory holds."""
        _fourier(feature_map)
        width = max(source.dimension, feature_map.dimension)
        refuse_beyond_memory(f"GreedyPreimages: {self.points:,} points", self.points, max(width, self.points))
        refuse_beyond_memory(f"GreedyPreimages: {self.starts:,} starts", self.starts, width)

    def solve(self, noisy: NoisyEmbedding, target: Floats, source: PointSource, seed: PublicSeed) -> Solution:
        """Place up to `points` points."""
        sets = self.path(noisy, target, source, seed)
        synthetic, distance = next(sets)
        while not (at_floor := self.stop_at_noise and distance <= noisy.noise_floor):
            following = next(sets, None)
            if following is None:
                break
            synthetic, distance = following
        return Solution(
            synthetic=synthetic,
            distance=distance,
            noise_floor=noisy.noise_floor,
            outcome=Outcome.NOISE_FLOOR if at_floor else Outcome.POINT_LIMIT,
            iterations=len(synthetic),
        )

    def path(
        self, noisy: NoisyEmbedding, target: Floats, source: PointSource, seed: PublicSeed
    ) -> Iterator[tuple[SyntheticSet, float]]:
        """The set after each new point, with its distance to the target."""
        feature_map = _fourier(noisy.feature_map)
        generator = seed.generator("greedy pre-images")
        energy = float(target @ target)
        solver = WeightSolver(constraint=self.constraint, tolerance=tolerance_at_noise(noisy.noise_floor, target))
        points = np.empty((0, source.dimension))
        features = np.empty((0, feature_map.dimension))
        weights, gram, linear = np.empty(0), np.empty((0, 0)), np.empty(0)
        for _ in range(self.points):
            starts = finite_numbers(source.draw(self.starts, generator))
            point = _climb(feature_map, target - weights @ features, starts, signed=self.constraint.signed)
            feature = feature_map.evaluate(point)
            cross = features @ feature[0]
            gram = np.block([[gram, cross[:, None]], [cross[None, :], feature @ feature.T]])
            points, features = np.vstack([points, point]), np.vstack([features, feature])
            linear = np.append(linear, feature @ target)
            fitted = solver.solve_quadratic(gram, linear, energy, np.append(weights, 0.0))
            weights = fitted.weights
            yield SyntheticSet(points=points, weights=weights), float(np.sqrt(fitted.objective))


def _fourier(feature_map: FeatureMap) -> Fourier:
    """The map itself, if it has the gradient that climbing needs."""
    if not isinstance(feature_map, Fourier):
        raise ParameterError(f"GreedyPreimages: needs Fourier features, got {type(feature_map).__name__}.")
    return feature_map


def _climb(feature_map: Fourier, residual: Floats, starts: Rows, *, signed: bool) -> Rows:
    """The point that gradient ascent on the witness reaches from the best start: (1, d).

    Where weights may be negative a valley is worth as much as a peak, and |witness| is climbed.
    """
    heights = feature_map.evaluate(starts) @ residual
    best = int(np.argmax(np.abs(heights) if signed else heights))
    sign = -1.0 if signed and heights[best] < 0 else 1.0

    def descent(z: Floats) -> tuple[float, Floats]:
        value, gradient = feature_map.value_and_gradient(z[None, :], residual)
        return -sign * float(value[0]), -sign * gradient[0]

    result = scipy.optimize.minimize(descent, starts[best], jac=True, method="L-BFGS-B", options={"maxiter": 100})
    highest: Floats = result.x
    return highest[None, :]
