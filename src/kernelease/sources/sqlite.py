"""SQLite, through ADBC."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from kernelease.errors import SourceError
from kernelease.machine import refuse_shortage
from kernelease.sources.source import FileSource, FileStamp, Piece, in_turn
from kernelease.sources.sql import as_query, failed, identifier, needs, refused, select, titled

# A cell of SQLite has a type of its own, and ADBC takes a column's type from its first rows and raises when a later one
# differs. So every cell is sent as two columns that have one type each: its text, and whether it is there. Seventeen
# digits hold any double.
_TEXT = "CAST(CASE typeof({0}) WHEN 'null' THEN '' WHEN 'real' THEN printf('%!.17g', {0}) ELSE {0} END AS TEXT)"
_THERE = "{0} IS NOT NULL"


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class SqliteQuery(FileSource):
    """The rows of a query on an SQLite file, opened for reading only.

    Cells arrive as text; as bytes in a column that is declared as a blob, or not declared. (In a file whose text is in
    UTF-16, blobs are read as such text: SQLite has no other way to give both in one column.)
    """

    query: str
    schema: pa.Schema

    @classmethod
    def open(cls, path: Path, query: str | None, *, batch_rows: int) -> "SqliteQuery":
        """Let SQLite describe the query, as a view that lasts as long as the connection; it is not run."""
        where = f"SQLite file {path}"
        statement, stamp = as_query(query, where), FileStamp.of(path, path.with_name(path.name + "-wal"))
        with _cursor(path) as cursor:
            try:
                cursor.execute(f"CREATE TEMP VIEW kernelease_view AS {statement}")
                cursor.execute("SELECT name, type FROM pragma_table_info('kernelease_view')")
                described = cursor.fetchall()
            except _dbapi().Error as error:
                raise refused(titled(where, statement), error) from None
            except UnicodeError:
                raise SourceError(f"{where} can't be opened: it is damaged.") from None
        schema = pa.schema([(name, _declared(declaration)) for name, declaration in described])
        return cls(path=path, stamp=stamp, query=statement, schema=schema, batch_rows=batch_rows)

    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    def declared_schema(self) -> pa.Schema:
        return self.schema

    def describe(self) -> str:
        return titled(f"SQLite file {self.path}", self.query)

    def _parts(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        return in_turn(self._rows(columns))

    def _rows(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
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
        try:
            with _cursor(self.path) as cursor:
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(self.batch_rows)})
                cursor.execute(statement)
                with cursor.fetch_record_batch() as reader:
                    yield from reader
        except (_dbapi().Error, OSError, pa.ArrowException) as error:
            refuse_shortage(error)
            raise failed(self.describe()) from None


def _declared(declaration: str) -> pa.DataType:
    """The Arrow type of a declared one, by SQLite's rules of affinity; text if there is no declaration.

    >>> _declared("BIGINT"), _declared("double precision"), _declared("VARCHAR(20)")
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


def _dbapi() -> Any:
    try:
        import adbc_driver_sqlite.dbapi
    except ImportError:
        raise needs("sqlite") from None
    return adbc_driver_sqlite.dbapi


@contextmanager
def _cursor(path: Path) -> Iterator[Any]:
    dbapi = _dbapi()
    try:
        connection = dbapi.connect(f"file:{quote(str(path))}?mode=ro")
    except dbapi.Error as error:
        raise refused(f"SQLite file {path}", error) from None
    with connection, connection.cursor() as cursor:
        yield cursor
