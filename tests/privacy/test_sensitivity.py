"""Sensitivities against every pair of neighbouring toy tables."""

import functools
import itertools
import math

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.privacy import Neighbours, Sensitivity
from kernelease.privacy.sensitivity import block_sensitivity, centred_sensitivity, count_increment, sum_sensitivity
from tests.privacy.toys import OneHot, categories

MAPS = [OneHot(categories=3), OneHot(categories=4, units=2**14), OneHot(categories=2, units=3)]


@pytest.mark.parametrize("feature_map", MAPS, ids=repr)
def test_replace_one_is_the_largest_distance_between_rows(feature_map: OneHot) -> None:
    rows = feature_map.integers(categories(*range(feature_map.categories), math.nan, -1.0, 1e9))
    moves = [a - b for a, b in itertools.combinations(rows, 2)]
    sensitivity = sum_sensitivity(feature_map, Neighbours.REPLACE_ONE)
    assert sensitivity.neighbours is Neighbours.REPLACE_ONE
    assert bound_is_tight([float(np.linalg.norm(move)) for move in moves], sensitivity.l2)
    assert bound_is_tight([float(np.abs(move).sum()) for move in moves], sensitivity.l1)


@pytest.mark.parametrize("feature_map", MAPS, ids=repr)
def test_add_remove_counts_the_row_as_well(feature_map: OneHot) -> None:
    rows = feature_map.integers(categories(*range(feature_map.categories)))
    moves = [np.append(row, count_increment(feature_map)) for row in rows]
    sensitivity = sum_sensitivity(feature_map, Neighbours.ADD_REMOVE)
    assert sensitivity.neighbours is Neighbours.ADD_REMOVE
    assert bound_is_tight([float(np.linalg.norm(move)) for move in moves], sensitivity.l2)
    assert bound_is_tight([float(np.abs(move).sum()) for move in moves], sensitivity.l1)


@pytest.mark.parametrize("unit", [1, 3, 2**20])
def test_a_block_of_counts_is_a_one_hot_map_without_a_count(unit: int) -> None:
    rows = OneHot(categories=4, units=unit).integers(categories(*range(4)))
    replaced = [a - b for a, b in itertools.combinations(rows, 2)]
    for moves, neighbours in ((list(rows), Neighbours.ADD_REMOVE), (replaced, Neighbours.REPLACE_ONE)):
        sensitivity = block_sensitivity(neighbours, unit=unit)
        assert sensitivity.neighbours is neighbours
        assert bound_is_tight([float(np.linalg.norm(move)) for move in moves], sensitivity.l2)
        assert bound_is_tight([float(np.abs(move).sum()) for move in moves], sensitivity.l1)


@pytest.mark.parametrize("unit", [1, 5])
@pytest.mark.parametrize("shape", [(2,), (3,), (50,), (2, 2), (2, 7), (7, 2), (3, 4), (5, 5)])
def test_centred_counts_move_as_far_as_the_rows_that_differ_most(shape: tuple[int, ...], unit: int) -> None:
    sides = [size * np.eye(size) - 1.0 for size in shape]
    rows = [unit * functools.reduce(np.multiply.outer, parts) for parts in itertools.product(*sides)]
    replaced = [a - b for a, b in itertools.combinations(rows, 2)]
    for moves, neighbours in ((rows, Neighbours.ADD_REMOVE), (replaced, Neighbours.REPLACE_ONE)):
        sensitivity = centred_sensitivity(neighbours, shape=shape, unit=unit)
        assert sensitivity.neighbours is neighbours
        assert bound_is_tight([float(np.linalg.norm(move)) for move in moves], sensitivity.l2)
        assert max(float(np.abs(move).sum()) for move in moves) <= sensitivity.l1


def bound_is_tight(norms: list[float], bound: float) -> bool:
    return max(norms) <= bound <= max(norms) * (1 + 1e-11)


def test_the_count_weighs_as_much_as_a_row() -> None:
    assert count_increment(OneHot(categories=2, units=2**14)) == 2**14


def test_the_count_has_a_weight_even_where_rows_have_next_to_none() -> None:
    class Faint(OneHot):
        @property
        def norm_bound(self) -> float:
            return 1e-9

    assert count_increment(Faint(categories=2)) == 1


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("name", ["l2", "l1"])
def test_a_sensitivity_is_positive_and_finite(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=f"{name} must be positive"):
        Sensitivity(**({"l2": 1.0, "l1": 1.0} | {name: value}), neighbours=Neighbours.REPLACE_ONE)
