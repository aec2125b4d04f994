"""Numbers that span decades, decimals, and names in groups."""

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.errors import CapacityError, SchemaError
from kernelease.table import Hierarchy, Integer, Number, Schema
from kernelease.table.atom_features import atom_kernel
from kernelease.table.columns.cells import log_cuts
from kernelease.table.columns.listed import MOST_VALUES
from kernelease.table.columns.registry import column_to_dict


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 1000), st.integers(2, 10**12), st.integers(1, 7), st.integers(4, 300), st.integers(0, 2**60))
def test_the_cell_of_an_integer_is_that_whose_bounds_hold_it(
    low: int, span: int, resolution: int, cells: int, value: int
) -> None:
    column = Integer(name="x", min=low, max=low + span * resolution, resolution=resolution, scale="log", cells=cells)
    lowest, highest = column.bounds()
    assert (lowest[1:] == highest[:-1] + resolution).all()
    assert column.cell_count <= cells
    code = int(column.encode(pa.array([value]))[0])
    clamped = min(max(value, column.low), column.top)
    assert lowest[code] <= clamped < highest[code] + resolution


def test_cells_widen_in_proportion() -> None:
    column = Integer(name="x", min=0, max=10**9, scale="log", cells=100)
    lowest, highest = column.bounds()
    assert (lowest[0], highest[0], lowest[-1]) == (0, 0, 10**9)
    assert column.encode(pa.array([0, 1, 10**9])).tolist() == [0, 1, column.size - 1]
    ratios = (highest[1:-1] + 1) / lowest[1:-1]
    assert ratios[lowest[1:-1] > 100].max() < 1.25


def test_cuts_are_short_decimals() -> None:
    assert [float(cut) for cut in log_cuts(Fraction(1), Fraction(10**6), 6)] == [10.0, 100.0, 1000.0, 1e4, 1e5]
    near = log_cuts(Fraction(1), Fraction(1_000_001, 1_000_000), 4)
    assert len(set(map(float, near))) == 3  # six digits would not part them
    nearer = log_cuts(Fraction(1), Fraction(10**13 + 1, 10**13), 4)
    assert list(nearer) == sorted(set(nearer))


def test_zero_is_a_point_of_its_own() -> None:
    column = Number(name="x", min=0, max=1e6, decimals=2, scale="log", cells=20)
    assert column.encode(pa.array([-1.0, 0.0, 0.004, 0.006, 0.01])).tolist() == [0, 0, 0, 1, 1]
    assert column.decode(np.array([0, 19]), np.random.default_rng(0)).to_pylist() == [0.0, 1e6]


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_numbers_print_few_digits(scale: str) -> None:
    column = Number(name="x", min=1.0, max=1e6, scale=scale, cells=100)
    values = column.decode(np.repeat(np.arange(100), 50), np.random.default_rng(0)).to_pylist()
    assert max(len(repr(value)) for value in values) <= 9
    assert len(set(values)) > 4000
    priced = Number(name="x", min=0.0, max=99.99, decimals=2)
    assert priced == Number(name="x", min=0.0, max=99.99, decimals=2)
    cents = priced.decode(np.arange(priced.size), np.random.default_rng(0)).to_pylist()
    assert all(value == round(value, 2) for value in cents)
    assert priced.spacing == 0.01
    assert priced.digits == 2
    assert Number(name="x", min=0.0, max=1e-30).digits is None


def test_decimals_are_a_resolution() -> None:
    one, other = Number(name="x", min=0, max=50, decimals=1), Number(name="x", min=0, max=50, resolution=0.1)
    numbers = pa.array(np.linspace(-1, 51, 1000))
    np.testing.assert_array_equal(one.encode(numbers), other.encode(numbers))


DOSES = (-0.5, 0.0, 0.125, 10.35702, 250.0)


