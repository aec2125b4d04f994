"""Coordinates in the span of public points: orthonormal, exact, and never farther apart than they claim.

The diameter is checked on what a mechanism sees: projected integer sums of neighbouring tables, in exact arithmetic.
Each claim has a broken twin that the same check must catch.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from kernelease.arrays import BigIntegers, Floats, Rows
from kernelease.conformance import check_feature_map
from kernelease.errors import ParameterError
from kernelease.features import Nystrom
from kernelease.features.nystrom import WIDENING, Order
from kernelease.kernels import (
    Gaussian,
    Kernel,
    Kronecker,
    Laplace,
    OnColumns,
    Polynomial,
    Product,
    Similarity,
    Spectrum,
    WeightedSum,
)
from tests.features.text_rows import column


class Case(NamedTuple):
    name: str
    kernel: Kernel
    points: Rows  # public
    rows: Rows  # private, as bad as can be


GENERATOR = np.random.default_rng(11)
PLANE = GENERATOR.normal(size=(60, 2)) * 2.0
AWKWARD = np.array([[0.0, 0.0], [1e150, -1e150], [np.nan, np.inf], [9.0, 9.0], [-9.0, 9.0], [5e-324, 1.0]])
WORDS = column("Ada", "Adam", "Eve", "", "Grace", "Ada Lovelace", "aaaa")
PEOPLE = np.array(
    [[20 + 7 * i, ("f", "m", None)[i % 3], ("Ada", "Bob", "Eve", "Adam")[i % 4]] for i in range(12)], object
)
OPPOSITES = Similarity(values=("no", "yes"), matrix=((2.0, -1.5), (-1.5, 2.0)), default="no")
PERSON = Product(
    kernels=(
        OnColumns(kernel=Gaussian(lengthscale=10.0), columns=(0,)),
        WeightedSum(
            kernels=(
                OnColumns(kernel=Kronecker(values=("f", "m")), columns=(1,)),
                OnColumns(kernel=Spectrum(n=2), columns=(2,)),
            ),
            weights=(0.7, 0.3),
        ),
    )
)
CUBIC = Polynomial(degree=3, offset=0.0, half_width=2.0, dimension=2)
HEAVY = WeightedSum(kernels=(Gaussian(lengthscale=1.0),), weights=(33.0,))
NEAR_COPIES = np.concatenate([PLANE[:8], PLANE[:8] + 1e-7, PLANE[:8]])

CASES = (
    Case("gaussian", Gaussian(lengthscale=1.0), PLANE, np.concatenate([PLANE[:9], AWKWARD])),
    Case("laplace", Laplace(lengthscale=(1.0, 2.0)), PLANE, np.concatenate([PLANE[:9], AWKWARD])),
    Case("kronecker", Kronecker(values=("a", "b", "c")), column("a", "b", "z"), column("a", "b", "c", "z", None, [])),
    Case("signed similarity", OPPOSITES, column("no", "yes"), column("no", "yes", "what?")),
    Case("strings", Spectrum(n=2), WORDS, column("Ada", "Eve", None, "zzz", "\ud800", "aa", "Grace Hopper")),
    Case("composite", PERSON, PEOPLE, PEOPLE[:8]),
    Case("polynomial", CUBIC, PLANE, np.concatenate([PLANE[:9], AWKWARD])),
    Case("nearly dependent", Gaussian(lengthscale=1.0), NEAR_COPIES, np.concatenate([NEAR_COPIES[:12], AWKWARD])),
    Case("on a line", Gaussian(lengthscale=1.0), np.linspace(0, 1, 40)[:, None], np.linspace(-9, 9, 13)[:, None]),
    Case("one point", Gaussian(lengthscale=1.0), np.zeros((1, 2)), AWKWARD),
)
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
TOLERANCES = pytest.mark.parametrize("tolerance", [None, 1e-3, 1e-8, 1e-13])


def _map(case: Case, tolerance: float | None) -> Nystrom:
    return Nystrom.spanning(case.kernel, case.points, tolerance=tolerance)


Projection = Callable[[BigIntegers], BigIntegers]


def _farthest(rows: Sequence[BigIntegers], others: Sequence[BigIntegers], project: Projection, step: float) -> Fraction:
    """The largest squared distance, in feature units, between projected sums that differ in one row."""
    worst = 0
    for other in others:
        projected = [project(other + row) for row in rows]
        worst = max(worst, *(sum((a - b) ** 2) for a, b in itertools.combinations(projected, 2)))
    return Fraction(step) ** 2 * worst


def _sums(phi: Nystrom, *, rows: int) -> list[BigIntegers]:
    """Sums over the rest of a table: none, and large ones of up to `rows` rows, of either sign."""
    generator = np.random.default_rng(3)
    reach = int(phi.kernel.bound * 2**40) * rows
    draws = [[round(float(cell) * reach) for cell in generator.uniform(-1, 1, phi.width)] for _ in range(6)]
    return [np.zeros(phi.width, dtype=object), *(np.array(draw, dtype=object) for draw in draws)]


@EVERY_CASE
@TOLERANCES
def test_neighbouring_sums_are_no_farther_apart_than_the_diameter(case: Case, tolerance: float | None) -> None:
    phi = _map(case, tolerance)
    rows = list(phi.integers(case.rows).astype(object))
    farthest = _farthest(rows, _sums(phi, rows=10**9), phi.project, phi.step)
    assert farthest <= Fraction(phi.diameter) ** 2


@EVERY_CASE
@TOLERANCES
def test_one_row_moves_a_sum_by_no_more_than_the_norm(case: Case, tolerance: float | None) -> None:
    phi = _map(case, tolerance)
    rows = [np.zeros(phi.width, dtype=object), *phi.integers(case.rows).astype(object)]
    for row in rows[1:]:
        moved = _farthest([rows[0], row], _sums(phi, rows=10**9), phi.project, phi.step)
        assert moved <= Fraction(phi.norm_bound) ** 2


def test_twin_without_numerical_terms_is_caught() -> None:
    """√2 is what exact arithmetic would allow; rounding W, k and the result goes beyond it.

    Rows here and rows there, far away, have nothing in common: they are exactly that far apart, but for rounding.
    """
    apart = np.concatenate([PLANE[:30], PLANE[:30] + 1e3])
    for tolerance in (1e-8, 1e-13):
        phi = Nystrom.spanning(Gaussian(lengthscale=1.0), apart, tolerance=tolerance)
        rows = list(phi.integers(apart[[*range(9), *range(30, 39)]]).astype(object))
        farthest = _farthest(rows, _sums(phi, rows=10**9), phi.project, phi.step)
        assert farthest > 2  # the twin's claim, squared


def test_twin_with_a_float_product_is_caught() -> None:
    """A float product of the sum is rounded relative to the sum, which grows with the number of rows."""
    phi = _map(CASES[0], 1e-3)

    def project(total: BigIntegers) -> BigIntegers:
        scaled = phi.change_of_basis @ total.astype(np.float64) * 2.0**-40 / phi.step
        return np.array([math.floor(value) for value in scaled], dtype=object)

    rows = list(phi.integers(CASES[0].rows).astype(object))
    few, many = _sums(phi, rows=10), _sums(phi, rows=10**12)
    assert _farthest(rows, few, project, phi.step) <= Fraction(phi.diameter) ** 2  # no test on small tables finds it
    assert _farthest(rows, many, project, phi.step) > Fraction(phi.diameter) ** 2


def test_signed_kernel_has_twice_the_norm_as_its_diameter() -> None:
    phi = _map(CASES[3], 1e-3)
    rows = list(phi.integers(CASES[3].rows).astype(object))
    farthest = _farthest(rows, _sums(phi, rows=1000), phi.project, phi.step)
    assert 2.0 * 2.0 < farthest <= Fraction(phi.diameter) ** 2  # √2·√bound would be a broken claim


@EVERY_CASE
def test_every_kernel_conforms(case: Case) -> None:
    check_feature_map(_map(case, None), case.rows)
    check_feature_map(_map(case, 1e-5), case.rows)


# Orthonormality, and the bound on it


@EVERY_CASE
@pytest.mark.parametrize(("tolerance", "error"), [(None, 1e-2), (1e-3, 1e-4), (1e-10, 1e-2)])
def test_the_basis_is_orthonormal(case: Case, tolerance: float | None, error: float) -> None:
    """Up to W's own rounding, to 2⁻³⁰, and that of sums of F terms here and in the factor (Higham, §3.5 and §8.2)."""
    phi = _map(case, tolerance)
    gram, basis = case.kernel.gram(phi.points, phi.points), phi.change_of_basis
    seen = np.abs(gram) @ np.abs(basis).T
    rounded = 2.0**-31 * seen.sum(axis=0)  # of one side's entries, each off by half of 2⁻³⁰
    bound = rounded[:, None] + rounded + 4.0 * phi.dimension * 2.0**-53 * (np.abs(basis) @ seen)
    assert (np.abs(basis @ gram @ basis.T - np.eye(phi.dimension)) <= bound).all()
    assert bound.max() < error


