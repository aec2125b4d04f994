"""What an epidemiologist asks of a release: how an event goes with an exposure, and standardised rates."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, overload

from kernelease.analysis.asking import grouped
from kernelease.analysis.averages import probability_within
from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.groups import Groups
from kernelease.errors import ParameterError
from kernelease.release.reading import Released, evidence_of
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
# What an epidemiologist asks of a release: how an event goes with an exposure, and standardised rates.


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
