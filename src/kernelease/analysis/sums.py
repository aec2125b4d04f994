"""Sums of estimates: what is linear in columns needs nothing that was measured of them together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from kernelease.analysis.estimate import Estimate, Parts
from kernelease.analysis.inference import ConfidenceLimits, Interval

TOGETHER = "a sum of means, each from its own counts; the interval holds however their errors go together"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SummedLimits(ConfidenceLimits):
    """constant + Σ weight · part, off by at most `slack` more.

    Each of k parts has an interval that misses with a k-th of the chance: all hold together, whatever the noises have
    in common (Bonferroni).
    """

    parts: tuple[tuple[float, ConfidenceLimits], ...]
    constant: float
    slack: float

    def at(self, level: float) -> Interval:
        each = 1.0 - (1.0 - level) / len(self.parts)
        ends = [sorted(weight * end for end in limits.at(each)) for weight, limits in self.parts]
        low, high = (self.constant + sum(end[side] for end in ends) for side in (0, 1))
        return low - self.slack, high + self.slack


def weighted_sum(parts: Sequence[tuple[float, Estimate]], constant: float, slack: float, about: str) -> Estimate:
    """constant + Σ weight · estimate, off by at most `slack` more.

    >>> half = Estimate.normal(10.0, noise=1.0)
    >>> total = weighted_sum([(0.5, half), (0.5, half)], 1.0, 0.0, "")
    >>> total.value, total.standard_error, [round(end, 2) for end in total.interval()]
    (11.0, 1.0, [8.76, 13.24])
    """
    possible = [sorted(weight * end for end in part.possible) for weight, part in parts]
    return Estimate(
        value=constant + sum(weight * part.value for weight, part in parts),
        parts=Parts(
            noise=sum(abs(weight) * part.parts.noise for weight, part in parts),
            sampling=sum(abs(weight) * part.parts.sampling for weight, part in parts),
            bias=slack + sum(abs(weight) * part.parts.bias for weight, part in parts),
        ),
        limits=SummedLimits(
            parts=tuple((weight, part.limits) for weight, part in parts), constant=constant, slack=slack
        ),
        target=parts[0][1].target,
        about=about,
        remark=TOGETHER,
        possible=(constant + sum(low for low, _ in possible), constant + sum(high for _, high in possible)),
    )
