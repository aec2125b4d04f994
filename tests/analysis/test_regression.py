"""Regressions: least squares where there is no noise, and intervals that admit what is open."""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from kernelease.analysis.estimate import Target
from kernelease.analysis.fitted import Family
from kernelease.analysis.glm import generalised_regression
from kernelease.analysis.regression import regression
from kernelease.analysis.spread import correlation
from kernelease.errors import ParameterError
from kernelease.table import Schema
from tests.analysis.tables import SCHEMA, evidence_of, exact_blocks, noisy_blocks, people, simple

ROWS = 4_000
TABLE = people(ROWS, seed=9)
T = {name: TABLE.column(name).to_numpy() for name in TABLE.column_names}
KNOWN = ~np.isnan(T["hours"])
CLEAR = simple(TABLE, 1e-4)


def age_and_kids(evidence):
    return correlation(evidence, "age", "kids")


def least_squares(columns, response, chosen):
    design = np.column_stack([np.ones(ROWS), *columns]).astype(float)[chosen]
    return np.linalg.lstsq(design, response[chosen], rcond=None)[0]


def test_regression_without_noise_is_least_squares():
    truth = least_squares(
        [T["age"], T["sex"] == "M", T["school"] == "some", T["school"] == "much"], T["kids"], np.ones(ROWS, dtype=bool)
    )
    found = regression(CLEAR, "kids ~ age + sex + school")
    assert list(found) == ["intercept", "age", "sex[M]", "school[some]", "school[much]"]
    assert [float(one) for one in found.values()] == pytest.approx(truth, abs=1e-3)
    assert len(found) == 5
    assert "kids ~ age" in repr(found)
    assert "<td>age</td>" in found._repr_html_()
    noisy = regression(simple(TABLE, 3.0), "kids ~ age + sex + school")
    for one, value in zip(noisy.values(), truth, strict=True):
        low, high = one.interval(0.999)
        assert low < value < high


def test_regression_with_missing_numbers():
    filled = np.where(KNOWN, T["hours"], 0.0)
    truth = least_squares([filled, ~KNOWN], T["kids"], np.ones(ROWS, dtype=bool))
    found = regression(CLEAR, "kids ~ hours")
    assert list(found) == ["intercept", "hours", "hours[NULL]"]
    for one, value in zip(found.values(), truth, strict=True):
        low, high = one.interval()
        assert low < value < high
    truth = least_squares([T["age"], T["sex"] == "M"], T["hours"], KNOWN)
    found = regression(CLEAR, "hours ~ age + sex")
    for one, value in zip(found.values(), truth, strict=True):
        low, high = one.interval()
        assert low < value < high
    assert [float(one) for one in found.values()] == pytest.approx(truth, abs=0.5)


def test_regression_of_a_population():
    errors = [
        regression(simple(TABLE, 1e-4, target=Target.POPULATION, **rows), "kids ~ age")["age"].parts.sampling
        for rows in ({}, {"rows": TABLE, "weights": np.full(ROWS, 1.0 / ROWS)})
    ]
    residual = T["kids"] - np.polyval(np.polyfit(T["age"], T["kids"], 1), T["age"])
    classic = residual.std() / T["age"].std() / math.sqrt(ROWS)
    assert errors[0] == pytest.approx(classic, rel=0.05)
    deviation = T["age"] - T["age"].mean()
    robust = math.sqrt((deviation**2 * residual**2).sum()) / (deviation**2).sum()
    assert errors[1] == pytest.approx(robust, rel=0.05)


def test_regression_in_the_noise_has_no_interval():
    found = regression(simple(TABLE, 300.0), "kids ~ age + school")
    assert not math.isfinite(found["age"].margin())
    assert "no bounded interval" in found["age"].remark


@pytest.mark.parametrize("ask", [lambda rows: regression(rows, "kids ~ age")["age"], age_and_kids])
def test_noise_hides_a_spread_where_it_is_large_beside_that_of_the_rows(ask):
    """Not beside the noisy spread: only answers over one that noise made too large would say something."""
    wide = np.full(ROWS, 1.0 / ROWS)
    narrow = np.where(np.abs(T["age"] - 40) < 2, 1.0, 0.0)
    found = [ask(simple(TABLE, 4.0, rows=TABLE, weights=weights)) for weights in (wide, narrow / narrow.sum())]
    assert [one.vague for one in found] == [False, True]
    assert found[0].interval() == pytest.approx(found[1].interval(), rel=1e-12)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: regression(CLEAR, "kids age"), "can't read"),
        (lambda: regression(CLEAR, "sex ~ age"), "is of type category"),
        (lambda: regression(CLEAR, "kids ~ agee"), "Did you mean age?"),
        (lambda: regression(CLEAR, "kids ~ age + kids"), "response can't be"),
        (lambda: generalised_regression(CLEAR, "kids ~ age * sex", Family.LINEAR), "not measured together"),
        (lambda: regression(CLEAR, "kids ~ age^sex"), "is not a column"),
        (lambda: regression(simple(TABLE, sets=[(i,) for i in range(5)]), "kids ~ age"), "not measured together"),
    ],
)
def test_what_is_refused(ask, message):
    with pytest.raises(ParameterError, match=message):
        ask()


def test_variables_that_determine_each_other(monkeypatch):
    monkeypatch.setattr("kernelease.estimate.marginal.LARGEST", 0)  # so that the count of an empty cell is exactly 0
    schema = Schema(columns=tuple(SCHEMA.columns[:2]))
    constant = TABLE.select(["age", "sex"]).set_column(1, "sex", [["F"] * ROWS])
    evidence = simple(constant, 1e-9, schema=schema, sets=[(0,), (1,), (0, 1)])
    with pytest.raises(ParameterError, match="determine each other"):
        regression(evidence, "age ~ sex")


FAR = Schema.parse(
    """
    [columns.far]
    type = "integer"
    min = 0
    max = 99

    [columns.ill]
    type = "boolean"
    """
)


@pytest.mark.statistical
@pytest.mark.parametrize("target", list(Target))
def test_few_rows_far_out_do_not_hide_how_much_a_number_varies_at_least(target):
    """50 tables each: intervals of a slope hold, and reach no further than the squares of nearer rows allow."""
    repeats, generator, hits, halves = 50, np.random.default_rng(4), 0, []
    far = np.minimum(np.where(generator.random(3000) < 0.8, 0.0, generator.exponential(12.0, 3000)), 99.0).astype(int)
    for _ in range(repeats):
        chosen = np.arange(3000) if target is Target.TABLE else generator.integers(0, 3000, 3000)
        ill = np.arange(3000) % 100 < 20 + far  # of the population, which are the rows themselves
        table = pa.table({"far": far[chosen], "ill": ill[chosen]})
        truth = float(np.polyfit(far, ill, 1)[0])
        blocks = noisy_blocks(exact_blocks(table, FAR), 3000, 5.0, generator)
        evidence = evidence_of(blocks, FAR, target=target, rows=table, weights=np.full(3000, 1 / 3000))
        low, high = regression(evidence, "ill ~ far")["far"].interval()
        hits += low <= truth <= high
        halves.append(0.5 * (high - low))
    assert hits >= binom.ppf(1e-4, repeats, 0.95)
    assert np.median(halves) < 0.03  # beside a slope of .01; most had no ends
