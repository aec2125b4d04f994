"""PostgreSQL, through ADBC."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final
from urllib.parse import urlsplit

import pyarrow as pa

from kernelease.machine import refuse_shortage
from kernelease.sources.plain import plain_type
from kernelease.sources.source import Source
from kernelease.sources.sql import as_query, failed, identifier, needs, refused, select, titled

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
                raise refused(titled(where, statement), error) from None
        return cls(uri=uri, query=statement, schema=schema, batch_rows=batch_rows)

    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    def declared_schema(self) -> pa.Schema:
        return pa.schema([(field.name, _declared(field)) for field in self.schema])

    def describe(self) -> str:
        return titled(_place(self.uri), self.query)

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        statement = select(self.query, [(name, _expression(self.schema.field(name))) for name in columns])
        try:
            with _cursor(self.uri) as cursor:
                cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(_BATCH_BYTES)})
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                cursor.execute(statement)
                with cursor.fetch_record_batch() as reader:
                    yield from reader
        except (*_errors(), OSError, pa.ArrowException) as error:
            refuse_shortage(error)
            raise failed(self.describe()) from None


def _place(uri: str) -> str:
    """Where the database is, without user and password."""
    try:
        parts = urlsplit(uri)
        return f"PostgreSQL at {parts.hostname or 'the local socket'}{parts.path}"
    except ValueError:
        return "PostgreSQL"


def _dbapi() -> Any:
    try:
        import adbc_driver_postgresql.dbapi
    except ImportError:
        raise needs("postgres") from None
    return adbc_driver_postgresql.dbapi


def _errors() -> tuple[type[Exception], ...]:
    return (_dbapi().Error,)


@contextmanager
def _cursor(uri: str) -> Iterator[Any]:
    dbapi = _dbapi()
    try:
        connection = dbapi.connect(uri)
    except dbapi.Error as error:
        raise refused(_place(uri), error, secret=_password(uri)) from None
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
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        zoned = "timestamptz" if getattr(kind, "tz", None) else "timestamp"
        return _CLAMPED.format(name, "date" if pa.types.is_date(kind) else zoned)
    direct = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_binary)
    if declared != "bpchar" and any(test(kind) for test in direct):
        return name
    return f"({name})::text"  # bpchar loses its padding by this


def _typename(field: pa.Field) -> str:
    return str((field.metadata or {}).get(_TYPE, b"").decode())


def _declared(field: pa.Field) -> pa.DataType:
    """The Arrow type of a declaration: that of `plain`, and for NUMERIC a decimal or a double."""
    if _typename(field) != "numeric":
        return plain_type(field.type)
    modifier = int(field.metadata.get(_MODIFIER, b"-1")) - 4  # precision · 2¹⁶ + scale + 4, or −1 if not declared
    precision, scale = modifier >> 16, modifier & 0x7FF
    return pa.decimal128(precision, scale) if 0 < precision <= 38 and scale <= precision else pa.float64()
