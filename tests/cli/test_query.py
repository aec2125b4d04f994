"""query: the library's own numbers, for people and for programs; and what it refuses."""

import dataclasses
import json
import math

import numpy as np
import pytest

import kernelease as ke
from kernelease.analysis.estimate import Estimate
from kernelease.analysis.groups import Groups
from kernelease.answers.release import load, save
from kernelease.cli.work.estimates import show
from kernelease.cli.work.typed_questions import read_question


@pytest.fixture
def release(bundle):
    return load(bundle)


def same(group, estimate, level=0.95):
    low, high = estimate.interval(level)
    for key, value in (
        ("value", float(estimate)),
        ("standard_error", estimate.standard_error),
        ("low", low),
        ("high", high),
    ):
        assert group[key] == (pytest.approx(value) if math.isfinite(value) else None), key
    parts = estimate.parts
    for key, value in dataclasses.asdict(parts).items():
        assert group[key] == (pytest.approx(value) if math.isfinite(value) else None), key


QUESTIONS = {
    ("mean", "age"): lambda r: r.mean("age"),
    ("count", "--where", "age >= 30"): lambda r: r.count("age >= 30"),
    ("count",): lambda r: r.count(),
    ("weighted-mean", "age", "hours"): lambda r: r.ask.weighted_mean("age", "hours"),
    ("probability", "hours is null or not (age > 40)"): lambda r: r.probability("hours is null or not (age > 40)"),
    ("probability", "age > 40", "--where", "sex == 'female'"): lambda r: r.probability(
        "age > 40", where="sex == 'female'"
    ),
    ("mean", "age", "--of", "population"): lambda r: r.mean("age", of="population"),
    ("mean", "age", "--estimate", "model"): lambda r: r.mean("age", estimate="model"),
    ("quantile", "hours", "0.9"): lambda r: r.quantile("hours", 0.9),
    ("correlation", "age", "hours"): lambda r: r.correlation("age", "hours"),
    ("gini", "age"): lambda r: r.ask.gini("age"),
    ("entropy", "sex", "--where", "employed == true"): lambda r: r.where("employed == true").entropy("sex"),
    ("trend", "employed", "age"): lambda r: r.ask.trend("employed", "age"),
    ("risk-ratio", "employed == true", "sex == 'male'"): lambda r: r.ask.risk_ratio(
        "employed == true", "sex == 'male'"
    ),
    ("standardised-rate", "employed == true", "sex == 'male': 1", "sex == 'female': 3"): lambda r: (
        r.ask.standardised_rate("employed == true", {"sex == 'male'": 1.0, "sex == 'female'": 3.0})
    ),
    ("mean", "hours", "--where", "employed == true and sex == 'male'"): lambda r: r.mean(
        "hours", where="employed == true and sex == 'male'"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("words", QUESTIONS, ids=" ".join)
def test_it_gives_the_library_s_numbers(bundle, release, run, words):
    (group,) = run.json("query", bundle, *words)["groups"]
    estimate = QUESTIONS[words](release)
    same(group, estimate)
    assert group["group"] is None
    shown = run("query", bundle, *words).stdout
    assert all(
        part.rstrip(")") in shown for part in str(estimate).split(" (")
    )  # value ± margin, or value (low to high)
    assert "sampling" not in shown
    assert "sampling" in run("query", bundle, *words, "--parts").stdout


@pytest.mark.parametrize(
    ("habit", "question"),
    [
        (("median", "age"), ("quantile", "age", "0.5")),
        (("std", "age"), ("standard-deviation", "age")),
        (("standard_deviation", "age"), ("standard-deviation", "age")),
        (("var", "age"), ("variance", "age")),
        (("value_counts", "sex"), ("histogram", "sex")),
        (("corr", "age", "hours"), ("correlation", "age", "hours")),
        (("share", "age > 30"), ("probability", "age > 30")),
        (("average", "age"), ("mean", "age")),
    ],
)
def test_questions_by_the_names_of_other_tools(habit, question):
    assert read_question(habit[0], list(habit[1:])) == (question[0], list(question[1:]))


def test_groups(bundle, release, run):
    answer = run.json("query", bundle, "mean", "age", "--by", "sex", "--level", 0.9)
    estimates = release.mean("age", by="sex")
    assert [group["group"] for group in answer["groups"]] == ["female", "male"]
    for group in answer["groups"]:
        same(group, estimates[group["group"]], 0.9)
    assert answer["level"] == 0.9
    assert "90 % interval" in run("query", bundle, "mean", "age", "--by", "sex", "--level", 0.9).stdout


@pytest.mark.slow
def test_regression(here, run):
    """Of a release with so much budget that every pair of columns is measured."""
    run("release", "people.csv", "--schema", "people.toml", "--epsilon", 50, "--delta", 1e-6, "--out", "all", "--quiet")
    answer = run.json("query", "all", "regression", "employed ~ sex", "--of", "population")
    estimates = load("all").regression("employed ~ sex", of="population")
    for group, (name, estimate) in zip(answer["groups"], estimates.items(), strict=True):
        assert (group["group"], group["term"]) == (None, name)
        same(group, estimate)


def test_comparisons_of_groups(bundle, release, run):
    groups = release.mean("age", by="sex")
    (less,) = run.json("query", bundle, "mean", "age", "--by", "sex", "--minus", "male")["groups"]
    (over,) = run.json("query", bundle, "mean", "age", "--by", "sex", "--over", "male")["groups"]
    same(less, groups["female"] - groups["male"])
    same(over, groups["female"] / groups["male"])
    words = ("histogram", "employed", "--by", "sex", "--minus", "male,true")
    assert len(run.json("query", bundle, *words)["groups"]) == 3


def test_models_by_group(bundle, release, run):
    """The group is in the model, so that pairs suffice."""
    words = ("logistic", "employed ~ sex", "--by", "sex")
    models = release.logistic("employed ~ sex", by="sex")
    answer = run.json("query", bundle, *words)["groups"]
    assert [(one["group"], one["term"]) for one in answer] == [
        (label, term) for label, model in models.items() for term in model
    ]
    assert "female: intercept" in run("query", bundle, *words).stdout
    assert "age: poisson" not in run("query", bundle, "poisson", "age ~ sex").stdout


def test_survival_and_histogram(bundle, release, run):
    answer = run.json("query", bundle, "survival", "age", "40", "60", "--by", "sex")["groups"]
    assert [one["group"] for one in answer] == ["female, 40", "female, 60", "male, 40", "male, 60"]
    rates = run.json("query", bundle, "hazard", "age", "20", "40", "60", "employed == true")["groups"]
    assert [one["group"] for one in rates] == ["20..40", "40..60"]
    same(rates[1], release.ask.hazard("age", [20, 40, 60], "employed == true")["40..60"])
    shares = run.json("query", bundle, "histogram", "sex")["groups"]
    assert sum(one["value"] for one in shares) == pytest.approx(1.0)


def test_crosstab(bundle, release, run):
    answer = run.json("query", bundle, "crosstab", "sex", "employed", "--where", "age >= 30")
    table = release.crosstab("sex", "employed", where="age >= 30")
    assert (answer["rows"], answer["columns"]) == (["female", "male"], ["false", "true"])
    np.testing.assert_allclose([[cell["value"] for cell in row] for row in answer["cells"]], table.values)
    assert "sex \\ employed" in run("query", bundle, "crosstab", "sex", "employed").stdout


def test_a_call_is_the_same_as_words(bundle, run):
    for call, words in (
        ("mean(age)", ("mean", "age")),
        ("crosstab(sex, employed)", ("crosstab", "sex", "employed")),
        ("quantile(age, 0.5)", ("quantile", "age", "0.5")),
        ("count()", ("count",)),
    ):
        assert run("query", bundle, call).stdout == run("query", bundle, *words).stdout


def test_counts_are_in_rows_of_the_table(bundle, run):
    answer = run.json("query", bundle, "count", "--by", "employed")
    assert sum(group["value"] for group in answer["groups"]) == pytest.approx(400, rel=0.2)
    assert [group["group"] for group in answer["groups"]] == ["false", "true"]


def test_rows_that_cannot_exist_have_no_mean(bundle, run):
    (group,) = run.json("query", bundle, "mean", "age", "--where", "age > 1000")["groups"]
    assert group["value"] is None
    assert "no row" in group["remark"]
    shown = run("query", bundle, "mean", "age", "--where", "age > 1000").stdout
    assert "unknown" in shown
    assert "no row that the schema allows" in shown


def test_what_was_not_measured_together_is_said(here, run):
    """Of a release that measures no sets of three."""
    pairs = ke.Interactions(triples=0)
    save(
        ke.release("people.csv", schema="people.toml", privacy=ke.Privacy(epsilon=2.0, delta=1e-6), method=pairs), "two"
    )
    asked = "age > 40 and employed == true and sex == 'male' and hours > 30"
    assert "not measured together" in run("query", "two", "probability", asked).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("medain", "age"), "must be one of mean, count"),
        (("mean",), "mean takes a column"),
        (("count", "age"), "count takes no operand"),
        (("crosstab", "sex"), "crosstab takes two columns"),
        (("crosstab", "sex", "age", "--by", "hours"), "takes no --by"),
        (("crosstab", "sex", "age", "--by", "hours,employed"), "Ask histogram age --by sex,hours,employed."),
        (("quantile", "age", "half"), "the share of a quantile is a number"),
        (("survival", "age", "30", "inf"), "a time is a number"),
        (("standardised-rate", "employed == true", "0.5"), "a stratum is a condition and its weight"),
        (("standardised-rate", "employed == true", "age > 40: much"), "weight is a number"),
        (("mean", "age", "--minus", "male"), "Say by which columns with --by"),
        (("mean", "age", "--by", "sex", "--minus", "male", "--over", "male"), "not both"),
        (("mean", "age", "--by", "sex", "--minus", "men"), "There is no 'men' by sex"),
        (("quantile", "age", "2"), "between 0 and 1"),
        (("mean", "sex"), "has no mean. Ask for a probability instead."),
        (("mean", "agee"), "Did you mean age?"),
        (("sum", "age"), "A sum is the mean of all times the count."),
        (("max", "age"), "ask quantile COLUMN 0.01 or 0.99"),
        (("hours",), "What is asked goes before the column: mean 'hours'."),
        (("mean", "age", "--by", "agee"), "Did you mean age?"),
        (("mean", "age", "--where", "agee > 3"), "Did you mean age?"),
        (("mean", "age", "--level", "95"), "level must be between 0 and 1"),
        (("mean", "age", "--of", "everyone"), "of"),
        (("probability", "sex == 'femal'"), "Did you mean 'female'?"),
        (("probability", "age >"), "it ends too early"),
        (("probability", "__import__('os')"), "condition"),
        (("regression", "hours ~ agee"), "Did you mean age?"),
    ],
)
def test_questions_that_are_refused(bundle, run, words, message):
    assert message in run("query", bundle, *words, code=2).stderr


