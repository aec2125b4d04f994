"""Single columns: what comes out is nearer to the truth than what went in, and spikes stay."""

import dataclasses

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.fit.mixtures.one_way import denoise, one_ways, shrink, trim
from kernelease.measured.blocks import Block
from kernelease.measured.counts import Counts
from kernelease.measured.looks import Laid
from kernelease.noises import SeededNoise
from tests.fit.tables import noisy_blocks


def l1(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.abs(first - second).sum())


def single(*columns: int, share: float = 0.5, width: int = 1, size: int = 256) -> Block:
    return Counts(columns=columns, groups=(np.arange(size) // width,), share=share)


@pytest.mark.statistical
@pytest.mark.parametrize("size", [2, 5, 40, 200])
def test_where_noise_rules_a_column_is_no_worse_than_uniform(size: int) -> None:
    """Ten rows at a noise of some hundred: what comes out is uniform, but for an ordered column once in 16 times.

    (Of 300 repeats, 18 at 200 atoms and 2 at 40, where smoothing takes noise for a spike.) Of 20, more than 8 have a
    chance of one in a million. Untouched, each would be far from uniform.
    """
    codes = np.random.default_rng(0).integers(0, size, (1, 10))
    blocks = [Counts(columns=(0,), groups=(np.arange(size),), share=1e-4)]
    for ordered in (0, size):
        noisy = [
            noisy_blocks(codes, (size,), blocks, noise=SeededNoise(seed), ordered=(ordered,)) for seed in range(20)
        ]
        away = [l1(one_ways(one)[0].distribution, np.full(size, 1.0 / size)) for one in noisy]
        assert sum(one >= 1.0 for one in away) <= (8 if ordered else 0)


def test_a_strong_column_is_hardly_shrunk() -> None:
    shares = np.array([0.7, 0.2, 0.1])
    assert np.allclose(shrink(shares, shares, 1e-8), shares, atol=1e-6)
    assert np.allclose(shrink(np.full(3, 1 / 3), shares, 1e-8), 1 / 3)


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


def _deviation(counts: np.ndarray) -> float:
    values, shares = np.arange(len(counts)), counts / counts.sum()
    return float(np.sqrt(shares @ (values - shares @ values) ** 2))


def test_a_number_of_fine_values_keeps_its_tails() -> None:
    """A normal law over 401 values, some 30 rows each at a noise of 38: a tenth of the rows lies where none stands out.

    Cut off where the noise begins, the deviation would be a fifth too small. No row is made or lost, and where nothing
    is but noise, next to nothing is put.
    """
    draws = np.random.default_rng(0)
    away, beyond = [], []
    for _ in range(20):
        real = np.bincount(np.clip(np.round(draws.normal(160, 50, 12_000)), 0, 400).astype(int), minlength=401) * 1.0
        counts = real + draws.normal(0.0, 38.0, 401)
        made = trim(denoise(counts, 12_000, lambda _: 38.0), counts, 38.0, np.ones(401))
        assert made.sum() == pytest.approx(12_000)
        assert made.min() >= 0.0
        away.append(_deviation(made) / _deviation(real) - 1.0)
        beyond.append(made[361:].sum() / 12_000)
    assert abs(np.mean(away)) < 0.1
    assert np.mean(beyond) < 0.02


def test_a_tail_that_nothing_is_known_of_is_none() -> None:
    counts = np.array([5.0, 3.0, 80.0, 90.0, 4.0])
    assert trim(np.array([0.0, 0.0, 0.0, 90.0, 0.0]), counts, 3.0, np.ones(5))[:2].tolist() == [0.0, 0.0]
    exact = trim(counts, counts, 0.0, np.ones(5))
    assert np.allclose(exact, counts)


def test_a_scale_of_few_values_stays_one() -> None:
    """Seven answers on ticks of .1: whatever lies between them is noise, and so is what lies beyond the last."""
    truth, sigma = np.zeros(301), 27.0
    truth[[5, 25, 60, 90, 130, 165, 230]] = [370, 2034, 1141, 602, 590, 818, 811]
    for seed in range(5):
        counts = truth + np.random.default_rng(seed).normal(0.0, sigma, len(truth))
        fitted = trim(denoise(counts, truth.sum(), lambda atoms: sigma), counts, sigma, np.ones(len(truth)))
        assert np.abs(fitted - truth).sum() / 2.0 < 0.02 * truth.sum()
        assert fitted[truth == 0.0].sum() < 0.01 * truth.sum()


@pytest.mark.statistical
@pytest.mark.parametrize(("count", "at_the_end"), [(400, 0), (2000, 300)])
def test_an_end_of_a_range_is_a_spike_only_where_rows_show_one(count: int, at_the_end: int) -> None:
    """Of 400 rows at a noise of 32, the last value's own atom would have several in a hundred by noise alone."""
    first = np.concatenate([[0, 1], np.linspace(156, 4844, 31).astype(int), [5000]])
    draws = np.random.default_rng(0)
    rows = np.concatenate([np.zeros(at_the_end), draws.normal(2500, 600, count - at_the_end).clip(1, 4999)])
    codes = (np.searchsorted(first, rows, side="right") - 1)[None, :]
    blocks = [Counts(columns=(0,), groups=(np.arange(34),), share=0.035)]
    laid = Laid(column=0, numerator=1, denominator=1, first=first)
    ends = []
    for seed in range(20):
        noisy = noisy_blocks(codes, (34,), blocks, noise=SeededNoise(seed), ordered=(34,))
        ends.append(one_ways(dataclasses.replace(noisy, laid=(laid,)))[0].distribution[[0, -1]])
    low, high = np.mean(ends, axis=0)
    assert high < 0.003
    assert low == pytest.approx(at_the_end / count, abs=0.01 if at_the_end else 0.003)


def test_a_sum_that_stands_out_by_chance_far_from_all_rows_keeps_nothing() -> None:
    """Of 280 sums from outside some pass three deviations: the first atom does here, and the sums after it do not."""
    counts = np.concatenate([[900.0, 500.0, 300.0], np.tile([-30.0, 30.0], 120), [130.0]])
    fitted = trim(np.maximum(counts, 0.0), counts, 40.0, np.ones(len(counts)))
    assert fitted[40:].sum() < 1.0
    spread = np.concatenate([[900.0, 500.0, 300.0], np.full(120, 30.0)])  # here all of them do, and none by itself
    assert trim(spread, spread, 40.0, np.ones(len(spread)))[40:].sum() > 1_000.0
