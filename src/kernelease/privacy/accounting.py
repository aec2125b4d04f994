"""What was promised (`Privacy`), what a step costs (`Loss`), how costs add up, and what an attacker may then do.

The state of all that was released so far is (μ², δ₀, τ), and for every ε

    δ(ε) = min{ δ_μ(ε) + δ₀ + (1 + e^ε)·τ,  e^η·(δ_μ(ε − 2η) + δ₀) },    η = (128² + 1)·τ.

μ² is the Gaussian part, δ₀ what (ε, δ) steps add outright, τ how far the discrete noise that is drawn is from the
rounded continuous noise that is calibrated: in total variation at most τ, and in log-likelihood at most η within 128
standard deviations. The first bound is for small ε, the second for large. Steps that are all pure (δ = 0) also add up
as Σε, which is kept beside. Proofs: docs/proofs/accounting.md, docs/proofs/discrete-noise.md.
"""

import math
import warnings
from dataclasses import dataclass, replace
from typing import Protocol, final

import scipy

from kernelease.errors import ParameterError
from kernelease.kinds import Kind
from kernelease.privacy.calibration import (
    Calibration,
    check_epsilon_delta,
    gaussian_delta,
    gaussian_epsilon,
    mu_for,
    pure_mu,
)
from kernelease.privacy.neighbours import Neighbours

# --------------------
# Risk: how well an attacker may tell whether a given row (or person) is in the table.
#
# An attacker tests "her row was there" against "it was not". α is the rate of false alarms, β(α) the highest rate of
# true ones that any test reaches. Noise of a given law and scale has one such curve, and its promises are points
# below it:
#
#     Gaussian noise, μ = Δ/σ:   β(α) = Φ(Φ⁻¹(α) + μ),                    max β(α) − α = 2Φ(μ/2) − 1,
#     pure ε:                    β(α) = min{e^ε·α, 1 − e^{−ε}·(1 − α)},   max β(α) − α = (e^ε − 1)/(e^ε + 1).
#
# Each is inverted here, exactly but for rounding, which is on the safe side. Proofs: docs/proofs/risk.md.


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


# --------------------
# What was promised (`Privacy`), what a step costs (`Loss`), and how costs add up.


SMALLEST_EPSILON, LARGEST_EPSILON = 1e-4, 1e3  # below, releases are noise alone; above, a guarantee means nothing
SMALLEST_SCALE = 2.0**35  # steps of the noise grid per standard deviation, at least
LOG_RATIO = 128.0**2 + 1.0  # η/τ: noise beyond 128 standard deviations has probability 2e⁻⁸¹⁹²
GAUSSIAN_SHARE = 0.99  # of δ: what Gaussian steps may use
OUTRIGHT_SHARE = 0.009  # of δ: what (ε, δ) steps may add outright; the rest is for the grid of the noise
UNSAID = float("nan")  # a δ that nobody gave: refused, since pure privacy must not be a slip
RISK_DELTA = 1e-9  # the δ of a promise that is made as a risk: on a Gaussian curve any δ names the same noise
RISK_NUMBERS = 2**30  # noisy numbers of a release whose risk is promised, at most: more than anyone draws
ROUNDING = 2.0**-41  # a sum of charges may pass its limit by this (0.1 + 0.2): mechanisms round noise up by more


