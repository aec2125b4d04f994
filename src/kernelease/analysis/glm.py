"""Generalised linear models from noisy counts: logistic, log-linear (Poisson) and linear, with interactions.

The coefficients β solve Σ t·(y − μ(t·β)) = 0 over the rows, for variables t of the covariates. Σ t·y is a sum over the
response and the columns of one variable, and Σ t·μ(t·β) one over the covariates: both are linear in counts and moments.
So two covariates need pairs only, and the noise of the equations is known whatever β is. A value of a coefficient is
plausible where the equations, with all others solved for it, differ from 0 by no more than their noise: no
approximation is made of how β follows from them. Where in its cell a number lies is measured by moments, to first
order; what they leave open is one more error of the equations, as uneven as cells are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from kernelease.analysis.design import Design, Place, Term, Variable, model_terms, response_numbers
from kernelease.analysis.estimands import NUMERIC
from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.fitted import Family, FittedModel
from kernelease.analysis.groups import Regression
from kernelease.analysis.inference import ConfidenceLimits, Interval, UnknownLimits, critical_value
from kernelease.analysis.inside import squared_rows, unevenness
from kernelease.analysis.ratio_estimator import ProductSource, steady_product
from kernelease.analysis.representatives import LEAST, YEAR, extremes
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.estimate.marginal import Marginal
from kernelease.estimate.products import Product, Term as Summed, covariance_of, left_out_variance, product
from kernelease.table.columns.cells import Celled
from kernelease.table.expressions.formulas import Factor, ModelFormula, Shape

if TYPE_CHECKING:
    from kernelease.analysis.evidence import Evidence

WEAK = 3.0  # standard errors by which the least eigenvalue of J must differ from 0
_SINGULAR = 1e-8  # of J on a common scale: less is a solution at odds of 0 or infinity, which has no derivative
CERTAIN = 20.0  # log-odds that no table shows on average: a solution with such has run away from counts without one
_STEPS = 200  # of Newton's method; ten suffice where there is a solution
_LOST = 1e100  # a step so long is none towards a solution: nearly no row has some value of a covariate
_LONGEST = 2.0  # that a step may move a logarithm of odds or rates
_NEAR = 1e-9  # of the linear predictor: a step so short is the last
_NEARER = 1e-5  # the same for all other coefficients beside one that is tested: they count to second order
_TRIES = 12  # steps of a search for an end of an interval, and halvings of the last
_ENOUGH = 0.02  # of the critical value: a test that comes so near it is at the end of the interval
_REMARK = "where a number lies within its cell is measured to first order; the rest is one more error"


def generalised_regression(evidence: "Evidence", formula: str, family: Family) -> Regression:
    """The coefficients of a model, each with its interval, over the rows that have a response."""
    parsed = ModelFormula.parse(formula)
    tags = ("boolean",) if family is Family.LOGISTIC else NUMERIC
    column, numbers = response_numbers(evidence, parsed, "regression" if family is Family.LINEAR else family, tags)
    if family is Family.POISSON and np.nanmin(numbers) < 0.0:
        raise ParameterError(f"poisson: {column.name!r} may be negative; a log-linear model is of numbers from 0 on.")
    index = evidence.schema.names.index(column.name)
    response = Variable(column.name, index, np.nan_to_num(numbers), Factor(column.name))
    return _Equations(evidence, family, response, ~np.isnan(numbers), model_terms(evidence, parsed)).solve(formula)


# --------------------
# The equations, and the values of a coefficient that their noise allows.


@final
class _Equations:
    """Σ t·y − Σ t·μ(t·β) = 0 and its solution."""

    def __init__(
        self,
        evidence: "Evidence",
        family: Family,
        response: Variable,
        present: NDArray[np.bool_],
        terms: Sequence[Term],
    ) -> None:
        self.evidence, self.family, self.terms = evidence, family, terms
        self.response, self.present = Term((response,)), present  # whether each of its atoms is a response
        self.covariates = set().union(*(term.columns for term in terms))
        joined = any(len(term.factors) > 1 for term in terms) or not self.present.all()
        whole = self._marginal(self.covariates | {response.column}, needed=joined)
        self.whole = whole if joined or len(self.covariates) < 2 or whole is None else None
        joint = self._alone() or self.whole or self._marginal(self.covariates, needed=True)
        assert joint is not None  # it was needed
        self.design = Design(evidence, joint, terms, offsets=True)
        self.joint, self.known = joint, np.ones(joint.size)
        if response.column in joint.columns:
            known = Variable("", response.column, self.present.astype(np.float64))
            self.known = self.design.places[response.column].values(known, 0)
        self.cellwise: dict[Marginal, dict[int, Term]] = {}  # terms that are summed with the response cell by cell
        self.products = [self._product(term) for term in terms]
        self.designs = [
            (Design(evidence, marginal, list(own.values()), offsets=False), list(own))
            for marginal, own in self.cellwise.items()
        ]
        self.wanted = np.array([part.value for part in self.products])
        self.sampling = np.zeros((len(terms), len(terms)))

    def _alone(self) -> Marginal | None:
        """The counts of a single covariate, in the cells in which it was counted with the response."""
        tabulated = self.evidence.tabulation
        if len(self.covariates) != 1 or not self.present.all() or tabulated is None or self.evidence.chosen.parts:
            return None
        (index,) = self.covariates
        beside = self._marginal({index, *self.response.columns}, needed=True)
        assert beside is not None  # it was needed
        return tabulated.marginal_in((index,), {index: beside.groups[beside.columns.index(index)]})

    def _marginal(self, columns: set[int], *, needed: bool) -> Marginal | None:
        finest = self.evidence.finest(tuple(sorted(columns)))
        if finest is not None or not needed:
            return finest
        instead = "Take fewer covariates, no interaction, or all rows; regression() needs pairs of columns only."
        raise self.evidence.not_together(columns, self.family.value, instead)

    def _product(self, term: Term) -> Product:
        """Σ t·y, with moments where t is a number or a flag and both were measured together."""
        first = self.whole or self._marginal(term.columns | self.response.columns, needed=True)
        assert first is not None  # it was needed
        marginal = first
        if len(term.factors) < 2 and len(first.columns) > 2:
            marginal = self._marginal(term.columns | self.response.columns, needed=True) or first
        plain = all(one.factor is None or one.factor.shape is Shape.PLAIN for one in term.factors)
        if plain and len(marginal.columns) <= 2 and self._knows_values(term, marginal):
            parts = [self._summand(one) for one in (*term.factors, *self.response.factors)]
            (response,) = self.response.columns
            found = product(self.evidence.moments, [*parts, *self._flag()], marginal, tailed=response)
            return steady_product(self.evidence, Product(found.pieces, blurs=found.blurs), response)
        return self._by_cells(term, marginal)

    def _knows_values(self, term: Term, marginal: Marginal) -> bool:
        """Whether the numbers in a product are single values in each cell, or moments say where in it they lie."""
        moments = self.evidence.moments
        for variable in (*term.factors, *self.response.factors):
            place = Place(self.evidence, marginal, marginal.columns.index(variable.column), offsets=False)
            if variable.factor is None or not place.half.any():
                continue
            cells = None if moments is None else moments.cells(variable.column)
            others = [column for column in marginal.columns if column != variable.column]
            declared = place.declared
            if declared.tag in YEAR:  # moments are in days, and models in years
                return False
            if moments is None or cells is None or not isinstance(declared, Celled):
                return False
            if others and (
                not np.array_equal(cells, place.groups) or moments.beside(variable.column, declared, *others) is None
            ):
                return False
        return True

    def _summand(self, variable: Variable) -> Summed:
        """A variable as sums of products take it."""
        column = self.evidence.schema.columns[variable.column]
        nothing = np.zeros_like(variable.values)
        if variable.factor is None or not isinstance(column, Celled):
            return Summed(name=variable.name, column=variable.column, middle=variable.values, half=nothing)
        half = np.zeros(column.size)
        first, last = extremes(column)
        half[: column.cell_count] = 0.5 * (last - first)
        middle = nothing.copy()
        middle[: column.cell_count] = 0.5 * (first + last)
        return Summed(name=variable.name, column=variable.column, middle=middle, half=half, number=column)

    def _flag(self) -> list[Summed]:
        """1 where there is a response, if it may be missing."""
        if self.present.all():
            return []
        flags = self.present.astype(np.float64)
        return [Summed(name="", column=next(iter(self.response.columns)), middle=flags, half=np.zeros_like(flags))]

    def _by_cells(self, term: Term, marginal: Marginal) -> Product:
        """Σ t·y with both at their averages in each cell; how far off it may be is one more error."""
        whole = Term((*term.factors, *self.response.factors))
        design = Design(self.evidence, marginal, [whole], offsets=False)
        self.cellwise.setdefault(marginal, {})[self.terms.index(term)] = whole
        return Product(((marginal, design.middle[0]),))

    def _inside_products(self, direction: Floats) -> float:
        """The variance of Σ direction·t·y by where in their cells numbers lie, and by what was left out."""
        variance = float(np.abs(direction) @ [part.blur for part in self.products]) ** 2
        variance += left_out_variance(list(zip(direction.tolist(), self.products, strict=True)))
        for design, chosen in self.designs:
            known, squares = unevenness(self.evidence, design.marginal), squared_rows(design.marginal)
            weights = direction[chosen]
            for place, low, high in design.ends:
                anywhere = (0.5 * (weights @ (high - low))) ** 2 / 3.0
                variance += float(squares @ (known.own * design.variance(place, weights) + known.hidden * anywhere))
        return variance

    def solve(self, formula: str) -> Regression:
        """Newton's method with the derivative on the nearest distribution, and the errors of where it ends."""
        slopes = self._newton(self._start(), None, _NEAR)
        if slopes is None or self._ran_away(slopes):
            return Regression(formula, {term.name: self._no_solution(formula, term) for term in self.terms})
        self.sampling = self._sampling_covariance(slopes)
        return self._told_by(formula, slopes)

    def _newton(self, slopes: Floats, fixed: int | None, near: float) -> Floats | None:
        """The solution of all equations, or of all but one whose coefficient is fixed; None where there is none."""
        free = np.array([k for k in range(len(slopes)) if k != fixed], dtype=np.int64)
        for _ in range(_STEPS if len(free) else 0):
            derivative = self.derivative(slopes)[np.ix_(free, free)]
            step = np.zeros_like(slopes)
            step[free] = np.linalg.lstsq(derivative, self.equations(slopes)[free], rcond=None)[0]
            largest = float(np.abs(step @ self.design.middle).max())
            linear = self.family is Family.LINEAR  # one step is exact there; elsewhere a long one would overshoot
            slopes = slopes + step * (1.0 if linear else min(1.0, _LONGEST / max(largest, 1e-300)))
            if not largest < _LOST:
                return None
            if largest < near * (1.0 + float(np.abs(slopes @ self.design.middle).max())):
                return slopes
        return None if len(free) else slopes

    @property
    def weights(self) -> Floats:
        """About how many rows with a response are in each cell: none below 0."""
        return np.asarray(np.maximum(self.joint.shares * self.known * max(1.0, self.evidence.total), LEAST))

    def derivative(self, slopes: Floats) -> Floats:
        """J = Σ μ′·t·tᵀ."""
        slope = self.family.mean(slopes @ self.design.middle)[1]
        return np.asarray((self.design.middle * (self.weights * slope)) @ self.design.middle.T)

    def equations(self, slopes: Floats) -> Floats:
        """Σ t·y − Σ t·μ, as the noisy numbers have it: (terms,)."""
        left = self.wanted - self._means(slopes) @ self.joint.counts
        for place, slope, _ in self._within(slopes):
            for sums, spread in place.summed_offsets:
                left = left - slope @ (spread @ sums.counts)
        return np.asarray(left)

    def _means(self, slopes: Floats) -> Floats:
        """t·μ on average over cells of even numbers: in their middle, and a third of how much more it is at the ends.

        (terms, cells): Simpson's rule.
        """
        middle, found = self.design.middle, self._middles(slopes)
        for _, low, high in self.design.ends:
            found = found + self._bend(slopes, low, high, middle) / 3.0
        return found

    def _middles(self, slopes: Floats) -> Floats:
        middle = self.design.middle
        return np.asarray(middle * self.family.mean(slopes @ middle)[0] * self.known)

    def _bend(self, slopes: Floats, low: Floats, high: Floats, middle: Floats) -> Floats:
        """How much more t·μ is at the two ends of a cell, on average, than in its middle: (terms, cells)."""
        below, centre, above = (part * self.family.mean(slopes @ part)[0] for part in (low, middle, high))
        return np.asarray((0.5 * (below + above) - centre) * self.known)

    def _within(self, slopes: Floats) -> "list[tuple[Place, Floats, Floats]]":
        """By how much an offset of each column changes t·μ: (terms, cells of the column), and half the rise on all."""
        found, shares = [], self.weights
        for place, low, high in self.design.ends:
            if place.told:
                rise = self._rise(slopes, low, high)
                mean = place.margin(rise * shares) / np.maximum(place.margin(shares[None]), 1e-300)
                found.append((place, mean / np.where(place.half > 0.0, place.half, np.inf), rise))
        return found

    def _rise(self, slopes: Floats, low: Floats, high: Floats) -> Floats:
        """Half of how much t·μ differs between the two ends of a cell: (terms, cells)."""
        above, below = (part * self.family.mean(slopes @ part)[0] for part in (high, low))
        return np.asarray(0.5 * (above - below) * self.known)

    def inside(self, slopes: Floats, direction: Floats) -> float:
        """The variance of Σ direction·equations by where in their cells numbers lie.

        What is left of t·μ after its average over even numbers, and after offsets, is a line and a bend: with numbers
        spread over −1 to 1, their variances are a third and 4/45 of the squares.
        """
        variance = self._inside_products(direction)
        known, squares = unevenness(self.evidence, self.joint), squared_rows(self.joint)
        told = {id(place): direction @ slope for place, slope, _ in self._within(slopes)}
        uneven = np.minimum(known.own + known.hidden, 1.0)
        for place, low, high in self.design.ends:
            line = direction @ self._rise(slopes, low, high)
            bend = direction @ self._bend(slopes, low, high, self.design.middle)
            if place.told:
                slope = told[id(place)]
                even, left = (place.spread((slope * part)[None])[0] for part in (place.half, place.slack))
                line = np.hypot(line - even, left)
            variance += float(squares @ (uneven * (line**2 / 3.0 + bend**2 * 4.0 / 45.0)))
        return variance

    def terms_of(self, slopes: Floats, direction: Floats) -> list[tuple[float, Product]]:
        """Σ direction·equations as a sum of noisy numbers."""
        parts = [(float(w), part) for w, part in zip(direction, self.products, strict=True)]
        parts.append((-1.0, Product(((self.joint, direction @ self._means(slopes)),))))
        for place, slope, _ in self._within(slopes):
            across = direction @ slope
            parts += [(-1.0, Product(((sums, across @ spread),))) for sums, spread in place.summed_offsets]
        return parts

    def noise(self, rows: Sequence[list[tuple[float, Product]]]) -> Floats:
        """The covariance of such sums by the noise of all blocks."""
        tabulated = self.evidence.tabulation
        assert tabulated is not None  # the counts came from it
        return covariance_of(rows, tabulated.sigmas)

    def test(self, slopes: Floats, fixed: int, value: float) -> "tuple[Floats, float, float] | None":
        """With one coefficient at a value: all others, what is left of its equation, and that one's error."""
        inverse = np.linalg.pinv(self.derivative(slopes))
        start = slopes + (value - slopes[fixed]) * inverse[:, fixed] / inverse[fixed, fixed]
        start[fixed] = value
        found = self._newton(start, fixed, _NEARER)
        if found is None:
            return None
        across = np.linalg.pinv(self.derivative(found))[fixed]
        if not across[fixed] > 0.0:
            return None
        direction = across / across[fixed]
        variance = float(self.noise([self.terms_of(found, direction)])[0, 0])
        variance += float(direction @ self.sampling @ direction) + self.inside(found, direction)
        left = float(direction @ self.equations(found))
        return found, left, math.sqrt(max(0.0, variance))

    def _start(self) -> Floats:
        """All coefficients 0 but the intercept, which gives the mean of the response."""
        share = self.wanted[0] / max(1.0, float((self.joint.counts * self.known).sum()))
        start = np.zeros(len(self.terms))
        if self.family is Family.LOGISTIC:
            start[0] = math.log(min(max(share, 0.01), 0.99) / (1.0 - min(max(share, 0.01), 0.99)))
        elif self.family is Family.POISSON:
            start[0] = math.log(max(share, 1e-3))
        return start

    def _ran_away(self, slopes: Floats) -> bool:
        average = float(self.joint.shares @ np.abs(slopes @ self.design.middle))
        return self.family is Family.LOGISTIC and average > CERTAIN

    def _told_by(self, formula: str, slopes: Floats) -> Regression:
        derivative = self.derivative(slopes)
        clear, inverse = self._clear(derivative, slopes), np.linalg.pinv(derivative)
        sums = [self.terms_of(slopes, line) for line in inverse]
        noise, sampling = np.diag(self.noise(sums)), np.diag(inverse @ self.sampling @ inverse.T)
        population = self.evidence.target is Target.POPULATION
        estimates = {}
        for k, term in enumerate(self.terms):
            parts = Parts(
                noise=math.sqrt(max(0.0, float(noise[k]))) if clear else math.inf,
                inside=math.sqrt(self.inside(slopes, inverse[k])),
                sampling=math.sqrt(max(0.0, float(sampling[k]))),
            )
            source = ProductSource(evidence=self.evidence, terms=tuple(sums[k]))
            limits = ScoreLimits(equations=self, slopes=slopes, place=k, parts=parts, laplace=source.laplace)
            estimates[term.name] = Estimate(
                value=float(slopes[k]),
                parts=parts,
                limits=limits if clear else UnknownLimits(),
                target=self.evidence.target,
                about=f"{term.name} in {formula}",
                remark=_REMARK if clear else "the noise hides how the variables go together: no bounded interval",
                source=None if population or not clear else source,
            )
        return Regression(formula, estimates, self._model(slopes, np.asarray(inverse)) if clear else None)

    def _model(self, slopes: Floats, inverse: NDArray[Any]) -> FittedModel:
        """What the coefficients expect of other rows."""

        def error(direction: Floats) -> float:
            line = direction @ inverse
            variance = float(self.noise([self.terms_of(slopes, line)])[0, 0]) + self.inside(slopes, line)
            return math.sqrt(max(0.0, variance + float(line @ self.sampling @ line)))

        return FittedModel(
            evidence=self.evidence, family=self.family, terms=tuple(self.terms), slopes=slopes, error=error
        )

    def _no_solution(self, formula: str, term: Term) -> Estimate:
        remark = "the noisy counts have no solution: too little signal for this model"
        about = f"{term.name} in {formula}"
        lost = Estimate.normal(math.nan, noise=math.inf, target=self.evidence.target, about=about)
        return replace(lost, remark=remark)

    def _clear(self, derivative: Floats, slopes: Floats) -> bool:
        """Whether J is surely not singular: its least eigenvalue, on a common scale, beside the noise of that."""
        scale = np.sqrt(np.maximum(np.diag(derivative), 0.0))
        if not np.all(scale > 0.0):
            return False
        roots, vectors = np.linalg.eigh(derivative / np.outer(scale, scale))
        direction, slope = vectors[:, 0] / scale, self.family.mean(slopes @ self.design.middle)[1]
        function = (direction @ self.design.middle) ** 2 * slope * self.known
        error = math.sqrt(max(0.0, float(self.joint.joint([function])[1][0, 0])))
        return bool(roots[0] > max(WEAK * error, _SINGULAR))

    def _sampling_covariance(self, slopes: Floats) -> Floats:
        """The covariance of the equations over tables drawn from the population, from the synthetic rows; robust."""
        rows, weights = self.evidence.rows, self.evidence.weights
        count = len(self.terms)
        if self.evidence.target is Target.TABLE:
            return np.zeros((count, count))
        if rows is None or weights is None:
            raise ParameterError(f"{self.family.value}: a population needs synthetic rows; ask with target='table'.")
        used = set().union(*(term.columns for term in (*self.terms, self.response)))
        declared = {index: self.evidence.schema.columns[index] for index in used}
        codes = {index: column.encode(rows.column(column.name)) for index, column in declared.items()}
        values = np.stack([term.of_codes(codes) for term in self.terms])
        left = self.response.of_codes(codes) - self.family.mean(slopes @ values)[0]
        scores = values * (left * self.present[codes[next(iter(self.response.columns))]])
        found: Floats = self.evidence.total * (scores * self.evidence.row_shares) @ scores.T
        return found


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreLimits(ConfidenceLimits):
    """The values of a coefficient at which its equation, all others solved, is 0 up to its error.

    The ends to first order are tested; where a test says that they are not the ends, these are searched for.
    """

    equations: _Equations
    slopes: Floats
    place: int
    parts: Parts
    laplace: bool
    _found: dict[float, Interval] = field(default_factory=dict, repr=False, compare=False)  # by level

    def at(self, level: float) -> Interval:
        if level not in self._found:
            self._found[level] = self._end(level, -1.0), self._end(level, 1.0)
        return self._found[level]

    def _end(self, level: float, side: float) -> float:
        error, value = self.parts.standard_error, float(self.slopes[self.place])
        if not math.isfinite(error):
            return side * math.inf
        reach = critical_value(level, laplace=self.laplace) * error
        if reach == 0.0:
            return value
        slopes, inside, step = self.slopes, 0.0, reach
        for _ in range(_TRIES):
            tested = self._test(slopes, value + side * step, level)
            if tested is None:
                return side * math.inf
            slopes, over = tested
            if abs(over) < _ENOUGH:
                return value + side * step
            if over > 0.0:
                return value + side * self._between(inside, step, level, side)
            inside, step = step, 2.0 * step
        return side * math.inf

    def _between(self, inside: float, outside: float, level: float, side: float) -> float:
        """The end, between a value that is plausible and one that is not; at the outer one where nothing is solved."""
        slopes, value = self.slopes, float(self.slopes[self.place])
        for _ in range(_TRIES):
            middle = 0.5 * (inside + outside)
            tested = self._test(slopes, value + side * middle, level)
            if tested is None or abs(tested[1]) < _ENOUGH:
                return outside if tested is None else middle
            slopes, over = tested
            inside, outside = (inside, middle) if over > 0.0 else (middle, outside)
        return outside

    def _test(self, slopes: Floats, value: float, level: float) -> tuple[Floats, float] | None:
        """All coefficients with this one at a value, and how far beyond the critical value its test is: a share."""
        found = self.equations.test(slopes, self.place, value)
        if found is None:
            return None
        others, left, error = found
        if error == 0.0:
            return others, 1.0 if abs(left) > 0.0 else -1.0
        return others, abs(left) / (critical_value(level, laplace=self.laplace) * error) - 1.0
