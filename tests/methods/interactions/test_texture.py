"""Texture of numbers: grids, spikes, ranges and tails survive a release, and every step can be taken again."""

import dataclasses
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.errors import ParameterError
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.looks import Laid, laid_columns
from kernelease.methods.interactions import texture
from kernelease.methods.interactions.texture import (
    COARSE,
    Runs,
    base_grid,
    equal_runs,
    expected_classes,
    grids_of,
    lay,
    mixture_of,
    modulus_of,
    on_purpose,
    progressions_of,
)
from kernelease.methods.retracing import retrace
from kernelease.privacy.sensitivity import block_sensitivity
from kernelease.sources.private_rows import private_table
from kernelease.table.columns.cells import Comb, LaidLevels, Texture
from kernelease.table.columns.numbers import FEW, Integer, Number, on_grid, to_ticks
from kernelease.table.encode import Encoder
from kernelease.table.schema import Schema

SCHEMA = """
[table]
neighbours = "add-remove"
[columns.balance]
type = "integer"
min = -10000
max = 1000000
[columns.price]
type = "number"
min = 0
max = 1000
decimals = 2
[columns.size]
type = "number"
min = 0
max = 50
nullable = true
[columns.year]
type = "integer"
min = 1800
max = 2100
[columns.kind]
type = "category"
values = ["a", "b", "c"]
"""
ROWS = 20_000


def _table(rows: int = ROWS, seed: int = 0) -> pa.Table:
    """A spike at 0 under a range 500 times too wide, prices in quarters, sizes in hundredths, nine years."""
    g = np.random.default_rng(seed)
    balance = np.where(g.random(rows) < 0.08, 0, np.round(g.normal(800, 300, rows))).astype(np.int64)
    size = np.where(g.random(rows) < 0.1, np.nan, np.round(g.gamma(20.0, 0.3, rows), 2))
    return pa.table(
        {
            "balance": balance,
            "price": np.round(g.gamma(4.0, 20.0, rows) / 4.0, 0) * 0.25,
            "size": pa.array(size, from_pandas=True),
            "year": g.integers(2008, 2017, rows),
            "kind": g.choice(["a", "b", "c"], rows),
        }
    )


@pytest.fixture(scope="module")
def released() -> ke.Release:
    """A release of such a table at epsilon 2."""
    method = ke.Interactions(solver=ke.Interactions().solver.quick())
    noise = ke.SeededNoise(2)
    return ke.release(_table(), schema=Schema.parse(SCHEMA), privacy=(2.0, 1e-9), noise=noise, method=method)


def _laid(release: ke.Release) -> dict[str, Laid]:
    measured = release.measurements.measured
    assert isinstance(measured, NoisyBlocks)
    names = Schema.parse(SCHEMA).names
    return {names[one.column]: one for one in measured.laid}


def _numbers(release: ke.Release, name: str) -> np.ndarray:
    return np.array([x for x in release.rows.column(name).to_pylist() if x is not None], dtype=np.float64)


def test_spikes_grids_and_ranges_are_those_of_the_rows(released: ke.Release) -> None:
    balance, price, size, year = (_numbers(released, name) for name in ("balance", "price", "size", "year"))
    assert abs(float(np.mean(balance == 0)) - 0.08) < 0.012
    assert abs(float(balance.mean()) - 735) < 40
    assert float(np.quantile(balance, 0.99)) < 2_000
    assert np.array_equal(np.round(price * 4), price * 4)
    assert np.allclose(np.round(size * 100), size * 100)
    assert len(np.unique(year)) <= 18
    laid = _laid(released)
    assert (laid["price"].numerator, laid["price"].denominator) == (1, 4)
    assert (laid["size"].numerator, laid["size"].denominator) == (1, 100)


