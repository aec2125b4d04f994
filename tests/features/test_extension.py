"""A subspace with more points: the old coordinates to the bit, new ones orthogonal to them, and the price unchanged.

Distances are checked on what a mechanism sees in two rounds: the old map's integers, then the new ones of the larger
map, for neighbouring sums, in exact arithmetic. Each claim has a broken twin that the same check must catch.
"""

import dataclasses
import itertools
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.arrays import BigIntegers, Floats, Integers, Rows
from kernelease.conformance import check_feature_map
from kernelease.errors import ParameterError
from kernelease.features import Nystrom
from kernelease.features.nystrom import extend
from kernelease.kernels import Gaussian, Kernel, Kronecker, Laplace, Polynomial, Similarity, Spectrum
from kernelease.privacy import Neighbours
from kernelease.privacy.sensitivity import count_increment, sum_sensitivity
from tests.features.text_rows import column

RESERVE = 0.01
SLACK = 1 + 1e-9  # what `verify` forgives


class Case(NamedTuple):
    name: str
    kernel: Kernel
    first: Rows
    more: Rows
    rows: Rows  # private, as bad as can be
    tolerance: float | None = None  # of the first map


GENERATOR = np.random.default_rng(17)
PLANE = GENERATOR.normal(size=(70, 2)) * 2.0
AWKWARD = np.array([[0.0, 0.0], [1e150, -1e150], [np.nan, np.inf], [9.0, 9.0], [-9.0, 9.0], [5e-324, 1.0]])
FEW = np.concatenate([PLANE[:4], PLANE[40:44], AWKWARD])
WORDS = column("Ada", "Adam", "Eve", "", "Grace", "Ada Lovelace", "aaaa")
OPPOSITES = Similarity(values=("no", "yes"), matrix=((2.0, -1.5), (-1.5, 2.0)), default="no")
CUBIC = Polynomial(degree=3, offset=0.0, half_width=2.0, dimension=2)
GAUSSIAN = Gaussian(lengthscale=1.0)

CASES = (
    Case("gaussian", GAUSSIAN, PLANE[:40], PLANE[40:], FEW),
    Case("coarse first", GAUSSIAN, PLANE[:40], PLANE[40:], FEW, 0.2),
    Case("laplace", Laplace(lengthscale=(1.0, 2.0)), PLANE[:40], PLANE[40:], FEW),
    Case("polynomial", CUBIC, PLANE[:3], PLANE[3:], FEW),
    Case("signed similarity", OPPOSITES, column("no"), column("no", "yes"), column("no", "yes", "what?"), 1e-3),
    Case("categories", Kronecker(values=("a", "b")), column("a"), column("b", "z", "a"), column("a", "b", "z", None)),
    Case("strings", Spectrum(n=2), WORDS[:3], WORDS[2:], column("Ada", "Eve", None, "zzz", "aa", "Grace Hopper")),
    Case(
        "nearly dependent",
        GAUSSIAN,
        PLANE[:9],
        np.concatenate([PLANE[:9] + 1e-6, PLANE[9:20], PLANE[9:20] + 1e-7]),
        FEW,
    ),
    Case("on a line", GAUSSIAN, np.linspace(0, 1, 40)[:, None], np.linspace(-1, 2, 50)[:, None], AWKWARD[:, :1]),
)
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def _maps(case: Case, *, tolerance: float = 1e-4) -> tuple[Nystrom, Nystrom]:
    basis = Nystrom.spanning(case.kernel, case.first, tolerance=case.tolerance, reserve=RESERVE)
    return basis, extend(basis, case.more, most=len(case.more), tolerance=tolerance)


# What it is


@EVERY_CASE
def test_the_old_map_is_the_beginning_to_the_bit(case: Case) -> None:
    basis, whole = _maps(case)
    size = basis.dimension
    assert whole.dimension > size
    assert whole.points[:size].tolist() == basis.points.tolist()
    assert whole.matrix[:size, :size].tobytes() == basis.matrix.tobytes()
    assert (whole.matrix == np.tril(whole.matrix)).all()
    assert (whole.kernel, whole.lemma, whole.reserve) == (basis.kernel, basis.lemma, basis.reserve)
    assert whole.extends(basis)
    assert basis.extends(basis)
    assert not basis.extends(whole)


