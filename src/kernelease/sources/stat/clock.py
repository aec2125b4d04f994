"""How SPSS, Stata and SAS write dates: as numbers of seconds, days or milliseconds, told from others by a format."""

import datetime
import re
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats
from kernelease.sources.paths import SAS, SPSS, STATA

_SECOND: Final = 10**6  # in microseconds
_DAY: Final = 86_400 * _SECOND
_UNIX: Final = datetime.date(1970, 1, 1)
_FIRST: Final = (datetime.date.min - _UNIX).days * _DAY
_LAST: Final = (datetime.date.max - _UNIX).days * _DAY + _DAY - 1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Numbers that count `tick`s, in microseconds, since a day. Of the days alone, or of moments."""

    since: datetime.date
    tick: int
    days: bool

    @property
    def type(self) -> pa.DataType:
        """date32, or timestamp[us]."""
        return pa.date32() if self.days else pa.timestamp("us")

    def read(self, numbers: Floats) -> pa.Array:
        """The day or the moment of each number, clamped to the years 1 to 9999; NULL for NaN.

        >>> Clock(since=datetime.date(1960, 1, 1), tick=_DAY, days=True).read(np.array([0.0, 1.5, np.nan])).to_pylist()
        [datetime.date(1960, 1, 1), datetime.date(1960, 1, 2), None]
        """
        start = (self.since - _UNIX).days * _DAY
        known = np.nan_to_num(numbers, nan=0.0).clip((_FIRST - start) / self.tick, (_LAST - start) / self.tick)
        whole = np.floor(known)
        micros = start + whole.astype(np.int64) * self.tick + np.rint((known - whole) * self.tick).astype(np.int64)
        micros = micros.clip(_FIRST, _LAST)
        absent = np.isnan(numbers)
        if self.days:
            return pa.array((micros // _DAY).astype(np.int32), mask=absent).view(pa.date32())
        return pa.array(micros, mask=absent).view(pa.timestamp("us"))


_GREGORY, _SIXTY = datetime.date(1582, 10, 14), datetime.date(1960, 1, 1)
_WIDTH = r"[0-9]*\.?[0-9]*"
# The formats that make a number a date or a moment. Times of day, durations and Stata's weeks, months, quarters and
# half-years are not among them, nor its %tC, which counts leap seconds: they stay the numbers that they are.
_CLOCKS: Final = {
    SPSS: (
        (rf"(?i:(?:[AEJS]?DATE|QYR|MOYR|WKYR){_WIDTH})", Clock(since=_GREGORY, tick=_SECOND, days=True)),
        (rf"(?i:(?:DATETIME|YMDHMS){_WIDTH})", Clock(since=_GREGORY, tick=_SECOND, days=False)),
    ),
    STATA: (
        ("%-?t?d.*", Clock(since=_SIXTY, tick=_DAY, days=True)),
        ("%-?tc.*", Clock(since=_SIXTY, tick=_SECOND // 1000, days=False)),
    ),
    SAS: (
        (
            r"(?i:(?:DATE|DAY|DOWNAME|JULDAY|JULIAN|(?:DDMMYY|MMDDYY|YYMMDD)[BCDNPS]?|(?:MMYY|YYMM)[CDNPS]?|MONNAME|"
            r"MONTH|MONYY|YYMON|QTRR?|YYQR?[CDNPS]?|NENGO|MINGUO|WEEKDAT[EX]|WEEKDAY|WEEK[UVW]|WORDDAT[EX]|YEAR|"
            rf"[BE]8601DA){_WIDTH})",
            Clock(since=_SIXTY, tick=_DAY, days=True),
        ),
        (
            r"(?i:(?:DATETIME|DATEAMPM|DTDATE|DTMONYY|DTWKDATX|DTYEAR|DTYYQC|MDYAMPM|"
            rf"[BE]8601(?:DN|DT|DX|DZ|LX)){_WIDTH})",
            Clock(since=_SIXTY, tick=_SECOND, days=False),
        ),
    ),
}


def clock_of(software: str, form: str) -> Clock | None:
    """How a column of this format counts time; None for numbers.

    >>> clock_of("SPSS", "ADATE10").days, clock_of("SAS", "E8601DT19.").days, clock_of("Stata", "%tdD_m_Y").days
    (True, False, True)
    >>> clock_of("SPSS", "TIME8"), clock_of("SAS", "BEST12."), clock_of("Stata", "%tC"), clock_of("Stata", "%9.0g")
    (None, None, None, None)
    """
    return next((clock for pattern, clock in _CLOCKS[software] if re.fullmatch(pattern, form)), None)
