"""Details: rows that go together within cells as was measured, and nothing else that changes."""

import dataclasses
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kernelease.fit.mixtures.beyond import Detail, in_detail
from kernelease.measured.counts import Contrasts, Counts, without_means

moving = sys.modules["kernelease.fit.mixtures.beyond"]  # `kernelease.fit` is a function, too
ATOMS, EVERY, CELLS = 24, np.arange(24), np.repeat(np.arange(6), 4)


def table(rows: np.ndarray, first: int = 0, second: int = 1, groups: np.ndarray = EVERY) -> np.ndarray:
    """Shares of pairs of groups of two columns' atoms."""
    counts = np.zeros((int(groups.max()) + 1,) * 2)
    np.add.at(counts, (groups[rows[first]], groups[rows[second]]), 1.0)
    return counts / rows.shape[1]


def equal_columns(columns: int = 2, count: int = 4000, seed: int = 0) -> np.ndarray:
    """A table in which all columns are the same."""
    return np.repeat(np.random.default_rng(seed).integers(ATOMS, size=(1, count)), columns, axis=0)


def as_cells_tell(rows: np.ndarray, seed: int = 1) -> np.ndarray:
    """The same with values shuffled within cells, column by column: what a mixture knows of it."""
    generator = np.random.default_rng(seed)
    result = rows.copy()
    for column in range(len(rows)):
        for cell in range(6):
            inside = np.flatnonzero(CELLS[rows[column]] == cell)
            result[column, inside] = generator.permutation(rows[column, inside])
    return result


def detail(
    rows: np.ndarray, columns: tuple[int, int] = (0, 1), *, deviation: float = 1e-6, centred: bool = True
) -> Detail:
    shares = table(rows, *columns) + np.random.default_rng(2).normal(0.0, deviation, (ATOMS, ATOMS))
    return Detail(
        columns=columns,
        fine=(EVERY, EVERY),
        shares=without_means(shares) if centred else shares,
        deviation=deviation,
        block=(Contrasts if centred else Counts)(columns=columns, groups=(EVERY, EVERY), share=0.1),
    )


@pytest.mark.parametrize("centred", [True, False])
def test_columns_that_are_equal_become_so_again(centred):
    real = equal_columns()
    drawn = as_cells_tell(real)
    moved = in_detail(drawn, [detail(real, centred=centred)], [CELLS, CELLS], np.random.default_rng(3))
    assert np.mean(drawn[0] == drawn[1]) < 0.3
    assert np.mean(moved[0] == moved[1]) > 0.99


@pytest.mark.slow
@given(seed=st.integers(0, 1000), deviation=st.sampled_from([1e-6, 1e-3, 0.1]))
def test_whatever_was_measured_columns_and_pairs_of_cells_stay(seed, deviation):
    generator = np.random.default_rng(seed)
    drawn = generator.integers(ATOMS, size=(3, 500))
    wild = detail(generator.integers(ATOMS, size=(3, 50)), deviation=deviation)
    moved = in_detail(drawn, [wild], [CELLS] * 3, np.random.default_rng(seed))
    assert np.array_equal(np.sort(moved, axis=1), np.sort(drawn, axis=1))
    assert np.array_equal(CELLS[moved], CELLS[drawn])
    assert np.array_equal(moved[2], drawn[2])


def test_noise_alone_moves_next_to_nothing():
    """Where columns are independent within cells, James and Stein's factor leaves them so."""
    generator = np.random.default_rng(0)
    drawn = generator.integers(ATOMS, size=(2, 20_000))
    before = np.abs(table(drawn) - ATOMS**-2.0).sum()
    noisy = Detail(
        columns=(0, 1),
        fine=(EVERY, EVERY),
        shares=without_means(np.full((ATOMS, ATOMS), ATOMS**-2.0) + generator.normal(0.0, 0.002, (ATOMS, ATOMS))),
        deviation=0.002,
        block=Contrasts(columns=(0, 1), groups=(EVERY, EVERY), share=0.1),
    )
    moved = in_detail(drawn, [noisy], [CELLS, CELLS], generator)
    whole = dataclasses.replace(noisy, deviation=1e-9)
    believed = in_detail(drawn, [whole], [CELLS, CELLS], np.random.default_rng(1))
    errors = [np.abs(table(rows) - ATOMS**-2.0).sum() for rows in (moved, believed)]
    assert errors[0] < 0.35 * errors[1]
    assert before < errors[1]


