"""A released mean embedding in coordinates whose noise is known, and how it varies with the sample and the noise.

For a table the kernel is a sum over the sets of columns that were counted together,

    k(x, y) = Σ_S w_S · Π_{i in S} k_i(x_i, y_i),

with k_i a centred kernel on the cells of column i (`CellFeatures`). Products of centred features see only how the
columns of S go together, so that the noise of a block falls into independent pieces, one for each set of its columns;
and a set that several blocks hold is measured by all of them, combined by their precision. The weights w_S are public:
1/w_S is in proportion to the standard deviation that S gives to a squared distance, by its noise and by the sampling of
rows that are spread evenly over its cells. They add up to 1. For vectors the kernel is that of the released features.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import final

import numpy as np
from scipy.linalg import helmert

from kernelease.analysis.comparisons.tables import ContingencyTable, SampleRows, contingency_tables
from kernelease.analysis.inference import DRAWS
from kernelease.arrays import Floats, Integers, Rows, block_slices
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.privacy.accounting import Law
from kernelease.privacy.sensitivity import Neighbours, count_increment
from kernelease.seeds import PublicSeed
from kernelease.table.atom_features import LENGTHSCALE
from kernelease.table.columns.column import Column

# --------------------
# The coordinates in which distances are measured: their noise is known and independent.


_NEGLIGIBLE = 1e-3  # eigenvalues below this share of the largest are left out of a smooth kernel
_EQUAL = 1e-8  # of the largest: singular values that differ by less have no vectors of their own, but for rounding
_SPACED = 256  # places that a smooth kernel is computed from


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CellFeatures:
    """Features of cells in the eigenbasis of their kernel: (cells, r), with featuresᵀ·features diagonal.

    So independent noise of equal size on the cells is independent noise on the features, of variance `spectrum`. Each
    feature adds up to 0 over the cells: a product of features of several columns sees only how these go together, and
    none sees the number of rows.
    """

    features: Floats
    spectrum: Floats  # (r,): the diagonal of featuresᵀ·features

    @classmethod
    def of(cls, column: Column, groups: Integers, *, lengthscale: float = LENGTHSCALE) -> "CellFeatures":
        """Cells of an ordered column are alike as a Gaussian of their distance; all others only to themselves.

        `lengthscale` is a share of the declared range.
        """
        if not 0.0 < lengthscale < np.inf:
            raise ParameterError(f"lengthscale must be positive and finite, got {lengthscale!r}.")
        places = _places(column, groups)
        if not column.ordered:
            return cls(features=helmert(len(places)).T, spectrum=np.ones(len(places) - 1))
        factor = _factor(places, lengthscale)
        vectors, roots, _ = np.linalg.svd(factor - factor.mean(axis=0), full_matrices=False)
        keep = roots**2 > min(_NEGLIGIBLE * roots[0] ** 2, 0.5)  # NULL's own is near 1
        settled = _settle_basis(vectors[:, keep], roots[keep])
        return cls(features=settled * roots[keep], spectrum=roots[keep] ** 2)


class Coordinates(ABC):
    """Some coordinates of a feature map: of one block, or all of a feature map's."""

    @abstractmethod
    def features(self, rows: Rows) -> Floats:
        """φ of rows (atom codes for a table): (n, d) → (n, F)."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BlockCoordinates(Coordinates):
    """√w·(features of the cell of each column, multiplied out): (n, columns) codes → (n, r₁·r₂·…)."""

    columns: tuple[int, ...]
    atoms: tuple[Floats, ...]  # (atoms, r) of each column: the features of an atom's cell
    scale: float  # √w

    def features(self, rows: Rows) -> Floats:
        """Row by row the product of the columns' features."""
        parts = (table[rows[:, column].astype(np.intp)] for column, table in zip(self.columns, self.atoms, strict=True))
        return self.scale * reduce(_row_products, parts)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MapCoordinates(Coordinates):
    """A released feature map as it is."""

    feature_map: FeatureMap

    def features(self, rows: Rows) -> Floats:
        return self.feature_map.evaluate(rows)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedPart:
    """Noisy means in some coordinates, and the variance of the noise in each: (F,), (F,)."""

    coordinates: Coordinates
    mean: Floats
    variance: Floats
    law: Law

    def noise(self, draws: int, generator: np.random.Generator) -> Floats:
        """Noise of the same law and variance: (draws, F).

        Laplace noise of the cells is drawn as Laplace noise of the coordinates, whose tails are at least as long.
        """
        deviation = np.broadcast_to(np.sqrt(self.variance), (draws, len(self.variance)))
        return draw_noise(self.law, deviation, generator)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedMean:
    """μ̃ in parts; `rows` is N, public or estimated, then with a relative error of `count_deviation`.

    The noise of sums is independent of that of their number, since no feature of a table sees the number.
    """

    parts: tuple[ReleasedPart, ...]
    rows: float
    count_deviation: float = 0.0

    @property
    def squared_norm(self) -> float:
        """‖μ̃‖²."""
        return sum(float(part.mean @ part.mean) for part in self.parts)

    @property
    def noise_trace(self) -> float:
        """E‖noise‖² = tr Σ. Where N is noisy the noise of the mean is e − t·μ, with t the relative error of N."""
        return sum(float(part.variance.sum()) for part in self.parts) + self.count_deviation**2 * self.squared_norm


