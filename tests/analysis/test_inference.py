"""Critical values, confidence limits, and what a test says."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from kernelease.analysis.estimate import Estimate
from kernelease.analysis.inference import NormalLimits, TestResult, clip_interval, critical_value
from kernelease.errors import ParameterError


def test_critical_values_solve_their_equation():
    for level in (0.5, 0.9, 0.95, 0.99):
        for shift in (0.0, 0.1, 1.0, 5.0, 100.0):
            c = critical_value(level, shift)
            assert norm.cdf(c) - norm.cdf(-c - shift) == pytest.approx(level, abs=1e-6)
    assert critical_value(0.95, laplace=True) == pytest.approx(-math.log(0.05) / math.sqrt(2.0))
    assert critical_value(0.5, laplace=True) == critical_value(0.5)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95.0, math.nan])
def test_levels_that_are_none(level):
    with pytest.raises(ParameterError, match="level must be between 0 and 1"):
        Estimate.normal(1.0, noise=1.0).interval(level)


def test_an_estimate_beyond_what_is_possible_keeps_its_length():
    limits = NormalLimits(low=-0.3, high=-0.3, low_error=0.05, high_error=0.05, within=(0.0, 1.0))
    low, high = limits.at(0.95)
    assert low == 0.0
    assert high == pytest.approx(0.098, abs=1e-3)  # as if the estimate had been 0
    assert clip_interval((0.0, 1.0), (1.2, 1.4)) == pytest.approx((0.9, 1.0))


def test_words():
    result = TestResult.from_draws("A and B are alike", 2.0, np.array([1.0, 3.0, 1.0]))
    assert result.p_value == 0.5
    assert str(result) == "No evidence against: A and B are alike (p = 0.5). That does not prove it."
    least = TestResult.from_draws("A and B are alike", 2.0, np.zeros(99))
    assert str(least) == "Evidence against: A and B are alike (p = 0.01, the least that so many draws can give)."
    assert "<p>" in least._repr_html_()
