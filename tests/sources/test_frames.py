"""Data frames and Arrow streams: no cell makes them raise."""

import datetime
import decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kernelease.errors import ParameterError, PrivacyError, SourceError
from kernelease.noises import SeededNoise
from kernelease.pipeline import measure
from kernelease.seeds import PublicSeed
from kernelease.sources import Source, open_source
from kernelease.sources.private_rows import by_cells, private_table, private_vectors
from kernelease.sources.source import DeclaredSource
from kernelease.table import Schema
from kernelease.table.parsing import identities


def column(data: Any, **how: Any) -> list[Any]:
    return [cell for batch in open_source(data, **how).batches(["x"]) for cell in batch["x"].to_pylist()]


HOSTILE = [
    *("text", "\ud800", "", 7, 10**5000, -1.5, float("nan"), float("inf"), None, True, np.int8(3), np.float32(0.5)),
    *(b"caf\xe9", decimal.Decimal("1.50"), decimal.Decimal("NaN"), datetime.date(1, 1, 1), datetime.time(1)),
    *(datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC), pd.NaT, pd.NA),
    *(np.datetime64("NaT", "s"), [1], {}, object()),
]
AS_TEXT = [
    *("text", "?", "", "7", None, "-1.5", None, "inf", None, "true", "3", "0.5"),
    *("caf\ufffd", "1.5", None, "0001-01-01", None, "2020-01-01T12:00:00+00:00", *[None] * 6),
]


@pytest.mark.parametrize("batch_rows", [1, 5, 100])
def test_objects_become_text_one_by_one(batch_rows: int) -> None:
    assert column(pd.DataFrame({"x": pd.Series(HOSTILE, dtype=object)}), batch_rows=batch_rows) == AS_TEXT


def raising(kind: type, *methods: str) -> type:
    """A subclass whose methods raise, in words that must stay unsaid."""

    def hostile(*_: object, **__: object) -> Any:
        raise RuntimeError("secret")

    return type(f"Hostile{kind.__name__}", (kind,), dict.fromkeys(methods, hostile))


COMPARED = ("__eq__", "__ne__", "__lt__", "__bool__", "__hash__", "__str__", "__repr__", "__format__")
HOSTILE_CELLS = {
    "str": lambda: raising(str, *COMPARED, "encode", "__len__", "__iter__")("text"),
    "bytes": lambda: raising(bytes, *COMPARED, "decode")(b"text"),
    "int": lambda: raising(int, *COMPARED, "__int__", "__index__", "__abs__", "__float__")(7),
    "float": lambda: raising(float, *COMPARED, "__float__", "is_integer")(7.5),
    "Decimal": lambda: raising(decimal.Decimal, *COMPARED, "is_nan")(7),
    "date": lambda: raising(datetime.date, *COMPARED, "isoformat")(2020, 1, 1),
    "datetime": lambda: raising(datetime.datetime, *COMPARED, "isoformat", "astimezone")(2020, 1, 1),
    "a date that is no text": lambda: type("Odd", (datetime.date,), {"isoformat": lambda _: ["secret"]})(2020, 1, 1),
    "no class": type("Fake", (), {"__class__": property(lambda _: 1 / 0)}),
}


@pytest.mark.parametrize("kind", HOSTILE_CELLS)
def test_cells_whose_methods_raise_are_cells(kind: str) -> None:
    cells = np.array([None, None], dtype=object)
    cells[1] = HOSTILE_CELLS[kind]()
    none, said = column(pd.DataFrame({"x": pd.Series(cells, dtype=object)}))
    assert none is None
    assert said == ("text" if kind in ("str", "bytes") else None)


@pytest.mark.parametrize(
    ("series", "cells"),
    [
        (pd.Series([1, None], dtype="Int64"), [1, None]),
        (pd.Series([2**64 - 1], dtype="uint64"), [2**64 - 1]),
        (pd.Series([1.5, None]), [1.5, None]),
        (pd.Series([True, None], dtype="boolean"), [True, None]),
        (pd.Series([True, False]), [True, False]),
        (pd.Series(["a", None], dtype="string"), ["a", None]),
        (pd.Series(["a", "b"]), ["a", "b"]),
        (pd.Series(["a", 1, None], dtype="category"), ["a", "1", None]),
        (pd.Series([3, 1, 3], dtype="category"), [3, 1, 3]),
        (pd.Series([], dtype="float64"), []),
        (pd.Series([1 + 2j]), [None]),
        (pd.Series([pd.Period("2020-01"), None]), [None, None]),
        (pd.Series([pd.Interval(0, 1)]), [None]),
        (pd.Series([0, 1], dtype=pd.SparseDtype(int)), ["0", "1"]),
        (pd.Series([[1], None], dtype=pd.ArrowDtype(pa.list_(pa.int8()))), [[1], None]),
        (pd.Series(pd.to_datetime(["2020-03-29 01:30", None])), [datetime.datetime(2020, 3, 29, 1, 30), None]),
    ],
    ids=lambda value: str(value.dtype) if isinstance(value, pd.Series) else "",
)
def test_pandas_types(series: pd.Series, cells: list[object]) -> None:
    assert column(pd.DataFrame({"x": series})) == cells


