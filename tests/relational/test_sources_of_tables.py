"""Where several tables come from: folders, frames, databases and workbooks, with the same bits; and their keys."""

import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import kernelease as ke
from kernelease.cli import app
from kernelease.errors import ParameterError, SourceError
from kernelease.measured.counts import Counts
from kernelease.relational.schema_of_tables import Tables
from kernelease.seeds import PublicSeed
from kernelease.sources import open_source
from kernelease.sources.private_rows import private_tables

SCHEMA = """
[unit]
table = "homes"
[tables.homes]
key = "home"
[tables.homes.columns.town]
type = "category"
values = ["a", "b"]
[tables.homes.columns.total]
aggregate = "sum(people.pay)"
min = 0
max = 200
cells = 10
[tables.people]
parent = "homes"
foreign_key = "home"
max_rows = 3
[tables.people.columns.pay]
type = "integer"
min = 0
max = 90
[tables.people.columns.ill]
type = "boolean"
nullable = true
"""


def generated(homes: int = 60) -> dict[str, pd.DataFrame]:
    """With a home that is there twice, one without a key, people of nobody, and homes with more than are kept."""
    rng = np.random.default_rng(0)
    owner = rng.integers(0, homes + 5, 5 * homes)
    towns = pd.DataFrame({"home": [*map(str, range(homes)), "7", None], "town": rng.choice(["a", "b"], homes + 2)})
    people = pd.DataFrame({"home": [*map(str, owner[:-2]), None, None], "pay": rng.integers(0, 90, 5 * homes)})
    people["ill"] = rng.choice(["true", "false", None], 5 * homes)
    return {"homes": towns, "people": people}


def pairs_of(data: object, tables: Tables) -> list[list[int]]:
    """All columns and all pairs of columns in integers, those of siblings included."""
    sizes = tables.counted_sizes
    sets = [(i,) for i in range(len(sizes))] + [(i, j) for j in range(len(sizes)) for i in range(j)]
    blocks = [Counts(columns=one, groups=tuple(np.arange(sizes[i]) for i in one), share=0.0) for one in sets]
    found = private_tables(data, tables, seed=PublicSeed(0)).counts()._counter(blocks)
    return [table.ravel().tolist() for table in found]


def written(form: str, data: dict[str, pd.DataFrame], folder) -> object:
    """The same tables in another place."""
    if form in ("sqlite", "duckdb"):
        path = folder / f"homes.{form}"
        connection = sqlite3.connect(path) if form == "sqlite" else duckdb.connect(str(path))
        for name, frame in data.items():
            if form == "sqlite":
                frame.to_sql(name, connection, index=False)
            else:
                connection.register("given", pa.Table.from_pandas(frame))
                connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        connection.close()
        return path
    for name, frame in data.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    if form == "each by itself":
        return {"homes": written("sqlite", data, folder), "people": folder / "people.csv"}
    return folder


@pytest.mark.parametrize("form", ["folder", "sqlite", "duckdb", "each by itself"])
def test_the_same_bits_from_everywhere(form, tmp_path) -> None:
    tables, data = Tables.parse(SCHEMA), generated()
    assert pairs_of(written(form, data, tmp_path), tables) == pairs_of(data, tables)
    if form == "sqlite":
        assert pairs_of(f"sqlite:///{tmp_path}/homes.sqlite", tables) == pairs_of(data, tables)


def test_what_has_no_tables_is_refused(tmp_path) -> None:
    tables = Tables.parse(SCHEMA)
    with pytest.raises(SourceError, match="is no folder and no database"):
        private_tables(tmp_path / "nothing", tables, seed=PublicSeed(0))
    with pytest.raises(ParameterError, match="or a database, got int"):
        private_tables(7, tables, seed=PublicSeed(0))
    path = written("sqlite", {"homes": generated()["homes"]}, tmp_path)
    with pytest.raises(SourceError, match="people"):
        private_tables(path, tables, seed=PublicSeed(0))


