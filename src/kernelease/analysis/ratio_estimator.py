"""Ratios of two sums over the rows of a table, and their errors as weighted sums of the noise of blocks."""

import hashlib
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, final

import numpy as np
import pyarrow as pa

from kernelease.analysis.estimands import numbers_of
from kernelease.analysis.estimate import INSIDE, SAMPLED, CombinedSource, Estimate, Parts, Source, Target, Weights
from kernelease.analysis.inference import ConfidenceLimits, Interval, NormalLimits, Ratio, clip_interval, critical_value
from kernelease.analysis.inside import Unevenness, hidden_places, squared_rows, unevenness
from kernelease.analysis.representatives import LEAST, YEAR, representatives, weigh_atoms
from kernelease.arrays import Floats, Integers
from kernelease.estimate.marginal import DENSE, Marginal
from kernelease.estimate.products import (
    OffsetPart,
    OffsetSums,
    Product,
    Term,
    block_weights,
    covariance_of,
    number_term,
    one_place,
    product,
    squared_rows_along,
)
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Column

if TYPE_CHECKING:
    from kernelease.analysis.evidence import Evidence
    from kernelease.analysis.representatives import CellValues

# --------------------
# The ratio itself, from counts of cells and offsets within them.


_ITERATIONS = 30  # of the search for the worst values in ambiguous cells; two or three suffice


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RatioEstimator:
    """Σ numerator / Σ denominator over all rows, from a marginal that both are functions of.

    Within a cell both may vary. θ ≥ t says that Σ (numerator − t·denominator) ≥ 0, so that the least of this function
    in each cell, a function of the cells, gives the lower end of the interval by a test of each t, and the greatest
    the upper end. Where nothing varies within cells both are Fieller's interval, or for a known denominator the usual.
    No interval is shorter than that of the middles of cells: counts below 0 would have the ends change places.

    So it is where rows of a cell differ by categories. Where they differ by numbers, `uneven` says how far the averages
    over cells may be off, and that is one more error beside the noise.
    """

    marginal: Marginal
    functions: "CellValues"
    target: Target
    possible: Interval  # the least and the greatest numerator where the denominator is 1
    divisor: float | None = None  # a public number in place of the sum of denominators
    offset: OffsetPart | None = None  # what the numerator is beyond its value at the middle of each cell
    uneven: Unevenness | None = None  # of rows within cells; None where nothing says so

    @property
    def within(self) -> Interval:
        """All possible answers."""
        if self.divisor is None or self.divisor == self.marginal.total:
            return self.possible
        return -math.inf if self.possible[0] < 0.0 else 0.0, math.inf  # of a number of rows that nobody knows

    def width(self, shares: Floats, *, surely: bool = False) -> float:
        """About how long the interval of Σ (numerator − θ·denominator) would be on cells filled so: (cells,).

        θ is the ratio that such cells have. Errors of the two sums go together, and most of them cancel. With `surely`,
        it holds wherever in their cells rows lie.
        """
        numerator, denominator = self.functions.middle()
        share = 1.0 if self.divisor is not None else max(float(denominator @ shares), float(shares.min()))
        ratio = 0.0 if self.divisor is not None else float(numerator @ shares) / share
        covariance = self.marginal.joint((numerator, denominator))[1]
        variance = covariance[0, 0] - 2.0 * ratio * covariance[0, 1] + ratio**2 * covariance[1, 1]
        variance += 0.0 if self.offset is None else self.offset.variance
        if self.is_settled and not surely:
            whole = self.marginal.total or max(1.0, float(self.marginal.counts.sum()))
            inside = self._inside((whole * shares) ** 2)
            variance += inside[0, 0] - 2.0 * ratio * inside[0, 1] + ratio**2 * inside[1, 1]
            return 4.0 * math.sqrt(max(0.0, variance))
        low, high = (
            pair[0] - ratio * pair[1] for pair in (self.functions.least(ratio), self.functions.greatest(ratio))
        )
        rows = self.marginal.total or max(1.0, float(self.marginal.counts.sum()))
        return 4.0 * math.sqrt(max(0.0, variance)) + rows * float((high - low) @ shares)

    @property
    def is_settled(self) -> bool:
        """Whether the functions don't vary within cells, or how they do is one more error."""
        return self.functions.exact or self.uneven is not None

    def _inside(self, squares: Floats) -> Floats:
        """The covariance of both sums by where in their cells numbers lie, with so many rows squared: (2, 2)."""
        if self.functions.exact or self.uneven is None:
            return np.zeros((2, 2))
        return self.uneven.covariance(self.functions, squares)

    @property
    def inside(self) -> Floats:
        """The same with the rows that were counted."""
        return self._inside(squared_rows(self.marginal))

    def ratio(self, pair: tuple[Floats, Floats], target: Target | None = None, *, inside: bool = True) -> Ratio:
        """The ratio of two functions of the cells, with the covariance of their errors."""
        values, covariance = self.marginal.joint(pair)
        if inside:
            covariance = covariance + self.inside
        sampled = (self.target if target is None else target) is Target.POPULATION
        if sampled:
            covariance = covariance + _sampling(self.marginal, pair)
        if self.offset is not None:
            values[0] += self.offset.value
            covariance[0, 0] += self.offset.variance + (self.offset.sampling if sampled else 0.0)
        if self.divisor is not None:
            values[1], covariance[1, :], covariance[:, 1] = self.divisor, 0.0, 0.0
        return Ratio.of(values, covariance)

    def end(self, factor: float, upper: bool) -> float:
        """One end of the interval, `factor` standard errors out; may be infinite."""
        choose = self.functions.greatest if upper else self.functions.least
        place = int(upper)
        guess, pair = 0.0, choose(0.0)
        for _ in range(_ITERATIONS):
            found = self.ratio(pair).interval(factor)[place]
            if self.divisor is not None or not math.isfinite(found) or found == guess:
                return found
            guess, previous = found, pair
            pair = choose(guess)
            if all(np.array_equal(new, old) for new, old in zip(pair, previous, strict=True)):
                return found
        return guess

    def _ends(self, factor: float) -> Interval:
        if self.is_settled:
            return self.ratio(self.functions.middle()).interval(factor)
        low, high = self.end(factor, False), self.end(factor, True)
        least, most = self.ratio(self.functions.middle()).interval(factor)
        return min(low, least), max(high, most)

    def estimate(self, *, scale: float = 1.0, about: str = "") -> Estimate:
        """The estimate of `scale` times the ratio."""
        pair = self.functions.middle()
        ratio, noise = self.ratio(pair), self.ratio(pair, Target.TABLE, inside=False)
        both = Parts.of(ratio.standard_error, noise=self.ratio(pair, Target.TABLE).standard_error)
        low, high = self.within
        value = min(max(ratio.value, low), high) if ratio.denominator > 0.0 else math.nan
        bounds = [value if self.is_settled else clip_interval(self.within, (end, end))[0] for end in self._ends(0.0)]
        parts = Parts(
            noise=scale * noise.standard_error,
            inside=scale * self._inside_error(ratio),
            sampling=scale * both.sampling,
            bias=scale * max(0.0, value - bounds[0], bounds[1] - value) if math.isfinite(value) else math.inf,
        )
        limits = RatioLimits(estimator=self, scale=scale, error=ratio.standard_error)
        return Estimate(
            value=scale * value,
            parts=parts,
            limits=limits,
            target=self.target,
            about=about,
            possible=(scale * low, scale * high),
        )

    def _inside_error(self, ratio: Ratio) -> float:
        """The standard error of the ratio by where in their cells numbers lie."""
        if not ratio.denominator > 0.0 or self.functions.exact:
            return 0.0
        found = self.inside
        slope = np.array([1.0, 0.0 if self.divisor is not None else -ratio.value]) / ratio.denominator
        return math.sqrt(max(0.0, float(slope @ found @ slope)))


