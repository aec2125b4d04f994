"""A schema to begin with: from names and declared types, or from a public table."""

import datetime
import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.errors import SchemaError
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Boolean, Category, String
from kernelease.table.columns.numbers import LARGEST_INTEGER, Integer, Number
from kernelease.table.columns.registry import COLUMN_TYPES, FILL_IN
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.parsing import dense, is_number, is_text
from kernelease.table.schema import Schema
from kernelease.table.toml import toml_key, toml_value
from kernelease.table.written import Written

Lines: TypeAlias = tuple[tuple[str, Any, str], ...]
"""The lines of a column in a schema file: key, value, remark."""

MARK = "seen in private rows: is it public?"
MOST_OUTSIDE = 0.2  # of a column's cells: where more may lie outside of measured bounds, they are left to the owner
MOST_CATEGORIES = 256  # a public text column with more distinct values is drafted as free text

TO_FILL_IN = """\
# A draft. Replace every FILL IN by what is publicly known: from documentation or common knowledge, never from the
# private rows. docs/schema.md explains each key. A column that follows from others costs nothing: declare it as
# computed = "a + b", or determined_by = "a".
"""
TO_DECIDE = """\
# A draft from the private rows, and as private as they are. Go through the marked lines one by one: keep what is public
# knowledge, change what is not. docs/schema.md explains each key, docs/security.md what a kept line can reveal.
"""
_PREAMBLE = """\

[table]
name = {name}
neighbours = "replace-one"  # or "add-remove", where the number of rows is private
"""
_NO_UNIT = """\
# unit = "person"           # the column that identifies a person who may have several rows,
# max_rows_per_unit = 5     # and how many of them may count
"""
_UNIT = """\
# Its values repeat, as those of persons with several rows do. Do they name persons? Then keep these two lines, which
# protect each person with all their rows. If not, remove both and declare the column below.
unit = {unit}  # {mark}
max_rows_per_unit = {most}  # {mark}
"""
_TO_CONFIRM = """\
confirmed = false           # write true when every marked line below is public, or was changed
"""
_BOUNDS: Lines = (
    ("min", FILL_IN, f"{FILL_IN}: the lowest value that is possible"),
    ("max", FILL_IN, f"{FILL_IN}: the highest value that is possible"),
)
_VALUES: Lines = (
    ("values", [FILL_IN], f"{FILL_IN}: all values that are possible"),
    ("other", True, f"{FILL_IN}: a place for values that are not listed; false if there can be none"),
)
_NULLABLE = ("nullable", True, f"{FILL_IN}: false if no value can be missing")
_HINTS: dict[str, Lines] = {
    "integer": _BOUNDS,
    "number": _BOUNDS,
    "date": _BOUNDS,
    "datetime": _BOUNDS,
    "category": _VALUES,
    "boolean": (),
}
_UNKNOWN: Lines = (
    ("type", FILL_IN, f"{FILL_IN}: {', '.join(COLUMN_TYPES)}"),
    ("min", FILL_IN, f"{FILL_IN}: for numbers and dates; remove it otherwise"),
    ("max", FILL_IN, f"{FILL_IN}: for numbers and dates; remove it otherwise"),
    ("values", [FILL_IN], f"{FILL_IN}: for categories, ordinals and strings; remove it otherwise"),
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What private rows seem to say about the whole table. Private.

    `unit` is the column that persons go by, with how many rows most of them have; `rules` hold in every row.
    """

    unit: tuple[str, int] | None = None
    rules: tuple[str, ...] = ()

    @property
    def lines(self) -> str:
        """What to write about it."""
        persons = (
            _NO_UNIT if self.unit is None else _UNIT.format(unit=toml_value(self.unit[0]), most=self.unit[1], mark=MARK)
        )
        return persons + (_line("constraints", self.rules, MARK) + "\n" if self.rules else "")


def draft(
    source: pa.Schema,
    name: str,
    *,
    declared_types: bool,
    known: Mapping[str, Lines] | None = None,
    written: Written | None = None,
    looked: Looked | None = None,
    left_out: Mapping[str, str] | None = None,
    paid: str = "",
) -> str:
    r"""The TOML text of a schema to fill in, from the column names of a source and nothing in its rows.

    With `declared_types`, the types that the source declares (Parquet, SQL) choose the type of each column; without,
    as for CSV, whose types would be guessed from values, they are to be filled in too.

    `known` are the lines of columns that something else has told: a code book, a charged mechanism, the owner's look at
    the rows. What was `looked` at can't be used before it is confirmed. `written` says how the rows are written;
    `left_out` are columns that are not declared, and why. `paid` says what of a budget the known lines have cost.

    >>> print(draft(pa.schema([("age", pa.int64())]), "t", declared_types=True).split("\n\n")[-1])
    [columns.age]
    type = "integer"
    min = "FILL IN"  # FILL IN: the lowest value that is possible
    max = "FILL IN"  # FILL IN: the highest value that is possible
    nullable = true  # FILL IN: false if no value can be missing
    <BLANKLINE>
    """
    table = _PREAMBLE.format(name=toml_value(name))
    if looked is None:
        parts = [f"{TO_FILL_IN}{_remark(paid)}{table}{_NO_UNIT}"]
    else:
        parts = [f"{TO_DECIDE}{table}{looked.lines}{_TO_CONFIRM}"]
    said = Written() if written is None else written
    if said != Written():
        ways = [_line(key, value, "" if looked is None else MARK) for key, value in said.to_dict().items()]
        parts.append("\n".join(["[source]", *ways]) + "\n")
    for field in source:
        if (why := (left_out or {}).get(field.name)) is not None:
            parts.append(f"# column {toml_key(field.name)} is left out: {why}\n")
            continue
        lines = (known or {}).get(field.name) or blank_lines(type_word(field.type) if declared_types else None)
        parts.append(_column_text(f"columns.{toml_key(field.name)}", lines))
    return "\n".join(parts)


def _column_text(header: str, lines: Lines) -> str:
    """A column's part of the file; a mapping has a part of its own below."""
    flat = [_line(*line) for line in lines if not isinstance(line[1], Mapping)]
    text = "\n".join([f"[{header}]", *flat]) + "\n"
    for key, value, remark in lines:
        if isinstance(value, Mapping):
            pairs = [f"{toml_key(name)} = {toml_value(item)}" for name, item in value.items()]
            text += "\n".join([f"\n[{header}.{key}]" + (f"  # {remark}" if remark else ""), *pairs]) + "\n"
    return text


def blank_lines(tag: str | None) -> Lines:
    """The lines of a column of which at most the type is known, to fill in."""
    lines = _UNKNOWN if tag is None else (("type", tag, ""), *_HINTS[tag])
    return (*lines, _NULLABLE)


def measured_lines(tag: str | None, low: float, high: float, *, whole: bool, outside: float, limit: float) -> Lines:
    """Measured bounds: of whole numbers, where that is declared or was measured, else of numbers.

    `outside` is the share of cells that seem to lie outside, `limit` the largest that may: where that is much, the
    bounds are left to fill in.
    """
    kind, lower, upper = _whole(tag, low, high, whole=whole)
    if limit > MOST_OUTSIDE:
        hidden = f"{FILL_IN}: noise hides it. Measured: {{:g}}; up to {_percent(limit)} of the cells may lie outside"
        return kind, ("min", FILL_IN, hidden.format(lower)), ("max", FILL_IN, hidden.format(upper)), _NULLABLE
    clamped = f"measured: some {_percent(outside)} of the cells, {_percent(limit)} at most, lie outside and are clamped"
    return kind, ("min", lower, clamped), ("max", upper, clamped), _NULLABLE


def _whole(tag: str | None, low: float, high: float, *, whole: bool) -> tuple[tuple[str, Any, str], float, float]:
    """The line that says the type, and bounds of that type that differ."""
    if (tag == "integer" or (tag is None and whole)) and max(abs(low), abs(high)) <= LARGEST_INTEGER - 1:
        remark = "" if tag == "integer" else "measured: few of its numbers, if any, have decimals"
        return ("type", "integer", remark), math.ceil(low), max(math.floor(high), math.ceil(low) + 1)
    return ("type", "number", ""), low, high if high > low else low + 1.0


def _percent(share: float) -> str:
    """Rounded up to two digits.

    >>> _percent(0.00721), _percent(0.0341)
    ('0.73 %', '3.5 %')
    """
    digits = 1 - math.floor(math.log10(100.0 * share)) if share > 0.0 else 0
    return f"{math.ceil(100.0 * share * 10.0**digits - 1e-9) / 10.0**digits:g} %"


def listed_lines(values: tuple[str, ...], remark: str = "") -> Lines:
    """Values that are known, and a place for the others."""
    return ("type", "category", ""), ("values", list(values), remark), ("other", True, ""), _NULLABLE


def numeric_names(source: pa.Schema, *, declared_types: bool) -> tuple[str, ...]:
    """The columns that are declared to be numbers, or may be, where nothing is declared."""
    return tuple(f.name for f in source if not declared_types or type_word(f.type) in ("integer", "number", None))


def text_names(source: pa.Schema, *, declared_types: bool) -> tuple[str, ...]:
    """The columns that are declared to be texts; none where nothing is declared."""
    return tuple(f.name for f in source if declared_types and type_word(f.type) == "category")


def _remark(text: str) -> str:
    return "".join(f"# {line}\n" for line in textwrap.wrap(text, 117))


def _line(key: str, value: Any, remark: str) -> str:
    return f"{key} = {toml_value(value)}" + (f"  # {remark}" if remark else "")


def type_word(kind: pa.DataType) -> str | None:
    """The type of a column whose declared Arrow type is known; None where that says nothing."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_integer(kind):
        return "integer"
    if is_number(kind):
        return "number"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_timestamp(kind):
        return "datetime"
    return "category" if is_text(kind) else None


def draft_from_public(table: pa.Table, name: str = "table") -> Schema:
    """A schema with the bounds and categories of a *public* table. A private table here would be published.

    Numbers and dates take the smallest and the largest value, texts of at most 256 distinct values become categories
    with an `other` bucket, longer ones free text; a column is nullable if the public one has a NULL.

    >>> draft_from_public(pa.table({"age": [20, 60], "sex": ["f", None]})).column("sex")
    Category(name='sex', nullable=True, null_when=None, other=True, default=None, values=('f',))
    """
    return Schema(tuple(_column(field.name, table.column(field.name)) for field in table.schema), name=name)


def _column(name: str, array: pa.ChunkedArray) -> Column:
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    tag = type_word(array.type)
    nullable = array.null_count > 0
    values = array.drop_null()
    if tag == "boolean":
        return Boolean(name=name, nullable=nullable)
    if tag == "category":
        texts = sorted(set(values.cast(pa.string()).unique().to_pylist()) - {""})
        if 0 < len(texts) <= MOST_CATEGORIES:
            return Category(name=name, values=tuple(texts), other=True, nullable=nullable)
        return String(name=name, max_length=max([1, *map(len, texts)]), nullable=nullable)
    if tag is None or len(values) == 0:
        raise SchemaError(
            f"column {name!r}: type {array.type} with its public values says nothing. Declare it by hand."
        )
    if tag == "date":
        low, high = (bound.as_py() for bound in pc.min_max(values.cast(pa.date32())).values())
        return Date(name=name, min=low, max=max(high, low + datetime.timedelta(days=1)), nullable=nullable)
    if tag == "datetime":
        return _datetimes(name, values, nullable)
    return _numbers(name, values, nullable, whole=tag == "integer")


def _numbers(name: str, values: pa.ChunkedArray, nullable: bool, whole: bool) -> Column:
    if whole:
        low, high = (int(bound.as_py()) for bound in pc.min_max(values).values())
        if max(abs(low), abs(high)) < LARGEST_INTEGER:
            return Integer(name=name, min=low, max=max(high, low + 1), nullable=nullable)
    numbers = np.concatenate([dense(chunk.cast(pa.float64(), safe=False)) for chunk in values.chunks])
    finite = numbers[np.isfinite(numbers)]
    if len(finite) == 0:
        raise SchemaError(f"column {name!r}: the public table has no finite number in it. Declare its bounds by hand.")
    low_number, high_number = float(finite.min()), float(finite.max())
    size = max(abs(low_number), abs(high_number))
    if high_number - low_number < 2**-40 * size or size == 0.0:  # one value, or cells too narrow for float64
        high_number = low_number + max(1.0, size)
    return Number(name=name, min=low_number, max=high_number, nullable=nullable or len(finite) < len(numbers))


def _datetimes(name: str, values: pa.ChunkedArray, nullable: bool) -> Column:
    zone = None if values.type.tz is None else datetime.UTC
    epoch = datetime.datetime(1970, 1, 1, tzinfo=zone)
    seconds = values.cast(pa.timestamp("s", values.type.tz), safe=False).cast(pa.int64())
    low, high = (epoch + datetime.timedelta(seconds=bound.as_py()) for bound in pc.min_max(seconds).values())
    return Datetime(name=name, min=low, max=high + datetime.timedelta(seconds=1), nullable=nullable)


# What other standards and statisticians call our types.
WORDS: Final = {
    **dict.fromkeys(("integer", "int", "int64", "year", "count", "discrete"), "integer"),
    **dict.fromkeys(("number", "numeric", "float", "double", "decimal", "real", "contin", "continuous"), "number"),
    **dict.fromkeys(("category", "categorical", "nominal", "factor", "enum", "code", "character", "text"), "category"),
    **dict.fromkeys(("string", "varchar", "char", "str"), "category"),
    **dict.fromkeys(("ordinal", "ordered"), "ordinal"),
    **dict.fromkeys(("boolean", "bool", "logical", "binary"), "boolean"),
    **dict.fromkeys(("date",), "date"),
    **dict.fromkeys(("datetime", "timestamp", "date-time"), "datetime"),
}
_FREE_TEXT = 200  # characters, where a code book says no length


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a code book says about one column; None where it says nothing."""

    type: str | None = None
    min: Any = None
    max: Any = None
    values: tuple[Any, ...] = ()
    nullable: bool | None = None
    max_length: int | None = None
    date_format: str | None = None
    """In the signs of `strftime`, where dates are not ISO 8601."""
    remark: str = ""
    """What its values mean."""

    def lines(self) -> Lines:
        """What to write into a schema file; what is not described is left to fill in.

        >>> for line in Described(type="integer", min=0, max=120).lines():
        ...     print(line)
        ('type', 'integer', '')
        ('min', 0, '')
        ('max', 120, '')
        ('nullable', True, 'FILL IN: false if no value can be missing')
        """
        tag = self._tag()
        kind = ("type", tag or FILL_IN, "" if tag else f"{FILL_IN}: {', '.join(COLUMN_TYPES)}")
        return kind, *self._domain(tag), _NULLABLE if self.nullable is None else ("nullable", self.nullable, "")

    def _tag(self) -> str | None:
        tag = WORDS.get((self.type or "").strip().lower())
        if tag in ("integer", "number", None) and self.values:
            return "category"
        return "string" if tag == "category" and not self.values and self.max_length is not None else tag

    def _domain(self, tag: str | None) -> Lines:
        if tag in ("integer", "number", "date", "datetime"):
            return tuple(self._bound(key, word) for key, word in (("min", "lowest"), ("max", "highest")))
        if tag in ("category", "ordinal"):
            if self.values:
                return (("values", list(self.values), " ".join(self.remark.split())),)
            return (("values", [FILL_IN], f"{FILL_IN}: all values that are possible"),)
        return (("max_length", self.max_length or _FREE_TEXT, ""),) if tag == "string" else ()

    def _bound(self, key: str, word: str) -> tuple[str, Any, str]:
        value = getattr(self, key)
        return (
            (key, value, "") if value is not None else (key, FILL_IN, f"{FILL_IN}: the {word} value that is possible")
        )
