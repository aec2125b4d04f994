"""A schema of several tables: a root whose rows are persons, and tables of their records.

    [unit]
    table = "households"

    [tables.households]
    key = "household"
    [tables.households.columns.region]
    …

    [tables.persons]
    parent = "households"
    foreign_key = "household"
    max_rows = 10
    [tables.persons.columns.age]
    …

All tables together become one *flat* schema, whose rows are paths: a root row, how many records it has, one record of
each table. A person is the bag of all its paths, and weighs as much as any other (docs/proofs/bags.md).
"""

import dataclasses
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.errors import ParameterError, SchemaError, nearest
from kernelease.relational.books import read_books
from kernelease.strangers import parse_toml, read_text
from kernelease.table.columns.column import Column
from kernelease.table.columns.numeric import Integer
from kernelease.table.derived import Determined
from kernelease.table.expressions.logic import parse
from kernelease.table.reading import instants_in, numbers_in
from kernelease.table.schema import NEIGHBOURS, Schema
from kernelease.table.toml import locate, toml_key, toml_value

MOST_TABLES = 16  # limit: of one release: each has its own file in a bundle
DEEPEST = 3  # limit: a root, its records, and their records
MOST_RECORDS = 1000  # limit: per parent: a person's weight of 720,720 is shared out among all of its paths
WEIGHT = 720_720  # what a person weighs in all: the least common multiple of 1 … 16. convention

Which: TypeAlias = Literal["own", "sibling", "next", "first", "last"]  # of the records of one parent

_CELLS = 60  # limit: of a number of records: whoever has hundreds is counted in cells

