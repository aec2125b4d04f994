"""Numbers that go together more closely in a table than in a mixture's rows are brought together, value by value."""

import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.arrays import Floats, Integers
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.measured.spreads import RowSpread, Spread, SpreadMoments
from kernelease.methods.interactions.sets import spread_block
from kernelease.table.schema import Schema

ATOMS, ROWS = 200, 20_000
SCORES = np.rint((np.arange(ATOMS) - 99.5) * 64 / 33).astype(np.int64)  # 64 is a deviation


def spread(covariance: Floats, noise: float = 0.001) -> RowSpread:
    """What was measured of two columns: a covariance, in units of their own deviations."""
    block = Spread(
        columns=(0, 1),
        groups=(np.zeros(ATOMS, dtype=np.int64),) * 2,
        share=0.1,
        scores=(SCORES, SCORES),
        mixing=16 * np.eye(2, dtype=np.int64),
        one=1024,
        limit=2**24,
    )
    found = SpreadMoments(mean=np.zeros(2), covariance=covariance, noise=noise)
    return RowSpread(block=block, columns=(0, 2), atoms=(np.arange(ATOMS),) * 2, found=found)


def rows(correlation: float) -> Integers:
    """Two numbers and a third column between them that goes with the first."""
    draw = np.random.default_rng(0)
    z = draw.normal(size=(2, ROWS))
    second = correlation * z[0] + np.sqrt(1 - correlation**2) * z[1]
    x, y = (np.clip(np.rint(33 * one + 99.5), 0, ATOMS - 1).astype(np.int64) for one in (z[0], second))
    return np.stack([x, (x > 100).astype(np.int64), y])


def together(table: Integers) -> float:
    return float(np.corrcoef(table[0], table[2])[0, 1])


def test_rows_come_as_near_to_each_other_as_was_measured() -> None:
    before = rows(0.9)
    after = spread(np.array([[1.0, 0.99], [0.99, 1.0]])).move(before, np.random.default_rng(1))
    assert together(before) == pytest.approx(0.9, abs=0.01)
    assert together(after) == pytest.approx(0.99, abs=0.003)


def test_single_columns_stay_as_they_are() -> None:
    before = rows(0.9)
    after = spread(np.array([[1.0, 0.99], [0.99, 1.0]])).move(before, np.random.default_rng(1))
    assert [np.sort(own).tolist() for own in after] == [np.sort(own).tolist() for own in before]
    assert np.array_equal(after[1], before[1])


@pytest.mark.parametrize("covariance", [0.9, 0.88], ids=["as it is", "wider"])
def test_rows_that_are_as_near_as_was_measured_stay(covariance: float) -> None:
    before = rows(0.9)
    found = np.array([[1.0, covariance], [covariance, 1.0]])
    assert np.array_equal(spread(found).move(before, np.random.default_rng(1)), before)


def test_what_noise_may_explain_moves_no_row() -> None:
    before = rows(0.9)
    found = spread(np.array([[1.0, 0.99], [0.99, 1.0]]), noise=0.2)
    assert np.array_equal(found.move(before, np.random.default_rng(1)), before)


@pytest.mark.parametrize("places", [(0, 2), (2,), (0,)], ids=["all equal", "one constant", "the other"])
def test_rows_in_a_plane_are_not_moved_across_it(places: tuple[int, ...]) -> None:
    """A number that is the same in all rows, or all numbers: no direction is too wide, and nothing ends a release."""
    before = rows(0.9)
    before[list(places)] = 100
    after = spread(np.array([[1.0, 0.99], [0.99, 1.0]])).move(before, np.random.default_rng(1))
    assert np.array_equal(after[list(places)], before[list(places)])


def test_two_numbers_that_are_one_stay_one() -> None:
    """Their scores differ by where in a cell each is thought to be, and by no more after the move."""
    before = rows(0.9)
    before[2] = before[0]
    after = spread(np.array([[1.0, 1.0], [1.0, 1.0]])).move(before, np.random.default_rng(1))
    assert np.abs(after[2] - after[0]).max() <= 3


