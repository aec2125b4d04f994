"""Promises made as a risk, against mpmath at 50 digits and dp_accounting."""

import math

import mpmath
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings, strategies as st

from kernelease.errors import ParameterError
from kernelease.privacy.accounting import GAUSSIAN_SHARE, Loss, Privacy
from kernelease.privacy.calibration import gaussian_epsilon, gaussian_mu
from kernelease.privacy.sensitivity import Neighbours
from kernelease.risk import DELTA, NUMBERS, Advantage, Rates

ADVANTAGES = (1e-4, 1e-3, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9, 0.999)
RATES = ((0.02, 0.01), (0.05, 0.01), (0.1, 0.05), (0.9, 0.1), (1e-3, 1e-5), (0.999, 0.5))
DELTAS = (1e-12, DELTA, 1e-6)

advantages = st.floats(1e-3, 0.99)
small_deltas = st.floats(1e-15, 1e-6)


def exact_advantage(mu: float) -> mpmath.mpf:
    with mpmath.workdps(50):
        return 2 * mpmath.ncdf(mpmath.mpf(mu) / 2) - 1


def exact_power(mu: float, rate: float) -> mpmath.mpf:
    """Φ(Φ⁻¹(α) + μ)."""
    with mpmath.workdps(50):
        quantile = mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(rate) - 1)
        return mpmath.ncdf(quantile + mpmath.mpf(mu))


# Against mpmath.


@pytest.mark.parametrize("most", ADVANTAGES)
def test_mu_of_an_advantage_is_rounded_down_and_tight(most: float) -> None:
    mu = Advantage(most=most).mu
    assert exact_advantage(mu) <= most < exact_advantage(mu * (1 + 1e-11))


@pytest.mark.parametrize(("true_positive", "false_positive"), RATES)
def test_mu_of_two_rates_is_rounded_down_and_tight(true_positive: float, false_positive: float) -> None:
    mu = Rates(true_positive=true_positive, false_positive=false_positive).mu
    assert exact_power(mu, false_positive) <= true_positive < exact_power(mu * (1 + 1e-10), false_positive)


@pytest.mark.parametrize("most", ADVANTAGES)
def test_pure_epsilon_of_an_advantage_is_rounded_down_and_tight(most: float) -> None:
    epsilon = Advantage(most=most).epsilon
    with mpmath.workdps(50):
        assert mpmath.tanh(mpmath.mpf(epsilon) / 2) <= most < mpmath.tanh(mpmath.mpf(epsilon) * (1 + 1e-11) / 2)


@pytest.mark.parametrize(("true_positive", "false_positive"), RATES)
def test_pure_epsilon_of_two_rates_is_rounded_down_and_tight(true_positive: float, false_positive: float) -> None:
    epsilon = Rates(true_positive=true_positive, false_positive=false_positive).epsilon

    def power(value: float) -> mpmath.mpf:
        with mpmath.workdps(50):
            rate, e = mpmath.mpf(false_positive), mpmath.mpf(value)
            return min(mpmath.exp(e) * rate, 1 - mpmath.exp(-e) * (1 - rate))

    assert power(epsilon) <= true_positive < power(epsilon * (1 + 1e-10))


# The promise, and what a release under it allows.


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("most", ADVANTAGES)
def test_a_release_keeps_the_advantage_and_uses_it(most: float, delta: float) -> None:
    """Even one that draws the most numbers, and spends all of δ that may be spent outright."""
    privacy = Privacy.from_risk(advantage=most, delta=delta)
    total = privacy.total(1000)
    assert most - 0.01 * delta - 1e-9 * most <= total.advantage <= most
    worst = privacy.total(NUMBERS) + Loss.approximate(0.0, 0.009 * delta)
    assert worst.advantage <= most
    assert privacy.delta == delta


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("true_positive", "false_positive"), RATES)
def test_a_release_keeps_the_rates_and_uses_them(true_positive: float, false_positive: float, delta: float) -> None:
    privacy = Privacy.from_risk(true_positive=true_positive, false_positive=false_positive, delta=delta)
    power = privacy.total(1000).attacker(false_positive)
    assert true_positive - 0.01 * delta - 1e-8 * true_positive <= power <= true_positive
    worst = privacy.total(NUMBERS) + Loss.approximate(0.0, 0.009 * delta)
    assert worst.attacker(false_positive) <= true_positive


@pytest.mark.parametrize("most", [0.01, 0.1, 0.4])
def test_pure_promises_of_a_risk(most: float) -> None:
    privacy = Privacy.from_risk(advantage=most, delta=0.0, neighbours=Neighbours.ADD_REMOVE)
    assert privacy.pure
    assert privacy.relation is Neighbours.ADD_REMOVE
    assert most * (1 - 1e-11) <= privacy.total(5).advantage <= most
    rates = Privacy.from_risk(true_positive=most + 0.01, false_positive=0.01, delta=0.0)
    assert (most + 0.01) * (1 - 1e-11) <= rates.total(5).attacker(0.01) <= most + 0.01


@given(most=advantages, delta=small_deltas)
@settings(max_examples=60, deadline=None)
def test_any_risk_is_kept(most: float, delta: float) -> None:
    total = Privacy.from_risk(advantage=most, delta=delta).total(10)
    assert total.advantage <= most
    assert exact_advantage(total.mu) <= most


