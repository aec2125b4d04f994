"""Quantiles: the truth where there is no noise, and intervals that admit what is open."""

import numpy as np
import pyarrow as pa
import pytest

from kernelease.analysis.estimate import Target
from kernelease.analysis.quantile import quantile
from kernelease.errors import ParameterError
from kernelease.table import Schema
from tests.analysis.tables import people, simple

ROWS = 4_000
TABLE = people(ROWS, seed=9)
T = {name: TABLE.column(name).to_numpy() for name in TABLE.column_names}
CLEAR = simple(TABLE, 1e-4)
NOISY = simple(TABLE, 10.0)


@pytest.mark.parametrize("share", [0.01, 0.25, 0.5, 0.9, 0.999])
def test_quantiles_of_single_values(share):
    truth = np.quantile(T["age"], share, method="inverted_cdf")
    estimate = quantile(CLEAR, "age", share)
    assert estimate.interval() == (truth, truth)
    low, high = quantile(NOISY, "age", share).interval(0.999)
    assert low <= truth <= high
    assert low <= float(quantile(NOISY, "age", share)) <= high


def test_quantiles_within_cells():
    truth = np.nanquantile(T["hours"], 0.5, method="inverted_cdf")
    estimate = quantile(CLEAR, "hours", 0.5)
    low, high = estimate.interval()
    assert low <= truth <= high
    assert 0.5 < high - low < 80.0 / 14.0  # a cell of smooth numbers: less than all of it
    assert float(estimate) == pytest.approx(truth, abs=0.6)
    assert quantile(simple(TABLE, 1e-4, target=Target.POPULATION), "age", 0.5).parts.sampling > 0.0


def test_quantiles_of_many_cells_are_tested_at_some_of_them():
    schema = Schema.parse('[columns.x]\ntype = "integer"\nmin = 0\nmax = 1999\ncells = 2000')
    numbers = np.random.default_rng(0).integers(0, 2000, 5_000)
    evidence = simple(pa.table({"x": numbers}), 0.01, schema=schema, sets=[(0,)])
    low, high = quantile(evidence, "x", 0.3).interval()
    assert low <= np.quantile(numbers, 0.3) <= high
    assert high - low < 40


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: quantile(CLEAR, "age", 1.5), "between 0 and 1"),
        (lambda: quantile(CLEAR, "sex", 0.5), "is of type category"),
        (lambda: quantile(simple(TABLE, sets=[(1,)]), "age", 0.5), "was not counted"),
    ],
)
def test_what_is_refused(ask, message):
    with pytest.raises(ParameterError, match=message):
        ask()
