"""Questions to a release: the rows that are meant can be said first, or with the question. Who deletes it, frees it."""

import gc
import inspect
import os
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kernelease as ke
from benchmarks.simulated import people
from kernelease.analysis.estimate import Target
from kernelease.analysis.evidence import KEPT, Evidence
from kernelease.analysis.groups import Groups, RegressionGroups
from kernelease.answers.questions import Questions, ShortForms
from kernelease.errors import KerneleaseError, ParameterError
from kernelease.estimate.marginal import Tabulation

SCHEMA = ke.Schema.parse("""
    [columns.age]
    type = "integer"
    min = 18
    max = 81
    nullable = true

    [columns.ward]
    type = "category"
    values = ["north", "east", "south", "west"]

    [columns.smoker]
    type = "boolean"
""")
TABLE = people(np.random.default_rng(0), 2_000).select(["age", "ward", "smoker"])
METHOD = ke.Interactions(solver=ke.fit.MixtureSolver(components=20, steps=20))
STRATA = {"age < 50": 0.7, "age >= 50": 0.3}
ROWS = {"where": "age >= 34", "by": "ward", "of": "population"}

QUESTIONS = {
    "mean": ("age",),
    "probability": ("smoker == true",),
    "count": (),
    "expectation": (lambda t: t["age"] ** 2,),
    "histogram": ("ward",),
    "survival": ("age", [30, 50]),
    "hazard": ("age", [30, 50, 70]),
    "weighted_mean": ("smoker", "age"),
    "quantile": ("age", 0.5),
    "standard_deviation": ("age",),
    "variance": ("age",),
    "gini": ("age",),
    "entropy": ("ward",),
    "correlation": ("age", "smoker"),
    "trend": ("smoker", "age"),
    "regression": ("age ~ smoker",),
    "logistic": ("smoker ~ age",),
    "poisson": ("age ~ smoker",),
    "risk_difference": ("smoker == true", "age >= 50"),
    "risk_ratio": ("smoker == true", "age >= 50"),
    "odds_ratio": ("smoker == true", "age >= 50"),
    "standardised_rate": ("smoker == true", STRATA),
}
WAYS = [(), ("where",), ("by",), ("of",), ("where", "of"), ("where", "by", "of")]


def _release():
    return ke.release(
        TABLE, schema=SCHEMA, privacy=ke.Privacy(epsilon=8.0, delta=1e-6), method=METHOD, noise=ke.SeededNoise(0)
    )


@pytest.fixture(scope="module")
def release():
    return _release()


def _outcome(ask):
    """The answer with all its digits, or how it was refused."""
    try:
        answer = ask()
    except KerneleaseError as refusal:
        return f"refused: {refusal}"
    if isinstance(answer, RegressionGroups):
        return [(label, name, repr(one)) for label, model in answer.items() for name, one in model.items()]
    return [(name, repr(one)) for name, one in answer.items()] if hasattr(answer, "items") else repr(answer)


def _narrow(release, rows):
    """The questions about some rows, said first."""
    found = release
    for name, value in rows.items():
        found = getattr(found, name)(value)
    return found


def test_every_question_is_asked_here():
    unlike = {"where", "by", "of", "estimate", "crosstab", "difference_in_differences", "plot"}
    assert set(QUESTIONS) == {name for name in vars(Questions) if not name.startswith("_")} - unlike


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=" and ".join)
@pytest.mark.parametrize("name", QUESTIONS)
def test_rows_can_be_said_first_or_with_the_question(release, name, way):
    rows = {word: ROWS[word] for word in way}
    outcome = _outcome(lambda: getattr(_narrow(release.ask, rows), name)(*QUESTIONS[name]))
    if name in vars(ShortForms):
        assert _outcome(lambda: getattr(release, name)(*QUESTIONS[name], **rows)) == outcome
    if way in [(), ("of",)]:  # every question has an answer about all rows
        assert not str(outcome).startswith("refused: ")


def test_conditions_add_up(release):
    twice = release.where("age >= 34").where("smoker == true").count()
    assert repr(twice) == repr(release.count("(age >= 34) and (smoker == true)"))
    assert repr(release.where("age >= 34").count("smoker == true")) == repr(twice)


def test_groups_add_up(release):
    both = release.by("ward", "smoker").count()
    assert list(both) == [(ward, smoker) for ward in SCHEMA.columns[1].labels() for smoker in ("false", "true")]
    assert list(release.by("ward").by("smoker").count()) == list(release.count(by=["ward", "smoker"])) == list(both)
    assert list(release.by("ward").count()) == list(SCHEMA.columns[1].labels())
    with pytest.raises(ParameterError, match="one or several different columns"):
        release.by("ward").by("ward").count()


