"""What an epidemiologist asks of a release: how an event goes with an exposure, and standardised rates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import overload

from kernelease.analysis.association import Ask, odds_ratio, risk_difference, risk_ratio, standardised_rate
from kernelease.analysis.averages import probability_within
from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.grouping import grouped
from kernelease.analysis.groups import Groups
from kernelease.release.asked import evidence_of
from kernelease.release.released import Released
from kernelease.table.expressions.logic import Condition


class Associations:
    """Comparisons of the probability of an event between rows with and without an exposure. Both are conditions."""

    __slots__ = ()

    @overload
    def risk_difference(
        self: Released,
        event: str,
        exposure: str,
        *,
        where: str | None = None,
        by: None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate: ...

    @overload
    def risk_difference(
        self: Released,
        event: str,
        exposure: str,
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> Groups: ...

    def risk_difference(
        self: Released,
        event: str,
        exposure: str,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate | Groups:
        """P(event given exposure) − P(event without it)."""
        return _asked(
            self, target, lambda ask: risk_difference(ask, event, exposure, where), [event, exposure], where, by
        )

    @overload
    def risk_ratio(
        self: Released,
        event: str,
        exposure: str,
        *,
        where: str | None = None,
        by: None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate: ...

    @overload
    def risk_ratio(
        self: Released,
        event: str,
        exposure: str,
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> Groups: ...

    def risk_ratio(
        self: Released,
        event: str,
        exposure: str,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate | Groups:
        """P(event given exposure) / P(event without it)."""
        return _asked(self, target, lambda ask: risk_ratio(ask, event, exposure, where), [event, exposure], where, by)

    @overload
    def odds_ratio(
        self: Released,
        event: str,
        exposure: str,
        *,
        where: str | None = None,
        by: None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate: ...

    @overload
    def odds_ratio(
        self: Released,
        event: str,
        exposure: str,
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> Groups: ...

    def odds_ratio(
        self: Released,
        event: str,
        exposure: str,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate | Groups:
        """The odds of an event with an exposure over those without it."""
        return _asked(self, target, lambda ask: odds_ratio(ask, event, exposure, where), [event, exposure], where, by)

    @overload
    def standardised_rate(
        self: Released,
        event: str,
        weights: Mapping[str, float],
        *,
        where: str | None = None,
        by: None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate: ...

    @overload
    def standardised_rate(
        self: Released,
        event: str,
        weights: Mapping[str, float],
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> Groups: ...

    def standardised_rate(
        self: Released,
        event: str,
        weights: Mapping[str, float],
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate | Groups:
        """Σ weight·P(event given a condition), for the weights of a standard: {"age < 40": 0.6, "age >= 40": 0.4}."""
        return _asked(
            self, target, lambda ask: standardised_rate(ask, event, weights, where), [event, *weights], where, by
        )


def _asked(
    release: Released,
    target: Target | str,
    answer: Callable[[Ask], Estimate],
    conditions: Sequence[str],
    where: str | None,
    by: str | Sequence[str] | None,
) -> Estimate | Groups:
    """An answer made of conditional probabilities, of all rows or of each group."""
    evidence = evidence_of(release, target)

    def within(group: tuple[Condition, ...], told: str) -> Estimate:
        found = answer(lambda event, condition: probability_within(evidence, event, condition, group))
        return replace(found, about=f"{found.about} for {told}") if told else found

    if by is None:
        return within((), "")
    texts = [*conditions, *([] if where is None else [where])]
    return grouped(evidence, by, [name for text in texts for name in evidence.where(text).columns], within)
