"""Databases: every type arrives, and what goes wrong says nothing about a row."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import duckdb
import pyarrow as pa
import pytest

from kernelease.errors import SchemaError, SourceError
from kernelease.sources import Source, open_source


def rows(source: Source) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for batch in source.batches(source.names()) for row in batch.to_pylist()]


def cell(data: Any, expression: str) -> Any:
    ((found,),) = rows(open_source(data, query=f"SELECT {expression} AS x"))
    return found


# PostgreSQL


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (
            "12345678901234567890123456789012345678901234567890.5::numeric",
            "12345678901234567890123456789012345678901234567890.5",
        ),
        ("7.00::numeric", "7"),  # as keys, 7 and 7.00 are one
        ("(-120.50)::numeric(9, 4)", "-120.5"),
        ("100::numeric", "100"),
        ("0.0::numeric", "0"),
        ("'NaN'::numeric", "NaN"),
        ("'Infinity'::numeric", "Infinity"),
        ("'$1,234.50'::money", "1234.50"),
        ("'ab'::char(5)", "ab"),
        ("'6f9619ff-8b86-d011-b42d-00c04fc964ff'::uuid", "6f9619ff-8b86-d011-b42d-00c04fc964ff"),
        ("'1 day 2 hours'::interval", "1 day 02:00:00"),
        ("'12:30'::time", "12:30:00"),
        ("'{\"a\": 1}'::jsonb", '{"a": 1}'),
        ("ARRAY[1, 2]", "{1,2}"),
        ("ROW(1, 'a')", "(1,a)"),
        ("'10.0.0.1'::inet", "10.0.0.1/32"),
        ("int4range(1, 5)", "[1,5)"),
        ("NULL", None),
        ("E'tab\\there'", "tab\there"),
    ],
)
def test_postgresql_types_that_arrive_as_text(expression: str, text: str, postgres: str) -> None:
    assert cell(postgres, expression) == text


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
def test_postgresql_infinities_keep_their_side(kind: str, postgres: str) -> None:
    assert str(cell(postgres, f"'infinity'::{kind}"))[:10] == "9999-12-31"
    assert str(cell(postgres, f"'-infinity'::{kind}"))[:10] == "0001-01-01"
    assert cell(postgres, f"NULL::{kind}") is None


def test_postgresql_dates_beyond_python(postgres: str) -> None:
    query = "SELECT '4713-01-01 BC'::date AS a, '294276-01-01'::timestamptz AS b"
    (batch,) = open_source(postgres, query=query).batches(["a", "b"])
    assert batch["a"].view(pa.int32()).to_pylist() == [-719162]
    assert batch["b"].view(pa.int64()).to_pylist() == [253402300799999999]


def test_postgresql_declarations(postgres: str) -> None:
    query = "SELECT 1::numeric(10, 2) AS a, 1::numeric AS b, 1::int2 AS c, 'x'::text AS d, now() AS e, 'x'::json AS f"
    declared = open_source(postgres, query=query.replace("'x'::json", "'1'::json")).declared_schema()
    assert declared is not None
    kinds = [str(kind) for kind in declared.types]
    assert kinds == ["decimal128(10, 2)", "double", "int16", "string", "timestamp[us, tz=UTC]", "string"]


def test_postgresql_columns_by_name(postgres: str) -> None:
    source = open_source(postgres, query='SELECT 1 AS "a ""b""", 2 AS "Straße"')
    assert [batch.to_pylist() for batch in source.batches(["Straße", 'a "b"'])] == [[{"Straße": 2, 'a "b"': 1}]]
    with pytest.raises(SchemaError, match="no column 'c'"):
        source.batches(["c"])
    with pytest.raises(SourceError, match="two columns of one name"):
        open_source(postgres, query="SELECT 1 AS a, 2 AS a")


def test_postgresql_rows_that_fail(postgres: str) -> None:
    source = open_source(postgres, query="SELECT ('secret' || i)::int AS x FROM generate_series(1, 3) AS i")
    with pytest.raises(SourceError, match="broke off") as caught:
        rows(source)
    assert "secret1" not in str(caught.value)


