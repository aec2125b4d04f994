"""Rules across tables, and tables with two parents: what is declared holds in every row."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.answers.release import TableRows, TablesRelease, contents_of
from kernelease.bundle.verify import key_problems
from kernelease.errors import SchemaError
from kernelease.relational.schema_of_tables import Tables, same_after_saving

SCHEMA = """\
[unit]
table = "homes"
neighbours = "add-remove"
rules = ["people.born >= homes.built", "if trips.abroad == true then people.born < 60"]

[tables.homes]
key = "home"
[tables.homes.columns.built]
type = "integer"
min = 0
max = 99
cells = 10

[tables.people]
parent = "homes"
foreign_key = "home"
key = "person"
max_rows = 4
order = "born"
[tables.people.columns.born]
type = "integer"
min = 0
max = 99
cells = 10
[tables.people.columns.sex]
type = "category"
values = ["f", "m"]

[tables.cars]
parent = "homes"
foreign_key = "home"
key = "car"
max_rows = 2
[tables.cars.columns.old]
type = "boolean"

[tables.trips]
parent = ["people", "cars"]
foreign_key = ["person", "car"]
owner = "people"
max_rows = 3
[tables.trips.columns.abroad]
type = "boolean"
"""


def generated(count: int = 800, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Homes older than their people, some of whom drive a car of theirs."""
    rng = np.random.default_rng(seed)
    built = rng.integers(0, 90, count)
    owner = np.repeat(np.arange(count), rng.integers(0, 5, count))
    born = np.minimum(99, built[owner] + rng.integers(0, 40, len(owner)))
    cars = pd.DataFrame({"car": np.arange(count // 2), "home": np.arange(count // 2) * 2})
    who = np.repeat(np.arange(len(owner)), rng.integers(0, 3, len(owner)))
    return {
        "homes": pd.DataFrame({"home": np.arange(count), "built": built}),
        "people": pd.DataFrame(
            {"person": np.arange(len(owner)), "home": owner, "born": born, "sex": rng.choice(["f", "m"], len(owner))}
        ),
        "cars": cars.assign(old=rng.random(len(cars)) < 0.5),
        "trips": pd.DataFrame({"person": who, "abroad": (rng.random(len(who)) < 0.5) & (born[who] < 60)}),
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[TablesRelease, object]:
    path = tmp_path_factory.mktemp("bundle") / "homes"
    options = {"schema": Tables.parse(SCHEMA), "privacy": (4.0, 1e-6), "noise": ke.SeededNoise(1), "fast": True}
    return ke.release(generated(), **options, out=path), path


def test_rules_hold_in_every_row(made) -> None:
    release, path = made
    assert key_problems(contents_of(release).tables, release.schema) == []
    homes, people, trips = (release.tables[name].to_pandas() for name in ("homes", "people", "trips"))
    joined = people.merge(homes, on="home")
    assert len(joined) == len(people) > 1000
    assert (joined.born >= joined.built).all()
    abroad = trips.merge(people, on="person")
    assert (abroad.born[abroad.abroad] < 60).all()
    assert abroad.abroad.mean() > 0.1
    assert [one.check for one in ke.verify(path, refit=True) if not one.holds] == ["noise"]
    assert "homes.built" in (path / "datasheet.md").read_text()


def test_little_is_left_out_to_keep_them(made) -> None:
    release, _ = made
    data = generated()
    assert len(release.tables["people"]) == pytest.approx(len(data["people"]), rel=0.1)
    gap = data["people"].merge(data["homes"], on="home").eval("born - built").mean()
    rows = release.tables["people"].to_pandas().merge(release.tables["homes"].to_pandas(), on="home")
    assert rows.eval("born - built").mean() == pytest.approx(gap, abs=12.0)  # of homes and people dealt anew it is 40


def test_the_other_parent_is_there_and_of_the_same_person(made) -> None:
    release, path = made
    trips, cars, people = (release.tables[name].to_pandas() for name in ("trips", "cars", "people"))
    assert list(trips.columns) == ["person", "car", "abroad"]
    assert set(trips.car) <= set(cars.car)
    joined = trips.merge(people, on="person").merge(cars, on="car", suffixes=("", "_of_car"))
    own = joined.home.isin(set(cars.home))
    assert (joined.home == joined.home_of_car)[own].all()
    package = json.loads((path / "datapackage.json").read_text())
    (trips_keys,) = [one["schema"]["foreignKeys"] for one in package["resources"] if one["name"] == "trips"]
    assert trips_keys[1] == {"fields": "car", "reference": {"resource": "cars", "fields": "car"}}


def test_where_the_other_table_is_empty_references_are_null() -> None:
    data = generated(50)
    data["cars"] = data["cars"].iloc[:0]
    options = {"schema": Tables.parse(SCHEMA), "privacy": (100.0, 1e-6), "noise": ke.SeededNoise(1), "fast": True}
    release = ke.release(data, **options, rows=20)
    if not len(release.tables["cars"]):
        assert release.tables["trips"].to_pandas().car.isna().all()
    assert key_problems(contents_of(release).tables, release.schema) == []


@pytest.mark.parametrize(
    ("table", "column", "value", "words"),
    [
        ("trips", "car", 10**6, "refers to a row of cars that is not there"),
        ("people", "born", 0, "breaks the rule people.born >= homes.built"),
    ],
)
def test_what_is_broken_is_told(made, table, column, value, words) -> None:
    release, _ = made
    rows = release.tables[table].rows
    place = rows.column_names.index(column)
    harmed = rows.set_column(place, rows.schema.field(place), pa.array(np.full(rows.num_rows, value)))
    tables = {**release.tables, table: TableRows(table, harmed)}
    told = key_problems({name: table.rows for name, table in tables.items()}, release.schema)
    assert any(words in one for one in told), told


def test_they_are_written_and_read_again() -> None:
    tables = Tables.parse(SCHEMA)
    assert Tables.parse(tables.to_toml()) == tables
    assert same_after_saving(tables)
    assert [len(tables.rules_of(name)) for name in tables.names] == [0, 1, 0, 1]
    document = tables.to_dict()
    document["tables"][3]["references"] = 3
    with pytest.raises(SchemaError, match="must be an object"):
        Tables.from_dict(document)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("people.born >= homes.built", "people.born >= homes.bult", 4, "homes.bult"),
        ("people.born >= homes.built", "people.born >=", 4, "people.born >="),
        ("people.born >= homes.built", "people.born >= 3", 4, "is about one table"),
        ("people.born >= homes.built", "people.born >= homes.people", 4, "is a number of records"),
        (
            "people.born >= homes.built",
            "if cars.old == true then people.born > 3",
            4,
            "cars and people are not in one line",
        ),
        ('rules = ["', 'rules = [3, "', 4, "must be a list of strings"),
        ('owner = "people"\n', "", 38, "owner must be one of its parents"),
        ('owner = "people"', 'owner = "homes"', 40, "owner must be one of its parents, people, cars"),
        ('parent = ["people", "cars"]', 'parent = "people"', 40, "which of several parents"),
        ('foreign_key = ["person", "car"]', 'foreign_key = ["person"]', 39, "a foreign_key for each parent"),
        ('foreign_key = ["person", "car"]', 'foreign_key = ["person", "person"]', 39, "names rows of two tables"),
        ('parent = ["people", "cars"]', 'parent = ["people", "car"]', 38, "Did you mean cars?"),
        ('foreign_key = ["person", "car"]', 'foreign_key = ["person", "abroad"]', 42, "can't be released"),
    ],
)
def test_mistakes_are_told_with_their_line(old, new, line, words) -> None:
    assert SCHEMA.count(old) == 1
    with pytest.raises(SchemaError) as caught:
        Tables.parse(SCHEMA.replace(old, new), source="homes.toml")
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"homes.toml, line {line}:"), str(caught.value)
