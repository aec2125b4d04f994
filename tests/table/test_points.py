"""Atoms of their own for `min` and `max`: for every range, resolution and number of cells."""

import datetime
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.errors import SchemaError
from kernelease.table import Column, Date, Datetime, Integer, Number
from kernelease.table.columns import Celled, Stepped
from kernelease.table.columns.cells import Levels

EPOCH = datetime.datetime(1970, 1, 1)
CELLS = st.none() | st.integers(1, 400)


@st.composite
def integers(draw: st.DrawFn) -> Integer:
    low = draw(st.integers(-(2**53), 2**53 - 1))
    high = draw(st.integers(low + 1, min(2**53, low + draw(st.sampled_from((3, 300, 10**6, 2**54))))))
    resolution = draw(st.integers(1, max(1, min(high - low, 50))))
    return Integer(name="x", min=low, max=high, resolution=resolution, cells=draw(CELLS))


@st.composite
def dates(draw: st.DrawFn) -> Date:
    low, high = sorted(draw(st.lists(st.dates(), min_size=2, max_size=2, unique=True)))
    resolution = draw(st.integers(1, min((high - low).days, 31)))
    return Date(name="x", min=low, max=high, resolution=resolution, cells=draw(CELLS))


@st.composite
def datetimes(draw: st.DrawFn) -> Datetime:
    low, high = sorted(draw(st.lists(st.datetimes(), min_size=2, max_size=2, unique=True)))
    resolution = min((high - low).total_seconds(), draw(st.sampled_from((1e-6, 0.5, 1, 3600))))
    try:
        return Datetime(name="x", min=low, max=high, resolution=resolution, cells=draw(CELLS))
    except SchemaError:  # a range that float64 does not hold to the microsecond
        return Datetime(name="x", min=EPOCH, max=EPOCH.replace(year=2000), cells=draw(CELLS))


@st.composite
def numbers(draw: st.DrawFn) -> Number:
    scale = draw(st.sampled_from((1e-300, 1e-3, 1.0, 1e6, 1e140)))
    low = draw(st.sampled_from((0.0, -1.0, 17.5, -1e3))) * scale
    high = low + draw(st.floats(0.01, 1e4)) * scale
    return Number(name="x", min=low, max=high, cells=draw(CELLS))


@st.composite
def decimals(draw: st.DrawFn) -> Number:
    digits = draw(st.integers(0, 4))
    low = draw(st.integers(-(10**6), 10**6))
    levels, step = draw(st.integers(1, 5000)), draw(st.integers(1, 25))
    extra = draw(st.integers(0, step - 1))  # `max` need not be a legal value
    return Number(
        name="x",
        min=float(f"{low}e-{digits}"),
        max=float(f"{low + levels * step + extra}e-{digits}"),
        resolution=float(f"{step}e-{digits}"),
        cells=draw(CELLS),
    )


STEPPED = st.one_of(integers(), dates(), datetimes())
EVERY = st.one_of(STEPPED, numbers(), decimals())


def ticks(column: Stepped, values: np.ndarray) -> pa.Array:
    """Whole ticks as values of the column's type."""
    whole = pa.array(values, pa.int64())
    return (whole.cast(pa.int32()) if isinstance(column, Date) else whole).cast(column.arrow_type)


@settings(deadline=None)
@given(EVERY, st.integers(0, 2**32))
def test_decoding_then_encoding_is_the_identity(column: Column, seed: int) -> None:
    codes = np.arange(column.size)
    values = column.decode(codes, np.random.default_rng(seed))
    np.testing.assert_array_equal(column.encode(values), codes)


@settings(deadline=None)
@given(STEPPED)
def test_cells_part_the_legal_values(column: Stepped) -> None:
    lowest, highest = column.bounds()
    assert (lowest[0], highest[-1]) == (column.low, column.top)
    assert column.low <= column.top <= column.high < column.top + column.tick
    np.testing.assert_array_equal(highest[:-1] + column.tick, lowest[1:])
    for bound in (lowest, highest):
        np.testing.assert_array_equal(column.encode(ticks(column, bound)), np.arange(column.cell_count))
    beyond = highest[:-1] + column.tick - 1  # not legal, unless the tick is 1: rounded down
    np.testing.assert_array_equal(column.encode(ticks(column, beyond)), np.arange(column.cell_count - 1))


@settings(deadline=None)
@given(decimals())
def test_cells_part_the_decimals(column: Number) -> None:
    for bound in column.bounds():
        np.testing.assert_array_equal(column.encode(pa.array(bound)), np.arange(column.cell_count))


