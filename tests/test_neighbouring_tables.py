"""Neighbouring tables leave the same bytes behind: every pair of the audit, and releases of the newest kinds."""

import datetime
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from audits.neighbours import BY_LINES, PAIRS, bare_mechanisms, differences, fixed_mechanisms
from audits.transcript import record, replay
from kernelease.answers.release import contents_of
from kernelease.bundle.saving import documents
from kernelease.relational.schema_of_tables import Tables
from tests.bundle.every_bundle import (
    ALONG_A_LINE,
    MORE,
    NORMAL,
    PRIVACY,
    SOLVER,
    STAYS,
    TABLES,
    SteadyNoise,
    patients,
    schema,
    vectors,
)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_neighbouring_table_changes_no_byte(pair):
    with fixed_mechanisms():
        assert differences(pair) == []


@pytest.mark.slow
def test_lines_taken_for_records_are_seen():
    """Another broken twin: a comment of five lines makes five rows, and the number of rows is public."""
    with fixed_mechanisms():
        assert "certificate.json" in differences(BY_LINES)


@pytest.mark.slow
def test_the_comparison_can_fail():
    """The broken twin: with the exact counts let through, the same two tables differ."""
    with bare_mechanisms():
        assert differences(PAIRS[0])


# Whole releases: one is made, and again of a neighbour, whose noise is such that the same numbers come out.


def told_apart(kind: str, run: Any, first: Any, second: Any) -> list[str]:
    """What is not the same: names of documents, or what was warned of.

    The row must have moved what got noise, and a sum of this kind must be there.
    """
    seen: list[dict[str, Any]] = []

    def watched(data: Any, noise: Any) -> None:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            files = documents(contents_of(run(data, noise=noise)))
        seen.append({**files, "warnings": [str(one.message) for one in told]})

    script = record(watched, first, SteadyNoise())
    again = replay(watched, second, SteadyNoise(), script)
    assert any((one.exact != other.exact).any() for one, other in zip(script, again, strict=True))
    one, other = seen
    assert f'"tag":"{kind}"'.encode() in one["measurements.json"]
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def of_table(text: str, data: pa.Table, **options: Any) -> ke.Release:
    method = ke.Interactions(solver=SOLVER, triples=1)
    return ke.release(data, schema=ke.Schema.parse(text), privacy=PRIVACY, method=method, **options)


def with_row(table: pa.Table, **cells: Any) -> pa.Table:
    """The first row replaced."""
    row = pa.table({name: pa.array([cells[name]], table.schema.field(name).type) for name in table.column_names})
    return pa.concat_tables([row, table.slice(1)])


def of_patients(data: pa.Table, **options: Any) -> ke.Release:
    method = ke.Interactions(solver=SOLVER)
    return ke.release(data, schema=schema(), privacy=PRIVACY, method=method, **options)


def of_vectors(data: Any, **options: Any) -> ke.Release:
    method = ke.Adaptive(points=NORMAL, features=16, rank=6)
    return ke.release(data, kernel=ke.kernels.Gaussian(lengthscale=8.0), privacy=PRIVACY, method=method, **options)


def of_labelled(data: Any, **options: Any) -> ke.Release:
    return ke.release(data[0], labels=data[1], classes=("east", "west"), privacy=PRIVACY, rows=40, **options)


def of_homes(data: Mapping[str, pa.Table], **options: Any) -> Any:
    method = ke.Interactions(solver=SOLVER, triples=0)
    return ke.release(
        data, schema=Tables.parse(TABLES.format(neighbours="replace-one")), privacy=MORE, method=method, **options
    )


def along_a_line() -> pa.Table:
    generator = np.random.default_rng(4)
    height = np.round(generator.normal(1.7, 0.09, 2000), 2)
    weight = np.round(72.0 * (height / 1.7) ** 1.5, 1)
    return pa.table({"height": height, "weight": weight, "heavy": weight > 75.0})


def stays() -> pa.Table:
    seen = np.datetime64("2020-02-01") + np.arange(200) % 300
    return pa.table({"seen": seen, "left": seen + np.arange(200) % 20})


def homes(people: int, income: float) -> dict[str, pa.Table]:
    """150 homes, and so many people in the first."""
    home = np.arange(150)
    of = np.repeat(home, np.where(home == 0, people, 2))
    person = np.arange(len(of))
    return {
        "homes": pa.table({"home": home, "town": np.where(home % 3 == 0, "Ulm", "Bonn")}),
        "people": pa.table(
            {
                "home": of,
                "person": person,
                "adult": person % 2 == 0,
                "income": np.where(of == 0, income, of * 25.0 % 1000),
            }
        ),
        "visits": pa.table({"person": person[::2], "at": of[::2], "day": np.where(of[::2] == 0, -9, of[::2] % 7)}),
    }


FEW, LINE, GONE, ROWS = patients(60), along_a_line(), stays(), vectors(2000)
LABELS = np.where(ROWS[:, 0] > 0.0, "east", "west").tolist()
FAR = np.concatenate([[[np.inf, np.nan]], ROWS[1:]])
RELEASES = {
    "sides": ("Sides", of_patients, FEW, with_row(FEW, age=2**62, sex=None, score=np.inf, seen=None, who=None)),
    "products": (
        "Spread",
        partial(of_table, ALONG_A_LINE),
        LINE,
        with_row(LINE, height=np.nan, weight=1e308, heavy=None),
    ),
    "one number off another": (
        "Moments",
        partial(of_table, STAYS),
        GONE,
        with_row(GONE, seen=datetime.date.min, left=datetime.date.max),
    ),
    "the mean": ("Ball", of_vectors, ROWS, FAR),
    "labels": ("ClassMoments", of_labelled, (ROWS, LABELS), (FAR, [b"north", *LABELS[1:]])),
    "a home without records": ("NoisyBags", of_homes, homes(3, 50.0), homes(0, 50.0)),
    "a home of fifty": ("NoisyBags", of_homes, homes(3, 50.0), homes(50, np.nan)),
}


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_of_a_neighbour_leaves_the_same(name: str) -> None:
    """Rows of NaN, infinities, NULL and values far beyond all bounds among them."""
    assert told_apart(*RELEASES[name]) == []


def test_a_release_that_warns_of_a_row_is_told_apart() -> None:
    """The broken twin."""

    def warned(data: Any, **options: Any) -> ke.Release:
        if not np.isfinite(data).all():
            warnings.warn("There are numbers without an end.", stacklevel=1)
        return of_vectors(data, **options)

    assert told_apart("Ball", warned, ROWS, FAR) == ["warnings"]
