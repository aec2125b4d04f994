"""Spark: the same bytes as on one machine, rows that stay on the workers, and nothing private in its logs."""

import dataclasses
import os
import resource
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import kernelease as ke
from kernelease.bundle.saving import load_measurements
from kernelease.cli.command import app
from kernelease.errors import ParameterError, SchemaError, SourceError
from kernelease.measured.counts import Counts
from kernelease.pipeline import weighting
from kernelease.privacy.mechanisms import PrivacyFilter
from kernelease.relational.schema_of_tables import Tables
from kernelease.seeds import PublicSeed
from kernelease.sources import open_source
from kernelease.sources.private_rows import private_table, private_tables
from kernelease.sources.spark import SparkFrame
from kernelease.table import Schema
from tests.sources.spark_sessions import Cluster, end, local, needs_java, quiet, start, texts

pytestmark = [needs_java, *quiet, pytest.mark.slow]

CANARY = "canary7f3a"  # stands in cells, and must stand nowhere else
PRIVACY = ke.Privacy(epsilon=20.0, delta=1e-6)
COLUMNS = """
[columns.age]
type = "integer"
min = 17
max = 90

[columns.city]
type = "category"
values = ["Ulm", "Bonn", "Köln"]

[columns.paid]
type = "number"
min = 0.0
max = 100.0
cells = 8
nullable = true

[columns.smoker]
type = "boolean"
"""
PERSONS = '[table]\nname = "visits"\nunit = "who"\nmax_rows_per_unit = 3\n' + COLUMNS
SCHEMA = Schema.parse(COLUMNS)


def people(rows: int = 2000) -> pd.DataFrame:
    random = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "age": random.integers(10, 100, rows),
            "city": random.choice(["Ulm", "Bonn", "Köln", CANARY, None], rows),
            "paid": np.where(random.random(rows) < 0.1, np.nan, random.exponential(30.0, rows)),
            "smoker": random.random(rows) < 0.3,
            "who": [f"{CANARY}-{i}" if i else None for i in random.integers(0, 150, rows)],
        }
    )


def noisy(measurements: ke.Measurements) -> list[list[int]]:
    return [list(map(int, block.measurement.integers)) for block in measurements.measured.blocks]


def measured(data: Any, schema: Schema = SCHEMA) -> list[list[int]]:
    return noisy(ke.measure(data, schema=schema, privacy=PRIVACY, noise=ke.SeededNoise(3)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module", autouse=True)
def _ended() -> Iterator[None]:
    yield
    end()


@pytest.fixture
def spark(folder: Path) -> Any:
    return local(folder)


@pytest.fixture
def frame(spark: Any) -> Any:
    made = spark.createDataFrame(pa.Table.from_pandas(people(), preserve_index=False))
    made.createOrReplaceTempView("people")
    return made


@pytest.mark.parametrize("schema", [SCHEMA, Schema.parse(PERSONS)], ids=["rows", "persons"])
def test_the_same_bytes_whatever_the_parts(frame: Any, schema: Schema) -> None:
    expected = measured(people(), schema)
    assert len(expected) > len(schema)  # pairs were counted in a later round
    for parts in (1, 3):
        assert measured(frame.repartition(parts), schema) == expected


def test_one_unit_for_all_rows_without_a_person(frame: Any) -> None:
    schema = dataclasses.replace(Schema.parse(PERSONS), rows_without_unit="one-unit")
    assert measured(frame, schema) == measured(people(), schema)


def test_vectors_of_numbers(spark: Any) -> None:
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 2)), columns=["x", "y"])
    rows.loc[3, "x"] = np.nan
    frame = spark.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False)).repartition(2)
    points = ke.fit.NormalPoints(dimension=2)
    replace = ke.Privacy(epsilon=2.0, delta=1e-6, neighbours=ke.Neighbours.REPLACE_ONE)
    for method, privacy in (
        (ke.RandomFeatures(start=points, features=20), PRIVACY),
        (ke.Subspace(points=points, count=15), replace),
        (ke.Adaptive(points=points), PRIVACY),
    ):
        here, there = (
            ke.measure(
                data,
                kernel=ke.kernels.Gaussian(lengthscale=1.0),
                method=method,
                privacy=privacy,
                noise=ke.SeededNoise(3),
            ).measured
            for data in (rows, frame)
        )
        assert [list(s.measurement.integers) for s in here.stages] == [
            list(s.measurement.integers) for s in there.stages
        ]


def test_public_rows_weighted_to_stand_for_those_of_spark(frame: Any) -> None:
    method = weighting(people(40), schema=SCHEMA)
    here, there = (
        ke.measure(data, schema=SCHEMA, privacy=PRIVACY, method=method, noise=ke.SeededNoise(3)).measured.embedding
        for data in (people(), frame)
    )
    assert list(here.measurement.integers) == list(there.measurement.integers)


