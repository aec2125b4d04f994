"""Questions about the rows that fulfil a condition, or about each group of them."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from kernelease.analysis.coefficients import Regression, RegressionGroups
from kernelease.analysis.doubtful import doubted
from kernelease.analysis.estimands import Indicator
from kernelease.analysis.estimate import Estimate
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.grouping import each_group, names_of, title_of
from kernelease.analysis.groups import Groups, Label
from kernelease.analysis.restriction import ConditionalMarginal

ALONE = "Ask about all rows, or about groups that were measured together with what is asked."
Answer = TypeVar("Answer")


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

    def asked(rows: Evidence) -> Estimate:
        found = answer(rows)
        return doubted(found, bounded=True) if _is_cut(rows, sets) and _has_ends(found) else found

    found = _asked(evidence, sets, asked, (what, instead), where, by)
    if isinstance(found, dict):
        return Groups(title_of(by), {label: _told(one, where, told) for label, (one, told) in found.items()})
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

    def asked(rows: Evidence) -> Regression:
        found = answer(rows)
        if not _is_cut(rows, sets):
            return found
        return Regression(found.formula, {name: doubted(e) if _has_ends(e) else e for name, e in found.items()})

    found = _asked(evidence, sets, asked, (what, instead), where, by)
    if isinstance(found, dict):
        return RegressionGroups(
            title_of(by), {label: _fitted(one, where, told) for label, (one, told) in found.items()}
        )
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


def _is_cut(rows: Evidence, sets: Sequence[Iterable[str]]) -> bool:
    """Whether the condition cuts through cells of what answers the question."""
    used = [marginal for one in sets for marginal in rows.marginals(rows.positions(one))]
    return any(isinstance(marginal, ConditionalMarginal) and marginal.cut for marginal in used)


def _has_ends(estimate: Estimate) -> bool:
    low, high = estimate.interval()
    return math.isfinite(high - low)


def _measured(evidence: Evidence, name: str) -> str:
    """The column, or where it is derived, the one that says it."""
    structure = evidence.schema.structure
    return structure.origins(name)[0] if name in structure.derivations else evidence.column(name).name


def _told(estimate: Estimate, where: str | None, group: str) -> Estimate:
    """The estimate with the rows that it is about in its name."""
    rows = (f" where {where}" if where else "") + (f" for {group}" if group else "")
    return replace(estimate, about=estimate.about + rows)


def _fitted(model: Regression, where: str | None, group: str) -> Regression:
    return Regression(model.formula, {name: _told(one, where, group) for name, one in model.items()})
