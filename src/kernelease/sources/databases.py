"""PostgreSQL and SQLite, through ADBC, and cells to atoms in PostgreSQL's SQL."""

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NoReturn, final
from urllib.parse import quote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.arrays import Floats, Integers
from kernelease.errors import SourceError
from kernelease.sources.source import FileStamp, SchemaFile, Source, plain_type
from kernelease.sources.sql import (
    Cell,
    Dialect,
    Kind,
    Refusal,
    as_query,
    identifier,
    optional,
    read_to_the_end,
    refusal,
    select,
    title_of,
)
from kernelease.table.columns.column import Codes, Column
from kernelease.table.columns.listed import Listed
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.parsing import DAY, MICROSECOND

# ---- PostgreSQL, through ADBC.


_BATCH_BYTES = 2**22  # that the driver fetches at a time
_TYPE, _MODIFIER = b"POSTGRESQL:type", b"POSTGRESQL:typmod"
# ADBC lets instants wrap around that are infinite or beyond its range, so that the latest become the earliest.
_FIRST, _LAST = "'0001-01-01 00:00:00+00'::{1}", "'9999-12-31 23:59:59.999999+00'::{1}"
_CLAMPED = f"CASE WHEN {{0}} > {_LAST} THEN {_LAST} WHEN {{0}} < {_FIRST} THEN {_FIRST} ELSE {{0}} END"


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class PostgresqlQuery(Source):
    """The rows of a query, in a read-only transaction, streamed by COPY.

    What has a plain Arrow type arrives as that; NUMERIC and everything else as the text that PostgreSQL prints. Dates
    and times are clamped to the years 1 to 9999.
    """

    uri: str
    query: str
    schema: pa.Schema

    @classmethod
    def open(cls, uri: str, query: str | None, *, batch_rows: int) -> "PostgresqlQuery":
        """Let the server describe the query; it is not run."""
        where = _place(uri)
        statement = as_query(query, where)
        with _cursor(uri) as cursor:
            errors = _errors()
            try:
                schema = cursor.adbc_execute_schema(statement)
            except errors as error:
                raise refusal(title_of(where, statement), error) from None
        return cls(uri=uri, query=statement, schema=schema, batch_rows=batch_rows)

    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    def declared_schema(self) -> pa.Schema:
        return pa.schema([(field.name, _declared_type(field)) for field in self.schema])

    def describe(self) -> str:
        return title_of(_place(self.uri), self.query)

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        statement = select(self.query, [(name, _expression(self.schema.field(name))) for name in columns])
        with read_to_the_end(self.describe(), *_errors()), _cursor(self.uri) as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(_BATCH_BYTES)})
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            cursor.execute(statement)
            with cursor.fetch_record_batch() as reader:
                yield from reader


def _place(uri: str) -> str:
    """Where the database is, without user and password."""
    try:
        parts = urlsplit(uri)
        return f"PostgreSQL at {parts.hostname or 'the local socket'}{parts.path}"
    except ValueError:
        return "PostgreSQL"


_dbapi = partial(optional, "adbc_driver_postgresql.dbapi", extra="postgres")


def _errors() -> tuple[type[Exception], ...]:
    return (_dbapi().Error,)


@contextmanager
def _cursor(uri: str) -> Iterator[Any]:
    dbapi = _dbapi()
    try:
        connection = dbapi.connect(uri)
    except dbapi.Error as error:
        raise refusal(_place(uri), error, secret=_password(uri)) from None
    with connection, connection.cursor() as cursor:
        yield cursor


def _password(uri: str) -> str | None:
    try:
        return urlsplit(uri).password
    except ValueError:
        return uri


def _expression(field: pa.Field) -> str:
    """A column as something that ADBC hands on without a loss, and for every value."""
    name, kind, declared = identifier(field.name), field.type, _typename(field)
    if declared == "money":
        return f"({name})::numeric::text"
    if declared == "numeric":  # without the digits that are only shown: 7.0 and 7 are one key
        text = f"({name})::text"
        return f"CASE WHEN strpos({text}, '.') > 0 THEN rtrim(rtrim({text}, '0'), '.') ELSE {text} END"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        zoned = "timestamptz" if getattr(kind, "tz", None) else "timestamp"
        return _CLAMPED.format(name, "date" if pa.types.is_date(kind) else zoned)
    direct = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_binary)
    if declared != "bpchar" and any(test(kind) for test in direct):
        return name
    return f"({name})::text"  # bpchar loses its padding by this


