"""Columns of several tables that no row has by itself: aggregates of children, and what code books say."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.errors import ParameterError, SchemaError, nearest
from kernelease.table.columns.column import Column
from kernelease.table.columns.numeric import Integer
from kernelease.table.derived import book_lines, typed_cell
from kernelease.table.expressions.logic import parse
from kernelease.table.schema import Schema

# --------------------------------------------------------------------------------------------------------------
# Aggregates: how many records of another table a row has, counted as a column of that row.


_COUNT = re.compile(r"\s*count\(\s*([a-z][a-z0-9_]*)\s*(?:,\s*(\S.*?)\s*)?\)\s*", re.DOTALL)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """How many records of another table a row has that meet a condition; what is above `max` counts as `max`.

    >>> Aggregate(name="elders", table="persons", condition="age >= 65", max=5).text
    'count(persons, age >= 65)'
    """

    name: str
    table: str
    condition: str | None
    max: int

    @property
    def text(self) -> str:
        """As a schema declares it."""
        return f"count({self.table}{'' if self.condition is None else f', {self.condition}'})"

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns of records in its condition."""
        return () if self.condition is None else parse(self.condition, schema.columns).columns

    def holds(self, records: pa.Table, schema: Schema) -> NDArray[np.bool_]:
        """Whether each record is counted: (n,). What is not known does not count."""
        if self.condition is None:
            return np.ones(records.num_rows, dtype=np.bool_)
        return parse(self.condition, schema.columns).holds(records)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {"name": self.name, "aggregate": self.text, "max": self.max}


def read_aggregates(name: str, body: Mapping[str, Any]) -> tuple[Aggregate, ...]:
    """The declared aggregates of a table, or a `SchemaError`; other tables are looked at later."""
    given = body.get("aggregates", [])
    if not isinstance(given, list):
        raise SchemaError(f"table {name!r}: must be a list.", path=("tables", name, "aggregates"))
    found = []
    for one in given:
        path = ("tables", name, "columns", str(one.get("name")) if isinstance(one, Mapping) else "?")
        if not isinstance(one, Mapping) or set(one) != {"name", "aggregate", "max"} or type(one["max"]) is not int:
            told = 'an aggregate has aggregate = "count(TABLE, condition)" and max, a whole number, and nothing else.'
            raise SchemaError(f"table {name!r}: column {path[-1]!r}: {told}", path=path)
        read = _COUNT.fullmatch(one["aggregate"]) if isinstance(one["aggregate"], str) else None
        if read is None or not isinstance(one["name"], str):
            told = 'aggregate must be "count(TABLE)" or "count(TABLE, condition)"; other aggregates are made of rows.'
            raise SchemaError(f"table {name!r}: column {path[-1]!r}: {told}", path=path)
        table, condition = read.groups()
        found.append(Aggregate(name=one["name"], table=table, condition=condition, max=one["max"]))
    return tuple(found)


def uncountable(one: Aggregate, schema: Schema) -> str | None:
    """Why a condition can't be told of codes, in words; None: it can."""
    try:
        names = one.columns(schema)
    except ParameterError as error:
        return f"{one.text}: {error}"
    if one.condition is not None and not names:
        return f"{one.text}: the condition names no column of {one.table!r}."
    for name in names:
        if not _is_exact(schema.column(name)):
            return (
                f"{one.text}: {name!r} is counted in cells, and not value by value. Conditions are about categories, "
                "booleans, and integers of a short range without cells."
            )
    return None


def _is_exact(column: Column) -> bool:
    """Whether each value has a code of its own."""
    if isinstance(column, Integer):
        return column.size - int(column.nullable) == column.levels.number
    return column.tag in ("category", "boolean")


# --------------------------------------------------------------------------------------------------------------
# Code books among the tables of a schema: public files, joined to private tables by a column with their keys.
#
#     [tables.products]
#     public = "products.csv"
#     key = "product"
#
#     [tables.purchases.columns.product]
#     type = "category"
#     codebook = "products"
#
# Such a column has the book's keys as its values, so that every released key is in the book. All other columns of the
# book follow from it, as `product_kind` and so on: they are computed in released rows, and no budget is spent on them.


