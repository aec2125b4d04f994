"""Terms that are sums of columns, each times a number."""

from dataclasses import dataclass
from typing import final

from kernelease.table.columns.column import Column
from kernelease.table.expressions.terms import Arithmetic, Extracted, Term


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """constant + Σ weight · column, of columns of numbers."""

    constant: float
    weights: tuple[tuple[Column, float], ...]

    def _times(self, factor: float) -> "Linear":
        scaled = tuple((column, weight * factor) for column, weight in self.weights)
        return Linear(constant=self.constant * factor, weights=scaled)

    def _plus(self, other: "Linear") -> "Linear":
        weights = dict(self.weights)
        for column, weight in other.weights:
            weights[column] = weights.get(column, 0.0) + weight
        return Linear(constant=self.constant + other.constant, weights=tuple(weights.items()))


def linear(term: Term) -> Linear | None:
    """A term as such a sum; None where it is none.

    >>> from kernelease.table.columns import Integer
    >>> from kernelease.table.expressions.parser import parse_term
    >>> columns = [Integer(name=name, min=0, max=9) for name in "ab"]
    >>> found = linear(parse_term("2 * (a - b) / 4 + 1", columns))
    >>> found.constant, [(column.name, weight) for column, weight in found.weights]
    (1.0, [('a', 0.5), ('b', -0.5)])
    >>> linear(parse_term("a * b", columns)) is None
    True
    """
    if isinstance(term, Extracted | str):
        return None
    if isinstance(term, Column):
        return Linear(constant=0.0, weights=((term, 1.0),)) if term.family == "number" else None
    if not isinstance(term, Arithmetic):
        return Linear(constant=float(term), weights=())
    left, right = linear(term.left), linear(term.right)
    return None if left is None or right is None else _combined(left, term.sign, right)


def _combined(left: Linear, sign: str, right: Linear) -> Linear | None:
    if sign in "+-":
        return left._plus(right._times(1.0 if sign == "+" else -1.0))
    if sign == "*" and not left.weights:
        return right._times(left.constant)
    if right.weights or (sign == "/" and right.constant == 0.0):
        return None
    return left._times(right.constant if sign == "*" else 1.0 / right.constant)