def _typename(field: pa.Field) -> str:
    return str((field.metadata or {}).get(_TYPE, b"").decode())


def _declared_type(field: pa.Field) -> pa.DataType:
    """The Arrow type of a declaration: that of `plain`, and for NUMERIC a decimal or a double."""
    if _typename(field) != "numeric":
        return plain_type(field.type)
    modifier = int(field.metadata.get(_MODIFIER, b"-1")) - 4  # precision · 2¹⁶ + scale + 4, or −1 if not declared
    precision, scale = modifier >> 16, modifier & 0x7FF
    return pa.decimal128(precision, scale) if 0 < precision <= 38 and scale <= precision else pa.float64()


# ---- Cells to atoms in PostgreSQL.


_KINDS = {
    "bool": (Kind.BOOLEAN, "{}"),
    **dict.fromkeys(("int2", "int4", "int8"), (Kind.INTEGER, "CAST({} AS int8)")),
    **dict.fromkeys(("float4", "float8"), (Kind.DOUBLE, "CAST({} AS float8)")),
    **dict.fromkeys(("text", "varchar", "bpchar", "enum"), (Kind.TEXT, "CAST({} AS text)")),
    "date": (Kind.DAY, "{}"),
    "timestamp": (Kind.INSTANT, "{}"),
    "timestamptz": (Kind.INSTANT, "{}"),
}
_DAY = DAY // MICROSECOND
_EPOCH = datetime.datetime(1970, 1, 1)
# The source clamps to the years 1 to 9999, so that no cell may begin where this could take a moment into another one.
_EARLIEST = datetime.datetime(1, 1, 1)
_LATEST = {Kind.DAY: datetime.datetime(9999, 12, 31), Kind.INSTANT: datetime.datetime.max}
_LARGE = "1e300"
_TINY = format(Context(prec=1100).power(Decimal(2), -1075), "f")  # the largest number that is rounded to 0


