"""What the databases share: queries, names, messages that say nothing about a row, and cells to atoms in SQL."""

import enum
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any, ClassVar, final

import pyarrow as pa

from kernelease.errors import SourceError
from kernelease.machine import refuse_shortage
from kernelease.table.columns.cells import Comb
from kernelease.table.columns.column import Codes, Column
from kernelease.table.columns.listed import Boolean, Listed
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.parsing import parse_number

_NAME = r'(?:[^\W\d]\w*|"(?:[^"]|"")+")'
_TABLE = re.compile(rf"{_NAME}(?:\.{_NAME}){{0,2}}")


def as_query(text: str | None, where: str) -> str:
    """A query as it is, or one for all columns of a table that is named; a `SourceError` if there is neither.

    >>> as_query("clinic.patients", ""), as_query('"my table"', ""), as_query("SELECT 1;", "")
    ('SELECT * FROM clinic.patients', 'SELECT * FROM "my table"', 'SELECT 1')
    """
    stripped = (text or "").strip().rstrip(";").rstrip()
    if not stripped:
        raise SourceError(
            f"{where} is a database: name the table, or give a SELECT statement, with --query (query= in Python)."
        )
    return f"SELECT * FROM {stripped}" if _TABLE.fullmatch(stripped) else stripped


def identifier(name: str) -> str:
    """A name in quotes, each quote within it doubled.

    >>> identifier('my "own" table')
    '"my ""own"" table"'
    """
    return '"' + name.replace('"', '""') + '"'


def select(query: str, expressions: Iterable[tuple[str, str]]) -> str:
    """Expressions, each under a name, over the rows of a query. The newline ends a comment at the query's end."""
    chosen = ", ".join(f"{expression} AS {identifier(name)}" for name, expression in expressions)
    return f"SELECT {chosen} FROM (\n{query}\n) AS kernelease_rows"


def title_of(where: str, query: str) -> str:
    r"""A query and where it is run, in one line.

    >>> title_of("SQLite file people.db", "SELECT *\n  FROM t")
    'SQLite file people.db (SELECT * FROM t)'
    """
    return f"{where} ({' '.join(query.split())})"


def optional(module: str, extra: str) -> Any:
    """A package that only some sources need, or a `SourceError` that names the extra to install."""
    try:
        return import_module(module)
    except ImportError:
        raise SourceError(f"This source needs an optional package: pip install 'kernelease[{extra}]'") from None


def refusal(description: str, error: Exception, *, secret: str | None = None) -> SourceError:
    """The error of a query that could not be prepared. No row was touched, so the engine may say why.

    `secret` is a password: a message that holds it is withheld.
    """
    lines = str(error).strip().splitlines() or [""]
    reason = "" if secret and secret in str(error) else f" {lines[0]}"
    return SourceError(f"{description} can't be opened.{reason}")


def failure(description: str) -> SourceError:
    """The error of a query that broke off. The engine may have quoted a cell, so its words are left out."""
    return SourceError(
        f"{description} broke off: the connection was lost, or the query failed on a row. Nothing was spent. "
        "Look at the database's own log."
    )


@contextmanager
def read_to_the_end(description: str, *errors: type[Exception]) -> Iterator[None]:
    """What is read inside comes to its end, or there is a `SourceError` without the engine's own words."""
    try:
        yield
    except (*errors, OSError, pa.ArrowException) as error:
        refuse_shortage(error)
        raise failure(description) from None


# ---- Cells to atoms in SQL: the rules that all engines share, each the twin of a rule in `Column.encode`.


_EXACT = 2.0**53  # integers below this in size are float64 numbers, and no other integer is rounded to one of them


class Refusal(Exception):
    """Why a column can't be encoded by SQL with the certainty of the same bits. No value of a cell decides it."""


