"""What is public knowledge about a table: its columns, what is derived from them, and rules."""

import dataclasses
import datetime
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease import html
from kernelease.errors import ParameterError, SchemaError, nearest
from kernelease.strangers import parse_toml, read_text, web_refusal
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Column, column_error
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.columns.registry import check_keys, column_from_dict, column_to_dict
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.derived import Computed, Derivation, Derived, Determined, derived_keys, with_codebooks
from kernelease.table.expressions.formulas import Analysis
from kernelease.table.expressions.logic import Condition, names_in, parse
from kernelease.table.expressions.terms import show
from kernelease.table.parsing import MOST_ROWS_PER_UNIT, ROWS_WITHOUT_UNIT, common_weight
from kernelease.table.toml import locate, toml_key, toml_value
from kernelease.table.written import Records, Written

# ---- A declared column from the table of a schema file: measured, computed or determined.


DERIVED: tuple[type[Computed] | type[Determined], ...] = (Computed, Determined)


def declared_from_dict(name: str, body: object) -> Column | Derived:
    """The column that a table of a schema file declares, or a `SchemaError`.

    >>> declared_from_dict("total", {"type": "integer", "computed": "a + b"}).in_words
    'computed as a + b'
    """
    kinds = [kind for kind in DERIVED if isinstance(body, Mapping) and kind.key in body]
    if not kinds or not isinstance(body, Mapping):
        return column_from_dict(name, body)
    if len(kinds) > 1:
        both = " and ".join(kind.key for kind in kinds)
        raise column_error(name, f"has {both}. Remove one.", kinds[1].key)
    kind, what = kinds[0], kinds[0].key
    check_keys(name, kind, body, known=derived_keys(kind), what=what, of=f"beside {what}, which is not read")
    return kind(name=name, **body)


def declared_to_dict(column: Column | Derived) -> dict[str, Any]:
    """The declaration of a column, without its name."""
    return column.to_dict() if isinstance(column, Derived) else column_to_dict(column)


