"""Noisy counts in order, with the noise taken out by splitting stretches in halves, from the whole down to atoms.

A stretch that holds T rows is split between its halves. Of the noisy difference between them four things may be true:
the halves hold what their lengths say (flat), the left or the right one holds nothing (empty), or it is anything in
between (free). The split is the mean of these, each weighted by its prior and by how likely it makes what was seen. So
flat stretches are averaged, no count is negative, and a long tail that shows only noise gets next to nothing
instead of the positive half of its noise. Single atoms that stand out are taken for themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from kernelease.arrays import Floats

Flags: TypeAlias = NDArray[np.bool_]
Sigma: TypeAlias = Callable[[int], float]  # atoms of a half → noise of a sum of so many, over the root of their number

PASSES = 2  # research: Tables: one constant at a time. Over what is left when spikes are taken out
SHIFTS = 32  # research: Tables: one constant at a time. Of the dyadic grid, to average its borders away
# research: Tables: one constant at a time. Standard deviations: what differs by more is no stretch that is flat, nor
# is any that holds it
SIGNIFICANT = 3.5
NOTHING = 1e-6  # research: Tables: one constant at a time. Rows over their noise: too few to be split by what was seen
LONG = 8  # research: Tables: one constant at a time. Atoms: a half as long as that may be empty


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """Prior weights of what a split may be (docs/research.md)."""

    flat: float
    empty: float  # of each half
    free: float


_COARSE, _FINE = Belief(flat=0.6, empty=0.1, free=0.2), Belief(flat=0.9, empty=0.0, free=0.1)


def denoised(counts: Floats, total: float, sigma: Sigma) -> Floats:
    """Counts of atoms in order, (atoms,), none negative, that add up to `total`: spikes stay, the rest is smooth."""
    spikes = np.zeros(len(counts), dtype=bool)
    smooth = _smooth(counts, spikes, total, sigma)
    for _ in range(PASSES):
        found = ~spikes & (counts - smooth > SIGNIFICANT * sigma(1))
        if not found.any():
            break
        spikes |= found
        smooth = _smooth(counts, spikes, max(0.0, total - float(counts[spikes].sum())), sigma)
    parts = np.where(spikes, counts, smooth)
    whole = float(parts.sum())
    return parts * (total / whole) if whole > 0.0 else np.full(len(counts), total / len(counts))


def _smooth(counts: Floats, spikes: Flags, total: float, sigma: Sigma) -> Floats:
    """Counts without their spikes, averaged over shifts of the dyadic grid: (atoms,)."""
    length = 1 << (len(counts) - 1).bit_length()
    padded, present = np.zeros(length), np.zeros(length)
    padded[: len(counts)], present[: len(counts)] = np.where(spikes, 0.0, counts), ~spikes
    stride = max(1, length // SHIFTS) | 1  # odd, so that shifts differ at every scale
    shifts = {place * stride % length for place in range(min(SHIFTS, length))}
    mean = np.zeros(length)
    for shift in shifts:
        split = _split(np.roll(padded, shift), np.roll(present, shift), np.zeros(length, dtype=bool), total, sigma)
        mean += np.roll(split, -shift) / len(shifts)
    return mean[: len(counts)]


def _split(counts: Floats, present: Floats, rough: Flags, total: float, sigma: Sigma, atoms: int = 1) -> Floats:
    """One pass up the dyadic tree and down again, for stretches of `atoms` places each.

    `present` is how many real atoms a place stands for, `rough` whether something in it is known not to be flat.
    """
    if len(counts) == 1:
        return np.array([total])
    left, right, width_left, width_right = counts[::2], counts[1::2], present[::2], present[1::2]
    width = np.maximum(width_left + width_right, 1.0)
    detail = (left * width_right - right * width_left) / width  # what the left half has above its fair part
    spread = sigma(atoms) * np.sqrt(width_left * width_right / width)
    below = rough[::2] | rough[1::2]
    significant = np.abs(detail) > SIGNIFICANT * spread
    held = _split(left + right, width_left + width_right, below | significant, total, sigma, 2 * atoms)
    over, under = held * width_right / width, held * width_left / width  # where the right, the left half is empty
    believed = (spread > 0.0) & (held > NOTHING * spread)
    prior = _COARSE if atoms >= LONG else _FINE
    moved = _expected(detail[believed], over[believed], under[believed], spread[believed], below[believed], prior)
    halves = np.empty_like(counts)
    halves[::2], halves[1::2] = under, over
    halves[::2][believed] += moved
    halves[1::2][believed] -= moved
    return halves


def _expected(detail: Floats, over: Floats, under: Floats, spread: Floats, rough: Flags, prior: Belief) -> Floats:
    """E[what the left half has above its fair part | noisy detail], between −under and over: (stretches,)."""
    detail = np.clip(detail, -under - 4.0 * spread, over + 4.0 * spread)
    low, high = (-under - detail) / spread, (over - detail) / spread
    inside = ndtr(high) - ndtr(low)
    anywhere = np.clip(detail + spread * (_density(low) - _density(high)) / inside, -under, over)
    flat = np.where(rough, 0.0, prior.flat) * _density(detail / spread) / spread
    right_empty, left_empty = (prior.empty * _density(end) / spread for end in (high, low))
    free = prior.free * inside / (over + under)
    mean: Floats = (right_empty * over - left_empty * under + free * anywhere) / (
        flat + right_empty + left_empty + free
    )
    return mean


def _density(x: Floats) -> Floats:
    density: Floats = np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)
    return density
