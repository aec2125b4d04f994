"""Plans of several tables: what will be counted, how noisily, and for which part of the budget."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import kernelease as ke
from kernelease.cli import app
from kernelease.errors import ParameterError
from kernelease.measured.bags import NoisyBags
from kernelease.relational.schema_of_tables import Tables

SCHEMA = """
[unit]
table = "homes"
[tables.homes]
key = "home"
[tables.homes.columns.town]
type = "category"
values = ["a", "b", "c"]
[tables.homes.columns.grown]
aggregate = "share(people, role = 'head')"
cells = 4
[tables.people]
key = "person"
parent = "homes"
foreign_key = "home"
max_rows = 4
[tables.people.columns.role]
type = "category"
values = ["head", "spouse", "child"]
[tables.visits]
parent = "people"
foreign_key = "person"
max_rows = 3
order = "day"
[tables.visits.columns.day]
type = "integer"
min = 0
max = 9
[tables.visits.columns.ill]
type = "boolean"
"""
ROWS, PRIVACY = 4000, (2.0, 1e-6)


def even(rows: int) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(0)
    homes = pd.DataFrame({"home": np.arange(rows), "town": rng.choice(["a", "b", "c"], rows)})
    owner = np.repeat(np.arange(rows), rng.integers(0, 5, rows))
    roles = rng.choice(["head", "spouse", "child"], len(owner))
    people = pd.DataFrame({"home": owner, "person": np.arange(len(owner)), "role": roles})
    who = np.repeat(np.arange(len(owner)), rng.integers(0, 4, len(owner)))
    visits = {"person": who, "day": rng.integers(0, 10, len(who)), "ill": rng.random(len(who)) < 0.5}
    return {"homes": homes, "people": people, "visits": pd.DataFrame(visits)}


@pytest.mark.slow
def test_a_plan_is_what_a_release_then_measures() -> None:
    """The same columns alone and in pairs, the same tables of records beside each other, and as much noise."""
    tables = Tables.parse(SCHEMA)
    expected = ke.plan(tables, privacy=PRIVACY, rows=ROWS)
    found = ke.measure(even(ROWS), schema=tables, privacy=PRIVACY, noise=ke.SeededNoise(1)).measured
    assert isinstance(found, NoisyBags)
    names = tables.flat.names
    planned = {floor.columns: floor for floor in expected.floors}
    pairs = {noisy.block.columns for noisy in found.paths.blocks if len(noisy.block.columns) == 2}
    assert {one for one in planned if len(one) == 2} == {tuple(names[c] for c in pair) for pair in pairs}
    assert {one for one in planned if len(one) == 1} == {(name,) for name in names}
    beside = [floor for one in expected.tables for floor in one.floors]
    assert len(beside) == len(found.siblings)
    assert [one.table for one in expected.tables] == ["people", "visits"]
    noise = np.median([noisy.deviation for noisy in found.siblings])
    assert np.median([floor.count for floor in beside]) == pytest.approx(noise, rel=0.25)
    assert sum(dict(expected.budget).values()) == pytest.approx(1.0)
    share = dict(expected.budget)["two records of one parent"]
    assert share == pytest.approx(sum(noisy.block.share for noisy in found.siblings), rel=1e-6)


def test_steps_ends_and_caps_are_named() -> None:
    people, visits = ke.plan(Tables.parse(SCHEMA), privacy=PRIVACY, rows=ROWS).tables
    assert {floor.columns for floor in people.floors} == {("people.role", "people.role of another record")}
    columns = {floor.columns for floor in visits.floors}
    assert ("visits.ill", "visits.ill of the next record") in columns
    assert ("visits.ill of the first record",) in columns
    assert "at most 4 are kept, by a hash" in people.told
    assert "at most 3 are kept, the first by day" in visits.told


def test_few_persons_show_no_two_records_together() -> None:
    people, visits = ke.plan(Tables.parse(SCHEMA), privacy=(0.1, 1e-6), rows=100).tables
    assert not people.floors
    assert not visits.floors
    assert "would drown in noise" in people.told


@pytest.mark.slow
def test_the_command_prints_the_same(tmp_path) -> None:
    path = tmp_path / "homes.toml"
    path.write_text(SCHEMA)
    asked = ["plan", "--schema", str(path), "--rows", str(ROWS), "--epsilon", "2", "--delta", "1e-6"]
    told = CliRunner().invoke(app, [*asked, "--json"])
    fields = json.loads(told.stdout)
    assert fields["noisy_numbers"] == ke.plan(path, privacy=PRIVACY, rows=ROWS).numbers
    assert [one["max_rows"] for one in fields["tables"]] == [4, 3]
    words = CliRunner().invoke(app, asked).stdout
    assert "table people" in words
    assert "two records of one parent 10 %" in " ".join(words.split())
    refused = CliRunner().invoke(app, [*asked, "--analysis", "mean town"])
    assert refused.exit_code == 2
    assert "is for one table" in refused.output


@pytest.mark.parametrize("option", [{"target": "town"}, {"analyses": ("a ~ b",)}])
def test_what_is_for_one_table_is_refused(option) -> None:
    with pytest.raises(ParameterError, match="is for one table"):
        ke.plan(Tables.parse(SCHEMA), privacy=PRIVACY, rows=ROWS, **option)
