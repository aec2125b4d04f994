"""Sums on a GPU are those of the processor, to the bit, whatever the rows; fits end as near.

Run by `make test-gpu`.

Imports are those that a machine with a GPU and little else has: no noise is drawn here.
"""

import importlib.util
import itertools

import numpy as np
import pytest

if importlib.util.find_spec("cupy") is None:
    pytest.skip("CuPy is not installed: sums on a GPU are tested by `make test-gpu`.", allow_module_level=True)

import cupy

from kernelease.arrays import Floats
from kernelease.cuda import as_device_rows, translate_failures
from kernelease.errors import CapacityError, ParameterError
from kernelease.exact.rows import PrivateArray
from kernelease.features.feature_map import FeatureMap
from kernelease.features.fourier import Fourier
from kernelease.features.nystrom import Nystrom
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.fit.solver import NormalPoints
from kernelease.kernels.numeric import Gaussian
from kernelease.ledgers import MemoryLedger
from kernelease.methods.adaptive import Adaptive
from kernelease.methods.method import Context
from kernelease.noises import SeededNoise
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.sensitivity import ROWS as ROWS_OF_TABLE
from kernelease.seeds import PublicSeed
from kernelease.sources.device_rows import device_total
from kernelease.table.domains import VectorDomain
from tests.fit.test_mixture import LAYOUTS

BOTH = (None, "cuda")
HOSTILE = np.array([np.nan, np.inf, -np.inf, 1e200, -1e200, 5e-324, -0.0, 1e18, 2.0**43, 0.5])


def _rows(count: int, columns: int, seed: int) -> Floats:
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(count, columns))
    places = generator.integers(0, rows.size, size=min(rows.size, 40))
    rows.ravel()[places] = generator.choice(HOSTILE, size=len(places))
    return rows


def _expected(feature_map: FeatureMap, rows: Floats) -> list[int]:
    blocks = range(0, len(rows), 1000)
    return [int(x) for x in sum((feature_map.total(rows[s : s + 1000]).astype(object) for s in blocks), np.int64(0))]


def _on_device(feature_map: FeatureMap, rows: Floats) -> list[int]:
    return [int(x) for x in sum(part.astype(object) for part in device_total(feature_map, as_device_rows(rows)))]


@pytest.mark.parametrize(
    ("columns", "features"), [(1, 2), (1, 10), (2, 4096), (3, 6), (5, 10_000), (17, 300), (32, 64)]
)
@pytest.mark.parametrize("count", [1, 31, 20_011])
def test_fourier(columns: int, features: int, count: int) -> None:
    kernel = Gaussian(lengthscale=0.3)
    feature_map = Fourier.random(kernel, features=features, dimension=columns, seed=PublicSeed(columns))
    rows = _rows(count, columns, seed=features)
    assert _on_device(feature_map, rows) == _expected(feature_map, rows)


@pytest.mark.parametrize(
    ("columns", "points", "scale"), [(1, 3, 0.5), (2, 700, 0.5), (5, 900, 0.7), (2, 300, (0.3, 0.5))]
)
@pytest.mark.parametrize("count", [1, 31, 9_001])
def test_gaussian(columns: int, points: int, scale: float | tuple[float, ...], count: int) -> None:
    centres = np.random.default_rng(points).normal(size=(points, columns))
    feature_map = Nystrom.spanning(Gaussian(lengthscale=scale), centres, tolerance=1e-6)
    rows = _rows(count, columns, seed=points)
    rows[0] = feature_map.points[0]
    assert _on_device(feature_map, rows) == _expected(feature_map, rows)


def test_rows_beyond_one_launch() -> None:
    feature_map = Fourier.random(Gaussian(lengthscale=0.3), features=4, dimension=1, seed=PublicSeed(0))
    once = _rows(2**12, 1, seed=0)
    many = np.tile(once, (2**10 + 1, 1))
    assert len(device_total(feature_map, as_device_rows(many))) == 2
    assert _on_device(feature_map, many) == [x * (2**10 + 1) for x in _expected(feature_map, once)]


def test_rows_that_are_none() -> None:
    with pytest.raises(ParameterError, match="two-dimensional"):
        as_device_rows(np.zeros(3))


def test_too_little_memory_is_said() -> None:
    with pytest.raises(CapacityError, match="memory is too small"), translate_failures():
        cupy.empty(2**50, dtype=cupy.float64)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_step_of_a_fit_is_the_processors(layout: str) -> None:
    here, there = (
        MixtureSolver(components=20, steps=1, device=d).solve(LAYOUTS[layout](), PublicSeed(0)) for d in BOTH
    )
    np.testing.assert_allclose(there.weights, here.weights, rtol=1e-3)
    for ours, theirs in zip(here.columns, there.columns, strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=2e-2, atol=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_fit_ends_where_the_processors_does(layout: str) -> None:
    here, there = (MixtureSolver(components=200, device=d).solve(LAYOUTS[layout](), PublicSeed(0)) for d in BOTH)
    assert there.chi_squared == pytest.approx(here.chi_squared, abs=0.1)
    for first, second in itertools.combinations(range(len(here.columns)), 2):
        assert np.abs(here.pair(first, second) - there.pair(first, second)).sum() < 0.05


def test_a_search_finds_what_the_processors_does() -> None:
    rows = np.random.default_rng(0).normal(size=(5000, 2)) + 3.0 * np.random.default_rng(1).integers(0, 2, (5000, 1))
    fits = []
    for device in BOTH:
        method = Adaptive(points=NormalPoints(dimension=2, scale=3.0), rank=256, features=256, device=device)
        privacy = Privacy(epsilon=1.0, delta=1e-6)
        context = Context(
            domain=VectorDomain(Gaussian(lengthscale=1.0)),
            privacy=privacy,
            ledger=MemoryLedger.for_one(privacy, ROWS_OF_TABLE),
            noise=SeededNoise(0),
            seed=PublicSeed(0),
            subject=ROWS_OF_TABLE,
        )
        fits.append(method.fit(method.measure(PrivateArray(rows), context), PublicSeed(0)).synthetic)
    for one in fits:
        np.testing.assert_allclose(one.weights @ one.points, rows.mean(axis=0), atol=0.05)
