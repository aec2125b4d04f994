"""Columns that are neither read nor measured: what everybody knows about a row, from its other columns."""

import csv
import datetime
import io
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.arrays import LARGEST, Floats
from kernelease.errors import ParameterError, SchemaError, nearest
from kernelease.strangers import read_text
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Column, column_error, is_name
from kernelease.table.columns.listed import Boolean, Category, Listed, Ordinal
from kernelease.table.columns.numbers import LARGEST_INTEGER, Integer, Number
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.expressions.logic import Computed as ComputedTest, Condition, names_in, parse, parse_term
from kernelease.table.expressions.terms import Arithmetic, Extracted, Term, columns_of, numbers, show, unit_of
from kernelease.table.parsing import MOST_DECIMALS, decimals_of

# ---- What every derived column is: a declaration, and what it comes to among the columns of a schema.


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation(ABC):
    """How a derived column's value follows from its row. `column` says which values it may have; it has no atoms.

    `sources` are the columns that it is derived from, which may be derived themselves.
    """

    column: Column
    sources: tuple[str, ...]

    @abstractmethod
    def values(self, table: pa.Table) -> pa.Array | pa.ChunkedArray:
        """The value of each row of a table that has the sources: n values of `column.arrow_type`."""

    def lawful(self, values: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
        """Whether each value is within what was declared beside its derivation: (n,)."""
        return np.ones(len(values), dtype=bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived(ABC):
    """A declared column that other columns of its row determine.

    It is not read from private rows and not measured, so that it costs no budget, and it holds in every released row.
    """

    name: str
    type: str
    null_when: str | None = None

    types: ClassVar[tuple[str, ...]]
    """The types that such a column may have."""
    key: ClassVar[str]
    """The key of a schema file that makes a column one of these."""

    def __post_init__(self) -> None:
        if not is_name(self._raw_field("name")):
            raise SchemaError(f"A column's name must be a non-empty string, got {self.name!r}.", path=("columns",))
        if self.type not in self.types:
            known = ", ".join(self.types)
            hint = nearest(str(self.type), self.types)
            raise self.error("type", f"type with {self.key} must be one of {known}, got {self.type!r}.{hint}")
        self._check()

    def _raw_field(self, key: str) -> Any:
        return getattr(self, key)

    @abstractmethod
    def _check(self) -> None:
        """Validate the fields, or raise `self.error`."""

    @abstractmethod
    def reads(self, known: Collection[str]) -> tuple[str, ...]:
        """Which of the known columns it is derived from."""

    @abstractmethod
    def bind(self, columns: Mapping[str, Column]) -> Derivation:
        """What it comes to among these columns, or a `SchemaError`."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What it is derived from, in words."""

    def to_dict(self) -> dict[str, Any]:
        """The declaration without its name, as a schema file has it; defaults are left out."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "name"}
        left_out = {field.name for field in fields(self) if getattr(self, field.name) == field.default}
        return {key: _write_value(value) for key, value in given.items() if key not in left_out}

    def error(self, key: str, message: str) -> SchemaError:
        """A `SchemaError` about one key of this column."""
        return column_error(self.name, message, key)


def derived_keys(kind: type[Derived]) -> tuple[str, ...]:
    """The keys that such a column may have in a file."""
    return tuple(field.name for field in fields(kind) if field.name != "name")


def _write_value(value: Any) -> Any:
    """Pairs as a table, several values as a list."""
    if isinstance(value, tuple) and all(isinstance(item, tuple) for item in value):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


# ---- The range of a term, from the declared bounds of its columns.


Range: TypeAlias = tuple[float, float]

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_SECONDS = {"date": 1.0, "datetime": 1e6}  # ticks of a column, per unit that arithmetic takes it in
_PART_RANGES: Mapping[str, Range] = {
    "month": (1, 12),
    "day": (1, 31),
    "weekday": (1, 7),
    "hour": (0, 23),
    "minute": (0, 59),
}


def range_of(term: Term) -> Range | None:
    """The least and the greatest number that a term may be where no column is NULL; None where nothing bounds it.

    A quotient whose divisor may be 0 has no bounds, and is NULL there. Interval arithmetic: bounds are safe, and wider
    than need be where a column is in the term twice.

    >>> from kernelease.table.columns import Integer
    >>> from kernelease.table.expressions.logic import parse_term
    >>> columns = [Integer(name="a", min=1, max=3), Integer(name="b", min=0, max=2)]
    >>> range_of(parse_term("2 * a - b", columns)), range_of(parse_term("a / b", columns))
    ((0.0, 6.0), None)
    """
    if isinstance(term, Arithmetic):
        left, right = range_of(term.left), range_of(term.right)
        found = None if left is None or right is None else _combine(term.sign, left, right)
        return found if found is not None and all(map(math.isfinite, found)) else None
    if isinstance(term, Extracted):
        if term.part == "date":
            first, last = (math.floor(bound / 86_400) for bound in _bounds(term.column))
            return float(first), float(last)
        return _PART_RANGES[term.part] if term.part in _PART_RANGES else _years(term.column)
    if isinstance(term, Column):
        return _bounds(term)
    return float(term), float(term)


def _bounds(column: Column) -> Range:
    assert isinstance(column, Celled)
    lowest, highest = column.bounds()
    per_unit = _SECONDS.get(column.tag, 1.0)
    return float(lowest[0]) / per_unit, float(highest[-1]) / per_unit


def _years(column: Column) -> Range:
    per_day = 86_400 if column.tag == "datetime" else 1
    days = [math.floor(bound / per_day) + _EPOCH for bound in _bounds(column)]
    first, last = (datetime.date.fromordinal(min(max(day, 1), datetime.date.max.toordinal())).year for day in days)
    return float(first), float(last)


def _combine(sign: str, left: Range, right: Range) -> Range | None:
    """The range of `left sign right`; none of a quotient whose divisor may be 0."""
    if sign == "/" and right[0] <= 0.0 <= right[1]:
        return None
    compute = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}[sign]
    ends = [compute(a, b) for a in left for b in right]
    return min(ends), max(ends)


# ---- Computed columns.


_CALENDAR = (1 - _EPOCH, datetime.date.max.toordinal() - _EPOCH)  # the days that Python's dates can hold
_PER_DAY = {"date": 1, "datetime": 86_400}
_UNITS = {"number": "number", "integer": "number", "date": "date", "datetime": "datetime"}

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Computed(Derived):
    """A column computed from others of its row: `total = principal + interest`. NULL in a source makes it NULL.

    A number is rounded to `decimals`, an integer and a date to the nearest whole one, a datetime to the second. A
    boolean is a condition, true, false or not known. Bounds (`min`, `max`) may be declared; rows outside of them are
    drawn again, as for a rule.
    """

    computed: str
    decimals: int | None = None
    min: Any = None
    max: Any = None

    types: ClassVar[tuple[str, ...]] = ("number", "integer", "boolean", "date", "datetime")
    key: ClassVar[str] = "computed"

    def _check(self) -> None:
        if not isinstance(self._raw_field("computed"), str):
            raise self.error("computed", f"computed must be a text like 'a + b', got {self.computed!r}.")
        if self.decimals is not None:
            if self.type != "number":
                raise self.error("decimals", f"decimals are of a number, not of type {self.type}. Remove them.")
            if type(self.decimals) is not int or not 0 <= self.decimals <= MOST_DECIMALS:
                raise self.error(
                    "decimals", f"decimals must be an integer from 0 to {MOST_DECIMALS}, got {self.decimals!r}."
                )
        if self.type == "boolean" and (self.min is not None or self.max is not None):
            raise self.error("min" if self.min is not None else "max", "a boolean has no bounds. Remove them.")

    @property
    def in_words(self) -> str:
        return f"computed as {self.computed}"

    def reads(self, known: Collection[str]) -> tuple[str, ...]:
        return self._parse(lambda: names_in(self.computed, known))

    def bind(self, columns: Mapping[str, Column]) -> Derivation:
        if self.type == "boolean":
            return self._condition(self._parse(lambda: parse(self.computed, columns.values())), columns)
        term = self._parse(lambda: parse_term(self.computed, columns.values()))
        if not isinstance(term, Column | Arithmetic | Extracted):
            raise self.error("computed", f"{show(self.computed)} holds no column. A column of one value is none.")
        if self._parse(lambda: unit_of(term)) != _UNITS[self.type]:
            raise self.error("type", f"{show(self.computed)} is a {unit_of(term)}, and type is {self.type}.")
        within = range_of(term)
        nullable = within is None or any(source.nullable for source in columns_of(term)) or self.null_when is not None
        if self.type in _PER_DAY and within is not None:
            nullable |= not all(_CALENDAR[0] <= end / _PER_DAY[self.type] <= _CALENDAR[1] for end in within)
        zoned = any(getattr(source.arrow_type, "tz", None) for source in columns_of(term))
        column = self._column(within or (-math.inf, math.inf), nullable, datetime.UTC if zoned else None)
        names = tuple(source.name for source in columns_of(term))
        bounded = self.min is not None or self.max is not None
        decimals = self._decimals(term) if self.type == "number" else 0
        return Formula(column=column, sources=names, term=term, decimals=decimals, bounded=bounded)

    def _parse(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except ParameterError as error:
            raise self.error("computed", f"computed = {show(self.computed, 200)}: {error}") from None

    def _condition(self, condition: Condition, columns: Mapping[str, Column]) -> Derivation:
        sides = [
            side for leaf in condition.leaves() if isinstance(leaf, ComputedTest) for side in (leaf.left, leaf.right)
        ]
        unknown = any(columns[name].nullable for name in condition.columns) or None in map(range_of, sides)
        nullable = unknown or self.null_when is not None
        return Flag(column=Boolean(name=self.name, nullable=nullable), sources=condition.columns, condition=condition)

    def _decimals(self, term: Term) -> int:
        """The declared decimals, or as many as the numbers have that are added up."""
        found = self.decimals if self.decimals is not None else _decimals_of(term)
        if found is None or found > MOST_DECIMALS:
            raise self.error(
                "computed", f"{show(self.computed)} has no last digit: declare decimals, like decimals = 2."
            )
        return found

    def _column(self, within: Range, nullable: bool, zone: datetime.tzinfo | None) -> Column:
        """Which values the column may have: its declared bounds, else those that follow from its sources."""
        given, declared = {"min": self.min, "max": self.max}, self._bounds(within, zone)
        bounds: dict[str, Any] = {key: declared[key] if given[key] is None else given[key] for key in given}
        kinds: dict[str, type[Celled]] = {"number": Number, "integer": Integer, "date": Date, "datetime": Datetime}
        return kinds[self.type](name=self.name, nullable=nullable, cells=1, **bounds)

    def _bounds(self, within: Range, zone: datetime.tzinfo | None) -> dict[str, Any]:
        most = {"number": LARGEST, "integer": float(LARGEST_INTEGER)}.get(self.type, math.inf)
        low, high = (min(max(end, -most), most) for end in within)
        if self.type == "number":
            return {"min": low, "max": high if low < high else low + max(1.0, abs(low))}
        if self.type == "integer":
            return {"min": math.floor(low), "max": max(math.ceil(high), math.floor(low) + 1)}
        days = [min(max(end / _PER_DAY[self.type], _CALENDAR[0]), _CALENDAR[1]) for end in (low, high)]
        first, last = min(math.floor(days[0]), _CALENDAR[1] - 1), min(math.floor(days[1]) + 1, _CALENDAR[1])
        ends = [datetime.date.fromordinal(day + _EPOCH) for day in (first, last)]
        if self.type == "datetime":
            ends = [datetime.datetime.combine(end, datetime.time(), zone) for end in ends]
        return {"min": ends[0], "max": ends[1]}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Formula(Derivation):
    """A number, a date or a datetime, from a term of the language."""

    term: Term
    decimals: int
    bounded: bool

    def values(self, table: pa.Table) -> pa.Array:
        found = np.broadcast_to(numbers(self.term, table).values, table.num_rows)
        if self.column.tag == "number":
            with np.errstate(over="ignore"):
                rounded = np.round(found, self.decimals) + 0.0  # no −0
            found = np.where(np.isfinite(rounded), rounded, found)
            return pa.array(found, mask=np.isnan(found))
        return self._whole(np.rint(found))

    def _whole(self, found: Floats) -> pa.Array:
        """Integers, days or seconds; NULL beyond what the type holds."""
        per_day = _PER_DAY.get(self.column.tag)
        low, high = (
            (-float(LARGEST_INTEGER), float(LARGEST_INTEGER))
            if per_day is None
            else (_CALENDAR[0] * per_day, (_CALENDAR[1] + 1) * per_day - 1)
        )
        absent = ~((low <= found) & (found <= high))
        whole = np.where(absent, 0, found).astype(np.int64)
        if self.column.tag == "date":
            return pa.array(whole.astype(np.int32), pa.int32(), mask=absent).cast(pa.date32())
        if self.column.tag == "datetime":
            return pa.array(whole * 1_000_000, pa.int64(), mask=absent).cast(self.column.arrow_type)
        return pa.array(whole, mask=absent)

    def lawful(self, values: Any) -> NDArray[np.bool_]:
        if not self.bounded:
            return np.ones(len(values), dtype=bool)
        low, high = (getattr(self.column, key) for key in ("min", "max"))
        ends = [self.column.key(end.isoformat() if isinstance(end, datetime.date) else end) for end in (low, high)]
        keys = self.column.keys(values)
        inside = pc.and_(pc.greater_equal(keys, ends[0]), pc.less_equal(keys, ends[1]))
        return np.asarray(pc.fill_null(inside, True), dtype=bool)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Flag(Derivation):
    """Whether a condition is true."""

    condition: Condition

    def values(self, table: pa.Table) -> Any:
        return self.condition.test(table)


def _decimals_of(term: Term) -> int | None:
    """How many digits follow the point at most; None where there is no last one."""
    if isinstance(term, Arithmetic):
        left, right = _decimals_of(term.left), _decimals_of(term.right)
        if left is None or right is None or term.sign == "/":
            return None
        return left + right if term.sign == "*" else max(left, right)
    if isinstance(term, Number):
        return term.digits
    return decimals_of(float(term)) if isinstance(term, int | float) else 0


# ---- Code books: CSV files that list values, and what each of them determines.


KEY = "codebook"


def with_codebooks(columns: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    """The tables of columns, with what their code books say in place of the files' names.

    A code book is a CSV file in UTF-8 beside the schema file, with a header. The column of the book that has the
    column's own name lists its `values`, each once; of a column that another determines, it gives the `mapping` from
    the column of the book that has the other's name. For a hierarchy, `level` names the column of the groups.
    """
    return {name: _read(name, body, folder) for name, body in columns.items()}


def _read(name: str, body: Any, folder: Path | None) -> Any:
    if not isinstance(body, Mapping) or KEY not in body:
        return body
    rest = {key: value for key, value in body.items() if key != KEY}
    by = rest.get("determined_by")
    key = "values" if by is None else "mapping"
    if key in rest:
        raise _error(name, f"codebook has the {key}. Remove one of the two.")
    lines = book_lines(name, body[KEY], folder)
    mine = _column(name, lines, name)
    if by is None:
        if (level := rest.pop("level", None)) is None:
            return {**rest, "values": list(dict.fromkeys(mine))}
        groups = _told_once(name, mine, _column(name, lines, str(level)))
        return {**rest, "values": list(groups), "groups": list(groups.values())}
    pairs = _told_once(name, _column(name, lines, str(by)), mine)
    return {**rest, key: {code: typed_cell(name, rest.get("type"), value) for code, value in pairs.items()}}


def _told_once(name: str, codes: list[str], values: list[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for code, value in zip(codes, values, strict=True):
        if pairs.setdefault(code, value) != value:
            raise _error(name, f"the code book gives {code!r} two values, {pairs[code]!r} and {value!r}.")
    return pairs


def book_lines(name: str, given: object, folder: Path | None) -> list[list[str]]:
    """The lines of a code book, its header first, each of as many cells; or a `SchemaError`."""
    if folder is None:
        raise _error(name, "a code book lies beside a schema file: load the schema from its file.")
    if not isinstance(given, str) or Path(given).name != given:
        raise _error(name, f"codebook must be the name of a CSV file in the schema's folder, got {given!r}.")
    try:
        text = read_text(folder / given, encoding="utf-8-sig")
        lines = [line for line in csv.reader(io.StringIO(text, newline=""), strict=True) if line]
    except (OSError, ValueError, csv.Error) as error:
        raise _error(name, f"the code book {given!r} can't be read as CSV in UTF-8 ({type(error).__name__}).") from None
    if len(lines) < 2 or any(len(line) != len(lines[0]) for line in lines):
        raise _error(name, f"the code book {given!r} needs a header, and lines of as many cells as that.")
    return lines


def _column(name: str, lines: list[list[str]], wanted: str) -> list[str]:
    if lines[0].count(wanted) != 1:
        raise _error(name, f"the code book's header must have {wanted!r} once; it has {', '.join(lines[0])}.")
    place = lines[0].index(wanted)
    return [line[place] for line in lines[1:]]


def typed_cell(name: str, tag: object, text: str) -> str | int | float | bool:
    """A cell as its column's type has it; categories are text."""
    try:
        if tag == "integer":
            return int(text)
        if tag == "number":
            return float(text)
        if tag == "boolean":
            return {"true": True, "false": False}[text.lower()]
    except (ValueError, KeyError):
        raise _error(name, f"the code book gives {text!r}, which is no {tag}.") from None
    return text


def _error(name: str, message: str) -> SchemaError:
    return column_error(name, message, KEY)


# ---- Determined columns.


Value: TypeAlias = str | int | float | bool

_FITTING: Mapping[str, tuple[type, ...]] = {"integer": (int,), "number": (int, float), "boolean": (bool,)}
MOST_INTEGERS = 65_536  # that a column may have for a table of all of them to be declared


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Determined(Derived):
    """A column that another one determines: `grade` by `sub_grade`, `region` by `municipality`.

    `mapping` gives the value for each value of the other column, by its text. Where that is NULL, so is this one; with
    `nullable`, a value that the mapping leaves out gives NULL, too. Of an ordinal, `values` may state the order.

    >>> Determined(name="grade", type="category", determined_by="sub_grade", mapping={"A1": "A"}).mapping
    (('A1', 'A'),)
    """

    determined_by: str
    mapping: tuple[tuple[str, Value], ...] | Mapping[str, Value]
    values: tuple[str | int, ...] = ()
    nullable: bool = False

    types: ClassVar[tuple[str, ...]] = ("category", "ordinal", "integer", "number", "boolean")
    key: ClassVar[str] = "determined_by"

    def _check(self) -> None:
        if not isinstance(self._raw_field("determined_by"), str):
            raise self.error("determined_by", f"determined_by must name a column, got {self.determined_by!r}.")
        if not isinstance(self._raw_field("nullable"), bool):
            raise self.error("nullable", f"nullable must be true or false, got {self.nullable!r}.")
        given = self._raw_field("mapping")
        pairs = tuple(given.items()) if isinstance(given, Mapping) else given
        if not isinstance(pairs, tuple) or not pairs:
            raise self.error("mapping", f"mapping must be a table like {{ A1 = 'A' }}, got {given!r}.")
        object.__setattr__(self, "mapping", tuple((str(key), self._read(value)) for key, value in pairs))
        object.__setattr__(self, "values", tuple(self.values))
        if self.values and self.type != "ordinal":
            raise self.error(
                "values", "values are the order of an ordinal; elsewhere the mapping has them. Remove them."
            )
        if missing := {value for _, value in self.pairs} - {*(self.values or self._distinct)}:
            raise self.error(
                "values", f"values must hold all that the mapping gives; {min(map(str, missing))!r} is not there."
            )

    def _read(self, value: Any) -> Any:
        if type(value) not in _FITTING.get(self.type, (str, int)):
            raise self.error("mapping", f"mapping of type {self.type} can't give {value!r}.")
        return float(value) if self.type == "number" else value

    @property
    def pairs(self) -> tuple[tuple[str, Value], ...]:
        """The mapping, pair by pair."""
        return tuple(self.mapping.items()) if isinstance(self.mapping, Mapping) else self.mapping

    @property
    def _distinct(self) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(value for _, value in self.pairs))

    @property
    def in_words(self) -> str:
        return f"determined by {self.determined_by}"

    def reads(self, known: Collection[str]) -> tuple[str, ...]:
        if self.determined_by not in known:
            hint = nearest(self.determined_by, known)
            raise self.error("determined_by", f"there is no column {self.determined_by!r}.{hint}")
        return (self.determined_by,)

    def bind(self, columns: Mapping[str, Column]) -> Derivation:
        source, given = columns[self.determined_by], dict(self.pairs)
        legal = _legal(source)
        if legal is None:
            raise self.error(
                "determined_by",
                f"column {source.name!r} of type {source.tag} has no list of values; a category, an ordinal, a boolean "
                "or an integer has. Declare this one as computed.",
            )
        left_out = [value for value in legal if text_of(value) not in given]
        if left_out and not self.nullable:
            raise self.error(
                "mapping",
                f"mapping has no value for {left_out[0]!r} of {source.name!r}, and {len(left_out) - 1:,} more. "
                "Add them, or declare nullable = true.",
            )
        kept = [value for value in legal if text_of(value) in given]
        if not kept:
            raise self.error("mapping", f"mapping has none of the values of {source.name!r}.")
        nullable = source.nullable or bool(left_out) or self.null_when is not None
        column = self._column(nullable)
        return Lookup(
            column=column,
            sources=(source.name,),
            known=pa.array(kept, source.arrow_type),
            found=pa.array([given[text_of(value)] for value in kept], column.arrow_type),
        )

    def _column(self, nullable: bool) -> Column:
        values: tuple[Any, ...] = self.values or self._distinct
        if self.type == "boolean":
            return Boolean(name=self.name, nullable=nullable)
        if self.type in ("category", "ordinal"):
            listed = Category if self.type == "category" else Ordinal
            return listed(name=self.name, values=values, nullable=nullable)
        low, high = min(values), max(values)
        ends = {"min": low, "max": high if low < high else low + 1}
        kind = Integer if self.type == "integer" else Number
        return kind(name=self.name, nullable=nullable, cells=1, **ends)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup(Derivation):
    """The values `found` in place of those that are `known`, one for each; NULL for all others."""

    known: pa.Array
    found: pa.Array

    def values(self, table: pa.Table) -> Any:
        places = pc.index_in(table.column(self.sources[0]), value_set=self.known)
        return self.found.take(places.combine_chunks() if isinstance(places, pa.ChunkedArray) else places)


def _legal(column: Column) -> Iterable[Any] | None:
    """The values that a column may have, NULL aside; None where they are too many to list."""
    if isinstance(column, Boolean):
        return (False, True)
    if isinstance(column, Listed):
        return (*column.vocabulary, *([] if column.other_label is None else [column.other_label]))
    if isinstance(column, Integer) and column.values is not None:
        return column.values
    if isinstance(column, Integer) and (column.high - column.low) // column.tick < MOST_INTEGERS:
        return range(column.low, column.high + 1, column.tick)
    return None


def text_of(value: Value) -> str:
    """A value as the keys of a file write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
