"""The correlation of two columns of numbers."""

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from kernelease.analysis.conditions import present
from kernelease.analysis.estimands import NUMERIC, Indicator, numbers_of
from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.inference import ConfidenceLimits, Interval, Ratio, UnknownLimits, critical_value
from kernelease.analysis.marginal import Marginal
from kernelease.analysis.products import Product, ProductSource, Term, covariance_of, number_term, present_term, product
from kernelease.analysis.sources import Source
from kernelease.arrays import Floats
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
    """Covariance and the product of the standard deviations, with the covariance of their errors.

    A correlation is the cosine of an angle between two centred columns. What was not measured of where in its cell a
    number lies turns each column by an angle of at most arcsin(u / standard deviation), where u² is the mean of the
    squares of the farthest that numbers can be from where they are taken to be: `turn` is the sum of both. Where
    offsets were measured, sums may be off by what these leave open: the covariance by `off` times the product of the
    standard deviations, and that by a share `stretch`.
    """

    ratio: Ratio
    noise: Ratio  # without sampling errors
    turn: float
    off: float
    stretch: float
    target: Target
    laplace: bool
    source: Source | None

    @classmethod
    def of(cls, marginal: Marginal, columns: list[Column], evidence: Evidence) -> "_Moments":
        terms = [number_term(evidence, column) for column in columns]
        sums = _sums(evidence, terms, marginal)
        values = np.array([one.value for one in sums])
        tabulated = evidence.tabulated
        assert tabulated is not None  # the marginal is part of it
        covariance = covariance_of([[(1.0, one)] for one in sums], tabulated.sigmas)
        total = (
            covariance + _sampling(evidence, terms, marginal) if evidence.target is Target.POPULATION else covariance
        )
        numbers, gradient = _linearised(values)
        known = evidence.target is Target.TABLE and numbers[1] > 0.0
        return cls(
            ratio=Ratio.of(numbers, gradient @ total @ gradient.T),
            noise=Ratio.of(numbers, gradient @ covariance @ gradient.T),
            turn=_turn(sums, values, terms),
            off=_off(sums, values) / float(numbers[1]) if numbers[1] > 0.0 else 0.0,
            stretch=_stretch(sums, values),
            target=evidence.target,
            laplace=marginal.laplace,
            source=_source(evidence, sums, numbers, gradient) if known else None,
        )

    def widened(self, low: float, high: float) -> Interval:
        """Ends that hold whatever was not measured, too."""
        low, high = low - self.off, high + self.off
        if self.turn == self.stretch == 0.0:
            return max(low, -1.0), min(high, 1.0)
        grown = self.stretch / (1.0 - self.stretch) if self.stretch < 1.0 else math.inf
        low, high = max(low - grown * abs(low), -1.0), min(high + grown * abs(high), 1.0)
        return _turned(low, self.turn), _turned(high, -self.turn)

    def estimate(self, about: str) -> Estimate:
        """The estimate."""
        value = min(max(self.ratio.value, -1.0), 1.0)
        parts = Parts.of(
            self.ratio.standard_error,
            noise=self.noise.standard_error,
            bias=0.0 if math.isnan(value) else max(abs(value - end) for end in self.widened(value, value)),
        )
        limits = _CorrelationLimits(moments=self)
        value = 0.0 if math.isnan(value) else value
        return Estimate(
            value=value,
            parts=parts,
            limits=limits,
            target=self.target,
            about=about,
            possible=WHOLE,
            source=self.source,
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _CorrelationLimits(ConfidenceLimits):
    moments: _Moments

    def at(self, level: float) -> Interval:
        low, high = self.moments.ratio.interval(critical_value(level, laplace=self.moments.laplace))
        return self.moments.widened(low, high) if math.isfinite(high - low) else WHOLE


def _source(evidence: Evidence, sums: list[Product], numbers: Floats, gradient: Floats) -> Source:
    """The error of covariance / spread, to first order in the six sums."""
    slopes = (gradient[0] - numbers[0] / numbers[1] * gradient[1]) / numbers[1]
    return ProductSource(evidence=evidence, terms=tuple(zip(slopes.tolist(), sums, strict=True)))


def _turned(correlation: float, angle: float) -> float:
    """The cosine after the angle has grown so much, from 0 to 180 degrees.

    >>> round(_turned(0.5, math.pi / 6), 3), _turned(0.9, -3.0), _turned(-0.9, 3.0)
    (0.0, 1.0, -1.0)
    """
    cosine = min(max(correlation, -1.0), 1.0)
    return math.cos(min(max(math.acos(cosine) + angle, 0.0), math.pi))


def _sums(evidence: Evidence, terms: list[Term], marginal: Marginal) -> list[Product]:
    """n, x, y, x², y², xy over the rows that have both numbers."""
    x, y = terms
    flags = [present_term(evidence, term) for term in terms]
    known = [flag for flag in flags if flag is not None]
    both = [product(evidence, [*one, *known], marginal) for one in ([], [x, y])]
    first, second = ([_power(evidence, term, power, flags, marginal) for term in terms] for power in (1, 2))
    return [both[0], *first, *second, both[1]]


def _power(evidence: Evidence, term: Term, power: int, flags: list[Term | None], marginal: Marginal) -> Product:
    """Σ x or Σ x² over all rows, from the column alone, less that over the rows without the other number."""
    assert term.column is not None  # numbers are of a column
    single = max(evidence.marginals((term.column,)), key=lambda one: one.size)
    whole = product(evidence, [term] * power, single)
    other = next((flag for flag in flags if flag is not None and flag.column != term.column), None)
    if other is None:
        return whole
    missing = replace(other, middle=1.0 - other.middle)
    return whole.less(product(evidence, [*[term] * power, missing], marginal))


def _turn(sums: list[Product], values: Floats, terms: list[Term]) -> float:
    """The angle by which values within cells may turn both columns."""
    n, turn = max(float(values[0]), 1.0), 0.0
    for place, term in enumerate(terms, 1):
        assert term.column is not None  # numbers are of a column
        variance = float(values[place + 2]) / n - (float(values[place]) / n) ** 2
        off = max(one.halves.get(term.column, 0.0) for one in sums) ** 2
        turn += math.asin(min(1.0, math.sqrt(off / variance))) if variance > 0.0 else math.pi / 2
    return turn


def _off(sums: list[Product], values: Floats) -> float:
    """The largest bias of the covariance by what offsets leave open."""
    n = max(float(values[0]), 1.0)
    mx, my = (abs(float(value)) / n for value in values[1:3])
    return (sums[5].bias + my * sums[1].bias + mx * sums[2].bias) / n


def _stretch(sums: list[Product], values: Floats) -> float:
    """Half the largest relative bias of both variances."""
    n, stretch = max(float(values[0]), 1.0), 0.0
    for place in (1, 2):
        variance = float(values[place + 2]) / n - (float(values[place]) / n) ** 2
        stretch += 0.5 * sums[place + 2].bias / n / variance if variance > 0.0 else 1.0
    return stretch


def _sampling(evidence: Evidence, terms: list[Term], marginal: Marginal) -> Floats:
    """The covariance of the six sums over tables drawn from the population, by the synthetic rows or the cells."""
    if evidence.rows is None or evidence.weights is None:
        grid = np.meshgrid(*(term.on(g)[0] for term, g in zip(terms, marginal.groups, strict=True)), indexing="ij")
        return marginal.sampling(_six(grid[0].ravel(), grid[1].ravel(), np.ones(marginal.size)))
    names = [evidence.schema.names[term.column] for term in terms if term.column is not None]
    columns = [numbers_of(evidence.column(name), evidence.rows) for name in names]
    known = ~np.isnan(columns[0]) & ~np.isnan(columns[1])
    x, y = (np.where(known, values - term.centre, 0.0) for values, term in zip(columns, terms, strict=True))
    stacked = np.stack(_six(x, y, known.astype(np.float64)))
    shares = np.maximum(evidence.weights, 0.0) / np.maximum(evidence.weights, 0.0).sum()
    centred = stacked - (stacked @ shares)[:, None]
    covariance: Floats = evidence.total * (centred * shares) @ centred.T
    return covariance


def _six(x: Floats, y: Floats, known: Floats) -> list[Floats]:
    return [known, x, y, x * x, y * y, x * y]


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
