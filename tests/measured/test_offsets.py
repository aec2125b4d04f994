"""A number is the middle of its cell plus its weight times a unit, up to a slack that is stated."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.measured.offsets import measured_width, offsets
from kernelease.table import Date, Integer, Number
from kernelease.table.columns.cells import Celled

COLUMNS: list[Celled] = [
    Integer(name="age", min=17, max=90, nullable=True),
    Integer(name="gain", min=0, max=99_999, nullable=True),
    Integer(name="few", min=-3, max=40, cells=7),
    Number(name="wage", min=0.0, max=1000.0),
    Number(name="cents", min=0.0, max=100.0, resolution=0.01, cells=12),
    Number(name="thirds", min=-1.0 / 3.0, max=2.0 / 3.0, cells=7),
]


@pytest.mark.slow
@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
@given(data=st.data(), apart=st.booleans(), bits=st.sampled_from([14, 20]))
@settings(deadline=None, max_examples=25)
def test_a_value_is_found_again_from_its_weight(column: Celled, data: st.DataObject, apart: bool, bits: int) -> None:
    cuts = data.draw(st.lists(st.integers(0, 1), min_size=column.cell_count, max_size=column.cell_count))
    cells = np.cumsum([0, *cuts[1:]])
    cells = np.append(cells, [cells[-1] + 1] * column.nullable).astype(np.int64)
    found = offsets(column, cells, apart=apart, bits=bits)
    if found is None:
        assert (np.unique(cells, return_counts=True)[1] == 1).all()
        assert column.finer is None
        return
    share = np.array(data.draw(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=50)))
    low, high = (float(bound) for bound in (column.bounds()[0][0], column.bounds()[1][-1]))
    values = low + share * (high - low)
    if isinstance(column, Integer):
        values = np.floor(values)
    elif column.resolution is not None:
        values = np.round(values / column.resolution) * column.resolution
    atoms = column.encode(pa.array(values)).astype(np.int64)
    fine = atoms if column.finer is None else column.finer.encode(pa.array(values)).astype(np.int64)
    weights = found.ramp.of(atoms, fine)
    assert np.abs(weights).max() <= found.ramp.limit == 1 << bits
    told = found.middle[cells[atoms]] + found.unit[cells[atoms]] * weights
    assert np.abs(told - values).max() <= found.slack * (1 + 1e-9) + 1e-9
    width = (high - low) / 4000
    if bits == 20:
        assert found.slack <= (0.0 if column.finer is None else width) + (high - low) * 2.0**-13


def test_null_weighs_nothing() -> None:
    column = COLUMNS[1]
    found = offsets(column, np.append(np.zeros(column.cell_count, int), 1), apart=False)
    assert found is not None
    assert found.ramp.of(np.array([column.size - 1]), np.array([4095])).tolist() == [0]
    assert np.isnan(found.middle[1])
    assert found.widest == pytest.approx(99_999 / 2)


def test_cells_of_single_values_leave_nothing_to_measure() -> None:
    column = Date(name="born", min="2024-01-01", max="2024-03-01")  # type: ignore[arg-type]
    assert offsets(column, np.arange(column.size), apart=True) is None


def test_wide_cells_are_left_out_of_a_sum_over_all() -> None:
    """Atoms of a cell that is too wide weigh nothing, and the unit is that of the widest that is left."""
    column = Number(name="wage", min=0.0, max=100.0, cells=12)
    cells = np.minimum(np.arange(column.size) // 2, 3)
    whole, narrow = (offsets(column, cells, apart=False, narrow=most) for most in (np.inf, 15.0))
    assert whole is not None
    assert narrow is not None
    assert whole.told_cells.all()
    assert narrow.told_cells.tolist() == [True, True, True, False]
    left_out = np.flatnonzero(cells == 3)
    assert not narrow.ramp.of(left_out, np.full(len(left_out), 4000)).any()
    assert narrow.widest == pytest.approx(float(narrow.half[:3].max()))
    assert narrow.widest < whole.widest
    assert measured_width(column, cells, narrow.ramp) == pytest.approx(narrow.widest)
    assert measured_width(column, cells, whole.ramp) == pytest.approx(float(whole.half.max()))


def test_the_narrowest_cells_are_always_summed() -> None:
    column = Number(name="wage", min=0.0, max=100.0, cells=12)
    found = offsets(column, np.zeros(column.size, dtype=np.int64), apart=False, narrow=0.0)
    assert found is not None
    assert found.told_cells.all()
