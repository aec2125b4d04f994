"""What followed the paper, as the benchmark has it: features are right, boxes hold rows, distances are distances."""

import numpy as np
import pytest

import kernelease as ke
from benchmarks import descendants
from benchmarks.descendants import Setting, frechet


def _setting(rows: np.ndarray) -> Setting:
    kernel = ke.kernels.Gaussian(lengthscale=(1.0,) * rows.shape[1])
    return Setting(name="here", rows=rows, fresh=rows[:20], half_width=8.0, kernel=kernel)


def test_hermite_features_have_the_gaussian_kernel_and_slopes_of_their_own() -> None:
    x, rho, step = np.linspace(-8.0, 8.0, 9), np.sqrt(2.0) - 1.0, 1e-6
    features, slopes = descendants._hermite(x, rho, 100)
    np.testing.assert_allclose(features @ features.T, np.exp(-0.5 * (x[:, None] - x) ** 2), atol=1e-12)
    moved = (descendants._hermite(x + step, rho, 100)[0] - descendants._hermite(x - step, rho, 100)[0]) / (2 * step)
    np.testing.assert_allclose(slopes, moved, atol=1e-7)


@pytest.mark.parametrize("make", [descendants.private_measure, descendants.private_pruned])
def test_halved_boxes_hold_the_rows(make, monkeypatch) -> None:
    """With hardly any noise, points are where rows are, to the width of a box."""
    monkeypatch.setattr(descendants, "_MU", 100.0)
    rows = np.random.default_rng(0).choice([-5.0, 1.0, 6.0], (3000, 2), p=[0.5, 0.3, 0.2])
    made = make(_setting(rows), 0)
    assert abs(len(made.points) - descendants.POINTS) <= 1
    assert np.abs(made.points.mean(axis=0) - rows.mean(axis=0)).max() < 0.2
    nearest = np.abs(made.points[:, :, None] - np.array([-5.0, 1.0, 6.0])).min(axis=2)
    assert np.quantile(nearest, 0.95) < 0.1


def test_the_frechet_distance_is_that_of_gaussians() -> None:
    one, other = np.diag([1.0, 4.0]), np.diag([9.0, 4.0])
    assert frechet(np.zeros(2), np.zeros(2), one, one) == pytest.approx(0.0, abs=1e-12)
    assert frechet(np.zeros(2), np.array([3.0, 0.0]), one, other) == pytest.approx(9.0 + (3.0 - 1.0) ** 2)
