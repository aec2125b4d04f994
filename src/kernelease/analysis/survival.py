"""The share of rows whose number is beyond each of some times."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from kernelease.analysis.estimate import Estimate
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.groups import Groups, Label, as_tuple, joined
from kernelease.errors import ParameterError


class Probability(Protocol):
    """What estimates the probability of an event."""

    def __call__(
        self, evidence: Evidence, event: str, *, where: str | None, by: str | Sequence[str] | None
    ) -> Estimate | Groups:
        """The share of rows for which `event` is true."""


def survival(
    evidence: Evidence,
    name: str,
    times: Sequence[float],
    probability: Probability,
    *,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
) -> Groups:
    """P(number > time) at each time, among the rows that have a number; with `by`, for each group and time.

    `probability` estimates one.
    """
    column = evidence.numeric(name, "survival", ("integer", "number"))
    if not times:
        raise ParameterError("survival: needs one or several times, like 1, 7, 30.")
    parts = [part for part in (where, f"not ({name} is null)" if column.nullable else None) if part is not None]
    known = " and ".join(f"({part})" for part in parts) if len(parts) > 1 else next(iter(parts), None)
    found: dict[Label, Estimate] = {}
    for time in times:
        beyond = probability(evidence, f"{name} > {time!r}", where=known, by=by)
        about = f"share of rows beyond {name}{f' where {where}' if where else ''} for {name} {time:g}"
        if isinstance(beyond, Estimate):
            found[f"{time:g}"] = replace(beyond, about=about)
        else:
            found |= {
                (*as_tuple(label), f"{time:g}"): replace(one, about=f"{about}, {joined(label)}")
                for label, one in beyond.items()
            }
    if by is None:
        return Groups(name, found)
    order = dict.fromkeys(as_tuple(label)[:-1] for label in found)  # groups first, then times
    return Groups(
        (*_names(by), name), {(*one, f"{time:g}"): found[*one, f"{time:g}"] for one in order for time in times}
    )


def _names(by: str | Sequence[str]) -> tuple[str, ...]:
    return (by,) if isinstance(by, str) else tuple(by)
