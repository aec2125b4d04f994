"""What every column promises, for every column and for every kind of array that may come."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.errors import ParameterError
from kernelease.table import Column
from kernelease.table.columns import Celled, Number
from kernelease.table.encode import NarrowColumn
from tests.table.table import ARRAYS, COLUMNS, TEXTS

FLOATS = [  # beyond 2⁵³ and below 1e-297, a float64 has no digits to spare
    column for column in COLUMNS.values() if isinstance(column, Number) and 1e-290 < column.max <= 2**53
]
columns = pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)


@pytest.mark.slow
@columns
def test_every_array_is_encoded_cell_by_cell(column: Column) -> None:
    for name, array in ARRAYS.items():
        codes = column.encode(array)
        assert codes.dtype == np.int32, name
        assert codes.shape == (len(array),), name
        assert ((codes >= 0) & (codes < column.size)).all(), name
        alone = [int(column.encode(array.slice(i, 1))[0]) for i in range(len(array))]
        assert codes.tolist() == alone, name
        narrow = NarrowColumn(column).encode(array)
        assert narrow.dtype == (np.uint8 if column.size <= 256 else np.uint16), name
        assert narrow.tolist() == alone, name


@columns
def test_chunks_change_nothing(column: Column) -> None:
    for name, array in ARRAYS.items():
        cut = len(array) // 2
        chunked = pa.chunked_array([array.slice(cut), array.slice(0, 0), array.slice(0, cut)], array.type)
        codes = column.encode(array)
        np.testing.assert_array_equal(column.encode(chunked), np.concatenate([codes[cut:], codes[:cut]]), name)
        assert len(column.encode(pa.chunked_array([], array.type))) == 0, name


@columns
def test_a_dictionary_is_encoded_as_its_values(column: Column) -> None:
    narrow = NarrowColumn(column)  # of all of them: one dictionary after the other
    for name in ("int64", "uint64", "float64", "string", "large_string", "binary", "bool", "timestamp us", "date32"):
        array = ARRAYS[name]
        for encoded in (array.dictionary_encode(), array.drop_null().dictionary_encode()):
            codes = column.encode(encoded.dictionary_decode())
            np.testing.assert_array_equal(column.encode(encoded), codes, name)
            np.testing.assert_array_equal(narrow.encode(encoded), codes, name)


@columns
def test_nulls_are_missing(column: Column) -> None:
    for array in ARRAYS.values():
        missing = array.is_null().to_numpy(zero_copy_only=False)
        assert (column.encode(array)[missing] == column.missing).all()
    if column.nullable:
        assert column.missing == column.null == column.size - 1
    else:
        assert column.null is None


@columns
def test_every_code_decodes_to_a_legal_value_of_that_code(column: Column) -> None:
    codes = np.tile(np.arange(column.size), max(2, 300 // column.size))
    values = column.decode(codes, np.random.default_rng(3))
    assert values.type == column.arrow_type
    np.testing.assert_array_equal(column.encode(values), codes)
    if column.null is not None:
        np.testing.assert_array_equal(values.is_null().to_numpy(zero_copy_only=False), codes == column.null)
    else:
        assert values.null_count == 0


@columns
def test_what_is_decoded_is_what_may_be_released(column: Column) -> None:
    values = column.decode(np.arange(column.size).repeat(200), np.random.default_rng(5))
    assert column.decodes_to(values)
    assert column.decodes_to(values.slice(0, 0))


@pytest.mark.slow
@pytest.mark.parametrize("column", FLOATS, ids=lambda c: c.name)
def test_no_number_carries_more_digits_than_are_released(column: Column) -> None:
    """One more bit in any cell, a sign of zero, a NaN: each could say something of the private rows."""
    values = column.decode(np.arange(column.size).repeat(20), np.random.default_rng(5)).drop_null().to_numpy()
    for other in (np.nextafter(values, np.inf), np.nextafter(values, -np.inf)):
        assert not any(column.decodes_to(pa.array(other[at : at + 1])) for at in range(len(other)))
    for odd in (np.nan, np.inf, -np.inf, -0.0):
        assert not column.decodes_to(pa.array([odd]))


@columns
def test_decoded_text_is_encoded_as_the_value(column: Column) -> None:
    values = column.decode(np.arange(column.size).repeat(3), np.random.default_rng(4))
    np.testing.assert_array_equal(column.encode(values.cast(pa.string())), column.encode(values))


@pytest.mark.parametrize("name", COLUMNS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_decoding_then_encoding_is_the_identity(name: str, data: st.DataObject) -> None:
    column = COLUMNS[name]
    codes = np.array(data.draw(st.lists(st.integers(0, column.size - 1), max_size=20)), dtype=np.int64)
    seed = data.draw(st.integers(0, 2**32))
    values = column.decode(codes, np.random.default_rng(seed))
    np.testing.assert_array_equal(column.encode(values), codes)


@pytest.mark.parametrize("name", COLUMNS)
@settings(max_examples=15, deadline=None)
@given(
    cells=st.lists(
        st.one_of(st.none(), st.floats().map(repr), st.text(max_size=8), st.dates().map(str), st.sampled_from(TEXTS))
    )
)
def test_encoding_ignores_the_other_rows(name: str, cells: list[str | None]) -> None:
    column = COLUMNS[name]
    whole = column.encode(pa.array(cells, pa.string()))
    alone = [int(column.encode(pa.array([cell], pa.string()))[0]) for cell in cells]
    assert whole.tolist() == alone


@columns
def test_labels_and_centres_have_one_entry_per_atom(column: Column) -> None:
    assert len(column.labels()) == len(set(column.labels())) == column.size
    centres = column.centres()
    assert centres.shape == (column.size,)
    if column.null is not None:
        assert np.isnan(centres[column.null])
    if column.ordered:
        legal = centres[~np.isnan(centres)]
        assert (np.diff(legal) > 0).all()


CELLED = {name: column for name, column in COLUMNS.items() if isinstance(column, Celled)}
celled = pytest.mark.parametrize("column", CELLED.values(), ids=CELLED)


@celled
def test_centres_lie_between_edges(column: Celled) -> None:
    edges, centres = column.edges(), column.centres()[: column.cell_count]
    assert edges.shape == (column.cell_count + 1,)
    assert (np.diff(edges) >= 0).all()
    assert (edges[:-1] <= centres).all()
    assert (centres <= edges[1:]).all()


@celled
def test_bounds_hold_all_that_is_decoded(column: Celled) -> None:
    lowest, highest = column.bounds()
    codes = np.arange(column.cell_count).repeat(20)
    values = column.decode(codes, np.random.default_rng(6))
    storage = {pa.date32(): pa.int32(), pa.float64(): pa.float64()}.get(values.type, pa.int64())
    numbers = values.cast(storage).to_numpy()
    assert (lowest[codes] <= numbers).all()
    assert (numbers <= highest[codes]).all()
    assert (highest[:-1] < lowest[1:]).all()


@columns
def test_codes_out_of_range_are_refused(column: Column) -> None:
    generator = np.random.default_rng(0)
    for codes in ([-1], [column.size]):
        with pytest.raises(ParameterError, match="codes must be from 0 to"):
            column.decode(np.array(codes), generator)
    for wrong in (np.zeros(2), np.zeros((1, 1), dtype=int)):
        with pytest.raises(ParameterError, match="codes must be integers"):
            column.decode(wrong, generator)
    assert len(column.decode(np.array([], dtype=int), generator)) == 0