def test_a_spike_is_a_cell_of_its_own_and_answers_know_it(released: ke.Release) -> None:
    column = released.measurements.laid_domain.schema.column("balance")  # type: ignore[union-attr]
    assert "0" in column.labels()
    share = released.ask.probability("balance == 0")
    assert share.standard_error < 0.004
    assert abs(share.value - 0.08) < 5 * share.standard_error + 0.003


def test_the_declared_schema_stays_as_it_was(released: ke.Release) -> None:
    assert released.schema == Schema.parse(SCHEMA)
    assert all(getattr(column, "texture", None) is None for column in Schema.parse(SCHEMA))


def test_a_bundle_holds_the_looks_and_all_steps_can_be_taken_again(released: ke.Release, tmp_path: Path) -> None:
    path = released.save(tmp_path / "bundle")
    assert ke.load(path).measurements.laid_domain.schema == released.measurements.laid_domain.schema
    findings = ke.verify(path, refit=True)
    seeded = [one for one in findings if not one.holds]
    assert all("seed" in one.detail for one in seeded), [one.detail for one in seeded]
    assert {"refit", "steps"} <= {one.check for one in findings if one.holds}


def test_looks_cost_what_is_stated_and_the_whole_is_the_budget(released: ke.Release) -> None:
    measured = released.measurements.measured
    assert isinstance(measured, NoisyBlocks)
    total = released.certificate.promised.mu_squared
    spent = [one.measurement.step.loss.mu_squared for one in measured.looks]
    assert math.isclose(sum(spent) / total, sum(one.look.share for one in measured.looks), rel_tol=1e-6)
    assert 0.0 < sum(spent) / total <= texture.share(Schema.parse(SCHEMA).columns) * (1 + 1e-9)
    whole = sum(step.loss.mu_squared for step in measured.steps)
    assert 0.99 * total < whole <= total * (1 + 1e-9)


def test_a_forged_layout_is_found(released: ke.Release) -> None:
    measured = released.measurements.measured
    assert isinstance(measured, NoisyBlocks)
    domain = released.measurements.domain
    measured.check(domain)
    first, *others = measured.laid
    moved = dataclasses.replace(first, first=np.append(first.first[:-1], first.first[-1] + 1))
    again, _ = _retraced(released)
    assert again.laid[0].first.tolist() == first.first.tolist() != moved.first.tolist()
    with pytest.raises(ParameterError, match="laid twice"):
        laid_columns(domain.schema.columns, (first, first))  # type: ignore[union-attr]
    beyond = dataclasses.replace(first, first=np.append(first.first, 2**40))
    with pytest.raises(ParameterError, match="beyond its legal values"):
        dataclasses.replace(measured, laid=(beyond, *others)).check(domain)
    foreign = dataclasses.replace(first, column=4)
    with pytest.raises(ParameterError, match="should not have been"):
        dataclasses.replace(measured, laid=(foreign,)).check(domain)


def _retraced(release: ke.Release) -> tuple[Any, Any]:
    made = release.measurements
    stated = made.certificate
    privacy = ke.Privacy(epsilon=stated.epsilon, delta=stated.delta, neighbours=stated.neighbours)
    return retrace(made.method, made.measured, domain=made.domain, privacy=privacy, seed=ke.PublicSeed(stated.seed))


def test_two_releases_are_compared_in_the_cells_of_both_layouts(released: ke.Release) -> None:
    method = ke.Interactions(solver=ke.Interactions().solver.quick())
    schema, noise = Schema.parse(SCHEMA), ke.SeededNoise(2)
    same = ke.release(_table(seed=5), schema=schema, privacy=(2.0, 1e-9), noise=noise, method=method)
    assert released.measurements.laid_domain.schema != same.measurements.laid_domain.schema
    assert released.tests.two_sample(same, draws=200).p_value > 0.001
    shifted = _table(seed=6).set_column(0, "balance", pa.array(_table(seed=6)["balance"].to_numpy() + 5_000))
    other = ke.release(shifted, schema=schema, privacy=(2.0, 1e-9), noise=noise, method=method)
    assert released.tests.two_sample(other, draws=200).p_value < 0.05


