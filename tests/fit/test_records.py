"""Records of parents: components in the numbers that they should have, the law of siblings, records that move."""

from types import SimpleNamespace

import numpy as np
import pytest

from kernelease.fit.mixtures.mixture import Mixture
from kernelease.fit.records import (
    _FOLLOWED,
    Expected,
    Moving,
    best_power,
    drawn_components,
    followed_noise,
    less_noise,
    to_power,
)
from kernelease.fit.solver import Outcome
from kernelease.measured.counts import Counts
from kernelease.relational.schema_of_tables import Place

CELLS, ABOVE = 7, 4  # of records (two columns of 3 and 4), and of parents (two columns of 2)


def _tables(records, above, number):
    """Counts of parents' and records' cells, and of two siblings', one by one."""
    begin, parents, kin = np.cumsum(number) - number, np.zeros((ABOVE, CELLS)), np.zeros((CELLS, CELLS))
    for parent, (first, k) in enumerate(zip(begin, number, strict=True)):
        for one in range(first, first + k):
            parents[np.ix_(above[parent], records[one])] += 1.0 / k
            for other in set(range(first, first + k)) - {one}:
                kin[np.ix_(records[one], records[other])] += 1.0 / (k * (k - 1))
    return parents, kin


@pytest.fixture
def drawn():
    """Sixty parents with up to four records, cells of which mean nothing."""
    generator = np.random.default_rng(0)
    number = generator.integers(0, 5, 60)
    above = np.stack([generator.integers(0, 2, 60), 2 + generator.integers(0, 2, 60)], axis=1)
    count = int(number.sum())
    records = np.stack([generator.integers(0, 3, count), 3 + generator.integers(0, 4, count)], axis=1)
    return records, above, number


def _expected(records, above, number):
    parents, kin = _tables(records, above, number)
    return Expected(parents=parents, siblings=kin)


def _misfit(tables, expected):
    weights = [1.0 / np.maximum(own, 1.0) for own in (expected.parents, expected.siblings)]
    pairs = zip(tables, (expected.parents, expected.siblings), weights, strict=True)
    return sum(float((weight * (own - wanted) ** 2).sum()) for own, wanted, weight in pairs)


def test_counts_are_those_of_all_records_and_of_all_pairs_of_siblings(drawn):
    records, above, number = drawn
    moving = Moving(records, above, number, _expected(records, above, number))
    assert moving.misfit == pytest.approx(0.0, abs=1e-12)


def test_swaps_bring_counts_nearer_and_keep_books_of_them(drawn):
    records, above, number = drawn
    dealt = np.random.default_rng(1).permutation(len(records))
    expected = _expected(records[dealt], above, number)  # what other records of these parents come to
    moving, generator = Moving(records, above, number, expected), np.random.default_rng(2)
    before = moving.misfit
    assert sum(moving.sweep(generator) for _ in range(20)) > 0
    assert moving.misfit < 0.5 * before
    assert moving.misfit == pytest.approx(_misfit(_tables(records[moving.order], above, number), expected))
    assert sorted(moving.order) == list(range(len(records)))


def test_every_swap_lowers_the_misfit(drawn):
    records, above, number = drawn
    expected = _expected(np.random.default_rng(3).permutation(records), above, number)
    moving, generator = Moving(records, above, number, expected), np.random.default_rng(4)
    for pair in np.concatenate([moving._partners(generator) for _ in range(10)]):
        before = moving.misfit
        made = moving._judge(*pair[:, None])
        assert moving.misfit < before if made else moving.misfit == before


def test_without_siblings_only_parents_pull(drawn):
    records, above, number = drawn
    parents, _ = _tables(np.random.default_rng(5).permutation(records), above, number)
    moving = Moving(records, above, number, Expected(parents=parents, siblings=None))
    before = moving.misfit
    moving.sweep(np.random.default_rng(6))
    assert moving.misfit < before


def _two_components():
    """Parents that are 0 or 1, of which each has mostly its own kind of record; and one record or two."""
    columns = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    weights = np.array([0.3, 0.7])
    return Mixture(weights=weights, columns=columns, chi_squared=1.0, outcome=Outcome.NOISE_FLOOR)


