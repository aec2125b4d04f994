"""Leaves in groups: heavy ones stay, the rest is spread, and rows have them in numbers as they should."""

import numpy as np
import pytest

from kernelease.fit.mixtures.beyond import Leaves, shrunk_leaves


def test_heavy_leaves_stay_and_the_rest_is_spread() -> None:
    generator = np.random.default_rng(0)
    truth = np.zeros(2000)
    truth[[3, 500, 1500]] = 400.0, 900.0, 250.0
    truth += 0.5
    groups = np.repeat(np.arange(4), 500)
    held = np.bincount(groups, truth)
    found = shrunk_leaves(truth + generator.normal(0.0, 15.0, 2000), groups, held, 15.0)
    np.testing.assert_allclose(np.bincount(groups, found), held)
    assert np.abs(found - truth)[[3, 500, 1500]].max() < 60.0
    assert found.min() >= 0.0
    rest = np.delete(found, [3, 500, 1500])
    assert np.quantile(rest, 0.99) < 5.0  # noise alone would put 15 rows there, and more
    assert np.abs(found - truth).sum() < 0.5 * truth.sum()


def test_groups_without_rows_and_leaves_that_promise_more_than_there_is() -> None:
    counts, groups = np.array([300.0, 200.0, -5.0, 3.0]), np.array([0, 0, 1, 1])
    found = shrunk_leaves(counts, groups, np.array([100.0, 0.0]), 10.0)
    assert found.tolist() == pytest.approx([60.0, 40.0, 0.0, 0.0])


def test_rows_have_leaves_in_numbers_as_their_shares_say() -> None:
    groups = np.array([0, 1, 0, 1, 0, 2])
    inside = np.array([0.5, 0.25, 0.3, 0.75, 0.2, 1.0])
    rows = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [1000, 401, 7]))
    drawn = Leaves(groups=groups, inside=inside).draw(rows, np.random.default_rng(1))
    np.testing.assert_array_equal(groups[drawn], rows)
    expected = np.array([500.0, 100.25, 300.0, 300.75, 200.0, 7.0])
    assert np.abs(np.bincount(drawn) - expected).max() <= 1.0
