"""Maps between columns, and combinations that never occur, as noisy counts of pairs show them."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.fit.mixtures.draw import sharpen
from kernelease.fit.mixtures.maps import (
    LONG,
    Compounds,
    Maps,
    Pair,
    PartMap,
    closer_look,
    compounds_of,
    maps_of,
    most_closer_numbers,
    separate,
)
from kernelease.fit.mixtures.mixture import Mixture, MixtureSolver
from kernelease.fit.mixtures.objective import Objective
from kernelease.fit.mixtures.one_way import OneWay
from kernelease.fit.solver import Outcome
from kernelease.measured.blocks import NoisyBlocks
from kernelease.seeds import PublicSeed
from kernelease.table.schema import Schema
from tests.fit.tables import noisy_blocks


def _pair(
    counts: Any, sigma: float, columns: tuple[int, int] = (0, 1), groups: tuple[np.ndarray, np.ndarray] | None = None
) -> Pair:
    table = np.asarray(counts, dtype=np.float64)
    cells = groups or (np.arange(table.shape[0]), np.arange(table.shape[1]))
    return Pair(columns=columns, groups=cells, counts=table, alone=(table.sum(axis=1), table.sum(axis=0)), sigma=sigma)


def _map(values: int, others: int, rows: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Counts of a map, and the map."""
    g = np.random.default_rng(seed)
    onto = np.concatenate([np.arange(others), g.integers(0, others, values - others)])
    counts = np.zeros((values, others))
    counts[np.arange(values), onto] = rows / values
    return counts, onto


def test_a_map_is_found_one_way_and_not_the_other() -> None:
    counts, onto = _map(20, 4, 20_000.0)
    pair = _pair(counts + np.random.default_rng(1).normal(0.0, 20.0, counts.shape), 20.0)
    assert pair.off_map() is not None
    assert pair.map.tolist() == onto.tolist()
    assert pair.reverse.off_map() is None


@pytest.mark.parametrize("off", [0.03, 0.2])
def test_what_is_no_map_is_none(off: float) -> None:
    counts, _ = _map(20, 4, 20_000.0)
    assert _pair((1.0 - off) * counts + off * counts.mean(axis=1, keepdims=True), 1.0).off_map() is None


def test_a_column_that_hardly_varies_is_not_read_off_another() -> None:
    counts = np.repeat([[990.0, 10.0]], 20, axis=0)
    assert _pair(counts, 1.0).off_map() is None


def test_noise_that_hides_a_map_makes_none() -> None:
    counts, _ = _map(20, 4, 2_000.0)
    assert _pair(counts, 100.0).off_map() is None


def test_rows_keep_to_maps_and_to_chains_in_their_order() -> None:
    first, onto = _map(12, 4, 12_000.0)
    second, again = _map(4, 2, 12_000.0, seed=3)
    maps = Maps(maps=(_pair(first, 1.0), _pair(second, 1.0, (1, 2))), parted=())
    rows = np.random.default_rng(0).integers(0, 2, (3, 500)) + np.array([[4], [0], [0]])
    made = maps.apply(rows, np.random.default_rng(0))
    assert np.array_equal(made[0], rows[0])
    assert np.array_equal(made[1], onto[rows[0]])
    assert np.array_equal(made[2], again[onto[rows[0]]])


def test_combinations_that_never_occur_are_parted_and_others_stay() -> None:
    counts = np.array([[8_000.0, 0.0, 0.0], [0.0, 1_500.0, 500.0]])
    pair = _pair(counts, 10.0)
    assert pair.never.tolist() == [[False, True, True], [True, False, False]]
    g = np.random.default_rng(0)
    rows = np.stack([np.repeat([0, 1], 5_000), g.integers(0, 3, 10_000)])
    made = Maps(maps=(), parted=(pair,)).apply(rows, g)
    assert (made[1, :5_000] == 0).all()
    assert (made[1, 5_000:] != 0).all()
    kept = (rows[0] == 1) & (rows[1] != 0)
    assert np.array_equal(made[1, kept], rows[1, kept])


def test_what_noise_may_hide_is_not_taken_as_never() -> None:
    assert not _pair([[80.0, 0.0], [0.0, 20.0]], 10.0).never.any()


def test_a_count_that_noise_does_not_explain_is_one_of_rows_however_few() -> None:
    """Of 4,000 rows 130 have the second value, where independent columns would have 2,000, and noise is 50."""
    assert not _pair([[3870.0, 130.0], [130.0, 3870.0]], 50.0).never.any()
    assert _pair([[3930.0, 70.0], [70.0, 3930.0]], 50.0).never.tolist() == [[False, True], [True, False]]


