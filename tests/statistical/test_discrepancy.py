"""The debiased discrepancy: right on average, and its intervals cover."""

import numpy as np
import pytest

from benchmarks.simulated import SCHEMA, measured, people
from kernelease.analysis.comparisons.mean_embedding import common_coordinates
from kernelease.analysis.comparisons.tables import sample_of_table
from kernelease.analysis.comparisons.two_sample import AgainstSample
from kernelease.analysis.estimate import Target

pytestmark = pytest.mark.statistical


def rows(count: int, seed: int, **change: float):
    return people(np.random.default_rng(seed), count, **change)


def test_squared_mmd_is_unbiased():
    """Without debiasing it would be too large by tr Σ + sampling, 40 times the standard error of this mean."""
    table, sample = rows(2_000, seed=3), sample_of_table(rows(1_000, seed=4, older=2.0), SCHEMA)
    (exact,) = common_coordinates([measured(table, epsilon=np.inf, generator=np.random.default_rng(0))], SCHEMA.columns)
    debiased, biased = [], []
    for seed in range(60):
        noisy = measured(table, epsilon=1.0, generator=np.random.default_rng(seed))
        (mean,) = common_coordinates([noisy], SCHEMA.columns)
        means = [part.coordinates.features(sample.rows).mean(axis=0) for part in mean.parts]
        biased.append(sum(np.sum((part.mean - m) ** 2) for part, m in zip(mean.parts, means, strict=True)))
        debiased.append(biased[-1] - mean.noise_trace)
    scale = [
        part.coordinates.scale / quiet.coordinates.scale for part, quiet in zip(mean.parts, exact.parts, strict=True)
    ]
    truth = sum(np.sum((c * part.mean - m) ** 2) for c, part, m in zip(scale, exact.parts, means, strict=True))
    error = np.std(debiased) / np.sqrt(60)
    assert abs(np.mean(debiased) - truth) < 5 * error  # fails once in a million
    assert abs(np.mean(biased) - truth) > 20 * error


def test_mmd_interval_covers():
    """Of 100 intervals of 90 %, fewer than 78 cover once in ten thousand runs."""
    sample = sample_of_table(rows(1_000, seed=4, older=3.0), SCHEMA)
    table = rows(2_000, seed=3)
    covered = 0
    for seed in range(100):
        (mean,) = common_coordinates(
            [measured(table, epsilon=1.0, generator=np.random.default_rng(seed))], SCHEMA.columns
        )
        codes = sample_of_table(table, SCHEMA).rows
        truth = np.sqrt(
            sum(
                np.sum(
                    (p.coordinates.features(codes).mean(axis=0) - p.coordinates.features(sample.rows).mean(axis=0)) ** 2
                )
                for p in mean.parts
            )
        )
        against = AgainstSample(released=mean, sample=sample, fitted=lambda: sample, seed=seed)
        low, high = against.mmd(Target.TABLE, 199).interval(0.9)
        covered += low <= truth <= high
    assert covered >= 78
