"""The paper's two data sets: mixtures of ten Gaussians in 2 and 5 dimensions, its kernel, its random public points."""

import numpy as np

import kernelease as ke
from kernelease.arrays import Floats

DIMENSIONS = (2, 5)
ROWS = 100_000
COMPONENTS = 10
SPREAD = 30.0  # standard deviation of a component, in each column
PRIOR_MEAN, PRIOR_SCALE = 0.0, 500.0  # all that is assumed to be known about where rows lie


def shares() -> Floats:
    """The mixture's weights, ∝ 1/n: (10,)."""
    each = 1.0 / np.arange(1, COMPONENTS + 1)
    return each / each.sum()


def means(dimension: int, legacy: np.random.RandomState | None = None) -> Floats:
    """The components' means, drawn from N(100, 200²) by NumPy's legacy generator at seed 0: (10, D)."""
    return (legacy or np.random.RandomState(0)).normal(100.0, 200.0, (COMPONENTS, dimension))


def private_rows(dimension: int, rows: int = ROWS, sample: int = 0) -> Floats:
    """N rows as the authors drew them: (N, D). Other samples are fresh draws from the same mixture."""
    legacy = np.random.RandomState(0)
    centres = means(dimension, legacy)
    legacy = legacy if sample == 0 else np.random.RandomState(sample)
    labels = legacy.choice(COMPONENTS, size=rows, p=shares())
    return legacy.normal(centres[labels], SPREAD)


def random_points(dimension: int, count: int) -> Floats:
    """The authors' public points where no row is published, in their order: (count, D)."""
    return np.random.RandomState(0).normal(PRIOR_MEAN, PRIOR_SCALE, (count, dimension))


def prior(dimension: int) -> ke.fit.NormalPoints:
    """The law of the random points, N(0, 500²) in each column."""
    return ke.fit.NormalPoints(dimension=dimension, mean=PRIOR_MEAN, scale=PRIOR_SCALE)


def kernel(dimension: int) -> ke.kernels.Gaussian:
    """exp(−γ‖x − y‖²) with γ = 10⁻⁴/D."""
    return gaussian(1e-4 / dimension, dimension)


def gaussian(gamma: float, dimension: int) -> ke.kernels.Gaussian:
    """exp(−γ‖x − y‖²), with one lengthscale per column: the bounds are tighter where their number is declared."""
    return ke.kernels.Gaussian(lengthscale=(float(np.sqrt(0.5 / gamma)),) * dimension)
