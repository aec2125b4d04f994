"""Sums and products of bounds, rounded upward: a bound must stay a bound."""

import math
from collections.abc import Iterable
from fractions import Fraction

from kernelease.errors import ParameterError


def sum_above(terms: Iterable[float]) -> float:
    """The smallest float that is at least the exact sum.

    >>> sum_above([0.25, 0.75]), sum_above([1.0, 2.0**-60]) > 1.0
    (1.0, True)
    """
    return _above(sum(map(Fraction, terms), Fraction(0)))


def product_above(factors: Iterable[float]) -> float:
    """The smallest float that is at least the exact product.

    >>> product_above([0.5, 3.0])
    1.5
    """
    return _above(math.prod(map(Fraction, factors), start=Fraction(1)))


def _above(exact: Fraction) -> float:
    try:
        nearest = float(exact)
    except OverflowError as error:
        raise ParameterError("The bound of a kernel must be a finite number: scale its parts down.") from error
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
