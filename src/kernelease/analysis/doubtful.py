"""Answers about rows of which it is not known whether all are meant: a condition cuts through cells."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from kernelease.analysis.estimate import Estimate
from kernelease.analysis.inference import ConfidenceLimits, Interval
from kernelease.analysis.restriction import ConditionalMarginal
from kernelease.arrays import Floats
from kernelease.errors import ParameterError

REMARK = "the condition cuts through a cell: whether its rows are meant is in the bias, to first order"


@final
@dataclass(frozen=True, slots=True)
class WidenedLimits(ConfidenceLimits):
    """Limits that reach further on both sides, within what is possible."""

    limits: ConfidenceLimits
    more: float
    within: Interval

    def at(self, level: float) -> Interval:
        low, high = self.limits.at(level)
        return max(low - self.more, min(low, self.within[0])), min(high + self.more, max(high, self.within[1]))


def doubted(estimate: Estimate, *, bounded: bool = False) -> Estimate:
    """The estimate with what the rows of cut cells may change in its bias and its interval.

    Its error is a sum of functions of cells, to first order; so is what the rows of a cell change that are taken to be
    meant and are not, or the other way. `bounded` says that the estimate's possible values are all there are.
    """
    if estimate.source is None and _is_whole(estimate):
        return estimate
    if estimate.source is None:
        raise ParameterError(
            f"{estimate.about}: the condition cuts through a cell, and nothing says what its rows change. Ask with a "
            "condition at the ends of cells, so that all rows of a cell are meant or none."
        )
    functions: dict[int, tuple[ConditionalMarginal, Floats]] = {}
    for marginal, function in estimate.source.functions():
        if isinstance(marginal, ConditionalMarginal):
            before = functions.get(id(marginal), (marginal, np.zeros(marginal.size)))[1]
            functions[id(marginal)] = marginal, before + function
    more = sum(marginal.doubt(function) for marginal, function in functions.values())
    within = estimate.possible if bounded else (-np.inf, np.inf)
    return replace(
        estimate,
        parts=replace(estimate.parts, bias=estimate.parts.bias + more),
        limits=WidenedLimits(estimate.limits, more, within),
        remark="; ".join(part for part in (estimate.remark, REMARK) if part),
    )


def _is_whole(estimate: Estimate) -> bool:
    """Whether the interval is all that is possible."""
    low, high = estimate.interval()
    return low <= estimate.possible[0] and estimate.possible[1] <= high
