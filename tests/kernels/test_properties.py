"""What holds for every kernel and for any cell whatever."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from kernelease.arrays import Rows
from kernelease.kernels import Gaussian
from tests.kernels.catalogue import CATALOGUE, NUMERIC, Entry

CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.floats(width=32).map(np.float32),
    st.text(max_size=12),
    st.binary(max_size=4),
    st.complex_numbers(),
    st.dates(),
    st.decimals(),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=1), st.none(), max_size=1),
    st.sampled_from(["red", "f", "S", "yes", "Ada", "nan", "-inf", "1e400"]),
)


@st.composite
def any_rows(draw: st.DrawFn, columns: int) -> Rows:
    count = draw(st.integers(0, 6))
    rows = np.empty((count, columns), dtype=object)
    for i in range(count):
        for j in range(columns):
            rows[i, j] = draw(CELLS)
    return rows


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_cell_raises_and_bounds_hold(entry: Entry, data: st.DataObject) -> None:
    rows = data.draw(any_rows(entry.rows.shape[1]))
    kernel, admitted = entry.kernel, entry.kernel.admit(rows)
    gram = kernel.gram(admitted, admitted)
    assert admitted.shape == rows.shape
    assert (kernel.diagonal(admitted) <= kernel.bound).all()
    assert (abs(gram) <= kernel.bound).all()
    assert (gram >= 0.0).all() or not kernel.nonnegative
    assert gram.tobytes() == kernel.gram(rows, rows).tobytes(), "gram admits what was not"


@pytest.mark.parametrize("entry", NUMERIC, ids=lambda entry: entry.name)
@settings(max_examples=25, deadline=None)
@given(rows=arrays(np.float64, (5, 3)))
def test_any_numbers_are_within_bounds(entry: Entry, rows: Rows) -> None:
    kernel, admitted = entry.kernel, entry.kernel.admit(rows)
    gram = kernel.gram(admitted, admitted)
    assert (abs(gram) <= kernel.bound).all()
    assert gram.tobytes() == gram.T.tobytes()
    assert kernel.diagonal(admitted).tobytes() == gram.diagonal().tobytes()


@settings(max_examples=50, deadline=None)
@given(rows=arrays(np.float64, (4, 2), elements=st.floats(-1e3, 1e3)), scale=st.floats(1e-3, 1e3))
def test_the_gaussian_kernel_falls_with_distance(rows: Rows, scale: float) -> None:
    distances = ((rows[0] - rows[1:]) ** 2).sum(axis=1)
    values = Gaussian(lengthscale=scale).gram(rows[:1], rows[1:])[0]
    order = np.argsort(distances)
    assert (np.diff(values[order]) <= Gaussian(lengthscale=scale).evaluation_error(1) * 2).all()
