"""How well an attacker may tell whether a given row (or person) is in the table: guarantees told as risks, and back.

An attacker tests "her row was there" against "it was not". α is the rate of false alarms, β(α) the highest rate of
true ones that any test reaches. Noise of a given law and scale has one such curve, and its promises are points
below it:

    Gaussian noise, μ = Δ/σ:   β(α) = Φ(Φ⁻¹(α) + μ),                    max β(α) − α = 2Φ(μ/2) − 1,
    pure ε:                    β(α) = min{e^ε·α, 1 − e^{−ε}·(1 − α)},   max β(α) − α = (e^ε − 1)/(e^ε + 1).

Each is inverted here, exactly but for rounding, which is on the safe side. The noise of a promised risk is that of the
curve which touches it, less rounding and the part of δ that is kept beside Gaussian noise; it hardly depends on δ.
Proofs: docs/proofs/risk.md.
"""

import math
from dataclasses import dataclass
from typing import Protocol, final

import scipy

from kernelease.errors import ParameterError

DELTA = 1e-9  # the δ of a promise that is made as a risk: on a Gaussian curve any δ names the same noise
NUMBERS = 2**30  # noisy numbers of a release whose risk is promised, at most: more than anyone draws
_ROUNDING = 1.0 - 2.0**-40  # the special functions err by less: μ and ε are rounded down by this


class Risk(Protocol):
    """What an attacker may reach at most."""

    def less(self, outright: float, tau: float) -> "Risk":
        """The risk that noise may take where δ₀ = `outright`, and τ for either table's grid, are taken out of it."""
        ...

    @property
    def mu(self) -> float:
        """The μ whose Gaussian curve touches the risk, rounded down."""
        ...

    @property
    def epsilon(self) -> float:
        """The ε whose pure curve touches the risk, rounded down."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Advantage:
    """No test has a rate of true alarms that exceeds its rate of false ones by more than `most`.

    >>> round(Advantage(most=0.1).mu, 4), round(Advantage(most=0.1).epsilon, 4)
    (0.2513, 0.2007)
    """

    most: float

    def __post_init__(self) -> None:
        if not 0.0 < self.most < 1.0:
            raise ParameterError(f"advantage must be above 0 and below 1, got {self.most!r}.")

    def less(self, outright: float, tau: float) -> "Advantage":
        """2τ: a grid for either table."""
        left = self.most - outright - 2.0 * tau
        if not left > 0.0:
            raise _below(outright)
        return Advantage(most=left)

    @property
    def mu(self) -> float:
        """2Φ(μ/2) − 1 = a."""
        return 2.0 * math.sqrt(2.0) * float(scipy.special.erfinv(self.most)) * _ROUNDING

    @property
    def epsilon(self) -> float:
        """(e^ε − 1)/(e^ε + 1) = a."""
        return 2.0 * math.atanh(self.most) * _ROUNDING


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """No test that has `false_positive` false alarms has more than `true_positive` true ones.

    >>> risk = Rates(true_positive=0.05, false_positive=0.01)
    >>> round(risk.mu, 4), round(risk.epsilon, 4)
    (0.6815, 1.6094)
    """

    true_positive: float
    false_positive: float

    def __post_init__(self) -> None:
        if not 0.0 < self.false_positive < self.true_positive < 1.0:
            raise ParameterError(
                f"false_positive must be above 0, true_positive above that and below 1; got {self.false_positive!r} "
                f"and {self.true_positive!r}: whoever guesses has as many true alarms as false ones."
            )

    def less(self, outright: float, tau: float) -> "Rates":
        """β(α + τ) + τ + δ₀, as `Loss.attacker` adds them."""
        most, rate = self.true_positive - outright - tau, self.false_positive + tau
        if not most > rate:
            raise _below(outright)
        return Rates(true_positive=most, false_positive=rate)

    @property
    def mu(self) -> float:
        """Φ(Φ⁻¹(α) + μ) = β."""
        return _down(float(scipy.special.ndtri(self.true_positive)), float(scipy.special.ndtri(self.false_positive)))

    @property
    def epsilon(self) -> float:
        """The larger of ln(β/α) and ln((1 − α)/(1 − β)): the curve is the lesser of two lines."""
        likely = _down(math.log(self.true_positive), math.log(self.false_positive))
        unlikely = _down(math.log1p(-self.false_positive), math.log1p(-self.true_positive))
        return max(likely, unlikely)


def risk_of(advantage: float | None, true_positive: float | None, false_positive: float | None) -> Risk:
    """The risk in what was said: an advantage, or two rates."""
    if advantage is not None and true_positive is None and false_positive is None:
        return Advantage(most=advantage)
    if advantage is None and true_positive is not None and false_positive is not None:
        return Rates(true_positive=true_positive, false_positive=false_positive)
    raise ParameterError(
        "A risk is either an advantage, or a true-positive rate at a false-positive rate. Give one of the two, whole: "
        "advantage = 0.1, or true_positive = 0.02 and false_positive = 0.01."
    )


def _below(outright: float) -> ParameterError:
    return ParameterError(
        f"The risk is below what delta allows beside noise ({outright:.1e}). Take a larger risk, or a smaller delta."
    )


def _down(high: float, low: float) -> float:
    """high − low, rounded down by more than its terms err."""
    return (high - low) - (abs(high) + abs(low)) * (1.0 - _ROUNDING)


def true_positives(rate: float, mu: float, tau: float, outright: float, pure_epsilon: float) -> float:
    """The best true-positive rate of any test for one row, at a false-positive rate α = `rate`.

    The least of what holds: Φ(Φ⁻¹(α) + μ) of the Gaussian curve, with δ₀ and τ added; where all steps are pure but
    for δ₀, e^ε·α + δ₀ and 1 − e^{−ε}·(1 − α − δ₀), with ε their sum.
    """
    if not 0.0 <= rate <= 1.0:
        raise ParameterError(f"attacker: the false-positive rate must be from 0 to 1, got {rate!r}.")
    level = min(1.0, rate + tau)
    gaussian = float(scipy.special.ndtr(scipy.special.ndtri(level) + mu)) + tau + outright
    if pure_epsilon == math.inf:
        return min(1.0, gaussian)
    likely = math.exp(min(pure_epsilon, 700.0)) * rate + outright
    unlikely = 1.0 - math.exp(-pure_epsilon) * max(0.0, 1.0 - rate - outright)
    return min(1.0, gaussian, likely, unlikely)


def largest_gap(mu: float, tau: float, outright: float, pure_epsilon: float) -> float:
    """The largest gap of the curve of `true_positives` over the diagonal, the total variation.

    It is 2Φ(μ/2) − 1 of the Gaussian curve, with δ₀ and 2τ added; (e^ε − 1 + 2δ₀)/(e^ε + 1) where all steps are pure
    but for δ₀.
    """
    gaussian = math.erf(mu / math.sqrt(8.0)) + 2.0 * tau + outright
    half = min(pure_epsilon, 700.0) / 2
    pure = math.tanh(half) + 2.0 * outright / (1.0 + math.exp(2.0 * half))
    return min(1.0, gaussian, 1.0 if pure_epsilon == math.inf else pure)
