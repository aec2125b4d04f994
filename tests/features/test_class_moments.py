"""Moments of classes: bounds in integers against all pairs of a small grid, sums against a direct form, evaluation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kernelease.errors import ParameterError
from kernelease.features import ClassMoments
from kernelease.features.moments import PRODUCT, SQUARE, unit_vectors
from kernelease.kernels import LabelledSphere
from kernelease.kernels.dot_product import SPHERE_STEPS, sphere_steps, within_norm
from kernelease.privacy import Neighbours
from kernelease.privacy.sensitivity import sum_sensitivity
from tests.features.broken_maps import Altered

SPHERE = LabelledSphere(dimension=3, classes=("a", "b"))
MAPS = (
    ClassMoments(kernel=SPHERE),
    ClassMoments(kernel=SPHERE, pooled=True),
    ClassMoments.onto(SPHERE, np.array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])),
)
NAMES = ("every class", "pooled", "projected")


def _features(vector: tuple[int, ...], radius: int, factor: int) -> list[int]:
    """What a row adds to its class, written out: for a grid of any radius."""
    pairs = itertools.combinations(range(len(vector)), 2)
    return [
        SQUARE * radius**2,
        *(SQUARE * factor * cell for cell in vector),
        *(SQUARE * cell * cell for cell in vector),
        *(PRODUCT * vector[i] * vector[j] for i, j in pairs),
    ]


@pytest.mark.parametrize(("radius", "dimension"), [(1, 1), (7, 1), (1, 3), (6, 2), (3, 3)])
def test_all_pairs_of_all_vectors_of_a_small_grid_are_within_the_diameter(radius: int, dimension: int) -> None:
    """Same class and other class, in exact integers, with the same rule for the weight of means."""
    factor = math.isqrt(radius**2 * (2 * SQUARE**2 + PRODUCT**2) // (2 * SQUARE**2))
    limit = SQUARE**2 * radius**2 * (2 * radius**2 + factor**2)
    cells = range(-radius, radius + 1)
    ball = [v for v in itertools.product(cells, repeat=dimension) if sum(c * c for c in v) <= radius**2]
    rows = [_features(vector, radius, factor) for vector in ball]
    norms = [sum(c * c for c in row) for row in rows]
    assert max(norms) <= limit
    nearest = min(sum(a * b for a, b in zip(one, two, strict=True)) for one in rows for two in rows)
    assert nearest >= 0  # so two rows of one class are no farther apart than two of different ones
    assert max(norms) + max(norms) <= 2 * limit


def test_a_heavier_mean_breaks_the_bound() -> None:
    """The twin: with the weight √2·radius rounded up, opposite vectors are farther apart than claimed."""
    radius = 6
    factor = math.isqrt(2 * radius**2) + 1
    one, two = _features((radius, 0), radius, factor), _features((-radius, 0), radius, factor)
    limit = SQUARE**2 * radius**2 * (2 * radius**2 + math.isqrt(2 * radius**2) ** 2)
    assert sum((a - b) ** 2 for a, b in zip(one, two, strict=True)) > 2 * limit


HOSTILE = np.array(
    [
        *([sign * (axis == i) for i in range(3)] for axis in range(3) for sign in (1.0, -1.0)),
        *([a, b, c] for a, b, c in itertools.product((-1.0, 1.0, 1e150), repeat=3)),
        *([5e-324, 0.0, 0.0], [0.0, 0.0, 0.0], [math.nan, 1.0, 0.0], [math.inf, -math.inf, 1.0]),
    ]
)


@pytest.mark.parametrize("feature_map", MAPS, ids=NAMES)
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_neighbouring_tables_move_by_no_more_than_the_sensitivity(
    feature_map: ClassMoments, neighbours: Neighbours
) -> None:
    """All pairs of hostile rows in all classes, and rows that come and go, in exact integers."""
    rows = np.array([[*vector, label] for vector in HOSTILE for label in (0.0, 1.0, 7.0)])
    integers = feature_map.integers(rows).astype(object)
    bound = sum_sensitivity(feature_map, neighbours)
    if neighbours is Neighbours.ADD_REMOVE:
        moved = integers
    else:
        moved = np.array([one - two for one, two in itertools.combinations(integers, 2)])
    farthest = max(int((move**2).sum()) for move in moved)
    assert farthest <= bound.l2**2
    assert max(int(np.abs(move).sum()) for move in moved) <= bound.l1
    if neighbours is Neighbours.REPLACE_ONE and feature_map.projection is None and not feature_map.pooled:
        assert farthest > 0.999 * bound.l2**2  # the bound is no larger than it has to be


def test_a_twin_that_charges_a_change_of_class_once_is_caught() -> None:
    twin = Altered(inner=MAPS[0], changes={"diameter": MAPS[0].norm_bound})
    one, two = MAPS[0].integers(np.array([[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0]])).astype(object)
    assert int(((one - two) ** 2).sum()) > sum_sensitivity(twin, Neighbours.REPLACE_ONE).l2 ** 2


def test_a_row_changes_the_block_of_its_class_alone() -> None:
    integers = MAPS[0].integers(np.array([[0.6, 0.8, 0.0, 1.0]]))[0]
    counts, sums, seconds = np.split(integers, [2, 8])
    assert counts[0] == 0
    assert not sums[:3].any()
    assert not seconds[:6].any()
    assert counts[1] == SQUARE * SPHERE_STEPS**2
    assert sums[3:].any()
    assert seconds[6:].any()


@pytest.mark.parametrize("feature_map", MAPS, ids=NAMES)
def test_sums_of_blocks_are_sums_of_rows(feature_map: ClassMoments) -> None:
    generator = np.random.default_rng(1)
    rows = np.column_stack([generator.standard_normal((50, 3)), generator.integers(-1, 3, 50)])
    np.testing.assert_array_equal(feature_map.total(rows), feature_map.integers(rows).sum(axis=0))


@pytest.mark.parametrize("feature_map", MAPS, ids=NAMES)
def test_moments_read_what_features_write(feature_map: ClassMoments) -> None:
    generator = np.random.default_rng(2)
    vectors, codes = unit_vectors(generator.standard_normal((40, 3))), generator.integers(0, 2, 40)
    found = feature_map.moments(feature_map.evaluate(np.column_stack([vectors, codes])).mean(axis=0))
    turned = vectors if feature_map.directions is None else vectors @ feature_map.directions.T
    for code in range(2):
        mine = codes == code
        assert found.shares[code] == pytest.approx(mine.mean())
        np.testing.assert_allclose(found.means[code], vectors[mine].sum(axis=0) / 40, atol=1e-12)
        if not feature_map.pooled:
            np.testing.assert_allclose(found.seconds[code], turned[mine].T @ turned[mine] / 40, atol=1e-4)
    if feature_map.pooled:
        np.testing.assert_allclose(found.seconds[0], turned.T @ turned / 40, atol=1e-12)
    own = [vectors[codes == code].T @ vectors[codes == code] / 40 for code in range(2)]
    again = feature_map.assemble(found.shares, found.means, np.array(own))
    np.testing.assert_allclose(again, feature_map.evaluate(np.column_stack([vectors, codes])).mean(axis=0), atol=1e-4)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=6))
def test_any_vector_stays_within_the_ball(cells: list[float]) -> None:
    steps = sphere_steps(np.array([cells]))[0].astype(object)
    assert sum(step * step for step in steps) <= SPHERE_STEPS**2
    again = sphere_steps(np.array([steps.astype(np.float64) / SPHERE_STEPS]))[0]
    np.testing.assert_array_equal(again, steps.astype(np.int64))


@given(st.lists(st.integers(-(2**20), 2**20), min_size=1, max_size=5), st.integers(1, 2**17))
def test_scaling_down_keeps_the_norm_in_integers(values: list[int], limit: int) -> None:
    scaled = within_norm(np.array([values]), limit)[0].astype(object)
    assert sum(value * value for value in scaled) <= limit**2


def test_vectors_on_the_sphere_stay_near_it() -> None:
    vectors = unit_vectors(np.random.default_rng(0).standard_normal((100, 768)))
    steps = sphere_steps(vectors) / SPHERE_STEPS
    assert np.abs(np.linalg.norm(steps, axis=1) - 1.0).max() < 1e-3
    assert np.abs(steps - vectors).max() <= 1.0 / SPHERE_STEPS


@pytest.mark.parametrize(
    ("projection", "sentence"),
    [
        (np.ones((1, 2), dtype=np.int64), "shape"),
        (np.ones((4, 3), dtype=np.int64), "shape"),
        (np.ones(3, dtype=np.int64), "shape"),
        (np.full((1, 3), 2**15 + 1), "each entry"),
    ],
)
def test_impossible_projections_are_refused(projection: np.ndarray, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        ClassMoments(kernel=SPHERE, projection=projection)


def test_rows_of_other_columns_are_refused() -> None:
    with pytest.raises(ParameterError, match="3 columns and a class"):
        MAPS[0].total(np.zeros((2, 3)))