def test_the_command_line(frame: Any, tmp_path: Path) -> None:
    (tmp_path / "people.toml").write_text(COLUMNS)
    words = ["measure", "spark:people", "--spark", "local[2]", "--schema", str(tmp_path / "people.toml")]
    out = ["--epsilon", "1", "--delta", "1e-6", "--out", str(tmp_path / "out"), "--quiet"]
    result = CliRunner().invoke(app, [*words, *out])
    assert result.exit_code == 0, result.output
    assert load_measurements(tmp_path / "out").certificate.epsilon == 1.0


def test_types_that_have_no_plain_one_arrive_as_text(spark: Any) -> None:
    source = open_source("spark:", query="SELECT array(1, 2) AS `a``b`, CAST(1 AS DECIMAL(3, 1)) AS d, 'x' AS `c.d`")
    assert source.names() == ("a`b", "d", "c.d")
    assert [str(column.type) for column in source.declared_schema()] == ["string", "decimal128(3, 1)", "string"]


def test_what_is_refused(spark: Any, frame: Any) -> None:
    with pytest.raises(SourceError, match="and not both"):
        open_source("spark:people", query="SELECT 1")
    with pytest.raises(SourceError, match="Spark is a database"):
        open_source("spark:")
    with pytest.raises(SourceError, match="can't be opened"):
        open_source("spark:no_such_table")
    with pytest.raises(SourceError, match="is for tables of Spark"):
        open_source("people.csv", spark="local")
    with pytest.raises(SourceError, match="differs from one reading to the next"):
        open_source(spark.sql("SELECT rand() AS x"))
    with pytest.raises(SourceError, match="stay where they lie"):
        next(open_source(frame).batches(["age"]))
    with pytest.raises(SchemaError, match="has no column"):
        measured(frame.drop("age"))
    kernel = ke.kernels.Gaussian(lengthscale=1.0)
    with pytest.raises(SourceError, match="'city' is not of numbers"):
        ke.measure(frame, kernel=kernel, privacy=PRIVACY)
    rows = private_table(frame, SCHEMA, seed=ke.PublicSeed(0))
    with pytest.raises(ParameterError, match="has to see the rows"):
        rows.array()


def test_a_worker_takes_less_than_a_gibibyte(spark: Any) -> None:
    frame = spark.range(400_000).selectExpr("id % 100 AS age", "'Ulm' AS city", "id % 97 * 1.5D AS paid", "true smoker")
    measured(frame)

    def memory(batches: Any) -> Any:
        for _ in batches:
            pass
        return np.array([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss], dtype=np.int64)

    (largest,) = SparkFrame(data=frame.repartition(1)).sums(("age",), memory)
    assert largest[0] < 2**20  # in KiB


