"""What the records of a row come to: sums, means, shares and so on, measured as columns of that row."""

import datetime
import itertools
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.errors import SchemaError
from kernelease.measured.counts import Counts
from kernelease.relational.books import Aggregate
from kernelease.relational.schema_of_tables import WEIGHT, Tables, same_after_saving
from kernelease.seeds import PublicSeed
from kernelease.sources.private_rows import private_tables

CAP = 3
SCHEMA = """
[unit]
table = "homes"
neighbours = "add-remove"
[tables.homes]
key = "home"
[tables.homes.columns.town]
type = "category"
values = ["a", "b"]
[tables.homes.columns.total]
aggregate = "sum(people.pay, adult = true)"
min = 0
max = 200
cells = 12
[tables.homes.columns.average]
aggregate = "mean(people.pay)"
cells = 12
[tables.homes.columns.least]
aggregate = "min(people.pay)"
cells = 12
[tables.homes.columns.most]
aggregate = "max(people.size)"
cells = 12
[tables.homes.columns.weight]
aggregate = "sum(people.size)"
type = "number"
min = 0
max = 9
cells = 12
[tables.homes.columns.first]
aggregate = "min(people.born)"
cells = 12
[tables.homes.columns.grown]
aggregate = "share(people, adult = true)"
cells = 12
[tables.homes.columns.child]
aggregate = "any(people, adult = false)"
[tables.people]
parent = "homes"
foreign_key = "home"
max_rows = 3
order = "born"
[tables.people.columns.born]
type = "date"
min = 2000-01-01
max = 2009-12-31
cells = 8
[tables.people.columns.pay]
type = "integer"
min = 10
max = 90
cells = 4
nullable = true
[tables.people.columns.size]
type = "number"
min = 0
max = 2
decimals = 2
cells = 4
[tables.people.columns.adult]
type = "boolean"
"""
NAMES = ("total", "average", "least", "most", "weight", "first", "grown", "child")


def declared(neighbours: str = "add-remove") -> Tables:
    return Tables.parse(SCHEMA.replace("add-remove", neighbours))


