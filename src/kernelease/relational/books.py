"""Columns of several tables that no row has by itself: aggregates of children, and what code books say."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.arrays import Integers
from kernelease.errors import ParameterError, SchemaError, nearest
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Boolean
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.columns.registry import FILL_IN, column_from_dict
from kernelease.table.derived import book_lines, typed_cell
from kernelease.table.expressions.logic import parse
from kernelease.table.parsing import instants_in, numbers_in, round_to_digits
from kernelease.table.schema import Schema

# --------------------------------------------------------------------------------------------------------------
# Aggregates: what the records of another table come to, measured as a column of the row that they belong to.


_WRITTEN = re.compile(r"\s*([a-z]+)\(\s*([a-z][a-z0-9_]*)\s*(?:\.\s*([^,]*?)\s*)?(?:,\s*(\S.*?)\s*)?\)\s*", re.DOTALL)
_OF_RECORDS, _OF_VALUES = ("count", "any", "share"), ("sum", "mean", "min", "max")
_DECLARED = ("type", "min", "max", "resolution", "decimals", "scale", "cells")  # of a column: the rest follows
_FORMS = '"count(TABLE)", "any(TABLE, condition)", "share(TABLE, condition)", or "sum(TABLE.COLUMN)", mean, min or max'
_GRID = 2**40  # convention: values that a number without decimals is summed in: far more than cells tell apart
_MOST_VALUES = 2**50  # derived: 1000 records of so many legal values are summed within 64 bits


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """What the kept records of a row come to: those that meet a condition, or all of them.

    `count` is how many they are, `any` whether there is one, `share` which part of all they are; `sum`, `mean`, `min`
    and `max` are of a column, whose NULLs count for nothing. Where there is none, the sum is 0, and `share`, `mean`,
    `min` and `max` are NULL. It is measured in cells of its own: what is above a declared `max` counts as `max`.

    >>> Aggregate(name="elders", kind="count", table="persons", condition="age >= 65", declared=(("max", 5),)).text
    'count(persons, age >= 65)'
    >>> Aggregate(name="pay", kind="sum", table="persons", column="income").text
    'sum(persons.income)'
    """

    name: str
    kind: str
    table: str
    column: str | None = None
    condition: str | None = None
    declared: tuple[tuple[str, Any], ...] = ()  # of its column, as the schema has it

    @property
    def text(self) -> str:
        """As a schema declares it."""
        named = "" if self.column is None else f".{self.column}"
        return f"{self.kind}({self.table}{named}{'' if self.condition is None else f', {self.condition}'})"

    @property
    def may_be_null(self) -> bool:
        """Whether it is NULL for a row without such records."""
        return self.kind not in ("count", "any", "sum")

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns of records in its condition."""
        return () if self.condition is None else parse(self.condition, schema.columns).columns

    def holds(self, records: pa.Table, schema: Schema) -> NDArray[np.bool_]:
        """Whether each record is counted: (n,). What is not known does not count."""
        if self.condition is None:
            return np.ones(records.num_rows, dtype=np.bool_)
        return parse(self.condition, schema.columns).holds(records)

    def to_dict(self) -> dict[str, Any]:
        """As JSON and a schema file can hold it."""
        return {"name": self.name, "aggregate": self.text, **dict(self.declared)}

    def measured_as(self, name: str, schema: Schema, *, nullable: bool) -> Column:
        """The column of the parent's that it is measured as, or a `SchemaError`; `schema` is of the records."""
        body, nullable = dict(self.declared), nullable or self.may_be_null
        if self.kind == "count":
            return number_column(name, body["max"], nullable=nullable)
        if self.kind == "any":
            return Boolean(name=name, nullable=nullable)
        known: dict[str, Any] = {"type": "number", "min": 0, "max": 1}
        if self.column is not None:
            own = schema.column(self.column)
            known["type"] = "number" if self.kind == "mean" else own.tag
            bounds = {key: getattr(own, key) for key in ("min", "max")}
            known = {"type": known["type"], **(bounds if self.kind != "sum" else {})}
        return column_from_dict(name, {**known, **body, "nullable": nullable})

    def values(self, cells: Any, column: Column) -> tuple[Integers, NDArray[np.bool_]]:
        """The values of a column of records in whole steps from its lowest, (n,), and which of them are there."""
        if not isinstance(column, Integer | Number):
            instants = instants_in(pa.array(cells) if isinstance(cells, np.ndarray) else cells)
            return instants, instants < _LARGEST
        numbers = cells if isinstance(cells, np.ndarray) else numbers_in(cells)
        absent = np.isnan(numbers)
        stands = column.min if column.nullable or column.default is None else column.default
        numbers = np.where(absent, stands, numbers)
        if isinstance(column, Integer) or column.spacing is not None:
            steps = column.level_of(numbers)
        else:
            part = (np.clip(numbers, column.min, column.max) - column.min) / (column.max - column.min)
            steps = np.floor(part * _GRID).astype(np.int64)
        return steps, ~absent | (not column.nullable)

    def of_rows(self, records: pa.Table, owner: Integers, parents: int, schema: Schema) -> pa.Array:
        """The same of released rows, whose parents are these: (parents,)."""
        chosen = self.holds(records, schema)
        if self.column is None:
            return self.of_parents(owner, parents, chosen)
        column = schema.column(self.column)
        steps, there = self.values(records.column(self.column), column)
        return self.of_parents(owner, parents, chosen & there, steps, column)

    def of_parents(
        self,
        owner: Integers,
        parents: int,
        chosen: NDArray[np.bool_],
        steps: Integers | None = None,
        column: Column | None = None,
    ) -> pa.Array:
        """What it is for each parent, (parents,), by the parent of each record: a function of that parent's records.

        Whole steps are added in integers, so that neither order nor neighbours change a bit.
        """
        mine, every = owner[chosen], np.bincount(owner, minlength=parents)
        number = np.bincount(mine, minlength=parents)
        if steps is None or column is None:
            if self.kind == "any":
                return pa.array(number > 0)
            return pa.array(
                number if self.kind == "count" else number / np.maximum(every, 1), mask=self._nothing(every)
            )
        begin = {"min": _LARGEST, "max": -_LARGEST}.get(self.kind, 0)
        total = np.full(parents, begin, dtype=np.int64)
        {"min": np.minimum, "max": np.maximum}.get(self.kind, np.add).at(total, mine, steps[chosen])
        return self._values_of(np.where(number > 0, total, 0), number, column)

    def _nothing(self, number: Integers) -> NDArray[np.bool_] | None:
        return number == 0 if self.may_be_null else None

    def _values_of(self, total: Integers, number: Integers, column: Column) -> pa.Array:
        """Totals of steps as values: of `number` records where they were added, else of one."""
        mask = self._nothing(number)
        if not isinstance(column, Integer | Number):
            return pa.array(total, pa.timestamp("us"), mask=mask)
        step: float = column.resolution if isinstance(column, Integer) else (column.spacing or 0.0)
        step = step or (float(column.max) - column.min) / _GRID
        among = number if self.kind in ("sum", "mean") else np.ones_like(number)
        values = total * step + among * column.min
        if self.kind == "mean":
            values = values / np.maximum(number, 1)
        elif isinstance(column, Number) and column.spacing is not None and column.digits is not None:
            values = round_to_digits(values, np.full(len(values), column.digits))
        return pa.array(values, mask=mask)


