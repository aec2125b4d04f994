from typing import Any

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.features import OneHot


class Hostile:
    """A cell that raises when it is compared."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("private")


def _column(*cells: object) -> Any:
    rows = np.empty((len(cells), 1), dtype=object)
    for i, cell in enumerate(cells):
        rows[i, 0] = cell
    return rows


def test_features_are_the_share_of_equal_columns() -> None:
    phi = OneHot((("a", "b", "c"), (1, 2), ("x",)))
    rows = np.array([["a", 1, "x"], ["a", 2, "x"], ["c", 1, "y"], ["z", 3, "w"]], dtype=object)
    gram = phi.evaluate(rows) @ phi.evaluate(rows).T
    known = [[1, 2 / 3, 1 / 3, 0], [2 / 3, 1, 0, 0], [1 / 3, 0, 1, 1 / 3], [0, 0, 1 / 3, 1]]
    assert np.allclose(gram, known)  # the last two share the atom other of the third column


def test_a_nan_counts_as_none_whatever_object_it_is() -> None:
    cells = _column(float("nan"), np.nan, None, 1, True, 2.0, -np.inf)
    assert OneHot((1.0, 2.0)).atoms(cells).ravel().tolist() == [2, 2, 2, 0, 0, 1, 2]
    assert OneHot((None, 1.0)).atoms(cells).ravel().tolist() == [0, 0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("cell", [Hostile(), [], {}, np.datetime64("NaT", "s"), None, 1j, "A", b"a", "a" * 10**6])
def test_anything_undeclared_is_other(cell: object) -> None:
    assert OneHot(("a", "b")).atoms(_column(cell)).tolist() == [[2]]


def test_a_single_category_that_is_missing_can_be_declared() -> None:
    assert OneHot((None, "a")).atoms(_column(None, "a", "b")).ravel().tolist() == [0, 1, 2]


@pytest.mark.parametrize("values", [(), ((),), (("a",), ())])
def test_each_column_declares_something(values: tuple[Any, ...]) -> None:
    with pytest.raises(ParameterError, match="Kronecker: values"):
        OneHot(values)


@pytest.mark.parametrize("values", [("a", "a"), (1, True), (("a",), (0, 0.0))])
def test_declared_values_are_distinct(values: tuple[Any, ...]) -> None:
    with pytest.raises(ParameterError, match="must be distinct"):
        OneHot(values)


def test_maps_of_the_same_values_are_equal() -> None:
    assert OneHot(("a", "b")) == OneHot(("a", "b"))
    assert hash(OneHot(("a", "b"))) == hash(OneHot(("a", "b")))
