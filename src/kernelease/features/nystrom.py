"""Coordinates in the span of public points: the feature map of the paper's Algorithm 1, for any kernel."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, unique
from typing import ClassVar, final

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpstrf, dtrtri

from kernelease.arrays import BigIntegers, Floats, Integers, Rows, block_slices
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap
from kernelease.kernels.kernel import WIDTH, Kernel
from kernelease.kinds import Kind

# ---- Partial Cholesky factorisation of a Gram matrix: an orthonormal basis of span{k(z₁, ·), …, k(z_M, ·)}, by rows.
#
# The factor G (M × F) has GGᵀ ≈ K; row m holds the coordinates of k(z_m, ·) in the basis b₁ … b_F, and the diagonal
# of K − GGᵀ is the squared distance of each k(z_m, ·) to the span. Only F columns of K are ever computed.


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
            wider = np.empty((len(factor), min(limit, 2 * factor.shape[1])))
            wider[:, : factor.shape[1]] = factor
            factor = wider
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
    """The factorisation by LAPACK, which works in blocks: many times as fast, where the whole Gram matrix fits.

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


# ---- The feature map.


KERNEL_BITS = 40  # k(x, z) is rounded to multiples of 2⁻⁴⁰
MATRIX_BITS = 30  # the change of basis W, to multiples of 2⁻³⁰
STEP_BITS = 26  # the released coordinates, to multiples of 2⁻²⁶
WIDENING = 1e-3  # the default tolerance is the smallest that widens the diameter by less than this
LARGEST_BOUND = 32.0  # of the kernel: integers then stay below 2⁴⁶
LARGEST_RESERVE = 0.1  # of the noise: so much more of it at most
_UNIT = 2.0**-53  # of rounding: half the distance from 1 to the next float64


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Nystrom(FeatureMap):
    """φ(x) = W·(k(x, z₁), …, k(x, z_F)) with W K_ZZ Wᵀ ≈ I: projection onto span{k(z_f, ·)} in an orthonormal basis.

    Build it with `Nystrom.spanning`. Rows are summed as integers k(x, z)·2⁴⁰; the public matrix W is applied once, in
    exact integer arithmetic, to the exact sum. With ρ = ‖W K Wᵀ‖₂^½ (a computed upper bound, near 1), η the error of
    one kernel value and g the step of the result,

        diameter = diameter(kernel)·ρ + 2η√F·‖W‖ + √F·g        (docs/proofs/subspace.md).

    `lemma` takes the paper's diameter 2·sup‖k(x, ·)‖ for kernels that are never negative too (only to reproduce it).
    `reserve` states norm and diameter as at least (1 + reserve) times the kernel's own: noise that is so much larger
    pays in advance for points that join later (`extend`).
    """

    kernel: Kernel
    points: Rows  # z₁ … z_F, (F, d); public
    matrix: Integers  # W·2³⁰, lower triangular (F, F)
    stretch: float  # ρ
    lemma: bool = False
    reserve: float = 0.0
    _matrix_norm: float = field(init=False)

    step: ClassVar[float] = 2.0**-STEP_BITS
    """2⁻²⁶."""

    def __post_init__(self) -> None:
        if self.points.ndim != 2 or self.matrix.shape != (len(self.points),) * 2 or not 0.0 < self.stretch < math.inf:
            raise ParameterError("Nystrom: needs points (F, d), a matrix (F, F) and a positive, finite stretch.")
        if not 0.0 <= self.reserve <= LARGEST_RESERVE:
            raise ParameterError(f"Nystrom: reserve must be from 0 to {LARGEST_RESERVE:g}, got {self.reserve!r}.")
        object.__setattr__(self, "_matrix_norm", float(np.linalg.norm(self.change_of_basis)) * (1 + 1e-8))

    @classmethod
    def spanning(
        cls,
        kernel: Kernel,
        points: Rows,
        *,
        tolerance: float | None = None,
        order: Order = Order.PIVOTED,
        max_rank: int | None = None,
        lemma: bool = False,
        reserve: float = 0.0,
    ) -> "Nystrom":
        """Coordinates in the span of `points`, which must be public.

        A point whose squared distance to the span of the others is at most `tolerance` adds no coordinate. Without a
        tolerance, the smallest is taken that widens the diameter by less than 0.1 %.
        """
        if tolerance is None and order is Order.GIVEN:
            raise ParameterError("Nystrom: the order as given needs a tolerance (the paper's code has 1e-5).")
        factorisation = factorise(kernel, points, tolerance=tolerance, order=order, max_rank=max_rank)
        rank = factorisation.rank if tolerance is not None else well_conditioned_rank(kernel, points, factorisation)
        return cls.from_factor(kernel, points, factorisation, rank=rank, lemma=lemma, reserve=reserve)

    @classmethod
    def from_factor(
        cls,
        kernel: Kernel,
        points: Rows,
        factorisation: PartialCholesky,
        *,
        rank: int,
        lemma: bool = False,
        reserve: float = 0.0,
    ) -> "Nystrom":
        """The map for the first `rank` pivots of a factorisation."""
        pivots = factorisation.pivots[:rank]
        matrix = _quantised_inverse(factorisation.factor[pivots, :rank])
        draft = cls(kernel=kernel, points=points[pivots], matrix=matrix, stretch=1.0, lemma=lemma, reserve=reserve)
        return replace(draft, stretch=draft.least_stretch)

    def extends(self, other: "Nystrom") -> bool:
        """Whether the first coordinates of this map are those of the other, to the bit, for every row."""
        size = other.dimension
        return (
            self.kernel == other.kernel
            and size <= self.dimension
            and np.array_equal(self.points[:size], other.points)
            and np.array_equal(self.matrix[:size, :size], other.matrix)
            and not self.matrix[:size, size:].any()
        )

    def beyond(self, other: "Nystrom") -> "Nystrom":
        """The map of the points that this one adds to another that it extends: a row has the same integers for them."""
        size = other.dimension
        draft = replace(self, points=self.points[size:], matrix=self.matrix[size:, size:], stretch=1.0)
        return replace(draft, stretch=draft.least_stretch)

    def joins(self, first: FeatureMap, then: FeatureMap) -> bool:
        """Whether it extends the first, by the points of the second: a row's integers are then those of both."""
        if not (isinstance(first, Nystrom) and isinstance(then, Nystrom) and self.extends(first)):
            return False
        return self.kernel == then.kernel and np.array_equal(self.points[first.dimension :], then.points)

    @property
    def least_stretch(self) -> float:
        """ρ, computed again from kernel, points and matrix: for those who did not build this map themselves."""
        gram = self.kernel.gram(self.points, self.points)
        return math.sqrt(_spectral_bound(self.matrix, gram, self.kernel.evaluation_error(self.points.shape[1])))

    @property
    def triangular(self) -> bool:
        """Whether W is 0 above its diagonal, as it is in all maps that were made here."""
        return _lower_triangular(self.matrix)

    @property
    def dimension(self) -> int:
        """F: number of points that span the subspace."""
        return len(self.points)

    @property
    def change_of_basis(self) -> Floats:
        """W as floats (F, F): Σ βf·bf = Σ wf·k(z_f, ·) for w = Wᵀβ."""
        return self.matrix.astype(np.float64) * 2.0**-MATRIX_BITS

    @property
    def numerical_terms(self) -> float:
        """What finite precision adds to the distance between two rows: 2η√F·‖W‖ + √F·g."""
        error = self.kernel.evaluation_error(self.points.shape[1]) + 2.0 ** -(KERNEL_BITS + 1)
        return math.sqrt(self.dimension) * (2.0 * error * self._matrix_norm + self.step)

    @property
    def norm_bound(self) -> float:
        """√bound·ρ plus the numerical terms, and at least (1 + reserve)·√bound."""
        return self._bound(math.sqrt(self.kernel.bound))

    @property
    def diameter(self) -> float:
        """The kernel's diameter times ρ, plus the numerical terms, and at least (1 + reserve) times the kernel's."""
        return self._bound(2.0 * math.sqrt(self.kernel.bound) if self.lemma else self.kernel.diameter)

    def _bound(self, distance: float) -> float:
        """What a distance in the kernel's space is at most among coordinates, or what is paid for if that is more."""
        return max(distance * self.stretch + self.numerical_terms, (1.0 + self.reserve) * distance)

    @property
    def norm_bound_l1(self) -> float:
        """√F times the norm (Cauchy–Schwarz)."""
        return math.sqrt(self.dimension) * self.norm_bound

    @property
    def diameter_l1(self) -> float:
        """√F times the diameter (Cauchy–Schwarz)."""
        return math.sqrt(self.dimension) * self.diameter

    block_rows: ClassVar[int] = WIDTH
    """As many as sums over pairs take at once."""

    def integers(self, rows: Rows) -> Integers:
        """k(x, z_f) rounded to multiples of 2⁻⁴⁰: (n, d) → (n, F)."""
        values = self.kernel.gram(self.kernel.admit(rows), self.points)
        return np.rint(values * 2.0**KERNEL_BITS).astype(np.int64)

    def total(self, rows: Rows) -> Integers:
        """Sum of `integers`, as the kernel adds them up."""
        return self.kernel.total(self.kernel.admit(rows), self.points, per_unit=2.0**KERNEL_BITS)

    def project(self, total: BigIntegers) -> BigIntegers:
        """⌊W·total⌋ on the grid of `step`, in exact integers (a float product's rounding would grow with N)."""
        return self.project_after(0, total)

    def project_after(self, first: int, total: BigIntegers) -> BigIntegers:
        """What `project` gives, without the first so many coordinates."""
        rows, shift = self.matrix[first:], KERNEL_BITS + MATRIX_BITS - STEP_BITS
        products = (rows[s].astype(object) @ total for s in block_slices(len(rows), 64))
        return np.array([int(value) >> shift for block in products for value in block], dtype=object)

    def evaluate(self, points: Rows) -> Floats:
        """Coordinates of the projections of k(z, ·): (m, d) → (m, F)."""
        return in_coordinates(self.kernel.gram(points, self.points), self.change_of_basis, triangular=self.triangular)

    def weights(self, coordinates: Floats) -> Floats:
        """w with Σ w_f·k(z_f, ·) = Σ coordinates_f·b_f: the paper's line 8, exactly."""
        return self.change_of_basis.T @ coordinates


