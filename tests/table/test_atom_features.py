"""Integer features of atoms: near the kernel that they stand for, with the diameter that they claim."""

import itertools

import numpy as np
import pytest

from kernelease.errors import CapacityError
from kernelease.table import Schema, atom_features
from kernelease.table.atom_features import CONTRAST, STEPS, AtomFeatures, PairFeatures, likeness

SCHEMA = Schema.parse("""
    [columns.age]
    type = "integer"
    min = 18
    max = 90

    [columns.hours]
    type = "number"
    min = 0.0
    max = 80.0
    cells = 9
    nullable = true

    [columns.ward]
    type = "category"
    values = ["north", "east", "south"]
""")


@pytest.mark.parametrize("column", SCHEMA.columns, ids=lambda column: column.name)
def test_features_of_a_column(column):
    features = AtomFeatures.of(column)
    np.testing.assert_allclose(features.gram / STEPS**2, likeness(column), atol=0.1)
    np.testing.assert_array_equal(features.gram, features.integers @ features.integers.T)
    distances = [
        int(((one - other) ** 2).sum()) for one, other in itertools.combinations(features.integers.astype(object), 2)
    ]
    assert features.squared_diameter == max(distances)
    beside = features.beside_constant()
    assert beside.size == features.size + 1
    np.testing.assert_allclose(beside.gram / STEPS**2, (1 - CONTRAST) + CONTRAST * likeness(column), atol=0.1)


@pytest.mark.parametrize("names", [("age",), ("hours", "ward"), ("age", "hours", "ward")], ids="-".join)
def test_features_of_rows(names):
    columns = [SCHEMA.column(name) for name in names]
    features = PairFeatures.of(columns)
    generator = np.random.default_rng(0)
    codes = np.stack([generator.integers(0, column.size, 60) for column in columns], axis=1)
    rows = np.hstack(list(features.blocks(codes)))
    np.testing.assert_array_equal(rows, np.rint(rows))
    squares = ((rows[:, None] - rows) ** 2).sum(axis=2)
    assert 0.5 * features.squared_diameter <= squares.max() <= features.squared_diameter
    kernels = [
        (1 - CONTRAST) + CONTRAST * likeness(column)[codes[:, i]][:, codes[:, i]] for i, column in enumerate(columns)
    ]
    expected = sum(np.prod([kernels[i] for i in one], axis=0) for one in features.sets) / len(features.sets)
    np.testing.assert_allclose(rows @ rows.T * features.unit**2, expected, atol=0.1)


def test_a_negative_value_of_a_kernel_widens_the_diameter():
    signed = AtomFeatures(np.array([[1], [-1]]))
    both = PairFeatures(columns=(signed, signed))
    assert both.squared_diameter == 4  # v(x) = ±1
    assert PairFeatures(columns=(signed,)).squared_diameter == 4


def test_too_many_cells_are_refused(monkeypatch):
    monkeypatch.setattr(atom_features, "MOST_TEST_ATOMS", 72)
    with pytest.raises(CapacityError, match="'age' has 73 cells; a test takes at most 72"):
        AtomFeatures.of(SCHEMA.column("age"))
