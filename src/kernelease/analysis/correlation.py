"""The correlation of two columns of numbers."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.analysis.conditions import present
from kernelease.analysis.estimands import NUMERIC, Indicator, numbers_of
from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.evidence import Evidence, Spread
from kernelease.analysis.inference import ConfidenceLimits, Interval, Ratio, UnknownLimits, critical_value
from kernelease.analysis.marginal import Marginal
from kernelease.analysis.representatives import LEAST, cell_ranges, representatives, weighted
from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.table.columns.column import Column

WHOLE: Interval = (-1.0, 1.0)  # all that a correlation can be


def correlation(evidence: Evidence, first: str, second: str) -> Estimate:
    """Pearson's correlation over the rows that have both numbers."""
    columns = [evidence.numeric(name, "correlation", NUMERIC) for name in (first, second)]
    if first == second:
        raise ParameterError(f"correlation: needs two different columns, got {first!r} twice.")
    about = f"correlation of {first} and {second}"
    ordered = sorted(columns, key=lambda column: evidence.schema.names.index(column.name))
    measured = evidence.marginals(evidence.positions((first, second)))
    if not measured:
        return _unmeasured(evidence, ordered, about)
    return _Moments.of(max(measured, key=lambda one: one.size), ordered, evidence).estimate(about)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Moments:
    """Covariance and the product of the standard deviations of cell centres, with the covariance of their errors.

    A correlation is the cosine of an angle between two centred columns. Where in its cell a number lies turns each
    column by an angle of at most arcsin(u / standard deviation), where u² is the mean of the squares of the farthest
    that numbers can be from the average of their cell: `turn` is the sum of both.
    """

    ratio: Ratio
    noise: Ratio  # without sampling errors
    turn: float
    target: Target
    laplace: bool

    @classmethod
    def of(cls, marginal: Marginal, columns: list[Column], evidence: Evidence) -> "_Moments":
        middles, both, halves = _functions(marginal, columns, evidence)
        shares, centre, scale = _standard(marginal, middles, both)
        x, y = (np.where(both > 0.0, (z - m) / s, 0.0) for z, m, s in zip(middles, centre, scale, strict=True))
        functions = [both, x, y, x * x, y * y, x * y]
        values, covariance = marginal.joint(functions)
        total = covariance + marginal.sampling(functions) if evidence.target is Target.POPULATION else covariance
        numbers, gradient = _linearised(values)
        turn = sum(
            math.asin(min(1.0, math.sqrt(float(shares @ half**2)) / s)) for half, s in zip(halves, scale, strict=True)
        )
        return cls(
            ratio=Ratio.of(numbers, gradient @ total @ gradient.T),
            noise=Ratio.of(numbers, gradient @ covariance @ gradient.T),
            turn=0.0 if evidence.spread is Spread.EVEN else turn,
            target=evidence.target,
            laplace=marginal.laplace,
        )

    def estimate(self, about: str) -> Estimate:
        """The estimate."""
        value = min(max(self.ratio.value, -1.0), 1.0)
        parts = Parts.of(
            self.ratio.standard_error,
            noise=self.noise.standard_error,
            bias=0.0
            if math.isnan(value) or self.turn == 0.0
            else max(value - _turned(value, self.turn), _turned(value, -self.turn) - value),
        )
        limits = _CorrelationLimits(moments=self)
        value = 0.0 if math.isnan(value) else value
        return Estimate(value=value, parts=parts, limits=limits, target=self.target, about=about, possible=WHOLE)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _CorrelationLimits(ConfidenceLimits):
    moments: _Moments

    def at(self, level: float) -> Interval:
        low, high = self.moments.ratio.interval(critical_value(level, laplace=self.moments.laplace))
        return _turned(max(low, -1.0), self.moments.turn), _turned(min(high, 1.0), -self.moments.turn)


def _turned(correlation: float, angle: float) -> float:
    """The cosine after the angle has grown so much, from 0 to 180 degrees.

    >>> round(_turned(0.5, math.pi / 6), 3), _turned(0.9, -3.0), _turned(-0.9, 3.0)
    (0.0, 1.0, -1.0)
    """
    cosine = min(max(correlation, -1.0), 1.0)
    return math.cos(min(max(math.acos(cosine) + angle, 0.0), math.pi))


