"""How a mixture descends: its rate at each step, and how the penalty follows χ²."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.fit.mixtures.adam import Single, correction

# research: Tables: one constant at a time. Of the steps, before which the penalty only rises: χ² is still falling
SETTLING = 0.5
# research: Tables: one constant at a time. Of the penalty's logarithm, per step and unit of χ² above or below its goal
GAIN = 0.15
MOST_CHANGE = 0.3  # research: Tables: one constant at a time. Of the penalty's logarithm in one step
# research: Tables: one constant at a time. Steps between looks at single blocks, once they are at the goal together
LEANING = 8
_NEAR = 1.1  # convention: χ² per number at which blocks are at the goal together
# research: Tables: one constant at a time. Penalty at the start: 5 · signal^−.18 times the signal, near where fits end
FIRST, FALL = 5.0, 0.18
RANGE = 16.0  # research: Tables: one constant at a time. By which it may leave its first value, either way


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The rates and the penalty of so many steps: at one rate for two thirds of them, then ever less.

    The penalty κ starts at `first`, and is turned up while χ² per number is below `goal` and down while it is above;
    down only after a part of the steps, since χ² is far above its goal at the start whatever the penalty is.
    """

    steps: int
    rate: float
    goal: float
    signal: float

    @property
    def first(self) -> float:
        """κ at the start, in rows."""
        return float(FIRST * max(1.0, self.signal) ** (1.0 - FALL))

    @property
    def least(self) -> float:
        """The smallest κ."""
        return self.first / RANGE

    @property
    def most(self) -> float:
        """The largest κ."""
        return self.first * RANGE

    @property
    def near(self) -> float:
        """χ² per number from which down single blocks are looked at."""
        return _NEAR

    def rate_at(self, step: int) -> float:
        """How far a step goes."""
        return self.rate * min(1.0, 3.0 * (1.0 - step / self.steps))

    def settled(self, step: int) -> bool:
        """Whether the penalty may fall."""
        return step > SETTLING * self.steps

    def leans(self, step: int) -> bool:
        """Whether single blocks are looked at after this step, if χ² is near its goal."""
        return self.settled(step) and step % LEANING == 0

    def next_penalty(self, kappa: float, chi_squared: float, step: int) -> float:
        """κ after a step that found this χ² per number."""
        error = min(MOST_CHANGE, max(-MOST_CHANGE, self.goal - chi_squared))
        if not (self.settled(step) or error > 0.0):
            return kappa
        return min(self.most, max(self.least, kappa * math.exp(GAIN * error)))

    @property
    def plan(self) -> Single:
        """For a GPU, of each step and one more: Adam's whole rate, whether the penalty may fall, and the goal."""
        rows = [(self.rate_at(s) * correction(s + 1), float(self.settled(s)), self.goal) for s in range(self.steps)]
        return np.array([*rows, rows[-1]], dtype=np.float32)
