"""What an analyst asks of a release: averages and what is made of them, each with its interval."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar, overload

from kernelease.analysis.averages import count, crosstab, expectation, mean, probability
from kernelease.analysis.correlation import correlation
from kernelease.analysis.estimands import Columns
from kernelease.analysis.estimate import Estimate, EstimateTable, Groups, Target
from kernelease.analysis.evidence import Answers, Evidence, Spread, answers
from kernelease.analysis.feature_averages import vector_expectation
from kernelease.analysis.quantile import quantile
from kernelease.analysis.regression import Regression, regression
from kernelease.errors import ParameterError
from kernelease.release.reading import reading
from kernelease.release.released import Released

Choice = TypeVar("Choice", bound=StrEnum)


class Estimates:
    """Answers with error bars, from the noisy numbers of a release.

    `where` is a condition like "age > 30 and sex == 'F'", and `by` a column: then there is an answer for each of its
    values. `target` is "table", the private table itself as its schema declares it (clamped to its ranges), or
    "population", what it was drawn from. `spread` says where in their cells numbers may lie: "any" where, and the
    interval holds all of that; or "even"ly, an assumption about the private table that shortens it.
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
        spread: Spread | str = Spread.ANY,
    ) -> Estimate: ...

    @overload
    def mean(
        self: Released,
        column: str,
        *,
        where: str | None = None,
        by: str,
        target: Target | str = Target.TABLE,
        spread: Spread | str = Spread.ANY,
    ) -> Groups: ...

    def mean(
        self: Released,
        column: str,
        *,
        where: str | None = None,
        by: str | None = None,
        target: Target | str = Target.TABLE,
        spread: Spread | str = Spread.ANY,
    ) -> Estimate | Groups:
        """The mean of a column of numbers or booleans, over the rows that have a value."""
        if self.schema is None and where is None and by is None:
            return _of_vectors(self, lambda vectors: vectors[column], target)
        return mean(_evidence(self, target, spread), column, where=where, by=by)

    @overload
    def probability(
        self: Released,
        event: str,
        *,
        where: str | None = None,
        by: None = None,
        target: Target | str = Target.TABLE,
        spread: Spread | str = Spread.ANY,
    ) -> Estimate: ...

    @overload
    def probability(
        self: Released,
        event: str,
        *,
        where: str | None = None,
        by: str,
        target: Target | str = Target.TABLE,
        spread: Spread | str = Spread.ANY,
    ) -> Groups: ...

    def probability(
        self: Released,
        event: str,
        *,
        where: str | None = None,
        by: str | None = None,
        target: Target | str = Target.TABLE,
        spread: Spread | str = Spread.ANY,
    ) -> Estimate | Groups:
        """The share of rows for which a condition is true."""
        return probability(_evidence(self, target, spread), event, where=where, by=by)

    @overload
    def count(
        self: Released,
        where: str | None = None,
        *,
        by: None = None,
        target: Target | str = Target.TABLE,
        spread: Spread | str = Spread.ANY,
    ) -> Estimate: ...

    @overload
    def count(
        self: Released,
        where: str | None = None,
        *,
        by: str,
        target: Target | str = Target.TABLE,
        spread: Spread | str = Spread.ANY,
    ) -> Groups: ...

    def count(
        self: Released,
        where: str | None = None,
        *,
        by: str | None = None,
        target: Target | str = Target.TABLE,
        spread: Spread | str = Spread.ANY,
    ) -> Estimate | Groups:
        """How many rows (or persons, where the schema has a unit) there are for which a condition is true."""
        return count(_evidence(self, target, spread), where, by=by)

    @overload
    def expectation(
        self: Released,
        function: Callable[[Columns], Any],
        *,
        where: str | None = None,
        by: None = None,
        target: Target | str = Target.TABLE,
        spread: Spread | str = Spread.ANY,
    ) -> Estimate: ...

    @overload
    def expectation(
        self: Released,
        function: Callable[[Columns], Any],
        *,
        where: str | None = None,
        by: str,
        target: Target | str = Target.TABLE,
        spread: Spread | str = Spread.ANY,
    ) -> Groups: ...

    def expectation(
        self: Released,
        function: Callable[[Columns], Any],
        *,
        where: str | None = None,
        by: str | None = None,
        target: Target | str = Target.TABLE,
        spread: Spread | str = Spread.ANY,
    ) -> Estimate | Groups:
        """The mean of a function of a row: `lambda t: np.log1p(t["gain"])`. NaN leaves a row out.

        Of a release of vectors, the columns are x0, x1 and so on.
        """
        if self.schema is None and where is None and by is None:
            return _of_vectors(self, function, target)
        return expectation(_evidence(self, target, spread), function, where=where, by=by)

    def quantile(self: Released, column: str, share: float, *, target: Target | str = Target.TABLE) -> Estimate:
        """The least number that at least a share of the rows do not exceed; 0.5 is the median."""
        return quantile(_evidence(self, target), column, share)

    def correlation(
        self: Released,
        first: str,
        second: str,
        *,
        target: Target | str = Target.TABLE,
        spread: Spread | str = Spread.ANY,
    ) -> Estimate:
        """The correlation of two columns of numbers or booleans."""
        return correlation(_evidence(self, target, spread), first, second)

    def crosstab(
        self: Released,
        first: str,
        second: str,
        *,
        where: str | None = None,
        target: Target | str = Target.TABLE,
        spread: Spread | str = Spread.ANY,
    ) -> EstimateTable:
        """The share of rows in each cell of two columns."""
        return crosstab(_evidence(self, target, spread), first, second, where=where)

    def regression(
        self: Released, formula: str, *, target: Target | str = Target.TABLE, spread: Spread | str = Spread.ANY
    ) -> Regression:
        """Least squares: "hours ~ age + sex". A category has a coefficient for each value but the first."""
        return regression(_evidence(self, target, spread), formula)

    def answers(self: Released) -> Answers:
        """What this release can and can't answer, by column and by pair of columns."""
        return answers(_evidence(self, Target.TABLE))


def _of_vectors(release: Released, function: Callable[[Columns], Any], target: Target | str) -> Estimate:
    noisy, chosen = reading(release).embedding("expectation"), _choice(Target, target, "target")
    return vector_expectation(noisy, release.rows, release.points, release.weights, function, chosen)


def _evidence(release: Released, target: Target | str, spread: Spread | str = Spread.ANY) -> Evidence:
    if release.schema is None:
        raise ParameterError("This release has no schema, so its columns have no declared meaning to ask about.")
    return Evidence(
        schema=release.schema,
        measured=release.measured,
        rows=release.rows,
        weights=release.weights,
        target=_choice(Target, target, "target"),
        spread=_choice(Spread, spread, "spread"),
    )


def _choice(kind: type[Choice], given: Choice | str, name: str) -> Choice:
    try:
        return kind(given)
    except ValueError:
        names = " or ".join(repr(str(item)) for item in kind)
        raise ParameterError(f"{name} must be {names}, got {given!r}.") from None
