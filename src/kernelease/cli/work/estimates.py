"""Estimates as tables for people and as records for programs."""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from kernelease.analysis.estimate import Estimate
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


def show(answer: "Answer", level: float) -> tuple[RenderableType, ...]:
    """What is shown to people."""
    if isinstance(answer, EstimateTable):
        cells = [(label, *map(str, row)) for label, row in zip(answer.rows, answer.estimates, strict=True)]
        every = {f"{row}, {column}": answer[row, column] for row in answer.rows for column in answer.columns}
        return (grid((answer.title, *answer.columns), cells), *(line(text) for text in _remarks(every)))
    estimates = {_label(named): one for named, one in _entries(answer)}
    header = (_title(answer), "estimate", f"{100.0 * level:.4g} % interval", "noise", "sampling", "bias")
    rows = [(label, *_cells(estimate, level)) for label, estimate in estimates.items()]
    return (grid(header, rows), *(line(text) for text in _remarks(estimates)))


def _label(named: Mapping[str, str | None]) -> str:
    return ": ".join(part for part in named.values() if part is not None) or "all"


def _title(answer: "Answer") -> str:
    if isinstance(answer, Groups | RegressionGroups):
        return joined(answer.by)
    return answer.formula if isinstance(answer, Regression) else ""


def _cells(estimate: Estimate, level: float) -> tuple[str, ...]:
    low, high = estimate.interval(level)
    parts = (estimate.parts.noise, estimate.parts.sampling, estimate.parts.bias)
    ends = [_printed_number(end) if estimate.calendar is None else estimate.told(end) for end in (low, high)]
    interval = f"{ends[0]} to {ends[1]}" if math.isfinite(high - low) else "not bounded"
    days = 1.0 if estimate.calendar is None else estimate.calendar.day
    return str(estimate), interval, *(_printed_number(part / days) for part in parts)


def _printed_number(value: float) -> str:
    return number(_finite(value))


def _remarks(estimates: Mapping[str, Estimate]) -> list[str]:
    """What must be known before a value is used, each once."""
    remarks = dict.fromkeys(estimate.remark for estimate in estimates.values() if estimate.remark)
    for why in dict.fromkeys(estimate.why for estimate in estimates.values() if estimate.says_little):
        weak = [label for label, estimate in estimates.items() if estimate.says_little and estimate.why == why]
        named = ", ".join(weak[:10]) + (" and others" if len(weak) > 10 else "")
        remarks["says little" + ("" if weak == ["all"] else f" about {named}") + f": {why}"] = None
    return list(remarks)
