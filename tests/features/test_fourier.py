"""Paired Fourier features: fixed point against an oracle in Python integers, and against the exact kernel formula."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.features import Fourier
from kernelease.features.fourier import RADIUS, circle
from kernelease.kernels import Gaussian, Laplace, Matern52
from kernelease.seeds import PublicSeed

SEED = PublicSeed(3)
POINTS = np.random.default_rng(2).normal(size=(30, 4))


def _oracle(phi: Fourier, row: list[float]) -> list[int]:
    """The row's integers, in Python integers from the cells' grid points on."""
    cells = [round(cell / step) for cell, step in zip(row, phi.resolution, strict=True)]
    cosines, sines = circle()
    indices = []
    for frequency in phi.frequencies:
        turns = [w * step / math.tau for w, step in zip(frequency, phi.resolution, strict=True)]
        phase = sum(round(turn * 2**64) * cell for turn, cell in zip(turns, cells, strict=True)) % 2**64
        indices.append((phase + 2**47) // 2**48 % 2**16)
    return [int(cosines[i]) for i in indices] + [int(sines[i]) for i in indices]


@given(row=st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=2))
@settings(deadline=None)
def test_integers_are_those_of_the_oracle(row: list[float]) -> None:
    phi = Fourier.random(Gaussian(lengthscale=(1.0, 0.5)), features=12, dimension=2, seed=SEED)
    assert phi.integers(np.array([row]))[0].tolist() == _oracle(phi, row)


def test_the_norm_is_reached_but_never_passed() -> None:
    phi = Fourier.random(Gaussian(lengthscale=1.0), features=10, dimension=2, seed=SEED)
    squares = (phi.integers(np.array([[0.0, 0.0], [1.0, 2.0]])) ** 2).sum(axis=1)
    assert squares[0] == RADIUS**2 * 5
    assert RADIUS**2 * 5 * (1 - 1e-4) < squares[1] <= RADIUS**2 * 5


def test_opposite_rows_reach_the_diameter_and_l1_diameter() -> None:
    phi = Fourier(frequencies=np.array([[math.pi], [3 * math.pi]]), resolution=(2.0**-20,))
    first, last = phi.integers(np.array([[0.25], [1.25]])) * phi.step
    assert np.sqrt(((first - last) ** 2).sum()) == pytest.approx(phi.diameter, rel=1e-4)
    assert np.abs(first - last).sum() == pytest.approx(phi.diameter_l1, rel=1e-4)
    assert np.abs(first).sum() == pytest.approx(phi.norm_bound_l1, rel=1e-4)


def test_totals_of_many_rows_do_not_carry_from_one_sum_into_another() -> None:
    phi = Fourier(frequencies=np.array([[-math.pi / 2], [math.pi / 4]]), resolution=(2.0**-20,))
    rows = np.ones((20_001, 1))
    assert (phi.total(rows) == 20_001 * phi.integers(rows[:1])[0]).all()


def test_frequencies_are_rounded_once() -> None:
    kernel = Laplace(lengthscale=(1e-3, 7.0, 1e5))
    phi = Fourier.random(kernel, features=5000, dimension=3, seed=SEED)
    again = Fourier(frequencies=phi.frequencies, resolution=phi.resolution)
    assert np.array_equal(phi.frequencies, again.frequencies)
    rows = np.random.default_rng(0).normal(size=(20, 3)) * 10
    assert np.array_equal(phi.integers(rows), again.integers(rows))
    with pytest.raises(ValueError, match="read-only"):
        phi.frequencies[0, 0] = 1.0


def test_frequencies_of_a_seed_do_not_change() -> None:
    first, again = (Fourier.random(Gaussian(lengthscale=1.0), features=8, dimension=2, seed=SEED) for _ in range(2))
    other = Fourier.random(Gaussian(lengthscale=1.0), features=8, dimension=2, seed=PublicSeed(4))
    assert np.array_equal(first.frequencies, again.frequencies)
    assert not np.array_equal(first.frequencies, other.frequencies)


def test_orthogonal_frequencies_are_orthogonal_in_blocks() -> None:
    phi = Fourier.orthogonal(Gaussian(lengthscale=(1.0, 2.0, 3.0)), features=14, dimension=3, seed=SEED)
    scaled = phi.frequencies * np.array([1.0, 2.0, 3.0])
    for start in (0, 3):
        gram = scaled[start : start + 3] @ scaled[start : start + 3].T
        assert np.abs(gram - np.diag(np.diag(gram))).max() < 1e-12


@pytest.mark.parametrize("make", [Fourier.random, Fourier.orthogonal])
def test_approximation_error_of_the_gaussian_kernel(make: Callable[..., Fourier]) -> None:
    """Bias, maximum and mean error over 200 draws of 2,000 features. One entry has variance ≤ 1/J: σ = 0.022."""
    kernel = Gaussian(lengthscale=2.0)
    exact = np.exp(-((POINTS[:, None] - POINTS[None]) ** 2).sum(axis=2) / (2 * 2.0**2))
    errors = np.array([_gram(make(kernel, features=2000, dimension=4, seed=PublicSeed(s))) - exact for s in range(200)])
    assert np.abs(errors.mean(axis=0)).max() < 6 * 0.022 / math.sqrt(200)
    assert np.abs(errors).max() < 6.5 * 0.022
    assert np.abs(errors).mean() < 0.022


def _gram(phi: Fourier) -> Floats:
    features = phi.integers(POINTS) * phi.step
    gram: Floats = features @ features.T
    return gram


def test_orthogonal_frequencies_have_less_variance() -> None:
    kernel = Gaussian(lengthscale=2.0)
    exact = kernel.gram(POINTS, POINTS)
    deviations = [
        np.mean([(_gram(make(kernel, features=64, dimension=4, seed=PublicSeed(s))) - exact) ** 2 for s in range(100)])
        for make in (Fourier.random, Fourier.orthogonal)
    ]
    assert deviations[1] < 0.8 * deviations[0]


def test_gradient_is_that_of_finite_differences() -> None:
    phi = Fourier.random(Matern52(lengthscale=1.0), features=500, dimension=4, seed=SEED)
    coefficients = np.random.default_rng(0).normal(size=500)
    values, gradients = phi.value_and_gradient(POINTS, coefficients)
    assert np.allclose(values, phi.evaluate(POINTS) @ coefficients, rtol=0, atol=1e-11)
    assert np.array_equal(gradients, phi.gradient(POINTS, coefficients))
    for i in range(4):
        shift = 1e-6 * np.eye(4)[i]
        ahead, behind = (phi.evaluate(POINTS + sign * shift) @ coefficients for sign in (1, -1))
        assert np.abs((ahead - behind) / 2e-6 - gradients[:, i]).max() < 1e-5


def test_points_in_several_blocks_and_none() -> None:
    phi = Fourier.random(Gaussian(lengthscale=1.0), features=20_000, dimension=4, seed=SEED)
    phases = POINTS[:5] @ phi.frequencies.T
    direct = np.concatenate([np.cos(phases), np.sin(phases)], axis=1) / 100.0
    assert np.abs(phi.evaluate(POINTS[:5]) - direct).max() < 1e-14
    assert phi.evaluate(POINTS[:0]).shape == (0, 20_000)
    assert phi.gradient(POINTS[:0], np.ones(20_000)).shape == (0, 4)


@pytest.mark.parametrize(("features", "dimension"), [(3, 1), (0, 1), (-2, 1), (2, 0)])
def test_features_come_in_pairs(features: int, dimension: int) -> None:
    with pytest.raises(ParameterError, match="features must be even"):
        Fourier.random(Gaussian(lengthscale=1.0), features=features, dimension=dimension, seed=SEED)


def test_the_laplace_kernel_has_no_orthogonal_frequencies() -> None:
    with pytest.raises(ParameterError, match="must be radial"):
        Fourier.orthogonal(Laplace(lengthscale=1.0), features=8, dimension=2, seed=SEED)


@pytest.mark.parametrize("make", [Fourier.random, Fourier.orthogonal])
def test_lengthscales_must_match_the_dimension(make: Callable[..., Fourier]) -> None:
    with pytest.raises(ParameterError):
        make(Gaussian(lengthscale=(1.0, 2.0)), features=8, dimension=3, seed=SEED)


@pytest.mark.parametrize("frequencies", [np.ones(3), np.ones((0, 2)), np.ones((4, 3))])
def test_frequencies_have_a_column_per_resolution(frequencies: Floats) -> None:
    with pytest.raises(ParameterError, match="frequencies must have shape"):
        Fourier(frequencies=frequencies, resolution=(1.0, 1.0))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_frequencies_are_finite(value: float) -> None:
    with pytest.raises(ParameterError, match="must be finite"):
        Fourier(frequencies=np.array([[value]]), resolution=(1.0,))


def test_resolution_is_given_or_follows_the_lengthscale() -> None:
    kernel = Gaussian(lengthscale=(1.0, 4.0))
    for make in (Fourier.random, Fourier.orthogonal):
        assert make(kernel, features=4, dimension=2, seed=SEED).resolution == (2.0**-20, 2.0**-18)
        assert make(kernel, features=4, dimension=2, seed=SEED, resolution=(0.5, 1.0)).resolution == (0.5, 1.0)


def test_coefficients_have_one_entry_per_feature() -> None:
    phi = Fourier.random(Gaussian(lengthscale=1.0), features=8, dimension=4, seed=SEED)
    with pytest.raises(ParameterError, match="coefficients must have shape"):
        phi.gradient(POINTS, np.ones(9))