def test_long_columns_of_as_many_values_are_looked_at_closer_and_read_off() -> None:
    g = np.random.default_rng(5)
    size, rows = 2 * LONG, 40_000
    code = g.integers(0, size, rows)
    label = g.permutation(size)[code]
    table = pa.table({"code": code, "label": label, "other": g.integers(0, 3, rows)})
    text = "".join(
        f'[columns.{name}]\ntype = "category"\nvalues = {list(range(count))}\n'
        for name, count in (("code", size), ("label", size), ("other", 3))
    )
    schema = Schema.parse('[table]\nneighbours = "add-remove"\n' + text)
    method = ke.Interactions(solver=ke.Interactions().solver.quick())
    made = ke.release(table, schema=schema, privacy=(2.0, 1e-9), noise=ke.SeededNoise(1), method=method)
    measured = made.measurements.measured
    assert isinstance(measured, NoisyBlocks)
    assert any(one.block.shape == (size, size) for one in measured.blocks)
    assert closer_look(measured) is None  # it was looked at
    assert [pair.columns for pair in maps_of(measured).maps] in ([(0, 1)], [(1, 0)])
    known = dict(zip(code.tolist(), label.tolist(), strict=True))
    pairs = zip(made.rows["code"].to_pylist(), made.rows["label"].to_pylist(), strict=True)
    assert np.mean([known[a] == b for a, b in pairs]) > 0.995


def test_closer_looks_are_bounded_before_anything_is_counted() -> None:
    assert most_closer_numbers((300, 300, 10)) == 90_000
    assert most_closer_numbers((4_000, 4_000)) == 0
    assert most_closer_numbers((36, 44, 2)) == 36 * 44


def test_short_columns_that_go_one_to_one_are_looked_at_closer_where_their_map_can_be_seen() -> None:
    shares = np.sort(np.random.default_rng(2).dirichlet(np.ones(24)))[::-1]
    merged = np.minimum(np.arange(24), 4)  # four values stand out, and all others are one cell
    counts = np.zeros((5, 5))
    np.add.at(counts, (merged, merged), 15_000.0 * shares)
    assert _pair(counts, 100.0, groups=(merged, merged)).may_be_map()
    loose = counts + 0.2 * (counts.sum() / 25 - counts)
    assert not _pair(loose, 100.0, groups=(merged, merged)).may_be_map()
    assert not _pair(counts, 4_000.0, groups=(merged, merged)).may_be_map()  # no value stands out of that


# --------------------
# Compounds: columns that are determined, as one with the column that tells them.


def _one_way(shares: Any, variance: float = 1e-6) -> OneWay:
    own = np.asarray(shares, dtype=np.float64)
    return OneWay(shares=own, variance=variance, distribution=own / own.sum())


def _compounds(loose: float = 0.0) -> tuple[Compounds, list[OneWay], np.ndarray]:
    """A map of 12 values to 4 and a column beside it; `loose` of the rows of the first of the 4 are of the last."""
    counts, onto = _map(12, 4, 12_000.0)
    shares = counts.sum(axis=0) / counts.sum()
    moved = shares + loose * np.array([-1.0, 0.0, 0.0, 1.0])
    columns = [_one_way(np.full(12, 1 / 12)), _one_way([0.5, 0.5]), _one_way(moved)]
    return Compounds.of((12, 2, 4), [_pair(counts, 1.0, (0, 2))], columns), columns, onto


def test_a_column_that_is_told_becomes_one_with_the_column_that_tells_it() -> None:
    compounds, columns, onto = _compounds()
    assert compounds.any
    assert (compounds.own, compounds.sizes, compounds.origins) == ((0, 1), (12, 2), (0, 1, 0))
    assert [compounds.is_told(column) for column in range(3)] == [False, False, True]
    rows = np.random.default_rng(0).integers(0, 2, (2, 100))
    made = compounds.read_off(rows, {}, np.random.default_rng(0))
    assert np.array_equal(made[:2], rows)
    assert np.array_equal(made[2], onto[rows[0]])
    assert compounds.together((0, 2))
    assert not compounds.together((1, 2))
    pair = compounds.pair(_pair(np.ones((4, 2)), 1.0, (2, 1)))
    assert pair.columns == (0, 1)
    assert np.array_equal(pair.groups[0], onto)
    assert len(compounds.one_ways(columns)) == 2