def _sampling(marginal: Marginal, pair: tuple[Floats, Floats]) -> Floats:
    """The covariance of two sums over rows drawn independently, with variances from unbiased counts: (2, 2).

    A distribution without negative cells has rows where there are none, and too many far out in a long tail of them.
    So variances are those of the counts as they are, and half a standard error more, where that is less.
    """
    found = marginal.sampling(pair)
    rows, scale = marginal.total or max(1.0, float(marginal.counts.sum())), np.ones(2)
    for place, function in enumerate(pair):
        square = (function - float(function @ marginal.counts) / rows) ** 2
        value, variance = marginal.joint([square])
        likely = max(0.0, float(value[0])) + 0.5 * math.sqrt(max(0.0, float(variance[0, 0])))
        scale[place] = math.sqrt(min(1.0, likely / found[place, place])) if found[place, place] > 0.0 else 1.0
    scaled: Floats = found * np.outer(scale, scale)
    return scaled


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RatioLimits(ConfidenceLimits):
    """The interval of a `RatioEstimator`, solved when it is asked for."""

    estimator: RatioEstimator
    scale: float
    error: float
    _solved: dict[float, Interval] = field(default_factory=dict, repr=False, compare=False)  # by level

    def at(self, level: float) -> Interval:
        if level not in self._solved:
            self._solved[level] = self._at(level)
        return self._solved[level]

    def _at(self, level: float) -> Interval:
        estimator = self.estimator
        gap = 0.0 if estimator.is_settled else estimator.functions.gap
        shift = gap / self.error if 0.0 < self.error < math.inf else 0.0
        factor = critical_value(level, shift, laplace=estimator.marginal.laplace)
        if estimator.divisor is not None:
            return self._plain(level)
        low, high = clip_interval(estimator.within, estimator._ends(factor))
        return self.scale * low, self.scale * high

    def _plain(self, level: float) -> Interval:
        functions = self.estimator.functions
        if self.estimator.is_settled:
            low, high = self._between(functions.middle(), functions.middle(), 0.0, level)
            return self.scale * low, self.scale * high
        gap = functions.gap if self.estimator.divisor == self.estimator.marginal.total else 0.0
        every = ((functions.least(0.0), functions.greatest(0.0)), (functions.middle(), functions.middle()))
        ends = [self._between(*pair, gap, level) for pair in every]
        return self.scale * min(low for low, _ in ends), self.scale * max(high for _, high in ends)

    def _between(
        self, below: tuple[Floats, Floats], above: tuple[Floats, Floats], gap: float, level: float
    ) -> Interval:
        """The interval where the truth is between the sums of two functions, over a known number."""
        low, high = self.estimator.ratio(below), self.estimator.ratio(above)
        return NormalLimits(
            low=low.value,
            high=high.value,
            low_error=low.standard_error,
            high_error=high.standard_error,
            gap=gap,
            within=self.estimator.within,
            laplace=self.estimator.marginal.laplace,
        ).at(level)