def test_components_have_the_part_of_all_records_that_they_should_have():
    mixture, generator = _two_components(), np.random.default_rng(0)
    above = np.stack([generator.integers(0, 2, 4000), generator.integers(0, 2, 4000)])  # half of them 1, not .66
    number = 1 + above[1]
    place = Place(columns=(2,), parent=0, number=None, before=(0, 1))
    found = drawn_components(mixture, place, above, number, None, generator)
    held = np.bincount(found, np.repeat(1.0 / number, number)) / len(number)
    assert held == pytest.approx(mixture.weights, abs=0.01)  # by what parents are it would be .46


def test_no_records_have_no_components():
    place = Place(columns=(2,), parent=0, number=None, before=(0, 1))
    above, number = np.zeros((2, 3), dtype=np.int64), np.zeros(3, dtype=np.int64)
    assert len(drawn_components(_two_components(), place, above, number, None, np.random.default_rng(0))) == 0


def _close(count=12):
    """A table of two columns that nearly tell each other: the nearer two cells are, the more it holds."""
    apart = np.subtract.outer(np.arange(count), np.arange(count))
    table = np.exp(-0.3 * apart**2)
    return table / table.sum()


def test_a_power_makes_columns_go_together_more_closely_and_keeps_each_of_them():
    table = _close()
    raised = to_power(table, 1.7)
    np.testing.assert_allclose(raised.sum(axis=0), table.sum(axis=0), rtol=1e-3)
    np.testing.assert_allclose(raised.sum(axis=1), table.sum(axis=1), rtol=0.01)
    assert np.trace(raised) > 1.1 * np.trace(table)
    assert to_power(table, 1.0) is table


@pytest.mark.parametrize(("sigma", "least", "most"), [(0.002, 1.4, 1.6), (0.2, 1.0, 1.0)])
def test_a_table_is_raised_where_counts_are_closer_beyond_doubt(sigma, least, most):
    """And is left as it is where it may be noise."""
    table, noise = _close(), np.random.default_rng(0).normal(0.0, sigma, (12, 12))
    measured = to_power(table, 1.5) + noise
    found = best_power(lambda power: float(((measured - to_power(table, power)) ** 2).sum()) / sigma**2)
    assert least <= found <= most


def test_a_table_that_holds_its_counts_stays_as_it_is():
    table = _close()
    noise = np.random.default_rng(1).normal(0.0, 0.001, (12, 12))
    assert best_power(lambda power: float(((table + noise - to_power(table, power)) ** 2).sum()) / 0.001**2) == 1.0


def _counted(grid, sigma):
    """A block of two columns with this noise; what it holds does not matter."""
    groups = tuple(np.arange(size) for size in grid)
    block = Counts(columns=(0, 1), groups=groups, share=1.0)
    return SimpleNamespace(block=block, sigma=sigma)


@pytest.mark.parametrize("grid", [(12, 12), (5, 30)])
def test_the_noise_that_a_mixture_follows_is_a_part_of_the_largest_singular_value(grid):
    noise = np.random.default_rng(2).normal(0.0, 50.0, (40, *grid)) / 10_000  # of 10,000 persons, in even cells
    largest = np.linalg.svd(noise * np.sqrt(grid[0] * grid[1]), compute_uv=False)[:, 0].mean()
    followed = followed_noise(_counted(grid, 50.0), 10_000)
    assert 0.85 * followed <= _FOLLOWED * largest <= followed  # on average it is a little below (Gordon's theorem)


def test_a_faint_table_loses_its_noise_and_keeps_its_margins():
    generator = np.random.default_rng(3)
    product = np.outer(*(np.linspace(1.0, 2.0, 12) / 18.0,) * 2)
    slope = np.linspace(-0.3, 0.3, 12)
    truth = product * (1.0 + np.outer(slope, slope))
    noisy = truth * (1.0 + generator.normal(0.0, 0.1, truth.shape))
    noisy /= noisy.sum()
    level = 0.1 * 2.0 * np.sqrt(12) / 12  # of the largest singular value, where the deviation is .1 of each cell
    cleaned = less_noise(noisy, level)
    assert np.abs(cleaned - truth).sum() < 0.8 * np.abs(noisy - truth).sum()
    for axis in (0, 1):
        np.testing.assert_allclose(cleaned.sum(axis=axis), noisy.sum(axis=axis), rtol=1e-3)


def test_a_close_table_and_one_without_noise_stay_as_they_are():
    table = _close()
    np.testing.assert_allclose(less_noise(table, 0.0), table, atol=1e-9)
    assert np.abs(less_noise(100.0 * table, 0.05) / 100.0 - table).sum() < 0.03
    assert not less_noise(np.zeros((2, 3)), followed_noise(_counted((2, 3), 50.0), 0.0)).any()