def test_a_value_that_none_leads_to_is_an_atom_beside_the_one_it_is_seen_with() -> None:
    counts = np.zeros((6, 3))
    counts[:, 0] = 1_000.0
    counts[3:, :2] = counts[3:, 1::-1]
    counts[4, 2] = 30.0
    columns = [_one_way(np.full(6, 1 / 6), 1e-4), _one_way([0.495, 0.495, 0.01], 1e-4)]
    compounds = Compounds.of((6, 3), [_pair(counts, 1.0)], columns)
    assert compounds.sizes == (7,)
    assert (compounds.atoms[0][-1], compounds.atoms[1][-1]) == (4, 2)
    (whole,) = compounds.one_ways(columns)
    assert 0.003 < whole.distribution[-1] < 0.01  # between what the two columns say


def test_rows_are_off_a_map_where_single_columns_say_so_and_no_others() -> None:
    assert not _compounds()[0].loose
    compounds, columns, onto = _compounds(loose=0.02)
    assert compounds.loose == {2}
    assert not compounds.on_map(2)
    rows = np.stack([np.arange(12_000) % 12, np.zeros(12_000, dtype=np.int64)])
    made = compounds.read_off(rows, {2: columns[2].distribution}, np.random.default_rng(0))
    off = made[2] != onto[rows[0]]
    assert np.mean(off) == pytest.approx(0.02, abs=0.001)
    assert set(onto[rows[0]][off]) == {0}
    assert set(made[2][off]) == {3}


def test_what_is_never_together_is_exchanged_so_that_columns_keep_what_they_have() -> None:
    counts = np.array([[4_000.0, 0.0, 2_000.0], [0.0, 3_000.0, 1_000.0]])
    pair = _pair(counts, 10.0)
    g = np.random.default_rng(0)
    rows = np.stack([np.repeat([0, 1], [6_000, 4_000]), np.repeat([0, 2, 1, 2], [4_000, 2_000, 3_000, 1_000])])
    some = g.choice(10_000, 400, replace=False)
    rows[1, some] = g.permutation(rows[1, some])
    assert pair.wrong(rows).size
    made = separate(rows, [pair], g)
    assert not pair.wrong(made).size
    assert all(
        np.array_equal(np.bincount(after), np.bincount(before)) for after, before in zip(made, rows, strict=True)
    )


def test_a_map_is_judged_by_values_that_stand_out_of_the_noise() -> None:
    """Of 600 light values the largest of ten noisy counts is noise, and would seem to be on any map."""
    g = np.random.default_rng(0)
    counts = np.zeros((640, 10))
    counts[:40] = 1_000.0 * np.eye(10)[np.arange(40) % 10]
    counts[:40] = 0.9 * counts[:40] + 10.0
    counts[40:] = 5.0
    noisy = counts + g.normal(0.0, 50.0, counts.shape)
    pair = Pair(
        columns=(0, 1),
        groups=(np.arange(640), np.arange(10)),
        counts=noisy,
        alone=(counts.sum(axis=1), counts.sum(axis=0)),
        sigma=50.0,
    )
    assert pair.off_map() is None


def test_a_sharpened_mixture_has_next_to_none_of_what_never_occurs_and_the_same_columns() -> None:
    blur = 0.8 * np.eye(5)[np.arange(40) % 5] + 0.04  # components that are rows on the diagonal, and some of all else
    mixture = Mixture(weights=np.full(40, 1 / 40), columns=(blur,) * 3, chi_squared=1.0, outcome=Outcome.NOISE_FLOOR)
    counts = np.full((5, 5), 500.0)
    counts[0, 3:] = counts[4, :2] = 0.0
    pair = _pair(counts, 1.0)
    before = mixture.pair(0, 1)[pair.never].sum()
    after = sharpen(dataclasses.replace(mixture, apart=(pair,)))
    assert after.pair(0, 1)[pair.never].sum() < 0.1 * before
    for column in range(3):
        assert np.abs(after.marginal(column) - mixture.marginal(column)).sum() < 0.02
    assert sharpen(mixture) is mixture


