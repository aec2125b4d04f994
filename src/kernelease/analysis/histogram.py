"""The share of rows in each cell of a column."""

from collections.abc import Callable, Sequence

from kernelease.analysis.estimands import Estimand, Indicator
from kernelease.analysis.estimate import Estimate
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.grouping import grouped, names_of
from kernelease.analysis.groups import Groups
from kernelease.table.expressions.logic import Condition


def shares(
    evidence: Evidence,
    name: str,
    average: Callable[[Evidence, Estimand], Estimate],
    *,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
) -> Groups:
    """Of all rows, of those for which `where` is true, or of each group: they add up to 1 there, up to noise.

    `average` estimates one.
    """
    base, groups = evidence.where(where), () if by is None else names_of(by)
    rows = f" where {where}" if where else ""

    def answer(group: tuple[Condition, ...], told: str) -> Estimate:
        among = Indicator((*base.parts, *group[: len(groups)]))
        inside = Indicator((*base.parts, *group))
        about = f"share of rows{rows} for {told}"
        return average(evidence, Estimand(numerator=inside, denominator=among if among.parts else None, about=about))

    return grouped(evidence, (*groups, name) if groups else name, base.columns, answer)
