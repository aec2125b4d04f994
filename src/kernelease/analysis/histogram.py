"""The share of rows in each cell of a column."""

from collections.abc import Callable

from kernelease.analysis.estimands import Estimand, Indicator
from kernelease.analysis.estimate import Estimate
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.grouping import grouped
from kernelease.analysis.groups import Groups
from kernelease.table.expressions.logic import Condition


def shares(
    evidence: Evidence, name: str, average: Callable[[Evidence, Estimand], Estimate], where: str | None = None
) -> Groups:
    """Of all rows, or of those for which `where` is true; they add up to 1, up to noise. `average` estimates one."""
    base = evidence.where(where)

    def answer(group: tuple[Condition, ...], told: str) -> Estimate:
        about = f"share of rows for {told}"
        inside = Indicator((*base.parts, *group))
        return average(evidence, Estimand(numerator=inside, denominator=base if base.parts else None, about=about))

    return grouped(evidence, name, base.columns, answer)