def test_a_few_rows_stay_as_they_are() -> None:
    before = rows(0.9)[:, :150]
    found = spread(np.array([[1.0, 0.99], [0.99, 1.0]]))
    assert np.array_equal(found.move(before, np.random.default_rng(1)), before)


def ratios() -> tuple[pa.Table, Schema]:
    """A weight, a height and what follows from both, some of them missing."""
    draw = np.random.default_rng(2)
    height = np.round(draw.normal(1.7, 0.09, ROWS), 2)
    weight = np.round(np.exp(draw.normal(np.log(72 * (height / 1.7) ** 1.5), 0.16)), 1)
    known = draw.random(ROWS) > 0.05
    index = np.round(weight / height**2, 1)
    group = draw.integers(0, 4, ROWS)
    table = pa.table(
        {
            "height": height,
            "weight": weight,
            "index": pa.array(index, mask=~known),
            "group": group,
            "kind": (group + draw.integers(0, 2, ROWS)) % 4,
        }
    )
    text = '[table]\nneighbours = "add-remove"\n'
    for name, high in (("height", 3), ("weight", 300), ("index", 100)):
        text += f'[columns.{name}]\ntype = "number"\nmin = 0\nmax = {high}\nnullable = true\n'
    for name in ("group", "kind"):
        text += f'[columns.{name}]\ntype = "integer"\nmin = 0\nmax = 3\n'
    return table, Schema.parse(text)


@pytest.fixture(scope="module")
def release() -> ke.Release:
    table, schema = ratios()
    with warnings.catch_warnings(action="ignore"):
        return ke.release(table, schema=schema, privacy=(3.0, 1e-6), noise=ke.SeededNoise(5))


def test_a_relation_of_three_numbers_is_seen_and_held(release: ke.Release) -> None:
    """No pair shows it."""
    measured = release.measurements.measured
    (look,) = [one for one in measured.moments if isinstance(one.block, Spread)]
    assert look is measured.moments[-1]
    assert look.block.columns == (0, 1, 2)
    off = [_off(release.rows), _off(ratios()[0])]
    assert off[1] < off[0] < 0.08


def _off(table: pa.Table) -> float:
    """How far rows are from the formula, in logarithms: the middle of them."""
    names = ["height", "weight", "index"]
    height, weight, index = (own.to_numpy() for own in table.select(names).drop_null().columns)
    fine = (height > 0) & (weight > 0) & (index > 0)
    return float(np.median(np.abs(np.log(weight[fine] / height[fine] ** 2 / index[fine]))))


def test_its_steps_are_taken_again_from_the_noise(release: ke.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "release")
    found = ke.verify(tmp_path / "release", refit=True)
    assert {"refit", "steps"} <= {one.check for one in found if one.holds}


def test_pure_privacy_takes_no_such_look() -> None:
    table, schema = ratios()
    with warnings.catch_warnings(action="ignore"):
        pure = ke.release(table, schema=schema, privacy=ke.Privacy(epsilon=3.0, delta=0.0), noise=ke.SeededNoise(5))
    assert not any(isinstance(one.block, Spread) for one in pure.measurements.measured.moments)


def test_no_look_is_planned_whose_noise_could_not_be_drawn(release: ke.Release) -> None:
    """By then the budget is charged."""
    measured = release.measurements.measured
    columns = measured.domain_of(release.measurements.domain).schema.columns
    mixture = MixtureSolver(components=5, steps=5).solve(measured, ke.PublicSeed(0))
    assert spread_block(columns, mixture, 1e6, 0.1, lambda _: 10.0) is not None
    assert spread_block(columns, mixture, 1e6, 0.1, lambda _: 10.0, unit=2**40) is None
    assert spread_block(columns, mixture, 1e6, 0.1, lambda _: 1e9) is None
    assert spread_block(columns[3:], mixture, 1e6, 0.1, lambda _: 10.0) is None
