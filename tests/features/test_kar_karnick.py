"""Kar–Karnick features against the exact polynomial kernel, with the two biases that they admit."""

import math
from typing import Any

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.features import KarKarnick
from kernelease.kernels import DotProduct, Polynomial
from kernelease.seeds import PublicSeed

SEED = PublicSeed(3)
KERNEL = Polynomial(degree=3, offset=1.0, half_width=2.0, dimension=4)
POINTS = np.random.default_rng(2).uniform(-2.0, 2.0, size=(20, 4))
CORNERS = 2.0 * np.array([[1, 1, 1, 1], [-1, 1, -1, 1], [-1, -1, -1, -1]], dtype=np.float64)
EXACT = ((POINTS @ POINTS.T / (4 * 2.0**2) + 1) / 2) ** 3
GOOD: dict[str, Any] = {
    "degrees": np.array([0, 1, 2]),
    "weights": np.ones(3),
    "signs": np.ones((3, 2, 4), dtype=np.int8),
    "half_width": 1.0,
    "clip": 2.0,
}


def test_approximation_error_of_the_polynomial_kernel() -> None:
    """Bias, maximum and mean error over 100 draws of 2,000 features, unclipped; one product has deviation below 2."""
    draws = (KarKarnick.random(KERNEL, features=2000, max_degree=3, seed=PublicSeed(s), clip=50.0) for s in range(100))
    features = [phi.integers(POINTS) * phi.step for phi in draws]
    errors = np.array([phi @ phi.T - EXACT for phi in features])
    deviation = 2.0 / math.sqrt(2000)
    assert np.abs(errors.mean(axis=0)).max() < 6 * deviation / math.sqrt(100)
    assert np.abs(errors).max() < 6 * deviation
    assert np.abs(errors).mean() < deviation


def test_the_default_clip_biases_little() -> None:
    phi = KarKarnick.random(KERNEL, features=2000, max_degree=3, seed=SEED)
    assert phi.clip == pytest.approx(1.25)
    assert phi.clipping_bias(np.concatenate([POINTS, CORNERS])) == 0.0
    tight = KarKarnick.random(KERNEL, features=2000, max_degree=3, seed=SEED, clip=0.5)
    assert 0.5 < tight.clipping_bias(CORNERS) < 1.0
    assert np.sqrt((tight.evaluate(CORNERS) ** 2).sum(axis=1)).max() == pytest.approx(0.5)


def test_truncation_is_stated() -> None:
    kernel = DotProduct(coefficients=(0.5, 0.25, 0.125, 0.0625), half_width=2.0, dimension=4)
    phi = KarKarnick.random(kernel, features=4000, max_degree=1, seed=SEED, clip=10.0)
    assert phi.truncation_bias == 0.1875
    gram = phi.evaluate(CORNERS) @ phi.evaluate(CORNERS).T
    u = CORNERS @ CORNERS.T / 16.0
    assert np.abs(gram - (0.5 + 0.25 * u)).max() < 6 * 0.75 / math.sqrt(4000)


def test_each_degree_has_its_share_of_the_features() -> None:
    phi = KarKarnick.random(KERNEL, features=84, max_degree=3, seed=SEED)
    assert np.bincount(phi.degrees).tolist() == [11, 31, 31, 11]
    assert np.isclose((phi.weights**2).sum() / 84, sum(KERNEL.taylor))


def test_a_coefficient_of_zero_has_no_features() -> None:
    kernel = DotProduct(coefficients=(0.0, 0.0, 1.0), half_width=1.0, dimension=3)
    assert set(KarKarnick.random(kernel, features=10, max_degree=2, seed=SEED).degrees.tolist()) == {2}


def test_extreme_products_stay_within_the_norm() -> None:
    """All signs equal and every cell at the corner: Π = d^{p/2} = 16⁸, far above what fixed point holds."""
    signs = np.ones((6, 16, 16), dtype=np.int8)
    phi = KarKarnick(
        degrees=np.array([0, 1, 2, 4, 8, 16]), weights=np.full(6, 4095.0), signs=signs, half_width=1.0, clip=3.0
    )
    for cell in (1.0, -1.0, 1e308, np.inf, 0.5):
        vector = [int(v) for v in phi.integers(np.full((1, 16), cell))[0]]
        assert sum(v * v for v in vector) <= (3.0 / phi.step) ** 2
        assert sum(v * v for v in vector) > (2.999 / phi.step) ** 2


def test_many_columns_lose_no_digits() -> None:
    kernel = Polynomial(degree=4, offset=0.5, half_width=3.0, dimension=1000)
    phi = KarKarnick.random(kernel, features=200, max_degree=4, seed=SEED)
    rows = np.random.default_rng(0).uniform(-3, 3, size=(10, 1000))
    assert np.abs(phi.integers(rows) * phi.step - phi.evaluate(rows)).max() < 1e-4 / math.sqrt(200)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"degrees": np.zeros((3, 1))}, "degrees and weights must have shape"),
        ({"degrees": np.zeros(0), "weights": np.zeros(0)}, "degrees and weights must have shape"),
        ({"weights": np.ones(2)}, "degrees and weights must have shape"),
        ({"signs": np.ones((3, 2))}, "signs must have shape"),
        ({"signs": np.ones((2, 2, 4))}, "signs must have shape"),
        ({"signs": np.ones((3, 2, 0))}, "signs must have shape"),
        ({"signs": np.zeros((3, 2, 4))}, "must be \\+1 or -1"),
        ({"degrees": np.array([2, 1, 0])}, "degrees must be sorted"),
        ({"degrees": np.array([0, 1, 3])}, "degrees must be sorted"),
        ({"degrees": np.array([-1, 1, 2])}, "degrees must be sorted"),
        ({"weights": np.array([1.0, 1.0, 4096.0])}, "weights must be below"),
        ({"weights": np.array([1.0, np.nan, 1.0])}, "weights must be below"),
        ({"half_width": 0.0}, "half_width must be positive"),
        ({"half_width": np.inf}, "half_width must be positive"),
        ({"clip": 0.0}, "clip must be positive"),
        ({"clip": np.nan}, "clip must be positive"),
        ({"clip": np.inf}, "clip must be positive"),
        ({"clip": 1e-9}, "clip must be positive"),
        ({"clip": 1e6}, "clip must be positive"),
    ],
)
def test_parameters_are_checked(change: dict[str, Any], sentence: str) -> None:
    KarKarnick(**GOOD)
    with pytest.raises(ParameterError, match=sentence):
        KarKarnick(**{**GOOD, **change})


@pytest.mark.parametrize("max_degree", [-1, 1])
def test_the_degree_reaches_a_positive_coefficient(max_degree: int) -> None:
    kernel = DotProduct(coefficients=(0.0, 0.0, 1.0), half_width=1.0, dimension=3)
    with pytest.raises(ParameterError, match="max_degree must reach"):
        KarKarnick.random(kernel, features=10, max_degree=max_degree, seed=SEED)


def test_there_is_a_feature_for_each_degree() -> None:
    with pytest.raises(ParameterError, match="at least 4"):
        KarKarnick.random(KERNEL, features=3, max_degree=3, seed=SEED)