def common_coordinates(
    measured: Sequence[NoisyBlocks],
    columns: Sequence[Column],
    *,
    among: frozenset[int] | None = None,
    lengthscale: float = LENGTHSCALE,
) -> tuple[ReleasedMean, ...]:
    """The sets of columns that all releases counted, as means in the same coordinates; `among` limits the columns."""
    found = [contingency_tables(noisy, among=among) for noisy in measured]
    kernels = _Kernels(columns=columns, lengthscale=lengthscale)
    shared = [key for key in found[0] if all(key in other for other in found) and kernels.of(found[0][key])]
    if not shared:
        raise ParameterError("There is nothing to compare: no columns were counted in the same cells on both sides.")
    weights = np.array([_weight([tables[key] for tables in found], measured, kernels) for key in shared])
    scales = np.sqrt(weights / weights.sum())
    return tuple(
        ReleasedMean(
            parts=tuple(
                _part(tables[key], kernels.of(tables[key]), float(scale), noisy.rows)
                for key, scale in zip(shared, scales, strict=True)
            ),
            rows=noisy.rows,
            count_deviation=count_deviation(noisy),
        )
        for tables, noisy in zip(found, measured, strict=True)
    )


def released_embedding(noisy: NoisyEmbedding) -> ReleasedMean:
    """The mean of a feature map, with the same noise in each coordinate."""
    width = noisy.feature_map.dimension
    part = ReleasedPart(
        coordinates=MapCoordinates(feature_map=noisy.feature_map),
        mean=noisy.mean,
        variance=np.full(width, noisy.sigma**2),
        law=noisy.measurement.step.law,
    )
    deviation = 0.0
    if noisy.neighbours is Neighbours.ADD_REMOVE:
        deviation = noisy.measurement.standard_deviation / count_increment(noisy.feature_map) / noisy.rows
    return ReleasedMean(parts=(part,), rows=noisy.rows, count_deviation=deviation)


def count_deviation(noisy: NoisyBlocks) -> float:
    """Relative error of the number of rows, where it is estimated from the blocks' own sums."""
    if noisy.neighbours is Neighbours.REPLACE_ONE:
        return 0.0
    counted = (block for block in noisy.blocks if block.block.adds_up)
    precision = sum(1.0 / (block.block.cells * block.sigma**2) for block in counted)
    return 1.0 / (math.sqrt(precision) * noisy.rows)