def test_numbers_stay_in_their_order_where_other_columns_are_read_off_them(monkeypatch: pytest.MonkeyPatch) -> None:
    g = np.random.default_rng(0)
    number = g.integers(0, 12, 4000)
    codes = np.stack([number, number // 4, np.minimum(number // 2, 5)])
    codes[2, :400] = g.integers(0, 6, 400)  # no map
    noisy = noisy_blocks(codes, (12, 3, 6), epsilon=10.0, ordered=(12, 3, 6))
    compounds, *_ = compounds_of(noisy)
    assert [compounds.is_told(column) for column in range(3)] == [False, True, False]
    fitted: list[Objective] = []

    def seen(self: Objective, *_: Any) -> None:
        fitted.append(self)
        raise _Seen

    monkeypatch.setattr(Objective, "gradients", seen)
    with pytest.raises(_Seen):
        MixtureSolver().quick().solve(noisy, PublicSeed(0), compounds=compounds)
    assert (fitted[0].bends[:10] > 0.0).all()  # of the twelve cells of the number


class _Seen(Exception):
    """The objective is known: no step is needed."""


def test_a_value_that_goes_with_any_other_is_on_no_map() -> None:
    """Forty days that tell their week, and NULL beside either: of 2 %, which so much noise may leave off a map."""
    days, weeks = 40, 8
    counts = np.zeros((days + 1, weeks + 1))
    counts[np.arange(days), np.arange(days) // 5] = 2_500.0
    assert _pair(counts[:-1, :-1], 200.0).off_map() is not None
    missing_day, missing_week = counts.copy(), counts.copy()
    missing_day[days, :weeks] = 250.0
    missing_week[:days, weeks] = 50.0
    assert _pair(missing_day[:, :-1], 200.0).off_map() is None
    assert _pair(missing_week[:-1], 200.0).off_map() is None
    both = counts.copy()
    both[days, weeks] = 2_000.0
    assert _pair(both, 200.0).off_map() is not None


def _partly(days: int, missing: float, noise: float, seed: int = 0) -> Pair:
    """Days of 2,000 rows each that tell a second date, of which a part is missing whatever the day."""
    counts = np.zeros((days, days + 1))
    counts[np.arange(days), np.arange(days)[::-1]] = 2_000.0 * (1.0 - missing)
    counts[:, days] = 2_000.0 * missing
    noisy = counts + np.random.default_rng(seed).normal(0.0, noise, counts.shape)
    pair = _pair(noisy, noise)
    return dataclasses.replace(pair, alone=(counts.sum(axis=1), counts.sum(axis=0)))


@pytest.mark.parametrize("missing", [0.1, 0.6])
def test_a_date_that_may_be_missing_is_told_where_it_is_there(missing: float) -> None:
    pair = _partly(40, missing, 30.0)
    assert pair.off_map() is None
    assert pair.rest() == 40
    part = PartMap.of(pair)
    assert part is not None
    g = np.random.default_rng(1)
    rows = np.stack([g.integers(0, 40, 5_000), g.integers(0, 41, 5_000)])
    result = part.apply(rows, g)
    there = result[1] != 40
    assert (result[1] == 40).tolist() == (rows[1] == 40).tolist()  # what is missing stays so
    assert (result[1][there] == 39 - result[0][there]).all()
    assert part.apply(result, g).tolist() == result.tolist()


def test_no_part_of_a_column_is_told_where_counts_do_not_show_it() -> None:
    assert PartMap.of(_partly(40, 0.0, 30.0)) is None  # a whole map, of which no value is any row's
    loose = _partly(40, 0.3, 30.0)
    moved = loose.counts.copy()
    moved[:, :40] = 0.9 * moved[:, :40] + 0.1 * moved[:, :40].mean(axis=1, keepdims=True)
    assert dataclasses.replace(loose, counts=moved).rest() is None  # a tenth of the rows is anywhere
    assert _partly(40, 0.3, 2_000.0).rest() is None  # nothing is seen
    years = np.zeros((40, 4))
    years[np.arange(40), np.arange(40) // 10] = 2_000.0
    assert _pair(years, 30.0).rest() is None  # the year that most rows are in is told as well
    coarse = _partly(40, 0.3, 30.0)
    weeks = np.append(np.arange(40) // 5, 8)
    wide = _pair(coarse.counts @ np.eye(9)[weeks], 60.0, groups=(np.arange(40), weeks))
    assert wide.rest() is None  # within a week the day is not told


def test_columns_told_in_part_follow_in_turn() -> None:
    """Departures tell arrivals, some of which are missing, and those tell returns, more of which are."""
    g = np.random.default_rng(0)
    left = g.integers(0, 12, 30_000)
    arrived = np.where(g.random(30_000) < 0.1, 12, left)
    back = np.where((g.random(30_000) < 0.4) | (arrived == 12), 12, arrived)
    noisy = noisy_blocks(np.stack([left, arrived, back]), (12, 13, 13), epsilon=10.0)
    compounds, _, told = compounds_of(noisy)
    assert not compounds.any
    assert {part.columns[1] for part in told} == {1, 2}
    assert told[0].columns == (0, 1)
    rows = np.stack([g.integers(0, size, 2_000) for size in (12, 13, 13)])
    for part in told:
        rows = part.apply(rows, g)
    for column in (1, 2):
        there = rows[column] != 12
        assert np.mean(rows[column][there] == rows[0][there]) > 0.9
