"""More points for a subspace that has been measured: further orthonormal directions, within the diameter it paid for.

W of the larger map is lower triangular, so that its first coordinates are those of the smaller map, to the bit:

    [ W₁               0     ]        B: coordinates of the new points in the old basis,
    [ −L₂₂⁻¹·B·W₁      L₂₂⁻¹ ]        L₂₂·L₂₂ᵀ = K_PP − B·Bᵀ: what the old span leaves of their kernel.

What it costs to reveal the new coordinates later: docs/proofs/rounds.md.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.linalg import solve_triangular

from kernelease.arrays import Floats, Integers, Rows
from kernelease.errors import ParameterError
from kernelease.features.cholesky import pivoted_cholesky
from kernelease.features.nystrom import MATRIX_BITS, Nystrom

_LARGEST_ENTRY = 2.0**31  # of W, as in any Nystrom
_UNIT = 2.0**-53  # of rounding: half the distance from 1 to the next float64


def extended(basis: Nystrom, points: Rows, *, most: int, tolerance: float = 1e-4) -> Nystrom:
    """`basis` with at most `most` of the points after its own: the farthest from the span, one after the other.

    A point whose squared distance to the span is at most `tolerance` times the kernel's bound adds no coordinate. Norm
    and diameter stay what `basis` states: where its reserve does not cover all these points, half of them are taken,
    or a quarter, and so on; where it covers none, `basis` itself comes back. The points must be public: chosen in sight
    of what was released, and of nothing else.
    """
    if not (most >= 0 and 0.0 < tolerance < 1.0):
        raise ParameterError(
            f"extended: most must be at least 0 and tolerance between 0 and 1, got {most!r} and {tolerance!r}."
        )
    if points.ndim != 2 or points.shape[1] != basis.points.shape[1]:
        raise ParameterError(f"extended: points must have {basis.points.shape[1]} columns, got shape {points.shape}.")
    if len(points) == 0 or most == 0:
        return basis
    candidates = _candidates(basis, points, most, tolerance)
    return next((whole for whole in candidates if _costs_no_more(whole, basis)), basis)


def _costs_no_more(whole: Nystrom, basis: Nystrom) -> bool:
    return whole.diameter <= basis.diameter and whole.norm_bound <= basis.norm_bound


def _candidates(basis: Nystrom, points: Rows, most: int, tolerance: float) -> Iterator[Nystrom]:
    """Maps with all the pivots, with half of them, with a quarter, …: each the beginning of the first."""
    kernel, old = basis.kernel, basis.dimension
    among, cross = kernel.gram(basis.points, basis.points), kernel.gram(points, basis.points)
    own = kernel.gram(points, points)
    overlap, residual = _projected(basis.change_of_basis, among, cross, own)
    factorisation = pivoted_cholesky(residual, tolerance=tolerance * kernel.bound, limit=most)
    pivots = factorisation.pivots
    if len(pivots) == 0:
        return
    rows = _new_rows(factorisation.factor[pivots], overlap[pivots], basis.change_of_basis)
    pivots = pivots[: len(rows)]
    matrix = np.zeros((old + len(rows),) * 2, dtype=np.int64)
    matrix[:old, :old], matrix[old:] = basis.matrix, rows
    gram = np.block([[among, cross[pivots].T], [cross[pivots], own[np.ix_(pivots, pivots)]]])
    stretches = _stretches(basis, matrix, gram)
    count = len(rows)
    while count:
        size = old + count
        joined = np.concatenate([basis.points, points[pivots[:count]]])
        yield replace(basis, points=joined, matrix=matrix[:size, :size], stretch=float(stretches[count - 1]))
        count //= 2


def _projected(basis: Floats, among: Floats, cross: Floats, own: Floats) -> tuple[Floats, Floats]:
    """B (m, F) and K_PP − B·Bᵀ (m, m), by Gram–Schmidt twice over: W₁ is orthonormal only up to rounding."""
    once = cross @ basis.T
    overlap = once + (cross - once @ basis @ among) @ basis.T
    residual = own - overlap @ once.T
    return overlap, 0.5 * (residual + residual.T)


def _new_rows(factor: Floats, overlap: Floats, basis: Floats) -> Integers:
    """[−L₂₂⁻¹·B·W₁, L₂₂⁻¹] on the grid of W, as far as its entries are not too large for it: (at most k, F + k)."""
    inverse: Floats = solve_triangular(factor, np.eye(len(factor)), lower=True)
    rows = np.hstack([-(inverse @ overlap) @ basis, inverse])
    fine = np.abs(rows).max(axis=1) < _LARGEST_ENTRY
    count = len(rows) if fine.all() else int(np.argmin(fine))
    return np.rint(rows[:count, : basis.shape[1] + count] * 2.0**MATRIX_BITS).astype(np.int64)


def _stretches(basis: Nystrom, matrix: Integers, gram: Floats) -> Floats:
    """ρ of the map with 1, 2, … of the new rows, from the old map's ρ₁ and the new rows of W K Wᵀ − I alone.

    ‖W K Wᵀ‖₂ ≤ ρ₁² + ‖new rows and columns of W K Wᵀ − I‖_F; their rounding and the error of K's entries are bounded
    as for any Nystrom. What exceeds 1 in ρ₁² is scaled by F/F₁: no less than its rounding in products of F terms.
    """
    old, entry_error = basis.dimension, basis.kernel.evaluation_error(basis.points.shape[1])
    sizes = np.arange(old + 1, len(matrix) + 1)
    whole = matrix * 2.0**-MATRIX_BITS
    deviation = whole[old:] @ gram @ whole.T
    deviation[np.arange(len(sizes)), sizes - 1] -= 1.0
    absolute = np.abs(whole)
    products = absolute[old:] @ np.abs(gram) @ absolute.T
    rounding = 3.0 * sizes * _UNIT * _norms(products)
    sums = np.cumsum(absolute.sum(axis=1) ** 2)
    entries = entry_error * np.sqrt(sums[old:] ** 2 - sums[old - 1] ** 2)
    before = (max(basis.stretch, 1.0) ** 2 - 1.0) * sizes / old
    squares: Floats = (1.0 + before + _norms(deviation) + rounding + entries) * (1 + 1e-9)
    return np.sqrt(squares)


def _norms(rows: Floats) -> Floats:
    """‖·‖_F of a symmetric matrix, 0 but for its last k rows (k, n) and columns, if only 1, 2, … k of them are kept."""
    count, size = rows.shape
    below = np.tril(rows, size - count - 1)
    diagonal = np.diagonal(rows, size - count)
    squares: Floats = np.cumsum(2.0 * np.einsum("ij,ij->i", below, below) + diagonal**2)
    return np.sqrt(squares)