def rounding_tau(coordinates: int, scale: float = SMALLEST_SCALE) -> float:
    """Total variation between discrete and rounded Gaussian noise of `scale` grid steps: at most 1/(24 s²) each."""
    return coordinates / (24.0 * scale * scale)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Loss(Kind):
    """The privacy loss of a step, or of several added up.

    >>> gaussian, pure = Loss.gaussian(0.1), Loss.pure(0.5)
    >>> (pure + pure).delta(1.0), (gaussian + pure).delta(1.0) > 0
    (0.0, True)
    """

    mu_squared: float = 0.0
    delta_zero: float = 0.0
    tau: float = 0.0
    pure_epsilon: float = 0.0  # Σε where all steps are pure but for δ₀, else infinity

    def __post_init__(self) -> None:
        for name in ("mu_squared", "delta_zero", "tau", "pure_epsilon"):
            if not getattr(self, name) >= 0.0:
                raise ParameterError(f"Loss: {name} must be at least 0, got {getattr(self, name)!r}.")
        if (self.tau > 0.0 and self.pure_epsilon < math.inf) or (self.mu_squared > 0.0 and self.pure_epsilon == 0.0):
            raise ParameterError(
                "Loss: a step that is not pure needs pure_epsilon = inf; use Loss.gaussian or the like."
            )

    @classmethod
    def gaussian(cls, mu: float, *, tau: float = 0.0) -> "Loss":
        """A Gaussian step with μ = Δ/σ, drawn from discrete noise at total variation τ."""
        return cls(mu_squared=mu * mu, tau=tau, pure_epsilon=math.inf)

    @classmethod
    def pure(cls, epsilon: float) -> "Loss":
        """Any ε-DP step. Beside Gaussian steps it costs the μ of a Gaussian that dominates it."""
        return cls(mu_squared=pure_mu(epsilon) ** 2, pure_epsilon=epsilon)

    @classmethod
    def approximate(cls, epsilon: float, delta: float) -> "Loss":
        """Any (ε, δ) step: an ε-DP step except with probability δ."""
        return cls(mu_squared=pure_mu(epsilon) ** 2, delta_zero=delta, pure_epsilon=epsilon)

    def __add__(self, other: "Loss") -> "Loss":
        return Loss(
            mu_squared=self.mu_squared + other.mu_squared,
            delta_zero=self.delta_zero + other.delta_zero,
            tau=self.tau + other.tau,
            pure_epsilon=self.pure_epsilon + other.pure_epsilon,
        )

    @property
    def mu(self) -> float:
        """√μ²: the sharpness of an attacker's best test."""
        return math.sqrt(self.mu_squared)

    def delta(self, epsilon: float) -> float:
        """δ such that all of this together is (ε, δ)-differentially private."""
        if self.pure_epsilon <= epsilon:  # basic composition
            return min(1.0, self.delta_zero)
        discreteness = self.tau * (1.0 + math.exp(min(epsilon, 700.0))) if self.tau else 0.0
        by_variation = gaussian_delta(self.mu, epsilon) + self.delta_zero + discreteness
        return min(1.0, by_variation, _delta_by_ratio(self.mu, self.delta_zero, self.tau, epsilon))

    def attacker(self, rate: float) -> float:
        """The best true-positive rate of any test for one row, at a false-positive rate α = `rate`.

        The least of what holds: Φ(Φ⁻¹(α) + μ) of the Gaussian curve, with δ₀ and τ added; where all steps are pure but
        for δ₀, e^ε·α + δ₀ and 1 − e^{−ε}·(1 − α − δ₀), with ε their sum.

        >>> round(Loss.pure(1.0).attacker(0.01), 4), round(Loss.gaussian(1.232).attacker(0.01), 4)
        (0.0272, 0.1369)
        """
        if not 0.0 <= rate <= 1.0:
            raise ParameterError(f"attacker: the false-positive rate must be from 0 to 1, got {rate!r}.")
        level = min(1.0, rate + self.tau)
        gaussian = float(scipy.special.ndtr(scipy.special.ndtri(level) + self.mu)) + self.tau + self.delta_zero
        if self.pure_epsilon == math.inf:
            return min(1.0, gaussian)
        likely = math.exp(min(self.pure_epsilon, 700.0)) * rate + self.delta_zero
        unlikely = 1.0 - math.exp(-self.pure_epsilon) * max(0.0, 1.0 - rate - self.delta_zero)
        return min(1.0, gaussian, likely, unlikely)

    @property
    def advantage(self) -> float:
        """The most by which the rate of true alarms of any test for one row exceeds its rate of false ones.

        It is the largest gap of the curve of `attacker` over the diagonal, the total variation: 2Φ(μ/2) − 1 of the
        Gaussian curve, with δ₀ and 2τ added; (e^ε − 1 + 2δ₀)/(e^ε + 1) where all steps are pure but for δ₀.

        >>> round(Loss.pure(1.0).advantage, 4), round(Loss.gaussian(0.25).advantage, 4)
        (0.4621, 0.0995)
        """
        gaussian = math.erf(self.mu / math.sqrt(8.0)) + 2.0 * self.tau + self.delta_zero
        half = min(self.pure_epsilon, 700.0) / 2
        pure = math.tanh(half) + 2.0 * self.delta_zero / (1.0 + math.exp(2.0 * half))
        return min(1.0, gaussian, 1.0 if self.pure_epsilon == math.inf else pure)

    def fits(self, total: "Loss") -> bool:
        """Whether this loss lies within `total`, part by part (the condition of a privacy filter)."""
        if total.pure_epsilon < math.inf:
            return self.pure_epsilon <= total.pure_epsilon and self.delta_zero <= total.delta_zero
        return self.mu_squared <= total.mu_squared and self.delta_zero <= total.delta_zero and self.tau <= total.tau


