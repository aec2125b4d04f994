"""The vectors of a release: rows, classes and weights, and what was measured about them, with its errors."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from scipy.special import ndtri

from kernelease.answers.reading import Released
from kernelease.arrays import Floats, Integers, Rows, finite_numbers
from kernelease.errors import ParameterError, check_integer
from kernelease.features.moments import PRODUCT, SQUARE, ClassMoments, unit_vectors
from kernelease.features.nystrom import Nystrom
from kernelease.fit.class_law import ClassLaw, clean, law_of, standing_out
from kernelease.fit.gaussians.ellipsoids import memberships
from kernelease.fit.gaussians.fitted_laws import Averages, averages_of
from kernelease.kernels.dot_product import LabelledSphere
from kernelease.kernels.kernel import Kernel, as_rows
from kernelease.kernels.numeric import Gaussian
from kernelease.machine import one_thread
from kernelease.measured.embeddings import NoisyEmbedding, NoisyEmbeddings
from kernelease.table.domains import LABEL

# --------------------------------------------------------------------------------------------------------------
# Numbers about vectors with what they may be off by: estimates, ratios, principal axes, clusters.


LEVEL = 0.95  # of intervals. convention


def reach(level: float) -> float:
    """How many standard deviations an interval of this level reaches to either side."""
    if not 0.0 < level < 1.0:
        raise ParameterError(f"interval: level must lie between 0 and 1, got {level!r}.")
    return float(ndtri(0.5 + 0.5 * level))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class VectorEstimate:
    """Estimates, of the shape of their standard errors; `bias` is the most by which each may be off beside noise."""

    value: Floats
    standard_error: Floats
    bias: Floats = field(default_factory=lambda: np.zeros(()))

    def interval(self, level: float = LEVEL) -> tuple[Floats, Floats]:
        """Lower and upper ends that hold the true number, each with this probability."""
        half = reach(level) * self.standard_error + self.bias
        return self.value - half, self.value + half


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RatioEstimate:
    """Quotients a/b of estimates whose errors are normal: all arrays are (n,)."""

    numerator: Floats
    denominator: Floats
    variances: tuple[Floats, Floats]
    covariance: Floats

    @property
    def value(self) -> Floats:
        """a/b; not a number where b is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.numerator / self.denominator, dtype=np.float64)

    def interval(self, level: float = LEVEL) -> tuple[Floats, Floats]:
        """Fieller's: all q for which a − q·b may be 0. Without ends where b itself may be 0."""
        z = reach(level)
        a, b, (u, v), c = self.numerator, self.denominator, self.variances, self.covariance
        # (a − q·b)² ≤ z²·(u − 2·q·c + q²·v), a quadratic inequality in q with leading coefficient b² − z²·v.
        leading, middle, last = b**2 - z**2 * v, a * b - z**2 * c, a**2 - z**2 * u
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum(middle**2 - leading * last, 0.0))
            low, high = (middle - root) / leading, (middle + root) / leading
        bounded = leading > 0.0
        return np.where(bounded, low, -np.inf), np.where(bounded, high, np.inf)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalAxes:
    """Directions (k, d) in which vectors vary most, by variance, and how well they are known, at 95 %.

    `low` and `high` hold all true variances at once: no eigenvalue moves by more than the noise's largest one. An axis
    is off by at most its `angle`, in radians: by Davis and Kahan sin θ ≤ e/(g − e), e the noise's largest eigenvalue,
    g the gap to the next variance. An angle of π/2 says nothing.
    """

    directions: Floats
    variances: Floats
    low: Floats
    high: Floats
    angles: Floats

    @classmethod
    def of(cls, covariance: Floats, shrunk: Floats, noise: float, count: int) -> "PrincipalAxes":
        """The first axes of a noisy covariance; `shrunk` are the best guesses of its eigenvalues, ascending: (d,)."""
        values, axes = np.linalg.eigh(covariance)
        gaps = np.minimum(np.diff(values, append=np.inf), np.diff(values, prepend=-np.inf))
        left = np.maximum(gaps - noise, 0.0)
        sines = np.where(left > noise, noise / np.where(left > 0.0, left, 1.0), 1.0)
        chosen = np.arange(len(values))[::-1][:count]
        directions = axes[:, chosen].T
        sides = np.take_along_axis(directions, np.argmax(np.abs(directions), axis=1)[:, None], axis=1)
        return cls(
            directions=directions * np.sign(sides),
            variances=shrunk[chosen],
            low=np.maximum(values[chosen] - noise, 0.0),
            high=values[chosen] + noise,
            angles=np.arcsin(sines[chosen]),
        )

    def project(self, vectors: Any) -> Floats:
        """Coordinates of vectors along the axes: (n, d) → (n, k)."""
        cells = finite_numbers(as_rows(vectors))
        if cells.shape[1] != self.directions.shape[1]:
            raise ParameterError(f"vectors must have {self.directions.shape[1]} columns, got {cells.shape[1]}.")
        return cells @ self.directions.T