def factorise(
    kernel: Kernel,
    points: Rows,
    *,
    tolerance: float | None = None,
    order: Order = Order.PIVOTED,
    max_rank: int | None = None,
) -> PartialCholesky:
    """Partial Cholesky of the Gram matrix of public points, to `tolerance` or (None) as far as floats carry."""
    if not kernel.bound <= LARGEST_BOUND:
        raise ParameterError(
            f"Nystrom: the kernel's bound must be at most {LARGEST_BOUND:g}, got {kernel.bound!r}: rescale it."
        )
    if tolerance is not None and not 0.0 < tolerance < kernel.bound:
        raise ParameterError(f"Nystrom: tolerance must lie between 0 and the kernel's bound, got {tolerance!r}.")
    if len(points) == 0:
        raise ParameterError("Nystrom: needs at least one public point, got none.")
    least = 1e-12 * kernel.bound if tolerance is None else tolerance
    factorisation = partial_cholesky(kernel, points, tolerance=least, order=order, max_rank=max_rank)
    if factorisation.rank == 0:
        raise ParameterError("Nystrom: every public point has k(z, z) = 0; no subspace to measure.")
    return factorisation


def well_conditioned_rank(kernel: Kernel, points: Rows, factorisation: PartialCholesky) -> int:
    """The largest rank, over tolerances 1e-12, … 1e-1, at which numerical terms widen the diameter by under 0.1 %."""
    return well_conditioned(kernel, points, factorisation).dimension


