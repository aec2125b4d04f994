"""Sides of rows: how far one row moves them, and rows that are dealt anew toward what was measured."""

import itertools
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.arrays import Integers
from kernelease.errors import ParameterError
from kernelease.measured.offsets import RowSides, Sides, likely
from kernelease.methods.interactions.pairs import CLEAR, DIM, SIDES, side_block, sides_share
from kernelease.privacy.sensitivity import Neighbours, sides_sensitivity
from kernelease.table.columns.listed import Category
from kernelease.table.columns.numbers import Integer

ROWS = 5_000


# What one row can change.


def products(row: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a * b for a, b in itertools.combinations(row, 2))


@pytest.mark.parametrize("columns", range(2, 7))
def test_no_row_moves_sides_further_than_is_charged(columns: int) -> None:
    """All rows of −1, 0 and 1, and all pairs of them."""
    vectors = np.array(sorted({products(row) for row in itertools.product((-1, 0, 1), repeat=columns)}), dtype=float)
    lengths, apart = np.linalg.norm(vectors, axis=1), np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    removed, replaced = (
        sides_sensitivity(relation, columns=columns) for relation in (Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE)
    )
    assert lengths.max() == pytest.approx(removed.l2)
    assert np.abs(vectors).sum(axis=1).max() == pytest.approx(removed.l1)
    assert apart.max() <= replaced.l2
    assert np.abs(vectors[:, None] - vectors[None]).sum(axis=2).max() <= replaced.l1
    if columns % 2 == 0:  # then two rows can differ in half of the columns
        assert apart.max() == pytest.approx(replaced.l2)