def largest_noise(draws: Floats) -> float:
    """The largest eigenvalue that a noisy symmetric matrix has beyond the true one, at 95 %: (n, d, d) draws of noise.

    Its law is close to a normal one, whose mean and standard deviation the draws tell.
    """
    sizes = np.array([np.abs(np.linalg.eigvalsh(draw)).max() for draw in draws])
    return float(sizes.mean() + 2.0 * sizes.std())


# --------------------
# Clusters: k-means over released rows, which is free.


_STARTS = 8  # of which the best is taken. convention
_STEPS = 50  # of each. limit: of time


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """Clusters of released rows: cells around centres, with the share of the private rows in each and their mean.

    `centres` (k, d) say which vector is in which cell: the nearest. `shares` (k,) and `means` (k, d) are estimates for
    the private rows in these cells.
    """

    centres: Floats
    shares: VectorEstimate
    means: VectorEstimate

    def assign(self, vectors: Any) -> Integers:
        """The cluster of each vector: (n, d) → (n,)."""
        return nearest_centre(finite_numbers(as_rows(vectors)), self.centres)


def k_means(points: Floats, weights: Floats, count: int, generator: np.random.Generator) -> Floats:
    """Centres of weighted points, heaviest cluster first: (M, d), (M,) → (≤ count, d). Arthur & Vassilvitskii 2007."""
    best, least = points[:1], np.inf
    for _ in range(_STARTS):
        centres = _spread_centres(points, weights, count, generator)
        for _ in range(_STEPS):
            moved = _cell_means(points, weights, nearest_centre(points, centres), len(centres))
            if len(moved) == len(centres) and np.array_equal(moved, centres):
                break
            centres = moved
        cost = float(weights @ _squares(points, centres).min(axis=1))
        best, least = (centres, cost) if cost < least else (best, least)
    masses = np.bincount(nearest_centre(points, best), weights, minlength=len(best))
    return best[np.argsort(-masses, kind="stable")]


def nearest_centre(points: Floats, centres: Floats) -> Integers:
    """(M, d), (k, d) → (M,)."""
    return np.asarray(np.argmin(_squares(points, centres), axis=1), dtype=np.int64)


def _squares(points: Floats, centres: Floats) -> Floats:
    squares: Floats = (centres**2).sum(axis=1) - 2.0 * points @ centres.T + (points**2).sum(axis=1)[:, None]
    return np.maximum(squares, 0.0)


def _spread_centres(points: Floats, weights: Floats, count: int, generator: np.random.Generator) -> Floats:
    """Each next one with a probability in proportion to its squared distance from those before."""
    law = weights / weights.sum()
    chosen = [int(generator.choice(len(points), p=law))]
    while len(chosen) < count:
        far = weights * _squares(points, points[chosen]).min(axis=1)
        if not far.sum() > 0.0:
            break
        chosen.append(int(generator.choice(len(points), p=far / far.sum())))
    return points[chosen]


def _cell_means(points: Floats, weights: Floats, members: Integers, count: int) -> Floats:
    """Of the cells that have weight."""
    masses = np.bincount(members, weights, minlength=count)
    sums = np.stack([np.bincount(members, weights * column, minlength=count) for column in points.T], axis=1)
    kept = masses > 0.0
    return np.asarray(sums[kept] / masses[kept, None], dtype=np.float64)


