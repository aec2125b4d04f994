"""Partial Cholesky factorisation of a Gram matrix: an orthonormal basis of span{k(z₁, ·), …, k(z_M, ·)}, row by row.

The factor G (M × F) has GGᵀ ≈ K; row m holds the coordinates of k(z_m, ·) in the basis b₁ … b_F, and the diagonal of
K − GGᵀ is the squared distance of each k(z_m, ·) to the span. Only F columns of K are ever computed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, unique
from typing import final

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from kernelease.arrays import Floats, Integers, Rows
from kernelease.kernels.kernel import Kernel
from kernelease.kinds import Kind

_WHOLE = 4096  # points whose Gram matrix is computed whole: 128 MiB


@final
@unique
class Order(Kind, Enum):
    """Which point joins the basis next."""

    PIVOTED = "pivoted"
    """The one farthest from the span so far: the smallest basis for a tolerance."""

    GIVEN = "given"
    """The next in order, if it is far enough: the paper's Gram–Schmidt."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PartialCholesky:
    """Pivots p (F,), factor G (M, F), and the mean squared distance of the points to the span after 0 … F pivots."""

    pivots: Integers
    factor: Floats
    residuals: Floats

    @property
    def rank(self) -> int:
        """F: how many points span the subspace."""
        return len(self.pivots)


def partial_cholesky(
    kernel: Kernel, points: Rows, *, tolerance: float, order: Order = Order.PIVOTED, max_rank: int | None = None
) -> PartialCholesky:
    """Factorise until every point's squared distance to the span is at most `tolerance`, or `max_rank` is reached."""
    count = len(points)
    limit = count if max_rank is None else min(count, max_rank)
    if order is Order.PIVOTED and count <= _WHOLE:
        quick = _pivoted_at_once(kernel.gram(points, points), tolerance, limit)
        if quick is not None:
            return quick
    return _one_by_one(
        lambda pivot: kernel.gram(points, points[pivot : pivot + 1])[:, 0],
        kernel.diagonal(points).astype(np.float64),
        tolerance=tolerance,
        order=order,
        limit=limit,
    )


def pivoted_cholesky(gram: Floats, *, tolerance: float, limit: int) -> PartialCholesky:
    """The same of a matrix that is at hand, symmetric and positive semidefinite up to rounding: (M, M)."""
    quick = _pivoted_at_once(gram, tolerance, limit)
    if quick is not None:
        return quick
    diagonal = np.diagonal(gram).copy()
    return _one_by_one(
        lambda pivot: gram[:, pivot].copy(),
        diagonal,
        tolerance=tolerance,
        order=Order.PIVOTED,
        limit=min(limit, len(gram)),
    )


def _one_by_one(
    column_of: Callable[[int], Floats], residual: Floats, *, tolerance: float, order: Order, limit: int
) -> PartialCholesky:
    """The plain algorithm, for which a column of K is needed only when its point joins. `residual` starts as diag K."""
    factor = np.empty((len(residual), min(limit, 64)))
    pivots: list[int] = []
    means = [float(residual.mean())]
    while len(pivots) < limit:
        pivot = _next_pivot(residual, order, tolerance)
        if pivot is None:
            break
        rank = len(pivots)
        if rank == factor.shape[1]:
            factor = _widened(factor, limit)
        column = column_of(pivot)
        column -= factor[:, :rank] @ factor[pivot, :rank]
        column /= np.sqrt(residual[pivot])
        factor[:, rank] = column
        residual = np.maximum(residual - column * column, 0.0)
        residual[pivot] = 0.0
        pivots.append(pivot)
        means.append(float(residual.mean()))
    used = factor[:, : len(pivots)]
    return PartialCholesky(pivots=np.array(pivots, dtype=np.int64), factor=used, residuals=np.array(means))


def _pivoted_at_once(gram: Floats, tolerance: float, limit: int) -> PartialCholesky | None:
    """By LAPACK, which works in blocks: many times as fast, where the whole Gram matrix fits.

    LAPACK also stops where rounding has eaten what is left; None then, since that is not what was asked for. It finds
    the order of the pivots; the factor is then made anew, by the plain algorithm, whose errors are the smallest.
    """
    diagonal = np.diagonal(gram).copy()
    pivoted, order, rank, _ = dpstrf(gram, tol=tolerance, lower=1)
    if rank and pivoted[0, 0] ** 2 <= tolerance:  # LAPACK takes one pivot untested
        rank = 0
    pivots = order[:rank].astype(np.int64) - 1
    try:
        among = np.linalg.cholesky(gram[np.ix_(pivots, pivots)])
    except np.linalg.LinAlgError:
        return None
    factor = solve_triangular(among, gram[pivots], lower=True).T
    factor[pivots] = among
    left = diagonal - np.einsum("mf,mf->m", factor, factor)
    if rank < len(gram) and left.max() > tolerance:
        return None
    means = diagonal.mean() - np.append(0.0, np.cumsum((factor[:, :limit] ** 2).mean(axis=0)))
    return PartialCholesky(pivots=pivots[:limit], factor=factor[:, :limit], residuals=np.maximum(means, 0.0))


def _next_pivot(residual: Floats, order: Order, tolerance: float) -> int | None:
    pivot = int(np.argmax(residual)) if order is Order.PIVOTED else int(np.argmax(residual > tolerance))
    return pivot if residual[pivot] > tolerance else None


def _widened(factor: Floats, limit: int) -> Floats:
    """Room for twice as many columns, so that memory follows the rank that is reached."""
    wider = np.empty((len(factor), min(limit, 2 * factor.shape[1])))
    wider[:, : factor.shape[1]] = factor
    return wider