_UNIT_KEYS = ("table", "name", "neighbours", "confirmed")
_TABLE_KEYS = ("key", "parent", "foreign_key", "max_rows", "order", "constraints", "source", "columns")
_LATER = ("owner",)  # named so that whoever tries it is told
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
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


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TableOfRecords:
    """One of the tables: its columns, and where it hangs.

    `key` is the column of the source that names its rows, and that records of other tables refer to; `foreign_key` the
    column that names the parent's row. Neither is released as it is: synthetic rows have keys of their own. Of more
    than `max_rows` records of one parent, the first by `order` are kept, or by a keyed hash of their content. Records
    with an `order` are sequences: steps from one to the next are counted.
    """

    schema: Schema
    key: str | None = None
    parent: str | None = None
    foreign_key: str | None = None
    max_rows: int | None = None
    order: str | None = None
    aggregates: tuple[Aggregate, ...] = ()

    @property
    def name(self) -> str:
        """Of the table."""
        return self.schema.name

    @property
    def beside(self) -> tuple[Which, ...]:
        """The records that are counted beside each of its own: any other one; in a sequence, the one that follows."""
        return ("sibling",) if self.order is None else ("next", "first", "last")

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON can hold it."""
        hangs = {key: getattr(self, key) for key in ("key", "parent", "foreign_key", "max_rows", "order")}
        declared = {"aggregates": [one.to_dict() for one in self.aggregates]} if self.aggregates else {}
        kept = {key: value for key, value in hangs.items() if value is not None}
        return {**kept, **declared, "table": self.schema.to_dict()}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a table is among the columns of the flat schema."""

    columns: tuple[int, ...]  # its own
    parent: int | None  # the place of its parent among the tables
    number: int | None  # the column that says how many records of it a row of the parent has
    before: tuple[int, ...]  # columns of all tables above it, numbers of their records included


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """All tables, the root first and each after its parent; `flat` has a row for each path.

    Columns of the flat schema are `households.region` and so on; `households.persons` is the number of a household's
    persons. Columns of records are nullable there: a person may have none.
    """

    tables: tuple[TableOfRecords, ...]
    name: str
    neighbours: str = "replace-one"
    confirmed: bool | None = None
    flat: Schema = dataclasses.field(init=False, repr=False, compare=False)
    places: tuple[Place, ...] = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        flat, places = _flatten(self)
        object.__setattr__(self, "flat", flat)
        object.__setattr__(self, "places", places)

    @property
    def root(self) -> TableOfRecords:
        """The table whose rows are persons."""
        return self.tables[0]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the tables, the root first."""
        return tuple(table.name for table in self.tables)

    def table(self, name: str) -> TableOfRecords:
        """The table of a name, or a `SchemaError` that suggests one."""
        for table in self.tables:
            if table.name == name:
                return table
        raise SchemaError(f"There is no table {name!r}.{nearest(name, self.names)}")

    def numbers_of(self, name: str) -> tuple[int, ...]:
        """The flat columns with the numbers of records that rows of a table have, all of them or by a condition."""
        names = [other.name for other in self.tables if other.parent == name]
        names += [one.name for one in self.table(name).aggregates]
        return tuple(self.flat.names.index(f"{name}.{one}") for one in names)

    @property
    def beside(self) -> tuple[tuple[int, Which], ...]:
        """Columns of other records of the same parent, which follow the flat ones: of which column, which record."""
        return tuple(
            (column, which)
            for place, table in zip(self.places[1:], self.tables[1:], strict=True)
            for which in table.beside
            for column in place.columns
        )

    def place_beside(self, column: int, which: Which) -> int:
        """The place of such a column among all that are counted."""
        return len(self.flat) + self.beside.index((column, which))

    @property
    def counted(self) -> tuple[int, ...]:
        """Atoms of each column that is counted: the flat ones, then those of other records, with one more for none."""
        return self.counted_with(self.flat.columns)

    def counted_with(self, columns: Sequence[Column]) -> tuple[int, ...]:
        """The same where these are the flat columns, in other cells."""
        sizes = tuple(column.size for column in columns)
        return (*sizes, *(sizes[column] + 1 for column, _ in self.beside))

    @property
    def unit_in_words(self) -> str:
        """Whom the guarantee protects, as a certificate says it."""
        *first, last = [table.name for table in self.tables[1:]]
        return f"each {self.root.key} with all its {' and '.join([*([', '.join(first)] if first else []), last])}"

    @classmethod
    def load(cls, path: str | Path) -> "Tables":
        """The schema in a TOML file; a `SchemaError` names the file and the line."""
        try:
            text = read_text(path).replace("\r\n", "\n")
        except (OSError, UnicodeDecodeError, ValueError) as error:
            raise SchemaError(f"{path}: can't be read ({error}). Check the name of the schema file.") from None
        return cls.parse(text, source=Path(path).name, folder=Path(path).parent)

    @classmethod
    def parse(cls, text: str, *, source: str = "schema", folder: Path | None = None) -> "Tables":
        """The schema in a TOML text; `source` names it in messages, and `folder` has its code books."""
        try:
            data = parse_toml(text)
        except tomllib.TOMLDecodeError:
            Schema.parse(text, source=source)  # says the line
            raise
        except ValueError as error:
            raise SchemaError(f"{source}: is not read, for {error}.") from None
        try:
            return _from_toml(data, folder)
        except SchemaError as error:
            line = locate(text, error.path)
            where = source if line is None else f"{source}, line {line}"
            raise SchemaError(f"{where}: {error}", path=error.path) from None

    @classmethod
    def from_dict(cls, data: object) -> "Tables":
        """The schema that `to_dict` wrote, or a `SchemaError`."""
        if not isinstance(data, Mapping) or not isinstance(data.get("tables"), list):
            raise SchemaError("A schema of tables must be an object with a list of tables.")
        tables = []
        for body in data["tables"]:
            if not isinstance(body, Mapping) or "table" not in body:
                raise SchemaError("Each table of a schema must be an object with its columns.")
            hangs = {key: value for key, value in body.items() if key not in ("table", "aggregates")}
            if odd := [key for key in hangs if key not in _TABLE_KEYS[:5]]:
                raise SchemaError(f"A table of a schema has no {str(odd[0])[:40]!r}.")
            schema = Schema.from_dict(body["table"])
            tables.append(TableOfRecords(schema=schema, aggregates=_aggregates(schema.name, body), **hangs))
        rest = {key: value for key, value in data.items() if key != "tables"}
        if odd := [key for key in rest if key not in _UNIT_KEYS[1:]]:
            raise SchemaError(f"A schema of tables has no {str(odd[0])[:40]!r}.")
        return _checked(tables, rest.pop("name", None), rest)

    def to_dict(self) -> dict[str, Any]:
        """The schema as JSON can hold it."""
        confirmed = {} if self.confirmed is None else {"confirmed": self.confirmed}
        tables = [table.to_dict() for table in self.tables]
        return {"name": self.name, "neighbours": self.neighbours, **confirmed, "tables": tables}

    def to_toml(self) -> str:
        """The schema as a TOML file that `parse` reads back."""
        unit = {"table": self.root.name, "name": self.name, "neighbours": self.neighbours}
        parts = [_section("unit", unit | ({} if self.confirmed is None else {"confirmed": self.confirmed}))]
        for table in self.tables:
            head = f"tables.{toml_key(table.name)}"
            body = {key: value for key, value in table.to_dict().items() if key not in ("table", "aggregates")}
            rules = [rule.text for rule in table.schema.constraints]
            parts.append(_section(head, body | ({"constraints": rules} if rules else {})))
            lines = table.schema.to_toml().split("\n")
            start = next(i for i, line in enumerate(lines) if line.startswith(("[columns", "[source")))
            parts.append("\n".join(re.sub(r"^\[", f"[{head}.", line) for line in lines[start:]))
            for one in table.aggregates:
                parts.append(_section(f"{head}.columns.{toml_key(one.name)}", {"aggregate": one.text, "max": one.max}))
        return "\n".join(parts)


def sequence_keys(column: Column, cells: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """What sorts records by a column: numbers and instants as they are, else codes; what is missing comes last: (n,).

    >>> sequence_keys(Integer(name="year", min=0, max=9), pa.array(["7", None, "2"])).tolist()
    [7.0, nan, 2.0]
    """
    if column.family == "number":
        return numbers_in(cells)
    return instants_in(cells) if column.family == "time" else column.encode(cells)


def is_tables(text: str) -> bool:
    """Whether a schema file is one of several tables."""
    try:
        data = parse_toml(text)
    except ValueError:
        return False
    return "tables" in data or "unit" in data


# --------------------
# Reading and checking: each mistake with the path of what is wrong, from which its line is found.


def _from_toml(data: Mapping[str, Any], folder: Path | None) -> Tables:
    for key in data:
        if key not in ("unit", "tables"):
            hint = nearest(key, ("unit", "tables"))
            raise SchemaError(
                f"unknown key {key!r}; a schema of tables has [unit] and [tables.NAME].{hint}", path=(key,)
            )
    unit, bodies = data.get("unit"), data.get("tables")
    if not isinstance(unit, dict):
        raise SchemaError('needs [unit] with table = "…", the table whose rows are persons.', path=("unit",))
    if not isinstance(bodies, dict) or not bodies:
        raise SchemaError("needs tables: [tables.households] and so on.", path=("tables",))
    for key in unit:
        if key not in _UNIT_KEYS:
            hint = nearest(key, _UNIT_KEYS)
            raise SchemaError(
                f"[unit]: unknown key {key!r}; known are {', '.join(_UNIT_KEYS)}.{hint}", path=("unit", key)
            )
    root = unit.get("table")
    bodies, books = read_books(bodies, folder)
    if root in books:
        raise SchemaError(f"[unit]: table {root!r} is public: there is nobody to protect.", path=("unit", "table"))
    if not isinstance(root, str) or root not in bodies:
        told = "needs table, the table whose rows are persons" if root is None else f"there is no table {root!r}"
        hint = nearest(root, bodies) if isinstance(root, str) else ""
        raise SchemaError(f"[unit]: {told}.{hint}", path=("unit", "table"))
    settings = {key: value for key, value in unit.items() if key not in ("table", "name")}
    tables = [_table(name, body, settings.get("neighbours", "replace-one"), folder) for name, body in bodies.items()]
    return _checked(_in_order(tables, root), unit.get("name", root), settings)


def _table(name: str, body: object, neighbours: str, folder: Path | None) -> TableOfRecords:
    if not _NAME.fullmatch(name):
        raise _wrong(
            name, None, "its name must be of a to z, 0 to 9 and _, from a letter on, at most 40: it names a file."
        )
    if not isinstance(body, dict):
        raise _wrong(name, None, f"must be a table: [tables.{name}].")
    _check_known(name, body)
    table = {"name": name, "neighbours": neighbours if neighbours in NEIGHBOURS else NEIGHBOURS[0]}
    if "constraints" in body:
        table["constraints"] = body["constraints"]
    parts: dict[str, Any] = {"table": table, **{key: body[key] for key in ("source", "columns") if key in body}}
    columns, counted = body.get("columns"), list[dict[str, Any]]()
    if isinstance(columns, dict):
        counted = [{"name": key, **own} for key, own in columns.items() if isinstance(own, dict) and "aggregate" in own]
        parts["columns"] = {key: own for key, own in columns.items() if key not in [one["name"] for one in counted]}
    aggregates = _aggregates(name, {"aggregates": counted})
    try:
        schema = Schema._from_toml(parts, folder)  # a table of a schema is read as a schema is
    except SchemaError as error:
        path = error.path[1:] if error.path[:1] == ("table",) else error.path
        raise SchemaError(f"table {name!r}: {error}", path=("tables", name, *path)) from None
    hangs = {key: body.get(key) for key in _TABLE_KEYS[:5]}
    return TableOfRecords(schema=schema, aggregates=aggregates, **hangs)


def _aggregates(name: str, body: Mapping[str, Any]) -> tuple[Aggregate, ...]:
    """The declared aggregates of a table, or a `SchemaError`; other tables are looked at later."""
    given = body.get("aggregates", [])
    if not isinstance(given, list):
        raise _wrong(name, "aggregates", "must be a list.")
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


def _check_aggregates(table: TableOfRecords, tables: Sequence[TableOfRecords]) -> None:
    """Refuse what can't be counted: of another table's records, by columns whose values have no codes of their own."""
    children = {other.name: other for other in tables if other.parent == table.name}
    taken = {*table.schema.order, *children, str(table.key), str(table.foreign_key)}
    for one in table.aggregates:
        told: str | None
        if one.name in taken:
            told = "there is a column, key or table of this name."
        elif one.table not in children:
            told = f"counts records of {one.table!r}, whose parent is not {table.name!r}.{nearest(one.table, children)}"
        elif not 1 <= one.max <= (children[one.table].max_rows or 0):
            told = (
                f"max must be from 1 to the max_rows of {one.table!r}, {children[one.table].max_rows}; got {one.max}."
            )
        else:
            told = _uncountable(one, children[one.table].schema)
        if told is not None:
            path = ("tables", table.name, "columns", one.name)
            raise SchemaError(f"table {table.name!r}: column {one.name!r}: {told}", path=path)
        taken.add(one.name)


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


def _check_known(name: str, body: Mapping[str, Any]) -> None:
    """Refuse keys that there are not, and those that are not there yet."""
    for key in body:
        if key in _LATER:
            raise _wrong(name, key, f"{key} is not part of this version. Leave one of the two keys out.")
        if key not in _TABLE_KEYS:
            raise _wrong(
                name, key, f"unknown key {key!r}; known are {', '.join(_TABLE_KEYS)}.{nearest(key, _TABLE_KEYS)}"
            )


def _in_order(tables: Sequence[TableOfRecords], root: str) -> list[TableOfRecords]:
    """The root, then each table after its parent; those that hang nowhere come last, to be refused."""
    ordered = [table for table in tables if table.name == root]
    for table in ordered:
        ordered += [other for other in tables if other.parent == table.name and other not in ordered]
    return ordered + [table for table in tables if table not in ordered]


def _checked(tables: Sequence[TableOfRecords], name: object, settings: Mapping[str, Any]) -> Tables:
    """All that concerns several tables, or a `SchemaError`."""
    if not isinstance(name, str) or not name:
        raise SchemaError(f"[unit]: name must be a non-empty string, got {name!r}.", path=("unit", "name"))
    if settings.get("neighbours", NEIGHBOURS[0]) not in NEIGHBOURS:
        given = settings["neighbours"]
        told = f"neighbours must be {' or '.join(NEIGHBOURS)}, got {given!r}.{nearest(str(given), NEIGHBOURS)}"
        raise SchemaError(f"[unit]: {told}", path=("unit", "neighbours"))
    if settings.get("confirmed") not in (None, True, False) or type(settings.get("confirmed")) is int:
        raise SchemaError("[unit]: confirmed must be true or false.", path=("unit", "confirmed"))
    if len(tables) < 2:
        told = "has no other table: its rows are persons, so declare [columns.NAME] as for one table."
        raise _wrong(tables[0].name if tables else "?", None, told)
    if len(tables) > MOST_TABLES:
        raise SchemaError(f"{len(tables)} tables are too many; at most {MOST_TABLES}.", path=("tables",))
    seen: dict[str, TableOfRecords] = {}
    for table in tables:
        if not _NAME.fullmatch(table.name) or table.name in seen:
            raise _wrong(table.name, None, "its name is taken, or names no file.")
        _check_root(table) if not seen else _check_records(table, seen, tables)
        _check_keys(table, tables)
        seen[table.name] = table
    for table in tables:
        _check_aggregates(table, tables)
    return Tables(tables=tuple(tables), name=name, **settings)


def _check_root(table: TableOfRecords) -> None:
    for key in ("parent", "foreign_key", "max_rows", "order"):
        if getattr(table, key) is not None:
            raise _wrong(
                table.name, key, f"is the table of persons, and has no {key}. Remove it, or name another [unit]."
            )


def _check_records(table: TableOfRecords, seen: Mapping[str, TableOfRecords], tables: Sequence[TableOfRecords]) -> None:
    names = [one.name for one in tables]
    if not isinstance(table.parent, str):
        raise _wrong(table.name, "parent", "needs parent, the table that its rows belong to.")
    if table.parent not in names:
        raise _wrong(table.name, "parent", f"there is no table {table.parent!r}.{nearest(table.parent, names)}")
    if table.parent not in seen:
        raise _wrong(table.name, "parent", f"does not hang on {tables[0].name!r}: its parents are a circle.")
    if not isinstance(table.foreign_key, str) or not table.foreign_key:
        raise _wrong(table.name, "foreign_key", f"needs foreign_key, its column that names a row of {table.parent!r}.")
    if type(table.max_rows) is not int or not 1 <= table.max_rows <= MOST_RECORDS:
        told = f"needs max_rows, at most so many rows of one {table.parent} are kept: 1 to {MOST_RECORDS}"
        raise _wrong(table.name, "max_rows", f"{told}, got {table.max_rows!r}.")
    depth, above = 2, seen[table.parent]
    while above.parent is not None:
        depth, above = depth + 1, seen[above.parent]
    if depth > DEEPEST:
        raise _wrong(table.name, "parent", f"is {depth} tables deep; {DEEPEST} is the most.")
    if table.order is not None and table.order not in table.schema.names:
        hint = nearest(str(table.order), table.schema.names)
        raise _wrong(table.name, "order", f"order must be one of its measured columns, got {table.order!r}.{hint}")
    if table.name in [*seen[table.parent].schema.order]:
        raise _wrong(table.name, None, f"{table.parent!r} has a column of this name, which its number would have, too.")


def _check_keys(table: TableOfRecords, tables: Sequence[TableOfRecords]) -> None:
    referred = any(other.parent == table.name for other in tables)
    if referred and (not isinstance(table.key, str) or not table.key):
        raise _wrong(table.name, "key", "needs key, the column that the rows of other tables refer to.")
    if table.key is not None and not isinstance(table.key, str):
        raise _wrong(table.name, "key", f"key must be the name of a column, got {table.key!r}.")
    if table.key is not None and table.key == table.foreign_key:
        raise _wrong(table.name, "key", "key and foreign_key are one column: a row can't be its own parent.")
    keys = [("key", table.key), ("foreign_key", table.foreign_key)]
    for what, key in keys:
        if key is not None and (key in table.schema.order or key in (c.source_name for c in table.schema)):
            told = f"{key!r} identifies persons or their records and can't be released. Remove the column."
            raise SchemaError(f"table {table.name!r}: {what} {told}", path=("tables", table.name, "columns", key))
    for column in table.schema:
        if column.tag == "hierarchy":
            told = "type hierarchy is for one table: declare its groups as a category."
            raise SchemaError(
                f"table {table.name!r}: column {column.name!r}: {told}",
                path=("tables", table.name, "columns", column.name),
            )
    if table.schema.confirmed is not None or table.schema.unit is not None:
        raise _wrong(table.name, None, "unit and confirmed belong in [unit].")


def _wrong(table: str, key: str | None, message: str) -> SchemaError:
    return SchemaError(f"table {table!r}: {message}", path=("tables", table, *([] if key is None else [key])))


def _section(head: str, body: Mapping[str, Any]) -> str:
    return f"[{head}]\n" + "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in body.items())


# --------------------
# The flat schema.


def _flatten(tables: Tables) -> tuple[Schema, tuple[Place, ...]]:
    """Columns of the root and the numbers of its records, then those of each table after it; and where they are."""
    columns: list[Column] = []
    numbers: dict[str, int] = {}
    places: list[Place] = []
    names = [table.name for table in tables.tables]
    for table in tables.tables:
        above = None if table.parent is None else names.index(table.parent)
        before = () if above is None else _with_numbers(tables, places[above], numbers, above)
        own = range(len(columns), len(columns) + len(table.schema))
        columns += [_in_path(table, column) for column in table.schema]
        number = None if table.parent is None else numbers[table.name]
        places.append(Place(columns=tuple(own), parent=above, number=number, before=before))
        for child in tables.tables:
            if child.parent == table.name:
                numbers[child.name] = len(columns)
                name = f"{table.name}.{child.name}"
                columns.append(_number(name, child.max_rows or 1, nullable=table.parent is not None))
        for one in table.aggregates:
            numbers[f"{table.name}.{one.name}"] = len(columns)
            columns.append(_number(f"{table.name}.{one.name}", one.max, nullable=table.parent is not None))
    derived = [_derived_in_path(table, one) for table in tables.tables for one in _determined(table.schema)]
    flat = Schema(
        tuple(columns),
        name=tables.name,
        neighbours=tables.neighbours,
        confirmed=tables.confirmed,
        derived=tuple(derived),
    )
    return flat, tuple(places)


def _determined(schema: Schema) -> list[Determined]:
    """What one measured column of a table determines: it can be asked about where that is."""
    return [one for one in schema.derived if isinstance(one, Determined) and one.determined_by in schema.names]


def _derived_in_path(table: TableOfRecords, one: Determined) -> Determined:
    by = f"{table.name}.{one.determined_by}"
    return dataclasses.replace(one, name=f"{table.name}.{one.name}", determined_by=by, null_when=None)


def _number(name: str, most: int, *, nullable: bool) -> Column:
    """How many records a row has: each number by itself, or in cells where there may be hundreds."""
    return Integer(name=name, min=0, max=most, nullable=nullable, cells=_CELLS if most > _CELLS else None)


def _with_numbers(tables: Tables, place: Place, numbers: Mapping[str, int], index: int) -> tuple[int, ...]:
    name = tables.tables[index].name
    own = [numbers[child.name] for child in tables.tables if child.parent == name]
    own += [numbers[f"{name}.{one.name}"] for one in tables.tables[index].aggregates]
    return (*place.before, *place.columns, *own)


def _in_path(table: TableOfRecords, column: Column) -> Column:
    """A table's column as a column of paths: records may be missing."""
    changes: dict[str, Any] = {"name": f"{table.name}.{column.name}", "source": None, "null_when": None}
    if table.parent is not None and not column.nullable:
        changes["nullable"] = True
        if getattr(column, "default", None) is not None:
            changes["default"] = None
    return dataclasses.replace(column, **changes)


def same_after_saving(tables: Tables) -> bool:
    """Whether the schema is itself again once it was written and read."""
    return Tables.from_dict(json.loads(json.dumps(tables.to_dict()))) == tables