_LARGEST = 2**62  # derived: beyond every step, and what `instants_in` has where there is none
_CELLS = 60  # limit: of a number of records: whoever has hundreds is counted in cells


def number_column(name: str, most: int, *, nullable: bool) -> Column:
    """How many records a row has: each number by itself, or in cells where there may be hundreds."""
    return Integer(name=name, min=0, max=most, nullable=nullable, cells=_CELLS if most > _CELLS else None)


def read_aggregates(name: str, body: Mapping[str, Any]) -> tuple[Aggregate, ...]:
    """The declared aggregates of a table, or a `SchemaError`; other tables are looked at later."""
    given = body.get("aggregates", [])
    if not isinstance(given, list):
        raise SchemaError(f"table {name!r}: must be a list.", path=("tables", name, "aggregates"))
    return tuple(_read_aggregate(name, one) for one in given)


def _read_aggregate(table: str, body: Any) -> Aggregate:
    path = ("tables", table, "columns", str(body.get("name")) if isinstance(body, Mapping) else "?")

    def wrong(told: str) -> SchemaError:
        return SchemaError(f"table {table!r}: column {path[-1]!r}: {told}", path=path)

    text = body.get("aggregate") if isinstance(body, Mapping) else None
    read = _WRITTEN.fullmatch(text) if isinstance(text, str) else None
    if read is None or not isinstance(body.get("name"), str) or (read[1] in _OF_VALUES) != (read[3] is not None):
        raise wrong(f'aggregate must be {_FORMS}; each may end in a condition: "sum(persons.income, age >= 18)".')
    kind, of, column, condition = read.groups()
    if kind not in (*_OF_RECORDS, *_OF_VALUES):
        raise wrong(f"there is no aggregate {kind!r}: it must be {_FORMS}.{nearest(kind, (*_OF_RECORDS, *_OF_VALUES))}")
    declared = {key: body[key] for key in body if key not in ("name", "aggregate")}
    wanted = {"count": ("max",), "any": ()}.get(kind, _DECLARED)
    if kind == "count" and (set(declared) != {"max"} or type(declared["max"]) is not int):
        raise wrong("a count has max, a whole number, and nothing else.")
    for key in declared:
        if key not in wanted:
            raise wrong(
                f"unknown key {key!r} beside aggregate; known are {', '.join(wanted) or 'none'}.{nearest(key, wanted)}"
            )
    if kind == "share" and condition is None:
        raise wrong('the share of all records is 1: name a condition, "share(persons, age >= 65)".')
    if kind == "sum" and not {"min", "max"} <= {*declared}:
        raise wrong("a sum needs min and max, what it may come to by public knowledge. Add them.")
    kept = tuple((key, told.isoformat() if hasattr(told, "isoformat") else told) for key, told in declared.items())
    return Aggregate(name=body["name"], kind=kind, table=of, column=column, condition=condition, declared=kept)


