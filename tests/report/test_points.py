"""Vectors as the page shows them: their axes, their classes, and how exact they are."""

import numpy as np
import pytest

from kernelease import Privacy
from kernelease.kernels import Gaussian
from kernelease.pipeline import measure
from kernelease.report.columns import points_record, points_worth, principal_axes
from tests.report import releases


def test_axes_are_those_of_the_most_variance():
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(5_000, 4)) * np.array([1.0, 5.0, 2.0, 0.1])
    mean, axes, shares = principal_axes(rows, np.full(5_000, 1 / 5_000))
    assert np.allclose(mean, rows.mean(axis=0))
    assert np.abs(axes).argmax(axis=1).tolist() == [1, 2, 0, 3]
    assert (axes[np.arange(4), [1, 2, 0, 3]] > 0).all()  # the sign is not left to LAPACK
    assert shares.sum() == pytest.approx(1.0)
    assert np.allclose(axes @ axes.T, np.eye(4))


def test_two_numbers_are_shown_as_they_are():
    rows = np.array([[0.0, 1.0], [2.0, 5.0]])
    mean, axes, shares = principal_axes(rows, np.array([0.5, 0.5]))
    assert mean.tolist() == [0.0, 0.0]
    assert np.array_equal(axes, np.eye(2))
    assert shares.tolist() == pytest.approx([0.2, 0.8])


def test_points_that_do_not_differ_have_axes_too():
    assert principal_axes(np.ones((3, 3)), np.full(3, 1 / 3))[2].tolist() == [0.0, 0.0, 0.0]


def test_every_class_has_a_share_with_an_interval():
    """The interval is of the noise: it holds the true share up to five standard errors, but for one case in a
    million."""
    release = releases.classes()
    record = points_record(release)
    code = np.random.default_rng(9).integers(0, 3, 2_000)
    for place, one in enumerate(record["classes"]):
        share, low, high = one["share"]
        assert abs(share - np.mean(code == place)) <= 5.0 * (high - low) / 3.92
        assert one["rows"] == pytest.approx(share, abs=0.02)
    assert len(record["codes"]) == len(record["places"]) == 1_000


def test_the_noise_is_that_of_a_sample_of_so_many_rows():
    """By the definition: n such that fresh rows' mean embedding is as far off as the noise, from the true rows here."""
    draw = np.random.default_rng(3)
    rows = draw.normal(size=(4_000, 2))
    kernel = Gaussian(lengthscale=1.0)
    release = measure(rows, kernel=kernel, privacy=Privacy(epsilon=1.0, delta=1e-6), seed=0).fit()
    record = points_record(release)
    stage = release.measurements.measured.embedding
    features = stage.feature_map.evaluate(rows)
    spread = np.mean(np.sum(features**2, axis=1)) - np.sum(features.mean(axis=0) ** 2)
    assert record["accuracy"]["sample"] == pytest.approx(spread / stage.noise_floor**2, rel=0.2)
    assert record["accuracy"]["fresh"] == pytest.approx(np.sqrt(spread / 4_000), rel=0.1)
    assert "real rows" in points_worth(record)["good"][0]


def test_tables_and_objects_have_no_points():
    assert points_record(releases.tiny()[0]) is None
    assert points_record(releases.words()) is None


def test_what_has_no_measured_accuracy_has_no_verdict():
    assert points_worth({"accuracy": None}) is None
