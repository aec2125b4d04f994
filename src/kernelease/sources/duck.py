"""DuckDB: its files, relations in memory, and cells to atoms in its SQL."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, final

import pyarrow as pa

from kernelease.errors import SourceError
from kernelease.sources.source import FileStamp, SchemaFile, Source
from kernelease.sources.sql import (
    Cell,
    Dialect,
    Kind,
    Refusal,
    as_query,
    failure,
    optional,
    read_to_the_end,
    refusal,
    title_of,
)
from kernelease.table.columns.cells import Stepped
from kernelease.table.columns.column import Codes, Column
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.parsing import DAY, FLAGS, MICROSECOND, NUMBER

# ---- DuckDB: files of it, and relations that are at hand.


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
        return _declared_schema(self.data)

    def describe(self) -> str:
        return "DuckDB relation"

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        with read_to_the_end(self.describe(), _duckdb().Error):
            yield from _stream(self.data, columns, self.batch_rows)


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class DuckFile(SchemaFile):
    """The rows of a query on a DuckDB file, which is opened for reading only."""

    query: str

    @classmethod
    def open(cls, path: Path, query: str | None, *, batch_rows: int) -> "DuckFile":
        """Let DuckDB describe the query; it is not run."""
        where = f"DuckDB file {path}"
        statement, stamp = as_query(query, where), FileStamp.of(path, path.with_name(path.name + ".wal"))
        with _relation(path, statement) as relation:
            schema = _declared_schema(relation)
        return cls(path=path, stamp=stamp, query=statement, schema=schema, batch_rows=batch_rows)

    def describe(self) -> str:
        return title_of(f"DuckDB file {self.path}", self.query)

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        with _relation(self.path, self.query) as relation, read_to_the_end(self.describe(), _duckdb().Error):
            yield from _stream(relation, columns, self.batch_rows)


_duckdb = partial(optional, "duckdb", extra="duckdb")


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
            raise refusal(title_of(where, query), error) from None
        except duckdb.Error:
            raise failure(title_of(where, query)) from None
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


def _declared_schema(relation: Any) -> pa.Schema:
    kinds = [
        _arrow_type(str(kind)) or (pa.float64() if "HUGEINT" in str(kind) else pa.string()) for kind in relation.types
    ]
    return pa.schema(list(zip(relation.columns, kinds, strict=True)))


# ---- Cells to atoms in DuckDB.


_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_TIMESTAMPS = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS")
_HUGE = ("HUGEINT", "UHUGEINT")  # the source sends these as text
_DECIMAL = re.compile(r"DECIMAL\(([0-9]+), ?[0-9]+\)")
_PLAIN_DIGITS = 15  # as integers these are float64 numbers, as is the power of ten: their ratio is rounded once
_FARTHEST = ("'1000-01-01 (BC)'", "'11000-01-01'")  # beyond all bounds: between these every conversion is possible
_FOREVER = 2**63 - 1  # how TIMESTAMP_NS, which ends in 2262, keeps infinity: `epoch_ns` gives NULL for it
_BLANKS = r"[ \t\r\n\f\x0b]*"
_FEW = 32  # a CASE compares one value after the other: more go by a cast to ENUM, which hashes
_DAY = DAY // MICROSECOND


@final
class DuckDialect(Dialect):
    """DuckDB's SQL. Numbers are binned by the very float64 operations that `Number` defines."""

    name: ClassVar[str] = "DuckDB"
    array: ClassVar[str] = ""
    wide: ClassVar[str] = "INTEGER"

    def narrow(self, codes: Codes) -> str:
        return "UTINYINT" if codes.max() < 2**8 else "USMALLINT"

    def cell(self, column: Column, declared: str, reference: str) -> Cell:
        kind, sql = _read(declared, reference)
        name = declared.partition("(")[0]  # the labels of an ENUM may have been collected from rows
        if kind is None:
            raise Refusal(f"column {column.name!r}: DuckDB's type {name} is not one that it can encode.")
        absent = f"{reference} IS NULL"
        if declared in ("FLOAT", "DOUBLE"):
            absent = f"{absent} OR isnan({reference})"
        return Cell(kind=kind, sql=sql, absent=absent, declared=name)

    def double(self, number: float) -> str:
        return f"CAST('{number!r}' AS DOUBLE)"

    def from_text(self, cell: Cell, codes: Mapping[str, int]) -> str:
        """Texts compared as bytes, as a BLOB or a label of an ENUM: under a collation, different texts may be equal."""
        if len(codes) > _FEW:
            values = sorted(codes)
            position = f"enum_code(TRY_CAST({cell.sql} AS ENUM({', '.join(map(quote_text, values))})))"
            listed = ", ".join(str(codes[value]) for value in values)
            return f"list_extract([{listed}], {position} + 1)"
        cases = (f"WHEN encode({quote_text(value)}) THEN {code}" for value, code in codes.items())
        return f"CASE encode({cell.sql}) {' '.join(cases)} END"

    def number_in(self, column: Column, cell: Cell) -> Cell:
        flag = self.from_text(cell, {word.decode(): int(value) for word, value in FLAGS.items()})
        number = f"COALESCE({flag}, TRY_CAST({cell.sql} AS DOUBLE))"
        # DuckDB reads more than NUMBER allows (1_000, nan), and all that it allows.
        absent = f"{flag} IS NULL AND NOT regexp_full_match({cell.sql}, {quote_text(NUMBER)}, 'i')"
        return Cell(kind=Kind.DOUBLE, sql=number, absent=absent, declared=cell.declared)

    def word_in(self, cell: Cell, words: Sequence[str]) -> str:
        # Letter by letter: without regard to case, the s of "yes" would also be a long s, U+017F.
        either = ("".join(f"[{letter}{letter.upper()}]" for letter in word) for word in words)
        pattern = f"{_BLANKS}({'|'.join(either)}){_BLANKS}"
        return f"regexp_full_match({cell.sql}, {quote_text(pattern)})"

    def from_number(self, column: Integer | Number, cell: Cell) -> str:
        if isinstance(column, Integer):
            return _steps(column, cell.sql if cell.kind is Kind.INTEGER else self._floor(column, cell))
        value, most = f"CAST({cell.sql} AS DOUBLE)", column.cell_count - 2 * column.points - 1
        if (cuts := column.cuts) is not None:
            return _bisect(value, [self.double(cut) for cut in cuts.tolist()])
        clamped = f"LEAST(GREATEST({value}, {self.double(column.low)}), {self.double(column.high)})"
        scaled = f"floor(({clamped} - {self.double(column.origin)}) / {self.double(column.width)})"
        between = f"CAST(LEAST(GREATEST({scaled}, 0), {most}) AS BIGINT) + {column.points}"
        bottom, top = f"{value} < {self.double(column.bottom)}", f"{value} >= {self.double(column.top)}"
        return f"CASE WHEN {bottom} THEN 0 WHEN {top} THEN {column.cell_count - 1} ELSE {between} END"

    def level(self, column: Integer | Number, cell: Cell) -> str:
        last = column.levels.number - 1
        if isinstance(column, Integer):
            ticks = cell.sql if cell.kind is Kind.INTEGER else self._floor(column, cell)
            offset = f"LEAST(GREATEST({ticks}, {column.low}), {column.high}) - ({column.low})"
            return f"LEAST(({offset}) // {column.tick}, {last})"
        value = f"LEAST(GREATEST(CAST({cell.sql} AS DOUBLE), {self.double(column.low)}), {self.double(column.high)})"
        scaled = f"floor(({value} - {self.double(column.halfway(0))}) / {self.double(column.spacing or 1.0)})"
        return f"CAST(LEAST(GREATEST({scaled}, 0), {last}) AS BIGINT)"

    def _floor(self, column: Integer, cell: Cell) -> str:
        low, high = self.double(float(column.low)), self.double(float(column.high))
        return f"CAST(floor(LEAST(GREATEST({cell.sql}, {low}), {high})) AS BIGINT)"

    def from_time(self, column: Date | Datetime, cell: Cell) -> str:
        if (cell.kind is Kind.DAY) == isinstance(column, Date):
            return _steps(column, cell.sql)
        if cell.kind is Kind.DAY:
            return _steps(column, f"({cell.sql}) * {_DAY}")
        return _steps(column, cell.sql, scale=_DAY)