@settings(deadline=None)
@given(EVERY)
def test_points_hold_one_value_and_the_cells_between_are_equal(column: Celled) -> None:
    lowest, highest = column.bounds()
    most = column.cells or 256
    assert column.cell_count <= most
    if column.points:
        assert (lowest[0], lowest[-1]) == (highest[0], highest[-1])
        assert most >= 4
    else:
        assert (lowest == highest).all() or most < 4
    widths = np.diff(lowest[column.points : column.cell_count - column.points].astype(np.float64))
    np.testing.assert_allclose(widths, widths[:1].repeat(len(widths)), rtol=1e-4)


@settings(deadline=None)
@given(integers().filter(lambda column: column.resolution == 1), st.lists(st.integers(-(2**60), 2**60), min_size=1))
def test_clamped_integers_and_no_others_are_in_the_points(column: Integer, more: list[int]) -> None:
    cells = np.array([*more, *(end + step for end in (column.min, column.max) for step in (-1, 0, 1))])
    codes = column.encode(pa.array(cells))
    assert (codes[cells <= column.min] == 0).all()
    assert (codes[cells >= column.max] == column.cell_count - 1).all()
    if column.points:
        inside = (column.min < cells) & (cells < column.max)
        assert ((codes[inside] > 0) & (codes[inside] < column.cell_count - 1)).all()


@settings(deadline=None)
@given(numbers(), st.lists(st.floats(allow_nan=False), min_size=1), st.lists(st.floats(0.0, 1.0)))
def test_clamped_numbers_and_no_others_are_in_the_points(
    column: Number, more: list[float], shares: list[float]
) -> None:
    near = [math.nextafter(end, side) for end in (column.min, column.max) for side in (-math.inf, end, math.inf)]
    cells = np.array([*more, *near, *(column.min + share * (column.max - column.min) for share in shares)])
    codes = column.encode(pa.array(cells))
    if column.points:
        np.testing.assert_array_equal(codes == 0, cells <= column.min)
        np.testing.assert_array_equal(codes == column.cell_count - 1, cells >= column.max)
    assert (np.diff(codes[np.argsort(cells)]) >= 0).all()


@given(st.integers(1, 3000), st.integers(1, 400))
def test_levels_are_in_as_many_cells_as_stated(number: int, most: int) -> None:
    levels = Levels(number, most)
    first, last = levels.bounds()
    assert len(first) == levels.cells <= most
    np.testing.assert_array_equal(
        np.concatenate([np.arange(a, b + 1) for a, b in zip(first, last, strict=True)]), range(number)
    )
    runs = (last - first + 1)[levels.points : levels.cells - levels.points]
    assert (runs[:-1] == levels.run).all()
    assert 1 <= runs[-1] <= levels.run


def test_enough_cells_for_all_levels_have_no_points() -> None:
    assert (Levels(5, 5).points, Levels(6, 5).points) == (0, 1)


def test_values_are_uniform_between_the_points() -> None:
    column = Number(name="x", min=0.1, max=0.7, cells=6)
    codes = np.arange(6).repeat(4000)
    values = column.decode(codes, np.random.default_rng(8)).to_numpy().reshape(6, -1)
    assert set(values[0]) == {0.1}
    assert set(values[-1]) == {0.7}
    within = (values[1:-1] - column.edges()[1:5, None]) / column.width
    for row in within:  # Kolmogorov: sqrt(n)·D is above 2.2 once in 8,000 times, were the seed not fixed
        assert np.abs(np.sort(row) - np.linspace(0.0, 1.0, len(row))).max() < 2.2 / np.sqrt(len(row))


@pytest.mark.parametrize("cells", [1, 2, 3])
def test_fewer_than_four_cells_have_no_points(cells: int) -> None:
    column = Number(name="x", min=0.0, max=9.0, cells=cells)
    assert column.points == Integer(name="x", min=0, max=9, cells=cells).points == 0
    assert column.edges().tolist() == np.linspace(0.0, 9.0, cells + 1).tolist()


def test_a_point_is_labelled_with_its_value() -> None:
    assert Number(name="x", min=-1.25, max=2.75, cells=4).labels() == ("-1.25", "(-1.25, 0.75)", "[0.75, 2.75)", "2.75")
    assert Integer(name="x", min=0, max=100, resolution=10, cells=5).labels() == (
        "0",
        "10..30",
        "40..60",
        "70..90",
        "100",
    )
    narrow = Number(name="x", min=1000.0, max=1000.1)
    assert len(set(narrow.labels())) == narrow.size
