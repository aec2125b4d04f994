"""What the runner makes of verdicts and of errors."""

import datetime

import pytest

from audits import catalogue
from audits.__main__ import run
from audits.case import Case, Effort, Verdict
from audits.report import Line, document

GOOD = Verdict(trials=7, holds=True, measured="all well", twin="a | twin", twin_caught=True)


def case(verdict: Verdict | Exception) -> Case:
    def result(effort: Effort) -> Verdict:
        if isinstance(verdict, Exception):
            raise verdict
        return verdict

    return Case(name="a case", kind="audit", claim="A claim.", run=result)


def test_a_case_passes_if_the_claim_holds_and_the_twin_is_caught() -> None:
    assert run(case(GOOD), Effort.FAST).passes
    assert run(case(Verdict(trials=1, holds=True, measured="well")), Effort.FAST).passes
    assert not run(case(Verdict(trials=1, holds=False, measured="broken")), Effort.FAST).passes
    assert not run(case(Verdict(trials=1, holds=True, measured="", twin="t", twin_caught=False)), Effort.FAST).passes


def test_an_error_is_a_failure_and_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    line = run(case(RuntimeError("lost")), Effort.FAST)
    assert not line.passes
    assert "ERROR RuntimeError" in line.cells[2]
    assert "lost" in capsys.readouterr().err


def test_a_verdict_needs_trials_and_both_halves_of_a_twin() -> None:
    with pytest.raises(ValueError, match="nothing was tried"):
        Verdict(trials=0, holds=True, measured="")
    with pytest.raises(ValueError, match="twin"):
        Verdict(trials=1, holds=True, measured="", twin="a twin")


def test_the_document_shows_failures_date_and_version() -> None:
    bad = Verdict(trials=1_000, holds=False, measured="ε ≥ 3", twin="half", twin_caught=False)
    lines = [Line(case=case(v), verdict=v, error="", seconds=30.0) for v in (GOOD, bad)]
    text = document(lines, effort=Effort.FULL, version="9.9", today=datetime.date(2024, 2, 3))
    assert "2024-02-03 with kernelease 9.9" in text
    assert "1 of 2 cases pass, 1 of 2 broken twins are caught" in text
    assert "| audit: a case | 7 | holds: all well | caught: a \\| twin |" in text
    assert "| 1,000 | BROKEN: ε ≥ 3 | MISSED: half |" in text


def test_modules_are_listed_and_names_are_unique(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(catalogue.all_cases()) > 30
    monkeypatch.setattr(catalogue, "MODULES", ("composition", "composition"))
    with pytest.raises(ValueError, match="same name"):
        catalogue.all_cases()
    monkeypatch.setattr(catalogue, "MODULES", ("no_such_module",))
    with pytest.raises(ModuleNotFoundError):
        catalogue.all_cases()
