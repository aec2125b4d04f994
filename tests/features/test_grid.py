from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kernelease.errors import ParameterError
from kernelease.features.feature_map import LARGEST_STEP, checked_resolution, default_resolution, grid_columns


@given(cell=st.floats(-1e6, 1e6), resolution=st.floats(1e-6, 1e6))
def test_a_cell_goes_to_the_nearest_grid_point(cell: float, resolution: float) -> None:
    steps = int(grid_columns(np.array([[cell]]), (resolution,), "test")[0, 0])
    assert abs(Fraction(cell) / Fraction(resolution) - steps) <= Fraction(1, 2) + Fraction(1, 2**10)


@pytest.mark.parametrize("cell", [1e308, np.inf, 1e150])
def test_a_cell_is_clamped(cell: float) -> None:
    columns = grid_columns(np.array([[cell], [-cell], [np.nan]]), (1e-150,), "test")
    assert columns.tolist() == [[LARGEST_STEP, -LARGEST_STEP, 0]]


@pytest.mark.parametrize("resolution", [(), (0.0,), (1.0, -1.0), (np.nan,), (np.inf,), (1e-151,)])
def test_a_resolution_must_be_a_positive_number(resolution: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match="resolution must hold"):
        checked_resolution(resolution, "test")


def test_the_default_resolution_follows_the_lengthscale() -> None:
    assert default_resolution(2.0, 2) == (2.0**-19, 2.0**-19)
    assert default_resolution((1.0, 2.0), 2) == (2.0**-20, 2.0**-19)
