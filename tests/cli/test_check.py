"""`kernelease check`, and what `release` says about it."""

import os
import stat

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernelease.drafting.findings import PRIVATE
from tests.cli.conftest import PROMISE


def test_a_private_look(here, run):
    words = ("check", "people.csv", "--schema", "people.toml")
    result = run(*words, "--delta", "1e-6", "--html", "look.html")
    assert all(line.startswith(f"[{PRIVATE}]") for line in result.stdout.splitlines())
    assert stat.S_IMODE(os.stat("look.html").st_mode) == 0o600
    assert "already exists" in run(*words, "--html", "look.html", code=2).stderr
    assert "its folder is missing. Make it first" in run(*words, "--html", "nowhere/look.html", code=2).stderr


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
        ("look\n", "is it public?"),
        ("bounds\nbooks\n0.5\n", "measured with noise"),
    ],
)
def test_a_terminal_is_asked(here, run, monkeypatch, answers, words):
    here.joinpath("book.csv").write_text("name,type,min,max\nage,integer,0,120\n")
    run("budget", "create", "books", "--epsilon", "2", "--delta", "1e-6")
    monkeypatch.setattr("kernelease.cli.options.on_a_terminal", lambda: True)
    assert words in run("schema", "draft", "people.csv", input=answers).stdout


def test_an_answer_that_is_none(here, run, monkeypatch):
    monkeypatch.setattr("kernelease.cli.options.on_a_terminal", lambda: True)
    assert "must be one of names, dictionary" in run("schema", "draft", "people.csv", input="perhaps\n", code=2).stderr


def damaged(here, rows, source=""):
    here.joinpath("t.csv").write_text(rows)
    here.joinpath("t.toml").write_text(f"{SHORT}{source}")
    return ("t.csv", "--schema", "t.toml", *PROMISE, "--ledger", "l", "--cap", "4,1e-6", "--out", "out")


SHORT = """
[columns.age]
type = "integer"
min = 0
max = 99

[columns.sex]
type = "category"
values = ["f", "m"]
other = true
"""
ROWS = "17,f\n41,m\n" * 225


@pytest.mark.slow
@pytest.mark.parametrize("command", ["release", "measure"])
@pytest.mark.parametrize(
    ("rows", "source", "words"),
    [
        (
            "age;sex\n" + ROWS.replace(",", ";"),
            '[source]\nseparator = ";"\nnulls = ["17", "41"]',
            "age: missing, and declared",
        ),
        ("age,sex\n" + ROWS.replace("41", "n/a"), "", "age: can't be read as numbers (some cells)"),
        ("age,sex\n" + ROWS.replace("m", "M").replace("f", "F"), "", "sex: not among the declared values (all cells)"),
        ("age,sex\n" + ROWS[:200] + '33,"f\n' + ROWS, "", "a quote is never closed: the lines after it are lost"),
        ("age,sex\n" + ROWS[:200] + '33,"f\n' + ROWS + '44,"m"\n', "", "by a quote that is closed too late"),
        ("age,sex\n" + ROWS + "7\n" * 20, "", "more or fewer cells than the header"),
    ],
)
def test_a_release_stops_where_the_source_can_not_be_read_as_declared(here, run, command, rows, source, words):
    order = damaged(here, rows, source)
    said = run(command, *order, code=2).stderr
    assert words in said
    assert "Nothing was spent. `kernelease check` shows the cells" in said
    assert not here.joinpath("out").exists()
    assert not here.joinpath("l").exists()
    run(command, *order, "--accept-damage", "--quiet")
    assert here.joinpath("out").exists()


def test_a_file_without_rows_is_told_before_anything_is_spent(here, run):
    assert "no records but its first line" in run("release", *damaged(here, "age,sex\n"), code=2).stderr


def test_what_stops_a_release_names_no_cell_and_no_count(here, run):
    said = run("release", *damaged(here, "age,sex\n" + ROWS + "old,f\n" * 37), code=2).stderr
    assert "age: can't be read as numbers (some cells)" in said
    assert not {"old", "37", "450", "487"} & set(said.replace("'", " ").split())


def test_a_few_strange_cells_stop_nothing_and_the_summary_says_that_it_looked(here, run):
    done = run("release", *damaged(here, "age,sex\n" + ROWS + "old,f\n"), "--fast").stdout
    assert "the source reads as declared" in done
    assert (
        "left out, by --accept-damage"
        in run("measure", *damaged(here, "age,sex\n" + ROWS), "--overwrite", "--accept-damage").stdout
    )


def test_a_draft_from_private_rows_is_for_its_owner_alone(here, run):
    run("schema", "draft", "people.csv", "--look", "-o", "looked.toml")
    assert stat.S_IMODE(os.stat("looked.toml").st_mode) == 0o600
