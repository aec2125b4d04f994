"""The attacker's bounds: below the truth as often as they say, above the claim where the twins are, and sharp."""

import math

import numpy as np
import pytest
from scipy import stats

from audits.attacker import (
    ALARM,
    claimed_mu,
    curve_mu_bound,
    epsilon_bound,
    miss_rate,
    normal_mu_bound,
    rate_above,
    rate_below,
)
from kernelease.privacy import Privacy
from kernelease.privacy.calibration import gaussian_mu

GENERATOR = np.random.default_rng(8)


@pytest.fixture(autouse=True)
def _the_same_draws_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "GENERATOR", np.random.default_rng(8))


def worlds(mu: float, trials: int) -> tuple[np.ndarray, np.ndarray]:
    return GENERATOR.normal(0.0, 1.0, trials), GENERATOR.normal(mu, 1.0, trials)


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.0, 0.24, 1.85, 5.0])
def test_bounds_on_mu_lie_below_the_truth_and_near_it(mu: float) -> None:
    for trials in (300, 80_000):
        a, b = worlds(mu, trials)
        deviation = math.sqrt((2 + mu * mu / 4) / trials)
        assert mu - 10 * deviation <= normal_mu_bound(a, b) <= mu
        assert curve_mu_bound(a, b) <= mu
    assert curve_mu_bound(a, b) >= 0.8 * mu - 0.1


def test_the_normal_bound_keeps_its_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """At an alarm of 5 %, 2,000 times: the number of bounds that pass the truth is as it should be (1e-6 off)."""
    monkeypatch.setattr("audits.attacker.ALARM", 0.05)
    passed = sum(normal_mu_bound(*worlds(1.0, 40)) > 1.0 for _ in range(2_000))
    assert stats.binom.ppf(ALARM, 2_000, 0.05) <= passed <= stats.binom.isf(ALARM, 2_000, 0.05)


def test_scores_without_spread_prove_everything() -> None:
    assert normal_mu_bound(np.zeros(5), np.ones(5)) == math.inf
    assert normal_mu_bound(np.zeros(5), np.zeros(5)) == 0.0
    assert normal_mu_bound(np.zeros(5), np.full(5, math.inf)) == math.inf


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_bounds_on_epsilon_lie_below_randomised_response(epsilon: float) -> None:
    lie = 1.0 / (1.0 + math.exp(epsilon))
    a, b = (np.array(GENERATOR.random(40_000) < rate, dtype=float) for rate in (lie, 1.0 - lie))
    assert 0.7 * epsilon <= epsilon_bound(a, b) <= epsilon
    assert epsilon_bound(a, b, delta=0.9) == 0.0


def test_rates_are_those_of_clopper_and_pearson() -> None:
    assert rate_above(0, 100, 0.05) == pytest.approx(1 - 0.05 ** (1 / 100))
    assert rate_below(100, 100, 0.05) == pytest.approx(0.05 ** (1 / 100))
    assert rate_above(7, 7, 0.05) == 1.0
    assert rate_below(0, 7, 0.05) == 0.0


def test_the_claim_of_another_accountant_is_ours() -> None:
    privacy = Privacy(epsilon=1.0, delta=1e-6)
    assert claimed_mu(privacy) == pytest.approx(gaussian_mu(1.0, 1e-6), rel=1e-3)


# The twins of the audits of Gaussian noise, with the trials that the audits take: truth above claim, and missed rarely.
TWINS = [
    ("10 % of σ at ε = 10, quick", 1.85, 1 / 0.9, 6_000),
    ("10 % of σ at ε = 1, in full", 0.2367, 1 / 0.9, 250_000),
    ("half of σ at ε = 1, quick", 0.2367, 2.0, 30_000),
    ("√2 at ε = 1, quick", 0.2367, math.sqrt(2.0), 30_000),
    ("the classic σ, quick", 2.86, 1.12, 8_000),
    ("two for the price of one, quick", 1.85, math.sqrt(2.0), 5_000),
    ("√2 in a method, quick", 4.05, math.sqrt(2.0), 300),
    ("a subspace in rounds, quick", 4.05, math.sqrt(9.0 / 2.0) / 1.01, 150),
]


@pytest.mark.parametrize(("claim", "factor", "trials"), [twin[1:] for twin in TWINS], ids=[twin[0] for twin in TWINS])
def test_twins_are_missed_at_most_once_in_a_thousand_runs(claim: float, factor: float, trials: int) -> None:
    assert miss_rate(claim, factor * claim, trials) <= 1e-3


def test_the_miss_rate_is_right() -> None:
    """Where one twin in four is missed, over 400 runs (a false alarm in a million)."""
    truth = next(mu for mu in np.linspace(1.0, 2.0, 1001) if miss_rate(1.0, mu, 2_000) < 0.25)
    missed = sum(normal_mu_bound(*worlds(truth, 2_000)) <= 1.0 for _ in range(400))
    assert stats.binom.ppf(ALARM, 400, 0.2) <= missed <= stats.binom.isf(ALARM, 400, 0.3)
