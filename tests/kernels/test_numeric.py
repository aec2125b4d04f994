"""Numeric kernels against direct formulas, exact arithmetic, their spectral laws and finite differences."""

import math
from decimal import Decimal

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.kernels import Gaussian, Laplace, Matern32, Matern52, RationalQuadratic, ShiftInvariant
from kernelease.kernels.kernel import BLOCK, WIDTH
from kernelease.seeds import PublicSeed
from tests.kernels.oracles import exact

KINDS = (Gaussian, Laplace, Matern32, Matern52, RationalQuadratic)
SCALES = (0.7, 1.3, 2.9)
EVERY = [
    *(kind(lengthscale=scale) for kind in KINDS for scale in (1.7, SCALES)),
    *(RationalQuadratic(lengthscale=SCALES, alpha=alpha) for alpha in (0.1, 2.5, 1000.0)),
]
kernels = pytest.mark.parametrize("kernel", EVERY, ids=repr)


def direct(kernel: ShiftInvariant, x: Floats, y: Floats) -> Floats:
    a, b = x / np.asarray(kernel.lengthscale), y / np.asarray(kernel.lengthscale)
    r = cdist(a, b)
    match kernel:
        case Gaussian():
            return np.exp(-(r**2) / 2)
        case Laplace():
            return np.exp(-cdist(a, b, "cityblock"))
        case Matern32():
            return (1 + math.sqrt(3) * r) * np.exp(-math.sqrt(3) * r)
        case Matern52():
            return (1 + math.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-math.sqrt(5) * r)
        case RationalQuadratic():
            return (1 + r**2 / (2 * kernel.alpha)) ** -kernel.alpha
    raise NotImplementedError


@kernels
def test_values_follow_the_formula(kernel: ShiftInvariant) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(40, 3)), 2 * rng.normal(size=(50, 3))
    np.testing.assert_allclose(kernel.gram(x, y), direct(kernel, x, y), rtol=0, atol=1e-12)


@kernels
def test_a_row_is_exactly_like_itself(kernel: ShiftInvariant) -> None:
    rows = np.random.default_rng(2).normal(size=(20, 3)) * 10.0 ** np.arange(-10, 10)[:, np.newaxis]
    assert (kernel.gram(rows, rows).diagonal() == 1.0).all()
    assert (kernel.diagonal(rows) == 1.0).all()
    assert kernel.gram(rows, rows + 1e-9).max() <= 1.0


def worst_error(kernel: ShiftInvariant, x: Floats, y: Floats) -> Decimal:
    computed = np.array([kernel.gram(a[np.newaxis], b[np.newaxis])[0, 0] for a, b in zip(x, y, strict=True)])
    return max(abs(Decimal(k) - exact(kernel, a, b)) for k, a, b in zip(computed.tolist(), x, y, strict=True))


def hard_pairs(rng: np.random.Generator, scales: Floats) -> tuple[Floats, Floats]:
    """Pairs at all distances: near, far, with a large common part, at the exponents where exp and log change cell."""
    columns = len(scales)
    distance = 10.0 ** rng.uniform(-9, 2, size=(60, 1))
    direction = rng.normal(size=(60, columns))
    offset = rng.choice([0.0, 1.0, 1e6, 1e12], size=(60, 1))
    wide = (
        offset * scales,
        (offset + distance * direction / np.linalg.norm(direction, axis=1)[:, np.newaxis]) * scales,
    )
    steps = np.sqrt(np.arange(1, 61)[:, np.newaxis] / 32.0) * scales / math.sqrt(columns)
    return np.concatenate([wide[0], np.zeros_like(steps)]), np.concatenate([wide[1], steps])


@pytest.mark.parametrize("columns", [1, 3, 40])
@pytest.mark.parametrize("kind", KINDS)
def test_evaluation_error_is_a_bound(kind: type[ShiftInvariant], columns: int) -> None:
    rng = np.random.default_rng(columns)
    scales = 10.0 ** rng.uniform(-3, 3, size=columns)
    kernel = kind(lengthscale=tuple(scales.tolist()))
    error = worst_error(kernel, *hard_pairs(rng, scales))
    assert error <= kernel.evaluation_error(columns)
    assert error > kernel.evaluation_error(columns) / 100 or columns > 3, "a bound this loose would cost utility"


