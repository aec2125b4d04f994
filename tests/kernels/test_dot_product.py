"""Dot-product kernels against direct formulas and exact arithmetic."""

import math
from decimal import Decimal

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.kernels import BoxKernel, DotProduct, Polynomial
from tests.kernels.oracles import exact

EVERY: list[BoxKernel] = [
    *(
        Polynomial(degree=p, offset=c, half_width=1.7, dimension=3)
        for p, c in [(1, 0.0), (2, 1.0), (3, 0.3), (7, 2.5), (64, 0.5), (5, 1e100)]
    ),
    *(
        DotProduct(coefficients=c, half_width=1.7, dimension=3)
        for c in [(1.0,), (0.0, 2.5), (0.3, 0.0, 0.7), (1.0, 1.0, 0.5, 1 / 6, 1 / 24), (0.1,) * 65]
    ),
]
kernels = pytest.mark.parametrize("kernel", EVERY, ids=repr)


@kernels
def test_values_follow_the_taylor_series(kernel: BoxKernel) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1.7, 1.7, size=(2, 30, 3))
    u = x @ y.T / (3 * 1.7**2)
    direct = sum(a * u**p for p, a in enumerate(kernel.taylor))
    np.testing.assert_allclose(kernel.gram(x, y), direct, rtol=1e-12, atol=1e-12)
    assert sum(kernel.taylor) == pytest.approx(kernel.bound)
    assert kernel.diagonal(x).tobytes() == kernel.gram(x, x).diagonal().tobytes()


@kernels
def test_evaluation_error_is_a_bound(kernel: BoxKernel) -> None:
    rng = np.random.default_rng(2)
    corner = np.full((1, 3), 1.7)
    rows = np.concatenate([rng.uniform(-1.7, 1.7, size=(25, 3)), corner, -corner, corner - 2.0**-52, corner * 1e-170])
    gram = kernel.gram(rows, rows)
    worst = max(abs(Decimal(gram[i, j]) - exact(kernel, rows[i], rows[j])) for i in range(29) for j in range(i + 1))
    assert worst <= kernel.evaluation_error(kernel.dimension)
    assert abs(gram).max() <= kernel.bound


@pytest.mark.parametrize("width", [1e-100, 1e-20, 1e100])
def test_evaluation_error_in_extreme_boxes(width: float) -> None:
    kernel = Polynomial(degree=3, offset=0.2, half_width=width, dimension=2)
    rows = np.random.default_rng(3).uniform(-width, width, size=(12, 2))
    gram = kernel.gram(rows, rows)
    worst = max(abs(Decimal(gram[i, j]) - exact(kernel, rows[i], rows[j])) for i in range(12) for j in range(12))
    assert worst <= kernel.evaluation_error(kernel.dimension)


def test_rows_are_clamped_to_the_box() -> None:
    kernel = Polynomial(degree=1, offset=0.0, half_width=2.0, dimension=2)
    admitted = kernel.admit(np.array([[5.0, -math.inf], [math.nan, 1.5]]))
    np.testing.assert_array_equal(admitted, [[2.0, -2.0], [0.0, 1.5]])
    assert kernel.gram([[99.0, 99.0]], [[-99.0, -99.0]]).item() == -1.0


@kernels
def test_lipschitz_constant_is_reached_at_a_corner(kernel: BoxKernel) -> None:
    corner = np.full((1, 3), kernel.half_width)
    step = 1e-6 * kernel.half_width
    slope = (kernel.gram(corner, corner) - kernel.gram(corner - step, corner)).item() / (step * math.sqrt(3))
    assert kernel.lipschitz is not None
    assert slope == pytest.approx(kernel.lipschitz, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize(
    ("degree", "offset", "expected"), [(2, 0.0, True), (3, 0.0, False), (3, 0.999, False), (3, 1.0, True)]
)
def test_sign_of_polynomials(degree: int, offset: float, expected: bool) -> None:
    kernel = Polynomial(degree=degree, offset=offset, half_width=1.0, dimension=1)
    assert kernel.nonnegative is expected
    assert bool(kernel.gram([[1.0]], [[-1.0], [-0.5]]).min() >= 0.0) is expected


def test_sign_of_taylor_series() -> None:
    assert DotProduct(coefficients=(0.0, 0.0, 1.0), half_width=1.0, dimension=1).nonnegative
    assert not DotProduct(coefficients=(1.0, 0.1, 1.0), half_width=1.0, dimension=1).nonnegative


BOX = {"half_width": 1.0, "dimension": 2}


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (Polynomial, {"degree": 0}, "degree must be an integer from 1 to 64, got 0"),
        (Polynomial, {"degree": 2.0}, "degree must be an integer"),
        (Polynomial, {"degree": True}, "degree must be an integer"),
        (Polynomial, {"degree": 2, "offset": -0.1}, "offset must be a number from 0 to"),
        (Polynomial, {"degree": 2, "offset": math.nan}, "offset must be a number"),
        (Polynomial, {"degree": 2, "half_width": 0.0}, "half_width must be a positive, finite number"),
        (Polynomial, {"degree": 2, "dimension": 4097}, "dimension must be an integer from 1 to 4096"),
        (DotProduct, {"coefficients": ()}, "coefficients must be a tuple of length 1 to 65, got 0"),
        (DotProduct, {"coefficients": [1.0]}, "coefficients must be a tuple, got list"),
        (DotProduct, {"coefficients": (1.0, -1.0)}, "each of coefficients must be a number from 0"),
        (DotProduct, {"coefficients": (0.0, 0.0)}, "at least one of coefficients must be positive"),
    ],
)
def test_parameters_are_checked(kind: type[BoxKernel], parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        kind(**(BOX | parameters))


def test_columns_are_declared() -> None:
    with pytest.raises(ParameterError, match="rows must have 2 columns, got 3"):
        Polynomial(degree=2, half_width=1.0, dimension=2).gram(np.zeros((1, 3)), np.zeros((1, 3)))
