"""One question for each value of a column, or for each combination of values of several."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from kernelease.analysis.estimate import Estimate
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.groups import Groups, Label
from kernelease.errors import CapacityError, ParameterError
from kernelease.table.expressions.logic import Condition

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
