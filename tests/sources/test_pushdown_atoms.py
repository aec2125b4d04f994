"""Cell by cell: the code that SQL gives is the code that `Column.encode` gives to the same cell of the same source."""

import datetime
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import adbc_driver_postgresql.dbapi
import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from kernelease.errors import SchemaError
from kernelease.sources import open_source, pushdown
from kernelease.sources.databases import PostgresqlDialect, smallest_of_cells
from kernelease.sources.duck import DuckDialect
from kernelease.sources.sql import Dialect, Refusal
from kernelease.table import Category, Column, Date, Datetime, Integer, Number
from kernelease.table.parsing import NUMBER
from tests.sources.pushdown_cases import (
    COLUMNS,
    DAYS,
    FAR_DAYS,
    FLAGS,
    HALVES,
    LISTS,
    MOMENTS,
    NUMBER_TEXTS,
    NUMBERS,
    ODD_TEXTS,
    TIMES,
    numbers,
)

pytestmark = pytest.mark.slow

DUCK_NUMBERS = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT"),
    *("UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL(9,2)", "DECIMAL(15,7)", "DECIMAL(18,3)", "DECIMAL(38,10)"),
)
DUCK_TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
DUCK = {
    **dict.fromkeys(DUCK_NUMBERS, NUMBERS + LISTS + FLAGS),
    **dict.fromkeys(DUCK_TIMES, TIMES),
    **{"BOOLEAN": COLUMNS, "VARCHAR": NUMBERS + LISTS + FLAGS, "ENUM": NUMBERS + LISTS + FLAGS},
    **{kind: [] for kind in ("BLOB", "UUID", "TIME", "INTERVAL", "INTEGER[]", "BIT")},
}


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    """One table of every text that a test may want to cast."""
    texts = pa.table({"text": [*NUMBER_TEXTS, *ODD_TEXTS, *DAYS, *MOMENTS, *FAR_DAYS, None]})
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Asia/Kathmandu'")
        connection.register("given", texts)
        connection.execute("CREATE TABLE texts AS SELECT * FROM given")
        yield connection


Codes = dict[str, list[int]]


def streamed(columns: Sequence[Column], data: Any, query: str | None = None) -> Codes:
    """The codes of numbered cells for each column, as they are without SQL."""
    batches = list(open_source(data, query=query).batches(["id", "cell"]))
    order = np.argsort(np.concatenate([batch.column("id").to_numpy() for batch in batches]))
    codes = (np.concatenate([column.encode(batch.column("cell")) for batch in batches]) for column in columns)
    return {column.name: found[order].tolist() for column, found in zip(columns, codes, strict=True)}


def selected(dialect: Dialect, columns: Sequence[Column], declared: str, rows: str) -> str:
    atoms = ", ".join(dialect.atom(column, declared, "c1") for column in columns)
    return f"SELECT {atoms} FROM {rows} AS cells(c0, c1) ORDER BY c0"


def named(columns: Sequence[Column], rows: list[tuple[int, ...]]) -> Codes:
    return {column.name: list(codes) for column, codes in zip(columns, zip(*rows, strict=True), strict=True)}


def by_duckdb(columns: Sequence[Column], relation: duckdb.DuckDBPyRelation) -> Codes:
    query = selected(DuckDialect(), columns, str(relation.types[1]), "numbered")
    return named(columns, relation.query("numbered", query).fetchall())


def cells_of(duck: duckdb.DuckDBPyConnection, kind: str) -> duckdb.DuckDBPyRelation:
    if kind == "ENUM":
        kind = "ENUM(" + ", ".join("'" + text.replace("'", "''") + "'" for text in dict.fromkeys(ODD_TEXTS)) + ")"
    return duck.sql(f"SELECT row_number() OVER () AS id, TRY_CAST(text AS {kind}) AS cell FROM texts")


@pytest.mark.parametrize("kind", DUCK)
def test_duckdb_gives_the_codes_of_the_stream(duck: duckdb.DuckDBPyConnection, kind: str) -> None:
    relation = cells_of(duck, kind)
    if DUCK[kind]:
        assert by_duckdb(DUCK[kind], relation) == streamed(DUCK[kind], relation)
    check_refusals(DuckDialect(), DUCK[kind], str(relation.types[1]))


def check_refusals(dialect: Dialect, supported: Sequence[Column], declared: str) -> None:
    for column in COLUMNS:
        if column not in supported:
            with pytest.raises(Refusal, match=f"column '{column.name}'"):
                dialect.atom(column, declared, "c1")


