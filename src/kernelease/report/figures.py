"""Numbers as the page takes them: short enough to be sent, long enough that no shown digit changes."""

import math
from collections.abc import Iterable
from typing import Any

from kernelease.analysis.estimate import Estimate

_DIGITS = 12  # significant ones of a number that the page computes with: it shows no more than six of them


def number(value: float) -> float | int | None:
    """A number for JSON, which has no NaN and no infinity.

    >>> number(3.0), number(0.1 + 0.2), number(math.nan)
    (3, 0.3, None)
    """
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2.0**53 else rounded


def numbers(values: Iterable[float]) -> list[float | int | None]:
    """Several."""
    return [number(float(value)) for value in values]


def figure(estimate: Estimate) -> dict[str, Any]:
    """An estimate: as it prints, the value, the 95 % interval, whether that says little, and what must be known."""
    low, high = estimate.interval()
    shown: dict[str, Any] = {
        "text": str(estimate),
        "value": number(estimate.value),
        "low": number(low),
        "high": number(high),
    }
    if estimate.says_little:
        shown["little"] = True
    if estimate.remark:
        shown["remark"] = estimate.remark
    return shown
