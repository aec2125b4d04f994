"""Whether a value is of the type that a class declares for it. Python does not ask; of a stranger's file one must."""

import functools
import math
import types
import typing
from collections.abc import Hashable
from typing import Any, Union, get_args, get_origin

import numpy as np

_LARGEST_INTEGER = 2**256  # of a plain number; noisy integers have arrays of their own
_PLAIN = (str, int, float, bool, type(None))


def is_declared(cls: type, name: str, value: Any) -> bool:
    """Whether `value` may be the field `name` of a dataclass.

    >>> from kernelease.seeds import PublicSeed
    >>> is_declared(PublicSeed, "value", 7), is_declared(PublicSeed, "value", "7")
    (True, False)
    """
    hints = _hints(cls)
    return name in hints and conforms(value, hints[name])


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def conforms(value: Any, hint: Any) -> bool:
    """Whether a value read from JSON is of a type: a class, a union, a tuple, an array. All other types it refuses.

    >>> conforms((1, 2.5), tuple[float, ...]), conforms(True, int), conforms(None, str | None)
    (True, False, True)
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(conforms(value, option) for option in inner)
    if origin is tuple:
        return _is_tuple(value, inner)
    if origin is np.ndarray:
        return _is_array(value, inner[1])
    if hint in _CHECKS:
        return bool(_CHECKS[hint](value))
    return isinstance(hint, type) and isinstance(value, hint)


def _is_tuple(value: Any, inner: tuple[Any, ...]) -> bool:
    if not isinstance(value, tuple):
        return False
    if len(inner) == 2 and inner[1] is Ellipsis:
        return all(conforms(item, inner[0]) for item in value)
    return len(value) == len(inner) and all(map(conforms, value, inner))


def _is_array(value: Any, dtype: Any) -> bool:
    """An array of that type of cells. Arrays of objects hold Python's integers; of `Any`, plain cells."""
    if not isinstance(value, np.ndarray):
        return False
    (wanted,) = get_args(dtype)
    if wanted is np.object_:
        return value.dtype == object and all(type(item) is int for item in value.ravel())
    return wanted is Any or value.dtype == np.dtype(wanted)


def _is_integer(value: Any) -> bool:
    return type(value) is int and abs(value) < _LARGEST_INTEGER


def _is_text(value: Any) -> bool:
    return type(value) is str and value.encode(errors="replace").decode() == value  # no lone surrogate


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN and not (isinstance(value, float) and math.isnan(value))


_CHECKS: dict[Any, Any] = {
    bool: lambda value: type(value) is bool,
    int: _is_integer,
    float: lambda value: type(value) is float or _is_integer(value),
    str: _is_text,
    type(None): lambda value: value is None,
    Hashable: _is_plain,
}
