"""How many points and features: the corrected exponents, by hand."""

import math

import numpy as np
import pytest

from kernelease.errors import CapacityError
from kernelease.machine import MEMORY_CAP, refuse_beyond_memory
from kernelease.methods.method import (
    FEATURES_CAP,
    POINTS_CAP,
    SLACK,
    noise_optimal_rank,
    number_of_features,
    number_of_points,
)


def _even(value: float) -> int:
    return 2 * math.ceil(value / 2.0)


@pytest.mark.parametrize("rows", [1, 2, 10, 100, 1000, 10**5])
@pytest.mark.parametrize("dimension", [1, 2, 5, 30])
def test_points_balance_projection_error_and_noise(rows: int, dimension: int) -> None:
    """Projection M^(−1/(2D + a)) equals noise √M/N at M = N^k with k = 2(2D + a)/(2D + a + 2) = 2 − 4/(2D + a + 2)."""
    exponent = 2.0 * (2 * dimension + SLACK) / (2 * dimension + SLACK + 2)
    wanted = max(2, _even(rows**exponent))
    choice = number_of_points(rows, dimension, cap=10**9)
    assert choice.value == (wanted if wanted <= 10**9 else 10**9)
    if 2 < wanted <= 10**9:
        projection, noise = rows ** (-exponent / (2 * dimension + SLACK)), math.sqrt(rows**exponent) / rows
        assert projection == pytest.approx(noise)


@pytest.mark.parametrize("rows", [1, 2, 10, 100, 1000, 10**5])
def test_features_balance_approximation_and_noise(rows: int) -> None:
    """Random features are off by J^(−1/4) in distance, noise by √J/N: equal at J = N^(4/3)."""
    choice = number_of_features(rows, cap=10**9)
    assert choice.value == max(2, _even(rows ** (4 / 3)))
    if rows > 2:
        assert (rows ** (4 / 3)) ** -0.25 == pytest.approx(math.sqrt(rows ** (4 / 3)) / rows)


def test_the_paper_s_table_meets_the_cap() -> None:
    assert str(number_of_points(100_000, 2)) == "points = 4096: the cap (the theorem's rule asks for 4.7e+06)"
    assert str(number_of_features(100_000)) == "features = 4096: the cap (the theorem's rule asks for 4.64e+06)"
    assert POINTS_CAP == FEATURES_CAP == 4096


def test_reasons() -> None:
    assert str(number_of_points(10, 1)) == f"points = {_even(10 ** (2 - 4 / 4.01))}: the theorem's rule"
    assert number_of_points(None, 3, cap=77).reason == "the cap (the number of rows is private)"
    assert number_of_features(None, cap=78).value == 78
    assert number_of_features(10**400 // 10**390).reason == "the cap (the theorem's rule asks for 2.15e+13)"


def test_noise_optimal_rank_by_hand() -> None:
    residuals = np.array([1.0, 0.5, 0.3, 0.25, 0.24])
    for sigma, rank in ((0.0, 4), (0.09, 4), (0.11, 3), (0.3, 2), (0.46, 1), (10.0, 1)):
        assert noise_optimal_rank(residuals, sigma) == rank
        costs = [k * sigma**2 + residuals[k] for k in range(1, 5)]
        assert costs[rank - 1] == min(costs)


def test_memory_is_refused_at_the_cap_and_not_below() -> None:
    assert MEMORY_CAP == 4 * 2**30
    refuse_beyond_memory("A", MEMORY_CAP // 8)
    with pytest.raises(CapacityError, match="B would need 8 GiB in one array; the cap is 4 GiB"):
        refuse_beyond_memory("B", MEMORY_CAP // 8, 2)