FAR = {  # ticks beyond what another unit can hold, and the ends of the type
    "DATE": (pa.int32(), pa.date32(), [2**31 - 1, -(2**31) + 1, 2**31 - 2, 106751992, -106751993]),
    "TIMESTAMP": (
        pa.int64(),
        pa.timestamp("us"),
        [2**63 - 1, -(2**63) + 1, 2**63 - 2, -(2**63) + 2, 2**62, -1, -86400000001],
    ),
    "TIMESTAMP_S": (pa.int64(), pa.timestamp("s"), [2**63 - 1, -(2**63) + 1, 10**15, -(10**15), -1, 86399]),
    "TIMESTAMP_MS": (pa.int64(), pa.timestamp("ms"), [2**63 - 1, -(2**63) + 1, 10**17, -(10**17), -1, 86399999]),
    "TIMESTAMP_NS": (pa.int64(), pa.timestamp("ns"), [2**63 - 1, -(2**63) + 1, -1, -999, -1000, -1001, -3600000000001]),
    "TIMESTAMP WITH TIME ZONE": (pa.int64(), pa.timestamp("us", tz="UTC"), [2**63 - 1, -(2**63) + 1, 2**62, -(2**62)]),
}


@pytest.mark.parametrize("kind", FAR)
def test_duckdb_clamps_far_instants_without_an_error(kind: str) -> None:
    storage, arrow, ticks = FAR[kind]
    table = pa.table({"id": range(len(ticks)), "cell": pa.array(ticks, storage).cast(arrow)})
    relation = duckdb.connect().from_arrow(table)
    assert str(relation.types[1]) == kind
    assert by_duckdb(TIMES, relation) == streamed(TIMES, table)


def test_duckdb_compares_text_by_its_bytes_whatever_the_collation(duck: duckdb.DuckDBPyConnection) -> None:
    duck.execute("CREATE OR REPLACE TABLE folded (id INTEGER, cell VARCHAR COLLATE NOCASE.NOACCENT)")
    duck.execute("INSERT INTO folded VALUES (0, 'A'), (1, 'a'), (2, 'e'), (3, 'É'), (4, ''), (5, 'ASPIRIN')")
    assert by_duckdb(LISTS, duck.table("folded")) == streamed(LISTS, duck.table("folded"))


SIGNED = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)


@st.composite
def number_columns(draw: st.DrawFn) -> Number:
    """Numbers of any range, with cells or a resolution."""
    low, high = sorted(draw(st.lists(st.floats(-1e150, 1e150), min_size=2, max_size=2, unique=True)))
    cells = draw(st.integers(1, 300))
    resolution = draw(st.none() | st.floats(1e-3, 1.0).map(lambda part: part * (high - low)))
    try:
        return Number(name="x", min=low, max=high, cells=cells, resolution=resolution, nullable=draw(st.booleans()))
    except SchemaError:
        return Number(name="x", min=0.0, max=float(cells) / 3.0, cells=cells)


def edge_cells(column: Number, more: Iterable[float]) -> pa.Table:
    """Both neighbours of every edge that is there and of every one that should be."""
    edges = [*smallest_of_cells(column).tolist(), *column.edges().tolist(), column.origin, *more]
    cells = [near for edge in edges for near in (math.nextafter(edge, -math.inf), edge, math.nextafter(edge, math.inf))]
    return pa.table({"id": range(len(cells) + 1), "cell": pa.array([*cells, None], pa.float64())})


@settings(max_examples=60, deadline=None)
@given(column=number_columns(), more=st.lists(SIGNED, max_size=20))
def test_duckdb_finds_the_cell_of_numbers_at_all_edges(column: Number, more: list[float]) -> None:
    table = edge_cells(column, more)
    assert by_duckdb([column], duckdb.from_arrow(table)) == streamed([column], table)


@st.composite
def stepped_columns(draw: st.DrawFn) -> Integer | Date:
    """Integers and dates of any range, resolution and number of cells."""
    low = draw(st.integers(-(10**5), 10**5))
    high = low + draw(st.integers(1, 10**5))
    resolution = draw(st.integers(1, min(high - low, 40)))
    cells, nullable = draw(st.none() | st.integers(1, 300)), draw(st.booleans())
    if draw(st.booleans()):
        return Integer(name="x", min=low, max=high, resolution=resolution, cells=cells, nullable=nullable)
    first, last = (datetime.date(1970, 1, 1) + datetime.timedelta(days=days) for days in (low, high))
    return Date(name="x", min=first, max=last, resolution=resolution, cells=cells, nullable=nullable)


def bound_cells(column: Integer | Date) -> pa.Table:
    """Both ends of every cell, and what is next to them."""
    cells = np.unique([end + step for end in column.bounds() for step in (-1, 0, 1)])
    kind = pa.int64() if isinstance(column, Integer) else pa.date32()
    array = pa.array(cells, pa.int64()).cast(pa.int32() if kind == pa.date32() else kind).cast(kind)
    return pa.table({"id": range(len(cells)), "cell": array})


