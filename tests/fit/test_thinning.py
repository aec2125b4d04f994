"""Thinning: in number, in proportion, and nearer to the embedding than independent draws."""

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.fit.points import halve, systematic, thin

GENERATOR = np.random.default_rng(0)
POINTS = GENERATOR.normal(size=(2_000, 2))
WAVES = GENERATOR.normal(size=(2, 60))
FEATURES = np.hstack([np.cos(POINTS @ WAVES), np.sin(POINTS @ WAVES)]) / np.sqrt(60)
EQUAL = np.full(len(POINTS), 1.0 / len(POINTS))


def features(rows):
    return FEATURES[rows]


def distance(rows, weights=EQUAL):
    return float(np.linalg.norm(FEATURES[rows].mean(axis=0) - weights @ FEATURES))


@pytest.mark.parametrize("count", [1, 7, 100, 2_000, 2_001, 5_000])
def test_as_many_rows_as_asked_for(count):
    rows = thin(features, EQUAL, count, np.random.default_rng(1))
    assert len(rows) == count
    assert 0 <= rows.min() <= rows.max() < len(POINTS)


def test_all_rows_of_equal_weight_are_all_of_them():
    assert sorted(thin(features, EQUAL, 2_000, np.random.default_rng(1))) == list(range(2_000))


def test_heavy_rows_repeat_in_proportion():
    rows = thin(lambda r: np.zeros((len(r), 1)), np.array([0.7, 0.2, 0.1]), 10, np.random.default_rng(0))
    assert np.bincount(rows).tolist() == [7, 2, 1]


@pytest.mark.parametrize("weighted", [False, True])
def test_nearer_than_independent_draws(weighted):
    weights = np.random.default_rng(2).dirichlet(np.ones(len(POINTS))) if weighted else EQUAL
    thinned, drawn = [], []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        thinned.append(distance(thin(features, weights, 100, generator), weights))
        drawn.append(distance(generator.choice(len(POINTS), 100, p=weights), weights))
    assert np.mean(thinned) < 0.5 * np.mean(drawn)  # about a third; equal means differ by less than 10 % in 20 runs


def test_halving_keeps_one_of_each_two():
    kept = halve(features, np.arange(100), np.random.default_rng(0))
    assert len(kept) == len(set(kept)) == 50


def test_systematic_numbers_are_within_one_of_their_share():
    weights = np.random.default_rng(3).dirichlet(np.ones(50))
    numbers = np.bincount(systematic(weights, 1_000, np.random.default_rng(0)), minlength=50)
    assert np.all(np.abs(numbers - 1_000 * weights) <= 1.0)


@pytest.mark.parametrize(("weights", "count"), [([0.5, -0.1], 3), ([0.0, 0.0], 3), ([1.0, 1.0], 0)])
def test_refuses(weights, count):
    with pytest.raises(ParameterError, match="simplex"):
        thin(features, np.array(weights), count, np.random.default_rng(0))
