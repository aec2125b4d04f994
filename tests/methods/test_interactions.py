"""Interactions: how the budget is parted, what is measured, what a release keeps of a table."""

import dataclasses
import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from kernelease.certificate import Measurements
from kernelease.errors import CapacityError, ParameterError, SchemaError
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.fit.mixtures.one_way import one_ways
from kernelease.measured.blocks import Block, finest
from kernelease.measured.counts import Contrasts
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.interactions.pairs import (
    FAINT_FOR_FEW,
    FAVOUR,
    LEAST_FOR_FEW,
    MOST_FOR_FEW,
    MOST_OF_ONE,
    blocks_of,
    in_few_cells_too,
    pair_blocks,
    second_look,
    worth_adding,
)
from kernelease.methods.interactions.sets import MOST_FOURS, MOST_SET_NUMBERS, Cells, candidates
from kernelease.methods.interactions.singles import TRIPLE, Shares, cells_of, coarser, width
from kernelease.noises import SeededNoise
from kernelease.pipeline import measure
from kernelease.privacy import Law, Neighbours, Privacy
from kernelease.seeds import PublicSeed
from kernelease.table import Category, Integer, Schema
from kernelease.table.domains import TableDomain
from tests.fit.tables import all_blocks, dependent, noisy_blocks

QUICK = MixtureSolver(components=40, steps=80)
PRIVACY = Privacy(epsilon=2.0, delta=1e-6)


def schema_of(sizes: list[int], neighbours: str = "replace-one") -> Schema:
    columns = tuple(Category(name=f"c{i}", values=tuple(range(size))) for i, size in enumerate(sizes))
    return Schema(columns, neighbours=neighbours)


def table_of(codes: np.ndarray) -> pa.Table:
    return pa.table({f"c{i}": column for i, column in enumerate(codes)})


def parity(rows: int, columns: int = 6, seed: int = 0, size: int = 3) -> np.ndarray:
    """Fair coins, but the third (or fourth) is the parity of those before it: no fewer columns tell anything."""
    codes = np.random.default_rng(seed).integers(0, 2, (columns, rows))
    codes[size - 1] = codes[: size - 1].sum(axis=0) % 2
    return codes


def measured(codes: np.ndarray, sizes: list[int], neighbours: str = "replace-one", **options: object) -> Measurements:
    method = Interactions(solver=QUICK, **options)
    schema = schema_of(sizes, neighbours)
    return measure(table_of(codes), schema=schema, privacy=PRIVACY, method=method, noise=SeededNoise(1))


# Shares.


@given(
    st.integers(1, 200),
    st.floats(1e-6, 1e9),
    st.booleans(),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 100)),
)
def test_shares_are_positive_and_add_up_to_1(
    columns: int, signal: float, known: bool, target: bool, triples: int | None
) -> None:
    shares = Shares.rule(columns, signal, known_rows=known, target=target and columns > 2, triples=triples)
    parts = [getattr(shares, field.name) for field in dataclasses.fields(shares) if field.name not in ("count", "most")]
    assert min(parts) >= 0.0
    assert sum(parts) == pytest.approx(1.0)
    assert (shares.triples > 0.0) == (shares.count > 0)
    assert shares.pairs > 0.0 or columns == 1


@given(st.integers(2, 200), st.floats(1e-6, 1e9), st.integers(0, 5000))
def test_shares_add_up_to_1_where_pairs_are_chosen(columns: int, signal: float, most: int) -> None:
    rule = Shares.rule(columns, signal, known_rows=False, target=False)
    for shares in (rule.alone(0.0), rule.alone(0.25), rule.with_choice(most + 1)):
        names = {field.name for field in dataclasses.fields(shares)} - {"count", "most"}
        parts = [getattr(shares, name) for name in names]
        assert min(parts) >= 0.0
        assert sum(parts) == pytest.approx(1.0)
        assert (shares.pairs > 0.0) == ((shares.most or 0) > 0)


