"""Releases of several tables: from rows to tables, bundles and answers."""

import contextlib
import json
import shutil
import sqlite3
import sys

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import kernelease as ke
from kernelease.answers.release import TablesRelease, contents_of
from kernelease.bundle.container import read_bundle, write_bundle
from kernelease.bundle.data_parquet import write_rows
from kernelease.bundle.verify import key_problems
from kernelease.cli import app
from kernelease.errors import BundleError, KerneleaseError, ParameterError, SourceError
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.fit.solver import PublicPoints
from kernelease.measured.bags import NoisyBags
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.several_tables import FITS, Bags
from kernelease.relational.schema_of_tables import Tables
from kernelease.seeds import PublicSeed

SCHEMA = """
[unit]
table = "homes"
neighbours = "add-remove"
[tables.homes]
key = "home"
[tables.homes.columns.town]
type = "category"
values = ["a", "b", "c"]
[tables.homes.columns.couples]
aggregate = "count(people, role = 'spouse')"
max = 1
[tables.people]
parent = "homes"
foreign_key = "home"
key = "person"
max_rows = 4
constraints = ["pay <= 10 * age"]
[tables.people.columns.role]
type = "category"
values = ["head", "spouse", "child"]
[tables.people.columns.age]
type = "integer"
min = 0
max = 99
cells = 20
[tables.people.columns.pay]
type = "integer"
min = 0
max = 900
[tables.visits]
parent = "people"
foreign_key = "person"
max_rows = 3
[tables.visits.columns.ill]
type = "boolean"
nullable = true
"""
HOMES = 4000


def generated(count=HOMES, seed=0):
    """Homes whose people have roles: one head each, at most one spouse; who is ill depends on the town."""
    rng = np.random.default_rng(seed)
    homes = pd.DataFrame({"home": np.arange(count) + 7, "town": rng.choice(["a", "b", "c"], count, p=[0.5, 0.3, 0.2])})
    number = rng.integers(0, 5, count)
    owner = np.repeat(np.arange(count), number)
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(number) - number, number)
    roles = np.array(["head", "spouse", "child"])[np.minimum(rank, 2)]
    ages = np.where(rank < 2, rng.integers(20, 99, len(owner)), rng.integers(0, 19, len(owner)))
    people = pd.DataFrame({"home": homes.home.to_numpy()[owner], "person": np.arange(len(owner)), "role": roles})
    people["age"], people["pay"] = ages, np.where(rank < 2, np.minimum(ages * 10, 300 + 200 * (owner % 2)), 0)
    went = rng.integers(0, 3, len(owner))
    who = np.repeat(np.arange(len(owner)), went)
    ill = rng.random(len(who)) < np.where(homes.town.to_numpy()[owner][who] == "a", 0.8, 0.2)
    return {"homes": homes, "people": people, "visits": pd.DataFrame({"person": who, "ill": ill})}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[TablesRelease, object]:
    path = tmp_path_factory.mktemp("bundle") / "homes"
    options = {"schema": Tables.parse(SCHEMA), "privacy": (4.0, 1e-6), "noise": ke.SeededNoise(1)}
    return ke.release(generated(), **options, out=path), path


def test_keys_exist_caps_hold_and_rules_are_kept(made) -> None:
    release, _ = made
    assert key_problems(contents_of(release).tables, release.schema) == []
    people = release.tables["people"].to_pandas()
    assert (people.pay <= 10 * people.age).all()
    assert people.groupby("home").size().max() <= 4
    assert set(release.tables) == {"homes", "people", "visits"}


@pytest.mark.slow
def test_looks_at_many_numbers_leave_as_much_for_siblings_as_is_kept_for_them() -> None:
    """What is kept for pairs of records is a part of all; shares beside looks are parts of the rest."""
    number = '[tables.visits.columns.n{}]\ntype = "integer"\nmin = 0\nmax = 100000\n'
    schema = Tables.parse(SCHEMA + "".join(map(number.format, range(6))))
    tables, rng = generated(2000), np.random.default_rng(1)
    for name in map("n{}".format, range(6)):
        tables["visits"][name] = (rng.pareto(1.0, len(tables["visits"])) * 100).clip(0, 100000).astype(int)
    told = ke.measure(tables, schema=schema, privacy=(4.0, 1e-6), noise=ke.SeededNoise(1)).measured
    assert isinstance(told, NoisyBags)
    assert told.siblings


def test_numbers_of_records_follow_the_parent(made) -> None:
    release, _ = made
    real = generated()["people"].groupby("home").size().value_counts(normalize=True)
    found = release.tables["people"].to_pandas().groupby("home").size().value_counts(normalize=True)
    assert (real - found).abs().max() < 0.05


