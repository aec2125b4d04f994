"""Kernels of categories: values, unknown cells, and what the declared matrix must satisfy."""

import math
from decimal import Decimal

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.kernels import OTHER, Kronecker, Similarity
from tests.kernels.catalogue import column

MATRIX = ((1.0, 0.5), (0.5, 2.0))


class Hostile:
    """A cell that can be neither hashed nor compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        raise RuntimeError


def test_kronecker_is_one_where_cells_are_equal() -> None:
    cells = column("red", "blue", 1, "other", None)
    expected = np.eye(5)
    expected[3, 4] = expected[4, 3] = 1.0  # neither is on the list
    np.testing.assert_array_equal(Kronecker(values=("red", "blue", 1)).gram(cells, cells), expected)


def test_codes_count_the_list_and_one_more() -> None:
    kernel = Kronecker(values=("a", None, 2))
    cells = column(
        "a", None, math.nan, np.float32("nan"), 2, 2.0, np.int8(2), "b", [], Hostile(), Decimal("sNaN"), OTHER
    )
    np.testing.assert_array_equal(kernel.codes(cells), [0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3])
    assert kernel.admit(cells)[:, 0].tolist() == ["a", None, None, None, 2, 2, 2, *[OTHER] * 5]
    np.testing.assert_array_equal(kernel.codes(np.array([[2.0], [math.nan], [5.0]])), [2, 1, 3])


def test_categories_may_be_tuples() -> None:
    kernel = Kronecker(values=(("a", 1), ("a", 2)))
    np.testing.assert_array_equal(kernel.codes(kernel.admit(column(("a", 2), ("a", 3), ("a", [])))), [1, 2, 2])


def test_similarity_looks_up_the_matrix() -> None:
    kernel = Similarity(values=("a", "b"), matrix=MATRIX, default="b")
    cells = column("a", "b", "c", None, [])
    index = [0, 1, 1, 1, 1]
    np.testing.assert_array_equal(kernel.gram(cells, cells), np.array(MATRIX)[np.ix_(index, index)])
    assert kernel.admit(cells)[:, 0].tolist() == ["a", "b", "b", "b", "b"]
    assert 2.0 <= kernel.bound < 2.0 + 1e-12  # and what the check of eigenvalues lets pass
    assert kernel.nonnegative
    assert not Similarity(values=("a", "b"), matrix=((1, -0.1), (-0.1, 1)), default="a").nonnegative


def test_similarity_takes_an_array_and_stays_hashable() -> None:
    kernel = Similarity(values=("a", "b"), matrix=np.array(MATRIX), default="b")
    assert kernel == Similarity(values=("a", "b"), matrix=MATRIX, default="b")
    assert hash(kernel) == hash(Similarity(values=("a", "b"), matrix=MATRIX, default="b"))


def test_a_singular_matrix_is_positive_semidefinite() -> None:
    factor = np.random.default_rng(0).normal(size=(30, 3))
    matrix = factor @ factor.T
    matrix = (matrix + matrix.T) / 2
    Similarity(values=tuple(range(30)), matrix=tuple(map(tuple, matrix)), default=0)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (((1.0, 2.0), (2.0, 1.0)), "smallest eigenvalue is -1. Add at least 1 to the diagonal"),
        (((1.0, 0.5), (0.4, 1.0)), "must be symmetric"),
        (((1.0,),), r"must be 2 by 2, as there are values, got \(1, 1\)"),
        (((1.0, math.nan), (math.nan, 1.0)), "finite numbers"),
        (((0.0, 0.0), (0.0, 0.0)), "not all 0"),
        ((("a", "b"), ("b", "a")), "must be a square of numbers"),
    ],
)
def test_similarity_matrix_is_checked(matrix: tuple[tuple[float, ...], ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Similarity(values=("a", "b"), matrix=matrix, default="a")


@pytest.mark.parametrize("default", ["c", None, []])
def test_default_is_on_the_list(default: object) -> None:
    with pytest.raises(ParameterError, match="default must be one of the 2 values"):
        Similarity(values=("a", "b"), matrix=MATRIX, default=default)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((), "values must be a tuple of length 1"),
        (["a"], "values must be a tuple, got list"),
        (([],), "every category must be hashable"),
        ((1, 1.0), "values must be distinct, got 2 of which 1 differ"),
        ((None, math.nan), "so are NaN and None"),
    ],
)
def test_values_are_checked(values: tuple[object, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Kronecker(values=values)


def test_there_is_one_column() -> None:
    with pytest.raises(ParameterError, match=r"one column \(pick it with OnColumns\), got 2"):
        Kronecker(values=("a",)).admit(np.array([["a", "b"]], dtype=object))
