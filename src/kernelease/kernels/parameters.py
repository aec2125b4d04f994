"""Checks of declared parameters. They are public, so the messages may show them."""

import numbers
from typing import TypeGuard

from kernelease.errors import ParameterError

SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100  # the square of a scale, and one over it, is far from under- and overflow


def check_scale(name: str, value: object) -> None:
    """Raise unless `value` is a positive number whose square can be computed with."""
    if not (_is_number(value) and SMALLEST_SCALE <= value <= LARGEST_SCALE):
        raise ParameterError(f"{name} must be a positive, finite number from 1e-100 to 1e100, got {value!r}.")


def check_number(name: str, value: object, smallest: float, largest: float) -> None:
    """Raise unless smallest ≤ value ≤ largest."""
    if not (_is_number(value) and smallest <= value <= largest):
        raise ParameterError(f"{name} must be a number from {smallest:g} to {largest:g}, got {value!r}.")


def check_integer(name: str, value: object, smallest: int, largest: int) -> None:
    """Raise unless `value` is an integer with smallest ≤ value ≤ largest."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not smallest <= int(value) <= largest:
        raise ParameterError(f"{name} must be an integer from {smallest} to {largest}, got {value!r}.")


def check_tuple(name: str, value: object, fewest: int, most: int) -> None:
    """Raise unless `value` is a tuple of `fewest` to `most` things."""
    if not isinstance(value, tuple):
        raise ParameterError(f"{name} must be a tuple, got {type(value).__name__}.")
    if not fewest <= len(value) <= most:
        wanted = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        raise ParameterError(f"{name} must be a tuple of length {wanted}, got {len(value)}.")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