@given(st.integers(3, 200), st.floats(1e-6, 1e9), st.booleans())
def test_a_set_of_three_gets_its_part_of_what_a_pair_gets(columns: int, signal: float, target: bool) -> None:
    shares = Shares.rule(columns, signal, known_rows=False, target=target)
    if shares.count:
        pair = shares.pairs / (columns * (columns - 1) / 2)
        assert shares.triples / shares.count == pytest.approx(TRIPLE * pair)


# Cells.


distributions = st.lists(st.floats(0.001, 1.0), min_size=1, max_size=40).map(lambda x: np.array(x) / np.sum(x))


@given(distributions, st.floats(0.001, 0.9), st.data())
def test_cells_are_numbered_from_0_and_hold_enough(p: np.ndarray, least: float, data: st.DataObject) -> None:
    ordered = data.draw(st.integers(0, len(p)))
    cells = cells_of(p, least, ordered)
    assert sorted(set(cells.tolist())) == list(range(cells.max() + 1))
    assert (np.diff(cells[:ordered]) >= 0).all()
    masses = np.bincount(cells, p)
    if ordered in (0, len(p)):
        assert (masses < least * 0.5).sum() <= (1 if ordered == 0 else np.isin(cells, cells[p >= least]).sum() + 1)
    again = coarser(cells, p, 2 * least, ordered)
    assert all(len(set(again[cells == cell].tolist())) == 1 for cell in range(cells.max() + 1))


# Budget.


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("target", [None, "c1"])
def test_all_of_the_budget_is_used_and_no_more(neighbours: str, target: str | None) -> None:
    found = measured(parity(3000), [2] * 6, neighbours, target=target, triples=4)
    certificate = found.certificate
    assert 0.97 * certificate.mu <= certificate.spent.mu <= certificate.mu
    laws = [step.law for step in certificate.steps]
    assert laws.count(Law.EXPONENTIAL) == len(found.measured.selections) > 0
    assert laws.count(Law.GAUSSIAN) == len(found.measured.blocks)


def test_the_number_of_rows_is_measured_only_where_it_is_private() -> None:
    known, private = (measured(parity(3000), [2] * 6, name) for name in ("replace-one", "add-remove"))
    assert known.measured.rows == 3000.0
    assert private.measured.rows != 3000.0
    assert private.measured.rows == pytest.approx(3000.0, rel=0.1)


@pytest.mark.parametrize("pure", [True, False])
def test_one_column_and_two_columns_work(pure: bool) -> None:
    privacy = Privacy(epsilon=2.0, delta=0.0 if pure else 1e-6)
    for count in (1, 2, 3):
        found = measure(
            table_of(parity(500)[:count]),
            schema=schema_of([2] * count),
            privacy=privacy,
            method=Interactions(solver=QUICK),
            noise=SeededNoise(0),
        )
        assert found.fit(method=Interactions(solver=QUICK)).table.num_rows == 500


# What is measured.


def test_rounds_are_marked_and_only_later_ones_were_chosen() -> None:
    blocks = measured(parity(3000), [2] * 6).measured
    assert {block.round for block in blocks.blocks if len(block.block.columns) < 3} == {0}
    assert {block.round for block in blocks.blocks if len(block.block.columns) > 2} == {1}


@pytest.mark.slow
def test_a_dependence_of_three_columns_is_found_and_kept() -> None:
    """No pair of columns shows it. The same fit without sets of three misses it."""
    codes = parity(20_000)
    found, without = measured(codes, [2] * 6), measured(codes, [2] * 6, triples=0)
    assert (0, 1, 2) in [block.block.columns for block in found.measured.blocks]
    kept = []
    for measurements in (found, without):
        rows = measurements.fit(method=Interactions(solver=MixtureSolver(components=60, steps=300)))
        a, b, c = (rows.table.column(f"c{i}").to_numpy() for i in range(3))
        kept.append(float(((a + b) % 2 == c).mean()))
    assert kept[0] > 0.9
    assert kept[1] < 0.6


