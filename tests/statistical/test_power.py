"""Power through a release, on alternatives that the non-private MMD test finds in four of five cases.

`make bench-inference` scales the alternatives and prints all figures. Here each is repeated `REPEATS` times, with fresh
rows and noise: a test of power 0.64 falls below `LEAST`, and one of power 0.8 passes `MOST`, once in ten thousand runs.
"""

import math
from functools import partial

import pytest
from scipy import stats

from benchmarks.inference_tests import ALTERNATIVES, LINKS, independence, plain_two_sample, power, private_two_sample

pytestmark = pytest.mark.statistical

ALARM = 1e-4
REPEATS = 100
LEAST = stats.binom.ppf(ALARM, REPEATS, 0.64) / REPEATS
MOST = stats.binom.isf(ALARM, REPEATS, 0.8) / REPEATS


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.whole][: one != "older"]) for one in ALTERNATIVES]
)
def test_two_sample(name):
    change = {name: ALTERNATIVES[name]}
    assert power(partial(plain_two_sample, **change), REPEATS) <= MOST  # the alternative is not an easy one
    assert power(partial(private_two_sample, epsilon=1.0, **change), REPEATS) >= LEAST


def test_independence():
    run = partial(independence, pair=("ward", "smoker"), strength=LINKS["ward", "smoker"])
    assert power(partial(run, epsilon=math.inf), REPEATS) <= MOST
    assert power(partial(run, epsilon=1.0), REPEATS) >= LEAST


def test_a_smaller_budget_has_less_power():
    """The broken twin: with a tenth of the budget the same alternative is missed too often."""
    run = partial(private_two_sample, epsilon=0.1, older=ALTERNATIVES["older"])
    assert power(run, REPEATS) < LEAST
