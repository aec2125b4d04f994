"""What an analyst asks of a release about columns: averages, and how they are distributed, each with its interval."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, overload

from kernelease.analysis.agreement import Agreement, agreement
from kernelease.analysis.asking import estimated
from kernelease.analysis.averages import average, count, crosstab, expectation, mean, probability
from kernelease.analysis.estimands import Columns
from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.evidence import Answers, Evidence, answers
from kernelease.analysis.feature_averages import vector_expectation
from kernelease.analysis.groups import EstimateTable, Groups
from kernelease.analysis.quantile import quantile, shares, survival
from kernelease.analysis.spread import entropy, gini, standard_deviation
from kernelease.release.reading import Released, choice, evidence_of, reading

# --------------------
# What an analyst asks of a release: averages and what is made of them, each with its interval.


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

    def crosstab(
        self: Released,
        first: str,
        second: str,
        *,
        where: str | None = None,
        target: Target | str = Target.TABLE,
    ) -> EstimateTable:
        """The share of rows in each cell of two columns. For a third, ask `histogram(second, by=[first, third])`."""
        return crosstab(evidence_of(self, target), first, second, where=where)

    def check(self: Released) -> Agreement:
        """Where the synthetic rows and the estimates disagree by more than the noise: trust the estimates there."""
        return agreement(evidence_of(self, Target.TABLE), mean, standard_deviation)

    def answers(self: Released) -> Answers:
        """What this release can and can't answer, by column and by pair of columns."""
        return replace(answers(evidence_of(self, Target.TABLE)), notices=self.measurements.notices)


def _of_vectors(release: Released, function: Callable[[Columns], Any], target: Target | str) -> Estimate:
    noisy, chosen = reading(release).embedding("expectation"), choice(Target, target, "target")
    return vector_expectation(noisy, release.rows, release.points, release.weights, function, chosen)


# --------------------
# What an analyst asks of a release about how a column is distributed: quantiles, shares, spread, inequality.


class Distributions:
    """Quantiles, spread, histograms, survival, and how unequal a column is; `where` and `by` are as for means."""

    __slots__ = ()

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

    @overload
    def standard_deviation(
        self: Released, column: str, *, where: str | None = None, by: None = None, target: Target | str = Target.TABLE
    ) -> Estimate: ...

    @overload
    def standard_deviation(
        self: Released,
        column: str,
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> Groups: ...

    def standard_deviation(
        self: Released,
        column: str,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate | Groups:
        """How far a number is from its mean, a root mean square."""

        def answer(rows: Evidence) -> Estimate:
            return standard_deviation(rows, column)

        evidence = evidence_of(self, target)
        return estimated(evidence, [(column,)], answer, what="standard deviation", where=where, by=by)

    @overload
    def gini(
        self: Released, column: str, *, where: str | None = None, by: None = None, target: Target | str = Target.TABLE
    ) -> Estimate: ...

    @overload
    def gini(
        self: Released,
        column: str,
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> Groups: ...

    def gini(
        self: Released,
        column: str,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate | Groups:
        """How unequal a number is among rows: 0 where all have the same, near 1 where one has it all."""
        evidence = evidence_of(self, target)
        return estimated(evidence, [(column,)], lambda rows: gini(rows, column), what="gini", where=where, by=by)

    @overload
    def entropy(
        self: Released, column: str, *, where: str | None = None, by: None = None, target: Target | str = Target.TABLE
    ) -> Estimate: ...

    @overload
    def entropy(
        self: Released,
        column: str,
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> Groups: ...

    def entropy(
        self: Released,
        column: str,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate | Groups:
        """How evenly rows are spread over the values of a column, in nats: 0 to log k."""
        evidence = evidence_of(self, target)
        return estimated(evidence, [(column,)], lambda rows: entropy(rows, column), what="entropy", where=where, by=by)

    def histogram(
        self: Released,
        column: str,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Groups:
        """The share of rows in each cell of a column, of each group with `by`: its `plot()` has error bars."""
        return shares(evidence_of(self, target), column, average, where=where, by=by)

    def survival(
        self: Released,
        column: str,
        times: Sequence[float],
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Groups:
        """The share of rows whose number is beyond each of some times, among those that have one."""
        return survival(evidence_of(self, target), column, times, probability, where=where, by=by)
