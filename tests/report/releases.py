"""Releases that pages are made of."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernelease import Gaussian, NormalPoints, Privacy, Schema, Subspace
from kernelease.cli.work.demonstration import SCHEMA, generated_table
from kernelease.pipeline import fit, measure
from kernelease.release.bundle import save
from kernelease.release.release import Release
from kernelease.release.signing import load_private_key, make_key
from kernelease.table.columns import Boolean, Category, Integer

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
    return fit(measure(table, schema=schema, privacy=Privacy(epsilon=2.0, delta=1e-6), seed=0)), table


def promised(neighbours: str, privacy: Privacy) -> Release:
    """Some of its columns in coarse cells, under another promise."""
    whole = Schema.parse(SCHEMA.replace("replace-one", neighbours).replace("max = 80.0", "max = 80.0\ncells = 8"))
    columns = tuple(column for column in whole if column.name in ("sex", "hours", "employed"))
    schema = replace(whole, columns=columns, order=())
    return fit(measure(generated_table(1_000), schema=schema, privacy=privacy, seed=0))


def twins() -> Release:
    """Two numbers that are nearly equal, and so measured in fine cells, too."""
    draw = np.random.default_rng(6)
    start = draw.integers(0, 100, 10_000)
    table = pa.table({"start": start, "end": np.minimum(start + (draw.random(10_000) < 0.2), 99), "late": start > 40})
    numbers = (Integer(name=name, min=0, max=99) for name in ("start", "end"))
    schema = Schema(name="twins", columns=(*numbers, Boolean(name="late")), neighbours="add-remove")
    return fit(measure(table, schema=schema, privacy=Privacy(epsilon=1.0, delta=1e-6), seed=0))


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
    return fit(measure(table, schema=schema, privacy=Privacy(epsilon=4.0, delta=1e-6), seed=0)), table


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
    return fit(measure(table, schema=schema, privacy=Privacy(epsilon=4.0, delta=1e-6), seed=0))


def vectors() -> Release:
    """Points of the plane, without a schema."""
    draw = np.random.default_rng(6)
    method = Subspace(points=NormalPoints(dimension=2, scale=2.0), count=20)
    points, privacy = draw.normal(size=(500, 2)), Privacy(epsilon=2.0, delta=1e-6)
    return fit(measure(points, kernel=Gaussian(lengthscale=1.0), method=method, privacy=privacy, seed=0))
