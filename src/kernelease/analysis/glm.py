"""Generalised linear models from noisy counts: logistic, log-linear (Poisson) and linear, with interactions.

The coefficients β solve Σ t·(y − μ(t·β)) = 0 over the rows, for variables t of the covariates. Σ t·y is a sum over the
response and the columns of one variable, and Σ t·μ(t·β) one over the covariates: both are linear in counts. So two
covariates need pairs only, and the noise of the equations is known whatever β is. It is carried over to β by the
derivative J = Σ μ′·t·tᵀ. A number counts as the average of its cell: that is exact where the model holds within cells.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import final

import numpy as np
from scipy.special import expit

from kernelease.analysis.estimands import NUMERIC
from kernelease.analysis.estimate import CombinedSource, Estimate, Source, Target, Weights, covariance
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.groups import Regression
from kernelease.analysis.ratio_estimator import MarginalSource
from kernelease.analysis.representatives import LEAST, YEAR, atom_numbers
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.estimate.marginal import Marginal
from kernelease.table.columns.column import Codes, Column

WEAK = 3.0  # standard errors by which the least eigenvalue of J must differ from 0
_SINGULAR = 1e-8  # of J on a common scale: less is a solution at odds of 0 or infinity, which has no derivative
CERTAIN = 20.0  # log-odds that no table shows: a solution with such has run away from counts that have none
_STEPS = 200  # of Newton's method; ten suffice where there is a solution
_LOST = 1e100  # a step so long is none towards a solution: nearly no row has some value of a covariate
_LONGEST = 2.0  # that a step may move a logarithm of odds or rates
_NEAR = 1e-9  # of the linear predictor: a step so short is the last
_REMARK = "numbers count as the average of their cell: exact where the model holds within cells"
_FORMULA = re.compile(r"\s*([^~]+?)\s*~\s*([^~]+?)\s*")
_HOW = "Write ill ~ age + sex, or ill ~ age * sex with their interaction."


@final
@unique
class Family(StrEnum):
    """How the mean of the response follows from the linear predictor."""

    LINEAR = "linear"
    LOGISTIC = "logistic"
    POISSON = "poisson"

    @property
    def latent(self) -> float | None:
        """The standard deviation of a linear predictor that says much: of a logistic law, or of a factor of e."""
        return {Family.LOGISTIC: math.pi / math.sqrt(3.0), Family.POISSON: 1.0}.get(self)

    def mean(self, predictor: Floats) -> tuple[Floats, Floats]:
        """μ and its derivative."""
        if self is Family.LINEAR:
            return predictor, np.ones_like(predictor)
        if self is Family.LOGISTIC:
            share = np.asarray(expit(predictor))
            return share, share * (1.0 - share)
        rate = np.exp(np.minimum(predictor, 50.0))
        return rate, rate


@final
@dataclass(frozen=True, slots=True)
class Variable:
    """A function of one column, by atom: (atoms,); 0 for NULL of a number."""

    name: str
    column: int
    values: Floats


@final
@dataclass(frozen=True, slots=True)
class Term:
    """A product of variables of different columns; of none, the intercept."""

    factors: tuple[Variable, ...]

    @property
    def name(self) -> str:
        """The term as a formula writes it."""
        return ":".join(factor.name for factor in self.factors) or "intercept"

    @property
    def columns(self) -> set[int]:
        """The columns that it reads."""
        return {factor.column for factor in self.factors}

    def on(self, evidence: Evidence, marginal: Marginal) -> Floats:
        """Its average on the cells of a marginal: (cells,)."""
        return np.asarray(math.prod((_on_cells(evidence, one, marginal) for one in self.factors), start=np.ones(1))) * (
            np.ones(marginal.size)
        )

    def of_codes(self, codes: Mapping[int, Codes]) -> Floats:
        """Its value on rows, given the atoms of each column."""
        rows = len(next(iter(codes.values())))
        return np.asarray(math.prod((one.values[codes[one.column]] for one in self.factors), start=np.ones(rows)))


def generalised_regression(evidence: Evidence, formula: str, family: Family) -> Regression:
    """The coefficients of a model, each with its interval, over the rows that have a response."""
    match = _FORMULA.fullmatch(formula)
    if match is None:
        raise ParameterError(f"{family.value}: can't read {formula!r}. {_HOW}")
    response = _response(evidence, match[1].strip(), family)
    terms = _terms(evidence, match[2], response.column, family)
    return _Equations(evidence, family, response, terms).solve(formula)


def trend(evidence: Evidence, column: str, over: str) -> Estimate:
    """The slope of a number, or of the share of true, over a column of numbers or dates: per unit, or per year."""
    ordered = evidence.numeric(over, "trend", ("integer", "number", *YEAR))
    found = generalised_regression(evidence, f"{column} ~ {ordered.name}", Family.LINEAR)[ordered.name]
    unit = "per year" if ordered.tag in YEAR else f"per unit of {over}"
    return Estimate(
        value=found.value,
        parts=found.parts,
        limits=found.limits,
        target=found.target,
        about=f"trend of {column} {unit}",
        remark=found.remark,
        possible=found.possible,
        source=found.source,
    )


@final
class _Equations:
    """Σ t·y − Σ t·μ(t·β) = 0 and its solution."""

    def __init__(self, evidence: Evidence, family: Family, response: Variable, terms: Sequence[Term]) -> None:
        self.evidence, self.family, self.terms = evidence, family, terms
        self.response = Term((response,))
        self.present = ~np.isnan(atom_numbers(evidence.schema.columns[response.column]))
        covariates = set().union(*(term.columns for term in terms))
        whole = self._marginal(covariates | {response.column}, needed=not self.present.all())
        joint = whole or self._marginal(covariates, needed=True)
        assert joint is not None  # it was needed
        self.joint = joint
        self.design = np.stack([term.on(evidence, joint) for term in terms])
        self.known = np.ones(joint.size)
        if whole is not None:
            known = Variable("", response.column, self.present.astype(np.float64))
            self.known = Term((known,)).on(evidence, joint)
        self.products = [self._product(term, whole) for term in terms]

    def _marginal(self, columns: set[int], *, needed: bool) -> Marginal | None:
        measured = self.evidence.marginals(tuple(sorted(columns)))
        if measured:
            return max(measured, key=lambda one: one.size)
        if not needed:
            return None
        instead = "Take fewer covariates, no interaction, or all rows; regression() needs pairs of columns only."
        raise self.evidence.not_together(columns, self.family.value, instead)

    def _product(self, term: Term, whole: Marginal | None) -> tuple[Marginal, Floats]:
        """Σ t·y as a function of measured cells."""
        marginal = whole or self._marginal(term.columns | self.response.columns, needed=True)
        assert marginal is not None  # it was needed
        return marginal, term.on(self.evidence, marginal) * self.response.on(self.evidence, marginal)

    def solve(self, formula: str) -> Regression:
        """Newton's method with the derivative on the nearest distribution, and the errors of where it ends."""
        wanted = np.array([float(function @ marginal.counts) for marginal, function in self.products])
        counts = self.joint.counts * self.known
        weights = np.maximum(self.joint.shares * self.known * max(1.0, self.evidence.total), LEAST)
        slopes = self._start(wanted, counts)
        for _ in range(_STEPS):
            mean, slope = self.family.mean(slopes @ self.design)
            derivative = (self.design * (weights * slope)) @ self.design.T
            step = np.linalg.lstsq(derivative, wanted - self.design @ (counts * mean), rcond=None)[0]
            largest = float(np.abs(step @ self.design).max())
            whole = self.family is Family.LINEAR  # one step is exact there; elsewhere a long one would overshoot
            slopes = slopes + step * (1.0 if whole else min(1.0, _LONGEST / max(largest, 1e-300)))
            if largest > _LOST:
                return self._told(formula, slopes, None)
            if largest < _NEAR * (1.0 + float(np.abs(slopes @ self.design).max())):
                break
        else:
            return self._told(formula, slopes, None)
        ran_away = self.family is Family.LOGISTIC and float(np.abs(slopes @ self.design).max()) > CERTAIN
        return self._told(formula, slopes, None if ran_away else derivative)

    def _start(self, wanted: Floats, counts: Floats) -> Floats:
        """All coefficients 0 but the intercept, which gives the mean of the response."""
        share = wanted[0] / max(1.0, float(counts.sum()))
        start = np.zeros(len(self.terms))
        if self.family is Family.LOGISTIC:
            start[0] = math.log(min(max(share, 0.01), 0.99) / (1.0 - min(max(share, 0.01), 0.99)))
        elif self.family is Family.POISSON:
            start[0] = math.log(max(share, 1e-3))
        return start

    def _told(self, formula: str, slopes: Floats, derivative: Floats | None) -> Regression:
        if derivative is None:
            return Regression(formula, {term.name: self._lost(formula, term) for term in self.terms})
        mean, slope = self.family.mean(slopes @ self.design)
        sources = [self._source(k, mean) for k in range(len(self.terms))]
        clear = self._clear(derivative, slope)
        inverse = np.linalg.pinv(derivative)
        noise = inverse @ _covariances([one.weights() for one in sources]) @ inverse.T
        sampling = inverse @ self._sampling(slopes) @ inverse.T
        estimates = {}
        for k, term in enumerate(self.terms):
            population = self.evidence.target is Target.POPULATION
            source = CombinedSource(tuple(zip(inverse[k].tolist(), sources, strict=True)))
            estimates[term.name] = Estimate.normal(
                float(slopes[k]),
                noise=math.sqrt(max(0.0, float(noise[k, k]))) if clear else math.inf,
                sampling=math.sqrt(max(0.0, float(sampling[k, k]))),
                target=self.evidence.target,
                about=f"{term.name} in {formula}",
                remark=_REMARK if clear else "the noise hides how the variables go together: no bounded interval",
                source=None if population or not clear else source,
            )
        return Regression(formula, estimates)

    def _lost(self, formula: str, term: Term) -> Estimate:
        remark = "the noisy counts have no solution: too little signal for this model"
        about = f"{term.name} in {formula}"
        return Estimate.normal(math.nan, noise=math.inf, target=self.evidence.target, about=about, remark=remark)

    def _source(self, k: int, mean: Floats) -> Source:
        """The error of equation k at the solution."""
        marginal, function = self.products[k]
        first = MarginalSource(evidence=self.evidence, marginal=marginal, function=function)
        rest = self.design[k] * mean * self.known
        if marginal is self.joint:
            return MarginalSource(evidence=self.evidence, marginal=marginal, function=function - rest)
        second = MarginalSource(evidence=self.evidence, marginal=self.joint, function=rest)
        return CombinedSource(((1.0, first), (-1.0, second)))

    def _clear(self, derivative: Floats, slope: Floats) -> bool:
        """Whether J is surely not singular: its least eigenvalue, on a common scale, beside the noise of that."""
        scale = np.sqrt(np.maximum(np.diag(derivative), 0.0))
        if not np.all(scale > 0.0):
            return False
        roots, vectors = np.linalg.eigh(derivative / np.outer(scale, scale))
        direction = vectors[:, 0] / scale
        function = (direction @ self.design) ** 2 * slope * self.known
        error = math.sqrt(max(0.0, float(self.joint.joint([function])[1][0, 0])))
        return bool(roots[0] > max(WEAK * error, _SINGULAR))

    def _sampling(self, slopes: Floats) -> Floats:
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
        shares = np.maximum(weights, 0.0) / np.maximum(weights, 0.0).sum()
        found: Floats = self.evidence.total * (scores * shares) @ scores.T
        return found


