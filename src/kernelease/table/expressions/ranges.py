"""What a term can be at all, by the declared bounds of its columns."""

import datetime
import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from kernelease.table.columns.celled import Celled
from kernelease.table.columns.column import Column
from kernelease.table.expressions.terms import Arithmetic, Extracted, Term

Range: TypeAlias = tuple[float, float]

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_SECONDS = {"date": 1.0, "datetime": 1e6}  # ticks of a column, per unit that arithmetic takes it in
_PARTS: Mapping[str, Range] = {
    "month": (1, 12),
    "day": (1, 31),
    "weekday": (1, 7),
    "hour": (0, 23),
    "minute": (0, 59),
}


def range_of(term: Term) -> Range | None:
    """The least and the greatest number that a term may be where no column is NULL; None where nothing bounds it.

    A quotient whose divisor may be 0 has no bounds, and is NULL there. Interval arithmetic: bounds are safe, and wider
    than need be where a column is in the term twice.

    >>> from kernelease.table.columns import Integer
    >>> from kernelease.table.expressions.parser import parse_term
    >>> columns = [Integer(name="a", min=1, max=3), Integer(name="b", min=0, max=2)]
    >>> range_of(parse_term("2 * a - b", columns)), range_of(parse_term("a / b", columns))
    ((0.0, 6.0), None)
    """
    if isinstance(term, Arithmetic):
        left, right = range_of(term.left), range_of(term.right)
        found = None if left is None or right is None else _COMBINE[term.sign](left, right)
        return found if found is not None and all(map(math.isfinite, found)) else None
    if isinstance(term, Extracted):
        return _PARTS[term.part] if term.part in _PARTS else _years(term.column)
    if isinstance(term, Column):
        return _bounds(term)
    return float(term), float(term)


def _bounds(column: Column) -> Range:
    assert isinstance(column, Celled)
    lowest, highest = column.bounds()
    per_unit = _SECONDS.get(column.tag, 1.0)
    return float(lowest[0]) / per_unit, float(highest[-1]) / per_unit


def _years(column: Column) -> Range:
    per_day = 86_400 if column.tag == "datetime" else 1
    days = [math.floor(bound / per_day) + _EPOCH for bound in _bounds(column)]
    first, last = (datetime.date.fromordinal(min(max(day, 1), datetime.date.max.toordinal())).year for day in days)
    return float(first), float(last)


def _quotient(left: Range, right: Range) -> Range | None:
    if right[0] <= 0.0 <= right[1]:
        return None
    ends = [a / b for a in left for b in right]
    return min(ends), max(ends)


def _product(left: Range, right: Range) -> Range:
    ends = [a * b for a in left for b in right]
    return min(ends), max(ends)


_COMBINE: Mapping[str, Callable[[Range, Range], Range | None]] = {
    "+": lambda left, right: (left[0] + right[0], left[1] + right[1]),
    "-": lambda left, right: (left[0] - right[1], left[1] - right[0]),
    "*": _product,
    "/": _quotient,
}
