"""One public table, and every source that can hold it. It drives the conformance suite."""

import datetime
import gzip
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import adbc_driver_postgresql.dbapi
import duckdb
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pyreadstat

DAY, MOMENT = datetime.date, datetime.datetime
BERLIN = pa.timestamp("us", tz="Europe/Berlin")

SCHEMA = pa.schema(
    [
        ("whole", pa.int64()),
        ("unsigned", pa.uint64()),
        ("real", pa.float64()),
        ("single", pa.float32()),
        ("exact", pa.decimal128(38, 10)),
        ("flag", pa.bool_()),
        ("words", pa.string()),
        ("label", pa.dictionary(pa.int8(), pa.string())),
        ("day", pa.date32()),
        ("moment", pa.timestamp("us")),
        ("zoned", BERLIN),
        ("bytes", pa.binary()),
    ]
)
UTC = datetime.UTC
ROWS: list[tuple[Any, ...]] = [
    (
        *(-(2**63), 2**64 - 1, 0.1 + 0.2, 0.1, Decimal("1234567890123456789012345678.0123456789"), True),
        *('with , and "quotes"', "red", DAY(1, 1, 1), MOMENT(1, 1, 1), MOMENT(2020, 3, 29, 1, 30, tzinfo=UTC)),
        b"\xff\x00",
    ),
    (
        *(2**63 - 1, 0, -1e300, 3.0e38, Decimal("-0.0000000001"), False),
        *("", "green", DAY(9999, 12, 31), MOMENT(9999, 12, 31, 23, 59, 59, 999999)),
        *(MOMENT(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), b""),
    ),
    (None,) * 12,
    (
        *(0, 1, float("inf"), float("-inf"), Decimal(0), True),
        *(" naïve 日本 \u2028 ", "red", DAY(1970, 1, 1), MOMENT(2024, 2, 29, 12), MOMENT(2024, 2, 29, 12, tzinfo=UTC)),
        b"x",
    ),
    (7, 2**53 + 1, 5e-324, -0.0, Decimal("1.5"), None, "NULL", None, None, None, None, b"caf\xc3\xa9"),
]
TABLE = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in ROWS], schema=SCHEMA)
TEXT_TABLE = TABLE.drop_columns(["bytes"])  # what a CSV file can hold
OFFICE_TABLE = pa.table(  # what every spreadsheet and every statistics package can hold
    {
        "whole": pa.array([7, -(2**40), None, 0]),
        "real": pa.array([0.1, -1e30, 5e-30, None]),
        "words": pa.array(['with , and "quotes"', "NULL", None, "naïve 日本"]),
        "day": pa.array([DAY(1960, 1, 1), DAY(2024, 2, 29), None, DAY(2199, 12, 31)]),
        "moment": pa.array([MOMENT(2024, 2, 29, 12), MOMENT(1970, 1, 1, 0, 0, 1), None, MOMENT(2199, 12, 31, 23, 59)]),
        "last": pa.array([1.0, 2.0, 3.0, 4.0]),
    }
)


class Case(NamedTuple):
    """How to put the table somewhere, and what to give to `open_source`: its argument and its query."""

    name: str
    put: Callable[[Path, str], tuple[Any, str | None]]
    table: pa.Table = TABLE
    server: bool = False


def _csv(path: Path, table: pa.Table = TEXT_TABLE) -> Path:
    pyarrow.csv.write_csv(table, path)
    return path


def _gzip(folder: Path) -> Path:
    path = folder / "table.csv.gz"
    path.write_bytes(gzip.compress(_csv(folder / "table.csv").read_bytes()))
    return path


def _tsv(folder: Path) -> Path:
    path = folder / "table.tsv"
    pyarrow.csv.write_csv(TEXT_TABLE, path, pyarrow.csv.WriteOptions(delimiter="\t"))
    return path


def _parquet(path: Path, **options: Any) -> Path:
    pq.write_table(TABLE, path, **options)
    return path


def _feather(path: Path) -> Path:
    pyarrow.feather.write_feather(TABLE, path)
    return path


def _stream(path: Path) -> Path:
    with pa.ipc.new_stream(path, SCHEMA) as writer:
        writer.write_table(TABLE, max_chunksize=2)
    return path


def _parts(folder: Path) -> Path:
    _csv(folder / "part-0.csv", TEXT_TABLE.slice(0, 2))
    _csv(folder / "part-1.csv", TEXT_TABLE.slice(2).select(TEXT_TABLE.column_names[::-1]))
    (folder / "_SUCCESS").touch()
    return folder


def _duckdb(path: Path) -> Path:
    with duckdb.connect(path) as connection:
        connection.register("given", TABLE)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return path


def _relation() -> duckdb.DuckDBPyRelation:
    return duckdb.connect().from_arrow(TABLE)


def _sqlite(path: Path) -> Path:
    kinds = "integer, unsigned text, real real, single real, exact text, flag boolean, words text, label text, day date"
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE people (whole {kinds}, moment timestamp, zoned text, bytes blob)")
    cells = [[_for_sqlite(cell) for cell in row] for row in ROWS]
    connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * 12)})", cells)
    connection.commit()
    connection.close()
    return path


