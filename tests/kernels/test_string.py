"""The spectrum kernel against a plain loop over dictionaries."""

import math
from decimal import Decimal

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.kernels import Spectrum
from tests.kernels.catalogue import column

WORDS = (
    "",
    "a",
    "aa",
    "aaa",
    "banana",
    "bananas",
    "ananas",
    "Ada Lovelace",
    "Lovelace, Ada",
    "\x02",
    "é\ud800",
    "b" * 50,
)


def runs(text: str, n: int) -> dict[str, int]:
    pad = max(1, n - 1)
    padded = "\x02" * pad + text + "\x03" * pad
    counts: dict[str, int] = {}
    for i in range(len(padded) - n + 1):
        counts[padded[i : i + n]] = counts.get(padded[i : i + n], 0) + 1
    return counts


def dot(a: dict[str, int], b: dict[str, int]) -> int:
    return sum(count * b.get(run, 0) for run, count in a.items())


@pytest.mark.parametrize("n", [1, 2, 3, 5, 32])
def test_values_follow_the_definition(n: int) -> None:
    cells = column(*WORDS)
    gram = Spectrum(n=n).gram(cells, cells[::-1])
    for i, x in enumerate(WORDS):
        for j, y in enumerate(reversed(WORDS)):
            a, b = runs(x, n), runs(y, n)
            exact = Decimal(dot(a, b)) / (Decimal(dot(a, a)) * Decimal(dot(b, b))).sqrt()
            assert abs(Decimal(gram[i, j]) - exact) <= Spectrum(n=n).evaluation_error(1)


def test_a_text_is_exactly_like_itself() -> None:
    cells = column(*WORDS)
    assert (Spectrum().gram(cells, cells).diagonal() == 1.0).all()


def test_blocks_change_no_bit() -> None:
    names = column(*(f"{i % 97} {i % 11} street" for i in range(1200)))
    kernel = Spectrum(n=2)
    whole = kernel.gram(names, names)
    assert whole[1100:].tobytes() == kernel.gram(names[1100:], names).tobytes()
    assert whole[:, :3].tobytes() == kernel.gram(names, names[:3]).tobytes()
    assert kernel.gram(names, names[:0]).shape == (1200, 0)
    assert kernel.gram(names[:0], names).shape == (0, 1200)


def test_what_is_not_text_is_empty_and_the_rest_is_cut() -> None:
    cells = column(None, math.nan, b"bytes", 3, [], "abcdef", np.str_("xyz"))
    admitted = Spectrum(max_length=4).admit(cells)
    assert admitted[:, 0].tolist() == ["", "", "", "", "", "abcd", "xyz"]
    assert type(admitted[6, 0]) is str


def test_the_largest_counts_are_exact() -> None:
    kernel = Spectrum(n=32, max_length=4096)
    text = column("a" * 5000, "a" * 4095)
    assert kernel.gram(text, text)[0, 0] == 1.0
    assert kernel.gram(text, text).max() <= 1.0


@pytest.mark.parametrize("bad", [{"n": 0}, {"n": 33}, {"n": 2.5}, {"max_length": 0}, {"max_length": 4097}])
def test_parameters_are_checked(bad: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match="must be an integer from 1 to"):
        Spectrum(**bad)


def test_there_is_one_column() -> None:
    with pytest.raises(ParameterError, match=r"one column \(pick it with OnColumns\), got 2"):
        Spectrum().gram(np.array([["a", "b"]]), np.array([["a", "b"]]))
