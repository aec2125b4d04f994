"""Which quotes of a CSV text mean something, and so which newlines end a record."""

from enum import Enum, auto, unique
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Integers
from kernelease.sources.csv.block import line_ends


@unique
class Place(Enum):
    """Where in a record one stands: all that has to be known of what came before.

    At the `START` of a field, `WITHIN` one that is not quoted (any more), in `QUOTED` text, or just after a quote that
    may have `CLOSED` it, unless another one follows. The automaton of these four reads any bytes whatever:

    | at | quote | separator | newline | other |
    | --- | --- | --- | --- | --- |
    | START, CLOSED | QUOTED | START | START, a record ends | WITHIN |
    | WITHIN | WITHIN | START | START, a record ends | WITHIN |
    | QUOTED | CLOSED | QUOTED | QUOTED | QUOTED |
    """

    START = auto()
    WITHIN = auto()
    QUOTED = auto()
    CLOSED = auto()


_LETTER_BEFORE: Final = {Place.START: ord("\n"), Place.WITHIN: 0, Place.QUOTED: 0}


def record_ends(text: bytes, place: Place, separator: str, quote: str = '"') -> tuple[Integers, Place]:
    r"""The position after each newline that ends a record, and where the text leaves off.

    Text may be cut anywhere: what follows goes on from the place. Where `quote` is empty, nothing is quoted.

    >>> ends, place = record_ends(b'1,"a\nb"\n2,"c\n', Place.START, ",")
    >>> ends.tolist(), place.name
    ([8], 'QUOTED')
    """
    ends = line_ends(text)
    if not text or not quote or (place is not Place.QUOTED and quote.encode() not in text):
        return ends, _place_after(text, place, separator)
    quotes = _meaningful(text, place, separator, quote)
    opened = np.searchsorted(quotes, ends) + (place is Place.QUOTED)
    if (len(quotes) + (place is Place.QUOTED)) % 2:
        after = Place.QUOTED
    elif len(quotes) and quotes[-1] == len(text) - 1:
        after = Place.CLOSED
    else:
        after = _place_after(text, place, separator)
    return ends[opened % 2 == 0], after


def _place_after(text: bytes, place: Place, separator: str) -> Place:
    """The place after a text whose last byte is no quote that means something, outside quotes."""
    if not text:
        return place
    return Place.START if text.endswith((b"\n", separator.encode())) else Place.WITHIN


def _meaningful(text: bytes, place: Place, separator: str, quote: str) -> Integers:
    """The quotes that open or close a quoted text, in turn; a doubled one closes and opens again at once.

    A quote opens at the start of a field, or right after one that closes; elsewhere outside quotes it is a character
    like others. A well-formed file has none of those, which shows without looking at quotes one by one: if every second
    one stands at the start of a field or after another quote, then, from the first on, they open and close in turn.
    """
    letters = np.frombuffer(text, dtype=np.uint8)
    quotes = np.flatnonzero(letters == ord(quote))
    before = letters[quotes - 1]
    if len(quotes) and quotes[0] == 0:
        before[0] = ord(quote) if place is Place.CLOSED else _LETTER_BEFORE[place]
    opening = before[1 if place is Place.QUOTED else 0 :: 2]
    if ((opening == ord(separator)) | (opening == ord("\n")) | (opening == ord(quote))).all():
        return quotes
    return _one_by_one(quotes, (before == ord(separator)) | (before == ord("\n")), place)


def _one_by_one(quotes: Integers, starts: NDArray[np.bool_], place: Place) -> Integers:
    """The same for quotes of which some are characters. `starts`: whether each stands at the start of a field."""
    found, quoted, closed = [], place is Place.QUOTED, -1 if place is Place.CLOSED else -2
    for position, at_start in zip(quotes.tolist(), starts.tolist(), strict=True):
        if quoted:
            quoted, closed = False, position
        elif at_start or position == closed + 1:
            quoted = True
        else:
            continue
        found.append(position)
    return np.array(found, dtype=np.int64)