def quote_text(text: str) -> str:
    r"""A string literal. DuckDB knows no escape in it but the doubled quote.

    >>> print(quote_text("it's a \\"))
    'it''s a \'
    """
    return "'" + text.replace("'", "''") + "'"


def _read(declared: str, x: str) -> tuple[Kind | None, str]:
    """The kind of a type, and a cell of it: BIGINT, DOUBLE, VARCHAR, BOOLEAN, days or microseconds since 1970."""
    decimal = _DECIMAL.fullmatch(declared)
    if declared in _INTEGERS:
        return Kind.INTEGER, f"CAST({x} AS BIGINT)"
    if declared in ("FLOAT", "DOUBLE", "UBIGINT"):  # of an unsigned integer beyond 2^53 only the float64 counts
        return Kind.DOUBLE, f"CAST({x} AS DOUBLE)"
    if decimal:  # wider ones by way of text, which is rounded once
        plain = int(decimal[1]) <= _PLAIN_DIGITS
        return Kind.DOUBLE, f"CAST({x} AS DOUBLE)" if plain else f"CAST(CAST({x} AS VARCHAR) AS DOUBLE)"
    if declared == "VARCHAR":
        return Kind.TEXT, x
    if declared in _HUGE or (declared.startswith("ENUM(") and declared.endswith(")")):
        return Kind.TEXT, f"CAST({x} AS VARCHAR)"
    return _read_time(declared, x) if declared != "BOOLEAN" else (Kind.BOOLEAN, x)


