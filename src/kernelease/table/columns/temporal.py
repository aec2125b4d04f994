"""Dates and instants."""

import datetime
from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, TypeVar, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.table.columns.cells import Stepped
from kernelease.table.columns.column import Codes
from kernelease.table.parsing import DAY, MICROSECOND, parse_instant, read_instants

_EPOCH = datetime.datetime(1970, 1, 1)

Moment = TypeVar("Moment", datetime.date, datetime.datetime)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Temporal(Stepped):
    """What dates and instants share."""

    family: ClassVar[str] = "time"

    @property
    @abstractmethod
    def _unit(self) -> int:
        """A tick in nanoseconds."""

    def _read_bounds(self, kind: type[Moment], expected: str) -> None:
        """Bounds as they are, or from their ISO text."""
        for key in ("min", "max", "default"):
            given = self._raw_field(key)
            value = _read(kind, given)
            if value is None and (key != "default" or given is not None):
                got = given if isinstance(given, datetime.date) else repr(given)
                raise self.error(key, f"{key} must be {expected}, got {got}.")
            object.__setattr__(self, key, value)

    def _check_order(self, low: Moment, high: Moment, default: Moment | None) -> None:
        if low >= high:
            raise self.error("max", f"min must be before max, got {low} and {high}. Widen the range.")
        if default is not None and not low <= default <= high:
            raise self.error("default", f"default must be from min to max, got {default}.")

    def _encode(self, array: pa.Array) -> Codes:
        ticks, absent = read_instants(array, self._unit, self.low, self.high)
        codes = self._codes(ticks)
        if absent is not None:
            np.copyto(codes, self.unknown, where=absent)
        return codes

    def keys(self, array: Any) -> Any:
        zone = getattr(array.type, "tz", None)
        return pc.cast(pc.cast(array, pa.timestamp("us", zone)), pa.int64())

    def key(self, literal: object) -> int:
        instant = parse_instant(literal.encode()) if isinstance(literal, str) else None
        if instant is None:
            raise self.error("type", f"is compared with dates like '2024-12-31', not with {literal!r}.")
        return instant


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Date(_Temporal):
    """Days from `min` to `max`, `resolution` days apart; ticks are days since 1970-01-01.

    Up to 256 days, or `cells`, have an atom each; of more, the first and the last have one, and equal cells cover
    those between. An instant counts as its day in UTC. Text is read as YYYY-MM-DD, with or without a time.

    >>> born = Date(name="born", min=datetime.date(2024, 1, 1), max=datetime.date(2024, 12, 31), cells=14)
    >>> born.encode(pa.array(["2024-01-31", "2024-02-02", "1066-10-14", "soon"])).tolist()
    [1, 2, 0, 0]
    >>> born.labels()[:2], born.labels()[-1]
    (('2024-01-01', '2024-01-02..2024-02-01'), '2024-12-31')
    """

    min: datetime.date
    max: datetime.date
    resolution: int = 1
    default: datetime.date | None = None

    tag: ClassVar[str] = "date"
    arrow_type: ClassVar[pa.DataType] = pa.date32()
    _unit: ClassVar[int] = DAY

    def _check(self) -> None:
        self._read_bounds(datetime.date, "a date like 2024-12-31")
        self._check_order(self.min, self.max, self.default)
        if type(self.resolution) is not int or not 1 <= self.resolution <= self.high - self.low:
            raise self.error("resolution", f"resolution must be whole days, 1 to max - min, got {self.resolution!r}.")
        self._check_cells()

    def _in_ticks(self, value: datetime.date) -> int:
        return (value - _EPOCH.date()).days

    def _text(self, tick: int) -> str:
        return str(np.datetime64(tick, "D"))

    def _to_arrow(self, values: NDArray[Any], null: NDArray[np.bool_]) -> pa.Array:
        return pa.array(values.astype(np.int32), pa.int32(), mask=null).cast(pa.date32())


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Datetime(_Temporal):
    """Instants from `min` to `max`, `resolution` seconds apart; ticks are microseconds since 1970-01-01 UTC.

    Atoms are as those of dates. Cells with a time zone are converted to UTC, and those without are taken as UTC.
    Decoded instants carry the zone UTC if the bounds were written with one, and no zone if they were not. `edges` and
    `centres` are in seconds since 1970-01-01 UTC, `bounds` in microseconds.

    >>> day = datetime.datetime(2024, 1, 1)
    >>> seen = Datetime(name="seen", min=day, max=day.replace(hour=23), resolution=3600, nullable=True)
    >>> seen.encode(pa.array(["2024-01-01T10:30:00+02:00", "2024-01-01", "never"])).tolist()
    [8, 0, 24]
    """

    min: datetime.datetime
    max: datetime.datetime
    resolution: float = 1
    default: datetime.datetime | None = None

    tag: ClassVar[str] = "datetime"
    _unit: ClassVar[int] = MICROSECOND
    _scale: ClassVar[float] = 1e-6

    def _check(self) -> None:
        self._read_bounds(datetime.datetime, "a date and time like 2024-12-31T23:59:59")
        for key in ("max", "default"):
            if self._raw_field(key) is not None and _has_zone(self._raw_field(key)) != _has_zone(self.min):
                raise self.error(key, f"{key} and min must both have a time zone, or both none.")
        self._check_order(self.min, self.max, self.default)
        if isinstance(self._raw_field("resolution"), bool) or not isinstance(
            self._raw_field("resolution"), int | float
        ):
            raise self.error("resolution", f"resolution must be a number of seconds, got {self.resolution!r}.")
        if not 1e-6 <= self.resolution <= (self.max - self.min).total_seconds() or self._micros.denominator != 1:
            raise self.error(
                "resolution",
                f"resolution must be seconds, whole microseconds and at most max - min, got {self.resolution!r}.",
            )
        self._check_cells()

    @property
    def _micros(self) -> Fraction:
        return Fraction(Decimal(repr(self.resolution))) * 10**6

    @property
    def arrow_type(self) -> pa.DataType:
        return pa.timestamp("us", tz="UTC" if _has_zone(self.min) else None)

    @property
    def tick(self) -> int:
        return int(self._micros)

    def _in_ticks(self, value: datetime.datetime) -> int:
        elapsed = value.replace(tzinfo=None) - _EPOCH - (value.utcoffset() or datetime.timedelta())
        return elapsed // datetime.timedelta(microseconds=1)

    def _text(self, tick: int) -> str:
        instant = np.datetime64(tick, "us")  # a zone may carry it past the years 1 and 9999, which datetime can't hold
        return str(instant.astype("M8[s]") if tick % 10**6 == 0 else instant)

    def _to_arrow(self, values: NDArray[Any], null: NDArray[np.bool_]) -> pa.Array:
        return pa.array(values, pa.int64(), mask=null).cast(self.arrow_type)


def _read(kind: type[Moment], value: object) -> Moment | None:
    """A moment as it is, or from its ISO text, else None. A datetime is no date here, though Python says so."""
    if isinstance(value, str):
        try:
            return kind.fromisoformat(value)
        except ValueError:
            return None
    return value if type(value) is kind else None


def _has_zone(moment: datetime.datetime) -> bool:
    return moment.utcoffset() is not None
