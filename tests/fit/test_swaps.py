"""Swaps with any other row: they keep columns, pairs and watched sets of three, and forget what no one measured."""

import dataclasses
import sys

import numpy as np
import pytest

from kernelease.fit.mixtures.draw import swap_rows
from kernelease.fit.mixtures.maps import information
from kernelease.fit.mixtures.mixture import Mixture
from kernelease.fit.solver import Outcome
from kernelease.measured.counts import Counts
from tests.fit.test_draw import distance, independent, mixture

swaps = sys.modules["kernelease.fit.mixtures.draw"]  # `kernelease.fit` is a function, too
TRIPLE = Counts(columns=(2, 0, 1), groups=(np.arange(2),) * 3, share=0.1)


def parity() -> Mixture:
    """Three columns of which no two depend on each other, and any two decide the third; and one by itself."""
    first, second = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    sure = np.eye(2)
    return Mixture(
        weights=np.full(4, 0.25),
        columns=(sure[first], sure[second], sure[first ^ second], np.tile([0.2, 0.3, 0.5], (4, 1))),
        chi_squared=1.0,
        outcome=Outcome.NOISE_FLOOR,
        sets=(TRIPLE,),
    )


def even(rows: np.ndarray) -> float:
    return float(np.mean(rows[0] ^ rows[1] ^ rows[2] == 0))


def test_a_measured_set_of_three_is_kept_and_an_unmeasured_one_is_not():
    model = parity()
    rows, components = independent(model, 2000, np.random.default_rng(1))
    kept = swap_rows(rows, components, model, np.random.default_rng(2), sweeps=4)
    lost = swap_rows(rows, components, dataclasses.replace(model, sets=()), np.random.default_rng(2), sweeps=4)
    assert (even(rows), even(kept)) == (1.0, 1.0)
    assert even(lost) < 0.995
    assert distance(lost, model) < distance(kept, model) < distance(rows, model)


def test_rows_of_two_components_swap_and_columns_stay():
    model = mixture(sizes=(5, 6, 4))
    rows, components = independent(model, 1000, np.random.default_rng(1))
    after = swap_rows(rows, components, model, np.random.default_rng(2), sweeps=6)
    assert all(np.array_equal(np.sort(old), np.sort(new)) for old, new in zip(rows, after, strict=True))
    assert any(
        not np.array_equal(np.sort(old[components == 0]), np.sort(new[components == 0]))
        for old, new in zip(rows, after, strict=True)
    )
    assert distance(after, model) < distance(rows, model)


@pytest.mark.parametrize("reason", ["a column of many atoms", "many sets"])
def test_where_not_all_is_watched_components_keep_to_themselves(reason, monkeypatch):
    model = parity()
    if reason == "many sets":
        monkeypatch.setattr(swaps, "MOST_PLACES", 1999)
    else:
        monkeypatch.setattr(swaps, "ALL_CELLS", 200)
        fourth = np.random.default_rng(0).dirichlet(np.full(200, 0.3), 4)
        model = dataclasses.replace(model, columns=(*model.columns[:3], fourth))
    rows, components = independent(model, 2000, np.random.default_rng(1))
    after = swap_rows(rows, components, model, np.random.default_rng(2), sweeps=2)
    for component in range(4):
        inside = components == component
        assert np.array_equal(np.sort(rows[:, inside]), np.sort(after[:, inside]))


