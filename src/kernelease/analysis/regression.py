"""Least squares from the noisy second moments of a release, and whether a coefficient says anything."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from kernelease.analysis.design import model_terms, response_numbers
from kernelease.analysis.estimands import NUMERIC
from kernelease.analysis.estimate import Estimate, Parts, Source, Target
from kernelease.analysis.fitted import Family, FittedModel
from kernelease.analysis.groups import INTERCEPT, Regression
from kernelease.analysis.inference import (
    CONFIDENCE,
    ConfidenceLimits,
    Interval,
    Ratio,
    UnknownLimits,
    critical_value,
)
from kernelease.analysis.ratio_estimator import ProductSource, number_of, shortest_product
from kernelease.analysis.representatives import YEAR
from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.estimate.marginal import Marginal
from kernelease.estimate.products import Product, Term, covariance_of, product
from kernelease.table.columns.column import Codes, Column
from kernelease.table.expressions.formulas import ModelFormula

if TYPE_CHECKING:
    from kernelease.analysis.evidence import Evidence

# --------------------
# Whether a coefficient says something: on the scale of the standard deviations of its two columns.


def judge(evidence: "Evidence", found: Regression, latent: float | None = None) -> Regression:
    """The coefficients, with what is possible for each taken as one standard deviation of the response per one of it.

    That is the scale of a correlation, −1 to 1; so one `says_little` where its interval is longer than half of it. The
    response of a logistic or log-linear model is on the scale of its linear predictor, whose standard deviation is
    `latent`. The intercept is told beside two standard deviations to either side of itself.
    """
    response = latent or evidence.deviation(ModelFormula.parse(found.formula).response)
    estimates = {}
    for name, estimate in found.items():
        own = _own_spread(evidence, name)
        reach = response / own if own > 0.0 else math.inf
        centre = estimate.value if name == INTERCEPT else 0.0
        known = math.isfinite(reach) and reach > 0.0 and math.isfinite(centre)
        estimates[name] = replace(estimate, possible=(centre - reach, centre + reach)) if known else estimate
    return found.with_estimates(estimates)


def _own_spread(evidence: "Evidence", name: str) -> float:
    """The standard deviation of a variable; of a product, that of its factors' product; 1/2 for the intercept."""
    if name == INTERCEPT:
        return 0.5
    return math.prod(_factor_spread(evidence, one) for one in name.split(":"))


def _factor_spread(evidence: "Evidence", name: str) -> float:
    """Of a column, of whether it has a value, or of a function of it."""
    column, _, label = name.partition("[")
    if column in evidence.schema.names:
        return evidence.deviation(column, label.rstrip("]"))
    try:
        factor = ModelFormula.parse(f"y ~ {name}").products[0][0]
    except ParameterError:
        return 0.0
    return evidence.deviation(factor.column, function=factor.function)


def judged_trend(evidence: "Evidence", found: Estimate, column: str, over: str) -> Estimate:
    """A slope, judged as a coefficient is."""
    response, own = evidence.deviation(column), evidence.deviation(over)
    return replace(found, possible=(-response / own, response / own)) if response > 0.0 and own > 0.0 else found


# --------------------
# The interval of a coefficient, by a test of each value.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CoefficientLimits(ConfidenceLimits):
    """Fieller's interval of a coefficient C / D, a ratio of two noisy sums. `shift` is added.

    `nearer` is C / D′, with a D′ between 0 and D: the coefficient lies between 0 and it. Where noise hides D, a sum
    that few rows far out decide, but not a D′ to which none of them counts so much, that is the shorter.
    """

    ratio: Ratio
    nearer: Ratio | None = None
    shift: float = 0.0
    laplace: bool = False

    def at(self, level: float) -> Interval:
        factor = critical_value(level, laplace=self.laplace)
        low, high = self.ratio.interval(factor)
        if self.nearer is not None:
            least, most = self.nearer.interval(factor)
            value = self.ratio.value if self.ratio.denominator > 0.0 else 0.0  # an interval holds its own estimate
            low, high = max(low, min(0.0, least, value)), min(high, max(0.0, most, value))
        return low + self.shift, high + self.shift