def test_what_fails_on_a_worker_is_withheld(frame: Any, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def failing(batches: Any) -> Any:
        raise ValueError(f"a cell holds {next(iter(batches)).column(0)[0]} {'canary'}7f3a")

    with pytest.raises(SourceError, match="broke off") as caught:
        SparkFrame(data=frame).sums(("who",), failing)
    assert caught.value.__cause__ is None
    assert CANARY not in str(caught.value)
    shown = capfd.readouterr()
    assert CANARY not in shown.out + shown.err
    assert "its reason is withheld" in (folder / "driver.log").read_text()


def test_workers_with_another_version_are_refused(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelease.sources.spark.__version__", "0.0.0")
    with pytest.raises(SourceError, match=r"lack kernelease 0\.0\.0"):
        measured(frame)


def test_no_cell_is_in_the_logs_and_events(spark: Any, frame: Any, folder: Path) -> None:
    """Of the whole session, with all that was done in it. Its twin, a query that names a cell and a function that
    raises one, would be found there.
    """
    measured(frame, Schema.parse(PERSONS))

    def failing(batches: Any) -> Any:
        raise ValueError(f"a cell holds {next(iter(batches)).column(0)[0]}")

    with pytest.raises(SourceError, match="broke off"):
        SparkFrame(data=frame).sums(("who",), failing)

    def twin(batches: Any) -> Any:
        raise ValueError("cell " + "twin" + "-raised")

    spark.range(1).filter("'twin-named' = cast(id AS string)").count()
    with pytest.raises(Exception, match="twin-raised"):
        spark.range(1).mapInArrow(twin, "id long").count()
    end()
    logs = texts(folder)
    events = {path: text for path, text in logs.items() if "events" in path.parts}
    assert any(b"its reason is withheld" in text for text in logs.values())
    assert any(b"MapInArrow" in text for text in events.values())
    assert not [path for path, text in logs.items() if CANARY.encode() in text]
    assert any(b"twin-named" in text for text in events.values())
    assert any(b"twin-raised" in text for path, text in logs.items() if path.name == "driver.log")


def test_a_worker_killed_in_the_middle_and_a_cluster_lost_after_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One master and two workers on loopback; tasks may also run twice (speculation)."""
    marks = tmp_path / "marks"
    marks.mkdir()
    place = str(marks)

    def slow(batches: Any) -> Any:  # on the workers
        for batch in batches:
            open(os.path.join(place, f"started-{os.getpid()}"), "w").close()
            for _ in range(1200):  # two minutes, should none be killed
                if os.path.exists(os.path.join(place, "killed")):
                    break
                time.sleep(0.1)
            yield batch

    cluster = Cluster(tmp_path, workers=2)

    def kill() -> None:
        while len(list(marks.glob("started-*"))) < 2:
            time.sleep(0.1)
        cluster.kill_worker(0)
        (marks / "killed").touch()

    killer = threading.Thread(target=kill, daemon=True)
    again = {"spark.speculation": "true", "spark.speculation.interval": "100ms", "spark.speculation.quantile": "0.1"}
    try:
        spark = start(cluster.master, tmp_path / "driver", **again, **{"spark.executor.memory": "512m"})
        assert spark.sparkContext.master == cluster.master
        rows = spark.createDataFrame(pa.Table.from_pandas(people(), preserve_index=False)).repartition(4)
        killer.start()
        assert measured(rows.mapInArrow(slow, rows.schema)) == measured(people())
        killer.join(120)
        assert (marks / "killed").exists()
        assert cluster.processes[1].wait(120) != 0
        _lose_after_the_charge(spark, rows, monkeypatch)
    finally:
        end()
        cluster.stop()
    logs = texts(tmp_path)
    assert [path for path in logs if path.name == "stderr" and "work1" in path.parts]  # of the executor that was left
    assert not [path for path, text in logs.items() if CANARY.encode() in text]


def _lose_after_the_charge(spark: Any, rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = PrivacyFilter.open.__func__  # type: ignore[attr-defined]

    def charged(cls: type[PrivacyFilter], *arguments: Any, **options: Any) -> Any:
        opened = honest(cls, *arguments, **options)
        spark.stop()
        return opened

    monkeypatch.setattr(PrivacyFilter, "open", classmethod(charged))
    ledger = ke.MemoryLedger(PRIVACY)
    with pytest.raises(SourceError, match=r"The budget is spent \(entry 1 of the ledger\)"):
        ke.measure(rows, schema=SCHEMA, privacy=PRIVACY, ledger=ledger)
    assert len(ledger.entries) == 1


def test_several_tables_give_the_same_bits_as_frames(spark: Any) -> None:
    """Rows come here a part at a time, and are brought together by their keys: whatever the parts are."""
    rng = np.random.default_rng(0)
    homes = pd.DataFrame({"home": np.arange(40), "town": rng.choice(["a", "b"], 40)})
    persons = pd.DataFrame({"home": rng.integers(0, 42, 150), "pay": rng.integers(0, 90, 150)})
    frames = {
        name: spark.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False)).repartition(3)
        for name, frame in {"homes": homes, "residents": persons}.items()
    }
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    tables = Tables.parse(SEVERAL)

    def bits(data: Any) -> list[list[int]]:
        sizes = tables.counted_sizes
        sets = [(i, j) for j in range(len(sizes)) for i in range(j)]
        blocks = [Counts(columns=one, groups=tuple(np.arange(sizes[i]) for i in one), share=0.0) for one in sets]
        found = private_tables(data, tables, seed=PublicSeed(0)).counts()._counter(blocks)
        return [table.ravel().tolist() for table in found]

    expected = bits({"homes": homes, "residents": persons})
    assert bits(frames) == expected
    assert bits("spark:") == expected  # the same by the names of its tables
    broken = spark.createDataFrame(pa.table({"home": ["1", "private-cell"], "town": ["a", "b"]}))
    with pytest.raises(SourceError, match="broke off") as caught:
        bits({**frames, "homes": broken.selectExpr("CAST(home AS INT) AS home", "town")})
    assert "private-cell" not in str(caught.value)


SEVERAL = """
[unit]
table = "homes"
[tables.homes]
key = "home"
[tables.homes.columns.town]
type = "category"
values = ["a", "b"]
[tables.residents]
parent = "homes"
foreign_key = "home"
max_rows = 3
[tables.residents.columns.pay]
type = "integer"
min = 0
max = 90
cells = 5
"""
