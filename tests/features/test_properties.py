"""Properties that hold for every cell whatever, for every map of the table."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.arrays import Rows
from kernelease.errors import ParameterError
from kernelease.seeds import PublicSeed
from tests.features.table import CASES, Case

CELLS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True),
    st.floats(-10.0, 10.0),
    st.sampled_from([0.0, -0.0, 5e-324, 1e308, -1e308, 1e-300, 2.0**63]),
    st.integers(),
    st.none(),
    st.booleans(),
    st.text(),
    st.text(alphabet="ab\ud800", max_size=200),
    st.sampled_from(["red", "green", 1, 2, 3]),
    st.binary(),
    st.lists(st.integers(), max_size=2),
)
MAPS = [case.make(PublicSeed(9)) for case in CASES]
BY_NAME = pytest.mark.parametrize("index", range(len(CASES)), ids=[case.name for case in CASES])


def _rows(cells: list[Any], columns: int) -> Rows:
    rows = np.empty((len(cells) // columns, columns), dtype=object)
    for i in range(rows.size):
        rows[i // columns, i % columns] = cells[i]
    return rows


@pytest.mark.slow
@BY_NAME
@given(cells=st.lists(CELLS, min_size=6, max_size=12))
@settings(deadline=None)
def test_bounds_hold_in_integers_for_every_cell(index: int, cells: list[Any]) -> None:
    phi, case = MAPS[index], CASES[index]
    vectors = phi.integers(_rows(cells, case.rows.shape[1])).astype(object)
    step = Fraction(phi.step)
    first, last = vectors[0], vectors[-1]
    for vector, bound, bound_l1 in (
        (first, phi.norm_bound, phi.norm_bound_l1),
        (last, phi.norm_bound, phi.norm_bound_l1),
        (first - last, phi.diameter, phi.diameter_l1),
    ):
        assert step**2 * sum(vector**2) <= Fraction(bound) ** 2
        assert step * sum(abs(vector)) <= Fraction(bound_l1)


@pytest.mark.slow
@BY_NAME
@given(cells=st.lists(CELLS, min_size=9, max_size=15))
@settings(deadline=None)
def test_integers_are_the_row_s_own_for_every_cell(index: int, cells: list[Any]) -> None:
    phi, case = MAPS[index], CASES[index]
    rows = _rows(cells, case.rows.shape[1])
    together = phi.integers(rows)
    assert (together[1:] == phi.integers(rows[1:])).all()
    assert (together[-1:] == phi.integers(rows[-1:])).all()
    assert (together.sum(axis=0) == phi.total(rows)).all()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_wrong_number_of_columns_is_refused(case: Case) -> None:
    phi = case.make(PublicSeed(0))
    wide = np.zeros((2, case.rows.shape[1] + 1))
    for function in (phi.integers, phi.total, phi.evaluate):
        with pytest.raises(ParameterError, match="columns"):
            function(wide)
    with pytest.raises(ParameterError, match="two-dimensional"):
        phi.integers(np.zeros(3))
