"""The total variation between the discrete Gaussian and the rounded continuous one, summed term by term."""

import math

import mpmath
import pytest

from kernelease.privacy.accounting import LOG_RATIO, SMALLEST_SCALE, rounding_tau


def total_variation(scale: float) -> float:
    """½ Σ |P(k) − Q(k)|, P ∝ exp(−k²/2s²) on the integers and Q the law of a Gaussian number rounded to one.

    By symmetry over k ≥ 0. Q(k) is a difference of upper tails, so that its error stays relative; beyond 12 standard
    deviations there is nothing left (1e-33).
    """
    reach = math.ceil(12 * scale)
    weights = [math.exp(-k * k / (2 * scale * scale)) for k in range(reach + 1)]
    normaliser = 2 * math.fsum(weights) - 1
    tails = [math.erfc((k - 0.5) / (scale * math.sqrt(2))) / 2 for k in range(reach + 2)]
    gaps = [abs(weights[k] / normaliser - (tails[k] - tails[k + 1])) for k in range(reach + 1)]
    return math.fsum(gaps) - gaps[0] / 2


@pytest.mark.parametrize("scale", [4, 5, 8, 16, 64, 256])
def test_the_bound_holds_and_is_of_the_right_order(scale: int) -> None:
    """The bound is 1/24s²; to leading order the distance is 2φ(1)/24s², with 2φ(1) = 0.484."""
    distance, bound = total_variation(scale), rounding_tau(1, scale)
    assert 0.4 * bound <= distance <= bound
    assert distance / bound == pytest.approx(2 * math.exp(-0.5) / math.sqrt(2 * math.pi), rel=0.3 / scale**2 + 1e-6)


@pytest.mark.parametrize("scale", [4, 16])
def test_the_sum_in_floats_is_right(scale: int) -> None:
    with mpmath.workdps(40):
        s = mpmath.mpf(scale)
        normaliser = mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * s * s)))
        gaps = (
            abs(mpmath.exp(-k * k / (2 * s * s)) / normaliser - mpmath.ncdf((k + 0.5) / s) + mpmath.ncdf((k - 0.5) / s))
            for k in range(-12 * scale, 12 * scale + 1)
        )
        assert total_variation(scale) == pytest.approx(float(mpmath.fsum(gaps) / 2), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [4.0, 7.3, 64.0, 1000.0, SMALLEST_SCALE, 1.7 * SMALLEST_SCALE])
def test_the_logarithm_of_the_ratio_is_bounded_within_128_standard_deviations(scale: float) -> None:
    """ln of the rounded law over the discrete one, to 200 digits: largest at the edge, where the bound is sharp."""
    with mpmath.workdps(200):
        s, bound = mpmath.mpf(scale), mpmath.mpf(rounding_tau(1, scale)) * mpmath.mpf(LOG_RATIO)
        series = (2 * mpmath.exp(-2 * mpmath.pi**2 * s * s * n * n) for n in range(1, 4))
        normaliser = 1 + mpmath.fsum(series) if scale < 20 else mpmath.mpf(1)
        logs = [_log_ratio(int(scale * z), s, normaliser) for z in (0, 0.5, 1, 1.7, 8, 40, 100, 127.99)]
    assert all(-bound <= log <= bound for log in logs)
    assert max(logs) >= 0.9 * bound or scale < 64


def _log_ratio(k: int, s: mpmath.mpf, normaliser: mpmath.mpf) -> mpmath.mpf:
    """r(k) = ∫ p over the cell of k is computed as p(k)·∫ exp(−ku/s² − u²/2s²) du, which does not cancel."""
    cell = mpmath.quad(lambda u: mpmath.exp(-k * u / s**2 - u * u / (2 * s * s)), [-0.5, 0, 0.5])
    return mpmath.log(cell * normaliser)
