"""A model that was fitted: what it expects of other rows, how far a covariate moves that, and joint tests."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa
from scipy.special import expit, gammaincc

from kernelease.analysis.estimands import NUMERIC, numbers_of
from kernelease.analysis.estimate import Estimate
from kernelease.analysis.groups import Groups, Label
from kernelease.analysis.inference import TestResult
from kernelease.analysis.representatives import YEAR
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.table.columns.column import Column

if TYPE_CHECKING:
    from kernelease.analysis.design import Term, Variable
    from kernelease.analysis.evidence import Evidence

STEP = 1e-3  # convention: of a number's standard deviation, by which it is moved to see how far the response goes along


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
@dataclass(frozen=True, slots=True, kw_only=True)
class FittedModel:
    """Coefficients of terms of the covariates, and the standard error of any weighted sum of them.

    Everything here is to first order in the coefficients' errors.
    """

    evidence: "Evidence"
    family: Family
    terms: "tuple[Term, ...]"
    slopes: Floats  # (terms,)
    error: Callable[[Floats], float]  # of direction·slopes, by noise, sampling and what is inside of cells

    @property
    def names(self) -> tuple[str, ...]:
        """Of the coefficients."""
        return tuple(term.name for term in self.terms)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The covariates, in the order of the formula."""
        found = dict.fromkeys(variable.column for term in self.terms for variable in term.factors)
        return tuple(self.evidence.schema.columns[index] for index in found)

    def design(self, rows: pa.Table) -> Floats:
        """The terms on some rows: (rows, terms)."""
        ones = np.ones(rows.num_rows)
        return np.stack(
            [math.prod((self._variable(one, rows) for one in term.factors), start=ones) for term in self.terms], axis=1
        )

    def _variable(self, variable: "Variable", rows: pa.Table) -> Floats:
        column = self.evidence.schema.columns[variable.column]
        if variable.factor is None or column.tag not in NUMERIC:
            return np.asarray(variable.values[column.encode(rows.column(column.name))])
        numbers = numbers_of(column, rows)
        missing = np.isnan(numbers)
        return np.where(missing, 0.0, variable.factor.function(np.where(missing, 1.0, numbers)))

    def predict(self, rows: Mapping[str, Sequence[Any]], about: str) -> Groups:
        """The mean of the response for some values of the covariates, each with its interval: a confidence band."""
        table = self._table(rows)
        design, names = self.design(table), [column.name for column in self.columns]
        labels = zip(*(map(_label, table.column(name).to_pylist()) for name in names), strict=True)
        estimates: dict[Label, Estimate] = {}
        for label, line in zip(labels, design, strict=True):
            key = label[0] if len(names) == 1 else label
            estimates[key] = self._expectation(line, f"{about} for {', '.join(label)}")
        return Groups(names[0] if len(names) == 1 else tuple(names), estimates)

    def _expectation(self, line: Floats, about: str) -> Estimate:
        predictor = Estimate.normal(float(line @ self.slopes), noise=self.error(line), target=self.evidence.target)
        found = predictor if self.family == "linear" else predictor.exp()
        if self.family == "logistic":  # odds to a share
            found = 1.0 / (1.0 + 1.0 / found)
        return Estimate(value=found.value, parts=found.parts, limits=found.limits, target=found.target, about=about)

    def _table(self, rows: Mapping[str, Sequence[Any]]) -> pa.Table:
        """Values of the covariates as rows; a single value stands for all of them."""
        missing = [column.name for column in self.columns if column.name not in rows]
        if missing:
            raise ParameterError(f"predict: needs values of {', '.join(missing)}, as in {{'{missing[0]}': [...]}}.")
        given = {column.name: _several(rows[column.name]) for column in self.columns}
        length = max(map(len, given.values()))
        if any(len(values) not in (1, length) for values in given.values()):
            raise ParameterError(f"predict: needs as many values of each column, {length} or a single one.")
        arrays = {}
        for column in self.columns:
            values = given[column.name] * (length if len(given[column.name]) == 1 else 1)
            try:
                arrays[column.name] = pa.array(values, type=column.arrow_type)
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                raise ParameterError(f"predict: {column.name!r} is {column.tag}; got {values[0]!r}.") from None
        return pa.table(arrays)

    def effects(self) -> Groups:
        """How far the mean response moves on average: per unit of a number, or from a category's first value on.

        The average is over the synthetic rows, whose own error is not in it.
        """
        rows, weights = self.evidence.rows, self.evidence.weights
        if rows is None or weights is None:
            raise ParameterError("effects: needs the synthetic rows, over which it is averaged.")
        shares = self.evidence.row_shares
        found: dict[Label, Estimate] = {}
        for column in self.columns:
            for label, low, high, unit in _changes(column, rows):
                found[label] = self._effect(label, (low, high), shares, unit)
        return Groups("term", found)

    def _effect(self, label: str, both: tuple[pa.Table, pa.Table], shares: Floats, unit: float) -> Estimate:
        (low, down), (high, up) = (self._mean(rows, shares) for rows in both)
        value, direction = (high - low) / unit, (up - down) / unit
        about = f"average effect of {label}"
        return Estimate.normal(value, noise=self.error(direction), target=self.evidence.target, about=about)

    def _mean(self, rows: pa.Table, shares: Floats) -> tuple[float, Floats]:
        """The mean response over rows, and its gradient by the coefficients."""
        design = self.design(rows)
        mean, slope = self.family.mean(design @ self.slopes)
        return float(shares @ mean), (shares * slope) @ design

    def test(self, names: Sequence[str], formula: str) -> TestResult:
        """Wald's test that several coefficients are all 0: their squares in units of their errors."""
        chosen = [self.names.index(name) for name in names]
        every = np.eye(len(self.slopes))[chosen]
        errors = np.array([self.error(line) ** 2 for line in every])
        covariance = np.array([[self._square(one + other) for other in every] for one in every])
        covariance = 0.5 * (covariance - errors[:, None] - errors)
        roots, vectors = np.linalg.eigh(covariance)
        known = roots > np.finfo(float).eps * max(float(roots.max()), 0.0) * len(roots)
        left = vectors.T[known] @ self.slopes[chosen]
        statistic = float(left**2 @ (1.0 / roots[known]))
        p_value = float(gammaincc(0.5 * int(known.sum()), 0.5 * statistic)) if math.isfinite(statistic) else 1.0
        hypothesis = f"{', '.join(names)} in {formula} are all 0"
        return TestResult(hypothesis=hypothesis, statistic=statistic, p_value=p_value, draws=None)

    def _square(self, direction: Floats) -> float:
        return self.error(direction) ** 2


def _several(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (list, tuple, np.ndarray, range)) else [values]


def _label(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _changes(column: Column, rows: pa.Table) -> list[tuple[str, pa.Table, pa.Table, float]]:
    """What is changed in all rows to see an effect: label, rows before, rows after, and by how many units."""
    place = rows.column_names.index(column.name)
    if column.tag in ("integer", "number") or column.tag in YEAR:
        if column.tag in YEAR:
            return []
        numbers = numbers_of(column, rows)
        step = STEP * (float(np.nanstd(numbers)) or 1.0)
        both = [rows.set_column(place, column.name, pa.array(numbers + side * step)) for side in (-1.0, 1.0)]
        return [(column.name, both[0], both[1], 2.0 * step)]
    every = column.decode(np.arange(column.size), np.random.default_rng(0))
    labels = column.labels()

    def all_at(atom: int) -> pa.Table:
        same = pa.concat_arrays([every.slice(atom, 1)]).take(pa.array(np.zeros(rows.num_rows, dtype=np.int64)))
        return rows.set_column(place, column.name, same)

    return [(f"{column.name}[{labels[atom]}]", all_at(0), all_at(atom), 1.0) for atom in range(1, column.size)]