def _exact(matrix: Floats) -> BigIntegers:
    return np.array([[Fraction(float(cell)) for cell in row] for row in matrix], dtype=object)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-8, 1e-13])
@pytest.mark.parametrize("index", [0, 3, 7, 8])
def test_the_stretch_bounds_the_exact_spectral_norm(index: int, tolerance: float) -> None:
    """W K Wᵀ in rationals, for the computed K and for one that is wrong by the admitted error in the worst way."""
    phi = Nystrom.spanning(CASES[index].kernel, CASES[index].points[:12], tolerance=tolerance)
    gram, basis = phi.kernel.gram(phi.points, phi.points), _exact(phi.change_of_basis)
    error = Fraction(phi.kernel.evaluation_error(phi.points.shape[1]))
    heaviest = np.linalg.svd(phi.change_of_basis)[2][0]
    signs = np.where(heaviest >= 0, 1, -1)
    for wrong in (0, error):
        product = basis @ (_exact(gram) + wrong * np.outer(signs, signs)) @ basis.T
        deviation = (product - np.eye(phi.dimension, dtype=int)).astype(np.float64)
        assert np.linalg.eigvalsh(deviation).max() <= phi.stretch**2 - 1.0


@EVERY_CASE
def test_the_bounds_are_the_sums_that_are_proved(case: Case) -> None:
    """Term by term, from W and the kernel (docs/proofs/subspace.md): no shorter than the proof asks."""
    phi = _map(case, 1e-3)
    root, norm = math.sqrt(phi.dimension), float(np.linalg.norm(phi.matrix.astype(np.float64) * 2.0**-30))
    error = case.kernel.evaluation_error(case.points.shape[1]) + 2.0**-41
    terms = 2.0 * error * root * norm + root * 2.0**-26
    assert phi.diameter >= case.kernel.diameter * phi.stretch + terms
    assert phi.norm_bound >= math.sqrt(case.kernel.bound) * phi.stretch + terms / 2.0
    assert phi.diameter_l1 >= root * phi.diameter * (1 - 1e-15)
    assert phi.norm_bound_l1 >= root * phi.norm_bound * (1 - 1e-15)


