"""Many small sets of columns as one term: their products stacked, in place of a few calls for each of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.sparse import csr_array

from kernelease.arrays import Integers
from kernelease.fit.mixtures.adam import Single
from kernelease.fit.mixtures.terms import Set, Term

# research: Time of a release. Cells of a set, and sets of a stack: larger ones fill the processor by themselves, and
# fewer do not pay
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
        cells = np.concatenate([q.take(self.cells, axis=1).T, np.ones((1, len(q)), dtype=np.float32)])
        parts, last = [cells[member] for member in self.members], cells[self.last]
        joint = math.prod(parts[1:], start=parts[0])
        (count, a, b), components = self.target.shape, len(q)
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
        slope[:, self.cells] += (self.onto @ slopes).T
        return chi_squared


def stacked(terms: Sequence[Term], width: int) -> list[Term]:
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
