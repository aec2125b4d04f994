"""Tests by scores: the level that they keep, and the power of the best z-test."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from scipy.special import ndtr
from scipy.stats import binom, chi2

from kernelease.analysis.comparisons import score_tests
from kernelease.analysis.comparisons.score_tests import (
    MAIN,
    Scored,
    Scores,
    dependence_scores,
    least,
    release_scores,
    sample_scores,
)
from kernelease.analysis.comparisons.tables import sample_of_table
from kernelease.analysis.estimate import Target
from kernelease.analysis.inference import SCORES, TestResult, combined_p
from kernelease.estimate.marginal import tabulation
from kernelease.privacy.accounting import Law
from kernelease.privacy.sensitivity import Neighbours
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
    assert Scored(values=np.zeros(2), covariance=np.zeros((2, 2)), main=np.ones(2, bool)).p_value == 1.0
    assert least([]) is None


def test_two_tests_share_the_level():
    """What scores alone find costs a little, what both find is more than either."""
    kernel = TestResult(hypothesis="h", statistic=1.0, p_value=0.2, draws=99)
    assert kernel.with_scores(None) is kernel
    assert 0.01 < kernel.with_scores(0.01).p_value < 0.012
    assert kernel.with_scores(1e-9).p_value == pytest.approx(1e-9 / SCORES, rel=1e-6)
    assert replace(kernel, p_value=0.01).with_scores(0.05).p_value < kernel.with_scores(0.05).p_value - 0.01
    assert kernel.with_scores(0.01).draws is None
    assert replace(kernel, p_value=0.01).with_scores(0.9).draws == 99


@pytest.mark.parametrize("together", [0.0, 0.5, 0.9, 1.0])
def test_two_tests_together_keep_the_level_and_waste_little_of_it(together):
    """However much they go together, with a kernel's p of 999 draws: 100,000 tests tell a level to 0.0007."""
    first, other = np.random.default_rng(1).standard_normal((2, 100_000))
    scores = ndtr(first)
    drawn = np.ceil(1_000 * ndtr(together * first + math.sqrt(1.0 - together**2) * other)) / 1_000
    found = np.array([combined_p(one, two, SCORES) for one, two in zip(scores, drawn, strict=True)])
    assert 0.0465 < np.mean(found <= 0.05) < 0.0525
    assert combined_p(1.0, 1.0, SCORES) == pytest.approx(1.0)
    assert 0.0 < combined_p(0.0, 0.5, SCORES) < 1e-290


def test_main_scores_are_not_diluted_by_others():
    both = Scored(values=np.array([2.5, 0.0]), covariance=np.eye(2), main=np.array([True, False]))
    alone = Scored(values=np.array([2.5]), covariance=np.eye(1), main=np.ones(1, bool))
    together = Scored(values=np.array([2.5, 0.0]), covariance=np.eye(2), main=np.ones(2, bool))
    assert alone.p_value < both.p_value < 1.03 * alone.p_value / MAIN
    assert both.p_value < together.p_value
    other = Scored(values=np.array([0.0, 5.0]), covariance=np.eye(2), main=np.array([True, False]))
    assert other.p_value == pytest.approx(chi2.sf(25.0, 1) / (1.0 - MAIN), rel=1e-3)


def test_normal_scores_are_the_means_of_a_normal_law_between_quantiles():
    scores = Scores(values=np.ones((1, 5)), main=np.ones(1, bool), places=np.array([3.0, 1.0, np.nan, 2.0, 4.0]))
    (ranked,) = scores.by_rank(np.array([0.2, 0.3, 0.1, 0.4, 0.0]))
    drawn = np.sort(np.random.default_rng(0).normal(size=900_000))
    parts = [part.mean() for part in np.split(drawn, [300_000, 700_000])]
    np.testing.assert_allclose(ranked[[1, 3, 0]], parts, atol=0.01)
    assert ranked[2] == 0.0  # no place
    assert ranked[4] == 6.0  # nobody is there


@given(st.integers(0, 2**32 - 1), st.integers(2, 40))
def test_normal_scores_rise_and_are_centred(seed, cells):
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.full(cells, 0.5))
    scores = Scores(values=np.ones((1, cells)), main=np.ones(1, bool), places=np.arange(float(cells)))
    (ranked,) = scores.by_rank(shares)
    assert np.all(np.diff(ranked) >= -1e-6) or np.any(shares < 1e-12)
    assert shares @ ranked == pytest.approx(0.0, abs=1e-6)
    assert shares @ ranked**2 <= 1.0 + 1e-9


def test_products_of_errors_are_counted_on_the_scale_of_the_function():
    """The second-order term scales as its function does; beside 13 × 13 noisy cells it is nearly nothing."""
    marginal = tabulation(measured(rows(1), 1)).marginals((0, 1))[0]
    function = np.random.default_rng(0).normal(size=marginal.shape)
    once, thrice = (score_tests._second_order(marginal, [factor * function], ROWS)[0, 0] for factor in (1.0, 3.0))
    assert thrice == pytest.approx(9.0 * once)
    errors = np.random.default_rng(1).multivariate_normal
    height, width = marginal.shape
    of_rows = [np.repeat(cell, width) for cell in np.eye(height)]
    of_columns = [np.tile(cell, height) for cell in np.eye(width)]
    noise = [marginal.joint(functions)[1] for functions in (of_rows, of_columns)]
    drawn = [errors(np.zeros(len(one)), one, 20_000) for one in noise]
    products = np.einsum("ni,ij,nj->n", drawn[0], function, drawn[1]) / ROWS
    assert products.var() == pytest.approx(once, rel=0.1)
