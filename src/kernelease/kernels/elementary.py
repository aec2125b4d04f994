"""Arithmetic that privacy rests on: exp and log made of IEEE-exact operations, and directed rounding.

Library versions of exp and log may take another path for the last few elements of an array, for another memory
layout or on another processor, and so may differ in the last bit (which a privacy proof can't allow: dropping one
row must not change another row's integers). Additions, multiplications, divisions and table look-ups are rounded
the same way everywhere. Tables come from the `decimal` module and are correctly rounded on every machine.
"""

import decimal
import functools
import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from kernelease.arrays import Floats
from kernelease.errors import ParameterError

# ---- exp and log made of IEEE-exact operations only, so that a row's value depends on that row alone.


EXP_CUTOFF = 64.0  # exp(−64) < 2e−28, far below every grid that features are rounded to
EXP_ERROR = 2.0**-50  # proved bound on |exp_negative(t)/exp(−t) − 1| below the cut-off, docs/proofs/numerics.md
LOG_ERROR = 2.0**-51  # proved bound on |log_positive(y) − log y| / (1 + |log y|), same place
_STEPS = 64  # table entries per unit of the exponent
_LOG_CELLS = 64  # table entries for a mantissa: the series below is then short
_DIGITS = decimal.Context(prec=40)
_EXP_SERIES = (1 / 720, -1 / 120, 1 / 24, -1 / 6, 1 / 2, -1.0, 1.0)  # Taylor's: the highest power first
_LOG_SERIES = tuple((-1) ** (n + 1) / n for n in range(9, 0, -1))


@functools.cache
def exp_table() -> Floats:
    """exp(−n/64) for n = 0 … 4096, the last as 0."""
    exponents = range(int(EXP_CUTOFF) * _STEPS + 1)
    table = np.array([float(_DIGITS.exp(_DIGITS.divide(-n, _STEPS))) for n in exponents])
    table[-1] = 0.0  # the entry of everything at the cut-off and beyond
    return table


@functools.cache
def _log_table() -> tuple[Floats, Floats]:
    """Centres of the cells of [1/2, 1), and their logarithms."""
    centres = [_DIGITS.divide(2 * (n + _LOG_CELLS) + 1, 4 * _LOG_CELLS) for n in range(_LOG_CELLS)]
    return np.array([float(c) for c in centres]), np.array([float(_DIGITS.ln(c)) for c in centres])


def exp_negative(t: Floats) -> Floats:
    """exp(−t) for t ≥ 0, elementwise; 0 for t ≥ 64.

    >>> exp_negative(np.array([0.0, 1.0, 1e300]))
    array([1.        , 0.36787944, 0.        ])
    """
    result = np.array(t, dtype=np.float64)
    exp_negative_in_place(result, np.empty_like(result))
    return result


def exp_negative_in_place(t: Floats, scratch: Floats) -> None:
    """t becomes `exp_negative(t)`; `scratch` is another array of its shape. Fresh memory costs more than the sums."""
    np.clip(t, 0.0, EXP_CUTOFF, out=t)
    np.multiply(t, _STEPS, out=scratch)
    np.trunc(scratch, out=scratch)
    index = scratch.astype(np.int32)
    scratch *= 1.0 / _STEPS
    remainder = np.subtract(t, scratch, out=scratch)  # exact: both are multiples of the last bit of t
    np.multiply(remainder, _EXP_SERIES[0], out=t)
    for coefficient in _EXP_SERIES[1:-1]:
        t += coefficient
        t *= remainder
    t += _EXP_SERIES[-1]
    t *= np.take(exp_table(), index, out=scratch, mode="clip")  # clip: every index is in range, and it is quicker


def log_positive(y: Floats) -> Floats:
    """log(y) for y > 0 and finite, elementwise.

    >>> log_positive(np.array([1.0, 2.0])).round(6)
    array([0.      , 0.693147])
    """
    mantissa, exponent = np.frexp(y)
    index = (mantissa * (2 * _LOG_CELLS)).astype(np.int64) - _LOG_CELLS
    centres, logarithms = _log_table()
    r = (mantissa - centres[index]) / centres[index]
    total = np.full_like(r, _LOG_SERIES[0])
    for coefficient in _LOG_SERIES[1:]:
        total *= r
        total += coefficient
    series = total * r
    return exponent * 0.6931471805599453 + (logarithms[index] + series)


# ---- Directed rounding: a bound must stay a bound when it is stored as a float.
#
# A claim such as ‖φ(x)‖ ≤ 1 is proved for integers: Σ v² ≤ L. It must survive the two roundings that turn it into
# floats, that of `step` and that of the bound, so steps are rounded down and bounds are rounded up. Both are checked
# in exact rational arithmetic, which makes the claim step²·Σ v² ≤ R² true of the very floats that are published.


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
