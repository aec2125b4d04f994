"""Dates as people of some place write them."""

import datetime
import functools
import re
from dataclasses import dataclass
from typing import Final, final

import pyarrow as pa

from kernelease.errors import ParameterError
from kernelease.table.reading.arrow import is_text

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
}
FORMATS: Final = tuple(
    f"{day}{time}"
    for day in (
        *("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y%m%d", "%d %b %Y", "%d-%b-%Y"),
        *("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%b-%y", "%b %d, %Y"),
    )
    for time in ("", " %H:%M", " %H:%M:%S")
)
"""What a date that can't be read is tried as, to suggest a format: four digits before two, the day before the month."""


@final
@dataclass(frozen=True, slots=True)
class DateFormat:
    """A format of dates in the signs of `strftime`: %Y %y %m %b %d %H %M %S.

    >>> DateFormat("%d/%m/%Y").iso("31/12/2024"), DateFormat("%d/%m/%Y").iso("2024-12-31")
    ('2024-12-31', None)
    >>> DateFormat("%d-%b-%y %H:%M").iso("1-feb-99 7:05")
    '1999-02-01T07:05:00'
    """

    text: str

    def __post_init__(self) -> None:
        signs = re.findall("%.?", self.text)
        known = all(sign in _PARTS for sign in signs) and len(set(signs)) == len(signs)
        if not known or not all(len(set(signs) & set(choice)) == 1 for choice in (("%Y", "%y"), ("%m", "%b"), ("%d",))):
            raise ParameterError(
                f"dates must be formats like '%d/%m/%Y' (day, month, year once each; of {' '.join(_PARTS)}), "
                f"got {self.text!r}."
            )

    @property
    def day_first(self) -> bool:
        """Whether the day stands before the month."""
        return self.text.index("%d") < max(self.text.find("%m"), self.text.find("%b"))

    @property
    def shape(self) -> str:
        """What two formats share that could read one cell differently."""
        return re.sub("%[dm]", "#", self.text)

    def iso(self, cell: str) -> str | None:
        """The date of a cell as ISO 8601 writes it; None for what is not so written, or is no date."""
        found = _pattern(self.text).fullmatch(cell.strip())
        if found is None:
            return None
        part = found.groupdict()
        month = MONTHS.index(part["b"].lower()) + 1 if "b" in part else int(part["m"])
        try:
            hour, minute, second = (int(part.get(key) or 0) for key in ("H", "M", "S"))
            day = datetime.datetime(_year(part), month, int(part["d"]), hour, minute, second)
        except ValueError:
            return None
        return day.isoformat() if "H" in part else day.date().isoformat()


def as_iso(array: pa.Array, formats: tuple[DateFormat, ...]) -> pa.Array:
    """Texts with their dates as ISO 8601 writes them, each by itself, by the first format that fits.

    What fits none is left as it is: it may be so written already.

    >>> as_iso(pa.array(["1.2.2024", "2024-02-01", "soon"]), (DateFormat("%d.%m.%Y"),)).to_pylist()
    ['2024-02-01', '2024-02-01', 'soon']
    """
    if not formats or not (is_text(array.type) or pa.types.is_dictionary(array.type)):
        return array
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    if not is_text(encoded.dictionary.type):
        return array
    read = [_first(text, formats) for text in encoded.dictionary.to_pylist()]
    return pa.array(read, pa.string()).take(encoded.indices)


def _first(text: str | bytes | None, formats: tuple[DateFormat, ...]) -> str | None:
    if text is None:
        return None
    cell = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return next((iso for form in formats if (iso := form.iso(cell)) is not None), cell)


def _year(part: dict[str, str]) -> int:
    if "Y" in part:
        return int(part["Y"])
    short = int(part["y"])
    return short + (1900 if short >= _PIVOT else 2000)


@functools.cache
def _pattern(text: str) -> re.Pattern[str]:
    pieces = re.split("(%.)", text)
    return re.compile("".join(_PARTS.get(piece, re.escape(piece)) for piece in pieces))
