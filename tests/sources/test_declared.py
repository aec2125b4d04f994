"""A source as its schema declares it: names, spellings, formats; each cell by itself."""

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelease.errors import SchemaError, SourceError
from kernelease.seeds import PublicSeed
from kernelease.sources import CsvFormat, open_declared, open_source
from kernelease.sources.private_rows import private_table
from kernelease.sources.source import DeclaredSource, check_columns
from kernelease.table import Schema
from kernelease.table.encode import Encoder

SCHEMA = Schema.parse("""
[source]
decimal = ","
thousands = "."
dates = ["%d/%m/%Y", "%d.%m.%Y"]

[columns.kilos]
type = "number"
from = "weight"
min = 0
max = 2000

[columns.day]
type = "date"
min = 2020-01-01
max = 2024-12-31

[columns.note]
type = "string"
max_length = 9
""")
CELL = st.one_of(st.none(), st.text("0123456789.,/- e", max_size=12), st.sampled_from(["1.234,5", "31/12/2021"]))
ROW = st.tuples(CELL, CELL, CELL)


def table(rows: list[tuple[str | None, ...]]) -> pa.Table:
    names = ("weight", "day", "note")
    return pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(names)})


def codes(rows: list[tuple[str | None, ...]]) -> list[list[int]]:
    batches = open_declared(table(rows), SCHEMA).batches(SCHEMA.names)
    return [row for batch in batches for row in Encoder(SCHEMA).encode(batch).tolist()]


@pytest.mark.slow
@given(st.lists(ROW, min_size=1, max_size=12), st.data())
def test_one_row_changed_changes_one_row(rows: list[tuple[str | None, ...]], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(rows) - 1))
    other = [*rows[:place], data.draw(ROW), *rows[place + 1 :]]
    before, after = codes(rows), codes(other)
    assert len(before) == len(after) == len(rows)
    assert [row for i, row in enumerate(before) if i != place] == [row for i, row in enumerate(after) if i != place]


def test_cells_are_rewritten_by_the_type_of_their_column() -> None:
    source = open_declared(table([("1.234,5", "31.12.2021", "1.234,5")]), SCHEMA)
    (batch,) = source.batches(SCHEMA.names)
    assert batch.to_pylist() == [{"kilos": "1234.5", "day": "2021-12-31", "note": "1.234,5"}]
    assert source.names() == ("kilos", "day", "note")
    assert source.declared_schema() == pa.schema([(name, pa.string()) for name in source.names()])
    assert open_declared(source, SCHEMA) is source
    assert "weight" in repr(check_names(source))


def check_names(source: DeclaredSource) -> tuple[str, ...]:
    return source.inner.names()


def test_a_column_of_the_new_name_is_hidden() -> None:
    schema = Schema.parse('[columns.a]\ntype = "boolean"\nfrom = "b"\n')
    source = open_declared(pa.table({"a": [True], "b": [False]}), schema)
    assert source.names() == ("a",)
    assert [batch.to_pylist() for batch in source.batches(["a"])] == [[{"a": False}]]


def test_missing_columns_are_told_by_their_name_in_the_source(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="column 'kilos': the source has no column 'weight'"):
        check_columns(open_declared(pa.table({"kilos": ["1"], "day": ["x"], "note": ["x"]}), SCHEMA), SCHEMA)
    (tmp_path / "t.csv").write_bytes("weight;day;größe\n1;2;3\n".encode("latin-1"))
    with pytest.raises(SchemaError, match=r"one cell with ';' in it: give --separator.*not in utf-8: give --encoding"):
        check_columns(open_declared(tmp_path / "t.csv", SCHEMA), SCHEMA)
    for name in ("a.tsv", "b.tsv"):
        (tmp_path / name).write_text("weight,day,note\n1,2,3\n")
    with pytest.raises(SchemaError, match="one cell with ',' in it"):
        check_columns(open_declared(tmp_path / "*.tsv", SCHEMA), SCHEMA)


def test_an_open_file_must_be_written_as_declared(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sick\nyes\n")
    schema = Schema.parse('[source]\nseparator = ";"\n[columns.sick]\ntype = "boolean"\n')
    with pytest.raises(SchemaError, match='opened with separator = "None", and the schema means ";"'):
        open_declared(open_source(tmp_path / "t.csv"), schema)
    opened = open_source(tmp_path / "t.csv", csv=CsvFormat(separator=";"))
    assert open_declared(opened, schema) is opened
    with pytest.raises(SchemaError, match='separator = ";" is for CSV files'):
        open_declared(pa.table({"sick": [True]}), schema)


def test_a_database_does_not_count_what_is_renamed() -> None:
    relation = duckdb.sql("SELECT 1 AS b")
    schema = Schema.parse('[columns.a]\ntype = "boolean"\nfrom = "b"\n')
    with pytest.raises(SourceError, match="Do that in the query"):
        private_table(relation, schema, seed=PublicSeed(0), push_down=True)


@pytest.mark.parametrize(
    ("quote", "body", "expected"),
    [
        ("'", b"a,b\n'1, 2','it''s'\n\"x,y\n", [("1, 2", "it's"), ('"x', "y")]),
        ("", b'a,b\n"1,2"\n\'x,y\n', [('"1', '2"'), ("'x", "y")]),
        ("'", b"a,b\n'1\n2',3\n4,'5\n", [("1\n2", "3"), ("4", "5\n")]),
    ],
)
def test_other_quotes(quote: str, body: bytes, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(body)
    source = open_source(tmp_path / "t.csv", csv=CsvFormat(quote=quote))
    assert [tuple(row.values()) for batch in source.batches(source.names()) for row in batch.to_pylist()] == expected