@settings(max_examples=60, deadline=None)
@given(column=stepped_columns())
def test_duckdb_finds_the_cell_of_ticks_at_all_bounds(column: Integer | Date) -> None:
    table = bound_cells(column)
    assert by_duckdb([column], duckdb.from_arrow(table)) == streamed([column], table)


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(
        st.from_regex(NUMBER, fullmatch=True) | st.text(max_size=8) | SIGNED.map(repr), min_size=1, max_size=50
    )
)
def test_duckdb_reads_numbers_from_text_as_the_encoder_does(texts: list[str]) -> None:
    table = pa.table({"id": range(len(texts)), "cell": pa.array(texts, pa.string())})
    columns = [*NUMBERS[:4], FLAGS[0], LISTS[4]]
    assert by_duckdb(columns, duckdb.from_arrow(table)) == streamed(columns, table)


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_duckdb_rounds_decimals_as_the_encoder_does(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 38))
    scale = data.draw(st.integers(0, width))
    cells = data.draw(st.lists(st.decimals(places=scale, allow_nan=False, min_value=-1, max_value=1), max_size=20))
    cells = [cell for cell in cells if abs(cell.scaleb(scale)) < 10**width]
    table = pa.table({"id": range(len(cells) + 1), "cell": pa.array([*cells, None], pa.decimal128(width, scale))})
    column = Number(name="x", min=-1.0, max=1.0, cells=4096)
    assert by_duckdb([column], duckdb.from_arrow(table)) == streamed([column], table)


# PostgreSQL


