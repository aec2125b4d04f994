"""Tests by scores: the level that they keep, and the power of the best z-test."""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from kernelease.analysis.comparisons.sample import sample_of_table
from kernelease.analysis.comparisons.score_tests import (
    Scored,
    dependence_scores,
    least,
    release_scores,
    sample_scores,
)
from kernelease.analysis.estimate import Target
from kernelease.analysis.inference import SCORES, TestResult
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.step import Law
from kernelease.table import Schema
from tests.analysis.tables import exact_blocks, noisy_blocks

SCHEMA = Schema.parse(
    """
    [columns.x]
    type = "number"
    min = -4.0
    max = 4.0
    cells = 16
    nullable = true

    [columns.y]
    type = "integer"
    min = -4
    max = 4

    [columns.c]
    type = "category"
    values = ["a", "b", "c"]
    """
)
ROWS, REPEATS = 1000, 100


def rows(seed, *, shift=0.0, rho=0.0):
    generator = np.random.default_rng(seed)
    x = generator.normal(shift, 1.0, ROWS)
    y = rho * x + math.sqrt(1.0 - rho**2) * generator.normal(size=ROWS)
    missing = generator.random(ROWS) < 0.05
    c = generator.choice(["a", "b", "c"], ROWS)
    return pa.table(
        {"x": pa.array(np.clip(x, -4, 4), mask=missing), "y": np.clip(np.rint(y), -4, 4).astype(int), "c": c}
    )


def measured(table, seed, **options):
    exact = exact_blocks(table, SCHEMA)
    return noisy_blocks(exact, ROWS, 4.0, np.random.default_rng(seed), **options)


def rejections(p_values):
    return sum(p <= 0.05 for p in p_values)


@pytest.mark.statistical
@pytest.mark.parametrize(
    "options",
    [{}, {"neighbours": Neighbours.ADD_REMOVE}, {"law": Law.LAPLACE}],
    ids=["normal", "add-remove", "laplace"],
)
def test_levels_are_kept(options):
    """100 tables each: more than 5 % of rejections fail, wrongly at most once in 10,000 times."""
    found = {"two": [], "sample": [], "pair": [], "group": []}
    for seed in range(REPEATS):
        one, other = (measured(rows(2 * seed + k), 2 * seed + k, **options) for k in (0, 1))
        found["two"].append(release_scores(one, other, SCHEMA.columns))
        sample = sample_of_table(rows(9000 + seed), SCHEMA)
        found["sample"].append(sample_scores(one, SCHEMA.columns, sample))
        found["pair"].append(dependence_scores(one, SCHEMA, (0, 1)))
        found["group"].append(dependence_scores(one, SCHEMA, (1, 2)))
    for name, p_values in found.items():
        assert rejections(p_values) <= binom.ppf(1.0 - 1e-4, REPEATS, 0.05), name


@pytest.mark.statistical
def test_plain_differences_are_found():
    """40 tables: fails where less than three in four are found; nearly all are, so false alarms are below 1e-4."""
    found = [[], [], []]
    for seed in range(40):
        one, other = measured(rows(seed), seed), measured(rows(500 + seed, shift=0.35), 500 + seed)
        found[0].append(release_scores(one, other, SCHEMA.columns))
        found[1].append(sample_scores(one, SCHEMA.columns, sample_of_table(rows(800 + seed, shift=0.35), SCHEMA)))
        found[2].append(dependence_scores(measured(rows(seed, rho=0.4), seed), SCHEMA, (0, 1)))
    assert min(map(rejections, found)) >= 30


def test_tables_as_they_are_have_no_sampling_error():
    table = rows(1)
    one, other = measured(table, 1), measured(table, 2)
    assert release_scores(one, other, SCHEMA.columns, target=Target.TABLE) > 1e-4
    assert release_scores(one, other, SCHEMA.columns, target=Target.POPULATION) > 0.5


def test_blocks_that_were_chosen_in_sight_of_rows_take_no_part():
    one = measured(rows(1), 1, rounds=[1] * 6)
    assert release_scores(one, one, SCHEMA.columns) is None
    assert dependence_scores(one, SCHEMA, (0, 1)) is None


def test_scores_without_error_say_nothing():
    assert Scored(values=np.zeros(2), covariance=np.zeros((2, 2))).p_value == 1.0
    assert least([]) is None


def test_two_tests_share_the_level():
    kernel = TestResult(hypothesis="h", statistic=1.0, p_value=0.2, draws=99)
    assert kernel.with_scores(None) is kernel
    assert kernel.with_scores(0.01).p_value == pytest.approx(0.01 / SCORES)
    assert kernel.with_scores(0.9).p_value == 1.0