@pytest.mark.slow
def test_a_dependence_of_four_columns_is_found_and_kept() -> None:
    """No three columns show it, of ten."""
    codes = parity(100_000, columns=10, size=4)
    method = Interactions(solver=MixtureSolver(components=150, steps=300))
    privacy = Privacy(epsilon=1.0, delta=1e-9)
    found = measure(table_of(codes), schema=schema_of([2] * 10), privacy=privacy, method=method, noise=SeededNoise(1))
    chosen = [block for block in found.measured.blocks if len(block.block.columns) > 2]
    assert chosen[0].block.columns == (0, 1, 2, 3)  # in the first choice of all
    rows = found.fit(method=method)
    a, b, c, d = (rows.table.column(f"c{i}").to_numpy() for i in range(4))
    assert float(((a + b + c) % 2 == d).mean()) > 0.9
    even = rows.probability("c0 == 1 and c1 == 1 and c2 == 1 and c3 == 1")
    assert even.interval()[0] > 0.1  # by the counts of all four: any three would say 1/16


def test_cells_of_four_are_coarser_than_those_of_three_and_never_part_them() -> None:
    sizes = (30, 30, 30, 30, 2)
    codes = dependent(20_000, sizes)
    noisy, pairs = noisy_blocks(codes, sizes, ordered=(30, 30, 0, 0, 0)), all_blocks(sizes)[5:]
    shares = [one.distribution for one in one_ways(noisy)]
    cells = Cells.of(noisy, shares, pairs, count=10, share=0.5, noise=lambda share: 4.0 / share**0.5)
    for fine, coarse in zip(cells.threes[:4], cells.fours[:4], strict=True):
        assert len(set(zip(fine.tolist(), coarse.tolist(), strict=True))) == width(fine) >= width(coarse) > 1
    assert sum(map(width, cells.fours)) < sum(map(width, cells.threes))
    assert cells.threes[4].tolist() == cells.fours[4].tolist() == [0, 1]
    assert cells.any_sets(pairs)
    assert not Cells.of(noisy, shares, pairs, count=0, share=0.0, noise=lambda share: 1.0).any_sets(pairs)


def test_sets_of_four_are_few_and_no_larger_than_their_part_of_all_numbers() -> None:
    sizes = (30,) * 24
    codes = np.random.default_rng(0).integers(0, 30, (24, 2000))
    noisy = noisy_blocks(codes, sizes, all_blocks(sizes, 1), epsilon=1000.0)
    shares = [one.distribution for one in one_ways(noisy)]
    cells = Cells.of(noisy, shares, all_blocks(sizes)[24:], count=40, share=0.5, noise=lambda share: 1e-6)
    mixture = MixtureSolver(components=5, steps=2).solve(noisy, PublicSeed(0))
    blocks, most = candidates(noisy, mixture, cells, count=40, share=0.5)
    fours = [block for block in blocks if len(block.columns) == 4]
    assert len(fours) == MOST_FOURS
    assert max(block.cells for block in fours) * 40 <= MOST_SET_NUMBERS
    assert most * max(block.cells for block in blocks) <= MOST_SET_NUMBERS


@pytest.mark.slow
def test_a_parity_is_found_among_more_sets_than_are_looked_at() -> None:
    """There are 1,140 sets of 20 columns; the others depend on each other, and these three don't, two by two."""
    generator, rows = np.random.default_rng(0), 8000
    common = generator.random(rows)
    others = [((common + 0.2 * generator.random(rows)) * 3).astype(np.int64) for _ in range(17)]
    found = measured(np.stack([*parity(rows, columns=3), *others]), [2] * 3 + [4] * 17)
    assert (0, 1, 2) in [block.block.columns for block in found.measured.blocks]


