"""Weighted rows that randomness comes from, and fewer of them that keep the embedding."""

import numpy as np
import pytest

import kernelease as ke
from kernelease.analysis.variables import Origin
from kernelease.analysis.variables.origin import reduce_rows


def test_weights_that_are_not_bounded_are_refused():
    with pytest.raises(ke.ParameterError, match=r"not bounded.*release.bounded\(\)"):
        Origin(np.array([50.0, -49.0]))
    with pytest.raises(ke.ParameterError, match="more than 0"):
        Origin(np.array([0.5, -0.5]))


def test_fewer_rows_keep_the_embedding():
    points = np.random.default_rng(0).gamma(4.0, 1.0, (2_000, 1))
    weights = np.full(2_000, 1 / 2_000)
    chosen, shares, reduction = reduce_rows(points, weights, 50)
    assert len(chosen) == len(shares) == reduction.after <= 50
    assert shares @ points[chosen, 0] == pytest.approx(points.mean(), rel=0.02)
    assert reduction.error < 0.2 * reduction.independent
    with pytest.raises(ke.ParameterError, match="finite values"):
        reduce_rows(np.array([[1.0], [np.nan]]), np.array([0.5, 0.5]), 1)