@pytest.mark.parametrize("alpha", [0.1, 30.0, 1000.0])
def test_evaluation_error_of_steep_powers(alpha: float) -> None:
    kernel = RationalQuadratic(lengthscale=(0.3, 7.0), alpha=alpha)
    assert worst_error(kernel, *hard_pairs(np.random.default_rng(9), np.array([0.3, 7.0]))) <= kernel.evaluation_error(
        2
    )


@pytest.mark.parametrize("scale", [1e-100, 1e-90, 1.0, 1e90, 1e100])
@pytest.mark.parametrize("kind", KINDS)
def test_evaluation_error_at_the_ends_of_the_range(kind: type[ShiftInvariant], scale: float) -> None:
    cells = np.array([5e-324, 1e-308, 1e-160, 1e-100, 2e-100, 3e-90, 1.0, 1e10, 1e90, 3e100, 1e149, 1e150])
    x, y = (grid.reshape(-1, 1).repeat(2, axis=1) for grid in np.meshgrid(cells, -cells))
    kernel = kind(lengthscale=(scale, scale))
    assert worst_error(kernel, x, y) <= kernel.evaluation_error(2)
    assert worst_error(kind(lengthscale=scale), x, y) <= kind(lengthscale=scale).evaluation_error(2)


def test_the_error_grows_with_the_columns() -> None:
    kernel = Gaussian(lengthscale=1.0)
    rows = np.random.default_rng(4).normal(size=(4, 4096)) / 64
    assert worst_error(kernel, rows[:2], rows[2:]) <= kernel.evaluation_error(4096)
    assert kernel.evaluation_error(2) < kernel.evaluation_error(4096) / 100


@pytest.mark.statistical
@kernels
def test_frequencies_follow_the_spectral_law(kernel: ShiftInvariant) -> None:
    assert spectral_distance(kernel, kernel) < 5 / 512  # five standard errors: a false alarm has probability below 1e-5


@pytest.mark.parametrize(
    ("law", "kernel"),
    [
        (Matern32(lengthscale=SCALES), Matern52(lengthscale=SCALES)),
        (Gaussian(lengthscale=SCALES), Gaussian(lengthscale=SCALES[::-1])),
        (RationalQuadratic(lengthscale=1.0, alpha=1.0), RationalQuadratic(lengthscale=1.0, alpha=1.5)),
    ],
)
def test_another_spectral_law_would_be_noticed(law: ShiftInvariant, kernel: ShiftInvariant) -> None:
    assert spectral_distance(law, kernel) > 5 / 512


def spectral_distance(law: ShiftInvariant, kernel: ShiftInvariant) -> float:
    differences = np.array([[0.5, 0, 0], [0, 2.0, 0], [0.3, -0.4, 1.0], [1.0, 1.0, -1.0], [0, 0, 4.0]])
    frequencies = law.frequencies(PublicSeed(11).generator("frequencies"), 512**2, 3)
    assert frequencies.shape == (512**2, 3)
    means = np.cos(frequencies @ differences.T).mean(axis=0)
    return float(abs(means - kernel.gram(differences, np.zeros((1, 3)))[:, 0]).max())


@kernels
def test_gradient_is_the_slope_of_gram(kernel: ShiftInvariant) -> None:
    rng = np.random.default_rng(6)
    x, y, step = rng.normal(size=(5, 3)), rng.normal(size=(7, 3)), 1e-6
    gradient = kernel.gradient(x, y)
    assert gradient.shape == (5, 7, 3)
    for j, direction in enumerate(np.eye(3) * step):
        slope = (kernel.gram(x, y + direction) - kernel.gram(x, y - direction)) / (2 * step)
        np.testing.assert_allclose(gradient[:, :, j], slope, atol=1e-6)
    assert (kernel.gradient(x, x)[range(5), range(5)] == 0.0).all()


