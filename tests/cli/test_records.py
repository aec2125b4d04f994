"""`--records` and `[source]`: what a row is, declared once, and the same on the certificate."""

import csv

import pytest

from kernelease.answers.release import load
from kernelease.bundle.saving import load_measurements
from tests.cli.conftest import PROMISE, SCHEMA, people

pytestmark = pytest.mark.slow

LINES = '[source]\nrecords = "lines"\n'
MEASURE = ("measure", "people.csv", "--schema", "people.toml", *PROMISE, "--out", "out", "--quiet")


@pytest.fixture
def commented(here):
    """The table with a column that is not declared, where one person wrote five lines."""
    table = people()
    with (here / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*table.column_names, "comment"])
        for number, row in enumerate(table.to_pylist()):
            writer.writerow([*row.values(), "a\nb\nc\nd\ne" if number == 7 else "fine"])
    return here


def test_a_record_is_a_row_by_default(commented, run):
    run(*MEASURE)
    certificate = load_measurements("out").certificate
    assert (certificate.rows, certificate.unit) == (400, "each row")


@pytest.mark.parametrize("where", ["schema", "command line", "both"])
def test_lines_are_declared_and_certified(commented, run, where):
    if where != "command line":
        (commented / "people.toml").write_text(LINES + SCHEMA)
    run(*MEASURE, *(() if where == "schema" else ("--records", "lines")))
    measured = load_measurements("out")
    assert (measured.certificate.rows, measured.certificate.unit) == (404, "each line of the file")
    assert measured.schema.unit_in_words == "each line of the file"


def test_lines_with_public_rows(commented, run):
    run("release", *MEASURE[1:], "--public", "people.csv", "--records", "lines")
    assert load("out").certificate.unit == "each line of the file"


@pytest.mark.parametrize(("declared", "asked"), [("lines", "quoted"), ("quoted", "lines")])
def test_a_contradiction_is_an_error(here, run, declared, asked):
    (here / "people.toml").write_text(LINES.replace("lines", declared) + SCHEMA)
    message = run(*MEASURE, "--records", asked, "--ledger", "ledger", code=2).stderr
    assert f'records = "{declared}" is declared, but "{asked}" was asked for' in message
    assert not (here / "ledger").exists()


def test_a_draft_says_what_was_chosen(here, run):
    assert LINES in run("schema", "draft", "people.csv", "--records", "lines").stdout
    assert LINES in run("schema", "draft", "people.csv", "--records", "lines", "--from-public", "people.csv").stdout
    assert "[source]" not in run("schema", "draft", "people.csv").stdout


def test_check_says_whom_the_guarantee_protects(here, run):
    (here / "people.toml").write_text(LINES + SCHEMA)
    assert "each line of the file" in run("schema", "check", "people.toml").stdout
    assert run.json("schema", "check", "people.toml")["records"] == "lines"


def test_records_are_for_csv_files(here, run):
    run("export", str(_bundle(run)), "--out", "people.parquet", "--quiet")
    message = run(*(word.replace(".csv", ".parquet") for word in MEASURE), "--records", "lines", code=2).stderr
    assert 'records = "lines" is for CSV files' in message
    assert "is for CSV files" in run("schema", "draft", "people.parquet", "--records", "lines", code=2).stderr


def _bundle(run):
    run("release", *MEASURE[1:-2], "bundle", "--quiet")
    return "bundle"
