"""docs/questions.md: each question gives an answer with an interval, from Python and from the command line alike."""

import re
import shlex
from pathlib import Path

import pytest

import kernelease as ke

PAGE = Path(__file__).resolve().parents[2] / "docs" / "questions.md"
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^\$ kernelease (.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """The release that the page makes."""
    here = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        exec(PYTHON.search(PAGE.read_text(encoding="utf-8"))[1], {"__name__": "__main__"})
    return here


@pytest.mark.slow
def test_every_question_has_an_answer_in_both_languages(clinic, monkeypatch, run):
    monkeypatch.chdir(clinic)
    lines = LINE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(lines) >= 14
    for line in lines:
        groups = run.json(*shlex.split(line))["groups"]
        assert all(one["low"] <= one["value"] <= one["high"] for one in groups), line
        told = [one for one in groups if one.get("term") != "intercept" and one.get("group") != "NULL"]  # 5 % have none
        assert not any(one["says_little"] for one in told), line


@pytest.mark.slow
def test_both_languages_say_the_same(clinic, monkeypatch, run):
    monkeypatch.chdir(clinic)
    r = ke.load("clinic")
    for line, estimate in (
        ("probability 'ward is null'", r.probability("ward is null")),
        ("trend ill day", r.ask.trend("ill", over="day")),
        ("gini stay", r.ask.gini("stay")),
        ("mean stay --by ward --minus north", r.mean("stay", by="ward").minus("north")["south"]),
    ):
        found = run.json("query", "clinic", *shlex.split(line))["groups"][0]
        assert (found["value"], found["low"]) == pytest.approx((estimate.value, estimate.interval()[0])), line
