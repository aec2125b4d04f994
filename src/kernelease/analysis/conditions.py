"""What analysts ask about: the conditions of the table's language, as far as measured counts can answer them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa

from kernelease.errors import ParameterError
from kernelease.table.columns.column import Column
from kernelease.table.expressions.comparisons import Computed, Missing
from kernelease.table.expressions.logic import Condition, Leaf, Negated
from kernelease.table.expressions.parser import parse
from kernelease.table.expressions.tokens import shown


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


def present(column: Column) -> tuple[Condition, ...]:
    """The condition that a column's value is not NULL; none where it never is."""
    return (Negated(part=Missing(column=column)),) if column.nullable else ()


def parse_condition(text: str, columns: Iterable[Column]) -> Condition:
    r"""A condition from its text, or a `ParameterError` that says what is wrong with it.

    Every test in it compares a column with a value or with another column: what is computed from several columns was
    not measured.

    >>> from kernelease import Schema
    >>> schema = Schema.parse('[columns.age]\ntype = "integer"\nmin = 0\nmax = 99\nnullable = true')
    >>> condition = parse_condition("age in (7, 8) or not (age < 60 or age is null)", schema)
    >>> condition.holds(pa.table({"age": [7, 30, 60, None]}))
    array([ True, False,  True, False])
    """
    try:
        condition = parse(text, columns)
        for leaf in condition.leaves():
            _check_measurable(leaf)
    except ParameterError as error:
        raise ParameterError(f"condition {shown(text, 200)}: {error}") from None
    return condition


def _check_measurable(leaf: Leaf) -> None:
    if isinstance(leaf, Computed):
        raise ParameterError(
            f"{shown(str(leaf))} computes with columns. A rule of a schema may do so; what was measured answers "
            "comparisons of a column with a value or another column. Ask for the expectation of a function instead."
        )
