"""Two computations of one thing."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.release.alike import alike, same_rows


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1.0, 1.0 + 1e-9, True),
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
        (ke.Gaussian(lengthscale=1.0), ke.Gaussian(lengthscale=1.0 + 1e-9), True),
        (ke.Gaussian(lengthscale=1.0), ke.Laplace(lengthscale=1.0), False),
        (ke.Neighbours.ADD_REMOVE, ke.Neighbours.REPLACE_ONE, False),
    ],
)
def test_objects(one: Any, other: Any, same: bool) -> None:
    assert alike(one, other) is same


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"x": [1.0, 2.0], "y": ["a", "b"]}, True),
        ({"x": [1.0, 2.0 + 1e-9], "y": ["a", "b"]}, True),
        ({"x": [1.0, 2.1], "y": ["a", "b"]}, False),
        ({"x": [1.0, None], "y": ["a", "b"]}, False),
        ({"x": [1.0, 2.0], "y": ["a", "c"]}, False),
        ({"x": [1.0], "y": ["a"]}, False),
        ({"x": [1, 2], "y": ["a", "b"]}, False),
    ],
)
def test_rows(other: dict[str, Any], same: bool) -> None:
    assert same_rows(pa.table({"x": [1.0, 2.0], "y": ["a", "b"]}), pa.table(other)) is same
