"""Estimates as tables for people and as records for programs."""

import math
from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType

from kernelease.analysis.estimate import Estimate
from kernelease.analysis.groups import EstimateTable, joined
from kernelease.cli.screen import grid, line, number


def record(answer: Estimate | Mapping[Any, Estimate] | EstimateTable, level: float) -> dict[str, Any]:
    """What goes into JSON: `groups` of estimates, or for a cross-table `rows`, `columns` and `cells`. No NaN."""
    if isinstance(answer, EstimateTable):
        cells = [[_fields(estimate, level) for estimate in row] for row in answer.estimates]
        return {"rows": list(answer.rows), "columns": list(answer.columns), "cells": cells}
    if isinstance(answer, Estimate):
        return {"groups": [{"group": None, **_fields(answer, level)}]}
    return {"groups": [{"group": joined(label), **_fields(one, level)} for label, one in answer.items()]}


def _fields(estimate: Estimate, level: float) -> dict[str, Any]:
    low, high = estimate.interval(level)
    parts = estimate.parts
    return {
        "value": _finite(estimate.value),
        "standard_error": _finite(estimate.standard_error),
        "low": _finite(low),
        "high": _finite(high),
        "noise": _finite(parts.noise),
        "sampling": _finite(parts.sampling),
        "bias": _finite(parts.bias),
        "remark": estimate.remark or None,
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def show(
    answer: Estimate | Mapping[Any, Estimate] | EstimateTable, level: float, title: str
) -> tuple[RenderableType, ...]:
    """What is shown to people."""
    if isinstance(answer, EstimateTable):
        cells = [(label, *map(str, row)) for label, row in zip(answer.rows, answer.estimates, strict=True)]
        return (grid((answer.title, *answer.columns), cells),)
    single = isinstance(answer, Estimate)
    estimates = {"all": answer} if isinstance(answer, Estimate) else {joined(one): answer[one] for one in answer}
    header = ("" if single else title, "estimate", f"{100.0 * level:.4g} % interval", "noise", "sampling", "bias")
    rows = [(label, *_told(estimate, level)) for label, estimate in estimates.items()]
    return (grid(header, rows), *(line(text) for text in _remarks(estimates)))


def _told(estimate: Estimate, level: float) -> tuple[str, ...]:
    low, high = estimate.interval(level)
    parts = (estimate.parts.noise, estimate.parts.sampling, estimate.parts.bias)
    ends = [_number(end) if estimate.calendar is None else estimate.told(end) for end in (low, high)]
    interval = f"{ends[0]} to {ends[1]}" if math.isfinite(high - low) else "not bounded"
    return str(estimate), interval, *(_number(part) for part in parts)


def _number(value: float) -> str:
    return number(_finite(value))


def _remarks(estimates: Mapping[str, Estimate]) -> list[str]:
    """What must be known before a value is used, each once."""
    remarks = dict.fromkeys(estimate.remark for estimate in estimates.values() if estimate.remark)
    for why in dict.fromkeys(estimate.why for estimate in estimates.values() if estimate.says_little):
        weak = [label for label, estimate in estimates.items() if estimate.says_little and estimate.why == why]
        named = "this" if weak == ["all"] else ", ".join(weak[:10]) + (" and others" if len(weak) > 10 else "")
        remarks[f"{why}, to answer {named}: the interval is most of what is possible"] = None
    return list(remarks)