def test_siblings_repel(made) -> None:
    """No home has two heads: a mixture of products alone would give many."""
    release, _ = made
    people = release.tables["people"].to_pandas()
    several = people.groupby("home").filter(lambda own: len(own) > 1)
    heads = several[several.role == "head"].groupby("home").size()
    dealt = several.assign(role=np.random.default_rng(0).permutation(several.role))
    chance = dealt[dealt.role == "head"].groupby("home").size()
    assert (heads > 1).mean() < 0.7 * (chance > 1).mean()


def test_records_of_records_depend_on_the_root(made) -> None:
    release, _ = made
    visits, people, homes = (release.tables[name].to_pandas() for name in ("visits", "people", "homes"))
    joined = visits.merge(people, on="person").merge(homes, on="home")
    share = joined.dropna(subset=["ill"]).groupby("town").ill.apply(lambda own: own.astype(float).mean())
    assert share["a"] > share["b"] + 0.3


def test_a_bundle_is_verified_and_made_again(made, tmp_path) -> None:
    release, path = made
    found = {one.check: one for one in ke.verify(path, refit=True)}
    assert found.pop("noise").holds is False  # it came from a seed
    assert all(one.holds for one in found.values()), [one for one in found.values() if not one.holds]
    again = ke.load(path)
    assert isinstance(again, TablesRelease)
    assert all(again.tables[name].rows.equals(table.rows) for name, table in release.tables.items())
    again.save(tmp_path / "homes.zip")
    assert ke.load(tmp_path / "homes.zip").certificate == release.certificate
    package = json.loads((path / "datapackage.json").read_text())
    assert package["resources"][1]["schema"]["foreignKeys"] == [
        {"fields": "home", "reference": {"resource": "homes", "fields": "home"}}
    ]
    assert "each home with all its people and visits" in (path / "datasheet.md").read_text().lower()


@pytest.mark.parametrize("harm", ["orphan", "rule", "dropped", "extra", "document"])
def test_a_harmed_bundle_is_noticed(made, tmp_path, harm) -> None:
    _, path = made
    files = {name: data for name, data in read_bundle(path).items() if name != "SHA256SUMS"}
    people = pq.read_table(path / "data.people.parquet").to_pandas()
    if harm == "orphan":
        people.loc[len(people) - 1, "home"] = 10**6
    if harm == "rule":
        people.loc[0, ["age", "pay"]] = [0, 900]
    if harm in ("orphan", "rule"):
        schema = ke.load(path).tables["people"].rows.schema
        files["data.people.parquet"] = write_rows(pa.Table.from_pandas(people, schema=schema, preserve_index=False))
    elif harm == "dropped":
        del files["data.visits.parquet"]
    elif harm == "extra":
        files["data.other.parquet"] = files["data.visits.parquet"]
    else:
        files["datapackage.json"] = files["datapackage.json"].replace(b'"home"', b'"town"')
    write_bundle(tmp_path / "harmed", files)
    found = ke.verify(tmp_path / "harmed")
    assert [one.check for one in found if not one.holds and one.check != "noise"]


@pytest.mark.parametrize(
    "name", ["data.../x.parquet", "data.A.parquet", "data.a.b.parquet", "data.a.parquet.exe", "data..parquet"]
)
def test_no_other_names_are_read(tmp_path, name) -> None:
    with pytest.raises(ParameterError, match="no file named"):
        write_bundle(tmp_path / "odd", {name: b""})
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / name.replace("/", "_")).write_bytes(b"")
    with pytest.raises(BundleError, match="no file named"):
        read_bundle(tmp_path / "folder")


def test_answers_are_of_persons(made) -> None:
    release, _ = made
    data = generated()
    number = data["people"].groupby("home").size().reindex(data["homes"].home, fill_value=0)
    low, high = release.mean("homes.people").interval()
    assert low - 0.1 < number.mean() < high + 0.1
    couples = data["people"].groupby("home").role.apply(lambda own: (own == "spouse").any())
    low, high = release.mean("homes.couples").interval()
    assert low - 0.05 < couples.sum() / HOMES < high + 0.05
    assert release.probability("homes.couples = 1").value == pytest.approx(
        release.mean("homes.couples").value, abs=0.05
    )
    flat = release.flat.table.to_pandas().drop_duplicates("homes.couples")
    assert set(flat["homes.couples"]) == {0, 1}
    by_town = release.mean("people.age", by="homes.town")
    assert len(by_town) == 3
    assert release.flat.table.num_rows >= HOMES * 0.9
    assert np.isclose(release.flat.weights.sum(), 1.0)


