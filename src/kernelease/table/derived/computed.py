"""Computed columns (totals, ratios, parts of dates, conditions), and the range of their values."""

import datetime
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, TypeVar, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.arrays import LARGEST, Floats
from kernelease.errors import ParameterError
from kernelease.table.columns.celled import Celled
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Boolean
from kernelease.table.columns.numeric import LARGEST_INTEGER, MOST_DECIMALS, Integer, Number, decimals_of
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.derived.derived import Derivation, Derived
from kernelease.table.expressions.logic import Computed as ComputedTest
from kernelease.table.expressions.logic import Condition, names_in, parse, parse_term
from kernelease.table.expressions.terms import Arithmetic, Extracted, Term, columns_of, numbers, shown, unit_of

# --------------------
# The range of a term, from the declared bounds of its columns.


Range: TypeAlias = tuple[float, float]

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_SECONDS = {"date": 1.0, "datetime": 1e6}  # ticks of a column, per unit that arithmetic takes it in
_PART_RANGES: Mapping[str, Range] = {
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
    >>> from kernelease.table.expressions.logic import parse_term
    >>> columns = [Integer(name="a", min=1, max=3), Integer(name="b", min=0, max=2)]
    >>> range_of(parse_term("2 * a - b", columns)), range_of(parse_term("a / b", columns))
    ((0.0, 6.0), None)
    """
    if isinstance(term, Arithmetic):
        left, right = range_of(term.left), range_of(term.right)
        found = None if left is None or right is None else _COMBINE_RANGES[term.sign](left, right)
        return found if found is not None and all(map(math.isfinite, found)) else None
    if isinstance(term, Extracted):
        return _PART_RANGES[term.part] if term.part in _PART_RANGES else _years(term.column)
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


def _quotient_range(left: Range, right: Range) -> Range | None:
    if right[0] <= 0.0 <= right[1]:
        return None
    ends = [a / b for a in left for b in right]
    return min(ends), max(ends)


def _product_range(left: Range, right: Range) -> Range:
    ends = [a * b for a in left for b in right]
    return min(ends), max(ends)


_COMBINE_RANGES: Mapping[str, Callable[[Range, Range], Range | None]] = {
    "+": lambda left, right: (left[0] + right[0], left[1] + right[1]),
    "-": lambda left, right: (left[0] - right[1], left[1] - right[0]),
    "*": _product_range,
    "/": _quotient_range,
}


# --------------------
# Computed columns.


_CALENDAR = (1 - _EPOCH, datetime.date.max.toordinal() - _EPOCH)  # the days that Python's dates can hold
_PER_DAY = {"date": 1, "datetime": 86_400}
_UNITS = {"number": "number", "integer": "number", "date": "date", "datetime": "datetime"}

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Computed(Derived):
    """A column computed from others of its row: `total = principal + interest`. NULL in a source makes it NULL.

    A number is rounded to `decimals`, an integer and a date to the nearest whole one, a datetime to the second. A
    boolean is a condition, true, false or not known. Bounds (`min`, `max`) may be declared; rows outside of them are
    drawn again, as for a rule.
    """

    computed: str
    decimals: int | None = None
    min: Any = None
    max: Any = None

    types: ClassVar[tuple[str, ...]] = ("number", "integer", "boolean", "date", "datetime")
    key: ClassVar[str] = "computed"

    def _check(self) -> None:
        if not isinstance(self._given("computed"), str):
            raise self.error("computed", f"computed must be a text like 'a + b', got {self.computed!r}.")
        if self.decimals is not None:
            if self.type != "number":
                raise self.error("decimals", f"decimals are of a number, not of type {self.type}. Remove them.")
            if type(self.decimals) is not int or not 0 <= self.decimals <= MOST_DECIMALS:
                raise self.error(
                    "decimals", f"decimals must be an integer from 0 to {MOST_DECIMALS}, got {self.decimals!r}."
                )
        if self.type == "boolean" and (self.min is not None or self.max is not None):
            raise self.error("min" if self.min is not None else "max", "a boolean has no bounds. Remove them.")

    @property
    def told(self) -> str:
        return f"computed as {self.computed}"

    def reads(self, known: Collection[str]) -> tuple[str, ...]:
        return self._parsed(lambda: names_in(self.computed, known))

    def bind(self, columns: Mapping[str, Column]) -> Derivation:
        if self.type == "boolean":
            return self._condition(self._parsed(lambda: parse(self.computed, columns.values())), columns)
        term = self._parsed(lambda: parse_term(self.computed, columns.values()))
        if not isinstance(term, Column | Arithmetic | Extracted):
            raise self.error("computed", f"{shown(self.computed)} holds no column. A column of one value is none.")
        if self._parsed(lambda: unit_of(term)) != _UNITS[self.type]:
            raise self.error("type", f"{shown(self.computed)} is a {unit_of(term)}, and type is {self.type}.")
        within = range_of(term)
        nullable = within is None or any(source.nullable for source in columns_of(term)) or self.null_when is not None
        if self.type in _PER_DAY and within is not None:
            nullable |= not all(_CALENDAR[0] <= end / _PER_DAY[self.type] <= _CALENDAR[1] for end in within)
        zoned = any(getattr(source.arrow_type, "tz", None) for source in columns_of(term))
        column = self._column(within or (-math.inf, math.inf), nullable, datetime.UTC if zoned else None)
        names = tuple(source.name for source in columns_of(term))
        bounded = self.min is not None or self.max is not None
        decimals = self._decimals(term) if self.type == "number" else 0
        return Formula(column=column, sources=names, term=term, decimals=decimals, bounded=bounded)

    def _parsed(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except ParameterError as error:
            raise self.error("computed", f"computed = {shown(self.computed, 200)}: {error}") from None

    def _condition(self, condition: Condition, columns: Mapping[str, Column]) -> Derivation:
        sides = [
            side for leaf in condition.leaves() if isinstance(leaf, ComputedTest) for side in (leaf.left, leaf.right)
        ]
        unknown = any(columns[name].nullable for name in condition.columns) or None in map(range_of, sides)
        nullable = unknown or self.null_when is not None
        return Flag(column=Boolean(name=self.name, nullable=nullable), sources=condition.columns, condition=condition)

    def _decimals(self, term: Term) -> int:
        """The declared decimals, or as many as the numbers have that are added up."""
        found = self.decimals if self.decimals is not None else _decimals_of(term)
        if found is None or found > MOST_DECIMALS:
            raise self.error(
                "computed", f"{shown(self.computed)} has no last digit: declare decimals, like decimals = 2."
            )
        return found

    def _column(self, within: Range, nullable: bool, zone: datetime.tzinfo | None) -> Column:
        """Which values the column may have: its declared bounds, else those that follow from its sources."""
        given, declared = {"min": self.min, "max": self.max}, self._bounds(within, zone)
        bounds: dict[str, Any] = {key: declared[key] if given[key] is None else given[key] for key in given}
        kinds: dict[str, type[Celled]] = {"number": Number, "integer": Integer, "date": Date, "datetime": Datetime}
        return kinds[self.type](name=self.name, nullable=nullable, cells=1, **bounds)

    def _bounds(self, within: Range, zone: datetime.tzinfo | None) -> dict[str, Any]:
        most = {"number": LARGEST, "integer": float(LARGEST_INTEGER)}.get(self.type, math.inf)
        low, high = (min(max(end, -most), most) for end in within)
        if self.type == "number":
            return {"min": low, "max": high if low < high else low + max(1.0, abs(low))}
        if self.type == "integer":
            return {"min": math.floor(low), "max": max(math.ceil(high), math.floor(low) + 1)}
        days = [min(max(end / _PER_DAY[self.type], _CALENDAR[0]), _CALENDAR[1]) for end in (low, high)]
        first, last = min(math.floor(days[0]), _CALENDAR[1] - 1), min(math.floor(days[1]) + 1, _CALENDAR[1])
        ends = [datetime.date.fromordinal(day + _EPOCH) for day in (first, last)]
        if self.type == "datetime":
            ends = [datetime.datetime.combine(end, datetime.time(), zone) for end in ends]
        return {"min": ends[0], "max": ends[1]}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Formula(Derivation):
    """A number, a date or a datetime, from a term of the language."""

    term: Term
    decimals: int
    bounded: bool

    def values(self, table: pa.Table) -> pa.Array:
        found = np.broadcast_to(numbers(self.term, table).values, table.num_rows)
        if self.column.tag == "number":
            with np.errstate(over="ignore"):
                rounded = np.round(found, self.decimals) + 0.0  # no −0
            found = np.where(np.isfinite(rounded), rounded, found)
            return pa.array(found, mask=np.isnan(found))
        return self._whole(np.rint(found))

    def _whole(self, found: Floats) -> pa.Array:
        """Integers, days or seconds; NULL beyond what the type holds."""
        per_day = _PER_DAY.get(self.column.tag)
        low, high = (
            (-float(LARGEST_INTEGER), float(LARGEST_INTEGER))
            if per_day is None
            else (_CALENDAR[0] * per_day, (_CALENDAR[1] + 1) * per_day - 1)
        )
        absent = ~((low <= found) & (found <= high))
        whole = np.where(absent, 0, found).astype(np.int64)
        if self.column.tag == "date":
            return pa.array(whole.astype(np.int32), pa.int32(), mask=absent).cast(pa.date32())
        if self.column.tag == "datetime":
            return pa.array(whole * 1_000_000, pa.int64(), mask=absent).cast(self.column.arrow_type)
        return pa.array(whole, mask=absent)

    def lawful(self, values: Any) -> NDArray[np.bool_]:
        if not self.bounded:
            return np.ones(len(values), dtype=bool)
        low, high = (getattr(self.column, key) for key in ("min", "max"))
        ends = [self.column.key(end.isoformat() if isinstance(end, datetime.date) else end) for end in (low, high)]
        keys = self.column.keys(values)
        inside = pc.and_(pc.greater_equal(keys, ends[0]), pc.less_equal(keys, ends[1]))
        return np.asarray(pc.fill_null(inside, True), dtype=bool)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Flag(Derivation):
    """Whether a condition is true."""

    condition: Condition

    def values(self, table: pa.Table) -> Any:
        return self.condition.test(table)


def _decimals_of(term: Term) -> int | None:
    """How many digits follow the point at most; None where there is no last one."""
    if isinstance(term, Arithmetic):
        left, right = _decimals_of(term.left), _decimals_of(term.right)
        if left is None or right is None or term.sign == "/":
            return None
        return left + right if term.sign == "*" else max(left, right)
    if isinstance(term, Number):
        return term.digits
    return decimals_of(float(term)) if isinstance(term, int | float) else 0
