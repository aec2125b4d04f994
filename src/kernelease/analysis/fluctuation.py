"""Draws of the error of an estimated embedding: privacy noise of releases, and sampling of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.analysis.released import ReleasedMean
from kernelease.analysis.scatter import Scatter
from kernelease.arrays import Floats

DRAWS = 999
_NUMBERS = 2**22  # random numbers at hand at a time


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """Rows whose mean varies with variance `rate`·(variance of a row): 1/n for the mean of n."""

    scatter: Scatter
    rate: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Fluctuation:
    """Draws of an error e, by what is needed of them: ‖e‖² in each part, and ⟨e, direction⟩ for one direction."""

    part_energies: Floats  # (draws, parts)
    projections: Floats  # (draws,)
    noise_trace: float  # E‖e‖² of privacy noise
    sampling_trace: float  # E‖e‖² of sampling

    @property
    def energies(self) -> Floats:
        """‖e‖²: (draws,)."""
        energies: Floats = self.part_energies.sum(axis=1)
        return energies

    @property
    def trace(self) -> float:
        """E‖e‖²."""
        return self.noise_trace + self.sampling_trace


def fluctuation(
    released: Sequence[ReleasedMean],
    sampled: Sequence[Sampled],
    direction: Sequence[Floats],
    generator: np.random.Generator,
    *,
    draws: int = DRAWS,
) -> Fluctuation:
    """The error of a sum or difference of independent means, in the coordinates that they share.

    `direction` has one vector for each part. Parts are drawn one after the other, so that memory stays bounded.
    """
    multipliers = [generator.standard_normal((draws, one.scatter.groups)) * np.sqrt(one.rate) for one in sampled]
    counts = [generator.standard_normal(draws) * one.count_deviation for one in released]  # relative errors of N
    energies, projections = np.empty((draws, len(direction))), np.zeros(draws)
    for part in range(len(direction)):
        for rows in _row_slices(draws, len(direction[part])):
            error = np.zeros((rows.stop - rows.start, len(direction[part])))
            for one in released:
                error += one.parts[part].noise(len(error), generator)
            for source, factors in zip(sampled, multipliers, strict=True):
                error += factors[rows] @ source.scatter.deviations[part]
            for one, count in zip(released, counts, strict=True):
                error -= count[rows, None] * one.parts[part].mean
            energies[rows, part] = np.einsum("nf,nf->n", error, error)
            projections[rows] += error @ direction[part]
    return Fluctuation(
        part_energies=energies,
        projections=projections,
        noise_trace=sum(one.noise_trace for one in released),
        sampling_trace=sum(one.rate * one.scatter.trace for one in sampled),
    )


def _row_slices(draws: int, width: int) -> list[slice]:
    step = max(1, _NUMBERS // max(1, width))
    return [slice(start, min(start + step, draws)) for start in range(0, draws, step)]
