"""What was promised (`Privacy`), what a step costs (`Loss`), how costs add up, and what came through (`Measurement`).

The state of all that was released so far is (μ², δ₀, τ), and for every ε

    δ(ε) = min{ δ_μ(ε) + δ₀ + (1 + e^ε)·τ,  e^η·(δ_μ(ε − 2η) + δ₀) },    η = (128² + 1)·τ.

μ² is the Gaussian part, δ₀ what (ε, δ) steps add outright, τ how far the discrete noise that is drawn is from the
rounded continuous noise that is calibrated: in total variation at most τ, and in log-likelihood at most η within 128
standard deviations. The first bound is for small ε, the second for large. Steps that are all pure (δ = 0) also add up
as Σε, which is kept beside. Proofs: docs/proofs/accounting.md, docs/proofs/discrete-noise.md.
"""

import math
from dataclasses import dataclass, field, replace
from enum import Enum, unique
from typing import final

import numpy as np

from kernelease import risk
from kernelease.arrays import BigIntegers, Floats
from kernelease.errors import ParameterError, named_only
from kernelease.kinds import Kind
from kernelease.privacy.calibration import (
    Calibration,
    check_epsilon_delta,
    gaussian_delta,
    gaussian_epsilon,
    mu_for,
    pure_mu,
)
from kernelease.privacy.sensitivity import Neighbours

SMALLEST_EPSILON, LARGEST_EPSILON = 1e-4, 1e3  # below, releases are noise alone; above, a guarantee means nothing
SMALLEST_SCALE = 2.0**35  # steps of the noise grid per standard deviation, at least
LOG_RATIO = 128.0**2 + 1.0  # η/τ: noise beyond 128 standard deviations has probability 2e⁻⁸¹⁹²
GAUSSIAN_SHARE = 0.99  # of δ: what Gaussian steps may use
OUTRIGHT_SHARE = 0.009  # of δ: what (ε, δ) steps may add outright; the rest is for the grid of the noise
UNSAID = float("nan")  # a δ that nobody gave: refused, since pure privacy must not be a slip
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

        >>> round(Loss.pure(1.0).attacker(0.01), 4), round(Loss.gaussian(1.232).attacker(0.01), 4)
        (0.0272, 0.1369)
        """
        return risk.true_positives(rate, self.mu, self.tau, self.delta_zero, self.pure_epsilon)

    @property
    def advantage(self) -> float:
        """The most by which the rate of true alarms of any test for one row exceeds its rate of false ones.

        >>> round(Loss.pure(1.0).advantage, 4), round(Loss.gaussian(0.25).advantage, 4)
        (0.4621, 0.0995)
        """
        return risk.largest_gap(self.mu, self.tau, self.delta_zero, self.pure_epsilon)

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
@named_only
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
        delta: float = risk.DELTA,
        neighbours: Neighbours | None = None,
    ) -> "Privacy":
        """The weakest guarantee under which no test for one row (or person) does better than this.

        Either `advantage`, the most by which the rate of true alarms may exceed that of false ones, for every test; or
        `true_positive`, the highest rate of true alarms at the rate `false_positive` of false ones. δ only names the
        point of the curve at which ε is written; with δ = 0 noise is Laplace. What translates is risk.py.

        >>> Privacy.from_risk(advantage=0.1, delta=1e-6).total(100).advantage <= 0.1
        True
        >>> round(Privacy.from_risk(true_positive=0.05, false_positive=0.01, delta=0.0).epsilon, 4)  # ln(0.05/0.01)
        1.6094
        """
        check_epsilon_delta(1.0, delta)
        most = risk.risk_of(advantage, true_positive, false_positive)
        if delta == 0.0:
            return cls(epsilon=most.epsilon, delta=0.0, neighbours=neighbours)
        left = most.less(OUTRIGHT_SHARE * delta, rounding_tau(risk.NUMBERS))
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


# --------------------
# One crossing of the barrier: the numbers that an auditor needs to price it again, and what came through.


_FAR = 2.0**256  # no scale or sensitivity is near it: beyond, prices would overflow


@final
@unique
class Law(Kind, Enum):
    """The law of the noise."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"
    EXPONENTIAL = "exponential"  # a selection: Gumbel noise on scores


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Kind):
    """Noise of a law and scale on so many integers of a known sensitivity."""

    law: Law
    coordinates: int
    sensitivity: float  # L2 for Gaussian noise, L1 for Laplace noise, of each score for a selection
    scale: float  # of the noise, in the same units
    bits: int = 0  # 2^bits steps of the noise's grid are one unit

    def __post_init__(self) -> None:
        if not (all(1 / _FAR < size < _FAR for size in (self.sensitivity, self.scale)) and self.coordinates >= 1):
            raise ParameterError("Step: sensitivity, scale and number of coordinates must be positive and finite.")
        if not 0 <= self.bits <= 256:
            raise ParameterError(f"Step: bits must be from 0 to 256, got {self.bits!r}.")

    @property
    def loss(self) -> Loss:
        """What the step costs, from its numbers alone."""
        if self.law is Law.LAPLACE:
            return Loss.pure(self.sensitivity / self.scale)
        if self.law is Law.EXPONENTIAL:
            return Loss.pure(2.0 * self.sensitivity / self.scale)
        tau = rounding_tau(self.coordinates, math.ldexp(self.scale, self.bits))
        return Loss.gaussian(self.sensitivity / self.scale, tau=tau)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(Kind):
    """Noisy integers and all that may be known about their noise. Public.

    What follows from them for whoever reads them is computed once: `values`, the noisy vector in units of the input, as
    floats, and `standard_deviation`, of each coordinate's noise in the same units.
    """

    integers: BigIntegers  # on the noise grid: 2^bits of its steps are one unit of the input
    step: Step
    private: bool  # whether the noise came from the operating system
    values: Floats = field(init=False, repr=False, compare=False)
    standard_deviation: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        bits = self.step.bits
        values = np.array([math.ldexp(integer, -bits) for integer in self.integers], dtype=np.float64)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "standard_deviation", _standard_deviation(self.step))


def _standard_deviation(step: Step) -> float:
    """Of each coordinate's noise, in units of the input."""
    if step.law is Law.GAUSSIAN:
        return step.scale
    steps = math.ldexp(step.scale, step.bits)  # the discrete law is narrower than √2·scale on a coarse grid
    return math.ldexp(math.sqrt(2.0 * math.exp(-1.0 / steps)) / -math.expm1(-1.0 / steps), -step.bits)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(Kind):
    """The index of a candidate that was drawn, and what it cost. Public."""

    index: int
    step: Step
    private: bool
