"""What an analyst asks of a release: which rows are meant, and every answer about them, each with its interval."""

import itertools
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Required, TypeAlias, TypedDict, TypeVar, Unpack, cast, final, overload

from kernelease.analysis.asking import ALONE, estimated, grouped, modelled, names_of
from kernelease.analysis.averages import average, count, crosstab, expectation, mean, probability, probability_within
from kernelease.analysis.estimands import Columns
from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.feature_averages import vector_expectation
from kernelease.analysis.glm import Family, generalised_regression, trend
from kernelease.analysis.groups import EstimateTable, Groups, Regression, RegressionGroups
from kernelease.analysis.quantile import quantile, shares, survival
from kernelease.analysis.regression import judged, judged_trend, regression
from kernelease.analysis.spread import correlation, entropy, gini, standard_deviation
from kernelease.errors import ParameterError
from kernelease.release.reading import Released, choice, evidence_of, reading
from kernelease.table.expressions.logic import Condition

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
    return _told(exposed - rest, "risk difference", event, exposure, where)


def risk_ratio(ask: Ask, event: str, exposure: str, where: str | None = None) -> Estimate:
    """P(event given exposure) / P(event without it)."""
    exposed, rest = risks(ask, event, exposure, where)
    found = _told(exposed / rest, "risk ratio", event, exposure, where)
    return replace(found, possible=(0.0, math.inf))


def odds_ratio(ask: Ask, event: str, exposure: str, where: str | None = None) -> Estimate:
    """The odds p/(1 − p) of an event with an exposure over those without it: the exponential of a difference of logits.

    Where a share may be 0 or 1, so may the odds: the interval then has no end on that side.
    """
    exposed, rest = risks(ask, event, exposure, where)
    found = _told((exposed.logit() - rest.logit()).exp(), "odds ratio", event, exposure, where)
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


def _told(estimate: Estimate, what: str, event: str, exposure: str, where: str | None) -> Estimate:
    about = f"{what} of {event} by {exposure}"
    return replace(estimate, about=about if where is None else f"{about} where {where}")


# --------------------
# Which rows a question is about.


Where: TypeAlias = str | None
By: TypeAlias = str | Sequence[str] | None
Whose: TypeAlias = Target | str | None


class Rows(TypedDict, total=False):
    """Which rows are meant, as keywords of a question about them together."""

    where: Where
    by: None
    of: Whose


class Grouped(TypedDict, total=False):
    """The same of a question about each group of rows."""

    where: Where
    by: Required[str | Sequence[str]]
    of: Whose


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
        return estimated(self.evidence, sets, answer, what=what, where=self.where, by=self.by)

    def model(
        self, formula: str, sets: Sequence[Iterable[str]], answer: Callable[[Evidence], Regression], what: str
    ) -> Regression | RegressionGroups:
        """A model from columns that were measured together, or what to ask instead of one for each group."""
        instead = ALONE
        if self.by is not None:  # of two covariates pairs say all, of more they don't
            model = "regression" if len(_names(formula)) > 2 else what
            groups = " + ".join(names_of(self.by))
            instead = f"One model with the groups as covariates needs pairs only: {model} {f'{formula} + {groups}'!r}."
        return modelled(self.evidence, sets, answer, what=what, instead=instead, where=self.where, by=self.by)

    def fit(self, formula: str, family: Family) -> Regression | RegressionGroups:
        """A generalised linear model."""

        def answer(rows: Evidence) -> Regression:
            return judged(rows, generalised_regression(rows, formula, family), family.latent)

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
        return grouped(evidence, self.by, [name for text in texts for name in evidence.where(text).columns], within)

    def expect(self, function: Callable[[Columns], Any]) -> Estimate:
        """The mean of a function of vectors."""
        release, noisy = self.release, reading(self.release).embedding("expectation")
        return vector_expectation(noisy, release.rows, release.points, release.weights, function, self.of)


def _more(before: str | tuple[str, ...] | None, by: str | Sequence[str]) -> str | tuple[str, ...]:
    """Groups by these columns, too. Those of a single column, named without a list, have its values as labels."""
    if before is None:
        return by if isinstance(by, str) else tuple(by)
    return (*names_of(before), *names_of(by))


def _least_squares(rows: Evidence, formula: str) -> Regression:
    return judged(rows, regression(rows, formula))


def _names(formula: str) -> tuple[str, ...]:
    """The names in a formula; whoever reads it says what is wrong with it."""
    return tuple(dict.fromkeys(part.strip().strip('`"') for part in re.split(r"[~+*:]", formula)))