@EVERY_CASE
def test_the_default_rank_widens_the_diameter_by_less_than_a_thousandth(case: Case) -> None:
    phi = _map(case, None)
    assert case.kernel.diameter <= phi.diameter <= case.kernel.diameter * (1.0 + WIDENING)
    assert WIDENING <= 1e-3


def test_the_default_rank_is_the_largest_of_its_ladder() -> None:
    kernel, points = Gaussian(lengthscale=1.0), CASES[0].points
    phi = Nystrom.spanning(kernel, points)
    wider = [Nystrom.spanning(kernel, points, tolerance=10.0**e) for e in range(-12, 0)]
    fitting = [twin.dimension for twin in wider if twin.diameter <= kernel.diameter * (1.0 + WIDENING)]
    assert phi.dimension == max(fitting)


# Projection


@EVERY_CASE
def test_coordinates_are_those_of_the_least_squares_projection(case: Case) -> None:
    phi = _map(case, 1e-6)
    rows = case.kernel.admit(case.rows)
    among, cross = case.kernel.gram(phi.points, phi.points), case.kernel.gram(rows, phi.points)
    expected = np.linalg.solve(among, cross.T).T  # weights of the nearest function in the span
    found = np.array([phi.weights(phi.project(row) * phi.step) for row in phi.integers(case.rows).astype(object)])
    assert found.astype(np.float64) @ among == pytest.approx(expected @ among, abs=1e-4)
    coordinates = phi.evaluate(rows)
    assert (coordinates**2).sum(axis=1) == pytest.approx((expected * cross).sum(axis=1), abs=1e-6)


@EVERY_CASE
def test_weights_express_a_vector_of_coordinates(case: Case) -> None:
    phi = _map(case, None)
    coordinates = np.random.default_rng(5).normal(size=phi.dimension)
    weights = phi.weights(coordinates)
    assert weights @ phi.evaluate(phi.points) == pytest.approx(coordinates, abs=1e-6)


def test_projection_is_exact_in_integers() -> None:
    phi = _map(CASES[0], 1e-8)
    entries = [[int(cell) for cell in row] for row in phi.matrix]
    for total in (*_sums(phi, rows=1), *_sums(phi, rows=10**15)):
        expected = [
            math.floor(sum(Fraction(w, 2**30) * Fraction(t, 2**40) for w, t in zip(row, total, strict=True)) * 2**26)
            for row in entries
        ]
        assert phi.project(total).tolist() == expected
    assert phi.step == 2.0**-26


