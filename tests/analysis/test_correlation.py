"""Correlations: the truth where there is no noise, and intervals that admit what is open."""

import math

import numpy as np
import pytest

from kernelease.analysis.estimate import Target
from kernelease.analysis.ratio_estimator import number_of, product_by_cells
from kernelease.analysis.spread import correlation
from kernelease.errors import ParameterError
from kernelease.estimate.products import product
from tests.analysis.tables import people, simple

ROWS = 4_000
TABLE = people(ROWS, seed=9)
T = {name: TABLE.column(name).to_numpy() for name in TABLE.column_names}
KNOWN = ~np.isnan(T["hours"])
CLEAR = simple(TABLE, 1e-4)


def test_correlation():
    estimate = correlation(CLEAR, "age", "kids")
    assert float(estimate) == pytest.approx(np.corrcoef(T["age"], T["kids"])[0, 1], abs=1e-4)
    assert estimate.margin() < 1e-3
    assert float(correlation(CLEAR, "kids", "age")) == pytest.approx(float(estimate))
    truth = np.corrcoef(T["age"][KNOWN], T["hours"][KNOWN])[0, 1]
    wide = correlation(CLEAR, "age", "hours")
    low, high = wide.interval()
    assert low < truth < high
    assert float(wide) == pytest.approx(truth, abs=0.02)
    population = correlation(simple(TABLE, 1e-4, target=Target.POPULATION), "age", "kids")
    assert population.parts.sampling == pytest.approx((1.0 - float(estimate) ** 2) / math.sqrt(ROWS), rel=0.25)


def test_a_correlation_in_the_noise_may_be_anything():
    estimate = correlation(simple(TABLE, 5_000.0), "age", "kids")
    assert estimate.interval() == (-1.0, 1.0)
    assert estimate.says_little


def test_a_correlation_that_was_not_measured():
    alone = simple(TABLE, sets=[(i,) for i in range(5)])
    assert correlation(alone, "age", "kids").interval() == (-1.0, 1.0)
    rows = simple(TABLE, sets=[(i,) for i in range(5)], rows=TABLE, weights=np.full(ROWS, 1.0 / ROWS))
    assert float(correlation(rows, "age", "kids")) == pytest.approx(np.corrcoef(T["age"], T["kids"])[0, 1])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: correlation(CLEAR, "age", "sex"), "is of type category"),
        (lambda: correlation(CLEAR, "age", "age"), "two different"),
    ],
)
def test_what_is_refused(ask, message):
    with pytest.raises(ParameterError, match=message):
        ask()


def test_a_product_by_cells_is_that_of_their_means_where_each_value_is_a_cell():
    """Of a column whose values are all counted one by one nothing is hidden, so that there is no error inside."""
    marginal = CLEAR.finest(CLEAR.positions(("age", "kids")))
    terms = [number_of(CLEAR, CLEAR.column(name)) for name in ("age", "kids")]
    found, wanted = product_by_cells(CLEAR, terms, marginal), product(CLEAR.moments, terms, marginal)
    assert found.value == pytest.approx(wanted.value)
    assert found.blur == 0.0


def test_of_numbers_within_cells_a_product_may_be_off():
    marginal = CLEAR.finest(CLEAR.positions(("age", "hours")))
    terms = [number_of(CLEAR, CLEAR.column(name)) for name in ("age", "hours")]
    assert product_by_cells(CLEAR, terms, marginal).blur > 0.0
