"""The paper's two algorithms, and the small database that it compares them with."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from kernelease.arrays import Floats, Integers, Rows
from kernelease.errors import CapacityError, ParameterError, check_integer
from kernelease.exact.rows import PrivateRows
from kernelease.features.feature_map import FeatureMap
from kernelease.features.fourier import Fourier
from kernelease.features.nystrom import Nystrom, Order, PartialCholesky, factorise, well_conditioned_rank
from kernelease.fit.points import GreedyPreimages
from kernelease.fit.solver import (
    EmpiricalMean,
    Estimator,
    Outcome,
    PointSolver,
    PointSource,
    PublishedRows,
    Solution,
    SyntheticSet,
    check_points,
)
from kernelease.fit.weights import Constraint, Free, WeightSolver, tolerance_at_noise
from kernelease.kernels.kernel import as_rows
from kernelease.kernels.numeric import Radial, ShiftInvariant
from kernelease.machine import one_thread, refuse_beyond_memory
from kernelease.measured.embeddings import NoisyEmbedding, NoisyEmbeddings
from kernelease.measured.measured import Choice, Measured
from kernelease.measured.selected import Scale, SelectedDatabase
from kernelease.methods.method import (
    POINTS_CAP,
    Context,
    Method,
    admitted_rows,
    measured_subspace,
    noise_optimal_rank,
    number_of_features,
    number_of_points,
    refuse_other_columns,
    refuse_publishing,
    rehearse_measurement,
    rehearse_selection,
)
from kernelease.privacy.mechanisms import select
from kernelease.privacy.sensitivity import Neighbours
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed

# --------------------------------------------------------------------------------------------------------------
# Algorithm 1 of the paper: noise in the span of public points.


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
        check_points("Subspace: points", self.points)
        for name, value in (("count", self.count), ("rank", self.rank)):
            if value is not None:
                check_integer(f"Subspace: {name}", value, 1, 2**62)
        if self.order is Order.GIVEN and self.tolerance is None:
            raise ParameterError("Subspace: the order as given needs a tolerance (the authors' code has 1e-5).")

    @property
    def dimension(self) -> int | None:
        return None if isinstance(self.points, PublishedRows) else self.points.dimension

    @one_thread()
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

    @one_thread()
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
        return Nystrom.from_factor(kernel, points, factorisation, rank=choice.value, lemma=self.lemma), choice

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


# --------------------------------------------------------------------------------------------------------------
# Algorithm 2 of the paper: noise on the mean of random features, then a reduced-set fit of points and weights.


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
        check_points("RandomFeatures: start", self.start)
        if self.features is None or isinstance(self.features, FeatureMap):
            return
        check_integer("RandomFeatures: features", self.features, 2, 2**62)
        if self.features % 2:
            raise ParameterError(f"RandomFeatures: features must be even, got {self.features!r}.")

    @property
    def dimension(self) -> int:
        return self.start.dimension

    @one_thread()
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

    @one_thread()
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


# --------------------------------------------------------------------------------------------------------------
# §3.4 of the paper: the exponential mechanism over all small databases of a finite domain, scored by RKHS distance.


CANDIDATES_CAP = 200_000  # limit: of time, each is scored by itself
_COPIES = 4  # arrays with a cell per candidate and row. derived: as many as the scores hold at once


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SmallDatabase(Method):
    """Draw one of all multisets of `size` domain rows, with probability ∝ exp(−ε·‖μ_D − μ_R‖ / 2Δ).

    Pure ε-differential privacy (give a `Privacy` with δ = 0), replace-one neighbours. `domain` lists every possible
    row; a row outside it counts as the domain's first row. Feasible for tiny domains only: it refuses above 200,000
    candidates.

    Everything is exact: the kernel is rounded to integers (with enough added to the diagonal to keep it positive
    definite), squared distances are integers, and scores are integer square roots of them.
    """

    domain: Rows
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", as_rows(self.domain))
        check_integer("SmallDatabase: size", self.size, 1, 2**62)
        if len(self.domain) == 0:
            raise ParameterError("SmallDatabase: needs a domain of at least one row, got none.")

    @property
    def number_of_candidates(self) -> int:
        """How many multisets of `size` rows the domain has."""
        return math.comb(len(self.domain) + self.size - 1, self.size)

    @property
    def dimension(self) -> int:
        return int(self.domain.shape[1])

    def measure(self, rows: PrivateRows, context: Context) -> SelectedDatabase:
        """Count the rows of each kind, score every candidate, draw one."""
        count = self._refuse(context, rows)
        kernel = context.kernel
        domain = kernel.admit(self.domain)
        scale, candidates = Scale.of(kernel, domain, self.size), _multisets(len(domain), self.size)
        scores = _scores(scale, _counts(self.domain, rows.array()), candidates, count, self.size)
        rehearse_selection(scale.sensitivity, context.privacy)
        budget = context.open_budget(1, "SmallDatabase (exponential mechanism)")
        chosen = select(
            scores, scale.sensitivity, budget=budget, share=1.0, noise=context.noise, label="choice of a small database"
        )
        return SelectedDatabase(
            kernel=kernel,
            domain=domain,
            counts=candidates[chosen.index],
            selection=chosen,
            rows=float(count),
            choices=(Choice(name="candidates", value=len(candidates), reason="all multisets of the domain"),),
        )

    def fit(self, measured: Measured, seed: PublicSeed, progress: Progress = SILENT) -> Solution:
        """The drawn database with uniform weights; there is nothing left to fit."""
        if not isinstance(measured, SelectedDatabase):
            raise ParameterError("SmallDatabase: can only give back what SmallDatabase has drawn.")
        synthetic = SyntheticSet(points=measured.points, weights=np.full(measured.size, 1.0 / measured.size))
        return Solution(synthetic=synthetic, distance=0.0, noise_floor=0.0, outcome=Outcome.SELECTED)

    def _refuse(self, context: Context, rows: PrivateRows) -> int:
        """What can't be done, before anything is charged; else N."""
        if not context.privacy.pure:
            raise ParameterError("SmallDatabase: the exponential mechanism is pure; give a Privacy with delta = 0.")
        if context.privacy.relation is not Neighbours.REPLACE_ONE:
            raise ParameterError("SmallDatabase: needs replace-one neighbours (its score uses the number of rows).")
        known = context.public_rows(rows)
        assert known is not None  # replace-one makes it public
        refuse_other_columns(rows, self.domain.shape[1], "SmallDatabase")
        if (count := self.number_of_candidates) > CANDIDATES_CAP:
            raise CapacityError(
                f"SmallDatabase: {len(self.domain)} kinds of row in databases of {self.size} make {count:,} "
                f"candidates, above the cap of {CANDIDATES_CAP:,}. Take a smaller domain or size, or another method."
            )
        what = f"SmallDatabase: {count:,} databases of {self.size} rows of {len(self.domain)} kinds"
        refuse_beyond_memory(what, count + len(self.domain), max(len(self.domain), self.size), _COPIES)
        return known


