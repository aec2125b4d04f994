"""The distribution of one column from its noisy counts, with the noise taken out as far as its shape allows."""

from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.fit.weights.constraints import Simplex
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks

LEAST = 1e-6  # probability of an atom: none is impossible
SIGNIFICANT = 2.5  # standard deviations: a step of a distribution that is smaller may be noise
SHIFTS = 64  # of the dyadic grid, to average its borders away
SHORTEST = 32  # fewer ordered atoms have no shape to speak of


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OneWay:
    """One column: unbiased noisy shares of its atoms with the variance of each, and a distribution near them."""

    shares: Floats  # (atoms,)
    variance: float  # of each share; shares of several atoms add up theirs
    distribution: Floats  # (atoms,), positive, adding up to 1


def one_ways(noisy: NoisyBlocks) -> tuple[OneWay, ...]:
    """Every column, from all single-column blocks that were measured of it."""
    ordered = noisy.ordered or (0,) * len(noisy.sizes)
    return tuple(_one_way(noisy, column, ordered[column]) for column in range(len(noisy.sizes)))


def _one_way(noisy: NoisyBlocks, column: int, ordered: int) -> OneWay:
    blocks = [block for block in noisy.blocks if block.block.columns == (column,)]
    fine = [block for block in blocks if block.block.cells == noisy.sizes[column]]
    if not fine:
        raise ParameterError(f"Column {column} was not measured atom by atom: no distribution can be made of it.")
    precision = sum(block.sigma**-2.0 for block in fine)
    counts = sum((block.values * block.sigma**-2.0 for block in fine), np.zeros(noisy.sizes[column])) / precision
    for block in blocks:
        if block.block.cells < noisy.sizes[column]:
            counts = _reconciled(counts, 1.0 / precision, block)
    sigma = precision**-0.5
    smooth = counts.copy()
    if ordered >= SHORTEST:
        smooth[:ordered] = denoised(counts[:ordered], sigma)
    nearest = np.maximum(Simplex().project(smooth / noisy.rows), LEAST)
    return OneWay(shares=counts / noisy.rows, variance=(sigma / noisy.rows) ** 2, distribution=nearest / nearest.sum())


def _reconciled(counts: Floats, variance: float, coarse: NoisyBlock) -> Floats:
    """Fine counts moved, equally within each coarse cell, to the best estimate of that cell: least squares."""
    cells = coarse.block.groups[0]
    members = np.bincount(cells)
    sums = np.bincount(cells, counts)
    pull = members * variance / (members * variance + coarse.sigma**2)
    moved: Floats = counts + ((coarse.values - sums) * pull / members)[cells]
    return moved


def denoised(counts: Floats, sigma: float) -> Floats:
    """Noisy counts in order with every insignificant step flattened, by Haar wavelets averaged over shifts.

    A sum over a dyadic stretch is split between its halves as their lengths are, unless the noisy split differs by more
    than `SIGNIFICANT` standard deviations; so spikes stay sharp, and flat stretches are averaged.
    """
    length = 1 << (len(counts) - 1).bit_length()
    padded, present = np.zeros(length), np.zeros(length)
    padded[: len(counts)], present[: len(counts)] = counts, 1.0
    stride = max(1, length // SHIFTS) | 1  # odd, so that shifts differ at every scale
    shifts = {place * stride % length for place in range(min(SHIFTS, length))}
    total = np.zeros(length)
    for shift in shifts:
        total += np.roll(_flattened(np.roll(padded, shift), np.roll(present, shift), sigma), -shift)
    mean: Floats = total[: len(counts)] / len(shifts)
    return mean


def _flattened(counts: Floats, present: Floats, sigma: float) -> Floats:
    """One pass up the dyadic tree and down again. `present` is how many real atoms a place stands for."""
    if len(counts) == 1:
        return counts
    left, right, width_left, width_right = counts[::2], counts[1::2], present[::2], present[1::2]
    width = np.maximum(width_left + width_right, 1.0)
    detail = (left * width_right - right * width_left) / width  # what the left half has above its fair part
    spread = sigma * np.sqrt(width_left * width_right / width)
    detail = np.where(np.abs(detail) > SIGNIFICANT * spread, detail, 0.0)
    sums = _flattened(left + right, width_left + width_right, sigma)
    halves = np.empty_like(counts)
    halves[::2], halves[1::2] = sums * width_left / width + detail, sums * width_right / width - detail
    return halves


def conditional(distribution: Floats, cells: Integers) -> Floats:
    """The distribution of each atom within its cell: (atoms,)."""
    within: Floats = distribution / np.bincount(cells, distribution)[cells]
    return within
