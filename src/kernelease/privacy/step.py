"""One crossing of the barrier, in the numbers that an auditor needs to price it again."""

import math
from dataclasses import dataclass
from enum import Enum, unique
from typing import final

from kernelease.errors import ParameterError
from kernelease.privacy.accounting import Loss, rounding_tau

_FAR = 2.0**256  # no scale or sensitivity is near it: beyond, prices would overflow


@final
@unique
class Law(Enum):
    """The law of the noise."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"
    EXPONENTIAL = "exponential"  # a selection: Gumbel noise on scores


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
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