@EVERY_CASE
def test_the_first_coordinates_of_every_sum_are_the_old_ones(case: Case) -> None:
    basis, whole = _maps(case)
    for count in range(1, len(case.rows) + 1):
        old, new = (phi.project(phi.integers(case.rows[:count]).sum(axis=0).astype(object)) for phi in (basis, whole))
        assert new[: basis.dimension].tolist() == old.tolist()
        rest = whole.project_after(basis.dimension, whole.integers(case.rows[:count]).sum(axis=0).astype(object))
        assert rest.tolist() == new[basis.dimension :].tolist()


@EVERY_CASE
def test_the_whole_basis_is_orthonormal(case: Case) -> None:
    _, whole = _maps(case)
    gram, basis = case.kernel.gram(whole.points, whole.points), whole.change_of_basis
    assert basis @ gram @ basis.T == pytest.approx(np.eye(whole.dimension), abs=1e-5)


def test_new_directions_are_orthogonal_beyond_the_errors_of_the_old_basis() -> None:
    """One pass of Gram–Schmidt would leave 1.5e-7: what rounding W₁ does to B, times large entries of L₂₂⁻¹."""
    generator = np.random.default_rng(0)
    basis = Nystrom.spanning(GAUSSIAN, generator.normal(size=(120, 2)), tolerance=1e-6, reserve=RESERVE)
    whole = extend(basis, generator.normal(size=(60, 2)) * 1.5, most=60)
    change = whole.change_of_basis
    products = change @ GAUSSIAN.gram(whole.points, whole.points) @ change.T
    assert whole.dimension > basis.dimension + 10
    assert np.abs(products[basis.dimension :, : basis.dimension]).max() < 2e-8


@EVERY_CASE
def test_every_extension_conforms(case: Case) -> None:
    check_feature_map(_maps(case)[1], case.rows)


def _farthest_first(basis: Nystrom, points: Rows, most: int, tolerance: float) -> tuple[list[list[object]], float]:
    """The points that join, one after the other, by least squares; and what is left of the farthest."""
    chosen = basis.points
    for _ in range(most + 1):
        among, cross = basis.kernel.gram(chosen, chosen), basis.kernel.gram(chosen, points)
        nearest = np.linalg.lstsq(among, cross, rcond=1e-14)[0]
        left = basis.kernel.diagonal(points) - (cross * nearest).sum(axis=0)
        if left.max() <= tolerance * basis.kernel.bound or len(chosen) == basis.dimension + most:
            return chosen[basis.dimension :].tolist(), float(left.max())
        chosen = np.concatenate([chosen, points[np.argmax(left)][None]])
    raise AssertionError


@EVERY_CASE
@pytest.mark.parametrize(("most", "tolerance"), [(3, 1e-4), (100, 1e-4), (100, 0.1)])
def test_the_farthest_points_join_until_nothing_is_left(case: Case, most: int, tolerance: float) -> None:
    basis, _ = _maps(case)
    expected, left = _farthest_first(basis, case.more, most, tolerance)
    whole = extend(basis, case.more, most=most, tolerance=tolerance)
    assert whole.points[basis.dimension :].tolist() == expected
    assert len(expected) == most or left <= tolerance * case.kernel.bound


# What it costs


@EVERY_CASE
def test_norm_diameter_and_sensitivity_are_those_of_the_old_map(case: Case) -> None:
    basis, whole = _maps(case)
    assert whole.norm_bound == basis.norm_bound == (1 + RESERVE) * math.sqrt(case.kernel.bound)
    assert whole.diameter == basis.diameter == (1 + RESERVE) * case.kernel.diameter
    assert count_increment(whole) == count_increment(basis)
    for neighbours in Neighbours:
        assert sum_sensitivity(whole, neighbours).l2 == sum_sensitivity(basis, neighbours).l2


