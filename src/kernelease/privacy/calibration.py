"""From (ε, δ) to noise and back. Pure functions of numbers; no data, no state.

μ is the parameter of Gaussian differential privacy, μ = Δ/σ: the Gaussian mechanism with sensitivity Δ and standard
deviation σ is as hard to see through as telling N(0, 1) from N(μ, 1). Its exact curve (Balle & Wang 2018) is

    δ_μ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ).
"""

import math
from collections.abc import Callable
from enum import Enum, unique
from functools import lru_cache
from numbers import Real
from typing import final

import scipy

from kernelease.errors import ParameterError
from kernelease.kinds import Kind

SMALLEST_DELTA = 1e-300  # below it floats no longer tell one δ from another, and no noise differs either
_TINY = 2.0**-1022  # the smallest normal float: a computed δ is never rounded down to 0, which would claim pure DP
_SPECIAL_ERROR = 2.0**-48  # bounds the relative error of the special functions below: tests compare them with mpmath
_MU_RANGE = (1e-30, 1e6)  # where μ is looked for; an ε and δ that need another are refused
_LARGEST_MU = 40.0  # of those whose ε is looked for: an attacker who faces more is never wrong


@final
@unique
class Calibration(Kind, Enum):
    """Which formula turns (ε, δ) into the Gaussian mechanism's σ."""

    ANALYTIC = "analytic"
    """The smallest σ that suffices (Balle & Wang 2018). Right for every ε > 0."""

    CLASSIC = "classic"
    """The paper's √(2 ln(1.25/δ))·Δ/ε. Refused for ε > 1, which its proof does not cover."""


def gaussian_delta(mu: float, epsilon: float) -> float:
    """δ_μ(ε), rounded up: the exact curve of the Gaussian mechanism with μ = Δ/σ.

    With M(x) = Φ(−x)/φ(x) the two terms share a factor: δ_μ(ε) = φ(l)·(M(l) − M(r)), l and r = ε/μ ∓ μ/2. So nothing
    overflows, and little cancels.

    >>> round(gaussian_delta(1 / 4.225, 1.0) / 1e-6, 2)
    1.0
    """
    if not (mu >= 0.0 and 0.0 <= epsilon < math.inf):
        raise ParameterError(
            f"gaussian_delta: mu and epsilon must be at least 0 and finite, got {mu!r} and {epsilon!r}."
        )
    if mu == 0.0:
        return 0.0
    centre = epsilon / mu
    left, right = centre - mu / 2, centre + mu / 2
    if left > 37.7:  # δ < Φ(−37.7) < 2⁻¹⁰²²
        return _TINY
    if left < -37.0:
        return 1.0
    density = math.exp(-left * left / 2) / math.sqrt(2 * math.pi)
    gap, error = _mills_gap(centre, mu)
    error += 2.0**-52 * epsilon * _mills(right)  # ε/μ was rounded, and ∂δ/∂ε = −φ(l)·M(r)
    return min(1.0, max(_TINY, density * (gap * (1 + _SPECIAL_ERROR * (1 + left * left)) + error)))


def _mills(x: float) -> float:
    """Φ(−x)/φ(x), Mills' ratio."""
    return math.sqrt(math.pi / 2) * float(scipy.special.erfcx(x / math.sqrt(2.0)))


def _mills_gap(centre: float, mu: float) -> tuple[float, float]:
    """M(centre − μ/2) − M(centre + μ/2), and a bound on its error. M′(x) = xM(x) − 1, and |M⁗′| ≤ 8 for x ≥ 0."""
    if mu > 1e-3:
        low, high = _mills(centre - mu / 2), _mills(centre + mu / 2)
        return low - high, _SPECIAL_ERROR * (low + high)
    middle = _mills(centre)  # the difference would cancel: two terms of its series about the centre
    slope = 1.0 - centre * middle
    bend = (centre * centre + 2.0) * slope - centre * middle
    return mu * (slope + mu * mu / 24.0 * bend), mu * (2 * _SPECIAL_ERROR + mu**4 / 240.0)


