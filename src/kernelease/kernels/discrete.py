"""Kernels of one column of categories or of text."""

import enum
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import chain
from typing import ClassVar, Final, final

import numpy as np
from scipy.sparse import csr_array

from kernelease.arrays import Floats, Integers, Rows, block_slices
from kernelease.errors import ParameterError, check_integer, check_tuple
from kernelease.kernels.elementary import sum_above
from kernelease.kernels.kernel import Kernel, as_rows
from kernelease.kinds import Kind

# ---- Kernels of one column of categories, over a declared list of them.
#
# Cells may be anything: strings, numbers, None, NaN, objects that can't be hashed. What is not on the list has a
# place fixed in advance, so no cell raises, and no category is read from the data.


class Other(Kind, enum.Enum):
    """One value: what is outside a declared list."""

    OTHER = "other"


OTHER: Final = Other.OTHER
"""The cell that stands for everything outside a declared list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Categorical(Kernel):
    """A kernel on one column of categories. `values` is the declared list; NaN counts as None."""

    values: tuple[Hashable, ...]
    _codes: dict[Hashable, int] = field(init=False, repr=False, compare=False)

    lipschitz: ClassVar[float | None] = None

    def __post_init__(self) -> None:
        check_tuple(f"{type(self).__name__}: values", self.values, 1, 2**31)
        try:
            codes = {_key(value): code for code, value in enumerate(self.values)}
        except TypeError as error:
            raise ParameterError(f"{type(self).__name__}: every category must be hashable: {error}.") from error
        if len(codes) < len(self.values):
            raise ParameterError(
                f"{type(self).__name__}: values must be distinct, got {len(self.values)} of which {len(codes)} differ "
                "(1, 1.0 and True are one value; so are NaN and None)."
            )
        object.__setattr__(self, "_codes", codes)

    @property
    @abstractmethod
    def unknown(self) -> int:
        """The code of cells outside the list."""

    def evaluation_error(self, columns: int) -> float:
        return 0.0  # a look-up

    def codes(self, rows: Rows) -> Integers:
        """Place of each cell in `values`, `unknown` for the others: (n, 1) → (n,)."""
        cells = as_rows(rows)
        if cells.shape[1] != 1:
            raise ParameterError(
                f"{type(self).__name__}: rows must have one column (pick it with OnColumns), got {cells.shape[1]}."
            )
        return np.fromiter((self._code(cell) for cell in cells[:, 0]), dtype=np.int64, count=len(cells))

    def admit(self, rows: Rows) -> Rows:
        """Cells as they stand in `values`, with OTHER or the default in place of unknown ones: (n, 1) objects."""
        palette = np.empty(len(self.values) + 1, dtype=object)
        for code, value in enumerate((*self.values, OTHER)):
            palette[code] = value
        return palette[self.codes(rows)][:, np.newaxis]

    def _code(self, cell: object) -> int:
        try:
            return self._codes.get(_key(cell), self.unknown)
        except Exception:  # noqa: BLE001, RUF100  # a cell's own __hash__ or __eq__ must not decide whether there is an error
            return self.unknown


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Kronecker(Categorical):
    """k(x, y) = 1 if both are the same category, else 0. Cells outside `values` are one more category, OTHER.

    >>> Kronecker(values=("red", "blue")).gram([["red"], ["grey"]], [["red"], ["blue"], [None]])
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """

    bound: ClassVar[float] = 1.0
    nonnegative: ClassVar[bool] = True

    @property
    def unknown(self) -> int:
        return len(self.values)

    def gram(self, x: Rows, y: Rows) -> Floats:
        return np.equal.outer(self.codes(x), self.codes(y)).astype(np.float64)

    def diagonal(self, x: Rows) -> Floats:
        return np.ones(len(self.codes(x)))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity(Categorical):
    """k(x, y) = the declared likeness of two categories: `matrix[i][j]` for `values[i]` and `values[j]`.

    The matrix must be symmetric and positive semidefinite. Cells outside `values` count as `default`, one of them.

    >>> shirt = Similarity(values=("S", "M", "L"), matrix=((1, 0.5, 0), (0.5, 1, 0.5), (0, 0.5, 1)), default="M")
    >>> shirt.gram([["S"], ["XXL"]], [["L"]])
    array([[0. ],
           [0.5]])
    """

    matrix: tuple[tuple[float, ...], ...]
    default: Hashable
    _slack: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Categorical.__post_init__(self)
        matrix = _checked_similarity(self.matrix, len(self.values))
        # The check lets eigenvalues pass that are a little below 0, so the kernel in earnest is matrix + slack·I, which
        # has none; what is computed is off by `slack` on the diagonal (docs/proofs/numerics.md).
        object.__setattr__(self, "_slack", 2.0 * _eigenvalue_tolerance(matrix))
        object.__setattr__(self, "matrix", tuple(tuple(row) for row in matrix.tolist()))
        try:
            known = _key(self.default) in self._codes
        except TypeError:
            known = False
        if not known:
            raise ParameterError(
                f"Similarity: default must be one of the {len(self.values)} values, got {self.default!r}."
            )

    @property
    def unknown(self) -> int:
        return self._codes[_key(self.default)]

    @property
    def bound(self) -> float:
        largest = max(abs(likeness) for row in self.matrix for likeness in row)  # on the diagonal but for last bits
        return sum_above((largest, self._slack))

    def evaluation_error(self, columns: int) -> float:
        return self._slack

    @property
    def nonnegative(self) -> bool:
        return all(likeness >= 0.0 for row in self.matrix for likeness in row)

    def gram(self, x: Rows, y: Rows) -> Floats:
        return np.array(self.matrix)[np.ix_(self.codes(x), self.codes(y))]

    def diagonal(self, x: Rows) -> Floats:
        return np.array(self.matrix).diagonal()[self.codes(x)]


def _key(cell: Hashable) -> Hashable:
    return None if isinstance(cell, float | np.floating) and math.isnan(cell) else cell


def _checked_similarity(declared: object, size: int) -> Floats:
    try:
        matrix = np.array(declared, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"Similarity: matrix must be a square of numbers: {error}.") from error
    if matrix.shape != (size, size):
        raise ParameterError(f"Similarity: matrix must be {size} by {size}, as there are values, got {matrix.shape}.")
    if not np.isfinite(matrix).all() or not 0.0 < abs(matrix).max() <= 1e100:
        raise ParameterError("Similarity: matrix must be of finite numbers up to 1e100, not all 0.")
    if not np.array_equal(matrix, matrix.T):
        raise ParameterError("Similarity: matrix must be symmetric; take the mean of it and its transpose.")
    eigenvalues = np.linalg.eigvalsh(matrix)
    if eigenvalues[0] < -_eigenvalue_tolerance(matrix):
        raise ParameterError(
            f"Similarity: matrix must be positive semidefinite, but its smallest eigenvalue is {eigenvalues[0]:.3g}. "
            f"Add at least {-eigenvalues[0]:.3g} to the diagonal, or make distant categories less alike."
        )
    return matrix


def _eigenvalue_tolerance(matrix: Floats) -> float:
    """What rounding in eigvalsh can make of an eigenvalue 0: size·2⁻⁴⁸ of the largest, or of the largest row sum."""
    return float(len(matrix) * 2.0**-48 * np.abs(matrix).sum(axis=1).max())


# ---- Kernels of one column of text.


_START, _END = "\x02", "\x03"  # "start of text" and "end of text"
_PAIRS = 2**20  # pairs at once


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Spectrum(Kernel):
    """The normalised spectrum kernel, k(x, y) = a·b/√(a·a × b·b), where a and b count the runs of n characters.

    Text is cut after `max_length` characters and given n − 1 (at least 1) boundary characters at both ends, so that
    the shortest text has a run too. What is not text (None, NaN, bytes) counts as empty.

    >>> Spectrum(n=2).gram([["anna"]], [["anna"], ["ann"], [None]]).round(3)
    array([[1.   , 0.671, 0.   ]])
    """

    n: int = 3
    max_length: int = 256

    bound: ClassVar[float] = 1.0
    nonnegative: ClassVar[bool] = True
    lipschitz: ClassVar[float | None] = None

    def __post_init__(self) -> None:
        check_integer("Spectrum: n", self.n, 1, 32)
        check_integer("Spectrum: max_length", self.max_length, 1, 4096)

    def evaluation_error(self, columns: int) -> float:
        # a·b, a·a and b·b are exact integers, (a·a)(b·b) < (4096 + 64)⁴ < 2⁵³ too; then one root and one quotient.
        return 2.0**-51

    def admit(self, rows: Rows) -> Rows:
        """Text of at most `max_length` characters: (n, 1) objects."""
        cells = as_rows(rows)
        if cells.shape[1] != 1:
            raise ParameterError(f"Spectrum: rows must have one column (pick it with OnColumns), got {cells.shape[1]}.")
        admitted = np.empty(cells.shape, dtype=object)
        admitted[:, 0] = [self._text(cell) for cell in cells[:, 0]]
        return admitted

    def gram(self, x: Rows, y: Rows) -> Floats:
        runs_x, runs_y = self._runs(x), self._runs(y)
        vocabulary = {run: code for code, run in enumerate(dict.fromkeys(chain.from_iterable(runs_y)))}
        counts_x, counts_y = _matrix(runs_x, vocabulary), _matrix(runs_y, vocabulary).T.tocsr()
        norms_x, norms_y = _squared_norms(runs_x), _squared_norms(runs_y)
        result = np.empty((len(runs_x), len(runs_y)))
        for rows in block_slices(len(runs_x), max(1, _PAIRS // max(1, len(runs_y)))):
            inner = (counts_x[rows] @ counts_y).toarray()
            np.divide(inner, np.sqrt(np.multiply.outer(norms_x[rows], norms_y)), out=result[rows])
        return result

    def diagonal(self, x: Rows) -> Floats:
        return np.ones(len(self.admit(x)))

    def _text(self, cell: object) -> str:
        return str.__getitem__(cell, slice(self.max_length)) if isinstance(cell, str) else ""

    def _runs(self, rows: Rows) -> list[Counter[str]]:
        pad, n = max(1, self.n - 1), self.n
        padded = (_START * pad + text + _END * pad for text in self.admit(rows)[:, 0])
        return [Counter(text[i : i + n] for i in range(len(text) - n + 1)) for text in padded]


def _squared_norms(runs: list[Counter[str]]) -> Floats:
    return np.array([sum(count * count for count in counter.values()) for counter in runs], dtype=np.float64)


def _matrix(runs: list[Counter[str]], vocabulary: dict[str, int]) -> csr_array:
    """Counts of the runs in the vocabulary, as integers: (n, vocabulary). Other runs meet nothing on the other side."""
    known = [[(vocabulary[run], count) for run, count in counter.items() if run in vocabulary] for counter in runs]
    ends = np.cumsum([0, *(len(pairs) for pairs in known)])
    flat = np.array(list(chain.from_iterable(known)), dtype=np.int64).reshape(-1, 2)
    return csr_array((flat[:, 1], flat[:, 0], ends), shape=(len(runs), len(vocabulary)))
