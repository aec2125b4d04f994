"""The distribution of one column from its noisy counts, with the noise taken out as far as its shape allows."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import ndtr

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.fit.weights import Simplex
from kernelease.measured.blocks import MeanCounts, NoisyBlock, NoisyBlocks, mean_counts

# --------------------
# Denoising ordered counts: split stretches in halves, from the whole column down to single atoms.
#
# A stretch that holds T rows is split between its halves. Of the noisy difference between them four things may be
# true: the halves hold what their lengths say (flat), the left or the right one holds nothing (empty), or it is
# anything in between (free). The split is the mean of these, each weighted by its prior and by how likely it makes
# what was seen. So flat stretches are averaged, no count is negative, and a long tail that shows only noise gets next
# to nothing instead of the positive half of its noise. Single atoms that stand out, of both neighbours or of what is
# smooth, are taken for themselves: halves that hold a spike would spread it.


Flags: TypeAlias = NDArray[np.bool_]
Sigma: TypeAlias = Callable[[int], float]  # atoms of a half → noise of a sum of so many, over the root of their number

CHANCE = 2.0  # convention: standard deviations that chance explains: about 95 %
# convention: of the dyadic grid, to average its borders away; and atoms: a half as long as that may be empty. Half or
# twice as many change no table's error by more than chance (docs/research.md: Tables: constants that matter)
SHIFTS, LONG = 32, 8
# research: Tables: constants that matter. Standard deviations: what differs by more is no stretch that is flat, nor
# is any that holds it
SIGNIFICANT = 3.5
NOTHING = 1e-6  # limit: rows over their noise: what splits fewer is divided by next to nothing


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """Prior weights of what a split may be (docs/research.md)."""

    flat: float
    empty: float  # of each half
    free: float


_COARSE, _FINE = Belief(flat=0.6, empty=0.1, free=0.2), Belief(flat=0.9, empty=0.0, free=0.1)


def denoise(counts: Floats, total: float, sigma: Sigma, points: Flags | None = None) -> Floats:
    """Counts of atoms in order, (atoms,), none negative, that add up to `total`: spikes stay, the rest is smooth.

    `points` are atoms that are spikes by what is known of them.
    """
    spikes = _peaks(counts, sigma(1)) if points is None else points | _peaks(counts, sigma(1))
    smooth = _smooth(counts, spikes, max(0.0, total - float(counts[spikes].sum())), sigma)
    found = ~spikes & (counts - smooth > SIGNIFICANT * sigma(1))
    if found.any():
        spikes |= found
        smooth = _smooth(counts, spikes, max(0.0, total - float(counts[spikes].sum())), sigma)
    parts = np.where(spikes, np.maximum(counts, 0.0), smooth)
    whole = float(parts.sum())
    return parts * (total / whole) if whole > 0.0 else np.full(len(counts), total / len(counts))


def _peaks(counts: Floats, sigma: float) -> Flags:
    """Atoms that stand out of the noise of the difference to each neighbour: (atoms,)."""
    around = np.pad(counts, 1, mode="reflect")
    peaks: Flags = counts - np.maximum(around[:-2], around[2:]) > SIGNIFICANT * math.sqrt(2.0) * sigma
    return peaks


def _smooth(counts: Floats, spikes: Flags, total: float, sigma: Sigma) -> Floats:
    """Counts without their spikes, averaged over shifts of the dyadic grid: (atoms,)."""
    length = 1 << (len(counts) - 1).bit_length()
    padded, present = np.zeros(length), np.zeros(length)
    padded[: len(counts)], present[: len(counts)] = np.where(spikes, 0.0, counts), ~spikes
    stride = max(1, length // SHIFTS) | 1  # odd, so that shifts differ at every scale
    shifts = np.unique(np.arange(min(SHIFTS, length)) * stride % length)
    turned = (np.arange(length) - shifts[:, None]) % length  # each shift is a row
    split = _split_trees(padded[turned], present[turned], np.zeros(turned.shape, dtype=bool), total, sigma)
    mean: Floats = np.take_along_axis(split, (np.arange(len(counts)) + shifts[:, None]) % length, axis=1).mean(axis=0)
    return mean


def _split_trees(counts: Floats, present: Floats, rough: Flags, total: float, sigma: Sigma, atoms: int = 1) -> Floats:
    """One pass up dyadic trees, (trees, places), and down again, for stretches of `atoms` places each.

    `present` is how many real atoms a place stands for, `rough` whether something in it is known not to be flat.
    """
    if counts.shape[1] == 1:
        return np.full(counts.shape, total)
    left, right, width_left, width_right = counts[:, ::2], counts[:, 1::2], present[:, ::2], present[:, 1::2]
    width = np.maximum(width_left + width_right, 1.0)
    detail = (left * width_right - right * width_left) / width  # what the left half has above its fair part
    spread = sigma(atoms) * np.sqrt(width_left * width_right / width)
    below = rough[:, ::2] | rough[:, 1::2]
    significant = np.abs(detail) > SIGNIFICANT * spread
    held = _split_trees(left + right, width_left + width_right, below | significant, total, sigma, 2 * atoms)
    over, under = held * width_right / width, held * width_left / width  # where the right, the left half is empty
    believed = (spread > 0.0) & (held > NOTHING * spread)
    prior = _COARSE if atoms >= LONG else _FINE
    moved = np.zeros_like(detail)
    moved[believed] = _expected_detail(
        detail[believed], over[believed], under[believed], spread[believed], below[believed], prior
    )
    halves = np.empty_like(counts)
    halves[:, ::2], halves[:, 1::2] = under + moved, over - moved
    return halves


def _expected_detail(
    detail: Floats, over: Floats, under: Floats, spread: Floats, rough: Flags, prior: Belief
) -> Floats:
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


# --------------------
# The distribution of one column, ordered or not.


NEXT_TO_NOTHING = 1e-9  # limit: the same of an atom at an end of a laid number where no row was seen
LEAST = 1e-6  # limit: probability of an atom: none is impossible
# research: Tables: texture of numbers. Standard deviations from which on rows at an end are no noise: of a sum from
# outside, of two neighbours, and beyond those of the largest of many, for an atom that stands alone
SUMS, ENDS, BEYOND = 3.0, 2.5, 0.7
NEIGHBOURS = (2, 8)  # convention: that are added up: two that stand out, or several that do together
_INSIDE = 0.999  # limit: of the way to an end of a cell: no mean is at the very end
_STEEPEST = 500.0  # limit: of a tilt: by then all of a cell is in its last atom
_FINENESS = 4  # limit: lengths of a tail that are tried between one and its double
_MOST_DOUBT = 1.0 / 3.0  # derived: the variance of a place anywhere between −1 and 1
SHORTEST = 32  # research: Tables: constants that matter. Fewer ordered atoms have no shape to speak of


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
    return tuple(map(_one_way, itertools.repeat(noisy), range(len(noisy.sizes)), ordered, _counts_by_column(noisy)))


def distributions_of(noisy: NoisyBlocks) -> list[Floats]:
    """The distribution of every column, by its own counts: (atoms,) each."""
    return [one.distribution for one in one_ways(noisy)]


def _counts_by_column(noisy: NoisyBlocks) -> list[list[MeanCounts]]:
    """Of each column: its counts in cells of one kind after the other, the finest, which are its atoms, first."""
    alone: list[dict[bytes, list[NoisyBlock]]] = [{} for _ in noisy.sizes]
    single = [block for block in noisy.blocks if block.block.alone]
    for block in sorted(single, key=lambda block: -block.block.cells):
        alone[block.block.columns[0]].setdefault(block.block.groups[0].tobytes(), []).append(block)
    return [[mean_counts(alike, noisy.rows) for alike in kinds.values()] for kinds in alone]


def _one_way(noisy: NoisyBlocks, column: int, ordered: int, measured: Sequence[MeanCounts]) -> OneWay:
    if not measured or len(measured[0].counts) != noisy.sizes[column]:
        raise ParameterError(f"Column {column} was not measured atom by atom: no distribution can be made of it.")
    finest, *others = measured
    counts, variance = finest.counts, finest.variance
    per_atom = [(1, variance)]  # the variance of a sum over the number of its atoms, from so many atoms on
    for coarse in others:
        counts, (atoms, reduced) = _reconcile(counts, variance, coarse)
        per_atom.append((atoms, reduced))
    share_variance, sigma = variance / noisy.rows**2, math.sqrt(variance)
    widths = _widths(noisy, column, ordered)
    runs, faint = _runs(counts[:ordered], sigma, widths)
    numbers, special = counts[:ordered][~faint], counts[ordered:]
    spans = np.bincount(runs, widths).astype(np.float64)  # of no runs they are integers
    laid = any(one.column == column for one in noisy.laid)
    if ordered >= SHORTEST:
        special = np.maximum(special, 0.0)
        held = max(0.0, noisy.rows - float(special.sum()))
        points = _points(spans) if laid else None
        split = denoise(numbers, held, lambda atoms: math.sqrt([v for n, v in per_atom if n <= atoms][-1]), points)
        split = trim(split, numbers, sigma, spans) if laid else split
        fitted = np.concatenate([split, special]) / noisy.rows
    else:
        shares = np.concatenate([numbers, special]) / noisy.rows
        fitted = shrink(Simplex().project(shares), shares, share_variance)
        if laid and len(numbers) > 1:
            fitted[: len(numbers)] = trim(fitted[: len(numbers)], numbers, sigma, spans)
    fitted = np.concatenate([fitted[runs] * widths / spans[runs], fitted[len(spans) :]])
    positive = np.maximum(fitted, np.where((fitted == 0.0) & laid, NEXT_TO_NOTHING, LEAST))
    distribution = tilt(positive / positive.sum(), share_variance, noisy, column)
    return OneWay(shares=counts / noisy.rows, variance=share_variance, distribution=distribution)


def _widths(noisy: NoisyBlocks, column: int, ordered: int) -> Floats:
    """How many values each atom of a column has, the last one taken for a point: (ordered,). All alike if not laid."""
    first = next((one.first for one in noisy.laid if one.column == column), np.arange(ordered))
    widths: Floats = np.append(np.diff(first[:ordered]), 1)[:ordered].astype(np.float64)
    return widths


def _runs(counts: Floats, sigma: float, widths: Floats) -> tuple[Integers, Flags]:
    """The run that each atom is in, and which atoms are faint ends: these are part of the run beside them.

    An end of a range has an atom of its own, as rows that lie beyond it are put there. Few tables have such rows, and
    the positive half of noise would look like them, unless it stands out: (ordered,) → (ordered,), (ordered,).

    >>> _runs(np.array([2.0, 40.0, 30.0, 9.0]), 1.0, np.array([1.0, 8.0, 8.0, 1.0]))[0].tolist()
    [0, 0, 1, 2]
    """
    faint: Flags = np.zeros(len(counts), dtype=bool)
    for end, beside in ((0, 1), (-1, -2)) if len(counts) > 1 else ():
        faint[end] = widths[end] == 1.0 < widths[beside] and counts[end] <= SIGNIFICANT * sigma
    return np.maximum(np.cumsum(~faint) - 1, 0), faint


def _points(widths: Floats) -> Flags:
    """Which atoms of a laid column are single values between runs of several, and no part of a shape: (ordered,)."""
    single = widths == 1.0
    beside = np.concatenate([[False], single, [False]])
    points: Flags = single & ~beside[:-2] & ~beside[2:]
    return points


def trim(fitted: Floats, counts: Floats, sigma: float, widths: Floats) -> Floats:
    """Fitted counts of the atoms of a laid number, with tails in place of the rows at either end that noise explains.

    What the fit has there is the positive half of noise. As atoms widen toward the ends, it would move all means. What
    is kept begins at the first atom that stands out of the noise of all, and goes on outward as long as neighbours do;
    or where the sum of all from outside stands out, and goes on to, if that is farther out. Beyond it lies a tail
    (`_tail`). All are (atoms,), and `widths` how many values an atom has.

    >>> counts = np.array([2.0, 90.0, 19.0, 8.0, -3.0, 5.0])
    >>> trim(np.maximum(counts, 0.0), counts, 3.0, np.ones(6)).round(1).tolist()
    [4.5, 87.8, 18.5, 7.8, 4.1, 1.3]
    """
    sides = slice(None), slice(None, None, -1)
    firsts = [_first_kept(counts[side], sigma) for side in sides]
    kept, tails = np.ones(len(counts), dtype=bool), np.zeros(len(counts))
    for side, first in zip(sides, firsts, strict=True):
        kept[side][:first] = False
    for side, first in zip(sides, firsts, strict=True):
        if 0 < first < len(counts):
            beyond, ends = slice(first - 1, None, -1), slice(first, first + 2)
            density = float((fitted[side][ends] / widths[side][ends]).min())  # a spike has none
            outward = _tail(counts[side][beyond], widths[side][beyond], density, float(widths[kept].sum()), sigma)
            tails[side][beyond] = outward
    whole, held, added = (float(part.sum()) for part in (fitted, fitted[kept], tails))
    return np.where(kept, fitted, tails) * (whole / (held + added)) if held > 0.0 else fitted


def _tail(counts: Floats, widths: Floats, density: float, inside: float, sigma: float) -> Floats:
    """The expected counts of atoms beyond an end, from there outward, by a density that falls off exponentially.

    It begins as the last atoms inside. How far it reaches is not known: any length is as likely as another of its
    order, from one at which no more rows are there than noise to all that is `inside`, and each weighs what the noisy
    counts make of it.
    """
    if density <= 0.0 or sigma <= 0.0:
        return np.zeros(len(counts))
    ends = np.concatenate([[0.0], np.cumsum(widths)])
    shortest, longest = min(0.5, sigma / density), max(1.0, inside)
    lengths = np.geomspace(shortest, longest, 2 + _FINENESS * math.ceil(math.log2(longest / shortest)))
    curves = -density * lengths[:, None] * np.diff(np.exp(-ends[None, :] / lengths[:, None]), axis=1)
    evidence = (curves @ counts - 0.5 * np.square(curves).sum(axis=1)) / sigma**2
    weights = np.exp(evidence - evidence.max())
    tail: Floats = weights @ curves / weights.sum()
    return tail


def _first_kept(counts: Floats, sigma: float) -> int:
    """The first atom from outside that is kept, where some stand out of the noise of all of them; else 0.

    Sums from outside that stand out must go on to do so: of some hundreds a few do by chance, far from all rows.
    """
    found = np.flatnonzero(counts > sigma * (math.sqrt(2.0 * math.log(len(counts))) + BEYOND))
    if not found.size:
        return 0
    first = int(found[0])
    while first and any(
        float(counts[max(0, first - size) : first].sum()) > ENDS * sigma * math.sqrt(size / 2) for size in NEIGHBOURS
    ):
        first -= 1
    sums = np.cumsum(counts[:first]) > SUMS * sigma * np.sqrt(np.arange(1, first + 1))
    return first - int(np.argmin(np.append(sums[::-1], False)))


def _reconcile(counts: Floats, variance: float, coarse: MeanCounts) -> tuple[Floats, tuple[int, float]]:
    """Fine counts moved, equally within each coarse cell, to the best estimate of that cell: least squares.

    With them, how many atoms a coarse cell has at most and the variance that its sum then has, over that number.
    """
    cells = coarse.cells
    members = np.bincount(cells)
    sums = np.bincount(cells, counts)
    pull = members * variance / (members * variance + coarse.variance)
    moved: Floats = counts + ((coarse.counts - sums) * pull / np.maximum(members, 1))[cells]  # a cell may be empty
    most = int(members.max())
    return moved, (most, 1.0 / (1.0 / variance + most / coarse.variance))


def shrink(fitted: Floats, shares: Floats, variance: float) -> Floats:
    """λ·fitted + (1 − λ)·uniform with the λ of least estimated risk: 1 where noise is small, 0 where it rules.

    A projection on the simplex has its support less 1 as degrees of freedom, so that Stein's unbiased estimate of
    E‖λp + (1 − λ)u − truth‖² is ‖λp + (1 − λ)u − shares‖² + 2λ·freedom·variance + constant: a parabola in λ. As no
    distribution is farther from uniform than 1 − 1/n (squared), λ is no larger than would be right for such a one.

    >>> shares = np.array([0.7, 0.2, 0.1])
    >>> [shrink(shares, shares, variance).round(2).tolist() for variance in (1e-6, 0.02, 1.0)]
    [[0.7, 0.2, 0.1], [0.63, 0.23, 0.15], [0.33, 0.33, 0.33]]
    """
    uniform = 1.0 / len(fitted)
    away = fitted - uniform
    noise = max(1.0, np.count_nonzero(fitted) - 1.0) * variance
    length = float(away @ away)
    best = (float(away @ (shares - uniform)) - noise) / length if length > 0.0 else 0.0
    most = (1.0 - uniform) / (1.0 - uniform + noise) if noise > 0.0 else 1.0
    blend: Floats = uniform + min(most, max(0.0, best)) * away
    return blend


def tilt(distribution: Floats, variance: float, noisy: NoisyBlocks, column: int) -> Floats:
    """The distribution with the atoms of each cell moved toward the cell's own measured mean, as far as it can be seen.

    Where in its cell a row lies on average, between −1 and 1, was measured with noise. What the distribution says of it
    has a variance d² by that of its shares, so that it is moved d²/(d² + noise²) of the way, by p ∝ p·e^(θ·place): of
    all distributions with that mean the nearest in the sense of Kullback and Leibler.
    """
    result = distribution.copy()
    if any(one.column == column for one in noisy.laid):  # atoms differ in width: their places are not their order
        return result
    for moment in (one for one in noisy.offsets if one.block.columns == (column,)):
        for cell, total in enumerate(moment.values):
            atoms = np.flatnonzero(moment.block.groups[0] == cell)
            held = noisy.rows * float(distribution[atoms].sum())
            if len(atoms) > 1 and held > 0.0:
                shares = result[atoms] / result[atoms].sum()
                inside = _move_shares(
                    shares, float(total) / held, moment.sigma / held, noisy.rows**2 * variance / held**2
                )
                result[atoms] = inside * (held / noisy.rows)
    whole: Floats = result / result.sum()
    return whole


def _move_shares(shares: Floats, measured: float, error: float, variance: float) -> Floats:
    """Shares of the atoms of a cell in order, (atoms,), moved toward a mean place that was measured with an error.

    `variance` is of each share. What chance explains of the way is left alone.
    """
    count = len(shares)
    places = (2.0 * np.arange(count) + 1.0 - count) / count
    now = float(shares @ places)
    apart = measured - now
    away = math.copysign(max(0.0, abs(apart) - CHANCE * error), apart)
    doubt = min(_MOST_DOUBT, variance * float(places @ places))
    goal = now + away * doubt / (doubt + error**2)
    goal = min(_INSIDE * float(places[-1]), max(_INSIDE * float(places[0]), goal))

    def at(slope: float) -> Floats:
        raised = shares * np.exp(slope * places - abs(slope))
        tilt: Floats = raised / raised.sum()
        return tilt

    if (float(at(-_STEEPEST) @ places) - goal) * (float(at(_STEEPEST) @ places) - goal) >= 0.0:
        return shares
    return at(
        float(scipy.optimize.brentq(lambda slope: float(at(slope) @ places) - goal, -_STEEPEST, _STEEPEST, xtol=1e-6))
    )


def conditional(distribution: Floats, cells: Integers) -> Floats:
    """The distribution of each atom within its cell: (atoms,)."""
    within: Floats = distribution / np.bincount(cells, distribution)[cells]
    return within