def _for_sqlite(cell: Any) -> Any:
    if isinstance(cell, Decimal):
        return f"{cell:f}"
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    return str(cell) if isinstance(cell, int) and cell >= 2**63 else cell


def _postgres(uri: str) -> str:
    kinds = "bigint, unsigned numeric, real float8, single float4, exact numeric(38, 10), flag boolean, words text"
    more = "label colour, day date, moment timestamp, zoned timestamptz, bytes bytea"
    cells = ", ".join(f"({', '.join(_for_postgres(cell) for cell in row)})" for row in ROWS)
    statements = (
        *("DROP TABLE IF EXISTS people", "DROP TYPE IF EXISTS colour", "CREATE TYPE colour AS ENUM ('red', 'green')"),
        *(f"CREATE TABLE people (whole {kinds}, {more})", f"INSERT INTO people VALUES {cells}"),
    )
    with adbc_driver_postgresql.dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
    return uri


def _for_postgres(cell: Any) -> str:
    if cell is None:
        return "NULL"
    if isinstance(cell, bytes):
        return f"'\\x{cell.hex()}'"
    if isinstance(cell, datetime.date):
        return f"'{cell.isoformat()}'"
    return "'" + str(cell).replace("'", "''") + "'"


def _excel(path: Path) -> Path:
    book = openpyxl.Workbook()
    for line in (OFFICE_TABLE.column_names, *zip(*OFFICE_TABLE.to_pydict().values(), strict=True)):
        book.active.append(line)
    book.save(path)
    return path


def _stat(path: Path) -> Path:
    frame = OFFICE_TABLE.to_pandas().astype({"whole": float, "words": object}).fillna({"words": ""})
    frame["day"] = pd.Series(OFFICE_TABLE["day"].to_pylist(), dtype=object)
    writers = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta, ".xpt": pyreadstat.write_xport}
    writers[path.suffix](frame, path)
    return path


def _objects() -> pd.DataFrame:
    """A frame of Python objects, as pandas makes of everything that it does not know."""
    return pd.DataFrame({name: pd.Series(TABLE[name].to_pylist(), dtype=object) for name in TEXT_TABLE.column_names})


CASES = [
    Case("csv", lambda folder, _: (_csv(folder / "table.csv"), None), TEXT_TABLE),
    Case("csv.gz", lambda folder, _: (_gzip(folder), None), TEXT_TABLE),
    Case("tsv", lambda folder, _: (_tsv(folder), None), TEXT_TABLE),
    Case("folder", lambda folder, _: (_parts(folder), None), TEXT_TABLE),
    Case("pattern", lambda folder, _: (str(_parts(folder) / "part-*.csv"), None), TEXT_TABLE),
    Case("list", lambda folder, _: (sorted(_parts(folder).glob("*.csv"), reverse=True), None), TEXT_TABLE),
    Case("parquet", lambda folder, _: (_parquet(folder / "table.parquet"), None)),
    Case("parquet, small groups", lambda folder, _: (_parquet(folder / "table.parquet", row_group_size=2), None)),
    Case(
        "parquet, plain", lambda folder, _: (_parquet(folder / "t.pq", use_dictionary=False, store_schema=False), None)
    ),
    Case("feather", lambda folder, _: (_feather(folder / "table.feather"), None)),
    Case("arrow stream file", lambda folder, _: (_stream(folder / "table.arrows"), None)),
    Case("pyarrow table", lambda folder, _: (TABLE, None)),
    Case("polars", lambda folder, _: (pl.from_arrow(TABLE), None)),
    Case("pandas, arrow types", lambda folder, _: (TABLE.to_pandas(types_mapper=pd.ArrowDtype), None)),
    Case("pandas, objects", lambda folder, _: (_objects(), None), TEXT_TABLE),
    Case("duckdb file", lambda folder, _: (_duckdb(folder / "table.duckdb"), "people")),
    Case("duckdb query", lambda folder, _: (_duckdb(folder / "table.db"), "SELECT * FROM people -- all;")),
    Case("duckdb relation", lambda folder, _: (_relation(), None)),
    Case("excel", lambda folder, _: (_excel(folder / "table.xlsx"), "Sheet"), OFFICE_TABLE),
    Case("spss", lambda folder, _: (_stat(folder / "table.sav"), None), OFFICE_TABLE),
    Case("stata", lambda folder, _: (_stat(folder / "table.dta"), None), OFFICE_TABLE),
    Case("sas", lambda folder, _: (_stat(folder / "table.xpt"), None), OFFICE_TABLE),
    Case("sqlite uri", lambda folder, _: (f"sqlite:///{_sqlite(folder / 'table')}", "people")),
    Case("sqlite file", lambda folder, _: (_sqlite(folder / "table.db"), "SELECT * FROM people;")),
    Case("postgresql table", lambda _, server: (_postgres(server), "people"), server=True),
    Case("postgresql query", lambda _, server: (_postgres(server), "SELECT * FROM people -- all"), server=True),
]
