"""Cells as days or microseconds since 1970-01-01 UTC."""

import datetime
import re
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.arrays import Integers
from kernelease.table.reading.arrow import as_bytes, dense, is_text, through_distinct

Flags: TypeAlias = NDArray[np.bool_]

MICROSECOND = 1_000  # in nanoseconds, as all units here
DAY = 86_400 * 10**9  # in nanoseconds
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_UNPARSABLE = np.iinfo(np.int64).min

_BLANK = r"[ \t\r\n\f\x0b]*"
_DATE = r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,9}))?)?"
_ZONE = r" ?(?P<zone>[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)"
_INSTANT = re.compile(f"{_BLANK}{_DATE}(?:[ Tt]{_TIME}(?:{_ZONE})?)?{_BLANK}".encode())
# The part that Arrow is sure to parse, and to the same instant. Which parser reads a cell depends on that cell alone.
_PLAIN = (
    r"^[1-9][0-9]{3}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
    r"([ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?)?$"
)


def is_instant(kind: pa.DataType) -> bool:
    """Dates and timestamps of every unit and zone."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def read_instants(array: pa.Array, unit: int, low: int, high: int) -> tuple[Integers, Flags | None]:
    """Every cell in units since 1970-01-01 UTC, rounded down and clamped to [low, high]; and which are no instants.

    Text without a zone, and timestamps without one, are taken as UTC. What stands where a null is has no meaning.
    """
    kind = array.type
    if pa.types.is_date32(kind):
        return _rescale(dense(array.view(pa.int32())).astype(np.int64), DAY, unit, low, high), None
    if pa.types.is_date64(kind):
        return _rescale(dense(array.view(pa.int64())), _UNITS["ms"], unit, low, high), None
    if pa.types.is_timestamp(kind):
        return _rescale(dense(array.view(pa.int64())), _UNITS[kind.unit], unit, low, high), None
    if is_text(kind):
        ticks = through_distinct(as_bytes(array), _parse)
        return _rescale(ticks, MICROSECOND, unit, low, high), ticks == _UNPARSABLE
    return np.full(len(array), low, dtype=np.int64), np.ones(len(array), dtype=bool)


def _rescale(ticks: Integers, source: int, unit: int, low: int, high: int) -> Integers:
    """Ticks of one unit in another, clamped: before the product, so that it can't overflow, and after."""
    if source <= unit:
        return np.clip(ticks // (unit // source), low, high)
    factor = source // unit
    return np.clip(np.clip(ticks, low // factor, high // factor + 1) * factor, low, high)


def parse_instant(text: bytes) -> int | None:
    """Microseconds since 1970-01-01 UTC of an ISO 8601 text, or None.

    >>> parse_instant(b"1970-01-02"), parse_instant(b"1970-01-01T01:00:00+01:00"), parse_instant(b"2021-02-29")
    (86400000000, 0, None)
    """
    match = _INSTANT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[i] or 0) for i in range(1, 7))
    try:
        instant = datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.UTC)
    except ValueError:
        return None
    micros = int((match["fraction"] or b"").ljust(6, b"0")[:6])
    return _seconds(instant) * 10**6 + micros - _offset(match["zone"]) * 10**6


def _seconds(instant: datetime.datetime) -> int:
    elapsed = instant - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return elapsed.days * 86_400 + elapsed.seconds


def _offset(zone: bytes | None) -> int:
    """Seconds east of UTC."""
    if zone is None or zone in (b"Z", b"z"):
        return 0
    digits = zone[1:].replace(b":", b"").ljust(4, b"0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -seconds if zone.startswith(b"-") else seconds


def _parse(texts: pa.Array) -> Integers:
    plain = dense(pc.match_substring_regex(texts, _PLAIN))
    ticks = np.full(len(texts), _UNPARSABLE, dtype=np.int64)
    ticks[plain] = dense(texts.filter(pa.array(plain)).cast(pa.string()).cast(pa.timestamp("us")).view(pa.int64()))
    for i in np.flatnonzero(~plain):
        instant = parse_instant(texts[int(i)].as_py())
        ticks[i] = _UNPARSABLE if instant is None else instant
    return ticks
