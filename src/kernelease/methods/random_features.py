"""Algorithm 2 of the paper: noise on the mean of random features, then a reduced-set fit of points and weights."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from kernelease.arrays import check_integer
from kernelease.errors import ParameterError
from kernelease.exact.rows import PrivateRows
from kernelease.features.feature_map import FeatureMap
from kernelease.features.fourier import Fourier
from kernelease.fit.points import GreedyPreimages
from kernelease.fit.solver import EmpiricalMean, Estimator, PointSolver, PointSource, Solution
from kernelease.kernels.numeric import Radial, ShiftInvariant
from kernelease.machine import refuse_beyond_memory
from kernelease.measured.embeddings import NoisyEmbeddings
from kernelease.measured.measured import Choice, Measured
from kernelease.methods.method import Context, Method, number_of_features, refuse_other_columns, rehearse_measurement
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RandomFeatures(Method):
    """Measure J random features of the rows; find points *and* weights whose features match.

    `start` is the public law that points start from, `features` the number J (None: the theorem's rule under a cap) or
    a feature map of your own, and `solver` the reduced-set solver.
    """

    start: PointSource
    features: int | FeatureMap | None = None
    orthogonal: bool = False
    solver: PointSolver = GreedyPreimages()
    estimator: Estimator = EmpiricalMean()

    def __post_init__(self) -> None:
        if self.features is None or isinstance(self.features, FeatureMap):
            return
        check_integer("RandomFeatures: features", self.features, 2, 2**62)
        if self.features % 2:
            raise ParameterError(f"RandomFeatures: features must be even, got {self.features!r}.")

    @property
    def dimension(self) -> int:
        """The dimension of the points that it starts from."""
        return self.start.dimension

    def measure(self, rows: PrivateRows, context: Context) -> NoisyEmbeddings:
        """Sum the rows' features exactly, then add noise."""
        feature_map, choice = self._feature_map(context, context.public_rows(rows))
        self._refuse(rows, feature_map, context)
        exact = rows.embedding(feature_map, threads=context.threads)
        budget = context.open_budget(feature_map.dimension + 1, "RandomFeatures (Algorithm 2)")
        return NoisyEmbeddings(
            stages=(exact.privatise(budget, noise=context.noise),),
            candidates=np.empty((0, self.start.dimension)),
            choices=(choice,),
        )

    def fit(self, measured: Measured, seed: PublicSeed, progress: Progress = SILENT) -> Solution:
        """Hand the noisy embedding to the reduced-set solver."""
        if not isinstance(measured, NoisyEmbeddings):
            raise ParameterError("RandomFeatures: can only fit a measured embedding.")
        noisy = measured.embedding
        solution = self.solver.solve(noisy, self.estimator.estimate(noisy), self.start, seed)
        return replace(solution, distance=solution.synthetic.distance(noisy.feature_map, noisy.mean))

    def _refuse(self, rows: PrivateRows, feature_map: FeatureMap, context: Context) -> None:
        """Find out now, with public things only, whether measuring or fitting would fail later."""
        refuse_other_columns(rows, self.start.dimension, "RandomFeatures")
        self.solver.check(feature_map, self.start)
        feature_map.evaluate(self.start.draw(1, context.seed.generator("rehearsal")))
        self.estimator.estimate(rehearse_measurement(feature_map, context.privacy))

    def _feature_map(self, context: Context, rows: int | None) -> tuple[FeatureMap, Choice]:
        if isinstance(self.features, FeatureMap):
            return self.features, Choice(name="features", value=self.features.dimension, reason="the map given")
        choice = number_of_features(rows)
        if self.features is not None:
            choice = Choice(name="features", value=self.features, reason="as given")
        return _fourier(context, choice.value, self.start.dimension, self.orthogonal), choice


def _fourier(context: Context, features: int, dimension: int, orthogonal: bool) -> Fourier:
    refuse_beyond_memory(f"RandomFeatures: {features:,} features", features, dimension, 64)
    if not isinstance(context.kernel, ShiftInvariant):
        raise ParameterError(
            f"RandomFeatures: {type(context.kernel).__name__} is not shift-invariant: give a feature map for it, "
            "or use Subspace, which takes any kernel."
        )
    if not orthogonal:
        return Fourier.random(context.kernel, features=features, dimension=dimension, seed=context.seed)
    if not isinstance(context.kernel, Radial):
        raise ParameterError(
            f"RandomFeatures: orthogonal features need a kernel of the Euclidean distance, "
            f"got {type(context.kernel).__name__}."
        )
    return Fourier.orthogonal(context.kernel, features=features, dimension=dimension, seed=context.seed)
