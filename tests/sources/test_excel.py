"""Workbooks: one sheet, whose first line names the columns; every cell as a CSV file would have it."""

import datetime
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import python_calamine
from typer.testing import CliRunner

from kernelease.cli import app
from kernelease.errors import SchemaError, SourceError
from kernelease.sources import CsvFormat, Source, open_declared, open_source
from kernelease.table import Schema

AGE = '[columns.age]\ntype = "integer"\nmin = 0\nmax = 120\nnullable = true\n'


def book(path: Path, **sheets: Iterable[Iterable[Any]]) -> Path:
    written = openpyxl.Workbook()
    written.remove(written.active)
    for name, lines in sheets.items():
        page = written.create_sheet(name)
        for line in lines:
            page.append(list(line))
    written.save(path)
    return path


def rows(source: Source) -> list[dict[str, Any]]:
    return [row for batch in source.batches(source.names()) for row in batch.to_pylist()]


def test_each_cell_is_the_text_that_a_csv_file_would_have(tmp_path: Path) -> None:
    day, moment = datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 12, 30, 15)
    cells = {
        "whole": (7, "7"),
        "long": (10**15 + 1, "1000000000000001"),
        "real": (0.1, "0.1"),
        "vast": (1e300, "1e+300"),
        "text": (' "a", \nß ', ' "a", \nß '),
        "number in a text": ("007", "007"),
        "flag": (True, "true"),
        "no": (False, "false"),
        "day": (day, "2024-01-31"),
        "moment": (moment, "2024-01-31T12:30:15"),
        "time": (datetime.time(12, 5), "12:05:00"),
        "duration": (datetime.timedelta(hours=30), "108000"),
        "empty": (None, None),
        "error": ("#N/A", None),
        "formula that nobody has computed": ("=1+1", None),
    }
    path = book(tmp_path / "t.xlsx", visits=[list(cells), [given for given, _ in cells.values()]])
    assert rows(open_source(path)) == [{name: text for name, (_, text) in cells.items()}]


def test_lines_without_a_cell_are_rows_of_nulls_but_before_the_header_and_after_the_last(tmp_path: Path) -> None:
    lines = [[], [None, "age", None, 2024, None], [None, 1], [], [None, None, "note"], [], [None, None, None, 5, 9], []]
    source = open_source(book(tmp_path / "t.xlsx", visits=lines), batch_rows=2)
    assert source.names() == ("age", "2024")
    nothing = {"age": None, "2024": None}
    assert rows(source) == [{"age": "1", "2024": None}, nothing, nothing, nothing, {"age": None, "2024": "5"}]


def test_a_sheet_is_named_where_there_are_several(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", first=[["age"], [1]], second=[["age"], [2]])
    with pytest.raises(SourceError, match="has 2 sheets: name one with --query"):
        open_source(path)
    with pytest.raises(SourceError, match="has no sheet 'third'"):
        open_source(path, query="third")
    assert rows(open_source(path, query="second")) == [{"age": "2"}]
    assert "sheet second" in open_source(path, query="second").describe()


def test_a_hidden_sheet_is_not_taken_unasked(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", first=[["age"], [1]], second=[["age"], [2]])
    changed = openpyxl.load_workbook(path)
    changed["first"].sheet_state = "hidden"
    changed.save(path)
    assert rows(open_source(path)) == [{"age": "2"}]
    assert rows(open_source(path, query="first")) == [{"age": "1"}]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "has an empty sheet. Its first line must name the columns"),
        ([["secret", "secret"], [1, 2]], "two columns of one name"),
    ],
)
def test_sheets_that_can_not_be_read(lines: list[list[Any]], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=sentence) as caught:
        open_source(book(tmp_path / "t.xlsx", visits=lines))
    assert "secret" not in str(caught.value)


def test_spellings_of_null_are_declared_as_for_csv(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", visits=[["age"], [1], ["n/a"], ["-"]])
    schema = Schema.parse(f'[source]\nnulls = ["n/a", "-"]\n{AGE}')
    assert [row["age"] for row in rows(open_declared(path, schema))] == ["1", None, None]
    opened = open_source(path, csv=CsvFormat(nulls=("n/a",)))
    assert [row["age"] for row in rows(opened)] == ["1", None, "-"]
    with pytest.raises(SchemaError, match="was opened with nulls"):
        open_declared(opened, schema)


@pytest.mark.parametrize(
    ("key", "sign", "sentence"),
    [
        ("separator", ";", 'separator = ";" is for CSV files, and Excel file .* has rows'),
        ("decimal", ",", 'decimal = "," is for numbers in texts, and Excel file .* has numbers'),
        ("thousands", ",", 'thousands = "," is for numbers in texts'),
    ],
)
def test_ways_of_writing_that_a_workbook_does_not_have(key: str, sign: str, sentence: str, tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", visits=[["age"], [1.234]])
    with pytest.raises(SchemaError, match=sentence):
        open_declared(path, Schema.parse(f'[source]\n{key} = "{sign}"\n{AGE}'))
    drafted = CliRunner().invoke(app, ["schema", "draft", str(path), f"--{key}", sign])
    assert f"--{key} is for" in drafted.stderr
    assert drafted.exit_code == 2


def test_a_draft_by_looking_takes_numbers_for_numbers(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", visits=[["cost", "note"], *([n + 0.125, "n/a"] for n in range(40))])
    drafted = CliRunner().invoke(app, ["schema", "draft", str(path), "--look"]).stdout
    assert 'nulls = ["n/a"]' in drafted
    assert "thousands" not in drafted
    assert 'type = "number"' in drafted


class Locked:
    """A workbook that asks for a password."""

    @classmethod
    def from_path(cls, path: Path) -> None:
        raise python_calamine.PasswordError("secret")


class Damaged:
    """A workbook that can't be opened again."""

    @classmethod
    def from_path(cls, path: Path) -> None:
        raise python_calamine.CalamineError("secret")


def test_a_password_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = book(tmp_path / "t.xlsx", visits=[["age"], [1]])
    monkeypatch.setattr(python_calamine, "CalamineWorkbook", Locked)
    with pytest.raises(SourceError, match=r"protected by a password\. Save it without one") as caught:
        open_source(path)
    assert "secret" not in str(caught.value)


def test_damage_is_told_without_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = open_source(book(tmp_path / "t.xlsx", visits=[["age"], [1]]))
    monkeypatch.setattr(python_calamine, "CalamineWorkbook", Damaged)
    with pytest.raises(SourceError, match="damaged or was cut off") as caught:
        list(source.batches(["age"]))
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
