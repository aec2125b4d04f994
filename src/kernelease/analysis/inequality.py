"""How unequal a column is: the Gini coefficient of numbers, the entropy of values."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.analysis.estimands import numbers_of
from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.inference import CONFIDENCE, ConfidenceLimits, Interval, critical_value
from kernelease.analysis.marginal import DENSE, Marginal
from kernelease.analysis.marginal_source import marginal_source
from kernelease.analysis.representatives import LEAST, cell_ranges, representatives, weighted
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.table.columns.column import Column

CLEAR = 6.0  # standard errors from 0 from which on a share's logarithm is nearly linear in it


def gini(evidence: Evidence, name: str) -> Estimate:
    """E|X − X′| / 2E[X] of a column of numbers from 0 on, over the rows that have one.

    With counts c of cells at x it is cᵀAc / (2·Σc·Σcx), A the distances: independent noise has no bias in it, since A
    is 0 on its diagonal. Its variance is that of the gradient, and of the square of the noise.
    """
    column = evidence.numeric(name, "gini", ("integer", "number"))
    marginal = _finest(evidence, name, "gini")
    middle, half = _middles(evidence, column, marginal)
    known = ~np.isnan(middle)
    if middle[known].min() < 0.0:
        raise ParameterError(f"gini: {name!r} may be negative; the coefficient is one of numbers from 0 on.")
    x, counts = np.where(known, middle, 0.0), np.where(known, marginal.counts, 0.0)
    distances = np.abs(x[:, None] - x) * np.outer(known, known)
    rows, total = float(counts.sum()), float(counts @ x)
    about = f"Gini coefficient of {name}"
    if rows <= 1.0 or total <= 0.0:
        return Estimate.normal(math.nan, noise=math.inf, within=(0.0, 1.0), target=evidence.target, about=about)
    scale = 2.0 * rows * total
    value = float(counts @ distances @ counts) / scale
    gradient = 2.0 * distances @ counts / scale - value * (known / rows + x / total)
    variances = marginal.variances()
    squares = 2.0 * float(variances @ distances**2 @ variances) / scale**2
    noise = math.sqrt(max(0.0, float(marginal.joint([gradient])[1][0, 0])) + squares)
    shares = marginal.shares * known / max(float(marginal.shares @ known), 1e-300)
    away = float(shares @ np.nan_to_num(half)) / (total / rows)
    sampling = _sampling(evidence, marginal, gradient)
    return Estimate.normal(
        min(max(value, 0.0), 1.0),
        noise=noise,
        sampling=sampling,
        bias=(1.0 + min(max(value, 0.0), 1.0)) * away,
        within=(0.0, 1.0),
        target=evidence.target,
        about=about,
        source=marginal_source(evidence, marginal, gradient, sampling=sampling),
    )


def entropy(evidence: Evidence, name: str) -> Estimate:
    """−Σ p·log p of the values of a column, in nats; of numbers and dates, of their cells. NULL is a value.

    Where a share may be 0 its logarithm is not nearly linear: then every distribution within the limits of all shares
    at once counts.
    """
    evidence.column(name)
    marginal = _finest(evidence, name, "entropy")
    rows = marginal.total or max(1.0, float(marginal.counts.sum()))
    shares = np.maximum(marginal.shares, LEAST)
    value = float(-(shares * np.log(shares)).sum())
    greatest = math.log(marginal.size)
    errors = _share_errors(marginal, shares, rows)
    if evidence.target is Target.POPULATION:
        errors = np.sqrt(errors**2 + np.maximum(shares * (1.0 - shares), 1.0 / rows) / rows)
    about = f"entropy of {name}"
    if np.all(shares > CLEAR * errors):
        gradient = -(np.log(shares) + value) / rows
        noise = math.sqrt(max(0.0, float(marginal.joint([gradient])[1][0, 0])))
        sampling = _sampling(evidence, marginal, gradient)
        return Estimate.normal(
            value,
            noise=noise,
            sampling=sampling,
            bias=0.5 * float((errors**2 / shares).sum()),
            within=(0.0, greatest),
            target=evidence.target,
            about=about,
            source=marginal_source(evidence, marginal, gradient, sampling=sampling),
        )
    limits = EntropyLimits(shares=shares, errors=errors, laplace=marginal.laplace)
    low, high = limits.at(CONFIDENCE)
    return Estimate(
        value=value,
        parts=Parts(noise=0.0, bias=max(0.0, value - low, high - value)),
        limits=limits,
        target=evidence.target,
        about=about,
        remark="some values may be absent: the interval holds every distribution within the limits of all shares",
        possible=(0.0, greatest),
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyLimits(ConfidenceLimits):
    """The least and the greatest entropy where every share is within limits that all hold at once (Bonferroni)."""

    shares: Floats
    errors: Floats
    laplace: bool

    def at(self, level: float) -> Interval:
        factor = critical_value(1.0 - (1.0 - level) / len(self.shares), laplace=self.laplace)
        return _extremes(*(np.clip(self.shares + side * factor * self.errors, 0.0, 1.0) for side in (-1.0, 1.0)))


def _extremes(low: Floats, high: Floats) -> tuple[float, float]:
    """Bounds of the entropy of all distributions whose shares are between limits: the lower one term by term."""

    def term(shares: Floats) -> Floats:
        return np.asarray(-np.where(shares > 0.0, shares * np.log(np.maximum(shares, 1e-300)), 0.0))

    level_low, level_high = 0.0, 1.0
    for _ in range(60):  # the level at which shares cut to it add up to 1 has the greatest entropy
        middle = 0.5 * (level_low + level_high)
        small = float(np.clip(middle, low, high).sum()) < 1.0
        level_low, level_high = (middle, level_high) if small else (level_low, middle)
    most = float(term(np.clip(level_low, low, high)).sum())
    return max(0.0, float(np.minimum(term(low), term(high)).sum())), min(math.log(len(low)), most)


def _share_errors(marginal: Marginal, shares: Floats, rows: float) -> Floats:
    """The standard error of each share: of its count, or where the number of rows is noisy, of count − share·rows."""
    if marginal.total is not None or marginal.size > DENSE:
        return np.sqrt(marginal.variances()) / rows
    functions = np.eye(marginal.size) - shares[:, None]
    variances = [float(marginal.joint([function])[1][0, 0]) for function in functions]
    return np.sqrt(np.maximum(variances, 0.0)) / rows


def _finest(evidence: Evidence, name: str, what: str) -> Marginal:
    measured = evidence.marginals(evidence.positions((name,)))
    if not measured:
        if evidence.chosen.parts:
            raise evidence.not_together(evidence.positions((name,)), what, "Ask about all rows, or other ones.")
        raise ParameterError(f"{what}: {name!r} was not counted, so nothing says how its values are distributed.")
    return max(measured, key=lambda one: one.size)


def _middles(evidence: Evidence, column: Column, marginal: Marginal) -> tuple[Floats, Floats]:
    """The average number of each cell, evenly spread, and how far one may be from it; NaN for NULL."""
    points = weighted(representatives(column), evidence.shares(marginal.columns[0]) + LEAST)
    numbers = numbers_of(column, pa.table({column.name: points.values}))
    low, high = cell_ranges(numbers, marginal.groups[0][points.atoms])
    return 0.5 * (low + high), 0.5 * (high - low)


def _sampling(evidence: Evidence, marginal: Marginal, gradient: Floats) -> float:
    if evidence.target is Target.TABLE:
        return 0.0
    return math.sqrt(max(0.0, float(marginal.sampling([gradient])[0, 0])))