def _read_time(declared: str, x: str) -> tuple[Kind | None, str]:
    low, high = (f"CAST({moment} AS {declared})" for moment in _FARTHEST)
    near = f"LEAST(GREATEST({x}, {low}), {high})"
    if declared == "DATE":
        return Kind.DAY, f"({near} - DATE '1970-01-01')"
    if declared in _TIMESTAMPS:
        exact = near if declared in _TIMESTAMPS[:2] else f"CAST({near} AS TIMESTAMP)"
        return Kind.INSTANT, f"epoch_us({exact})"
    if declared == "TIMESTAMP_NS":
        infinite = f"CASE WHEN {x} > CAST('2000-01-01' AS TIMESTAMP_NS) THEN {_FOREVER} ELSE -{_FOREVER} END"
        ticks = f"COALESCE(epoch_ns({x}), {infinite})"
        return Kind.INSTANT, f"({ticks} // 1000 - CAST({ticks} % 1000 < 0 AS BIGINT))"  # // rounds toward zero
    return None, x


def _steps(column: Stepped, ticks: str, scale: int = 1) -> str:
    """The formula of `Stepped` on ticks that are `scale` times as fine as those of the column."""
    if not column.even:
        return _bisect(ticks, [str(start * scale) for start in column.starts.tolist()])
    low, second, top, origin, step = (
        tick * scale for tick in (column.low, column.low + column.tick, column.top, column.origin, column.step)
    )
    offset = f"LEAST(GREATEST({ticks}, {low}), {top}) - ({origin})"  # clamped, so that no branch can overflow
    cell = offset if step == 1 else f"({offset}) // {step}"
    if not column.points:
        return cell
    last = column.cell_count - 1
    return f"CASE WHEN {ticks} < {second} THEN 0 WHEN {ticks} >= {top} THEN {last} ELSE {cell} + {column.points} END"


def _bisect(value: str, starts: Sequence[str], first: int = 0) -> str:
    """How many of these, in rising order, are not above a value, and `first` more: a tree of comparisons.

    >>> _bisect("x", ["1", "5"])
    'CASE WHEN x < 5 THEN CASE WHEN x < 1 THEN 0 ELSE 1 END ELSE 2 END'
    """
    if not starts:
        return str(first)
    half = len(starts) // 2
    below, above = _bisect(value, starts[:half], first), _bisect(value, starts[half + 1 :], first + half + 1)
    return f"CASE WHEN {value} < {starts[half]} THEN {below} ELSE {above} END"