def test_answers_are_of_records_where_these_are_meant(made) -> None:
    """Means and shares over all records, at any depth, beside those of persons: intervals at one in 10⁶."""
    release, _ = made
    tables = generated()
    people, visits = tables["people"], tables["visits"]
    truths = {
        "pay": (release.mean("people.pay", per="record"), people.pay.mean()),
        "child": (release.probability("people.role = 'child'", per="record"), (people.role == "child").mean()),
        "ill": (release.probability("visits.ill = true", per="record"), visits.ill.mean()),
    }
    for found, truth in truths.values():
        low, high = found.interval(1.0 - 1e-6)
        assert low <= truth <= high
    assert truths["pay"][0].interval()[1] < people.groupby("home").pay.mean().mean()  # another number
    low, high = truths["child"][0].interval()
    assert high - low < 0.1
    assert list(release.mean("people.age", per="record", by="homes.town")) == ["a", "b", "c"]
    roles = ["head", "spouse", "child"]  # no record has none, and those without a record have no age, either
    assert list(release.mean("people.age", by="people.role")) == roles
    assert list(release.mean("people.age", by="people.role", per="record")) == roles
    assert ("a", "NULL") not in release.mean("people.age", by=("homes.town", "people.role"))
    assert "NULL" in release.mean("homes.people", by="people.role")  # those who have nobody
    within = release.mean("people.age", per="record", where="homes.town = 'a'", of="population")
    assert 20 < within.value < 60


@pytest.mark.parametrize(
    ("column", "options", "message"),
    [
        ("homes.people", {"per": "record"}, "is of homes, whose rows are persons"),
        ("people.pay", {"per": "row"}, "per must be 'person' or 'record', got 'row'"),
        ("people.pay", {"per": "record", "estimate": "model"}, "and not 'estimate'"),
        ("peple.pay", {"per": "record"}, "There is no table 'peple'. Did you mean people"),
    ],
)
def test_what_can_not_be_said_per_record_is_refused(made, column, options, message) -> None:
    with pytest.raises(KerneleaseError, match=message):
        made[0].mean(column, **options)


def test_measurements_alone_are_saved_and_fitted(tmp_path) -> None:
    measured = ke.measure(generated(300), schema=Tables.parse(SCHEMA), privacy=(1.0, 1e-6), out=tmp_path / "m")
    with pytest.raises(BundleError, match="measurements only"):
        ke.load(tmp_path / "m")
    release = measured.fit(rows=50)
    assert len(release.tables["homes"]) == 50
    assert all(one.holds for one in ke.verify(tmp_path / "m", refit=True))


@pytest.mark.parametrize(("fits", "made"), [(None, FITS), (1, 1), (2, 2)])
def test_the_mean_is_of_as_many_fits_as_were_asked_for(fits, made) -> None:
    noisy = ke.measure(generated(1000), schema=Tables.parse(SCHEMA), privacy=(40.0, 1e-6), noise=ke.SeededNoise(1))
    solver = MixtureSolver(components=5, steps=3, fits=fits)
    fitted = Bags(interactions=Interactions(solver=solver)).fit(noisy.measured, PublicSeed(0))
    assert len(fitted.mixture.weights) == 5 * made


