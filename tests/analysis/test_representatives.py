"""Values that stand for atoms: each in its own atom, and with all that a condition can tell apart."""

import numpy as np
import pyarrow as pa
import pytest

from kernelease.analysis.estimands import parse_condition
from kernelease.analysis.representatives import representatives, weigh_atoms
from kernelease.table import Schema

SCHEMA = Schema.parse(
    """
    [columns.count]
    type = "integer"
    min = 0
    max = 999
    cells = 10
    [columns.length]
    type = "number"
    min = 0.0
    max = 80.0
    cells = 8
    nullable = true
    [columns.tenth]
    type = "number"
    min = 0.0
    max = 2.5
    resolution = 0.1
    [columns.day]
    type = "date"
    min = "2020-01-01"
    max = "2022-12-31"
    cells = 12
    [columns.seen]
    type = "datetime"
    min = "2020-01-01T00:00:00"
    max = "2020-12-31T00:00:00"
    cells = 12
    [columns.flag]
    type = "boolean"
    nullable = true
    [columns.kind]
    type = "category"
    values = ["a", "b"]
    other = true
    """
)
CONDITIONS = [
    "count == 77",
    "count > 500 and length >= 33.3",
    "day < '2021-02-03' or seen >= '2020-02-03T12:00:00'",
    "tenth == 0.3 or tenth >= 1",
    "length < count",
    "flag is null or kind != 'a'",
]


@pytest.mark.parametrize("text", CONDITIONS)
@pytest.mark.parametrize("name", SCHEMA.names)
def test_each_is_in_its_own_atom(name, text):
    column = SCHEMA.column(name)
    points = representatives(column, [parse_condition(text, SCHEMA)])
    np.testing.assert_array_equal(column.encode(points.values), points.atoms)
    np.testing.assert_array_equal(np.unique(points.atoms), np.arange(column.size))
    np.testing.assert_array_equal(np.unique(points.atoms[points.weights > 0]), np.arange(column.size))
    tilted = weigh_atoms(points, np.arange(column.size) + 1.0)
    np.testing.assert_allclose(np.bincount(tilted.atoms, tilted.weights), np.arange(column.size) + 1.0)
    assert np.all(np.diff(points.atoms) >= 0)


@pytest.mark.parametrize("text", ["count == 77", "count >= 500", "count != 0", "not count > 998"])
def test_they_show_what_can_happen_in_a_cell(text):
    column, condition = SCHEMA.column("count"), parse_condition(text, SCHEMA)
    every = pa.table({"count": np.arange(1000)})
    cells, truth = column.encode(every.column("count")), condition.holds(every)
    points = representatives(column, [condition])
    shown = condition.holds(pa.table({"count": points.values}))
    for cell in range(column.size):
        assert set(truth[cells == cell]) == set(shown[points.atoms == cell])