@pytest.mark.parametrize("columns", [4, 6])
def test_a_bound_as_of_vectors_with_inner_products_above_0_would_be_too_small(columns: int) -> None:
    """The broken twin: √2 times the length of one, as for counts."""
    one, other = (1,) * columns, (1, -1) * (columns // 2)
    apart = math.dist(products(one), products(other))
    assert apart > math.sqrt(2.0) * sides_sensitivity(Neighbours.ADD_REMOVE, columns=columns).l2
    assert apart <= sides_sensitivity(Neighbours.REPLACE_ONE, columns=columns).l2


def sides(*own: list[int], ordered: tuple[int, ...] | None = None) -> Sides:
    arrays = tuple(np.array(one) for one in own)
    return Sides(
        columns=tuple(range(len(own))),
        groups=tuple(np.zeros(len(one), dtype=np.int64) for one in own),
        share=0.1,
        sides=arrays,
        ordered=tuple(len(one) for one in own) if ordered is None else ordered,
    )


@pytest.mark.parametrize(
    ("own", "ordered", "message"),
    [
        ([[-1, 1]], None, "two columns or more"),
        ([[-1, 1], [1, 1]], None, "on both sides"),
        ([[-1, 1], [-1, 2]], None, "on both sides"),
        ([[-1, 1], [-1, 1]], (2, 3), "no more atoms are in an order"),
    ],
)
def test_what_has_no_sides_is_refused(own: list[list[int]], ordered: tuple[int, ...] | None, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        sides(*own, ordered=ordered)


# Rows that are dealt anew.


def numbers(correlation: float, count: int = ROWS) -> Integers:
    """Two numbers of ten values that go together, the second missing in a tenth of rows, and three names."""
    draw = np.random.default_rng(0)
    z = draw.normal(size=(3, count))
    z[1] = correlation * z[0] + math.sqrt(1 - correlation**2) * z[1]
    first, second = (np.clip(np.floor(1.5 * one + 5), 0, 9).astype(np.int64) for one in z[:2])
    return np.stack([first, np.where(draw.random(count) < 0.1, 10, second), draw.integers(0, 3, count)])


MIDDLE = [-1] * 5 + [1] * 5
BLOCK = sides(MIDDLE, [*MIDDLE, 0], [1, -1, -1], ordered=(10, 10, 0))


def mover(wanted: list[float], noise: float = 1e-3, columns: tuple[int | None, ...] = (0, 1, 2)) -> RowSides:
    """By mean products of sides: of the first two columns, of the first and third, of the second and third."""
    atoms = tuple(np.arange(len(own)) for own in BLOCK.sides)
    found = BLOCK.mover(np.array(wanted) * ROWS, noise * ROWS, float(ROWS), columns, atoms)
    assert found is not None
    return found


def mean_products(rows: Integers) -> list[float]:
    own = [side[column] for side, column in zip(BLOCK.sides, rows, strict=True)]
    return [float(np.mean(a * b)) for a, b in itertools.combinations(own, 2)]


def test_rows_come_to_lie_on_the_same_sides_as_was_measured() -> None:
    before, wanted = numbers(0.0), [0.5, 0.1, -0.2]
    after = mover(wanted).move(before, np.random.default_rng(1))
    assert mean_products(before)[0] == pytest.approx(0.0, abs=0.05)
    assert mean_products(after) == pytest.approx(wanted, abs=0.02)


def test_numbers_go_together_within_their_halves_too() -> None:
    """As normal numbers do: two that lie on the same sides more often go together value by value."""
    real = numbers(0.8)
    after = mover(mean_products(real)).move(numbers(0.0), np.random.default_rng(1))
    known = [rows[:, rows[1] < 10] for rows in (real, after)]
    wanted, found = (np.corrcoef(rows[0], rows[1])[0, 1] for rows in known)
    assert found == pytest.approx(wanted, abs=0.03)


def test_single_columns_and_what_is_missing_stay() -> None:
    before = numbers(0.0)
    after = mover([0.5, 0.1, -0.2]).move(before, np.random.default_rng(1))
    assert [np.sort(own).tolist() for own in after] == [np.sort(own).tolist() for own in before]
    assert np.array_equal(after[1] == 10, before[1] == 10)


def test_of_names_no_more_change_places_than_must() -> None:
    before = numbers(0.0)
    after = mover([0.0, 0.1, 0.0]).move(before, np.random.default_rng(1))
    assert 0.0 < np.mean(after[2] != before[2]) < 0.2


def test_what_noise_explains_moves_little() -> None:
    before = numbers(0.0)
    after = mover([0.2, -0.1, 0.1], noise=0.2).move(before, np.random.default_rng(1))
    assert mean_products(after) == pytest.approx(mean_products(before), abs=0.12)


def test_a_column_without_a_place_of_its_own_is_left_alone() -> None:
    before = numbers(0.0)
    after = mover([0.5, 0.1, 0.1], columns=(0, 1, None)).move(before, np.random.default_rng(1))
    assert np.array_equal(after[2], before[2])
    assert mean_products(after)[0] == pytest.approx(0.5, abs=0.02)
    atoms = tuple(np.arange(len(own)) for own in BLOCK.sides)
    assert BLOCK.mover(np.zeros(3), 1.0, float(ROWS), (0, None, None), atoms) is None


def test_so_few_rows_as_columns_are_left_alone() -> None:
    before = numbers(0.0, count=3)
    assert np.array_equal(mover([0.5, 0.1, 0.1]).move(before, np.random.default_rng(1)), before)


def test_likely_numbers_are_nearer_than_noisy_ones() -> None:
    draw = np.random.default_rng(0)
    true = np.where(draw.random(400) < 0.1, draw.normal(0.0, 0.6, 400), 0.0)
    noise = np.full(400, 0.15)
    found = true + noise * draw.normal(size=400)
    error, noisy = (float(np.mean((one - true) ** 2)) for one in (likely(found, noise), found))
    assert error < 0.35 * noisy


# What is measured.


def test_columns_are_cut_where_they_are_most_even_and_uneven_ones_are_left_out() -> None:
    integer = Integer(name="x", min=0, max=3, nullable=True)
    name = Category(name="c", values=("a", "b", "c"))
    even, names = np.array([0.3, 0.15, 0.25, 0.2, 0.1]), np.array([0.2, 0.5, 0.3])
    rare = np.array([0.9, 0.06, 0.02, 0.01, 0.01])
    block = side_block([integer, name, integer, None], [even, names, rare, names], 0.3)
    assert block is not None
    assert block.columns == (0, 1)
    assert [own.tolist() for own in block.sides] == [[-1, -1, 1, 1, 0], [-1, 1, -1]]
    assert block.ordered == (4, 0)
    assert side_block([integer, None], [even, names], 0.3) is None


def test_sides_get_what_they_need_and_nothing_where_they_stay_dim() -> None:
    def share(rows: float) -> float:
        return sides_share(20, rows, lambda moved, part: moved.l2 / part**0.5, Neighbours.REPLACE_ONE)

    def noise(rows: float) -> float:
        return 20.0 / share(rows) ** 0.5 / rows

    assert share(190.0) == 0.0
    assert share(210.0) == SIDES
    assert CLEAR < noise(210.0) <= DIM
    assert 0.0 < share(3_000.0) < SIDES
    assert 0.8 * CLEAR < noise(1_000.0) <= CLEAR


@pytest.mark.parametrize(("relation", "rows"), [("replace-one", 1_400), ("add-remove", 1_000)])
def test_a_release_of_few_rows_keeps_strong_correlations_and_can_be_verified(
    tmp_path: Path, relation: str, rows: int
) -> None:
    draw = np.random.default_rng(2)
    z = draw.normal(size=(10, rows))
    z[1], z[3] = 0.9 * z[0] + 0.44 * z[1], 0.85 * z[2] + 0.53 * z[3]
    table = pa.table({f"v{i}": np.clip(np.rint(50 + 15 * own), 0, 100).astype(np.int64) for i, own in enumerate(z)})
    columns = (f'[columns.v{i}]\ntype = "integer"\nmin = 0\nmax = 100\n' for i in range(len(z)))
    schema = ke.Schema.parse(f'[table]\nneighbours = "{relation}"\n' + "".join(columns))
    release = ke.release(table, schema=schema, privacy=(1.0, 1e-6), noise=ke.SeededNoise(3), seed=0)
    measured = release.measurements.measured
    assert [noisy.block.label for noisy in measured.moments][-1] == "sides of 10 columns"
    assert all(len(noisy.block.columns) < 2 for noisy in measured.blocks)
    for first, second in (("v0", "v1"), ("v2", "v3")):
        real, made = (np.corrcoef(one[first], one[second])[0, 1] for one in (table, release.rows))
        assert made > 0.5 * real
    release.save(tmp_path / "bundle")
    found = ke.verify(tmp_path / "bundle", refit=True)
    assert {"refit", "steps"} <= {one.check for one in found if one.holds}