@lru_cache(maxsize=256)  # one release asks a few dozen times for the same
def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest μ with δ_μ(ε) ≤ δ, rounded down. σ = Δ/μ is then the least noise that (ε, δ) allows.

    >>> round(1 / gaussian_mu(1.0, 1e-6), 3), round(1 / gaussian_mu(0.01, 1e-6), 1)
    (4.225, 306.4)
    """
    check_epsilon_delta(epsilon, delta)
    _check_delta(delta)
    low, high = _MU_RANGE
    if not gaussian_delta(low, epsilon) <= delta < gaussian_delta(high, epsilon):
        raise ParameterError(f"No Gaussian noise is computed for epsilon = {epsilon!r} and delta = {delta!r}.")
    log_mu = scipy.optimize.brentq(
        lambda x: gaussian_delta(math.exp(x), epsilon) - delta, math.log(low), math.log(high), xtol=1e-14, rtol=1e-14
    )
    return _step_until(math.exp(log_mu), -1.0, lambda mu: gaussian_delta(mu, epsilon) <= delta)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The largest ε whose (ε, δ) allows no μ above this one, rounded down: the inverse of `gaussian_mu`.

    >>> round(gaussian_epsilon(gaussian_mu(1.0, 1e-6), 1e-6), 9)
    1.0
    """
    _check_delta(delta)
    if not 0.0 < mu <= _LARGEST_MU:
        raise ParameterError(f"gaussian_epsilon: mu must be above 0 and at most {_LARGEST_MU:g}, got {mu!r}.")
    if gaussian_delta(mu, 0.0) <= delta:
        raise ParameterError(f"delta = {delta!r} alone allows mu = {mu!r}, at every epsilon. Take a smaller delta.")
    high = mu * mu / 2 + 40.0 * mu  # there δ_μ(ε) < Φ(−37.7) or so, below every delta
    root = scipy.optimize.brentq(
        lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, high, xtol=1e-300, rtol=1e-14
    )
    return _step_until(root, -1.0, lambda epsilon: gaussian_mu(epsilon, delta) <= mu)


def classic_mu(epsilon: float, delta: float) -> float:
    """μ of the paper's σ = Δ√(2 ln(1.25/δ))/ε. Refused where the formula is not proved.

    >>> round(1 / classic_mu(1.0, 1e-6), 3)
    5.299
    """
    check_epsilon_delta(epsilon, delta)
    _check_delta(delta)
    mu = epsilon / math.sqrt(2.0 * math.log(1.25 / delta))
    if epsilon > 1.0 or gaussian_delta(mu, epsilon) > delta:
        raise ParameterError(
            f"The classic Gaussian calibration is proved for epsilon up to 1 only, got {epsilon!r}: "
            "use Calibration.ANALYTIC, which holds for every epsilon and needs less noise."
        )
    return mu


def mu_for(calibration: Calibration, epsilon: float, delta: float) -> float:
    """μ that the calibration allows for (ε, δ)."""
    return gaussian_mu(epsilon, delta) if calibration is Calibration.ANALYTIC else classic_mu(epsilon, delta)


def pure_mu(epsilon: float) -> float:
    """μ of a Gaussian that dominates any ε-DP step: 2Φ⁻¹(1/(1 + e^{−ε})), docs/proofs/accounting.md.

    >>> round(pure_mu(1.0), 4)
    1.232
    """
    if not 0.0 <= epsilon < math.inf:
        raise ParameterError(f"pure_mu: epsilon must be at least 0 and finite, got {epsilon!r}.")
    if epsilon < 1.0:  # the same as below, without cancellation near 0
        return 2.0 * math.sqrt(2.0) * float(scipy.special.erfinv(math.tanh(epsilon / 2))) * (1 + 2.0**-44)
    return -2.0 * float(scipy.special.ndtri_exp(-epsilon - math.log1p(math.exp(-epsilon)))) * (1 + 2.0**-44)


def pure_epsilon_for(mu: float) -> float:
    """The ε of a pure step that costs μ beside Gaussian steps: the inverse of `pure_mu`, rounded down.

    >>> round(pure_epsilon_for(pure_mu(1.0)), 4)
    1.0
    """
    if not 0.0 < mu < math.inf:
        raise ParameterError(f"pure_epsilon_for: mu must be positive and finite, got {mu!r}.")
    if mu < 1.0:  # the same as below, without cancellation near 0
        return 2.0 * math.atanh(math.erf(mu / math.sqrt(8.0))) * (1 - 2.0**-40)
    return float(scipy.special.log_ndtr(mu / 2) - scipy.special.log_ndtr(-mu / 2)) * (1 - 2.0**-40)


def check_epsilon_delta(epsilon: float, delta: float) -> None:
    """Refuse an ε that is not positive and finite, or a δ outside [0, 1)."""
    given: tuple[object, ...] = (epsilon, delta)
    if not all(isinstance(one, Real) for one in given):
        raise ParameterError(f"epsilon and delta must be numbers, got {epsilon!r} and {delta!r}.")
    if not 0.0 < epsilon < math.inf:
        raise ParameterError(f"epsilon must be positive and finite, got {epsilon!r}. From 0.1 to 10 is usual.")
    if not 0.0 <= delta < 1.0:
        raise ParameterError(f"delta must be at least 0 and below 1, got {delta!r}. 1e-6 is usual.")


def _check_delta(delta: float) -> None:
    if not SMALLEST_DELTA <= delta < 1.0:
        raise ParameterError(
            f"Gaussian noise needs a delta from {SMALLEST_DELTA} to 1 (1 excluded), got {delta!r}; for delta = 0 use "
            "Laplace noise."
        )


def _step_until(value: float, sign: float, holds: Callable[[float], bool]) -> float:
    """Move a root that brentq left on the wrong side over to the safe side, by relative steps that double."""
    step = 2.0**-46
    while not holds(value):
        value *= 1.0 + sign * step
        step = min(2.0 * step, 0.5)
    return float(value)
