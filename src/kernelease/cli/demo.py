"""`kernelease demo`: a whole release of a generated table."""

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer

from kernelease.cli.estimates import record
from kernelease.cli.options import Json, Quiet, Seed
from kernelease.cli.screen import Screen, facts, grid, line, number
from kernelease.cli.summary import certificate_facts, certificate_fields
from kernelease.errors import ParameterError
from kernelease.pipeline import fit, measure
from kernelease.privacy.accounting import Privacy
from kernelease.release.bundle import save
from kernelease.release.container import check_target
from kernelease.release.export import export_table
from kernelease.release.release import Release
from kernelease.report.page import check_page, report_bundle
from kernelease.table.schema import Schema

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


def demo(
    out: Annotated[
        Path, typer.Option(metavar="PATH", help="The bundle to write. An older one there is replaced.")
    ] = Path("demo-release"),
    rows: Annotated[int, typer.Option(metavar="N", min=100, help="Rows of the generated private table.")] = 20_000,
    epsilon: Annotated[float, typer.Option(metavar="EPS", help="Privacy parameter epsilon.")] = 1.0,
    delta: Annotated[float, typer.Option(metavar="DELTA", help="Privacy parameter delta.")] = 1e-6,
    seed: Seed = 0,
    example: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Also write the generated table and its schema: people.csv, people.toml."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Generate a private table, release a synthetic one in its place, and say what was done."""
    screen = Screen(json=as_json, quiet=quiet)
    schema = Schema.parse(SCHEMA, source="demo")
    privacy = Privacy(epsilon=epsilon, delta=delta)
    check_target(out, overwrite=True)
    page = out.with_suffix(".html")
    check_page(page, overwrite=True)
    private = generated_table(rows)
    if example is not None:
        _write_example(private, example)
    with screen.progress() as progress:
        measurements = measure(private, schema=schema, privacy=privacy, seed=seed, progress=progress)
        result = fit(measurements, progress=progress)
    save(result, out, overwrite=True)
    report_bundle(out, page, overwrite=True)
    _show(screen, private, result, out, page)


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


def _write_example(table: pa.Table, folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
        (folder / "people.toml").write_text(SCHEMA, encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"The folder {folder} can't be written: {error.strerror}.") from error
    export_table(table, folder / "people.csv", overwrite=True)


def _show(screen: Screen, private: pa.Table, result: Release, out: Path, page: Path) -> None:
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