# --------------------
# Least squares from the noisy second moments of a release.


WEAK = 3.0  # standard errors by which the least eigenvalue of the second moments must differ from 0
SQUARES = 16  # convention: squares above which no row counts to a divisor, of which one is taken…
FARTHEST = 64.0  # convention: …the least of so many times less than a row can count
INSTEAD = "Leave one of them out, or ask about all rows: a group as a covariate (hours ~ age + sex) needs pairs only."


def regression(evidence: "Evidence", formula: str) -> Regression:
    """Least squares of a column of numbers on others, over the rows that have a response.

    With A = Σ t tᵀ and b = Σ t y over the variables t, β = A⁻¹ b. Every entry is a sum over one or two columns, so
    that all were measured, and the noise of b − A β is known whatever β is: each value of a coefficient is tested.
    Where A itself drowns in its noise, no interval is given. Products of columns and functions of them are those of a
    generalised linear model (`analysis.glm`), and need all columns together: the formula has none.
    """
    return _Equations(evidence, design(evidence, formula)).solve(formula)


def trend(evidence: "Evidence", column: str, over: str) -> Estimate:
    """The slope of a number, or of the share of true, over a column of numbers or dates: per unit, or per year."""
    response = evidence.numeric(column, "trend", NUMERIC)
    ordered = evidence.numeric(over, "trend", ("integer", "number", *YEAR))
    if response is ordered:
        raise ParameterError(f"trend: needs two different columns, got {column!r} twice.")
    model = _design(evidence, response, [ordered])
    if not _are_missing(evidence, ordered):
        model = replace(model, predictors=model.predictors[:2])
    found = _Equations(evidence, model).solve(f"{column} ~ {over}")[over]
    unit = "per year" if ordered.tag in YEAR else f"per unit of {over}"
    return replace(found * YEAR.get(ordered.tag, 1.0), about=f"trend of {column} {unit}")


def _are_missing(evidence: "Evidence", column: Column) -> bool:
    """Whether some rows surely have no such number: else they count as average ones."""
    (index,) = evidence.positions((column.name,))
    finest = evidence.finest((index,))
    if not column.nullable or finest is None:
        return column.nullable
    value, variance = finest.joint([(np.arange(finest.size) == finest.groups[0][column.size - 1]).astype(np.float64)])
    return bool(value[0] > WEAK * math.sqrt(max(0.0, float(variance[0, 0]))))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Response and predictors. A predictor's NULL is a group of its own; a row without a response is left out."""

    response: Term
    present: Floats | None  # 1 where the response is not NULL, by atom; None where it never is
    predictors: tuple[Term, ...]