def _exact(matrix: Floats) -> BigIntegers:
    return np.array([[Fraction(float(cell)) for cell in row] for row in matrix], dtype=object)


@pytest.mark.parametrize("index", [0, 1, 4, 7, 8])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-8, 1e-12])
def test_the_stretch_bounds_the_exact_spectral_norm(index: int, tolerance: float) -> None:
    """W K Wᵀ in rationals, for the computed K and for one that is wrong by the admitted error in the worst way."""
    case = CASES[index]
    basis = Nystrom.spanning(case.kernel, case.first[:8], tolerance=1e-6, reserve=0.1)
    whole = extend(basis, case.more[:10], most=10, tolerance=tolerance)
    gram, change = whole.kernel.gram(whole.points, whole.points), _exact(whole.change_of_basis)
    error = Fraction(whole.kernel.evaluation_error(whole.points.shape[1]))
    signs = np.where(np.linalg.svd(whole.change_of_basis)[2][0] >= 0, 1, -1)
    for wrong in (0, error):
        product = change @ (_exact(gram) + wrong * np.outer(signs, signs)) @ change.T
        deviation = (product - np.eye(whole.dimension, dtype=int)).astype(np.float64)
        assert np.linalg.eigvalsh(deviation).max() <= whole.stretch**2 - 1.0


@EVERY_CASE
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-9])
@pytest.mark.parametrize("most", [1, 5, 100])
def test_the_stretch_is_no_smaller_than_what_is_computed_from_the_whole(
    case: Case, tolerance: float, most: int
) -> None:
    """Or else `verify` would call it understated."""
    basis, _ = _maps(case)
    whole = extend(basis, case.more, most=most, tolerance=tolerance)
    assert whole.least_stretch <= whole.stretch * SLACK
    assert whole.stretch - 1.0 <= 10.0 * (whole.least_stretch - 1.0) + 1e-9  # and not much larger


def test_the_stretch_covers_the_rounding_of_larger_products() -> None:
    """An ill-conditioned basis, and so many distant points that its own rounding counts many times over."""
    basis = Nystrom.spanning(GAUSSIAN, CASES[8].first, tolerance=1e-9, reserve=RESERVE)
    whole = extend(basis, 50.0 + 20.0 * np.arange(1, 120)[:, None], most=200)
    assert whole.dimension == basis.dimension + 119
    assert whole.least_stretch - 1.0 > 5.0 * (basis.stretch - 1.0)
    assert whole.least_stretch <= whole.stretch * SLACK


def _moved(old: Nystrom, new: Nystrom, other: BigIntegers, one: Integers, two: Integers) -> Fraction:
    """How far two rounds move, squared and in feature units, when a row of a table is another: `other` is the rest."""
    first = old.dimension
    rounds = [
        np.concatenate([old.project(total[:first]), new.project_after(first, total)])
        for total in (other + row.astype(object) for row in (one, two))
    ]
    return Fraction(new.step) ** 2 * int(((rounds[0] - rounds[1]) ** 2).sum())


def _rest(phi: Nystrom, seed: int, rows: int) -> BigIntegers:
    draws = np.random.default_rng(seed).uniform(-1, 1, phi.width)
    return np.array([round(float(cell) * phi.kernel.bound * 2**40 * rows) for cell in draws], dtype=object)


@pytest.mark.slow
@EVERY_CASE
@pytest.mark.parametrize("tolerance", [1e-4, 1e-10])
def test_two_rounds_together_move_by_no_more_than_the_diameter(case: Case, tolerance: float) -> None:
    basis, whole = _maps(case, tolerance=tolerance)
    rows, nobody = whole.integers(case.rows), np.zeros(whole.width, dtype=np.int64)
    own = whole.kernel.diameter * whole.stretch + whole.numerical_terms  # without the reserve
    for seed, size in ((0, 0), (1, 10), (2, 10**9)):
        other = _rest(whole, seed, size)
        for one, two in itertools.combinations(rows, 2):
            assert _moved(basis, whole, other, one, two) <= Fraction(own) ** 2 <= Fraction(whole.diameter) ** 2
        for row in rows:
            assert _moved(basis, whole, other, row, nobody) <= Fraction(whole.norm_bound) ** 2