# ---- The structure: all derived columns and rules, in the order in which they are applied.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Derivations by name, and the conditions under which a column is NULL, by name, in the order of their making.

    Drawn rows hold the measured columns alone. `complete` makes them whole: a column whose condition holds becomes
    NULL, and what is derived is derived from the row as it is then. So the structure holds in every row.
    """

    derivations: Mapping[str, Derivation]
    null_when: Mapping[str, Condition]
    made: tuple[str, ...]  # the columns in either, so that each comes after those that it needs

    @classmethod
    def of(cls, columns: Sequence[Column], derived: Sequence[Derived]) -> "Structure":
        """The structure of declared columns, or a `SchemaError`."""
        known = {column.name: column for column in columns}
        names = {*known, *(one.name for one in derived)}
        every: list[Column | Derived] = [*columns, *derived]
        blanks = {one.name: one.null_when for one in every if one.null_when is not None}
        reads = {one.name: one.reads(names) for one in derived}
        for name, text in blanks.items():
            reads[name] = (*reads.get(name, ()), *_read_condition(name, text, lambda text: names_in(text, names)))
        made = [name for name in _order(reads) if name in reads]
        declared, derivations = {one.name: one for one in derived}, {}
        for name in made:
            if name in declared:
                derivations[name] = declared[name].bind(known)
                known[name] = derivations[name].column
        conditions = {
            name: _read_condition(name, blanks[name], lambda text: parse(text, known.values()))
            for name in made
            if name in blanks
        }
        for name in conditions:
            if not known[name].nullable:
                told = "null_when needs nullable = true: the column is NULL there. Add it."
                raise column_error(name, told, "null_when")
        return cls(derivations=derivations, null_when=conditions, made=tuple(made))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The derived columns, as what they may hold; they have no atoms that were counted."""
        return tuple(derivation.column for derivation in self.derivations.values())

    def complete(self, table: pa.Table, *, deal: bool = False) -> pa.Table:
        """Rows of the measured columns with all that is derived, and NULL where that is declared.

        With `deal`, values that a condition would take away go to rows that may have one and are without. Where noise
        hid which rows have a value, each NULL would be there twice: as it was drawn, and by the condition.
        """
        for name in self.made:
            if name in self.derivations:
                table = _with(table, self.derivations[name].column, self.derivations[name].values(table))
            if name in self.null_when:
                table = self._blank(table, name, deal=deal and name not in self.derivations)
        return table

    def derive(self, table: pa.Table, name: str) -> Any:
        """A derived column's values, from a table that has at least its `origins`."""
        if name in table.column_names:
            return table.column(name)
        derivation = self.derivations[name]
        for source in self._sources_of(name):
            if source not in table.column_names:
                table = _with(table, self.derivations[source].column, self.derive(table, source))
        table = _with(table, derivation.column, derivation.values(table))
        return (self._blank(table, name) if name in self.null_when else table).column(name)

    def origins(self, name: str) -> tuple[str, ...]:
        """The measured columns that a derived one comes from in the end; of a measured one, itself."""
        if name not in self.derivations:
            return (name,)
        return tuple(dict.fromkeys(origin for source in self._sources_of(name) for origin in self.origins(source)))

    def lawful(self, table: pa.Table) -> NDArray[np.bool_]:
        """Whether each complete row is within what was declared of derived columns: (n,)."""
        lawful = np.ones(table.num_rows, dtype=bool)
        for name, derivation in self.derivations.items():
            lawful &= derivation.lawful(table.column(name))
        return lawful

    def broken(self, table: pa.Table) -> Iterator[str]:
        """The columns of a released table that do not hold what their row says."""
        again = self.complete(table)
        for name in self.made:
            old, new = (one.column(name).combine_chunks() for one in (table, again))
            if old.type != new.type or not old.equals(new):
                yield name

    def _sources_of(self, name: str) -> tuple[str, ...]:
        condition = self.null_when.get(name)
        return (*self.derivations[name].sources, *(() if condition is None else condition.columns))

    def _blank(self, table: pa.Table, name: str, *, deal: bool = False) -> pa.Table:
        null = self.null_when[name].holds(table)
        values = _deal(table.column(name), np.asarray(null)) if deal else table.column(name)
        blank = pc.if_else(pa.array(null), pa.scalar(None, values.type), values)
        return _with(table, table.schema.field(name), blank)


