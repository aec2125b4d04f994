"""Numbers as people of some place write them: with a decimal comma, with groups of thousands."""

import functools
import re
from dataclasses import dataclass
from typing import final

import pyarrow as pa

from kernelease.errors import ParameterError
from kernelease.table.reading.arrow import is_text

DECIMALS = (".", ",")
THOUSANDS = (",", ".", " ", "'")
_BLANKS = " \u00a0\u202f"  # a blank between thousands may be any of the three
_NO_NUMBER = b"?"  # what a text becomes that is no number so written: no reader takes it for one


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Numerals:
    """How numbers are written: the sign before their decimals, and the one between thousands, if any.

    Thousands are groups of three digits, or none: 1.234,5 and 1234,5 are one number, and 1.23,4 is none.

    >>> local = Numerals(decimal=",", thousands=".")
    >>> local.plain(pa.array(["1.234,5", "7", "-0,25", "1.5", None])).to_pylist()
    ['1234.5', '7', '-0.25', '?', None]
    """

    decimal: str = "."
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in DECIMALS:
            raise ParameterError(f"decimal must be {_listed(DECIMALS)}, got {self.decimal!r}.")
        if self.thousands is not None and self.thousands not in THOUSANDS:
            raise ParameterError(f"thousands must be {_listed(THOUSANDS)}, got {self.thousands!r}.")
        if self.thousands == self.decimal:
            raise ParameterError(f"decimal and thousands must differ, got {self.decimal!r} for both.")

    @property
    def usual(self) -> bool:
        """Whether numbers are written as everywhere else here: 1234.5."""
        return self.decimal == "." and self.thousands is None

    def plain(self, array: pa.Array) -> pa.Array:
        """Texts with their numbers as 1234.5, each by itself; what is no number so written can't be read as one."""
        if self.usual or not (is_text(array.type) or pa.types.is_dictionary(array.type)):
            return array
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        if not is_text(encoded.dictionary.type):
            return array
        said = [self.said(text) for text in encoded.dictionary.to_pylist()]
        return pa.array(said, pa.string()).take(encoded.indices)

    def said(self, text: str | bytes | None) -> str | None:
        """The number of one text as 1234.5; None for an empty one."""
        if text is None or not text:
            return None
        words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        found = _pattern(self.decimal, self.thousands).fullmatch(words.strip())
        if found is None:
            return _NO_NUMBER.decode()
        sign, whole, fraction, exponent = found.groups()
        digits = re.sub("[^0-9]", "", whole or "")
        return f"{sign or ''}{digits}" + (f".{fraction}" if fraction is not None else "") + (exponent or "")


@functools.cache
def _pattern(decimal: str, thousands: str | None) -> re.Pattern[str]:
    between = "" if thousands is None else f"[{_BLANKS}]" if thousands == " " else re.escape(thousands)
    whole = "[0-9]+" if thousands is None else f"[0-9]{{1,3}}(?:{between}[0-9]{{3}})+|[0-9]+"
    return re.compile(rf"([+-])?({whole})?(?:{re.escape(decimal)}([0-9]*))?([eE][+-]?[0-9]+)?")


def _listed(signs: tuple[str, ...]) -> str:
    return ", ".join(repr(sign) for sign in signs[:-1]) + f" or {signs[-1]!r}"
