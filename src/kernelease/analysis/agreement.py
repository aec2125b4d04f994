"""Where synthetic rows and the release's own estimates disagree by more than noise and drawing rows explain."""

import html
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import ndtri

from kernelease.analysis.estimands import NUMERIC, NumericValue
from kernelease.analysis.estimate import Estimate, align, plain_number
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.groups import Groups
from kernelease.analysis.inference import SIGNIFICANCE
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.estimate.marginal import Marginal
from kernelease.table.columns.column import Codes

SPREAD = ("integer", "number")  # columns that have a deviation
_HEADER = ("what", "rows", "estimate", "standard errors apart")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One number by the rows and by the estimates, and how many standard errors these are apart."""

    what: str
    rows: float
    estimate: float
    z: float


@final
@dataclass(frozen=True, slots=True)
class Agreement:
    """Means and deviations of numbers, and the cell of each column and pair that is farthest off; `tests` are all."""

    items: tuple[Compared, ...]
    tests: int

    @property
    def limit(self) -> float:
        """Standard errors that the farthest of so many may be apart, once in twenty releases (Bonferroni)."""
        return float(-ndtri(SIGNIFICANCE / (2.0 * max(1, self.tests))))

    @property
    def disagreements(self) -> tuple[Compared, ...]:
        """What is farther apart, the farthest first."""
        far = [item for item in self.items if abs(item.z) > self.limit]
        return tuple(sorted(far, key=lambda item: -abs(item.z)))

    @property
    def lines(self) -> list[tuple[str, str, str, str]]:
        """The disagreements as text."""
        return [
            (item.what, plain_number(item.rows), plain_number(item.estimate), f"{item.z:+.1f}")
            for item in self.disagreements
        ]

    def __str__(self) -> str:
        if not self.disagreements:
            return f"Rows and estimates agree within the noise, in all {self.tests:,} numbers compared."
        among = f"{len(self.lines)} of {len(self.items)} means, deviations, columns and pairs"
        first = f"Beyond the noise in {among}; trust the estimates:"
        return "\n".join([first, *align([_HEADER, *self.lines])])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def agreement(
    evidence: Evidence,
    mean: Callable[[Evidence, str], Estimate | Groups],
    deviation: Callable[[Evidence, str], Estimate],
) -> Agreement:
    """Compare all that was measured: means, deviations, columns, and pairs; `mean` and `deviation` estimate them."""
    if evidence.rows is None or evidence.weights is None or not evidence.has_counts:
        raise ParameterError("check: needs synthetic rows and noisy counts of columns to compare them with.")
    shares = evidence.row_shares
    drawn = float(shares @ shares)  # 1/n for n rows of equal weight
    codes = [column.encode(evidence.rows.column(column.name)) for column in evidence.schema.columns]
    items = [_mean(evidence, index, shares, mean) for index in _numeric(evidence, NUMERIC)]
    items += [_deviation(evidence, index, shares, deviation) for index in _numeric(evidence, SPREAD)]
    tests, count = len(items), len(codes)
    for columns in [(i,) for i in range(count)] + list(itertools.combinations(range(count), 2)):
        measured = evidence.marginals(columns)
        if measured and measured[0].size > 1:
            items.append(_farthest(evidence, measured[0], codes, shares, drawn))
            tests += measured[0].size
    return Agreement(tuple(items), tests)


def _numeric(evidence: Evidence, tags: Sequence[str]) -> list[int]:
    return [index for index, column in enumerate(evidence.schema.columns) if column.tag in tags]


def _mean(
    evidence: Evidence, index: int, shares: Floats, mean: Callable[[Evidence, str], Estimate | Groups]
) -> Compared:
    name = evidence.schema.names[index]
    estimate = mean(evidence, name)
    assert isinstance(estimate, Estimate)  # nothing was grouped
    numbers, weights = _numbers_and_weights(evidence, index, shares)
    found = float(weights @ numbers)
    return _compare(f"mean of {name}", found, estimate, numbers - found, weights)


def _deviation(
    evidence: Evidence, index: int, shares: Floats, deviation: Callable[[Evidence, str], Estimate]
) -> Compared:
    name = evidence.schema.names[index]
    numbers, weights = _numbers_and_weights(evidence, index, shares)
    squares = (numbers - float(weights @ numbers)) ** 2
    found = math.sqrt(float(weights @ squares))
    influence = (squares - found**2) / (2.0 * found) if found > 0.0 else np.zeros_like(squares)
    return _compare(f"standard deviation of {name}", found, deviation(evidence, name), influence, weights)


def _numbers_and_weights(evidence: Evidence, index: int, shares: Floats) -> tuple[Floats, Floats]:
    """The numbers of a column of the rows, and weights of those that have one, which add up to 1."""
    column = evidence.schema.columns[index]
    assert evidence.rows is not None  # whoever compares has looked
    numbers = NumericValue(column, evidence.where(None)).of(evidence.rows)
    weights = shares * ~np.asarray(evidence.rows.column(column.name).is_null())
    return numbers, weights / max(float(weights.sum()), 1e-300)


def _compare(what: str, found: float, estimate: Estimate, influence: Floats, weights: Floats) -> Compared:
    """Rows against an estimate, by the errors of drawing and of the estimate; its bias counts as no difference."""
    drawn = float(weights @ influence**2) * float(weights @ weights)
    error = math.sqrt(estimate.standard_error**2 + drawn)
    apart = math.copysign(max(0.0, abs(found - estimate.value) - estimate.parts.bias), found - estimate.value)
    return Compared(what=what, rows=found, estimate=estimate.value, z=_over(apart, error))


def _farthest(evidence: Evidence, marginal: Marginal, codes: Sequence[Codes], shares: Floats, drawn: float) -> Compared:
    """The cell of a column or pair whose share differs most, in standard errors."""
    cell = np.zeros(len(shares), dtype=np.int64)
    for index, groups, size in zip(marginal.columns, marginal.groups, marginal.shape, strict=True):
        cell = cell * size + groups[codes[index]]
    found = np.bincount(cell, weights=shares, minlength=marginal.size)
    rows = marginal.total or max(1.0, float(marginal.counts.sum()))
    told = marginal.counts / rows
    errors = np.sqrt(marginal.variances() / rows**2 + drawn * np.maximum(found * (1.0 - found), drawn))
    z = (found - told) / np.maximum(errors, 1e-300)
    far = int(np.argmax(np.abs(z)))
    what = "share of " + " and ".join(_label(evidence, marginal, far))
    return Compared(what=what, rows=float(found[far]), estimate=float(told[far]), z=float(z[far]))


def _label(evidence: Evidence, marginal: Marginal, cell: int) -> list[str]:
    """The columns and values of a cell."""
    words = []
    for index, groups, place in zip(
        marginal.columns, marginal.groups, np.unravel_index(cell, marginal.shape), strict=True
    ):
        labels = [evidence.schema.columns[index].labels()[atom] for atom in np.flatnonzero(groups == place)]
        words.append(
            f"{evidence.schema.names[index]} {labels[0] if len(labels) == 1 else f'{labels[0]} … {labels[-1]}'}"
        )
    return words


def _over(difference: float, error: float) -> float:
    return difference / error if error > 0.0 else 0.0