def well_conditioned(kernel: Kernel, points: Rows, factorisation: PartialCholesky) -> Nystrom:
    """The map of that rank."""
    pivots = factorisation.pivots
    residuals = factorisation.factor[pivots, np.arange(len(pivots))] ** 2  # of each pivot when it was chosen
    for exponent in range(-12, 0):
        rank = max(1, int(np.searchsorted(-residuals, -kernel.bound * 10.0**exponent, side="right")))
        if rank * _UNIT * float(np.sum(1.0 / residuals[:rank])) > WIDENING:  # too ill-conditioned even to try
            continue
        candidate = Nystrom.from_factor(kernel, points, factorisation, rank=rank)
        if candidate.diameter <= kernel.diameter * (1.0 + WIDENING):
            return candidate
    return Nystrom.from_factor(kernel, points, factorisation, rank=1)


def _quantised_inverse(factor: Floats) -> Integers:
    """L⁻¹ on the grid of 2⁻³⁰. Whatever is lost here is found again by `_spectral_bound`."""
    regular = bool(np.diagonal(factor).min() > 2.0**-31)
    inverse = _inverse(factor) if regular else np.empty(0)
    if not regular or np.abs(inverse).max() >= 2.0**31:
        raise ParameterError("Nystrom: the public points are too close to dependent; raise the tolerance.")
    return np.rint(inverse * 2.0**MATRIX_BITS).astype(
        np.int64, order="C"
    )  # as a bundle gives it back: layout rounds, too


