"""How losses add up, against dp_accounting's privacy loss distributions and against formulas by hand."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings, strategies as st
from scipy.special import ndtr

from kernelease.errors import ParameterError
from kernelease.privacy import Calibration, Loss, Neighbours, Privacy
from kernelease.privacy.accounting import (
    LARGEST_EPSILON,
    LOG_RATIO,
    OUTRIGHT_SHARE,
    ROUNDING,
    SMALLEST_EPSILON,
    SMALLEST_SCALE,
    rounding_tau,
)
from kernelease.privacy.calibration import classic_mu, gaussian_delta, gaussian_mu, pure_mu
from kernelease.privacy.sensitivity import ROUND_UP

LATTICE = 1e-4  # dp_accounting's discretisation of the privacy loss

mus = st.floats(0.0, 3.0)
small = st.floats(0.0, 1e-3)
losses = st.one_of(
    st.builds(Loss.gaussian, mus, tau=small),
    st.builds(Loss.pure, st.floats(0.0, 5.0)),
    st.builds(Loss.approximate, st.floats(0.0, 5.0), small),
)


# The formula.


def test_delta_by_hand() -> None:
    loss = Loss.gaussian(0.3, tau=1e-9) + Loss.gaussian(0.4, tau=2e-9) + Loss.approximate(0.0, 1e-7)
    assert loss.mu == pytest.approx(0.5)
    assert loss.delta(1.0) == pytest.approx(gaussian_delta(0.5, 1.0) + 1e-7 + (1 + math.e) * 3e-9, rel=1e-12)


def test_a_pure_step_beside_a_gaussian_one_costs_the_mu_that_dominates_it() -> None:
    loss = Loss.pure(0.5) + Loss.gaussian(0.2)
    assert loss.mu_squared == pytest.approx(pure_mu(0.5) ** 2 + 0.04, rel=1e-12)
    assert loss.delta(1.0) == gaussian_delta(loss.mu, 1.0)


def test_pure_steps_alone_add_up_as_epsilons() -> None:
    loss = Loss.pure(0.5) + Loss.pure(0.25)
    assert loss.delta(0.75) == 0.0
    assert loss.delta(0.7499) > 0.0


def test_an_approximate_step_without_delta_is_pure() -> None:
    assert Loss.approximate(0.5, 0.0) == Loss.pure(0.5)


def test_nothing_costs_nothing() -> None:
    assert Loss().delta(0.0) == 0.0
    assert Loss.gaussian(0.0).delta(0.0) == 0.0


@pytest.mark.parametrize("loss", [Loss.gaussian(1e9), Loss.gaussian(0.1, tau=0.5), Loss.approximate(1.0, 0.999)])
def test_delta_is_never_above_one(loss: Loss) -> None:
    assert 0.9 < loss.delta(0.01) <= 1.0
    assert loss.delta(1000.0) <= 1.0


def test_discreteness_at_a_large_epsilon_is_not_forgotten() -> None:
    """(1 + e^ε)·τ is beyond floats at ε = 1000, and 2η beyond ε: the guarantee is then void, not free."""
    assert Loss.gaussian(0.1, tau=1.0).delta(1000.0) == 1.0
    assert 0.0 < Loss.gaussian(0.1, tau=1e-30).delta(1000.0) < 1e-300


@given(losses, losses, losses, st.floats(0.01, 5.0))
@settings(deadline=None)
def test_addition(a: Loss, b: Loss, c: Loss, epsilon: float) -> None:
    assert a + b == b + a
    assert a + Loss() == a
    assert ((a + b) + c).mu_squared == pytest.approx((a + (b + c)).mu_squared)
    assert (a + b).delta(epsilon) >= a.delta(epsilon) * (1 - 1e-9)


@given(losses, st.floats(0.0, 5.0), st.floats(0.0, 5.0))
@settings(deadline=None)
def test_delta_falls_with_epsilon_except_for_discreteness(loss: Loss, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert loss.delta(high) <= loss.delta(low) + loss.tau * math.exp(high) + 1e-12


@pytest.mark.parametrize("name", ["mu_squared", "delta_zero", "tau", "pure_epsilon"])
@pytest.mark.parametrize("value", [-1e-9, math.nan])
def test_no_part_of_a_loss_is_negative(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=name):
        Loss(**{"pure_epsilon": math.inf, name: value})


@pytest.mark.parametrize(
    "parts",
    [{"mu_squared": 1.0}, {"tau": 1e-9}, {"tau": 1e-9, "pure_epsilon": 1.0}],
)
def test_a_loss_that_is_not_pure_cannot_pass_for_pure(parts: dict[str, float]) -> None:
    """Otherwise δ(ε) would be 0 for it, since Σε = 0."""
    with pytest.raises(ParameterError, match="pure_epsilon = inf"):
        Loss(**parts)


def test_steps_that_are_pure_but_for_a_delta_add_up_by_basic_composition() -> None:
    loss = Loss.pure(0.5) + Loss.approximate(0.5, 1e-9) + Loss.approximate(0.25, 1e-9)
    assert loss.delta(1.25) == 2e-9
    assert loss.delta(1.2) > 2e-9
    assert Privacy(epsilon=1.25, delta=2.001e-9 / OUTRIGHT_SHARE).allows(loss)
    assert not Privacy(epsilon=1.25, delta=1.99e-9 / OUTRIGHT_SHARE).allows(loss)
    assert not Privacy(epsilon=1.25, delta=0.0).allows(loss)


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf])
def test_a_pure_step_needs_an_epsilon(epsilon: float) -> None:
    with pytest.raises(ParameterError):
        Loss.pure(epsilon)


def test_a_pure_step_may_have_a_large_epsilon() -> None:
    assert Loss.pure(1000.0).delta(1000.0) == 0.0


# Against dp_accounting.


@pytest.mark.parametrize(("mu", "steps"), [(0.2, 10), (0.05, 100), (0.5, 4)])
def test_gaussian_composition_agrees_with_privacy_loss_distributions(mu: float, steps: int) -> None:
    ours = sum((Loss.gaussian(mu) for _ in range(steps)), Loss())
    theirs = pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=LATTICE).self_compose(steps)
    for epsilon in (0.1, 0.5, 1.0, 2.0, 3.0):
        assert ours.delta(epsilon) == pytest.approx(theirs.get_delta_for_epsilon(epsilon), rel=1e-3)


def randomised_response(epsilon: float) -> pld.PrivacyLossDistribution:
    return pld.from_randomized_response(2 / (1 + math.exp(epsilon)), 2, value_discretization_interval=LATTICE)


def laplace(epsilon: float) -> pld.PrivacyLossDistribution:
    return pld.from_laplace_mechanism(1 / epsilon, value_discretization_interval=LATTICE)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [randomised_response, laplace])
@pytest.mark.parametrize("pure_epsilon", [0.05, 0.2, 1.0, 3.0])
@pytest.mark.parametrize("mu", [0.05, 0.2, 1.0])
def test_a_pure_and_a_gaussian_step_are_bounded(mechanism, pure_epsilon: float, mu: float) -> None:
    ours = Loss.pure(pure_epsilon) + Loss.gaussian(mu)
    theirs = mechanism(pure_epsilon).compose(pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=LATTICE))
    for epsilon in (0.0, 0.05, 0.2, 0.5, 1.0, 2.0, 4.0):
        assert theirs.get_delta_for_epsilon(epsilon) <= ours.delta(epsilon) * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("mechanism", [randomised_response, laplace])
def test_many_pure_steps_and_a_gaussian_one_are_bounded(mechanism) -> None:
    ours = sum((Loss.pure(0.1) for _ in range(20)), Loss.gaussian(0.3))
    theirs = mechanism(0.1).self_compose(20).compose(pld.from_gaussian_mechanism(1 / 0.3))
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        assert theirs.get_delta_for_epsilon(epsilon) <= ours.delta(epsilon)


@pytest.mark.parametrize("mechanism", [randomised_response, laplace])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_pure_composition_is_bounded_on_both_sides_of_its_epsilon(mechanism, steps: int) -> None:
    ours = sum((Loss.pure(0.3) for _ in range(steps)), Loss())
    theirs = mechanism(0.3).self_compose(steps)
    for share in (0.2, 0.5, 0.9):
        epsilon = share * 0.3 * steps
        assert theirs.get_delta_for_epsilon(epsilon) <= ours.delta(epsilon) * (1 + 1e-6)
    assert ours.delta(0.3 * steps * (1 + 1e-12)) == 0.0


# Whether a loss fits a total.


def test_fits_compares_part_by_part() -> None:
    total = Loss.gaussian(0.5, tau=1e-9)
    assert total.fits(total)
    assert Loss.pure(0.1).fits(total)
    assert not Loss.gaussian(0.5001).fits(total)
    assert not Loss.gaussian(0.1, tau=1.0001e-9).fits(total)
    assert not Loss.approximate(0.0, 1e-30).fits(total)


def test_fits_in_a_pure_total_compares_epsilons_only() -> None:
    total = Loss.pure(1.0)
    assert sum((Loss.pure(0.1) for _ in range(10)), Loss()).fits(total)
    assert not Loss.pure(1.0001).fits(total)
    assert not Loss.gaussian(1e-9).fits(total)
    assert not Loss.approximate(0.1, 1e-30).fits(total)


def test_what_a_cap_forgives_is_less_than_what_mechanisms_round_up() -> None:
    assert Privacy(epsilon=0.3, delta=0.0).allows(Loss.pure(0.1) + Loss.pure(0.2))  # 0.30000000000000004
    assert 1 + ROUNDING < ROUND_UP


# The guarantee.


def test_defaults() -> None:
    privacy = Privacy(epsilon=1.0, delta=0.0)
    assert privacy.pure
    assert privacy.neighbours is None
    assert privacy.calibration is Calibration.ANALYTIC


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (-1.0, 0.1), (math.nan, 0.1), (1.0, 1.0), (1.0, -0.1)])
def test_a_guarantee_is_checked_when_made(epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError):
        Privacy(epsilon=epsilon, delta=delta)


def test_the_classic_calibration_is_refused_when_the_guarantee_is_made() -> None:
    with pytest.raises(ParameterError, match="classic"):
        Privacy(epsilon=1.5, delta=1e-6, calibration=Calibration.CLASSIC)


def test_the_classic_calibration_decides_the_total() -> None:
    privacy = Privacy(epsilon=0.5, delta=1e-6, calibration=Calibration.CLASSIC)
    assert privacy.total(1).mu == pytest.approx(classic_mu(0.5, 1e-6), rel=1e-9)


def test_a_pure_guarantee_reserves_nothing_for_discreteness() -> None:
    assert Privacy(epsilon=0.7, delta=0.0).total(10**9) == Loss.pure(0.7)


EPSILONS = (SMALLEST_EPSILON, 1e-3, 0.01, 0.1, 1.0, 3.0, 10.0, 20.0, 50.0, 100.0, LARGEST_EPSILON)
DELTAS, COORDINATES = (1e-12, 1e-9, 1e-6, 1e-2), (1, 1000, 10**6, 10**7)


@pytest.mark.parametrize(("epsilon", "delta", "coordinates"), list(itertools.product(EPSILONS, DELTAS, COORDINATES)))
def test_discreteness_costs_next_to_no_noise(epsilon: float, delta: float, coordinates: int) -> None:
    privacy = Privacy(epsilon=epsilon, delta=delta)
    total = privacy.total(coordinates)
    assert total.delta(epsilon) <= delta
    assert total.tau == rounding_tau(coordinates)
    assert 1.0 <= gaussian_mu(epsilon, delta) / total.mu < 1.0102  # less where it matters, see below
    assert privacy.allows(total)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 20.0, 100.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6])
def test_a_million_coordinates_cost_less_than_a_thousandth_of_the_noise(epsilon: float, delta: float) -> None:
    assert gaussian_mu(epsilon, delta) / Privacy(epsilon=epsilon, delta=delta).total(10**6).mu < 1.0007


@pytest.mark.parametrize(
    "epsilon", [0.0, -1.0, SMALLEST_EPSILON * 0.999, LARGEST_EPSILON * 1.001, 1e5, math.inf, math.nan]
)
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_an_epsilon_that_means_nothing_is_refused_at_once(epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError, match="epsilon must be"):
        Privacy(epsilon=epsilon, delta=delta)


# The exact curve of discrete noise, beside the two bounds.


def discrete_delta(scale: int, gap: int, epsilon: float) -> mpmath.mpf:
    """sup_S P(S) − e^ε·Q(S) for discrete Gaussians of `scale` grid steps about 0 and `gap`, summed to 60 digits."""
    with mpmath.workdps(60):
        reach, bound = 40 * scale + gap, mpmath.exp(epsilon)
        weights = [mpmath.exp(-mpmath.mpf(k * k) / (2 * scale * scale)) for k in range(reach + gap + 1)]
        normaliser = 2 * mpmath.fsum(weights) - 1
        excess = (weights[abs(k)] - bound * weights[abs(k - gap)] for k in range(-reach, reach + 1))
        return mpmath.fsum(part for part in excess if part > 0) / normaliser


@pytest.mark.parametrize(
    ("scale", "gap", "epsilon"),
    [(32, 8, 0.0), (32, 8, 1.0), (32, 32, 3.0), (64, 192, 20.0), (64, 320, 50.0), (64, 512, 100.0), (128, 1024, 50.0)],
)
def test_the_bounds_hold_for_the_noise_that_is_drawn(scale: int, gap: int, epsilon: float) -> None:
    loss = Loss.gaussian(gap / scale, tau=rounding_tau(1, scale))
    exact = discrete_delta(scale, gap, epsilon)
    assert exact <= loss.delta(epsilon)
    by_variation = gaussian_delta(loss.mu, epsilon) + loss.tau * (1 + math.exp(epsilon))
    assert loss.delta(epsilon) <= min(1.0, by_variation)
    if epsilon >= 50.0:
        assert loss.delta(epsilon) < 0.1 < by_variation


def test_at_large_epsilon_the_ratio_of_likelihoods_bounds_what_total_variation_does_not() -> None:
    total = Privacy(epsilon=50.0, delta=1e-9).total(10**6)
    assert total.tau * (1 + math.exp(50.0)) > 1.0
    assert total.delta(50.0) <= 1e-9
    eta = LOG_RATIO * total.tau
    assert total.delta(50.0) == pytest.approx(math.exp(eta) * gaussian_delta(total.mu, 50.0 - 2 * eta), rel=1e-12)


# What a cap allows.


@given(st.floats(1e-3, 10.0), st.floats(1e-12, 0.9), st.sampled_from(Calibration), st.integers(1, 1000))
@settings(deadline=None)
def test_a_cap_allows_its_own_total(epsilon: float, delta: float, calibration: Calibration, coordinates: int) -> None:
    if calibration is Calibration.CLASSIC:
        epsilon = min(epsilon, 1.0)
    privacy = Privacy(epsilon=epsilon, delta=delta, calibration=calibration)
    assert privacy.allows(privacy.total(coordinates))


@given(losses, losses, st.floats(0.01, 10.0), st.one_of(st.just(0.0), st.floats(1e-9, 0.5)))
@settings(deadline=None)
def test_what_a_cap_allows_keeps_its_promise(one: Loss, other: Loss, epsilon: float, delta: float) -> None:
    if Privacy(epsilon=epsilon, delta=delta).allows(one + other):
        assert (one + other).delta(epsilon * (1 + 1e-12)) <= delta * (1 + 1e-12)


def test_what_is_not_gaussian_cannot_be_traded_for_what_is() -> None:
    """Each part has a limit of its own, so that no history of choices can play one against the other."""
    cap = Privacy(epsilon=1.0, delta=1e-6)
    full = cap.total(1)
    assert not cap.allows(Loss.approximate(0.0, 2e-8))  # although δ(1) = 2e-8 is far below 1e-6
    assert not cap.allows(Loss.gaussian(0.0, tau=1e-8))
    assert not cap.allows(Loss.gaussian(full.mu * (1 + 1e-9)))
    assert cap.allows(Loss(mu_squared=full.mu_squared, delta_zero=9e-9, tau=full.tau, pure_epsilon=math.inf))
    assert cap.allows(Loss.approximate(0.0, OUTRIGHT_SHARE * 1e-6))


def test_a_pure_cap_allows_pure_steps_only() -> None:
    cap = Privacy(epsilon=1.0, delta=0.0)
    assert cap.allows(Loss.pure(1.0))
    assert cap.allows(Loss.pure(0.1) + Loss.pure(0.2) + Loss.pure(0.7))
    assert not cap.allows(Loss.pure(1.0001))
    assert not cap.allows(Loss.gaussian(1e-9))
    assert not cap.allows(Loss.approximate(0.1, 1e-30))


def test_pure_steps_alone_may_fill_a_cap_that_has_a_delta() -> None:
    cap = Privacy(epsilon=1.0, delta=1e-6)
    assert cap.allows(Loss.pure(1.0))
    assert not cap.allows(Loss.pure(1.0) + Loss.gaussian(1e-6))


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-3, 1e-9), (1.0, 1e-6), (100.0, 1e-9)])
def test_more_numbers_than_the_grid_allows_are_refused(epsilon: float, delta: float) -> None:
    """At the last number that is allowed, δ holds with everything used up; far more than any computer draws."""
    privacy, most = Privacy(epsilon=epsilon, delta=delta), 10**9
    while privacy.allows(Loss.gaussian(1e-9, tau=rounding_tau(2 * most))):
        most *= 2
    total = privacy.total(most)
    assert (total + Loss(delta_zero=OUTRIGHT_SHARE * delta)).delta(epsilon) <= delta
    with pytest.raises(ParameterError, match=r"does not allow .* noisy numbers"):
        privacy.total(2 * most)


@pytest.mark.parametrize("epsilon", [20.0, 50.0, 100.0, LARGEST_EPSILON])
def test_a_cap_with_a_large_epsilon_takes_ordinary_charges(epsilon: float) -> None:
    cap = Privacy(epsilon=epsilon, delta=1e-9)
    for asked in (0.1, 1.0, 10.0, epsilon):
        assert cap.allows(Privacy(epsilon=asked, delta=1e-9).total(10**6))


# The relation.


def test_a_relation_that_was_not_said_is_the_schemas_or_replace_one() -> None:
    unsaid = Privacy(epsilon=1.0, delta=0.0)
    assert unsaid.relation is Neighbours.REPLACE_ONE
    assert [unsaid.under(declared).relation for declared in Neighbours] == list(Neighbours)


@pytest.mark.parametrize("said", Neighbours)
def test_a_relation_said_twice_and_differently_is_refused(said: Neighbours) -> None:
    privacy = Privacy(epsilon=1.0, delta=0.0, neighbours=said)
    (other,) = set(Neighbours) - {said}
    assert privacy.under(said) == privacy
    with pytest.raises(ParameterError, match=f"asks for {said.value} neighbours, the schema declares {other.value}"):
        privacy.under(other)


# An attacker's best test.


@given(st.floats(0.0, 1.0), st.floats(0.0, 8.0), st.floats(0.0, 0.01))
@settings(deadline=None)
def test_a_pure_attacker_is_bounded_by_both_sides_of_pure_privacy(rate: float, epsilon: float, delta: float) -> None:
    best = Loss.approximate(epsilon, delta).attacker(rate)
    assert best <= math.exp(epsilon) * rate + delta + 1e-15
    assert 1.0 - best >= math.exp(-epsilon) * (1.0 - rate - delta) - 1e-15
    assert min(1.0, rate) <= best + 1e-15, "guessing alone reaches the rate of false alarms"


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("rate", [0.001, 0.01, 0.05, 0.5, 0.95])
def test_randomised_response_reaches_the_pure_bound(epsilon: float, rate: float) -> None:
    """Its two answers have probabilities c and 1 − c, c = 1/(1 + e^ε): the best test mixes three trivial ones."""
    c = 1.0 / (1.0 + math.exp(epsilon))
    power = (1.0 - c) * rate / c if rate <= c else (1.0 - c) + c * (rate - c) / (1.0 - c)
    assert Loss.pure(epsilon).attacker(rate) == pytest.approx(power, rel=1e-9)


@pytest.mark.parametrize("mu", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("rate", [0.001, 0.01, 0.05, 0.5])
def test_a_gaussian_attacker_is_the_envelope_of_the_curve(mu: float, rate: float) -> None:
    """(ε, δ(ε)) for every ε bounds the power by e^ε·α + δ and by 1 − e^{−ε}(1 − δ − α); the least is the curve."""
    epsilons = np.linspace(0.0, 20.0, 4001)
    deltas = ndtr(mu / 2 - epsilons / mu) - np.exp(epsilons) * ndtr(-mu / 2 - epsilons / mu)
    lines = np.minimum(np.exp(epsilons) * rate + deltas, 1.0 - np.exp(-epsilons) * (1.0 - deltas - rate))
    assert Loss.gaussian(mu).attacker(rate) == pytest.approx(lines.min(), rel=1e-4)


def test_pure_and_gaussian_guarantees_of_one_epsilon_on_one_scale() -> None:
    pure, gaussian = (Privacy(epsilon=1.0, delta=delta).total(1).attacker(0.01) for delta in (0.0, 1e-6))
    assert pure == pytest.approx(0.01 * math.e)
    assert gaussian < pure
    assert Loss(delta_zero=0.1).attacker(0.0) == pytest.approx(0.1)
    assert Loss().attacker(0.3) == pytest.approx(0.3)
    assert Loss.gaussian(1.0, tau=1e-3).attacker(0.05) > Loss.gaussian(1.0).attacker(0.05)


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan])
def test_a_rate_of_false_alarms_is_a_probability(rate: float) -> None:
    with pytest.raises(ParameterError, match="false-positive rate"):
        Loss.pure(1.0).attacker(rate)


def test_rounding_tau() -> None:
    assert rounding_tau(3) == 3 / (24 * SMALLEST_SCALE**2)
    assert rounding_tau(2, 100.0) == pytest.approx(2 / 240_000)
