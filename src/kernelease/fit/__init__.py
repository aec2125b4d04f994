"""The reduced-set problem: weighted synthetic points that match a noisy embedding. All public, all free."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.fit.conformance import check_solver
    from kernelease.fit.estimators import EmpiricalMean, Estimator, Shrinkage
    from kernelease.fit.gaussians.sliding_frank_wolfe import SlidingFrankWolfe
    from kernelease.fit.mixtures.mixture import Mixture, MixtureSolver
    from kernelease.fit.points.greedy import GreedyPreimages
    from kernelease.fit.points.herding import herd
    from kernelease.fit.points.source import NormalPoints, PointSource, PublicPoints, UniformPoints
    from kernelease.fit.solution import Outcome, Solution, SyntheticSet
    from kernelease.fit.solver import FixedPoints, PointSolver
    from kernelease.fit.weights.constraints import Constraint, Free, L1Ball, Simplex
    from kernelease.fit.weights.tilting import Tilted, Tilting
    from kernelease.fit.weights.weight_solver import FittedWeights, WeightSolver
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "conformance": "check_solver",
            "estimators": "EmpiricalMean Estimator Shrinkage",
            "gaussians.sliding_frank_wolfe": "SlidingFrankWolfe",
            "mixtures.mixture": "Mixture MixtureSolver",
            "points.greedy": "GreedyPreimages",
            "points.herding": "herd",
            "points.source": "NormalPoints PointSource PublicPoints UniformPoints",
            "solution": "Outcome Solution SyntheticSet",
            "solver": "FixedPoints PointSolver",
            "weights.constraints": "Constraint Free L1Ball Simplex",
            "weights.tilting": "Tilted Tilting",
            "weights.weight_solver": "FittedWeights WeightSolver",
        },
    )

__all__ = [
    "Constraint",
    "EmpiricalMean",
    "Estimator",
    "FittedWeights",
    "FixedPoints",
    "Free",
    "GreedyPreimages",
    "L1Ball",
    "Mixture",
    "MixtureSolver",
    "NormalPoints",
    "Outcome",
    "PointSolver",
    "PointSource",
    "PublicPoints",
    "Shrinkage",
    "Simplex",
    "SlidingFrankWolfe",
    "Solution",
    "SyntheticSet",
    "Tilted",
    "Tilting",
    "UniformPoints",
    "WeightSolver",
    "check_solver",
    "herd",
]