# --------------------
# The questions. A release is asked about all its rows; where(), by() and of() say which are meant instead.


One = TypeVar("One")
Model = TypeVar("Model")


class Questions(ABC, Generic[One, Model]):
    """Answers with error bars, from the noisy numbers of a release. An answer is an `Estimate`, or one for each group.

    `where` is a condition like "age > 30 and sex == 'F'", and `by` a column, or several: then there is an answer for
    each of their values. `of` is "table", the private table itself as its schema declares it (clamped to its
    ranges), or "population", what it was drawn from. Each can be said first, or with the question: `release.where("age
    > 30").by("sex").mean("income")` is `release.mean("income", where="age > 30", by="sex")`.

    Where in their cells numbers lie is measured where it can be seen through the noise; the interval holds whatever
    else is possible. Correlations and models need columns that were measured together: a correlation within a group the
    three of them. What was not is refused, with what was and what to ask instead. Events and exposures are conditions.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def _among(self) -> Among:
        """The rows that are meant."""

    def where(self, condition: str) -> "SomeRows[One, Model]":
        """Questions about the rows for which one more condition is true."""
        return SomeRows(self._among.narrow(condition, None, None))

    def by(self, *columns: str) -> "SomeRows[Groups, RegressionGroups]":
        """Questions about each group of rows with the same values of some columns."""
        return SomeRows(self._among.narrow(None, columns[0] if len(columns) == 1 else columns, None))

    def of(self, whose: Target | str) -> "SomeRows[One, Model]":
        """Questions about the private "table", or about the "population" that it was drawn from."""
        return SomeRows(self._among.narrow(None, None, whose))

    @overload
    def mean(self, column: str, **rows: Unpack[Rows]) -> One: ...
    @overload
    def mean(self, column: str, **rows: Unpack[Grouped]) -> Groups: ...
    def mean(self, column: str, *, where: Where = None, by: By = None, of: Whose = None) -> One | Groups:
        """The mean of a column of numbers or booleans, over the rows that have a value."""
        among = self._among.narrow(where, by, of)
        if among.about_vectors:
            return cast(One, among.expect(lambda vectors: vectors[column]))
        return cast(One, mean(among.evidence, column, where=among.where, by=among.by))

    @overload
    def probability(self, event: str, **rows: Unpack[Rows]) -> One: ...
    @overload
    def probability(self, event: str, **rows: Unpack[Grouped]) -> Groups: ...
    def probability(self, event: str, *, where: Where = None, by: By = None, of: Whose = None) -> One | Groups:
        """The share of rows for which a condition is true."""
        among = self._among.narrow(where, by, of)
        return cast(One, probability(among.evidence, event, where=among.where, by=among.by))

    @overload
    def count(self, where: Where = None, *, by: None = None, of: Whose = None) -> One: ...
    @overload
    def count(self, where: Where = None, *, by: str | Sequence[str], of: Whose = None) -> Groups: ...
    def count(self, where: Where = None, *, by: By = None, of: Whose = None) -> One | Groups:
        """How many rows (or persons, where the schema has a unit) there are for which a condition is true."""
        among = self._among.narrow(where, by, of)
        return cast(One, count(among.evidence, among.where, by=among.by))

    @overload
    def expectation(self, function: Callable[[Columns], Any], **rows: Unpack[Rows]) -> One: ...
    @overload
    def expectation(self, function: Callable[[Columns], Any], **rows: Unpack[Grouped]) -> Groups: ...
    def expectation(
        self, function: Callable[[Columns], Any], *, where: Where = None, by: By = None, of: Whose = None
    ) -> One | Groups:
        """The mean of a function of a row: `lambda t: np.log1p(t["gain"])`. NaN leaves a row out.

        Of a release of vectors, the columns are x0, x1 and so on.
        """
        among = self._among.narrow(where, by, of)
        if among.about_vectors:
            return cast(One, among.expect(function))
        return cast(One, expectation(among.evidence, function, where=among.where, by=among.by))

    def crosstab(self, first: str, second: str, *, where: Where = None, of: Whose = None) -> EstimateTable:
        """The share of rows in each cell of two columns. For a third, ask `histogram(second, by=[first, third])`."""
        among = self._among.narrow(where, None, of)
        if among.by is not None:
            by = ", ".join(map(repr, [first, *names_of(among.by)]))
            raise ParameterError(f"crosstab: takes no by. Ask histogram({second!r}, by=[{by}]) instead.")
        return crosstab(among.evidence, first, second, where=among.where)

    def histogram(self, column: str, *, where: Where = None, by: By = None, of: Whose = None) -> Groups:
        """The share of rows in each cell of a column, of each group with `by`: its `plot()` has error bars."""
        among = self._among.narrow(where, by, of)
        return shares(among.evidence, column, average, where=among.where, by=among.by)

    def survival(
        self, column: str, times: Sequence[float], *, where: Where = None, by: By = None, of: Whose = None
    ) -> Groups:
        """The share of rows whose number is beyond each of some times, among those that have one."""
        among = self._among.narrow(where, by, of)
        return survival(among.evidence, column, times, probability, where=among.where, by=among.by)

    @overload
    def quantile(self, column: str, share: float, **rows: Unpack[Rows]) -> One: ...
    @overload
    def quantile(self, column: str, share: float, **rows: Unpack[Grouped]) -> Groups: ...
    def quantile(
        self, column: str, share: float, *, where: Where = None, by: By = None, of: Whose = None
    ) -> One | Groups:
        """The least number or date that at least a share of the rows do not exceed; 0.5 is the median."""
        among = self._among.narrow(where, by, of)
        return cast(One, quantile(among.evidence, column, share, where=among.where, by=among.by))

    @overload
    def standard_deviation(self, column: str, **rows: Unpack[Rows]) -> One: ...
    @overload
    def standard_deviation(self, column: str, **rows: Unpack[Grouped]) -> Groups: ...
    def standard_deviation(self, column: str, *, where: Where = None, by: By = None, of: Whose = None) -> One | Groups:
        """How far a number is from its mean, a root mean square."""
        among = self._among.narrow(where, by, of)
        return cast(
            One, among.estimate([(column,)], lambda rows: standard_deviation(rows, column), "standard deviation")
        )

    @overload
    def gini(self, column: str, **rows: Unpack[Rows]) -> One: ...
    @overload
    def gini(self, column: str, **rows: Unpack[Grouped]) -> Groups: ...
    def gini(self, column: str, *, where: Where = None, by: By = None, of: Whose = None) -> One | Groups:
        """How unequal a number is among rows: 0 where all have the same, near 1 where one has it all."""
        among = self._among.narrow(where, by, of)
        return cast(One, among.estimate([(column,)], lambda rows: gini(rows, column), "gini"))

    @overload
    def entropy(self, column: str, **rows: Unpack[Rows]) -> One: ...
    @overload
    def entropy(self, column: str, **rows: Unpack[Grouped]) -> Groups: ...
    def entropy(self, column: str, *, where: Where = None, by: By = None, of: Whose = None) -> One | Groups:
        """How evenly rows are spread over the values of a column, in nats: 0 to log k."""
        among = self._among.narrow(where, by, of)
        return cast(One, among.estimate([(column,)], lambda rows: entropy(rows, column), "entropy"))

    @overload
    def correlation(self, first: str, second: str, **rows: Unpack[Rows]) -> One: ...
    @overload
    def correlation(self, first: str, second: str, **rows: Unpack[Grouped]) -> Groups: ...
    def correlation(
        self, first: str, second: str, *, where: Where = None, by: By = None, of: Whose = None
    ) -> One | Groups:
        """The correlation of two columns of numbers or booleans."""
        among = self._among.narrow(where, by, of)
        return cast(
            One, among.estimate([(first, second)], lambda rows: correlation(rows, first, second), "correlation")
        )

    @overload
    def trend(self, column: str, over: str, **rows: Unpack[Rows]) -> One: ...
    @overload
    def trend(self, column: str, over: str, **rows: Unpack[Grouped]) -> Groups: ...
    def trend(self, column: str, over: str, *, where: Where = None, by: By = None, of: Whose = None) -> One | Groups:
        """The slope of a number, or of the share of true, over a number or (per year) a date."""
        among = self._among.narrow(where, by, of)

        def answer(rows: Evidence) -> Estimate:
            return judged_trend(rows, trend(rows, column, over), column, over)

        return cast(One, among.estimate([(column, over)], answer, "trend"))

    @overload
    def regression(self, formula: str, **rows: Unpack[Rows]) -> Model: ...
    @overload
    def regression(self, formula: str, **rows: Unpack[Grouped]) -> RegressionGroups: ...
    def regression(
        self, formula: str, *, where: Where = None, by: By = None, of: Whose = None
    ) -> Model | RegressionGroups:
        """Least squares: "hours ~ age + sex". A category has a coefficient for each value but the first."""
        among = self._among.narrow(where, by, of)
        pairs = list(itertools.combinations(_names(formula), 2))
        answer = partial(_least_squares, formula=formula)
        return cast(Model, among.model(formula, pairs, answer, "regression"))

    @overload
    def logistic(self, formula: str, **rows: Unpack[Rows]) -> Model: ...
    @overload
    def logistic(self, formula: str, **rows: Unpack[Grouped]) -> RegressionGroups: ...
    def logistic(
        self, formula: str, *, where: Where = None, by: By = None, of: Whose = None
    ) -> Model | RegressionGroups:
        """A model of the odds of a boolean column: "ill ~ age + sex", or "ill ~ age * sex" with their interaction."""
        among = self._among.narrow(where, by, of)
        return cast(Model, among.fit(formula, Family.LOGISTIC))

    @overload
    def poisson(self, formula: str, **rows: Unpack[Rows]) -> Model: ...
    @overload
    def poisson(self, formula: str, **rows: Unpack[Grouped]) -> RegressionGroups: ...
    def poisson(
        self, formula: str, *, where: Where = None, by: By = None, of: Whose = None
    ) -> Model | RegressionGroups:
        """A log-linear model of a number from 0 on: "visits ~ age + sex"."""
        among = self._among.narrow(where, by, of)
        return cast(Model, among.fit(formula, Family.POISSON))

    @overload
    def risk_difference(self, event: str, exposure: str, **rows: Unpack[Rows]) -> One: ...
    @overload
    def risk_difference(self, event: str, exposure: str, **rows: Unpack[Grouped]) -> Groups: ...
    def risk_difference(
        self, event: str, exposure: str, *, where: Where = None, by: By = None, of: Whose = None
    ) -> One | Groups:
        """P(event given exposure) − P(event without it)."""
        among = self._among.narrow(where, by, of)
        answer = partial(risk_difference, event=event, exposure=exposure, where=among.where)
        return cast(One, among.compare([event, exposure], answer))

    @overload
    def risk_ratio(self, event: str, exposure: str, **rows: Unpack[Rows]) -> One: ...
    @overload
    def risk_ratio(self, event: str, exposure: str, **rows: Unpack[Grouped]) -> Groups: ...
    def risk_ratio(
        self, event: str, exposure: str, *, where: Where = None, by: By = None, of: Whose = None
    ) -> One | Groups:
        """P(event given exposure) / P(event without it)."""
        among = self._among.narrow(where, by, of)
        answer = partial(risk_ratio, event=event, exposure=exposure, where=among.where)
        return cast(One, among.compare([event, exposure], answer))

    @overload
    def odds_ratio(self, event: str, exposure: str, **rows: Unpack[Rows]) -> One: ...
    @overload
    def odds_ratio(self, event: str, exposure: str, **rows: Unpack[Grouped]) -> Groups: ...
    def odds_ratio(
        self, event: str, exposure: str, *, where: Where = None, by: By = None, of: Whose = None
    ) -> One | Groups:
        """The odds of an event with an exposure over those without it."""
        among = self._among.narrow(where, by, of)
        answer = partial(odds_ratio, event=event, exposure=exposure, where=among.where)
        return cast(One, among.compare([event, exposure], answer))

    @overload
    def standardised_rate(self, event: str, weights: Mapping[str, float], **rows: Unpack[Rows]) -> One: ...
    @overload
    def standardised_rate(self, event: str, weights: Mapping[str, float], **rows: Unpack[Grouped]) -> Groups: ...
    def standardised_rate(
        self, event: str, weights: Mapping[str, float], *, where: Where = None, by: By = None, of: Whose = None
    ) -> One | Groups:
        """Σ weight·P(event given a condition), for the weights of a standard: {"age < 40": 0.6, "age >= 40": 0.4}."""
        among = self._among.narrow(where, by, of)
        answer = partial(standardised_rate, event=event, weights=weights, where=among.where)
        return cast(One, among.compare([event, *weights], answer))


@final
@dataclass(frozen=True, slots=True)
class SomeRows(Questions[One, Model]):
    """Questions about some rows of a release, or about each group of them."""

    _among: Among = field()

    def __repr__(self) -> str:
        return f"Questions(where={self._among.where!r}, by={self._among.by!r}, of={str(self._among.of)!r})"
