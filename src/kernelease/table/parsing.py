"""Cells of a source as numbers, days, instants and text."""

import datetime
import functools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, TypeAlias, TypeVar, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError

# ---- What every reader needs from Arrow: dense buffers, bytes, and work per distinct value.


Scalar = TypeVar("Scalar", np.float64, np.int64)


def dense(array: pa.Array) -> NDArray[Any]:
    """The values of a primitive array of Arrow, without a copy where there is no null; 0 stands where a null is."""
    if array.null_count:
        array = pc.fill_null(array, 0)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return np.from_dlpack(array)  # Arrow's own way to NumPy loads pandas, where that is installed
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values


def is_text(kind: pa.DataType) -> bool:
    """Strings and binaries of every width."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def float_values(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """The numbers of a column as float64, NaN for NULL; pandas is not loaded for them.

    >>> float_values(pa.chunked_array([[1, None], [3]]))
    array([ 1., nan,  3.])
    """
    array = column.combine_chunks().cast(pa.float64())
    if not array.null_count:
        return dense(array)
    everywhere = pa.Array.from_buffers(array.type, len(array), [None, array.buffers()[1]], offset=array.offset)
    return np.where(dense(array.is_valid().cast(pa.int8())) == 1, dense(everywhere), math.nan)


def number_array(values: NDArray[Any]) -> pa.Array:
    """Integers or floats as an Arrow array that shares their memory, and no NULL; pandas is not loaded for it.

    >>> number_array(np.array([1.0, 2.0])).to_pylist()
    [1.0, 2.0]
    """
    whole = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(whole.dtype), len(whole), [None, pa.py_buffer(whole)])


def as_bytes(array: pa.Array) -> pa.Array:
    """Text as bytes: equal text is equal bytes, and bad UTF-8 is as good as any other."""
    if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        return array
    return array.cast(pa.binary() if pa.types.is_string(array.type) else pa.large_binary())


def text_of_dates(array: pa.Array) -> pa.Array:
    """Dates as YYYY-MM-DD and timestamps as YYYY-MM-DDThh:mm:ss (UTC): any year, no exception."""
    if pa.types.is_timestamp(array.type):
        ticks = dense(array.view(pa.int64())).view(f"M8[{array.type.unit}]").astype("M8[s]")
    elif pa.types.is_date32(array.type):
        ticks = dense(array.view(pa.int32())).astype(np.int64).view("M8[D]")
    else:
        ticks = dense(array.view(pa.int64())).view("M8[ms]").astype("M8[D]")
    return pa.array(np.datetime_as_string(ticks).astype(object), pa.binary())


def through_distinct(array: pa.Array, read: Callable[[pa.Array], NDArray[Scalar]]) -> NDArray[Scalar]:
    """`read` applied to each distinct value once. What stands where a null is has no meaning."""
    encoded = array.dictionary_encode()
    values = read(encoded.dictionary)
    if len(values) == 0:
        return np.zeros(len(array), dtype=values.dtype)
    return values.take(dense(encoded.indices))


# ---- Cells as float64.


NUMBER = r"[ \t\r\n\f\x0b]*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity)[ \t\r\n\f\x0b]*"
"""What text is read as a number, whole and without regard to case; everything else is unparsable."""

_NUMBER = re.compile(NUMBER.encode(), re.IGNORECASE)
# The part of NUMBER that Arrow is sure to parse. Both parsers round correctly, so they agree on it to the last bit;
# which of the two reads a cell depends on that cell alone.
_PLAIN_NUMBER = r"^-?[0-9]{1,17}(\.[0-9]{1,17})?$"


def is_number(kind: pa.DataType) -> bool:
    """Integers, floats and decimals of every width."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def read_numbers(array: pa.Array) -> Floats:
    """The nearest float64 of every cell; NaN for what is not a number. Booleans are 0 and 1, as text, too.

    What stands where a null is has no meaning.
    """
    kind = array.type
    if pa.types.is_float64(kind):
        return dense(array)
    if pa.types.is_integer(kind):
        return dense(array).astype(np.float64)
    if pa.types.is_boolean(kind):
        return dense(array.cast(pa.uint8())).astype(np.float64)
    if pa.types.is_floating(kind):
        return dense(array.cast(pa.float64()))
    if pa.types.is_decimal(kind):  # by way of text: Arrow's own conversion does not always round to nearest
        return through_distinct(array.cast(pa.string()).cast(pa.binary()), _parse_numbers)
    if is_text(kind):
        return through_distinct(as_bytes(array), _parse_numbers)
    return np.full(len(array), math.nan)


