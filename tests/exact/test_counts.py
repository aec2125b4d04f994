"""Contingency counts: they agree with counting by hand, show nothing, and leave with noise only."""

import copy
import itertools
import math
import pickle
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.arrays import Integers
from kernelease.errors import BudgetError, CapacityError, ParameterError, PrivacyError
from kernelease.exact.counting import ExactCounts
from kernelease.measured.blocks import Block, NoisyBlocks
from kernelease.measured.counts import Contrasts, Counts
from kernelease.methods.interactions.rounds import join_blocks
from kernelease.passes import LARGEST_GROUP, Batch, EncodedRows, Forest, cover
from kernelease.privacy import Loss, Neighbours, Privacy
from kernelease.privacy.sensitivity import centred_sensitivity, distance_sensitivity
from tests.measured.kinds import as_contrasts
from tests.privacy.toys import RecordingNoise, open_filter

SIZES = (3, 2, 4)
REPLACE = Privacy(epsilon=1.0, delta=1e-6)
ADD = Privacy(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)

tables = st.lists(st.tuples(*(st.integers(0, size - 1) for size in SIZES)), min_size=1, max_size=30)


def codes(rows: list[tuple[int, ...]]) -> Integers:
    return np.array(rows, dtype=np.int64).reshape(-1, len(SIZES)).T


def plain(*columns: int, share: float = 0.1) -> Block:
    return Counts(columns=columns, groups=tuple(np.arange(SIZES[column]) for column in columns), share=share)


def exact(batches: list[Batch], unit: int = 1) -> ExactCounts:
    return ExactCounts.of(EncodedRows(lambda: iter(batches), SIZES), SIZES, unit=unit)


def measured(counts: ExactCounts, blocks: tuple[Block, ...], privacy: Privacy = REPLACE, value: int = 0) -> NoisyBlocks:
    noisy = counts.privatise(blocks, open_filter(privacy, 1000), noise=RecordingNoise(value=value))
    return join_blocks(noisy, counts, privacy.relation)


@pytest.mark.slow
@given(tables, st.integers(1, 10))
@settings(deadline=None)
def test_counts_agree_with_counting_by_hand(rows: list[tuple[int, ...]], batch: int) -> None:
    batches = [(codes(rows[start : start + batch]), None) for start in range(0, len(rows), batch)]
    blocks = tuple(plain(*pair) for pair in itertools.permutations(range(3), 2)) + tuple(plain(c) for c in range(3))
    noisy = measured(exact(batches), blocks)
    assert noisy.rows == len(rows)
    for block in noisy.blocks:
        columns = block.block.columns
        by_hand = Counter(tuple(row[column] for column in columns) for row in rows)
        assert {cell: count for cell, count in np.ndenumerate(block.values) if count} == by_hand


def test_atoms_are_grouped_into_cells() -> None:
    counts = exact([(codes([(0, 0, 0), (1, 1, 1), (2, 1, 3)]), None)])
    block = Counts(columns=(2, 0), groups=(np.array([0, 0, 1, 1]), np.array([0, 1, 1])), share=0.5)
    assert measured(counts, (block,)).blocks[0].values.tolist() == [[1.0, 1.0], [0.0, 1.0]]


def test_weights_are_counted_in_units() -> None:
    """Two rows of one person, half a unit each."""
    weights = np.array([6, 6, 12])
    counts = exact([(codes([(0, 0, 0), (1, 0, 0), (2, 1, 1)]), weights)], unit=12)
    noisy = measured(counts, (plain(0),))
    assert noisy.blocks[0].values.tolist() == [0.5, 0.5, 1.0]
    assert noisy.rows == 2.0


@pytest.mark.slow
@given(tables)
@settings(deadline=None)
def test_three_columns_are_counted_in_cells_in_the_order_asked_for(rows: list[tuple[int, ...]]) -> None:
    groups = (np.array([0, 1, 1, 0]), np.array([0, 1, 1]), np.array([0, 1]))
    block = Counts(columns=(2, 0, 1), groups=groups, share=0.1)
    values = measured(exact([(codes(rows), None)]), (block, plain(0, 1))).blocks[0].values
    by_hand = Counter(tuple(int(g[row[c]]) for g, c in zip(groups, block.columns, strict=True)) for row in rows)
    assert {cell: count for cell, count in np.ndenumerate(values) if count} == by_hand