def test_a_column_of_many_atoms_is_watched_in_the_cells_that_the_mixture_tells_apart():
    """Within a cell all components have the atoms in one proportion, so that any row may have any of them."""
    halves = np.repeat([0, 1], 150)
    inside = np.random.default_rng(0).dirichlet(np.ones(150))
    many = np.concatenate([np.outer([0.9, 0.1, 0.5], inside), np.outer([0.1, 0.9, 0.5], inside)], axis=1)
    model = Mixture(
        weights=np.array([0.3, 0.3, 0.4]),
        columns=(many, np.array([[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]])),
        chi_squared=1.0,
        outcome=Outcome.NOISE_FLOOR,
        cells=(halves, np.arange(2)),
    )
    expected, distances, moved = model.joint((0, 1), (halves, np.arange(2))), [], 0
    for seed in range(10):  # one draw may be so near already that no swap is needed
        rows, components = independent(model, 3000, np.random.default_rng(seed))
        after = swap_rows(rows, components, model, np.random.default_rng(2), sweeps=4)
        tables = (np.histogram2d(halves[one[0]], one[1], bins=2)[0] / 3000 for one in (rows, after))
        distances.append([np.sum((table - expected) ** 2) for table in tables])
        inside = components == 0
        moved += not np.array_equal(np.sort(rows[:, inside]), np.sort(after[:, inside]))
    before, found = np.mean(distances, axis=0)
    assert found < before
    assert moved > 0


def clumps() -> Mixture:
    """Two things, each told by two columns, and a third column: no two of them depend on each other, all three do."""
    first, second = np.divmod(np.arange(144), 12)
    sharp = [0.95 * np.eye(12)[thing] + 0.05 / 12 for thing in (first, second)]
    columns = sharp[0], sharp[0], sharp[1], sharp[1], 0.9 * np.eye(4)[(first + second) % 4] + 0.025
    return Mixture(weights=np.full(144, 1 / 144), columns=columns, chi_squared=1.0, outcome=Outcome.NOISE_FLOOR)


def apart(rows: np.ndarray, *columns: int) -> float:
    """L1 distance of the counts of some columns from those of independent things."""
    widths = [4 if column == 4 else 12 for column in columns]
    counts = np.histogramdd(rows[list(columns)].T, bins=[np.arange(width + 1) - 0.5 for width in widths])[0]
    shares = counts / rows.shape[1]
    return float(np.abs(shares - 1 / shares.size).sum())


def test_columns_that_tell_each_other_are_swapped_together_and_clumps_of_three_columns_dissolve(monkeypatch):
    """Pairs within a thing stay; what components alone have of three columns is gone, which single swaps do not do."""
    model = clumps()
    rows, components = independent(model, 12_000, np.random.default_rng(1))
    after = swap_rows(rows, components, model, np.random.default_rng(2), sweeps=4)
    monkeypatch.setattr(swaps, "TIED", 2.0)  # nothing tells more than all
    alone = swap_rows(rows, components, model, np.random.default_rng(2), sweeps=4)
    assert apart(after, 0, 2, 4) < 0.6 * apart(alone, 0, 2, 4)
    assert distance(after, model) < distance(rows, model)
    assert abs(np.mean(after[0] == after[1]) - np.mean(rows[0] == rows[1])) < 0.02
    assert all(np.array_equal(np.sort(old), np.sort(new)) for old, new in zip(rows, after, strict=True))


def test_what_a_column_tells_of_all_others_is_what_it_tells_of_each() -> None:
    """Also beside counts below 0, which are none, and of columns of one cell."""
    counts = np.random.default_rng(0).gamma(0.3, 100.0, (4, 10)).astype(np.float32)
    counts[0, 2] = -1.0
    places = (slice(0, 3), slice(3, 9), slice(9, 10))
    told = swaps._told_by(counts, places)
    np.testing.assert_allclose(told, [information(counts[:, place]) for place in places], atol=1e-9)


@pytest.mark.parametrize("tables", [1, 40, 100_000])
def test_swaps_are_looked_up_in_whole_batches_and_few_where_each_is_in_many_tables(tables: int) -> None:
    generator = np.random.default_rng(0)
    values = generator.integers(0, 9, (1, 20_000))
    partners = swaps._Partners.of(values, np.zeros(20_000, dtype=np.int64), generator)
    parts = list(partners.parts(tables))
    np.testing.assert_array_equal(np.concatenate([first for first, _ in parts]), partners.first)
    sizes = {len(first) for first, _ in parts[:-1]}
    assert all(size % partners.batch == 0 for size in sizes)
    assert max(len(first) for first, _ in parts) <= max(partners.batch, swaps._TOGETHER // tables)
    assert len(np.unique(np.concatenate([partners.first, partners.second]))) == 2 * len(partners.first)
