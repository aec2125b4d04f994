"""What analysts ask about: the conditions of the table's language, as far as measured counts can answer them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import pyarrow as pa

from kernelease.errors import ParameterError
from kernelease.table.columns.celled import Celled
from kernelease.table.columns.column import Column
from kernelease.table.derived.structure import Structure
from kernelease.table.expressions.logic import Computed, Condition, Joined, Leaf, Missing, Negated, parse
from kernelease.table.expressions.terms import shown


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class InCell(Leaf):
    """The column's value is one of some atoms: how rows are grouped by a column. It has no words in the grammar."""

    column: Column
    atoms: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column.name,)

    def test(self, table: pa.Table) -> Any:
        return pa.array(np.isin(self.column.encode(table.column(self.column.name)), self.atoms))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Through(Leaf):
    """A test of derived columns, seen through the one measured column that says all of them, `origin`."""

    leaf: Leaf
    origin: str
    structure: Structure = field(compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The measured column."""
        return (self.origin,)

    def test(self, table: pa.Table) -> Any:
        known = {name: self.structure.derive(table, name) for name in self.leaf.names if name != self.origin}
        return self.leaf.test(pa.table({self.origin: table.column(self.origin), **known}))

    def __str__(self) -> str:
        return str(self.leaf)


def single_valued(column: Column) -> bool:
    """Whether each atom is one value, so that what the value says is known of its atom."""
    return not isinstance(column, Celled) or bool(np.equal(*column.bounds()).all())


def present(column: Column) -> tuple[Condition, ...]:
    """The condition that a column's value is not NULL; none where it never is."""
    return (Negated(part=Missing(column=column)),) if column.nullable else ()


def parse_condition(text: str, columns: Iterable[Column], structure: Structure | None = None) -> Condition:
    r"""A condition from its text, or a `ParameterError` that says what is wrong with it.

    Every test in it compares a column with a value or with another column: what is computed from several columns was
    not measured. With a `structure`, it may be about a derived column, where one measured column says its value.

    >>> from kernelease import Schema
    >>> schema = Schema.parse('[columns.age]\ntype = "integer"\nmin = 0\nmax = 99\nnullable = true')
    >>> condition = parse_condition("age in (7, 8) or not (age < 60 or age is null)", schema)
    >>> condition.holds(pa.table({"age": [7, 30, 60, None]}))
    array([ True, False,  True, False])
    """
    known = tuple(columns)
    try:
        condition = parse(text, (*known, *(() if structure is None else structure.columns)))
        for leaf in condition.leaves():
            _check_measurable(leaf)
        if structure is not None:
            condition = _measured(condition, {column.name: column for column in known}, structure)
    except ParameterError as error:
        raise ParameterError(f"condition {shown(text, 200)}: {error}") from None
    return condition


def _check_measurable(leaf: Leaf) -> None:
    if isinstance(leaf, Computed):
        raise ParameterError(
            f"{shown(str(leaf))} computes with columns. A rule of a schema may do so; what was measured answers "
            "comparisons of a column with a value or another column. Ask for the expectation of a function instead."
        )


def _measured(condition: Condition, columns: Mapping[str, Column], structure: Structure) -> Condition:
    """The same condition, with tests of measured columns alone."""
    if isinstance(condition, Negated):
        return Negated(part=_measured(condition.part, columns, structure))
    if isinstance(condition, Joined):
        parts = tuple(_measured(part, columns, structure) for part in condition.parts)
        return Joined(parts=parts, every=condition.every)
    assert isinstance(condition, Leaf)
    derived = [name for name in condition.names if name in structure.derivations]
    if not derived:
        return condition
    origins = tuple(dict.fromkeys(origin for name in condition.names for origin in structure.origins(name)))
    if len(origins) > 1 or not single_valued(columns[origins[0]]):
        raise ParameterError(
            f"column {derived[0]!r} is derived, and was not measured. Ask about {' and '.join(origins)} instead."
        )
    return Through(leaf=condition, origin=origins[0], structure=structure)