def _counts(domain: Rows, rows: Rows) -> Integers:
    """How many private rows are of each kind; a row outside the domain counts as the first kind."""
    kinds = {_key(kind): index for index, kind in enumerate(domain)}
    codes = [_kind(kinds, row) for row in rows]
    return np.bincount(codes, minlength=len(domain)).astype(np.int64)


def _kind(kinds: dict[Any, int], row: Rows) -> int:
    try:
        return kinds.get(_key(row), 0)
    except Exception:  # noqa: BLE001  # a cell's own __hash__ or __eq__ must not decide whether there is an error
        return 0


def _key(row: Rows) -> tuple[Any, ...]:
    """Cells that compare as a reader would: 1 is 1.0, 0 is −0, and NaN is None."""
    return tuple(None if isinstance(cell, float | np.floating) and math.isnan(cell) else cell for cell in row)


def _multisets(kinds: int, size: int) -> Integers:
    """Every multiset of `size` out of `kinds`, as counts: (candidates, kinds)."""
    chosen = np.array(list(itertools.combinations_with_replacement(range(kinds), size)), dtype=np.int64)
    counts = np.zeros((len(chosen), kinds), dtype=np.int64)
    for column in chosen.T:
        counts[np.arange(len(chosen)), column] += 1
    return counts


def _scores(scale: Scale, counts: Integers, candidates: Integers, rows: int, size: int) -> list[int]:
    """−‖μ_D − μ_R‖ in integers for every candidate R.

    With u = size·counts − rows·candidate, the squared distance is uᵀKu in units of (rows·size)⁻².
    """
    gram = scale.gram
    pull = (gram @ counts).astype(object)
    own = int(counts.astype(object) @ pull)
    cross = candidates.astype(object) @ pull
    within = np.einsum("ci,ij,cj->c", candidates, gram, candidates, optimize=True).astype(object)
    squared = size**2 * own - 2 * size * rows * cross + rows**2 * within
    return [-math.isqrt(int(value) << (2 * scale.bits)) for value in squared]
