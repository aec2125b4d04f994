"""One question for each value of a column, or for each combination of values of several."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from kernelease.analysis.coefficients import Regression, RegressionGroups
from kernelease.analysis.estimands import Indicator
from kernelease.analysis.estimate import Estimate
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.groups import Groups, Label
from kernelease.errors import CapacityError, ParameterError
from kernelease.table.expressions.logic import Condition

MOST_GROUPS = 4096  # more would not be read, and take minutes
ALONE = "Ask about all rows, or about groups that were measured together with what is asked."
Answer = TypeVar("Answer")


def grouped(
    evidence: Evidence,
    by: str | Sequence[str],
    columns: Iterable[str],
    answer: Callable[[tuple[Condition, ...], str], Estimate],
) -> Groups:
    """The answer for each group; it gets the group's conditions and its name. `columns` are those of the question."""
    return Groups(_title(by), each_group(evidence, by, [tuple(columns)], answer))


def each_group(
    evidence: Evidence,
    by: str | Sequence[str],
    sets: Sequence[Iterable[str]],
    answer: Callable[[tuple[Condition, ...], str], Answer],
) -> dict[Label, Answer]:
    """The answer for each group. `sets` are the columns that the question needs together, together with the groups."""
    names = names_of(by)
    whole = [(*names, *one) for one in sets]
    parts = [evidence.groups(name, *whole) for name in names]
    if math.prod(map(len, parts)) > MOST_GROUPS:
        raise CapacityError(
            f"by: {' and '.join(names)} have {math.prod(map(len, parts)):,} groups, more than {MOST_GROUPS:,}. "
            "Ask about ranges by where instead."
        )
    found: dict[Label, Answer] = {}
    for combination in itertools.product(*parts):
        labels = tuple(label for label, _ in combination)
        told = ", ".join(f"{name} {label}" for name, label in zip(names, labels, strict=True))
        label = labels[0] if isinstance(by, str) else labels
        found[label] = answer(tuple(condition for _, condition in combination), told)
    return found


def names_of(by: str | Sequence[str]) -> tuple[str, ...]:
    """The columns of the groups."""
    names = (by,) if isinstance(by, str) else tuple(by)
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"by: needs one or several different columns, got {by!r}.")
    return names


def estimated(
    evidence: Evidence,
    sets: Sequence[Iterable[str]],
    answer: Callable[[Evidence], Estimate],
    *,
    what: str,
    instead: str = ALONE,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
) -> Estimate | Groups:
    """A question about the rows that fulfil a condition, or about each group of them.

    `sets` are the columns that must have been measured together, together with those of the condition and the groups;
    else it is refused in the name of `what`, with what to ask `instead`, unless it is about all rows.
    """
    found = _asked(evidence, sets, answer, (what, instead), where, by)
    if isinstance(found, dict):
        return Groups(_title(by), {label: _told(one, where, told) for label, (one, told) in found.items()})
    return _told(found, where, "")


def modelled(
    evidence: Evidence,
    sets: Sequence[Iterable[str]],
    answer: Callable[[Evidence], Regression],
    *,
    what: str,
    instead: str = ALONE,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
) -> Regression | RegressionGroups:
    """A model of the rows that fulfil a condition, or one of each group of them; as `estimated`."""
    found = _asked(evidence, sets, answer, (what, instead), where, by)
    if isinstance(found, dict):
        return RegressionGroups(_title(by), {label: _fitted(one, where, told) for label, (one, told) in found.items()})
    return _fitted(found, where, "")


def _asked(
    evidence: Evidence,
    sets: Sequence[Iterable[str]],
    answer: Callable[[Evidence], Answer],
    refusal: tuple[str, str],
    where: str | None,
    by: str | Sequence[str] | None,
) -> Answer | dict[Label, tuple[Answer, str]]:
    base = evidence.where(where)
    names = () if by is None else names_of(by)
    more = {*base.columns, *(_measured(evidence, name) for name in names)}
    for one in sets:
        columns = evidence.positions({*one, *more})
        if more and not evidence.marginals(columns):
            raise evidence.not_together(columns, *refusal)
    if by is None:
        return answer(evidence.within(base))
    return each_group(
        evidence,
        by,
        [(*one, *base.columns) for one in sets],
        lambda group, told: (answer(evidence.within(Indicator((*base.parts, *group)))), told),
    )


def _measured(evidence: Evidence, name: str) -> str:
    """The column, or where it is derived, the one that says it."""
    structure = evidence.schema.structure
    return structure.origins(name)[0] if name in structure.derivations else evidence.column(name).name


def _title(by: str | Sequence[str] | None) -> Label:
    return by if isinstance(by, str) else tuple(by or ())


def _told(estimate: Estimate, where: str | None, group: str) -> Estimate:
    """The estimate with the rows that it is about in its name."""
    rows = (f" where {where}" if where else "") + (f" for {group}" if group else "")
    return replace(estimate, about=estimate.about + rows)


def _fitted(model: Regression, where: str | None, group: str) -> Regression:
    return Regression(model.formula, {name: _told(one, where, group) for name, one in model.items()})
