"""What was planned and what was released, in words."""

import dataclasses
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from rich.console import RenderableType

from kernelease.analysis.comparisons.tables import MarginalErrors
from kernelease.answers.frames import export_table
from kernelease.answers.release import Release, TablesRelease
from kernelease.bundle.signing import fingerprint, short_fingerprint
from kernelease.certificate import Certificate, Measurements
from kernelease.cli.screen import Screen, facts, grid, line, number
from kernelease.cli.work.estimates import record
from kernelease.drafting.findings import PRIVATE, Level, Report
from kernelease.errors import LedgerError, ParameterError
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.ledgers import remaining_in_words
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.method import Method
from kernelease.methods.plan import Floor, Plan, RecordsPlan, Setting
from kernelease.methods.several_tables import Bags
from kernelease.privacy.ledger import Ledger
from kernelease.report import sheet
from kernelease.table.schema import Schema

# ---- Which solver makes rows of measurements.


def solved_by(method: Method, *, components: int | None, steps: int | None, goal: float | None) -> Method:
    """The method that measured, with the solver that was asked for. Only counts are fitted by a mixture."""
    solver = MixtureSolver(components=components, steps=steps, goal=goal)
    if isinstance(method, Interactions):
        return dataclasses.replace(method, solver=solver)
    if isinstance(method, Bags):
        return dataclasses.replace(method, interactions=dataclasses.replace(method.interactions, solver=solver))
    if solver != MixtureSolver():
        raise ParameterError(f"--components, --steps, --goal: {type(method).__name__} fits no mixture. Leave them out.")
    return method


# ---- A report of the owner's private look, on the screen and as a page.


_COLOURS = {Level.NOTE: "green", Level.LOOK: "yellow", Level.DAMAGE: "red"}


def show(screen: Screen, report: Report) -> None:
    """The report in colours, every line of it marked as private: so none is wrapped into two."""
    if screen.json:
        screen.result(report.to_dict())
        return
    for level, text in report.lines():
        typer.secho(text, fg=_COLOURS[level], bold=level is Level.DAMAGE)


def look_page(report: Report) -> str:
    """The same as a page, every row of which says that it is private."""
    header = ("", "where", "what", "what to write or do", "whose")
    rows = [(item.level.name.lower(), item.where, item.words, item.remedy, PRIVATE) for item in report.findings]
    found = sheet.grid("Findings", header, rows, text=range(len(header))) if rows else ""
    return sheet.sheet(found, kicker=PRIVATE, title=report.source, headline=f"{report.verdict}, {report.size}")


# ---- The summary of a release or a fit.


def show_bundle(
    screen: Screen,
    content: Release | TablesRelease | Measurements,
    path: Path,
    *,
    why: str | None = None,
    ledger: Ledger | None = None,
    key: Ed25519PrivateKey | None = None,
    looked: str | None = None,
) -> None:
    """The summary at the end of a command that wrote a bundle. `looked`, on the owner's screen alone: who checked."""
    certificate = content.certificate
    with _in_place(path):
        fields = {"bundle": str(path), **certificate_fields(certificate)}
        method = certificate.method if why is None else f"{certificate.method}: {why}"
        shown: list[tuple[str, object]] = [("in words", certificate.words), ("guarantee", certificate.headline)]
        shown.append(("method", method))
        fields |= {} if why is None else {"why": why}
        if isinstance(content, TablesRelease):
            fields["rows"] = {name: len(table) for name, table in content.tables.items()}
            shown += [(name, f"{len(table):,} rows") for name, table in content.tables.items()]
        elif isinstance(content, Release):
            fields["rows"], fields["columns"] = content.table.num_rows, content.rows.column_names
            of = ", each of one person" if certificate.one == "person" else ""
            shown.append(("rows", f"{content.table.num_rows:,} of {len(content.rows.column_names)} columns{of}"))
        shown += certificate_facts(certificate)
        notices = (content if isinstance(content, Measurements) else content.measurements).notices
        fields["notices"] = list(notices)
        shown += [("NOTE", notice) for notice in notices]
        if ledger is not None:
            entry, left = certificate.entry, _left(ledger)
            fields["ledger"] = {"entry": entry.number, "identity": entry.ledger, "left": left}
            shown.append(("ledger", f"entry {entry.number}; {left}"))
        if key is not None:
            fields["signed_by"] = fingerprint(key.public_key())
            shown.append(("signed by", f"key {short_fingerprint(fields['signed_by'])}"))
        shown += [] if looked is None else [("check", looked)]
        screen.summary(fields, facts([*shown, ("bundle", path)]))


