"""Cells to atoms in DuckDB."""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, final

from kernelease.sources.sql_atoms import Cell, Dialect, Kind, Refusal
from kernelease.table.columns.celled import Stepped
from kernelease.table.columns.column import Column
from kernelease.table.columns.numeric import Integer, Number
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.reading.instants import DAY, MICROSECOND
from kernelease.table.reading.numbers import NUMBER

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
        """By bytes, as a BLOB or a label of an ENUM: to a collation, texts that differ may be equal."""
        if len(codes) > _FEW:
            values = sorted(codes)
            position = f"enum_code(TRY_CAST({cell.sql} AS ENUM({', '.join(map(quoted, values))})))"
            listed = ", ".join(str(codes[value]) for value in values)
            return f"list_extract([{listed}], {position} + 1)"
        cases = (f"WHEN encode({quoted(value)}) THEN {code}" for value, code in codes.items())
        return f"CASE encode({cell.sql}) {' '.join(cases)} END"

    def number_in(self, column: Column, cell: Cell) -> Cell:
        number = f"TRY_CAST({cell.sql} AS DOUBLE)"
        # DuckDB reads more than NUMBER allows (1_000, nan), and all that it allows.
        absent = f"NOT regexp_full_match({cell.sql}, {quoted(NUMBER)}, 'i')"
        return Cell(kind=Kind.DOUBLE, sql=number, absent=absent, declared=cell.declared)

    def word_in(self, cell: Cell, words: Sequence[str]) -> str:
        # Letter by letter: without regard to case, the s of "yes" would also be a long s, U+017F.
        either = ("".join(f"[{letter}{letter.upper()}]" for letter in word) for word in words)
        pattern = f"{_BLANKS}({'|'.join(either)}){_BLANKS}"
        return f"regexp_full_match({cell.sql}, {quoted(pattern)})"

    def from_number(self, column: Integer | Number, cell: Cell) -> str:
        if isinstance(column, Integer):
            return _steps(column, cell.sql if cell.kind is Kind.INTEGER else self._floor(column, cell))
        value, most = f"CAST({cell.sql} AS DOUBLE)", column.cell_count - 2 * column.points - 1
        if (cuts := column.cuts) is not None:
            return _bisected(value, [self.double(cut) for cut in cuts.tolist()])
        clamped = f"LEAST(GREATEST({value}, {self.double(column.low)}), {self.double(column.high)})"
        scaled = f"floor(({clamped} - {self.double(column.origin)}) / {self.double(column.width)})"
        between = f"CAST(LEAST(GREATEST({scaled}, 0), {most}) AS BIGINT) + {column.points}"
        bottom, top = f"{value} < {self.double(column.bottom)}", f"{value} >= {self.double(column.top)}"
        return f"CASE WHEN {bottom} THEN 0 WHEN {top} THEN {column.cell_count - 1} ELSE {between} END"

    def _floor(self, column: Integer, cell: Cell) -> str:
        low, high = self.double(float(column.low)), self.double(float(column.high))
        return f"CAST(floor(LEAST(GREATEST({cell.sql}, {low}), {high})) AS BIGINT)"

    def from_time(self, column: Date | Datetime, cell: Cell) -> str:
        if (cell.kind is Kind.DAY) == isinstance(column, Date):
            return _steps(column, cell.sql)
        if cell.kind is Kind.DAY:
            return _steps(column, f"({cell.sql}) * {_DAY}")
        return _steps(column, cell.sql, scale=_DAY)


def quoted(text: str) -> str:
    r"""A string literal. DuckDB knows no escape in it but the doubled quote.

    >>> print(quoted("it's a \\"))
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
    if (starts := column.starts) is not None:
        return _bisected(ticks, [str(start * scale) for start in starts.tolist()])
    low, second, top, origin, step = (
        tick * scale for tick in (column.low, column.low + column.tick, column.top, column.origin, column.step)
    )
    offset = f"LEAST(GREATEST({ticks}, {low}), {top}) - ({origin})"  # clamped, so that no branch can overflow
    cell = offset if step == 1 else f"({offset}) // {step}"
    if not column.points:
        return cell
    last = column.cell_count - 1
    return f"CASE WHEN {ticks} < {second} THEN 0 WHEN {ticks} >= {top} THEN {last} ELSE {cell} + {column.points} END"


def _bisected(value: str, starts: Sequence[str], first: int = 0) -> str:
    """How many of these, in rising order, are not above a value, and `first` more: a tree of comparisons.

    >>> _bisected("x", ["1", "5"])
    'CASE WHEN x < 5 THEN CASE WHEN x < 1 THEN 0 ELSE 1 END ELSE 2 END'
    """
    if not starts:
        return str(first)
    half = len(starts) // 2
    below, above = _bisected(value, starts[:half], first), _bisected(value, starts[half + 1 :], first + half + 1)
    return f"CASE WHEN {value} < {starts[half]} THEN {below} ELSE {above} END"