@final
class PostgresqlDialect(Dialect):
    """PostgreSQL's SQL. Numbers and dates are binned by `width_bucket` on the cells' beginnings.

    Its arithmetic raises errors (a quotient that underflows, a timestamp that overflows), so that none is done on
    cells: the smallest value of each cell is found here, and the server only compares.
    """

    name: ClassVar[str] = "PostgreSQL"
    array: ClassVar[str] = "ARRAY"
    wide: ClassVar[str] = "int8"

    def narrow(self, codes: Codes) -> str:
        return "int2" if codes.max() < 2**15 else "int4"  # with a sign

    def cell(self, column: Column, declared: str, reference: str) -> Cell:
        if declared == "numeric":
            return _numeric(column, reference)
        if declared not in _KINDS:
            raise Refusal(f"column {column.name!r}: PostgreSQL's type {declared} is not one that it can encode.")
        kind, pattern = _KINDS[declared]
        absent = f"{reference} IS NULL"
        if kind is Kind.DOUBLE:
            absent = f"{absent} OR {reference} = 'NaN'"
        return Cell(kind=kind, sql=pattern.format(reference), absent=absent, declared=declared)

    def double(self, number: float) -> str:
        return f"CAST('{number!r}' AS float8)"

    def from_text(self, cell: Cell, codes: Mapping[str, int]) -> str:
        """Texts compared as bytes: the keys of a JSON object know no collation, and are found by bisection."""
        table = json.dumps({value: str(code) for value, code in codes.items()}, ensure_ascii=False)
        return f"CAST(CAST({quote_text(table)} AS jsonb) ->> {cell.sql} AS int4)"

    def number_in(self, column: Column, cell: Cell) -> NoReturn:
        raise Refusal(
            f"column {column.name!r}: declared as {column.tag}, but {cell.declared} is text, and PostgreSQL can't try "
            "to read a number from it."
        )

    def word_in(self, cell: Cell, words: Sequence[str]) -> NoReturn:
        raise NotImplementedError  # `number_in` refuses first

    def from_number(self, column: Integer | Number, cell: Cell) -> str:
        if isinstance(column, Number):
            value = f"CAST({cell.sql} AS float8)"
            return _bucket(value, map(repr, smallest_of_cells(column).tolist()), "float8")
        starts = (str(start) for start in _starts(column))
        return _bucket(cell.sql, starts, "int8" if cell.kind is Kind.INTEGER else "float8")

    def level(self, column: Integer | Number, cell: Cell) -> str:
        last = column.levels.number - 1
        value = f"LEAST(GREATEST(CAST({cell.sql} AS float8), {self.double(column.low)}), {self.double(column.high)})"
        if isinstance(column, Integer):
            if cell.kind is Kind.INTEGER:
                ticks = f"LEAST(GREATEST(CAST({cell.sql} AS int8), {column.low}), {column.high})"
            else:
                ticks = f"CAST(floor({value}) AS int8)"
            return f"LEAST(({ticks} - ({column.low})) / {column.tick}, {last})"
        scaled = f"floor(({value} - {self.double(column.halfway(0))}) / {self.double(column.spacing or 1.0)})"
        return f"CAST(LEAST(GREATEST({scaled}, 0), {last}) AS int8)"

    def from_time(self, column: Date | Datetime, cell: Cell) -> str:
        scale = _DAY if isinstance(column, Date) else 1
        starts = [
            _EPOCH + datetime.timedelta(microseconds=start * scale) for start in self._within(column, cell, scale)
        ]
        if cell.kind is Kind.DAY:
            return _bucket(
                cell.sql,
                (str(start.date() + datetime.timedelta(days=start.time() != datetime.time.min)) for start in starts),
                "date",
            )
        zone = "+00" if cell.declared == "timestamptz" else ""
        return _bucket(cell.sql, (f'"{start}{zone}"' for start in starts), cell.declared)

    def _within(self, column: Date | Datetime, cell: Cell, scale: int) -> list[int]:
        starts = _starts(column)
        ends = [(end - _EPOCH) // datetime.timedelta(microseconds=1) for end in (_EARLIEST, _LATEST[cell.kind])]
        if starts and not ends[0] < starts[0] * scale <= starts[-1] * scale <= ends[1]:
            raise Refusal(f"column {column.name!r}: its bounds are at the very ends of the calendar.")
        return starts


def quote_text(text: str) -> str:
    r"""A string literal that means the same whatever `standard_conforming_strings` says.

    >>> print(quote_text("it's"), quote_text("a \\ b"))
    'it''s' E'a \\ b'
    """
    literal = "'" + text.replace("'", "''") + "'"
    return "E" + literal.replace("\\", "\\\\") if "\\" in literal else literal


def smallest_of_cells(column: Number) -> Floats:
    """The smallest float64 in each cell but the first, by bisection: a cell's code never falls as its number grows.

    >>> smallest_of_cells(Number(name="height", min=0.0, max=1.0, cells=4)).tolist()
    [5e-324, 0.5, 1.0]
    """
    cells = np.arange(1, column.cell_count, dtype=np.int64)
    below, at = (np.full(len(cells), _rank(np.array([end]))[0]) for end in (column.low, column.high))
    for _ in range(64):
        middle = (below & at) + ((below ^ at) >> 1)  # the mean, without the sum that may overflow
        reached = column.encode(pa.array(_number(middle))) >= cells
        below, at = np.where(reached, below, middle), np.where(reached, middle, at)
    return _number(at)


def _rank(numbers: Floats) -> Integers:
    """Integers in the order of float64 numbers."""
    bits = numbers.view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))


def _number(ranks: Integers) -> Floats:
    bits: Integers = ranks ^ ((ranks >> 63) & np.int64(2**63 - 1))
    return bits.view(np.float64)


def _starts(column: Integer | Date | Datetime) -> list[int]:
    """The first tick of each cell but the first."""
    starts: list[int] = column.starts.tolist()
    return starts


def _bucket(value: str, starts: Iterable[str], declared: str) -> str:
    """How many of these, in rising order, are not above a value. An array as one literal is read once, not per row."""
    return f"width_bucket({value}, CAST('{{{','.join(starts)}}}' AS {declared}[]))"


def _numeric(column: Column, x: str) -> Cell:
    """The nearest float64. PostgreSQL's own cast raises an error for what is too large or too small."""
    if isinstance(column, Listed):
        raise Refusal(f"column {column.name!r}: a numeric is compared with declared values by its text.")
    sql = (
        f"CASE WHEN {x} BETWEEN -{_TINY} AND {_TINY} THEN 0 ELSE CAST(LEAST(GREATEST({x}, -{_LARGE}), {_LARGE}) "
        "AS float8) END"
    )
    return Cell(kind=Kind.DOUBLE, sql=sql, absent=f"{x} IS NULL OR {x} = 'NaN'", declared="numeric")


# ---- SQLite, through ADBC.


