"""What an analyst asks of a release about how a column is distributed: quantiles, shares, spread, inequality."""

from collections.abc import Sequence
from typing import overload

from kernelease.analysis.asking import estimated
from kernelease.analysis.averages import average, probability
from kernelease.analysis.deviation import standard_deviation
from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.groups import Groups
from kernelease.analysis.histogram import shares
from kernelease.analysis.inequality import entropy, gini
from kernelease.analysis.quantile import quantile
from kernelease.analysis.survival import survival
from kernelease.release.asked import evidence_of
from kernelease.release.released import Released


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
