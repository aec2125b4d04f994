"""One table as offices keep it: as a CSV file, a workbook, and files of SPSS, Stata and SAS with the same cells."""

import datetime
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyreadstat

from kernelease.table import Schema

SCHEMA = Schema.parse("""
    [table]
    name = "visits"

    [columns.age]
    type = "integer"
    min = 0
    max = 120
    nullable = true

    [columns.sex]
    type = "category"
    values = [1, 2]
    nullable = true

    [columns.city]
    type = "category"
    values = ["Ulm", "Köln"]
    other = true
    nullable = true

    [columns.dose]
    type = "number"
    min = 0.0
    max = 10.0
    cells = 20
    nullable = true

    [columns.seen]
    type = "date"
    min = 2020-01-01
    max = 2024-12-31
    nullable = true

    [columns.moment]
    type = "datetime"
    min = 2020-01-01T00:00:00
    max = 2024-12-31T23:59:59
    nullable = true

    [columns.ill]
    type = "boolean"
    nullable = true
""")
LABELS = {"sex": {1: "female", 2: "male", 9: "refused"}}
REFUSED = 9.0
STAT_KINDS = ("sav", "zsav", "dta", "xpt")


def frame(rows: int = 300) -> pd.DataFrame:
    """Every tenth cell is missing."""
    draw = np.random.default_rng(0)
    day = datetime.datetime(2020, 1, 1)
    days = [day + datetime.timedelta(days=int(n)) for n in draw.integers(0, 1800, rows)]
    moments = [day + datetime.timedelta(seconds=int(n)) for n in draw.integers(0, 150_000_000, rows)]
    columns = {
        "age": [float(n) for n in draw.integers(0, 121, rows)],
        "sex": [float(n) for n in draw.integers(1, 3, rows)],
        "city": [("Ulm", "Köln", "Bonn, am Rhein")[n] for n in draw.integers(0, 3, rows)],
        "dose": [float(n) / 8 for n in draw.integers(0, 80, rows)],
        "seen": [each.date() for each in days],
        "moment": moments,
        "ill": [float(n) for n in draw.integers(0, 2, rows)],
    }
    absent = draw.random((rows, len(columns))) < 0.1
    absent[:, 0] &= ~absent.all(axis=1)  # a line of a workbook without a cell is no row
    gaps = zip(columns.items(), absent.T, strict=True)
    cells = {name: [None if no else c for c, no in zip(given, gap, strict=True)] for (name, given), gap in gaps}
    return pd.DataFrame({name: pd.Series(given, dtype=object) for name, given in cells.items()})


def write_csv(path: Path, table: pd.DataFrame) -> Path:
    """As other software exports it: whole numbers without decimals, dates in ISO 8601."""
    lines = [",".join(table.columns)]
    lines += [",".join(_in_csv(cell) for cell in row) for row in table.itertuples(index=False)]
    path.write_text("\n".join([*lines, ""]), "utf-8")
    return path


def _in_csv(cell: object) -> str:
    if cell is None or cell is pd.NaT:
        return ""
    if isinstance(cell, float):
        return f"{cell:.15g}"
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    return f'"{cell}"' if "," in str(cell) else str(cell)


def write_excel(path: Path, table: pd.DataFrame, sheet: str = "visits") -> Path:
    book = openpyxl.Workbook()
    page = book.active
    page.title = sheet
    page.append(list(table.columns))
    for row in table.itertuples(index=False):
        page.append([None if cell is pd.NaT else cell for cell in row])
    book.save(path)
    return path


def write_stat(path: Path, table: pd.DataFrame, *, refused: bool = False) -> Path:
    """With value labels, where the format has them. With `refused`, missing sexes are a code that means so."""
    typed = table.astype({name: float for name in ("age", "sex", "dose", "ill", "person") if name in table})
    if "moment" in typed:
        typed["moment"] = pd.to_datetime(typed["moment"])
    typed["city"] = typed["city"].fillna("").astype(object)
    if refused:
        typed["sex"] = typed["sex"].fillna(REFUSED)
    if path.suffix in (".sav", ".zsav"):
        pyreadstat.write_sav(
            typed,
            path,
            variable_value_labels=LABELS,
            variable_format={"age": "F8.0"},
            variable_measure={"sex": "nominal", "age": "scale"},
            missing_ranges={"sex": [REFUSED]},
            compress=path.suffix == ".zsav",
        )
    elif path.suffix == ".dta":
        pyreadstat.write_dta(typed, path, variable_value_labels=LABELS)
    else:
        pyreadstat.write_xport(typed, path)
    return path


def write_as(kind: str, folder: Path, table: pd.DataFrame) -> Path:
    path = folder / f"visits.{kind}"
    if kind == "csv":
        return write_csv(path, table)
    return write_excel(path, table) if kind == "xlsx" else write_stat(path, table)