def numbers_in(array: pa.Array | pa.ChunkedArray) -> Floats:
    """The nearest float64 of every cell of an array of any type; NaN for null and for what is not a number.

    >>> numbers_in(pa.array(["7", None, "x"]).dictionary_encode()).tolist()
    [7.0, nan, nan]
    """
    return _unpack(array, _plain_numbers, math.nan)


def _plain_numbers(array: pa.Array) -> Floats:
    numbers = np.array(read_numbers(array), dtype=np.float64)
    if array.null_count:
        numbers[array.is_null().to_numpy(zero_copy_only=False)] = math.nan
    return numbers


def _unpack(
    array: pa.Array | pa.ChunkedArray, read: Callable[[pa.Array], NDArray[Scalar]], none: float
) -> NDArray[Scalar]:
    """What is read of the plain arrays in one of any type: in chunks, an extension, run ends or a dictionary.

    `none` stands for a null of a dictionary.
    """
    if isinstance(array, pa.ChunkedArray):
        empty = read(pa.array([], pa.string()))
        return np.concatenate([empty, *(_unpack(chunk, read, none) for chunk in array.chunks)])
    if isinstance(array.type, pa.BaseExtensionType):
        return _unpack(array.storage, read, none)
    if pa.types.is_run_end_encoded(array.type):
        return _unpack(pc.run_end_decode(array), read, none)
    if pa.types.is_dictionary(array.type):
        known = np.append(_unpack(array.dictionary, read, none), none)
        places = np.asarray(pc.fill_null(array.indices.cast(pa.int64()), len(known) - 1))
        return np.asarray(known[places])
    return read(array)


def parse_number(text: bytes) -> float:
    """The number that a text says, or NaN.

    >>> parse_number(b" 1e3 "), parse_number(b"-inf"), parse_number(b"1,000")
    (1000.0, -inf, nan)
    """
    return float(text) if _NUMBER.fullmatch(text) else math.nan


