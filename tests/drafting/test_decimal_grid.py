"""The grid of private bounds: one place for every cell, in order, at round numbers."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from kernelease.drafting.bounds import (
    FURTHEST,
    NO_NUMBER,
    SIZES,
    bins,
    bins_of,
    codes_of,
    highest,
    least_whole,
    lowest,
    place_of,
    places_in,
    stretches,
)

PLACES = st.integers(-FURTHEST, FURTHEST)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_lies_in_its_place(number):
    place = place_of(number)
    size = min(max(abs(number), 0.0), float(SIZES[-1]))
    assert lowest(abs(place)) <= size <= highest(abs(place))
    assert codes_of(pa.array([number]))[0] // 2 == place


@given(PLACES)
def test_places_are_mirrored_and_follow_each_other(place):
    assert lowest(-place) == -highest(place)
    if place < FURTHEST:
        assert highest(place) == lowest(place + 1)


def test_every_cell_has_exactly_one_code():
    cells = [0.0, -0.0, 1.0, -1.0, 5e-324, -1e-300, 1e308, float("inf"), float("-inf"), float("nan"), None]
    codes = codes_of(pa.array(cells))
    assert codes[0] == codes[1] == 0
    assert codes[9] == codes[10] == NO_NUMBER
    assert codes[6] == codes[7] == 2 * FURTHEST
    assert codes[8] == -2 * FURTHEST
    assert len(set(codes[2:6].tolist())) == 4
    assert abs(codes[:9]).max() < NO_NUMBER


@pytest.mark.parametrize("array", [pa.array(["1", "x", ""]), pa.array([True, None]), pa.array([b"\xff"]), pa.nulls(2)])
def test_no_type_raises(array):
    assert len(codes_of(array)) == len(array)


@given(st.integers(-(10**6), 10**6))
def test_whole_numbers_are_told_apart_from_others(number):
    whole, broken = codes_of(pa.array([float(number), number + 0.5])).tolist()
    assert (whole % 2, broken % 2) == (0, 1)


@given(st.integers(-999, 999))
def test_whole_numbers_of_three_digits_are_the_least_and_the_most_of_their_place(number):
    assert least_whole(place_of(float(number))) == number == -least_whole(-place_of(float(number)))


@given(PLACES)
def test_bins_part_the_places(place):
    number = int(bins_of(np.array([place]))[0])
    first, last = places_in(number)
    assert first <= place <= last
    assert abs(number) <= len(bins())


@given(PLACES, PLACES, st.integers(2, 30))
def test_stretches_part_what_they_are_made_of(one, other, most):
    first, last = min(one, other), max(one, other)
    parts = stretches(first, last, most)
    assert parts[0][0] == first
    assert parts[-1][1] == last
    assert all(before[1] + 1 == after[0] for before, after in itertools.pairwise(parts))
    assert len(parts) <= most + 4  # zero, and what is left over at either end and beside zero


@given(st.integers(-5, 17), st.sampled_from([1, 2, 5]), st.sampled_from([-1, 1]))
def test_stretches_of_a_bin_are_of_one_round_width(power, digit, sign):
    first, last = places_in(sign * int(bins_of(np.array([place_of(float(f"{digit}e{power}"))]))[0]))
    widths = [highest(high) - lowest(low) for low, high in stretches(first, last, 5)]
    assert len(widths) in {3, 5}
    assert max(widths) == pytest.approx(min(widths))
    assert any(math.isclose(widths[0], float(f"{m}e{k}")) for m in (1, 2, 5) for k in (power - 2, power - 1, power))
