"""Algorithm 1 of the paper: noise in the span of public points."""

from dataclasses import dataclass
from typing import final

from kernelease.arrays import Floats, Rows, check_integer
from kernelease.errors import ParameterError
from kernelease.exact.rows import PrivateRows
from kernelease.features.nystrom import Nystrom, Order, PartialCholesky, factorise, well_conditioned_rank
from kernelease.fit.solver import EmpiricalMean, Estimator, Outcome, PointSource, PublishedRows, Solution, SyntheticSet
from kernelease.fit.weights import Constraint, Free, WeightSolver, tolerance_at_noise
from kernelease.machine import refuse_beyond_memory
from kernelease.measured.embeddings import NoisyEmbedding, NoisyEmbeddings
from kernelease.measured.measured import Choice, Measured
from kernelease.methods.method import (
    POINTS_CAP,
    Context,
    Method,
    admitted_rows,
    measured_subspace,
    noise_optimal_rank,
    number_of_points,
    refuse_other_columns,
    refuse_publishing,
    rehearse_measurement,
)
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Subspace(Method):
    """Project the mean embedding onto span{k(z, ·)} for public points z, add noise, re-express it as weights.

    Works for any kernel and any type of row. `points` says where the public points come from and `count` how many to
    take (None: the theorem's rule under a cap). `rank` is the number of coordinates, fewer where conditioning allows no
    more (None: as many as noise and conditioning allow). `constraint` is `Free()` for the paper's exact re-expression,
    `L1Ball(C)` for the version of its appendix (which replaces line 8), or `Simplex()`.

    `order`, `tolerance` and `lemma` reproduce the authors' basis and sensitivity; leave them alone otherwise.
    """

    points: PointSource | PublishedRows
    count: int | None = None
    rank: int | None = None
    constraint: Constraint = Free()
    estimator: Estimator = EmpiricalMean()
    order: Order = Order.PIVOTED
    tolerance: float | None = None
    lemma: bool = False

    def __post_init__(self) -> None:
        for name, value in (("count", self.count), ("rank", self.rank)):
            if value is not None:
                check_integer(f"Subspace: {name}", value, 1, 2**62)
        if self.order is Order.GIVEN and self.tolerance is None:
            raise ParameterError("Subspace: the order as given needs a tolerance (the authors' code has 1e-5).")

    @property
    def dimension(self) -> int | None:
        """The dimension of the public points."""
        return None if isinstance(self.points, PublishedRows) else self.points.dimension

    def measure(self, rows: PrivateRows, context: Context) -> NoisyEmbeddings:
        """Sum k(x, z) over rows, change to an orthonormal basis, add noise."""
        candidates, choices = self._candidates(rows, context)
        feature_map, choice = self._feature_map(candidates, context, context.public_rows(rows))
        self.estimator.estimate(rehearse_measurement(feature_map, context.privacy))
        exact = rows.embedding(feature_map, threads=context.threads)
        budget = context.open_budget(feature_map.dimension + 1, "Subspace (Algorithm 1)")
        return NoisyEmbeddings(
            stages=(exact.privatise(budget, noise=context.noise),),
            candidates=candidates,
            choices=(*choices, choice),
            published=self.points.published,
        )

    def fit(self, measured: Measured, seed: PublicSeed, progress: Progress = SILENT) -> Solution:
        """Weights on the basis points (free), or on all candidates (constrained)."""
        embeddings, basis = measured_subspace(measured, "Subspace")
        noisy = embeddings.embedding
        target = self.estimator.estimate(noisy)
        if isinstance(self.constraint, Free):
            return _re_expressed(noisy, basis, target)
        solver = WeightSolver(constraint=self.constraint, tolerance=tolerance_at_noise(noisy.noise_floor, target))
        fitted = solver.solve(basis.evaluate(embeddings.candidates).T, target)
        synthetic = SyntheticSet(points=embeddings.candidates, weights=fitted.weights)
        return Solution(
            synthetic=synthetic,
            distance=synthetic.distance(noisy.feature_map, noisy.mean),
            noise_floor=noisy.noise_floor,
            outcome=Outcome.OPTIMAL if fitted.converged else Outcome.ITERATION_LIMIT,
            iterations=fitted.iterations,
        )

    def _candidates(self, rows: PrivateRows, context: Context) -> tuple[Rows, tuple[Choice, ...]]:
        if isinstance(self.points, PublishedRows):
            choice = Choice(name="points", value=self.points.count, reason="the published rows")
            return admitted_rows(self.points, rows, context), (choice,)
        refuse_publishing(self.points, context)
        refuse_other_columns(rows, self.points.dimension, "Subspace")
        choice = number_of_points(context.public_rows(rows), self.points.dimension)
        if self.count is not None:
            choice = Choice(name="points", value=self.count, reason="as given")
        refuse_beyond_memory(f"Subspace: {choice.value:,} points", choice.value, self.points.dimension)
        points = self.points.draw(choice.value, context.seed.generator("subspace points"))
        if len(points) < choice.value:
            choice = Choice(name="points", value=len(points), reason="all that the source has")
        return context.kernel.admit(points), (choice,)

    def _feature_map(self, points: Rows, context: Context, rows: int | None) -> tuple[Nystrom, Choice]:
        kernel = context.kernel
        limit = min(len(points), self.rank or POINTS_CAP)
        refuse_beyond_memory(f"Subspace: {len(points):,} points at rank {limit:,}", len(points), limit)
        factorisation = factorise(kernel, points, tolerance=self.tolerance, order=self.order, max_rank=limit)
        choice = self._rank(points, factorisation, context, rows)
        feature_map = Nystrom.from_factor(kernel, points, factorisation, rank=choice.value, lemma=self.lemma)
        return feature_map, choice

    def _rank(self, points: Rows, factorisation: PartialCholesky, context: Context, rows: int | None) -> Choice:
        if self.tolerance is not None:
            return Choice(name="rank", value=factorisation.rank, reason="the points, the tolerance and the rank given")
        conditioned = well_conditioned_rank(context.kernel, points, factorisation)
        if self.rank is not None:
            reason = "as given" if conditioned == self.rank else f"all well-conditioned directions, below {self.rank}"
            return Choice(name="rank", value=conditioned, reason=reason)
        sigma = _expected_sigma(context, rows, conditioned)
        return _best_rank(conditioned=conditioned, residuals=factorisation.residuals, sigma=sigma)


def _re_expressed(noisy: NoisyEmbedding, feature_map: Nystrom, target: Floats) -> Solution:
    synthetic = SyntheticSet(points=feature_map.points, weights=feature_map.weights(target))
    return Solution(
        synthetic=synthetic,
        distance=synthetic.distance(feature_map, noisy.mean),
        noise_floor=noisy.noise_floor,
        outcome=Outcome.EXACT,
    )


def _expected_sigma(context: Context, rows: int | None, rank: int) -> float | None:
    """The noise to expect in each coordinate of the mean, where N is public: it needs no data."""
    if not rows or context.privacy.pure:
        return None
    return context.kernel.diameter / (rows * context.privacy.total(rank + 1).mu)


def _best_rank(*, conditioned: int, residuals: Floats, sigma: float | None) -> Choice:
    """The smaller of what conditioning allows and what the noise makes worthwhile."""
    optimal = noise_optimal_rank(residuals[: conditioned + 1], sigma) if sigma else conditioned
    if optimal < conditioned:
        return Choice(name="rank", value=optimal, reason=f"noise-optimal ({conditioned} are well conditioned)")
    return Choice(name="rank", value=conditioned, reason="all well-conditioned directions")