def test_the_last_word_counts(release):
    population = release.of("population")
    assert population.mean("age").parts.sampling > 0.0
    assert population.of(Target.TABLE).mean("age").parts.sampling == 0.0
    with pytest.raises(ParameterError, match="of must be 'table' or 'population', got 'tabel'"):
        release.of("tabel")


def test_a_cross_table_has_no_groups(release):
    assert repr(release.where("smoker == true").crosstab("age", "ward")) == repr(
        release.crosstab("age", "ward", where="smoker == true")
    )
    with pytest.raises(ParameterError, match=r"Ask release\.by\('age', 'smoker'\)\.histogram\('ward'\) instead"):
        release.by("smoker").crosstab("age", "ward")


def test_a_trend_needs_nobody_without_the_number(release):
    """Nearly nobody has no age: what a missing age changes is not asked of so few."""
    slopes = release.by("ward").trend("smoker", "age")
    assert np.isfinite(slopes["south"].margin())
    assert np.isfinite(slopes["north"].margin())


def test_questions_say_which_rows_are_meant(release):
    told = "Questions(where='age > 30', by='ward', of='population')"
    assert repr(release.where("age > 30").by("ward").of("population")) == told


def test_help_names_every_keyword(release):
    for name in QUESTIONS:
        assert inspect.getdoc(getattr(Questions, name))
        if name in vars(ShortForms):
            assert {"where", "by", "of"} <= set(inspect.signature(getattr(release, name)).parameters)


@pytest.mark.slow
def test_the_type_checker_knows_what_comes_back(monkeypatch, tmp_path):
    """Without a word more in the analyst's code; a mistyped keyword is noticed before it runs."""
    mypy = pytest.importorskip("mypy.api")
    monkeypatch.setenv("MYPYPATH", str(Path(ke.__file__).parents[1]))
    monkeypatch.setenv("MYPY_CACHE_DIR", str(tmp_path))
    code = tmp_path / "analyst.py"
    code.write_text("""
from typing import assert_type
from kernelease.analysis import Estimate, EstimateTable, Groups, Regression, RegressionGroups
from kernelease.answers.release import Release

def ask(release: Release, by: str | None) -> None:
    assert_type(release.mean("age"), Estimate)
    assert_type(release.mean("age", where="smoker == true", of="population"), Estimate)
    assert_type(release.mean("age", by="ward"), Groups)
    assert_type(release.mean("age", by=["ward", "smoker"]), Groups)
    assert_type(release.mean("age", by=by), Estimate | Groups)
    assert_type(release.count("smoker == true"), Estimate)
    assert_type(release.count(by="ward"), Groups)
    assert_type(release.where("smoker == true").mean("age"), Estimate)
    assert_type(release.by("ward").mean("age"), Groups)
    assert_type(release.where("smoker == true").by("ward").of("population").quantile("age", 0.5), Groups)
    assert_type(release.regression("age ~ ward"), Regression)
    assert_type(release.logistic("smoker ~ age", by="ward"), RegressionGroups)
    assert_type(release.by("ward").regression("age ~ smoker"), RegressionGroups)
    assert_type(release.ask.histogram("age"), Groups)
    assert_type(release.crosstab("age", "ward"), EstimateTable)
    release.mean("age", wher="smoker")
""")
    report, _, _ = mypy.run(["--strict", "--config-file", os.devnull, "--follow-imports", "silent", str(code)])
    complaints = [line for line in report.splitlines() if "analyst.py" in line and ": error:" in line]
    assert complaints
    last = f"analyst.py:{len(code.read_text().splitlines())}: "
    assert all('"mean"' in line and last in line for line in complaints), report


# What was read of a release is kept with it.


def test_a_release_is_read_once(release):
    first, second = (release.ask._among.evidence for _ in range(2))
    assert first is second
    assert first.tabulation is release.of("population")._among.evidence.tabulation


def test_another_form_of_a_release_is_read_anew(release):
    other = replace(release, table=release.table.slice(0, 10))
    assert other.ask._among.evidence is not release.ask._among.evidence


def test_questions_about_the_same_rows_find_their_marginals(release):
    smokers = [
        release.ask._among.evidence.within(release.ask._among.evidence.where("smoker == true")) for _ in range(2)
    ]
    assert smokers[0].marginals((0,)) is smokers[1].marginals((0,))
    bare = replace(smokers[0], measured=replace(smokers[0].measured, moments=()))
    assert bare.marginals((0,)) is not smokers[0].marginals((0,))  # other measurements


