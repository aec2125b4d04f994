"""Splitting: smooth stretches lose their noise, spikes stay, empty tails get next to nothing."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kernelease.fit.mixtures.one_way import denoise


def l1(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.abs(first - second).sum())


def test_a_smooth_column_loses_most_of_its_noise() -> None:
    truth = 1000.0 * np.exp(-0.5 * ((np.arange(100) - 40) / 15) ** 2)
    noise = np.random.default_rng(0).normal(0.0, 100.0, 100)
    assert l1(denoise(truth + noise, truth.sum(), lambda _: 100.0), truth) < 0.5 * l1(truth + noise, truth)


def test_a_spike_stays_and_a_flat_stretch_is_averaged() -> None:
    truth = np.full(64, 10.0)
    truth[39] = 5000.0
    result = denoise(truth + np.random.default_rng(0).normal(0.0, 20.0, 64), truth.sum(), lambda _: 20.0)
    assert result[39] > 4800.0
    assert np.abs(result[np.arange(64) != 39] - 10.0).mean() < 10.0


def test_without_noise_nothing_changes() -> None:
    counts = np.random.default_rng(0).integers(0, 100, 37).astype(float)
    assert np.allclose(denoise(counts, counts.sum(), lambda _: 1e-9), counts)


@pytest.mark.slow
@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=70), st.floats(0.0, 1e6), st.floats(1e-3, 1e4))
def test_counts_are_never_negative_and_add_up(counts: list[float], total: float, sigma: float) -> None:
    result = denoise(np.array(counts), total, lambda _: sigma)
    assert (result >= 0.0).all()
    assert result.sum() == pytest.approx(total, rel=1e-9, abs=1e-9)


@pytest.mark.slow
def test_a_tail_of_noise_does_not_carry_the_mean_away() -> None:
    """All rows are in the first tenth of 256 atoms. Clamped at 0, noise in the rest would triple the mean."""
    atoms = np.arange(256)
    truth = np.where(atoms < 26, 10_000 / 26, 0.0)
    means, clamped = [], []
    for seed in range(20):
        counts = truth + np.random.default_rng(seed).normal(0.0, 35.0, 256)
        means.append(float(denoise(counts, 10_000.0, lambda _: 35.0) @ atoms) / 10_000)
        clamped.append(float(np.maximum(counts, 0.0) @ atoms) / np.maximum(counts, 0.0).sum())
    assert np.mean(clamped) > 2.5 * 12.5
    assert np.mean(means) < 1.25 * 12.5
