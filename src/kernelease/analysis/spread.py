"""How numbers are spread and go together: deviations, inequality, correlation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from kernelease.analysis.estimands import NUMERIC, Indicator, numbers_of, present
from kernelease.analysis.estimate import Estimate, Parts, Source, Target
from kernelease.analysis.inference import CONFIDENCE, ConfidenceLimits, Interval, Ratio, UnknownLimits, critical_value
from kernelease.analysis.inside import RowValues
from kernelease.analysis.ratio_estimator import ProductSource, marginal_source, number_of, shortest_product
from kernelease.analysis.representatives import LEAST
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.estimate.marginal import DENSE, Marginal
from kernelease.estimate.products import Product, Term, covariance_of, mean_and_variance, present_term, product
from kernelease.table.columns.column import Column

if TYPE_CHECKING:
    from kernelease.analysis.evidence import Evidence

# --------------------
# Variance and standard deviation.


def standard_deviation(evidence: "Evidence", name: str) -> Estimate:
    """The standard deviation of a column, over the rows that have a number."""
    return replace(variance(evidence, name).sqrt(), about=f"standard deviation of {name}")


def variance(evidence: "Evidence", name: str) -> Estimate:
    """E[x²] − E[x]² of a column of numbers, over the rows that have one."""
    column = evidence.numeric(name, "standard deviation", ("integer", "number"))
    term = number_of(evidence, column)
    assert term.column is not None  # numbers are of a column
    marginal = max(evidence.marginals((term.column,)), key=lambda one: one.size)
    if evidence.moments is None or evidence.moments.cells(term.column) is None:
        return _variance_by_cells(evidence, term, marginal)
    _, found = mean_and_variance(column, term, marginal, evidence.moments)
    assert evidence.tabulation is not None  # the sums came from it
    whole = evidence.target is Target.TABLE
    terms = tuple(zip(found.gradient.tolist(), found.sums, strict=True))
    estimate = Estimate.normal(
        found.value,
        noise=found.noise(evidence.tabulation.sigmas),
        inside=found.blur,
        sampling=0.0 if whole else math.sqrt(_sampling_of_deviation(evidence, term, marginal, found.gradient)),
        within=found.within,
        target=evidence.target,
        about=f"variance of {name}",
        source=ProductSource(evidence=evidence, terms=terms) if whole else None,
    )
    return _judged_variance(evidence, name, estimate)


def _judged_variance(evidence: "Evidence", name: str, found: Estimate) -> Estimate:
    """Whether a variance says something: by its error beside the variance of the synthetic rows.

    Beside its own value, only answers that noise made too large would say something, and few of those would hold.
    """
    scale = evidence.deviation(name) ** 2
    if not scale > 0.0:
        return replace(found, scale=2.0 * found.value)
    return replace(found, vague=critical_value(CONFIDENCE) * found.standard_error > scale)


def _variance_by_cells(evidence: "Evidence", term: Term, marginal: Marginal) -> Estimate:
    """From counts alone, with numbers within cells as their rows are likely spread."""
    assert term.column is not None  # numbers are of a column
    column = evidence.schema.columns[term.column]
    inner = RowValues(evidence, marginal, column)
    known = (~np.isnan(inner.numbers)).astype(np.float64)
    x = np.where(known > 0.0, inner.numbers - term.centre, 0.0)
    functions = [inner.means(part) for part in (known, x, x * x)]
    sums, covariance = marginal.joint(functions)
    rows, mean = max(float(sums[0]), 1.0), float(sums[1]) / max(float(sums[0]), 1.0)
    second = float(sums[2]) / rows
    gradient = np.array([2.0 * mean**2 - second, -2.0 * mean, 1.0]) / rows
    whole = evidence.target is Target.TABLE
    sampling = 0.0 if whole else math.sqrt(_sampling_of_deviation(evidence, term, marginal, gradient))
    found = Estimate.normal(
        max(0.0, second - mean**2),
        noise=math.sqrt(max(0.0, float(gradient @ covariance @ gradient))),
        inside=math.sqrt(inner.inside(gradient @ np.stack([known, x, x * x]))),
        sampling=sampling,
        within=(0.0, (float(x.max()) - float(x.min())) ** 2 / 4.0),
        target=evidence.target,
        about=f"variance of {column.name}",
    )
    source = marginal_source(evidence, marginal, gradient @ np.stack(functions), sampling=sampling)
    return _judged_variance(evidence, column.name, replace(found, source=source))


def _sampling_of_deviation(evidence: "Evidence", term: Term, marginal: Marginal, gradient: Floats) -> float:
    """The variance over tables drawn from the population, by the synthetic rows or the cells."""
    if evidence.rows is None or evidence.weights is None or term.column is None:
        x, known = term.on(marginal.groups[0])[0], np.ones(marginal.size)
        return max(0.0, float(gradient @ marginal.sampling([known, x, x * x]) @ gradient))
    numbers = numbers_of(evidence.schema.columns[term.column], evidence.rows)
    known = (~np.isnan(numbers)).astype(np.float64)
    x = np.where(known > 0.0, numbers - term.centre, 0.0)
    shares = evidence.row_shares
    influence = gradient @ np.stack([known, x, x * x])
    return evidence.total * float(shares @ (influence - shares @ influence) ** 2)


# --------------------
# Inequality: the Gini coefficient of numbers, the entropy of categories.


SPREAD_OF_EVEN = 2.0 / math.sqrt(3.0)  # derived: E|X − X′| over the standard deviation of even numbers
CLEAR = 6.0  # standard errors from 0 from which on a share's logarithm is nearly linear in it


def gini(evidence: "Evidence", name: str) -> Estimate:
    """E|X − X′| / 2E[X] of a column of numbers from 0 on, over the rows that have one.

    With counts c of cells at x it is cᵀAc / (2·Σc·Σcx), A the distances, on the diagonal those of two rows of one cell.
    The bias of independent noise there is taken out. Its variance is that of the gradient, and of the noise squared.
    """
    column = evidence.numeric(name, "gini", ("integer", "number"))
    marginal = _finest(evidence, name, "gini")
    inner = RowValues(evidence, marginal, column)
    known = ~np.isnan(inner.means(inner.numbers))
    numbers = np.nan_to_num(inner.numbers)
    if inner.numbers[~np.isnan(inner.numbers)].min() < 0.0:
        raise ParameterError(f"gini: {name!r} may be negative; the coefficient is one of numbers from 0 on.")
    x, counts, variances = inner.means(numbers) * known, marginal.counts * known, marginal.variances() * known
    within = SPREAD_OF_EVEN * np.sqrt(np.maximum(inner.means((numbers - x[inner.cells]) ** 2), 0.0)) * known
    distances = np.abs(x[:, None] - x) * np.outer(known, known) + np.diag(within)
    rows, total = float(counts.sum()), float(counts @ x)
    about = f"Gini coefficient of {name}"
    if rows <= 1.0 or total <= 0.0:
        return Estimate.normal(math.nan, noise=math.inf, within=(0.0, 1.0), target=evidence.target, about=about)
    scale = 2.0 * rows * total
    value = (float(counts @ distances @ counts) - float(variances @ within)) / scale
    gradient = 2.0 * distances @ counts / scale - value * (known / rows + x / total)
    squares = 2.0 * float(variances @ distances**2 @ variances) / scale**2
    noise = math.sqrt(max(0.0, float(marginal.joint([gradient])[1][0, 0])) + squares)
    slope = 2.0 * _more_below(x, counts)[inner.cells] / scale - value / total
    sampling = _sampling_of_gradient(evidence, marginal, gradient)
    found = Estimate.normal(
        min(max(value, 0.0), 1.0),
        noise=noise,
        inside=math.sqrt(inner.inside(slope * numbers)),
        sampling=sampling,
        within=(0.0, 1.0),
        target=evidence.target,
        about=about,
    )
    hidden = critical_value(CONFIDENCE) * math.sqrt(max(0.0, float(marginal.joint([x])[1][0, 0])))
    return replace(
        found,
        vague=hidden > _total_of_rows(evidence, column),
        source=marginal_source(evidence, marginal, gradient, sampling=sampling),
    )


def _total_of_rows(evidence: "Evidence", column: Column) -> float:
    """The sum of a column's numbers over the synthetic rows; infinite without such rows.

    A ratio says little where noise may be all that it is over. That is judged by the rows: of noisy sums, those that
    noise made too large would say something, with intervals that are long to one side.
    """
    if evidence.rows is None or evidence.weights is None:
        return math.inf
    return evidence.total * float(evidence.row_shares @ np.nan_to_num(numbers_of(column, evidence.rows)))


def _more_below(x: Floats, counts: Floats) -> Floats:
    """How many more rows are below each of some numbers than above it: (cells,)."""
    order = np.argsort(x, kind="stable")
    below = np.zeros_like(counts)
    below[order] = np.cumsum(counts[order]) - counts[order]
    return np.asarray(below - (counts.sum() - below - counts))


def entropy(evidence: "Evidence", name: str) -> Estimate:
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
        sampling = _sampling_of_gradient(evidence, marginal, gradient)
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


def _finest(evidence: "Evidence", name: str, what: str) -> Marginal:
    finest = evidence.finest(evidence.positions((name,)))
    if finest is None and evidence.chosen.parts:
        raise evidence.not_together(evidence.positions((name,)), what, "Ask about all rows, or other ones.")
    if finest is None:
        raise ParameterError(f"{what}: {name!r} was not counted, so nothing says how its values are distributed.")
    return finest


def _sampling_of_gradient(evidence: "Evidence", marginal: Marginal, gradient: Floats) -> float:
    if evidence.target is Target.TABLE:
        return 0.0
    return math.sqrt(max(0.0, float(marginal.sampling([gradient])[0, 0])))


# --------------------
# Correlation of two columns of numbers.


WHOLE: Interval = (-1.0, 1.0)  # all that a correlation can be


def correlation(evidence: "Evidence", first: str, second: str) -> Estimate:
    """Pearson's correlation over the rows that have both numbers."""
    columns = [evidence.numeric(name, "correlation", NUMERIC) for name in (first, second)]
    if first == second:
        raise ParameterError(f"correlation: needs two different columns, got {first!r} twice.")
    about = f"correlation of {first} and {second}"
    ordered = sorted(columns, key=lambda column: evidence.schema.names.index(column.name))
    finest = evidence.finest(evidence.positions((first, second)))
    if finest is None:
        return _from_rows(evidence, ordered, about)
    return _from_sums(evidence, ordered, finest, about)


