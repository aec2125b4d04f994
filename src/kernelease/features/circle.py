"""The unit circle in integers: cosines and sines of 2¹⁶ angles, rounded toward zero.

Rounding toward zero is what makes cos² + sin² ≤ 1 hold *in integers*, and with it the norm of every Fourier feature
map. The table is made of Python integers and `math.isqrt` only, so that it is the same on every machine; a sine of
the C library may differ in its last bit between two of them.
"""

import functools
import math

import numpy as np

from kernelease.arrays import Integers

ANGLE_BITS = 16  # of a turn: cosines and sines of 2¹⁶ angles take 1 MiB
RADIUS = 2**18  # ROWS_PER_SUM sines then add up to at most 2³⁰, within a half word
ROWS_PER_SUM = 2**12  # so many packed entries can be added before the sine's part reaches its neighbour's bits
_HALF_WORD = 2**31  # sums of sines lie in the lower 32 bits, signed
_GUARD_BITS = 96  # of the recursion, far more than RADIUS has


def _first_angle() -> tuple[int, int]:
    """Cosine and sine of 2π/2¹⁶ in units of 2⁻⁹⁶, by halving a right angle fourteen times."""
    one = 1 << _GUARD_BITS
    cosine, sine = 0, one
    for _ in range(ANGLE_BITS - 2):
        cosine, sine = math.isqrt((one + cosine) * one // 2), math.isqrt((one - cosine) * one // 2)
    return cosine, sine


def _first_quarter() -> list[tuple[int, int]]:
    """(cos, sin) of the angles from 0 up to a quarter turn, in units of 1/RADIUS, rounded toward zero."""
    one, shift = 1 << _GUARD_BITS, _GUARD_BITS - RADIUS.bit_length() + 1
    cosine, sine = _first_angle()
    entries = [(RADIUS, 0)]
    x, y = cosine, sine
    for _ in range(2 ** (ANGLE_BITS - 2) - 1):
        entries.append((x >> shift, y >> shift))
        x, y = (x * cosine - y * sine) // one, (x * sine + y * cosine) // one
    return entries


@functools.cache
def circle() -> tuple[Integers, Integers]:
    """Cosines and sines of the angles 2πi/2¹⁶ in units of 1/RADIUS, cos² + sin² ≤ RADIUS² for each: two of (2¹⁶,).

    >>> cosines, sines = circle()
    >>> int((cosines**2 + sines**2).max()) == RADIUS**2
    True
    """
    quarter = np.array(_first_quarter(), dtype=np.int64)
    x, y = quarter[:, 0], quarter[:, 1]
    cosines, sines = np.concatenate([x, -y, -x, y]), np.concatenate([y, x, -y, -x])
    for table in (cosines, sines):
        table.setflags(write=False)
    return cosines, sines


@functools.cache
def packed_circle() -> Integers:
    """cos·2³² + sin in one word, so that one look-up and one addition serve both: (2¹⁶,)."""
    cosines, sines = circle()
    packed: Integers = (cosines << 32) + sines
    packed.setflags(write=False)
    return packed


def unpack(sums: Integers) -> tuple[Integers, Integers]:
    """The sums of cosines and of sines from sums of at most `ROWS_PER_SUM` packed entries."""
    sines = ((sums + _HALF_WORD) & (2 * _HALF_WORD - 1)) - _HALF_WORD
    return (sums - sines) >> 32, sines