# The authors' basis


def _gram_schmidt(kernel: Kernel, points: Rows, tolerance: float) -> tuple[list[int], list[float]]:
    """Points in order, dropped where the squared residual norm is at most the tolerance; and each residual."""
    kept: list[int] = []
    basis: list[Floats] = []  # coefficients of each basis function on the points kept so far
    residuals = []
    for index in range(len(points)):
        point = points[index : index + 1]
        values = kernel.gram(points[kept], point)[:, 0] if kept else np.empty(0)
        inner = np.array([coefficients @ values[: len(coefficients)] for coefficients in basis])
        residual = kernel.gram(point, point)[0, 0] - inner @ inner
        residuals.append(residual)
        if residual <= tolerance:
            continue
        new = np.zeros(len(kept) + 1)
        new[-1] = 1.0
        for weight, coefficients in zip(inner, basis, strict=True):
            new[: len(coefficients)] -= weight * coefficients
        kept.append(index)
        basis.append(new / math.sqrt(residual))
    return kept, residuals


@pytest.mark.parametrize("index", [0, 4, 5, 7, 8])
def test_the_given_order_is_the_paper_s_gram_schmidt(index: int) -> None:
    kernel, points = CASES[index].kernel, np.concatenate([CASES[index].points, CASES[index].points[:1]])
    kept, residuals = _gram_schmidt(kernel, points, 1e-5)
    assert min(abs(residual - 1e-5) for residual in residuals) > 1e-9  # no call is close
    phi = Nystrom.spanning(kernel, points, tolerance=1e-5, order=Order.GIVEN)
    assert phi.points.tolist() == points[kept].tolist()
    assert len(kept) < len(points)  # the first point, when it comes again, among others


def test_the_lemma_takes_twice_the_norm() -> None:
    ours = Nystrom.spanning(Gaussian(lengthscale=1.0), PLANE, tolerance=1e-5)
    paper = Nystrom.spanning(Gaussian(lengthscale=1.0), PLANE, tolerance=1e-5, lemma=True)
    assert paper.diameter / ours.diameter == pytest.approx(math.sqrt(2.0), rel=1e-6)
    assert (paper.matrix == ours.matrix).all()


# Refusals


class Refusal(NamedTuple):
    message: str
    kernel: Kernel = Gaussian(lengthscale=1.0)
    points: Rows = PLANE
    tolerance: float | None = None
    order: Order = Order.PIVOTED


REFUSALS = (
    Refusal("the order as given needs a tolerance", order=Order.GIVEN),
    Refusal("tolerance must lie between 0 and the kernel's bound", tolerance=0.0),
    Refusal("tolerance must lie between 0 and the kernel's bound", tolerance=1.0),
    Refusal("tolerance must lie between 0 and the kernel's bound", tolerance=math.nan),
    Refusal("tolerance must lie between 0 and the kernel's bound", tolerance=-1e-5),
    Refusal("at least one public point", points=np.empty((0, 2))),
    Refusal("bound must be at most 32, got 33", kernel=HEAVY),
    Refusal(
        r"every public point has k\(z, z\) = 0",
        kernel=Polynomial(degree=1, offset=0.0, half_width=1.0, dimension=2),
        points=np.zeros((3, 2)),
    ),
    Refusal("too close to dependent", points=np.linspace(0, 1e-3, 200).reshape(-1, 2), tolerance=1e-25),
)


@pytest.mark.parametrize("refusal", REFUSALS, ids=[refusal.message for refusal in REFUSALS])
def test_refusals(refusal: Refusal) -> None:
    with pytest.raises(ParameterError, match=refusal.message):
        Nystrom.spanning(refusal.kernel, refusal.points, tolerance=refusal.tolerance, order=refusal.order)


def test_rows_of_another_width_are_refused() -> None:
    phi = _map(CASES[0], 1e-3)
    for function in (phi.integers, phi.evaluate):
        with pytest.raises(ParameterError, match="columns"):
            function(np.zeros((2, 3)))


def test_a_narrower_basis_is_a_prefix() -> None:
    wide = Nystrom.spanning(Gaussian(lengthscale=1.0), PLANE, tolerance=1e-6)
    narrow = Nystrom.spanning(Gaussian(lengthscale=1.0), PLANE, tolerance=1e-6, max_rank=7)
    assert narrow.dimension == 7
    assert (narrow.points == wide.points[:7]).all()
    assert (narrow.matrix == wide.matrix[:7, :7]).all()
    assert dataclasses.replace(wide).diameter == wide.diameter