COLUMNS = {
    "digits": 'type = "category"\nvalues = ["1", "2", "9.5"]\nother = true',
    "digits and a point": 'type = "category"\nvalues = ["1.0", "2.0", "9.50"]\nother = true',
    "leading zeros": 'type = "hierarchy"\nvalues = ["01", "02", "11"]\nprefix = 1\nother = true',
    "whole numbers": 'type = "ordinal"\nvalues = [0, 1, 2, 9]\nnullable = true',
    "flags": 'type = "category"\nvalues = ["False", "True"]\nother = true',
    "yes or no": 'type = "boolean"\nnullable = true',
    "integer": 'type = "integer"\nmin = 0\nmax = 9\nnullable = true',
    "number": 'type = "number"\nmin = 0.0\nmax = 9.0\ncells = 9\nnullable = true',
    "text": 'type = "string"\nmax_length = 5\nvalues = ["1", "2"]',
    "date": 'type = "date"\nmin = 1969-01-01\nmax = 1971-01-01\nnullable = true',
    "instant": 'type = "datetime"\nmin = 1969-01-01T00:00:00\nmax = 1971-01-01T00:00:00\nresolution = 60'
    "\nnullable = true",
}
INSTANTS = ["1970-01-01 00:00:00.123456", "1970-06-01 12:34:56", "1969-12-31 23:59:59.999999"]
OF_ONE_TYPE = {
    "integers": pd.Series([1, 2, 9, 5]),
    "floats": pd.Series([1.0, 2.0, 9.5, np.nan, -0.0, 1e22, np.inf]),
    "short floats": pd.Series([1.0, 2.0, 0.1], dtype="float32"),
    "integers or none": pd.Series([1, 2, None], dtype="Int64"),
    "flags": pd.Series([True, False]),
    "flags or none": pd.Series([True, False, None], dtype="boolean"),
    "categories": pd.Series([1.0, 2.0, np.nan]).astype("category"),
    "decimals": pd.Series([decimal.Decimal("9.50"), decimal.Decimal("2.00")], dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
    "instants": pd.to_datetime(pd.Series(INSTANTS), format="ISO8601"),
    "zoned instants": pd.to_datetime(pd.Series(INSTANTS), format="ISO8601").dt.tz_localize("Asia/Tokyo"),
}


@pytest.mark.parametrize("own", OF_ONE_TYPE)
def test_a_cell_is_the_same_in_a_column_of_its_type_and_among_objects(own: str) -> None:
    """One text, or one flag that is missing, makes a column one of objects: it must not change others."""
    alone, among = OF_ONE_TYPE[own], pd.concat([OF_ONE_TYPE[own].astype(object), pd.Series(["x"], dtype=object)])
    for name, declaration in COLUMNS.items():
        schema = Schema.parse(f"[columns.x]\n{declaration}")
        typed, objects = (
            private_table(pd.DataFrame({"x": cells}), schema, seed=PublicSeed(0)).array() for cells in (alone, among)
        )
        assert objects[:-1].tolist() == typed.tolist(), name
    if own != "zoned instants":  # among objects they keep their zone: as text, they are other keys
        typed, objects = (
            [
                keys[place]
                for batch in open_source(pd.DataFrame({"x": cells})).batches(["x"])
                for places, keys in [identities(batch["x"])]
                for place in places
            ]
            for cells in (alone, among)
        )
        assert objects[:-1] == typed


NOTATION = """
    [source]
    decimal = ","
    thousands = "."
    dates = ["%Y-%d-%m"]
    [columns.x]
    type = "number"
    from = "number"
    min = 0.0
    max = 2000.0
    cells = 100
    nullable = true
    [columns.day]
    type = "date"
    min = 2020-01-01
    max = 2020-12-31
    nullable = true
    [columns.later]
    type = "number"
    from = "later"
    minus = "day"
    min = -366.0
    max = 366.0
"""


def test_a_notation_is_of_cells_that_are_text() -> None:
    """1.5 is no text in the owner's notation, nor is a date, where another cell makes their columns ones of objects."""
    schema, days = Schema.parse(NOTATION), pd.to_datetime(pd.Series(["2020-01-02", "2020-03-04", "2020-12-11"]))
    alone = pd.DataFrame({"number": [1.5, 1000.25, np.inf], "day": days, "later": days[::-1].reset_index(drop=True)})
    text = pd.DataFrame({"number": ["1.000,25"], "day": ["2020-04-03"], "later": ["2020-05-03"]}, dtype=object)
    among = pd.concat([alone.astype(object), text], ignore_index=True)
    typed, objects = (private_table(rows, schema, seed=PublicSeed(0)).array().tolist() for rows in (alone, among))
    assert objects[:3] == typed
    assert objects[3][:2] == typed[1][:2]
    source = DeclaredSource.of(open_source(among), schema)
    usual = Schema.parse('[columns.number]\ntype = "number"\nmin = 0.0\nmax = 9.0')
    assert DeclaredSource.of(source, schema) is source
    (batch,) = DeclaredSource.of(source, usual).batches(["number"])
    assert batch["number"].to_pylist()[3] == "1.000,25"


def test_zones_become_utc() -> None:
    instant = datetime.datetime(2020, 3, 29, 0, 30, tzinfo=datetime.UTC)
    zoned = pd.Series(pd.to_datetime(["2020-03-29 01:30", None])).dt.tz_localize("Europe/Berlin")
    assert column(pd.DataFrame({"x": zoned})) == [instant, None]
    assert column(pa.table({"x": pa.array([instant, None], pa.timestamp("ms", tz="Europe/Berlin"))})) == [instant, None]
    assert column(pl.DataFrame({"x": [instant, None]})) == [instant, None]


def test_a_frame_declares_what_its_dtypes_say() -> None:
    frame = pd.DataFrame({"a": [1], "b": ["x"], "c": pd.Series(["x"], dtype="category"), 7: [1.5]})
    declared = open_source(frame).declared_schema()
    assert declared.names == ["a", "b", "c", "7"]
    assert [str(kind) for kind in declared.types] == ["int64", "large_string", "large_string", "double"]


def test_names_must_differ() -> None:
    with pytest.raises(SourceError, match="two columns of one name"):
        open_source(pd.DataFrame([[1, 2]], columns=[1, "1"]))


def test_arrow_types_become_plain() -> None:
    long = ["a" * 20, "b" * 20, None] * 3
    views = pa.array(long, pa.string_view())
    assert column(pa.table({"x": views})) == long
    assert column(pa.table({"x": pa.array([b"\xff"], pa.binary_view())})) == [b"\xff"]
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()), pa.array(["p", None]))
    assert column(pa.table({"x": runs}), batch_rows=2) == ["p", "p", None, None, None]
    identifier = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)], pa.binary(16)))
    assert column(pa.table({"x": identifier})) == [bytes(16)]
    assert column(pa.table({"x": pa.nulls(2)})) == [None, None]