# --------------------
# The error of a sum over all rows, as a weighted sum of the noise of a release's blocks.


def marginal_source(evidence: "Evidence", marginal: Marginal, function: Floats, *, sampling: float) -> Source | None:
    """The error of the estimate of Σ function; None for a population without rows that show how it varies."""
    if evidence.target is Target.POPULATION and evidence.rows is None:
        return None
    return MarginalSource(evidence=evidence, marginal=marginal, function=function, sampling=sampling)


def ratio_source(
    evidence: "Evidence", estimator: RatioEstimator, pair: tuple[Floats, Floats], parts: Parts, scale: float
) -> Source | None:
    """Of `scale` times a ratio, to first order: of Σ (numerator − ratio·denominator), over the denominators' sum."""
    if not math.isfinite(parts.standard_error):
        return None
    ratio, offset = estimator.ratio(pair), estimator.offset
    function, by = (
        pair[0] if estimator.divisor is not None else pair[0] - ratio.value * pair[1],
        scale / ratio.denominator,
    )
    counted = marginal_source(evidence, estimator.marginal, by * function, sampling=parts.sampling)
    if counted is None:
        return None
    more: list[tuple[float, Source]] = []
    if offset is not None:
        more.append((by, OffsetSource(evidence=evidence, offset=offset)))
    if parts.inside > 0.0:
        asked = hashlib.sha256(b"".join(part.tobytes() for part in pair)).hexdigest()
        more.append((1.0, InsideSource(release=evidence.fingerprint, asked=asked, deviation=parts.inside)))
    return CombinedSource(((1.0, counted), *more)) if more else counted


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class InsideSource(Source):
    """The error by where in their cells numbers lie: the same for the same question, and independent for others."""

    release: str
    asked: str
    deviation: float

    @property
    def laplace(self) -> bool:
        return False

    def weights(self) -> Weights:
        return {(self.release, (INSIDE, self.asked)): np.array([self.deviation])}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetSource(Source):
    """The error of what offsets add to a sum, by noise alone: sampling is counted where the cells are."""

    evidence: "Evidence"
    offset: OffsetPart

    @property
    def laplace(self) -> bool:
        return self.offset.sums.laplace

    def weights(self) -> Weights:
        release, tabulated = self.evidence.fingerprint, self.evidence.tabulation
        assert tabulated is not None  # offsets come with counts
        found = self.offset.sums.coefficients(self.offset.function)
        return {(release, position): tabulated.sigmas[position] * weight for position, weight in found.items()}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalSource(Source):
    """The error of the estimate of Σ function over all rows, from a marginal: `function` has a number for each cell.

    For a population the sampling error has the standard deviation `sampling`, and goes row by row as the function does
    on the synthetic rows.
    """

    evidence: "Evidence"
    marginal: Marginal
    function: Floats  # (cells,)
    sampling: float = 0.0

    @property
    def laplace(self) -> bool:
        return self.marginal.laplace

    def weights(self) -> Weights:
        release = self.evidence.fingerprint
        sigmas = {position: part.sigma for position, part in self.marginal.sources}
        noise = self.marginal.coefficients(self.function)
        found: dict[tuple[str, Hashable], Floats] = {
            (release, position): sigmas[position] * weight for position, weight in noise.items()
        }
        if self.sampling > 0.0:
            found[release, SAMPLED] = self.sampling * self._scores()
        return found

    def functions(self) -> Sequence[tuple[object, Floats]]:
        return [(self.marginal, self.function)]

    def _scores(self) -> Floats:
        """How the function varies over the synthetic rows, of norm 1: (rows,)."""
        evidence = self.evidence
        assert evidence.weights is not None  # whoever made it has looked
        shares = np.maximum(evidence.weights, 0.0)
        values = self.function[_cells(evidence, self.marginal)]
        centred = np.sqrt(shares) * (values - float(shares @ values) / max(float(shares.sum()), 1e-300))
        norm = float(np.linalg.norm(centred))
        return centred / norm if norm > 0.0 else np.sqrt(shares / max(float(shares.sum()), 1e-300))