@given(mu=st.floats(0.01, 10.0), delta=st.floats(1e-15, 1e-4))
@settings(max_examples=60, deadline=None)
def test_gaussian_epsilon_is_the_inverse_of_gaussian_mu(mu: float, delta: float) -> None:
    epsilon = gaussian_epsilon(mu, delta)
    assert gaussian_mu(epsilon, delta) <= mu < gaussian_mu(epsilon * (1 + 1e-8) + 1e-12, delta)


@pytest.mark.parametrize("most", [0.05, 0.1, 0.3])
def test_dp_accounting_agrees(most: float) -> None:
    """Its loss distribution of the Gaussian mechanism at our μ, at ε = 0, is the advantage."""
    mu = Privacy.from_risk(advantage=most).total(1).mu
    curve = privacy_loss_distribution.from_gaussian_mechanism(1.0 / mu, value_discretization_interval=1e-4)
    assert curve.get_delta_for_epsilon(0.0) == pytest.approx(most, rel=1e-3)


@pytest.mark.parametrize("most", [0.05, 0.3])
def test_dp_accounting_agrees_on_the_epsilon(most: float) -> None:
    privacy = Privacy.from_risk(advantage=most, delta=1e-6)
    curve = privacy_loss_distribution.from_gaussian_mechanism(
        1.0 / Advantage(most=most).mu, value_discretization_interval=1e-4
    )
    assert curve.get_epsilon_for_delta(GAUSSIAN_SHARE * 1e-6) == pytest.approx(privacy.epsilon, rel=2e-3)


# One scale.


@given(loss=st.sampled_from([Loss.gaussian(0.3), Loss.gaussian(2.0), Loss.pure(0.5), Loss.pure(3.0)]))
def test_the_advantage_is_the_largest_gap_of_the_curve(loss: Loss) -> None:
    gap = max(loss.attacker(i / 5000) - i / 5000 for i in range(5001))
    assert gap <= loss.advantage <= gap + 1e-3


def test_outright_steps_count_in_the_advantage() -> None:
    """(e^ε − 1 + 2δ₀)/(e^ε + 1), which the curve reaches."""
    loss = Loss.approximate(1.0, 0.05)
    expected = (math.e - 1 + 0.1) / (math.e + 1)
    assert loss.advantage == pytest.approx(expected)
    assert max(loss.attacker(i / 9000) - i / 9000 for i in range(9001)) == pytest.approx(expected, abs=1e-3)


def test_pure_and_approximate_are_on_one_scale() -> None:
    """Each by its own tight curve: at 1 % false alarms pure ε = 1 allows 2.72 % true ones, not a Gaussian's 13.7."""
    pure, approximate = Privacy(epsilon=1.0, delta=0.0).total(1), Privacy(epsilon=1.0, delta=1e-6).total(1)
    assert pure.attacker(0.01) == pytest.approx(math.e * 0.01)
    assert approximate.attacker(0.01) < pure.attacker(0.01)


# Refusals.


@pytest.mark.parametrize("most", [0.0, 1.0, -0.1, math.nan])
def test_an_advantage_is_a_share(most: float) -> None:
    with pytest.raises(ParameterError, match="advantage must be"):
        Privacy.from_risk(advantage=most)


@pytest.mark.parametrize("rates", [(0.01, 0.01), (0.01, 0.02), (1.0, 0.5), (0.5, 0.0), (math.nan, 0.1)])
def test_rates_are_in_order(rates: tuple[float, float]) -> None:
    with pytest.raises(ParameterError, match="false_positive must be"):
        Privacy.from_risk(true_positive=rates[0], false_positive=rates[1])


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"true_positive": 0.5},
        {"false_positive": 0.5},
        {"advantage": 0.1, "true_positive": 0.5, "false_positive": 0.1},
    ],
)
def test_one_risk_is_said_and_whole(said: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="Give one of the two"):
        Privacy.from_risk(**said)


@pytest.mark.parametrize(
    "risk", [Advantage(most=1e-9), Rates(true_positive=0.1 + 1e-9, false_positive=0.1)], ids=["advantage", "rates"]
)
def test_a_risk_below_what_delta_allows_is_refused(risk: Advantage | Rates) -> None:
    with pytest.raises(ParameterError, match="larger risk, or a smaller delta"):
        risk.less(1e-8, 0.0)


def test_a_delta_that_alone_allows_the_noise_is_refused() -> None:
    with pytest.raises(ParameterError, match="smaller delta"):
        Privacy.from_risk(advantage=0.01, delta=0.5)


@pytest.mark.parametrize("mu", [0.0, 41.0, math.nan])
def test_gaussian_epsilon_refuses(mu: float) -> None:
    with pytest.raises(ParameterError, match="gaussian_epsilon: mu must be"):
        gaussian_epsilon(mu, 1e-6)


def test_delta_is_asked_for() -> None:
    with pytest.raises(ParameterError, match=r"Privacy\(epsilon=2.0, delta=1e-6\).*delta=0 asks for pure"):
        Privacy(epsilon=2.0)
