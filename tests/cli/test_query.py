"""query: what it answers, against the rows themselves; and what it refuses."""

import numpy as np
import pytest

from kernelease.release.bundle import load


@pytest.fixture
def rows(bundle):
    return load(bundle).rows.to_pylist()


def test_mean_by_group(bundle, rows, run):
    answer = run.json("query", bundle, "mean", "hours", "--where", "age >= 30 and employed == true", "--by", "sex")
    for group in answer["groups"]:
        hours = [
            row["hours"]
            for row in rows
            if row["age"] >= 30 and row["employed"] and row["sex"] == group["group"] and row["hours"] is not None
        ]
        assert group["value"] == pytest.approx(np.mean(hours))
        assert group["share"] == pytest.approx(len(hours) / len(rows))


def test_a_call_is_the_same_as_words(bundle, run):
    assert run("query", bundle, "mean(age)").stdout == run("query", bundle, "mean", "age").stdout
    assert (
        run("query", bundle, "crosstab(sex, employed)").stdout
        == run("query", bundle, "crosstab", "sex", "employed").stdout
    )
    assert run("query", bundle, "count()").stdout == run("query", bundle, "count").stdout


def test_counts_are_in_rows_of_the_table(bundle, run):
    answer = run.json("query", bundle, "count", "--by", "employed")
    assert sum(group["value"] for group in answer["groups"]) == pytest.approx(400)
    assert [group["group"] for group in answer["groups"]] == ["false", "true"]


def test_probability(bundle, rows, run):
    (group,) = run.json("query", bundle, "probability", "hours is null or not (age > 40)")["groups"]
    expected = np.mean([row["hours"] is None or not row["age"] > 40 for row in rows])
    assert group["value"] == pytest.approx(expected)
    assert group["group"] is None


def test_crosstab(bundle, run):
    answer = run.json("query", bundle, "crosstab", "sex", "hours", "--where", "employed == true")
    assert answer["rows"] == ["female", "male"]
    assert answer["columns"][-1] == "NULL"
    assert np.sum(answer["shares"]) == pytest.approx(1.0)
    assert "sex \\ employed" in run("query", bundle, "crosstab", "sex", "employed").stdout


def test_an_empty_group_has_no_mean(bundle, run):
    answer = run.json("query", bundle, "mean", "age", "--where", "age > 1000")
    assert answer["groups"] == [{"group": None, "value": None, "share": 0.0}]
    assert "-" in run("query", bundle, "mean", "age", "--where", "age > 1000").stdout
    empty = run.json("query", bundle, "crosstab", "sex", "employed", "--where", "age > 1000")
    assert np.sum(empty["shares"]) == 0.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("median", "age"), "must be one of mean, count"),
        (("mean",), "mean takes a column"),
        (("count", "age"), "count takes no operand"),
        (("crosstab", "sex"), "crosstab takes two columns"),
        (("crosstab", "sex", "age", "--by", "hours"), "takes no --by"),
        (("mean", "sex"), "has no mean"),
        (("mean", "agee"), "Did you mean age?"),
        (("mean", "age", "--by", "agee"), "Did you mean age?"),
        (("mean", "age", "--where", "agee > 3"), "Did you mean age?"),
        (("probability", "sex == 'femal'"), "Did you mean 'female'?"),
        (("probability", "age >"), "it ends too early"),
        (("probability", "__import__('os')"), "condition"),
    ],
)
def test_questions_that_are_refused(bundle, run, words, message):
    assert message in run("query", bundle, *words, code=2).stderr


def test_measurements_alone_answer_nothing(here, run):
    run("measure", "people.csv", "--schema", "people.toml", "--epsilon", 1, "--delta", 1e-6, "--out", "m", "--quiet")
    assert "holds measurements only" in run("query", "m", "count", code=2).stderr