@contextmanager
def _in_place(path: Path) -> Iterator[None]:
    """Whatever keeps a summary from being shown says that the bundle is written all the same."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"The bundle {path} is in place.")
        raise


def _left(ledger: Ledger) -> str:
    """What is left, or that the ledger can't tell now: the bundle is written, so that nothing has failed."""
    try:
        return remaining_in_words(ledger.cap, ledger.spent())
    except LedgerError:
        return "what is left can't be read now"


def certificate_fields(certificate: Certificate) -> dict[str, Any]:
    """The certificate for machines."""
    return {
        "private": certificate.private,
        "statement": certificate.headline,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "mu": certificate.mu,
        "neighbours": certificate.neighbours.value,
        "unit": certificate.unit,
        "method": certificate.method,
        "noisy_numbers": certificate.coordinates,
        "published_rows": certificate.published_rows,
        "attacker": attacker_fields(certificate.attacker),
        "seed": certificate.seed,
    }


def certificate_facts(certificate: Certificate) -> list[tuple[str, object]]:
    """The certificate for people, beside its headline."""
    shown: list[tuple[str, object]] = [
        ("noisy numbers", f"{certificate.coordinates:,}"),
        ("attacker", attacker_words(certificate.attacker, certificate.one)),
    ]
    if certificate.published_rows:
        shown.append(("no guarantee", f"for the {certificate.published_rows:,} rows published before"))
    return shown


def attacker_words(rates: dict[float, float], one: str) -> str:
    """The best chance of an attacker to spot a given row, or person."""
    first, *others = ((f"{100.0 * power:.1f} %", f"{100.0 * rate:g} %") for rate, power in rates.items())
    more = "".join(f", in {power} if {rate} are" for power, rate in others)
    return f"finds a given {one} in at most {first[0]} of cases if {first[1]} of the innocent are accused{more}"


def attacker_fields(rates: dict[float, float]) -> dict[str, float]:
    """The same for machines: false-positive rate to the best true-positive rate."""
    return {f"{rate:g}": power for rate, power in rates.items()}


# ---- What a plan prints, as tables, JSON and a page.


_NOISE: Final = ("cells", "noise of a count", "noise of a share")
_BY_EPSILON: Final = ("epsilon", "noise of a share", "of two columns", "found with 1 %", "with 5 % accused", "noise")
PLANNED = "What a release would be like. No data were touched."
_UNIT = (
    "Noise is a standard deviation, in rows and as a share of all rows. What is smaller can't be seen in the release."
)
_SCALE = (
    "Found: in how many cases an attacker finds a given row who accuses 1 % or 5 % of the innocent. Bars: the noise of "
    "a pair (or column), on a scale of powers of ten."
)
_PAIRS = 10  # shown of all pairs
_BAR = 30  # characters of a bar, so that a line fits 80
MOST_REHEARSED = 1_000_000  # rows: a rehearsal then ends within minutes


def plan_tables(expected: Plan, all_pairs: bool) -> list[RenderableType]:
    """The plan for people."""
    columns, pairs = _columns_and_pairs(expected)
    listed = pairs if all_pairs else pairs[:_PAIRS]
    said = [*map(line, (*expected.notices, *expected.advice)), line("")]
    shown: list[RenderableType] = [*said, facts(_facts(expected)), line("")]
    shown.append(grid(("column", *_NOISE), map(_row, columns)))
    if pairs:
        shown += [line(""), grid(("pair", *_NOISE), map(_row, listed))]
    if len(listed) < len(pairs):
        shown.append(line(f"and {len(pairs) - len(listed)} pairs with less noise (--all-pairs lists them)"))
    rows = [(*cells, "█" * (1 + round((_BAR - 1) * share))) for cells, share in _bars(expected.settings)]
    return [*shown, line(_UNIT), line(""), grid(_BY_EPSILON, rows, text=(0, 5)), line(_SCALE)]


