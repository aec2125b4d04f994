"""Permuted statistics against double sums over a Gram matrix, and against every claim about neighbours."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.twins import NoNoise
from kernelease import private_tests as permuted
from kernelease.errors import CapacityError
from kernelease.ledgers import MemoryLedger
from kernelease.privacy import Privacy, PrivacyFilter
from kernelease.privacy.sensitivity import ROWS
from kernelease.private_tests import PermutedStatistics
from kernelease.table.atom_features import STEPS, AtomFeatures, PairFeatures
from tests.table.test_atom_features import SCHEMA

AGE, HOURS, WARD = (AtomFeatures.of(column) for column in SCHEMA.columns)
ROW = PairFeatures.of(SCHEMA.columns)
SIZES = SCHEMA.sizes
DRAWS = 30
seeds = st.integers(0, 2**32 - 1)


def codes(generator, count):
    return np.stack([generator.integers(0, size, count) for size in SIZES], axis=1)


def distances(first, second, seed=0):
    return PermutedStatistics.distances(first, second, ROW, draws=DRAWS, generator=np.random.default_rng(seed))


def covariances(rows, columns=(AGE, WARD), seed=0):
    chosen = rows[:, [0, 2]]
    return PermutedStatistics.covariances(chosen, columns, draws=DRAWS, generator=np.random.default_rng(seed))


def all_of(statistics):
    return np.array([statistics._observed, *statistics._others], dtype=object)


def budget(epsilon=1.0):
    privacy = Privacy(epsilon=epsilon, delta=0.0)
    return PrivacyFilter.open(privacy, ledger=MemoryLedger(privacy), subject=ROWS, coordinates=1, purpose="a test")


@given(seeds, st.integers(1, 12), st.integers(1, 12))
def test_the_distance_is_the_one_of_double_sums(seed, n, m):
    generator = np.random.default_rng(seed)
    first, second = codes(generator, n), codes(generator, m)
    rows = np.hstack(list(ROW.blocks(np.concatenate([first, second]))))
    gram = rows @ rows.T
    squared = gram[:n, :n].mean() + gram[n:, n:].mean() - 2.0 * gram[:n, n:].mean()
    statistics = distances(first, second)
    expected = math.sqrt(max(0.0, squared)) * ROW.unit
    assert statistics._observed * statistics.unit == pytest.approx(expected, abs=1.01 * statistics.unit)


@given(seeds, st.integers(2, 15))
def test_the_dependence_is_the_one_of_double_sums(seed, n):
    """HSIC as tr(K H L H)/n², with both Gram matrices."""
    rows = codes(np.random.default_rng(seed), n)
    one, other = AGE.gram[rows[:, 0]][:, rows[:, 0]], WARD.gram[rows[:, 2]][:, rows[:, 2]]
    centring = np.eye(n) - 1.0 / n
    squared = np.trace(one @ centring @ other @ centring) / n**2
    statistics = covariances(rows)
    expected = math.sqrt(max(0.0, squared)) / STEPS**2
    assert statistics._observed * statistics.unit == pytest.approx(expected, abs=1.01 * statistics.unit)


@given(seeds, st.integers(1, 8), st.integers(1, 8))
def test_a_row_moves_every_distance_by_the_sensitivity_at_most(seed, n, m):
    generator = np.random.default_rng(seed)
    first, second = codes(generator, n), codes(generator, m)
    changed = [first.copy(), second.copy()]
    side = changed[int(generator.integers(2))]
    side[generator.integers(len(side))] = codes(generator, 1)[0]
    before, after = distances(first, second, seed), distances(*changed, seed)
    assert before._sensitivity == after._sensitivity
    assert np.abs(all_of(before) - all_of(after)).max() <= before._sensitivity.l1


@given(seeds, st.integers(2, 9))
def test_a_row_moves_every_dependence_by_the_sensitivity_at_most(seed, n):
    generator = np.random.default_rng(seed)
    rows = codes(generator, n)
    changed = rows.copy()
    changed[generator.integers(n)] = codes(generator, 1)[0]
    before, after = covariances(rows, seed=seed), covariances(changed, seed=seed)
    assert np.abs(all_of(before) - all_of(after)).max() <= before._sensitivity.l1


def test_the_sensitivities_are_not_far_too_large():
    """Rows that are all alike on one side, and one that goes as far as it can."""
    low, high = (0, 0, 0), (72, 4, 1)
    first, second = np.array([low] * 6), np.array([low] * 6)
    moved = first.copy()
    moved[0] = high
    change = abs(distances(first, second)._observed - distances(moved, second)._observed)
    assert change >= 0.75 * distances(first, second)._sensitivity.l1
    tables = [np.array([low] * 3 + [high] * 3), np.array([low] * 3 + [high] * 2 + [(72, 4, 0)])]
    change = abs(np.subtract(*(covariances(rows)._observed for rows in tables)))
    assert change >= 0.25 * covariances(tables[0])._sensitivity.l1


def test_orders_keep_the_rows():
    """The statistics of other orders have the law of those of shuffled rows: here all orders are alike."""
    same = np.array([(5, 1, 1)] * 4)
    assert set(all_of(distances(same, same))) == {0}
    assert set(all_of(covariances(same))) == {0}


@given(seeds, st.sampled_from([0.05, 0.1, 0.2, 0.5]))
def test_without_noise_it_is_the_permutation_test(seed, level):
    """p ≤ level exactly where the margin is above 0."""
    statistics = covariances(codes(np.random.default_rng(seed), 12), seed=seed)
    margin = statistics.exceed(level, budget=budget(), noise=NoNoise(), label="a test").integers[0]
    p_value = (1 + sum(other >= statistics._observed for other in statistics._others)) / (1 + DRAWS)
    assert (margin > 0) == (p_value <= level)


def test_what_could_overflow_is_refused(monkeypatch):
    rows = codes(np.random.default_rng(0), 3)
    monkeypatch.setattr(permuted, "MOST_ROWS", 2)
    with pytest.raises(CapacityError, match="at most 2 of them"):
        distances(rows, rows)
    monkeypatch.undo()
    monkeypatch.setattr(permuted, "MOST_PRODUCTS", 5)
    with pytest.raises(CapacityError, match="product of at most 5"):
        covariances(rows)


def test_the_largest_sums_fit():
    largest = int(np.abs(AGE.integers).max())
    assert largest <= STEPS
    assert (2 * permuted.MOST_ROWS) ** 2 * STEPS**2 < 2**63