@final
class _Equations:
    """The normal equations; the response is the last of the variables."""

    def __init__(self, evidence: "Evidence", model: Design) -> None:
        self.evidence, self.model = evidence, model
        self.terms = (*model.predictors, model.response)
        count = len(self.terms)
        found = {(i, j): self._moment(i, j) for i in range(count) for j in range(i + 1)}
        self.parts = {(i, j): found[max(i, j), min(i, j)] for i in range(count) for j in range(count)}
        self._read()
        self._choose_sum()

    def _read(self) -> None:
        """Values of all entries, and their errors by where in their cells numbers lie."""
        count, total = len(self.terms), self.evidence.total
        every = [[self.parts[i, j] for j in range(count)] for i in range(count)]
        self.moments = np.array([[part.value for part in line] for line in every]) / total
        self.blur = np.array([[part.blur for part in line] for line in every]) / total

    def _choose_sum(self) -> None:
        """Take Σ y from the column alone, or from where it stands beside a predictor: whichever has the least noise.

        Beside a predictor, errors of the response's own counts are those of Σ t·y, and most of them cancel.
        """
        last, columns = len(self.terms) - 1, dict.fromkeys(term.column for term in self.model.predictors)
        beside = [
            self._over([self.model.response, *self._present()], {c, self._response}) for c in columns if c is not None
        ]
        scored = []
        for option in [self.parts[last, 0], *beside]:
            self.parts[last, 0] = self.parts[0, last] = option
            self._read()
            scored.append((self._score(), option))
        self.parts[last, 0] = self.parts[0, last] = min(scored, key=lambda one: one[0])[1]
        self._read()

    def _score(self) -> float:
        """How much noise all coefficients have together: the sum of the logarithms of their variances."""
        count = len(self.terms) - 1
        try:
            inverse = np.linalg.inv(self.moments[:count, :count])
        except np.linalg.LinAlgError:
            return math.inf
        noise = np.diag(inverse @ self._noise(inverse @ self.moments[:count, count]) @ inverse.T)
        return float(np.log(np.maximum(noise[1:], 1e-300)).sum())

    def _moment(self, i: int, j: int) -> Product:
        """Σ tᵢtⱼ over the rows with a response."""
        pair, response = [self.terms[i], self.terms[j]], self.model.response.column
        columns = {term.column for term in pair if term.column is not None}
        assert response is not None  # it is a column
        if i == j and columns and columns != {response} and self.model.present is not None:
            lost = self._term(1.0 - self.model.present)
            return self._over(pair, columns).less(self._over([*pair, lost], columns | {response}))
        if self.model.present is None or response in columns or len(columns) < 2:
            whole = columns | {response} if self.model.present is not None or not columns else columns
            return self._over([*pair, *self._present()], whole)
        if measured := self.evidence.marginals(tuple(sorted({*columns, response}))):
            lost = self._term(1.0 - self.model.present)
            return self._over(pair, columns).less(product(self.evidence.moments, [*pair, lost], measured[0]))
        return self._less_missing(i, j, columns)

    def _over(self, terms: list[Term], columns: set[int]) -> Product:
        """Σ Π terms over all rows, from what was measured of their columns."""
        return shortest_product(self.evidence, terms, self._marginal(columns))

    def _marginal(self, columns: set[int]) -> Marginal:
        measured = self.evidence.marginals(tuple(sorted(columns)))
        if not measured:
            raise self.evidence.not_together(columns, "regression", INSTEAD)
        return measured[0]

    def _term(self, flags: Floats) -> Term:
        """0 or 1 by the response's atoms."""
        return Term(name="", column=self.model.response.column, middle=flags, half=np.zeros_like(flags))

    def _present(self) -> list[Term]:
        """1 where there is a response, if it may be missing."""
        return [] if self.model.present is None else [self._term(self.model.present)]

    def _less_missing(self, i: int, j: int, columns: set[int]) -> Product:
        """Σ tᵢtⱼ over all rows, less that over the rows without a response, where only Σ tᵢ and Σ tⱼ were measured.

        There Σ tᵢtⱼ is Σtᵢ·Σtⱼ/n, up to √(SSᵢ·SSⱼ) with SS the centred sums of squares, by Cauchy and Schwarz: as if
        all between were as likely, one more error. The quotient is linearised, so that its noise is carried along.
        """
        whole = self._over([self.terms[i], self.terms[j]], columns)
        (n, first, square), (_, second, other) = (self._missing(k) for k in (i, j))
        count, a, b = n.value, first.value, second.value
        squares = [max(0.0, part.value + part.blur) for part in (square, other)]
        if count <= 1.0:
            return Product(whole.pieces, blurs=whole.blurs | {-1: math.sqrt(squares[0] * squares[1] / 3.0)})
        rest = [max(0.0, total - mean * mean / count) for total, mean in zip(squares, (a, b), strict=True)]
        scaled = ((first, -b / count), (second, -a / count), (n, a * b / count**2))
        pieces = tuple((sums, scale * function) for part, scale in scaled for sums, function in part.pieces)
        return Product((*whole.pieces, *pieces), blurs=whole.blurs | {-1: math.sqrt(rest[0] * rest[1] / 3.0)})

    def _missing(self, k: int) -> tuple[Product, Product, Product]:
        """The rows without a response, a predictor in them, and its square."""
        term, response, present = self.terms[k], self.model.response.column, self.model.present
        assert term.column is not None and response is not None and present is not None  # noqa: PT018
        marginal, lost = self._marginal({term.column, response}), self._term(1.0 - present)
        every = ([lost], [term, lost], [term, term, lost])
        first, second, third = (product(self.evidence.moments, terms, marginal) for terms in every)
        return first, second, third

    def solve(self, formula: str) -> Regression:
        """Coefficients, with their errors."""
        count = len(self.terms) - 1
        matrix, right = self.moments[:count, :count], self.moments[:count, count]
        try:
            inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            raise ParameterError(f"regression: the variables of {formula!r} determine each other. Drop one.") from None
        slopes = inverse @ right
        sampling = inverse @ self._sampling(slopes) @ inverse.T
        inside = self._inside(inverse, slopes)
        back = self._back()
        shift = np.zeros(count)
        shift[0] = self.model.response.centre
        clear = self._clear(matrix)
        tested = self._ratios(back, inverse, slopes)
        hidden = self._hides_divisors(back, tested)
        estimates = {}
        for k, (term, value) in enumerate(zip(self.model.predictors, back @ slopes + shift, strict=True)):
            noise, sampled = tested[k].standard_error, math.sqrt(max(0.0, float(back[k] @ sampling @ back[k])))
            own = float(np.abs(back[k]) @ inside)
            parts = Parts(noise=noise if clear else math.inf, inside=own, sampling=sampled)
            ratio = tested[k].blur(math.hypot(sampled, own))
            limits = CoefficientLimits(
                ratio=ratio,
                nearer=self._nearer(k, back[k], inverse, slopes, own),
                shift=float(shift[k]),
                laplace=self._laplace,
            )
            estimates[term.name] = Estimate(
                value=float(value),
                parts=parts,
                limits=limits if clear else UnknownLimits(),
                target=self.evidence.target,
                about=f"{term.name} in {formula}",
                remark="" if clear else "the noise hides how the variables go together: there is no bounded interval",
                source=self._source(back[k] @ inverse, slopes) if clear else None,
                vague=bool(hidden[k]),
            )
        model = self._model(
            formula, back @ slopes + shift, lambda one: self._error(one @ back, inverse, slopes, inside)
        )
        return Regression(formula, estimates, model if clear else None)

    def _model(self, formula: str, slopes: Floats, error: Callable[[Floats], float]) -> FittedModel | None:
        """What the coefficients expect of other rows; None where terms are not those of a formula."""
        terms = tuple(model_terms(self.evidence, ModelFormula.parse(formula)))
        if [term.name for term in terms] != [term.name for term in self.model.predictors]:
            return None
        return FittedModel(evidence=self.evidence, family=Family.LINEAR, terms=terms, slopes=slopes, error=error)

    def _error(self, direction: Floats, inverse: NDArray[Any], slopes: Floats, inside: Floats) -> float:
        """The standard error of direction·β, with β of the centred variables."""
        influence = direction @ inverse
        weights = np.append(-slopes, 1.0)
        noise = self._covariance([self._sum(influence, weights)])[0, 0]
        sampling = influence @ self._sampling(slopes) @ influence
        return math.hypot(math.sqrt(max(0.0, float(noise + sampling))), float(np.abs(direction) @ inside))

    def _ratios(self, back: Floats, inverse: NDArray[Any], slopes: Floats) -> list[Ratio]:
        """Each coefficient c·β as a ratio of two sums with known noise.

        With u = A⁻¹c / cᵀA⁻¹c, the equations u·(b − A(β + (t − c·β)u)) are 0 at t = c·β, and say t = n/d with
        n = u·(b − Aβ₀), β₀ = β − (c·β)u, and d = uᵀAu: what all other coefficients are for this t is solved for.
        """
        count, rows, found = len(slopes), [], []
        for line in back:
            across = inverse @ line
            u = across / float(line @ across)
            base = slopes - float(line @ slopes) * u
            rows.append(self._sum(u, np.append(-base, 1.0)))
            rows.append(self._sum(u, np.append(u, 0.0)))
            found.append((float(line @ slopes), float(u @ self.moments[:count, :count] @ u)))
        noise = self._covariance(rows)
        return [
            Ratio.of((value * below, below), noise[2 * k : 2 * k + 2, 2 * k : 2 * k + 2])
            for k, (value, below) in enumerate(found)
        ]

    def _nearer(self, k: int, line: Floats, inverse: NDArray[Any], slopes: Floats, inside: float) -> Ratio | None:
        """A coefficient n/d of a number with less in the place of d = Σ (u·t)²: no row counts more than some square.

        By one column alone a row's (u·t)² is no less than the least of its cell over all values of the other columns,
        and no cell holds less than nobody. The square is that which leaves most in the synthetic rows but for noise.
        """
        column, evidence = self.model.predictors[k].column, self.evidence
        marginal = None if column is None else evidence.finest((column,))
        if column is None or marginal is None or evidence.rows is None or evidence.weights is None:
            return None
        if self.model.present is not None or evidence.chosen.parts:
            return None
        across = inverse @ line
        u = across / float(line @ across)
        least = self._least(u, column, marginal.groups[0])
        squares = np.minimum(least, np.geomspace(1.0 / FARTHEST, 1.0, SQUARES)[:, None] * float(least.max())) ** 2
        cells, critical = marginal.groups[0][self._codes(column)], critical_value(CONFIDENCE, laplace=self._laplace)
        noise = np.sqrt(np.maximum(np.diag(marginal.joint(list(squares))[1]), 0.0)) / evidence.total
        square = squares[int(np.argmax(squares[:, cells] @ evidence.row_shares - critical * noise))]
        below = float(square @ marginal.counts) / evidence.total
        if not below > 0.0:
            return None
        value, whole = float(line @ slopes), float(u @ self.moments[: len(u), : len(u)] @ u)
        above = self._sum(u, np.append(value * u - slopes, 1.0))
        covariance = self._covariance([above, [(1.0, Product(((marginal, square),)))]])
        varies = self._varies(u, slopes, value, value * whole / below * square[cells])
        found = Ratio.of((value * whole, below), covariance)
        return found.blur(math.hypot(inside * whole, varies) / below)

    def _least(self, u: Floats, column: int, groups: Integers) -> Floats:
        """The least |u·t| of the rows in each cell of a column, whatever the other columns are: (atoms,) → (cells,)."""
        low, high = dict[int | None, Any](), dict[int | None, Any]()
        for weight, term in zip(u, self.model.predictors, strict=True):
            middle, half = weight * term.middle, abs(weight) * term.half
            low[term.column] = low.get(term.column, 0.0) + middle - half
            high[term.column] = high.get(term.column, 0.0) + middle + half
        own = low.pop(column) + sum(map(np.min, low.values())), high.pop(column) + sum(map(np.max, high.values()))
        first, last = np.full(int(groups.max()) + 1, np.inf), np.full(int(groups.max()) + 1, -np.inf)
        np.minimum.at(first, groups, own[0])
        np.maximum.at(last, groups, own[1])
        return np.where(first <= last, np.maximum(0.0, np.maximum(first, -last)), 0.0)  # a forged cell has no atoms

    def _varies(self, u: Floats, slopes: Floats, value: float, less: Floats) -> float:
        """How far n − t·d′ varies over tables drawn from the population, at t = n/d′: by the synthetic rows."""
        if self.evidence.target is Target.TABLE:
            return 0.0
        values, shares = np.stack([self._of_rows(term) for term in self.terms]), self.evidence.row_shares
        moved = u @ values[:-1]
        scores = moved * (values[-1] - slopes @ values[:-1] + value * moved) - less
        return math.sqrt(float(shares @ (scores - shares @ scores) ** 2) / self.evidence.total)

    def _hides_divisors(self, back: Floats, tested: list[Ratio]) -> NDArray[np.bool_]:
        """Whether noise hides what each ratio is over, beside what that is in the synthetic rows: (coefficients,).

        Judged by the noisy sum itself, only ratios over one that noise made too large would say something, and fewer
        of those hold.
        """
        if self.evidence.rows is None or self.evidence.weights is None:
            return np.zeros(len(tested), dtype=np.bool_)
        values = np.stack([self._of_rows(term) for term in self.model.predictors])
        inverse = np.linalg.pinv((values * self.evidence.row_shares) @ values.T)
        below = 1.0 / np.maximum(np.einsum("ki,ij,kj->k", back, inverse, back), 1e-300)
        errors = np.sqrt([max(0.0, ratio.variances[1]) for ratio in tested])
        return np.asarray(critical_value(CONFIDENCE) * errors > below)

    def _sum(self, left: Floats, right: Floats) -> list[tuple[float, Product]]:
        """Σ left·right over the entries of the equations, of which the last column is b."""
        entries = ((k, j) for k in range(len(left)) for j in range(len(right)))
        return [(float(left[k] * right[j]), self.parts[k, j]) for k, j in entries]

    @property
    def _laplace(self) -> bool:
        return any(sums.laplace for part in self.parts.values() for sums, _ in part.pieces)

    def _source(self, influence: Floats, slopes: Floats) -> Source | None:
        """The error of Σ influence·(b − Aβ)/N by noise; None for a population, whose sampling is not in it."""
        if self.evidence.target is Target.POPULATION:
            return None
        weights = np.append(-slopes, 1.0) / self.evidence.total
        pairs = [(k, j) for k in range(len(slopes)) for j in range(len(weights))]
        terms = tuple((float(influence[k] * weights[j]), self.parts[k, j]) for k, j in pairs)
        return ProductSource(evidence=self.evidence, terms=terms)

    def _inside(self, inverse: NDArray[Any], slopes: Floats) -> Floats:
        """The error of each coefficient by where in their cells numbers lie: of predictors, and of the response."""
        count = len(slopes)
        beside = np.array([self._beside(self.parts[k, count]) for k in range(count)]) / self.evidence.total
        found = np.abs(inverse) @ (self.blur[:count, :count] @ np.abs(slopes) + beside)
        return np.asarray(np.hypot(found, [self._by_response(line) for line in inverse]))

    def _beside(self, part: Product) -> float:
        """The error of a sum by other columns than the response."""
        return math.hypot(*(blur for column, blur in part.blurs.items() if column != self._response))

    def _by_response(self, influence: Floats) -> float:
        """The error of a coefficient by where in their cells the response's numbers lie.

        A row counts by its influence w, a sum of functions of one column each. |w| is at most the sum of their sizes,
        where the intercept goes to the column that makes that least.
        """
        columns = {term.column for term in self.model.predictors if term.column is not None}
        alone, joined = ({c: self._blur_by(c, influence, with_it) for c in columns} for with_it in (False, True))
        return min(sum(alone[c] for c in columns if c != chosen) + joined[chosen] for chosen in columns)

    def _blur_by(self, column: int, influence: Floats, with_intercept: bool) -> float:
        """The error of Σ f·y by the response, with f the part of the influence that a column decides."""
        chosen = [(w, term) for w, term in zip(influence, self.model.predictors, strict=True) if term.column == column]
        whole = np.sum([w * term.middle for w, term in chosen], axis=0) + (influence[0] if with_intercept else 0.0)
        part = Term(name="", column=column, middle=np.abs(whole), half=np.zeros_like(whole))
        found = product(self.evidence.moments, [part, self.model.response], self._marginal({column, self._response}))
        return found.blurs[self._response] / self.evidence.total

    @property
    def _response(self) -> int:
        column = self.model.response.column
        assert column is not None  # it is a column
        return column

    def _back(self) -> Floats:
        """From the coefficients of centred variables to those of the variables themselves, which are 0 for NULL."""
        back = np.eye(len(self.model.predictors))
        for k, term in enumerate(self.model.predictors):
            back[0, k] -= term.centre
            for j, other in enumerate(self.model.predictors):
                if j != k and j > 0 and other.column == term.column:
                    back[j, k] += term.centre
        return back

    def _noise(self, slopes: Floats) -> Floats:
        """The covariance of (b − Aβ)/N by the noise of all blocks."""
        weights = np.append(-slopes, 1.0)
        return self._covariance(
            [[(float(weight), self.parts[k, j]) for j, weight in enumerate(weights)] for k in range(len(slopes))]
        )

    def _covariance(self, sums: list[list[tuple[float, Product]]]) -> Floats:
        tabulated = self.evidence.tabulation
        assert tabulated is not None  # the sums came from it
        covariance: Floats = covariance_of(sums, tabulated.sigmas) / self.evidence.total**2
        return covariance

    def _clear(self, matrix: Floats) -> bool:
        """Whether the second moments are surely those of variables that do not determine each other."""
        scale = np.sqrt(np.maximum(np.diag(matrix), 0.0))
        if not np.all(scale > 0.0):
            return False
        values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
        direction = vectors[:, 0] / scale
        count = range(len(scale))
        wanted = [(float(direction[i] * direction[j]), self.parts[i, j]) for i in count for j in count]
        error = math.sqrt(max(0.0, float(self._covariance([wanted])[0, 0])))
        return bool(values[0] > WEAK * error)

    def _sampling(self, slopes: Floats) -> Floats:
        """The covariance of (b − Aβ)/N over tables drawn from the population, from the synthetic rows; robust."""
        count = len(slopes)
        if self.evidence.target is Target.TABLE:
            return np.zeros((count, count))
        rows, weights = self.evidence.rows, self.evidence.weights
        if rows is None or weights is None:
            last = float(self.moments[count, count] - slopes @ self.moments[:count, count])
            return max(0.0, last) * self.moments[:count, :count] / self.evidence.total
        values = np.stack([self._of_rows(term) for term in self.terms])
        known = np.ones(rows.num_rows)
        if self.model.present is not None and self.model.response.column is not None:
            known = self.model.present[self._codes(self.model.response.column)]
        scores = values[:count] * (values[count] - slopes @ values[:count]) * known
        covariance: Floats = (scores * self.evidence.row_shares) @ scores.T / self.evidence.total
        return covariance

    def _of_rows(self, term: Term) -> Floats:
        assert self.evidence.rows is not None  # whoever asks has looked
        if term.column is None:
            return np.ones(self.evidence.rows.num_rows)
        return np.asarray(term.middle[self._codes(term.column)])

    def _codes(self, index: int) -> Codes:
        assert self.evidence.rows is not None  # whoever asks has looked
        column = self.evidence.schema.columns[index]
        return column.encode(self.evidence.rows.column(column.name))