def short_text(number: float | Decimal) -> str:
    """A number that is not NaN, as text: whatever digits its type declares, and whole ones without a point.

    >>> short_text(7.0), short_text(0.1), short_text(-0.0), short_text(Decimal("7.50"))
    ('7', '0.1', '0', '7.5')
    """
    if isinstance(number, float):
        return str(int(number)) if number.is_integer() else repr(number)
    if number == 0 or abs(number.adjusted()) > _FARTHEST_DIGIT:
        return str(number) if number else "0"
    digits = format(number, "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


_FARTHEST_DIGIT = 400  # limit: before or after the point: beyond all floats and all decimals of Arrow
FLAGS = {b"false": 0.0, b"true": 1.0}  # how a yes or no is written that is a cell among texts


def _parse_numbers(texts: pa.Array) -> Floats:
    plain = dense(pc.match_substring_regex(texts, _PLAIN_NUMBER))
    values = np.full(len(texts), math.nan)
    values[plain] = dense(texts.filter(pa.array(plain)).cast(pa.string()).cast(pa.float64()))
    for i in np.flatnonzero(~plain):
        text = texts[int(i)].as_py()
        values[i] = FLAGS[text] if text in FLAGS else parse_number(text)
    return values


# ---- Texts in another notation: each distinct one is rewritten once.


def _rewrite(array: pa.Array, rewrite: Callable[[str], str | None]) -> pa.Array:
    """An array of texts, or of codes for texts, with each of them rewritten; any other array as it is."""
    if not (is_text(array.type) or pa.types.is_dictionary(array.type)):
        return array
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    if not is_text(encoded.dictionary.type):
        return array
    texts = (
        cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell for cell in encoded.dictionary.to_pylist()
    )
    return pa.array([None if text is None else rewrite(text) for text in texts], pa.string()).take(encoded.indices)


# ---- Numbers in other notations: decimal commas, thousands separators, currencies and units.


DECIMALS = (".", ",")
THOUSANDS = (",", ".", " ", "'")
_BLANKS = " \u00a0\u202f"  # a blank between thousands may be any of the three
UNREAD = "\x1a"  # before a text that is no number so written: no reader takes it for one, and a private look shows it


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Numerals:
    r"""How numbers are written: the sign before their decimals, the one between thousands, and marks around them.

    Thousands are groups of three digits, or none: 1.234,5 and 1234,5 are one number, and 1.23,4 is none. A mark, such
    as $, % or kg, may stand before or after a number and says nothing; the mark () means that (12) is −12.

    >>> local = Numerals(decimal=",", thousands=".")
    >>> local.plain(pa.array(["1.234,5", "7", "-0,25", "1.5", None])).to_pylist()
    ['1234.5', '7', '-0.25', '\x1a1.5', None]
    >>> Numerals(thousands=",", marks=("$", "()")).plain(pa.array(["$1,250", "-$ 3.5", "($7)", "7 %"])).to_pylist()
    ['1250', '-3.5', '-7', '\x1a7 %']
    """

    decimal: str = "."
    thousands: str | None = None
    marks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.decimal not in DECIMALS:
            raise ParameterError(f"decimal must be {_list_signs(DECIMALS)}, got {self.decimal!r}.")
        if self.thousands is not None and self.thousands not in THOUSANDS:
            raise ParameterError(f"thousands must be {_list_signs(THOUSANDS)}, got {self.thousands!r}.")
        if self.thousands == self.decimal:
            raise ParameterError(f"decimal and thousands must differ, got {self.decimal!r} for both.")
        for mark in self.marks:
            if not mark.strip() or re.search("[0-9+,.'-]", mark):
                raise ParameterError(f"marks must be texts without digits and signs, such as '$' or '%', got {mark!r}.")

    @property
    def usual(self) -> bool:
        """Whether numbers are written as everywhere else here: 1234.5."""
        return self.decimal == "." and self.thousands is None and not self.marks

    def plain(self, array: pa.Array) -> pa.Array:
        """Texts with their numbers as 1234.5, each by itself; what is no number so written can't be read as one."""
        return array if self.usual else _rewrite(array, self.plain_text)

    def plain_text(self, text: str) -> str | None:
        """The number of one text as 1234.5; None for an empty one."""
        if not text:
            return None
        cell = text.strip()
        minus = "()" in self.marks and cell.startswith("(") and cell.endswith(")")
        found = _numeral_pattern(self.decimal, self.thousands, self.marks).fullmatch(cell[1:-1] if minus else cell)
        if found is None or (minus and found[1]):
            return UNREAD + text
        sign, whole, fraction, exponent = found.groups()
        digits = re.sub("[^0-9]", "", whole or "") + (f".{fraction}" if fraction is not None else "")
        return f"{'-' if minus else sign or ''}{digits}{exponent or ''}" or UNREAD + text


@functools.cache
def _numeral_pattern(decimal: str, thousands: str | None, marks: tuple[str, ...]) -> re.Pattern[str]:
    between = "" if thousands is None else f"[{_BLANKS}]" if thousands == " " else re.escape(thousands)
    whole = "[0-9]+" if thousands is None else f"[0-9]{{1,3}}(?:{between}[0-9]{{3}})+|[0-9]+"
    number = rf"({whole})?(?:{re.escape(decimal)}([0-9]*))?([eE][+-]?[0-9]+)?"
    mark = "|".join(re.escape(mark) for mark in sorted(marks, key=len, reverse=True))
    before, after = (rf"(?:(?:{mark})[{_BLANKS}]?)?", rf"(?:[{_BLANKS}]?(?:{mark}))?") if marks else ("", "")
    return re.compile(rf"(?:{before}(?=[+-]))?([+-])?{before}{number}{after}")


def _list_signs(signs: tuple[str, ...]) -> str:
    return ", ".join(repr(sign) for sign in signs[:-1]) + f" or {signs[-1]!r}"


# ---- Cells as days or microseconds since 1970-01-01 UTC.


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
_PLAIN_INSTANT = (
    r"^[1-9][0-9]{3}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
    r"([ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?)?$"
)


def is_instant(kind: pa.DataType) -> bool:
    """Dates and timestamps of every unit and zone."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


NEVER = 2**62  # microseconds: later than all instants that can be read


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
        ticks = through_distinct(as_bytes(array), _parse_instants)
        return _rescale(ticks, MICROSECOND, unit, low, high), ticks == _UNPARSABLE
    return np.full(len(array), low, dtype=np.int64), np.ones(len(array), dtype=bool)


def instants_in(array: pa.Array | pa.ChunkedArray) -> Integers:
    """Every cell of an array of any type in microseconds since 1970-01-01 UTC; the latest there is where it is none.

    >>> instants_in(pa.array(["1970-01-01", None, "x"]).dictionary_encode()).tolist()
    [0, 4611686018427387904, 4611686018427387904]
    """
    return _unpack(array, _plain_instants, NEVER)


def _plain_instants(array: pa.Array) -> Integers:
    ticks, absent = read_instants(array, MICROSECOND, -NEVER, NEVER)
    if absent is not None:
        ticks = np.where(absent, NEVER, ticks)
    return np.where(array.is_null().to_numpy(zero_copy_only=False), NEVER, ticks) if array.null_count else ticks


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
    elapsed = instant - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return (elapsed.days * 86_400 + elapsed.seconds) * 10**6 + micros - _offset(match["zone"]) * 10**6


def has_zone(text: bytes) -> bool:
    """Whether an ISO 8601 text says its time zone.

    >>> has_zone(b"2024-03-01T00:00:00Z"), has_zone(b"2024-03-01 08:00+01:00"), has_zone(b"2024-03-01")
    (True, True, False)
    """
    match = _INSTANT.fullmatch(text)
    return match is not None and match["zone"] is not None


def _offset(zone: bytes | None) -> int:
    """Seconds east of UTC."""
    if zone is None or zone in (b"Z", b"z"):
        return 0
    digits = zone[1:].replace(b":", b"").ljust(4, b"0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -seconds if zone.startswith(b"-") else seconds


def _parse_instants(texts: pa.Array) -> Integers:
    plain = dense(pc.match_substring_regex(texts, _PLAIN_INSTANT))
    ticks = np.full(len(texts), _UNPARSABLE, dtype=np.int64)
    ticks[plain] = dense(texts.filter(pa.array(plain)).cast(pa.string()).cast(pa.timestamp("us")).view(pa.int64()))
    for i in np.flatnonzero(~plain):
        instant = parse_instant(texts[int(i)].as_py())
        ticks[i] = _UNPARSABLE if instant is None else instant
    return ticks


# ---- Dates in other notations.


MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_PIVOT = 69  # a year of two digits from 69 on is of the 1900s, as POSIX has it
_PARTS: Final = {
    "%Y": r"(?P<Y>[0-9]{4})",
    "%y": r"(?P<y>[0-9]{2})",
    "%m": r"(?P<m>[0-9]{1,2})",
    "%b": rf"(?P<b>(?i:{'|'.join(MONTHS)}))[a-z]*\.?",
    "%d": r"(?P<d>[0-9]{1,2})",
    "%H": r"(?P<H>[0-9]{1,2})",
    "%M": r"(?P<M>[0-9]{2})",
    "%S": r"(?P<S>[0-9]{2})",
    "%I": r"(?P<I>[0-9]{1,2})",
    "%p": r"(?P<p>(?i:[ap]\.?m\.?))",
}
FORMATS: Final = tuple(
    f"{day}{time}"
    for day in (
        *("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y%m%d", "%d %b %Y", "%d-%b-%Y"),
        *("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%b-%y", "%b %d, %Y"),
    )
    for time in ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
)
"""What a date that can't be read is tried as, to suggest a format: four digits before two, the day before the month."""


@final
@dataclass(frozen=True, slots=True)
class DateFormat:
    """A format of dates in the signs of `strftime`: %Y %y %m %b %d %H %M %S, and %I %p for hours to twelve.

    >>> DateFormat("%d/%m/%Y").iso("31/12/2024"), DateFormat("%d/%m/%Y").iso("2024-12-31")
    ('2024-12-31', None)
    >>> DateFormat("%d-%b-%y %H:%M").iso("1-feb-99 7:05")
    '1999-02-01T07:05:00'
    >>> DateFormat("%m/%d/%Y %I:%M %p").iso("1/2/2024 12:05 am")
    '2024-01-02T00:05:00'
    """

    text: str

    def __post_init__(self) -> None:
        signs = re.findall("%.?", self.text)
        known = all(sign in _PARTS for sign in signs) and len(set(signs)) == len(signs)
        known = known and len({"%I", "%p"} & set(signs)) in (0, 2) and not {"%H", "%I"} <= set(signs)
        if not known or not all(len(set(signs) & set(choice)) == 1 for choice in (("%Y", "%y"), ("%m", "%b"), ("%d",))):
            raise ParameterError(
                f"dates must be formats like '%d/%m/%Y' (day, month, year once each; of {' '.join(_PARTS)}), "
                f"got {self.text!r}."
            )

    @property
    def shape(self) -> str:
        """What two formats share that could read one cell differently."""
        return re.sub("%[dm]", "#", self.text)

    def iso(self, cell: str) -> str | None:
        """The date of a cell as ISO 8601 writes it; None for what is not so written, or is no date."""
        found = _date_pattern(self.text).fullmatch(cell.strip())
        if found is None:
            return None
        part = found.groupdict()
        month = MONTHS.index(part["b"].lower()) + 1 if "b" in part else int(part["m"])
        try:
            hour, minute, second = (int(part.get(key) or 0) for key in ("H", "M", "S"))
            hour = _hour(int(part["I"]), part["p"]) if "p" in part else hour
            day = datetime.datetime(_year(part), month, int(part["d"]), hour, minute, second)
        except ValueError:
            return None
        return day.isoformat() if "H" in part or "p" in part else day.date().isoformat()


def as_iso(array: pa.Array, formats: tuple[DateFormat, ...]) -> pa.Array:
    """Texts with their dates as ISO 8601 writes them, each by itself, by the first format that fits.

    What fits none is left as it is: it may be so written already.

    >>> as_iso(pa.array(["1.2.2024", "2024-02-01", "soon"]), (DateFormat("%d.%m.%Y"),)).to_pylist()
    ['2024-02-01', '2024-02-01', 'soon']
    """

    def first(cell: str) -> str:
        return next((iso for form in formats if (iso := form.iso(cell)) is not None), cell)

    return _rewrite(array, first) if formats else array


def _hour(hour: int, half: str) -> int:
    """The hour of a day by a clock of twelve: 12 am is 0; none, so that it is no date, beyond them."""
    return hour % 12 + (12 if half[0] in "pP" else 0) if 1 <= hour <= 12 else 24


def _year(part: dict[str, str]) -> int:
    if "Y" in part:
        return int(part["Y"])
    short = int(part["y"])
    return short + (1900 if short >= _PIVOT else 2000)


@functools.cache
def _date_pattern(text: str) -> re.Pattern[str]:
    pieces = re.split("(%.)", text)
    return re.compile("".join(_PARTS.get(piece, re.escape(piece)) for piece in pieces))


# ---- Persons: their identifiers, and a weight that their rows can share.


ROWS_WITHOUT_UNIT = ("drop", "one-unit")
MOST_ROWS_PER_UNIT = 16  # the least common multiple of 1 … 16 is 720,720, so weights stay small integers


def common_weight(rows: int) -> int:
    """The least weight that can be shared out evenly, in whole numbers, among any number of rows up to this one."""
    return math.lcm(*range(1, rows + 1))


def identities(array: pa.Array) -> tuple[Integers, list[bytes | None]]:
    """Each row's position in a list of identities, of which the last is None, nobody's."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return identities(array.storage)
    if pa.types.is_run_end_encoded(kind):
        return identities(pc.run_end_decode(array))
    if pa.types.is_dictionary(kind):
        positions, keys = identities(array.dictionary)
        return _through_dictionary(array.indices, np.append(positions, len(keys) - 1)), keys
    if is_text(kind) or is_instant(kind):
        plain = as_bytes(array) if is_text(kind) else _named_by_instants(array)
    elif is_number(kind) or pa.types.is_boolean(kind):
        plain = array.cast(pa.float64()) if pa.types.is_floating(kind) else array
    else:
        return np.zeros(len(array), dtype=np.int64), [None]
    encoded = plain.dictionary_encode()
    keys = [*(_identity(value) for value in encoded.dictionary.to_pylist()), None]
    positions = _through_dictionary(encoded.indices, np.arange(len(keys)))
    np.copyto(positions, len(keys) - 1, where=array.is_null().to_numpy(zero_copy_only=False))
    return positions, keys


def _named_by_instants(array: pa.Array) -> pa.Array:
    """Dates and timestamps with all their digits, as Python writes them: two of one second name two persons."""
    if not pa.types.is_timestamp(array.type) or array.type.unit == "s":
        return text_of_dates(array)
    texts = np.datetime_as_string(dense(array.view(pa.int64())).view(f"M8[{array.type.unit}]")).tolist()
    return pa.array([_as_python_writes(text).encode() for text in texts], pa.binary())


def _as_python_writes(instant: str) -> str:
    """Six digits of a second, or nine, where they are not 0.

    >>> _as_python_writes("2020-01-01T00:00:00.120"), _as_python_writes("2020-01-01T00:00:00.000000000")
    ('2020-01-01T00:00:00.120000', '2020-01-01T00:00:00')
    """
    whole, _, digits = instant.partition(".")
    shown = digits.rstrip("0")
    return f"{whole}.{shown.ljust(9 if len(shown) > 6 else 6, '0')}" if shown else whole


def _through_dictionary(indices: pa.Array, table: Integers) -> Integers:
    """Positions by way of a dictionary, whose last entry means null."""
    last = len(table) - 1
    positions = np.where(indices.is_null().to_numpy(zero_copy_only=False), last, dense(indices).astype(np.int64))
    return table.take(positions)


def _identity(value: object) -> bytes | None:
    """An identifier as text; None for none.

    >>> _identity(7), _identity(7.0), _identity(b"7"), _identity(float("nan")), _identity(b""), _identity(True)
    (b'7', b'7', b'7', None, None, b'true')
    """
    if isinstance(value, bytes):
        return value or None
    if isinstance(value, float | Decimal):
        return None if value != value else short_text(value).encode()  # noqa: PLR0124  # NaN
    return str(value).lower().encode()  # a yes or no as `FLAGS` are; else digits


# ---- Numbers as they are written: exact decimals, how many digits, short text.


MOST_DECIMALS = 15  # digits that a float64 holds
_FINER = 3  # more digits than tell cells apart: a thousand values in each
_POWERS = np.array([float(f"1e{exponent}") for exponent in range(300)])  # of ten, the nearest to each
_NONE = 400  # digits of a cell without width: none are enough


def fraction(number: float) -> Fraction:
    """The decimal that was written, exactly."""
    return Fraction(Decimal(repr(number)))


def decimals_of(number: float) -> int:
    """How many digits follow the point in a number as it was written.

    >>> decimals_of(0.25), decimals_of(1e-7), decimals_of(300.0)
    (2, 7, 0)
    """
    exponent = Decimal(repr(number)).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def interval_labels(edges: Floats, points: int) -> tuple[str, ...]:
    """The cells between some edges in words; with points, the first and the last cell are single values."""
    written = distinct(edges)
    labels = [f"[{a}, {b})" for a, b in pairwise(written)]
    if not points:
        return (*labels[:-1], f"[{written[-2]}, {written[-1]}]")
    return (f"{edges[0]}", f"({labels[1][1:]}", *labels[2:-1], f"{edges[-1]}")


def distinct(numbers: Floats) -> list[str]:
    """Numbers as short text: six digits, or as many as it takes to tell them apart."""
    written: list[str] = []
    for digits in range(6, 18):
        written = [f"{number:.{digits}g}" for number in numbers]
        if len(set(written)) == len(set(numbers)):
            break
    return written


def digits_within(widths: Floats) -> Integers:
    """How many digits follow the point of values in cells of some widths, three more than tell such cells apart.

    >>> digits_within(np.array([250.0, 0.25]))
    array([1, 4])
    """
    with np.errstate(divide="ignore"):
        places = np.where(widths > 0.0, np.ceil(-np.log10(widths)) + _FINER, _NONE)
    return np.maximum(places, 0).astype(np.int64)


def round_to_digits(values: Floats, digits: Integers) -> Floats:
    """Values rounded to their digits; as they are where no number of digits is enough.

    >>> round_to_digits(np.array([1 / 3, -0.0001]), np.array([2, 2])).tolist()
    [0.33, 0.0]
    """
    factors = _POWERS[np.minimum(digits, len(_POWERS) - 1)]
    with np.errstate(over="ignore"):
        rounded = np.rint(values * factors) / factors + 0.0  # no −0
    return np.where((digits < len(_POWERS)) & np.isfinite(rounded), rounded, values)
