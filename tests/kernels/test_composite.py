"""Sums, products and kernels of some columns: values, bounds, and parts that read the same cell differently."""

import math
from decimal import Decimal

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.kernels import (
    DotProduct,
    Gaussian,
    Kronecker,
    Laplace,
    Matern52,
    OnColumns,
    Polynomial,
    Product,
    Similarity,
    Spectrum,
    WeightedSum,
)
from kernelease.kernels.elementary import product_above, sum_above
from tests.kernels.oracles import exact

ROWS = np.random.default_rng(7).normal(size=(15, 3))
SMOOTH = Gaussian(lengthscale=(1.0, 2.0, 0.5))
ROUGH = Laplace(lengthscale=(1.0, 2.0, 0.5))
SIGNED = Polynomial(degree=3, offset=0.1, half_width=2.0, dimension=3)
LARGE = DotProduct(coefficients=(0.5, 2.0), half_width=2.0, dimension=3)


def test_weighted_sum() -> None:
    kernel = WeightedSum(kernels=(SMOOTH, SIGNED, LARGE), weights=(0.3, 0.2, 4.0))
    direct = 0.3 * SMOOTH.gram(ROWS, ROWS) + 0.2 * SIGNED.gram(ROWS, ROWS) + 4.0 * LARGE.gram(ROWS, ROWS)
    np.testing.assert_allclose(kernel.gram(ROWS, ROWS), direct, rtol=1e-14)
    assert kernel.bound == pytest.approx(10.5)
    assert not kernel.nonnegative
    constants = (SMOOTH.lipschitz or 0) * 0.3 + (SIGNED.lipschitz or 0) * 0.2 + (LARGE.lipschitz or 0) * 4.0
    assert kernel.lipschitz == pytest.approx(constants)


def test_a_part_without_weight_makes_no_claim_weaker() -> None:
    kernel = WeightedSum(kernels=(SMOOTH, SIGNED, Laplace(lengthscale=1.0)), weights=(1.0, 0.0, 0.0))
    assert kernel.nonnegative
    assert kernel.lipschitz == SMOOTH.lipschitz
    assert kernel.bound == 1.0


def test_product() -> None:
    kernel = Product(kernels=(SMOOTH, SIGNED, LARGE))
    direct = SMOOTH.gram(ROWS, ROWS) * SIGNED.gram(ROWS, ROWS) * LARGE.gram(ROWS, ROWS)
    np.testing.assert_allclose(kernel.gram(ROWS, ROWS), direct, rtol=1e-14)
    assert kernel.bound == 2.5
    assert not kernel.nonnegative
    assert Product(kernels=(SMOOTH, ROUGH)).nonnegative
    a, b, c = SMOOTH.lipschitz or 0, SIGNED.lipschitz or 0, LARGE.lipschitz or 0
    assert kernel.lipschitz == pytest.approx(a * 1.0 * 2.5 + b * 1.0 * 2.5 + c * 1.0 * 1.0)


def test_one_unknown_lipschitz_constant_leaves_the_whole_unknown() -> None:
    unknown = Laplace(lengthscale=1.0)
    assert Product(kernels=(SMOOTH, unknown)).lipschitz is None
    assert WeightedSum(kernels=(SMOOTH, unknown), weights=(1.0, 1.0)).lipschitz is None
    assert OnColumns(kernel=unknown, columns=(0,)).lipschitz is None


def test_evaluation_errors_are_bounds() -> None:
    parts = (SMOOTH, SIGNED, LARGE)
    rows = SIGNED.admit(ROWS)
    weights = (0.3, 0.2, 4.0)
    total, product = WeightedSum(kernels=parts, weights=weights), Product(kernels=parts)
    sums, products = total.gram(rows, rows), product.gram(rows, rows)
    for i in range(len(rows)):
        for j in range(len(rows)):
            values = [exact(part, rows[i], rows[j]) for part in parts]
            error = Decimal(sums[i, j]) - sum(Decimal(w) * v for w, v in zip(weights, values, strict=True))
            assert abs(error) <= total.evaluation_error(3)
            assert abs(Decimal(products[i, j]) - math.prod(values, start=Decimal(1))) <= product.evaluation_error(3)


