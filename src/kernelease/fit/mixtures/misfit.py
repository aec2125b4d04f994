"""The parts of a mixture's misfit, each with its gradient, and the steps that follow it.

Component m has a distribution q_m over the cells of all columns, and a weight w_m. Components stand side by side, a row
of memory for each cell: (C, M). Where a block has coarser cells than its columns, those are further rows of q, after
the C cells themselves: (X, M). A term accumulates

    slope (X, M)    ∂(½χ²)/∂q_m divided by w_m
    height (M,)     ∂(½χ²)/∂w_m

each multiplied by the trust in its block; χ² itself is given back without it. The model of every count is linear in w,
which is why the slope can be divided by it.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import ssymm, ssyrk
from scipy.sparse import csr_array

from kernelease.arrays import Floats, Integers
from kernelease.measured.blocks import Block, NoisyBlock, complete_each, within

# --------------------
# Adam (Kingma & Ba 2015) on arrays in single precision, in place.


Single: TypeAlias = NDArray[np.float32]  # half the memory traffic; noise is far above its precision

MEMORY = np.float32(0.9)  # research: Time of a release. Of slopes, and of their squares
LEAST = np.float32(1e-12)


def correction(step: int) -> float:
    """What makes up for averages that start at 0, at a step counted from 1: √(1 − βᵗ)/(1 − βᵗ)."""
    return float(1.0 / np.sqrt(1.0 - MEMORY**step))


@final
class Adam:
    """Steps along gradients, each coordinate scaled by its own recent size."""

    __slots__ = ("_moments", "_parameters", "_squares", "_steps")

    def __init__(self, parameters: tuple[Single, ...]) -> None:
        self._parameters = parameters
        self._moments = tuple(np.zeros_like(p) for p in parameters)
        self._squares = tuple(np.zeros_like(p) for p in parameters)
        self._steps = 0

    def update(self, gradients: tuple[Single, ...], rate: float) -> None:
        """One step downhill. The gradients' arrays are used up: they hold no gradient afterwards."""
        self._steps += 1
        for arrays in zip(self._parameters, self._moments, self._squares, gradients, strict=True):
            _step(*arrays, np.float32(rate * correction(self._steps)))


def _step(parameter: Single, moment: Single, square: Single, gradient: Single, rate: np.float32) -> None:
    """All in place: m ← βm + (1 − β)g, v ← βv + (1 − β)g², parameter ← parameter − rate·m/√v."""
    moment -= gradient
    moment *= MEMORY
    moment += gradient
    gradient *= gradient
    square -= gradient
    square *= MEMORY
    square += gradient
    np.sqrt(square, out=gradient)
    gradient += LEAST
    np.divide(moment, gradient, out=gradient)
    gradient *= rate
    parameter -= gradient


# --------------------
# The terms: all pairs at once, and single sets of columns.


