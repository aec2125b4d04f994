"""The single tests of the language."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import pyarrow as pa
import pyarrow.compute as pc

from kernelease.errors import ParameterError
from kernelease.table.columns.column import Column
from kernelease.table.expressions.logic import Leaf
from kernelease.table.expressions.terms import Calculated, Literal, Term, columns_of, numbers, unit_of, written
from kernelease.table.expressions.tokens import shown

_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
OPERATORS = tuple(_COMPARE)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Leaf):
    """`left operator right`, where left is a column, and right another one or a literal. Numbers compare exactly."""

    left: Column
    operator: str
    right: Column | Literal

    def __post_init__(self) -> None:
        _check_operator(self.operator)
        if not self.left.ordered and self.operator not in ("==", "!="):
            raise ParameterError(f"column {self.left.name!r} has no order: only == and != can be asked of it.")
        if isinstance(self.right, Column):
            _check_alike(self.left, self.right)
        else:
            _ = self.left.key(self.right)

    @property
    def names(self) -> tuple[str, ...]:
        """One column, or two."""
        return (self.left.name, self.right.name) if isinstance(self.right, Column) else (self.left.name,)

    def test(self, table: pa.Table) -> Any:
        left = self.left.keys(table.column(self.left.name))
        right = self.right
        other = right.keys(table.column(right.name)) if isinstance(right, Column) else self.left.key(right)
        return _COMPARE[self.operator](left, other)

    def __str__(self) -> str:
        return f"{written(self.left)} {self.operator} {written(self.right)}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Computed(Leaf):
    """`left operator right` between numbers or dates, one of them at least computed. They are equal up to rounding."""

    left: Term
    operator: str
    right: Term

    def __post_init__(self) -> None:
        _check_operator(self.operator)
        left, right = unit_of(self.left), unit_of(self.right)
        if left != right:
            raise ParameterError(f"{shown(str(self))}: a {left} and a {right} do not compare.")
        if not isinstance(self.left, Calculated) and not isinstance(self.right, Calculated):
            raise ParameterError(f"{self} computes nothing.")

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of both sides."""
        return tuple(dict.fromkeys(column.name for side in (self.left, self.right) for column in columns_of(side)))

    def test(self, table: pa.Table) -> Any:
        return numbers(self.left, table).compare(self.operator, numbers(self.right, table))

    def __str__(self) -> str:
        return f"{written(self.left)} {self.operator} {written(self.right)}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Missing(Leaf):
    """`column is null`. NaN is a missing number."""

    column: Column

    @property
    def names(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column.name,)

    def test(self, table: pa.Table) -> Any:
        return pc.is_null(table.column(self.column.name), nan_is_null=True)

    def __str__(self) -> str:
        return f"{written(self.column)} is null"


def _check_operator(operator: str) -> None:
    if operator not in OPERATORS:
        raise ParameterError(f"a comparison is one of {' '.join(OPERATORS)}, got {operator!r}.")


def _check_alike(left: Column, right: Column) -> None:
    """Columns of one family compare; ordinals, if they share their list: ranks mean nothing elsewhere."""
    if left.family != right.family:
        raise ParameterError(
            f"columns {left.name!r} ({left.tag}) and {right.name!r} ({right.tag}) do not compare: "
            "numbers go with numbers, dates with dates, text with text."
        )
    if left.tag == right.tag == "ordinal" and left.labels()[: left.in_order] != right.labels()[: right.in_order]:
        raise ParameterError(
            f"columns {left.name!r} and {right.name!r} do not compare: "
            "ordinals must have the same values in the same order."
        )
