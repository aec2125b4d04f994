"""The vectors of a release: rows, classes and weights, and what was measured about them, with its errors.

Rows are drawn; answers here come from the noisy numbers themselves. Errors are those of the noise, which is known: what
an answer says is about the private table, not about the law that its rows came from.
"""

import math
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from scipy.special import ndtri

from kernelease.answers.reading import Released
from kernelease.arrays import Floats, Rows, as_rows
from kernelease.errors import ParameterError
from kernelease.features.class_moments import PRODUCT, SQUARE, ClassMoments, unit_vectors
from kernelease.features.nystrom import Nystrom
from kernelease.fit.class_law import ClassLaw, law_of
from kernelease.kernels.dot_product import LabelledSphere
from kernelease.measured.embeddings import NoisyEmbedding, NoisyEmbeddings
from kernelease.table.domains import LABEL

_LEVEL = 0.95  # of intervals. convention


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class VectorEstimate:
    """Estimates, of the shape of their standard errors; `bias` is the most by which each may be off beside noise."""

    value: Floats
    standard_error: Floats
    bias: Floats = field(default_factory=lambda: np.zeros(()))

    def interval(self, level: float = _LEVEL) -> tuple[Floats, Floats]:
        """Lower and upper ends that hold the true number, each with this probability."""
        if not 0.0 < level < 1.0:
            raise ParameterError(f"interval: level must lie between 0 and 1, got {level!r}.")
        reach = float(ndtri(0.5 + 0.5 * level)) * self.standard_error + self.bias
        return self.value - reach, self.value + reach


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """Rows (M, d) with weights (M,), and the class of each, `labels` (M,), where they have classes."""

    rows: Floats
    weights: Floats
    labels: Rows | None
    _measured: NoisyEmbeddings
    _kernel: object

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

    # What was measured about classes.

    def mean(self, label: object = None) -> VectorEstimate:
        """The mean of a class, or of all that have one: (d,)."""
        share, sums, _, errors = self._class(label)
        value = sums / share
        return VectorEstimate(value=value, standard_error=np.hypot(errors[1], value * errors[0]) / share)

    def covariance(self, label: object = None) -> VectorEstimate:
        """The covariance of a class, or of all that have one: (d, d). Its eigenvalues may be negative: it has noise."""
        share, sums, seconds, errors = self._class(label)
        mean, second = sums / share, seconds / share
        own = np.where(np.eye(len(mean), dtype=bool), errors[2], errors[2] * SQUARE / PRODUCT)
        through_mean = errors[1] * np.hypot.outer(mean, mean)
        through_share = errors[0] * (second - 2.0 * np.outer(mean, mean))
        error = np.sqrt(own**2 + through_mean**2 + through_share**2) / share
        noise = float(errors[1] / share) ** 2
        return VectorEstimate(value=second - np.outer(mean, mean) + noise * np.eye(len(mean)), standard_error=error)

    def classify(self, vectors: Any) -> Rows:
        """The class that each vector has most probably, by the Gaussians of the classes: (n, d) → (n,)."""
        names = np.empty(len(self._sphere.classes), dtype=object)
        names[:] = self._sphere.classes
        chosen: Rows = names[np.argmax(self._law.log_densities(self._units(vectors)), axis=1)]
        return chosen

    def probabilities(self, vectors: Any) -> Floats:
        """How probable each class is for each vector, in the order of the declared classes: (n, d) → (n, C)."""
        logs = self._law.log_densities(self._units(vectors))
        masses = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(masses / masses.sum(axis=1, keepdims=True), dtype=np.float64)

    # The private kernel density.

    def density(self, vectors: Any, label: object = None) -> VectorEstimate:
        """The mean of k(x, ·) over the private rows at each x: the kernel's density estimate (n, d) → (n,).

        Of vectors with classes, it is that of the rows of one class, as a share of all rows. Where coordinates in a
        subspace were measured, `bias` is what lies outside of it at most.
        """
        noisy, points = self._measured.embedding, as_rows(vectors)
        if isinstance(self._kernel, LabelledSphere):
            points = np.column_stack([self._units(vectors), np.full(len(points), self._code(label))])
            noisy = self._every_class("density")
        elif not isinstance(noisy.feature_map, Nystrom) or label is not None:
            raise ParameterError("density: needs moments of classes, or coordinates in a subspace and no label.")
        features = noisy.feature_map.evaluate(points)
        norms = np.linalg.norm(features, axis=1)
        outside = np.zeros(len(points))
        if isinstance(noisy.feature_map, Nystrom):
            kernel = noisy.feature_map.kernel
            left = kernel.diagonal(kernel.admit(points)) - norms**2
            outside = np.sqrt(np.maximum(left, 0.0) * kernel.bound)
        return VectorEstimate(value=features @ noisy.mean, standard_error=noisy.sigma * norms, bias=outside)

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

    def _units(self, vectors: Any) -> Floats:
        cells = as_rows(vectors)
        if cells.shape[1] != self._sphere.dimension:
            raise ParameterError(f"vectors must have {self._sphere.dimension} columns, got {cells.shape[1]}.")
        return unit_vectors(cells)

    def _code(self, label: object) -> int:
        for code, name in enumerate(self._sphere.classes):
            if name == label:
                return code
        raise ParameterError(f"label must be one of the declared classes, got {label!r}.")

    def _every_class(self, what: str) -> NoisyEmbedding:
        """The stage that holds second moments of every class in all columns."""
        stage = self._measured.embedding
        if not isinstance(stage.feature_map, ClassMoments) or stage.feature_map.projection is not None:
            raise ParameterError(
                f"{what}: second moments of each class were measured along a few directions only. Ask the rows."
            )
        return stage

    def _class(self, label: object) -> tuple[float, Floats, Floats, tuple[float, float, float]]:
        """Share, sums and second moments of a class or of all, per row, and the errors of each."""
        _ = self._sphere
        stage = self._every_class("mean, covariance")
        feature_map = stage.feature_map
        assert isinstance(feature_map, ClassMoments)
        found = feature_map.moments(stage.mean)
        chosen = slice(None) if label is None else slice(self._code(label), self._code(label) + 1)
        scale = stage.sigma * math.sqrt(len(found.shares[chosen]))
        share, sums, seconds = (part[chosen].sum(axis=0) for part in (found.shares, found.means, found.seconds))
        errors = (found.errors[0] * scale, found.errors[1] * scale, found.errors[2] * scale)
        if share < 2.0 * errors[0]:
            raise ParameterError("The class is too small beside the noise: its mean can't be told.")
        return float(share), sums, seconds, errors