def test_listed_values_are_all_there_is_and_a_number_counts_as_the_nearest() -> None:
    column = Number(name="x", min=-0.5, max=250.0, values=DOSES)
    assert column.decode(np.arange(column.size), np.random.default_rng(0)).to_pylist() == list(DOSES)
    numbers = np.random.default_rng(1).uniform(-10.0, 300.0, 2000)
    nearest = np.abs(numbers[:, None] - np.array(DOSES)).argmin(axis=1)
    np.testing.assert_array_equal(column.encode(pa.array(numbers)), nearest)
    np.testing.assert_allclose(column.min + column.level_of(numbers) * 1e-5, np.array(DOSES)[nearest])
    assert column.decodes_to(pa.array(DOSES))
    assert not column.decodes_to(pa.array([0.0, 0.126]))


def test_a_file_lists_values_without_bounds() -> None:
    schema = Schema.parse('[columns.x]\ntype = "number"\nvalues = [-0.5, 0, 0.125, 10.35702, 250]')
    assert schema.column("x") == Number(name="x", min=-0.5, max=250.0, values=DOSES)
    assert column_to_dict(schema.column("x")) == {"type": "number", "values": list(DOSES)}
    with pytest.raises(SchemaError, match="from 2 to 4095"):
        Schema.parse('[columns.x]\ntype = "number"\nvalues = []\nmin = 0\nmax = 1')


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ('type = "integer"\nvalues = 5', "values must be from 2 to 4095 numbers in rising order, got 5"),
        ('type = "integer"\nvalues = [0, "x"]', "values must be integers"),
        ('type = "number"\nvalues = ["a", 2]', "values must be finite numbers. Write them without quotes"),
        ('type = "number"\nvalues = ["FILL IN"]', "values is not filled in yet"),
    ],
)
def test_a_mistake_in_a_list_is_told_of_the_list(declared: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.parse(f"[columns.x]\n{declared}")


def test_listed_integers_count_fractions_down_and_then_to_the_nearest() -> None:
    column = Schema.parse('[columns.x]\ntype = "integer"\nvalues = [0, 5, 900]').column("x")
    assert isinstance(column, Integer)
    assert column.encode(pa.array([-3.0, 2.9, 3.0, 452.0, 453.0, 1e9])).tolist() == [0, 0, 1, 1, 2, 2]
    assert column.level_of(np.array([2.0, 3.0, 453.0])).tolist() == [0, 5, 900]
    assert column.decode(np.arange(3), np.random.default_rng(0)).to_pylist() == [0, 5, 900]
    assert not column.decodes_to(pa.array([0, 6]))
    with pytest.raises(SchemaError, match="values must be integers"):
        Integer(name="x", min=0, max=1, values=(0, 1.0))  # type: ignore[arg-type]


def test_a_kernel_takes_cells_of_a_scale_for_equally_far_apart() -> None:
    column = Integer(name="x", min=1, max=10**6, scale="log", cells=20)
    gram = atom_kernel((column,)).gram(np.arange(20.0)[:, None], np.arange(20.0)[:, None])
    steps = np.diag(gram, 1)
    np.testing.assert_allclose(steps, steps[0])


NUMBER: dict[str, Any] = {"name": "x", "min": 1, "max": 1000}


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"scale": "lgo"}, "scale", "scale must be linear or log, got 'lgo'. Did you mean log"),
        ({"scale": "log", "min": -1}, "min", "begins at 0 or above, got min = -1"),
        ({"scale": "log", "min": 0}, "scale", "needs decimals or a resolution"),
        ({"scale": "log", "cells": 3}, "cells", "needs at least 4 cells, got 3"),
        ({"decimals": -1}, "decimals", "decimals must be an integer from 0 to 15, got -1"),
        ({"decimals": 2, "resolution": 0.5}, "decimals", "say the same thing. Remove one"),
        ({"decimals": 0, "max": 2.5}, "decimals", "must have at most 0 decimals themselves"),
        ({"decimals": 15, "max": 1000}, "decimals", "decimals: 1e-15 is finer than float64 can hold"),
        ({"values": (1.0,)}, "values", "from 2 to 4095 numbers in rising order"),
        ({"values": (1.0, "2", 1000.0)}, "values", "values must be finite numbers"),
        ({"values": (1.0, 7.0, 7.0, 1000.0)}, "values", "in rising order"),
        ({"values": (1.0, 7.0)}, "values", "min and max follow from values"),
        ({"values": (1.0, 1000.0), "decimals": 1}, "values", "remove cells, resolution, decimals and scale"),
        (
            {"values": (1.0, 1.00000000000001, 1000.0)},
            "values",
            "values: 1e-14 is finer than float64 can hold here. Round them",
        ),
    ],
)
def test_what_is_no_number(changes: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as error:
        Number(**{**NUMBER, **changes})
    assert error.value.path == ("columns", "x", key)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "a hierarchy needs prefix, .* or groups: one of them"),
        ({"prefix": 1, "groups": ("a", "b")}, "one of them"),
        ({"prefix": 0}, "prefix must be a number of characters, at least 1, got 0"),
        ({"groups": ("a",)}, "the group of each value, in their order, got 1 for 2 values"),
        ({"groups": "ab", "values": tuple(map(str, range(MOST_VALUES + 1)))}, "65,537 values are more than"),
    ],
)
def test_what_is_no_hierarchy(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Hierarchy(**{"name": "x", "values": ("a1", "b1"), **changes})


def test_a_hierarchy_of_fifty_thousand_values() -> None:
    values = tuple(f"{number // 250:03d}.{number % 250:03d}" for number in range(50_000))
    column = Hierarchy(name="x", values=values, prefix=3, other=True, nullable=True)
    assert column.size == 50_002
    assert len(column.group_labels) == 202
    assert column.atom_groups[[0, 249, 250, -3, -2, -1]].tolist() == [0, 0, 1, 199, 200, 201]
    codes = column.encode(pa.array([values[0], values[-1], "?", None]))
    assert codes.tolist() == [0, 49_999, 50_000, 50_001]
    again = column.decode(np.arange(column.size), np.random.default_rng(0))
    assert again.to_pylist() == [*values, "__other__", None]
    np.testing.assert_array_equal(column.encode(again)[:50_000], np.arange(50_000))


def test_atoms_of_a_hierarchy_come_group_by_group() -> None:
    column = Hierarchy(name="x", values=(3, 1, 17, 4), groups=("odd", "one", "odd", "one"), other=-1)
    assert column.labels() == ("3", "17", "1", "4", "-1")
    assert column.value_codes == (0, 2, 1, 3)
    assert column.atom_groups.tolist() == [0, 0, 1, 1, 2]
    assert column.encode(pa.array([17, 4, 99])).tolist() == [1, 3, 4]
    assert column.decode(np.array([1, 3, 4]), np.random.default_rng(0)).to_pylist() == [17, 4, -1]
    assert column.missing == 4


def test_the_limits_of_a_hierarchy() -> None:
    values = tuple(map(str, range(MOST_VALUES)))
    with pytest.raises(SchemaError, match="65537 atoms are more than the limit of 65536") as error:
        Hierarchy(name="x", values=values, prefix=1, nullable=True)
    assert "type hierarchy" not in str(error.value)
    with pytest.raises(SchemaError, match="4,097 groups are more than the limit of 4,096"):
        Hierarchy(name="x", values=values[:5000], groups=tuple(min(place, 4096) for place in range(5000)))


def test_a_kernel_refuses_thousands_of_leaves() -> None:
    column = Hierarchy(name="x", values=tuple(map(str, range(5000))), prefix=1)
    with pytest.raises(CapacityError, match="column 'x' has 5,000 values; a kernel takes at most 4,096"):
        atom_kernel((column,))
