"""Calibration against three independent implementations: mpmath at 50 digits, dp_accounting and OpenDP."""

import functools
import itertools
import math

import dp_accounting
import mpmath
import numpy as np
import opendp.prelude as dp
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings, strategies as st
from scipy.special import ndtr, ndtri

from kernelease.errors import ParameterError
from kernelease.privacy.calibration import (
    SMALLEST_DELTA,
    Calibration,
    check_epsilon_delta,
    classic_mu,
    gaussian_delta,
    gaussian_mu,
    mu_for,
    pure_epsilon_for,
    pure_mu,
)

EPSILONS = (1e-4, 1e-3, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
DELTAS = (1e-15, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 0.1, 0.5)
GRID = list(itertools.product(EPSILONS, DELTAS))
CORNERS = [
    *itertools.product(
        (1e-12, 1e-4, 1.0, 200.0, 700.0, 1e4, 1e11), (1e-300, 1e-100, 0.999, 1 - 2.0**-40, 1 - 2.0**-53)
    ),
    (1e-13, 1e-15),
    (700.0, 0.5),
]

epsilons = st.floats(1e-4, 200.0)
deltas = st.floats(1e-15, 0.5)
mus = st.floats(1e-4, 30.0)


def exact_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(50):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


# Against mpmath.


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_gaussian_delta_is_rounded_up_and_tight(epsilon: float, delta: float) -> None:
    for mu in (gaussian_mu(epsilon, delta) * factor for factor in (0.9, 1.0, 1.1)):
        exact = exact_delta(mu, epsilon)
        assert exact <= gaussian_delta(mu, epsilon) <= exact * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_gaussian_mu_is_rounded_down_and_tight(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta < exact_delta(mu * (1 + 1e-9), epsilon)


@pytest.mark.parametrize(("epsilon", "delta"), CORNERS)
def test_corners_are_on_the_safe_side(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta
    assert gaussian_delta(mu, epsilon) <= delta


@pytest.mark.parametrize("mu", [1e-12, 1e-6, 1e-3, 0.00100001, 0.1, 1.0, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("left", [-36.0, -3.0, -1e-3, 0.0, 1e-3, 1.0, 7.0, 30.0, 37.0])
def test_gaussian_delta_never_falls_below_the_curve(mu: float, left: float) -> None:
    """Over the whole range of the argument l = ε/μ − μ/2, also where the branches of the formula meet."""
    epsilon = mu * (mu / 2 + left)
    if epsilon >= 0:
        exact = exact_delta(mu, epsilon)
        assert exact <= gaussian_delta(mu, epsilon) <= max(exact * (1 + 1e-6), 2.0**-1022)


@given(mus, st.floats(0.0, 200.0))
@settings(max_examples=300, deadline=None)
def test_gaussian_delta_is_rounded_up_everywhere(mu: float, epsilon: float) -> None:
    assert exact_delta(mu, epsilon) <= gaussian_delta(mu, epsilon)


# Ends of the range.


def test_no_gaussian_noise_is_ever_called_pure() -> None:
    """The curve underflows long before it reaches 0; a δ of 0 would let Gaussian noise into a pure budget."""
    assert gaussian_delta(1e-10, 1.0) > 0.0
    assert gaussian_delta(5e-324, 1.0) > 0.0
    assert gaussian_delta(1e-30, 37e-30) > 0.0


def test_gaussian_delta_at_the_ends() -> None:
    assert gaussian_delta(0.0, 1.0) == 0.0
    assert gaussian_delta(math.inf, 1.0) == 1.0
    assert gaussian_delta(1e3, 1.0) == 1.0
    assert gaussian_delta(1.0, 0.0) == pytest.approx(math.erf(0.5 / math.sqrt(2.0)), rel=1e-12)


@pytest.mark.parametrize("delta", [0.0, 5e-324, SMALLEST_DELTA / 2, 1.0, 2.0, -1e-6, math.nan])
@pytest.mark.parametrize("function", [functools.partial(f, 1.0) for f in (gaussian_mu, classic_mu)])
def test_a_delta_that_no_gaussian_noise_gives_is_refused(function: functools.partial[float], delta: float) -> None:
    with pytest.raises(ParameterError, match="delta"):
        function(delta)


@pytest.mark.parametrize("epsilon", [1e13, 1e300])
def test_an_epsilon_beyond_the_computed_range_is_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="No Gaussian noise is computed"):
        gaussian_mu(epsilon, 0.1)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_epsilon_must_be_positive_and_finite(epsilon: float) -> None:
    for function in (check_epsilon_delta, gaussian_mu, classic_mu):
        with pytest.raises(ParameterError, match="epsilon"):
            function(epsilon, 1e-6)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan, math.inf])
def test_delta_must_be_a_probability_below_one(delta: float) -> None:
    with pytest.raises(ParameterError, match="delta"):
        check_epsilon_delta(1.0, delta)


@pytest.mark.parametrize(
    ("mu", "epsilon"), [(-1.0, 1.0), (math.nan, 1.0), (1.0, -1.0), (1.0, math.nan), (1.0, math.inf)]
)
def test_gaussian_delta_refuses_what_is_no_curve(mu: float, epsilon: float) -> None:
    with pytest.raises(ParameterError, match="at least 0"):
        gaussian_delta(mu, epsilon)


# Against dp_accounting.


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_sigma_agrees_with_dp_accounting(epsilon: float, delta: float) -> None:
    assert 1 / gaussian_mu(epsilon, delta) == pytest.approx(dp_accounting.get_sigma_gaussian(epsilon, delta), rel=1e-6)


@pytest.mark.parametrize("mu", [0.05, 0.2367, 1.0])
def test_the_curve_lies_between_the_bounds_of_a_privacy_loss_distribution(mu: float) -> None:
    """dp_accounting discretises the privacy loss at 1e-4, once rounding up and once rounding down."""
    above, below = (
        privacy_loss_distribution.from_gaussian_mechanism(
            1 / mu, pessimistic_estimate=p, value_discretization_interval=1e-4
        )
        for p in (True, False)
    )
    for epsilon in (mu * (mu / 2 + left) for left in (0.0, 1.0, 2.0, 4.0)):
        ours = gaussian_delta(mu, epsilon)
        assert below.get_delta_for_epsilon(epsilon) <= ours * (1 + 1e-9)
        assert ours <= above.get_delta_for_epsilon(epsilon) * (1 + 1e-9)
        assert ours == pytest.approx(above.get_delta_for_epsilon(epsilon), rel=1e-3)


# Against OpenDP, which proves its discrete Gaussian by way of ρ-zCDP.


def opendp_epsilon(sigma: float, delta: float) -> float:
    dp.enable_features("contrib")
    gaussian = dp.m.make_gaussian(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=sigma)
    return float(dp.c.make_zCDP_to_approxDP(gaussian).map(1).epsilon(delta))


def opendp_sigma(epsilon: float, delta: float) -> float:
    low, high = 0.1 / epsilon, 100.0 / epsilon + 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if opendp_epsilon(middle, delta) <= epsilon else (middle, high)
    return high


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 5.0, 10.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6, 1e-4])
def test_our_sigma_is_smaller_than_by_way_of_zcdp(epsilon: float, delta: float) -> None:
    assert 1.03 <= opendp_sigma(epsilon, delta) * gaussian_mu(epsilon, delta) <= 1.14


