"""The partial factorisation spans what it says it spans, and picks points in the order it was asked for."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from kernelease.arrays import Floats, Integers, Rows
from kernelease.features import nystrom as cholesky
from kernelease.features.nystrom import Order, partial_cholesky, pivoted_cholesky
from kernelease.kernels import Gaussian, Kernel, Kronecker, Laplace

GENERATOR = np.random.default_rng(7)
PLANE: Rows = GENERATOR.normal(size=(90, 2)) * 2.0
COLOURS: Rows = np.array([["red"], ["blue"], ["red"], ["grey"], ["blue"]], dtype=object)
BOTH_ORDERS = pytest.mark.parametrize("order", list(Order))


def _distances(kernel: Kernel, points: Rows, pivots: Integers) -> Floats:
    """Squared distance of each k(z, ·) to the span of the pivots, by least squares."""
    gram = kernel.gram(points, points)
    among, cross = gram[np.ix_(pivots, pivots)], gram[pivots]
    nearest: Floats = np.linalg.lstsq(among, cross, rcond=1e-14)[0]
    return gram.diagonal() - (cross * nearest).sum(axis=0)


@BOTH_ORDERS
@pytest.mark.parametrize("kernel", [Gaussian(lengthscale=1.0), Laplace(lengthscale=(1.0, 3.0))], ids=repr)
@pytest.mark.parametrize("tolerance", [0.3, 1e-3, 1e-6])
def test_the_factor_reproduces_the_gram_matrix_up_to_the_tolerance(
    kernel: Kernel, tolerance: float, order: Order
) -> None:
    result = partial_cholesky(kernel, PLANE, tolerance=tolerance, order=order)
    missing = kernel.gram(PLANE, PLANE) - result.factor @ result.factor.T
    assert np.linalg.eigvalsh(missing)[0] > -1e-9  # what is left is a kernel of its own
    assert missing.diagonal().max() <= tolerance + 1e-12
    assert np.allclose(result.factor[result.pivots], np.tril(result.factor[result.pivots]), atol=1e-7)


@BOTH_ORDERS
def test_residuals_are_mean_squared_distances_to_the_span(order: Order) -> None:
    kernel = Gaussian(lengthscale=1.0)
    result = partial_cholesky(kernel, PLANE, tolerance=1e-3, order=order)
    assert len(result.residuals) == result.rank + 1
    assert result.residuals[0] == 1.0
    for rank in (1, 5, result.rank):
        expected = _distances(kernel, PLANE, result.pivots[:rank]).mean()
        assert result.residuals[rank] == pytest.approx(expected, abs=1e-9)
    assert (np.diff(result.residuals) <= 0.0).all()


def test_pivoting_takes_the_farthest_point_each_time() -> None:
    kernel = Gaussian(lengthscale=1.0)
    pivots = partial_cholesky(kernel, PLANE, tolerance=1e-4).pivots
    for rank in range(1, 20):
        distances = _distances(kernel, PLANE, pivots[:rank])
        assert distances[pivots[rank]] == pytest.approx(distances.max(), abs=1e-9)


def test_pivoting_needs_no_more_points_than_the_given_order() -> None:
    kernel, tolerance = Gaussian(lengthscale=1.0), 1e-4
    ranks = {order: partial_cholesky(kernel, PLANE, tolerance=tolerance, order=order).rank for order in Order}
    assert ranks[Order.PIVOTED] <= ranks[Order.GIVEN] < len(PLANE)


def test_the_given_order_is_kept() -> None:
    pivots = partial_cholesky(Gaussian(lengthscale=1.0), PLANE, tolerance=1e-2, order=Order.GIVEN).pivots
    assert (np.diff(pivots) > 0).all()
    assert pivots[0] == 0


@BOTH_ORDERS
def test_duplicates_add_nothing(order: Order) -> None:
    result = partial_cholesky(Kronecker(values=("red", "blue")), COLOURS, tolerance=1e-9, order=order)
    assert sorted(COLOURS[result.pivots, 0]) == ["blue", "grey", "red"]
    assert result.residuals[-1] == 0.0


@BOTH_ORDERS
def test_the_largest_rank_is_a_limit(order: Order) -> None:
    for limit in (1, 3, 70, 1000):  # 70: wider than the columns made room for at first
        result = partial_cholesky(Laplace(lengthscale=1.0), PLANE, tolerance=1e-12, order=order, max_rank=limit)
        assert result.rank == min(limit, len(PLANE))
        assert result.factor.shape == (len(PLANE), result.rank)


def test_a_larger_rank_begins_like_a_smaller_one() -> None:
    kernel = Gaussian(lengthscale=1.0)
    few = partial_cholesky(kernel, PLANE, tolerance=1e-9, max_rank=10)
    many = partial_cholesky(kernel, PLANE, tolerance=1e-9)
    assert (many.pivots[:10] == few.pivots).all()
    assert (many.factor[:, :10] == few.factor).all()


@dataclass(frozen=True, kw_only=True)
class _Counting(Kernel):
    """A Gaussian kernel that counts the columns of Gram matrices that it is asked for."""

    inner: Gaussian = field(default_factory=lambda: Gaussian(lengthscale=1.0))
    columns: list[int] = field(default_factory=list)

    @property
    def bound(self) -> float:
        return 1.0

    @property
    def nonnegative(self) -> bool:
        return True

    @property
    def lipschitz(self) -> float | None:
        return None

    def evaluation_error(self, columns: int) -> float:
        return self.inner.evaluation_error(columns)

    def admit(self, rows: Rows) -> Rows:
        return self.inner.admit(rows)

    def gram(self, x: Rows, y: Rows) -> Floats:
        self.columns.append(len(y))
        return self.inner.gram(x, y)

    def diagonal(self, x: Rows) -> Floats:
        return self.inner.diagonal(x)


def test_only_the_columns_of_the_pivots_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cholesky, "_WHOLE", 0)  # of few points the whole Gram matrix is quicker
    kernel = _Counting()
    result = partial_cholesky(kernel, PLANE, tolerance=1e-2)
    assert sum(kernel.columns) == result.rank < len(PLANE)


def test_the_quick_way_and_the_frugal_way_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Gaussian(lengthscale=1.0)
    quick = partial_cholesky(kernel, PLANE, tolerance=1e-4, max_rank=40)
    monkeypatch.setattr(cholesky, "_WHOLE", 0)
    frugal = partial_cholesky(kernel, PLANE, tolerance=1e-4, max_rank=40)
    assert np.array_equal(quick.pivots, frugal.pivots)
    assert np.allclose(quick.factor, frugal.factor, atol=1e-9)
    assert np.allclose(quick.residuals, frugal.residuals, atol=1e-12)


def test_no_point_is_far_enough() -> None:
    result = partial_cholesky(Gaussian(lengthscale=1.0), PLANE, tolerance=1.0)
    assert result.rank == 0
    assert result.factor.shape == (len(PLANE), 0)


# A matrix that is at hand


def test_a_matrix_is_factorised_like_the_points_whose_gram_matrix_it_is() -> None:
    kernel = Gaussian(lengthscale=1.0)
    gram = kernel.gram(PLANE, PLANE)
    before = gram.copy()
    result = pivoted_cholesky(gram, tolerance=1e-4, limit=40)
    expected = partial_cholesky(kernel, PLANE, tolerance=1e-4, max_rank=40)
    assert np.array_equal(result.pivots, expected.pivots)
    assert np.array_equal(result.factor, expected.factor)
    assert np.array_equal(gram, before)


def test_a_matrix_that_rounding_has_made_indefinite_is_factorised_as_far_as_it_goes() -> None:
    """LAPACK's pivots have no factor then; the plain algorithm stops where no more than the tolerance is left."""
    gram = np.diag([1.0, 1e-3, 1e-9, 0.0])
    gram[1, 2] = gram[2, 1] = 2e-3
    result = pivoted_cholesky(gram, tolerance=1e-10, limit=4)
    assert result.pivots.tolist() == [0, 1]
    left = np.diagonal(gram - result.factor @ result.factor.T)
    assert left.max() <= 1e-10
    assert np.isfinite(result.factor).all()


def test_a_matrix_with_nothing_above_the_tolerance_has_no_pivot() -> None:
    for gram in (np.zeros((3, 3)), -1e-12 * np.eye(3), 1e-6 * np.eye(3)):
        result = pivoted_cholesky(gram, tolerance=1e-4, limit=3)
        assert result.rank == 0
        assert result.factor.shape == (3, 0)


@pytest.mark.parametrize("limit", [1, 2, 70, 1000])
def test_the_limit_of_a_matrix(limit: int) -> None:
    gram = Laplace(lengthscale=1.0).gram(PLANE, PLANE)
    assert pivoted_cholesky(gram, tolerance=1e-12, limit=limit).rank == min(limit, len(PLANE))
