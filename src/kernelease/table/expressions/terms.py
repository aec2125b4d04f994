"""What stands on either side of a comparison: a column, a value, or numbers computed from them."""

import math
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard, final

import numpy as np
import pyarrow as pa

from kernelease.errors import ParameterError
from kernelease.table.columns.column import Column
from kernelease.table.expressions.rounded import Rounded
from kernelease.table.expressions.tokens import spell_name, spell_text

Literal: TypeAlias = str | int | float | bool

_MOST_DIGITS = 15  # of an integer: those are exact as float64
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic:
    """`left sign right`, with the sign + - * or /: a number computed from the numbers of a row. NULL makes it NULL.

    At least one column is in it: what is computed from numbers alone is a number.
    """

    left: "Term"
    sign: str
    right: "Term"

    def __post_init__(self) -> None:
        if self.sign not in _STRENGTH:
            raise ParameterError(f"arithmetic has + - * and /, not {self.sign!r}.")
        for part in (self.left, self.right):
            check_number(part)
        if not self.columns:
            raise ParameterError(f"{self} holds no column. Write the number that it is.")

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns in it, in order of appearance."""
        return tuple(dict.fromkeys((*columns_of(self.left), *columns_of(self.right))))

    def __str__(self) -> str:
        left, right = written(self.left), written(self.right)
        if isinstance(self.left, Arithmetic) and _STRENGTH[self.left.sign] < _STRENGTH[self.sign]:
            left = f"({left})"
        if isinstance(self.right, Arithmetic) and _STRENGTH[self.right.sign] <= _STRENGTH[self.sign]:
            right = f"({right})"
        return f"{left} {self.sign} {right}"


Term: TypeAlias = Column | Literal | Arithmetic


def columns_of(term: Term) -> tuple[Column, ...]:
    """The columns of a term."""
    if isinstance(term, Arithmetic):
        return term.columns
    return (term,) if isinstance(term, Column) else ()


def check_number(term: Term) -> None:
    """A `ParameterError` where a term is not a number."""
    if isinstance(term, Column):
        if term.family != "number":
            raise ParameterError(f"column {term.name!r} is of type {term.tag}, and arithmetic is between numbers.")
    elif not isinstance(term, Arithmetic) and not _is_number(term):
        raise ParameterError(f"{written(term)} is no number, and arithmetic is between numbers.")


def numbers(term: Term, table: pa.Table) -> Rounded:
    """A term's number in each row of a table with the types of the schema: (n,), or () if it is the same in all."""
    if isinstance(term, Arithmetic):
        return numbers(term.left, table).combine(term.sign, numbers(term.right, table))
    if isinstance(term, Column):
        keys = term.keys(table.column(term.name))
        return Rounded.written(np.asarray(keys.to_numpy(zero_copy_only=False), dtype=np.float64))
    return Rounded.written(np.asarray(float(term)))


def computed(left: Term, sign: str, right: Term) -> Term:
    """`left sign right`: a number where both are, rounded to 15 digits unless it is whole."""
    for part in (left, right):
        check_number(part)
    if not _is_number(left) or not _is_number(right):
        return Arithmetic(left=left, sign=sign, right=right)
    value = _value(left, sign, right)
    if math.isnan(value):
        raise ParameterError(f"{written(left)} {sign} {written(right)} has no value.")
    return value


def signed(sign: str, term: Term) -> Term:
    """`+ term`, which is the term, or `- term`, which is 0 − term."""
    check_number(term)
    if sign == "+":
        return term
    return -term if _is_number(term) else Arithmetic(left=0, sign="-", right=term)


def _value(left: float, sign: str, right: float) -> float:
    """Of integers, an integer, except for a quotient and beyond what float64 holds exactly."""
    match sign:
        case "+":
            value = left + right
        case "-":
            value = left - right
        case "*":
            value = left * right
        case _:
            value = left / right if right else math.nan
    if isinstance(value, int) and abs(value) < 10**_MOST_DIGITS:
        return value
    return float(f"{value:.{_MOST_DIGITS}g}")


def read_number(digits: str) -> int | float:
    """A number without a sign. An integer of more than 15 digits is the nearest float, which may be infinite.

    >>> read_number("30"), read_number("3e1"), read_number("9" * 5000)
    (30, 30.0, inf)
    """
    return int(digits) if digits.isdigit() and len(digits) <= _MOST_DIGITS else float(digits)


def written(term: Term) -> str:
    """A term as the grammar reads it.

    >>> written("it's"), written(True), written(-0.5), written(float("inf"))
    ("'it''s'", 'true', '-0.5', '1e999')
    """
    if isinstance(term, Column):
        return spell_name(term.name)
    if isinstance(term, str):
        return spell_text(term)
    if isinstance(term, bool):
        return "true" if term else "false"
    if isinstance(term, float) and math.isinf(term):
        return "1e999" if term > 0.0 else "-1e999"
    return str(term)


def _is_number(term: Term) -> TypeGuard[int | float]:
    return isinstance(term, int | float) and not isinstance(term, bool)