def test_zcdp_costs_seven_percent_of_sigma_at_the_usual_place() -> None:
    assert opendp_sigma(1.0, 1e-6) * gaussian_mu(1.0, 1e-6) == pytest.approx(1.0725, abs=1e-4)


# Properties.


@given(mus, st.floats(0.01, 100.0))
@settings(deadline=None)
def test_mu_comes_back(mu: float, epsilon: float) -> None:
    delta = gaussian_delta(mu, epsilon)
    if 1e-250 < delta < 0.999:
        assert gaussian_mu(epsilon, delta) == pytest.approx(mu, rel=1e-8)


@given(epsilons, deltas, st.floats(1.0, 10.0))
@settings(deadline=None)
def test_monotone_in_each_argument(epsilon: float, delta: float, factor: float) -> None:
    up = 1 + 1e-8  # what is rounded to the safe side may waver by less than this
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_mu(epsilon * factor, delta) * up >= mu
    assert gaussian_mu(epsilon, min(0.9, delta * factor)) * up >= mu
    assert gaussian_delta(mu * factor, epsilon) * up >= gaussian_delta(mu, epsilon)
    assert gaussian_delta(mu, epsilon * factor) <= gaussian_delta(mu, epsilon) * up


# Anchors.


@pytest.mark.parametrize(
    ("epsilon", "analytic", "classic"), [(0.01, 306.4, 529.9), (0.1, 36.30, 52.99), (1.0, 4.225, 5.299)]
)
def test_noise_per_sensitivity_at_delta_one_in_a_million(epsilon: float, analytic: float, classic: float) -> None:
    assert float(f"{1 / gaussian_mu(epsilon, 1e-6):.4g}") == analytic
    assert float(f"{1 / classic_mu(epsilon, 1e-6):.4g}") == classic


