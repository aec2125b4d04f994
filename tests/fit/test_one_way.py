"""Single columns: what comes out is nearer to the truth than what went in, and spikes stay."""

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.fit.mixtures.one_way import denoised, one_ways
from kernelease.measured.block import Block
from kernelease.privacy.noise import SeededNoise
from tests.fit.tables import noisy_blocks


def l1(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.abs(first - second).sum())


def single(*columns: int, share: float = 0.5, width: int = 1, size: int = 256) -> Block:
    return Block(columns=columns, groups=(np.arange(size) // width,), share=share)


def test_a_smooth_column_loses_most_of_its_noise() -> None:
    truth = 1000.0 * np.exp(-0.5 * ((np.arange(100) - 40) / 15) ** 2)
    noise = np.random.default_rng(0).normal(0.0, 100.0, 100)
    assert l1(denoised(truth + noise, 100.0), truth) < 0.5 * l1(truth + noise, truth)


def test_a_spike_stays_and_a_flat_stretch_is_averaged() -> None:
    truth = np.full(64, 10.0)
    truth[39] = 5000.0
    result = denoised(truth + np.random.default_rng(0).normal(0.0, 20.0, 64), 20.0)
    assert result[39] > 4800.0
    assert np.abs(result[np.arange(64) != 39] - 10.0).mean() < 20.0


def test_without_noise_nothing_changes() -> None:
    counts = np.random.default_rng(0).integers(0, 100, 37).astype(float)
    assert np.allclose(denoised(counts, 1e-9), counts)


def test_sums_are_kept() -> None:
    counts = np.random.default_rng(0).normal(50.0, 30.0, 45)
    assert denoised(counts, 30.0).sum() == pytest.approx(counts.sum())


def test_a_coarse_block_sharpens_the_fine_one() -> None:
    """Over many repeats: sums over runs are less noisy with runs measured as well, at the same total cost."""
    codes = np.random.default_rng(0).integers(0, 256, (1, 5000))
    plain, both = [], []
    for seed in range(20):
        for blocks, errors in (
            ([single(0, share=1.0)], plain),
            ([single(0, share=2 / 3), single(0, share=1 / 3, width=16)], both),
        ):
            one = one_ways(noisy_blocks(codes, (256,), blocks, noise=SeededNoise(seed)))[0]
            runs = np.add.reduceat(one.shares, np.arange(0, 256, 16))
            errors.append(np.square(runs - np.bincount(codes[0] // 16, minlength=16) / 5000).mean())
    assert np.mean(both) < 0.5 * np.mean(plain)


def test_distributions_are_positive_and_add_up_to_1() -> None:
    codes = np.zeros((1, 10), dtype=np.int64)
    one = one_ways(noisy_blocks(codes, (256,), [single(0, share=1.0)], ordered=(256,)))[0]
    assert (one.distribution > 0).all()
    assert one.distribution.sum() == pytest.approx(1.0)


def test_a_column_that_was_never_measured_atom_by_atom_is_refused() -> None:
    codes = np.zeros((1, 10), dtype=np.int64)
    with pytest.raises(ParameterError, match="not measured atom by atom"):
        one_ways(noisy_blocks(codes, (256,), [single(0, width=2)]))