def _cells(evidence: "Evidence", marginal: Marginal) -> Integers:
    """The cell of each synthetic row."""
    assert evidence.rows is not None  # whoever asks has looked
    cell = np.zeros(evidence.rows.num_rows, dtype=np.int64)
    for index, groups, size in zip(marginal.columns, marginal.groups, marginal.shape, strict=True):
        column = evidence.schema.columns[index]
        cell = cell * size + groups[column.encode(evidence.rows.column(column.name))]
    return cell


# --------------------
# Numbers of the rows that are asked about, and errors of sums of their products.


def number_of(evidence: "Evidence", column: Column) -> Term:
    """A column of numbers as a variable, over the chosen rows."""
    index = evidence.schema.names.index(column.name)
    measured = evidence.marginals((index,))
    if not measured:
        raise evidence.not_together((index,), column.name, "Ask about all rows, or about fewer columns.")
    return number_term(column, measured[0])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProductSource(Source):
    """The error of Σ weight·product by noise: what a coefficient or a correlation is to first order."""

    evidence: "Evidence"
    terms: tuple[tuple[float, Product], ...]

    @property
    def laplace(self) -> bool:
        return any(sums.laplace for _, part in self.terms for sums, _ in part.pieces)

    def functions(self) -> Sequence[tuple[object, Floats]]:
        return [(sums, scale * function) for scale, part in self.terms for sums, function in part.pieces]

    def weights(self) -> Weights:
        tabulated = self.evidence.tabulation
        assert tabulated is not None  # the sums came from it
        release = self.evidence.fingerprint
        return {
            (release, position): tabulated.sigmas[position] * weight
            for position, weight in block_weights(self.terms).items()
        }


