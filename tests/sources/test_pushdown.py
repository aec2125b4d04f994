"""Counts by SQL are the counts of the stream to the last bit, and what can't be counted so is refused for a reason."""

import datetime
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from kernelease.errors import SchemaError, SourceError
from kernelease.exact.counting import ExactCounts
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.ledgers import MemoryLedger
from kernelease.measured.blocks import Block
from kernelease.measured.counts import Counts
from kernelease.measured.offsets import MOST_SIDES, Sides
from kernelease.measured.spreads import Spread
from kernelease.methods.interactions.interactions import Interactions
from kernelease.noises import SeededNoise
from kernelease.passes import Batch, EncodedRows
from kernelease.privacy import Neighbours, Privacy, PrivacyFilter
from kernelease.privacy.sensitivity import ROWS
from kernelease.seeds import PublicSeed
from kernelease.sources import Source, open_source, pushdown
from kernelease.sources.pushdown import count_by_sql, supports
from kernelease.table import (
    Boolean,
    Category,
    Column,
    Date,
    Datetime,
    Hierarchy,
    Integer,
    Number,
    Ordinal,
    Schema,
    String,
)
from kernelease.table.columns.cells import Comb, Texture
from kernelease.table.encode import Encoder
from tests.sources.pushdown_cases import numbers

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
ADULT = ROOT.parent / "shared" / "data" / "adult" / "adult_discrete.csv"
LABELS = ("a", "b'c", "d\\e", "é", "x'); DROP TABLE people; --", "A", "")
BERLIN = pa.timestamp("us", tz="Europe/Berlin")
SCHEMA = Schema(
    (
        Integer(name='the "age"', min=17, max=90, nullable=True),
        Integer(name="weight", min=0, max=1_500_000),
        Number(name="real", min=-3.0, max=3.0, nullable=True),
        Number(name="single", min=0.0, max=2.5, resolution=0.1, default=1.0),
        Category(name="label", values=LABELS, other=True, nullable=True),
        Category(name="digit", values=tuple(range(9))),
        Ordinal(name="grade", values=("low", "middle", "high"), nullable=True),
        String(name="note; --", max_length=20),
        Boolean(name="flag", nullable=True),
        Date(name="born", min=datetime.date(1930, 1, 1), max=datetime.date(2024, 12, 31), nullable=True),
        Datetime(name="seen", min=datetime.datetime(2024, 1, 1), max=datetime.datetime(2024, 12, 31), nullable=True),
        Datetime(name="zoned", min=datetime.datetime(2024, 1, 1), max=datetime.datetime(2024, 1, 2), resolution=3600),
    ),
    neighbours="add-remove",
)


def in_memory(source: Source, schema: Schema) -> ExactCounts:
    encoder = Encoder(schema, fine=True)

    def read() -> Iterator[Batch]:
        return ((encoder.encode(batch).T, None) for batch in source.batches(schema.names))

    fine = tuple(schema.finer)
    return ExactCounts.of(EncodedRows(read, schema.sizes, fine=fine), schema.sizes)