def test_a_second_detail_leaves_the_first_as_it_is():
    real = equal_columns(3)
    drawn = as_cells_tell(real)
    first, second = detail(real), detail(real, (2, 1))
    moved = in_detail(drawn, [first, second], [CELLS] * 3, np.random.default_rng(3))
    assert np.mean(moved[0] == moved[1]) > 0.99
    assert np.mean(moved[1] == moved[2]) > 0.99
    assert np.mean(moved[0] == moved[2]) > 0.99


def test_the_column_with_finer_cells_moves():
    real = equal_columns()
    coarse = dataclasses.replace(
        detail(real),
        fine=(CELLS, EVERY),
        shares=without_means(np.stack([table(real)[cell * 4 : cell * 4 + 4].sum(axis=0) for cell in range(6)])),
    )
    drawn = as_cells_tell(real)
    moved = in_detail(drawn, [coarse], [CELLS, CELLS], np.random.default_rng(3))
    assert np.array_equal(moved[0], drawn[0])


def test_columns_that_are_equal_become_so_again_where_a_fine_cell_is_in_two_cells():
    """An atom that no row has is beside another in its fine cell, and in a cell of its own."""
    real = equal_columns()
    drawn = as_cells_tell(real)
    fine, cells = np.append(EVERY, 0), np.append(CELLS, 6)
    beside = dataclasses.replace(detail(real), fine=(fine, fine))
    moved = in_detail(drawn, [beside], [cells, cells], np.random.default_rng(3))
    assert np.mean(moved[0] == moved[1]) > 0.99
    assert np.array_equal(CELLS[moved], CELLS[drawn])


def test_where_too_few_rows_are_alike_nothing_moves(monkeypatch):
    monkeypatch.setattr(moving, "MOST_GROUPS", 5)
    real = equal_columns()
    drawn = as_cells_tell(real)
    assert np.array_equal(in_detail(drawn, [detail(real)], [CELLS, CELLS], np.random.default_rng(3)), drawn)


def test_sums_over_cells_are_those_of_the_whole_table():
    """What single columns tell is put back before fine cells are added up: cells are of different sizes."""
    generator = np.random.default_rng(5)
    cells = np.minimum(CELLS, 3)
    real = np.minimum(generator.integers(ATOMS, size=(2, 5000)), generator.integers(ATOMS, size=5000))
    alone = tuple(np.bincount(column, minlength=ATOMS) / 5000 for column in real)
    sums, variance = detail(real, deviation=1e-9).sum_cells((cells, cells), alone)
    assert np.allclose(sums, without_means(table(real, groups=cells)), atol=1e-7)
    assert np.allclose(variance, 1e-18 * np.outer(np.bincount(cells), np.bincount(cells)))


def test_noise_of_sums_makes_a_chi_squared_of_one_for_each_number():
    """Interactions of a yes or no, of which means are taken out: 400 draws of noise, 5 numbers each, ± 4 deviations."""
    sigma, generator = 1e-3, np.random.default_rng(4)
    block = Contrasts(columns=(0, 1), groups=(np.arange(2), EVERY), share=0.1)
    flat = np.full(2, 0.5), np.full(ATOMS, 1.0 / ATOMS)
    squares = []
    for _ in range(400):
        one = Detail(
            columns=(0, 1),
            fine=(np.arange(2), EVERY),
            shares=without_means(generator.normal(0.0, sigma, (2, ATOMS))),
            deviation=sigma * np.sqrt(block.numbers / block.cells),
            block=block,
        )
        shares, variance = one.sum_cells((np.arange(2), CELLS), flat)
        squares.append(float(np.sum(shares**2 / variance)) / 5)
    assert np.mean(squares) == pytest.approx(1.0, abs=4.0 * np.sqrt(2.0 / 5 / 400))