# --------------------
# Sums of products of functions of one column each, by cells alone.


def shortest_product(evidence: "Evidence", terms: Sequence[Term], marginal: Marginal) -> Product:
    """Σ Π terms with offsets within cells, or for several columns by cells alone, whichever has the least error."""
    told, dated = (
        product(evidence.moments, terms, marginal),
        any(one.number and one.number.tag in YEAR for one in terms),
    )
    counted = product_by_cells(evidence, terms, marginal) if len(marginal.columns) > 1 and not dated else None
    if counted is None:
        return told
    assert evidence.tabulation is not None  # the marginal is part of it
    sigmas = evidence.tabulation.sigmas
    return min(told, counted, key=lambda way: covariance_of([[(1.0, way)]], sigmas)[0, 0] + way.blur**2)


def product_by_cells(evidence: "Evidence", terms: Sequence[Term], marginal: Marginal) -> Product | None:
    """Σ Π terms over all rows by counts alone, each column on average over its cells; None where categories split.

    Offsets within cells are not asked, so that theirs is no noise: where in their cells numbers lie is one more error.
    """
    axes = [_Within.of(evidence, terms, marginal, place) for place in range(len(marginal.columns))]
    if any(axis.split for axis in axes):
        return None
    known, squares = unevenness(evidence, marginal), squared_rows(marginal)
    base = reduce(np.multiply.outer, [axis.mean for axis in axes]).ravel()
    blurs = {}
    for place, index in enumerate(marginal.columns):
        parts = [(one.away, one.loose) if one is axes[place] else (one.square, one.square) for one in axes]
        own, hidden = (reduce(np.multiply.outer, part).ravel() for part in zip(*parts, strict=True))
        blurs[index] = math.sqrt(float(squares @ (known.own * own + known.hidden * hidden)))
    return Product(((marginal, base),), blurs=blurs)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Within:
    """The product of all terms of one column over its cells: (cells,) each."""

    mean: Floats
    square: Floats  # on average
    away: Floats  # the square of how far it is from its mean, on average
    loose: Floats  # the same of rows that noise hides
    split: bool  # whether categories that share a cell differ

    @classmethod
    def of(cls, evidence: "Evidence", terms: Sequence[Term], marginal: Marginal, place: int) -> "_Within":
        index, groups = marginal.columns[place], marginal.groups[place]
        column = evidence.schema.columns[index]
        hidden = hidden_places(evidence, index, groups)
        points = weigh_atoms(representatives(column), evidence.shares(index) + LEAST, hidden)
        cells, own = groups[points.atoms], [term for term in terms if term.column == index]
        numbers = numbers_of(column, pa.table({column.name: points.values})) if any(one.number for one in own) else 0.0
        parts = [np.nan_to_num(numbers - one.centre) if one.number else one.middle[points.atoms] for one in own]
        values: Floats = reduce(np.multiply, parts, np.ones(len(cells)))

        def mean(values: Floats, weights: Floats) -> Floats:
            total, sums = (np.bincount(cells, weights * one) for one in (np.ones_like(values), values))
            return np.asarray(sums / np.where(total > 0.0, total, 1.0))

        centre = mean(values, points.weights)
        away = (values - centre[cells]) ** 2
        found = mean(away, points.weights)
        return cls(
            mean=centre,
            square=centre**2 + found,
            away=found,
            loose=mean(away, points.spreading),
            split=hidden is None and bool(np.any(found > 1e-9 * (centre**2 + found))),
        )


# --------------------
# Sums of products of which few rows have a large part: their noise, and how differently so few can be spread.


_RIDGE = 1e-12  # of all noise: cells that have none, and hold nobody, have an equation of their own


