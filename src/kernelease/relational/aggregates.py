"""Aggregates: how many records of another table a row has, counted as a column of that row."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.errors import ParameterError, SchemaError
from kernelease.table.columns.column import Column
from kernelease.table.columns.numeric import Integer
from kernelease.table.expressions.logic import parse
from kernelease.table.schema import Schema

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