def plan_parts(expected: Plan) -> list[str]:
    """The same as parts of a page, which has room for all pairs."""
    columns, pairs = _columns_and_pairs(expected)
    parts = [sheet.words((*expected.notices, *expected.advice)), sheet.facts(_facts(expected))]
    parts.append(sheet.grid("Columns", ("column", *_NOISE), map(_row, columns), note=_UNIT))
    if pairs:
        parts.append(sheet.grid("Pairs", ("pair", *_NOISE), map(_row, pairs), note=_UNIT))
    rows = [(*cells, sheet.Bar(share=share)) for cells, share in _bars(expected.settings)]
    return [*parts, sheet.grid("Other promises", _BY_EPSILON, rows, text=(0, 5), note=_SCALE)]


def _columns_and_pairs(expected: Plan) -> tuple[list[Floor], list[Floor]]:
    """The floors of single columns, and those of pairs, the noisiest first: of each the one in the finest cells."""
    finest: dict[tuple[str, ...], Floor] = {}
    for floor in expected.floors:
        if floor.columns not in finest or floor.cells > finest[floor.columns].cells:
            finest[floor.columns] = floor
    columns = [floor for floor in finest.values() if len(floor.columns) == 1]
    beside = [floor for one in expected.tables for floor in one.floors]
    together = [*(floor for floor in finest.values() if len(floor.columns) > 1), *beside]
    return columns, sorted(together, key=lambda floor: -floor.count)


def _facts(expected: Plan) -> list[tuple[str, object]]:
    privacy = expected.privacy
    return [
        ("promise", f"epsilon {privacy.epsilon:g}, delta {privacy.delta:g}, {privacy.relation.value} neighbours"),
        (f"{expected.one}s", f"{expected.rows:,}"),
        ("attacker", attacker_words(expected.attacker, expected.one)),
        ("pairs", _pairs(expected)),
        *((f"table {one.table}", one.told) for one in expected.tables),
        *(
            [("budget", ", ".join(f"{what} {_percent(part)}" for what, part in expected.budget))]
            * bool(expected.budget)
        ),
        ("noisy numbers", f"{expected.numbers:,}"),
        ("time", f"about {_round(expected.seconds)} s of one core"),
        ("memory", f"about {_round(expected.memory / 1e6)} MB"),
        ("bundle", f"about {_round(expected.size / 1e6)} MB"),
    ]


def _pairs(expected: Plan) -> str:
    if expected.chosen and expected.pairs:
        return f"{expected.pairs:,} will be measured, chosen privately: all of them would drown in noise"
    return f"all {expected.pairs:,} will be measured" if expected.pairs else "none will be measured"


def _round(value: float) -> str:
    """One or two digits: these are rough.

    >>> _round(0.0123), _round(47.3), _round(1234.0)
    ('0.012', '47', '1200')
    """
    digits = max(0, 1 - math.floor(math.log10(value)))
    return f"{round(value, 1 - math.floor(math.log10(value))):.{digits}f}"


def _row(floor: Floor) -> tuple[str, ...]:
    return " × ".join(floor.columns), f"{floor.cells:,}", number(floor.count), _percent(floor.share)


def _percent(share: float | None) -> str:
    """A share in per cent, in three digits.

    >>> _percent(0.002061), _percent(0.5), _percent(None)
    ('0.206 %', '50 %', '-')
    """
    return "-" if share is None else f"{100.0 * share:.3g} %"


