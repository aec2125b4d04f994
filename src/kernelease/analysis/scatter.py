"""How a mean embedding varies from sample to sample: the multiplier bootstrap, prepared once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.analysis.released import Coordinates
from kernelease.analysis.samples import SampleRows
from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError

_MOST_GROUPS = 2000
_LEAST_GROUPS = 128
_NUMBERS = 2**24  # floats that all groups may take: 128 MiB
_AT_ONCE = 2**21  # features in memory at a time


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
        groups = min(sample.units, _MOST_GROUPS, max(_LEAST_GROUPS, _NUMBERS // width))
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
        step = max(1, _AT_ONCE // (width * rows_per_group))
        for first in range(0, len(self.ends), step):
            last = min(first + step, len(self.ends))
            yield slice(first, last), slice(int(self.ends[first - 1]) if first else 0, int(self.ends[last - 1]))


def _part(sample: SampleRows, coordinates: Coordinates, layout: _Layout) -> tuple[Floats, Floats, float]:
    """Mean, deviations of groups over √n, and total variance, in some coordinates."""
    units = sample.units
    width = coordinates.features(sample.rows[:1]).shape[1]
    sums, sizes = np.empty((len(layout.ends), width)), np.diff(layout.ends, prepend=0)
    energy = 0.0
    for groups, persons in layout.batches(width):
        starts = layout.starts[persons.start : persons.stop + 1]
        rows = layout.order[starts[0] : starts[-1]]
        features = coordinates.features(sample.rows[rows])
        if len(features) != persons.stop - persons.start:  # some persons have several rows: their average
            features = np.add.reduceat(features, starts[:-1] - starts[0], axis=0) / np.diff(starts)[:, None]
        energy += float(np.vdot(features, features))
        begins = layout.ends[groups] - sizes[groups] - persons.start
        sums[groups] = np.add.reduceat(features, begins, axis=0)
    mean: Floats = sums.sum(axis=0) / units
    deviations: Floats = (sums - sizes[:, None] * mean) / np.sqrt(units - 1.0)
    return mean, deviations, max(0.0, (energy - units * float(mean @ mean)) / (units - 1))
