"""One table of all kernels, each with public rows to try it on. It drives the conformance suite and the properties."""

from typing import NamedTuple

import numpy as np

from kernelease.arrays import Rows
from kernelease.kernels import (
    DotProduct,
    Gaussian,
    Kernel,
    Kronecker,
    LabelledSphere,
    Laplace,
    Matern32,
    Matern52,
    OnColumns,
    Polynomial,
    Product,
    RationalQuadratic,
    Similarity,
    Spectrum,
    WeightedSum,
)


class Entry(NamedTuple):
    name: str
    kernel: Kernel
    rows: Rows


def column(*cells: object) -> Rows:
    rows = np.empty((len(cells), 1), dtype=object)
    rows[:, 0] = cells
    return rows


_NUMBERS = np.random.default_rng(5).normal(size=(24, 3))
_LABELLED = np.column_stack([_NUMBERS[:, :2], np.arange(24) % 4 - 1.0])
_COLOURS = column(*("red", "green", "blue", "grey", None, float("nan"), 3, 3.0, "red") * 2)
_NAMES = column(
    "Ada", "Ada Lovelace", "ada", "", None, "Grace", "Grace Hopper", "a" * 300, "a" * 256, "\x02\x03", "é", "aa"
)
_MIXED = np.array(
    [[20 + 3 * i, ("f", "m", None)[i % 3], ("Ada", "Bob", "Eve", "Adam")[i % 4]] for i in range(12)], dtype=object
)
_SCALES = (0.5, 1.0, 4.0)
_SIZES = Similarity(values=("S", "M", "L"), matrix=((1, 0.5, 0), (0.5, 1, 0.5), (0, 0.5, 1)), default="M")
_OPPOSITES = Similarity(values=("no", "yes"), matrix=((2.0, -1.5), (-1.5, 2.0)), default="no")
_AGE = OnColumns(kernel=Gaussian(lengthscale=10.0), columns=(0,))
_SEX = OnColumns(kernel=Kronecker(values=("f", "m", None)), columns=(1,))
_NAME = OnColumns(kernel=Spectrum(n=2), columns=(2,))
_PERSON = Product(kernels=(_AGE, WeightedSum(kernels=(_SEX, _NAME), weights=(0.7, 0.3))))

CATALOGUE = (
    Entry("gaussian", Gaussian(lengthscale=1.3), _NUMBERS),
    Entry("gaussian-per-column", Gaussian(lengthscale=_SCALES), _NUMBERS),
    Entry("gaussian-extreme-lengthscales", Gaussian(lengthscale=(1e-100, 1.0, 1e100)), _NUMBERS),
    Entry("laplace", Laplace(lengthscale=1.3), _NUMBERS),
    Entry("laplace-per-column", Laplace(lengthscale=_SCALES), _NUMBERS),
    Entry("matern32", Matern32(lengthscale=1.3), _NUMBERS),
    Entry("matern32-per-column", Matern32(lengthscale=_SCALES), _NUMBERS),
    Entry("matern52", Matern52(lengthscale=1.3), _NUMBERS),
    Entry("matern52-per-column", Matern52(lengthscale=_SCALES), _NUMBERS),
    Entry("rational-quadratic", RationalQuadratic(lengthscale=1.3), _NUMBERS),
    Entry("rational-quadratic-per-column", RationalQuadratic(lengthscale=_SCALES, alpha=0.1), _NUMBERS),
    Entry("rational-quadratic-steep", RationalQuadratic(lengthscale=_SCALES, alpha=1000.0), _NUMBERS),
    Entry("labelled-sphere", LabelledSphere(dimension=2, classes=("a", "b", "c")), _LABELLED),
    Entry("polynomial-even", Polynomial(degree=4, offset=0.5, half_width=1.5, dimension=3), _NUMBERS),
    Entry("polynomial-odd", Polynomial(degree=3, offset=0.25, half_width=1.5, dimension=3), _NUMBERS),
    Entry("polynomial-large-offset", Polynomial(degree=3, offset=1.0, half_width=1.5, dimension=3), _NUMBERS),
    Entry("polynomial-homogeneous", Polynomial(degree=1, offset=0.0, half_width=1.5, dimension=3), _NUMBERS),
    Entry("dot-product", DotProduct(coefficients=(0.1, 0.7, 0.2), half_width=2.0, dimension=3), _NUMBERS),
    Entry(
        "dot-product-even", DotProduct(coefficients=(0.3, 0.0, 0.1, 0.0, 2.0), half_width=2.0, dimension=3), _NUMBERS
    ),
    Entry("kronecker", Kronecker(values=("red", "green", 3, None)), _COLOURS),
    Entry("similarity", _SIZES, column("S", "M", "L", "XL", None, "S")),
    Entry("similarity-signed", _OPPOSITES, column("yes", "no", "perhaps", "yes")),
    Entry("spectrum", Spectrum(), _NAMES),
    Entry("spectrum-letters", Spectrum(n=1, max_length=4), _NAMES),
    Entry("on-columns", _AGE, _MIXED),
    Entry("on-columns-of-numbers", OnColumns(kernel=Laplace(lengthscale=(1.0, 2.0)), columns=(2, 0)), _NUMBERS),
    Entry("weighted-sum", WeightedSum(kernels=(_AGE, _SEX, _NAME), weights=(0.2, 0.5, 0.0)), _MIXED),
    Entry(
        "weighted-sum-of-numbers",
        WeightedSum(kernels=(Gaussian(lengthscale=1.0), Laplace(lengthscale=_SCALES)), weights=(3.0, 0.1)),
        _NUMBERS,
    ),
    Entry("product", Product(kernels=(Gaussian(lengthscale=1.0), Matern32(lengthscale=2.0))), _NUMBERS),
    Entry("product-of-sum", _PERSON, _MIXED),
)
NUMERIC = tuple(entry for entry in CATALOGUE if entry.rows is _NUMBERS)