def _bars(settings: tuple[Setting, ...]) -> list[tuple[tuple[str, ...], float]]:
    """Each setting's cells, and the length of its bar: the noise of a pair (or column), on a scale of powers of ten."""
    noise = [setting.column if setting.pair is None else setting.pair for setting in settings]
    low, high = math.log10(min(noise)), math.log10(max(noise))
    compared = []
    for setting, value in zip(settings, noise, strict=True):
        found = (f"{100.0 * rate:.1f} %" for rate in setting.attacker.values())
        cells = (f"{setting.epsilon:g}", _percent(setting.column), _percent(setting.pair), *found)
        compared.append((cells, (math.log10(value) - low) / (high - low or 1.0)))
    return compared


def plan_fields(expected: Plan) -> dict[str, Any]:
    """The plan for machines."""
    return {
        "epsilon": expected.privacy.epsilon,
        "delta": expected.privacy.delta,
        "neighbours": expected.privacy.relation.value,
        "rows": expected.rows,
        "attacker": attacker_fields(expected.attacker),
        "advice": list(expected.advice),
        "analyses": [
            {"analysis": one.analysis, "half_widths": dict(one.half_widths), "between": dict(one.between)}
            for one in expected.promises
        ],
        "notices": list(expected.notices),
        "pairs": expected.pairs,
        "pairs_chosen": expected.chosen,
        "noisy_numbers": expected.numbers,
        "seconds": expected.seconds,
        "memory_bytes": expected.memory,
        "bundle_bytes": expected.size,
        "noise": [_floor_fields(floor) for floor in expected.floors],
        **({"tables": [_records_fields(one) for one in expected.tables]} if expected.tables else {}),
        **({"budget": dict(expected.budget)} if expected.budget else {}),
        "by_epsilon": [
            {
                "epsilon": setting.epsilon,
                "column_share": setting.column,
                "pair_share": setting.pair,
                "attacker": attacker_fields(setting.attacker),
            }
            for setting in expected.settings
        ],
    }


def _floor_fields(floor: Floor) -> dict[str, Any]:
    return {"columns": floor.columns, "cells": floor.cells, "count": floor.count, "share": floor.share}


def _records_fields(one: RecordsPlan) -> dict[str, Any]:
    kept = {"table": one.table, "parent": one.parent, "max_rows": one.most, "first_by": one.first_by}
    return {**kept, "noise": [_floor_fields(floor) for floor in one.floors]}


def rehearsal_fields(schema: Schema, errors: MarginalErrors, rows: int) -> dict[str, Any]:
    """A rehearsal for machines."""
    return {
        "rows": rows,
        "mean_one_way": errors.mean_one_way,
        "mean_two_way": errors.mean_two_way,
        "one_way": {schema.names[column]: error for column, error in errors.one_way.items()},
    }


def rehearsal_tables(schema: Schema, errors: MarginalErrors, rows: int) -> list[RenderableType]:
    """A rehearsal for people."""
    about, distances = facts(_rehearsal_facts(errors, rows)), grid(("column", "distance"), _distances(schema, errors))
    return [line(""), about, line(""), distances]


def rehearsal_parts(schema: Schema, errors: MarginalErrors, rows: int) -> list[str]:
    """A rehearsal as parts of a page."""
    distances = sheet.grid("Rehearsal", ("column", "distance"), _distances(schema, errors))
    return [distances, sheet.facts(_rehearsal_facts(errors, rows))]


def _rehearsal_facts(errors: MarginalErrors, rows: int) -> list[tuple[str, object]]:
    return [
        ("REHEARSAL", f"{rows:,} rows drawn from the public table, noise from a seed; nothing was kept"),
        ("one column", f"total variation distance {number(errors.mean_one_way)}, mean over columns"),
        ("two columns", f"total variation distance {number(errors.mean_two_way)}, mean over pairs"),
    ]


def _distances(schema: Schema, errors: MarginalErrors) -> list[tuple[str, str]]:
    return [(schema.names[column], number(error)) for column, error in errors.one_way.items()]


# ---- The demonstration: a table that nobody has, and its release.


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
