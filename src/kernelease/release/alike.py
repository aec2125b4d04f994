"""Whether what was computed twice is the same: to the bit on one kind of machine, up to rounding on two kinds."""

import ctypes
import dataclasses
import math
import os
import platform
from enum import Enum
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa

ROUNDING = 1e-6  # relative: what another order of additions does to a fit, and far below what matters
EXACT = 0.0  # nothing: the same program on the same kind of machine adds in the same order
_LONGEST = 160  # characters in which a kind of machine is named
_BLAS = ("scipy_openblas_get_{}64_", "scipy_openblas_get_{}", "openblas_get_{}64_", "openblas_get_{}")


@cache
def this_machine() -> str:
    """What decides how floats are rounded here: processor, linear algebra and its threads, NumPy, SciPy, C library.

    Two machines of which this is the same give the same bits. Where NumPy has another linear algebra than OpenBLAS,
    or a C library does not say its name, it stays unnamed.
    """
    core = np._core._multiarray_umath  # type: ignore[attr-defined]  # NumPy's own switches have no public name
    widest = [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]
    blas = _ask_blas(core.__file__)
    libc = "" if "CS_GNU_LIBC_VERSION" not in os.confstr_names else os.confstr("CS_GNU_LIBC_VERSION") or ""
    parts = [platform.machine(), *widest[-1:], blas, libc, f"numpy {np.__version__}", f"scipy {version('scipy')}"]
    return ", ".join(part for part in parts if part)[:_LONGEST]


def _ask_blas(library: str) -> str:
    """The processor that OpenBLAS takes this one for, and on how many threads it works."""
    try:
        loaded = ctypes.CDLL(library)
        name = next(name for name in _BLAS if hasattr(loaded, name.format("corename")))
        core = getattr(loaded, name.format("corename"))
        core.restype = ctypes.c_char_p
        threads = int(getattr(loaded, name.format("num_threads"))())
        return f"OpenBLAS {core().decode()} × {threads}"
    except (OSError, StopIteration, AttributeError, UnicodeDecodeError):
        return ""


def is_machine(text: str) -> bool:
    """Whether a text can be the name of a kind of machine: one line, not long."""
    return len(text) <= _LONGEST and text.isprintable()


def rounding_since(machine: str) -> float:
    """How far numbers may be off that were made on some kind of machine: not at all, if it is this one."""
    return EXACT if machine == this_machine() else ROUNDING


def alike(one: Any, other: Any, rounding: float = EXACT) -> bool:
    """Whether two objects are of one kind and hold the same, floats in them to the bit, or up to a relative rounding.

    An array is compared on the scale of its largest number, so that small whole numbers have to be the same.

    >>> alike(np.array([1.0, 1e-9]), np.array([1.0, 0.0])), alike(np.array([1.0, 1e-9]), np.array([1.0, 0.0]), ROUNDING)
    (False, True)
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return _same_arrays(one, other, rounding)
    if isinstance(one, float):
        return one.hex() == other.hex() or (rounding > 0.0 and math.isclose(one, other, rel_tol=rounding))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(alike, one, other, [rounding] * len(one)))
    if dataclasses.is_dataclass(one) and not isinstance(one, Enum):
        names = [field.name for field in dataclasses.fields(one) if field.init]
        return all(alike(getattr(one, name), getattr(other, name), rounding) for name in names)
    return bool(one == other)


def same_rows(one: pa.Table, other: pa.Table, *, fitted: frozenset[str] = frozenset(), rounding: float = EXACT) -> bool:
    """Whether two tables hold the same rows, to the bit.

    `fitted` columns (weights, coordinates of points) come from a fit, and may differ by a rounding. Declared columns
    hold values of a list or grid, from which rounding does not move them.
    """
    if one.schema != other.schema or one.num_rows != other.num_rows:
        return False
    return all(
        _same_columns(one.column(at), other.column(at), rounding if name in fitted else EXACT)
        for at, name in enumerate(one.column_names)
    )


def _same_columns(one: pa.ChunkedArray, other: pa.ChunkedArray, rounding: float) -> bool:
    if not pa.types.is_floating(one.type):
        return bool(one.equals(other))
    if not one.is_null().equals(other.is_null()):
        return False
    return _same_arrays(one.drop_null().to_numpy(), other.drop_null().to_numpy(), rounding)


def _same_arrays(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], rounding: float) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype == object:
        return bool(one.tolist() == other.tolist())
    if one.tobytes() == other.tobytes():
        return True
    return rounding > 0.0 and one.dtype.kind in "fiu" and _close(one, other, rounding)


def _close(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], rounding: float) -> bool:
    first, second = (array.astype(np.float64) for array in (one, other))
    return bool(np.allclose(first, second, rtol=rounding, atol=rounding * float(np.abs(second).max(initial=0.0))))
