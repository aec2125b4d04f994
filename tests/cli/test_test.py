"""test: one test on private rows from the command line."""

import shutil

from kernelease.ledgers import LedgerFile

DATA, DECLARED = "people.csv", ("--schema", "people.toml")


def test_independence_is_charged_to_the_ledger(here, run):
    ledger = here / "ledger"
    run("budget", "create", ledger, "--epsilon", 2, "--delta", 1e-6, "--dataset", "people")
    words = ("test", "independence", DATA, "age", "hours", *DECLARED, "--epsilon", 1, "--ledger", ledger)
    answer = run.json(*words)
    assert answer["rejected"] is (answer["margin"] > 0)
    assert (answer["level"], answer["epsilon"], answer["ledger_entry"]) == (0.05, 1.0, 1)
    assert answer["private"] is True
    assert LedgerFile.open(ledger).spent().pure_epsilon == 1.0
    shown = run(*words).stdout.replace("\n", " ")
    assert "age and hours are independent of each other" in shown
    assert "entry 2 of the ledger" in shown
    assert "left" in run(*words, code=3).stderr


def test_two_tables_are_compared(here, run):
    shutil.copy(DATA, "other.csv")
    words = ("test", "two-sample", DATA, "other.csv", *DECLARED, "--epsilon", 5, "--level", 0.01)
    answer = run.json(*words, "--columns", "age, sex")
    assert answer["rejected"] is False  # they are the same rows
    assert answer["protected"] == "each row of either table"
    assert answer["ledger_entry"] is None


def test_what_is_wrong_is_said_before_anything_is_spent(here, run):
    words = ("test", "independence", DATA, *DECLARED, "--epsilon", 1)
    assert "no column 'agee'" in run(*words, "agee", "hours", code=2).stderr
    assert "two columns" in run(*words, "age", "age", code=2).stderr
    assert "level must be" in run(*words, "age", "hours", "--level", 2, code=2).stderr
