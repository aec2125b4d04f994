"""The attackers on low bits see what they are meant to see in the textbook's numbers."""

import numpy as np

from audits.low_bits import lowest_bit, reachable, same_histogram
from audits.sums import beyond, too_long
from tests.attacks import naive

GENERATOR = np.random.default_rng(4)


def test_everything_that_the_textbook_draws_around_zero_is_reachable() -> None:
    drawn = naive.laplace(0.0, 1.0, 3_000, GENERATOR)
    assert reachable(drawn, 1.0).all()


def test_much_of_what_it_draws_around_one_is_not() -> None:
    drawn = naive.laplace(1.0, 1.0, 3_000, GENERATOR)
    assert reachable(drawn, 1.0).mean() < 0.9


def test_the_lowest_bit() -> None:
    numbers = np.array([1.0, 3.0, 0.5, -0.75, 12.0, 0.0, 2.0**-1074, 1.0 + 2.0**-52])
    assert lowest_bit(numbers).tolist() == [0, 0, -1, -2, 2, 0, -1074, -52]


def test_histograms_that_differ_are_told_apart() -> None:
    flat, bent = np.full(16, 1_000), np.r_[np.full(15, 900), 2_500]
    assert same_histogram(flat, flat) == 1.0
    assert same_histogram(flat, bent) < 1e-6


def test_lengths_are_compared_without_rounding() -> None:
    assert beyond([[3, 4]], step=1, bound=5.0) == 0
    assert beyond([[3, 4], [2**60, 1]], step=1, bound=5.0) == 1
    assert too_long(np.array([[0.6, 0.8], [np.nan, 0.0], [1.0, 0.0]]), 1.0) == 2  # the doubles 0.6, 0.8 make 1 + 2⁻⁵⁴
