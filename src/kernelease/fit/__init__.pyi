from kernelease.fit.gaussians.sliding_frank_wolfe import SlidingFrankWolfe as SlidingFrankWolfe
from kernelease.fit.mixtures.mixture import Mixture as Mixture, MixtureSolver as MixtureSolver
from kernelease.fit.points import GreedyPreimages as GreedyPreimages, herd as herd
from kernelease.fit.solver import (
    EmpiricalMean as EmpiricalMean,
    Estimator as Estimator,
    FixedPoints as FixedPoints,
    NormalPoints as NormalPoints,
    Outcome as Outcome,
    PointSolver as PointSolver,
    PointSource as PointSource,
    PublicPoints as PublicPoints,
    PublishedRows as PublishedRows,
    Shrinkage as Shrinkage,
    Solution as Solution,
    SyntheticSet as SyntheticSet,
    UniformPoints as UniformPoints,
)
from kernelease.fit.tilting import Tilted as Tilted, Tilting as Tilting
from kernelease.fit.weights import (
    Constraint as Constraint,
    FittedWeights as FittedWeights,
    Free as Free,
    L1Ball as L1Ball,
    Simplex as Simplex,
    WeightSolver as WeightSolver,
)