# --------------------------------------------------------------------------------------------------------------
# The vectors of a release: rows, classes and weights, and what was measured about them, with its errors.
#
# Rows are drawn; answers here come from the noisy numbers themselves. Errors are those of the noise, which is known:
# what an answer says is about the private table, not about the law that its rows came from. Averages over vectors
# without classes are those of the Gaussians that were fitted to the noisy numbers: their error has what is not known
# of the Gaussians, and by what rows differ from their law by chance. It has not that the law may be another
# (docs/proofs/vector-answers.md).


_DRAWS = 100  # of noise, by which its largest eigenvalue is told. convention
_REPLICATES = 16  # of noise, by which clusters of vectors with classes have errors. limit: of time

Function = Callable[[Floats], Any]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """Rows (M, d) with weights (M,), and the class of each, `labels` (M,), where they have classes."""

    rows: Floats
    weights: Floats
    labels: Rows | None
    _measured: NoisyEmbeddings
    _kernel: Kernel
    _known: dict[str, Averages] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        count, columns = self.rows.shape
        classes = "" if self.labels is None else f", {len(self._sphere.classes)} classes"
        return f"Vectors({count:,} rows of {columns} columns{classes})"

    @classmethod
    def of(cls, release: Released) -> "Vectors":
        """Those of a release of vectors; refused for tables and for rows that were chosen and not measured."""
        if release.schema is not None or not isinstance(release.measurements.measured, NoisyEmbeddings):
            raise ParameterError("vectors: needs a release of vectors. This one holds a table, or no noisy embedding.")
        kernel = release.measurements.domain.kernel
        table = release.rows
        labels = None
        if isinstance(kernel, LabelledSphere):
            labels = np.array(table.column(LABEL).to_pylist(), dtype=object)
            table = table.drop_columns([LABEL])
        rows = np.column_stack([column.to_numpy() for column in table.columns])
        if rows.dtype != np.float64:
            raise ParameterError("vectors: these rows hold more than numbers.")
        return cls(
            rows=rows, weights=release.weights, labels=labels, _measured=release.measurements.measured, _kernel=kernel
        )

    # Moments.

    def mean(self, label: object = None) -> VectorEstimate:
        """The mean of all vectors, or of those of a class: (d,)."""
        return self._moments(label, second=False).mean

    def covariance(self, label: object = None) -> VectorEstimate:
        """The covariance of all vectors, or of a class: (d, d). It has noise: its eigenvalues may be negative."""
        return self._moments(label).covariance()

    def axes(self, count: int = 2, label: object = None) -> PrincipalAxes:
        """The directions in which vectors vary most, with intervals for their variances and angles."""
        moments = self._moments(label)
        check_integer("axes: count", count, 1, len(moments.mean.value))
        noise = moments.noise(_DRAWS, np.random.default_rng(0))
        covariance = moments.covariance()
        return PrincipalAxes.of(covariance.value, moments.variances(), largest_noise(noise), count)

    def average(self, function: Function) -> VectorEstimate:
        """The average of a function over private vectors that have no classes: f maps (n, d) to (n,) or (n, q)."""
        averages = self._averages("average")
        values = np.asarray(function(averages.points * self._scale), dtype=np.float64)
        value, covariance = averages.estimate(values.reshape(len(values), -1))
        errors = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
        shape = values.shape[1:]
        return VectorEstimate(value=value.reshape(shape), standard_error=errors.reshape(shape))

    # Groups.

    def clusters(self, count: int, seed: int = 0) -> Clusters:
        """Vectors in so many groups: k-means over the released rows, and what private rows are in each."""
        check_integer("clusters: count", count, 1, len(self.rows))
        centres = k_means(self.rows, self.weights, count, np.random.default_rng(seed))
        if isinstance(self._kernel, LabelledSphere):
            return self._drawn_clusters(centres, seed)
        averages = self._averages("clusters")
        points = averages.points * self._scale
        member = np.eye(len(centres))[nearest_centre(points, centres)]
        sums = (member[:, :, None] * (points[:, None, :] - centres)).reshape(len(points), -1)
        value, covariance = averages.estimate(np.hstack([member, sums]))
        return _clusters(centres, value, covariance)

    def _drawn_clusters(self, centres: Floats, seed: int) -> Clusters:
        """The same, with errors told by noise that is drawn again: laws of classes are no linear functions of it."""
        generator = np.random.default_rng(seed)
        found = [_cells(self.rows, self.weights, centres)]
        for _ in range(_REPLICATES):
            more = tuple(s.sigma * generator.standard_normal(len(s.mean)) for s in self._measured.stages)
            law = law_of(self._measured.stages, more)
            rows, _ = law.sample(len(self.rows), np.random.default_rng(seed))
            found.append(_cells(rows, np.full(len(rows), 1.0 / len(rows)), centres))
        return _clusters(centres, found[0], np.cov(np.array(found[1:]), rowvar=False))

    def classify(self, vectors: Any) -> Rows:
        """The class that each vector has most probably, by the Gaussians of the classes: (n, d) → (n,)."""
        names = np.empty(len(self._sphere.classes), dtype=object)
        names[:] = self._sphere.classes
        chosen: Rows = names[np.argmax(self._law.log_densities(self._units(vectors)), axis=1)]
        return chosen

    def probabilities(self, vectors: Any) -> Floats:
        """How probable each class is for each vector, in the order of the declared classes: (n, d) → (n, C)."""
        return memberships(self._law.log_densities(self._units(vectors)))

    # What is expected, given a place.

    def expected(self, of: Any, given: Any) -> VectorEstimate | RatioEstimate:
        """E[Y | X = x] for each row x of `given`, with a band.

        Of vectors without classes, `of` is the place of a column and `given` has the others, (n, d − 1): the average of
        that column over private rows, each with the weight k(x, ·) of the kernel (Nadaraya and Watson). Of vectors with
        classes, `of` is a label, or a number for every class, and `given` has whole vectors, (n, d): the ridge
        regression of that number on the vector, with a penalty as large as the noise, over private rows.
        """
        if isinstance(self._kernel, LabelledSphere):
            return self._regression(of, self._units(given))
        averages = self._averages("expected")
        kernel, points = self._kernel, averages.points * self._scale
        check_integer("expected: of", of, 0, points.shape[1] - 1)
        others = np.delete(np.arange(points.shape[1]), of)
        places = finite_numbers(as_rows(given))
        if places.shape[1] != len(others) or len(others) == 0:
            raise ParameterError(f"expected: given must have the other {len(others)} columns, got {places.shape[1]}.")
        assert isinstance(kernel, Gaussian)
        near = Gaussian(lengthscale=tuple(self._scale[others])).gram(points[:, others], places)
        value, covariance = averages.estimate(np.hstack([near * points[:, [of]], near]))
        n = len(places)
        variances = np.diagonal(covariance)
        return RatioEstimate(
            numerator=value[:n],
            denominator=value[n:],
            variances=(variances[:n], variances[n:]),
            covariance=np.diagonal(covariance[:n, n:]),
        )

    def _regression(self, of: Any, vectors: Floats) -> VectorEstimate:
        """β = (A + λI)⁻¹b with A = E[x̃·x̃ᵀ], b = E[y·x̃], x̃ = (1, x); errors to first order in the noise of A and b."""
        stage = self._stage_of_all_columns("expected", of_each=False)
        feature_map = stage.feature_map
        assert isinstance(feature_map, ClassMoments)
        found, numbers = feature_map.moments(stage.mean), self._numbers(of)
        e0, e1, e2 = (stage.sigma * error for error in found.errors)
        e2 *= math.sqrt(feature_map.tables)
        d = vectors.shape[1]
        sums = np.column_stack([found.shares, found.means])  # (C, 1 + d)
        whole = np.empty((1 + d, 1 + d))
        whole[0], whole[:, 0] = sums.sum(axis=0), sums.sum(axis=0)
        whole[1:, 1:] = found.seconds.sum(axis=0)
        penalty = standing_out(d, e2) * np.append(0.0, np.ones(d))
        beta = np.linalg.solve(whole + np.diag(penalty), numbers @ sums)
        places = np.column_stack([np.ones(len(vectors)), vectors])
        u = np.linalg.solve(whole + np.diag(penalty), places.T).T  # (n, 1 + d)
        first, rest = beta[0], beta[1:]
        variance = np.zeros(len(vectors))
        for number in numbers:
            variance += (u[:, 0] * (number - first)) ** 2 * e0**2
            variance += ((u[:, 1:] * (number - first) - u[:, :1] * rest) ** 2).sum(axis=1) * e1**2
        same = ((u[:, 1:] * rest) ** 2).sum(axis=1)
        pairs = (u[:, 1:] ** 2).sum(axis=1) * float(rest @ rest) + (u[:, 1:] @ rest) ** 2 - 2.0 * same
        variance += same * e2**2 + pairs * (e2 * SQUARE / PRODUCT) ** 2
        return VectorEstimate(value=places @ beta, standard_error=np.sqrt(variance))

    # The private kernel density.

    def density(self, vectors: Any, label: object = None) -> VectorEstimate:
        """The mean of k(x, ·) over the private rows at each x: the kernel's density estimate (n, d) → (n,).

        Of vectors with classes, it is that of the rows of one class, or of all, as a share of all rows. Where
        coordinates in a subspace were measured, `bias` is what lies outside of it at most.
        """
        if isinstance(self._kernel, LabelledSphere):
            return self._class_density(self._units(vectors), label)
        noisy, points = self._measured.embedding, as_rows(vectors)
        if not isinstance(noisy.feature_map, Nystrom) or label is not None:
            raise ParameterError("density: needs moments of classes, or coordinates in a subspace and no label.")
        features = noisy.feature_map.evaluate(points)
        norms = np.linalg.norm(features, axis=1)
        kernel = noisy.feature_map.kernel
        left = kernel.diagonal(kernel.admit(points)) - norms**2
        outside = np.sqrt(np.maximum(left, 0.0) * kernel.bound)
        value = features @ noisy.mean
        errors = np.hypot(noisy.sigma * norms, value * noisy.count_error)
        return VectorEstimate(value=value, standard_error=errors, bias=outside)

    def _class_density(self, vectors: Floats, label: object) -> VectorEstimate:
        noisy = self._stage_of_all_columns("density", of_each=label is not None)
        codes = range(len(self._sphere.classes)) if label is None else (self._code(label),)
        features = np.zeros((len(vectors), noisy.feature_map.dimension))
        for code in codes:
            features += noisy.feature_map.evaluate(np.column_stack([vectors, np.full(len(vectors), code)]))
        assert isinstance(noisy.feature_map, ClassMoments)
        if noisy.feature_map.pooled:  # one matrix of second moments, which every class has added to
            features[:, len(codes) * (1 + vectors.shape[1]) :] /= len(codes)
        value = features @ noisy.mean
        errors = np.hypot(noisy.sigma * np.linalg.norm(features, axis=1), value * noisy.count_error)
        return VectorEstimate(value=value, standard_error=errors)

    def nearest(self, public: Any, count: int = 10, label: object = None) -> tuple[Integers, VectorEstimate]:
        """Those of some public vectors around which private rows lie most densely: their places, and the density."""
        check_integer("nearest: count", count, 1, 2**62)
        density = self.density(public, label)
        order = np.argsort(-density.value, kind="stable")[:count]
        bias = density.bias if density.bias.ndim == 0 else density.bias[order]
        return order, VectorEstimate(
            value=density.value[order], standard_error=density.standard_error[order], bias=bias
        )

    # What it is read from.

    @property
    def _sphere(self) -> LabelledSphere:
        if not isinstance(self._kernel, LabelledSphere):
            raise ParameterError("This release has no classes: give labels when it is made.")
        return self._kernel

    @property
    def _law(self) -> ClassLaw:
        _ = self._sphere
        return law_of(self._measured.stages)

    @property
    def _scale(self) -> Floats:
        """The lengthscale of each column: (d,)."""
        assert isinstance(self._kernel, Gaussian)
        lengthscale = np.asarray(self._kernel.lengthscale, dtype=np.float64)
        return np.broadcast_to(lengthscale, (self._measured.width,))

    def _averages(self, what: str) -> Averages:
        """Those of the fitted Gaussians, made once."""
        if not isinstance(self._kernel, Gaussian) or self._measured.law is None:
            raise ParameterError(
                f"{what}: needs vectors with classes, or the Gaussians that Adaptive fits where the kernel is Gaussian "
                "and no rows are published. `release.ask.expectation` answers for any embedding."
            )
        if "averages" not in self._known:
            with one_thread():
                self._known["averages"] = averages_of(self._measured, self._kernel)
        return self._known["averages"]

    def _moments(self, label: object, *, second: bool = True) -> "_OfClass | _OfLaw":
        if not isinstance(self._kernel, LabelledSphere):
            if label is not None:
                raise ParameterError("This release has no classes: give labels when it is made.")
            return _OfLaw.of(self._averages("mean, covariance and axes"), self._scale)
        return self._class_moments(label, second=second)

    def _class_moments(self, label: object, *, second: bool) -> "_OfClass":
        """Share, sums and second moments of a class or of all, per row, and the errors of each.

        Of a mean's class the second moments need not be known: where they are not, they are left at those of all.
        """
        stage = self._stage_of_all_columns("covariance", of_each=second and label is not None)
        feature_map = stage.feature_map
        assert isinstance(feature_map, ClassMoments)
        found = feature_map.moments(stage.mean)
        chosen = slice(None) if label is None else slice(self._code(label), self._code(label) + 1)
        whose = slice(None) if feature_map.pooled else chosen
        share, sums = (part[chosen].sum(axis=0) for part in (found.shares, found.means))
        seconds = found.seconds[whose].sum(axis=0)
        numbers = (len(found.shares[chosen]), len(found.shares[chosen]), len(found.seconds[whose]))
        e0, e1, e2 = (e * stage.sigma * math.sqrt(n) for e, n in zip(found.errors, numbers, strict=True))
        if share < 2.0 * e0:
            raise ParameterError("The class is too small beside the noise: its mean can't be told.")
        return _OfClass(share=float(share), sums=sums, seconds=seconds, errors=(e0, e1, e2))

    def _stage_of_all_columns(self, what: str, *, of_each: bool) -> NoisyEmbedding:
        """The stage that holds second moments in all columns, of each class or of all together."""
        _ = self._sphere
        stage = self._measured.stages[0]
        assert isinstance(stage.feature_map, ClassMoments)
        if of_each and stage.feature_map.pooled:
            raise ParameterError(
                f"{what}: second moments of each class were measured along a few directions only. Ask the rows."
            )
        return stage

    def _units(self, vectors: Any) -> Floats:
        given = np.asarray(vectors)
        cells = as_rows(given[None] if given.ndim == 1 else given)
        if cells.shape[1] != self._sphere.dimension:
            raise ParameterError(f"vectors must have {self._sphere.dimension} columns, got {cells.shape[1]}.")
        try:
            numbers = cells.astype(np.float64)
        except (TypeError, ValueError):
            raise ParameterError("vectors must be numbers.") from None
        if not np.isfinite(numbers).all():
            raise ParameterError(
                "vectors must be finite: what is missing in a public vector has to be filled in first."
            )
        return unit_vectors(numbers)

    def _code(self, label: object) -> int:
        for code, name in enumerate(self._sphere.classes):
            if name == label:
                return code
        raise ParameterError(f"label must be one of the declared classes, got {label!r}.")

    def _numbers(self, of: Any) -> Floats:
        """A number for every class: 1 for one label and 0 for the others, or as given."""
        classes = self._sphere.classes
        if not isinstance(of, Mapping):
            return np.asarray(np.eye(len(classes))[self._code(of)], dtype=np.float64)
        missing = [name for name in classes if name not in of]
        if missing:
            raise ParameterError(f"expected: of must have a number for every class; {missing[0]!r} has none.")
        return np.array([float(of[name]) for name in classes])


