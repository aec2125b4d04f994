"""Details: which pairs nearly determine each other, how finely they are measured, and what it gives."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

import kernelease as ke
from kernelease.fit.mixtures.mixture import Mixture
from kernelease.fit.solver import Outcome
from kernelease.measured.blocks import Block, details
from kernelease.measured.counts import Contrasts, Counts
from kernelease.methods.interactions.pairs import (
    MOST_DETAIL_NUMBERS,
    any_merged,
    detail_blocks,
    determination,
    merged_share,
)
from kernelease.table.columns.listed import Category
from kernelease.table.columns.numbers import Integer

ROWS = 20_000
EDGES = np.repeat(np.arange(10), 6)


def columns() -> list:
    return [
        Integer(name="start", min=0, max=59),
        Integer(name="end", min=0, max=59),
        Category(name="unit", values=tuple(map(str, range(60)))),
        Category(name="kind", values=("a", "b")),
    ]


def tied(strength: float) -> Mixture:
    """Components of which each has all columns in one of ten places, or anywhere."""
    sharp = np.repeat(np.eye(10), 6, axis=1) / 6
    wide = strength * sharp + (1.0 - strength) / 60
    kind = np.repeat(np.eye(2), 5, axis=0)
    return Mixture(
        weights=np.full(10, 0.1),
        columns=(wide, wide, wide, strength * kind + (1.0 - strength) / 2),
        chi_squared=1.0,
        outcome=Outcome.NOISE_FLOOR,
    )


def pairs() -> list[Block]:
    cells = [EDGES, EDGES, EDGES, np.arange(2)]
    sets = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    return [Contrasts(columns=s, groups=tuple(cells[i] for i in s), share=0.1) for s in sets]


def chosen(strength: float, *, noise: float = 10.0) -> tuple[Block, ...]:
    uniform = [np.full(column.size, 1.0 / column.size) for column in columns()]
    return detail_blocks(
        columns(), uniform, tied(strength), pairs(), rows=ROWS, shares=(0.04, 0.04), noise=lambda _: noise
    )


def test_a_forest_of_the_closest_pairs_has_details():
    blocks = chosen(1.0)
    assert sorted(block.columns for block in blocks) == [(0, 1), (0, 2)]  # cells tell the kind already
    assert sum(block.share for block in blocks) == pytest.approx(0.04)
    assert all(isinstance(block, Contrasts) for block in blocks)


def test_columns_that_go_their_own_ways_have_none():
    assert chosen(0.2) == ()


def test_fine_cells_never_part_a_cell_and_hold_rows_that_can_be_seen():
    for block in chosen(1.0, noise=150.0):
        for column, fine in zip(block.columns, block.groups, strict=True):
            if column < 3:
                assert len(np.unique(np.stack([EDGES, fine]), axis=1).T) == fine.max() + 1
            assert (np.bincount(fine).max() > 1) == (column < 2)  # only runs in an order are one


def test_rows_in_cells_of_several_atoms_are_what_details_are_for():
    distribution = np.array([0.5, 0.3, 0.1, 0.1])
    assert merged_share(np.array([0, 1, 2, 2]), distribution) == pytest.approx(0.2)
    block = Counts(columns=(0,), groups=(np.arange(4),), share=1.0)
    assert not any_merged([block], [distribution])


@given(arrays.arrays(np.float64, (3, 4), elements=st.floats(0.01, 1.0)))
def test_what_is_determined_is_between_nothing_and_all(joint):
    joint = joint / joint.sum()
    assert -1e-9 <= determination(joint) <= 1.0 + 1e-9
    assert determination(np.outer(joint.sum(axis=1), joint.sum(axis=0))) == pytest.approx(0.0, abs=1e-9)


def test_details_are_the_later_and_finer_blocks_of_two_columns():
    def block(columns, sizes):
        return Counts(columns=columns, groups=tuple(np.arange(size) for size in sizes), share=0.1)

    made = [block((0,), (4,)), block((0, 1), (4, 4)), block((0, 1), (2, 2)), block((1, 0), (8, 8)), block((0,), (9,))]
    assert details(made) == [3]


@pytest.fixture(scope="module")
def release() -> ke.Release:
    return released(0)


def released(seed: int) -> ke.Release:
    generator = np.random.default_rng(seed)
    start = generator.integers(0, 100, ROWS)
    table = pa.table(
        {
            "start": start,
            "end": np.minimum(start + (generator.random(ROWS) < 0.2), 99),
            "place": [f"p{i}" for i in generator.integers(0, 6, ROWS)],
            "kind": np.where(start < 40, "early", "late"),
        }
    )
    schema = ke.Schema.parse(
        "[columns.start]\ntype = 'integer'\nmin = 0\nmax = 99\n[columns.end]\ntype = 'integer'\nmin = 0\nmax = 99\n"
        "[columns.place]\ntype = 'category'\nvalues = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5']\n"
        "[columns.kind]\ntype = 'category'\nvalues = ['early', 'late']\n"
    )
    return ke.release(
        table,
        schema=schema,
        privacy=ke.Privacy(epsilon=1.0, delta=1e-6),
        noise=ke.SeededNoise(seed),
        seed=0,
    )


@pytest.mark.slow
@pytest.mark.statistical
def test_released_columns_determine_each_other_as_the_private_ones_do():
    """On average over five tables and noises, which are .72 ± .04 and .9757 ± .0011: both bounds are five errors away.

    Where only cells are told apart, an end follows its start in .2 of rows.
    """
    follows, agrees = [], []
    for seed in range(5):
        made = released(seed)
        rows = made.to_pandas(weights=False)
        assert len(made.measurements.measured.details) >= 1
        follows.append(np.mean((rows["end"] - rows["start"]).between(0, 1)))
        agrees.append(np.mean((rows["kind"] == "early") == (rows["start"] < 40)))
    assert np.mean(follows) > 0.5
    assert np.mean(agrees) > 0.97


def test_answers_come_from_the_pair_s_own_cells(release):
    low, high = release.probability("start < 33 and end < 33").interval()
    assert low <= 0.33 - 0.2 * 0.01 <= high
    own = [one for one in release.measurements.measured.blocks if one.block.columns == (0, 1)]
    answered = {item.columns: item.cells for item in release.answers().items}
    assert answered["start", "end"] == own[0].block.cells < own[-1].block.cells


def test_a_release_with_details_survives_its_file(release, tmp_path):
    path = release.save(tmp_path / "details.kernelease")
    again = ke.load(path)
    assert [one.block.columns for one in again.measurements.measured.details] == [
        one.block.columns for one in release.measurements.measured.details
    ]


def test_details_keep_to_their_limit_of_numbers():
    assert sum(block.cells for block in chosen(1.0)) <= MOST_DETAIL_NUMBERS
