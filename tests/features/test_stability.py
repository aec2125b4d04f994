"""At 10⁸ features: another order, one row less, other blocks and threads change no bit of a row, nor of the sum."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from kernelease.arrays import Integers, Rows, block_slices
from kernelease.features import FeatureMap, Fourier, KarKarnick
from kernelease.kernels import Gaussian
from kernelease.seeds import PublicSeed
from tests.features.table import POLYNOMIAL

pytestmark = pytest.mark.slow

Words: TypeAlias = NDArray[np.uint64]

FEATURES = 5_000
GENERATOR = np.random.default_rng(8)
KEY: Words = GENERATOR.integers(0, 2**64, FEATURES, dtype=np.uint64) | np.uint64(1)
MAPS: tuple[tuple[int, Callable[[], FeatureMap]], ...] = (
    (20_000, lambda: Fourier.random(Gaussian(lengthscale=1.0), features=FEATURES, dimension=3, seed=PublicSeed(0))),
    (4_000, lambda: KarKarnick.random(POLYNOMIAL, features=FEATURES, max_degree=3, seed=PublicSeed(0))),
)


def _fingerprints(phi: FeatureMap, rows: Rows, block: int, threads: int) -> tuple[Words, Integers]:
    """A 64-bit fingerprint of every row's integers, and their sum."""

    def one(part: slice) -> tuple[Words, Integers]:
        integers = phi.integers(rows[part])
        return (integers.view(np.uint64) * KEY).sum(axis=1), integers.sum(axis=0)

    with ThreadPoolExecutor(threads) as pool:
        prints, sums = zip(*pool.map(one, block_slices(len(rows), block)), strict=True)
    return np.concatenate(prints), np.sum(sums, axis=0)


@pytest.mark.parametrize(("count", "make"), MAPS, ids=["Fourier", "KarKarnick"])
def test_no_bit_depends_on_other_rows(count: int, make: Callable[[], FeatureMap]) -> None:
    phi = make()
    rows = GENERATOR.normal(size=(count, 3))
    rows[::97] = np.nan
    rows[::89, 0] = 1e308
    prints, total = _fingerprints(phi, rows, 1000, 1)
    assert np.unique(prints).size > 0.98 * count
    order = GENERATOR.permutation(count)
    permuted, same_total = _fingerprints(phi, rows[order], 777, 2)
    assert np.array_equal(permuted, prints[order])
    assert np.array_equal(same_total, total)
    fewer, less = _fingerprints(phi, rows[1:], 1024, 2)
    assert np.array_equal(fewer, prints[1:])
    assert np.array_equal(less, total - phi.integers(rows[:1])[0])
    for block in (313, 4096):
        assert np.array_equal(sum(phi.total(rows[part]) for part in block_slices(count, block)), total)