def test_text_that_is_not_utf8_is_repaired_wherever_it_stands() -> None:
    broken = pa.array([b"ok", b"caf\xe9", None], pa.binary()).view(pa.string())
    large = pa.array([b"ok", b"caf\xe9", None], pa.large_binary()).view(pa.large_string())
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), broken)
    for array in (broken, large, dictionary):
        assert column(pa.table({"x": array})) == ["ok", "caf\ufffd", None]


NO_UTF8 = pa.chunked_array([pa.array([b"ok", b"caf\xe9", None], pa.large_binary()).view(pa.large_string())])
OF_ARROW = {
    "string": pd.Series(pd.arrays.ArrowStringArray(NO_UTF8)),
    "ArrowDtype": pd.Series(pd.arrays.ArrowExtensionArray(NO_UTF8)),
}


@pytest.mark.parametrize("kind", OF_ARROW)
def test_pandas_text_that_is_not_utf8_is_repaired_without_python_having_it(kind: str) -> None:
    """Python would refuse to have the text, in a message that says it."""
    assert column(pd.DataFrame({"x": OF_ARROW[kind]})) == ["ok", "caf\ufffd", None]


TIMES = pa.array([0, 2**60, None], pa.int64()).view(pa.time64("us"))  # no hour of a day
IN_ARROW = {
    "Arrow": pa.table({"x": [1.0, None, 3.0], "y": NO_UTF8, "z": TIMES}),
    "a batch": pa.record_batch({"x": [1.0, None, 3.0], "y": NO_UTF8.chunk(0), "z": TIMES}),
    **{
        f"pandas {kind}": pd.DataFrame(
            {
                "x": [1.0, np.nan, 3.0],
                "y": text,
                "z": pd.arrays.ArrowExtensionArray(pa.chunked_array([TIMES])),
            }
        )
        for kind, text in OF_ARROW.items()
    },
}


