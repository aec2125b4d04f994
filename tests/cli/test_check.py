"""`kernelease check`, and what `release` says about it."""

import os
import stat

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernelease.check.finding import PRIVATE
from tests.cli.conftest import PROMISE


def test_a_private_look(here, run):
    words = ("check", "people.csv", "--schema", "people.toml")
    result = run(*words, "--delta", "1e-6", "--html", "look.html")
    assert all(line.startswith(f"[{PRIVATE}]") for line in result.stdout.splitlines())
    assert stat.S_IMODE(os.stat("look.html").st_mode) == 0o600
    assert "already exists" in run(*words, "--html", "look.html", code=2).stderr
    assert "can't be written" in run(*words, "--html", "nowhere/look.html", code=2).stderr


def test_damage_has_an_exit_code(here, run):
    text = here.joinpath("people.toml").read_text().replace('"female", "male"', '"FEMALE", "MALE"')
    here.joinpath("shouted.toml").write_text(text)
    found = run.json("check", "people.csv", "--schema", "shouted.toml", code=1)
    assert found["level"] == "damage"
    assert found["findings"][0]["remedy"].endswith('values = ["female", "male"]')
    stopped = run(
        "release",
        "people.csv",
        "--schema",
        "shouted.toml",
        *PROMISE,
        "--out",
        "out",
        "--ledger",
        "l",
        "--check",
        code=2,
    )
    assert "Nothing was spent" in stopped.stderr
    assert not here.joinpath("out").exists()


@pytest.mark.parametrize("options", [("--from-dictionary", "book.csv"), ("--look",)])
def test_drafts(here, run, options):
    here.joinpath("book.csv").write_text("name,type,min,max\nage,integer,0,120\n")
    text = run("schema", "draft", "people.csv", *options).stdout
    assert '[columns.age]\ntype = "integer"' in text
    assert (
        "both give bounds"
        in run("schema", "draft", "people.csv", *options, "--from-public", "people.csv", code=2).stderr
    )


def test_a_code_book_of_another_table(here, run):
    here.joinpath("book.csv").write_text("name,type\nincome,integer\n")
    result = run("schema", "draft", "people.csv", "--from-dictionary", "book.csv", code=2)
    assert "describes no column of the table" in result.stderr


def test_options_for_files_only(here, run):
    pq.write_table(pa.table({"a": [1]}), "t.parquet")
    assert "--null is for CSV files" in run("schema", "draft", "t.parquet", "--null", "NA", code=2).stderr


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ("names\n", "FILL IN"),
        ("dictionary\nbook.csv\n", "max = 120"),
        ("public\npeople.csv\n", 'values = ["female", "male"]'),
        ("look\n", "keep only if it is public knowledge"),
        ("bounds\nbooks\n0.5\n", "measured with noise"),
    ],
)
def test_a_terminal_is_asked(here, run, monkeypatch, answers, words):
    here.joinpath("book.csv").write_text("name,type,min,max\nage,integer,0,120\n")
    run("budget", "create", "books", "--epsilon", "2", "--delta", "1e-6")
    monkeypatch.setattr("kernelease.cli.knowledge._on_a_terminal", lambda: True)
    assert words in run("schema", "draft", "people.csv", input=answers).stdout


def test_an_answer_that_is_none(here, run, monkeypatch):
    monkeypatch.setattr("kernelease.cli.knowledge._on_a_terminal", lambda: True)
    assert "must be one of names, dictionary" in run("schema", "draft", "people.csv", input="perhaps\n", code=2).stderr