# --------------------
# Moments of a class, as they were measured, and of Gaussians: with noise that can be drawn again.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _OfClass:
    """Share, sums and second moments, per row, and the errors of each."""

    share: float
    sums: Floats
    seconds: Floats
    errors: tuple[float, float, float]

    @property
    def mean(self) -> VectorEstimate:
        value = self.sums / self.share
        error = np.hypot(self.errors[1], value * self.errors[0]) / self.share
        return VectorEstimate(value=value, standard_error=error)

    @property
    def _own_errors(self) -> Floats:
        """Of second moments: (d, d)."""
        diagonal = np.eye(len(self.sums), dtype=bool)
        return np.where(diagonal, self.errors[2], self.errors[2] * SQUARE / PRODUCT)

    @property
    def _through_share(self) -> Floats:
        mean = self.sums / self.share
        return self.errors[0] * (self.seconds / self.share - 2.0 * np.outer(mean, mean))

    def covariance(self) -> VectorEstimate:
        mean = self.sums / self.share
        through_mean = self.errors[1] * np.hypot.outer(mean, mean)
        error = np.sqrt(self._own_errors**2 + through_mean**2 + self._through_share**2) / self.share
        noise = float(self.errors[1] / self.share) ** 2
        value = self.seconds / self.share - np.outer(mean, mean) + noise * np.eye(len(mean))
        return VectorEstimate(value=value, standard_error=error)

    def variances(self) -> Floats:
        values = np.linalg.eigvalsh(clean(self.covariance().value, self.errors[2] / self.share))
        return np.asarray(np.maximum(values, 0.0), dtype=np.float64)

    def noise(self, count: int, generator: np.random.Generator) -> Floats:
        size, mean = len(self.sums), self.sums / self.share
        result = np.empty((count, size, size))
        for each in result:
            upper = np.triu(generator.standard_normal((size, size)) * self._own_errors)
            shift = np.outer(mean, self.errors[1] * generator.standard_normal(size))
            whole = np.triu(upper) + np.triu(upper, 1).T - shift - shift.T
            each[...] = (whole - generator.standard_normal() * self._through_share) / self.share
        return result


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _OfLaw:
    """Averages of x − m and of the products of its columns, m the mean of the law, and their covariance."""

    mean: VectorEstimate
    seconds: Floats  # (d, d)
    errors: Floats  # of the products in the upper triangle: (d(d + 1)/2, d(d + 1)/2)

    @classmethod
    def of(cls, averages: Averages, scale: Floats) -> "_OfLaw":
        points = averages.points * scale
        middle = averages.weights @ points
        gaps, d = points - middle, points.shape[1]
        rows, columns = np.triu_indices(d)
        value, covariance = averages.estimate(np.hstack([gaps, gaps[:, rows] * gaps[:, columns]]))
        shift, products = value[:d], value[d:]
        seconds = np.empty((d, d))
        seconds[rows, columns] = seconds[columns, rows] = products
        mean = VectorEstimate(value=middle + shift, standard_error=np.sqrt(np.diagonal(covariance)[:d]))
        return cls(mean=mean, seconds=seconds - np.outer(shift, shift), errors=covariance[d:, d:])

    def covariance(self) -> VectorEstimate:
        d = len(self.seconds)
        error = np.empty((d, d))
        rows, columns = np.triu_indices(d)
        error[rows, columns] = error[columns, rows] = np.sqrt(np.diagonal(self.errors))
        return VectorEstimate(value=self.seconds, standard_error=error)

    def variances(self) -> Floats:
        return np.asarray(np.maximum(np.linalg.eigvalsh(self.seconds), 0.0), dtype=np.float64)

    def noise(self, count: int, generator: np.random.Generator) -> Floats:
        d = len(self.seconds)
        values, axes = np.linalg.eigh(self.errors)
        drawn = generator.standard_normal((count, len(values))) * np.sqrt(np.maximum(values, 0.0)) @ axes.T
        rows, columns = np.triu_indices(d)
        result = np.empty((count, d, d))
        result[:, rows, columns] = result[:, columns, rows] = drawn
        return result


