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

from kernelease.arrays import Integers
from kernelease.errors import SchemaError, nearest
from kernelease.relational.books import Aggregate, number_column, read_aggregates, read_books, refusal, unmeasurable
from kernelease.strangers import parse_toml, read_text
from kernelease.table.columns.column import Column
from kernelease.table.derived import Determined
from kernelease.table.parsing import instants_in, numbers_in
from kernelease.table.schema import NEIGHBOURS, Rule, Schema
from kernelease.table.toml import locate, toml_key, toml_value

MOST_TABLES = 16  # limit: of one release: each has its own file in a bundle
DEEPEST = 3  # limit: a root, its records, and their records
MOST_RECORDS = 1000  # limit: per parent: a person's weight of 720,720 is shared out among all of its paths
WEIGHT = 720_720  # what a person weighs in all: the least common multiple of 1 … 16. convention

Which: TypeAlias = Literal["own", "sibling", "next", "first", "last"]  # of the records of one parent

_UNIT_KEYS = ("table", "name", "neighbours", "confirmed", "rules")
_TABLE_KEYS = ("key", "parent", "foreign_key", "max_rows", "order", "owner", "constraints", "source", "columns")
NAME_OF_TABLE = re.compile(r"[a-z][a-z0-9_]{0,39}")
# convention: what the name of a key says beside whose it is: customer_id, customerId, id
_NUMBERED = re.compile(r"(?:^|[ _-]+)(?i:id|key|pk|uid|uuid)$|(?<=[a-z])I[dD]$")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TableOfRecords:
    """One of the tables: its columns, and where it hangs.

    `key` is the column of the source that names its rows, and that records of other tables refer to; `foreign_key` the
    column that names the parent's row. Neither is released as it is: synthetic rows have keys of their own. Of more
    than `max_rows` records of one parent, the first by `order` are kept, or by a keyed hash of their content. Records
    with an `order` are sequences: steps from one to the next are counted. Of a table with several parents one owns its
    rows; `references` are the columns that name rows of the others. Nothing of these is read: released rows refer to
    rows that are there.
    """

    schema: Schema
    key: str | None = None
    parent: str | None = None
    foreign_key: str | None = None
    max_rows: int | None = None
    order: str | None = None
    aggregates: tuple[Aggregate, ...] = ()
    references: tuple[tuple[str, str], ...] = ()  # columns, and the tables that they refer to

    @property
    def name(self) -> str:
        """Of the table."""
        return self.schema.name

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of released rows that come before all others: its key, and those that refer to other tables."""
        own = [key for key in (self.key, self.foreign_key) if key is not None]
        return (*own, *(column for column, _ in self.references))

    @property
    def hanging(self) -> dict[str, Any]:
        """Where it hangs, as a schema file says it."""
        body = {key: value for key, value in self.to_dict().items() if key in _TABLE_KEYS[:5]}
        if self.references:
            columns, others = zip(*self.references, strict=True)
            body |= {"parent": [self.parent, *others], "foreign_key": [self.foreign_key, *columns]}
            body["owner"] = self.parent
        return body

    @property
    def beside(self) -> tuple[Which, ...]:
        """The records that are counted beside each of its own: any other one; in a sequence, the one that follows."""
        return ("sibling",) if self.order is None else ("next", "first", "last")

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON can hold it."""
        hangs = {key: getattr(self, key) for key in ("key", "parent", "foreign_key", "max_rows", "order")}
        declared: dict[str, Any] = {}
        if self.aggregates:
            declared["aggregates"] = [one.to_dict() for one in self.aggregates]
        if self.references:
            declared["references"] = dict(self.references)
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
    rules: tuple[str, ...] = ()  # across tables: every row keeps them, with the rows that it belongs to
    flat: Schema = dataclasses.field(init=False, repr=False, compare=False)
    places: tuple[Place, ...] = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if other := next((one for one in self.tables if one.schema.neighbours != self.neighbours), None):
            told = f"is declared {other.schema.neighbours}, all tables together {self.neighbours}"
            raise SchemaError(f"table {other.name!r} {told}. Declare neighbours once, in [unit].", path=("neighbours",))
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

    def line(self, name: str) -> tuple[str, ...]:
        """A table, its parent, and so on up to the root."""
        above = self.table(name).parent
        return (name,) if above is None else (name, *self.line(above))

    def rules_of(self, name: str) -> tuple[Rule, ...]:
        """The rules across tables that a row of this table keeps, with the rows above it."""
        rules = (Rule.parse(text, (*self.flat.columns, *self.flat.structure.columns)) for text in self.rules)
        return tuple(rule for rule in rules if _deepest(self, rule) == name)

    def with_rows_above(self, name: str, rows: pa.Table, owner: NDArray[Any], made: Mapping[str, pa.Table]) -> pa.Table:
        """Rows of a table with those that they belong to, in columns of flat names; `owner` are places in its parent.

        `made` has the rows of the tables above, whose keys count from 1.
        """
        columns = {f"{name}.{own}": rows.column(own) for own in self.table(name).schema.order}
        for above in self.line(name)[1:]:
            table, place = self.table(above), pa.array(owner)
            columns |= {f"{above}.{own}": made[above].column(own).take(place) for own in table.schema.order}
            if table.foreign_key is not None:
                owner = made[above].column(table.foreign_key).to_numpy()[owner] - 1
        return pa.table(columns)

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
    def counted_sizes(self) -> tuple[int, ...]:
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
        others = " and ".join([*([", ".join(first)] if first else []), last])
        return f"each {_NUMBERED.sub('', str(self.root.key)) or f'row of {self.root.name}'} with all its {others}"

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
            hangs = {key: value for key, value in body.items() if key not in ("table", "aggregates", "references")}
            if odd := [key for key in hangs if key not in _TABLE_KEYS[:5]]:
                raise SchemaError(f"A table of a schema has no {str(odd[0])[:40]!r}.")
            schema = Schema.from_dict(body["table"])
            references = body.get("references", {})
            if not isinstance(references, Mapping) or not all(isinstance(one, str) for one in references.values()):
                raise SchemaError("References of a table of a schema must be an object of columns and tables.")
            aggregates, others = read_aggregates(schema.name, body), tuple(references.items())
            tables.append(TableOfRecords(schema=schema, aggregates=aggregates, references=others, **hangs))
        rest = {key: value for key, value in data.items() if key != "tables"}
        if odd := [key for key in rest if key not in _UNIT_KEYS[1:]]:
            raise SchemaError(f"A schema of tables has no {str(odd[0])[:40]!r}.")
        return _check(tables, rest.pop("name", None), rest)

    def to_dict(self) -> dict[str, Any]:
        """The schema as JSON can hold it."""
        confirmed: dict[str, Any] = {} if self.confirmed is None else {"confirmed": self.confirmed}
        confirmed |= {"rules": list(self.rules)} if self.rules else {}
        tables = [table.to_dict() for table in self.tables]
        return {"name": self.name, "neighbours": self.neighbours, **confirmed, "tables": tables}

    def to_toml(self) -> str:
        """The schema as a TOML file that `parse` reads back."""
        unit = {"table": self.root.name, "name": self.name, "neighbours": self.neighbours}
        ruled = {"rules": list(self.rules)} if self.rules else {}
        parts = [_section("unit", unit | ruled | ({} if self.confirmed is None else {"confirmed": self.confirmed}))]
        for table in self.tables:
            head = f"tables.{toml_key(table.name)}"
            body = table.hanging
            rules = [rule.text for rule in table.schema.constraints]
            parts.append(_section(head, body | ({"constraints": rules} if rules else {})))
            lines = table.schema.to_toml().split("\n")
            start = next(i for i, line in enumerate(lines) if line.startswith(("[columns", "[source")))
            parts.append("\n".join(re.sub(r"^\[", f"[{head}.", line) for line in lines[start:]))
            for one in table.aggregates:
                parts.append(
                    _section(
                        f"{head}.columns.{toml_key(one.name)}", {k: v for k, v in one.to_dict().items() if k != "name"}
                    )
                )
        return "\n".join(parts)


