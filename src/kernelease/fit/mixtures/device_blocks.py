"""All measured counts as one product of matrices on a GPU: few large operations, where `terms` has many small ones."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np

from kernelease.arrays import Integers
from kernelease.cuda.device import cupy
from kernelease.errors import ParameterError
from kernelease.fit.mixtures.adam import Single
from kernelease.fit.mixtures.objective import LAST_TRUST, Objective
from kernelease.fit.mixtures.stacks import apart
from kernelease.fit.mixtures.terms import Pairs, Set, Singles, Term
from kernelease.measured.block import MOST_COLUMNS

Array: TypeAlias = Any  # CuPy's, which has no types of its own


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """One term: each row is a joint cell of at most three, `members` (3, rows), with which last cells are counted.

    The cell of probability 1 stands for a column that is not there.
    """

    members: Integers
    target: Single  # (rows, X)
    precision: Single  # 0 where nothing was measured
    trust: Single

    @classmethod
    def of(cls, term: Term, width: int) -> "_Rows":
        if isinstance(term, Singles):
            return cls._placed(
                np.full((MOST_COLUMNS - 1, 1), width - 1), slice(0, len(term.target)), width, term, term.trust
            )
        if isinstance(term, Pairs):
            cells = len(term.target)
            members = np.full((MOST_COLUMNS - 1, cells), width - 1)
            members[0], members[1] = np.arange(cells), width - 1 if term.cell is None else term.cell
            return cls._placed(members, slice(0, cells), width, term, term.trust)
        if isinstance(term, Set):
            members = np.full((MOST_COLUMNS - 1, len(term.target)), width - 1)
            grid = np.meshgrid(*(np.arange(p.start, p.stop) for p in term.places[:-1]), indexing="ij")
            for axis, cells_of in enumerate(grid):
                members[axis] = cells_of.ravel()
            return cls._placed(members, term.places[-1], width, term, term.trust)
        raise ParameterError(f"{type(term).__name__}: this part of a fit has no program for a GPU: leave `device` out.")

    @classmethod
    def _placed(cls, members: Integers, last: slice, width: int, term: Any, trust: Any) -> "_Rows":
        shape = members.shape[1], width
        placed = [np.zeros(shape, dtype=np.float32) for _ in range(3)]
        for array, values in zip(placed, (term.target, term.precision, trust), strict=True):
            array[:, last] = values
        return cls(members=members, target=placed[0], precision=placed[1], trust=placed[2])


@final
class DeviceBlocks:
    """Some terms together: counts of joint cells (J) beside all cells (X), as the product of (M, J) and (M, X).

    Much of the product is about no block, and has precision 0. A GPU makes one large product sooner than many small.
    """

    def __init__(self, terms: Sequence[Term], width: int) -> None:
        xp, rows = cupy(), [_Rows.of(term, width) for term in terms]
        ends = np.cumsum([len(each.target) for each in rows])
        self.starts = {id(term): int(end) - len(r.target) for term, end, r in zip(terms, ends, rows, strict=True)}
        self._target, self._precision, self._trust = (
            xp.asarray(np.concatenate([getattr(each, name) for each in rows]))
            for name in ("target", "precision", "trust")
        )
        members = np.concatenate([each.members for each in rows], axis=1)
        members = members[(members < width - 1).any(axis=1) | (np.arange(len(members)) == 0)]  # others multiply by 1
        self._members = [xp.asarray(each) for each in members]
        self._folds = [xp.asarray(np.eye(width, dtype=np.float32)[each]) for each in members]
        self._squares = xp.zeros_like(self._target)

    def add(self, q: Array, w: Array, slope: Array, height: Array, chi_squared: Array) -> None:
        """Add χ² (1,) and its slopes to what is there, as `terms.Term.add` does."""
        xp = cupy()
        parts = [xp.take(q, member, axis=1) for member in self._members]
        joint = math.prod(parts[1:], start=parts[0])
        misfit = joint.T @ (q * w[:, None])
        pull = _pull()(misfit, self._target, self._precision, self._trust, misfit, self._squares)[0]
        chi_squared += self._squares.sum()
        onto, back = joint @ pull, q @ pull.T
        height += (onto * q).sum(axis=1)
        slope += onto
        for place, fold in enumerate(self._folds):
            slope += math.prod((part for other, part in enumerate(parts) if other != place), start=back) @ fold

    def sums(self, lasts: Array) -> Single:
        """χ² of each joint cell at the last step, over groups of last cells (X, groups): (J, groups)."""
        summed: Single = cupy().asnumpy(self._squares @ lasts)
        return summed

    def lean(self, rows: slice, last: slice, factor: float) -> None:
        """Trust a block more."""
        part = self._trust[rows, last]
        cupy().minimum(part * np.float32(factor), LAST_TRUST, out=part)


@functools.cache
def _pull() -> Any:
    """The pull of each number in place of its count, and what it adds to χ², in one pass over memory."""
    inputs = "float32 count, float32 target, float32 precision, float32 trust"
    code = "float away = count - target, raw = precision * away; squared = raw * away; pull = raw * trust;"
    return cupy().ElementwiseKernel(inputs, "float32 pull, float32 squared", code, "trusted_pull")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Where a block is: joint cells and last cells of one term, whose counts it has."""

    term: Term
    rows: slice  # of the term
    last: slice

    @classmethod
    def of(cls, trust: Single, objective: Objective) -> "Held":
        """By the array that holds the trust in the block: a set's own, or a part of a matrix of pairs."""
        for term in apart(objective.terms):
            if isinstance(term, Set) and term.trust is trust:
                return cls(term=term, rows=slice(0, len(term.target)), last=term.places[-1])
            if isinstance(term, Pairs) and trust.base is term.trust:
                offset = trust.__array_interface__["data"][0] - term.trust.__array_interface__["data"][0]
                column, row = divmod(offset // trust.itemsize, len(term.trust))  # in Fortran's order
                shape = trust.shape
                return cls(term=term, rows=slice(row, row + shape[0]), last=slice(column, column + shape[1]))
        raise ParameterError("A block of the fit belongs to no term.")
