"""§3.2 of the paper: Algorithm 1 is Hall et al.'s functional noise, seen at the public points (docs/proofs)."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from kernelease.arrays import Floats
from kernelease.exact.rows import PrivateArray
from kernelease.fit import PublicPoints
from kernelease.methods import Subspace
from kernelease.noises import SeededNoise
from tests.methods.stand_ins import KERNEL, context, whitened

ROWS = np.random.default_rng(2).normal(size=(300, 2))
FEW = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5], [-1.0, 0.5], [1.5, 1.5], [-1.0, -1.5]])


def _functional_noise(values: Floats, sigma: float) -> list[float]:
    """p-values of the exact tests that follow if values (n, F) are N(0, σ²K): whitened coordinates, and their pairs.

    Sums of squares of a coordinate, and of (a ± b)/√2 for two of them, are chi-square with n degrees of freedom.
    """
    white = whitened(KERNEL.gram(FEW, FEW), values / sigma)
    columns = list(white.T)
    for i, first in enumerate(white.T):
        for second in white.T[i + 1 :]:
            columns += [(first + second) / math.sqrt(2.0), (first - second) / math.sqrt(2.0)]
    tails = chi2.cdf([(column**2).sum() for column in columns], len(white))
    return [2.0 * min(tail, 1.0 - tail) for tail in tails]


@pytest.mark.statistical
@pytest.mark.slow
def test_values_at_public_points_have_the_law_of_functional_noise() -> None:
    """§3.2: at the public points the released function is the mean embedding plus N(0, σ²K) (Hall et al. 2013).

    36 exact chi-square tests on 300 releases, false alarm 1e-6 in all.
    """
    method = Subspace(points=PublicPoints(FEW), tolerance=1e-4)
    gram, means = KERNEL.gram(FEW, FEW), KERNEL.gram(ROWS, FEW).mean(axis=0)
    order, values = None, []
    for seed in range(300):
        setting = context(noise=SeededNoise(seed))
        measured = method.measure(PrivateArray(ROWS), setting)
        solution = method.fit(measured, setting.seed)
        order = [FEW.tolist().index(point) for point in solution.synthetic.points.tolist()]
        values.append(gram[:, order] @ solution.synthetic.weights - means)
    pvalues = _functional_noise(np.array(values), measured.embedding.sigma)
    assert min(pvalues) * len(pvalues) > 1e-6


@pytest.mark.statistical
def test_twin_with_noise_on_the_values_is_caught() -> None:
    """N(0, σ²I) on the values themselves, as one might think: another law, and the tests say so."""
    values = np.random.default_rng(0).normal(size=(300, len(FEW)))
    pvalues = _functional_noise(values, 1.0)
    assert min(pvalues) * len(pvalues) < 1e-12
