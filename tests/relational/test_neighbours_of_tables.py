"""Whole releases of several tables on neighbours, with one transcript: it costs what was paid, and no byte differs."""

import random
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kernelease as ke
from audits.transcript import Event, Tap, _open
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.privacy.accounting import pure_mu
from kernelease.relational.schema_of_tables import Tables

SCHEMA = """
[unit]
table = "homes"
neighbours = "{neighbours}"
[tables.homes]
key = "home"
[tables.homes.columns.town]
type = "category"
values = ["a", "b"]
other = true
[tables.homes.columns.rent]
type = "number"
min = 0
max = 100000
decimals = 2
[tables.homes.columns.pay]
aggregate = "sum(people.income)"
min = 0
max = 20000
[tables.homes.columns.first]
aggregate = "min(people.born)"
[tables.homes.columns.women]
aggregate = "share(people, sex = 'f')"
cells = 10
[tables.people]
key = "person"
parent = "homes"
foreign_key = "home"
max_rows = 3
[tables.people.columns.sex]
type = "category"
values = ["f", "m"]
[tables.people.columns.income]
type = "number"
min = 0
max = 10000
nullable = true
[tables.people.columns.born]
type = "date"
min = 1900-01-01
max = 2020-12-31
nullable = true
cells = 30
[tables.visits]
parent = ["people", "homes"]
foreign_key = ["person", "at"]
owner = "people"
max_rows = 4
order = "day"
[tables.visits.columns.day]
type = "integer"
min = 0
max = 9999
"""
COLUMNS = {
    "homes": ("home", "town", "rent"),
    "people": ("home", "person", "sex", "income", "born"),
    "visits": ("person", "at", "day"),
}
ODD = ("0", "10000", "1e300", "-inf", "nan", None, "5e-324", "33.335", "x", "9007199254740993", "-0.0")
Home = dict[str, list[tuple[str | None, ...]]]


def home(key: str, chance: random.Random, *, hostile: bool) -> Home:
    """A home as it may be, or with whatever a cell can hold, with none or ten times as many records as are kept."""
    pick = chance.choice
    rows: Home = {name: [] for name in COLUMNS}
    for _ in range(pick((1, 1, 2)) if hostile else 1):
        rent = pick(ODD) if hostile else str(25 * chance.randrange(400))
        rows["homes"].append((key, pick(("a", "b", "zz", None)) if hostile else pick(("a", "b")), rent))
    for i in range(pick((0, 1, 3, 30)) if hostile else chance.randrange(4)):
        person = pick((f"{key}-{i}", f"{key}-0", None, "")) if hostile else f"{key}-{i}"
        income = pick(ODD) if hostile else str(50 * chance.randrange(100))
        born = pick(("0001-01-01", "9999-12-31", None, "x")) if hostile else f"19{chance.randrange(100):02}-01-01"
        rows["people"].append((key, person, pick(("f", "m", None)) if hostile else pick(("f", "m")), income, born))
        for _ in range(pick((0, 1, 40)) if hostile else chance.randrange(3)):
            rows["visits"].append((person, key, pick(ODD) if hostile else str(chance.randrange(1000))))
    return rows


def together(homes: list[Home]) -> dict[str, pa.Table]:
    return {
        name: pa.table(
            {
                column: pa.array([row[place] for one in homes for row in one[name]], pa.string())
                for place, column in enumerate(columns)
            }
        )
        for name, columns in COLUMNS.items()
    }


def released(homes: list[Home], tap: Tap, options: dict[str, Any]) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder, _open(tap):
        path = Path(folder, "out")
        ke.release(together(homes), noise=tap, out=path, **options)
        return {file.name: file.read_bytes() for file in path.iterdir()}


def spent(here: list[Event], there: list[Event], privacy: ke.Privacy) -> float:
    """The part of the budget that tells the two apart: of μ², or of a pure ε."""
    total = 0.0
    for one, other in zip(here, there, strict=True):
        away = [abs(int(a) - int(b)) for a, b in zip(one.exact, other.exact, strict=True)]
        if one.law == "noisy_max":
            step = 2.0 * max(away) / one.scale
            total += step if privacy.pure else pure_mu(step) ** 2
        elif one.law == "laplace":
            total += sum(away) / one.scale
        else:
            total += float(sum(a * a for a in away)) / one.scale**2
    return total / (privacy.epsilon if privacy.pure else privacy.total(10**6).mu_squared)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (50.0, 1e-6), (20.0, 0.0)])
def test_a_home_of_any_shape_stays_within_what_was_paid_for(neighbours: str, epsilon: float, delta: float) -> None:
    chance = random.Random(f"{neighbours} {epsilon}")
    others = [home(f"h{i}", chance, hostile=False) for i in range(200)]
    first = [*others[:77], home("X", chance, hostile=True), *others[77:]]
    second = others if neighbours == "add-remove" else [home("X", chance, hostile=True), *others]
    method = ke.Interactions(solver=MixtureSolver(components=3, steps=3))
    privacy = ke.Privacy(epsilon=epsilon, delta=delta)
    options = {"schema": Tables.parse(SCHEMA.format(neighbours=neighbours)), "privacy": privacy, "method": method}
    tap = Tap(ke.SeededNoise(1))
    here = released(first, tap, options)
    again = Tap(ke.SeededNoise(1), script=tap.events)
    assert released(second, again, options) == here
    part = spent(tap.events, again.events, privacy)
    assert 0.0 < part <= 1.0 + 1e-9
