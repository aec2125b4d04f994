"""`estimate="model"`: the fitted rows' guess after one step, with an interval by replicates, told as the model's."""

import math
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.analysis.estimate import Estimate, Parts
from kernelease.answers import modelled
from kernelease.answers.modelled import REMARK, ModelQuestions
from kernelease.answers.replicates import StudentLimits
from kernelease.errors import ParameterError

SCHEMA = ke.Schema.parse(
    """
    [columns.age]
    type = "integer"
    min = 0
    max = 99
    nullable = true
    [columns.smoker]
    type = "boolean"
    [columns.ward]
    type = "category"
    values = ["north", "south"]
    [columns.visits]
    type = "integer"
    min = 0
    max = 9
    """
)
ROWS = 4_000


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(0)
    age = generator.integers(10, 90, ROWS)
    return pa.table(
        {
            "age": pa.array(age, mask=generator.random(ROWS) < 0.05),
            "smoker": generator.random(ROWS) < 0.1 + 0.008 * age,
            "ward": np.array(["north", "south"])[generator.integers(0, 2, ROWS)],
            "visits": np.minimum(generator.poisson(1.0 + 0.03 * age), 9),
        }
    )


@pytest.fixture(scope="module")
def release(table):
    """With little noise: seeded, so that the model's answers are the table's nearly."""
    return ke.release(
        table,
        schema=SCHEMA,
        privacy=(200.0, 1e-6),
        method=ke.Interactions(solver=ke.fit.MixtureSolver().rough()),
        noise=ke.SeededNoise(0),
    )


QUESTIONS = {
    "mean": lambda q: q.mean("age"),
    "probability": lambda q: q.probability("age > 40 and smoker == true"),
    "where": lambda q: q.where("ward == 'south'").mean("visits"),
    "standard deviation": lambda q: q.standard_deviation("visits"),
    "variance": lambda q: q.variance("age"),
    "gini": lambda q: q.gini("visits"),
    "correlation": lambda q: q.correlation("age", "visits"),
    "trend": lambda q: q.trend("visits", "age"),
    "expectation": lambda q: q.expectation(lambda t: np.log1p(t["visits"])),
    "regression": lambda q: q.regression("visits ~ smoker + ward")["smoker"],
    "logistic": lambda q: q.logistic("smoker ~ visits")["visits"],
    "logistic of a category": lambda q: q.logistic("ward[south] ~ age")["age"],
    "poisson": lambda q: q.poisson("visits ~ smoker")["smoker"],
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_the_model_agrees_with_the_unbiased_answer_where_there_is_hardly_noise(release, ask):
    """Within four of their errors and a hundredth of the value: both see the same table."""
    own, found = ask(release.ask), ask(release.ask.estimate("model"))
    reach = 4.0 * math.hypot(own.standard_error, found.standard_error) + 0.01 * abs(float(own))
    assert abs(float(found) - float(own)) <= reach
    assert math.isfinite(found.standard_error)
    assert found.remark == REMARK  # says which is which
    assert REMARK not in own.remark


def test_a_quantile_within_a_crowd_of_equal_numbers_says_that_nothing_tells_its_error(release):
    found = release.quantile("age", 0.3, estimate="model")
    assert abs(float(found) - float(release.quantile("age", 0.3))) <= 1.0
    assert found.says_little == ("no replicate differs" in found.remark)


def test_a_share_over_a_number_whose_spread_noise_hides_says_little(release, monkeypatch):
    asked = release.ask.estimate("model")
    assert not asked.trend("smoker", "visits").says_little
    monkeypatch.setattr(modelled, "variance", lambda evidence, name: SimpleNamespace(standard_error=1e9))
    assert asked.trend("smoker", "visits").says_little
    assert asked.logistic("smoker ~ visits")["visits"].says_little
    assert not asked.trend("visits", "age").says_little  # of a number, one step holds


def test_short_forms_and_whose(release):
    assert isinstance(release.ask.estimate("model"), ModelQuestions)
    table, population = (release.mean("visits", estimate="model", of=whose) for whose in ("table", "population"))
    assert float(table) == float(release.ask.estimate("model").mean("visits"))
    assert float(population) == float(release.ask.estimate("model").of("population").mean("visits"))
    assert population.standard_error > table.standard_error  # a table is drawn from its population
    assert float(release.mean("visits", estimate="unbiased")) == float(release.mean("visits"))


def test_what_the_model_is_not_asked_for_is_refused(release):
    with pytest.raises(ParameterError, match="estimate must be 'unbiased' or 'model', got 'modell'"):
        release.mean("visits", estimate="modell")
    with pytest.raises(ParameterError, match="takes no by"):
        release.mean("visits", by="ward", estimate="model")
    with pytest.raises(AttributeError, match=r"Ask the release itself: release.ask.entropy"):
        release.ask.estimate("model").entropy("ward")
    with pytest.raises(AttributeError, match="_nothing"):
        _ = release.ask.estimate("model")._nothing
    with pytest.raises(ParameterError, match="share must be between 0 and 1"):
        release.quantile("age", 2.0, estimate="model")
    with pytest.raises(ParameterError, match="not finite"):
        release.mean("age", where="age is null", estimate="model")


def test_a_correlation_that_a_step_overshoots_is_cut_off() -> None:
    limits = StudentLimits(-1.5, 0.9, 20)
    found = modelled._within(Estimate(value=-1.5, parts=Parts(noise=0.9), limits=limits), -1.0, 1.0)
    assert found.value == -1.0
    assert found.interval(0.95) == (-1.0, pytest.approx(0.377, abs=1e-3))


@pytest.mark.statistical
def test_of_few_rows_the_model_is_as_unsure_as_its_noise(table: pa.Table) -> None:
    """60 rows at ε = 1, ten times: were the step taken for longer than it is, 1 or 2 intervals would hold, not 9 or 10.

    At 95 % each, fewer than 7 of 10 have a chance of one in a thousand.
    """
    few, held = table.slice(0, 60), 0
    truth = float(np.nanmean(few["age"].to_numpy(zero_copy_only=False)))
    for seed in range(10):
        found = (
            ke.release(
                few,
                schema=SCHEMA,
                privacy=(1.0, 1e-6),
                method=ke.Interactions(solver=ke.fit.MixtureSolver().rough()),
                noise=ke.SeededNoise(seed),
            )
            .ask.estimate("model")
            .mean("age")
        )
        low, high = found.interval()
        held += low <= truth <= high
    assert held >= 7