def steady_product(evidence: "Evidence", found: Product, column: int) -> Product:
    """Σ f over the rows of two columns, with less weight on how they are spread where cells of `column` hold few.

    However few rows such a cell holds, its counts beside the other column have all their noise, times the large f of a
    long tail. But n rows can be spread only so differently from all others (`_Spread`): with P the second moments of
    that and S the covariance of the noise, (f − d)ᵀS(f − d) + dᵀPd is least for some d, of those that are 0 on average
    in each cell, so that n is summed as before. f − d is summed then, and d is one more error, each cell for itself.

    Where n rows are at either of two equal places, d leaves out (1 − λ)·n and the noise is λσ, for λ = n²/(n² + σ²);
    the error is said to be σ√λ. So an interval of 95 % holds in 95.0 % of cases at least, whatever n is.
    """
    marginal = found.pieces[0][0]
    if not isinstance(marginal, Marginal) or len(marginal.columns) != 2 or marginal.size > DENSE:
        return found
    spread, pieces, left_out = _Spread(marginal, marginal.columns.index(column)), [], []
    for sums, function in found.pieces:
        noise, doubt = sums.joint(list(np.eye(sums.size)))[1], spread.of(evidence, sums)
        if doubt is None or not noise.any():
            pieces.append((sums, function))
            continue
        left = _left_out(function, noise, *doubt)
        pieces.append((sums, function - left))
        left_out.append(((sums, left), doubt[0]))
    return replace(found, pieces=tuple(pieces), left_out=tuple(left_out))


@final
class _Spread:
    """How differently from all others the rows of each cell of one column can be spread over those of another.

    Were the n rows of a cell all at one place s, drawn by shares q, their counts would be off from n·p, with p the
    shares of all rows, by a matrix of second moments n²·Σ q(e − p)(e − p)ᵀ. Half of q is p, half is even (`places`).
    Offsets within cells of half width h are h/√3, a root mean square.
    """

    def __init__(self, marginal: Marginal, axis: int) -> None:
        self.marginal, self.axis = marginal, axis
        self.lines = np.moveaxis(np.arange(marginal.size).reshape(marginal.shape), axis, 0)  # beside each cell
        self.squares = squared_rows_along(marginal, axis)
        self.shares = marginal.shares[self.lines].sum(axis=0)
        self.places = one_place(self.shares)
        apart = np.eye(len(self.shares)) - self.shares
        self.apart = apart.T @ (self.places[:, None] * apart)

    def of(self, evidence: "Evidence", sums: Marginal | OffsetSums) -> tuple[Floats, Floats] | None:
        """Second moments of what differs, (cells, cells), and means by which that is 0, (k, cells); None of others."""
        if sums is self.marginal:
            spread, means = np.zeros((2, self.marginal.size, self.marginal.size))
            for place, (line, square) in enumerate(zip(self.lines, self.squares, strict=True)):
                spread[np.ix_(line, line)], means[place, line] = square * self.apart, self.shares
            return spread, means[: len(self.lines)]
        own, other = self.marginal.columns[self.axis], self.marginal.columns[1 - self.axis]
        if (half := _half_of(evidence, sums, own, other)) is not None:
            return float(self.squares @ half**2) / 3.0 * self.apart, self.shares[None]
        if (half := _half_of(evidence, sums, other, own)) is not None:
            return np.diag(self.squares) * float(self.places @ half**2) / 3.0, np.zeros((0, len(self.lines)))
        return None


def _half_of(evidence: "Evidence", sums: Marginal | OffsetSums, column: int, other: int) -> Floats | None:
    """Half the width of each cell of a column whose offsets these are beside another one; None where they are not."""
    declared, moments = evidence.schema.columns[column], evidence.moments
    found = None if moments is None or not isinstance(declared, Celled) else moments.beside(column, declared, other)
    if found is None or found[0] is not sums:
        return None
    return np.where(found[1].told_cells, np.nan_to_num(found[1].half), 0.0)


def _left_out(function: Floats, noise: Floats, spread: Floats, means: Floats) -> Floats:
    """The d for which (f − d)ᵀS(f − d) + dᵀPd is least, of those with `means` · d = 0: (cells,)."""
    scale = float(np.trace(noise))
    whole = noise + spread + means.T @ means * scale  # which adds nothing, as means · d = 0
    whole += np.eye(len(whole)) * scale * _RIDGE
    solved = np.linalg.solve(whole, np.column_stack([noise @ function, means.T]))
    free, held = solved[:, 0], solved[:, 1:]
    return np.asarray(free - held @ np.linalg.solve(means @ held, means @ free) if len(means) else free)