# --------------------
# Clusters.


def _clusters(centres: Floats, value: Floats, covariance: Floats) -> Clusters:
    """From shares of cells and sums of gaps to their centres, per row: (k + k·d,) and their covariance."""
    k, d = centres.shape
    shares, gaps = value[:k], value[k:].reshape(k, d)
    variances = np.diagonal(covariance)
    members = np.maximum(shares, 1e-300)[:, None]
    shift = gaps / members
    crossed = np.array([[covariance[i, k + i * d + j] for j in range(d)] for i in range(k)])
    spread = variances[k:].reshape(k, d) - 2.0 * shift * crossed + shift**2 * variances[:k, None]
    return Clusters(
        centres=centres,
        shares=VectorEstimate(value=shares, standard_error=np.sqrt(np.maximum(variances[:k], 0.0))),
        means=VectorEstimate(value=centres + shift, standard_error=np.sqrt(np.maximum(spread, 0.0)) / members),
    )


def _cells(rows: Floats, weights: Floats, centres: Floats) -> Floats:
    """Shares of cells, and sums of gaps to their centres: (k + k·d,)."""
    member = np.eye(len(centres))[nearest_centre(rows, centres)] * weights[:, None]
    shares = member.sum(axis=0)
    return np.concatenate([shares, (member.T @ rows - shares[:, None] * centres).ravel()])
