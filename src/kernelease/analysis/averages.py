"""Means, probabilities, counts and expectations, as an analyst asks for them."""

from collections.abc import Callable
from typing import Any

from kernelease.analysis.conditions import present
from kernelease.analysis.estimate import Estimate
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.expectation import average
from kernelease.analysis.groups import Groups
from kernelease.analysis.integrand import Amount, Columns, Function, Integrand, Whether, columns_read
from kernelease.analysis.question import Question
from kernelease.table.expressions import Condition


def mean(evidence: Evidence, column: str, *, where: str | None = None, by: str | None = None) -> Estimate | Groups:
    """The mean of a column of numbers over the rows that have one, and for which `where` is true; booleans are 0, 1."""
    declared, base = evidence.column(column), evidence.where(where)
    known = present(declared)

    def question(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        chosen = Whether((*base.parts, *group))
        complete = Whether((*chosen.parts, *known))
        return Amount(declared, chosen), complete if complete.parts else None

    return _asked(evidence, question, f"mean of {column}", where, by)


def probability(
    evidence: Evidence, event: str, *, where: str | None = None, by: str | None = None
) -> Estimate | Groups:
    """The share of rows for which `event` is true, among those for which `where` is."""
    base, hits = evidence.where(where), evidence.where(event)

    def question(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        chosen = Whether((*base.parts, *group))
        return Whether((*chosen.parts, *hits.parts)), chosen if chosen.parts else None

    return _asked(evidence, question, f"probability of {event}", where, by)


def count(evidence: Evidence, where: str | None = None, *, by: str | None = None) -> Estimate | Groups:
    """How many rows (or persons) there are for which `where` is true."""
    base = evidence.where(where)

    def question(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        return Whether((*base.parts, *group)), None

    return _asked(evidence, question, "number of rows", where, by, total=True)


def expectation(
    evidence: Evidence,
    function: Callable[[Columns], Any],
    *,
    where: str | None = None,
    by: str | None = None,
) -> Estimate | Groups:
    """The mean of a function of a row, over the rows for which it is defined (not NaN) and `where` is true.

    The function gets the columns by name, each as an array, and gives one number per row. Within each cell of a number
    that it reads it should be monotone: its extremes are looked for at five values of each cell.
    """
    names, base = columns_read(function, evidence.sample(), evidence.schema), evidence.where(where)

    def question(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        chosen = Whether((*base.parts, *group))
        return Function(function, names, chosen), Function(function, names, chosen, presence=True)

    name = getattr(function, "__name__", "a function")
    return _asked(evidence, question, f"expectation of {'a function' if '<' in name else name}", where, by)


def _asked(
    evidence: Evidence,
    question: Callable[[tuple[Condition, ...]], tuple[Integrand, Integrand | None]],
    about: str,
    where: str | None,
    by: str | None,
    *,
    total: bool = False,
) -> Estimate | Groups:
    told = about if where is None else f"{about} where {where}"

    def answer(group: tuple[Condition, ...], words: str) -> Estimate:
        numerator, denominator = question(group)
        asked = Question(numerator=numerator, denominator=denominator, about=words, total=total)
        return average(evidence, asked)

    if by is None:
        return answer((), told)
    names = [name for part in question(()) if part is not None for name in part.columns]
    groups = evidence.groups(by, names)
    return Groups(by, {label: answer((condition,), f"{told} for {by} {label}") for label, condition in groups})