@final
class _Kernels:
    """The features of the cells of each column, computed once."""

    def __init__(self, columns: Sequence[Column], lengthscale: float) -> None:
        self._columns = columns
        self._lengthscale = lengthscale
        self._known: dict[tuple[int, bytes], CellFeatures] = {}

    def of(self, one: ContingencyTable) -> tuple[CellFeatures, ...]:
        """Features of each column of a set; none where a column has a single cell, and nothing can differ."""
        for cells, groups in zip(one.key, one.groups, strict=True):
            if cells not in self._known:
                column = self._columns[cells[0]]
                self._known[cells] = CellFeatures.of(column, groups, lengthscale=self._lengthscale)
        features = tuple(self._known[cells] for cells in one.key)
        return features if all(len(cells.spectrum) for cells in features) else ()


def _weight(tables: Sequence[ContingencyTable], measured: Sequence[NoisyBlocks], kernels: _Kernels) -> float:
    """One over the standard deviation that a set gives to a squared distance, up to a factor."""
    size = math.prod(float(np.linalg.norm(cells.spectrum)) for cells in kernels.of(tables[0]))
    variance = sum(
        one.variance / noisy.rows**2 + 1.0 / (one.counts.size * noisy.rows)
        for one, noisy in zip(tables, measured, strict=True)
    )
    return 1.0 / (size * variance)


def _part(one: ContingencyTable, kernel: Sequence[CellFeatures], scale: float, rows: float) -> ReleasedPart:
    """The mean features of a set: its counts, contracted with the features of the cells."""
    mean = one.counts
    for cells in kernel:
        mean = np.tensordot(mean, cells.features, axes=(0, 0))  # the next column's axis comes first
    spectrum = reduce(np.multiply.outer, (cells.spectrum for cells in kernel))
    atoms = tuple(cells.features[groups] for cells, groups in zip(kernel, one.groups, strict=True))
    return ReleasedPart(
        coordinates=BlockCoordinates(columns=one.columns, atoms=atoms, scale=scale),
        mean=scale / rows * mean.ravel(),
        variance=(scale / rows) ** 2 * one.variance * spectrum.ravel(),
        law=one.law,
    )


def draw_noise(law: Law, deviation: Floats, generator: np.random.Generator) -> Floats:
    """Independent noise of a law, with a standard deviation for each number."""
    if law is Law.LAPLACE:
        return np.asarray(generator.laplace(0.0, deviation / math.sqrt(2.0)), dtype=np.float64)
    noise: Floats = generator.standard_normal(deviation.shape) * deviation
    return noise


def _row_products(one: Floats, other: Floats) -> Floats:
    return (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)


def _places(column: Column, groups: Integers) -> Floats:
    """The mean place of each cell's atoms, as a share of the declared range; NaN for NULL and others: (cells,)."""
    centres = column.centres()
    known = ~np.isnan(centres)
    cells = int(groups.max()) + 1
    numbers = np.bincount(groups[known], minlength=cells)
    sums = np.bincount(groups[known], centres[known], minlength=cells)
    places = np.full(cells, np.nan)
    np.divide(sums, numbers, out=places, where=numbers > 0)
    span = float(np.ptp(centres[known])) if known.any() else 0.0
    return places / span if span > 0.0 else places


def _factor(places: Floats, lengthscale: float) -> Floats:
    """F with F·Fᵀ = 1 for a cell and itself, for two places a Gaussian of their distance, else 0: (cells, r).

    The Gaussian's values between few equally spaced places give all others, to rounding: its rank is small.
    """
    placed = np.flatnonzero(~np.isnan(places))
    others = np.flatnonzero(np.isnan(places))
    known = places[placed] / lengthscale
    spaced = known if len(known) <= _SPACED else np.linspace(known.min(), known.max(), _SPACED)
    values, vectors = np.linalg.eigh(_gaussian(spaced, spaced))
    large = values > 1e-10 * values.max(initial=1.0)
    factor = np.zeros((len(places), int(large.sum()) + len(others)))
    factor[placed, : large.sum()] = _gaussian(known, spaced) @ (vectors[:, large] / np.sqrt(values[large]))
    factor[others, large.sum() + np.arange(len(others))] = 1.0
    return factor