cells = st.floats(-6.0, 6.0)
places = st.tuples(cells, cells)


@given(
    first=st.lists(places, min_size=1, max_size=6),
    more=st.lists(places, min_size=1, max_size=6),
    pair=st.tuples(places, places),
    close=st.floats(0.0, 1e-3),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=60)
def test_whatever_the_points_are_neighbours_stay_within_the_diameter(
    first: list[tuple[float, float]],
    more: list[tuple[float, float]],
    pair: tuple[tuple[float, float], tuple[float, float]],
    close: float,
    seed: int,
) -> None:
    """Points of the second round also as close to the first ones, and to the rows, as can be."""
    basis = Nystrom.spanning(GAUSSIAN, np.array(first), reserve=RESERVE)
    points = np.array([*more, *pair, *(np.array(first) + close).tolist()])
    whole = extend(basis, points, most=len(points))
    one, two = whole.integers(np.array(pair))
    assert _moved(basis, whole, _rest(whole, seed, 10**6), one, two) <= Fraction(whole.diameter) ** 2
    assert whole.diameter == basis.diameter
    assert whole.least_stretch <= whole.stretch * SLACK


def test_twin_that_does_not_orthogonalise_is_caught() -> None:
    """Points close to the first ones, each a coordinate of its own: a row moves both rounds by its whole distance."""
    basis = Nystrom.spanning(GAUSSIAN, np.array([[0.0, 0.0], [50.0, 0.0]]), tolerance=1e-3, reserve=RESERVE)
    matrix = np.kron(np.eye(2, dtype=np.int64), basis.matrix)
    twin = dataclasses.replace(basis, points=np.concatenate([basis.points, basis.points + 1e-3]), matrix=matrix)
    one, two = twin.integers(basis.points)
    other = _rest(twin, 0, 10)
    assert twin.extends(basis)
    assert _moved(basis, twin, other, one, two) > Fraction(twin.diameter) ** 2
    assert twin.least_stretch > twin.stretch * SLACK
    real = extend(basis, twin.points[2:], most=2, tolerance=1e-9)
    assert real.dimension == 4
    assert _moved(basis, real, other, one, two) <= Fraction(real.diameter) ** 2


# Fewer points, or none


def test_where_the_reserve_does_not_cover_all_points_fewer_are_taken() -> None:
    """Points so close to dependent that their coordinates widen the diameter: half of them, a quarter, and so on."""
    more, start = np.random.default_rng(17).normal(size=(150, 2)) * 1.5, np.zeros((1, 2))
    sizes = []
    for reserve in (0.1, 1e-3, 1e-7, 1e-9):
        basis = Nystrom.spanning(GAUSSIAN, start, tolerance=1e-3, reserve=reserve)
        whole = extend(basis, more, most=150, tolerance=1e-9)
        assert (whole.diameter, whole.norm_bound) == (basis.diameter, basis.norm_bound)
        sizes.append(whole.dimension - 1)
        if reserve == 0.1:
            everything = whole
        assert whole.points.tolist() == everything.points[: whole.dimension].tolist()
        assert (whole.matrix == everything.matrix[: whole.dimension, : whole.dimension]).all()
    halves = [sizes[0] >> times for times in range(10)]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4
    assert set(sizes) <= set(halves)
    assert sizes[-1] == 0


def test_points_too_close_to_dependent_for_the_grid_are_left_out() -> None:
    basis = Nystrom.spanning(GAUSSIAN, np.zeros((1, 1)), tolerance=1e-3, reserve=0.1)
    whole = extend(basis, np.array([[1e-8], [2e-8], [5.0]]), most=3, tolerance=1e-17)
    assert 1.0 <= whole.stretch < 1.1
    assert whole.points.ravel().tolist()[:2] == [0.0, 5.0]


