"""Hashed n-grams against the normalised spectrum kernel, computed from counts."""

import math
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.errors import ParameterError
from kernelease.features import HashedNgrams
from kernelease.seeds import PublicSeed

WORDS = ("banana", "bandana", "ananas", "an", "", "cabana", "a nana")
TEXTS: Any = np.array([[word] for word in WORDS], dtype=object)


def _spectrum(a: str, b: str) -> float:
    """Σ c_g(a)·c_g(b) over 2-grams, divided by both norms."""
    first, last = (Counter(f"\x02{text}\x03"[i : i + 2] for i in range(len(text) + 1)) for text in (a, b))
    norms = math.sqrt(sum(c * c for c in first.values()) * sum(c * c for c in last.values()))
    return sum(first[gram] * last[gram] for gram in first) / norms


EXACT = np.array([[_spectrum(a, b) for b in WORDS] for a in WORDS])


def _errors(signed: bool, buckets: int, draws: int = 200) -> Any:
    maps = (
        HashedNgrams(n=2, buckets=buckets, max_length=50, signed=signed, seed=PublicSeed(seed)).evaluate(TEXTS)
        for seed in range(draws)
    )
    return np.array([phi @ phi.T - EXACT for phi in maps])


@pytest.mark.slow
def test_many_buckets_give_the_spectrum_kernel() -> None:
    assert np.abs(_errors(False, 2**20, draws=3)).max() < 1e-5


def test_approximation_error_of_signed_hashing_has_no_bias() -> None:
    """Bias, maximum and mean error over 200 draws of 256 buckets: a deviation of at most about √(2/256) = 0.09."""
    errors = _errors(True, 256)
    assert np.abs(errors.mean(axis=0)).max() < 6 * 0.09 / math.sqrt(200)
    assert np.abs(errors).max() < 8 * 0.09
    assert np.abs(errors).mean() < 0.09


def test_approximation_error_of_unsigned_hashing_is_upward() -> None:
    bias = _errors(False, 256).mean(axis=0)
    assert bias.min() > -0.01
    assert 0.0 < bias.max() < 8 / 256 + 0.03


@given(st.text(max_size=100), st.booleans(), st.integers(1, 4))
@settings(deadline=None)
def test_the_norm_is_an_integer_inequality_that_is_nearly_reached(text: str, signed: bool, n: int) -> None:
    phi = HashedNgrams(n=n, buckets=16, max_length=50, signed=signed)
    square = sum(int(v) ** 2 for v in phi.integers(np.array([[text]], dtype=object))[0])
    assert square <= 2**40
    assert square == 0 or square > 2**40 * (1 - 1e-4)


def test_opposite_signs_can_cancel_to_zero() -> None:
    phi = HashedNgrams(n=1, buckets=1, max_length=50, signed=True)
    texts = np.array([[first + last] for first in "abcdef" for last in "ghijkl"], dtype=object)
    assert set(phi.integers(texts).ravel().tolist()) == {-(2**20), 0, 2**20}


def test_long_strings_are_cut() -> None:
    phi = HashedNgrams(n=2, buckets=64, max_length=4)
    long, short, other = phi.integers(np.array([["abcd" * 100_000], ["abcd"], ["abc"]], dtype=object))
    assert np.array_equal(long, short)
    assert not np.array_equal(short, other)


@pytest.mark.parametrize("cell", [None, 3.5, b"abc", float("nan"), ["a"]])
def test_what_is_no_string_counts_as_empty(cell: object) -> None:
    rows = np.empty((2, 1), dtype=object)
    rows[0, 0], rows[1, 0] = cell, ""
    first, last = HashedNgrams(n=2, buckets=64, max_length=4).integers(rows)
    assert np.array_equal(first, last)


@pytest.mark.slow
def test_the_hash_is_the_same_in_another_process() -> None:
    program = (
        "import numpy as np; from kernelease.features import HashedNgrams;"
        "print(HashedNgrams(n=2, buckets=32, max_length=9).total(np.array([['banana']], dtype=object)).tolist())"
    )
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    here = HashedNgrams(n=2, buckets=32, max_length=9).total(np.array([["banana"]], dtype=object)).tolist()
    assert runs == [f"{here}\n"] * 2


@pytest.mark.parametrize(("n", "max_length"), [(0, 5), (2, 0)])
def test_lengths_are_positive(n: int, max_length: int) -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        HashedNgrams(n=n, buckets=8, max_length=max_length)


@pytest.mark.parametrize("buckets", [0, 2**31 + 1])
def test_buckets_are_positive(buckets: int) -> None:
    with pytest.raises(ParameterError, match="buckets must be"):
        HashedNgrams(n=2, buckets=buckets, max_length=5)
