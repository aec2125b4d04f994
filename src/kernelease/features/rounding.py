"""Bounds and steps that stay on the safe side when they are stored as floats.

A claim such as ‖φ(x)‖ ≤ 1 is proved for integers: Σ v² ≤ L. It must survive the two roundings that turn it into
floats, that of `step` and that of the bound, so steps are rounded down and bounds are rounded up. Both are checked in
exact rational arithmetic, which makes the claim step²·Σ v² ≤ R² true of the very floats that are published.
"""

import math
from fractions import Fraction


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