def test_postgresql_lost_connection(postgres: str) -> None:
    query = "SELECT i AS x, repeat('secret', 20) AS y FROM generate_series(1, 1000000) AS i -- of test_lost"
    batches = open_source(postgres, query=query).batches(["x", "y"])
    next(batches)
    _execute(
        postgres,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%test_lost' || chr(10) || '%'",
    )
    with pytest.raises(SourceError, match="connection was lost") as caught:
        list(batches)
    assert "repeat('secret'" in str(caught.value)  # the query is public
    assert "secretsecret" not in str(caught.value)


def _execute(uri: str, statement: str) -> None:
    with adbc_driver_postgresql.dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(statement)


def test_postgresql_queries_that_are_none(postgres: str) -> None:
    for query, sentence in (("no_such_table", "does not exist"), ("SELEC 1", "syntax error"), ("SELECT z", "column")):
        with pytest.raises(SourceError, match=f"can't be opened.*{sentence}"):
            open_source(postgres, query=query)


def test_postgresql_is_only_read(postgres: str) -> None:
    _execute(postgres, "CREATE SEQUENCE IF NOT EXISTS numbers")
    source = open_source(postgres, query="SELECT nextval('numbers') AS x")
    with pytest.raises(SourceError, match="broke off"):
        rows(source)


def test_postgresql_passwords_are_kept() -> None:
    with pytest.raises(SourceError, match=r"PostgreSQL at 127\.0\.0\.1/base can't be opened") as caught:
        open_source("postgresql://me:pass%2Fword@127.0.0.1:1/base", query="t")
    assert "me:" not in str(caught.value)
    assert "word" not in str(caught.value)
    with pytest.raises(SourceError, match="PostgreSQL") as caught:
        open_source("postgresql://me:word@[broken:1/base", query="t")
    assert "word" not in str(caught.value)


# SQLite


