"""A source as its schema declares it: names, spellings, formats; each cell by itself."""

import datetime
import math
import re
import warnings
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import kernelease as ke
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


APART = Schema.parse("""
[source]
decimal = ","
dates = ["%d/%m/%Y"]

[columns.start]
type = "date"
min = 2020-01-01
max = 2024-12-31

[columns.stay]
type = "integer"
from = "end"
minus = "start"
min = 0
max = 99
nullable = true

[columns.end]
type = "date"
computed = "start + stay"

[columns.until_paid]
type = "integer"
from = "paid"
minus = "end"
min = -9
max = 99
nullable = true

[columns.low]
type = "number"
min = 0
max = 9
decimals = 1

[columns.width]
type = "number"
from = "high"
minus = "low"
min = 0
max = 9
decimals = 1
""")


def test_a_difference_of_two_columns_is_read_row_by_row_as_the_one_that_is_taken_off() -> None:
    """Also from a column that is derived itself: that one is in the source, too. What can't be read is NULL."""
    cells = {
        "start": ["31/12/2021", "2021-01-01", "soon", None],
        "end": ["02/01/2022", "2021-01-01T23:00:00", "02/01/2022", "2021-01-01"],
        "paid": ["01/01/2022", "", "03/01/2022", "2021-01-02"],
        "low": ["1,5", "0,1", "1", "1"],
        "high": ["4,0", "0,4", "x", "1e999"],
    }
    source = open_declared(pa.table(cells), APART)
    (batch,) = source.batches(["stay", "until_paid", "width"])
    assert batch.column("stay").to_pylist() == [2.0, 0.0, None, None]
    assert batch.column("until_paid").to_pylist() == [-1.0, None, 1.0, 1.0]
    assert batch.column("width").to_pylist() == [2.5, pytest.approx(0.3), None, math.inf]
    assert Encoder(APART).encode(next(source.batches(APART.names)))[:, 1].tolist() == [2, 0, 100, 100]


@pytest.mark.parametrize("cells", [["-1e308", "1,5"], [-1e308, 1.5]], ids=["texts", "numbers"])
def test_numbers_too_far_apart_for_a_float_warn_of_nothing(cells: list[str] | list[float]) -> None:
    """A warning would tell that there are such cells."""
    high = ["1e308", "4,0"] if isinstance(cells[0], str) else [1e308, 4.0]
    source = open_declared(pa.table({"low": cells, "high": high}), Schema(APART.columns[3:], source=APART.source))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (batch,) = source.batches(["width"])
    assert batch.column("width").to_pylist() == [math.inf, 2.5]


def test_instants_are_seconds_apart_and_what_is_not_read_as_text_is_the_same() -> None:
    text = '[columns.a]\ntype = "datetime"\nmin = 2024-01-01T00:00:00\nmax = 2024-12-31T00:00:00\n'
    schema = Schema.parse(f'{text}[columns.took]\ntype = "number"\nfrom = "b"\nminus = "a"\nmin = 0\nmax = 99\n')
    moments = [datetime.datetime(2024, 3, 1), datetime.datetime(2024, 3, 1, 0, 0, 1, 500_000)]
    for one, other in (moments, [moment.isoformat() for moment in moments]):
        (batch,) = open_declared(pa.table({"a": [one], "b": [other]}), schema).batches(["took", "a"])
        assert batch.column("took").to_pylist() == [1.5]


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=9), st.data())
def test_a_difference_depends_on_its_own_row_alone(rows: list[tuple[str | None, ...]], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(rows) - 1))
    other = [*rows[:place], (None, None), *rows[place + 1 :]]

    def apart(cells: list[tuple[str | None, ...]]) -> list[list[float | None]]:
        named = {"start": 0, "end": 1, "paid": 0, "low": 0, "high": 1}
        given = pa.table({name: pa.array([row[i] for row in cells], pa.string()) for name, i in named.items()})
        (batch,) = open_declared(given, APART).batches(["stay", "width"])
        return [batch.column(i).to_pylist() for i in range(2)]

    for before, after in zip(apart(rows), apart(other), strict=True):
        assert after[place] is None
        assert before[:place] + before[place + 1 :] == after[:place] + after[place + 1 :]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('minus = "start"', "minus needs from, the column of the source that 'start' is taken off"),
        ('from = "end"\nminus = "strat"', "there is no column 'strat'. Did you mean start?"),
        ('from = "end"\nminus = 3', "minus must be the name of a column of the schema, got 3"),
        ('from = "end"\nminus = "ward"', "'ward' must be a number, a date or a datetime of the source itself"),
        ('from = "end"\nminus = "stay"', "'stay' must be a number, a date or a datetime of the source itself"),
    ],
)
def test_a_difference_that_can_not_be_is_refused_in_words(lines: str, told: str) -> None:
    text = '[columns.start]\ntype = "date"\nmin = 2020-01-01\nmax = 2024-12-31\n[columns.ward]\ntype = "boolean"\n'
    with pytest.raises(SchemaError, match=re.escape(told)):
        Schema.parse(f'{text}[columns.stay]\ntype = "integer"\nmin = 0\nmax = 9\n{lines}\n')


@pytest.mark.parametrize("most", [99, 9_000])
def test_a_release_keeps_how_far_two_dates_are_apart(most: int, tmp_path: Path) -> None:
    """The later date follows in every row, also where numbers are many, and are looked at before they are counted."""
    draws = np.random.default_rng(0)
    start = np.datetime64("2020-01-01") + draws.integers(0, 1_500, 4_000)
    stay = draws.geometric(0.2, 4_000) - 1
    rows = pa.table({"start": start, "end": start + stay})
    text = APART.to_toml().split("[columns.until_paid]")[0].partition("[columns.start]")
    schema = Schema.parse("".join(text[1:]).replace("nullable = true\n", "").replace("99", str(most)))
    release = ke.release(rows, schema=schema, privacy=(3.0, 1e-6), out=tmp_path / "b", noise=ke.SeededNoise(0))
    made = release.table
    apart = (made.column("end").to_numpy() - made.column("start").to_numpy()).astype(np.int64)
    assert (apart == made.column("stay").to_numpy()).all()
    assert abs(float(np.average(apart, weights=made.column("weight").to_numpy())) - stay.mean()) < 1.0
    assert ke.load(tmp_path / "b").schema == schema


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
