"""Estimates as tables for people and as records for programs."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from kernelease.analysis.estimate import Estimate, Parts
from kernelease.analysis.groups import EstimateTable, Groups, Regression, RegressionGroups, joined
from kernelease.cli.screen import grid, line, number

if TYPE_CHECKING:
    from kernelease.cli.work.questions import Answer


def record(answer: "Answer", level: float) -> dict[str, Any]:
    """What goes into JSON: `groups` of estimates, or for a cross-table `rows`, `columns` and `cells`. No NaN.

    A group is null where all rows are meant, and the coefficients of a model have a `term`. The errors of a date are in
    days.
    """
    if isinstance(answer, EstimateTable):
        cells = [[_fields(estimate, level) for estimate in row] for row in answer.estimates]
        return {"rows": list(answer.rows), "columns": list(answer.columns), "cells": cells}
    return {"groups": [{**named, **_fields(one, level)} for named, one in _entries(answer)]}


def _entries(answer: "Answer") -> Iterable[tuple[Mapping[str, str | None], Estimate]]:
    """Each estimate, with its group and term."""
    match answer:
        case Estimate():
            yield {"group": None}, answer
        case Groups():
            yield from (({"group": joined(label)}, one) for label, one in answer.items())
        case Regression():
            yield from (({"group": None, "term": term}, one) for term, one in answer.items())
        case RegressionGroups():
            for label, model in answer.items():
                yield from (({"group": joined(label), "term": term}, one) for term, one in model.items())


def _fields(estimate: Estimate, level: float) -> dict[str, Any]:
    low, high = estimate.interval(level)
    parts, unit = estimate.parts, 1.0 if estimate.calendar is None else estimate.calendar.day
    ends = {"value": estimate.value, "low": low, "high": high}
    return {
        **{key: _end(estimate, end) for key, end in ends.items()},
        "standard_error": _finite(estimate.standard_error / unit),
        "noise": _finite(parts.noise / unit),
        "inside": _finite(parts.inside / unit),
        "sampling": _finite(parts.sampling / unit),
        "bias": _finite(parts.bias / unit),
        "says_little": estimate.says_little,
        "about": estimate.about,
        "remark": estimate.remark or None,
    }


def _end(estimate: Estimate, value: float) -> float | str | None:
    """A number, or a date as text."""
    if estimate.calendar is None or not math.isfinite(value):
        return _finite(value)
    return estimate.told(value)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def show(answer: "Answer", level: float, *, parts: bool = False) -> tuple[RenderableType, ...]:
    """What is shown to people; with `parts`, what the error is made of, too."""
    if isinstance(answer, EstimateTable):
        cells = [(label, *map(str, row)) for label, row in zip(answer.rows, answer.estimates, strict=True)]
        every = {f"{row}, {column}": answer[row, column] for row in answer.rows for column in answer.columns}
        return (grid((answer.title, *answer.columns), cells), *(line(text) for text in _remarks(every)))
    if isinstance(answer, Estimate):
        told = (answer.about, *_cells(answer, level), *(_parts(answer) if parts else ()))
        weak = [line(text) for text in _remarks({"all": answer})]
        return (grid(("", "estimate", *_header(level, parts)), [told]), *weak)
    estimates = {_label(named): one for named, one in _entries(answer)}
    header = (_title(answer), "estimate", *_header(level, parts))
    rows = [(label, *_cells(one, level), *(_parts(one) if parts else ())) for label, one in estimates.items()]
    return (grid(header, rows), *(line(text) for text in _remarks(estimates)))


def _header(level: float, parts: bool) -> tuple[str, ...]:
    return (f"{100.0 * level:.4g} % interval", *(_PARTS if parts else ()))


def _label(named: Mapping[str, str | None]) -> str:
    return ": ".join(part for part in named.values() if part is not None) or "all"


def _title(answer: "Answer") -> str:
    if isinstance(answer, Groups | RegressionGroups):
        return joined(answer.by)
    return answer.formula if isinstance(answer, Regression) else ""


_PARTS = tuple(part.name for part in dataclasses.fields(Parts))


def _cells(estimate: Estimate, level: float) -> tuple[str, str]:
    """The value, with its margin where both sides are alike, and the ends of the interval in as many digits."""
    low, high = estimate.interval(level)
    if estimate.calendar is not None or not math.isfinite(estimate.value + high - low):
        bounded = f"{estimate.told(low)} to {estimate.told(high)}" if math.isfinite(high - low) else "not bounded"
        return estimate.told(estimate.value) if math.isfinite(estimate.value) else "unknown", bounded
    digits = estimate.digits(level)
    value, *ends = (f"{one:,.{digits}f}" for one in (estimate.value, low, high))
    below, above = estimate.value - low, high - estimate.value
    alike = abs(below - above) <= 0.1 * max(below, above)
    return f"{value} ± {max(below, above):,.{digits}f}" if alike else value, " to ".join(ends)


def _parts(estimate: Estimate) -> tuple[str, ...]:
    """What the error is made of, of a date in days; what is only left of rounding is 0."""
    days = 1.0 if estimate.calendar is None else estimate.calendar.day
    least = 1e-9 * max(abs(estimate.value), estimate.standard_error)
    return tuple(number(_finite(0.0 if part <= least else part / days)) for part in dataclasses.astuple(estimate.parts))


def _remarks(estimates: Mapping[str, Estimate]) -> list[str]:
    """What must be known before a value is used, each once."""
    remarks = dict.fromkeys(estimate.remark for estimate in estimates.values() if estimate.remark)
    for why in dict.fromkeys(estimate.why for estimate in estimates.values() if estimate.says_little):
        weak = [label for label, estimate in estimates.items() if estimate.says_little and estimate.why == why]
        named = ", ".join(weak[:10]) + (" and others" if len(weak) > 10 else "")
        remarks["says little" + ("" if weak == ["all"] else f" about {named}") + f": {why}"] = None
    return list(remarks)
