"""Weighted answers, against sums by hand."""

import numpy as np
import pyarrow as pa
import pytest

from kernelease.analysis import WeightedRows, count, crosstab, marginal_errors, mean, parse_condition, probability
from kernelease.errors import ParameterError
from kernelease.table import Schema

SCHEMA = Schema.parse(
    """
    [columns.age]
    type = "integer"
    min = 0
    max = 99
    nullable = true
    [columns.works]
    type = "boolean"
    [columns.job]
    type = "category"
    values = ["a", "b", "c"]
    """
)
TABLE = pa.table({"age": [10, 20, None, 40], "works": [True, False, True, True], "job": ["b", "b", "a", "a"]})
ROWS = WeightedRows(table=TABLE, weights=np.array([1.0, 2.0, 3.0, 4.0]), schema=SCHEMA, total=1000.0)


def test_mean_leaves_nulls_out():
    (everyone,) = mean(ROWS, "age")
    assert everyone.value == pytest.approx((10 * 1 + 20 * 2 + 40 * 4) / 7)
    assert everyone.share == pytest.approx(0.7)
    assert mean(ROWS, "works")[0].value == pytest.approx(0.8)


def test_groups_are_in_the_declared_order():
    groups = mean(ROWS, "age", by="job", where=parse_condition("works == true", SCHEMA))
    assert [(group.label, group.value) for group in groups] == [("a", 40.0), ("b", 10.0)]


def test_count_and_probability():
    assert [group.value for group in count(ROWS, by="job")] == pytest.approx([700.0, 300.0])
    event = parse_condition("age >= 20", SCHEMA)
    assert probability(ROWS, event)[0].value == pytest.approx(0.6)
    assert probability(ROWS, event, where=parse_condition("age > 99", SCHEMA))[0].value is None


def test_crosstab():
    table = crosstab(ROWS, "job", "works", where=parse_condition("age is not null", SCHEMA))
    assert (table.rows, table.columns) == (("a", "b"), ("false", "true"))
    np.testing.assert_allclose(table.shares, [[0.0, 4 / 7], [2 / 7, 1 / 7]])


def test_refusals():
    with pytest.raises(ParameterError, match="has no mean"):
        mean(ROWS, "job")
    with pytest.raises(ParameterError, match="one weight per row"):
        WeightedRows(table=TABLE, weights=np.ones(3), schema=SCHEMA, total=1.0)
    with pytest.raises(ParameterError, match="add up to more than 0"):
        WeightedRows(table=TABLE, weights=np.zeros(4), schema=SCHEMA, total=1.0)


def test_marginal_errors_of_a_table_with_itself_are_0():
    codes = np.random.default_rng(0).integers(0, 3, (50, 3))
    same = marginal_errors(codes, codes[::-1], (3, 3, 3))
    assert same.mean_one_way == same.mean_two_way == 0.0
    assert marginal_errors(codes[:, :1], codes[:, :1], (3,)).mean_two_way == 0.0
    with pytest.raises(ParameterError, match="at least one row"):
        marginal_errors(codes, codes[:0], (3, 3, 3))
