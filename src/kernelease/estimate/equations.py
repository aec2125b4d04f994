"""The equations of the best linear estimate: what all views tell of some cells, solved for any question."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, final

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array

from kernelease.arrays import Floats
from kernelease.errors import CapacityError
from kernelease.measured.views import Precision

SMALL = 256  # cells whose matrix is factored as it is, in no time
LARGEST = 2048  # unknowns that are factored, in about a second; beyond, each function is iterated
ACCURACY = 1e-9  # what a solution may leave over, relative to the function
EXACT = 1e-12  # what it leaves over where nothing is gained by solving for the rest as well
REFINED = 3  # times that what is left over is solved for


class Equations(ABC):
    """M λ = h for any number of functions h of the cells, M = Σ_t G_tᵀ P_t G_t with sums G_t of weights P_t.

    Most sums are of many cells, and few; those of single cells have a diagonal D of their own: M = D + GᵀPG.
    """

    def __init__(self, diagonal: Floats, sums: Any, weights: Floats) -> None:
        self.diagonal = diagonal  # D: (cells,)
        self.sums = sums  # G: (sums, cells), sparse
        self.spread = sums.T.tocsr()  # Gᵀ, by rows
        self.weights = weights  # P: (sums,)

    @property
    def matrix(self) -> Floats:
        """M: (cells, cells)."""
        matrix: Floats = (self.spread @ self.sums.multiply(self.weights[:, None])).toarray()
        matrix[np.diag_indices_from(matrix)] += self.diagonal
        return matrix

    def product(self, functions: Floats) -> Floats:
        """M of functions: (cells, k) → (cells, k)."""
        told = self.weights[:, None] * (self.sums @ functions)
        result: Floats = self.diagonal[:, None] * functions + self.spread @ told
        return result

    @abstractmethod
    def solve(self, functions: Floats) -> Floats:
        """M⁻¹ of functions: (cells, k) → (cells, k)."""


@final
class WholeEquations(Equations):
    """By the Cholesky factor of M: where cells are no more than sums of them."""

    @cached_property
    def _factor(self) -> tuple[Floats, bool]:
        try:
            factor: tuple[Floats, bool] = cho_factor(self.matrix)
        except np.linalg.LinAlgError:
            raise _undetermined() from None
        return factor

    def solve(self, functions: Floats) -> Floats:
        solved: Floats = cho_solve(self._factor, functions, check_finite=False)
        return solved


@final
class CorrectedEquations(Equations):
    """By what the sums add to the cells' own counts: M⁻¹ = D⁻¹ − D⁻¹GᵀKGD⁻¹ with K = P(1 + GD⁻¹GᵀP)⁻¹ (Woodbury).

    A pair of columns of m and n values has mn cells, and often m + n sums: K is that much smaller than M. It is there
    for weights of 0 and below, too.
    """

    @cached_property
    def _core(self) -> Floats:
        """K: (sums, sums)."""
        overlaps = (self.sums.multiply(1.0 / self.diagonal) @ self.spread).toarray()  # GD⁻¹Gᵀ
        try:
            core: Floats = self.weights[:, None] * np.linalg.inv(np.eye(len(overlaps)) + overlaps * self.weights)
        except np.linalg.LinAlgError:
            raise _undetermined() from None
        return core

    def solve(self, functions: Floats) -> Floats:
        solved, left = np.zeros_like(functions), functions
        for _ in range(REFINED):
            solved = solved + self._approximate(left)
            left = functions - self.product(solved)
            if _small(left, functions, EXACT):
                return solved
        if _small(left, functions, ACCURACY):
            return solved
        return IteratedEquations(self.diagonal, self.sums, self.weights).solve(functions)

    def _approximate(self, functions: Floats) -> Floats:
        own = functions / self.diagonal[:, None]
        solved: Floats = own - (self.spread @ (self._core @ (self.sums @ own))) / self.diagonal[:, None]
        return solved


@final
class IteratedEquations(Equations):
    """By conjugate gradients: where both cells and sums are very many. M has few distinct eigenvalues."""

    def solve(self, functions: Floats) -> Floats:
        iterative, size = import_module("scipy.sparse.linalg"), len(self.diagonal)  # loaded where it is needed
        shares = self.diagonal + self.spread @ self.weights
        every = iterative.LinearOperator(
            (size, size), matvec=lambda x: self.product(x.reshape(-1, 1)).ravel(), dtype=np.float64
        )
        scaling = iterative.LinearOperator((size, size), matvec=lambda x: x.ravel() / shares, dtype=np.float64)
        found = [iterative.cg(every, one, M=scaling, rtol=ACCURACY, atol=0.0, maxiter=2000) for one in functions.T]
        if any(code != 0 for _, code in found):
            raise CapacityError("The noisy counts could not be combined: the equations for it did not converge.")
        return np.stack([one for one, _ in found], axis=1)


def equations(size: int, terms: Sequence[Precision]) -> Equations:
    """The equations of so many cells, by all that was told of them."""
    diagonal, sums = np.zeros(size), dict[bytes, Precision]()
    for term in terms:
        if len(term.weights) == size and np.array_equal(np.bincount(term.index, minlength=size), np.ones(size)):
            diagonal = diagonal + term.weights[term.index]
        else:
            key = term.index.tobytes()
            weights = term.weights + (sums[key].weights if key in sums else 0.0)
            sums[key] = Precision(index=term.index, weights=weights)
    kinds = list(sums.values())
    weights = np.concatenate([np.zeros(0), *(kind.weights for kind in kinds)])
    return _cheapest(diagonal, len(weights))(diagonal, _summing(size, kinds), weights)


def _cheapest(diagonal: Floats, sums: int) -> type[Equations]:
    """The way to solve equations of so many sums that takes the least work: the smaller matrix is factored."""
    corrected = SMALL < len(diagonal) > sums and bool(np.all(diagonal > 0.0))
    if (sums if corrected else len(diagonal)) > LARGEST:
        return IteratedEquations
    return CorrectedEquations if corrected else WholeEquations


def _summing(size: int, kinds: Sequence[Precision]) -> Any:
    """G of several kinds of sums, one below the other: sparse, (sums, cells)."""
    starts = np.cumsum([0, *(len(kind.weights) for kind in kinds)])
    rows = [kind.index + start for kind, start in zip(kinds, starts[:-1], strict=True)]
    places = np.concatenate([np.zeros(0, dtype=np.int64), *rows]), np.tile(np.arange(size), len(kinds))
    return csr_array((np.ones(len(places[0])), places), shape=(int(starts[-1]), size))


def _small(left: Floats, functions: Floats, share: float) -> bool:
    return bool(np.all(np.linalg.norm(left, axis=0) <= share * np.linalg.norm(functions, axis=0)))


def _undetermined() -> CapacityError:
    return CapacityError("The noisy counts could not be combined: they leave some cells unknown.")
