"""What every kernel must satisfy, as a check for those who write one."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelease.arrays import Floats, Rows, as_rows
from kernelease.kernels.kernel import Kernel

_NUMBERS = (np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, -2.2e-308, 1e-160, 1e150, -1e308, 1.0 + 2.0**-52)
_OBJECTS: tuple[Any, ...] = (
    *(None, True, 10**400, -(10**400), 1j, np.float32("nan"), np.datetime64("NaT", "s"), object()),
    *("", "text", "nan", "1e999", " 7 ", "\ud800", "\x02\x03\x00", "é" * 5000, b"", b"\xff\x00"),
    *((), [], [1.0], {}, {"a": 1}, np.zeros(3), ([],)),
)


def check_kernel(kernel: Kernel, rows: Rows) -> None:
    """Raise an `AssertionError` that says which property of a kernel fails on these public rows, or on hostile ones.

    Admission is total, row by row and idempotent; the Gram matrix is symmetric, positive semidefinite, within `bound`,
    of the claimed sign, as smooth as `lipschitz` says where rows are numbers; and k(x, y) depends on x and y alone, to
    the bit. Some 30 varied rows are a good test; the check takes time of order n³.

    >>> from kernelease.kernels.numeric import Gaussian
    >>> check_kernel(Gaussian(lengthscale=1.0), np.linspace(0.0, 3.0, 20).reshape(10, 2))
    """
    given = as_rows(rows)
    if len(given) < 2:
        raise AssertionError("check_kernel needs at least two rows to compare.")
    for batch in (given, _hostile_numbers(given), _hostile_objects(given)):
        admitted = _check_admission(kernel, batch)
        _check_values(kernel, admitted)
        _check_independence(kernel, admitted)
        _check_smoothness(kernel, admitted)


def _hostile_numbers(rows: Rows) -> Floats:
    """Rows of the extremes of floating point, then one extreme in each column of an ordinary row."""
    columns = rows.shape[1]
    whole = np.repeat(np.array(_NUMBERS)[:, np.newaxis], columns, axis=1)
    single = np.ones((len(_NUMBERS), columns))
    single[np.arange(len(_NUMBERS)), np.arange(len(_NUMBERS)) % columns] = _NUMBERS
    return np.concatenate([whole, single])


def _hostile_objects(rows: Rows) -> Rows:
    """The first row, with one odd cell in each column in turn."""
    hostile = np.repeat(rows[:1].astype(object), len(_OBJECTS) + len(_NUMBERS), axis=0)
    for i, cell in enumerate((*_OBJECTS, *_NUMBERS)):
        hostile[i, i % rows.shape[1]] = cell
    return hostile


def _check_admission(kernel: Kernel, rows: Rows) -> Rows:
    admitted: Rows = _quietly(kernel, "admit", lambda: kernel.admit(rows))
    again = _quietly(kernel, "admit", lambda: kernel.admit(admitted))
    _require(len(admitted) == len(rows), kernel, "admit must return one row for each row")
    _require(
        _same(admitted, again), kernel, "admit must be idempotent: rows admitted twice differ from rows admitted once"
    )
    for i in range(len(rows)):
        alone = kernel.admit(rows[i : i + 1])
        _require(_same(alone, admitted[i : i + 1]), kernel, "admit must treat each row alone: other rows changed a row")
    return admitted


def _check_values(kernel: Kernel, rows: Rows) -> None:
    gram = _quietly(kernel, "gram", lambda: kernel.gram(rows, rows))
    error, bound = kernel.evaluation_error(rows.shape[1]), kernel.bound
    _require(gram.shape == (len(rows), len(rows)), kernel, "gram must have a row for each x and a column for each y")
    _require(np.isfinite(gram).all(), kernel, "gram must be finite for all rows that admit returned")
    _require((abs(gram - gram.T) <= 2 * error).all(), kernel, "gram must be symmetric")
    _require((abs(gram) <= bound + error).all(), kernel, f"|k(x, y)| must be at most bound = {bound:g}")
    _require(not kernel.nonnegative or (gram >= -error).all(), kernel, "k(x, y) must not be negative, as claimed")
    smallest, tolerance = np.linalg.eigvalsh(gram)[0], len(rows) * (error + 2.0**-48 * bound)
    _require(
        smallest >= -tolerance, kernel, f"gram must be positive semidefinite, its smallest eigenvalue is {smallest:.3g}"
    )
    diagonal = _quietly(kernel, "diagonal", lambda: kernel.diagonal(rows))
    _require(np.array_equal(diagonal, gram.diagonal()), kernel, "diagonal must equal the diagonal of gram, to the bit")


def _check_independence(kernel: Kernel, rows: Rows) -> None:
    gram = kernel.gram(rows, rows)
    order = np.random.default_rng(0).permutation(len(rows))
    repeats = 2 + 2**9 // len(rows)
    _same_entries(kernel, kernel.gram(rows[order], rows[order]), gram[np.ix_(order, order)], "in another order")
    _same_entries(kernel, kernel.gram(rows[::2], rows[1::2]), gram[::2, 1::2], "without its neighbours")
    _same_entries(kernel, kernel.gram(np.asfortranarray(rows), rows[::-1]), gram[:, ::-1], "in another memory layout")
    _same_entries(kernel, kernel.gram(rows, np.tile(rows, (repeats, 1))), np.tile(gram, repeats), "among more rows")
    for i in range(len(rows)):
        _same_entries(kernel, kernel.gram(rows[i : i + 1], rows), gram[i : i + 1], "alone")


def _check_smoothness(kernel: Kernel, rows: Rows) -> None:
    if kernel.lipschitz is None or rows.dtype != np.float64 or not np.isfinite(rows).all():
        return
    gram, generator = kernel.gram(rows, rows), np.random.default_rng(0)
    for size in (1e-6, 1e-3, 0.1, 1.0, 10.0):
        moved = kernel.admit(rows + size * generator.standard_normal(rows.shape))
        change = abs(kernel.gram(moved, rows) - gram).max(axis=1)
        allowed = kernel.lipschitz * np.sqrt(((moved - rows) ** 2).sum(axis=1))
        within = change <= allowed * (1 + 1e-9) + 2 * kernel.evaluation_error(rows.shape[1])
        _require(within.all(), kernel, f"k must change by at most lipschitz = {kernel.lipschitz:g} times the distance")


def _quietly(kernel: Kernel, method: str, call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return call()
        except Exception as error:
            sentence = f"{method} must not raise or warn for a value, but there was {type(error).__name__}"
            raise AssertionError(f"{type(kernel).__name__}: {sentence}.") from error


def _same_entries(kernel: Kernel, found: Floats, expected: Floats, circumstance: str) -> None:
    sentence = f"k(x, y) must depend on x and y alone, to the bit, but it changed for a row {circumstance}"
    _require(found.tobytes() == expected.tobytes(), kernel, sentence)


def _same(a: Rows, b: Rows) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype != np.dtype(object):
        return a.tobytes() == b.tobytes()
    return all(map(_same_cell, a.flat, b.flat))


def _same_cell(p: Any, q: Any) -> bool:
    both_missing = isinstance(p, float) and isinstance(q, float) and math.isnan(p) and math.isnan(q)
    return p is q or both_missing or (type(p) is type(q) and bool(p == q))


def _require(holds: bool | np.bool_, kernel: Kernel, sentence: str) -> None:
    if not holds:
        raise AssertionError(f"{type(kernel).__name__}: {sentence}.")
