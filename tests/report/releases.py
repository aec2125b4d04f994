"""Releases that pages are made of."""

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernelease import Privacy, Schema, Subspace
from kernelease.answers.release import Release, save
from kernelease.bundle.signing import load_private_key, make_key
from kernelease.cli.work.summary import SCHEMA, generated_table
from kernelease.fit import NormalPoints, PublicPoints
from kernelease.kernels import Gaussian, Spectrum
from kernelease.pipeline import measure, release
from kernelease.table.columns import Boolean, Category, Date, Integer, Number

ROWS = 3_000
SCRIPT = "<script>window.hacked = 1; alert('hacked')</script>"
ENDING = '</script><img src=x onerror="window.hacked = 1"><!--'
BIDI = "\u202eevil\u202c \u2066left\u2069"
EMOJI = "👩‍🔬🧪'\"&`${1}"
LONG = "long " * 2_000
HOSTILE = (SCRIPT, ENDING, BIDI, EMOJI, LONG)


def people() -> tuple[Release, pa.Table]:
    """The table of the demo, released; with it the private one."""
    table, schema = generated_table(ROWS), Schema.parse(SCHEMA)
    return measure(table, schema=schema, privacy=Privacy(epsilon=2.0, delta=1e-6), seed=0).fit(), table


def promised(neighbours: str, privacy: Privacy) -> Release:
    """Some of its columns in coarse cells, under another promise."""
    whole = Schema.parse(SCHEMA.replace("replace-one", neighbours).replace("max = 80.0", "max = 80.0\ncells = 8"))
    columns = tuple(column for column in whole if column.name in ("sex", "hours", "employed"))
    schema = replace(whole, columns=columns, order=())
    return measure(generated_table(1_000), schema=schema, privacy=privacy, seed=0).fit()


def twins() -> Release:
    """Two numbers that are nearly equal, and so measured in fine cells, too."""
    draw = np.random.default_rng(6)
    start = draw.integers(0, 100, 10_000)
    table = pa.table({"start": start, "end": np.minimum(start + (draw.random(10_000) < 0.2), 99), "late": start > 40})
    numbers = (Integer(name=name, min=0, max=99) for name in ("start", "end"))
    schema = Schema(name="twins", columns=(*numbers, Boolean(name="late")), neighbours="add-remove")
    return measure(table, schema=schema, privacy=Privacy(epsilon=1.0, delta=1e-6), seed=0).fit()


def years() -> tuple[Release, Release]:
    """The same survey in two years: in the second, fewer have work."""
    schema, draw = Schema.parse(SCHEMA), np.random.default_rng(7)
    first = generated_table(4_000)
    lost = draw.random(4_000) < 0.2
    second = first.set_column(4, "employed", pa.array(np.asarray(first["employed"]) & ~lost))
    privacy = (Privacy(epsilon=1.0, delta=1e-6), Privacy(epsilon=2.0, delta=1e-6))
    made = [
        measure(table, schema=replace(schema, name=name), privacy=one, seed=0).fit()
        for table, one, name in zip((first, second), privacy, ("survey 2023", "survey 2024"), strict=True)
    ]
    return made[0], made[1]


def wide(columns: int, rows: int = 4_000) -> Release:
    """A survey of so many questions: numbers, dates, grades and choices, some of which go together."""
    draw = np.random.default_rng(8)
    mood, age = draw.normal(size=rows), draw.integers(18, 96, rows)
    declared: list[Any] = [Integer(name="age", min=18, max=95, cells=26)]
    data: dict[str, Any] = {"age": age}
    for place in range(1, columns):
        score = (0.8 - 0.5 * (place % 3)) * mood + draw.normal(size=rows)
        declared.append(_question(place))
        data[declared[-1].name] = _replies(place, score, draw)
    schema = Schema(name=f"survey of {columns} questions", columns=tuple(declared), neighbours="replace-one")
    return measure(pa.table(data), schema=schema, privacy=Privacy(epsilon=3.0, delta=1e-6), seed=0).fit()


_GRADES = ("never", "rarely", "sometimes", "often", "always")
_PLACES = tuple(f"region {place}" for place in range(1, 23))


def _question(place: int) -> Any:
    name = f"q{place:03d}"
    return {
        0: Category(name=f"{name} lives in", values=_PLACES),
        1: Boolean(name=f"{name} agrees"),
        2: Category(name=f"{name} how often", values=_GRADES, nullable=True),
        3: Number(name=f"{name} spends", min=0.0, max=200.0, cells=24),
        4: Date(name=f"{name} since", min=datetime.date(2010, 1, 1), max=datetime.date(2024, 12, 31), cells=30),
    }[place % 5]


def _replies(place: int, score: Any, draw: Any) -> Any:
    rank = np.clip(2.5 + 1.2 * score, 0, 4.99).astype(int)
    if place % 5 == 0:
        return np.array(_PLACES)[np.minimum(21, (np.abs(draw.normal(size=len(score))) * 8).astype(int))]
    if place % 5 == 1:
        return score > 0.3
    if place % 5 == 2:
        return pa.array(np.array(_GRADES)[rank], mask=draw.random(len(score)) < 0.1)
    if place % 5 == 3:
        return np.clip(40.0 + 25.0 * score, 0.0, 200.0)
    return np.datetime64("2010-01-01") + np.clip(2700 + 1100 * score, 0, 5478).astype("timedelta64[D]")