def pairs(sizes: tuple[int, ...], width: int) -> list[Block]:
    """Every pair of columns, `width` atoms to a cell."""
    return [
        Counts(columns=(i, j), groups=(np.arange(sizes[i]) // width, np.arange(sizes[j]) // width), share=0.0)
        for i, j in itertools.combinations(range(len(sizes)), 2)
    ]


def larger(sizes: tuple[int, ...]) -> list[Block]:
    """Neighbouring columns, three in six cells of each and four in three."""
    sets = [tuple(range(i, i + k)) for k in (3, 4) for i in range(len(sizes) - k + 1)]
    cells = {3: 6, 4: 3}
    return [
        Counts(columns=s, groups=tuple(np.arange(sizes[i]) * cells[len(s)] // max(6, sizes[i]) for i in s), share=0.0)
        for s in sets
    ]


def totals(counts: ExactCounts) -> list[Any]:
    """Single columns, pairs atom by atom, pairs and larger sets in cells, products of scores, and of sides."""
    sizes = counts.sizes
    found: list[Any] = [counts._count, *(single.tolist() for single in counts._singles.values())]
    for width in (1, 3):
        found += [table.tolist() for table in counts._exact(pairs(counts.sizes, width))]
    return found + [table.tolist() for table in counts._exact([*larger(sizes), spread(sizes), *sides(sizes)])]


def spread(sizes: tuple[int, ...]) -> Spread:
    """The first five columns with some scores, of which some are beyond the limit and the clamp."""
    draw = np.random.default_rng(3)
    scores = [draw.integers(-40, 40, size) for size in sizes[:5]]
    for own in scores:
        own[-1] = 2**31
    return Spread(
        columns=tuple(range(len(scores))),
        groups=tuple(np.zeros(size, dtype=np.int64) for size in sizes[:5]),
        share=0.1,
        scores=tuple(scores),
        mixing=draw.integers(-9, 9, (len(scores), len(scores))),
        one=64,
        limit=500_000,
    )


def sides(sizes: tuple[int, ...]) -> list[Sides]:
    """All columns, where there are several, with some atoms on neither side."""
    if len(sizes) < 2:
        return []
    draw = np.random.default_rng(4)
    own = tuple(np.concatenate([[1, -1], draw.integers(-1, 2, size - 2)]) for size in sizes)
    groups = tuple(np.zeros(size, dtype=np.int64) for size in sizes)
    return [Sides(columns=tuple(range(len(sizes))), groups=groups, share=0.1, sides=own, ordered=(0,) * len(sizes))]


def released(counts: ExactCounts, schema: Schema) -> bytes:
    """What a release would hold of these counts, with noise that is the same each time."""
    method = Interactions(solver=MixtureSolver(components=5, steps=5))
    privacy = Privacy(epsilon=1.0, delta=1e-9, neighbours=Neighbours(schema.neighbours))
    budget = PrivacyFilter.open(
        privacy, ledger=MemoryLedger(privacy), subject=ROWS, coordinates=10**6, purpose="a test"
    )
    noisy = method.rounds(counts, schema.columns, budget, noise=SeededNoise(0), seed=PublicSeed(0))
    assert noisy.moments or not schema.finer
    return b"".join(block.values.tobytes() for block in noisy.every)


def generated(seed: int, rows: int) -> pa.Table:
    """Cells of every type: ordinary ones, those at edges, and those that the schema does not foresee."""
    draw = np.random.default_rng(seed)
    special = [*numbers(), float("inf"), float("-inf"), float("nan")]

    def column(kind: pa.DataType, cells: Any) -> pa.Array:
        picked = [cells[i] for i in draw.integers(0, len(cells), rows)]
        return pa.array([None if draw.random() < 0.1 else cell for cell in picked], kind)

    whole = [*range(10, 100), -(2**63), 2**63 - 1, 2**53 + 1]
    singles = [*np.clip(special, -3e38, 3e38).astype(np.float32).tolist(), 0.05, 0.15, 2.45, 2.55]
    days = [*draw.integers(-15_000, 21_000, 50).tolist(), -719_162, 2_932_896]
    micros = [1_704_067_200_000_000 + offset for offset in (-1, 0, 1, 3_599_999_999, 3_600_000_000, 10**13, 10**16)]
    return pa.table(
        {
            'the "age"': column(pa.int64(), whole),
            "weight": column(pa.int32(), [-1, 0, 23_437, 23_438, 1_500_000, 2**31 - 1]),
            "real": column(pa.float64(), special),
            "single": column(pa.float32(), singles),
            "label": column(pa.string(), [*LABELS, "B", "e\u0301", " a", "\N{SNOWMAN}"]),
            "digit": column(pa.int16(), range(-2, 12)),
            "grade": column(pa.string(), ["low", "middle", "high", "", "HIGH"]),
            "note; --": column(pa.string(), ["", "it hurts", "\n"]),
            "flag": column(pa.bool_(), [True, False]),
            "born": column(pa.int32(), days).cast(pa.date32()),
            "seen": column(pa.timestamp("us"), micros),
            "zoned": column(BERLIN, micros),
        }
    )


def in_postgresql(uri: str, table: pa.Table, name: str = "pushed") -> Source:
    with adbc_driver_postgresql.dbapi.connect(uri) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(name, table, mode="replace")
        connection.commit()
    return open_source(uri, query=name)


def in_duckdb(path: Path, table: pa.Table) -> Source:
    path.unlink(missing_ok=True)
    with duckdb.connect(path) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return open_source(path, query="people")


def check_same(source: Source, expected: ExactCounts, schema: Schema) -> None:
    assert supports(source, schema) is None
    counts = count_by_sql(source, schema)
    assert totals(counts) == totals(expected) == totals(in_memory(source, schema))
    if expected._count:
        assert released(counts, schema) == released(expected, schema)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), rows=st.integers(0, 400))
def test_duckdb_counts_what_the_stream_counts(tmp_path: Path, seed: int, rows: int) -> None:
    table = generated(seed, rows)
    expected = in_memory(open_source(table), SCHEMA)
    check_same(in_duckdb(tmp_path / "people.duckdb", table), expected, SCHEMA)
    check_same(open_source(duckdb.connect().from_arrow(table)), expected, SCHEMA)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), rows=st.integers(0, 400))
