"""Questions about the rows that fulfil a condition, or about each group of them."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, final

import numpy as np

from kernelease.analysis.estimands import Indicator
from kernelease.analysis.estimate import Estimate
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.groups import Groups, Label, Regression, RegressionGroups
from kernelease.analysis.inference import ConfidenceLimits, Interval
from kernelease.analysis.restriction import ConditionalMarginal
from kernelease.arrays import Floats
from kernelease.errors import CapacityError, ParameterError
from kernelease.table.expressions.logic import Condition

# --------------------
# Conditions that cut through cells: it is not known which rows of such a cell are meant.


REMARK = "the condition cuts through a cell: whether its rows are meant is in the bias, to first order"


@final
@dataclass(frozen=True, slots=True)
class WidenedLimits(ConfidenceLimits):
    """Limits that reach further on both sides, within what is possible."""

    limits: ConfidenceLimits
    more: float
    within: Interval

    def at(self, level: float) -> Interval:
        low, high = self.limits.at(level)
        return max(low - self.more, min(low, self.within[0])), min(high + self.more, max(high, self.within[1]))


def doubted(estimate: Estimate, *, bounded: bool = False) -> Estimate:
    """The estimate with what the rows of cut cells may change in its bias and its interval.

    Its error is a sum of functions of cells, to first order; so is what the rows of a cell change that are taken to be
    meant and are not, or the other way. `bounded` says that the estimate's possible values are all there are.
    """
    if estimate.source is None and _is_whole(estimate):
        return estimate
    if estimate.source is None:
        raise ParameterError(
            f"{estimate.about}: the condition cuts through a cell, and nothing says what its rows change. Ask with a "
            "condition at the ends of cells, so that all rows of a cell are meant or none."
        )
    functions: dict[int, tuple[ConditionalMarginal, Floats]] = {}
    for marginal, function in estimate.source.functions():
        if isinstance(marginal, ConditionalMarginal):
            before = functions.get(id(marginal), (marginal, np.zeros(marginal.size)))[1]
            functions[id(marginal)] = marginal, before + function
    more = sum(marginal.doubt(function) for marginal, function in functions.values())
    within = estimate.possible if bounded else (-np.inf, np.inf)
    return replace(
        estimate,
        parts=replace(estimate.parts, bias=estimate.parts.bias + more),
        limits=WidenedLimits(estimate.limits, more, within),
        remark="; ".join(part for part in (estimate.remark, REMARK) if part),
    )


def _is_whole(estimate: Estimate) -> bool:
    """Whether the interval is all that is possible."""
    low, high = estimate.interval()
    return low <= estimate.possible[0] and estimate.possible[1] <= high


# --------------------
# One question for each value of a column, or for each combination of values of several.


MOST_GROUPS = 4096  # more would not be read, and take minutes
Answer = TypeVar("Answer")


def grouped(
    evidence: Evidence,
    by: str | Sequence[str],
    columns: Iterable[str],
    answer: Callable[[tuple[Condition, ...], str], Estimate],
) -> Groups:
    """The answer for each group; it gets the group's conditions and its name. `columns` are those of the question."""
    return Groups(title_of(by), each_group(evidence, by, [tuple(columns)], answer))


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


def title_of(by: str | Sequence[str] | None) -> Label:
    """What groups are by."""
    return by if isinstance(by, str) else tuple(by or ())


# --------------------
# The questions themselves: `where` first, then `by`.


ALONE = "Ask about all rows, or about groups that were measured together with what is asked."


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
    more = {*base.columns, *(_measured_name(evidence, name) for name in names)}
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


def _measured_name(evidence: Evidence, name: str) -> str:
    """The column, or where it is derived, the one that says it."""
    structure = evidence.schema.structure
    return structure.origins(name)[0] if name in structure.derivations else evidence.column(name).name


def _told(estimate: Estimate, where: str | None, group: str) -> Estimate:
    """The estimate with the rows that it is about in its name."""
    rows = (f" where {where}" if where else "") + (f" for {group}" if group else "")
    return replace(estimate, about=estimate.about + rows)


def _fitted(model: Regression, where: str | None, group: str) -> Regression:
    return Regression(model.formula, {name: _told(one, where, group) for name, one in model.items()})
