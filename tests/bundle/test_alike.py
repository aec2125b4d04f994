"""Two computations of one thing."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.bundle.verify import alike, same_rows
from kernelease.machine import ROUNDING, is_machine, rounding_since, this_machine


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1.0, 1.0 + 1e-9, True),
        (0.0, -0.0, True),
        (1.0, 1.001, False),
        (1, 1.0, False),
        ("a", "a", True),
        ((1, 2), (1, 2, 3), False),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-9]), True),
        (np.array([1.0, 2.0]), np.array([1.0, 2.1]), False),
        (np.array([1, 2]), np.array([1.0, 2.0]), False),
        (np.array([0, 5]), np.array([1, 5]), False),
        (np.array([2**40, 0]), np.array([2**40 + 1, 1]), True),
        (np.array([2**90], dtype=object), np.array([2**90 + 1], dtype=object), False),
        (np.array(["a", None], dtype=object), np.array(["a", None], dtype=object), True),
        (ke.kernels.Gaussian(lengthscale=1.0), ke.kernels.Gaussian(lengthscale=1.0 + 1e-9), True),
        (ke.kernels.Gaussian(lengthscale=1.0), ke.kernels.Laplace(lengthscale=1.0), False),
        (ke.Neighbours.ADD_REMOVE, ke.Neighbours.REPLACE_ONE, False),
    ],
)
def test_objects(one: Any, other: Any, same: bool) -> None:
    assert alike(one, other, ROUNDING) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1.0, 1.0, True),
        (1.0, 1.0 + 1e-15, False),
        (0.0, -0.0, False),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0]), True),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-15]), False),
        (np.array([0.0]), np.array([-0.0]), False),
        (np.array([2**40, 0]), np.array([2**40 + 1, 0]), False),
        ((1.0, "a"), (1.0, "a"), True),
        (ke.kernels.Gaussian(lengthscale=1.0), ke.kernels.Gaussian(lengthscale=1.0 + 1e-15), False),
    ],
)
def test_objects_to_the_bit(one: Any, other: Any, same: bool) -> None:
    assert alike(one, other) is same


def test_only_numbers_of_this_kind_of_machine_come_out_again_to_the_bit() -> None:
    assert is_machine(this_machine())
    assert rounding_since(this_machine()) == 0.0
    assert rounding_since("a machine of stone") == ROUNDING
    assert not is_machine("x" * 1000)
    assert not is_machine("two\nlines")


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"x": [1.0, 2.0], "y": ["a", "b"]}, True),
        ({"x": [1.0, 2.0 + 1e-9], "y": ["a", "b"]}, True),
        ({"x": [1.0, 2.0 + 1e-5], "y": ["a", "b"]}, False),
        ({"x": [1.0, 2.1], "y": ["a", "b"]}, False),
        ({"x": [1.0, None], "y": ["a", "b"]}, False),
        ({"x": [1.0, 2.0], "y": ["a", "c"]}, False),
        ({"x": [1.0], "y": ["a"]}, False),
        ({"x": [1, 2], "y": ["a", "b"]}, False),
    ],
)
def test_rows(other: dict[str, Any], same: bool) -> None:
    rows = pa.table({"x": [1.0, 2.0], "y": ["a", "b"]})
    assert same_rows(rows, pa.table(other), fitted=frozenset({"x"}), rounding=ROUNDING) is same


@pytest.mark.parametrize("other", [[1.0, 2.0 + 1e-15], [1.0, -2.0], [1.0, None]])
def test_declared_numbers_are_compared_to_the_bit_on_every_machine(other: list[float]) -> None:
    """One private age a row, times 1e-5, once passed as the rounding of a large number."""
    rows = pa.table({"x": [1.0, 2.0]})
    assert same_rows(rows, rows, rounding=ROUNDING)
    assert not same_rows(rows, pa.table({"x": other}), rounding=ROUNDING)
