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
from kernelease.errors import KerneleaseError, ParameterError
from kernelease.estimate.marginal import Tabulation
from kernelease.release.questions import Questions

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
METHOD = ke.Interactions(solver=ke.MixtureSolver(components=20, steps=20))
STRATA = {"age < 50": 0.7, "age >= 50": 0.3}
ROWS = {"where": "age >= 34", "by": "ward", "of": "population"}

QUESTIONS = {
    "mean": ("age",),
    "probability": ("smoker == true",),
    "count": (),
    "expectation": (lambda t: t["age"] ** 2,),
    "histogram": ("ward",),
    "survival": ("age", [30, 50]),
    "quantile": ("age", 0.5),
    "standard_deviation": ("age",),
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
    unlike = {"where", "by", "of", "crosstab"}
    assert set(QUESTIONS) == {name for name in vars(Questions) if not name.startswith("_")} - unlike


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=" and ".join)
@pytest.mark.parametrize("name", QUESTIONS)
def test_rows_can_be_said_first_or_with_the_question(release, name, way):
    rows = {word: ROWS[word] for word in way}
    first, short = (getattr(one, name) for one in (_narrow(release, rows), release))
    outcome = _outcome(lambda: short(*QUESTIONS[name], **rows))
    assert _outcome(lambda: first(*QUESTIONS[name])) == outcome
    if way in [(), ("of",)]:  # every question has an answer about all rows
        assert not str(outcome).startswith("refused: ")


def test_conditions_add_up(release):
    twice = release.where("age >= 34").where("smoker == true").count()
    assert repr(twice) == repr(release.count("(age >= 34) and (smoker == true)"))
    assert repr(release.where("age >= 34").count("smoker == true")) == repr(twice)


def test_groups_add_up(release):
    both = release.by("ward", "smoker").count()
    assert list(both) == [(ward, smoker) for ward in SCHEMA.columns[1].labels() for smoker in ("false", "true")]
    assert list(release.by("ward").by("smoker").count()) == list(release.by("ward").count(by="smoker")) == list(both)
    assert list(release.by("ward").count()) == list(SCHEMA.columns[1].labels())
    with pytest.raises(ParameterError, match="one or several different columns"):
        release.by("ward").by("ward").count()


def test_the_last_word_counts(release):
    population = release.of("population")
    assert population.mean("age").parts.sampling > 0.0
    assert population.of(Target.TABLE).mean("age").parts.sampling == 0.0
    assert population.mean("age", of="table").parts.sampling == 0.0
    with pytest.raises(ParameterError, match="of must be 'table' or 'population', got 'tabel'"):
        release.of("tabel")


def test_a_cross_table_has_no_groups(release):
    assert repr(release.where("smoker == true").crosstab("age", "ward")) == repr(
        release.crosstab("age", "ward", where="smoker == true")
    )
    with pytest.raises(ParameterError, match=r"Ask histogram\('ward', by=\['age', 'smoker'\]\) instead"):
        release.by("smoker").crosstab("age", "ward")


def test_a_trend_that_runs_away_is_not_known(release):
    """Nearly nobody has no age: what a missing age changes is nowhere near, within one ward."""
    slopes = release.by("ward").trend("smoker", "age")
    assert "no solution" in slopes["south"].remark
    assert slopes["north"].interval()[0] > 0.0


def test_questions_say_which_rows_are_meant(release):
    told = "Questions(where='age > 30', by='ward', of='population')"
    assert repr(release.where("age > 30").by("ward").of("population")) == told


def test_help_names_every_keyword(release):
    for name in QUESTIONS:
        method = getattr(release, name)
        assert {"where", "by", "of"} <= set(inspect.signature(method).parameters)
        assert inspect.getdoc(method)


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
from kernelease.release import Release

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
    assert_type(release.histogram("age"), Groups)
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
    first, second = (release._among.evidence for _ in range(2))
    assert first is second
    assert first.tabulated is release.of("population")._among.evidence.tabulated


def test_another_form_of_a_release_is_read_anew(release):
    other = replace(release, table=release.table.slice(0, 10))
    assert other._among.evidence is not release._among.evidence


def test_questions_about_the_same_rows_find_their_marginals(release):
    smokers = [release._among.evidence.within(release._among.evidence.where("smoker == true")) for _ in range(2)]
    assert smokers[0].marginals((0,)) is smokers[1].marginals((0,))
    bare = replace(smokers[0], measured=replace(smokers[0].measured, moments=()))
    assert bare.marginals((0,)) is not smokers[0].marginals((0,))  # other measurements


@pytest.mark.slow
def test_only_the_last_marginals_of_chosen_rows_are_kept(release):
    evidence = release._among.evidence
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
        made.two_sample_test(TABLE.slice(0, 200), draws=50),
        made.check(),
    ]
    assert isinstance(answers[0], Groups)
    assert sum(isinstance(one, kinds) for one in gc.get_objects()) > before
    freed = weakref.ref(made)
    del made, answers
    gc.collect()
    assert freed() is None
    assert sum(isinstance(one, kinds) for one in gc.get_objects()) == before
