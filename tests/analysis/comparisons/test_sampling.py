"""Samples in all forms, and draws of errors with the variance that they should have."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import ndtri
from scipy.stats import chi2

from benchmarks.simulated import SCHEMA, measured, people
from kernelease.analysis.comparisons.mean_embedding import ScaledScatter, Scatter, common_coordinates, draw_errors
from kernelease.analysis.comparisons.tables import SampleRows, sample_of_table
from kernelease.table.encode import Encoder
from tests.analysis.comparisons.releases import RELEASE, SAME, VECTORS

TABLE = people(np.random.default_rng(0), 1_000)
EXACT = measured(TABLE, epsilon=np.inf, generator=np.random.default_rng(0))
CODES = Encoder(SCHEMA).encode(TABLE).astype(np.int64)
(MEAN,) = common_coordinates([EXACT], SCHEMA.columns)


def everyone(codes) -> SampleRows:
    return SampleRows(rows=codes, persons=np.arange(len(codes)))


def test_scatter_is_the_covariance_of_the_mean():
    scatter = Scatter.of(everyone(CODES), [part.coordinates for part in MEAN.parts], np.random.default_rng(0))
    features = [part.coordinates.features(CODES) for part in MEAN.parts]
    for mean, deviations, direct in zip(scatter.means, scatter.deviations, features, strict=True):
        assert mean == pytest.approx(direct.mean(axis=0), abs=1e-12)
        assert deviations.T @ deviations == pytest.approx(np.atleast_2d(np.cov(direct.T)), abs=1e-9)
    assert scatter.trace == pytest.approx(sum(direct.var(axis=0, ddof=1).sum() for direct in features))


def test_groups_of_many_rows_keep_the_trace_nearly():
    codes = np.repeat(CODES, 5, axis=0)
    scatter = Scatter.of(everyone(codes), [MEAN.parts[0].coordinates], np.random.default_rng(0))
    assert scatter.groups == 2_000
    assert float(np.sum(scatter.deviations[0] ** 2)) == pytest.approx(scatter.trace, rel=0.2)


def test_persons_count_as_their_average():
    persons = np.arange(1_000) % 250
    scatter = Scatter.of(
        SampleRows(rows=CODES, persons=persons), [part.coordinates for part in MEAN.parts], np.random.default_rng(0)
    )
    direct = MEAN.parts[0].coordinates.features(CODES)
    averages = np.stack([direct[persons == person].mean(axis=0) for person in range(250)])
    assert scatter.units == 250
    assert scatter.means[0] == pytest.approx(averages.mean(axis=0))
    assert scatter.deviations[0].T @ scatter.deviations[0] == pytest.approx(np.cov(averages.T), abs=1e-9)


@pytest.mark.statistical
def test_errors_have_the_stated_variance():
    """Fails once in a million runs, by chance of the mean of ‖e‖² or of the variance along a direction.

    A row is in all parts at once: what it adds to one goes with what it adds to another, and covariances between parts
    belong to the variance along a direction. Of the one with the largest variance they are a good deal.
    """
    noisy = measured(TABLE, epsilon=1.0, generator=np.random.default_rng(0))
    (mean,) = common_coordinates([noisy], SCHEMA.columns)
    scatter = Scatter.of(everyone(CODES), [part.coordinates for part in mean.parts], np.random.default_rng(0))
    rows = np.hstack(scatter.deviations)  # of all parts, side by side
    covariance = np.diag(np.concatenate([part.variance for part in mean.parts])) + 0.01 * rows.T @ rows
    direction = np.split(np.linalg.eigh(covariance)[1][:, -1], np.cumsum([len(part.mean) for part in mean.parts])[:-1])
    error = draw_errors(
        [mean], [ScaledScatter(scatter=scatter, rate=0.01)], direction, np.random.default_rng(0), draws=4_000
    )
    assert error.trace == pytest.approx(np.trace(covariance))
    deviation = np.sqrt(2.0 * np.sum(covariance**2) / 4_000)  # of the mean of ‖e‖², e normal
    assert error.squares.mean() == pytest.approx(np.trace(covariance), abs=-ndtri(1e-6 / 4) * deviation)
    along = np.concatenate(direction)
    assert within_chance(error.projections, along @ covariance @ along)
    apart = sum(
        one @ (np.diag(part.variance) + 0.01 * deviations.T @ deviations) @ one
        for one, part, deviations in zip(direction, mean.parts, scatter.deviations, strict=True)
    )
    assert not within_chance(error.projections, apart)  # broken twin: the parts' variances, without covariances


def within_chance(draws, variance) -> bool:
    """Whether normal draws can have this variance; of draws that do, once in two million times it says no."""
    degrees = len(draws) - 1
    low, high = chi2.ppf([1e-6 / 4, 1.0 - 1e-6 / 4], degrees)
    return bool(low < degrees * draws.var(ddof=1) / variance < high)


def test_a_noisy_number_of_rows_counts():
    schema = dataclasses.replace(SCHEMA, neighbours="add-remove")
    noisy = measured(TABLE, epsilon=0.1, generator=np.random.default_rng(1), schema=schema)
    (mean,) = common_coordinates([noisy], schema.columns)
    assert mean.count_deviation > 0.0
    direction = [np.zeros(len(part.mean)) for part in mean.parts]
    error = draw_errors([mean], [], direction, np.random.default_rng(0), draws=4_000)
    assert error.squares.mean() == pytest.approx(mean.noise_trace, rel=0.05)


def test_the_schema_of_a_sample():
    sample = sample_of_table(TABLE.select(["ward", "age"]), SCHEMA)
    assert sample.columns == frozenset({0, 2})
    assert np.array_equal(sample.rows[:, [0, 2]], CODES[:, [0, 2]])


@pytest.mark.parametrize("form", ["pandas", "polars", "dict", "batch"])
def test_samples_of_many_forms(form):
    forms = {
        "pandas": SAME.to_pandas,
        "polars": lambda: __import__("polars").from_arrow(SAME),
        "dict": SAME.to_pydict,
        "batch": lambda: SAME.combine_chunks().to_batches()[0],
    }
    assert float(RELEASE.tests.mmd(forms[form]())) == float(RELEASE.tests.mmd(SAME))


def test_sample_rows_count_persons():
    assert SampleRows(rows=np.zeros((3, 1)), persons=np.array([0, 0, 1])).units == 2


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: RELEASE.tests.mmd(SAME.slice(0, 0)), "empty"),
        (lambda: RELEASE.tests.mmd(SAME.slice(0, 1)), "at least two rows"),
        (lambda: RELEASE.tests.mmd(pa.table({"ages": [1, 2]})), "none of the release's columns.*Did you mean age"),
        (lambda: RELEASE.tests.mmd("adult.csv"), "must be an Arrow table"),
        (lambda: VECTORS.tests.mmd(np.zeros((5, 3))), "must have 2 columns"),
        (lambda: VECTORS.tests.mmd(np.zeros((0, 2))), "empty"),
    ],
)
def test_refuses(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
