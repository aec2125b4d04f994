"""The model's guess: what the fitted rows say after one step toward all noisy numbers, with an interval by replicates.

An answer of a release is unbiased: it takes nothing for known but what was measured. Rows know more, such as that
counts are not negative and that columns go together smoothly. Where noise is large beside what is asked about, as for
correlations of skewed numbers, their guess is often nearer, and it is wrong where the model is: so it has to be asked
for by name.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias, cast, final

import numpy as np
import pyarrow as pa

from kernelease.analysis.design import model_terms, response_numbers
from kernelease.analysis.estimands import Columns, columns_read, evaluate_function, numbers_of
from kernelease.analysis.estimate import Estimate, Parts
from kernelease.analysis.fitted import Family, FittedModel
from kernelease.analysis.groups import Regression
from kernelease.analysis.regression import judge, judged_trend
from kernelease.analysis.representatives import atom_numbers
from kernelease.analysis.spread import variance
from kernelease.answers.habits import in_words
from kernelease.answers.replicates import FIT, OWN, Replicates, StudentLimits, replicates_of
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.table.expressions.formulas import ModelFormula

if TYPE_CHECKING:
    from kernelease.answers.questions import Among

COUNT = 20  # convention: of replicates, as of `release.forms.replicates`
REMARK = "by the model: one step from the fitted rows, its error by replicates; not the unbiased answer"
MOST_STEPS = 100  # limit: of Newton's method for a model
Weighted: TypeAlias = Callable[[Floats], Any]
"""A statistic of the rows as a function of their weights: a number, or numbers by name."""


@final
@dataclass(frozen=True, slots=True)
class ModelQuestions:
    """Questions to the model's rows: `release.ask.estimate("model").correlation("age", "income")`.

    Each answer says that it is the model's. What columns were not measured together is refused, as everywhere.
    """

    _among: "Among"

    def where(self, condition: str) -> "ModelQuestions":
        """Questions about the rows for which one more condition is true."""
        return ModelQuestions(self._among.narrow(condition, None, None))

    def of(self, whose: str) -> "ModelQuestions":
        """Questions about the private "table", or about the "population" that it was drawn from."""
        return ModelQuestions(self._among.narrow(None, None, whose))

    @in_words
    def mean(self, column: str) -> Estimate:
        """The mean of a column of numbers or booleans, over the rows that have a value."""
        x, numbers = self._numbers(column), atom_numbers(self._among.evidence.column(column))
        found = self._estimate([column], lambda w: _mean(x, w), f"mean of {column}")
        return _within(found, float(np.nanmin(numbers)), float(np.nanmax(numbers)))

    @in_words
    def probability(self, event: str) -> Estimate:
        """The share of rows for which a condition is true."""
        told = self._among.evidence.where(event)
        x = told.of(self._sets.rows)
        return _within(self._estimate(told.columns, lambda w: _mean(x, w), f"probability of {event}"), 0.0, 1.0)

    @in_words
    def expectation(self, function: Callable[[Columns], Any]) -> Estimate:
        """The mean of a function of a row: `lambda t: np.log1p(t["gain"])`. NaN leaves a row out."""
        rows = self._sets.rows
        names, x = columns_read(function, rows.slice(0, 2)), evaluate_function(function, Columns(rows))
        return self._estimate(names, lambda w: _mean(x, w), "expectation")

    @in_words
    def quantile(self, column: str, share: float) -> Estimate:
        """The least number that at least a share of the rows do not exceed; 0.5 is the median."""
        if not 0.0 < share < 1.0:
            raise ParameterError(f"quantile: share must be between 0 and 1, got {share!r}.")
        x = self._numbers(column)
        order = np.argsort(x, kind="stable")  # NaN are last

        def quantile(weights: Floats) -> float:
            below = np.cumsum(np.where(np.isnan(x), 0.0, weights)[order])
            return float(x[order][np.searchsorted(below, share * below[-1])])

        return self._estimate([column], quantile, f"{share:g} quantile of {column}", smooth=False)

    @in_words
    def standard_deviation(self, column: str) -> Estimate:
        """How far a number is from its mean, a root mean square."""
        return replace(self.variance(column).sqrt(), about=f"standard deviation of {column}", remark=REMARK)

    @in_words
    def variance(self, column: str) -> Estimate:
        """The mean square of how far a number is from its mean."""
        x = self._numbers(column)
        found = self._estimate([column], lambda w: _covariance(x, x, w), f"variance of {column}")
        return _within(found, 0.0, math.inf)

    @in_words
    def gini(self, column: str) -> Estimate:
        """How unequal a number is among rows: 0 where all have the same, near 1 where one has it all."""
        x = self._numbers(column)
        order = np.argsort(x, kind="stable")

        def gini(weights: Floats) -> float:
            w, y = np.where(np.isnan(x), 0.0, weights)[order], np.nan_to_num(x[order])
            middle = np.cumsum(w) - 0.5 * w
            return float(2.0 * (w * y) @ middle / (w.sum() * (w @ y)) - 1.0)

        return _within(self._estimate([column], gini, f"Gini coefficient of {column}"), 0.0, 1.0)

    @in_words
    def correlation(self, first: str, second: str) -> Estimate:
        """The correlation of two columns of numbers or booleans."""
        x, y = self._both(first, second)

        def correlation(w: Floats) -> float:
            return _covariance(x, y, w) / float(np.sqrt(_covariance(x, x, w) * _covariance(y, y, w)))

        found = self._estimate([first, second], correlation, f"correlation of {first} and {second}")
        return _within(found, -1.0, 1.0)

    @in_words
    def trend(self, column: str, over: str) -> Estimate:
        """The slope of a number, or of the share of true, over a number."""
        y, x = self._both(column, over)
        about = f"trend of {column} over {over}"
        found = self._estimate([column, over], lambda w: _covariance(x, y, w) / _covariance(x, x, w), about)
        return judged_trend(self._among.evidence, self._with_doubt(found, column, [over]), column, over)

    @in_words
    def regression(self, formula: str) -> Regression:
        """Least squares: "hours ~ age + sex"."""
        return self._model(formula, Family.LINEAR)

    @in_words
    def logistic(self, formula: str) -> Regression:
        """A model of the odds of a boolean, or of one value of a category: "ill ~ age", "work[Private] ~ age"."""
        return self._model(formula, Family.LOGISTIC)

    @in_words
    def poisson(self, formula: str) -> Regression:
        """A log-linear model of a number from 0 on: "visits ~ age + sex"."""
        return self._model(formula, Family.POISSON)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'ModelQuestions' object has no attribute {name!r}")
        known = ", ".join(one for one in dir(type(self)) if not one.startswith("_"))
        raise AttributeError(f"{name}: the model is asked for {known}. Ask the release itself: release.ask.{name}.")

    # --------------------
    # The rows, and how a statistic of them is made an answer.

    @property
    def _sets(self) -> Replicates:
        release, target = cast(Any, self._among.release), self._among.of
        if self._among.by is not None:
            raise ParameterError('estimate="model": takes no by. Ask with where for each group instead.')
        if target not in release._replicates:
            release._replicates[target] = replicates_of(release, COUNT, target=target, seed=0)
        return cast(Replicates, release._replicates[target])

    def _numbers(self, name: str) -> Floats:
        """A column of numbers, NaN for NULL."""
        return numbers_of(self._among.evidence.numeric(name, "model"), self._sets.rows)

    def _both(self, first: str, second: str) -> tuple[Floats, Floats]:
        """Two columns where both have a number."""
        x, y = self._numbers(first), self._numbers(second)
        either = np.isnan(x) | np.isnan(y)
        return np.where(either, np.nan, x), np.where(either, np.nan, y)

    def _estimate(self, columns: Iterable[str], statistic: Weighted, about: str, *, smooth: bool = True) -> Estimate:
        found = self._pool([tuple(columns)], lambda w: {"": statistic(w)}, about, smooth=smooth)
        return found[""]

    def _pool(
        self, together: Sequence[tuple[str, ...]], statistic: Weighted, about: str, *, smooth: bool = True
    ) -> dict[str, Estimate]:
        """The statistic on all weights of the chosen rows, as answers that say whose they are."""
        sets, chosen = self._sets, self._among.evidence.where(self._among.where)
        flags = chosen.of(sets.rows)
        for names in together:
            sets.check(tuple(dict.fromkeys((*names, *chosen.columns))))
        told = about if self._among.where is None else f"{about} where {self._among.where}"
        with np.errstate(invalid="ignore", divide="ignore"):  # of no rows: `pool` refuses what is not finite
            results = [statistic(weights * flags) for weights in sets.weights]
            back = statistic((2.0 * sets.weights[FIT] - sets.weights[OWN]) * flags) if smooth else results[FIT]
        found = {}
        for name in results[FIT]:
            one = cast(
                Estimate, sets.pool([result[name] for result in results], about=f"{name} in {told}" if name else told)
            )
            bend = 0.5 * (results[OWN][name] + back[name] - 2.0 * results[FIT][name]) / sets.step**2 if smooth else 0.0
            found[name] = _bend(one, bend, len(sets) - 2)
        return found

    def _model(self, formula: str, family: Family) -> Regression:
        parsed, evidence, rows = ModelFormula.parse(formula), self._among.evidence, self._sets.rows
        tags = ("boolean",) if family is Family.LOGISTIC else ("integer", "number", "boolean")
        response, numbers = response_numbers(evidence, parsed, family.value, tags)
        y = numbers_of(response, rows) if parsed.value is None else numbers[response.encode(rows.column(response.name))]
        design, names = _design(self._among, parsed, rows)
        kept = ~np.isnan(y)
        start: Floats = np.zeros(design.shape[1])

        def coefficients(weights: Floats) -> dict[str, float]:
            nonlocal start
            start = _newton(design[kept], y[kept], weights[kept] / weights[kept].sum(), family, start)
            return dict(zip(names, start.tolist(), strict=True))

        pairs = parsed.plain and family is Family.LINEAR
        together = list(combinations(parsed.columns, 2)) if pairs else [tuple(parsed.columns)]
        found = self._pool(together, coefficients, formula)
        told = {name: self._with_doubt(one, parsed.response, parsed.columns) for name, one in found.items()}
        return judge(evidence, Regression(formula, told), family.latent)

    def _with_doubt(self, found: Estimate, response: str, over: Iterable[str]) -> Estimate:
        """A share that follows a number says little where noise hides how far the number is spread.

        A share is bounded: what rows far out say of it does not grow with them, and one step from the fit misses that.
        """
        evidence = self._among.evidence
        if evidence.column(response).tag in ("integer", "number"):
            return found
        numbers = [name for name in over if evidence.column(name).tag in ("integer", "number")]
        spread = [(variance(evidence, name).standard_error, evidence.deviation(name) ** 2) for name in numbers]
        return replace(found, vague=True) if any(error > square for error, square in spread) else found


def _bend(found: Estimate, bend: float, replicates: int) -> Estimate:
    """An answer by one step, after the second order of that step, which is part of its error: a fit may be far off."""
    if not math.isfinite(found.standard_error):
        return replace(found, remark=f"{REMARK}; {found.remark}")
    value, error = found.value + bend, math.hypot(found.standard_error, bend)
    limits = StudentLimits(value, error, replicates)
    return replace(found, value=value, parts=Parts(noise=error), limits=limits, remark=REMARK)


def _within(found: Estimate, low: float, high: float) -> Estimate:
    """An answer of which nothing beyond two ends is possible: one step from a fit may lead there."""
    limits = found.limits
    if isinstance(limits, StudentLimits):
        limits = replace(limits, within=(low, high))
    return replace(found, value=min(high, max(low, found.value)), limits=limits, possible=(low, high))


def _mean(x: Floats, weights: Floats) -> float:
    """Σ w x / Σ w over the rows that have a number."""
    known = ~np.isnan(x)
    return float(x[known] @ weights[known] / weights[known].sum())


def _covariance(x: Floats, y: Floats, weights: Floats) -> float:
    """About the weighted means."""
    return _mean((x - _mean(x, weights)) * (y - _mean(y, weights)), weights)


def _design(among: "Among", formula: ModelFormula, rows: pa.Table) -> tuple[Floats, tuple[str, ...]]:
    """The terms of a formula on rows, and their names."""
    terms = tuple(model_terms(among.evidence, formula))
    empty = FittedModel(
        evidence=among.evidence,
        family=Family.LINEAR,
        terms=terms,
        slopes=np.zeros(len(terms)),
        error=lambda direction: 0.0,
    )
    return empty.design(rows), empty.names


def _newton(design: Floats, response: Floats, weights: Floats, family: Family, start: Floats) -> Floats:
    """The coefficients at which Σ w·t·(y − μ(t·β)) is 0, by Newton's method on columns of size 1."""
    size = np.maximum(np.abs(design).max(axis=0), 1e-300)
    scaled, slopes = design / size, start * size
    for _ in range(MOST_STEPS):
        mean, slope = family.mean(scaled @ slopes)
        hessian = (scaled * (weights * slope)[:, None]).T @ scaled
        step = np.linalg.lstsq(hessian, scaled.T @ (weights * (response - mean)), rcond=None)[0]
        reach = float(np.abs(scaled @ step).max())
        slopes = slopes + step * (1.0 if family is Family.LINEAR else min(1.0, 2.0 / max(reach, 1e-300)))
        if reach < 1e-10 or family is Family.LINEAR:
            break
    return np.asarray(slopes / size)
