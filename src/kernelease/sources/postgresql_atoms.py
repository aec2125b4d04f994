"""Cells to atoms in PostgreSQL."""

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal
from typing import ClassVar, NoReturn, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Integers
from kernelease.sources.sql_atoms import Cell, Dialect, Kind, Refusal
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Listed
from kernelease.table.columns.numeric import Integer, Number
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.reading.instants import DAY, MICROSECOND

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
        """By bytes: the keys of a JSON object know no collation, and are found by bisection."""
        table = json.dumps({value: str(code) for value, code in codes.items()}, ensure_ascii=False)
        return f"CAST(CAST({quoted(table)} AS jsonb) ->> {cell.sql} AS int4)"

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

    def from_time(self, column: Date | Datetime, cell: Cell) -> str:
        scale = _DAY if isinstance(column, Date) else 1
        starts = [
            _EPOCH + datetime.timedelta(microseconds=start * scale) for start in self._within(column, cell, scale)
        ]
        if cell.kind is Kind.DAY:
            return _bucket(cell.sql, (str(_first_day(start)) for start in starts), "date")
        zone = "+00" if cell.declared == "timestamptz" else ""
        return _bucket(cell.sql, (f'"{start}{zone}"' for start in starts), cell.declared)

    def _within(self, column: Date | Datetime, cell: Cell, scale: int) -> list[int]:
        starts = _starts(column)
        ends = [(end - _EPOCH) // datetime.timedelta(microseconds=1) for end in (_EARLIEST, _LATEST[cell.kind])]
        if starts and not ends[0] < starts[0] * scale <= starts[-1] * scale <= ends[1]:
            raise Refusal(f"column {column.name!r}: its bounds are at the very ends of the calendar.")
        return starts


def quoted(text: str) -> str:
    r"""A string literal that means the same whatever `standard_conforming_strings` says.

    >>> print(quoted("it's"), quoted("a \\ b"))
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
    starts: list[int] = column.bounds()[0][1:].tolist()
    return starts


def _first_day(start: datetime.datetime) -> datetime.date:
    """The first day whose beginning is not before an instant."""
    return start.date() + datetime.timedelta(days=start.time() != datetime.time.min)


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
