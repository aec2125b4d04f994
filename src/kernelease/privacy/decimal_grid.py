"""A public grid on which every cell of a column has exactly one place: its number, to three digits.

Places of positive numbers are the intervals ((m − 1)·10ᵏ, m·10ᵏ] with 100 < m ≤ 1000, so that a round number is the
upper end of its place; negative numbers have the same, mirrored, and zero has a place of its own. Places are numbered
by what they hold: 0 is zero, r > 0 and −r are mirror images, and a larger number is further right. Nothing here
depends on data.
"""

import functools
import itertools
import math
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.arrays import Floats, Integers
from kernelease.table.reading.arrow import dense
from kernelease.table.reading.numbers import read_numbers

LOWEST, HIGHEST = -6, 19  # powers of ten: smaller and larger numbers have the first and the last place
SIZES: Final[Floats] = np.array(
    [0.0, float(f"1e{LOWEST}"), *(float(f"{m}e{k - 2}") for k in range(LOWEST, HIGHEST) for m in range(101, 1001))]
)
"""Where the places of positive numbers begin and end: r is (SIZES[r − 1], SIZES[r]]."""

FURTHEST: Final = len(SIZES) - 1
"""The place of the largest numbers."""

NO_NUMBER: Final = 2 * (FURTHEST + 1)
"""The code of a cell that holds no number; every other code is twice a place, and 1 more if the number is not whole."""


def codes_of(array: pa.Array) -> Integers:
    """The code of every cell: (n,). No value raises.

    >>> [lowest(code // 2) for code in codes_of(pa.array([7.0, -7.0, 0.0, 1234.0])).tolist()]
    [6.99, -7.0, 0.0, 1230.0]
    """
    numbers = read_numbers(array)
    known = ~np.isnan(numbers) & ~dense(pc.is_null(array))
    safe = np.where(known, numbers, 0.0)
    places = np.sign(safe).astype(np.int64) * np.minimum(np.searchsorted(SIZES, np.abs(safe)), FURTHEST)
    whole = np.isinf(safe) | (np.floor(safe) == safe)
    codes: Integers = np.where(known, 2 * places + ~whole, NO_NUMBER)
    return codes


def lowest(place: int) -> float:
    """Where a place begins."""
    return float(SIZES[place - 1]) if place > 0 else 0.0 - float(SIZES[-place])


def highest(place: int) -> float:
    """Where a place ends."""
    return 0.0 - lowest(-place)


def least_whole(place: int) -> int:
    """The least whole number at or above a place's beginning that a place can hold: its beginning, if that is inside.

    >>> [least_whole(place_of(number)) for number in (7.0, 0.0, -7.0, 18.0)]
    [7, 0, -7, 18]
    """
    if place > 0:
        return math.floor(lowest(place)) + 1
    return math.ceil(lowest(place))


def place_of(number: float) -> int:
    """The place of a finite number."""
    return int(math.copysign(1, number)) * min(int(np.searchsorted(SIZES, abs(number))), FURTHEST)


@functools.cache
def bins() -> Integers:
    """The places at which bins of the first look end: the smallest, and 1, 2 and 5 times powers of ten."""
    ends = (float(f"{m}e{k}") for k in range(LOWEST, HIGHEST) for m in (1, 2, 5))
    return np.array([*(place_of(end) for end in ends), FURTHEST])


def bins_of(places: Integers) -> Integers:
    """The bins of places, numbered from zero's, which is 0, in either direction."""
    return np.sign(places) * (np.searchsorted(bins(), np.abs(places)) + 1)


def places_in(number: int) -> tuple[int, int]:
    """The first and the last place of a bin.

    >>> [(lowest(first), highest(last)) for first, last in map(places_in, (-21, 0, 22))]
    [(-5.0, -2.0), (0.0, 0.0), (5.0, 10.0)]
    """
    if number == 0:
        return 0, 0
    size = abs(number)
    inner, outer = (int(bins()[size - 2]) + 1 if size > 1 else 1), int(bins()[size - 1])
    return (inner, outer) if number > 0 else (-outer, -inner)


def stretches(first: int, last: int, most: int) -> list[tuple[int, int]]:
    """The places from `first` to `last`, parted where multiples of a round width are: each part's first and last place.

    The width is the least of 1, 2 and 5 times a power of ten that makes about `most` parts, and none finer than the
    places themselves. Zero is a part of its own.

    >>> [(lowest(low), highest(high)) for low, high in stretches(*places_in(21), most=5)]
    [(2.0, 3.0), (3.0, 4.0), (4.0, 5.0)]
    """
    places = np.arange(first, last + 1)
    width = _round_width(lowest(first), highest(last), most)
    ends = np.ceil(SIZES[np.abs(places)] / width * (1.0 - 1e-9))  # three digits: a quotient is whole, or far from it
    numbers = np.sign(places) * np.maximum(1.0, ends)
    starts = np.flatnonzero(np.diff(numbers, prepend=np.nan))
    return [(int(places[i]), int(places[j - 1])) for i, j in itertools.pairwise([*starts.tolist(), len(places)])]


def _round_width(low: float, high: float, most: int) -> float:
    size = max(-low, high, SIZES[1])
    finest = math.floor(math.log10(size) - 1e-9) - 2
    exponent = max(finest, math.floor(math.log10(max((high - low) / most, SIZES[1] / 100))))
    widths = (float(f"{m}e{k}") for k in (exponent, exponent + 1) for m in (1, 2, 5))
    return next(width for width in widths if (high - low) / width <= most * (1 + 1e-9))
