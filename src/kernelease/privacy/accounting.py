"""What was promised (`Privacy`), what a step costs (`Loss`), and how costs add up.

The state of all that was released so far is (μ², δ₀, τ), and for every ε

    δ(ε) = δ_μ(ε) + δ₀ + (1 + e^ε)·τ.

μ² is the Gaussian part, δ₀ what (ε, δ) steps add outright, τ the total-variation distance between the discrete noise
that is drawn and the rounded continuous noise that is calibrated. Steps that are all pure (δ = 0) also add up as
Σε, which is kept beside. Proofs: docs/proofs/accounting.md.
"""

import math
import warnings
from dataclasses import dataclass
from typing import final

from kernelease.errors import ParameterError
from kernelease.privacy.calibration import (
    Calibration,
    check_epsilon_delta,
    gaussian_delta,
    mu_for,
    pure_mu,
)
from kernelease.privacy.neighbours import Neighbours

SMALLEST_SCALE = 2.0**35  # steps of the noise grid per standard deviation, at least
TAU_SHARE = 0.01  # discreteness may use at most this share of δ
ROUNDING = 2.0**-41  # a sum of charges may pass its limit by this (0.1 + 0.2): mechanisms round noise up by more


def rounding_tau(coordinates: int, scale: float = SMALLEST_SCALE) -> float:
    """Total variation between discrete and rounded Gaussian noise of `scale` grid steps: at most 1/(24 s²) each."""
    return coordinates / (24.0 * scale * scale)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
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
        return min(1.0, gaussian_delta(self.mu, epsilon) + self.delta_zero + discreteness)

    def fits(self, total: "Loss") -> bool:
        """Whether this loss lies within `total`, part by part (the condition of a privacy filter)."""
        if total.pure_epsilon < math.inf:
            return self.pure_epsilon <= total.pure_epsilon and self.delta_zero <= total.delta_zero
        return self.mu_squared <= total.mu_squared and self.delta_zero <= total.delta_zero and self.tau <= total.tau


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Privacy:
    """The guarantee that the owner asks for: (ε, δ) under a neighbour relation.

    δ = 0 asks for pure differential privacy (Laplace noise). Take δ well below 1/N.

    >>> Privacy(epsilon=1.0, delta=1e-6).neighbours
    <Neighbours.REPLACE_ONE: 'replace-one'>
    """

    epsilon: float
    delta: float = 0.0
    neighbours: Neighbours = Neighbours.REPLACE_ONE
    calibration: Calibration = Calibration.ANALYTIC

    def __post_init__(self) -> None:
        check_epsilon_delta(self.epsilon, self.delta)
        if self.calibration is Calibration.CLASSIC and self.delta > 0:
            mu_for(self.calibration, self.epsilon, self.delta)  # refuses where the formula does not hold

    @property
    def pure(self) -> bool:
        """Whether δ = 0."""
        return self.delta == 0.0

    def total(self, coordinates: int) -> Loss:
        """The whole loss that (ε, δ) allows, with τ reserved for at most `coordinates` discrete draws."""
        if self.pure:
            return Loss.pure(self.epsilon)
        tau = rounding_tau(coordinates)
        discreteness = (1.0 + math.exp(min(self.epsilon, 700.0))) * tau
        if discreteness > TAU_SHARE * self.delta:
            raise ParameterError(
                f"delta = {self.delta!r} is too small for {coordinates} noisy numbers at epsilon = {self.epsilon!r}: "
                f"the discreteness of the noise alone uses {discreteness:.1e}. Take fewer features or a larger delta."
            )
        if self.calibration is Calibration.CLASSIC:  # less than the analytic formula allows, with room for τ
            return Loss.gaussian(mu_for(self.calibration, self.epsilon, self.delta), tau=tau)
        return Loss.gaussian(mu_for(self.calibration, self.epsilon, self._gaussian_delta), tau=tau)

    @property
    def _gaussian_delta(self) -> float:
        """The part of δ that Gaussian steps may use; the rest is kept for what is not Gaussian."""
        return self.delta * (1.0 - TAU_SHARE)

    def allows(self, loss: Loss) -> bool:
        """Whether charges that add up to `loss` keep (ε, δ), each chosen with the results of those before in sight.

        Pure and (ε, δ) steps alone may add up to ε. Otherwise μ² has a limit of its own, and δ₀ + (1 + e^ε)·τ another:
        limits on their sum would let later charges trade one against the other (docs/proofs/accounting.md).
        """
        if loss.pure_epsilon <= self.epsilon * (1 + ROUNDING):
            return loss.delta_zero <= TAU_SHARE * self.delta
        if self.pure:
            return False
        mu = mu_for(Calibration.ANALYTIC, self.epsilon, self._gaussian_delta)
        rest = loss.delta_zero + (1.0 + math.exp(min(self.epsilon, 700.0))) * loss.tau
        return loss.mu_squared <= mu * mu * (1 + ROUNDING) and rest <= TAU_SHARE * self.delta

    def warn_if_weak(self, rows: int) -> None:
        """Warn where δ ≥ 1/N: publishing one row at random would satisfy such a guarantee. `rows` must be public."""
        if self.delta * rows >= 1.0:
            warnings.warn(
                f"delta = {self.delta!r} is not below 1/N = {1 / rows:.1e}: such a guarantee allows a mechanism that "
                "publishes some row outright. Take delta far below 1/N.",
                stacklevel=3,
            )