@pytest.mark.parametrize("kind", IN_ARROW)
def test_rows_of_vectors_in_arrow_are_read_cell_by_cell(kind: str) -> None:
    """NumPy would raise for one of them, and say which."""
    rows = private_vectors(IN_ARROW[kind]).array()
    assert rows[:, 1:].tolist() == [["ok", datetime.time(0)], ["caf\ufffd", None], [None, None]]
    assert np.array_equal(rows[:, 0].astype(float), [1.0, np.nan, 3.0], equal_nan=True)


def test_numbers_in_arrow_are_numbers_of_numpy() -> None:
    table = pa.table({"x": [1, None, 3], "y": pa.chunked_array([[0.5], [1.5, 2.5]])})
    assert np.array_equal(private_vectors(table).array(), [[1, 0.5], [np.nan, 1.5], [3, 2.5]], equal_nan=True)


@pytest.mark.parametrize("labels", [NO_UTF8, NO_UTF8.chunk(0), *OF_ARROW.values()], ids=["chunks", "array", *OF_ARROW])
def test_labels_in_arrow_are_read_cell_by_cell(labels: Any) -> None:
    assert by_cells(labels).tolist() == ["ok", "caf\ufffd", None]
    given = {"labels": labels, "classes": ("ok", "no"), "privacy": (1.0, 1e-6), "noise": SeededNoise(0)}
    assert measure(np.eye(3), **given).measured.rows == 3.0


def test_dictionaries_are_no_longer_than_their_batch() -> None:
    words = pa.array([f"word {i}" for i in range(1000)])
    array = pa.DictionaryArray.from_arrays(pa.array([999, None, 3, 999]), words)
    (batch,) = open_source(pa.table({"x": array})).batches(["x"])
    assert batch["x"].to_pylist() == ["word 999", None, "word 3", "word 999"]
    assert len(batch["x"].dictionary) == 2


def test_polars_categories_and_large_frames() -> None:
    frame = pl.DataFrame({"x": pl.Series(["a", "b", None] * 10_000, dtype=pl.Categorical)})
    assert column(frame, batch_rows=1000) == ["a", "b", None] * 10_000


def test_a_reader_is_read_once() -> None:
    source = open_source(pa.table({"x": [1, 2]}).to_reader())
    assert source.names() == ("x",)
    assert [batch.num_rows for batch in source.batches(["x"])] == [2]
    with pytest.raises(SourceError, match="can be read only once"):
        next(source.batches(["x"]))


def test_a_stream_that_breaks_off_says_nothing_about_its_rows() -> None:
    schema = pa.schema([("x", pa.int64())])

    def batches() -> Any:
        yield pa.RecordBatch.from_pylist([{"x": 1}], schema)
        raise OSError("secret")

    class Stream:
        def __arrow_c_stream__(self, requested: object = None) -> object:
            return pa.RecordBatchReader.from_batches(schema, batches()).__arrow_c_stream__(requested)

    source = open_source(Stream())
    with pytest.raises(SourceError, match="broke off") as caught:
        list(source.batches(["x"]))
    assert "secret" not in str(caught.value)


def test_a_stream_that_does_not_open() -> None:
    class Stream:
        def __arrow_c_stream__(self, requested: object = None) -> object:
            raise NotImplementedError("secret")

    with pytest.raises(SourceError, match="can't be opened"):
        open_source(Stream())


def test_a_source_keeps_its_rows_to_itself() -> None:
    source = open_source(pd.DataFrame({"x": ["secret"]}))
    assert repr(source) == "<PandasFrame: pandas DataFrame; private>"
    assert bool(source)
    for attempt in (len, iter, lambda it: it.__reduce_ex__(4)):
        with pytest.raises(PrivacyError):
            attempt(source)
    assert open_source(source) is source


@pytest.mark.parametrize("batch_rows", [0, 2**18 + 1])
def test_batches_have_a_bound(batch_rows: int) -> None:
    with pytest.raises(ParameterError, match="batch_rows must be from 1 to"):
        open_source(pa.table({"x": [1]}), batch_rows=batch_rows)


@pytest.mark.parametrize("columns", [[], ["x", "x"]])
def test_columns_are_named_once(columns: list[str]) -> None:
    source: Source = open_source(pa.table({"x": [1], "y": [2]}))
    with pytest.raises(ParameterError, match="named once each, at least one"):
        source.batches(columns)


def test_a_table_without_columns_has_no_names() -> None:
    assert open_source(pa.table({})).names() == ()
