"""--fast: a first look from the same measurements."""

import json
from pathlib import Path

from tests.cli.conftest import PROMISE

RELEASE = ("release", "people.csv", "--schema", "people.toml", *PROMISE)


def test_a_first_look_is_verified_and_refined_for_free(run, here):
    told = run(*RELEASE, "--ledger", "books", "--cap", "2,1e-6", "--out", "look", "--fast").stderr
    assert "kernelease fit look --out BETTER" in told
    assert json.loads(Path("look/fit.json").read_text())["method"]["solver"]["components"] == 100
    run("verify", "look", "--refit")
    run("fit", "look", "--out", "better", "--quiet")
    run("verify", "better", "--refit")
    assert Path("look/measurements.json").read_bytes() == Path("better/measurements.json").read_bytes()
    assert "solver" not in Path("better/fit.json").read_text()  # the default one
    assert len(run.json("budget", "show", "books")["entries"]) == 1


def test_weighted_public_rows_have_no_coarser_fit(run, here):
    told = run(
        *RELEASE, "--public", "people.csv", "--ledger", "books", "--cap", "2,1e-6", "--out", "look", "--fast", code=2
    ).stderr
    assert "fast: Subspace fits no mixture" in told
    assert not Path("books").exists()