class Kind(enum.Enum):
    """What a cell is to SQL, whatever the engine calls its type."""

    BOOLEAN = "a boolean"
    INTEGER = "an integer"
    DOUBLE = "a number"
    TEXT = "text"
    DAY = "a date"
    INSTANT = "a timestamp"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell as an expression that no value makes fail, and a condition for when it holds none (NULL or NaN).

    `declared` is the engine's name of the column's type, for messages and literals.
    """

    kind: Kind
    sql: str
    absent: str
    declared: str


class Dialect(ABC):
    """The SQL of one engine: what its types are, how literals are written, and which cell a number or a date is in."""

    name: ClassVar[str]
    array: ClassVar[str]
    """What comes before the bracket of a list."""
    wide: ClassVar[str]
    """The type of codes that are computed with."""

    @abstractmethod
    def narrow(self, codes: Codes) -> str:
        """The smallest type that holds these."""

    @abstractmethod
    def cell(self, column: Column, declared: str, reference: str) -> Cell:
        """A column of the engine's type `declared` as a cell for this column of the schema, or a `Refusal`."""

    @abstractmethod
    def double(self, number: float) -> str:
        """A float64 literal."""

    @abstractmethod
    def from_text(self, cell: Cell, codes: Mapping[str, int]) -> str:
        """The code of a text; NULL for one that is not in `codes`."""

    @abstractmethod
    def number_in(self, column: Column, cell: Cell) -> Cell:
        """The number that a text says, absent where it says none, or a `Refusal`."""

    @abstractmethod
    def word_in(self, cell: Cell, words: Sequence[str]) -> str:
        """Whether a text is one of these words in any case, blanks around it ignored."""

    @abstractmethod
    def from_number(self, column: Integer | Number, cell: Cell) -> str:
        """The code of an integer or a number."""

    @abstractmethod
    def level(self, column: Integer | Number, cell: Cell) -> str:
        """The legal value that an integer or a number counts as, counted from 0: `level_of`."""

    @abstractmethod
    def from_time(self, column: Date | Datetime, cell: Cell) -> str:
        """The code of a date or a timestamp."""

    def atom(self, column: Column, declared: str, reference: str) -> str:
        """The code of a cell as `Column.encode` gives it: an SQL expression that is never NULL and never fails."""
        cell = self.cell(column, declared, reference)
        return f"CASE WHEN {cell.absent} THEN {column.missing} ELSE {self._present(column, cell)} END"

    def _present(self, column: Column, cell: Cell) -> str:
        """The code of a cell that is not absent."""
        if cell.kind is Kind.BOOLEAN:
            no, yes = column.encode(pa.array([False, True])).tolist()
            return f"CASE WHEN {cell.sql} THEN {yes} ELSE {no} END"
        if (cell.kind in (Kind.DAY, Kind.INSTANT)) != isinstance(column, Date | Datetime):
            raise _unlike(column, cell)
        if isinstance(column, Date | Datetime):
            return self.from_time(column, cell)
        if isinstance(column, Comb):
            return self._from_comb(column, cell)
        if isinstance(column, Integer | Number):
            return self._from_number(column, cell)
        if isinstance(column, Listed):
            return self._from_text(column, cell) if cell.kind is Kind.TEXT else self._from_numbers(column, cell)
        if isinstance(column, Boolean):
            return self._flag(column, cell)
        raise _unlike(column, cell)

    def _from_comb(self, column: Comb, cell: Cell) -> str:
        of = column.of
        assert isinstance(of, Integer | Number)  # there are no others
        number = self.number_in(of, cell) if cell.kind is Kind.TEXT else cell
        level = self.level(of, number)
        value = f"({level} + ({of.phase}))"
        tests = (f"WHEN {value} % {grid} = 0 THEN {place}" for place, grid in enumerate(column.grids))
        remainder = f"({value} % {column.modulus} + {column.modulus}) % {column.modulus}"  # % rounds toward zero
        klass = f"CASE {' '.join(tests)} ELSE {len(column.grids)} + {remainder} END" if column.grids else remainder
        stretches = ", ".join(map(str, column.stretches))
        stretch = (
            f"({self.array}[{stretches}])[({self.from_number(of, number)}) + 1]"  # a list is read once, not per row
        )
        code = f"CASE WHEN {stretch} = 0 THEN 0 ELSE 1 + ({stretch} - 1) * {column.classes} + {klass} END"
        return code if number is cell else f"CASE WHEN {number.absent} THEN {column.unknown} ELSE {code} END"

    def _from_number(self, column: Integer | Number, cell: Cell) -> str:
        if cell.kind is not Kind.TEXT:
            return self.from_number(column, cell)
        number = self.number_in(column, cell)
        return f"CASE WHEN {number.absent} THEN {column.unknown} ELSE {self.from_number(column, number)} END"

    def _from_text(self, column: Listed, cell: Cell) -> str:
        if isinstance(column.vocabulary[0], int):
            number, empty = self.number_in(column, cell), self.from_text(cell, {"": column.missing})
            known = f"CASE WHEN {number.absent} THEN {column.unknown} ELSE {self._from_numbers(column, number)} END"
            return f"COALESCE({empty}, {known})"
        codes = column.spellings
        if any("\0" in value for value in codes):
            raise Refusal(f"column {column.name!r}: a declared value holds the character NUL.")
        return f"COALESCE({self.from_text(cell, {'': column.missing} | codes)}, {column.unknown})"

    def _from_numbers(self, column: Listed, cell: Cell) -> str:
        """Numbers by value, as float64: an integer that is rounded to a declared number has its code."""
        known = known_numbers(column)
        if cell.kind is Kind.INTEGER and all(abs(number) < _EXACT for number, _ in known):
            whole = [(int(number), code) for number, code in known if number.is_integer()]
            return self._from_runs(cell.sql, whole, column.unknown)
        cases = [f"WHEN {self.double(number)} THEN {code}" for number, code in known]
        value = f"CAST({cell.sql} AS DOUBLE PRECISION)"
        return f"CASE {value} {' '.join(cases)} ELSE {column.unknown} END" if cases else str(column.unknown)

    def _from_runs(self, value: str, codes: Sequence[tuple[int, int]], unknown: int) -> str:
        """Integers by runs in which number and code go up together: often there is one."""
        starts = [0] + [i for i, (a, b) in enumerate(pairwise(codes), 1) if (b[0] - a[0], b[1] - a[1]) != (1, 1)]
        runs = [codes[i:j] for i, j in pairwise([*starts, len(codes)])] if codes else []
        cases = [
            f"WHEN {value} BETWEEN {run[0][0]} AND {run[-1][0]} THEN {value} - ({run[0][0] - run[0][1]})"
            for run in runs
        ]
        return f"CASE {' '.join(cases)} ELSE {unknown} END" if cases else str(unknown)

    def _flag(self, column: Boolean, cell: Cell) -> str:
        if cell.kind is not Kind.TEXT:
            return f"CASE {cell.sql} WHEN 0 THEN 0 WHEN 1 THEN 1 ELSE {column.unknown} END"
        number = self.number_in(column, cell)
        return (
            f"CASE WHEN {self.word_in(cell, ('false', 'f', 'no', 'n'))} THEN 0 "
            f"WHEN {self.word_in(cell, ('true', 't', 'yes', 'y'))} THEN 1 WHEN {number.absent} THEN {column.unknown} "
            f"ELSE CASE {number.sql} WHEN 0 THEN 0 WHEN 1 THEN 1 ELSE {column.unknown} END END"
        )


def _unlike(column: Column, cell: Cell) -> Refusal:
    return Refusal(f"column {column.name!r}: declared as {column.tag}, but {cell.declared} is {cell.kind.value}.")


def known_numbers(column: Listed) -> list[tuple[float, int]]:
    """The numbers that declared values say, in order, with their codes.

    >>> from kernelease.table import Category
    >>> known_numbers(Category(name="grade", values=("2", "none", "1.5", "2.0")))
    [(1.5, 2), (2.0, 0)]
    """
    said = (parse_number(str(value).encode()) for value in column.vocabulary)
    numbers = sorted({number + 0.0 for number in said if not math.isnan(number)})
    return list(zip(numbers, column.encode(pa.array(numbers, pa.float64())).tolist(), strict=True))


def joint(group: Sequence[int], sizes: Sequence[int]) -> str:
    """The place of a row in the table of a group of columns, row by row, where a0, a1, … are the codes.

    >>> joint((0, 2), (3, 5, 7))
    '(CAST(a0 AS INTEGER)) * 7 + a2'
    """
    place = f"CAST(a{group[0]} AS INTEGER)"
    for column in group[1:]:
        place = f"({place}) * {sizes[column]} + a{column}"
    return place