def test_gradient_is_finite_everywhere() -> None:
    rows = np.array([[0.0], [1e-300], [1e-100], [1.0], [1e150], [np.inf]])
    for kind in KINDS:
        for scale in (1e-100, 1.0, 1e100):
            assert np.isfinite(kind(lengthscale=scale).gradient(rows, -rows)).all()


@kernels
def test_lipschitz_constant_is_reached(kernel: ShiftInvariant) -> None:
    if kernel.lipschitz is None:
        assert isinstance(kernel, Laplace)
        assert not isinstance(kernel.lengthscale, tuple)
        return
    # Radial kernels are steepest along the shortest column, Laplace near a row along all of them.
    shortest = np.array([1.0, 0.0, 0.0])
    path = np.linspace(1e-6, 6, 20_001)[:, np.newaxis] * (
        1 / np.array(SCALES) if isinstance(kernel, Laplace) else shortest
    )
    slopes = np.linalg.norm(kernel.gradient(np.zeros((1, 3)), path)[0], axis=1)
    assert slopes.max() == pytest.approx(kernel.lipschitz, rel=1e-4)
    assert slopes.max() <= kernel.lipschitz * (1 + 1e-12)


def test_blocks_change_no_bit() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(BLOCK // WIDTH * 3 + 1, 2)), rng.normal(size=(2 * WIDTH + 7, 2))
    kernel = Gaussian(lengthscale=0.8)
    whole = kernel.gram(x, y)
    assert whole[-3:].tobytes() == kernel.gram(x[-3:], y).tobytes()
    assert whole[:, 4000:4200].tobytes() == kernel.gram(x, y[4000:4200]).tobytes()
    assert kernel.gram(x, y[:0]).shape == (len(x), 0)
    assert kernel.gram(x[:0], y).shape == (0, len(y))


def test_columns_must_match() -> None:
    kernel, rows = Gaussian(lengthscale=1.0), np.zeros((3, 2))
    with pytest.raises(ParameterError, match="same number of columns, got 2 and 3"):
        kernel.gram(rows, np.zeros((4, 3)))
    with pytest.raises(ParameterError, match=r"one column per lengthscale \(3\), got 2"):
        Matern32(lengthscale=(1.0, 1.0, 1.0)).gram(rows, rows)
    with pytest.raises(ParameterError, match=r"1 to 4096 columns, got 4097"):
        kernel.diagonal(np.zeros((1, 4097)))
    with pytest.raises(ParameterError, match="two-dimensional"):
        kernel.gram(np.zeros(3), rows)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, 1e-101, 1e101, "1", None, True, [1.0], (1.0, 0.0)])
@pytest.mark.parametrize("kind", KINDS)
def test_lengthscale_must_be_positive_and_finite(kind: type[ShiftInvariant], bad: object) -> None:
    with pytest.raises(ParameterError, match="lengthscale must be a positive, finite number"):
        kind(lengthscale=bad)


@pytest.mark.parametrize("bad", [(), (1.0,) * 4097])
def test_there_must_be_a_lengthscale_per_column(bad: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match="lengthscale must be a tuple of length 1 to 4096"):
        Laplace(lengthscale=bad)


@pytest.mark.parametrize("bad", [0.0, 0.05, 1001.0, math.nan, None])
def test_alpha_has_a_range(bad: object) -> None:
    with pytest.raises(ParameterError, match=r"alpha must be a number from 0\.1 to 1000"):
        RationalQuadratic(lengthscale=1.0, alpha=bad)


def test_frequencies_need_a_count_and_a_dimension() -> None:
    generator = PublicSeed(0).generator("frequencies")
    with pytest.raises(ParameterError, match="count of frequencies must be at least 1, got 0"):
        Gaussian(lengthscale=1.0).frequencies(generator, 0, 2)
    with pytest.raises(ParameterError, match="one column per lengthscale"):
        Gaussian(lengthscale=(1.0, 1.0)).frequencies(generator, 5, 3)