@pytest.mark.slow
def test_only_the_last_marginals_of_chosen_rows_are_kept(release):
    evidence = release.ask._among.evidence
    smokers = evidence.within(evidence.where("smoker == true"))
    before = smokers.marginals((0,))
    for least in range(KEPT):
        evidence.within(evidence.where(f"smoker == true and not (age < {least / 8})")).marginals(())
    assert len(evidence._kept) == KEPT
    assert smokers.marginals((0,)) is not before


@pytest.mark.slow
def test_a_deleted_release_is_freed():
    gc.collect()
    kinds = (ke.Release, Evidence, Tabulation)
    before = sum(isinstance(one, kinds) for one in gc.get_objects())
    made = _release()
    answers = [
        made.mean("age", by="ward"),
        made.where("smoker == true").of("population").quantile("age", 0.5),
        made.regression("age ~ smoker"),
        made.tests.two_sample(TABLE.slice(0, 200), draws=50),
        made.agreement(),
    ]
    assert isinstance(answers[0], Groups)
    assert sum(isinstance(one, kinds) for one in gc.get_objects()) > before
    freed = weakref.ref(made)
    del made, answers
    gc.collect()
    assert freed() is None
    assert sum(isinstance(one, kinds) for one in gc.get_objects()) == before


def test_a_variance_is_the_square_of_the_standard_deviation(release):
    assert release.ask.variance("age").value == pytest.approx(release.ask.standard_deviation("age").value ** 2)


def test_a_difference_in_differences_is_that_of_four_means(release):
    found = release.ask.difference_in_differences("age", "ward == 'north'", "smoker == true")
    means = [
        release.mean("age", where=f"({ward}) and ({smoker})").value
        for ward in ("ward == 'north'", "not (ward == 'north')")
        for smoker in ("smoker == true", "not (smoker == true)")
    ]
    assert found.value == pytest.approx(means[0] - means[1] - means[2] + means[3])
    with pytest.raises(ParameterError, match="takes no by"):
        release.by("ward").difference_in_differences("age", "smoker == true", "age > 40")


def test_a_model_has_a_summary_and_a_joint_test(release):
    model = release.regression("age ~ smoker + ward")
    assert "p = " in model.summary()
    names = [name for name in model if name != "intercept"]
    least = min(model[name].test().p_value for name in names)
    assert model.test().p_value == pytest.approx(min(1.0, len(names) * least))
    with pytest.raises(ParameterError, match="no coefficient"):
        model.test("income")


def test_hazards_are_shares_of_those_at_risk(release):
    """Of rows beyond a time, those up to the next; with an event, only those that have it."""
    rates = release.ask.hazard("age", [30, 50, 70])
    assert list(rates) == ["30..50", "50..70"]
    assert rates["30..50"].value == release.probability("age <= 50", where="age > 30").value
    ill = release.ask.hazard("age", [30, 50], "smoker == true")["30..50"]
    assert ill.value == release.probability("age <= 50 and smoker == true", where="age > 30").value
    assert list(release.ask.by("smoker").hazard("age", [30, 50])) == [("false", "30..50"), ("true", "30..50")]
    with pytest.raises(ParameterError, match="two or more different times"):
        release.ask.hazard("age", [30, 30])


def test_means_are_weighted_by_a_column(release):
    """Σ weight·number / Σ weight over rows that have both; the interval holds the table's own in all but one of 10⁶."""
    rows = TABLE.to_pandas().dropna(subset=["age"])
    truth = float((rows["age"] * rows["smoker"]).sum() / rows["age"].sum())
    found = release.ask.weighted_mean("smoker", "age")
    low, high = found.interval(1.0 - 1e-6)
    assert low <= truth <= high
    assert high - low < 0.2
    with pytest.raises(ParameterError, match="two different columns"):
        release.ask.weighted_mean("age", "age")
    with pytest.raises(ParameterError, match="column 'ward' is of type category"):
        release.ask.weighted_mean("age", "ward")
    below = ke.Schema.parse("""
        columns.age = { type = "integer", min = -5, max = 81 }
        columns.smoker = { type = "boolean" }
    """)
    other = ke.release(
        TABLE.select(["age", "smoker"]).drop_null(),
        schema=below,
        privacy=ke.Privacy(epsilon=8.0, delta=1e-6),
        method=METHOD,
        noise=ke.SeededNoise(0),
    )
    with pytest.raises(ParameterError, match="declared from below 0 on"):
        other.ask.weighted_mean("smoker", "age")
