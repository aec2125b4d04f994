"""Cells as float64."""

import math
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.arrays import Floats
from kernelease.table.reading.arrow import as_bytes, dense, is_text, through_distinct

NUMBER = r"[ \t\r\n\f\x0b]*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity)[ \t\r\n\f\x0b]*"
"""What text is read as a number, whole and without regard to case; everything else is unparsable."""

_NUMBER = re.compile(NUMBER.encode(), re.IGNORECASE)
# The part of NUMBER that Arrow is sure to parse. Both parsers round correctly, so they agree on it to the last bit;
# which of the two reads a cell depends on that cell alone.
_PLAIN = r"^-?[0-9]{1,17}(\.[0-9]{1,17})?$"


def is_number(kind: pa.DataType) -> bool:
    """Integers, floats and decimals of every width."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def read_numbers(array: pa.Array) -> Floats:
    """The nearest float64 of every cell; NaN for what is not a number. Booleans are 0 and 1, text is parsed.

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
        return through_distinct(array.cast(pa.string()).cast(pa.binary()), _parse)
    if is_text(kind):
        return through_distinct(as_bytes(array), _parse)
    return np.full(len(array), math.nan)


def parse_number(text: bytes) -> float:
    """The number that a text says, or NaN.

    >>> parse_number(b" 1e3 "), parse_number(b"-inf"), parse_number(b"1,000")
    (1000.0, -inf, nan)
    """
    return float(text) if _NUMBER.fullmatch(text) else math.nan


def _parse(texts: pa.Array) -> Floats:
    plain = dense(pc.match_substring_regex(texts, _PLAIN))
    values = np.full(len(texts), math.nan)
    values[plain] = dense(texts.filter(pa.array(plain)).cast(pa.string()).cast(pa.float64()))
    for i in np.flatnonzero(~plain):
        values[i] = parse_number(texts[int(i)].as_py())
    return values
