"""How far two distributions are apart: the maximum mean discrepancy, from noisy embeddings, without their bias.

D = μ̃ − ν̂ holds the noise of the release and the sampling error of either side, so ‖D‖² is too large on average by the
sum of their variances, tr V. That sum is known, and is subtracted. Fitted rows take no part in D; they stand only for
the sampling variance of the private table, a term of order 1/N.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.fluctuation import Fluctuation
from kernelease.analysis.limits import Interval, Limits
from kernelease.arrays import Floats
from kernelease.errors import ParameterError

_GRID = 400


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NormLimits(Limits):
    """Limits for θ = ‖δ‖ where ‖δ + e‖² was observed and draws of e are at hand.

    A length θ is in the interval unless ‖δ + e‖² = θ² + 2θ⟨e, u⟩ + ‖e‖² would be as far out as the observed number,
    on either side, with probability below half of 1 − level; u is the observed direction.
    """

    observed: float  # ‖D‖²
    fluctuation: Fluctuation  # its direction is D/‖D‖

    def at(self, level: float) -> Interval:
        if not 0.0 < level < 1.0:
            raise ParameterError(f"level must be between 0 and 1, got {level!r}.")
        reach = np.sqrt(self.observed) + 6.0 * np.sqrt(self.fluctuation.trace)
        lengths = np.linspace(0.0, float(reach), _GRID + 1)
        lower, upper = (np.empty(_GRID + 1) for _ in range(2))
        tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        for index, length in enumerate(lengths):
            drawn = length**2 + 2.0 * length * self.fluctuation.projections + self.fluctuation.energies
            lower[index], upper[index] = np.quantile(drawn, tails)
        inside = np.flatnonzero((lower <= self.observed) & (self.observed <= upper))
        if len(inside) == 0:  # closer than noise allows for any length: nothing speaks for more than 0
            return 0.0, float(lengths[1])
        step = float(lengths[1])
        return max(0.0, float(lengths[inside[0]]) - step), float(lengths[inside[-1]]) + step


def length(difference: list[Floats], error: Fluctuation, *, target: Target, about: str) -> Estimate:
    """‖δ‖ from D = δ + e, part by part, with draws of e: √max(0, ‖D‖² − tr V)."""
    observed = energy(difference)
    squared = observed - error.trace
    value = float(np.sqrt(max(0.0, squared)))
    # Var ‖D‖² = Var(2θ⟨e, u⟩ + ‖e‖²); a length's error is that of its square over 2θ, or its root where θ is nil.
    deviation = float(np.std(2.0 * value * error.projections + error.energies))
    spread = min(deviation / (2.0 * value), np.sqrt(deviation)) if value > 0.0 else np.sqrt(deviation)
    share = error.noise_trace / error.trace if error.trace > 0.0 else 0.0
    remark = (
        "" if squared > 0.0 else "The squared distance is below what noise and sampling alone give: nothing is seen."
    )
    return Estimate(
        value=value,
        parts=Parts(noise=float(spread * np.sqrt(share)), sampling=float(spread * np.sqrt(1.0 - share))),
        limits=NormLimits(observed=observed, fluctuation=error),
        target=target,
        about=about,
        remark=remark,
    )


def unit_direction(difference: list[Floats]) -> list[Floats]:
    """D/‖D‖, part by part."""
    norm = np.sqrt(energy(difference))
    return [part / norm if norm > 0.0 else part for part in difference]


def energy(difference: list[Floats]) -> float:
    """‖D‖²."""
    return sum(float(part @ part) for part in difference)
