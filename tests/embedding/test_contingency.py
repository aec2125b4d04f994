"""Contingency counts: they agree with counting by hand, show nothing, and leave with noise only."""

import copy
import itertools
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelease.arrays import Integers
from kernelease.embedding.blocks import Block
from kernelease.embedding.contingency import ExactCounts
from kernelease.embedding.cover import pair_cover
from kernelease.errors import BudgetError, ParameterError, PrivacyError
from kernelease.privacy import Loss, Neighbours, Privacy
from tests.privacy.toys import RecordingNoise, open_filter

SIZES = (3, 2, 4)
REPLACE = Privacy(epsilon=1.0, delta=1e-6)
ADD = Privacy(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)

tables = st.lists(st.tuples(*(st.integers(0, size - 1) for size in SIZES)), min_size=1, max_size=30)


def codes(rows: list[tuple[int, ...]]) -> Integers:
    return np.array(rows, dtype=np.int64).reshape(-1, len(SIZES)).T


def plain(*columns: int, share: float = 0.1) -> Block:
    return Block(columns=columns, groups=tuple(np.arange(SIZES[column]) for column in columns), share=share)


def measured(counts: ExactCounts, blocks: tuple[Block, ...], privacy: Privacy = REPLACE, value: int = 0):  # type: ignore[no-untyped-def]
    return counts.privatise(blocks, open_filter(privacy, 1000), noise=RecordingNoise(value=value))


@given(tables, st.integers(1, 10))
@settings(deadline=None)
def test_counts_agree_with_counting_by_hand(rows: list[tuple[int, ...]], batch: int) -> None:
    batches = [(codes(rows[start : start + batch]), None) for start in range(0, len(rows), batch)]
    blocks = tuple(plain(*pair) for pair in itertools.permutations(range(3), 2)) + tuple(plain(c) for c in range(3))
    noisy = measured(ExactCounts.of(batches, SIZES), blocks)
    assert noisy.rows == len(rows)
    for block in noisy.blocks:
        columns = block.block.columns
        by_hand = Counter(tuple(row[column] for column in columns) for row in rows)
        assert {cell: count for cell, count in np.ndenumerate(block.values) if count} == by_hand


def test_atoms_are_grouped_into_cells() -> None:
    counts = ExactCounts.of([(codes([(0, 0, 0), (1, 1, 1), (2, 1, 3)]), None)], SIZES)
    block = Block(columns=(2, 0), groups=(np.array([0, 0, 1, 1]), np.array([0, 1, 1])), share=0.5)
    assert measured(counts, (block,)).blocks[0].values.tolist() == [[1.0, 1.0], [0.0, 1.0]]


def test_weights_are_counted_in_units() -> None:
    """Two rows of one person, half a unit each."""
    weights = np.array([6, 6, 12])
    counts = ExactCounts.of([(codes([(0, 0, 0), (1, 0, 0), (2, 1, 1)]), weights)], SIZES, unit=12)
    noisy = measured(counts, (plain(0),))
    assert noisy.blocks[0].values.tolist() == [0.5, 0.5, 1.0]
    assert noisy.rows == 2.0


def test_counts_of_another_engine_are_taken_as_they_are() -> None:
    rows = [(0, 0, 0), (1, 1, 1), (2, 1, 3), (2, 1, 3)]
    totals = []
    for group in pair_cover(SIZES):
        total = np.zeros([SIZES[column] for column in group], dtype=np.int64)
        for row in rows:
            total[tuple(row[column] for column in group)] += 1
        totals.append(total.ravel())
    blocks = (plain(0, 2), plain(1))
    theirs = measured(ExactCounts.from_totals(totals, SIZES), blocks)
    ours = measured(ExactCounts.of([(codes(rows), None)], SIZES), blocks)
    assert theirs.rows == ours.rows == 4.0
    for one, other in zip(theirs.blocks, ours.blocks, strict=True):
        assert one.values.tolist() == other.values.tolist()


def test_counts_of_another_engine_have_the_right_shapes() -> None:
    with pytest.raises(ParameterError, match="totals must have the shapes"):
        ExactCounts.from_totals([np.zeros(5, dtype=np.int64)], SIZES)


def test_under_add_remove_the_number_of_rows_is_estimated_from_noisy_counts() -> None:
    counts = ExactCounts.of([(codes([(0, 0, 0)] * 5), None)], SIZES)
    noise = 2**36
    noisy = measured(counts, (plain(0), plain(1)), ADD, value=noise)
    shifts = [noise / 2**block.measurement.bits for block in noisy.blocks]
    assert shifts[0] == shifts[1] > 0
    assert noisy.rows == pytest.approx(5 + shifts[0] * 2 / (1 / 3 + 1 / 2))


def test_under_add_remove_an_empty_table_counts_as_one_row() -> None:
    empty = ExactCounts.of([], SIZES)
    assert measured(empty, (plain(0),), ADD).rows == 1.0


def test_an_empty_table_is_refused_where_its_size_is_public() -> None:
    budget, noise = open_filter(REPLACE), RecordingNoise()
    with pytest.raises(ParameterError, match="empty"):
        ExactCounts.of([], SIZES).privatise((plain(0),), budget, noise=noise)
    assert (budget.spent, noise.events) == (Loss(), [])


def test_each_block_is_charged_before_its_noise() -> None:
    counts = ExactCounts.of([(codes([(0, 0, 0)]), None)], SIZES)
    budget = open_filter(REPLACE, 1000)
    noise = RecordingNoise(budget=budget)
    with pytest.raises(BudgetError, match=r"counts of columns \(2,\)"):
        counts.privatise((plain(0, share=0.4), plain(1, share=0.6), plain(2, share=0.1)), budget, noise=noise)
    shares = [event[-1].mu_squared / budget.total.mu_squared for event in noise.events]
    assert shares == pytest.approx([0.4, 1.0])


# It shows nothing.


@pytest.mark.parametrize(
    "leak", [len, iter, list, bool, pickle.dumps, copy.copy, copy.deepcopy, lambda counts: counts.__getstate__()]
)
def test_it_has_no_length_no_items_no_truth_and_no_copies(leak) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(PrivacyError):
        leak(ExactCounts.of([(codes([(0, 0, 0)] * 4711), None)], SIZES))


def test_it_prints_no_value_and_has_no_public_sums() -> None:
    counts = ExactCounts.of([(codes([(0, 0, 0)] * 4711), None)], SIZES)
    assert repr(counts) == str(counts) == "ExactCounts(3 columns; private)"
    with pytest.raises(TypeError):
        vars(counts)
    public = {name for name in dir(counts) if not name.startswith("_")}
    assert {name for name in public if not callable(getattr(counts, name))} == {"sizes", "unit"}


@pytest.mark.parametrize("columns", [(), (0, 1, 2)])
def test_a_block_has_one_or_two_columns(columns: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="one or two columns"):
        plain(*columns)


def test_a_block_has_a_grouping_for_each_column() -> None:
    with pytest.raises(ParameterError, match="a grouping for each"):
        Block(columns=(0, 1), groups=(np.arange(3),), share=0.1)