# A cell of SQLite has a type of its own, and ADBC takes a column's type from its first rows and raises when a later one
# differs. So every cell is sent as two columns that have one type each: its text, and whether it is there. Seventeen
# digits hold any double. Whole ones have no point, as `short_text` has them: one NULL among keys may make them REAL.
_WHOLE = "typeof({0}) = 'real' AND abs({0}) < 9e15 AND {0} = CAST({0} AS INTEGER) THEN CAST({0} AS INTEGER)"
_REAL = "typeof({0}) = 'real' THEN printf('%!.17g', {0})"
_TEXT = f"CAST(CASE WHEN {{0}} IS NULL THEN '' WHEN {_WHOLE} WHEN {_REAL} ELSE {{0}} END AS TEXT)"
_THERE = "{0} IS NOT NULL"


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class SqliteQuery(SchemaFile):
    """The rows of a query on an SQLite file, opened for reading only.

    Cells arrive as text; as bytes in a column that is declared as a blob, or not declared. (In a file whose text is in
    UTF-16, blobs are read as such text: SQLite has no other way to give both in one column.)
    """

    query: str

    @classmethod
    def open(cls, path: Path, query: str | None, *, batch_rows: int) -> "SqliteQuery":
        """Let SQLite describe the query, as a view that lasts as long as the connection; it is not run."""
        where = f"SQLite file {path}"
        statement, stamp = as_query(query, where), FileStamp.of(path, path.with_name(path.name + "-wal"))
        with _sqlite_cursor(path) as cursor:
            try:
                cursor.execute(f"CREATE TEMP VIEW kernelease_view AS {statement}")
                cursor.execute("SELECT name, type FROM pragma_table_info('kernelease_view')")
                described = cursor.fetchall()
            except _sqlite_dbapi().Error as error:
                raise refusal(title_of(where, statement), error) from None
            except UnicodeError:
                raise SourceError(f"{where} can't be opened: it is damaged.") from None
        schema = pa.schema([(name, _sqlite_declared(declaration)) for name, declaration in described])
        return cls(path=path, stamp=stamp, query=statement, schema=schema, batch_rows=batch_rows)

    def describe(self) -> str:
        return title_of(f"SQLite file {self.path}", self.query)

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        for batch in self._cells(columns):
            pairs = zip(columns, batch.columns[::2], batch.columns[1::2], strict=True)
            arrays = [self._array(name, text, there) for name, text, there in pairs]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _array(self, name: str, text: pa.Array, there: pa.Array) -> pa.Array:
        kind = pa.binary() if pa.types.is_binary(self.schema.field(name).type) else pa.string()
        return pc.if_else(there.cast(pa.bool_()), text.view(kind), pa.scalar(None, kind))

    def _cells(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        forms = [(name, form.format(identifier(name))) for name in columns for form in (_TEXT, _THERE)]
        statement = select(self.query, forms)
        with read_to_the_end(self.describe(), _sqlite_dbapi().Error), _sqlite_cursor(self.path) as cursor:
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(self.batch_rows)})
            cursor.execute(statement)
            with cursor.fetch_record_batch() as reader:
                yield from reader


def _sqlite_declared(declaration: str) -> pa.DataType:
    """The Arrow type of a declared one, by SQLite's rules of affinity; text if there is no declaration.

    >>> _sqlite_declared("BIGINT"), _sqlite_declared("double precision"), _sqlite_declared("VARCHAR(20)")
    (DataType(int64), DataType(double), DataType(string))
    """
    words = declaration.upper()
    for parts, kind in (
        (("INT",), pa.int64()),
        (("CHAR", "CLOB", "TEXT"), pa.string()),
        (("BLOB",), pa.binary()),
        (("REAL", "FLOA", "DOUB", "NUMERIC", "DECIMAL"), pa.float64()),
        (("BOOL",), pa.bool_()),
        (("DATETIME", "TIMESTAMP"), pa.timestamp("us")),
        (("DATE",), pa.date32()),
    ):
        if any(part in words for part in parts):
            return kind
    return pa.string()


_sqlite_dbapi = partial(optional, "adbc_driver_sqlite.dbapi", extra="sqlite")


@contextmanager
def _sqlite_cursor(path: Path) -> Iterator[Any]:
    dbapi = _sqlite_dbapi()
    try:
        connection = dbapi.connect(f"file:{quote(str(path))}?mode=ro")
    except dbapi.Error as error:
        raise refusal(f"SQLite file {path}", error) from None
    with connection, connection.cursor() as cursor:
        yield cursor
