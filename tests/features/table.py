"""The table of all feature maps: one line each drives the conformance suite and the property tests."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelease.arrays import Rows
from kernelease.features import (
    Ball,
    ClassMoments,
    FeatureMap,
    Fourier,
    HashedNgrams,
    KarKarnick,
    OneHot,
    RandomBinning,
)
from kernelease.kernels import (
    Gaussian,
    Kernel,
    Kronecker,
    LabelledSphere,
    Laplace,
    Matern32,
    Matern52,
    Polynomial,
    RationalQuadratic,
)
from kernelease.seeds import PublicSeed

NUMBERS: Rows = np.random.default_rng(5).normal(size=(24, 3)) * 2.0
NARROW: Rows = np.clip(NUMBERS / 2.0, -1.5, 1.5)
CATEGORIES: Rows = np.array([["red", 1], ["green", 2], ["blue", 1], [None, 3], ["red", None]], dtype=object)
TEXTS: Rows = np.array([[t] for t in ("", "a", "banana", "bandana", "ananas", "BANANA", "éàü", "日本語")], dtype=object)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A family of maps by seed, rows for it, the kernel that it approximates and the bias that it admits."""

    name: str
    make: Callable[[PublicSeed], FeatureMap]
    rows: Rows
    kernel: Kernel | None = None
    bias: float = 0.0


def _fourier(kernel: Gaussian | Laplace | Matern32 | Matern52 | RationalQuadratic) -> Case:
    return Case(
        name=f"Fourier.random {type(kernel).__name__}",
        make=lambda seed: Fourier.random(kernel, features=64, dimension=3, seed=seed),
        rows=NUMBERS,
        kernel=kernel,
    )


def _orthogonal(kernel: Gaussian | Matern52 | RationalQuadratic) -> Case:
    return Case(
        name=f"Fourier.orthogonal {type(kernel).__name__}",
        make=lambda seed: Fourier.orthogonal(kernel, features=64, dimension=3, seed=seed),
        rows=NUMBERS,
        kernel=kernel,
    )


LAPLACE = Laplace(lengthscale=(1.0, 2.0, 4.0))
POLYNOMIAL = Polynomial(degree=3, offset=1.0, half_width=1.5, dimension=3)
SPHERE = LabelledSphere(dimension=3, classes=("a", "b", "c"))
LABELLED: Rows = np.column_stack([NUMBERS, np.arange(24) % 4 - 1.0])
KRONECKER = Kronecker(values=("red", "green"))

CASES = (
    _fourier(Gaussian(lengthscale=(1.0, 2.0, 4.0))),
    _fourier(Laplace(lengthscale=2.0)),
    _fourier(Matern32(lengthscale=2.0)),
    _fourier(Matern52(lengthscale=2.0)),
    _fourier(RationalQuadratic(lengthscale=2.0, alpha=1.5)),
    _orthogonal(Gaussian(lengthscale=(1.0, 2.0, 4.0))),
    _orthogonal(Matern52(lengthscale=2.0)),
    _orthogonal(RationalQuadratic(lengthscale=2.0, alpha=1.5)),
    Case(
        name="RandomBinning",
        make=lambda seed: RandomBinning.random(LAPLACE, grids=16, buckets=32, dimension=3, seed=seed),
        rows=NUMBERS,
        kernel=LAPLACE,
        bias=1 / 32,
    ),
    Case(
        name="KarKarnick",
        make=lambda seed: KarKarnick.random(POLYNOMIAL, features=64, max_degree=3, seed=seed, clip=100.0),
        rows=NARROW,
        kernel=POLYNOMIAL,
    ),
    Case(
        name="KarKarnick clipped",
        make=lambda seed: KarKarnick.random(POLYNOMIAL, features=16, max_degree=2, seed=seed, clip=0.5),
        rows=NARROW,
    ),
    Case(name="Ball", make=lambda _: Ball(middle=(0.5, 0.0, -1.0), reach=(1.0, 4.0, 0.25)), rows=NUMBERS),
    Case(name="ClassMoments", make=lambda _: ClassMoments(kernel=SPHERE), rows=LABELLED, kernel=SPHERE),
    Case(name="ClassMoments pooled", make=lambda _: ClassMoments(kernel=SPHERE, pooled=True), rows=LABELLED),
    Case(
        name="ClassMoments projected",
        make=lambda _: ClassMoments.onto(SPHERE, np.array([[0.6, 0.8, 0.0], [0.0, 0.0, -1.0]])),
        rows=LABELLED,
    ),
    Case(name="OneHot", make=lambda _: OneHot(("red", "green")), rows=CATEGORIES[:, :1], kernel=KRONECKER),
    Case(name="OneHot of two columns", make=lambda _: OneHot((("red", "green"), (1, 2, 3))), rows=CATEGORIES),
    Case(name="OneHot of numbers", make=lambda _: OneHot(((0.0, 1.0), (2.0,), (3.0,))), rows=np.eye(3)),
    Case(
        name="HashedNgrams",
        make=lambda seed: HashedNgrams(n=2, buckets=32, max_length=40, seed=seed),
        rows=TEXTS,
    ),
    Case(
        name="HashedNgrams signed",
        make=lambda seed: HashedNgrams(n=3, buckets=8, max_length=40, signed=True, seed=seed),
        rows=TEXTS,
    ),
)