def _covariances(weights: Sequence[Weights]) -> Floats:
    return np.array([[covariance(one, other) for other in weights] for one in weights])


def _on_cells(evidence: Evidence, variable: Variable, marginal: Marginal) -> Floats:
    """The average of a variable on each cell, by the column's own counts: (cells,)."""
    axis = marginal.columns.index(variable.column)
    groups, shares = marginal.groups[axis], evidence.shares(variable.column) + LEAST
    total, sums = (np.bincount(groups, weights=shares * part) for part in (np.ones(len(groups)), variable.values))
    shape = [-1 if other == axis else 1 for other in range(len(marginal.shape))]
    return np.broadcast_to((sums / total).reshape(shape), marginal.shape).ravel()


def _response(evidence: Evidence, name: str, family: Family) -> Variable:
    tags = ("boolean",) if family is Family.LOGISTIC else NUMERIC
    column = evidence.numeric(name, family.value, tags)
    values = np.nan_to_num(atom_numbers(column))
    if family is Family.POISSON and values.min() < 0.0:
        raise ParameterError(f"poisson: {name!r} may be negative; a log-linear model is of numbers from 0 on.")
    return Variable(name, evidence.schema.names.index(name), values)


def _terms(evidence: Evidence, right: str, response: int, family: Family) -> list[Term]:
    """The variables of the right side: columns, a:b for products, a * b for both and their product."""
    sets: dict[tuple[str, ...], None] = {}
    for part in right.split("+"):
        given = [name.strip().strip('`"') for name in re.split(r"[*:]", part)]
        if not all(given) or len(given) > 2 or len(set(given)) < len(given):
            raise ParameterError(f"{family.value}: {part.strip()!r} is no column and no product of two. {_HOW}")
        for name in given if "*" in part else ():
            sets[name,] = None
        sets[tuple(given)] = None
    terms = [Term(())]
    for names in sets:
        parts = [_variables(evidence, evidence.column(name)) for name in names]
        if any(one.column == response for part in parts for one in part):
            raise ParameterError(f"{family.value}: the response can't be on the right side, too.")
        pairs = [(one,) for one in parts[0]] if len(parts) == 1 else [(a, b) for a in parts[0] for b in parts[1]]
        terms += [Term(factors) for factors in pairs]
    return terms


def _variables(evidence: Evidence, column: Column) -> list[Variable]:
    """A number or date as it is, with a variable for NULL; a category as one variable per value but the first."""
    index = evidence.schema.names.index(column.name)
    labels = column.labels()
    if column.tag not in (*NUMERIC, *YEAR):
        every = np.arange(column.size)
        return [Variable(f"{column.name}[{labels[a]}]", index, (every == a).astype(float)) for a in every[1:]]
    centres = atom_numbers(column)
    missing = np.isnan(centres)
    found = [Variable(column.name, index, np.where(missing, 0.0, np.nan_to_num(centres)))]
    if missing.any():
        found.append(Variable(f"{column.name}[{labels[int(np.argmax(missing))]}]", index, missing.astype(float)))
    return found
