"""Numbers as they are written: exact decimals, how many digits, short text."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.arrays import LARGEST, Floats, Integers
from kernelease.table.columns.column import Column

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


def printed(values: Floats, digits: Integers) -> Floats:
    """Values rounded to their digits; as they are where no number of digits is enough.

    >>> printed(np.array([1 / 3, -0.0001]), np.array([2, 2])).tolist()
    [0.33, 0.0]
    """
    factors = _POWERS[np.minimum(digits, len(_POWERS) - 1)]
    with np.errstate(over="ignore"):
        rounded = np.rint(values * factors) / factors + 0.0  # no −0
    return np.where((digits < len(_POWERS)) & np.isfinite(rounded), rounded, values)


def number_keys(array: Any) -> Any:
    """Numbers as float64, NULL for NaN: what comparisons take."""
    numbers = array.cast(pa.float64(), safe=False)  # integers beyond 2⁵³ are rounded, not refused
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)


def number_key(column: Column, literal: object) -> float:
    """A number among these, or a `SchemaError` that says what is expected."""
    if isinstance(literal, bool) or not isinstance(literal, int | float):
        raise column.error("type", f"holds numbers and can't be compared with {literal!r}.")
    try:
        return float(literal)
    except OverflowError:  # an integer of more than 308 digits is beyond every cell
        return math.inf if literal > 0 else -math.inf


def is_finite(value: object) -> bool:
    """Whether a value is a number that a column may hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST
