"""Vectors with classes: noisy moments of every class, and rows of a Gaussian for each, or public rows near them."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Rows
from kernelease.errors import ParameterError
from kernelease.exact.rows import PrivateRows
from kernelease.features.moments import ClassMoments
from kernelease.fit.class_law import ClassLaw, law_of
from kernelease.fit.solver import PointSource
from kernelease.fit.tilting import Tilted, Tilting
from kernelease.kernels.dot_product import LabelledSphere
from kernelease.machine import one_thread
from kernelease.measured.embeddings import NoisyEmbedding, NoisyEmbeddings
from kernelease.measured.measured import Choice, Measured
from kernelease.methods.method import Context, Fitted, Method, refuse_other_columns, rehearse_measurement
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed
from kernelease.table.domain import Domain

MOST_PRODUCTS = 2**17  # second moments of all classes in one stage. limit: of time, drawing their noise takes 2 s
MOST_DIRECTIONS = 64  # of which classes have second moments of their own. limit: 2,080 numbers for each
MOST_CELLS = 2**22  # numbers in all rows that are made where none are asked for. limit: 32 MiB
MOST_PUBLIC = 1024  # public rows that a release may use. limit: the Gram matrix and its factors stay at 8 MiB
_DOUBT = 2.0  # standard deviations of an estimate, to speak against public rows. convention: one in twenty by chance


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ClassGaussians(Method):
    """A Gaussian for every class of vectors of norm 1, from noisy counts, means and second moments of the classes.

    They are the mean embedding in the kernel `LabelledSphere`, measured at once. Where second moments of every class
    are too many, a first stage measures those of all classes together, and a second, with as much of the budget, those
    of each class along the directions that stand out in the first.

    `points` are public rows, vectors with the places of their classes: a law to stay near. Rows are then these, with
    weights as far from equal ones as the noise lets be seen; and draws of the Gaussians only where public rows can't
    have the measured moments, whatever their weights.
    """

    points: PointSource | None = None
    tilting: Tilting = Tilting()

    draws_rows: ClassVar[bool] = True

    @property
    def dimension(self) -> int | None:
        """Of the public rows, with the class."""
        return None if self.points is None else self.points.dimension

    def check(self, domain: Domain) -> None:
        """Refuse rows of another kind."""
        kernel = _sphere(domain.kernel)
        if self.points is not None and self.points.dimension != kernel.dimension + 1:
            raise ParameterError(
                f"ClassGaussians: public rows must have {kernel.dimension} columns and a class, "
                f"got {self.points.dimension} columns."
            )

    @one_thread()
    def measure(self, rows: PrivateRows, context: Context) -> NoisyEmbeddings:
        """One stage where it has room for the second moments of every class, else two."""
        kernel = _sphere(context.kernel)
        refuse_other_columns(rows, kernel.dimension + 1, "ClassGaussians")
        if self.points is not None and self.points.published:
            raise ParameterError("ClassGaussians: published rows are not supported. Give them as public ones.")
        every = ClassMoments(kernel=kernel)
        one = every.dimension <= MOST_PRODUCTS
        first = every if one else ClassMoments(kernel=kernel, pooled=True)
        rehearse_measurement(first, context.privacy)
        exact = rows.embedding(first, threads=context.threads)
        most = 0 if one else ClassMoments.onto(kernel, np.eye(kernel.dimension)[:MOST_DIRECTIONS]).dimension + 1
        budget = context.open_budget(first.dimension + 1 + most, "moments of classes")
        label = "moments of classes" if one else "stage one: moments of all classes"
        coarse = exact.privatise(budget, noise=context.noise, share=1.0 if one else 0.5, label=label)
        stages: tuple[NoisyEmbedding, ...] = (coarse,)
        if not one:
            second = ClassMoments.onto(kernel, telling_directions(coarse))
            fine = rows.embedding(second, threads=context.threads)
            stages += (
                fine.privatise(budget, noise=context.noise, share=0.5, label="stage two: classes by themselves"),
            )
        public = self._public(kernel, context.seed)
        return NoisyEmbeddings(stages=stages, candidates=public, choices=_choices(stages, len(public)))

    def _public(self, kernel: LabelledSphere, seed: PublicSeed) -> Rows:
        if self.points is None:
            return np.empty((0, kernel.dimension + 1))
        public = kernel.admit(self.points.draw(MOST_PUBLIC, seed.generator("public rows")))
        return public[public[:, -1] >= 0.0]

    @one_thread()
    def fit(self, measured: Measured, seed: PublicSeed, progress: Progress = SILENT) -> Fitted:
        """The Gaussians' law, or weights of the public rows."""
        if not isinstance(measured, NoisyEmbeddings):
            raise ParameterError("ClassGaussians: can only fit what ClassGaussians has measured.")
        law = law_of(measured.stages)
        rows = round(min(measured.rows, max(1.0, MOST_CELLS // law.dimension)))
        if len(measured.candidates) == 0:
            return DrawnClasses(law=law, rows=rows)
        evidence = _Evidence.of(measured)
        tilted = self.tilting.solve(evidence.features, evidence.target, evidence.equal)
        drawn = evidence.of_law(law)
        if drawn.surpasses(evidence.whole(tilted), _DOUBT):
            return DrawnClasses(law=law, rows=rows)
        return WeightedRows(points=measured.candidates, weights=tilted.weights)


def _sphere(kernel: object) -> LabelledSphere:
    if not isinstance(kernel, LabelledSphere):
        raise ParameterError(
            f"ClassGaussians: needs vectors with classes (labels=…, classes=…), got {type(kernel).__name__}."
        )
    return kernel


def telling_directions(pooled: NoisyEmbedding) -> Floats:
    """The directions that stand out of the noise in the covariance of all classes, at least one: (p, d).

    Each points to the side of its largest number, so that it is one and the same on every machine.
    """
    law = law_of((pooled,))
    values, axes = np.linalg.eigh(law.pooled)
    level = float(np.median(values))
    order = np.argsort(-np.abs(values - level), kind="stable")[:MOST_DIRECTIONS]
    telling = order[np.abs(values[order] - level) > 1e-9 * abs(level)]
    chosen = axes[:, telling if len(telling) else order[:1]].T
    sides = np.take_along_axis(chosen, np.argmax(np.abs(chosen), axis=1)[:, None], axis=1)
    return np.asarray(chosen * np.sign(sides), dtype=np.float64)


def _choices(stages: tuple[NoisyEmbedding, ...], public: int) -> tuple[Choice, ...]:
    reason = (
        "second moments of every class were measured at once"
        if len(stages) == 1
        else "second moments of every class are too many: first those of all together"
    )
    choices = [Choice(name="stages", value=len(stages), reason=reason)]
    if len(stages) > 1:
        last = stages[-1].feature_map
        assert isinstance(last, ClassMoments)
        choices.append(
            Choice(
                name="directions of each class",
                value=last.width_of_products,
                reason="they stand out of the noise in the covariance of all classes",
            )
        )
    if public:
        choices.append(Choice(name="public rows", value=public, reason="at most 1,024 of those given"))
    return tuple(choices)


# --------------------
# What becomes rows: draws of the law, or public rows with weights.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnClasses:
    """Rows drawn from a law, of equal weight: as many as were asked for, else `rows`."""

    law: ClassLaw
    rows: int

    def table(self, domain: Domain, count: int | None, generator: np.random.Generator) -> pa.Table:
        """Rows on the sphere with their classes."""
        wanted = self.rows if count is None else count
        vectors, codes = self.law.sample(wanted, generator)
        return domain.table_of_points(np.column_stack([vectors, codes]), np.full(wanted, 1.0 / wanted), generator)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedRows:
    """Public rows with weights."""

    points: Rows
    weights: Floats

    def table(self, domain: Domain, count: int | None, generator: np.random.Generator) -> pa.Table:
        """All of them as they are; a number that is asked for is taken in proportion to the weights."""
        if count is None:
            return domain.table_of_points(self.points, self.weights, generator)
        ends = np.floor(np.cumsum(self.weights) / self.weights.sum() * count + generator.random())
        numbers = np.diff(np.minimum(ends, count), prepend=0.0).astype(np.int64)
        numbers[int(np.argmax(self.weights))] += count - int(numbers.sum())
        taken = np.repeat(np.arange(len(numbers)), numbers)
        return domain.table_of_points(self.points[taken], np.full(count, 1.0 / count), generator)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """What was measured, as public rows see it: coordinates in the span of their features, whitened.

    No weights can change anything outside that span. `outside` is the squared distance of what was measured to it, in
    `coordinates` directions of noise.
    """

    stages: tuple[NoisyEmbedding, ...]
    features: Floats  # (m, r)
    target: Floats  # (r,)
    outside: float
    coordinates: int

    @property
    def equal(self) -> Floats:
        """Equal weights."""
        return np.full(len(self.features), 1.0 / len(self.features))

    @classmethod
    def of(cls, measured: NoisyEmbeddings) -> "_Evidence":
        points = measured.candidates
        gram, agreement, square, coordinates = np.zeros((len(points),) * 2), np.zeros(len(points)), 0.0, 0
        for stage in measured.stages:
            features = stage.feature_map.evaluate(points) / stage.sigma
            target = stage.mean / stage.sigma
            gram += features @ features.T
            agreement += features @ target
            square += float(target @ target)
            coordinates += len(target)
        sizes, axes = np.linalg.eigh(gram)
        kept = sizes > 1e-10 * sizes[-1]
        target = (agreement @ axes[:, kept]) / np.sqrt(sizes[kept])
        return cls(
            stages=measured.stages,
            features=axes[:, kept] * np.sqrt(sizes[kept]),
            target=target,
            outside=max(0.0, square - float(target @ target)),
            coordinates=coordinates - int(kept.sum()),
        )

    def whole(self, tilted: Tilted) -> Tilted:
        """Weights, judged by all that was measured."""
        return replace(tilted, risk=tilted.risk + self.outside - self.coordinates)

    def of_law(self, law: ClassLaw) -> Tilted:
        """The Gaussians, judged in the same way: shares, means and visible axes have followed the noise."""
        misfit, freedom = 0.0, float(len(law.shares) * (1 + law.dimension))
        for stage in self.stages:
            residual = (stage.mean - law_features(stage, law)) / stage.sigma
            misfit += float(residual @ residual)
        freedom += law.dimension * _axes_seen(law)
        return Tilted(
            weights=np.empty(0),
            strength=math.inf,
            risk=misfit - self.coordinates - len(self.target) + 2.0 * freedom,
            freedom=freedom,
            fitted=self.target,
        )


def law_features(stage: NoisyEmbedding, law: ClassLaw) -> Floats:
    """The mean features that the law has, before it is scaled to norm 1: (J,)."""
    feature_map = stage.feature_map
    if not isinstance(feature_map, ClassMoments):
        raise ParameterError("ClassGaussians: can only fit what ClassGaussians has measured.")
    seconds = [
        share * (law.covariance(code) + np.outer(law.means[code], law.means[code]))
        for code, share in enumerate(law.shares)
    ]
    return feature_map.assemble(law.shares, law.means * law.shares[:, None], np.array(seconds))


def _axes_seen(law: ClassLaw) -> int:
    """How many axes the covariances have that stood out of the noise."""
    seen = 0
    for matrix in (law.pooled, *law.differences):
        values = np.linalg.eigvalsh(matrix)
        seen += int((np.abs(values - np.median(values)) > 1e-9 * max(float(np.abs(values).max()), 1e-300)).sum())
    return seen
