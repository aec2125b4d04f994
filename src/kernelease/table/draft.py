"""A schema to begin with: from names and declared types, or from a public table."""

import datetime
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.errors import SchemaError
from kernelease.table.columns.boolean import Boolean
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Category
from kernelease.table.columns.numeric import LARGEST_INTEGER, Integer, Number
from kernelease.table.columns.registry import COLUMN_TYPES, FILL_IN
from kernelease.table.columns.string import String
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.reading.arrow import dense, is_text
from kernelease.table.reading.numbers import is_number
from kernelease.table.records import Records
from kernelease.table.schema import Schema
from kernelease.table.toml import toml_key, toml_value

MOST_CATEGORIES = 256  # a public text column with more distinct values is drafted as free text

_PREAMBLE = """\
# A draft. Replace every FILL IN by what is publicly known about the table, from its documentation or from domain
# knowledge: never by what the private rows happen to hold. docs/schema.md says what each key means. A column that
# others say (computed = "a + b", determined_by = "a") costs nothing: declare it so.

[table]
name = {name}
neighbours = "replace-one"  # or "add-remove", where the number of rows is private
# unit = "person"           # the column that identifies a person who may have several rows,
# max_rows_per_unit = 5     # and how many of them may count
"""
_BOUNDS = (
    ("min", FILL_IN, "the lowest value that is possible"),
    ("max", FILL_IN, "the highest value that is possible"),
)
_VALUES = (
    ("values", [FILL_IN], "all values that are possible"),
    ("other", True, "a place for values that are not listed; false if there can be none"),
)
_HINTS = {
    "integer": _BOUNDS,
    "number": _BOUNDS,
    "date": _BOUNDS,
    "datetime": _BOUNDS,
    "category": _VALUES,
    "boolean": (),
}
_UNKNOWN = (
    ("type", FILL_IN, ", ".join(COLUMN_TYPES)),
    ("min", FILL_IN, "for numbers and dates; remove it otherwise"),
    ("max", FILL_IN, "for numbers and dates; remove it otherwise"),
    ("values", [FILL_IN], "for categories, ordinals and strings; remove it otherwise"),
)


def draft(
    source: pa.Schema,
    name: str,
    *,
    declared_types: bool,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    values: Mapping[str, tuple[str, ...]] | None = None,
    records: Records | None = None,
) -> str:
    r"""The TOML text of a schema to fill in, from the column names of a source and nothing in its rows.

    With `declared_types`, the types that the source declares (Parquet, SQL) choose the type of each column; without,
    as for CSV, whose types would be guessed from values, they are to be filled in too.

    `bounds` of numbers and `values` of texts are those that are known already, as a charged mechanism measures them.
    `records` says where a record of a CSV file ends; None leaves it unsaid.

    >>> print(draft(pa.schema([("age", pa.int64())]), "t", declared_types=True).split("\n\n")[-1])
    [columns.age]
    type = "integer"
    min = "FILL IN"  # FILL IN: the lowest value that is possible
    max = "FILL IN"  # FILL IN: the highest value that is possible
    nullable = true  # FILL IN: false if no value can be missing
    <BLANKLINE>
    """
    parts = [_PREAMBLE.format(name=toml_value(name))]
    if records is not None:
        parts.append(f"[source]\nrecords = {toml_value(records.value)}\n")
    for field in source:
        tag = _tag(field.type) if declared_types else None
        known = (bounds or {}).get(field.name)
        lines = _UNKNOWN if tag is None else (("type", tag, ""), *_HINTS[tag])
        lines = lines if known is None else _numeric(tag, *known)
        if frequent := (values or {}).get(field.name):
            lines = ("type", "category", ""), ("values", list(frequent), ""), ("other", True, "")
        body = [_line(*line) for line in (*lines, ("nullable", True, "false if no value can be missing"))]
        parts.append("\n".join([f"[columns.{toml_key(field.name)}]", *body]) + "\n")
    return "\n".join(parts)


def numeric_names(source: pa.Schema, *, declared_types: bool) -> tuple[str, ...]:
    """The columns that are declared to be numbers, or may be, where nothing is declared."""
    return tuple(f.name for f in source if not declared_types or _tag(f.type) in ("integer", "number", None))


def text_names(source: pa.Schema, *, declared_types: bool) -> tuple[str, ...]:
    """The columns that are declared to be texts; none where nothing is declared."""
    return tuple(f.name for f in source if declared_types and _tag(f.type) == "category")


def _numeric(tag: str | None, low: float, high: float) -> tuple[tuple[str, Any, str], ...]:
    """Measured bounds. The measurement has no cells to say whether numbers are whole: that takes a declared type."""
    high = high if high > low else low + 1.0
    if tag == "integer" and max(abs(low), abs(high)) <= LARGEST_INTEGER:
        return ("type", tag, ""), ("min", math.floor(low), ""), ("max", math.ceil(high), "")
    return ("type", "number", ""), ("min", low, ""), ("max", high, "")


def _line(key: str, value: Any, remark: str) -> str:
    return f"{key} = {toml_value(value)}" + (f"  # {FILL_IN}: {remark}" if remark else "")


def _tag(kind: pa.DataType) -> str | None:
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
    Category(name='sex', nullable=True, other=True, default=None, values=('f',))
    """
    return Schema(tuple(_column(field.name, table.column(field.name)) for field in table.schema), name=name)


def _column(name: str, array: pa.ChunkedArray) -> Column:
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    tag = _tag(array.type)
    nullable = array.null_count > 0
    values = array.drop_null()
    if tag == "boolean":
        return Boolean(name=name, nullable=nullable)
    if tag == "category":
        return _texts(name, values, nullable)
    if tag is None or len(values) == 0:
        raise SchemaError(
            f"column {name!r}: type {array.type} with its public values says nothing. Declare it by hand."
        )
    if tag == "date":
        return _dates(name, values, nullable)
    if tag == "datetime":
        return _datetimes(name, values, nullable)
    return _numbers(name, values, nullable, whole=tag == "integer")


def _texts(name: str, values: pa.ChunkedArray, nullable: bool) -> Column:
    texts = sorted(set(values.cast(pa.string()).unique().to_pylist()) - {""})
    if 0 < len(texts) <= MOST_CATEGORIES:
        return Category(name=name, values=tuple(texts), other=True, nullable=nullable)
    return String(name=name, max_length=max([1, *map(len, texts)]), nullable=nullable)


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


def _dates(name: str, values: pa.ChunkedArray, nullable: bool) -> Column:
    low, high = (bound.as_py() for bound in pc.min_max(values.cast(pa.date32())).values())
    return Date(name=name, min=low, max=max(high, low + datetime.timedelta(days=1)), nullable=nullable)


def _datetimes(name: str, values: pa.ChunkedArray, nullable: bool) -> Column:
    zone = None if values.type.tz is None else datetime.UTC
    epoch = datetime.datetime(1970, 1, 1, tzinfo=zone)
    seconds = values.cast(pa.timestamp("s", values.type.tz), safe=False).cast(pa.int64())
    low, high = (epoch + datetime.timedelta(seconds=bound.as_py()) for bound in pc.min_max(seconds).values())
    return Datetime(name=name, min=low, max=high + datetime.timedelta(seconds=1), nullable=nullable)