def signed(release: Release, folder: Path) -> Path:
    """A signed bundle of it."""
    keys = make_key(folder)
    return save(release, folder / "people", key=load_private_key(keys.private))


def tiny() -> tuple[Release, pa.Table]:
    """Two columns and one that says nothing, in no time; with them the private ones."""
    columns: tuple[Any, ...] = (
        Boolean(name="a"),
        Category(name="b", values=("x", "y")),
        Category(name="c", values=("only",)),
    )
    draw = np.random.default_rng(4)
    table = pa.table({"a": draw.random(300) < 0.3, "b": np.array(["x", "y"])[draw.integers(0, 2, 300)]})
    table = table.append_column("c", [["only"] * 300])
    schema = Schema(name="tiny", columns=columns, neighbours="replace-one")
    return measure(table, schema=schema, privacy=Privacy(epsilon=4.0, delta=1e-6), seed=0).fit(), table


def hostile() -> Release:
    """A table whose title, columns and values try to be more than text."""
    columns: tuple[Any, ...] = (
        Category(name=SCRIPT, values=HOSTILE),
        Category(name=BIDI, values=("=1+1", "'quoted'")),
        Integer(name=EMOJI, min=0, max=9),
        Boolean(name=LONG, nullable=True),
    )
    schema = Schema(name=ENDING, columns=columns, neighbours="replace-one")
    draw = np.random.default_rng(5)
    table = pa.table(
        {
            SCRIPT: np.array(HOSTILE, dtype=object)[draw.integers(0, 5, 400)],
            BIDI: np.array(["=1+1", "'quoted'"])[draw.integers(0, 2, 400)],
            EMOJI: draw.integers(0, 10, 400),
            LONG: draw.random(400) < 0.5,
        }
    )
    return measure(table, schema=schema, privacy=Privacy(epsilon=4.0, delta=1e-6), seed=0).fit()


def vectors() -> Release:
    """Points of the plane, without a schema."""
    draw = np.random.default_rng(6)
    method = Subspace(points=NormalPoints(dimension=2, scale=2.0), count=20)
    points, privacy = draw.normal(size=(500, 2)), Privacy(epsilon=2.0, delta=1e-6)
    return measure(points, kernel=Gaussian(lengthscale=1.0), method=method, privacy=privacy, seed=0).fit()


def classes() -> Release:
    """Vectors of norm 1 in three classes that lie apart."""
    draw = np.random.default_rng(9)
    names = np.array(["sport", "science", "law"], dtype=object)
    code = draw.integers(0, 3, 2_000)
    rows = 0.3 * draw.normal(size=(2_000, 12)) + 1.5 * np.eye(3, 12)[code]
    privacy = Privacy(epsilon=2.0, delta=1e-6)
    return release(rows, labels=names[code], classes=list(names), privacy=privacy, seed=0)


def words() -> Release:
    """Texts, which a kernel compares: rows that are no numbers."""
    draw = np.random.default_rng(10)
    known = np.array([["anna"], ["berta"], ["carla"], ["dora"]], dtype=object)
    rows = known[draw.integers(0, 4, 300)]
    method = Subspace(points=PublicPoints(points=known), count=4)
    privacy = Privacy(epsilon=2.0, delta=1e-6)
    return measure(rows, kernel=Spectrum(n=2), method=method, privacy=privacy, seed=0).fit()


def tails(mean: float = 30.0) -> Release:
    """A number most of whose declared range is empty."""
    draw = np.random.default_rng(11)
    cost = np.minimum(draw.exponential(mean, 4_000).astype(int), 10_000)
    table = pa.table({"cost": cost, "paid": draw.random(4_000) < 0.5})
    columns = (Integer(name="cost", min=0, max=10_000), Boolean(name="paid"))
    schema = Schema(name="costs", columns=columns, neighbours="replace-one")
    return measure(table, schema=schema, privacy=Privacy(epsilon=3.0, delta=1e-6), seed=0).fit()


def tables(folder: Path) -> Path:
    """A bundle of households with their persons."""
    draw = np.random.default_rng(12)
    number = draw.integers(1, 4, 400)
    owner = np.repeat(np.arange(400), number)
    homes = pa.table({"home": np.arange(400), "region": draw.choice(["north", "south"], 400)})
    persons = pa.table({"home": owner, "age": draw.integers(0, 90, len(owner)), "works": draw.random(len(owner)) < 0.6})
    declared = """
        [unit]
        table = "homes"
        [tables.homes]
        key = "home"
        [tables.homes.columns.region]
        type = "category"
        values = ["north", "south"]
        [tables.persons]
        parent = "homes"
        foreign_key = "home"
        max_rows = 4
        [tables.persons.columns.age]
        type = "integer"
        min = 0
        max = 99
        cells = 20
        [tables.persons.columns.works]
        type = "boolean"
    """
    (folder / "homes.toml").write_text(declared, encoding="utf-8")
    data, privacy = {"homes": homes, "persons": persons}, Privacy(epsilon=3.0, delta=1e-6)
    release(data, schema=folder / "homes.toml", privacy=privacy, out=folder / "homes", fast=True)
    return folder / "homes"
