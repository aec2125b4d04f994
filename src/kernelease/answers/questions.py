"""What an analyst asks of a release: which rows are meant, and every answer about them, each with its interval.

One way to ask: `release.where("age > 30").by("sex").of("population").mean("income")`. `release.ask` are the same
questions about all rows, and a release has short forms of those that are asked every day.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum, unique
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Required,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    final,
    overload,
)

import numpy as np

from kernelease.analysis.averages import average, count, crosstab, expectation, mean, probability, probability_within
from kernelease.analysis.estimands import Columns
from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.feature_averages import vector_expectation
from kernelease.analysis.fitted import Family
from kernelease.analysis.glm import generalised_regression
from kernelease.analysis.groups import (
    ALONE,
    EstimateTable,
    Groups,
    Regression,
    RegressionGroups,
    answer_by_group,
    answer_estimate,
    answer_model,
    names_of,
)
from kernelease.analysis.inference import CONFIDENCE
from kernelease.analysis.quantile import hazard, quantile, shares, survival
from kernelease.analysis.regression import judge, judged_trend, regression, trend
from kernelease.analysis.representatives import atom_numbers
from kernelease.analysis.spread import correlation, entropy, gini, standard_deviation, variance
from kernelease.answers.habits import OneColumn, in_words, look_up
from kernelease.answers.reading import Released, choice, evidence_of, reading
from kernelease.errors import ParameterError
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Boolean
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.expressions.formulas import ModelFormula
from kernelease.table.expressions.logic import Condition

if TYPE_CHECKING:
    from kernelease.answers.modelled import ModelQuestions

# --------------------
# How an event goes with an exposure, and rates that do not depend on who is compared: from conditional probabilities.
#
# Each is arithmetic on estimates, with the joint noise of its parts.


Ask: TypeAlias = Callable[[str, str], Estimate]
"""The probability of an event among the rows that fulfil a condition."""


def risks(ask: Ask, event: str, exposure: str, where: str | None = None) -> tuple[Estimate, Estimate]:
    """The probability of an event among rows with the exposure, and among rows that surely lack it."""
    both = [_all(where, exposure), _all(where, f"not ({exposure})")]
    first, second = (ask(event, condition) for condition in both)
    return first, second


def risk_difference(ask: Ask, event: str, exposure: str, where: str | None = None) -> Estimate:
    """P(event given exposure) − P(event without it)."""
    exposed, rest = risks(ask, event, exposure, where)
    return _name_comparison(exposed - rest, "risk difference", event, exposure, where)


def risk_ratio(ask: Ask, event: str, exposure: str, where: str | None = None) -> Estimate:
    """P(event given exposure) / P(event without it)."""
    exposed, rest = risks(ask, event, exposure, where)
    found = _name_comparison(exposed / rest, "risk ratio", event, exposure, where)
    return replace(found, possible=(0.0, math.inf))


def odds_ratio(ask: Ask, event: str, exposure: str, where: str | None = None) -> Estimate:
    """The odds p/(1 − p) of an event with an exposure over those without it: the exponential of a difference of logits.

    Where a share may be 0 or 1, so may the odds: the interval then has no end on that side.
    """
    exposed, rest = risks(ask, event, exposure, where)
    found = _name_comparison((exposed.logit() - rest.logit()).exp(), "odds ratio", event, exposure, where)
    return replace(found, possible=(0.0, math.inf))


def standardised_rate(ask: Ask, event: str, weights: Mapping[str, float], where: str | None = None) -> Estimate:
    """Σ weight·P(event in a stratum): direct standardisation. Strata are conditions; weights are shares of a standard.

    Weights are divided by their sum, so that a standard population may be given as it is: {"age < 40": 52_000, …}.
    """
    if not weights or not all(math.isfinite(weight) and weight >= 0.0 for weight in weights.values()):
        raise ParameterError(
            "standardised_rate: needs a weight, 0 or more, for each stratum: {'age < 40': 0.6, 'age >= 40': 0.4}."
        )
    whole = sum(weights.values())
    if not whole > 0.0:
        raise ParameterError("standardised_rate: the weights of the strata must add up to more than 0.")
    parts = [weight / whole * ask(event, _all(where, one)) for one, weight in weights.items() if weight]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    about = f"standardised rate of {event}" if where is None else f"standardised rate of {event} where {where}"
    return replace(total, about=about, possible=(0.0, 1.0))


def _all(where: str | None, condition: str) -> str:
    return condition if where is None else f"({where}) and ({condition})"


def _name_comparison(estimate: Estimate, what: str, event: str, exposure: str, where: str | None) -> Estimate:
    about = f"{what} of {event} by {exposure}"
    return replace(estimate, about=about if where is None else f"{about} where {where}")


# --------------------
# Which rows a question is about.


Where: TypeAlias = str | None
By: TypeAlias = str | Sequence[str] | None
Whose: TypeAlias = Target | str | None
Basis: TypeAlias = "Whence | str | None"  # None: the noisy numbers alone


@final
@unique
class Whence(StrEnum):
    """Where an answer comes from: the noisy numbers alone, or the rows of the model that was fitted to them."""

    UNBIASED = "unbiased"
    MODEL = "model"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Among:
    """The rows that a question to a release is about; `by` are the columns whose values group them.

    `of` says whose rows: those of the private table, or of the population that it was drawn from.
    """

    release: Released
    where: str | None = None
    by: str | tuple[str, ...] | None = None
    of: Target = Target.TABLE

    def narrow(self, where: Where, by: By, of: Whose) -> "Among":
        """The rows of these that fulfil one more condition, in groups by more columns."""
        return replace(
            self,
            where=self.where if where is None else _all(self.where, where),
            by=self.by if by is None else _more(self.by, by),
            of=self.of if of is None else choice(Target, of, "of"),
        )

    @property
    def evidence(self) -> Evidence:
        """What the release says about its table or population."""
        return evidence_of(self.release, self.of)

    @property
    def about_vectors(self) -> bool:
        """Whether the question is about all rows of a release without a schema: its columns are x0, x1 and so on."""
        return self.release.schema is None and self.where is None and self.by is None

    def estimate(
        self, sets: Sequence[Iterable[str]], answer: Callable[[Evidence], Estimate], what: str
    ) -> Estimate | Groups:
        """An estimate from columns that were measured together, with those of the condition and of the groups."""
        return answer_estimate(self.evidence, sets, answer, what=what, where=self.where, by=self.by)

    def model(
        self, formula: str, sets: Sequence[Iterable[str]], answer: Callable[[Evidence], Regression], what: str
    ) -> Regression | RegressionGroups:
        """A model from columns that were measured together, or what to ask instead of one for each group."""
        instead = ALONE
        if self.by is not None:  # of two covariates pairs say all, of more they don't
            model = "regression" if len(_names(formula)) > 2 else what
            groups = " + ".join(names_of(self.by))
            instead = f"One model with the groups as covariates needs pairs only: {model} {f'{formula} + {groups}'!r}."
        return answer_model(self.evidence, sets, answer, what=what, instead=instead, where=self.where, by=self.by)

    def fit(self, formula: str, family: Family) -> Regression | RegressionGroups:
        """A generalised linear model."""

        def answer(rows: Evidence) -> Regression:
            return judge(rows, generalised_regression(rows, formula, family), family.latent)

        return self.model(formula, [_names(formula)], answer, family.value)

    def compare(self, conditions: Sequence[str], answer: Callable[[Ask], Estimate]) -> Estimate | Groups:
        """An answer made of probabilities among rows, of all of them or of each group."""
        evidence = self.evidence

        def within(group: tuple[Condition, ...], told: str) -> Estimate:
            found = answer(lambda event, condition: probability_within(evidence, event, condition, group))
            return replace(found, about=f"{found.about} for {told}") if told else found

        if self.by is None:
            return within((), "")
        texts = [*conditions, *([] if self.where is None else [self.where])]
        return answer_by_group(
            evidence, self.by, [name for text in texts for name in evidence.where(text).columns], within
        )

    def expect(self, function: Callable[[Columns], Any]) -> Estimate:
        """The mean of a function of vectors."""
        release, read = self.release, reading(self.release)
        noisy, domain = read.embedding("expectation"), release.measurements.domain
        return vector_expectation(noisy, domain, release.rows, read.points(), release.weights, function, self.of)


def _more(before: str | tuple[str, ...] | None, by: str | Sequence[str]) -> str | tuple[str, ...]:
    """Groups by these columns, too. Those of a single column, named without a list, have its values as labels."""
    given: Any = by
    if not (isinstance(given, str | Sequence) and all(isinstance(name, str) for name in given)):
        raise ParameterError(f"by must be the name of a column, or a list of names, got {type(by).__name__}.")
    if before is None:
        return by if isinstance(by, str) else tuple(by)
    return (*names_of(before), *names_of(by))


def _least_squares(rows: Evidence, formula: str) -> Regression:
    plain = ModelFormula.parse(formula).plain
    return judge(rows, regression(rows, formula) if plain else generalised_regression(rows, formula, Family.LINEAR))


def _names(formula: str) -> tuple[str, ...]:
    """The columns of a formula."""
    return ModelFormula.parse(formula).columns


# --------------------
# The questions. Whose rows are asked about was said before: a question takes no `where` or `by` of its own.


One = TypeVar("One")
Model = TypeVar("Model")


def weighted_mean(
    asked: "Questions[Any, Any]", value: Callable[[Columns], Any], weight: Callable[[Columns], Any], about: str
) -> Estimate | Groups:
    """Σ weight·value / Σ weight of two functions of a row, over the rows that have both."""

    def weights(rows: Columns) -> Any:
        return np.where(np.isnan(value(rows)), np.nan, weight(rows))

    above, below = asked.expectation(lambda rows: value(rows) * weight(rows)), asked.expectation(weights)
    if isinstance(above, Groups):
        return Groups(above.by, {label: above[label] / below[label] for label in above})
    return replace(cast(Estimate, above / below), about=about)


@final
@dataclass(frozen=True, slots=True)
class Questions(Generic[One, Model]):
    """Answers with error bars, from the noisy numbers of a release. An answer is an `Estimate`, or one for each group.

    `where` says which rows are meant, by a condition like "age > 30 and sex == 'F'". `by` names columns: then there is
    an answer for each of their values. `of` is "table", the private table itself as its schema declares it (clamped to
    its ranges), or "population", what it was drawn from. They may follow each other in any order.

    Where in their cells numbers lie is measured where it can be seen through the noise; the interval holds whatever
    else is possible. Correlations and models need columns that were measured together: a correlation within a group the
    three of them. What was not is refused, with what was and what to ask instead. Events and exposures are conditions.
    """

    _among: Among = field()

    @in_words
    def where(self, condition: str) -> "Questions[One, Model]":
        """Questions about the rows for which one more condition is true."""
        return Questions(self._among.narrow(condition, None, None))

    def by(self, *columns: str) -> "Questions[Groups, RegressionGroups]":
        """Questions about each group of rows with the same values of some columns."""
        return Questions(self._among.narrow(None, columns[0] if len(columns) == 1 else columns, None))

    def of(self, whose: Target | str) -> "Questions[One, Model]":
        """Questions about the private "table", or about the "population" that it was drawn from."""
        return Questions(self._among.narrow(None, None, whose))

    def estimate(self, whence: Whence | str) -> "Questions[One, Model] | ModelQuestions":
        """The same questions to the noisy numbers ("unbiased", as without it), or to the fitted rows ("model")."""
        if choice(Whence, whence, "estimate") is Whence.UNBIASED:
            return self
        from kernelease.answers.modelled import ModelQuestions  # noqa: PLC0415  # replicates are made when asked for

        return ModelQuestions(self._among)

    @in_words
    def mean(self, column: str) -> One:
        """The mean of a column of numbers or booleans, over the rows that have a value."""
        among = self._among
        if among.about_vectors:
            return cast(One, among.expect(lambda vectors: vectors[column]))
        return cast(One, mean(among.evidence, column, where=among.where, by=among.by))

    @in_words
    def probability(self, event: str) -> One:
        """The share of rows for which a condition is true."""
        among = self._among
        return cast(One, probability(among.evidence, event, where=among.where, by=among.by))

    @in_words
    def count(self, condition: str | None = None) -> One:
        """How many rows (or persons, where the schema has a unit) there are, for which a condition is true."""
        among = self._among.narrow(condition, None, None)
        return cast(One, count(among.evidence, among.where, by=among.by))

    @in_words
    def expectation(self, function: Callable[[Columns], Any]) -> One:
        """The mean of a function of a row: `lambda t: np.log1p(t["gain"])`. NaN leaves a row out.

        Of a release of vectors, the columns are x0, x1 and so on.
        """
        among = self._among
        if among.about_vectors:
            return cast(One, among.expect(function))
        return cast(One, expectation(among.evidence, function, where=among.where, by=among.by))

    @in_words
    def crosstab(self, first: str, second: str) -> EstimateTable:
        """The share of rows in each cell of two columns. For a third: `by(first, third).histogram(second)`."""
        among = self._among
        if among.by is not None:
            by = ", ".join(map(repr, [first, *names_of(among.by)]))
            raise ParameterError(f"crosstab: takes no by. Ask release.by({by}).histogram({second!r}) instead.")
        return crosstab(among.evidence, first, second, where=among.where)

    @in_words
    def histogram(self, column: str) -> Groups:
        """The share of rows in each cell of a column, of each group with `by`: its `plot()` has error bars."""
        among = self._among
        return shares(among.evidence, column, average, where=among.where, by=among.by)

    @in_words
    def survival(self, column: str, times: Sequence[float]) -> Groups:
        """The share of rows whose number is beyond each of some times, among those that have one."""
        among = self._among
        return survival(among.evidence, column, times, probability, where=among.where, by=among.by)

    @in_words
    def hazard(self, column: str, times: Sequence[float], event: str | None = None) -> Groups:
        """Of the rows whose number is beyond a time, the share whose event comes up to the next time.

        `event` is a condition for rows whose number is an event's; the others are censored. None: all are.
        """
        among = self._among
        rows = among.evidence
        return hazard(rows, column, times, probability, event=event, where=among.where, by=among.by)

    @in_words
    def weighted_mean(self, column: str, weight: str) -> One:
        """Σ weight·number / Σ weight, where another column of numbers from 0 on is the weight of a row."""
        evidence = self._among.evidence
        for name in (column, weight):
            evidence.numeric(name, "weighted_mean")
        if column == weight:
            raise ParameterError(f"weighted_mean: needs two different columns, got {column!r} twice.")
        if float(np.nanmin(atom_numbers(evidence.column(weight)))) < 0.0:
            raise ParameterError(f"weighted_mean: weights are from 0 on; {weight!r} is declared from below 0 on.")
        about = f"mean of {column} weighted by {weight}"
        return cast(One, weighted_mean(self, lambda rows: rows[column], lambda rows: rows[weight], about))

    @in_words
    def quantile(self, column: str, share: float) -> One:
        """The least number or date that at least a share of the rows do not exceed; 0.5 is the median."""
        among = self._among
        return cast(One, quantile(among.evidence, column, share, where=among.where, by=among.by))

    @in_words
    def standard_deviation(self, column: str) -> One:
        """How far a number is from its mean, a root mean square."""
        return self._estimate([(column,)], lambda rows: standard_deviation(rows, column), "standard deviation")

    @in_words
    def variance(self, column: str) -> One:
        """The mean square of how far a number is from its mean."""
        return self._estimate([(column,)], lambda rows: variance(rows, column), "variance")

    def difference_in_differences(self, column: str, group: str, period: str) -> Estimate:
        """How much more a mean changes with a period in a group than outside of it: both are conditions.

        (mean in the group in the period − before it) − (the same of all others), with their joint noise.
        """
        if self._among.by is not None:
            raise ParameterError("difference_in_differences: takes no by. Ask with where for each group instead.")
        means = [
            cast(Estimate, self.where(f"({one}) and ({other})").mean(column))
            for one in (group, f"not ({group})")
            for other in (period, f"not ({period})")
        ]
        found = (means[0] - means[1]) - (means[2] - means[3])
        return replace(found, about=f"difference in differences of {column} by {group} and {period}")

    @in_words
    def gini(self, column: str) -> One:
        """How unequal a number is among rows: 0 where all have the same, near 1 where one has it all."""
        return self._estimate([(column,)], lambda rows: gini(rows, column), "gini")

    @in_words
    def entropy(self, column: str) -> One:
        """How evenly rows are spread over the values of a column, in nats: 0 to log k."""
        return self._estimate([(column,)], lambda rows: entropy(rows, column), "entropy")

    @in_words
    def correlation(self, first: str, second: str) -> One:
        """The correlation of two columns of numbers or booleans."""
        return self._estimate([(first, second)], lambda rows: correlation(rows, first, second), "correlation")

    @in_words
    def trend(self, column: str, over: str) -> One:
        """The slope of a number, or of the share of true, over a number or (per year) a date."""

        def answer(rows: Evidence) -> Estimate:
            return judged_trend(rows, trend(rows, column, over), column, over)

        return self._estimate([(column, over)], answer, "trend")

    @in_words
    def regression(self, formula: str) -> Model:
        """Least squares: "hours ~ age + sex". A category has a coefficient for each value but the first."""
        parsed = ModelFormula.parse(formula)
        sets = list(itertools.combinations(parsed.columns, 2)) if parsed.plain else list(parsed.sets)
        return cast(Model, self._among.model(formula, sets, partial(_least_squares, formula=formula), "regression"))

    @in_words
    def logistic(self, formula: str) -> Model:
        """A model of the odds of a boolean, or of one value of a category: "ill ~ age * sex", "work[Private] ~ age"."""
        return cast(Model, self._among.fit(formula, Family.LOGISTIC))

    @in_words
    def poisson(self, formula: str) -> Model:
        """A log-linear model of a number from 0 on: "visits ~ age + sex"."""
        return cast(Model, self._among.fit(formula, Family.POISSON))

    @in_words
    def risk_difference(self, event: str, exposure: str) -> One:
        """P(event given exposure) − P(event without it)."""
        return self._compare([event, exposure], partial(risk_difference, event=event, exposure=exposure))

    @in_words
    def risk_ratio(self, event: str, exposure: str) -> One:
        """P(event given exposure) / P(event without it)."""
        return self._compare([event, exposure], partial(risk_ratio, event=event, exposure=exposure))

    @in_words
    def odds_ratio(self, event: str, exposure: str) -> One:
        """The odds of an event with an exposure over those without it."""
        return self._compare([event, exposure], partial(odds_ratio, event=event, exposure=exposure))

    @in_words
    def standardised_rate(self, event: str, weights: Mapping[str, float]) -> One:
        """Σ weight·P(event given a condition), for the weights of a standard: {"age < 40": 0.6, "age >= 40": 0.4}."""
        return self._compare([event, *weights], partial(standardised_rate, event=event, weights=weights))

    @in_words
    def plot(self, column: str, second: str | None = None, *, level: float = CONFIDENCE) -> Any:
        """An Altair chart with intervals: of a column, of two, of a mean in each group, or of a model's coefficients.

        `plot("age")`, `plot("age", "ward")`, `by("ward").plot("age")`, `plot("ill ~ age + sex")`. Needs the extra
        `plot`.
        """
        if second is not None:
            return self.crosstab(column, second).plot(level)
        answer: Any = self
        if "~" in column:
            outcome = self._column(column.partition("~")[0].strip())
            answer = self.logistic(column) if isinstance(outcome, Boolean) else self.regression(column)
        elif self._among.by is not None and isinstance(self._column(column), Integer | Number | Boolean):
            answer = self.mean(column)
        else:
            answer = self.histogram(column)
        return answer.plot(level)

    def _column(self, name: str) -> Column:
        return self._among.evidence.column(name.strip('`"'))

    def _estimate(self, sets: Sequence[Iterable[str]], answer: Callable[[Evidence], Estimate], what: str) -> One:
        return cast(One, self._among.estimate(sets, answer, what))

    def _compare(self, conditions: Sequence[str], answer: Callable[..., Estimate]) -> One:
        return cast(One, self._among.compare(conditions, partial(answer, where=self._among.where)))

    def __getitem__(self, column: str) -> OneColumn:
        """Questions about one column, as pandas writes them: `by("ward")["age"].mean()`."""
        if not isinstance(column, str):
            raise ParameterError(f'Questions: name one column, as ["age"], got {type(column).__name__}.')
        return OneColumn(self, self._column(column).name)

    if not TYPE_CHECKING:  # type checkers know the names that there are

        def __getattr__(self, name: str) -> Any:
            return look_up(self, name, lambda: self, ())

    def __repr__(self) -> str:
        return f"Questions(where={self._among.where!r}, by={self._among.by!r}, of={str(self._among.of)!r})"


# --------------------
# Short forms of the everyday questions, on the release itself.


class Rows(TypedDict, total=False):
    """Which rows are meant, as keywords of a question about them together."""

    where: Where
    by: None
    of: Whose
    estimate: Basis


class Grouped(TypedDict, total=False):
    """The same of a question about each group of rows."""

    where: Where
    by: Required[str | Sequence[str]]
    of: Whose
    estimate: Basis


class ShortForms(ABC):
    """Everyday questions with their rows as keywords: `mean("income", by="sex")` is `by("sex").mean("income")`."""

    __slots__ = ()

    @property
    @abstractmethod
    def ask(self) -> Questions[Estimate, Regression]:
        """Every question there is, about all rows: `release.ask.gini("income")`."""

    @in_words
    def where(self, condition: str) -> Questions[Estimate, Regression]:
        """Questions about the rows for which a condition is true."""
        return self.ask.where(condition)

    def by(self, *columns: str) -> Questions[Groups, RegressionGroups]:
        """Questions about each group of rows with the same values of some columns."""
        return self.ask.by(*columns)

    def of(self, whose: Target | str) -> Questions[Estimate, Regression]:
        """Questions about the private "table", which is meant unless said, or about its "population"."""
        return self.ask.of(whose)

    def _narrow(self, where: Where = None, by: By = None, of: Whose = None, estimate: Basis = None) -> Any:
        narrowed: Questions[Any, Any] = Questions(self.ask._among.narrow(where, by, of))
        return narrowed if estimate is None else narrowed.estimate(estimate)

    @overload
    def mean(self, column: str, **rows: Unpack[Rows]) -> Estimate: ...
    @overload
    def mean(self, column: str, **rows: Unpack[Grouped]) -> Groups: ...
    @in_words
    def mean(self, column: str, *, where: Where = None, by: By = None, of: Whose = None, estimate: Basis = None) -> Any:
        """The mean of a column of numbers or booleans, over the rows that have a value."""
        return self._narrow(where, by, of, estimate).mean(column)

    @overload
    def probability(self, event: str, **rows: Unpack[Rows]) -> Estimate: ...
    @overload
    def probability(self, event: str, **rows: Unpack[Grouped]) -> Groups: ...
    @in_words
    def probability(
        self, event: str, *, where: Where = None, by: By = None, of: Whose = None, estimate: Basis = None
    ) -> Any:
        """The share of rows for which a condition is true."""
        return self._narrow(where, by, of, estimate).probability(event)

    @overload
    def count(self, where: Where = None, *, by: None = None, of: Whose = None) -> Estimate: ...
    @overload
    def count(self, where: Where = None, *, by: str | Sequence[str], of: Whose = None) -> Groups: ...
    @in_words
    def count(self, where: Where = None, *, by: By = None, of: Whose = None) -> Any:
        """How many rows (or persons, where the schema has a unit) there are for which a condition is true."""
        return self._narrow(where, by, of).count()

    @overload
    def quantile(self, column: str, share: float, **rows: Unpack[Rows]) -> Estimate: ...
    @overload
    def quantile(self, column: str, share: float, **rows: Unpack[Grouped]) -> Groups: ...
    @in_words
    def quantile(
        self, column: str, share: float, *, where: Where = None, by: By = None, of: Whose = None, estimate: Basis = None
    ) -> Any:
        """The least number or date that at least a share of the rows do not exceed; 0.5 is the median."""
        return self._narrow(where, by, of, estimate).quantile(column, share)

    @overload
    def correlation(self, first: str, second: str, **rows: Unpack[Rows]) -> Estimate: ...
    @overload
    def correlation(self, first: str, second: str, **rows: Unpack[Grouped]) -> Groups: ...
    @in_words
    def correlation(
        self, first: str, second: str, *, where: Where = None, by: By = None, of: Whose = None, estimate: Basis = None
    ) -> Any:
        """The correlation of two columns of numbers or booleans."""
        return self._narrow(where, by, of, estimate).correlation(first, second)

    @in_words
    def crosstab(self, first: str, second: str, *, where: Where = None, of: Whose = None) -> EstimateTable:
        """The share of rows in each cell of two columns. For a third: `by(first, third).histogram(second)`."""
        found: EstimateTable = self._narrow(where, None, of).crosstab(first, second)
        return found

    @overload
    def regression(self, formula: str, **rows: Unpack[Rows]) -> Regression: ...
    @overload
    def regression(self, formula: str, **rows: Unpack[Grouped]) -> RegressionGroups: ...
    @in_words
    def regression(
        self, formula: str, *, where: Where = None, by: By = None, of: Whose = None, estimate: Basis = None
    ) -> Any:
        """Least squares: "hours ~ age + sex". A category has a coefficient for each value but the first."""
        return self._narrow(where, by, of, estimate).regression(formula)

    @overload
    def logistic(self, formula: str, **rows: Unpack[Rows]) -> Regression: ...
    @overload
    def logistic(self, formula: str, **rows: Unpack[Grouped]) -> RegressionGroups: ...
    @in_words
    def logistic(
        self, formula: str, *, where: Where = None, by: By = None, of: Whose = None, estimate: Basis = None
    ) -> Any:
        """A model of the odds of a boolean, or of one value of a category: "ill ~ age * sex", "work[Private] ~ age"."""
        return self._narrow(where, by, of, estimate).logistic(formula)

    @in_words
    def plot(
        self, column: str, second: str | None = None, *, where: Where = None, by: By = None, of: Whose = None
    ) -> Any:
        """An Altair chart with intervals: of a column, of two, of a mean `by` groups, or of a model's coefficients.

        `plot("age")`, `plot("age", "ward")`, `plot("age", by="ward")`, `plot("ill ~ age + sex")`. Needs the extra
        `plot`.
        """
        return self._narrow(where, by, of).plot(column, second)

    if not TYPE_CHECKING:  # type checkers know the names that there are

        def __getattr__(self, name: str) -> Any:
            return look_up(self, name, lambda: self.ask, _NAMES)


_NAMES = frozenset(name for name in vars(Questions) if not name.startswith("_"))