@pytest.mark.parametrize("form", ["sqlite", "duckdb", "folder"])
def test_a_check_counts_keys_that_do_not_meet(form, tmp_path) -> None:
    data = generated()
    report = ke.check(written(form, data, tmp_path), Tables.parse(SCHEMA))
    told = {finding.where: [] for finding in report.findings}
    for finding in report.findings:
        told[finding.where].append(finding.words)
    refers = data["people"].home.dropna()
    dangling = int((refers.astype(int) >= 60).sum())
    beyond = int((refers.value_counts() - 3).clip(lower=0).sum())
    assert any(words.startswith("1 of 62 ") and "have no key" in words for words in told["homes.home"])
    assert any(words.startswith("1 of 62 ") and "a key that another has" in words for words in told["homes.home"])
    people = told["people.home"]
    assert any(words.startswith("2 of 300 ") and "name no parent" in words for words in people)
    assert any(words.startswith(f"{dangling} of 300 ") and "that is not there" in words for words in people)
    assert any(words.startswith(f"{beyond} of 300 ") and "beyond max_rows = 3" in words for words in people)
    assert (report.rows, report.persons) == (362, 60)
    assert not any("home" in words for where, own in told.items() if where.endswith(".columns") for words in own)


def test_the_command_checks_them_too(tmp_path) -> None:
    (tmp_path / "homes.toml").write_text(SCHEMA)
    data = str(written("sqlite", generated(), tmp_path))
    told = CliRunner().invoke(app, ["check", data, "--schema", str(tmp_path / "homes.toml")])
    assert "people.home" in told.stdout
    assert "that is not there" in told.stdout
    refused = CliRunner().invoke(app, ["check", data, "--schema", str(tmp_path / "homes.toml"), "--query", "homes"])
    assert refused.exit_code == 2
    assert "Leave it out" in refused.output


PARTS = """
[unit]
table = "homes"
[tables.homes]
key = "home"
[tables.homes.columns.town]
type = "category"
values = ["a", "b"]
[tables.visits]
parent = "homes"
foreign_key = "home"
max_rows = 3
[tables.visits.columns.day]
type = "date"
min = 1990-01-01
max = 2024-12-31
"""


def test_files_of_one_table_may_lay_their_dates_out_otherwise(tmp_path) -> None:
    """Whether Arrow gives texts by a dictionary depends on how many there are in a file: that ended releases."""
    tables, every = Tables.parse(PARTS), pd.date_range("1990-01-01", periods=5_000)
    homes = pd.DataFrame({"home": range(5), "town": list("ababa")})
    parts = [pd.DataFrame({"home": [0, 1], "day": ["2000-01-01", None]})]
    parts.append(pd.DataFrame({"home": np.arange(5_000) % 5, "day": every.strftime("%Y-%m-%d")}))
    parts.append(pd.DataFrame({"home": [4], "day": every[:1]}))
    for number, part in enumerate(parts):
        part.to_parquet(tmp_path / f"{number}.parquet", index=False)
    kinds = {batch.schema.field("day").type for batch in open_source(tmp_path).batches(["day"])}
    assert len(kinds) == 3
    together = pd.concat([part.astype({"day": "str"}) for part in parts]).replace({"day": {"None": None}})
    given = {"homes": homes, "visits": tmp_path}
    assert pairs_of(given, tables) == pairs_of({"homes": homes, "visits": together}, tables)
    ledger = ke.MemoryLedger(ke.Privacy(epsilon=1.0, delta=1e-6), unit="home")
    ke.measure(given, schema=tables, privacy=(1.0, 1e-6), ledger=ledger, noise=ke.SeededNoise(0))
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("form", ["frames", "sqlite"])
def test_a_key_that_is_missing_or_text_takes_no_others_records_away(form, tmp_path) -> None:
    """One missing key makes a column one of floats, one that is text one of objects: 1.0 is still the key 1."""
    tables = Tables.parse(PARTS)
    homes = pd.DataFrame({"home": range(5), "town": list("ababa")})
    visits = pd.DataFrame({"home": [0, 0, 1, 3], "day": ["2000-01-01", "2001-01-01", "2002-01-01", None]})
    of_nobody = [None] if form == "sqlite" else [None, "x"]
    kinds = {"without": visits["home"].dtype}
    expected = pairs_of({"homes": homes, "visits": visits}, tables)
    for key in of_nobody:
        odd = pd.DataFrame({"home": [*visits["home"].astype(float), key], "day": [*visits["day"], "2003-01-01"]})
        kinds[str(key)] = odd["home"].dtype
        given = {"homes": homes, "visits": odd}
        if form == "sqlite":
            connection = sqlite3.connect(tmp_path / "homes.sqlite")
            for name, frame in given.items():
                frame.to_sql(name, connection, index=False)
            connection.close()
        assert pairs_of(tmp_path / "homes.sqlite" if form == "sqlite" else given, tables) == expected
    assert len(set(kinds.values())) == len(kinds)
