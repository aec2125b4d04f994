"""One question for each value of a column, or for each combination of values of several."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

from kernelease.analysis.estimate import Estimate
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.groups import Groups, Label
from kernelease.errors import CapacityError, ParameterError
from kernelease.table.expressions.logic import Condition

MOST_GROUPS = 4096  # more would not be read, and take minutes


def grouped(
    evidence: Evidence,
    by: str | Sequence[str],
    columns: Iterable[str],
    answer: Callable[[tuple[Condition, ...], str], Estimate],
) -> Groups:
    """The answer for each group; it gets the group's conditions and its name. `columns` are those of the question."""
    names = (by,) if isinstance(by, str) else tuple(by)
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"by: needs one or several different columns, got {by!r}.")
    parts = [evidence.groups(name, (*names, *columns)) for name in names]
    if math.prod(map(len, parts)) > MOST_GROUPS:
        raise CapacityError(
            f"by: {' and '.join(names)} have {math.prod(map(len, parts)):,} groups, more than {MOST_GROUPS:,}. "
            "Ask about ranges by where instead."
        )
    found: dict[Label, Estimate] = {}
    for combination in itertools.product(*parts):
        labels = tuple(label for label, _ in combination)
        told = ", ".join(f"{name} {label}" for name, label in zip(names, labels, strict=True))
        label = labels[0] if isinstance(by, str) else labels
        found[label] = answer(tuple(condition for _, condition in combination), told)
    return Groups(by if isinstance(by, str) else names, found)
