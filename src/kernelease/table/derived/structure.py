"""All derived columns and rules of a schema, in the order in which they are applied."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.errors import ParameterError, SchemaError, nearest
from kernelease.table.columns.column import Column
from kernelease.table.columns.registry import FILL_IN, column_from_dict, column_to_dict
from kernelease.table.derived.computed import Computed
from kernelease.table.derived.derived import Derivation, Derived, derived_keys, required_keys
from kernelease.table.derived.determined import Determined
from kernelease.table.expressions.logic import Condition, names_in, parse
from kernelease.table.expressions.terms import shown

# --------------------
# A declared column from the table of a schema file: measured, computed or determined.


DERIVED: tuple[type[Computed] | type[Determined], ...] = (Computed, Determined)


def declared_from_dict(name: str, body: object) -> Column | Derived:
    """The column that a table of a schema file declares, or a `SchemaError`.

    >>> declared_from_dict("total", {"type": "integer", "computed": "a + b"}).told
    'computed as a + b'
    """
    kinds = [kind for kind in DERIVED if isinstance(body, Mapping) and kind.key in body]
    if not kinds or not isinstance(body, Mapping):
        return column_from_dict(name, body)
    if len(kinds) > 1:
        both = " and ".join(kind.key for kind in kinds)
        raise SchemaError(f"column {name!r}: has {both}. Remove one.", path=("columns", name, kinds[1].key))
    _check_keys(name, kinds[0], body)
    return kinds[0](name=name, **body)


def declared_to_dict(column: Column | Derived) -> dict[str, Any]:
    """The declaration of a column, without its name."""
    return column.to_dict() if isinstance(column, Derived) else column_to_dict(column)


def _check_keys(name: str, kind: type[Derived], body: Mapping[str, object]) -> None:
    known = derived_keys(kind)
    for key, value in body.items():
        where = ("columns", name, str(key))
        if key not in known:
            raise SchemaError(
                f"column {name!r}: unknown key {key!r} beside {kind.key}; known are {', '.join(known)}. "
                f"What is derived is not read.{nearest(str(key), known)}",
                path=where,
            )
        if value in (FILL_IN, [FILL_IN]):
            raise SchemaError(f"column {name!r}: {key} is not filled in yet. Write what is publicly known.", path=where)
    for key in required_keys(kind):
        if key not in body:
            raise SchemaError(f"column {name!r}: {kind.key} needs {key}. Add it.", path=("columns", name))


# --------------------
# The structure: all derived columns and rules, in the order in which they are applied.


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
            reads[name] = (*reads.get(name, ()), *_checked(name, text, lambda text: names_in(text, names)))
        made = [name for name in _ordered(reads) if name in reads]
        declared, derivations = {one.name: one for one in derived}, {}
        for name in made:
            if name in declared:
                derivations[name] = declared[name].bind(known)
                known[name] = derivations[name].column
        conditions = {
            name: _checked(name, blanks[name], lambda text: parse(text, known.values()))
            for name in made
            if name in blanks
        }
        for name in conditions:
            if not known[name].nullable:
                raise _error(name, "null_when needs nullable = true: the column is NULL there. Add it.")
        return cls(derivations=derivations, null_when=conditions, made=tuple(made))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The derived columns, as what they may hold; they have no atoms that were counted."""
        return tuple(derivation.column for derivation in self.derivations.values())

    def complete(self, table: pa.Table) -> pa.Table:
        """Rows of the measured columns with all that is derived, and NULL where that is declared."""
        for name in self.made:
            if name in self.derivations:
                table = _with(table, self.derivations[name].column, self.derivations[name].values(table))
            if name in self.null_when:
                table = self._blanked(table, name)
        return table

    def derive(self, table: pa.Table, name: str) -> Any:
        """A derived column's values, from a table that has at least its `origins`."""
        if name in table.column_names:
            return table.column(name)
        derivation = self.derivations[name]
        for source in self._needed(name):
            if source not in table.column_names:
                table = _with(table, self.derivations[source].column, self.derive(table, source))
        table = _with(table, derivation.column, derivation.values(table))
        return (self._blanked(table, name) if name in self.null_when else table).column(name)

    def origins(self, name: str) -> tuple[str, ...]:
        """The measured columns that a derived one comes from in the end; of a measured one, itself."""
        if name not in self.derivations:
            return (name,)
        return tuple(dict.fromkeys(origin for source in self._needed(name) for origin in self.origins(source)))

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

    def _needed(self, name: str) -> tuple[str, ...]:
        condition = self.null_when.get(name)
        return (*self.derivations[name].sources, *(() if condition is None else condition.columns))

    def _blanked(self, table: pa.Table, name: str) -> pa.Table:
        values = table.column(name)
        null = pa.array(self.null_when[name].holds(table))
        return _with(table, table.schema.field(name), pc.if_else(null, pa.scalar(None, values.type), values))


def _with(table: pa.Table, column: Column | pa.Field, values: Any) -> pa.Table:
    field = column if isinstance(column, pa.Field) else pa.field(column.name, column.arrow_type, column.nullable)
    if field.name in table.column_names:
        return table.set_column(table.column_names.index(field.name), field, values)
    return table.append_column(field, values)


def _ordered(reads: Mapping[str, Sequence[str]]) -> list[str]:
    try:
        return list(TopologicalSorter(reads).static_order())
    except CycleError as error:
        circle = " → ".join(error.args[1])
        raise _error(error.args[1][0], f"is derived from itself: {circle}. Declare one of them by itself.") from None


def _checked(name: str, text: str, read: Any) -> Any:
    try:
        return read(text)
    except ParameterError as error:
        raise _error(name, f"null_when = {shown(text, 200)}: {error}") from None


def _error(name: str, message: str) -> SchemaError:
    return SchemaError(f"column {name!r}: {message}", path=("columns", name, "null_when"))