def test_measurements_alone_answer_nothing(here, run):
    run("measure", "people.csv", "--schema", "people.toml", "--epsilon", 1, "--delta", 1e-6, "--out", "m", "--quiet")
    assert "holds measurements only" in run("query", "m", "count", code=2).stderr


def test_quantiles_by_group_and_ratios(bundle, run):
    groups = json.loads(run("query", bundle, "quantile", "hours", "0.5", "--by", "sex", "--json").stdout)["groups"]
    assert len(groups) == 2
    several = json.loads(run("query", bundle, "count", "--by", "sex, age", "--json").stdout)["groups"]
    assert ", " in several[0]["group"]
    for name in ("odds-ratio", "risk-ratio", "risk-difference"):
        found = json.loads(run("query", bundle, name, "age > 40", "sex == 'female'", "--json").stdout)["groups"][0]
        assert found["low"] is None or found["low"] <= found["value"]


def test_an_answer_that_says_little_gives_the_reason_once():
    hidden = Estimate.normal(0.5, noise=0.5, within=(0.0, 1.0))
    assert str(show(hidden, 0.95)[-1]) == "says little: the noise hides it"
    groups = Groups("sex", {"F": hidden, "M": hidden, "X": Estimate.normal(0.5, noise=0.01)})
    assert str(show(groups, 0.95)[-1]) == "says little about F, M: the noise hides it"
    pairs = Groups(("sex", "town"), {("F", "a"): hidden, ("M", "b"): hidden, ("X", "a"): groups["X"]})
    assert str(show(pairs, 0.95)[-1]) == "says little about F, a; M, b: the noise hides it"
    every = Groups("sex", {"F": hidden, "M": hidden})
    assert str(show(every, 0.95)[-1]) == "says little about any of them: the noise hides it"