def test_the_command_line(tmp_path) -> None:
    (tmp_path / "in").mkdir()
    for name, frame in generated(300).items():
        frame.to_csv(tmp_path / "in" / f"{name}.csv", index=False)
    (tmp_path / "homes.toml").write_text(SCHEMA)
    run = CliRunner().invoke
    order = ["--schema", str(tmp_path / "homes.toml"), "--epsilon", "1", "--delta", "1e-6"]
    out = str(tmp_path / "out")
    told = run(app, ["release", str(tmp_path / "in"), "--tables", *order, "--out", out, "--json", "--fast"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["unit"] == "each home with all its people and visits"
    assert run(app, ["verify", out, "--refit"]).exit_code == 0
    assert run(app, ["export", out, "--out", str(tmp_path / "files")]).exit_code == 0
    assert sorted(one.name for one in (tmp_path / "files").iterdir()) == ["homes.csv", "people.csv", "visits.csv"]
    assert run(app, ["fit", out, "--out", str(tmp_path / "again"), "--rows", "20"]).exit_code == 0
    asked = run(app, ["query", out, "mean", "people.age", "--json"])
    assert json.loads(asked.stdout)["groups"][0]["value"] == pytest.approx(ke.load(out).mean("people.age").value)
    assert "people.age" in run(app, ["answers", out]).stdout
    assert run(app, ["report", out, "--out", str(tmp_path / "r.html")]).exit_code == 0
    private = ["report", out, "--out", str(tmp_path / "private.html"), "--private", str(tmp_path / "in")]
    assert "holds several tables" in run(app, private).stderr
    shutil.rmtree(tmp_path / "in")
    missing = run(app, ["release", str(tmp_path / "in"), "--tables", *order, "--out", str(tmp_path / "o2")])
    assert missing.exit_code == 2
    assert "no folder" in missing.output


def test_data_that_do_not_fit_are_refused() -> None:
    tables, data = Tables.parse(SCHEMA), generated(20)
    options = {"schema": tables, "privacy": (1.0, 1e-6)}
    with pytest.raises(ParameterError, match="no rows for table 'visits'"):
        ke.release({"homes": data["homes"], "people": data["people"]}, **options)
    with pytest.raises(ParameterError, match="Did you mean homes"):
        ke.release({**data, "home": data["homes"]}, **options)
    with pytest.raises(ParameterError, match="mapping"):
        ke.release(data["homes"], **options)
    with pytest.raises(SourceError, match="has no column 'person'"):
        ke.release({**data, "visits": data["visits"].drop(columns="person")}, **options)
    with pytest.raises(ParameterError, match="push_down"):
        ke.release(data, **options, push_down=True)
    with pytest.raises(ParameterError, match="target"):
        ke.release(data, **options, target="people.age")
    ledger = ke.MemoryLedger(ke.Privacy(epsilon=1.0, delta=1e-6), dataset=tables.name, unit="homes")
    with pytest.raises(ParameterError, match=r"siblings must be at most 0\.4\d for these tables"):
        ke.release(data, **options, method=Bags(siblings=0.9), ledger=ledger)
    assert ledger.entries == []
    with pytest.raises(ParameterError, match="measured by Bags"):
        ke.release(data, **options, method=ke.Subspace(points=PublicPoints(np.zeros((1, 1)))))


def test_columns_of_a_code_book_follow_from_released_keys(tmp_path) -> None:
    """They are in the rows, and answers come from the counts of the key; keys that are in no book are NULL."""
    (tmp_path / "towns.csv").write_text("town,state,people\na,north,10\nb,north,20\nc,south,40\n")
    town = 'type = "category"\nvalues = ["a", "b", "c"]'
    schema = SCHEMA.replace(town, 'type = "category"\ncodebook = "towns"\nnullable = true')
    (tmp_path / "homes.toml").write_text(schema + '[tables.towns]\npublic = "towns.csv"\nkey = "town"\n')
    data = generated(400)
    data["homes"].loc[:9, "town"] = "nowhere"
    options = {"schema": tmp_path / "homes.toml", "privacy": (4.0, 1e-6), "noise": ke.SeededNoise(1), "fast": True}
    release = ke.release(data, **options, out=tmp_path / "out")
    homes = release.tables["homes"].to_pandas()
    assert homes[["town", "town_state", "town_people"]].dropna().drop_duplicates().shape[0] <= 3
    assert set(homes.dropna().town_state[homes.town == "c"]) == {"south"}
    north = (data["homes"].town.isin(["a", "b"])).mean()
    assert release.probability("homes.town_state = 'north'").value == pytest.approx(north, abs=0.1)
    assert set(release.mean("people.age", by="homes.town_state")) >= {"north", "south"}
    assert [one.check for one in ke.verify(tmp_path / "out") if not one.holds] == ["noise"]


@pytest.mark.parametrize("suffix", ["sqlite", "duckdb"])
def test_a_database_has_the_rows_and_their_keys(made, suffix, tmp_path) -> None:
    """Keys and references are declared and hold; and what was written is read again as several tables."""
    release, _ = made
    (path,) = release.export(tmp_path / f"homes.{suffix}")
    if suffix == "sqlite":
        with contextlib.closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
            found = connection.execute("SELECT [table], [from] FROM pragma_foreign_key_list('people')").fetchall()
            number = connection.execute("SELECT count(*) FROM people").fetchone()[0]
        assert found == [("homes", "home")]
    else:
        with contextlib.closing(duckdb.connect(str(path), read_only=True)) as connection:
            kinds = connection.execute("SELECT constraint_type FROM duckdb_constraints()").fetchall()
            number = connection.execute("SELECT count(*) FROM people").fetchone()[0]
        assert kinds.count(("FOREIGN KEY",)) == 2
    assert number == len(release.tables["people"])
    told = ke.check(path, release.schema)
    assert told.rows == sum(len(table) for table in release.tables.values())
    assert not any("not there" in finding.words for finding in told.findings)
    with pytest.raises(ParameterError, match="is there already"):
        release.export(path)


def test_without_duckdb_there_is_a_word(made, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ParameterError, match="pip install"):
        made[0].export(tmp_path / "homes.duckdb")