def test_rows_that_do_not_hold_what_was_measured_are_warned_of() -> None:
    first = np.random.default_rng(0).integers(0, 6, 5000)
    codes = np.stack([first, first, first // 2, *parity(5000)[:3]])
    found = measured(codes, [6, 6, 3, 2, 2, 2])
    with pytest.warns(
        UserWarning, match=r"do not hold.* is [0-9.]+ for c[0-9] × c[0-9].*, above it for [0-9]+"
    ) as said:
        found.fit(method=Interactions(solver=MixtureSolver(components=1)))
    assert len(said) == 1


def test_a_target_has_a_larger_share_of_pairs_where_counts_are_faint() -> None:
    blocks = measured(parity(3000), [2] * 6, target="c1").measured.blocks
    pairs = [block.block for block in blocks if len(block.block.columns) == 2]
    assert all(isinstance(block, Contrasts) for block in pairs)
    shares = {1 in block.columns: block.share for block in pairs}
    assert shares[True] == pytest.approx(FAVOUR * shares[False])


def test_with_a_target_every_pair_is_counted_per_class_where_noise_is_small() -> None:
    blocks = measured(parity(60_000), [2] * 6, target="c1").measured.blocks
    sets = {frozenset(block.block.columns) for block in blocks if block.round == 0}
    others = [0, 2, 3, 4, 5]
    assert {frozenset((i, j, 1)) for i, j in itertools.combinations(others, 2)} <= sets
    assert {frozenset((i, 1)) for i in others} <= sets


def test_where_pairs_would_drown_single_columns_get_the_rest() -> None:
    found = measured(parity(20), [2] * 6)
    assert {len(block.block.columns) for block in found.measured.blocks} == {1}
    assert found.certificate.spent.mu == pytest.approx(found.certificate.mu, rel=1e-6)


def test_pairs_are_counted_in_fewer_cells_where_there_is_less_budget() -> None:
    schema = Schema((Integer(name="c0", min=0, max=99), Integer(name="c1", min=0, max=99)))
    table = table_of(np.random.default_rng(0).integers(0, 100, (2, 20_000)))
    numbers = []
    for epsilon in (0.1, 1.0, 10.0):
        privacy = Privacy(epsilon=epsilon, delta=1e-6)
        found = measure(table, schema=schema, privacy=privacy, noise=SeededNoise(0))
        numbers.append(sum(block.block.cells for block in found.measured.blocks if len(block.block.columns) == 2))
    assert numbers[0] < numbers[1] < numbers[2]


def test_categories_are_counted_in_finer_cells_than_numbers() -> None:
    order = tuple(range(100))
    columns = Integer(name="c0", min=0, max=99), Category(name="c1", values=order), Category(name="c2", values=order)
    table = table_of(np.random.default_rng(0).integers(0, 100, (3, 20_000)))
    found = measure(table, schema=Schema(columns), privacy=PRIVACY, noise=SeededNoise(0))
    (shape,) = {b.block.shape for b in found.measured.blocks if b.block.columns == (0, 1)}
    assert 1 < shape[0] <= 50
    assert shape[1] == 100


def test_a_category_of_many_values_is_counted_in_no_more_cells_than_are_allowed() -> None:
    columns = Category(name="c0", values=("no", "yes")), Category(name="c1", values=tuple(range(400)))
    uniform = np.full(400, 1.0 / 400)
    (block,) = pair_blocks(
        columns, [np.array([0.5, 0.5]), uniform], rows=1e6, share=1.0, noise=lambda share: 5.0 / share**0.5
    )
    assert block.shape[0] == 2
    assert MOST_OF_ONE / 2 < block.shape[1] <= MOST_OF_ONE


# A second look at pairs.


positive = st.floats(1e-3, 1e3)


@given(st.lists(st.tuples(positive, positive, st.floats(1e-4, 1.0)), min_size=1, max_size=8), positive, st.data())
def test_what_is_added_is_best_where_it_is(
    pairs: list[tuple[float, float, float]], total: float, data: st.DataObject
) -> None:
    """No other division of the same total leaves less wrong: what is left is convex, so moves between two suffice."""
    signal, noise, had = np.array(pairs).T
    more = worth_adding(signal, noise, had, total)
    assert more.min() >= 0.0
    assert more.sum() == pytest.approx(total)

    def wrong(added: np.ndarray) -> float:
        return float((signal * noise / (signal * (had + added) + noise)).sum())

    one, other = (data.draw(st.integers(0, len(pairs) - 1)) for _ in range(2))
    moved = more.copy()
    step = moved[one] * data.draw(st.floats(0.0, 1.0))
    moved[one] -= step
    moved[other] += step
    assert wrong(more) <= wrong(moved) * (1.0 + 1e-9)


def looked_at(tie: float) -> tuple[Block, ...]:
    """What is looked at twice of four columns of six values, of which the first two go together so closely."""
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 6, (4, 2_000))
    codes[1] = np.where(generator.random(2_000) < tie, codes[0], codes[1])
    pairs = list(itertools.combinations(range(4), 2))
    cells = [np.arange(6)] * 4
    first = blocks_of(pairs, cells, 0.5, centred=True)
    noisy = noisy_blocks(codes, (6,) * 4, list(first))
    return second_look(noisy, first, [np.full(6, 1.0 / 6.0)] * 4, 0.2)


def test_a_second_look_is_at_what_goes_together() -> None:
    tied, apart = looked_at(0.5), looked_at(0.0)
    assert [block.columns for block in tied] == [(0, 1)]
    assert sum(block.share for block in tied) == pytest.approx(0.2)
    assert len(apart) == 6
    assert [block.share for block in apart] == pytest.approx([0.2 / 6.0] * 6)


# Refusals.


NUMBERS = tuple(Integer(name=f"n{i}", min=0, max=63) for i in range(2))


@given(st.floats(1.0, 5000.0), st.integers(0, 2**32 - 1))
def test_pairs_are_measured_in_few_cells_too_where_counts_are_faint(noise: float, seed: int) -> None:
    columns = (*NUMBERS, Category(name="c", values=tuple(range(12))), Category(name="two", values=(0, 1)))
    generator = np.random.default_rng(seed)
    distributions = [generator.dirichlet(np.full(column.size, 0.3)) for column in columns]
    rows = 20_000.0
    fine = [np.minimum(np.arange(column.size) // 2, 23) for column in columns[:2]] + [np.arange(12), np.arange(2)]
    before = blocks_of(list(itertools.combinations(range(4), 2)), fine, 0.5, centred=True)
    after = in_few_cells_too(before, columns, distributions, rows=rows, noise=lambda _: noise)
    assert sum(block.share for block in after) == pytest.approx(0.5)
    part = min(MOST_FOR_FEW, FAINT_FOR_FEW * (noise / rows) ** 0.5)
    kept = [after[place] for place in finest(after)]
    assert [block.columns for block in kept] == [block.columns for block in before]
    assert sum(block.cells for block in after) <= 1.5 * sum(block.cells for block in before)
    for block in after:
        if not any(block is one for one in kept):
            own = next(one for one in kept if one.columns == block.columns)
            assert isinstance(block, Contrasts)
            assert 2 * block.cells <= own.cells
            assert block.share == pytest.approx(part / (1.0 - part) * own.share)
            for few, many in zip(block.groups, own.groups, strict=True):
                assert len(np.unique(np.stack([few, many]), axis=1).T) == len(np.unique(many))
    assert (len(after) == len(before)) == (part < LEAST_FOR_FEW)


def test_a_target_that_is_no_column_is_refused_before_anything_is_read() -> None:
    with pytest.raises(SchemaError, match="no column 'x'"):
        measure(object(), schema=schema_of([2, 2, 2]), privacy=PRIVACY, method=Interactions(target="x"))


def test_too_many_columns_are_refused() -> None:
    Interactions().check(TableDomain(schema_of([2] * 1000)))
    with pytest.raises(CapacityError, match="1001 columns are too many"):
        Interactions().check(TableDomain(schema_of([2] * 1001)))


def test_a_negative_number_of_triples_is_refused() -> None:
    with pytest.raises(ParameterError, match="triples"):
        Interactions(triples=-1)


def test_neighbours_of_the_schema_are_those_of_the_release() -> None:
    assert measured(parity(300), [2] * 6, "add-remove").certificate.neighbours is Neighbours.ADD_REMOVE
