"""Means and variances of a column in order: near its shares, and a mixture's near its own, by the least change."""

import dataclasses

import numpy as np
import pytest

from kernelease.arrays import Floats
from kernelease.fit.mixtures.one_way import OneWay

ATOMS, OTHERS = 6, 2  # in order, and not


def _column(variance: float = 1e-6) -> OneWay:
    shares = np.array([0.3, 0.2, 0.15, 0.1, 0.05, 0.05, 0.1, 0.05])
    return OneWay(shares=shares, variance=variance, distribution=shares, ordered=ATOMS)


def _moments(shares: Floats) -> Floats:
    own, places = shares[:ATOMS] / shares[:ATOMS].sum(), np.arange(ATOMS)
    return np.array([own @ places, own @ (places - own @ places) ** 2])


def _components() -> tuple[Floats, Floats]:
    generator = np.random.default_rng(4)
    return generator.dirichlet(np.ones(ATOMS + OTHERS), 7), generator.dirichlet(np.ones(7))


def test_errors_are_those_of_noisy_shares() -> None:
    column, generator = _column(variance=1e-6), np.random.default_rng(0)
    drawn = [_moments(column.shares + generator.normal(0.0, 1e-3, ATOMS + OTHERS)) for _ in range(4000)]
    assert np.std(drawn, axis=0) == pytest.approx(column.errors, rel=0.05)


def test_components_take_the_mean_and_the_variance_of_the_column() -> None:
    column, (shares, weights) = _column(), _components()
    after = column.kept(shares, weights)
    before, now = (np.abs(_moments(weights @ s) - _moments(column.shares)) for s in (shares, after))
    assert np.all(before > 10.0 * column.errors)
    assert np.all(now < 0.51 * column.errors)
    assert np.allclose(after.sum(axis=1), 1.0)
    assert np.array_equal(after[:, ATOMS:], shares[:, ATOMS:])  # as many out of order


def test_every_component_is_moved_by_the_same_ratios() -> None:
    shares, weights = _components()
    ratios = (_column().kept(shares, weights) / shares)[:, :ATOMS]
    assert np.allclose(ratios / ratios[:, :1], (ratios / ratios[:, :1])[0])


def test_what_chance_explains_stays_as_it_is() -> None:
    shares, weights = _components()
    assert _column(variance=1e6).kept(shares, weights) is shares
    alone = dataclasses.replace(_column(), ordered=0)
    assert alone.kept(shares, weights) is shares


def test_a_mean_is_met_where_no_distribution_has_both() -> None:
    """Two atoms at the ends: with a mean between them they have one variance, and not a small one."""
    shares = np.zeros((1, ATOMS + OTHERS))
    shares[0, [0, ATOMS - 1]] = 0.5
    after = _column().kept(shares, np.ones(1))
    mean, variance = _moments(after[0])
    assert mean == pytest.approx(_moments(_column().shares)[0], abs=0.01)
    assert variance > 2.0 * _moments(_column().shares)[1]


def test_a_distribution_that_lost_its_tail_is_brought_back() -> None:
    """Denoising may take thin tails away; shares that are above it by more than chance say that they are there."""
    lost = np.array([0.6, 0.39, 0.0025, 0.0025, 0.0025, 0.0025, 0.0, 0.0]) + 1e-6
    tail = np.array([0.59, 0.3, 0.0, 0.05, 0.0, 0.06, 0.0, 0.0])
    column = OneWay(shares=tail, variance=1e-6, distribution=lost / lost.sum(), ordered=ATOMS)
    found = column.near_shares.distribution
    assert found.sum() == pytest.approx(1.0)
    assert np.all(np.abs(_moments(found) - _moments(tail)) < 2.01 * column.errors)
    assert np.any(np.abs(_moments(lost) - _moments(tail)) > 10.0 * column.errors)