def test_a_map_without_a_reserve_takes_no_points() -> None:
    basis = Nystrom.spanning(GAUSSIAN, PLANE[:10])
    assert extend(basis, PLANE[10:], most=60) is basis


@pytest.mark.parametrize(
    ("points", "most"),
    [
        (np.empty((0, 2)), 10),
        (PLANE[40:], 0),
        (PLANE[:40], 100),  # all in the span
        (np.repeat(PLANE[:1], 5, axis=0), 100),
    ],
)
def test_where_there_is_nothing_to_add_the_old_map_comes_back(points: Rows, most: int) -> None:
    basis = Nystrom.spanning(GAUSSIAN, PLANE[:40], reserve=RESERVE)
    assert extend(basis, points, most=most) is basis


def test_an_extension_can_be_extended() -> None:
    first, second = _maps(CASES[1])
    third = extend(second, PLANE + 0.5, most=20)
    assert third.dimension > second.dimension
    assert third.extends(second)
    assert third.extends(first)
    assert third.diameter == first.diameter
    assert third.least_stretch <= third.stretch * SLACK


# What does not extend


def test_what_does_not_begin_like_the_old_map_does_not_extend_it() -> None:
    basis, whole = _maps(CASES[0])
    other_point, other_entry, other_corner = whole.points.copy(), whole.matrix.copy(), whole.matrix.copy()
    other_point[0, 0] = np.nextafter(other_point[0, 0], 9.0)
    other_entry[1, 0] += 1
    other_corner[0, -1] = 1
    twins = [
        dataclasses.replace(whole, kernel=Gaussian(lengthscale=1.5)),
        dataclasses.replace(whole, points=other_point),
        dataclasses.replace(whole, matrix=other_entry),
        dataclasses.replace(whole, matrix=other_corner),
        Nystrom.spanning(GAUSSIAN, PLANE[::-1], reserve=RESERVE),
    ]
    assert whole.extends(basis)
    assert not any(twin.extends(basis) for twin in twins)


# The reserve


@EVERY_CASE
def test_a_reserve_states_at_least_so_much_and_never_less_than_is_computed(case: Case) -> None:
    plain = Nystrom.spanning(case.kernel, case.first, tolerance=1e-12)
    for reserve in (0.0, 1e-9, 1e-3, 0.1):
        phi = dataclasses.replace(plain, reserve=reserve)
        assert phi.diameter == max(plain.diameter, (1 + reserve) * case.kernel.diameter)
        assert phi.norm_bound == max(plain.norm_bound, (1 + reserve) * math.sqrt(case.kernel.bound))
    lemma = dataclasses.replace(plain, lemma=True, reserve=0.1)
    assert lemma.diameter >= 1.1 * 2.0 * math.sqrt(case.kernel.bound)


@pytest.mark.parametrize("reserve", [-1e-9, 0.1001, 1.0, math.nan, math.inf, -math.inf])
def test_a_reserve_is_from_nothing_to_a_tenth(reserve: float) -> None:
    with pytest.raises(ParameterError, match=r"reserve must be from 0 to 0\.1"):
        Nystrom.spanning(GAUSSIAN, PLANE, tolerance=1e-3, reserve=reserve)


@pytest.mark.parametrize(
    ("points", "most", "tolerance", "message"),
    [
        (PLANE, -1, 1e-4, "most must be at least 0"),
        (PLANE, 5, 0.0, "tolerance between 0 and 1"),
        (PLANE, 5, 1.0, "tolerance between 0 and 1"),
        (PLANE, 5, math.nan, "tolerance between 0 and 1"),
        (PLANE[:, :1], 5, 1e-4, "must have 2 columns"),
        (PLANE[0], 5, 1e-4, "must have 2 columns"),
    ],
)
def test_refusals(points: Rows, most: int, tolerance: float, message: str) -> None:
    basis = Nystrom.spanning(GAUSSIAN, PLANE[:5], reserve=RESERVE)
    with pytest.raises(ParameterError, match=message):
        extend(basis, points, most=most, tolerance=tolerance)
