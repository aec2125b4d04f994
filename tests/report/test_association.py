"""Cramér's V with the noise taken out: against the plain one, and how often its interval holds it."""

import numpy as np
import pytest

from kernelease.report.marginals import association_of

ROWS = 10_000.0


def _table(strength: float, sizes: tuple[int, int]) -> np.ndarray:
    """Shares of two columns that go together more or less."""
    draw = np.random.default_rng(1)
    first, second = (draw.dirichlet(np.full(size, 5.0)) for size in sizes)
    together = np.zeros(sizes)
    np.add.at(together, (np.arange(sizes[0]), np.arange(sizes[0]) % sizes[1]), first)
    return (1.0 - strength) * np.outer(first, second) + strength * together


def _cramer(shares: np.ndarray) -> float:
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    return float(np.sqrt(((shares - expected) ** 2 / expected).sum() / (min(shares.shape) - 1)))


@pytest.mark.parametrize("strength", [0.0, 0.2, 0.9])
def test_without_noise_it_is_cramer_s(strength: float) -> None:
    shares = _table(strength, (4, 3))
    found = association_of(shares * ROWS, shares, ROWS, 1e-6)
    assert found is not None
    assert found.value == pytest.approx(_cramer(shares), abs=1e-4)
    assert found.is_visible == (strength > 0.0)


@pytest.mark.statistical
@pytest.mark.parametrize("strength", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("sizes", [(2, 2), (6, 5)])
def test_its_interval_holds_the_truth(strength: float, sizes: tuple[int, int]) -> None:
    """400 draws of a 95 % interval that holds the truth at least as often: below 91 % with probability 1e-4."""
    shares, draw, sigma = _table(strength, sizes), np.random.default_rng(2), 40.0
    truth, held = _cramer(shares), 0
    for _ in range(400):
        found = association_of(shares * ROWS + sigma * draw.normal(size=sizes), shares, ROWS, sigma**2)
        assert found is not None
        held += found.interval[0] - 1e-12 <= truth <= found.interval[1] + 1e-12
    assert held >= 0.91 * 400


def test_what_is_too_rare_is_merged_and_one_value_says_nothing() -> None:
    shares = np.array([[0.5, 0.4999], [0.0001, 0.0]])
    assert association_of(shares * ROWS, shares, ROWS, 100.0) is None
    rare = np.array([[0.3, 0.2], [0.2, 0.2994], [0.0003, 0.0003]])
    found = association_of(rare * ROWS, rare, ROWS, 100.0)
    assert found is not None
    assert 0.0 <= found.interval[0] <= found.value <= found.interval[1] <= 1.0
