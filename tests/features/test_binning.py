"""Random binning against the exact Laplace kernel, and against an oracle in Python integers."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.errors import ParameterError
from kernelease.features import RandomBinning
from kernelease.kernels import Gaussian, Laplace
from kernelease.seeds import PublicSeed

SEED = PublicSeed(3)
POINTS = np.random.default_rng(2).normal(size=(20, 2))
GOOD: dict[str, Any] = {
    "pitches": np.array([[4, 5], [6, 7]]),
    "shifts": np.array([[0, 1], [2, 6]]),
    "keys": np.array([1, 2**64 - 1], dtype=np.uint64),
    "buckets": 8,
    "resolution": (1.0, 1.0),
}


def _mixed(word: int) -> int:
    for shift, multiplier in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ (word >> shift)) * multiplier % 2**64
    return word ^ (word >> 31)


@given(cells=st.lists(st.integers(-(2**43), 2**43), min_size=2, max_size=2))
@settings(deadline=None)
def test_buckets_are_those_of_the_oracle(cells: list[int]) -> None:
    phi = RandomBinning(**GOOD)
    expected = np.zeros(16, dtype=np.int64)
    for grid in range(2):
        word = int(phi.keys[grid])
        for cell, pitch, shift in zip(cells, phi.pitches[grid].tolist(), phi.shifts[grid].tolist(), strict=True):
            word = _mixed(word ^ ((cell + shift) // pitch % 2**64))
        expected[8 * grid + (word >> 32) * 8 // 2**32] = 1
    assert np.array_equal(phi.integers(np.array([cells], dtype=np.float64))[0], expected)


@pytest.mark.slow
def test_approximation_error_of_the_laplace_kernel() -> None:
    """Bias at most 1/B, and errors of one entry of deviation at most ½/√G, over 40 draws of G = 400, B = 64."""
    kernel = Laplace(lengthscale=(1.0, 3.0))
    exact = np.exp(-np.abs(POINTS[:, None] - POINTS[None]) @ np.array([1.0, 1 / 3]))
    draws = (RandomBinning.random(kernel, grids=400, buckets=64, dimension=2, seed=PublicSeed(s)) for s in range(40))
    errors = np.array([phi @ phi.T - exact for phi in (draw.evaluate(POINTS) for draw in draws)])
    bias = errors.mean(axis=0) - (1 - exact) / 64
    assert np.abs(bias).max() < 6 * 0.025 / math.sqrt(40)
    assert np.abs(errors).max() < 6 * 0.025 + 1 / 64
    assert np.abs(errors).mean() < 0.025 + 1 / 64


def test_buckets_are_used_evenly() -> None:
    phi = RandomBinning.random(Laplace(lengthscale=1.0), grids=1, buckets=16, dimension=1, seed=SEED)
    counts = phi.total(np.linspace(-1e5, 1e5, 100_000)[:, None])
    assert counts.sum() == 100_000
    assert np.abs(counts / 6250 - 1).max() < 0.1


def test_one_bucket_is_a_constant_feature() -> None:
    phi = RandomBinning(**{**GOOD, "buckets": 1})
    assert (phi.integers(POINTS) == 1).all()


def test_only_the_laplace_kernel_is_binned() -> None:
    with pytest.raises(ParameterError, match="must be Laplace"):
        RandomBinning.random(Gaussian(lengthscale=1.0), grids=4, buckets=4, dimension=1, seed=SEED)


@pytest.mark.parametrize(("grids", "dimension"), [(0, 1), (1, 0)])
def test_grids_and_dimension_are_positive(grids: int, dimension: int) -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        RandomBinning.random(Laplace(lengthscale=1.0), grids=grids, buckets=4, dimension=dimension, seed=SEED)


def test_lengthscales_must_match_the_dimension() -> None:
    with pytest.raises(ParameterError, match="2 lengthscales"):
        RandomBinning.random(Laplace(lengthscale=(1.0, 2.0)), grids=4, buckets=4, dimension=3, seed=SEED)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"pitches": np.ones(2)}, "shape"),
        ({"shifts": np.zeros((1, 2))}, "shape"),
        ({"keys": np.zeros(3)}, "shape"),
        ({"pitches": np.ones((0, 2)), "shifts": np.zeros((0, 2)), "keys": np.zeros(0)}, "shape"),
        ({"resolution": (1.0,)}, "one entry per column"),
        ({"resolution": (1.0, 0.0)}, "resolution must hold"),
        ({"pitches": np.array([[0, 5], [6, 7]])}, "pitches must be"),
        ({"pitches": np.array([[2**44, 5], [6, 7]])}, "pitches must be"),
        ({"shifts": np.array([[4, 1], [2, 6]])}, "pitches must be"),
        ({"shifts": np.array([[-1, 1], [2, 6]])}, "pitches must be"),
        ({"buckets": 0}, "buckets must be"),
        ({"buckets": 2**31 + 1}, "buckets must be"),
    ],
)
def test_grids_are_checked(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        RandomBinning(**{**GOOD, **change})
