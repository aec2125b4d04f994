"""Directed rounding: a bound must stay a bound when it is stored as a float.

A claim such as ‖φ(x)‖ ≤ 1 is proved for integers: Σ v² ≤ L. It must survive the two roundings that turn it into
floats, that of `step` and that of the bound, so steps are rounded down and bounds are rounded up. Both are checked in
exact rational arithmetic, which makes the claim step²·Σ v² ≤ R² true of the very floats that are published.
"""

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


def step_below(square: int) -> float:
    """The largest float s with s²·square ≤ 1: integers with Σ v² ≤ square then have a norm of at most 1.

    >>> step_below(4), step_below(3) <= 1 / math.sqrt(3)
    (0.5, True)
    """
    step = math.nextafter(1.0 / math.sqrt(square), math.inf)
    while Fraction(step) ** 2 * square > 1:
        step = math.nextafter(step, 0.0)
    return step


def sqrt_above(square: Fraction | int) -> float:
    """The smallest float whose square is at least `square`.

    >>> sqrt_above(9), Fraction(sqrt_above(2)) ** 2 >= 2
    (3.0, True)
    """
    bound = math.nextafter(math.sqrt(square), 0.0)
    while Fraction(bound) ** 2 < square:
        bound = math.nextafter(bound, math.inf)
    return bound


def _above(exact: Fraction) -> float:
    try:
        nearest = float(exact)
    except OverflowError as error:
        raise ParameterError("The bound of a kernel must be a finite number: scale its parts down.") from error
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
