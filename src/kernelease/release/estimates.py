"""What an analyst asks of a release: averages and what is made of them, each with its interval."""

from collections.abc import Callable, Sequence
from typing import Any, overload

from kernelease.analysis.agreement import Agreement, agreement
from kernelease.analysis.averages import average, count, crosstab, expectation, mean, probability
from kernelease.analysis.coefficients import Regression
from kernelease.analysis.correlation import correlation
from kernelease.analysis.estimands import Columns
from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.evidence import Answers, answers
from kernelease.analysis.feature_averages import vector_expectation
from kernelease.analysis.glm import Family, generalised_regression, trend
from kernelease.analysis.groups import EstimateTable, Groups
from kernelease.analysis.histogram import shares
from kernelease.analysis.inequality import entropy, gini
from kernelease.analysis.quantile import quantile
from kernelease.analysis.regression import regression
from kernelease.analysis.standardised import judged
from kernelease.release.asked import choice, evidence_of
from kernelease.release.reading import reading
from kernelease.release.released import Released


class Estimates:
    """Answers with error bars, from the noisy numbers of a release.

    `where` is a condition like "age > 30 and sex == 'F'", and `by` a column, or several: then there is an answer for
    each of their values. `target` is "table", the private table itself as its schema declares it (clamped to its
    ranges), or "population", what it was drawn from. Where in their cells numbers lie is measured where it can be seen
    through the noise; the interval holds whatever else is possible.
    """

    __slots__ = ()

    @overload
    def mean(
        self: Released,
        column: str,
        *,
        where: str | None = None,
        by: None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate: ...

    @overload
    def mean(
        self: Released,
        column: str,
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> Groups: ...

    def mean(
        self: Released,
        column: str,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate | Groups:
        """The mean of a column of numbers or booleans, over the rows that have a value."""
        if self.schema is None and where is None and by is None:
            return _of_vectors(self, lambda vectors: vectors[column], target)
        return mean(evidence_of(self, target), column, where=where, by=by)

    @overload
    def probability(
        self: Released,
        event: str,
        *,
        where: str | None = None,
        by: None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate: ...

    @overload
    def probability(
        self: Released,
        event: str,
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> Groups: ...

    def probability(
        self: Released,
        event: str,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate | Groups:
        """The share of rows for which a condition is true."""
        return probability(evidence_of(self, target), event, where=where, by=by)

    @overload
    def count(
        self: Released,
        where: str | None = None,
        *,
        by: None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate: ...

    @overload
    def count(
        self: Released,
        where: str | None = None,
        *,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> Groups: ...

    def count(
        self: Released,
        where: str | None = None,
        *,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate | Groups:
        """How many rows (or persons, where the schema has a unit) there are for which a condition is true."""
        return count(evidence_of(self, target), where, by=by)

    @overload
    def expectation(
        self: Released,
        function: Callable[[Columns], Any],
        *,
        where: str | None = None,
        by: None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate: ...

    @overload
    def expectation(
        self: Released,
        function: Callable[[Columns], Any],
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> Groups: ...

    def expectation(
        self: Released,
        function: Callable[[Columns], Any],
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate | Groups:
        """The mean of a function of a row: `lambda t: np.log1p(t["gain"])`. NaN leaves a row out.

        Of a release of vectors, the columns are x0, x1 and so on.
        """
        if self.schema is None and where is None and by is None:
            return _of_vectors(self, function, target)
        return expectation(evidence_of(self, target), function, where=where, by=by)

    @overload
    def quantile(
        self: Released,
        column: str,
        share: float,
        *,
        where: str | None = None,
        by: None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate: ...

    @overload
    def quantile(
        self: Released,
        column: str,
        share: float,
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> Groups: ...

    def quantile(
        self: Released,
        column: str,
        share: float,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate | Groups:
        """The least number or date that at least a share of the rows do not exceed; 0.5 is the median."""
        return quantile(evidence_of(self, target), column, share, where=where, by=by)

    def correlation(
        self: Released,
        first: str,
        second: str,
        *,
        target: Target | str = Target.TABLE,
    ) -> Estimate:
        """The correlation of two columns of numbers or booleans."""
        return correlation(evidence_of(self, target), first, second)

    def crosstab(
        self: Released,
        first: str,
        second: str,
        *,
        where: str | None = None,
        target: Target | str = Target.TABLE,
    ) -> EstimateTable:
        """The share of rows in each cell of two columns."""
        return crosstab(evidence_of(self, target), first, second, where=where)

    def regression(self: Released, formula: str, *, target: Target | str = Target.TABLE) -> Regression:
        """Least squares: "hours ~ age + sex". A category has a coefficient for each value but the first."""
        return judged(evidence_of(self, target), regression(evidence_of(self, target), formula))

    def logistic(self: Released, formula: str, *, target: Target | str = Target.TABLE) -> Regression:
        """A model of the odds of a boolean column: "ill ~ age + sex", or "ill ~ age * sex" with their interaction."""
        return generalised_regression(evidence_of(self, target), formula, Family.LOGISTIC)

    def poisson(self: Released, formula: str, *, target: Target | str = Target.TABLE) -> Regression:
        """A log-linear model of a number from 0 on: "visits ~ age + sex"."""
        return generalised_regression(evidence_of(self, target), formula, Family.POISSON)

    def trend(self: Released, column: str, over: str, *, target: Target | str = Target.TABLE) -> Estimate:
        """The slope of a number, or of the share of true, over a number or (per year) a date."""
        return trend(evidence_of(self, target), column, over)

    def gini(self: Released, column: str, *, target: Target | str = Target.TABLE) -> Estimate:
        """How unequal a number is among rows: 0 where all have the same, near 1 where one has it all."""
        return gini(evidence_of(self, target), column)

    def entropy(self: Released, column: str, *, target: Target | str = Target.TABLE) -> Estimate:
        """How evenly rows are spread over the values of a column, in nats: 0 to log k."""
        return entropy(evidence_of(self, target), column)

    def histogram(
        self: Released, column: str, *, where: str | None = None, target: Target | str = Target.TABLE
    ) -> Groups:
        """The share of rows in each cell of a column, with intervals: its `plot()` has error bars."""
        return shares(evidence_of(self, target), column, average, where)

    def survival(self: Released, column: str, times: Sequence[float], *, target: Target | str = Target.TABLE) -> Groups:
        """The share of rows whose number is beyond each of some times, among those that have one."""
        evidence = evidence_of(self, target)
        evidence.numeric(column, "survival", ("integer", "number"))
        known = f"not ({column} is null)" if evidence.column(column).nullable else None
        beyond = {f"{time:g}": probability(evidence, f"{column} > {time!r}", where=known) for time in times}
        return Groups(column, {label: one for label, one in beyond.items() if isinstance(one, Estimate)})

    def check(self: Released) -> Agreement:
        """Where the synthetic rows and the estimates disagree by more than the noise: trust the estimates there."""
        return agreement(evidence_of(self, Target.TABLE), mean)

    def answers(self: Released) -> Answers:
        """What this release can and can't answer, by column and by pair of columns."""
        return answers(evidence_of(self, Target.TABLE))


def _of_vectors(release: Released, function: Callable[[Columns], Any], target: Target | str) -> Estimate:
    noisy, chosen = reading(release).embedding("expectation"), choice(Target, target, "target")
    return vector_expectation(noisy, release.rows, release.points, release.weights, function, chosen)
