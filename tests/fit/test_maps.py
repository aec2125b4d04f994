"""Maps between columns, and combinations that never occur, as noisy counts of pairs show them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.fit.mixtures.maps import LONG, Maps, Pair, closer_look, maps_of, most_closer_numbers
from kernelease.measured.blocks import NoisyBlocks
from kernelease.table.schema import Schema


def _pair(counts: Any, sigma: float, columns: tuple[int, int] = (0, 1)) -> Pair:
    table = np.asarray(counts, dtype=np.float64)
    groups = np.arange(table.shape[0]), np.arange(table.shape[1])
    return Pair(columns=columns, groups=groups, counts=table, alone=(table.sum(axis=1), table.sum(axis=0)), sigma=sigma)


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
    assert pair.turned.off_map() is None


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
    made = maps.applied(rows, np.random.default_rng(0))
    assert np.array_equal(made[0], rows[0])
    assert np.array_equal(made[1], onto[rows[0]])
    assert np.array_equal(made[2], again[onto[rows[0]]])


def test_combinations_that_never_occur_are_parted_and_others_stay() -> None:
    counts = np.array([[8_000.0, 0.0, 0.0], [0.0, 1_500.0, 500.0]])
    pair = _pair(counts, 10.0)
    assert pair.never().tolist() == [[False, True, True], [True, False, False]]
    g = np.random.default_rng(0)
    rows = np.stack([np.repeat([0, 1], 5_000), g.integers(0, 3, 10_000)])
    made = Maps(maps=(), parted=(pair,)).applied(rows, g)
    assert (made[1, :5_000] == 0).all()
    assert (made[1, 5_000:] != 0).all()
    kept = (rows[0] == 1) & (rows[1] != 0)
    assert np.array_equal(made[1, kept], rows[1, kept])


def test_what_noise_may_hide_is_not_taken_as_never() -> None:
    assert not _pair([[80.0, 0.0], [0.0, 20.0]], 10.0).never().any()


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
    assert most_closer_numbers((LONG, LONG)) == 0