class Term(ABC):
    """Some of the measured counts; `centred` where they are interactions, and probabilities go without their means."""

    __slots__ = ()

    @property
    @abstractmethod
    def centred(self) -> bool:
        """Whether probabilities less their mean over a column's cells take the place of probabilities."""

    @abstractmethod
    def add(self, q: Single, w: Single, slope: Single, height: Single) -> float:
        """χ² of this term; its gradients are added to `slope` and `height`."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Singles(Term):
    """Columns on their own: shares of all cells, (C,), or of some cells or groups of them."""

    place: slice  # where these are
    target: Single
    precision: Single
    trust: np.float32  # by which their pull is multiplied

    @property
    def centred(self) -> bool:
        """Counts."""
        return False

    def add(self, q: Single, w: Single, slope: Single, height: Single) -> float:
        """Two matrix-vector products."""
        fine = q[self.place]
        misfit = fine @ w - self.target
        pull = self.precision * misfit
        chi_squared = float(pull @ misfit)
        pull *= self.trust
        slope[self.place] += pull[:, None]
        height += pull @ fine
        return chi_squared


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs(Term):
    """Pairs of columns as the upper triangle of one matrix over their cells, (P, P): Σ w_m q_m q_mᵀ should equal it.

    With a `cell`, only the rows that are in that cell (of a third column) are meant: w_m is multiplied by its
    probability. That is how all pairs split by a target cost two matrix products a class.

    Where interactions were measured, `centre` is the mean over the cells of a column, of each cell: q_m less it takes
    the place of q_m. (A slope's part along a mean changes no distribution, and stays.)
    """

    places: tuple[slice, ...]  # of these cells among all: stretches of them, in order
    target: Single  # in Fortran's order, as BLAS wants triangles
    precision: Single  # 0 where nothing was measured, and below the diagonal
    trust: Single  # by which each pair's pull is multiplied
    cell: int | None = None
    centre: Single | None = None  # (P,)

    @property
    def centred(self) -> bool:
        """Where there is a `centre`."""
        return self.centre is not None

    @property
    def cells(self) -> Integers:
        """These cells among all: (P,)."""
        return np.concatenate([np.arange(place.start, place.stop) for place in self.places])

    def add(self, q: Single, w: Single, slope: Single, height: Single) -> float:
        """Two products of symmetric matrices, of which BLAS computes and reads one triangle."""
        inside = None if self.cell is None else q[self.cell]
        own = np.concatenate([q[place] for place in self.places])
        if self.centre is not None:
            own -= self.centre[:, None]
        scaled = own * np.sqrt(w if inside is None else w * inside)
        misfit: Single = ssyrk(1.0, scaled.T, trans=True)
        misfit -= self.target
        pull = self.precision * misfit
        chi_squared = float(np.vdot(pull.T, misfit.T))
        pull *= self.trust
        pulled: Single = ssymm(1.0, pull, own.T, side=True, c=scaled.T, overwrite_c=True).T
        half = np.einsum("cm,cm->m", pulled, own)
        half *= np.float32(0.5)  # every pair stands in both triangles
        if inside is not None and self.cell is not None:
            pulled *= inside
            slope[self.cell] += half
            half *= inside
        ends = np.cumsum([place.stop - place.start for place in self.places])
        for place, part in zip(self.places, np.split(pulled, ends[:-1]), strict=True):
            slope[place] += part
        height += half
        return chi_squared


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Set(Term):
    """One block of two to four columns. `places[i]` are its cells of column i among those of all columns.

    Probabilities less what is taken `off` those of each column take the place of probabilities.
    """

    places: tuple[slice, ...]
    target: Single  # (cells of the first columns, cells of the last)
    precision: float | Single  # of all cells, or of each
    trust: Single  # one number
    off: tuple[float, ...]

    @property
    def centred(self) -> bool:
        """Where something is taken off."""
        return any(self.off)

    def add(self, q: Single, w: Single, slope: Single, height: Single) -> float:
        """Three products of (cells of the first columns, M) and (cells of the last, M)."""
        *first, last = (q[p] - np.float32(off) if off else q[p] for p, off in zip(self.places, self.off, strict=True))
        joint = multiplied_out(first)
        misfit = joint @ (last * w).T
        misfit -= self.target
        raw = np.multiply(misfit, self.precision, dtype=np.float32)
        pull: Any = raw * self.trust
        back = pull @ last  # (cells of the first columns, M)
        onto = pull.T @ joint
        height += np.einsum("cm,cm->m", onto, last)
        slope[self.places[-1]] += onto
        for place, part in zip(self.places, _onto_each(back, first), strict=False):
            slope[place] += part
        return float(np.vdot(raw, misfit))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Image(Term):
    """A block whose numbers are no products of its columns' probabilities, but a linear function of joint ones."""

    block: Block  # which says the function, and its transpose
    places: tuple[slice, ...]
    target: Single  # in the block's shape
    precision: float
    trust: Single  # one number

    @property
    def centred(self) -> bool:
        """Probabilities are as they are."""
        return False

    def add(self, q: Single, w: Single, slope: Single, height: Single) -> float:
        """What is asked of the block's numbers is asked of the joint cells, and of each column's by the chain rule."""
        parts = [q[place] for place in self.places]
        joint = multiplied_out(parts)
        misfit = self.block.numbers_in((joint @ w).reshape(self.block.grid).astype(np.float64)) - self.target
        pull = self.block.spread(np.float32(self.precision) * self.trust * misfit).astype(np.float32).reshape(-1, 1)
        height += pull[:, 0] @ joint
        for place, part in zip(self.places, _onto_each(np.broadcast_to(pull, joint.shape), parts), strict=True):
            slope[place] += part
        return self.precision * float(np.vdot(misfit, misfit))


def multiplied_out(parts: Sequence[Single]) -> Single:
    """For each component, the products of its numbers in every cell of some columns: (a, M), (b, M), … → (a·b·…, M)."""
    joint = parts[0]
    for part in parts[1:]:
        joint = (joint[:, None] * part).reshape(-1, part.shape[1])
    return joint


def _onto_each(back: Single, parts: Sequence[Single]) -> list[Single]:
    """The transpose, for each column by itself: what is asked of joint cells, times the numbers of all others."""
    *before, last = parts
    if not before:
        return [back]
    grid, joint = back.reshape(-1, *last.shape), multiplied_out(before)
    return [
        *_onto_each(np.einsum("abm,bm->am", grid, last), before),
        np.einsum("abm,am->bm", grid, joint),
    ]


# --------------------
# Rank correlations: what counts tell beyond doubt, and a penalty on every dependence would take away a part of.
#
# The penalty draws components toward independence, and a little of each of them far from where it belongs costs next to
# nothing in any cell: a row or less, where noise is twenty. Over all cells it makes numbers with a correlation of .9
# ones of .8. The noisy counts of all cells together know better: to a hundredth.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Correlations(Term):
    """Rank correlations of K columns in an order, which the counts of the other terms imply: no new numbers, no χ².

    f_ij = cov_ij − r_ij √(var_i var_j), over components, should be 0: single columns are left to those who know them.
    Arrays are NumPy's, or CuPy's.
    """

    places: tuple[slice, ...]  # of each column: its cells
    scores: tuple[Single, ...]  # of these cells: ranks of mean 0 and variance 1; what is in no order has 0
    target: Single  # (K, K): r
    precision: Single  # (K, K), symmetric, times the trust in it; 0 where r may be chance

    @property
    def centred(self) -> bool:
        """Probabilities are as they are."""
        return False

    def add(self, q: Single, w: Single, slope: Single, height: Single) -> float:
        """The gradient of ½ Σ_i<j precision f²; it adds nothing to χ²."""
        pairs = list(zip(self.places, self.scores, strict=True))
        means = np.stack([own @ q[place] for place, own in pairs])  # (K, M)
        squares = np.stack([(own * own) @ q[place] for place, own in pairs])
        mean = means @ w
        centred, deviation = means - mean[:, None], np.sqrt(np.maximum(squares @ w - mean * mean, LEAST))
        pull = self.precision * self._off(centred, w, deviation)
        onto = pull @ centred
        narrowing = (pull * self.target) @ deviation / deviation / -2
        linear = onto - (2 * narrowing * mean)[:, None]
        for column, (place, own) in enumerate(pairs):
            here = own[:, None] * linear[column]
            here += (narrowing[column] * (own * own))[:, None]
            slope[place] += here
        height += (onto * centred).sum(axis=0) / 2 + narrowing @ squares - (2 * narrowing * mean) @ means
        return 0.0

    def _off(self, centred: Single, w: Single, deviation: Single) -> Single:
        """f: (K, K)."""
        covariance = (centred * w) @ centred.T
        return (covariance - self.target * (deviation[:, None] * deviation)).astype(np.float32)


def correlations(
    blocks: Sequence[NoisyBlock],
    rows: float,
    shares: Sequence[Floats],
    cells: Sequence[Integers],
    places: Sequence[slice],
    *,
    ordered: Sequence[int],
    sure: float,
    trust: float,
) -> Correlations | None:
    """The rank correlations that are `sure` standard deviations away from 0, each by all blocks that tell of it.

    `shares[i]` are of the cells of column i, of whose atoms so many are `ordered`.
    """
    ranks = {i: _ranks(shares[i], cells[i][:count]) for i, count in enumerate(ordered) if _rises(cells[i][:count])}
    several = [block for block in blocks if sum(column in ranks for column in block.block.columns) > 1]
    sums: dict[tuple[int, int], Floats] = {}
    for pair, told in _each_told(several, rows, shares, cells, ranks):
        sums[pair] = sums.get(pair, np.zeros(2)) + told
    found = {pair: one for pair, one in sums.items() if abs(one[0]) > sure * math.sqrt(one[1])}
    columns = sorted({column for pair in found for column in pair})
    target, precision = (np.zeros((len(columns), len(columns)), dtype=np.float32) for _ in range(2))
    for pair, (weighted, weight) in found.items():
        here = [columns.index(column) for column in pair]
        target[here, here[::-1]] = np.clip(weighted / weight, -1.0, 1.0)
        precision[here, here[::-1]] = trust * weight
    if not found:
        return None
    return Correlations(
        places=tuple(places[column] for column in columns),
        scores=tuple(ranks[column].astype(np.float32) for column in columns),
        target=target,
        precision=precision,
    )


def _each_told(
    blocks: Sequence[NoisyBlock],
    rows: float,
    shares: Sequence[Floats],
    cells: Sequence[Integers],
    ranks: Mapping[int, Floats],
) -> Iterator[tuple[tuple[int, int], Floats]]:
    """For each two columns of a block that have ranks: their correlation times its precision, and this: (2,)."""
    columns, noises = [one.block.columns for one in blocks], [one.deviation / rows for one in blocks]
    axes = [pair for one in blocks for pair in zip(one.block.columns, one.block.groups, strict=True)]
    inside = iter([within(cells[column], group) for column, group in axes])
    groups = [[next(inside) for _ in names] for names in columns]
    alone: list[list[Floats]] = [
        [np.bincount(group, shares[column]).astype(np.float64) for group, column in zip(own, names, strict=True)]
        for own, names in zip(groups, columns, strict=True)
    ]
    tables = complete_each(blocks, [[rows * own for own in each] for each in alone], rows)
    for names, own, each, table, noise in zip(columns, groups, alone, tables, noises, strict=True):
        known = [axis for axis, column in enumerate(names) if column in ranks]
        scores = {axis: _group_means(ranks[names[axis]], shares[names[axis]], own[axis]) for axis in known}
        telling = [axis for axis in known if float(each[axis] @ scores[axis] ** 2) > LEAST]  # not: known, or NULL
        for pair in itertools.combinations(telling, 2):
            first, second = sorted(names[axis] for axis in pair)
            value, precision = _rank_correlation(table / rows, each, scores, pair, noise)
            yield (first, second), np.array([precision * value, precision])


def _rises(cells: Integers) -> bool:
    """Whether cells of atoms in an order are in this order, and two or more."""
    return len(cells) > 1 and int(cells[-1]) > 0 and bool((np.diff(cells) >= 0).all())


def _ranks(shares: Floats, rising: Integers) -> Floats:
    """Of each cell the share of rows below its middle, scaled to a mean of 0 and a variance of 1; others have 0."""
    held = np.where(np.arange(len(shares)) <= int(rising[-1]), shares, 0.0)
    middle = np.cumsum(held) - held / 2.0 - held.sum() / 2.0
    scores = np.where(held > 0.0, middle, 0.0)
    ranks: Floats = scores / math.sqrt(max(float(held @ scores**2), float(LEAST)))
    return ranks


def _group_means(ranks: Floats, shares: Floats, groups: Integers) -> Floats:
    """The mean rank of each group of cells."""
    means: Floats = np.bincount(groups, shares * ranks) / np.maximum(np.bincount(groups, shares), LEAST)
    return means


def _rank_correlation(
    counts: Floats, alone: Sequence[Floats], scores: Mapping[int, Floats], axes: tuple[int, int], noise: float
) -> tuple[float, float]:
    """What a table of shares, each with such noise, says of the rank correlation of two of its axes; the precision.

    In few cells a correlation is seen as less than it is, by the variance that mean ranks have there.
    """
    others = tuple(axis for axis in range(counts.ndim) if axis not in axes)
    table = counts.sum(axis=others)
    one, other = (scores[axis] for axis in axes)
    seen = math.prod(float(alone[axis] @ scores[axis] ** 2) for axis in axes)
    variance = noise**2 * float(one @ one) * float(other @ other) * counts.size / table.size
    return float(one @ table @ other) / seen, seen**2 / variance


# --------------------
# Many small sets of columns as one term, their products stacked: fewer calls.


# limit: of time: cells of a set, and sets of a stack: larger ones fill the processor by themselves, fewer do not pay
FEW_CELLS, FEW_SETS = 64, 3


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Stack(Term):
    """S sets of counts, each with at most a joint cells of its first columns and b cells of its last.

    A set that has fewer is filled up with cells of which nothing was measured, and one that has fewer columns with the
    cell U, of probability 1.
    """

    sets: tuple[Set, ...]
    cells: Integers  # (U,) that are in any of them, among all
    members: tuple[Integers, ...]  # of each place among first columns: which of these, (S·a,)
    last: Integers  # (S·b,)
    target: Single  # (S, a, b)
    precision: Single
    onto: csr_array  # (U, S·b + S·a for each of `members`): which slopes are a cell's

    @classmethod
    def of(cls, sets: Sequence[Set], width: int) -> "Stack":
        """These sets, where there are `width` cells."""
        first, last = (max(one.target.shape[axis] for one in sets) for axis in (0, 1))
        members = np.full((max(len(one.places) for one in sets) - 1, len(sets), first), width)
        lasts = np.full((len(sets), last), width)
        target, precision = (np.zeros((len(sets), first, last), dtype=np.float32) for _ in range(2))
        for place, one in enumerate(sets):
            here = place, slice(one.target.shape[0]), slice(one.target.shape[1])
            target[here], precision[here] = one.target, one.precision
            lasts[here[0], here[2]] = np.arange(one.places[-1].start, one.places[-1].stop)
            grid = np.meshgrid(*(np.arange(p.start, p.stop) for p in one.places[:-1]), indexing="ij")
            members[: len(grid), here[0], here[1]] = [cells.ravel() for cells in grid]
        used, flat = np.unique(np.concatenate([lasts.ravel(), members.ravel(), [width]]), return_inverse=True)
        lasts, members = flat[: lasts.size], flat[lasts.size : -1].reshape(len(members), -1)
        (real,) = np.nonzero(flat < len(used) - 1)
        onto = csr_array(
            (np.ones(len(real), dtype=np.float32), (flat[real], real)), shape=(len(used) - 1, len(flat) - 1)
        )
        return cls(
            sets=tuple(sets),
            cells=used[:-1],
            members=tuple(members),
            last=lasts,
            target=target,
            precision=precision,
            onto=onto,
        )

    @property
    def centred(self) -> bool:
        """Counts."""
        return False

    def add(self, q: Single, w: Single, slope: Single, height: Single) -> float:
        """Three stacks of products; what they ask of the same cell is summed at the end."""
        (count, a, b), components = self.target.shape, len(w)
        cells = np.concatenate([q.take(self.cells, axis=0), np.ones((1, components), dtype=np.float32)])
        parts, last = [cells.take(member, axis=0) for member in self.members], cells.take(self.last, axis=0)
        joint = math.prod(parts[1:], start=parts[0])
        stacked = joint.reshape(count, a, components), last.reshape(count, b, components)
        misfit = stacked[0] @ (stacked[1] * w).transpose(0, 2, 1)
        misfit -= self.target
        pull = self.precision * misfit
        chi_squared = float(np.vdot(pull, misfit))
        pull *= np.array([one.trust for one in self.sets])[:, None, None]
        slopes = np.empty((self.onto.shape[1], components), dtype=np.float32)
        onto, back = slopes[: len(last)], slopes[len(last) : len(last) + len(joint)]
        np.matmul(pull.transpose(0, 2, 1), stacked[0], out=onto.reshape(stacked[1].shape))
        np.matmul(pull, stacked[1], out=back.reshape(stacked[0].shape))
        height += np.einsum("sm,sm->m", onto, last)
        for place in reversed(range(len(parts))):  # the first is where `back` is
            here = slopes[len(last) + place * len(joint) :][: len(joint)]
            others = [part for other, part in enumerate(parts) if other != place]
            np.multiply(back, math.prod(others[1:], start=others[0]), out=here)
        slope[self.cells] += self.onto @ slopes
        return chi_squared


def stack_sets(terms: Sequence[Term], width: int) -> list[Term]:
    """The same terms, with small sets of three columns or more, whose counts were measured, in stacks of like shape."""
    alike: dict[tuple[int, ...], list[Set]] = {}
    for one in terms:
        if isinstance(one, Set) and _is_small(one):
            alike.setdefault(tuple(length.bit_length() for length in one.target.shape), []).append(one)
    stacks = [sets for sets in alike.values() if len(sets) >= FEW_SETS]
    taken = {id(one) for sets in stacks for one in sets}
    return [*(term for term in terms if id(term) not in taken), *(Stack.of(sets, width) for sets in stacks)]


def apart(terms: Sequence[Term]) -> list[Term]:
    """Each set of a stack by itself."""
    return [part for term in terms for part in (term.sets if isinstance(term, Stack) else (term,))]


def _is_small(one: Set) -> bool:
    return not one.centred and len(one.places) > 2 and one.target.size <= FEW_CELLS
