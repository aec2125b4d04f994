"""plan: the same noise as a release has, without any data."""

import math

import numpy as np
import pyarrow.csv
import pytest

from kernelease.answers.release import load
from kernelease.methods.interactions.singles import FIRST
from tests.cli.conftest import PROMISE, SCHEMA, people

PLAN = ("plan", "--schema", "people.toml", "--rows", "400", *PROMISE)
LARGE = ("plan", "--schema", "people.toml", "--rows", "40000", *PROMISE)  # so many that pairs can be seen


def test_the_plan_is_what_a_release_has(bundle, run):
    planned = run.json(*PLAN)
    release = load(bundle)
    single = [block.sigma for block in release.measurements.measured.blocks if len(block.block.columns) == 1]
    looks = np.array(single).reshape(2, -1)  # at each column: what both say together has less noise than either
    counts = [item["count"] for item in planned["noise"]][: looks.shape[1]]
    assert counts == pytest.approx(math.sqrt(FIRST) * looks[0])
    assert np.median((1.0 / looks**2).sum(axis=0) ** -0.5 / counts) == pytest.approx(1.0, rel=0.2)
    assert planned["attacker"]["0.05"] == pytest.approx(release.certificate.attacker[0.05])


def test_noise_falls_with_epsilon(here, run):
    settings = run.json(*LARGE)["by_epsilon"]
    assert [setting["epsilon"] for setting in settings] == [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
    for name in ("column_share", "pair_share"):  # None where pairs would drown
        shares = [setting[name] for setting in settings if setting[name] is not None]
        assert len(shares) >= 4
        assert shares == sorted(shares, reverse=True)


def test_the_table_and_the_plot(here, run):
    shown = run(*LARGE).stdout
    for words in ("noise of a count", "hours × employed", "of the innocent", "about", "██"):
        assert words in shown
    assert run(*LARGE).stdout == shown


def test_the_plan_says_which_pairs_are_measured(here, run):
    assert " will be measured" in (shown := run(*LARGE).stdout)
    assert "pairs          all " in shown
    assert "none will be measured" in run("plan", "--schema", "people.toml", "--rows", "40", *PROMISE).stdout
    assert run.json("plan", "--schema", "people.toml", "--rows", "40", *PROMISE)["pairs"] == 0


def test_all_pairs_are_listed_when_asked_for(here, run):
    columns = "".join(f'\n[columns.c{i}]\ntype = "boolean"\n' for i in range(6))
    (here / "wide.toml").write_text(columns)
    words = ("plan", "--schema", "wide.toml", "--rows", "40000", *PROMISE)
    assert "and 5 pairs with less noise" in run(*words).stdout
    assert run(*words, "--all-pairs").stdout.count(" × ") == 15


def test_one_column_has_no_pairs(here, run):
    (here / "one.toml").write_text('[columns.x]\ntype = "boolean"\n')
    answer = run.json("plan", "--schema", "one.toml", "--rows", "10", "--epsilon", "1", "--delta", "0")
    assert answer["by_epsilon"][0]["pair_share"] is None
    assert len(answer["noise"]) == 1


@pytest.mark.slow
def test_a_rehearsal_on_public_rows(here, run):
    pyarrow.csv.write_csv(people(100, seed=9), "public.csv")
    answer = run.json(*PLAN, "--simulate", "public.csv")["rehearsal"]
    assert 0.0 < answer["mean_one_way"] < answer["mean_two_way"] < 1.0
    assert list(answer["one_way"]) == ["age", "sex", "hours", "employed"]
    shown = run(*PLAN, "--simulate", "public.csv")
    assert "400 rows drawn from the public table" in shown.stdout
    assert run(*PLAN, "--simulate", "public.csv").stdout == shown.stdout


def test_warnings_and_errors(here, run):
    assert "warning: delta = 0.5" in run(*PLAN[:-1], "0.5").stderr
    assert "epsilon must be" in run(*PLAN[:-4], "--epsilon", "0", "--delta", "1e-6", code=2).stderr
    (here / "people.toml").write_text(SCHEMA.replace('"integer"', '"intger"'))
    assert "people.toml, line 6: column 'age': type must be" in run(*PLAN, code=2).stderr
    (here / "empty.csv").write_text("age,sex,hours,employed\n")
    (here / "people.toml").write_text(SCHEMA)
    assert "nothing to rehearse on" in run(*PLAN, "--simulate", "empty.csv", code=2).stderr
