"""DuckDB: files of it, and relations that are at hand."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import pyarrow as pa

from kernelease.errors import SourceError
from kernelease.machine import refuse_shortage
from kernelease.sources.files import FileSource
from kernelease.sources.source import Piece, Source, in_turn
from kernelease.sources.sql import as_query, failed, needs, refused, titled
from kernelease.sources.stamp import FileStamp

_MEMORY = "1GB"  # of the pages that DuckDB keeps; by itself it would take most of the machine's
# What arrives as an Arrow type, without a loss and for every value. All else is sent as the text that DuckDB prints.
_DIRECT = {
    "BOOLEAN": pa.bool_(),
    **{"TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INTEGER": pa.int32(), "BIGINT": pa.int64()},
    **{"UTINYINT": pa.uint8(), "USMALLINT": pa.uint16(), "UINTEGER": pa.uint32(), "UBIGINT": pa.uint64()},
    **{"FLOAT": pa.float32(), "DOUBLE": pa.float64()},
    **{"VARCHAR": pa.string(), "BLOB": pa.binary(), "DATE": pa.date32()},
    **{"TIMESTAMP": pa.timestamp("us"), "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", tz="UTC")},
    **{"TIMESTAMP_S": pa.timestamp("s"), "TIMESTAMP_MS": pa.timestamp("ms"), "TIMESTAMP_NS": pa.timestamp("ns")},
}


def is_relation(data: object) -> bool:
    """Whether this is a DuckDB relation, without importing DuckDB for it."""
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(data, duckdb.DuckDBPyRelation)


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class DuckRelation(Source):
    """A DuckDB relation. It is run anew for every pass, on its own connection, and streamed."""

    data: Any

    def names(self) -> tuple[str, ...]:
        return tuple(self.data.columns)

    def declared_schema(self) -> pa.Schema:
        return _declared(self.data)

    def describe(self) -> str:
        return "DuckDB relation"

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        try:
            yield from _stream(self.data, columns, self.batch_rows)
        except (_duckdb().Error, OSError, pa.ArrowException) as error:
            refuse_shortage(error)
            raise failed(self.describe()) from None


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class DuckFile(FileSource):
    """The rows of a query on a DuckDB file, which is opened for reading only."""

    query: str
    schema: pa.Schema

    @classmethod
    def open(cls, path: Path, query: str | None, *, batch_rows: int) -> "DuckFile":
        """Let DuckDB describe the query; it is not run."""
        where = f"DuckDB file {path}"
        statement, stamp = as_query(query, where), FileStamp.of(path, path.with_name(path.name + ".wal"))
        with _relation(path, statement) as relation:
            schema = _declared(relation)
        return cls(path=path, stamp=stamp, query=statement, schema=schema, batch_rows=batch_rows)

    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    def declared_schema(self) -> pa.Schema:
        return self.schema

    def describe(self) -> str:
        return titled(f"DuckDB file {self.path}", self.query)

    def _parts(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        return in_turn(self._rows(columns))

    def _rows(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        with _relation(self.path, self.query) as relation:
            try:
                yield from _stream(relation, columns, self.batch_rows)
            except (_duckdb().Error, OSError, pa.ArrowException) as error:
                refuse_shortage(error)
                raise failed(self.describe()) from None


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise needs("duckdb") from None
    return duckdb


@contextmanager
def _relation(path: Path, query: str) -> Iterator[Any]:
    duckdb, where = _duckdb(), f"DuckDB file {path}"
    try:
        connection = duckdb.connect(str(path), read_only=True, config={"memory_limit": _MEMORY})
    except (duckdb.Error, OSError):
        raise SourceError(
            f"{where} can't be opened: it is not one, it was written by a newer DuckDB, or it is open for writing. "
            "From the process that has it open, give a relation instead."
        ) from None
    with connection:
        try:
            relation = connection.sql(f"SELECT * FROM (\n{query}\n) AS kernelease_rows")
        except (duckdb.ProgrammingError, duckdb.NotSupportedError) as error:  # from the parser and the catalog
            raise refused(titled(where, query), error) from None
        except duckdb.Error:
            raise failed(titled(where, query)) from None
        yield relation


def _stream(relation: Any, columns: tuple[str, ...], rows: int) -> Iterator[pa.RecordBatch]:
    """Columns by their places, `#1` and so on: to DuckDB, names that differ by case only are one name."""
    places = [relation.columns.index(name) for name in columns]
    chosen = relation.project(", ".join(_expression(place, str(relation.types[place])) for place in places))
    with chosen.to_arrow_reader(rows) as reader:
        for batch in reader:
            yield pa.RecordBatch.from_arrays(batch.columns, names=list(columns))


def _expression(place: int, kind: str) -> str:
    cell = f"#{place + 1}"
    return f"{cell if _arrow_type(kind) else f'CAST({cell} AS VARCHAR)'} AS c{place}"


def _arrow_type(kind: str) -> pa.DataType | None:
    """The Arrow type in which a column arrives, None if it must become text.

    >>> _arrow_type("DECIMAL(10,2)"), _arrow_type("ENUM('a', 'b')"), _arrow_type("INTEGER[]"), _arrow_type("HUGEINT")
    (Decimal128Type(decimal128(10, 2)), DataType(string), None, None)
    """
    if decimal := re.fullmatch(r"DECIMAL\((\d+), ?(\d+)\)", kind):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    return pa.string() if re.fullmatch(r"ENUM\(.*\)", kind) else _DIRECT.get(kind)


def _declared(relation: Any) -> pa.Schema:
    kinds = [
        _arrow_type(str(kind)) or (pa.float64() if "HUGEINT" in str(kind) else pa.string()) for kind in relation.types
    ]
    return pa.schema(list(zip(relation.columns, kinds, strict=True)))