# --------------------
# The same counts on every engine, and for persons.


def _look_columns(schema: Schema, kind: int = 0) -> Schema:
    """Laid cells, combs of grids, of endings and of both, one of them for every column that is laid."""
    columns: list[Any] = []
    for place, column in enumerate(schema, start=kind):
        own = to_ticks(column)
        if own is None:
            continue
        first = tuple(sorted({0, 1, 7, *range(0, own.levels.number, max(1, own.levels.number // 40))}))
        laid = dataclasses.replace(own, texture=Texture(first=first))
        stretches = tuple(0 if cell % 5 == 1 else 1 + cell % 3 for cell in range(len(first)))
        grids, modulus = (grids_of(own) or (2,), ())[place % 2], (1, 100, 7)[place % 3]
        comb = Comb(name=column.name, of=laid, grids=grids, modulus=modulus, stretches=stretches)
        columns.append(comb if place % 4 else laid)
    return dataclasses.replace(schema, columns=tuple(columns), derived=(), order=(), constraints=())


def _odd_rows() -> pa.Table:
    """Numbers below 0, at and beyond both ends, infinite and missing ones."""
    odd = [-math.inf, -1e300, -12_345.678, -0.0, 0.005, 17.995, 999.99, 1_000.0, 1e300, math.inf, math.nan, None]
    balance = [-(2**53), -10_001, -10_000, -9_999, -101, -100, -99, -1, 0, 1_000_000, 2**53, None]
    kind = ["a"] * len(odd)
    return pa.table({"balance": balance, "price": odd, "size": odd, "year": [2010] * len(odd), "kind": kind})


@pytest.mark.parametrize("kind", [1, 2, 6])
def test_looks_are_the_same_by_streaming_and_by_sql(kind: int, tmp_path: Path) -> None:
    schema, table = Schema.parse(SCHEMA), pa.concat_tables([_table(3_000), _odd_rows()])
    looks = _look_columns(schema, kind)
    connection = duckdb.connect(str(tmp_path / "rows.db"))
    connection.register("given", table)
    connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    streamed = private_table(table, schema, seed=ke.PublicSeed(0)).counts().again(looks)
    by_sql = private_table(connection.sql("SELECT * FROM rows"), schema, seed=ke.PublicSeed(0), push_down=True)
    counted = by_sql.counts().again(looks)
    codes = Encoder(looks).encode(table)
    for place, column in enumerate(looks):
        want = np.bincount(codes[:, place], minlength=column.size)
        assert np.array_equal(streamed._singles[place,], want)
        assert np.array_equal(counted._singles[place,], want)


@pytest.mark.parametrize("seed", range(3))
def test_one_person_moves_a_look_by_no_more_than_is_charged(seed: int) -> None:
    """A look of neighbouring tables: the L2 distance of exact counts is at most the sensitivity that is charged."""
    people = """unit = "person"\nmax_rows_per_unit = 3\nneighbours = "add-remove"\n"""
    schema = Schema.parse(SCHEMA.replace('neighbours = "add-remove"\n', people))
    table = _table(300, seed).append_column("person", pa.array(np.random.default_rng(seed).integers(0, 90, 300)))
    without = table.filter(pa.array(table["person"].to_numpy() != 7))
    looks = _look_columns(schema, kind=seed + 1)
    one, other = (private_table(rows, schema, seed=ke.PublicSeed(0)).counts().again(looks) for rows in (table, without))
    least = block_sensitivity(ke.Neighbours.ADD_REMOVE, unit=one.unit).l2
    for place in range(len(looks)):
        moved = (one._singles[place,] - other._singles[place,]).astype(np.float64)
        assert 0.0 < np.linalg.norm(moved) <= least


# --------------------
# The parts.


def test_only_long_numbers_without_declared_cells_are_laid() -> None:
    assert to_ticks(Integer(name="x", min=0, max=127)) is None
    assert to_ticks(Integer(name="x", min=0, max=200)) is not None
    assert to_ticks(Integer(name="x", min=0, max=10_000, cells=50)) is None
    assert to_ticks(Number(name="x", min=0.0, max=1e100)) is None
    assert to_ticks(Number(name="x", min=1e12, max=1e12 + 1)) is None
    own = to_ticks(Number(name="x", min=0.123456789, max=1.0))
    assert own is not None
    assert own.min >= 0.123456789  # no value is made that is not declared


@pytest.mark.parametrize("grid", [25, 10, 100, 1])
def test_the_grid_of_all_rows_is_found(grid: int) -> None:
    column = Integer(name="x", min=0, max=100_000)
    grids = grids_of(column)
    values = grid * np.random.default_rng(grid).integers(0, 90_000 // grid, 10_000)
    comb = Comb(name="x", of=dataclasses.replace(column, texture=Texture(first=(0,))), grids=grids, stretches=(1,))
    counts = np.bincount(comb.encode(pa.array(values)), minlength=comb.size)[1:].astype(np.float64)
    noisy = counts + np.random.default_rng(0).normal(0.0, 50.0, len(counts))
    assert base_grid(noisy, 50.0, grids) == grid
    if grid == 1:
        every = progressions_of(grids, 1)
        assert on_purpose(noisy / 50.0, expected_classes(grids, 1, every) / 50.0) == [len(grids)]


def test_few_rows_off_a_grid_leave_it_and_many_do_not() -> None:
    grids = (100, 50, 25, 10, 5)
    on = np.array([2_500.0, 2_500.0, 5_000.0, 0.0, 0.0, 0.0])
    assert base_grid(on + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 40.0]), 10.0, grids) == 25
    assert base_grid(on + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 900.0]), 10.0, grids) == 1
    assert base_grid(on, 5_000.0, grids) == 1  # noise says nothing


def test_shares_on_grids_are_measured_and_drawn() -> None:
    g = np.random.default_rng(3)
    column = Integer(name="x", min=0, max=100_000)
    grids, values = grids_of(column), g.integers(0, 100_000, 50_000)
    values = np.where(g.random(50_000) < 0.6, values // 1000 * 1000, values)
    whole = dataclasses.replace(column, texture=Texture(first=(0,)))
    comb = Comb(name="x", of=whole, grids=grids, stretches=(1,))
    counts = np.bincount(comb.encode(pa.array(values)), minlength=comb.size)[1:].astype(np.float64)
    seen = (counts + g.normal(0.0, 60.0, len(counts))) / 60.0
    table = expected_classes(grids, 1, progressions_of(grids, 1)) / 60.0
    kept = on_purpose(seen, table)
    assert kept == [grids.index(1000), len(grids)]
    parts = mixture_of(seen, table, kept)[kept] / 50_000
    assert abs(parts[0] - 0.6) < 0.03
    levels = LaidLevels(100_001, tuple(range(0, 100_001, 700)))
    rows = np.histogram(values, [*levels.first, 100_001])[0] / 50_000
    laid = _with_shares(column, parts[None], levels, rows, ((1000, 0),))
    drawn = np.asarray(laid.decode(g.choice(levels.cells, 50_000, p=rows), g))
    assert abs(float(np.mean(drawn % 1000 == 0)) - float(np.mean(values % 1000 == 0))) < 0.02


def _with_shares(
    column: Integer, parts: np.ndarray, levels: LaidLevels, rows: np.ndarray, progressions: texture.Steps
) -> Integer:
    """The column with shares of each cell on progressions, in one stretch of all cells of several values."""
    stretches = (np.diff([*levels.first, levels.number]) > 1).astype(np.int64)
    shares = texture.shares_in_cells(
        parts, stretches, rows, levels=levels, phase=column.phase, progressions=progressions
    )
    own = tuple(map(tuple, shares.tolist()))
    return dataclasses.replace(column, texture=Texture(first=levels.first, progressions=progressions, shares=own))


def test_remainders_are_those_of_floored_division_up_to_the_largest_numbers() -> None:
    low, high = -(2**47), 2**47 - 1
    column = Integer(name="x", min=low, max=high, nullable=True)
    whole = dataclasses.replace(column, texture=Texture(first=(0,)))
    comb = Comb(name="x", of=whole, grids=(1000,), modulus=100, stretches=(1,))
    values = [low, low + 1, -2_000, -101, -1, 0, 99, 12_000, high - 1, high]
    want = [1 if value % 1000 == 0 else 2 + value % 100 for value in values]
    assert comb.encode(pa.array(values)).tolist() == want
    assert comb.encode(pa.array([-math.inf, math.inf, math.nan, None])).tolist() == [want[0], want[-1], 102, 102]
    assert comb.size == 1 + 1 + 100 + 1 == len(comb.labels())
    number = Number(name="x", min=-50.0, max=50.0, resolution=0.25)
    ends = Comb(name="x", of=number, grids=(), modulus=4, stretches=(1,) * number.cell_count)
    assert ends.encode(pa.array([-0.25, -50.0, 0.75, 3.8, 99.0])).tolist() == [4, 1, 4, 4, 1]


def test_a_modulus_is_a_power_of_ten_that_the_column_can_tell() -> None:
    assert modulus_of(Integer(name="x", min=0, max=100_000)) == 100
    assert modulus_of(Integer(name="x", min=0, max=1_000)) == 10  # of 100 there would be ten periods
    assert modulus_of(Integer(name="x", min=0, max=100_000), within=texture.PERIODS * 9) == 1
    assert modulus_of(Integer(name="x", min=0, max=100_000, resolution=25)) == 40  # thousands
    assert modulus_of(Number(name="x", min=0.0, max=1_000.0, resolution=0.05)) == 20  # of 1
    assert modulus_of(Integer(name="x", min=0, max=100_000, resolution=3)) == 1


ENDINGS = {"99 and 95": {(100, 99): 0.6, (100, 95): 0.15}, "nines": {(10, 9): 0.5}, "fives": {(5, 0): 0.4}, "none": {}}


@pytest.mark.parametrize("name", ENDINGS)
def test_endings_are_told_and_a_grid_explains_what_many_remainders_would(name: str) -> None:
    """Two combs of 20,000 values: which progressions they lie on on purpose, and how many of them."""
    g, sigma, wanted = np.random.default_rng(7), 60.0, ENDINGS[name]
    column = Integer(name="x", min=0, max=100_000)
    values, u, below = g.integers(0, 90_000, 20_000), g.random(20_000), 0.0
    for (step, rest), part in wanted.items():
        values = np.where((u >= below) & (u < below + part), values // step * step + rest, values)
        below += part
    whole, grids = dataclasses.replace(column, texture=Texture(first=(0,))), grids_of(column)
    every = progressions_of(grids, 100)
    seen, tables = [], []
    for own, modulus in ((grids, 1), ((), 100)):
        comb = Comb(name="x", of=whole, grids=own, modulus=modulus, stretches=(1,))
        counts = np.bincount(comb.encode(pa.array(values)), minlength=comb.size)[1:].astype(np.float64)
        seen.append((counts + g.normal(0.0, sigma, len(counts))) / sigma)
        tables.append(expected_classes(own, modulus, every) / sigma)
    kept = on_purpose(np.hstack(seen), np.vstack(tables))
    assert {every[place] for place in kept[:-1]} == set(wanted)
    parts = mixture_of(np.hstack(seen), np.vstack(tables), kept)[kept] / 20_000
    told = {every[place]: part for place, part in zip(kept[:-1], parts, strict=False)}
    assert all(abs(told[one] - part) < 0.04 for one, part in wanted.items())


def test_values_that_are_cells_alone_are_no_part_of_what_others_are_drawn_on() -> None:
    """Of twenty prices that end in 99 the ten lowest are spikes; cells that hold the others get as many as they had."""
    g = np.random.default_rng(8)
    column = Integer(name="x", min=0, max=1_999)
    values = g.integers(0, 2_000, 40_000)
    values = np.where(g.random(40_000) < 0.6, values // 100 * 100 + 99, values)
    first = sorted({*range(0, 2_000, 25), *(k * 100 + 99 for k in range(10))})
    levels = LaidLevels(2_000, tuple(first))
    rows = np.histogram(values, [*first, 2_000])[0].astype(np.float64)
    between = values[(np.diff([*first, 2_000]) > 1)[np.searchsorted(first, values, side="right") - 1]]
    part = float(np.mean(between % 100 == 99))
    laid = _with_shares(column, np.array([[part, 1.0 - part]]), levels, rows, ((100, 99),))
    drawn = np.asarray(laid.decode(g.choice(levels.cells, 40_000, p=rows / rows.sum()), g))
    assert abs(float(np.mean(drawn % 100 == 99)) - float(np.mean(values % 100 == 99))) < 0.02
    assert drawn.min() >= 0
    assert drawn.max() <= 1_999


@pytest.mark.parametrize("cells", [1, 2, 8, 30])
def test_shares_of_few_cells_are_those_of_their_stretch(cells: int) -> None:
    levels = LaidLevels(100 * cells, tuple(range(0, 100 * cells, 100)))
    parts = np.array([[0.6, 0.4]])
    laid = _with_shares(Integer(name="x", min=0, max=100 * cells - 1), parts, levels, np.ones(cells), ((100, 7),))
    assert laid.texture is not None
    assert np.allclose(laid.texture.shares, 0.6, atol=2e-4)


def test_values_are_drawn_on_progressions_below_zero_and_at_the_largest_numbers() -> None:
    for low, high in ((-1_000, 999), (-(2**47), -(2**47) + 1_999), (2**47 - 2_000, 2**47 - 1)):
        column = Integer(name="x", min=low, max=high)
        texture_of = Texture(first=(0, 5), progressions=((100, 37),), shares=((1.0,), (1.0,)))
        laid = dataclasses.replace(column, texture=texture_of)
        drawn = np.asarray(laid.decode(np.ones(500, dtype=np.int32), np.random.default_rng(0)))
        assert set(drawn % 100) == {37}
        assert drawn.min() >= low + 5
        assert drawn.max() <= high
        alone = np.asarray(laid.decode(np.zeros(500, dtype=np.int32), np.random.default_rng(0)))
        assert set(alone) <= set(range(low, low + 5))  # where a cell has no such value, one of its own


PRICES = """
[table]
neighbours = "add-remove"
[columns.price]
type = "number"
min = 0
max = 2000
decimals = 2
[columns.change]
type = "integer"
min = -50000
max = 50000
"""


def test_released_numbers_end_as_private_ones_do(tmp_path: Path) -> None:
    g, rows = np.random.default_rng(0), 20_000
    price, u = np.exp(g.normal(3.5, 0.9, rows)), g.random(rows)
    price = np.where(u < 0.6, np.floor(price) + 0.99, np.where(u < 0.75, np.floor(price) + 0.95, np.round(price, 2)))
    change = np.where(g.random(rows) < 0.4, g.integers(-300, 300, rows) * 100 + 37, g.integers(-30_000, 30_000, rows))
    table = pa.table({"price": np.round(price, 2), "change": change})
    made = ke.release(table, schema=Schema.parse(PRICES), privacy=(1.0, 1e-9), noise=ke.SeededNoise(2))
    cents, real = (np.round(one["price"].to_numpy() * 100).astype(np.int64) % 100 for one in (made.rows, table))
    for ending in (99, 95):
        assert abs(float(np.mean(cents == ending)) - float(np.mean(real == ending))) < 0.05
    assert abs(float(np.mean(made.rows["change"].to_numpy() % 100 == 37)) - 0.4) < 0.05
    assert sorted(one.look.modulus for one in made.measurements.measured.looks if one.look.modulus > 1) == [100, 100]
    findings = ke.verify(made.save(tmp_path / "bundle"), refit=True)
    assert all("seed" in one.detail for one in findings if not one.holds), findings


@pytest.mark.parametrize("number", [FEW + 1, 5_000, 2**20, 2**48])
def test_zooms_reach_single_values_and_stay_within_the_reserve(number: int) -> None:
    column = (
        Integer(name="x", min=0, max=number - 1) if number < 2**40 else Integer(name="x", min=-(2**47), max=2**47 - 1)
    )
    spike, sigma = number // 3, 10.0
    first = equal_runs(number)
    runs: Runs | None = None
    for _ in range(texture.zooms(column)):
        assert len(first) <= texture.MOST_CELLS
        counts = np.zeros(len(first))
        counts[np.searchsorted(first, spike, side="right") - 1] = 1_000.0
        runs = Runs.of(number, first, counts, sigma) if runs is None else runs.refine(first, counts, sigma)
        first = runs.cut_heavy(sigma)
    assert runs is not None
    laid = lay(runs)
    place = int(np.searchsorted(laid, spike, side="right")) - 1
    assert laid[place : place + 2].tolist() == [spike, spike + 1]
    assert len(laid) <= texture.MOST_LAID


def test_where_nothing_is_seen_cells_are_equal_and_few() -> None:
    """None of 256 cells stands out: 32 of them hold eight times as many rows each. Both ends stay points."""
    runs = Runs.of(5_000, equal_runs(5_000), np.zeros(256), 100.0)
    even = [5_000 * part // COARSE for part in range(COARSE)]
    assert lay(runs).tolist() == sorted({*even, 1, 4_999})


def test_where_every_value_stands_out_cells_widen_and_none_holds_the_rest() -> None:
    """A million rows on 2,000 values, of which each is heavy: 640 cells can't be one for each of the lowest."""
    number, sigma = 100_000, 30.0
    first = np.array([*range(2_000), *range(2_000, number, 500)], dtype=np.int64)
    counts = np.where(first < 2_000, 500.0, 0.0)
    laid = lay(Runs.of(number, first, counts, sigma))
    assert len(laid) <= texture.MOST_LAID
    rows = np.bincount(np.searchsorted(laid, first, side="right") - 1, counts)
    assert rows.max() <= 0.02 * rows.sum()


def test_a_grid_beyond_the_range_is_none() -> None:
    assert on_grid(Integer(name="x", min=1, max=9), Fraction(10)) is None


def test_textures_that_contradict_themselves_are_refused() -> None:
    for wrong in (
        {"first": ()},
        {"first": (1, 2)},
        {"first": (0, 5, 5)},
        {"first": (0,), "progressions": ((1, 0),), "shares": ((0.5,),)},
        {"first": (0,), "progressions": ((5, 5),), "shares": ((0.5,),)},
        {"first": (0,), "progressions": ((5, -1),), "shares": ((0.5,),)},
        {"first": (0,), "progressions": ((5, 0),), "shares": ()},
        {"first": (0,), "progressions": ((5, 0),), "shares": ((1.5,),)},
    ):
        with pytest.raises(ParameterError, match="Texture"):
            Texture(**wrong)  # type: ignore[arg-type]


def test_a_number_that_others_make_null_is_looked_at_alone() -> None:
    """The condition names a column that is not looked at: it is for released rows, and no part of a look."""
    text = SCHEMA.replace("nullable = true", "nullable = true\nnull_when = \"kind == 'b'\"")
    made = ke.release(_table(4_000), schema=ke.Schema.parse(text), privacy=(1.0, 1e-6), noise=ke.SeededNoise(3))
    sizes = made.to_pandas().groupby("kind", observed=True)["size"].count()
    assert sizes["b"] == 0 < sizes["a"]