def test_postgresql_counts_what_the_stream_counts(postgres: str, seed: int, rows: int) -> None:
    table = generated(seed, rows)
    check_same(in_postgresql(postgres, table), in_memory(open_source(table), SCHEMA), SCHEMA)


@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
@pytest.mark.parametrize(("grids", "modulus"), [((), 100), ((1_000, 250, 5), 1), ((1_000,), 7)])
def test_combs_of_grids_and_endings_are_counted_as_numpy_does(
    grids: tuple[int, ...], modulus: int, engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Numbers below 0, beyond both ends, infinite, NaN and NULL among them."""
    columns = [
        Integer(name='the "age"', min=-(2**47), max=2**47 - 1, nullable=True),
        Integer(name="weight", min=-90_000, max=1_499_999, default=17),
        Number(name="real", min=-50.0, max=50.0, resolution=0.05, nullable=True),
        Number(name="single", min=-1.0, max=99.0, decimals=2, nullable=True),
    ]
    texture, stretches = Texture(first=(0, 7, 8, 1_000)), (1, 0, 2, 1)
    combs = [
        Comb(name=own.name, of=replace(own, texture=texture), grids=grids, modulus=modulus, stretches=stretches)
        for own in columns
    ]
    table, schema = generated(3, 2_000), Schema(columns=tuple(combs), neighbours="add-remove")
    if engine == "duckdb":
        source = in_duckdb(tmp_path / "people.duckdb", table)
    else:
        source = in_postgresql(request.getfixturevalue("postgres"), table, "combed")
    assert supports(source, schema) is None
    counts, codes = count_by_sql(source, schema), Encoder(schema).encode(table)
    for place, column in enumerate(schema):
        found = counts._singles[place,]
        assert np.array_equal(found, np.bincount(codes[:, place], minlength=column.size)), column.name
        assert np.count_nonzero(found) > 1


needs_adult = pytest.mark.skipif(not ADULT.exists(), reason="the Adult data are not in ../shared/data/adult")


@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
def test_sides_of_as_many_columns_as_there_can_be_fit(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    schema = Schema(tuple(Boolean(name=f"b{i}") for i in range(MOST_SIDES)))
    cells = np.random.default_rng(0).integers(0, 2, (MOST_SIDES, 100)).astype(bool)
    table = pa.table({f"b{i}": own for i, own in enumerate(cells)})
    source = (
        in_duckdb(tmp_path / "wide.duckdb", table)
        if engine == "duckdb"
        else in_postgresql(request.getfixturevalue("postgres"), table, "wide")
    )
    found, expected = (
        counts._exact(sides(counts.sizes))[0].tolist()
        for counts in (count_by_sql(source, schema), in_memory(open_source(table), schema))
    )
    assert found == expected
    signs = np.where(cells, -1, 1)
    assert found == [int(a @ b) for a, b in itertools.combinations(signs, 2)]


@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
def test_codes_of_forty_thousand_leaves_fit(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    values = tuple(f"{place // 200:03d}.{place % 200:03d}" for place in range(40_000))
    schema = Schema((Hierarchy(name="code", values=values, prefix=3, nullable=True), Boolean(name="flag")))
    draw = np.random.default_rng(0)
    code = [values[place] for place in [0, 32_767, 32_768, 39_999, *draw.integers(0, 40_000, 400)]]
    table = pa.table({"code": [*code, None, "?"], "flag": draw.random(406) < 0.5})
    if engine == "duckdb":
        source = in_duckdb(tmp_path / "codes.duckdb", table)
    else:
        source = in_postgresql(request.getfixturevalue("postgres"), table, "codes")
    counts, expected = count_by_sql(source, schema), in_memory(open_source(table), schema)
    assert counts._singles[0,].tolist() == expected._singles[0,].tolist()
    assert released(counts, schema) == released(expected, schema)


@needs_adult
def test_discretised_adult_has_the_same_counts_from_a_file_and_from_duckdb(tmp_path: Path) -> None:
    schema = Schema.load(ROOT / "examples" / "adult_discrete.toml")
    expected = in_memory(open_source(ADULT), schema)
    check_same(in_duckdb(tmp_path / "adult.duckdb", pyarrow.csv.read_csv(ADULT)), expected, schema)


@needs_adult
def test_discretised_adult_has_the_same_counts_from_a_file_and_from_postgresql(postgres: str) -> None:
    schema = Schema.load(ROOT / "examples" / "adult_discrete.toml")
    expected = in_memory(open_source(ADULT), schema)
    source = in_postgresql(postgres, pyarrow.csv.read_csv(ADULT), "adult")
    assert totals(count_by_sql(source, schema)) == totals(expected)


def small(*columns: Column, **options: Any) -> Schema:
    return Schema(columns or (Integer(name="a", min=0, max=9),), **options)


def test_a_single_column_is_counted() -> None:
    relation = duckdb.connect().sql("SELECT range % 12 AS a FROM range(100)")
    check_same(open_source(relation), in_memory(open_source(relation), small()), small())


def test_columns_are_taken_by_place_so_that_names_can_hide_nothing() -> None:
    relation = duckdb.connect().sql('SELECT 1 AS a, 2 AS "c0", 3 AS "a""b", 4 AS a1')
    schema = small(*(Integer(name=name, min=0, max=9) for name in ('a"b', "a1", "c0", "a")))
    check_same(open_source(relation), in_memory(open_source(relation), schema), schema)


def test_nothing_is_left_behind_in_the_owners_session() -> None:
    connection = duckdb.connect()
    before = "SELECT count(*) FROM duckdb_tables()", "SELECT count(*) FROM duckdb_views()"
    counted = [connection.execute(query).fetchall() for query in before]
    count_by_sql(open_source(connection.sql("SELECT 1 AS a")), small())
    assert [connection.execute(query).fetchall() for query in before] == counted


def test_a_random_query_is_run_once() -> None:
    columns = tuple(Integer(name=f"x{i}", min=0, max=99) for i in range(4))
    relation = duckdb.connect().sql(
        "SELECT " + ", ".join(f"random() * 100 AS x{i}" for i in range(4)) + " FROM range(500)"
    )
    counts = count_by_sql(open_source(relation), small(*columns))
    tables = counts._exact(pairs(counts.sizes, 1))
    margins = [table.sum(axis=1).tolist() for table in tables[:3]]  # of x0, with each of the others
    assert all(margin == margins[0] for margin in margins)


def test_a_random_query_is_run_once_by_postgresql(postgres: str) -> None:
    columns = tuple(Integer(name=f"x{i}", min=0, max=99) for i in range(3))
    query = "SELECT random() * 100 AS x0, random() * 100 AS x1, random() * 100 AS x2 FROM generate_series(1, 500)"
    counts = count_by_sql(open_source(postgres, query=query), small(*columns))
    first, second, _ = counts._exact(pairs(counts.sizes, 1))
    assert first.sum(axis=1).tolist() == second.sum(axis=1).tolist()


def test_the_cap_on_rows_of_a_person_is_not_pushed_down() -> None:
    source = open_source(duckdb.connect().sql("SELECT 1 AS a, 2 AS person"))
    reason = supports(source, small(unit="person", max_rows_per_unit=3))
    assert reason == "the cap on rows of each person needs a hash of encoded rows, which SQL does not have."


def test_other_sources_are_not_pushed_down() -> None:
    source = open_source(pa.table({"a": [1]}))
    reason = supports(source, small())
    assert reason == "Arrow stream of a pyarrow Table is not a table or query of DuckDB or PostgreSQL."
    with pytest.raises(SourceError, match="can't be counted by SQL: Arrow stream"):
        count_by_sql(source, small())


def test_a_missing_column_is_named() -> None:
    with pytest.raises(SchemaError, match="column 'a'"):
        supports(open_source(duckdb.connect().sql("SELECT 1 AS b")), small())


def test_a_type_that_is_not_certain_is_a_reason(postgres: str) -> None:
    assert supports(open_source(duckdb.connect().sql("SELECT [1] AS a")), small()) == (
        "column 'a': DuckDB's type INTEGER[] is not one that it can encode."
    )
    assert supports(open_source(postgres, query="SELECT '1'::text AS a"), small()) == (
        "column 'a': declared as integer, but text is text, and PostgreSQL can't try to read a number from it."
    )
    assert supports(open_source(postgres, query="SELECT '1'::money AS a"), small()) == (
        "column 'a': PostgreSQL's type 'money' (arriving as int64) is not one that it can encode."
    )


def test_the_labels_of_an_enumeration_are_not_in_the_reason() -> None:
    source = open_source(duckdb.connect().sql("SELECT 'secret'::ENUM('secret') AS a, ['secret'::ENUM('secret')] AS b"))
    day = datetime.date(2024, 1, 1)
    for name in ("a", "b"):
        reason = supports(source, small(Date(name=name, min=day, max=day.replace(year=2025))))
        assert reason is not None
        assert "ENUM" in reason
        assert "secret" not in reason


def test_a_type_with_a_borrowed_name_is_not_mistaken_for_it(postgres: str) -> None:
    with adbc_driver_postgresql.dbapi.connect(postgres, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA IF EXISTS other CASCADE")
        cursor.execute("CREATE SCHEMA other")
        cursor.execute("CREATE TYPE other.int4 AS ENUM ('7', '8')")
        cursor.execute("CREATE TYPE other.mark AS ENUM ('7', '8')")
        try:
            query = "SELECT '7'::other.int4 AS a, '8'::other.mark AS b"
            reason = supports(open_source(postgres, query=query), small())
            assert reason is not None
            assert "'int4' (arriving as" in reason
            schema = small(Category(name="b", values=("7", "8")))
            check_same(
                open_source(postgres, query=query), in_memory(open_source(postgres, query=query), schema), schema
            )
        finally:
            cursor.execute("DROP SCHEMA other CASCADE")


def test_another_encoding_is_a_reason(postgres: str) -> None:
    source = open_source(f"{postgres}?client_encoding=LATIN1", query="SELECT 1 AS a")
    reason = supports(source, small())
    assert reason == "the database's encoding is UTF8, and the connection's LATIN1; both must be UTF8."


@pytest.mark.parametrize("setting", ["standard_conforming_strings=off", "datestyle=German", "extra_float_digits=-15"])
def test_settings_of_the_session_change_nothing(postgres: str, setting: str) -> None:
    table = generated(seed=1, rows=300)
    in_postgresql(postgres, table)
    source = open_source(f"{postgres}?options=-c%20{setting.replace('=', '%3D')}", query="pushed")
    assert totals(count_by_sql(source, SCHEMA)) == totals(in_memory(open_source(table), SCHEMA))


def test_an_old_server_is_a_reason(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushdown, "_OLDEST_POSTGRESQL", 10**9)
    assert (
        supports(open_source(postgres, query="SELECT 1 AS a"), small()) == "the server must be PostgreSQL 12 or later."
    )


def test_a_query_that_fails_on_a_row_says_nothing_about_the_row(postgres: str) -> None:
    failing = "SELECT CAST('secret' || range AS INTEGER) AS a FROM range(3)"
    for source in (
        open_source(duckdb.connect().sql(failing)),
        open_source(postgres, query="SELECT ('secret' || x)::int AS a FROM generate_series(1, 3) AS s(x)"),
    ):
        with pytest.raises(SourceError, match="broke off") as caught:
            count_by_sql(source, small())
        assert "secret1" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_a_file_that_changed_is_not_counted(tmp_path: Path) -> None:
    source = in_duckdb(tmp_path / "people.duckdb", pa.table({"a": [1, 2]}))
    in_duckdb(tmp_path / "people.duckdb", pa.table({"a": [1, 2, 3]}))
    with pytest.raises(SourceError, match="changed while it was read"):
        count_by_sql(source, small())
