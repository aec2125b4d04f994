"""The parts of a mixture's misfit, each with its gradient: all pairs at once, and single sets of columns.

Component m has a distribution q_m over the cells of all columns, (M, C), and a weight w_m. Where a block has coarser
cells than its columns, those are further columns of q, after the C cells themselves: (M, X). A term accumulates

    slope (M, X)    ∂(½χ²)/∂q_m divided by w_m
    height (M,)     ∂(½χ²)/∂w_m

each multiplied by the trust in its block; χ² itself is given back without it. The model of every count is linear in w,
which is why the slope can be divided by it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg.blas import ssymm, ssyrk

from kernelease.fit.mixtures.adam import Single


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
    """All columns on their own: shares of cells, (C,)."""

    target: Single
    precision: Single
    trust: np.float32  # by which their pull is multiplied

    @property
    def centred(self) -> bool:
        """Counts."""
        return False

    def add(self, q: Single, w: Single, slope: Single, height: Single) -> float:
        """Two matrix-vector products."""
        fine = q[:, : len(self.target)]
        misfit = w @ fine - self.target
        pull = self.precision * misfit
        chi_squared = float(pull @ misfit)
        pull *= self.trust
        slope[:, : len(self.target)] += pull
        height += fine @ pull
        return chi_squared


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs(Term):
    """Pairs of columns as the upper triangle of one matrix over all cells, (C, C): Σ w_m q_m q_mᵀ should equal it.

    With a `cell`, only the rows that are in that cell (of a third column) are meant: w_m is multiplied by its
    probability. That is how all pairs split by a target cost two matrix products a class.

    Where interactions were measured, `centre` is the mean over the cells of a column, of each cell: q_m less it takes
    the place of q_m. (A slope's part along a mean changes no distribution, and stays.)
    """

    target: Single  # in Fortran's order, as BLAS wants triangles
    precision: Single  # 0 where nothing was measured, and below the diagonal
    trust: Single  # by which each pair's pull is multiplied
    cell: int | None = None
    centre: Single | None = None  # (C,)

    @property
    def centred(self) -> bool:
        """Where there is a `centre`."""
        return self.centre is not None

    def add(self, q: Single, w: Single, slope: Single, height: Single) -> float:
        """Two products of symmetric matrices, of which BLAS computes and reads one triangle."""
        inside = None if self.cell is None else q[:, self.cell]
        q, slope = q[:, : len(self.target)], slope[:, : len(self.target)]
        if self.centre is not None:
            q = q - self.centre
        scaled = q * np.sqrt(w if inside is None else w * inside)[:, None]
        misfit: Single = ssyrk(1.0, scaled.T)
        misfit -= self.target
        pull = self.precision * misfit
        chi_squared = float(np.vdot(pull.T, misfit.T))
        pull *= self.trust
        pulled: Single = ssymm(1.0, pull, q.T).T
        half = np.einsum("mc,mc->m", pulled, q)
        half *= np.float32(0.5)  # every pair stands in both triangles
        if inside is not None and self.cell is not None:
            pulled *= inside[:, None]
            slope[:, self.cell] += half
            half *= inside
        slope += pulled
        height += half
        return chi_squared


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Set(Term):
    """One block of two to four columns. `places[i]` are its cells of column i among those of all columns.

    Where it is `centred`, probabilities less their mean over a column's cells take the place of probabilities.
    """

    places: tuple[slice, ...]
    target: Single  # (cells of the first columns, cells of the last)
    precision: float
    trust: Single  # one number
    centred: bool = False

    def add(self, q: Single, w: Single, slope: Single, height: Single) -> float:
        """Three products of (M, cells of the first columns) and (M, cells of the last)."""
        *first, last = (q[:, p] - np.float32(self.centred / (p.stop - p.start)) for p in self.places)
        joint = multiplied_out(first)
        misfit = joint.T @ (last * w[:, None])
        misfit -= self.target
        pull = (np.float32(self.precision) * self.trust) * misfit
        back = last @ pull.T  # (M, cells of the first columns)
        onto = joint @ pull
        height += np.einsum("mc,mc->m", onto, last)
        slope[:, self.places[-1]] += onto
        for place, part in zip(self.places, _onto_each(back, first), strict=False):
            slope[:, place] += part
        return self.precision * float(np.vdot(misfit, misfit))


def multiplied_out(parts: Sequence[Single]) -> Single:
    """Of each component, the products of its numbers in every cell of some columns: (M, a), (M, b), … → (M, a·b·…)."""
    joint = parts[0]
    for part in parts[1:]:
        joint = (joint[:, :, None] * part[:, None, :]).reshape(len(joint), -1)
    return joint


def _onto_each(back: Single, parts: Sequence[Single]) -> list[Single]:
    """The transpose, for each column by itself: what is asked of joint cells, times the numbers of all others."""
    *before, last = parts
    if not before:
        return [back]
    grid, joint = back.reshape(len(back), -1, last.shape[1]), multiplied_out(before)
    return [
        *_onto_each(np.einsum("mab,mb->ma", grid, last), before),
        np.einsum("mab,ma->mb", grid, joint),
    ]