def sequence_keys(column: Column, cells: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """What sorts records by a column: numbers and instants as they are, else codes; what is missing comes last: (n,).

    >>> from kernelease.table.columns.numbers import Integer
    >>> sequence_keys(Integer(name="year", min=0, max=9), pa.array(["7", None, "2"])).tolist()
    [7.0, nan, 2.0]
    """
    if column.family == "number":
        return numbers_in(cells)
    return instants_in(cells) if column.family == "time" else column.encode(cells)


def keys_of(rows: pa.Table, name: str) -> Integers:
    """A column of released keys, or of what refers to them: (n,)."""
    keys: Integers = np.asarray(rows.column(name).to_numpy())
    return keys


def is_of_tables(path: str | Path) -> bool:
    """Whether a schema file is one of several tables. Of one that can't be read, the schema of one table says why."""
    try:
        data = parse_toml(read_text(path))
    except (OSError, ValueError):
        return False
    return "tables" in data or "unit" in data


def load_schema(path: str | Path) -> Schema | Tables:
    """The schema in a file: of one table, or of several."""
    return Tables.load(path) if is_of_tables(path) else Schema.load(path)


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
    return _check(_in_order(tables, root), unit.get("name", root), settings)


def _table(name: str, body: object, neighbours: str, folder: Path | None) -> TableOfRecords:
    if not NAME_OF_TABLE.fullmatch(name):
        raise refusal(
            name, None, "its name must be of a to z, 0 to 9 and _, from a letter on, at most 40: it names a file."
        )
    if not isinstance(body, dict):
        raise refusal(name, None, f"must be a table: [tables.{name}].")
    _check_known(name, body)
    table = {"name": name, "neighbours": neighbours if neighbours in NEIGHBOURS else NEIGHBOURS[0]}
    if "constraints" in body:
        table["constraints"] = body["constraints"]
    parts: dict[str, Any] = {"table": table, **{key: body[key] for key in ("source", "columns") if key in body}}
    columns, counted = body.get("columns"), list[dict[str, Any]]()
    if isinstance(columns, dict):
        counted = [{"name": key, **own} for key, own in columns.items() if isinstance(own, dict) and "aggregate" in own]
        parts["columns"] = {key: own for key, own in columns.items() if key not in [one["name"] for one in counted]}
    aggregates = read_aggregates(name, {"aggregates": counted})
    try:
        schema = Schema._from_toml(parts, folder)  # a table of a schema is read as a schema is
    except SchemaError as error:
        path = error.path[1:] if error.path[:1] == ("table",) else error.path
        raise SchemaError(f"table {name!r}: {error}", path=("tables", name, *path)) from None
    hangs = {key: body.get(key) for key in _TABLE_KEYS[:5]}
    references = _references(name, hangs, body.get("owner"))
    return TableOfRecords(schema=schema, aggregates=aggregates, references=references, **hangs)


def _references(name: str, hangs: dict[str, Any], owner: object) -> tuple[tuple[str, str], ...]:
    """Of several parents, those that are not the owner, by their columns; `hangs` keeps the owner alone."""
    parents, columns = hangs["parent"], hangs["foreign_key"]
    if not isinstance(parents, list):
        if owner is not None:
            told = 'owner says which of several parents a row belongs to: parent = ["people", "cars"]. Leave it out.'
            raise refusal(name, "owner", told)
        return ()
    if not isinstance(columns, list) or len(columns) != len(parents) or len(parents) < 2:
        raise refusal(name, "foreign_key", "needs a foreign_key for each parent, in a list, and at least two of them.")
    if parents.count(owner) != 1:
        told = (
            f"owner must be one of its parents, {', '.join(map(str, parents))}: its rows are protected with that one."
        )
        raise refusal(name, "owner" if owner is not None else "parent", told)
    place = parents.index(owner)
    hangs |= {"parent": parents[place], "foreign_key": columns[place]}
    return tuple((str(c), str(p)) for i, (c, p) in enumerate(zip(columns, parents, strict=True)) if i != place)


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
        else:
            told = unmeasurable(one, children[one.table].schema, children[one.table].max_rows or 0)
        if told is not None:
            path = ("tables", table.name, "columns", one.name)
            raise SchemaError(f"table {table.name!r}: column {one.name!r}: {told}", path=path)
        taken.add(one.name)


def _check_known(name: str, body: Mapping[str, Any]) -> None:
    """Refuse keys that there are not."""
    for key in body:
        if key not in _TABLE_KEYS:
            raise refusal(
                name, key, f"unknown key {key!r}; known are {', '.join(_TABLE_KEYS)}.{nearest(key, _TABLE_KEYS)}"
            )


def _in_order(tables: Sequence[TableOfRecords], root: str) -> list[TableOfRecords]:
    """The root, then each table after its parent; those that hang nowhere come last, to be refused."""
    ordered = [table for table in tables if table.name == root]
    for table in ordered:
        ordered += [other for other in tables if other.parent == table.name and other not in ordered]
    return ordered + [table for table in tables if table not in ordered]


def _check(tables: Sequence[TableOfRecords], name: object, settings: Mapping[str, Any]) -> Tables:
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
        raise refusal(tables[0].name if tables else "?", None, told)
    if len(tables) > MOST_TABLES:
        raise SchemaError(f"{len(tables)} tables are too many; at most {MOST_TABLES}.", path=("tables",))
    seen: dict[str, TableOfRecords] = {}
    for table in tables:
        if not NAME_OF_TABLE.fullmatch(table.name) or table.name in seen:
            raise refusal(table.name, None, "its name is taken, or names no file.")
        _check_root(table) if not seen else _check_records(table, seen, tables)
        _check_keys(table, tables)
        seen[table.name] = table
    for table in tables:
        _check_aggregates(table, tables)
    return _with_rules(tables, name, settings)


def _with_rules(tables: Sequence[TableOfRecords], name: str, settings: Mapping[str, Any]) -> Tables:
    """All of it, with rules that can be read."""
    rules = settings.get("rules", [])
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise SchemaError(f"[unit]: rules must be a list of strings, got {rules!r}.", path=("unit", "rules"))
    made = Tables(tables=tuple(tables), name=name, **{**settings, "rules": tuple(rules)})
    try:
        for table in tables:
            made.rules_of(table.name)
    except SchemaError as error:
        raise SchemaError(f"[unit]: {error}", path=("unit", "rules")) from None
    return made


def _deepest(tables: Tables, rule: Rule) -> str:
    """The table whose rows keep a rule, with those above them; or a `SchemaError`."""
    released = {f"{table.name}.{own}" for table in tables.tables for own in table.schema.order}
    if odd := [name for name in rule.columns if name not in released]:
        raise SchemaError(f"rule {rule.text!r}: {odd[0]!r} is a number of records, which no row has.")
    named = {name.split(".", maxsplit=1)[0] for name in rule.columns}
    if len(named) < 2:
        raise SchemaError(f"rule {rule.text!r}: is about one table: put it into the constraints of that.")
    for name in tables.names:
        if name in named and named <= {*tables.line(name)}:
            return name
    raise SchemaError(f"rule {rule.text!r}: {' and '.join(sorted(named))} are not in one line from parent to child.")


def _check_root(table: TableOfRecords) -> None:
    for key in ("parent", "foreign_key", "max_rows", "order"):
        if getattr(table, key) is not None:
            raise refusal(
                table.name, key, f"is the table of persons, and has no {key}. Remove it, or name another [unit]."
            )


def _check_records(table: TableOfRecords, seen: Mapping[str, TableOfRecords], tables: Sequence[TableOfRecords]) -> None:
    names = [one.name for one in tables]
    if not isinstance(table.parent, str):
        raise refusal(table.name, "parent", "needs parent, the table that its rows belong to.")
    if table.parent not in names:
        raise refusal(table.name, "parent", f"there is no table {table.parent!r}.{nearest(table.parent, names)}")
    if table.parent not in seen:
        raise refusal(table.name, "parent", f"does not hang on {tables[0].name!r}: its parents are a circle.")
    if not isinstance(table.foreign_key, str) or not table.foreign_key:
        raise refusal(table.name, "foreign_key", f"needs foreign_key, its column that names a row of {table.parent!r}.")
    if type(table.max_rows) is not int or not 1 <= table.max_rows <= MOST_RECORDS:
        told = f"needs max_rows, at most so many rows of one {table.parent} are kept: 1 to {MOST_RECORDS}"
        raise refusal(table.name, "max_rows", f"{told}, got {table.max_rows!r}.")
    depth, above = 2, seen[table.parent]
    while above.parent is not None:
        depth, above = depth + 1, seen[above.parent]
    if depth > DEEPEST:
        raise refusal(table.name, "parent", f"is {depth} tables deep; {DEEPEST} is the most.")
    if table.order is not None and table.order not in table.schema.names:
        hint = nearest(str(table.order), table.schema.names)
        raise refusal(table.name, "order", f"order must be one of its measured columns, got {table.order!r}.{hint}")
    if table.name in [*seen[table.parent].schema.order]:
        raise refusal(
            table.name, None, f"{table.parent!r} has a column of this name, which its number would have, too."
        )


def _check_keys(table: TableOfRecords, tables: Sequence[TableOfRecords]) -> None:
    referred = any(table.name in (other.parent, *dict(other.references).values()) for other in tables)
    if referred and (not isinstance(table.key, str) or not table.key):
        raise refusal(table.name, "key", "needs key, the column that the rows of other tables refer to.")
    if table.key is not None and not isinstance(table.key, str):
        raise refusal(table.name, "key", f"key must be the name of a column, got {table.key!r}.")
    if table.key is not None and table.key == table.foreign_key:
        raise refusal(table.name, "key", "key and foreign_key are one column: a row can't be its own parent.")
    _check_references(table, [one.name for one in tables])
    keys = [("key", table.key), ("foreign_key", table.foreign_key)]
    keys += [("foreign_key", column) for column, _ in table.references]
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
        raise refusal(table.name, None, "unit and confirmed belong in [unit].")


def _check_references(table: TableOfRecords, known: Sequence[str]) -> None:
    for own, other in table.references:
        if other not in known:
            raise refusal(table.name, "parent", f"there is no table {other!r}.{nearest(other, known)}")
        if [*table.keys].count(own) != 1:
            raise refusal(table.name, "foreign_key", f"{own!r} names rows of two tables, or is its own key.")


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
                columns.append(number_column(name, child.max_rows or 1, nullable=table.parent is not None))
        for one in table.aggregates:
            numbers[f"{table.name}.{one.name}"] = len(columns)
            of = tables.table(one.table).schema
            columns.append(one.measured_as(f"{table.name}.{one.name}", of, nullable=table.parent is not None))
    derived = [_derived_in_path(table, one) for table in tables.tables for one in _determined_columns(table.schema)]
    flat = Schema(
        tuple(columns),
        name=tables.name,
        neighbours=tables.neighbours,
        confirmed=tables.confirmed,
        derived=tuple(derived),
    )
    return flat, tuple(places)


def _determined_columns(schema: Schema) -> list[Determined]:
    """What one measured column of a table determines: it can be asked about where that is."""
    return [one for one in schema.derived if isinstance(one, Determined) and one.determined_by in schema.names]


def _derived_in_path(table: TableOfRecords, one: Determined) -> Determined:
    by = f"{table.name}.{one.determined_by}"
    return dataclasses.replace(one, name=f"{table.name}.{one.name}", determined_by=by, null_when=None)


def _with_numbers(tables: Tables, place: Place, numbers: Mapping[str, int], index: int) -> tuple[int, ...]:
    name = tables.tables[index].name
    own = [numbers[child.name] for child in tables.tables if child.parent == name]
    own += [numbers[f"{name}.{one.name}"] for one in tables.tables[index].aggregates]
    return (*place.before, *place.columns, *own)


def _in_path(table: TableOfRecords, column: Column) -> Column:
    """A table's column as a column of paths: records may be missing."""
    changes: dict[str, Any] = {"name": f"{table.name}.{column.name}", "null_when": None}
    if table.parent is not None and not column.nullable:
        changes["nullable"] = True
        if getattr(column, "default", None) is not None:
            changes["default"] = None
    return dataclasses.replace(column.as_released, **changes)


def same_after_saving(tables: Tables) -> bool:
    """Whether the schema is itself again once it was written and read."""
    return Tables.from_dict(json.loads(json.dumps(tables.to_dict()))) == tables