@pytest.fixture(scope="module")
def server(postgres: str) -> Iterator[tuple[str, Any]]:
    """The URI, and a cursor that commits at once."""
    with adbc_driver_postgresql.dbapi.connect(postgres, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET TimeZone = 'Asia/Kathmandu'")
        yield postgres, cursor


def whole_within(bits: int) -> list[str]:
    found = (int(text) for text in NUMBER_TEXTS if text.lstrip("-").isdigit())
    return [str(number) for number in sorted(set(found)) if -(2**bits) <= number < 2**bits]


PLAIN_TEXTS = [text for text in ODD_TEXTS if "\0" not in text]
REALS = [*map(repr, numbers()), "NaN", "inf", "-inf"]
SINGLES = [repr(float(x)) for x in np.array(numbers(), np.float64).clip(-3e38, 3e38).astype(np.float32)]
ZONES = [*(f"{moment}+05:45" for moment in MOMENTS), *(f"{moment}-11" for moment in MOMENTS)]
FAR_YEARS = ["4713-01-01 BC", "0001-12-31 BC", "10000-01-01", "200000-06-01"]
POSTGRES: dict[str, tuple[list[str], list[Column]]] = {
    **{f"int{bits // 8}": (whole_within(bits - 1), NUMBERS + LISTS + FLAGS) for bits in (16, 32, 64)},
    "float8": (REALS, NUMBERS + LISTS + FLAGS),
    "float4": (SINGLES, NUMBERS + LISTS + FLAGS),
    "numeric": ([*NUMBER_TEXTS, *HALVES, "NaN", "Infinity", "-Infinity", "1e400", "-1e400"], NUMBERS + FLAGS),
    "numeric(12,3)": (["0", "17", "-1.5", "89.9995", "90.001", "NaN", "0.049"], NUMBERS + FLAGS),
    "bool": (["true", "false"], COLUMNS),
    **dict.fromkeys(("text", "varchar(500)", "mood"), (PLAIN_TEXTS, [c for c in LISTS if c.arrow_type == pa.string()])),
    "char(12)": (["a", "a ", "", " a", "7", "true", "é", "aspirin"], [c for c in LISTS if c.arrow_type == pa.string()]),
    "date": ([*DAYS, *FAR_DAYS, *FAR_YEARS, "5000000-01-01"], [c for c in TIMES if c.name != "years"]),
    "timestamp": ([*MOMENTS, *FAR_DAYS, *FAR_YEARS], TIMES),
    "timestamptz": ([*ZONES, *FAR_DAYS, *FAR_YEARS], TIMES),
    "positive": (["1", "17", "90", "1000"], NUMBERS + LISTS + FLAGS),
    **{
        "money": (["1.5"], []),
        "bytea": (["a"], []),
        "json": (["7"], []),
        "time": (["10:00"], []),
        "int4[]": (["{1}"], []),
    },
}


def literal(text: str) -> str:
    return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


@pytest.fixture(scope="module")
def types(server: tuple[str, Any]) -> None:
    """A domain, and an enumeration of labels that PostgreSQL allows: up to 63 bytes."""
    short = [text for text in dict.fromkeys(PLAIN_TEXTS) if len(text.encode()) < 64]
    statements = (
        *("DROP TABLE IF EXISTS atoms", "DROP TYPE IF EXISTS mood", "DROP DOMAIN IF EXISTS positive"),
        f"CREATE TYPE mood AS ENUM ({', '.join(map(literal, short))})",
        "CREATE DOMAIN positive AS int4 CHECK (value > 0)",
    )
    for statement in statements:
        server[1].execute(statement)


def fill(cursor: Any, kind: str, texts: Iterable[str]) -> None:
    cells = ", ".join(f"({i}, {literal(text)})" for i, text in enumerate(texts))
    for statement in (
        *("DROP TABLE IF EXISTS atoms", f"CREATE TABLE atoms (id int4, cell {kind})"),
        *(f"INSERT INTO atoms VALUES {cells}", "INSERT INTO atoms VALUES (-1, NULL)"),
    ):
        cursor.execute(statement)


@pytest.mark.usefixtures("types")
@pytest.mark.parametrize("kind", POSTGRES)
def test_postgresql_gives_the_codes_of_the_stream(server: tuple[str, Any], kind: str) -> None:
    texts, supported = POSTGRES[kind]
    fill(server[1], kind, [text for text in texts if kind != "mood" or len(text.encode()) < 64])
    field = open_source(server[0], query="atoms").schema.field("cell")
    declared = pushdown._postgresql_type(field, frozenset({"mood"}))
    if supported:
        server[1].execute(selected(PostgresqlDialect(), supported, declared, "(SELECT * FROM atoms)"))
        assert named(supported, server[1].fetchall()) == streamed(supported, server[0], "atoms")
    check_refusals(PostgresqlDialect(), supported, declared)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(column=number_columns(), more=st.lists(SIGNED, max_size=20))
def test_postgresql_finds_the_cell_of_numbers_at_all_edges(
    server: tuple[str, Any], column: Number, more: list[float]
) -> None:
    table = edge_cells(column, more)
    cells = ",".join("NULL" if cell is None else repr(cell) for cell in table["cell"].to_pylist())
    atom = PostgresqlDialect().atom(column, "float8", "cell")
    server[1].execute(f"SELECT {atom} FROM unnest('{{{cells}}}'::float8[]) WITH ORDINALITY AS t(cell, id) ORDER BY id")
    assert [code for (code,) in server[1].fetchall()] == column.encode(table["cell"]).tolist()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(column=stepped_columns())
def test_postgresql_finds_the_cell_of_ticks_at_all_bounds(server: tuple[str, Any], column: Integer | Date) -> None:
    table = bound_cells(column)
    declared = "int8" if isinstance(column, Integer) else "date"
    cells = ",".join(map(str, table["cell"].to_pylist()))
    atom = PostgresqlDialect().atom(column, declared, "cell")
    rows = f"unnest('{{{cells}}}'::{declared}[]) WITH ORDINALITY AS t(cell, id)"
    server[1].execute(f"SELECT {atom} FROM {rows} ORDER BY id")
    assert [code for (code,) in server[1].fetchall()] == column.encode(table["cell"]).tolist()


def test_the_smallest_number_of_a_cell_is_in_it_and_its_neighbour_is_not() -> None:
    for column in NUMBERS:
        if isinstance(column, Number):
            smallest = smallest_of_cells(column)
            assert column.encode(pa.array(smallest)).tolist() == list(range(1, column.cell_count))
            below = np.nextafter(smallest, -np.inf)
            assert column.encode(pa.array(below)).tolist() == list(range(column.cell_count - 1))


@pytest.mark.parametrize("dialect", [DuckDialect(), PostgresqlDialect()], ids=lambda dialect: dialect.name)
def test_a_declared_value_with_a_nul_is_refused(dialect: Any) -> None:
    with pytest.raises(Refusal, match="column 'x': a declared value holds the character NUL"):
        dialect.atom(Category(name="x", values=("a\0", "b")), "VARCHAR" if dialect.name == "DuckDB" else "text", "c0")


def test_bounds_at_the_ends_of_the_calendar_are_refused_by_postgresql() -> None:
    first, last = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23)
    zone = datetime.timezone(datetime.timedelta(hours=14))
    early = Datetime(name="x", min=first.replace(tzinfo=zone), max=first.replace(day=3, tzinfo=zone), resolution=3600)
    late = Datetime(name="x", min=last.replace(day=30), max=last, resolution=3600)
    for column, declared in ((early, "timestamptz"), (late, "date")):
        with pytest.raises(Refusal, match="ends of the calendar"):
            PostgresqlDialect().atom(column, declared, "c0")
