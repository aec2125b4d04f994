"""The generated table of the demo, and the summary of its release."""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.answers.frames import export_table
from kernelease.answers.release import Release
from kernelease.cli.screen import Screen, facts, grid, line, number
from kernelease.cli.work.estimates import record
from kernelease.cli.work.summary import certificate_facts, certificate_fields
from kernelease.errors import ParameterError

SCHEMA = """\
[table]
name = "people"
neighbours = "replace-one"

[columns.age]
type = "integer"
min = 18
max = 99

[columns.sex]
type = "category"
values = ["female", "male"]

[columns.education]
type = "ordinal"
values = ["school", "college", "university"]

[columns.hours]
type = "number"
min = 0.0
max = 80.0
nullable = true

[columns.employed]
type = "boolean"

[columns.moved]
type = "date"
min = 2015-01-01
max = 2024-12-31
cells = 40
nullable = true
"""
_NUMBERS = ("age", "hours", "employed")


def generated_table(rows: int) -> pa.Table:
    """People in work and people who have retired, with some answers missing."""
    generator = np.random.default_rng(2018)
    retired = generator.random(rows) < 0.2
    age = np.where(retired, generator.normal(72.0, 6.0, rows), generator.normal(41.0, 11.0, rows))
    hours = np.where(retired, generator.exponential(3.0, rows), generator.normal(38.0, 7.0, rows))
    schooling = np.clip(np.rint(generator.normal(1.1 - 0.01 * (age - 45.0), 0.7)), 0, 2).astype(int)
    days = generator.integers(0, 3653, rows)
    dates = np.datetime64("2015-01-01") + days
    missing = generator.random((2, rows)) < np.array([[0.08], [0.3]])
    return pa.table(
        {
            "age": np.clip(age, 18, 99).astype(np.int64),
            "sex": np.where(generator.random(rows) < 0.52, "female", "male"),
            "education": np.array(["school", "college", "university"])[schooling],
            "hours": pa.array(np.clip(hours, 0.0, 80.0).round(1), mask=missing[0]),
            "employed": ~retired & (generator.random(rows) < 0.93),
            "moved": pa.array(dates, pa.date32(), mask=missing[1]),
        }
    )


def write_example(table: pa.Table, folder: Path) -> None:
    """The table and its schema, as files."""
    try:
        folder.mkdir(exist_ok=True)
        (folder / "people.toml").write_text(SCHEMA, encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"The folder {folder} can't be written: {error.strerror}.") from error
    export_table(table, folder / "people.csv", overwrite=True)


def show_demo(screen: Screen, private: pa.Table, result: Release, out: Path, page: Path) -> None:
    """What was done, and what to try next."""
    truths = {name: float(pc.mean(pc.cast(private.column(name), "float64")).as_py()) for name in _NUMBERS}
    estimates = {name: result.mean(name) for name in _NUMBERS}
    fields = {
        "bundle": str(out),
        "page": str(page),
        **certificate_fields(result.certificate),
        "rows": result.table.num_rows,
        "columns": result.rows.column_names,
        "means": {name: {"private": truths[name], **record(estimates[name], 0.95)["groups"][0]} for name in _NUMBERS},
    }
    about = [
        ("private table", f"{private.num_rows:,} generated rows of {private.num_columns} columns"),
        ("guarantee", result.certificate.headline),
        ("rows", f"{result.table.num_rows:,} synthetic ones"),
        *certificate_facts(result.certificate),
        ("bundle", out),
    ]
    command = sys.argv[0] if Path(sys.argv[0]).name == "kernelease" else "kernelease"  # as it was called just now
    screen.summary(
        fields,
        facts(about),
        line("\nMeans, private and estimated from the release (the owner alone could print the first):"),
        grid(("column", "private", "estimate"), [(name, number(truths[name]), estimates[name]) for name in _NUMBERS]),
        line("\nTry next:"),
        line(f"  {command} query {out} mean hours --by education"),
        line(f'  {command} query {out} probability "employed == true" --by sex'),
        line(f"  {command} verify {out}"),
        line("\nLook at it in a browser:"),
        line(f"  {page.resolve().as_uri()}"),
    )
