"""How a mean embedding varies with a sample of rows and with the noise.

`Scatter` is the multiplier bootstrap of a sample's mean; draws of it and of the noise are draws of the error of an
estimate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.analysis.comparisons.mean_embedding import Coordinates, ReleasedMean
from kernelease.analysis.comparisons.sample import SampleRows
from kernelease.analysis.inference import DRAWS
from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError

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
        """Of the persons of a sample, in random groups."""
        if sample.units < 2:
            raise ParameterError("The sample must have at least two rows (persons): one says nothing about its spread.")
        width = sum(part.features(sample.rows[:1]).shape[1] for part in coordinates)
        groups = min(sample.units, _MOST_GROUPS, max(_LEAST_GROUPS, _MOST_DEVIATIONS // width))
        layout = _Layout.of(sample, groups, generator)
        parts = [_part(sample, part, layout) for part in coordinates]
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


def _part(sample: SampleRows, coordinates: Coordinates, layout: _Layout) -> tuple[Floats, Floats, float]:
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
        for rows in _row_slices(draws, len(direction[part])):
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


def _row_slices(draws: int, width: int) -> list[slice]:
    count = max(1, _MOST_DRAWN // max(1, width))
    return [slice(start, min(start + count, draws)) for start in range(0, draws, count)]
