"""Pages that commands write beside what they print: the same numbers, and never over a file."""

import re
from html import unescape
from pathlib import Path

import pyarrow.csv
import pytest

from tests.cli.conftest import PROMISE, people

PLAN = ("plan", "--schema", "people.toml", "--rows", "40000", *PROMISE)
SHOW = ("budget", "show", "books", "--timeline")
HOSTILE = "</title><img src=x onerror=1>"


def _tables(page: Path) -> list[list[list[str]]]:
    """The text of each cell of each table's body."""
    bodies = re.findall(r"<tbody>(.*?)</tbody>", page.read_text(encoding="utf-8"), re.DOTALL)
    return [[_cells(row) for row in re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)] for body in bodies]


def _cells(row: str) -> list[str]:
    return [unescape(re.sub(r"<svg.*</svg>", "", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)]


@pytest.fixture
def books(here, run):
    """A ledger with two entries."""
    run("budget", "create", "books", "--dataset", "people", "--epsilon", "2", "--delta", "1e-6", "--quiet")
    for epsilon in ("0.5", "1"):
        run(
            *("measure", "people.csv", "--schema", "people.toml", "--epsilon", epsilon, "--delta", "1e-7"),
            *("--ledger", "books", "--out", f"m{epsilon}", "--quiet"),
        )


def test_the_plan_as_a_page_has_the_numbers_that_are_printed(here, run):
    shown = [text.split() for text in run(*PLAN, "--all-pairs", "--html", "plan.html").stdout.splitlines()]
    tables = _tables(here / "plan.html")
    assert [len(table) for table in tables] == [4, 6, 7]  # columns, pairs, promises
    for row in (row for table in tables for row in table):
        words = " ".join(row).split()
        assert words in [[word for word in text if "█" not in word] for text in shown]
    text = unescape((here / "plan.html").read_text(encoding="utf-8"))
    for sentence in run.json(*PLAN)["advice"]:
        assert f">{sentence}<" in text
    assert "<h1>people</h1>" in text


def test_a_rehearsal_is_on_the_page(here, run):
    pyarrow.csv.write_csv(people(100, seed=9), "public.csv")
    words = ("plan", "--schema", "people.toml", "--rows", "400", *PROMISE, "--simulate", "public.csv")
    distances = run.json(*words, "--html", "plan.html")["rehearsal"]["one_way"]
    assert _tables(here / "plan.html")[-1] == [[name, f"{value:.4g}"] for name, value in distances.items()]


def test_the_ledger_as_a_page_has_the_numbers_that_are_printed(books, here, run):
    answer = run.json(*SHOW, "--html", "books.html")
    entries, timeline = _tables(here / "books.html")
    assert [row[6:8] for row in entries] == [["0.5", "1e-07"], ["1", "1e-07"]]
    assert [row[:3] for row in entries] == [[str(e["number"]), e["time"], e["purpose"]] for e in answer["entries"]]
    assert [row[2] for row in timeline] == ["2", *(f"{e['remaining_epsilon']:.3g}" for e in answer["entries"])]
    text = unescape((here / "books.html").read_text(encoding="utf-8"))
    assert f"<dd>{answer['remaining']}</dd>" in text
    widths = [float(width) for width in re.findall(r'<rect class="bar" width="(.*?)"', text)]
    assert widths == pytest.approx([240.0, *(120.0 * e["remaining_epsilon"] for e in answer["entries"])], abs=0.06)


def test_a_ledger_without_entries_has_a_page(here, run):
    run("budget", "create", "books", "--dataset", HOSTILE, "--epsilon", "2", "--delta", "1e-6", "--quiet")
    run(*SHOW, "--html", "books.html")
    text = (here / "books.html").read_text(encoding="utf-8")
    assert "no entries yet" in text
    assert "<img" not in text
    assert f"<h1>{HOSTILE}</h1>" in unescape(text)


def test_a_hostile_schema_stays_text(here, run):
    name = '"<script>alert(1)</script>"'
    (here / "people.toml").write_text(f'[table]\nname = "{HOSTILE}"\n\n[columns.{name}]\ntype = "boolean"\n')
    run(*PLAN, "--html", "plan.html")
    text = (here / "plan.html").read_text(encoding="utf-8")
    assert not re.search("<script|<img", text)
    assert _tables(here / "plan.html")[0][0][0] == "<script>alert(1)</script>"


@pytest.mark.parametrize("command", [PLAN, SHOW])
def test_pages_are_never_replaced(books, here, run, command):
    (here / "page.html").write_text("mine")
    refused = run(*command, "--html", "page.html", code=2)
    assert "page.html already exists. Choose another name" in refused.stderr
    assert refused.stdout == ""
    assert (here / "page.html").read_text() == "mine"
    assert "its folder is missing. Make it first" in run(*command, "--html", "nowhere/page.html", code=2).stderr