@pytest.fixture
def mixed(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A table whose cells have types of their own, as SQLite allows: ADBC alone would raise on it."""
    connection = sqlite3.connect(tmp_path / "mixed.sqlite")
    connection.execute("CREATE TABLE t (a INTEGER, b TEXT, c BLOB)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [(None, None, None)] * 3000 + [(1, "x", b"\xff")] * 3)
    connection.execute("INSERT INTO t VALUES ('secret', CAST(x'ff41' AS TEXT), 'text')")
    connection.execute("INSERT INTO t VALUES (1.5, 'nul' || char(0) || 'l', 7), (9e999, x'00ff', ''), (-0.0, '', x'')")
    connection.commit()
    yield connection
    connection.close()


def test_sqlite_cells_of_any_type(mixed: sqlite3.Connection, tmp_path: Path) -> None:
    found = rows(open_source(tmp_path / "mixed.sqlite", query="t", batch_rows=100))
    assert found[:3000] == [(None, None, None)] * 3000
    assert found[3000:3003] == [("1", "x", b"\xff")] * 3
    assert found[3003] == ("secret", "\ufffdA", b"text")
    assert found[3004] == ("1.5", "nul\x00l", b"7")
    assert found[3005:] == [("Inf", "\x00\ufffd", b""), ("0", "", b"")]


def test_sqlite_declarations(mixed: sqlite3.Connection, tmp_path: Path) -> None:
    mixed.execute(
        "CREATE TABLE u (a BIGINT, b VARCHAR(9), c DOUBLE, d BOOLEAN, e DATE, f DATETIME, g, h NUMERIC(5, 2))"
    )
    mixed.commit()
    declared = open_source(tmp_path / "mixed.sqlite", query="SELECT *, a + 1 AS i FROM u").declared_schema()
    assert declared is not None
    kinds = ["int64", "string", "double", "bool", "date32[day]", "timestamp[us]", "binary", "double", "string"]
    assert [str(kind) for kind in declared.types] == kinds


def test_sqlite_in_utf16(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "wide.db")
    connection.executescript(
        "PRAGMA encoding = 'UTF-16'; CREATE TABLE t (a, b TEXT); INSERT INTO t VALUES ('é日', 'ß')"
    )
    connection.close()
    assert rows(open_source(tmp_path / "wide.db", query="t")) == [("é日".encode(), "ß")]


def test_sqlite_is_only_read_and_noticed_when_it_changes(mixed: sqlite3.Connection, tmp_path: Path) -> None:
    path = tmp_path / "mixed.sqlite"
    source = open_source(f"sqlite:///{path}", query="SELECT * FROM t")
    before = path.read_bytes()
    assert len(rows(source)) == len(rows(source)) == 3007
    assert path.read_bytes() == before
    mixed.execute("DELETE FROM t")
    mixed.commit()
    with pytest.raises(SourceError, match="changed while it was read"):
        rows(source)


def test_sqlite_in_wal_mode_is_noticed_when_it_changes(mixed: sqlite3.Connection, tmp_path: Path) -> None:
    mixed.execute("PRAGMA journal_mode = WAL")
    mixed.execute("INSERT INTO t VALUES (1, 2, 3)")
    mixed.commit()
    source = open_source(tmp_path / "mixed.sqlite", query="t")
    assert len(rows(source)) == len(rows(source)) == 3008
    mixed.execute("DELETE FROM t")
    mixed.commit()
    with pytest.raises(SourceError, match="changed while it was read"):
        rows(source)


def test_sqlite_queries_that_are_none(mixed: sqlite3.Connection, tmp_path: Path) -> None:
    for query, sentence in (
        ("no_such", "no such table"),
        ("SELEC 1", "syntax error"),
        ("SELECT z FROM t", "no such column"),
    ):
        with pytest.raises(SourceError, match=f"can't be opened.*{sentence}"):
            open_source(tmp_path / "mixed.sqlite", query=query)


def test_sqlite_rows_that_fail(mixed: sqlite3.Connection, tmp_path: Path) -> None:
    source = open_source(tmp_path / "mixed.sqlite", query="SELECT json_extract(a, '$.x') AS x FROM t")
    with pytest.raises(SourceError, match="broke off") as caught:
        rows(source)
    assert "secret" not in str(caught.value)


def test_a_sqlite_name_that_is_not_utf8_is_damage(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        connection.execute("CREATE TABLE people (secretive text)")
    connection.close()
    content = (tmp_path / "t.sqlite").read_bytes()
    (tmp_path / "t.sqlite").write_bytes(content.replace(b"secretive", b"\xffecretive"))
    with pytest.raises(SourceError, match="can't be opened: it is damaged") as caught:
        open_source(tmp_path / "t.sqlite", query="people")
    assert "ecretive" not in str(caught.value)


def test_sqlite_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "t.sqlite").write_bytes(b"not a database, but long enough to be looked at " * 100)
    with pytest.raises(SourceError, match="can't be opened"):
        open_source(tmp_path / "t.sqlite", query="t")


# DuckDB


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS x, 'secret' || range AS y FROM range(100000)")
    return tmp_path / "t.duckdb"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("170141183460469231731687303715884105727::HUGEINT", "170141183460469231731687303715884105727"),
        ("18446744073709551615::UBIGINT", 18446744073709551615),
        ("'6f9619ff-8b86-d011-b42d-00c04fc964ff'::UUID", "6f9619ff-8b86-d011-b42d-00c04fc964ff"),
        ("INTERVAL 3 DAY", "3 days"),
        ("TIME '12:30:00'", "12:30:00"),
        ("'{\"a\": 1}'::JSON", '{"a": 1}'),
        ("[1, 2]", "[1, 2]"),
        ("{'a': 1}", "{'a': 1}"),
        ("[1.5::DECIMAL(3, 1)]", "[1.5]"),
        ("'101'::BIT", "101"),
        ("'b'::ENUM('a', 'b')", "b"),
        ("NULL", None),
    ],
)
def test_duckdb_types(expression: str, found: object, file: Path) -> None:
    assert cell(file, expression) == found


def test_duckdb_dates_out_of_range(file: Path) -> None:
    query = "SELECT 'infinity'::DATE AS a, '-infinity'::TIMESTAMPTZ AS b, '290000-01-01'::TIMESTAMP AS c"
    (batch,) = open_source(file, query=query).batches(["a", "b", "c"])
    assert batch["a"].view(pa.int32())[0].as_py() > 2**30
    assert batch["b"].view(pa.int64())[0].as_py() < -(2**62)
    assert batch["b"].type == pa.timestamp("us", tz="UTC")


def test_duckdb_declarations(file: Path) -> None:
    query = "SELECT 1::HUGEINT AS a, 1.5::DECIMAL(9, 2) AS b, 'a'::ENUM('a') AS c, [1] AS d, now() AS e"
    declared = open_source(file, query=query).declared_schema()
    assert declared is not None
    kinds = ["double", "decimal128(9, 2)", "string", "string", "timestamp[us, tz=UTC]"]
    assert [str(kind) for kind in declared.types] == kinds


def test_duckdb_rows_that_fail(file: Path) -> None:
    connection = duckdb.connect()
    for source in (
        open_source(file, query="SELECT y::INT AS x FROM t"),
        open_source(connection.sql("SELECT ('secret' || range)::INT AS x FROM range(9)")),
    ):
        with pytest.raises(SourceError, match="broke off") as caught:
            rows(source)
        assert "secret0" not in str(caught.value)
    connection.close()


def test_duckdb_relations_are_run_anew_and_leave_their_connection_free() -> None:
    with duckdb.connect() as connection:
        source = open_source(connection.sql("SELECT range AS x FROM range(100000)"), batch_rows=1000)
        batches = source.batches(["x"])
        next(batches)
        batches.close()  # type: ignore[attr-defined]  # it is a generator
        assert connection.sql("SELECT 1").fetchall() == [(1,)]
        assert len(rows(source)) == len(rows(source)) == 100_000


def test_duckdb_names_that_differ_by_case_only_are_two_columns() -> None:
    source = open_source(duckdb.sql('SELECT 1 AS a, 2 AS "A", 3::HUGEINT AS "a b"'))
    assert source.names() == ("a", "A", "a b")
    for wanted, found in ((["a", "A"], [(1, 2)]), (["A", "a"], [(2, 1)]), (["A"], [(2,)]), (["a b", "A"], [("3", 2)])):
        assert [tuple(row.values()) for batch in source.batches(wanted) for row in batch.to_pylist()] == found


def test_duckdb_queries_that_are_none(file: Path) -> None:
    for query, sentence in (
        ("no_such", "does not exist"),
        ("SELEC 1", "syntax"),
        ("SET a = 1", "syntax"),
        ("SELECT z FROM t", "not found"),
    ):
        with pytest.raises(SourceError, match=f"can't be opened.*{sentence}"):
            open_source(file, query=query)


def test_duckdb_is_only_read_and_noticed_when_it_changes(file: Path) -> None:
    source = open_source(file, query="t")
    assert len(rows(source)) == 100_000
    with duckdb.connect(file) as connection:
        connection.execute("DELETE FROM t WHERE x > 5")
    with pytest.raises(SourceError, match="changed while it was read"):
        rows(source)


def test_duckdb_files_that_are_none_or_taken(file: Path, tmp_path: Path) -> None:
    (tmp_path / "u.duckdb").write_bytes(b"not a database" * 1000)
    with pytest.raises(SourceError, match="can't be opened"):
        open_source(tmp_path / "u.duckdb", query="t")
    with duckdb.connect(file), pytest.raises(SourceError, match="give a relation instead"):
        open_source(file, query="t")


# All of them


@pytest.mark.parametrize("data", ["t.duckdb", "t.sqlite", "postgresql://nowhere/base"])
def test_a_database_needs_a_query(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("t.duckdb", "t.sqlite"):
        (tmp_path / name).touch()
    for query in (None, " ; "):
        with pytest.raises(SourceError, match="is a database: name the table"):
            open_source(data, query=query)


def test_what_is_no_database_needs_none(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a\n1\n")
    for data in (tmp_path / "t.csv", pa.table({"a": [1]})):
        with pytest.raises(SourceError, match="is for databases"):
            open_source(data, query="t")


@pytest.mark.parametrize(
    ("data", "module", "extra"),
    [
        ("postgresql://nowhere/base", "adbc_driver_postgresql.dbapi", "postgres"),
        ("t.sqlite", "adbc_driver_sqlite.dbapi", "sqlite"),
        ("t.duckdb", "duckdb", "duckdb"),
    ],
)
def test_engines_that_are_not_installed(
    data: str, module: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / data.removeprefix("postgresql://nowhere/")).touch()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SourceError, match=rf"pip install 'kernelease\[{extra}\]'"):
        open_source(data, query="t")


@pytest.mark.slow
def test_no_engine_is_imported_before_it_is_used() -> None:
    program = (
        "import sys, kernelease.sources, pyarrow as pa\n"
        "kernelease.sources.open_source(pa.table({'a': [1]}))\n"
        "assert not {'duckdb', 'adbc_driver_manager', 'pyreadstat', 'python_calamine'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
