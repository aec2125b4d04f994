"""Kernels of one column of text."""

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import final

import numpy as np
from scipy.sparse import csr_array

from kernelease.arrays import Floats, Rows, as_rows, block_slices
from kernelease.errors import ParameterError
from kernelease.kernels.kernel import Kernel
from kernelease.kernels.parameters import check_integer

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

    def __post_init__(self) -> None:
        check_integer("Spectrum: n", self.n, 1, 32)
        check_integer("Spectrum: max_length", self.max_length, 1, 4096)

    @property
    def bound(self) -> float:
        return 1.0

    @property
    def nonnegative(self) -> bool:
        return True

    @property
    def lipschitz(self) -> float | None:
        return None

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