_KEYS = ("public", "key")
_TYPES = ("integer", "number", "boolean")  # the first that all cells of a column have; else it is a category


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A code book: its key, and what every key means."""

    name: str
    key: str
    names: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]

    @classmethod
    def read(cls, name: str, body: Mapping[str, Any], folder: Path | None) -> "Book":
        """The book that a public table of a schema names, or a `SchemaError`."""
        for given in body:
            if given not in _KEYS:
                told = f"is public, and has no {given!r}: known are {' and '.join(_KEYS)}."
                raise _wrong(name, str(given), f"{told}{nearest(str(given), _KEYS)}")
        try:
            header, *lines = book_lines(name, body["public"], folder)
        except SchemaError as error:
            raise _wrong(name, "public", str(error)) from None
        key = body.get("key")
        if not isinstance(key, str) or header.count(key) != 1:
            told = f"key must be a column of the code book, once; it has {', '.join(header)}; got {key!r}."
            raise _wrong(name, "key" if "key" in body else "public", told)
        keys = [line[header.index(key)] for line in lines]
        if (twice := next((one for one in keys if keys.count(one) > 1), None)) is not None:
            raise _wrong(name, "public", f"the key {twice!r} is in the code book more than once.")
        return cls(name=name, key=key, names=tuple(header), lines=tuple(map(tuple, lines)))

    def column(self, name: str) -> list[str]:
        """The cells of one of its columns."""
        return [line[self.names.index(name)] for line in self.lines]

    def joined(self, name: str, body: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """A column with the book's keys, and all that follows from it, as a schema file declares them."""
        keys = self.column(self.key)
        declared = {name: {**{key: body[key] for key in body if key != "codebook"}, "values": keys}}
        left_out = {"nullable": True} if "other" in body else {}
        for own in self.names:
            if own != self.key:
                cells = self.column(own)
                kind = _kind_of(cells)
                values = [typed_cell(own, kind, cell) for cell in cells]
                mapping = dict(zip(keys, values, strict=True))
                declared[f"{name}_{own}"] = {"type": kind, "determined_by": name, "mapping": mapping, **left_out}
        return declared


def read_books(bodies: Mapping[str, Any], folder: Path | None) -> tuple[dict[str, Any], dict[str, Book]]:
    """The private tables of a schema, whose columns have what books say; and the books."""
    public = {name: body for name, body in bodies.items() if isinstance(body, dict) and "public" in body}
    books = {name: Book.read(name, body, folder) for name, body in public.items()}
    private = {name: _with_books(body, books) for name, body in bodies.items() if name not in books}
    used = {
        own.get("codebook")
        for body in bodies.values()
        if isinstance(body, dict) and isinstance(body.get("columns"), dict)
        for own in body["columns"].values()
        if isinstance(own, dict)
    }
    for name in books:
        if name not in used:
            told = f'is public, and no column refers to it: declare one with codebook = "{name}".'
            raise _wrong(name, None, told)
    return private, books


def _with_books(body: Any, books: Mapping[str, Book]) -> Any:
    if not isinstance(body, dict) or not isinstance(body.get("columns"), dict):
        return body
    columns: dict[str, Any] = {}
    for name, own in body["columns"].items():
        named = own.get("codebook") if isinstance(own, dict) else None
        columns |= books[named].joined(name, own) if isinstance(named, str) and named in books else {name: own}
    return {**body, "columns": columns}


def _kind_of(cells: Sequence[str]) -> str:
    """The type of a column of a book: of the first kind that all its cells are."""
    for kind in _TYPES:
        try:
            for cell in cells:
                typed_cell("", kind, cell)
        except SchemaError:
            continue
        return kind
    return "category"


def _wrong(table: str, key: str | None, message: str) -> SchemaError:
    return SchemaError(f"table {table!r}: {message}", path=("tables", table, *([] if key is None else [key])))
