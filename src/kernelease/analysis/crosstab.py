"""Shares of rows by the values of two columns."""

from kernelease.analysis.evidence import Evidence
from kernelease.analysis.expectation import average
from kernelease.analysis.groups import EstimateTable
from kernelease.analysis.integrand import Whether
from kernelease.analysis.question import Question
from kernelease.errors import CapacityError, ParameterError

MOST_CELLS = 4096


def crosstab(evidence: Evidence, first: str, second: str, *, where: str | None = None) -> EstimateTable:
    """The share of rows in each cell of two columns, among those for which `where` is true."""
    base = evidence.where(where)
    if first == second:
        raise ParameterError(f"crosstab: needs two different columns, got {first!r} twice.")
    down, across = (evidence.groups(name, (first, second, *base.columns)) for name in (first, second))
    if len(down) * len(across) > MOST_CELLS:
        raise CapacityError(
            f"crosstab: {first} by {second} has {len(down) * len(across):,} cells, more than {MOST_CELLS:,}. "
            "Ask for probabilities of ranges instead."
        )
    estimates = tuple(
        tuple(
            average(
                evidence,
                Question(
                    numerator=Whether((*base.parts, one, other)),
                    denominator=base if base.parts else None,
                    about=f"share of {first} {label} and {second} {name}",
                ),
            )
            for name, other in across
        )
        for label, one in down
    )
    return EstimateTable(
        title=f"{first} \\ {second}",
        rows=tuple(label for label, _ in down),
        columns=tuple(label for label, _ in across),
        estimates=estimates,
    )
