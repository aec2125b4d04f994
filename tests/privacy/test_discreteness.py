"""The total variation between the discrete Gaussian and the rounded continuous one, summed term by term."""

import math

import mpmath
import pytest

from kernelease.privacy.accounting import rounding_tau


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
