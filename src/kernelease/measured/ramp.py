"""Where in its cell a value lies, as a whole number: what a row counts in a sum of offsets."""

from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Integers
from kernelease.errors import ParameterError
from kernelease.kinds import Kind

LARGEST_LIMIT = 2**20  # of a weight: summed over a batch of persons' rows it fits 64 bits
_LARGEST = 2**48  # of `start` and `slope`: with fine codes below 2¹⁴, no weight overflows on the way to its clamp


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ramp(Kind):
    """t(a, f) = clamp(start[a] + slope[a]·f, −limit, limit), for atom a and the code f of its value in finer cells.

    All of it is public. Whatever the arrays say, no weight is larger than `limit`: sensitivity needs nothing else.

    >>> Ramp(start=np.array([-8, -40]), slope=np.array([2, 4]), limit=8).of(np.array([0, 1, 1]), np.array([5, 9, 99]))
    array([ 2, -4,  8])
    """

    start: Integers  # (atoms,)
    slope: Integers  # (atoms,)
    limit: int

    def __post_init__(self) -> None:
        if self.start.ndim != 1 or self.start.shape != self.slope.shape:
            raise ParameterError(
                f"Ramp: needs a start and a slope for each atom, got shapes {self.start.shape} and {self.slope.shape}."
            )
        if not 1 <= self.limit <= LARGEST_LIMIT:
            raise ParameterError(f"Ramp: limit must be from 1 to {LARGEST_LIMIT}, got {self.limit!r}.")
        if any((part <= -_LARGEST).any() or (part >= _LARGEST).any() for part in (self.start, self.slope)):
            raise ParameterError(f"Ramp: start and slope must be below {_LARGEST} in size.")

    def of(self, atoms: Integers, fine: Integers) -> Integers:
        """The weight of each row: (n,), (n,) → (n,)."""
        weights: Integers = np.clip(self.start[atoms] + self.slope[atoms] * fine, -self.limit, self.limit)
        return weights