def _from_sums(evidence: "Evidence", columns: list[Column], marginal: Marginal, about: str) -> Estimate:
    """Covariance over the product of the standard deviations.

    Where in its cell a number lies is one more error of that ratio.
    """
    terms = [number_of(evidence, column) for column in columns]
    sums = _sums(evidence, terms, marginal)
    values = np.array([one.value for one in sums])
    assert evidence.tabulation is not None  # the marginal is part of it
    noise = covariance_of([[(1.0, one)] for one in sums], evidence.tabulation.sigmas)
    whole = evidence.target is Target.TABLE
    total = noise if whole else noise + _sampling_of_six(evidence, terms, marginal)
    numbers, gradient = _linearise(values)
    ratio, noisy = (Ratio.of(numbers, gradient @ one @ gradient.T) for one in (total, noise))
    inside = _blur(sums, values, numbers)
    return Estimate(
        value=0.0 if math.isnan(ratio.value) else min(max(ratio.value, -1.0), 1.0),
        parts=replace(Parts.of(ratio.standard_error, noise=noisy.standard_error), inside=inside),
        limits=_CorrelationLimits(ratio=ratio.blur(inside), laplace=marginal.laplace),
        target=evidence.target,
        about=about,
        possible=WHOLE,
        source=_source(evidence, sums, numbers, gradient) if whole and numbers[1] > 0.0 else None,
        vague=_hides_spread(evidence, columns, values, noise),
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _CorrelationLimits(ConfidenceLimits):
    ratio: Ratio
    laplace: bool

    def at(self, level: float) -> Interval:
        low, high = self.ratio.interval(critical_value(level, laplace=self.laplace))
        return (max(low, -1.0), min(high, 1.0)) if math.isfinite(high - low) else WHOLE


def _source(evidence: "Evidence", sums: list[Product], numbers: Floats, gradient: Floats) -> Source:
    """The error of covariance / spread, to first order in the six sums."""
    slopes = (gradient[0] - numbers[0] / numbers[1] * gradient[1]) / numbers[1]
    return ProductSource(evidence=evidence, terms=tuple(zip(slopes.tolist(), sums, strict=True)))


def _sums(evidence: "Evidence", terms: list[Term], marginal: Marginal) -> list[Product]:
    """n, x, y, x², y², xy over the rows that have both numbers."""
    x, y = terms
    flags = [_present(evidence, term) for term in terms]
    known = [flag for flag in flags if flag is not None]
    both = [product(evidence.moments, known, marginal), shortest_product(evidence, [x, y, *known], marginal)]
    first, second = ([_power(evidence, term, power, flags, marginal) for term in terms] for power in (1, 2))
    return [both[0], *first, *second, both[1]]


def _present(evidence: "Evidence", term: Term) -> Term | None:
    assert term.column is not None  # numbers are of a column
    return present_term(evidence.schema.columns[term.column], term)


def _power(evidence: "Evidence", term: Term, power: int, flags: list[Term | None], marginal: Marginal) -> Product:
    """Σ x or Σ x² over all rows, from the column alone, less that over the rows without the other number."""
    assert term.column is not None  # numbers are of a column
    single = max(evidence.marginals((term.column,)), key=lambda one: one.size)
    whole = product(evidence.moments, [term] * power, single)
    other = next((flag for flag in flags if flag is not None and flag.column != term.column), None)
    if other is None:
        return whole
    missing = replace(other, middle=1.0 - other.middle)
    return whole.less(product(evidence.moments, [*[term] * power, missing], marginal))


def _blur(sums: list[Product], values: Floats, numbers: Floats) -> float:
    """The error of the correlation by where in their cells numbers lie: in the covariance, and in both variances."""
    if not numbers[1] > 0.0:
        return 0.0
    n, spread = max(float(values[0]), 1.0), float(numbers[1])
    mx, my = (abs(float(value)) / n for value in values[1:3])
    covariance = math.hypot(sums[5].blur, my * sums[1].blur, mx * sums[2].blur) / n / spread
    stretch = 0.0
    for place in (1, 2):
        mean = float(values[place]) / n
        own = float(values[place + 2]) / n - mean**2
        stretch = math.hypot(stretch, 0.5 * math.hypot(sums[place + 2].blur, 2.0 * mean * sums[place].blur) / n / own)
    return math.hypot(covariance, stretch * min(1.0, abs(float(numbers[0])) / spread))


def _sampling_of_six(evidence: "Evidence", terms: list[Term], marginal: Marginal) -> Floats:
    """The covariance of the six sums over tables drawn from the population, by the synthetic rows or the cells."""
    if evidence.rows is None or evidence.weights is None:
        grid = np.meshgrid(*(term.on(g)[0] for term, g in zip(terms, marginal.groups, strict=True)), indexing="ij")
        return marginal.sampling(_six(grid[0].ravel(), grid[1].ravel(), np.ones(marginal.size)))
    names = [evidence.schema.names[term.column] for term in terms if term.column is not None]
    columns = [numbers_of(evidence.column(name), evidence.rows) for name in names]
    known = ~np.isnan(columns[0]) & ~np.isnan(columns[1])
    x, y = (np.where(known, values - term.centre, 0.0) for values, term in zip(columns, terms, strict=True))
    stacked = np.stack(_six(x, y, known.astype(np.float64)))
    shares = evidence.row_shares
    centred = stacked - (stacked @ shares)[:, None]
    covariance: Floats = evidence.total * (centred * shares) @ centred.T
    return covariance


def _six(x: Floats, y: Floats, known: Floats) -> list[Floats]:
    return [known, x, y, x * x, y * y, x * y]


def _hides_spread(evidence: "Evidence", columns: Sequence[Column], values: Floats, covariance: Floats) -> bool:
    """Whether noise hides the product of both standard deviations, beside that of the synthetic rows.

    Its relative error is half that of the variances. Judged by noisy variances, only correlations over such that noise
    made too large would say something, and fewer of those hold.
    """
    squares = np.array([evidence.deviation(column.name) ** 2 for column in columns])
    gradients = _central(values)[1][1:]
    errors = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", gradients, covariance, gradients), 0.0))
    return bool(np.all(squares > 0.0)) and critical_value(CONFIDENCE) * 0.5 * math.hypot(*(errors / squares)) > 1.0


def _central(values: Floats) -> tuple[Floats, Floats]:
    """The covariance and both variances from the sums n, x, y, x², y², xy; and their gradient: (3,), (3, 6)."""
    n, x, y, xx, yy, xy = values
    n = max(n, 1.0)
    mx, my = x / n, y / n
    vx, vy, cov = xx / n - mx * mx, yy / n - my * my, xy / n - mx * my
    gradients = [
        [-(cov - mx * my), -my, -mx, 0.0, 0.0, 1.0],
        [-(vx - mx * mx), -2.0 * mx, 0.0, 1.0, 0.0, 0.0],
        [-(vy - my * my), 0.0, -2.0 * my, 0.0, 1.0, 0.0],
    ]
    return np.array([cov, vx, vy]), np.array(gradients) / n


def _linearise(values: Floats) -> tuple[Floats, Floats]:
    """(covariance, √(variance·variance)) from the sums n, x, y, x², y², xy; and their gradient: (2,), (2, 6)."""
    (cov, vx, vy), gradients = _central(values)
    if vx <= 0.0 or vy <= 0.0:
        return np.array([cov, 0.0]), np.zeros((2, 6))
    spread = math.sqrt(vx * vy)
    return np.array([cov, spread]), np.stack([gradients[0], 0.5 * spread * (gradients[1] / vx + gradients[2] / vy)])


def _from_rows(evidence: "Evidence", columns: list[Column], about: str) -> Estimate:
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