def generated(homes: int, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Homes with 0 to 9 people, of whom the first three by birth are kept; some pay is unknown or out of bounds."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(homes), rng.integers(0, 10, homes))
    born = pd.to_datetime("2000-01-01") + pd.to_timedelta(
        rng.permutation(max(3650, len(owner)))[: len(owner)] % 3650, unit="D"
    )
    people = pd.DataFrame({"home": owner, "born": born, "pay": rng.integers(0, 120, len(owner)).astype(float)})
    people.loc[rng.random(len(people)) < 0.2, "pay"] = np.nan
    people["size"], people["adult"] = rng.integers(0, 250, len(owner)) / 100, rng.random(len(owner)) < 0.6
    return {"homes": pd.DataFrame({"home": np.arange(homes), "town": rng.choice(["a", "b"], homes)}), "people": people}


def by_pandas(data: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The same, computed otherwise: groups of a frame, clipped as declared."""
    kept = data["people"].sort_values("born").groupby("home").head(CAP).copy()
    kept["pay"], kept["size"] = kept["pay"].clip(10, 90), kept["size"].clip(0, 2)
    groups = kept.groupby("home")
    told = pd.DataFrame(index=data["homes"].home)
    told["total"] = kept[kept.adult].groupby("home")["pay"].sum()
    told["total"] = told["total"].fillna(0)
    told["average"], told["least"] = groups["pay"].mean(), groups["pay"].min()
    told["most"], told["weight"] = groups["size"].max(), groups["size"].sum()
    told["weight"] = told["weight"].fillna(0).round(2)
    told["first"], told["grown"] = groups["born"].min(), groups["adult"].mean()
    told["child"] = (~kept.adult).groupby(kept.home).any()
    told["child"] = told["child"].fillna(False).astype(bool)
    return told


def counted(data, tables: Tables, names) -> list[np.ndarray]:
    places = [tables.flat.names.index(f"homes.{name}") for name in names]
    sets = [(place,) for place in places] + list(itertools.combinations(places, 2))
    sets += [(place, tables.flat.names.index("people.pay")) for place in places]
    blocks = [
        Counts(columns=one, groups=tuple(np.arange(tables.counted_sizes[i]) for i in one), share=0.0) for one in sets
    ]
    frames = {name: pa.Table.from_pandas(frame) for name, frame in data.items()}
    return private_tables(frames, tables, seed=PublicSeed(0)).counts()._counter(blocks)


def test_they_are_what_pandas_computes_of_the_kept_records() -> None:
    tables, data = declared(), generated(300)
    told, columns = by_pandas(data), dict(zip(tables.flat.names, tables.flat.columns, strict=True))
    for name, found in zip(NAMES, counted(data, tables, NAMES), strict=False):
        column = columns[f"homes.{name}"]
        codes = column.encode(pa.array(told[name], from_pandas=True))
        assert (found == np.bincount(codes, minlength=column.size) * WEIGHT).all(), name


def test_a_schema_with_them_is_itself_again() -> None:
    tables = declared()
    assert same_after_saving(tables)
    assert Tables.parse(tables.to_toml()) == tables
    flat = dict(zip(tables.flat.names, tables.flat.columns, strict=True))
    assert (flat["homes.first"].min, flat["homes.least"].max) == (datetime.date(2000, 1, 1), 90)
    assert [flat[f"homes.{name}"].nullable for name in NAMES] == [False, True, True, True, False, True, True, False]


@pytest.mark.parametrize("people", [0, 1, CAP, 10 * CAP])
def test_a_person_adds_its_weight_whatever_its_records_come_to(people) -> None:
    """In integers, whatever the values: huge ones, none at all, and many more than are kept."""
    tables, data = declared(), generated(20)
    one = pd.DataFrame({"home": [99] * people, "born": pd.Timestamp("2003-01-01"), "pay": 1e300, "size": -np.inf})
    one["adult"] = True
    homes = pd.concat([data["homes"], pd.DataFrame({"home": [99], "town": ["b"]})])
    more = {"homes": homes, "people": pd.concat([data["people"], one])}
    for with_one, without in zip(counted(more, tables, NAMES), counted(data, tables, NAMES), strict=True):
        difference = with_one.astype(object) - without.astype(object)
        assert difference.min() >= 0
        assert difference.sum() == WEIGHT


def test_a_twin_that_sees_other_parents_is_caught() -> None:
    """Were a home's sum to run on into the next home's, one home would change all that follow."""
    tables, data = declared(), generated(20)
    fewer = {"homes": data["homes"].iloc[1:], "people": data["people"][data["people"].home != 0]}

    def moved() -> int:
        pairs = zip(counted(data, tables, NAMES[:1]), counted(fewer, tables, NAMES[:1]), strict=True)
        return max(int(np.abs(one - other).sum()) for one, other in pairs)

    assert moved() == WEIGHT
    right = Aggregate._values_of

    def running(self, total, number, column):
        return right(self, np.cumsum(total) % 50, number, column)

    with mock.patch.object(Aggregate, "_values_of", running):
        assert moved() > WEIGHT


@pytest.mark.slow
def test_they_are_asked_as_columns_and_rows_agree_with_their_records(tmp_path) -> None:
    tables, data = declared("replace-one"), generated(1500)
    out = tmp_path / "homes"
    release = ke.release(data, schema=tables, privacy=(4.0, 1e-6), noise=ke.SeededNoise(1), out=out, fast=True)
    truth = by_pandas(data)
    found = release.mean("homes.total")
    assert abs(found.value - truth["total"].mean()) < 4 * found.standard_error + 2
    assert abs(release.probability("homes.child = true").value - truth["child"].mean()) < 0.1
    people = release.tables["people"].to_pandas()
    total = people[people.adult].groupby("home")["pay"].sum().reindex(release.tables["homes"].to_pandas().home)
    flat = release.flat.table.to_pandas()
    weight = flat.columns[-1]
    assert (flat["homes.total"] * flat[weight]).sum() == pytest.approx(total.fillna(0).clip(0, 200).mean())
    assert ke.load(out).schema == tables


def test_what_can_not_be_computed_is_told() -> None:
    for old, new, words in (
        ("mean(people.pay)", "mean(people.adult)", "is no number"),
        ("mean(people.pay)", "mean(people.born)", "is no number"),
        ('max(people.size)"\ncells = 12', 'max(people.size)"\ncells = 0', "cells must be"),
        ("min = 10\nmax = 90", f"min = {-(2**53)}\nmax = {2**53}", "too wide to be added"),
        ("mean(people.pay)", "mean(people.pay, size > 1)", "counted in cells"),
    ):
        with pytest.raises(SchemaError, match=words):
            Tables.parse(SCHEMA.replace(old, new))