def _delta_by_ratio(mu: float, delta_zero: float, tau: float, epsilon: float) -> float:
    """e^η·(δ_μ(ε − 2η) + δ₀), rounded up; 1 where ε is below 2η."""
    eta = LOG_RATIO * tau
    if epsilon < 2.0 * eta:
        return 1.0
    return math.exp(eta) * (gaussian_delta(mu, epsilon - 2.0 * eta) + delta_zero) * (1.0 + 2.0**-48)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Privacy:
    """The guarantee that the owner asks for: (ε, δ) under a neighbour relation.

    δ must be said. Take it well below 1/N; δ = 0 asks for pure differential privacy (Laplace noise, and more of it).
    `neighbours` None: not said. Then a schema's relation holds, and replace-one where there is no schema.

    >>> Privacy(epsilon=1.0, delta=1e-6).relation
    <Neighbours.REPLACE_ONE: 'replace-one'>
    """

    epsilon: float
    delta: float = UNSAID
    neighbours: Neighbours | None = None
    calibration: Calibration = Calibration.ANALYTIC

    def __post_init__(self) -> None:
        if self.delta is UNSAID:
            raise ParameterError(
                f"Privacy: say delta, too. Privacy(epsilon={self.epsilon!r}, delta=1e-6) suits tables of fewer than a "
                "million rows (delta far below 1/rows); delta=0 asks for pure differential privacy, with more noise."
            )
        check_epsilon_delta(self.epsilon, self.delta)
        if not SMALLEST_EPSILON <= self.epsilon <= LARGEST_EPSILON:
            raise ParameterError(
                f"epsilon must be from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}, got {self.epsilon!r}: below, a "
                "release would be all noise; above, the guarantee would mean nothing. From 0.1 to 10 is usual."
            )
        if self.calibration is Calibration.CLASSIC and self.delta > 0:
            mu_for(self.calibration, self.epsilon, self.delta)  # refuses where the formula does not hold

    @classmethod
    def from_risk(
        cls,
        *,
        advantage: float | None = None,
        true_positive: float | None = None,
        false_positive: float | None = None,
        delta: float = RISK_DELTA,
        neighbours: Neighbours | None = None,
    ) -> "Privacy":
        """The weakest guarantee under which no test for one row (or person) does better than this.

        Either `advantage`, the most by which the rate of true alarms may exceed that of false ones, for every test; or
        `true_positive`, the highest rate of true alarms at the rate `false_positive` of false ones. It is exact: the
        noise is that of the trade-off curve which touches the risk, less rounding and the part of δ that is kept beside
        Gaussian noise. δ then only names the point of the curve at which ε is written (the noise hardly depends
        on it); with δ = 0 noise is Laplace, and the curve that of pure privacy. docs/proofs/risk.md.

        >>> Privacy.from_risk(advantage=0.1, delta=1e-6).total(100).advantage <= 0.1
        True
        >>> round(Privacy.from_risk(true_positive=0.05, false_positive=0.01, delta=0.0).epsilon, 4)  # ln(0.05/0.01)
        1.6094
        """
        check_epsilon_delta(1.0, delta)
        risk = risk_of(advantage, true_positive, false_positive)
        if delta == 0.0:
            return cls(epsilon=risk.epsilon, delta=0.0, neighbours=neighbours)
        left = risk.less(OUTRIGHT_SHARE * delta, rounding_tau(RISK_NUMBERS))
        return cls(epsilon=gaussian_epsilon(left.mu, GAUSSIAN_SHARE * delta), delta=delta, neighbours=neighbours)

    @property
    def pure(self) -> bool:
        """Whether δ = 0."""
        return self.delta == 0.0

    @property
    def relation(self) -> Neighbours:
        """The neighbour relation that holds: the one that was said, else replace-one."""
        return Neighbours.REPLACE_ONE if self.neighbours is None else self.neighbours

    def under(self, declared: Neighbours) -> "Privacy":
        """The same guarantee under the relation that a schema declares. Refused if another one was asked for here.

        >>> Privacy(epsilon=1.0, delta=0.0).under(Neighbours.ADD_REMOVE).relation
        <Neighbours.ADD_REMOVE: 'add-remove'>
        """
        if self.neighbours not in {None, declared}:
            default = ", its default" if declared is Neighbours.REPLACE_ONE else ""
            raise ParameterError(
                f"Privacy asks for {self.relation.value} neighbours, the schema declares {declared.value}{default}. "
                f'Set neighbours = "{self.relation.value}" in its [table], or leave neighbours out of Privacy.'
            )
        return replace(self, neighbours=declared)

    def total(self, coordinates: int) -> Loss:
        """The whole loss that (ε, δ) allows, with τ reserved for at most `coordinates` discrete draws."""
        if self.pure:
            return Loss.pure(self.epsilon)
        tau = rounding_tau(coordinates)
        if not self._allows_grid(tau):
            raise ParameterError(
                f"epsilon = {self.epsilon!r} with delta = {self.delta!r} does not allow {coordinates} noisy numbers: "
                "the discreteness of their noise alone would use more than a thousandth of delta. Take fewer."
            )
        if self.calibration is Calibration.CLASSIC:  # less than the analytic formula allows, with room for τ
            return Loss.gaussian(mu_for(self.calibration, self.epsilon, self.delta), tau=tau)
        return Loss.gaussian(self._most_mu, tau=tau)

    @property
    def _most_mu(self) -> float:
        """The μ that Gaussian steps may use; the rest of δ is kept for what is not Gaussian."""
        return mu_for(Calibration.ANALYTIC, self.epsilon, self.delta * GAUSSIAN_SHARE)

    def _allows_grid(self, tau: float) -> bool:
        """Whether (ε, δ) holds with noise at τ, whatever μ² and δ₀ are used of what is allowed."""
        return _delta_by_ratio(self._most_mu, self.delta * OUTRIGHT_SHARE, tau, self.epsilon) <= self.delta

    def allows(self, loss: Loss) -> bool:
        """Whether charges that add up to `loss` keep (ε, δ), each chosen with the results of those before in sight.

        Pure and (ε, δ) steps alone may add up to ε. Otherwise μ², δ₀ and τ have a limit each: a limit on what they come
        to together would let later charges trade one against the other (docs/proofs/accounting.md).
        """
        if loss.delta_zero > OUTRIGHT_SHARE * self.delta:
            return False
        if loss.pure_epsilon <= self.epsilon * (1 + ROUNDING):
            return True
        if self.pure:
            return False
        return loss.mu_squared <= self._most_mu**2 * (1 + ROUNDING) and self._allows_grid(loss.tau)

    def warn_if_weak(self, rows: float) -> None:
        """Warn where δ ≥ 1/N: publishing one row at random would satisfy such a guarantee.

        `rows` must be public: N under replace-one, a noisy count under add-remove.
        """
        if self.delta * rows >= 1.0:
            warnings.warn(
                f"delta = {self.delta!r} is not below 1/N = {1 / rows:.1e}: such a guarantee allows a mechanism that "
                "publishes some row outright. Take delta far below 1/N.",
                stacklevel=3,
            )
