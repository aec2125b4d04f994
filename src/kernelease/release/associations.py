"""What an epidemiologist asks of a release: how an event goes with an exposure, and standardised rates."""

from collections.abc import Mapping

from kernelease.analysis.association import Ask, odds_ratio, risk_difference, risk_ratio, standardised_rate
from kernelease.analysis.averages import probability
from kernelease.analysis.estimate import Estimate, Target
from kernelease.release.asked import evidence_of
from kernelease.release.released import Released


class Associations:
    """Comparisons of the probability of an event between rows with and without an exposure. Both are conditions."""

    __slots__ = ()

    def risk_difference(
        self: Released, event: str, exposure: str, *, where: str | None = None, target: Target | str = Target.TABLE
    ) -> Estimate:
        """P(event given exposure) − P(event without it)."""
        return risk_difference(_asking(self, target), event, exposure, where)

    def risk_ratio(
        self: Released, event: str, exposure: str, *, where: str | None = None, target: Target | str = Target.TABLE
    ) -> Estimate:
        """P(event given exposure) / P(event without it)."""
        return risk_ratio(_asking(self, target), event, exposure, where)

    def odds_ratio(
        self: Released, event: str, exposure: str, *, where: str | None = None, target: Target | str = Target.TABLE
    ) -> Estimate:
        """The odds of an event with an exposure over those without it."""
        return odds_ratio(_asking(self, target), event, exposure, where)

    def standardised_rate(
        self: Released,
        event: str,
        weights: Mapping[str, float],
        *,
        where: str | None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate:
        """Σ weight·P(event given a condition), for the weights of a standard: {"age < 40": 0.6, "age >= 40": 0.4}."""
        return standardised_rate(_asking(self, target), event, weights, where)


def _asking(release: Released, target: Target | str) -> Ask:
    evidence = evidence_of(release, target)

    def ask(event: str, where: str) -> Estimate:
        found = probability(evidence, event, where=where)
        assert isinstance(found, Estimate)  # nothing was grouped
        return found

    return ask