def _functions(
    marginal: Marginal, columns: list[Column], evidence: Evidence
) -> tuple[list[Floats], Floats, list[Floats]]:
    """The average of each column in each cell, whether both are there, and how far numbers may be from it: (cells,)."""
    parts = [
        _middle(column, groups, evidence.shares(index))
        for column, groups, index in zip(columns, marginal.groups, marginal.columns, strict=True)
    ]
    middles = [grid.ravel() for grid in np.meshgrid(*(middle for middle, _ in parts), indexing="ij")]
    halves = [grid.ravel() for grid in np.meshgrid(*(half for _, half in parts), indexing="ij")]
    both = (~np.isnan(middles[0]) & ~np.isnan(middles[1])).astype(np.float64)
    return [np.nan_to_num(middle) for middle in middles], both, [np.nan_to_num(half) for half in halves]


def _middle(column: Column, groups: Integers, shares: Floats) -> tuple[Floats, Floats]:
    """The average of the numbers in each cell, NaN for NULL; and the farthest that one can be from it."""
    points = weighted(representatives(column), shares + LEAST)
    numbers = numbers_of(column, pa.table({column.name: points.values}))
    cells, known = groups[points.atoms], ~np.isnan(numbers)
    low, high = cell_ranges(numbers, cells)
    weights = points.weights * known
    total, sums = (
        np.bincount(cells, weights=weights * part, minlength=len(low)) for part in (1.0, np.nan_to_num(numbers))
    )
    middle = np.where(total > 0.0, sums / np.maximum(total, 1e-300), np.nan)
    return middle, np.maximum(high - middle, middle - low)


def _standard(marginal: Marginal, columns: list[Floats], both: Floats) -> tuple[Floats, list[float], list[float]]:
    """About the distribution, mean and standard deviation of both: so that what is linearised is near 0 and 1."""
    known = marginal.shares * both
    shares = known / known.sum() if known.sum() > 0.0 else both / max(1.0, float(both.sum()))
    centres = [float(shares @ z) for z in columns]
    spreads = [math.sqrt(float(shares @ (z - m) ** 2)) for z, m in zip(columns, centres, strict=True)]
    return shares, centres, [spread if spread > 0.0 else 1.0 for spread in spreads]


def _linearised(values: Floats) -> tuple[Floats, Floats]:
    """(covariance, √(variance·variance)) from the sums n, x, y, x², y², xy; and their gradient: (2,), (2, 6)."""
    n, x, y, xx, yy, xy = values
    n = max(n, 1.0)
    mx, my = x / n, y / n
    vx, vy, cov = xx / n - mx * mx, yy / n - my * my, xy / n - mx * my
    gradients = (
        np.array(
            [
                [-(cov - mx * my), -my, -mx, 0.0, 0.0, 1.0],
                [-(vx - mx * mx), -2.0 * mx, 0.0, 1.0, 0.0, 0.0],
                [-(vy - my * my), 0.0, -2.0 * my, 0.0, 1.0, 0.0],
            ]
        )
        / n
    )
    if vx <= 0.0 or vy <= 0.0:
        return np.array([cov, 0.0]), np.zeros((2, 6))
    spread = math.sqrt(vx * vy)
    return np.array([cov, spread]), np.stack([gradients[0], 0.5 * spread * (gradients[1] / vx + gradients[2] / vy)])


def _unmeasured(evidence: Evidence, columns: list[Column], about: str) -> Estimate:
    """The synthetic rows' correlation, with no limits: nothing that was measured says how the columns go together."""
    value = 0.0
    if evidence.rows is not None and evidence.weights is not None:
        known = Indicator(tuple(part for column in columns for part in present(column))).of(evidence.rows)
        numbers = np.nan_to_num(np.stack([numbers_of(column, evidence.rows) for column in columns]))
        covariance = np.cov(numbers, aweights=np.maximum(evidence.weights * known, 0.0))
        spread = math.sqrt(covariance[0, 0] * covariance[1, 1])
        value = float(covariance[0, 1]) / spread if spread > 0.0 else 0.0
    return Estimate(
        value=value,
        parts=Parts(noise=0.0, bias=1.0 + abs(value)),
        limits=UnknownLimits(WHOLE),
        target=evidence.target,
        about=about,
        possible=WHOLE,
        remark="the two columns were not measured together: the value is that of the synthetic rows",
    )
