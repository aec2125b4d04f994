"""One crossing of the barrier: the numbers that an auditor needs to price it again, and what came through."""

import math
from dataclasses import dataclass
from enum import Enum, unique
from typing import final

import numpy as np

from kernelease.arrays import BigIntegers, Floats
from kernelease.errors import ParameterError
from kernelease.kinds import Kind
from kernelease.privacy.accounting import Loss, rounding_tau

LEAST_LAPLACE_SCALE = 1 / 12  # in integers: one draw in 80,000 differs from 0, and σ = 0.0035 is still a number
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
    """Noisy integers and all that may be known about their noise. Public."""

    integers: BigIntegers  # on the noise grid: 2^bits of its steps are one unit of the input
    step: Step
    private: bool  # whether the noise came from the operating system

    @property
    def law(self) -> Law:
        """The law of the noise."""
        return self.step.law

    @property
    def bits(self) -> int:
        """How much finer the noise's grid is than the input's, in powers of two."""
        return self.step.bits

    @property
    def scale(self) -> float:
        """The scale of the noise, in units of the input: σ of the Gaussian, b of the Laplace law."""
        return self.step.scale

    @property
    def loss(self) -> Loss:
        """What the measurement cost."""
        return self.step.loss

    @property
    def values(self) -> Floats:
        """The noisy vector in units of the input, as floats (post-processing of the integers)."""
        return np.array([math.ldexp(integer, -self.bits) for integer in self.integers], dtype=np.float64)

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of each coordinate's noise, in units of the input."""
        if self.law is Law.GAUSSIAN:
            return self.scale
        steps = math.ldexp(self.scale, self.bits)  # the discrete law is narrower than √2·scale on a coarse grid
        return math.ldexp(math.sqrt(2.0 * math.exp(-1.0 / steps)) / -math.expm1(-1.0 / steps), -self.bits)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(Kind):
    """The index of a candidate that was drawn, and what it cost. Public."""

    index: int
    step: Step
    private: bool