def _inverse(factor: Floats) -> Floats:
    """L⁻¹ of a lower triangle, in a third of the operations that solving for each column takes."""
    inverse: Floats = np.tril(dtrtri(factor.T, lower=0)[0].T)  # what was above the diagonal stays there
    return inverse


def _spectral_bound(matrix: Integers, gram: Floats, entry_error: float) -> float:
    """An upper bound on ‖W K Wᵀ‖₂, with the rounding of this very computation and the error of K's entries included.

    Products of F terms in floats are off by at most F·2⁻⁵³ times the product of absolute values (Higham, §3.5).
    """
    size = len(matrix)
    # Exact where |W| < 2²³; its rounding beyond is inside the factor 3 below.
    basis = matrix.astype(np.float64) * 2.0**-MATRIX_BITS
    deviation = float(np.linalg.norm(_sandwich(basis, gram) - np.eye(size)))
    absolute = np.abs(basis)
    rounding = 3.0 * size * _UNIT * float(np.linalg.norm(_sandwich(absolute, np.abs(gram))))
    entries = entry_error * float(np.sum(absolute.sum(axis=1) ** 2))  # |W|·(error everywhere)·|W|ᵀ has rank one
    return (1.0 + deviation + rounding + entries) * (1 + 1e-9)


def _sandwich(basis: Floats, gram: Floats) -> Floats:
    """W K Wᵀ. Products are sums of at most F terms."""
    triangular = _lower_triangular(basis)
    half = in_coordinates(gram, basis, triangular=triangular)  # K Wᵀ, and K is symmetric
    return in_coordinates(half.T, basis, triangular=triangular)


def _lower_triangular(matrix: Floats | Integers) -> bool:
    return not any(row[index + 1 :].any() for index, row in enumerate(matrix))


def in_coordinates(values: Floats, basis: Floats, *, triangular: bool) -> Floats:
    """values·Wᵀ; of a W that is 0 above its diagonal, with half the operations: (m, F), (F, F) → (m, F)."""
    if not triangular:
        return np.asarray(values @ basis.T, dtype=np.float64)
    turned: Floats = dtrmm(1.0, basis.T, values.T, side=0, lower=0, trans_a=1)  # as Fortran has it: W is not copied
    return turned.T


# ---- More points for a subspace that has been measured: further directions, within the diameter it paid for.
#
# W of the larger map is lower triangular, so that its first coordinates are those of the smaller map, to the bit:
#
#     [ W₁               0     ]        B: coordinates of the new points in the old basis,
#     [ −L₂₂⁻¹·B·W₁      L₂₂⁻¹ ]        L₂₂·L₂₂ᵀ = K_PP − B·Bᵀ: what the old span leaves of their kernel.
#
# What it costs to reveal the new coordinates later: docs/proofs/rounds.md.


_LARGEST_ENTRY = 2.0**31  # of W, as in any Nystrom


def extend(basis: Nystrom, points: Rows, *, most: int, tolerance: float = 1e-4) -> Nystrom:
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
    overlap, residual = _project(basis, among, cross, own)
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


def _project(basis: Nystrom, among: Floats, cross: Floats, own: Floats) -> tuple[Floats, Floats]:
    """B (m, F) and K_PP − B·Bᵀ (m, m), by Gram–Schmidt twice over: W₁ is orthonormal only up to rounding."""
    matrix, triangular = basis.change_of_basis, basis.triangular
    once = in_coordinates(cross, matrix, triangular=triangular)
    overlap = once + in_coordinates(cross - once @ matrix @ among, matrix, triangular=triangular)
    residual = own - overlap @ once.T
    return overlap, 0.5 * (residual + residual.T)


def _new_rows(factor: Floats, overlap: Floats, basis: Floats) -> Integers:
    """[−L₂₂⁻¹·B·W₁, L₂₂⁻¹] on the grid of W, as far as its entries are not too large for it: (at most k, F + k)."""
    inverse = _inverse(factor)
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
    whole, triangular = matrix.astype(np.float64) * 2.0**-MATRIX_BITS, _lower_triangular(matrix)
    deviation = in_coordinates(whole[old:] @ gram, whole, triangular=triangular)
    deviation[np.arange(len(sizes)), sizes - 1] -= 1.0
    absolute = np.abs(whole)
    products = in_coordinates(absolute[old:] @ np.abs(gram), absolute, triangular=triangular)
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
