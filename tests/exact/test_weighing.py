"""Sums of weights: they agree with adding by hand, move no further than is charged, and leave with noise only."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.errors import ParameterError, PrivacyError
from kernelease.exact.counting import ExactCounts, PartialWeights, sums_of_blocks
from kernelease.measured.blocks import LARGEST_SUM, Block
from kernelease.measured.offsets import Moments
from kernelease.measured.spreads import Spread
from kernelease.measured.sums import Ramp
from kernelease.passes import EncodedRows, Weighing
from kernelease.privacy import Neighbours, Privacy
from kernelease.privacy.sensitivity import row_sensitivity
from kernelease.sources.partial import weigh_blocks
from tests.privacy.toys import RecordingNoise, open_filter

SIZES = (3, 2, 4)
FINE = (0, 2)  # columns that have codes in finer cells, 0 to 9

rows = st.lists(st.tuples(*(st.integers(0, size - 1) for size in (*SIZES, 10, 10))), min_size=1, max_size=30)
numbers = st.integers(-100, 100)


def ramps(column: int) -> st.SearchStrategy[Ramp]:
    each = st.lists(numbers, min_size=SIZES[column], max_size=SIZES[column]).map(np.array)
    return st.builds(Ramp, start=each, slope=each, limit=st.integers(1, 500))


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    """One or two weighted columns of two or three, in any order, grouped anyhow."""
    columns = draw(st.permutations(range(3)))[: draw(st.integers(1, 3))]
    weighted = draw(st.sampled_from(columns)), draw(st.sampled_from(columns))
    groups = tuple(
        np.unique(draw(st.lists(st.integers(0, 2), min_size=SIZES[c], max_size=SIZES[c])), return_inverse=True)[1]
        for c in columns
    )
    chosen = tuple(draw(ramps(c)) if c in weighted else None for c in columns)
    return Moments(columns=tuple(columns), groups=groups, share=0.1, ramps=chosen)


def by_hand(block: Block, row: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """The cell of a row, and what it adds there, in plain integers."""
    cell, weight = tuple(int(g[row[c]]) for g, c in zip(block.groups, block.columns, strict=True)), 1
    for column, ramp in zip(block.columns, block.ramps, strict=True):
        if ramp is not None:
            fine = row[3 + FINE.index(column)] if column in FINE else row[column]
            told = int(ramp.start[row[column]]) + int(ramp.slope[row[column]]) * fine
            weight *= max(-ramp.limit, min(ramp.limit, told))
    return cell, weight


@given(rows, st.lists(blocks(), min_size=1, max_size=3), st.integers(1, 10), st.integers(1, 720_720))
@settings(deadline=None)
def test_sums_agree_with_adding_by_hand(
    table: list[tuple[int, ...]], wanted: list[Block], batch: int, person: int
) -> None:
    codes = np.array(table, dtype=np.int64).T
    weights = np.full(len(table), person)
    batches = [(codes[:, i : i + batch], weights[i : i + batch]) for i in range(0, len(table), batch)]
    for block, found in zip(wanted, weigh_blocks(batches, wanted, 3, FINE), strict=True):
        expected = np.zeros(block.shape, dtype=object)
        for row in table:
            cell, weight = by_hand(block, row)
            expected[cell] += person * weight
        assert found.tolist() == expected.tolist()


@given(rows, blocks(), st.sampled_from(Neighbours))
@settings(deadline=None)
def test_neighbours_move_a_moment_no_further_than_is_charged(
    table: list[tuple[int, ...]], block: Block, neighbours: Neighbours
) -> None:
    codes = np.array(table, dtype=np.int64).T
    replaced = neighbours is Neighbours.REPLACE_ONE
    others = codes[:, 1:] if not replaced else np.concatenate([codes[:, -1:], codes[:, 1:]], axis=1)
    one, two = (weigh_blocks([(c, None)], [block], 3, FINE)[0].ravel() for c in (codes, others))
    bound = block.sensitivity(neighbours, 1)
    assert float(np.abs(one - two).sum()) <= bound.l1
    assert float(np.sqrt(float(((one - two) ** 2).sum()))) <= bound.l2


def test_the_bound_is_reached() -> None:
    """By a row at one end of the only cell that becomes a row at its other end."""
    block = Moments(columns=(0,), groups=(np.zeros(3, dtype=np.int64),), share=0.1, ramps=(ramp(limit=7),))
    ends = [np.array([[atom], [0], [0]]) for atom in (0, 2)]
    one, two = (int(weigh_blocks([(codes, None)], [block], 3, ())[0][0]) for codes in ends)
    assert abs(one - two) == 14 == round(block.sensitivity(Neighbours.REPLACE_ONE, 1).l2)
    assert round(block.sensitivity(Neighbours.ADD_REMOVE, 3).l1) == 21


def ramp(limit: int) -> Ramp:
    return Ramp(start=np.array([-50, 0, 50]), slope=np.zeros(3, dtype=np.int64), limit=limit)


@pytest.mark.parametrize("neighbours", Neighbours)
def test_a_moment_is_charged_by_its_own_limit_and_told_in_rows(neighbours: Neighbours) -> None:
    codes = np.array([[0, 2, 2], [0, 1, 1], [0, 0, 0]])
    counts = ExactCounts.of(EncodedRows(lambda: iter([(codes, None)]), SIZES), SIZES)
    block = Moments(columns=(0, 1), groups=(np.zeros(3, int), np.arange(2)), share=0.5, ramps=(ramp(limit=50), None))
    privacy = Privacy(epsilon=1.0, delta=1e-6, neighbours=neighbours)
    (noisy,) = counts.privatise([block], open_filter(privacy, 1000), noise=RecordingNoise())
    assert noisy.values.tolist() == [[-1.0, 2.0]]
    assert noisy.measurement.step.sensitivity == row_sensitivity(neighbours, unit=50).l2
    assert noisy.measurement.step.sensitivity == noisy.least(neighbours).l2


def test_ramps_that_are_no_ramps_are_refused() -> None:
    with pytest.raises(ParameterError, match="a start and a slope for each atom"):
        Ramp(start=np.zeros(3, int), slope=np.zeros(2, int), limit=1)
    with pytest.raises(ParameterError, match="limit must be from 1"):
        ramp(limit=0)
    with pytest.raises(ParameterError, match="in size"):
        Ramp(start=np.array([2**60]), slope=np.array([0]), limit=1)
    with pytest.raises(ParameterError, match="one or two are weighted"):
        Moments(columns=(0,), groups=(np.arange(3),), share=0.1, ramps=(None,))
    large = Ramp(start=np.zeros(3, int), slope=np.zeros(3, int), limit=2**20)
    with pytest.raises(ParameterError, match=f"at most {LARGEST_SUM}"):
        Moments(columns=(0, 1), groups=(np.arange(3), np.arange(3)), share=0.1, ramps=(large, large))


def test_a_plan_that_weighs_rows_by_more_than_is_charged_is_refused() -> None:
    light, heavy = (
        Moments(
            columns=(0,),
            groups=(np.zeros(3, dtype=np.int64),),
            share=0.1,
            ramps=(Ramp(start=np.array([0, 1, 2]), slope=np.zeros(3, dtype=np.int64), limit=limit),),
        )
        for limit in (2, 3)
    )
    part = PartialWeights(Weighing.of([heavy]), len(SIZES), FINE)
    assert sums_of_blocks([heavy], [part])[0].tolist() == [0]
    with pytest.raises(PrivacyError, match="more than is charged"):
        sums_of_blocks([light], [part])


# How numbers go together: sums of products.


@st.composite
def spreads(draw: st.DrawFn) -> Spread:
    """All three columns, with any scores: some are so large that rows are beyond the limit, or the clamp."""
    some = st.one_of(st.integers(-20, 20), st.sampled_from([-(2**31), 2**24]))
    scores = tuple(np.array(draw(st.lists(some, min_size=size, max_size=size))) for size in SIZES)
    mixing = np.array(draw(st.lists(st.integers(-9, 9), min_size=9, max_size=9))).reshape(3, 3)
    groups = tuple(np.zeros(size, dtype=np.int64) for size in SIZES)
    limit = draw(st.integers(16, 90_000))
    return Spread(columns=(0, 1, 2), groups=groups, share=0.1, scores=scores, mixing=mixing, one=4, limit=limit)


def products_by_hand(spread: Spread, row: tuple[int, ...]) -> list[int]:
    """All q_i q_j of a row, i ≤ j, in plain integers; 0 for one that is too long."""
    scored = [int(own[atom]) for own, atom in zip(spread.scores, row, strict=False)]
    mixed = [sum(s * int(m) for s, m in zip(scored, column, strict=True)) for column in spread.mixing.T]
    q = [spread.one, *mixed]
    inside = sum(one * one for one in q) <= spread.limit
    return [q[i] * q[j] * inside for i in range(4) for j in range(i, 4)]


@given(rows, spreads(), st.integers(1, 10), st.integers(1, 720_720))
@settings(deadline=None)
def test_products_agree_with_adding_by_hand(
    table: list[tuple[int, ...]], spread: Spread, batch: int, person: int
) -> None:
    codes, weights = np.array(table, dtype=np.int64).T, np.full(len(table), person)
    batches = [(codes[:, i : i + batch], weights[i : i + batch]) for i in range(0, len(table), batch)]
    moment = Moments(columns=(0,), groups=(np.zeros(3, dtype=np.int64),), share=0.1, ramps=(ramp(limit=7),))
    found = weigh_blocks(batches, [spread, moment], 3, FINE)[0]
    by_row = [products_by_hand(spread, row) for row in table]
    assert found.ravel().tolist() == [person * sum(own) for own in zip(*by_row, strict=True)]


@given(rows, rows, spreads(), st.sampled_from(Neighbours))
@settings(deadline=None)
def test_neighbours_move_products_no_further_than_is_charged(
    table: list[tuple[int, ...]], others: list[tuple[int, ...]], spread: Spread, neighbours: Neighbours
) -> None:
    replaced = neighbours is Neighbours.REPLACE_ONE
    tables = (table, [others[0], *table[1:]]) if replaced else (table, table[1:])
    sums = [np.array([products_by_hand(spread, row) for row in one] or [[0] * 10], dtype=object) for one in tables]
    away = sums[0].sum(axis=0) - sums[1].sum(axis=0)
    bound = spread.sensitivity(neighbours, 1)
    assert float(np.abs(away).sum()) <= bound.l1
    assert float(np.sqrt(float((away**2).sum()))) <= bound.l2


def test_the_bound_of_products_is_reached() -> None:
    """By a row along one axis, of the largest length."""
    spread = toy_spread(scores=(np.array([0, 6]), np.array([0, 6])), limit=37, one=1)
    codes = np.array([[1, 0], [0, 1]])
    far, near = (weigh_blocks([(codes[:, [row]], None)], [spread], 2, ())[0].astype(np.float64) for row in (0, 1))
    assert 36.0**2 < float((far**2).sum()) <= 37.0**2
    assert float(((far - near) ** 2).sum()) <= spread.sensitivity(Neighbours.REPLACE_ONE, 1).l2 ** 2


def toy_spread(**changes: object) -> Spread:
    groups = tuple(np.zeros(2, dtype=np.int64) for _ in range(2))
    known = {"scores": (np.array([0, 1]), np.array([0, 1])), "mixing": np.eye(2, dtype=np.int64), "one": 2, "limit": 9}
    return Spread(columns=(0, 1), groups=groups, share=0.1, **(known | changes))


def test_spreads_that_are_no_spreads_are_refused() -> None:
    with pytest.raises(ParameterError, match="a score for each atom of each column"):
        toy_spread(mixing=np.eye(3, dtype=np.int64))
    with pytest.raises(ParameterError, match="which 64 bits do not hold"):
        toy_spread(scores=(np.array([0, 2**60]), np.array([0, 1])), mixing=4 * np.eye(2, dtype=np.int64))
    with pytest.raises(ParameterError, match="needs 1 ≤ one² ≤ limit"):
        toy_spread(limit=3)
    with pytest.raises(ParameterError, match="weighs the values of a column wrongly"):
        toy_spread(scores=(np.array([0, 1, 2]), np.array([0, 1]))).check((2, 2))
    assert toy_spread().moments(np.zeros(6), 1.0) is None
