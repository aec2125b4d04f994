"""What a reduced-set solver is: a noisy embedding in, weighted synthetic points out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from kernelease.arrays import Floats
from kernelease.features.feature_map import FeatureMap
from kernelease.fit.points.source import PointSource
from kernelease.fit.solution import Outcome, Solution, SyntheticSet
from kernelease.fit.weights.constraints import Constraint, Simplex
from kernelease.fit.weights.weight_solver import WeightSolver
from kernelease.kernels.parameters import check_integer
from kernelease.kinds import Kind
from kernelease.machine import refuse_beyond_memory
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.seeds import PublicSeed


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
        """Refuse more points than memory holds."""
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