def table_of_four(rows: int = 500) -> tuple[Integers, tuple[int, ...], ExactCounts]:
    sizes = (3, 2, 4, 5)
    drawn = np.stack([np.random.default_rng(i).integers(0, size, rows) for i, size in enumerate(sizes)])
    return drawn, sizes, ExactCounts.of(EncodedRows(lambda: iter([(drawn, None)]), sizes), sizes)


def test_four_columns_are_counted_beside_others_in_cells_of_their_own() -> None:
    drawn, _, counts = table_of_four()
    four = Counts(columns=(3, 0, 2, 1), groups=tuple(np.arange(s) // 2 for s in (5, 3, 4, 2)), share=0.1)
    three = Counts(columns=(2, 3, 0), groups=tuple(np.arange(s) for s in (4, 5, 3)), share=0.1)
    noisy = measured(counts, (three, four, three))
    for block in noisy.blocks:
        cells = [group[drawn[column]] for column, group in zip(block.block.columns, block.block.groups, strict=True)]
        by_hand = np.zeros(block.block.shape)
        np.add.at(by_hand, tuple(cells), 1)
        np.testing.assert_array_equal(block.values, by_hand)


def test_rows_are_read_again_where_they_were_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []

    def read() -> Iterator[Batch]:
        passes.append(1)
        yield codes([(0, 0, 0), (2, 1, 3)]), None

    for most, of_disk, expected in ((2**20, 0.5, 1), (0, 0.5, 1), (0, 0.0, 3)):
        passes.clear()
        monkeypatch.setattr("kernelease.passes.MOST_KEPT", most)
        monkeypatch.setattr("kernelease.passes.MOST_OF_DISK", of_disk)
        counts = ExactCounts.of(EncodedRows(read, SIZES), SIZES)
        noisy = [measured(counts, (plain(0, 1),)).blocks[0].values.tolist() for _ in range(2)]
        assert noisy[0] == noisy[1] == [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
        assert len(passes) == expected


# Private choices.


def chosen(counts: ExactCounts, privacy: Privacy, noise: RecordingNoise, expected: int) -> list[int]:
    blocks = [plain(0, 1), plain(0, 2), plain(1, 2)]
    guesses = [np.full(block.shape, expected) for block in blocks]
    budget = open_filter(privacy, 1000)
    chosen, _ = counts.choose(blocks, guesses, [0, 0, 0], budget, count=2, share=0.5, noise=noise)
    assert budget.spent.mu_squared == pytest.approx(0.5 * budget.total.mu_squared, rel=1e-6)
    return list(chosen)


def test_the_blocks_farthest_from_what_is_expected_are_chosen_once_each() -> None:
    """Σ |count − 0| is 5 everywhere; against 1 in each cell, blocks with more empty cells are farther."""
    counts = exact([(codes([(0, 0, 0)] * 5), None)])
    assert chosen(counts, ADD, RecordingNoise(), 1) == [1, 2]


def test_a_forest_never_joins_what_is_joined_and_charges_only_what_it_chooses() -> None:
    """Three columns have two edges: of three choices that were asked for, two are made and paid for."""
    counts = exact([(codes([(0, 0, 0), (2, 1, 3), (1, 1, 2)]), None)])
    blocks = [plain(0, 1), plain(0, 2), plain(1, 2), plain(0, 1)]
    guesses = [np.zeros(block.shape, dtype=np.int64) for block in blocks]
    budget = open_filter(ADD, 1000)
    chosen, _ = counts.choose(
        blocks, guesses, [0, 5, 9, 0], budget, count=3, share=0.6, noise=RecordingNoise(), forest=True
    )
    assert chosen == (0, 1)
    assert budget.spent.mu_squared == pytest.approx(0.4 * budget.total.mu_squared, rel=1e-6)


@given(
    st.integers(3, 8).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30))
    )
)
def test_a_forest_grows_by_the_pairs_that_close_no_circle(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    columns, pairs = drawn
    forest = Forest(pairs, columns)
    joined_by_hand = [{column} for column in range(columns)]
    for index, (first, second) in enumerate(pairs):
        one, other = (next(tree for tree in joined_by_hand if column in tree) for column in (first, second))
        assert forest.open[index] == (one is not other)
        if one is not other:
            forest.join(index)
            joined_by_hand = [tree for tree in joined_by_hand if tree is not one and tree is not other] + [one | other]


@pytest.mark.slow
@given(tables, st.tuples(*(st.integers(0, size - 1) for size in SIZES)), st.integers(0, 2))
@settings(deadline=None)
def test_neighbours_give_a_forest_the_same_candidates_after_the_same_choices(
    rows: list[tuple[int, ...]], other: tuple[int, ...], first: int
) -> None:
    """What may be chosen next follows from what was chosen, not from the rows; scores stay as near as is paid for."""

    class Forced(RecordingNoise):
        def noisy_max(self, scores: Sequence[int], scale: float) -> int:
            super().noisy_max(scores, scale)
            return first % len(scores)

    scores = []
    for table in (rows, [*rows, other]):
        noise = Forced()
        blocks = [plain(0, 1), plain(0, 2), plain(1, 2)]
        guesses = [np.ones(block.shape, dtype=np.int64) for block in blocks]
        exact([(codes(table), None)]).choose(
            blocks, guesses, [0, 0, 0], open_filter(ADD, 1000), count=2, share=0.5, noise=noise, forest=True
        )
        scores.append(noise.scores)
    for one, two in zip(*scores, strict=True):
        assert len(one) == len(two)
        assert np.abs(np.array(one) - np.array(two)).max() <= distance_sensitivity(Neighbours.ADD_REMOVE)


@pytest.mark.parametrize("columns", [10, 60])
def test_groups_hold_every_wanted_set_and_stay_small(columns: int) -> None:
    """Few sets are covered by search, many (60 columns have 1,770 pairs) by bundles."""
    sizes = tuple(2 + 7 * (column % 5) ** 2 for column in range(columns))
    wanted = frozenset(itertools.combinations(range(columns), 2))
    groups = cover(sizes, wanted, 2**12)
    held = {pair for group in groups for pair in itertools.combinations(group, 2)}
    assert wanted <= held
    assert all(math.prod(sizes[c] for c in group) <= 2**12 or len(group) == 2 for group in groups)
    assert len(groups) < len(wanted)


@pytest.mark.slow
@given(tables, st.tuples(*(st.integers(0, size - 1) for size in SIZES)))
@settings(deadline=None)
def test_one_row_moves_a_score_by_no_more_than_the_choice_is_calibrated_to(
    rows: list[tuple[int, ...]], other: tuple[int, ...]
) -> None:
    neighbours = {ADD: [*rows, other], REPLACE: [*rows[:-1], other]}
    for privacy, changed in neighbours.items():
        scores, scales = [], []
        for table in (rows, changed):
            noise = RecordingNoise()
            chosen(exact([(codes(table), None)]), privacy, noise, 2)
            scores.append(np.array(noise.scores[0]))
            scales.append(noise.events[0][1])
        moved = int(np.abs(scores[0] - scores[1]).max())
        assert moved <= distance_sensitivity(privacy.relation) == (1 if privacy is ADD else 2)
        assert scales[0] == scales[1]


def scores_of_four(drawn: Integers, privacy: Privacy, unit: int = 1) -> np.ndarray:
    """Of all four columns of two values, against one row in each cell, and of three of them."""
    noise, sizes = RecordingNoise(), (2,) * 4
    weights = None if unit == 1 else np.full(drawn.shape[1], unit)
    counts = ExactCounts.of(EncodedRows(lambda: iter([(drawn, weights)]), sizes), sizes, unit=unit)
    blocks = [Counts(columns=tuple(range(k)), groups=(np.arange(2),) * k, share=0.1) for k in (4, 3)]
    guesses = [np.full(block.shape, unit) for block in blocks]
    counts.choose(blocks, guesses, [0, 0], open_filter(privacy, 1000), count=1, share=0.5, noise=noise)
    return np.array(noise.scores[0])


def test_what_three_columns_show_is_no_merit_of_four() -> None:
    every = np.array(list(itertools.product(range(2), repeat=4))).T
    even = every[:, every.sum(axis=0) % 2 == 0]
    assert scores_of_four(np.repeat(even, 2, axis=1), REPLACE).tolist() == [8, 8]  # |2 − 1| sixteen times, halved
    first = every[:, every[0] == 0]
    assert scores_of_four(np.repeat(first, 2, axis=1), REPLACE).tolist() == [0, 16]


@pytest.mark.slow
@given(
    st.lists(st.tuples(*[st.integers(0, 1)] * 4), min_size=1, max_size=20),
    st.tuples(*[st.integers(0, 1)] * 4),
    st.sampled_from([1, 3]),
)
@settings(deadline=None)
def test_one_row_moves_the_score_of_four_columns_by_no_more(
    rows: list[tuple[int, ...]], other: tuple[int, ...], unit: int
) -> None:
    for privacy, changed in {ADD: [*rows, other], REPLACE: [*rows[:-1], other]}.items():
        before, after = (scores_of_four(np.array(table).T, privacy, unit) for table in (rows, changed))
        assert np.abs(before - after).max() <= distance_sensitivity(privacy.relation, unit=unit)


def test_under_add_remove_the_number_of_rows_is_estimated_from_noisy_counts() -> None:
    counts = exact([(codes([(0, 0, 0)] * 5), None)])
    noise = 2**36
    noisy = measured(counts, (plain(0), plain(1)), ADD, value=noise)
    shifts = [noise / 2**block.measurement.step.bits for block in noisy.blocks]
    assert shifts[0] == shifts[1] > 0
    assert noisy.rows == pytest.approx(5 + shifts[0] * 2 / (1 / 3 + 1 / 2))


def test_under_add_remove_an_empty_table_counts_as_one_row() -> None:
    empty = exact([])
    assert measured(empty, (plain(0),), ADD).rows == 1.0


def test_an_empty_table_is_refused_where_its_size_is_public() -> None:
    budget, noise = open_filter(REPLACE), RecordingNoise()
    with pytest.raises(ParameterError, match="empty"):
        exact([]).privatise((plain(0),), budget, noise=noise)
    assert (budget.spent, noise.events) == (Loss(), [])


def test_each_block_is_charged_before_its_noise() -> None:
    counts = exact([(codes([(0, 0, 0)]), None)])
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
def test_it_has_no_length_no_items_no_truth_and_no_copies(leak) -> None:
    with pytest.raises(PrivacyError):
        leak(exact([(codes([(0, 0, 0)] * 4711), None)]))


def test_it_prints_no_value_and_has_no_public_sums() -> None:
    counts = exact([(codes([(0, 0, 0)] * 4711), None)])
    assert repr(counts) == str(counts) == "ExactCounts(private)"
    with pytest.raises(TypeError):
        vars(counts)
    public = {name for name in dir(counts) if not name.startswith("_")}
    assert {name for name in public if not callable(getattr(counts, name))} == {"again", "sizes", "unit"}


@pytest.mark.parametrize("columns", [(0, 1, 2, 0, 1), (0, 1, 2, 0), (1, 1)])
def test_a_block_has_up_to_four_different_columns(columns: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match=r"columns|column once"):
        plain(*columns)


def test_a_block_has_a_grouping_for_each_column() -> None:
    with pytest.raises(ParameterError, match="a grouping for each"):
        Counts(columns=(0, 1), groups=(np.arange(3),), share=0.1)


@pytest.mark.parametrize("many", [False, True])
def test_a_set_that_cannot_be_counted_is_refused(many: bool) -> None:
    sizes = (LARGEST_GROUP, 2, *([3] * 60))
    wanted = {(0, 1)} | (set(itertools.combinations(range(2, 62), 2)) if many else set())
    with pytest.raises(CapacityError, match="can be counted"):
        cover(sizes, frozenset(wanted))


@pytest.mark.slow
@given(tables)
@settings(deadline=None)
def test_an_interaction_is_counts_less_the_means_of_rows_and_columns(rows: list[tuple[int, ...]]) -> None:
    block = as_contrasts(plain(2, 0))
    (noisy,) = measured(exact([(codes(rows), None)]), (plain(0), block)).blocks[1:]
    table = np.zeros((4, 3))
    for row in rows:
        table[row[2], row[0]] += 1
    less = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    np.testing.assert_allclose(noisy.values, less, atol=1e-9)
    assert noisy.measurement.values.tolist() == np.rint(12 * less).ravel().tolist()


@pytest.mark.slow
@given(tables.filter(lambda rows: len(rows) > 1), st.integers(1, 3))
@settings(deadline=None)
def test_a_person_moves_an_interaction_no_farther_than_is_charged(rows: list[tuple[int, ...]], unit: int) -> None:
    """Persons' rows weigh `unit` together: half of it each where there are two of them."""
    block = as_contrasts(plain(0, 1))
    whole = 2 * unit
    weights = np.full(len(rows), whole)
    weights[:2] = unit  # the first two rows are one person's
    tables_of = [(codes(rows), weights), (codes(rows[2:]), weights[2:])]
    moved = [measured(exact([one], whole), (plain(0), block), ADD).blocks[1].measurement.values for one in tables_of]
    sensitivity = centred_sensitivity(Neighbours.ADD_REMOVE, shape=(3, 2), unit=whole)
    assert np.linalg.norm(moved[0] - moved[1]) <= sensitivity.l2


@given(tables.filter(lambda rows: len(rows) > 0))
def test_a_centred_column_is_its_counts_less_their_mean(rows: list[tuple[int, ...]]) -> None:
    block = as_contrasts(plain(2))
    (noisy,) = measured(exact([(codes(rows), None)]), (plain(0), block)).blocks[1:]
    counts = np.bincount([row[2] for row in rows], minlength=4)
    np.testing.assert_allclose(noisy.values, counts - counts.mean(), atol=1e-9)
    np.testing.assert_allclose(noisy.counts(len(rows)), counts, atol=1e-9)
    assert noisy.measurement.values.tolist() == (4 * counts - len(rows)).tolist()


@given(tables)
def test_a_block_of_no_column_is_the_number_of_rows(rows: list[tuple[int, ...]]) -> None:
    block = Counts(columns=(), groups=(), share=0.1)
    (noisy,) = measured(exact([(codes(rows), None)]), (block,), ADD).blocks
    assert noisy.measurement.values.tolist() == [len(rows)]
    assert noisy.values.shape == ()


@pytest.mark.slow
@given(tables.filter(lambda rows: len(rows) > 1), st.integers(1, 3))
@settings(deadline=None)
def test_a_person_moves_a_centred_column_no_farther_than_is_charged(rows: list[tuple[int, ...]], unit: int) -> None:
    """Persons' rows weigh `unit` together: half of it each where there are two of them."""
    block = as_contrasts(plain(0))
    whole = 2 * unit
    weights = np.full(len(rows), whole)
    weights[:2] = unit  # the first two rows are one person's
    tables_of = [(codes(rows), weights), (codes(rows[2:]), weights[2:])]
    moved = [measured(exact([one], whole), (plain(0), block), ADD).blocks[1].measurement.values for one in tables_of]
    sensitivity = centred_sensitivity(Neighbours.ADD_REMOVE, shape=(3,), unit=whole)
    assert np.linalg.norm(moved[0] - moved[1]) <= sensitivity.l2


def test_what_is_centred_are_counts_of_one_or_two_columns_of_several_cells() -> None:
    with pytest.raises(ParameterError, match="of two cells or more each"):
        Contrasts(columns=(0,), groups=(np.zeros(3, dtype=int),), share=0.1)
    with pytest.raises(ParameterError, match="of two cells or more each"):
        Contrasts(columns=(0, 1), groups=(np.zeros(3, dtype=int), np.arange(2)), share=0.1)
    with pytest.raises(ParameterError, match="are of one or two columns"):
        as_contrasts(plain(0, 1, 2))
    with pytest.raises(ParameterError, match="are of one or two columns"):
        Contrasts(columns=(), groups=(), share=0.1)
