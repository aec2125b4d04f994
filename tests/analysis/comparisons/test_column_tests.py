"""Tests of independence and of goodness of fit: what they find, what they refuse, what they say."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import kernelease as ke
from benchmarks.simulated import SCHEMA, measured
from kernelease.analysis.comparisons.column_tests import column_goodness
from kernelease.analysis.comparisons.mean_embedding import common_coordinates
from kernelease.measured.counts import Contrasts, Counts
from tests.analysis.comparisons.releases import OLDER, RELEASE, SAME, VECTORS, of_counts
from tests.analysis.tables import noisy_blocks


def test_independence_test():
    assert RELEASE.tests.independence("age", "hours").rejects(0.01)
    assert RELEASE.tests.independence("hours", "age").p_value == RELEASE.tests.independence("age", "hours").p_value
    assert not RELEASE.tests.independence("ward", "smoker").rejects(0.001)


def test_goodness_of_fit():
    wards = {"north": 0.4, "east": 0.3, "south": 0.2, "west": 0.1}
    assert not RELEASE.tests.goodness_of_fit(wards, column="ward").rejects(0.001)
    assert RELEASE.tests.goodness_of_fit(
        {"north": 0.25, "east": 0.25, "south": 0.25, "west": 0.25}, column="ward"
    ).rejects()
    assert not RELEASE.tests.goodness_of_fit(stats.gamma(6.0, loc=18.0, scale=7.0), column="age").rejects(0.001)
    assert RELEASE.tests.goodness_of_fit(stats.norm(50.0, 10.0), column="age").rejects(0.01)
    assert RELEASE.tests.goodness_of_fit({True: 0.9, False: 0.1}, column="smoker").rejects(0.01)
    assert RELEASE.tests.goodness_of_fit(OLDER).rejects(0.01)


def test_a_discrete_law_on_integers():
    schema = ke.Schema.parse('[columns.children]\ntype = "integer"\nmin = 0\nmax = 9')
    generator = np.random.default_rng(0)
    table = pa.table({"children": generator.poisson(2.0, 5_000)})
    blocks = measured(table, epsilon=1.0, generator=generator, schema=schema)
    release = dataclasses.replace(RELEASE, measurements=of_counts(blocks, schema))
    assert not release.tests.goodness_of_fit(stats.poisson(2.0), column="children").rejects(0.001)
    assert release.tests.goodness_of_fit(stats.poisson(3.0), column="children").rejects(0.01)


def test_nulls_are_left_out_of_a_fit():
    schema = ke.Schema.parse('[columns.ward]\ntype = "category"\nvalues = ["a", "b"]\nnullable = true')
    generator = np.random.default_rng(0)
    table = pa.table({"ward": pa.array(generator.choice(["a", "b", None], 6_000).tolist())})
    blocks = measured(table, epsilon=1.0, generator=generator, schema=schema)
    release = dataclasses.replace(RELEASE, measurements=of_counts(blocks, schema))
    assert not release.tests.goodness_of_fit({"a": 0.5, "b": 0.5}, column="ward").rejects(0.001)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: RELEASE.tests.independence("age", "age"), "two columns"),
        (lambda: RELEASE.tests.independence("age", "hour"), "Did you mean hours"),
        (lambda: RELEASE.tests.independence("age", "ward", draws=1), "at least 19"),
        (lambda: RELEASE.tests.goodness_of_fit({"nroth": 1.0}, column="ward"), "Did you mean north"),
        (lambda: RELEASE.tests.goodness_of_fit({"north": 0.4}, column="ward"), "add up to 1"),
        (lambda: RELEASE.tests.goodness_of_fit({"north": -1.0}, column="ward"), "from 0 to 1"),
        (lambda: RELEASE.tests.goodness_of_fit(stats.norm(), column="ward"), "probabilities by value"),
        (lambda: RELEASE.tests.goodness_of_fit(3.0, column="ward"), "mapping from values"),
        (lambda: VECTORS.tests.independence("x0", "x1"), "needs a release of a table"),
    ],
)
def test_refuses(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()


def test_columns_that_were_not_counted_together():
    single = dataclasses.replace(RELEASE.measurements.measured, blocks=RELEASE.measurements.measured.blocks[:4])
    release = dataclasses.replace(RELEASE, measurements=of_counts(single, SCHEMA))
    with pytest.raises(ke.errors.ParameterError, match="were not counted together"):
        release.tests.independence("age", "ward")
    with pytest.raises(ke.errors.ParameterError, match="were not counted together"):
        release.tests.witness(SAME, columns=("age", "ward"))


def test_a_selected_pair_is_said_to_be_one():
    blocks = tuple(
        dataclasses.replace(b, round=int(len(b.block.columns) > 1)) for b in RELEASE.measurements.measured.blocks
    )
    changed = dataclasses.replace(RELEASE.measurements.measured, blocks=blocks)
    release = dataclasses.replace(RELEASE, measurements=of_counts(changed, SCHEMA))
    assert "because it looked dependent" in release.tests.independence("age", "hours").words
    (mean,) = common_coordinates([release.measurements.measured], SCHEMA.columns)
    assert all(len(part.coordinates.columns) == 1 for part in mean.parts)


@pytest.mark.statistical
@pytest.mark.parametrize("rows_noise", [1.0, 60.0])
def test_goodness_of_fit_keeps_its_level_where_columns_go_without_their_mean(rows_noise):
    """However well the number of rows is known: it decides how many of a nullable column's rows have a value."""
    schema = ke.Schema.parse('[columns.c]\ntype = "category"\nvalues = ["a", "b", "c"]\nnullable = true')
    generator, shares = np.random.default_rng(3), np.array([0.4, 0.3, 0.1, 0.2])
    count = Counts(columns=(), groups=(), share=0.1)
    column = Contrasts(columns=(0,), groups=(np.arange(4),), share=0.1)
    rejected = 0
    for seed in range(300):
        drawn = generator.multinomial(2_000, shares).astype(float)
        exact = [(count, np.array([2_000.0])), (column, drawn)]
        noisy = noisy_blocks(exact, 2_000, [rows_noise, 12.0], generator, neighbours=ke.Neighbours.ADD_REMOVE)
        noisy = dataclasses.replace(noisy, sizes=(4,))
        law = {"a": 0.5, "b": 0.375, "c": 0.125}
        rejected += column_goodness(noisy, schema, "c", law, draws=199, seed=seed).rejects(0.05)
    assert 5 <= rejected <= 28  # 15 of 300, within 3.5 standard deviations