@pytest.mark.parametrize("epsilon", [1.0001, 10.0])
def test_the_classic_formula_is_refused_beyond_its_proof(epsilon: float) -> None:
    with pytest.raises(ParameterError, match=r"Calibration\.ANALYTIC"):
        classic_mu(epsilon, 1e-6)


@given(st.floats(1e-4, 1.0), st.floats(1e-15, 0.99))
@settings(deadline=None)
def test_the_classic_formula_holds_up_to_one_and_needs_more_noise(epsilon: float, delta: float) -> None:
    assert exact_delta(classic_mu(epsilon, delta), epsilon) <= delta
    assert classic_mu(epsilon, delta) <= gaussian_mu(epsilon, delta)


def test_mu_for_follows_the_choice() -> None:
    assert mu_for(Calibration.ANALYTIC, 0.5, 1e-6) == gaussian_mu(0.5, 1e-6)
    assert mu_for(Calibration.CLASSIC, 0.5, 1e-6) == classic_mu(0.5, 1e-6)


# Pure steps beside Gaussian ones.


@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 0.01, 0.5, 0.999999, 1.0, 3.0, 30.0, 700.0, 2000.0])
def test_pure_mu_is_rounded_up_and_tight(epsilon: float) -> None:
    """Φ(μ/2) = 1/(1 + e^−ε), by its complement, which does not round to 0."""
    mu = pure_mu(epsilon)
    with mpmath.workdps(1000):
        target = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
        assert mpmath.ncdf(-mpmath.mpf(mu) / 2) <= target <= mpmath.ncdf(-mpmath.mpf(mu) / 2 * (1 - mpmath.mpf(1e-12)))


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 8.0])
def test_a_gaussian_of_pure_mu_dominates_every_pure_step(epsilon: float) -> None:
    """Trade-off curves: the least type II error at type I error α is never larger for the Gaussian."""
    assert all(gaussian_error(a, pure_mu(epsilon)) <= pure_error(a, epsilon) + 1e-14 for a in np.linspace(0, 1, 2001))


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 8.0])
def test_no_smaller_mu_would_do(epsilon: float) -> None:
    corner = 1 / (1 + math.exp(epsilon))
    assert gaussian_error(corner, pure_mu(epsilon) * 0.999) > pure_error(corner, epsilon)


def gaussian_error(alpha: float, mu: float) -> float:
    """G_μ(α) = Φ(Φ⁻¹(1 − α) − μ)."""
    return float(ndtr(-ndtri(alpha) - mu))


def pure_error(alpha: float, epsilon: float) -> float:
    """The least type II error that ε-DP leaves: max(1 − e^ε·α, e^−ε·(1 − α), 0)."""
    return max(1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha), 0.0)


def test_pure_mu_at_the_ends() -> None:
    assert pure_mu(0.0) == 0.0


@pytest.mark.parametrize("epsilon", [-1.0, math.inf, math.nan])
def test_pure_mu_refuses_what_is_no_epsilon(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="pure_mu"):
        pure_mu(epsilon)


@pytest.mark.parametrize("mu", [1e-30, 1e-12, 1e-6, 1e-5, 1e-4, 1e-3, 0.1, 0.999, 1.0, 2.0, 10.0, 60.0])
def test_pure_epsilon_for_is_rounded_down_and_tight(mu: float) -> None:
    """ln Φ(μ/2) − ln Φ(−μ/2), to 80 digits."""
    with mpmath.workdps(80):
        half = mpmath.mpf(mu) / 2
        exact = mpmath.log(mpmath.ncdf(half)) - mpmath.log(mpmath.ncdf(-half))
        assert exact * (1 - mpmath.mpf(2) ** -39) <= pure_epsilon_for(mu) <= exact
    assert pure_mu(pure_epsilon_for(mu)) <= mu


@pytest.mark.parametrize("mu", [0.0, -1.0, math.inf, math.nan])
def test_pure_epsilon_for_refuses_what_is_no_mu(mu: float) -> None:
    with pytest.raises(ParameterError, match="pure_epsilon_for"):
        pure_epsilon_for(mu)