def design(evidence: "Evidence", formula: str) -> Design:
    """The variables of a formula such as hours ~ age + sex. A category has one variable per value but the first."""
    parsed = ModelFormula.parse(formula)
    assert parsed.plain  # whoever asks has looked
    column, _ = response_numbers(evidence, parsed, "regression", NUMERIC)
    return _design(evidence, column, [evidence.column(product[0].column) for product in parsed.products])


def _design(evidence: "Evidence", column: Column, predictors: Sequence[Column]) -> Design:
    null = np.isnan(column.centres())
    terms = [Term(name=INTERCEPT, column=None, middle=np.ones(1), half=np.zeros(1))]
    for one in predictors:
        terms += _terms(evidence, one)
    return Design(
        response=number_of(evidence, column),
        present=None if not null.any() else (~null).astype(np.float64),
        predictors=tuple(terms),
    )


def _terms(evidence: "Evidence", column: Column) -> list[Term]:
    index = evidence.schema.names.index(column.name)
    if column.tag in (*NUMERIC, *YEAR):
        number = number_of(evidence, column)
        null = np.isnan(column.centres())
        return [number, _dummy(column, index, int(np.argmax(null)))] if null.any() else [number]
    return [_dummy(column, index, atom) for atom in range(1, column.size)]


def _dummy(column: Column, index: int, atom: int) -> Term:
    name = f"{column.name}[{column.labels()[atom]}]"
    return Term(
        name=name, column=index, middle=(np.arange(column.size) == atom).astype(np.float64), half=np.zeros(column.size)
    )
