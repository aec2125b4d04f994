"""data.parquet: one file for the rows of a table, which every program reads, and nothing else in it."""

import datetime
import io
import struct
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.bundle import data_parquet
from kernelease.bundle.data_parquet import is_writable, read_rows, write_rows
from kernelease.errors import BundleError

NOON = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)
CELLS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(max_size=5),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(datetime.UTC)),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Some columns, of values that repeat or do not, with NULLs or without."""
    rows = draw(st.integers(0, 40))
    arrays, fields = [], []
    for number, kind in enumerate(draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4))):
        nullable = draw(st.booleans())
        some = draw(st.lists(CELLS[kind], min_size=1, max_size=draw(st.sampled_from([1, 3, 40]))))
        cells = st.sampled_from([*some, None] if nullable else some)
        arrays.append(pa.array(draw(st.lists(cells, min_size=rows, max_size=rows)), kind))
        fields.append(pa.field(f"c{number}", kind, nullable))
    return pa.table(arrays, schema=pa.schema(fields))


@given(tables())
@settings(max_examples=60, deadline=None)
def test_rows_come_back_and_give_the_same_bytes(table: pa.Table) -> None:
    data = write_rows(table)
    again = read_rows(data)
    assert again.schema == table.schema
    assert again.to_pylist() == table.to_pylist()
    assert write_rows(again) == data


@pytest.fixture(scope="module")
def large() -> pa.Table:
    """Of several row groups, and of values that repeat in each of the ways that are told apart."""
    generator, rows = np.random.default_rng(0), 2**17 + 1001
    return pa.table(
        {
            "whole": generator.integers(0, 100, rows),
            "number": pa.array(generator.normal(size=rows), mask=generator.random(rows) < 0.1),
            "truth": pa.array(generator.random(rows) < 0.5, mask=generator.random(rows) < 0.1),
            "text": pa.array(generator.choice(["a", "Löß", ""], rows).tolist(), mask=generator.random(rows) < 0.1),
            "day": pa.array(generator.integers(0, 10_000, rows).astype(np.int32), pa.int32()).cast(pa.date32()),
            "instant": pa.array(generator.integers(0, 10**15, rows)).cast(pa.timestamp("us", "UTC")),
            "nothing": pa.array([None] * rows, pa.string()),
            "weight": np.full(rows, 1.0 / rows),
        }
    )


def test_other_programs_read_it(large: pa.Table, tmp_path) -> None:
    path = tmp_path / "data.parquet"
    path.write_bytes(write_rows(large))
    assert pq.read_table(path).equals(large)
    columns = ", ".join(name for name in large.column_names if name != "instant")
    found = duckdb.sql(f"SELECT {columns} FROM '{path}'").fetchall()
    assert found == list(zip(*(large.column(name).to_pylist() for name in columns.split(", ")), strict=True))


def test_values_that_repeat_take_few_bits(large: pa.Table) -> None:
    assert len(write_rows(large.select(["weight", "nothing"]))) < 2000
    assert len(write_rows(large.select(["whole"]))) < large.num_rows


def test_floats_keep_their_bits() -> None:
    cells = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, 5e-324] * 3)
    again = read_rows(write_rows(pa.table({"x": cells}))).column("x").to_numpy()
    assert again.tobytes() == cells.tobytes()


def test_nothing_but_the_rows_is_written() -> None:
    table = pa.table({"x": [1, 2, 2], "y": ["a", None, "b"]})
    noted = pa.schema([field.with_metadata({"a": "secret"}) for field in table.schema], {"b": "secret"})
    parts = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    assert write_rows(table.cast(noted)) == write_rows(parts) == write_rows(table)
    metadata = pq.ParquetFile(io.BytesIO(write_rows(table))).metadata
    assert metadata.metadata is None
    assert metadata.created_by == ""
    assert not metadata.row_group(0).column(0).is_stats_set


@pytest.mark.parametrize("kind", [pa.int32(), pa.timestamp("ns"), pa.timestamp("us", "CET"), pa.list_(pa.int64())])
def test_columns_that_a_bundle_can_t_hold(kind: pa.DataType) -> None:
    assert not is_writable(kind)
    with pytest.raises(BundleError, match=r"can't hold the column 'x': it is of type"):
        write_rows(pa.table({"x": pa.array([], kind)}))


def test_a_null_where_there_may_be_none() -> None:
    schema = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    with pytest.raises(BundleError, match=r"it has NULLs, and may have none"):
        write_rows(pa.table([pa.array([1, None])], schema=schema))


def test_more_text_than_a_page_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_parquet, "_LARGEST_PAGE", 10)
    with pytest.raises(BundleError, match="so much text"):
        write_rows(pa.table({"x": ["eleven letters"]}))


def _written(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **{"compression": "none", **options})
    return sink.getvalue()


def test_other_writers_files_are_read_unless_they_are_compressed() -> None:
    table = pa.table({"x": ["a", "b", "a"]})
    assert read_rows(_written(table)).equals(table)
    with pytest.raises(BundleError, match="is compressed"):
        read_rows(_written(table, compression="zstd"))


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + bytes(40) + b"PAR1", write_rows(pa.table({"x": [1]}))[:-9]])
def test_what_is_no_parquet(data: bytes) -> None:
    with pytest.raises(BundleError, match="can't be read as Parquet"):
        read_rows(data)


def test_a_table_that_claims_to_be_huge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_parquet, "LARGEST_TABLE", 5)
    with pytest.raises(BundleError, match="more than 5 cells"):
        read_rows(write_rows(pa.table({"x": [1, 2, 3], "y": [1, 2, 3]})))


def _with_footer(data: bytes, change: Callable[[Any], None]) -> bytes:
    """The file with its footer changed."""
    length = int.from_bytes(data[-8:-4], "little")
    footer = data_parquet._footer(data)
    change(footer)
    written = data_parquet._thrift(_to_write(footer))
    return data[: -8 - length] + written + struct.pack("<L", len(written)) + b"PAR1"


def _to_write(value: Any) -> Any:
    if isinstance(value, dict):
        return {number: _to_write(part) for number, part in sorted(value.items())}
    if isinstance(value, list):
        return [_to_write(part) for part in value]
    return value.decode() if isinstance(value, bytes) else value


HOSTILE: dict[str, Callable[[Any], Any]] = {
    "a group of fewer columns": lambda footer: footer[4][0][1].pop(),
    "a group of more columns": lambda footer: footer[4][0][1].append(footer[4][0][1][0]),
    "a column that is not described": lambda footer: footer[4][0][1][0].pop(3),
    "a column whose description is encrypted": lambda footer: footer[4][0][1][0].update({8: {2: {1: ["x"]}}}),
    "no columns at all": lambda footer: footer[2].clear(),
    "a group that is a list": lambda footer: footer[4].__setitem__(0, [data_parquet._I32(1)]),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_footers_for_which_arrow_would_end_the_process(change: Callable[[Any], Any]) -> None:
    honest = write_rows(pa.table({"x": [1, 2, 3], "y": ["a", "b", None]}))
    assert read_rows(_with_footer(honest, lambda _: None)).num_rows == 3
    with pytest.raises(BundleError, match=r"data\.parquet c"):
        read_rows(_with_footer(honest, change))


@pytest.mark.parametrize(
    "footer",
    [
        b"\x19\xf9\xff\xff\x03" + b"\xf9\xff\xff\x03" * 9,  # lists of lists of 65,535 each, in forty bytes
        b"\x19\xf1\xff\xff\x03",  # as many truth values, in none
        b"\x1c" * 100,  # structs within structs
        b"\x16" + b"\xff" * 11,  # a number without end
        b"\x1b\x00",  # a map
    ],
)
def test_footers_that_would_be_long_in_memory(footer: bytes) -> None:
    with pytest.raises(BundleError, match="can't be read as Parquet"):
        read_rows(b"PAR1" + footer + struct.pack("<L", len(footer)) + b"PAR1")


def test_text_that_is_short_in_the_file_and_long_in_memory() -> None:
    """A value of 100 kB that a million rows refer to: a hundred gigabytes, in a file of 225 kB."""
    coded = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**6, np.int32)), ["x" * 100_000])
    data = _written(pa.table({"x": coded}))
    assert len(data) < 1_000_000
    with pytest.raises(BundleError, match="bytes of text in one column"):
        read_rows(data)