def unmeasurable(one: Aggregate, schema: Schema, most: int) -> str | None:
    """Why an aggregate of records can't be measured, in words; None: it can. A row has at most so many records."""
    if one.kind == "count" and not 1 <= dict(one.declared)["max"] <= most:
        return f"max must be from 1 to the max_rows of {one.table!r}, {most}; got {dict(one.declared)['max']}."
    if one.column is not None:
        if one.column not in schema.names:
            return (
                f"{one.text}: {one.table!r} has no measured column {one.column!r}.{nearest(one.column, schema.names)}"
            )
        own = schema.column(one.column)
        if not isinstance(own, Integer | Number) and not (one.kind in ("min", "max") and own.family == "time"):
            return f'{one.text}: {one.column!r} is no number. Count its values: "count({one.table}, {one.column} = …)".'
        if isinstance(own, Integer) and one.kind in ("sum", "mean") and own.levels.number > _MOST_VALUES:
            return (
                f"{one.text}: the range of {one.column!r} is too wide to be added in 64 bits. Declare a narrower one."
            )
    try:
        one.measured_as(one.name, schema, nullable=False)
    except SchemaError as error:
        return f"{one.text}: {str(error).removeprefix(f'column {one.name!r}: ')}"
    return _uncountable(one, schema)


def _uncountable(one: Aggregate, schema: Schema) -> str | None:
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
                raise refusal(name, str(given), f"{told}{nearest(str(given), _KEYS)}")
        if body["public"] == FILL_IN:
            raise refusal(name, "public", "public is not filled in yet: it is the CSV file of a public table.")
        try:
            header, *lines = book_lines(name, body["public"], folder)
        except SchemaError as error:
            raise refusal(name, "public", str(error)) from None
        key = body.get("key")
        if not isinstance(key, str) or header.count(key) != 1:
            told = f"key must be a column of the code book, once; it has {', '.join(header)}; got {key!r}."
            raise refusal(name, "key" if "key" in body else "public", told)
        keys = [line[header.index(key)] for line in lines]
        if (twice := next((one for one in keys if keys.count(one) > 1), None)) is not None:
            raise refusal(name, "public", f"the key {twice!r} is in the code book more than once.")
        return cls(name=name, key=key, names=tuple(header), lines=tuple(map(tuple, lines)))

    def column(self, name: str) -> list[str]:
        """The cells of one of its columns."""
        return [line[self.names.index(name)] for line in self.lines]

    def declarations(self, name: str, body: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
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
            raise refusal(name, None, told)
    return private, books


def _with_books(body: Any, books: Mapping[str, Book]) -> Any:
    if not isinstance(body, dict) or not isinstance(body.get("columns"), dict):
        return body
    columns: dict[str, Any] = {}
    for name, own in body["columns"].items():
        named = own.get("codebook") if isinstance(own, dict) else None
        columns |= books[named].declarations(name, own) if isinstance(named, str) and named in books else {name: own}
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


def refusal(table: str, key: str | None, message: str) -> SchemaError:
    """The error of one of several tables, at a key of its declaration or at all of it."""
    return SchemaError(f"table {table!r}: {message}", path=("tables", table, *([] if key is None else [key])))
