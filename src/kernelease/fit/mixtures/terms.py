"""The parts of a mixture's misfit, each with its gradient: all pairs at once, and single sets of columns.

Component m has a distribution q_m over the cells of all columns, (M, C), and a weight w_m. A term adds ½χ² of its own
and accumulates

    slope (M, C)    ∂(½χ²)/∂q_m divided by w_m
    height (M,)     ∂(½χ²)/∂w_m

The model of every count is linear in w, which is why the slope can be divided by it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.fit.mixtures.adam import Single


class Term(ABC):
    """Some of the measured counts."""

    @abstractmethod
    def add(self, q: Single, w: Single, slope: Single, height: Single) -> float:
        """χ² of this term; its gradients are added to `slope` and `height`."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Singles(Term):
    """All columns on their own: shares of cells, (C,)."""

    target: Single
    precision: Single

    def add(self, q: Single, w: Single, slope: Single, height: Single) -> float:
        """Two matrix-vector products."""
        misfit = w @ q - self.target
        pull = self.precision * misfit
        slope += pull
        height += q @ pull
        return float(pull @ misfit)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs(Term):
    """Pairs of columns as one symmetric matrix over all cells, (C, C): Σ w_m q_m q_mᵀ should equal it.

    With a `cell`, only the rows that are in that cell (of a third column) are meant: w_m is multiplied by its
    probability. That is how all pairs split by a target cost two matrix products a class.
    """

    target: Single
    precision: Single  # 0 where nothing was measured
    cell: int | None = None

    def add(self, q: Single, w: Single, slope: Single, height: Single) -> float:
        """Two matrix products."""
        inside = np.ones_like(w) if self.cell is None else q[:, self.cell]
        misfit = (q * (w * inside)[:, None]).T @ q
        misfit -= self.target
        pull = self.precision * misfit
        pulled = q @ pull
        half = np.float32(0.5) * np.einsum("mc,mc->m", pulled, q)  # every pair stands in both triangles
        if self.cell is not None:
            pulled *= inside[:, None]
            slope[:, self.cell] += half
            half = half * inside
        slope += pulled
        height += half
        return 0.5 * float(np.vdot(pull, misfit))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Set(Term):
    """One block of two or three columns. `places[i]` are the cells of column i, `groups[i]` those of the block."""

    places: tuple[slice, ...]
    groups: tuple[Single, ...]  # one-hot: (cells of the column, cells of the block)
    target: Single  # (cells of the first columns, cells of the last)
    precision: float

    def add(self, q: Single, w: Single, slope: Single, height: Single) -> float:
        """Three products of (M, cells of the first columns) and (M, cells of the last)."""
        *first, last = (q[:, place] @ group for place, group in zip(self.places, self.groups, strict=True))
        joint = first[0] if len(first) == 1 else (first[0][:, :, None] * first[1][:, None, :]).reshape(len(q), -1)
        misfit = (joint * w[:, None]).T @ last - self.target
        pull = np.float32(self.precision) * misfit
        back = last @ pull.T  # (M, cells of the first columns)
        height += np.einsum("mc,mc->m", joint, back)
        slopes = [back]
        if len(first) == 2:
            grid = back.reshape(len(q), first[0].shape[1], first[1].shape[1])
            slopes = [np.einsum("mab,mb->ma", grid, first[1]), np.einsum("mab,ma->mb", grid, first[0])]
        for place, group, part in zip(self.places, self.groups, [*slopes, joint @ pull], strict=True):
            slope[:, place] += part @ group.T
        return float(np.vdot(pull, misfit))
