"""Arithmetic on float64 that knows how far off rounding may have taken it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.arrays import Floats

Flags: TypeAlias = NDArray[np.bool_]

_UNIT = 2.0**-52  # twice the relative error of one rounding, so that the bounds may be rounded themselves
_LEAST = 2.0**-1070  # and some of the smallest floats, where errors are no longer relative


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rounded:
    """Numbers, and how far from them the numbers without rounding may be: (n,) or () each. NaN is NULL.

    0.1 + 0.2 is not 0.3 in float64, but it is within the slack of it; so are the parts of a total in euros and cents.
    What is not finite after an operation is NULL, and so is a quotient whose divisor may be 0.
    """

    values: Floats
    slack: Floats

    @classmethod
    def written(cls, values: Floats) -> "Rounded":
        """Numbers as they were written in decimals: each float64 is the nearest one."""
        return cls(values=values, slack=np.where(np.isinf(values), 0.0, _UNIT * np.abs(values) + _LEAST))

    @classmethod
    def _computed(cls, values: Floats, slack: Floats) -> "Rounded":
        room = slack + _UNIT * np.abs(values) + _LEAST
        return cls(values=np.where(np.isfinite(values) & np.isfinite(room), values, np.nan), slack=room)

    def combine(self, sign: str, other: "Rounded") -> "Rounded":
        """The sum, difference, product or quotient."""
        with np.errstate(all="ignore"):
            return self._computed(*_COMBINE[sign](self, other))

    def compare(self, operator: str, other: "Rounded") -> pa.Array:
        """Of each row true, false or null. Numbers are equal if rounding alone may part them."""
        with np.errstate(all="ignore"):
            gap = np.atleast_1d(self.values - other.values)
            same = np.abs(gap) <= self.slack + other.slack
        return pa.array(_COMPARE[operator](gap, same), mask=np.isnan(gap))


def _sum(left: Rounded, right: Rounded) -> tuple[Floats, Floats]:
    return left.values + right.values, left.slack + right.slack


def _difference(left: Rounded, right: Rounded) -> tuple[Floats, Floats]:
    return left.values - right.values, left.slack + right.slack


def _product(left: Rounded, right: Rounded) -> tuple[Floats, Floats]:
    slack = left.slack * np.abs(right.values) + right.slack * np.abs(left.values) + left.slack * right.slack
    return left.values * right.values, slack


def _quotient(left: Rounded, right: Rounded) -> tuple[Floats, Floats]:
    """With x, y off by at most r, s: |x/y − x̃/ỹ| ≤ (r + s·|x̃/ỹ|) / (|ỹ| − s)."""
    least = np.abs(right.values) - right.slack
    quotient = np.where(least > 0.0, left.values / right.values, np.nan)
    return quotient, (left.slack + right.slack * np.abs(quotient)) / least


_COMBINE: Mapping[str, Callable[[Rounded, Rounded], tuple[Floats, Floats]]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "/": _quotient,
}
_COMPARE: Mapping[str, Callable[[Floats, Flags], Flags]] = {
    "==": lambda gap, same: same,
    "!=": lambda gap, same: ~same,
    "<": lambda gap, same: (gap < 0.0) & ~same,
    "<=": lambda gap, same: (gap < 0.0) | same,
    ">": lambda gap, same: (gap > 0.0) & ~same,
    ">=": lambda gap, same: (gap > 0.0) | same,
}
