"""Bounds that tell less about the rows than their smallest and largest value would."""

import datetime
import math


def outward(low: float, high: float) -> tuple[float, float]:
    """Bounds around both, at multiples of the power of ten in their distance.

    >>> outward(18, 93), outward(0.7, 98_234.5), outward(7, 7)
    ((10.0, 100.0), (0.0, 100000.0), (6.0, 8.0))
    """
    span = high - low if high > low else max(abs(low), 1.0)
    step = 10.0 ** math.floor(math.log10(span))
    below, above = math.floor(low / step) * step, math.ceil(high / step) * step
    if below == above:
        below, above = below - step, above + step
    return _tidy(below), _tidy(above)


def _tidy(number: float) -> float:
    """Without the digits that only rounding has left."""
    return float(f"{number:.12g}")


def whole_years(first: datetime.date, last: datetime.date) -> tuple[datetime.date, datetime.date]:
    """From the first day of a year to the last of another.

    >>> whole_years(datetime.date(2019, 3, 7), datetime.date(2024, 2, 29))
    (datetime.date(2019, 1, 1), datetime.date(2024, 12, 31))
    """
    return datetime.date(first.year, 1, 1), datetime.date(last.year, 12, 31)
