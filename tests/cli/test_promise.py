"""How much privacy, as it is typed."""

import pytest

from kernelease.privacy import Privacy

PLAN = ("plan", "--schema", "people.toml", "--rows", "400")


def test_an_advantage_in_place_of_epsilon(run, here):
    planned = run.json(*PLAN, "--advantage", "0.1")
    asked = Privacy.from_risk(advantage=0.1)
    assert (planned["epsilon"], planned["delta"]) == (asked.epsilon, 1e-9)


def test_two_rates_in_place_of_epsilon(run, here):
    planned = run.json(*PLAN, "--true-positive", "0.02", "--false-positive", "0.01", "--delta", "1e-6")
    assert 0.0199999 < planned["attacker"]["0.01"] <= 0.02
    assert planned["delta"] == 1e-6


@pytest.mark.slow
def test_a_release_keeps_the_risk_that_was_asked_for(run, here):
    made = run.json(
        *("release", "people.csv", "--schema", "people.toml", "--advantage", "0.3", "--delta", "1e-6"),
        *("--ledger", "ledger", "--cap", "9,1e-6", "--out", "bundle"),
    )
    assert 0.2999 < Privacy(epsilon=made["epsilon"], delta=made["delta"]).total(1).advantage <= 0.3
    assert run.json("budget", "show", "ledger")["entries"][0]["epsilon"] == made["epsilon"]


def test_a_ledger_of_a_risk(run, here):
    made = run.json("budget", "create", "books", "--advantage", "0.2", "--delta", "0")
    assert made["cap"] == {"epsilon": Privacy.from_risk(advantage=0.2, delta=0.0).epsilon, "delta": 0.0}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "How much privacy? Give --epsilon EPS and --delta DELTA"),
        (("--epsilon", "1"), "Give --delta, too"),
        (("--delta", "1e-6"), "How much privacy?"),
        (("--epsilon", "1", "--delta", "1e-6", "--advantage", "0.1"), "Give one of them"),
        (("--true-positive", "0.1"), "true_positive = 0.02 and false_positive = 0.01"),
        (("--advantage", "2"), "advantage must be above 0 and below 1"),
    ],
)
def test_what_is_missing_is_asked_for(run, here, words, message):
    assert message in run(*PLAN, *words, code=2).stderr
