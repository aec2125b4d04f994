"""The reduced-set problem: weighted synthetic points that match a noisy embedding. All public, all free."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.fit.gaussians.sliding_frank_wolfe import SlidingFrankWolfe
    from kernelease.fit.mixtures.mixture import Mixture, MixtureSolver
    from kernelease.fit.points import GreedyPreimages, herd
    from kernelease.fit.solver import (
        EmpiricalMean,
        Estimator,
        FixedPoints,
        NormalPoints,
        Outcome,
        PointSolver,
        PointSource,
        PublicPoints,
        PublishedRows,
        Shrinkage,
        Solution,
        SyntheticSet,
        UniformPoints,
    )
    from kernelease.fit.tilting import Tilted, Tilting
    from kernelease.fit.weights import Constraint, FittedWeights, Free, L1Ball, Simplex, WeightSolver
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "gaussians.sliding_frank_wolfe": "SlidingFrankWolfe",
            "mixtures.mixture": "Mixture MixtureSolver",
            "points": "GreedyPreimages herd",
            "solver": (
                "EmpiricalMean Estimator FixedPoints NormalPoints Outcome PointSolver PointSource PublicPoints "
                "PublishedRows Shrinkage Solution SyntheticSet UniformPoints"
            ),
            "tilting": "Tilted Tilting",
            "weights": "Constraint FittedWeights Free L1Ball Simplex WeightSolver",
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
    "PublishedRows",
    "Shrinkage",
    "Simplex",
    "SlidingFrankWolfe",
    "Solution",
    "SyntheticSet",
    "Tilted",
    "Tilting",
    "UniformPoints",
    "WeightSolver",
    "herd",
]