def _settle_basis(vectors: Floats, roots: Floats) -> Floats:
    """Singular vectors with the signs, and for equal values the basis, that lie nearest a fixed matrix: (n, r).

    LAPACK's own choice differs from processor to processor; draws of errors in these coordinates, and the p-values
    that are printed of them, must not.
    """
    settled, fixed = vectors.copy(), PublicSeed(0).generator("signs").standard_normal(vectors.shape)
    ends = np.flatnonzero(np.append(-np.diff(roots) > _EQUAL * roots[:1], True)) + 1
    for equal in np.split(np.arange(len(roots)), ends[:-1]):
        left, _, right = np.linalg.svd(vectors[:, equal].T @ fixed[:, equal])
        settled[:, equal] = vectors[:, equal] @ (left @ right)
    return settled


def _gaussian(one: Floats, other: Floats) -> Floats:
    kernel: Floats = np.exp(-0.5 * (one[:, None] - other) ** 2)
    return kernel


# --------------------
# How a mean embedding varies with a sample of rows and with the noise.
#
# `Scatter` is the multiplier bootstrap of a sample's mean; draws of it and of the noise are draws of the error of an
# estimate.


_MOST_GROUPS = 2000  # of persons: the error of a variance from so many is 3 %
_LEAST_GROUPS = 128  # of persons: the error of a variance from so many is 12 %
_MOST_DEVIATIONS = 2**24  # floats that all groups may take: 128 MiB
_AT_ONCE = 2**21  # features in memory at a time
_MOST_DRAWN = 2**22  # random numbers at hand at a time


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """Mean features of a sample, and its deviations in groups of persons: in each part (F,) and (G, F).

    ξ·deviations/√n for standard normal ξ (G,) varies as the mean of n persons does: with each person a group of their
    own that is the multiplier bootstrap; random groups of many keep its covariance in expectation, in bounded memory.
    """

    means: tuple[Floats, ...]
    deviations: tuple[Floats, ...]
    units: int
    trace: float  # E‖φ(x) − μ‖², the total variance of one person

    @property
    def groups(self) -> int:
        """G."""
        return len(self.deviations[0])

    @classmethod
    def of(cls, sample: SampleRows, coordinates: Sequence[Coordinates], generator: np.random.Generator) -> "Scatter":
        """The scatter of the persons of a sample, in random groups."""
        if sample.units < 2:
            raise ParameterError("The sample must have at least two rows (persons): one says nothing about its spread.")
        width = sum(part.features(sample.rows[:1]).shape[1] for part in coordinates)
        groups = min(sample.units, _MOST_GROUPS, max(_LEAST_GROUPS, _MOST_DEVIATIONS // width))
        layout = _Layout.of(sample, groups, generator)
        parts = [_sample_part(sample, part, layout) for part in coordinates]
        return cls(
            means=tuple(mean for mean, _, _ in parts),
            deviations=tuple(deviations for _, deviations, _ in parts),
            units=sample.units,
            trace=sum(trace for _, _, trace in parts),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Rows in an order in which each person's, and each group's persons, are next to each other."""

    order: Integers  # rows
    starts: Integers  # where each person begins in that order, and the end
    ends: Integers  # the last person of each group, plus one

    @classmethod
    def of(cls, sample: SampleRows, groups: int, generator: np.random.Generator) -> "_Layout":
        rank = generator.permutation(sample.units)
        order = np.argsort(rank[sample.persons], kind="stable")
        starts = np.searchsorted(rank[sample.persons][order], np.arange(sample.units + 1))
        ends = np.ceil(np.arange(1, groups + 1) * (sample.units / groups)).astype(np.int64)
        ends[-1] = sample.units
        return cls(order=order, starts=starts, ends=ends)

    def batches(self, width: int) -> Iterator[tuple[slice, slice]]:
        """Runs of groups that fit into memory: (groups, persons)."""
        rows_per_group = max(1, len(self.order) // len(self.ends))
        count = max(1, _AT_ONCE // (width * rows_per_group))
        for first in range(0, len(self.ends), count):
            last = min(first + count, len(self.ends))
            yield slice(first, last), slice(int(self.ends[first - 1]) if first else 0, int(self.ends[last - 1]))


def _sample_part(sample: SampleRows, coordinates: Coordinates, layout: _Layout) -> tuple[Floats, Floats, float]:
    """Mean, deviations of groups over √n, and total variance, in some coordinates."""
    units = sample.units
    width = coordinates.features(sample.rows[:1]).shape[1]
    sums, sizes = np.empty((len(layout.ends), width)), np.diff(layout.ends, prepend=0)
    squares = 0.0
    for groups, persons in layout.batches(width):
        starts = layout.starts[persons.start : persons.stop + 1]
        rows = layout.order[starts[0] : starts[-1]]
        features = coordinates.features(sample.rows[rows])
        if len(features) != persons.stop - persons.start:  # some persons have several rows: their average
            features = np.add.reduceat(features, starts[:-1] - starts[0], axis=0) / np.diff(starts)[:, None]
        squares += float(np.vdot(features, features))
        begins = layout.ends[groups] - sizes[groups] - persons.start
        sums[groups] = np.add.reduceat(features, begins, axis=0)
    mean: Floats = sums.sum(axis=0) / units
    deviations: Floats = (sums - sizes[:, None] * mean) / np.sqrt(units - 1.0)
    return mean, deviations, max(0.0, (squares - units * float(mean @ mean)) / (units - 1))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledScatter:
    """Rows whose mean varies with variance `rate`·(variance of a row): 1/n for the mean of n."""

    scatter: Scatter
    rate: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorDraws:
    """Draws of an error e, by what is needed of them: ‖e‖² in each part, and ⟨e, direction⟩ for one direction."""

    part_squares: Floats  # (draws, parts)
    projections: Floats  # (draws,)
    noise_trace: float  # E‖e‖² of privacy noise
    sampling_trace: float  # E‖e‖² of sampling

    @property
    def squares(self) -> Floats:
        """‖e‖²: (draws,)."""
        squares: Floats = self.part_squares.sum(axis=1)
        return squares

    @property
    def trace(self) -> float:
        """E‖e‖²."""
        return self.noise_trace + self.sampling_trace


def draw_errors(
    released: Sequence[ReleasedMean],
    sampled: Sequence[ScaledScatter],
    direction: Sequence[Floats],
    generator: np.random.Generator,
    *,
    draws: int = DRAWS,
) -> ErrorDraws:
    """The error of a sum or difference of independent means, in the coordinates that they share.

    `direction` has one vector for each part. Parts are drawn one after the other, so that memory stays bounded.
    """
    multipliers = [generator.standard_normal((draws, one.scatter.groups)) * np.sqrt(one.rate) for one in sampled]
    counts = [generator.standard_normal(draws) * one.count_deviation for one in released]  # relative errors of N
    squares, projections = np.empty((draws, len(direction))), np.zeros(draws)
    for part in range(len(direction)):
        for rows in block_slices(draws, max(1, _MOST_DRAWN // max(1, len(direction[part])))):
            error = np.zeros((rows.stop - rows.start, len(direction[part])))
            for one in released:
                error += one.parts[part].noise(len(error), generator)
            for source, factors in zip(sampled, multipliers, strict=True):
                error += factors[rows] @ source.scatter.deviations[part]
            for one, count in zip(released, counts, strict=True):
                error -= count[rows, None] * one.parts[part].mean
            squares[rows, part] = np.einsum("nf,nf->n", error, error)
            projections[rows] += error @ direction[part]
    return ErrorDraws(
        part_squares=squares,
        projections=projections,
        noise_trace=sum(one.noise_trace for one in released),
        sampling_trace=sum(one.rate * one.scatter.trace for one in sampled),
    )