def _deal(values: Any, null: NDArray[np.bool_]) -> Any:
    """Values of rows that are to be NULL, exchanged with NULLs of rows that are not: evenly spaced, as many as go."""
    absent = np.asarray(values.combine_chunks().is_null())
    lost, free = np.flatnonzero(null & ~absent), np.flatnonzero(~null & absent)
    pairs = min(len(lost), len(free))
    giving, taking = (rows[np.arange(pairs) * len(rows) // max(1, pairs)] for rows in (lost, free))
    places = np.arange(len(values))
    places[taking], places[giving] = giving, taking
    return values.take(pa.array(places))


def _with(table: pa.Table, column: Column | pa.Field, values: Any) -> pa.Table:
    field = column if isinstance(column, pa.Field) else pa.field(column.name, column.arrow_type, column.nullable)
    if field.name in table.column_names:
        return table.set_column(table.column_names.index(field.name), field, values)
    return table.append_column(field, values)


def _order(reads: Mapping[str, Sequence[str]]) -> list[str]:
    try:
        return list(TopologicalSorter(reads).static_order())
    except CycleError as error:
        circle = " → ".join(error.args[1])
        told = f"is derived from itself: {circle}. Declare one of them by itself."
        raise column_error(error.args[1][0], told, "null_when") from None


def _read_condition(name: str, text: str, read: Any) -> Any:
    try:
        return read(text)
    except ParameterError as error:
        raise column_error(name, f"null_when = {show(text, 200)}: {error}", "null_when") from None


# ---- The schema.


NEIGHBOURS = ("replace-one", "add-remove")
_SOURCE_KEYS = tuple(field.name for field in dataclasses.fields(Written))
_TABLE_KEYS = ("name", "neighbours", "unit", "max_rows_per_unit", "rows_without_unit", "confirmed", "constraints")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A condition that every row of the table keeps: what a schema file lists under `constraints`.

    What is not known counts as kept, as in a CHECK of SQL: a row breaks the rule only if it surely does. Rules are
    public knowledge about the domain, not findings about the private rows.
    """

    text: str
    condition: Condition

    @classmethod
    def parse(cls, text: str, columns: Iterable[Column]) -> "Rule":
        """A rule from its text, or a `SchemaError`.

        >>> from kernelease.table.columns import Integer
        >>> columns = [Integer(name=name, min=0, max=9) for name in ("start", "end")]
        >>> rule = Rule.parse("start + 1 <= end", columns)
        >>> rule.columns, rule.holds(pa.table({"start": [1, 5, None], "end": [2, 3, 0]}))
        (('start', 'end'), array([ True, False,  True]))
        """
        try:
            return cls(text=text, condition=parse(text, columns))
        except ParameterError as error:
            raise SchemaError(f"constraint {show(text, 200)}: {error}", path=("table", "constraints")) from None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in it, in order of appearance."""
        return self.condition.columns

    def holds(self, table: pa.Table) -> NDArray[np.bool_]:
        """Whether each row keeps the rule: (n,). The table has the types of the schema."""
        return self.condition.allows(table)


@final
@dataclass(frozen=True, slots=True)
class Schema:
    """A declared table: its columns in order, the neighbour relation, the privacy unit, rules between columns.

    `neighbours` is "replace-one" (the number of rows is public) or "add-remove" (it is not). `unit` names the column
    of the source that identifies a person; it is never released, and `max_rows_per_unit` caps what a person adds.
    `columns` are read and measured. `derived` ones are neither: `structure` makes them from the others in every row;
    `order` names all of them as they are released, the derived ones last where it is left out.
    `source` says how the rows are written: the separator and the encoding of a CSV file, and the like. Everything here
    must be known without looking at private rows; where it was drafted by looking, `confirmed` is there: true once the
    owner has confirmed that all of it is public knowledge, and nothing is released before. `analyses` will be asked of
    every release: models and averages, in words; what they need is measured before anything is chosen.

    >>> schema = Schema.parse('''
    ... [table]
    ... name = "adult"
    ...
    ... [columns.age]
    ... type = "integer"
    ... min = 17
    ... max = 90
    ...
    ... [columns.work]
    ... type = "category"
    ... values = ["Private", "State-gov"]
    ... nullable = true
    ... ''')
    >>> schema.sizes, schema.column("work").labels()
    ((74, 3), ('Private', 'State-gov', 'NULL'))
    >>> Schema.parse(schema.to_toml()) == Schema.from_dict(schema.to_dict()) == schema
    True
    """

    columns: tuple[Column, ...]
    _: KW_ONLY
    name: str = "table"
    neighbours: str = "replace-one"
    unit: str | None = None
    max_rows_per_unit: int | None = None
    rows_without_unit: str = "drop"
    constraints: tuple[Rule, ...] = ()
    source: Written = field(default_factory=Written)
    confirmed: bool | None = None
    derived: tuple[Derived, ...] = ()
    order: tuple[str, ...] = ()
    analyses: tuple[str, ...] = ()
    structure: Structure = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "derived", tuple(self.derived))
        self._check_columns()
        self._check_order()
        object.__setattr__(self, "structure", Structure.of(self.columns, self.derived))
        if not isinstance(self._raw_field("name"), str) or not self.name:
            raise _error("name", f"name must be a non-empty string, got {self.name!r}.")
        if self.neighbours not in NEIGHBOURS:
            hint = nearest(str(self.neighbours), NEIGHBOURS)
            raise _error("neighbours", f"neighbours must be {' or '.join(NEIGHBOURS)}, got {self.neighbours!r}.{hint}")
        self._check_unit()
        self._check_origins()
        if self._raw_field("confirmed") not in (None, False, True) or type(self.confirmed) is int:
            raise _error("confirmed", f"confirmed must be true or false, got {self.confirmed!r}.")
        self._read_constraints()
        self._read_analyses()

    def _raw_field(self, key: str) -> Any:
        return getattr(self, key)

    def _check_columns(self) -> None:
        if not self.columns:
            raise SchemaError("A schema needs at least one column: [columns.age] and so on.", path=("columns",))
        for kind, given in ((Column, self.columns), (Derived, self.derived)):
            for column in given:
                if not isinstance(column, kind):
                    told = f"must be {kind.__name__} objects, got {type(column).__name__}."
                    raise SchemaError(f"{'columns' if kind is Column else 'derived'} {told}", path=("columns",))
        seen: set[str] = set()
        every: list[Column | Derived] = [*self.columns, *self.derived]
        for column in every:
            if column.name in seen:
                raise column.error("type", "declared twice. Remove one of the two.")
            seen.add(column.name)

    def _check_order(self) -> None:
        every = (*self.names, *(one.name for one in self.derived))
        object.__setattr__(self, "order", (self.derived and tuple(self.order)) or every)
        if sorted(self.order) != sorted(every):
            raise SchemaError(f"order must name every column once, got {', '.join(self.order)}.", path=("columns",))

    def _read_analyses(self) -> None:
        given = self._raw_field("analyses")
        texts = tuple(given.values()) if isinstance(given, Mapping) else tuple(given)
        for text in texts:
            try:
                if not isinstance(text, str):
                    raise ParameterError(f"analysis: must be text, got {text!r}.")
                named = Analysis.parse(text).columns
            except ParameterError as error:
                raise SchemaError(f"[analyses]: {error}", path=("analyses",)) from None
            for name in named:
                if name not in self.names:
                    hint = nearest(name, self.names)
                    raise SchemaError(
                        f"[analyses]: {text!r} needs {name!r}, no column of it.{hint}", path=("analyses",)
                    )
        object.__setattr__(self, "analyses", texts)

    def _check_unit(self) -> None:
        if self.rows_without_unit not in ROWS_WITHOUT_UNIT:
            choices = " or ".join(ROWS_WITHOUT_UNIT)
            raise _error("rows_without_unit", f"rows_without_unit must be {choices}, got {self.rows_without_unit!r}.")
        if self.unit is None:
            for key, unset in (("max_rows_per_unit", None), ("rows_without_unit", "drop")):
                if self._raw_field(key) != unset:
                    raise _error(key, f"{key} needs unit, the column that identifies a person. Add it.")
            return
        if not isinstance(self._raw_field("unit"), str) or not self.unit:
            raise _error("unit", f"unit must be the name of a column of the source, got {self.unit!r}.")
        if self.unit in self.order:
            raise _error(
                "unit", f"unit {self.unit!r} identifies persons and can't be released. Remove [columns.{self.unit}]."
            )
        if type(self.max_rows_per_unit) is not int or not 1 <= self.max_rows_per_unit <= MOST_ROWS_PER_UNIT:
            raise _error(
                "max_rows_per_unit" if self.max_rows_per_unit is not None else "unit",
                f"unit needs max_rows_per_unit, an integer from 1 to {MOST_ROWS_PER_UNIT}, "
                f"got {self.max_rows_per_unit!r}.",
            )

    def _check_origins(self) -> None:
        """Each column of the source becomes one column at most, and the unit none under any name."""
        seen: dict[str, str] = {}
        for column in self.columns:
            if column.source_name == self.unit:
                raise column.error(
                    "from", f"{self.unit!r} identifies persons and can't be released. Remove the column."
                )
            if column.source_name in seen:
                raise column.error(
                    "from", f"{column.source_name!r} is column {seen[column.source_name]!r} already. Remove one."
                )
            seen[column.source_name] = column.name
        for column in self.columns:
            self._check_minus(column)

    def _check_minus(self, column: Column) -> None:
        """What is taken off a column says how both are read: it is in the source, as a number or a time."""
        if not isinstance(column, Integer | Number) or column.minus is None:
            return
        off = self.taken_off(column.name)
        if off is None:
            hint = nearest(column.minus, self.order)
            raise column.error("minus", f"there is no column {column.minus!r}.{hint}")
        if not isinstance(off, Integer | Number | Date | Datetime) or getattr(off, "minus", None) is not None:
            raise column.error("minus", f"{off.name!r} must be a number, a date or a datetime of the source itself.")

    def _read_constraints(self) -> None:
        given = self._raw_field("constraints")
        if not isinstance(given, tuple | list):
            raise _error("constraints", f"constraints must be a list of strings, got {given!r}.")
        columns = (*self.columns, *self.structure.columns)
        rules = (Rule.parse(rule.text if isinstance(rule, Rule) else rule, columns) for rule in given)
        object.__setattr__(self, "constraints", tuple(rules))

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that are read and measured, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of atoms of each column, in order."""
        return tuple(column.size for column in self.columns)

    @property
    def finer(self) -> dict[int, Celled]:
        """The places of columns of numbers and dates whose cells hold several values, and each in finer cells."""
        found = ((place, column.finer) for place, column in enumerate(self.columns) if isinstance(column, Celled))
        return {place: finer for place, finer in found if finer is not None}

    def column(self, name: str) -> Column:
        """The column of a name, or a `SchemaError` that suggests one."""
        for column in self.columns:
            if column.name == name:
                return column
        for one in self.derived:
            if one.name == name:
                asked = " and ".join(self.structure.origins(name))
                raise SchemaError(
                    f"Column {name!r} is {one.in_words}, and was not measured. Ask about {asked} instead."
                )
        raise SchemaError(f"There is no column {name!r} in table {self.name!r}.{nearest(name, self.names)}")

    def taken_off(self, name: str) -> Column | None:
        """The column, read or derived, that is taken off the one of a name where rows are read; else None."""
        minus = getattr(self.column(name), "minus", None)
        return next((one for one in (*self.columns, *self.structure.columns) if one.name == minus), None)

    def check_source(self, names: Sequence[str], *, released: bool = False) -> None:
        """A `SchemaError` if a declared column, or the privacy unit, is not in a source of these columns exactly once.

        Rows that are `released` have no unit.

        No message says what the source's columns are called: the first line of a CSV file without a header is
        somebody's row.
        """
        needed = [(column.name, column.source_name, ("columns", column.name)) for column in self]
        if self.unit is not None and not released:
            needed.append((self.unit, self.unit, ("table", "unit")))
        for name, wanted, path in needed:
            found = names.count(name)
            if found == 0:
                raise SchemaError(
                    f"column {name!r}: the source has no column {wanted!r}. If it has another name there, declare "
                    'from = "THAT NAME"; for a CSV file, look at its first line: its separator (--separator), or '
                    "whether there is a header at all (--names).",
                    path=path,
                )
            if found > 1:
                raise SchemaError(
                    f"column {name!r}: the source has {found} columns of this name. Rename them.", path=path
                )

    @property
    def unit_weight(self) -> int:
        """What the rows of each person weigh together, in parts that are whole; 1 where each row stands alone."""
        return 1 if self.unit is None or self.max_rows_per_unit is None else common_weight(self.max_rows_per_unit)

    @property
    def unit_in_words(self) -> str:
        r"""Whom the guarantee protects, as a certificate says it.

        >>> schema = Schema.parse('[source]\nrecords = "lines"\n[columns.sick]\ntype = "boolean"')
        >>> schema.unit_in_words
        'each line of the file'
        """
        lines = self.records is Records.LINES
        if self.unit is None:
            return "each line of the file" if lines else "each row"
        several = f"up to {self.max_rows_per_unit} {'lines of the file' if lines else 'rows'}"
        return f"each person ({several}{'' if self.unit == 'person' else f' of one {self.unit}'})"

    @property
    def records(self) -> Records | None:
        """Where a record of a CSV file ends: None stands for `Records.QUOTED`, and is not written down."""
        return self.source.records

    def written_as(self, source: Written) -> "Schema":
        """The schema with more said about how its rows are written. A `SchemaError` if it says otherwise already."""
        return dataclasses.replace(self, source=self.source.join(source))

    def _repr_html_(self) -> str:
        about = [("protects", self.unit_in_words), ("neighbours", self.neighbours)]
        rows = [(c.name, c.tag, "yes" if c.nullable else "no", f"{c.size:,}") for c in self.columns]
        listed = html.grid(("column", "type", "nullable", "cells, at most"), rows)
        rules = html.lines(rule.text for rule in self.constraints)
        return html.card(f"Schema of {self.name}", html.facts(about), listed, rules)

    def arrow_schema(self) -> pa.Schema:
        """The names and types of released rows, in order."""
        every = {column.name: column for column in (*self.columns, *self.structure.columns)}
        return pa.schema([pa.field(name, every[name].arrow_type, every[name].nullable) for name in self.order])

    @classmethod
    def load(cls, path: str | Path) -> "Schema":
        """The schema in a TOML file; a `SchemaError` names the file and the line."""
        try:
            text = read_text(path).replace("\r\n", "\n")
        except OSError as error:
            reason = f"{path}: can't be read ({error.strerror}). Check the name of the schema file."
            raise SchemaError(web_refusal(path) or reason) from None
        except UnicodeDecodeError as error:
            raise SchemaError(f"{path}: is not UTF-8 at byte {error.start}. Save it as UTF-8.") from None
        except ValueError as error:
            raise SchemaError(f"{path}: is not read, for {error}. Is it the schema file?") from None
        return cls.parse(text, source=Path(path).name, folder=Path(path).parent)

    @classmethod
    def parse(cls, text: str, *, source: str = "schema", folder: Path | None = None) -> "Schema":
        """The schema in a TOML text; `source` names it in messages, and `folder` has its code books."""
        try:
            data = parse_toml(text)
        except tomllib.TOMLDecodeError as error:
            raise SchemaError(f"{source}, {_told_line(error, text)}.") from None
        except ValueError as error:  # Python reads integers of up to 4,300 digits
            long = "has a number with more digits than can be read" if "digits" in str(error) else None
            raise SchemaError(f"{source}: {long or f'is not read, for {error}'}.") from None
        try:
            return cls._from_toml(data, folder)
        except SchemaError as error:
            line = locate(text, error.path)
            where = source if line is None else f"{source}, line {line}"
            raise SchemaError(f"{where}: {error}", path=error.path) from None

    @classmethod
    def _from_toml(cls, data: Mapping[str, Any], folder: Path | None) -> "Schema":
        for key in data:
            if key not in (known := ("table", "source", "columns", "analyses")):
                hint = " It belongs in [table]." if key in _TABLE_KEYS else nearest(key, known)
                raise SchemaError(
                    f"unknown key {key!r}; a schema has [table], [source], [analyses] and [columns.NAME].{hint}",
                    path=(key,),
                )
        table, columns = data.get("table", {}), data.get("columns", {})
        if not isinstance(table, dict):
            raise SchemaError(f"table must be a table: [table], got {table!r}.", path=("table",))
        if not isinstance(columns, dict):
            raise SchemaError(f"columns must be tables: [columns.age], got {columns!r}.", path=("columns",))
        read = [declared_from_dict(name, body) for name, body in with_codebooks(columns, folder).items()]
        analyses = data.get("analyses", {})
        if not isinstance(analyses, dict):
            raise SchemaError(f"analyses must be a table: [analyses], got {analyses!r}.", path=("analyses",))
        return cls._build({**table, "analyses": analyses} if analyses else table, data.get("source", {}), read)

    @classmethod
    def _build(cls, table: Mapping[str, Any], source: object, declared: list[Column | Derived]) -> "Schema":
        for key in table:
            if key not in (*_TABLE_KEYS, "analyses"):
                hint = " It belongs in [source]." if key in _SOURCE_KEYS else nearest(str(key), _TABLE_KEYS)
                raise _error(str(key), f"unknown key {key!r}; known are {', '.join(_TABLE_KEYS)}.{hint}")
        columns = tuple(one for one in declared if isinstance(one, Column))
        derived = tuple(one for one in declared if isinstance(one, Derived))
        order = tuple(one.name for one in declared) if len({one.name for one in declared}) == len(declared) else ()
        return cls(columns, derived=derived, order=order, **table, source=Written.from_dict(source))

    @classmethod
    def from_dict(cls, data: object) -> "Schema":
        """The schema that `to_dict` wrote, or a `SchemaError`."""
        if not isinstance(data, Mapping) or not isinstance(data.get("columns"), list):
            raise SchemaError("A schema must be an object with a list of columns.")
        columns = []
        for body in data["columns"]:
            if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
                raise SchemaError("Each column of a schema must be an object with a name.")
            columns.append(declared_from_dict(body["name"], {key: body[key] for key in body if key != "name"}))
        table = {key: value for key, value in data.items() if key not in ("columns", "source")}
        return cls._build(table, data.get("source", {}), columns)

    def to_dict(self) -> dict[str, Any]:
        """The schema as JSON can hold it: strings, numbers, lists and objects."""
        columns = [{"name": column.name, **declared_to_dict(column)} for column in self.declared]
        bodies = [
            {key: value.isoformat() if isinstance(value, datetime.date) else value for key, value in body.items()}
            for body in columns
        ]
        source = self.source.to_dict()
        analyses = {"analyses": list(self.analyses)} if self.analyses else {}
        return {**self._table(), **({"source": source} if source else {}), **analyses, "columns": bodies}

    def to_toml(self) -> str:
        """The schema as a TOML file that `parse` reads back."""
        parts = [("table", self._table()), *([("source", source)] if (source := self.source.to_dict()) else [])]
        if self.analyses:
            parts.append(("analyses", {f"analysis_{place}": text for place, text in enumerate(self.analyses, 1)}))
        for column in self.declared:
            header, body = f"columns.{toml_key(column.name)}", declared_to_dict(column)
            parts.append((header, {key: value for key, value in body.items() if not isinstance(value, dict)}))
            parts += [(f"{header}.{key}", value) for key, value in body.items() if isinstance(value, dict)]
        return "\n".join(
            f"[{header}]\n" + "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in body.items())
            for header, body in parts
        )

    @property
    def declared(self) -> tuple[Column | Derived, ...]:
        """Every column as it was declared, in the order of release."""
        every: list[Column | Derived] = [*self.columns, *self.derived]
        return tuple(sorted(every, key=lambda one: self.order.index(one.name)))

    def _table(self) -> dict[str, Any]:
        table: dict[str, Any] = {"name": self.name, "neighbours": self.neighbours}
        if self.unit is not None:
            table |= {key: self._raw_field(key) for key in ("unit", "max_rows_per_unit", "rows_without_unit")}
        if self.confirmed is not None:
            table["confirmed"] = self.confirmed
        if self.constraints:
            table["constraints"] = [rule.text for rule in self.constraints]
        return table


def _error(key: str, message: str) -> SchemaError:
    return SchemaError(f"[table]: {message}", path=("table", key))


def _told_line(error: tomllib.TOMLDecodeError, text: str) -> str:
    """A message of the TOML parser, with its line in front."""
    message, _, place = str(error).rpartition(" (at ")
    message = re.sub(r"\('(.*)'\)", lambda path: f"[{path[1]}]".replace("', '", "."), message)
    line = re.match(r"line ([0-9]+)", place)
    where = f"line {line[1] if line else text.count(chr(10)) + 1}: is not valid TOML: {message}"
    if "=" not in text:
        return f"{where}. A schema is a TOML file, which `kernelease schema draft` makes"
    return f"{where}. {next((remedy for said, remedy in _REMEDIES.items() if said in message), _REMEDY)}"


_REMEDY = "Write key = value, one in a line, text in quotes, a date as 2024-12-31"
_REMEDIES = {  # what Python says of a line, and what to do
    "Invalid value": 'Write a value after =, and text in quotes: type = "integer"',
    "table declaration": 'A name with blanks or other signs goes in quotes: [columns."my age"]',
    "twice": "Remove one of the two, or give it another name",
    "overwrite": "Remove one of the two",
}