def test_on_columns_picks_them_in_order() -> None:
    kernel = OnColumns(kernel=Matern52(lengthscale=(2.0, 3.0)), columns=(2, 0))
    expected = Matern52(lengthscale=(2.0, 3.0)).gram(ROWS[:, [2, 0]], ROWS[:, [2, 0]])
    assert kernel.gram(ROWS, ROWS).tobytes() == expected.tobytes()
    assert kernel.lipschitz == Matern52(lengthscale=2.0).lipschitz


def test_two_parts_may_read_one_column_differently() -> None:
    text = OnColumns(kernel=Spectrum(n=2), columns=(0,))
    category = OnColumns(kernel=Kronecker(values=("Ada",)), columns=(0,))
    number = OnColumns(kernel=Gaussian(lengthscale=1.0), columns=(0,))
    rows = np.array([["Ada"], [None], [7.0], ["7"], [math.nan]], dtype=object)
    kernel = Product(kernels=(WeightedSum(kernels=(text, category), weights=(0.5, 0.5)), number))
    direct = (0.5 * text.gram(rows, rows) + 0.5 * category.gram(rows, rows)) * number.gram(rows, rows)
    np.testing.assert_array_equal(kernel.gram(rows, rows), direct)
    assert kernel.admit(rows)[3, 0] == "7", "admission leaves cells to the parts"
    assert number.gram(rows[2:3], rows[3:4]).item() == 1.0


def test_numbers_and_objects_meet() -> None:
    kernel = OnColumns(kernel=Kronecker(values=(1, 2)), columns=(1,))
    numbers, objects = np.array([[0.0, 2.0]]), np.array([["x", 2], ["y", "2"]], dtype=object)
    np.testing.assert_array_equal(kernel.gram(numbers, objects), [[1.0, 0.0]])


def test_bounds_are_rounded_upward() -> None:
    assert sum_above([0.5, 0.5]) == 1.0
    assert sum_above([1.0, 2.0**-80]) == 1.0 + 2.0**-52
    assert product_above([1.0 + 2.0**-52, 1.0 + 2.0**-52]) == 1.0 + 2.0**-51 + 2.0**-52
    assert product_above([3.0, 0.5]) == 1.5


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (Product, {"kernels": ()}, "kernels must be a tuple of length 1"),
        (Product, {"kernels": [SMOOTH]}, "kernels must be a tuple, got list"),
        (Product, {"kernels": ("gaussian",)}, "every part must be a Kernel, got str"),
        (WeightedSum, {"kernels": (SMOOTH,), "weights": (1.0, 2.0)}, "weights must be a tuple of length 1, got 2"),
        (WeightedSum, {"kernels": (SMOOTH,), "weights": (-1.0,)}, "each of weights must be a number from 0"),
        (WeightedSum, {"kernels": (SMOOTH,), "weights": (math.nan,)}, "each of weights must be a number from 0"),
        (WeightedSum, {"kernels": (SMOOTH,), "weights": (0.0,)}, "at least one of weights must be positive"),
        (OnColumns, {"kernel": None, "columns": (0,)}, "every part must be a Kernel, got NoneType"),
        (OnColumns, {"kernel": SMOOTH, "columns": ()}, "columns must be a tuple of length 1"),
        (OnColumns, {"kernel": SMOOTH, "columns": (-1,)}, "each of columns must be an integer from 0"),
        (OnColumns, {"kernel": SMOOTH, "columns": (0, 0)}, "columns must be distinct"),
    ],
)
def test_parameters_are_checked(kind: type, parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        kind(**parameters)


def test_the_bound_of_the_whole_is_finite() -> None:
    huge = Similarity(values=("a",), matrix=((1e100,),), default="a")
    with pytest.raises(ParameterError, match="must be a finite number: scale its parts down"):
        Product(kernels=(huge,) * 4)
    with pytest.raises(ParameterError, match="must be a finite number: scale its parts down"):
        WeightedSum(kernels=(Product(kernels=(huge,) * 3),), weights=(1e100,))


def test_columns_must_be_there_and_match() -> None:
    with pytest.raises(ParameterError, match="must have a column 3, counted from 0, got 3 columns"):
        OnColumns(kernel=SMOOTH, columns=(3,)).gram(ROWS, ROWS)
    with pytest.raises(ParameterError, match="same number of columns, got 3 and 2"):
        Product(kernels=(Gaussian(lengthscale=1.0),)).gram(ROWS, ROWS[:, :2])
