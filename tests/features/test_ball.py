"""The mean of rows: no row moves its sum by more than the ball's diameter, and rows within it are told as they are."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kernelease.errors import ParameterError
from kernelease.features import Ball
from kernelease.privacy.sensitivity import Neighbours, sum_sensitivity

BALL = Ball(middle=(10.0, -1.0), reach=(2.0, 0.5))


@given(st.lists(st.floats(), min_size=2, max_size=2), st.lists(st.floats(), min_size=2, max_size=2))
def test_any_two_rows_are_within_the_diameter(one: list[float], other: list[float]) -> None:
    """An inequality of whole numbers, for NaN and infinite cells too."""
    first, second = BALL.integers(np.array([one, other])).astype(object)
    assert sum(first**2) <= 2**40
    assert sum((first - second) ** 2) <= 4 * 2**40 <= sum_sensitivity(BALL, Neighbours.REPLACE_ONE).l2 ** 2


def test_opposite_ends_are_as_far_apart_as_is_claimed() -> None:
    low, high = BALL.integers(np.array([[-1e9, -1.0], [1e9, -1.0]]))
    assert np.linalg.norm(high - low) * BALL.step == pytest.approx(BALL.diameter, abs=1e-5)


def test_rows_within_the_ball_have_their_own_mean() -> None:
    rows = np.array([[10.5, -1.1], [9.0, -0.8], [11.0, -1.0]])
    mean = BALL.integers(rows).mean(axis=0) * BALL.step
    np.testing.assert_allclose(mean * np.array(BALL.reach) + np.array(BALL.middle), rows.mean(axis=0), atol=1e-5)


@pytest.mark.parametrize(("middle", "reach"), [((0.0,), (1.0, 1.0)), ((np.inf,), (1.0,)), ((0.0,), (0.0,)), ((), ())])
def test_impossible_balls_are_refused(middle: tuple[float, ...], reach: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match="Ball"):
        Ball(middle=middle, reach=reach)
