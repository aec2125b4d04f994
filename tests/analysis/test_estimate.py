"""How an estimate prints, rounds and converts."""

import math
from dataclasses import replace

import pytest

from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.inference import UnknownLimits


@pytest.mark.parametrize(
    ("value", "noise", "told"),
    [
        (38.5771, 0.108, "38.58 ± 0.21"),
        (0.123456, 0.000321, "0.12346 ± 0.00063"),
        (31204.4, 12.3, "31,204 ± 24"),
        (5.0, 0.0, "5 ± 0"),
        (-3.0, 1.0, "-3.0 ± 2.0"),
        (0.4, 0.0, "0.4 ± 0.0"),
    ],
)
def test_it_prints_two_digits_of_its_error(value, noise, told):
    assert str(Estimate.normal(value, noise=noise)) == told


def test_an_interval_that_is_not_symmetric_shows_both_ends():
    assert str(Estimate.normal(0.01, noise=0.02, within=(0.0, 1.0))) == "0.010 (0.000 to 0.049)"


def test_an_interval_without_ends_says_so():
    estimate = Estimate(value=3.0, parts=Parts(noise=math.inf), limits=UnknownLimits())
    assert str(estimate) == "3 (not bounded)"
    assert estimate.says_little
    assert "can't answer" in estimate.summary()
    assert str(Estimate(value=math.nan, parts=Parts(noise=1.0), limits=UnknownLimits())) == "unknown"
    assert str(Estimate(value=math.nan, parts=Parts(noise=1.0), limits=UnknownLimits((0.0, 2.0)))) == "unknown (0 to 2)"


def test_whole_numbers_have_no_decimals():
    """The quantile of an integer, of which value and ends are integers."""
    limits = UnknownLimits((59.0, 61.0))
    assert str(Estimate(value=60.0, parts=Parts(noise=0.5), limits=limits)) == "60 ± 1"
    assert str(Estimate(value=60.5, parts=Parts(noise=0.5), limits=limits)) == "60.5 (59.0 to 61.0)"
    cents = UnknownLimits((3.52, 3.53))
    assert str(Estimate(value=3.52, parts=Parts(noise=0.01), limits=cents)) == "3.52 (3.52 to 3.53)"


def test_parts_add_up():
    estimate = Estimate.normal(1.0, noise=3.0, sampling=4.0, bias=0.5, target=Target.POPULATION, about="x")
    estimate = replace(estimate, remark="r")
    assert estimate.standard_error == 5.0
    assert float(estimate) == 1.0
    low, high = estimate.interval(0.95)
    assert high - 1.0 == pytest.approx(1.0 - low)
    assert 0.5 + 1.6448 * 5.0 < high - 1.0 < 0.5 + 1.96 * 5.0
    assert estimate.margin() == pytest.approx(high - 1.0)
    assert "population" in estimate.summary()
    assert estimate.summary().endswith("r")
    assert "x:" in repr(estimate)


def test_a_share_of_which_more_than_half_is_in_doubt_says_little():
    def share(value, bias, within=(0.0, 1.0)):
        return Estimate.normal(value, noise=0.001, bias=bias, within=within)

    assert share(0.03, 0.016).says_little
    assert share(0.03, 0.016).why == "too little was measured, even without noise"
    assert "can't answer" in share(0.03, 0.016).summary()
    assert not share(0.03, 0.014).says_little
    assert not share(0.0, 0.0).says_little
    assert not share(0.03, 0.016, within=(-1.0, 1.0)).says_little  # near 0, but as well below it: a correlation
    assert share(math.nan, 0.016).says_little


def test_more_noise_never_makes_an_answer_say_more():
    told = [Estimate.normal(0.03, noise=noise, bias=0.02, within=(0.0, 1.0)).says_little for noise in (0.0, 0.01, 1.0)]
    assert all(told)


def test_html_is_escaped():
    estimate = Estimate.normal(1.0, noise=1.0, about='<script>"&')
    assert "<script>" not in estimate._repr_html_()
    assert "&lt;script&gt;" in estimate._repr_html_()


def test_what_is_computed_is_judged_by_its_parts():
    """A difference of differences of shares widens what is possible, and is judged as each share is."""
    clear, vague = (Estimate.normal(0.5, noise=error, within=(0.0, 1.0)) for error in (0.01, 0.2))
    assert vague.says_little
    assert (clear - vague).says_little
    assert (clear / vague).says_little
    assert not (clear - clear).says_little
    assert not (clear * clear).says_little
    wide = [Estimate.normal(0.5, noise=0.1, within=(0.0, 1.0)) for _ in range(4)]
    assert not any(one.says_little for one in wide)
    assert ((wide[0] - wide[1]) - (wide[2] - wide[3])).says_little
    assert not (clear + 1e-3 * vague).says_little  # a stratum that hardly counts


def test_a_difference_of_means_is_judged_by_the_spread_of_the_column():
    ages = [Estimate.normal(40.0, noise=5.0, within=(0.0, 1000.0)) for _ in range(2)]
    assert not (ages[0] - ages[1]).says_little
    ages = [replace(one, spread=20.0) for one in ages]
    assert (ages[0] - ages[1]).says_little
