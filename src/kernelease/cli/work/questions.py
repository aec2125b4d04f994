"""The questions of `kernelease query`, as they are typed, and their estimates as tables and records."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

from rich.console import RenderableType

from kernelease.analysis.estimate import Estimate
from kernelease.analysis.groups import EstimateTable, Groups, Regression, RegressionGroups, joined
from kernelease.cli.screen import grid, line, number
from kernelease.errors import ParameterError, nearest

if TYPE_CHECKING:
    from kernelease.analysis.estimate import Target
    from kernelease.release.release import Release


# --------------------
# The questions of `kernelease query`: what each is about, and which method of a release answers it.


Answer: TypeAlias = "Estimate | Groups | Regression | RegressionGroups | EstimateTable"
MANY = 1000  # operands: as many as one likes


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question to a release: its operands, and the rows that it is about."""

    release: "Release"
    about: tuple[str, ...]
    where: str | None
    by: str | list[str] | None
    target: "Target"

    @property
    def rows(self) -> dict[str, Any]:
        """What every question takes."""
        return {"where": self.where, "by": self.by, "target": self.target}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """How many operands it takes, an example of them, and its answer. `listed` operands have commas in a call."""

    least: int
    most: int
    example: str
    answer: Callable[[Asked], Answer]
    listed: bool = False


def _crosstab(asked: Asked) -> Answer:
    if asked.by is not None:
        first, second = asked.about
        by = asked.by if isinstance(asked.by, str) else ",".join(asked.by)
        raise ParameterError(f"query: crosstab takes no --by. Ask histogram {second} --by {first},{by}.")
    rest = {key: value for key, value in asked.rows.items() if key != "by"}
    return asked.release.crosstab(*asked.about, **rest)


def _count(asked: Asked) -> Answer:
    rest = {key: value for key, value in asked.rows.items() if key != "where"}
    found: Answer = asked.release.count(asked.where, **rest)
    return found


def _standardised_rate(asked: Asked) -> Answer:
    event, *strata = asked.about
    weights = dict(_stratum(text) for text in strata)
    found: Answer = asked.release.standardised_rate(event, weights, **asked.rows)
    return found


def _stratum(text: str) -> tuple[str, float]:
    condition, _, weight = text.rpartition(":")
    if not condition.strip():
        raise ParameterError(f"query: a stratum is a condition and its weight, like 'age < 40: 0.6'; got {text!r}.")
    return condition.strip(), _number(weight, "a stratum's weight")


def _number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError(f"query: {what} is a number, like 0.9; got {text.strip()!r}.")
    return number


def _method(name: str) -> Callable[[Asked], Answer]:
    """The method of that name, with the operands as they are."""

    def answer(asked: Asked) -> Answer:
        found: Answer = getattr(asked.release, name)(*asked.about, **asked.rows)
        return found

    return answer


def _quantile(asked: Asked) -> Answer:
    column, share = asked.about
    found: Answer = asked.release.quantile(column, _number(share, "the share of a quantile"), **asked.rows)
    return found


def _survival(asked: Asked) -> Answer:
    column, *times = asked.about
    return asked.release.survival(column, [_number(time, "a time") for time in times], **asked.rows)


_EXPOSED = 'an event and an exposure, two conditions: {} "ill == true" "sex == \'F\'"'
QUESTIONS: dict[str, Question] = {
    "mean": Question(least=1, most=1, example="a column: mean age", answer=_method("mean")),
    "count": Question(least=0, most=0, example='no operand: count --where "age > 30"', answer=_count),
    "probability": Question(
        least=1, most=1, example='a condition: probability "age > 30"', answer=_method("probability")
    ),
    "quantile": Question(
        least=2, most=2, example="a column and a share: quantile hours 0.9", answer=_quantile, listed=True
    ),
    "standard-deviation": Question(
        least=1, most=1, example="a column of numbers: standard-deviation age", answer=_method("standard_deviation")
    ),
    "histogram": Question(least=1, most=1, example="a column: histogram ward", answer=_method("histogram")),
    "survival": Question(
        least=2, most=MANY, example="a column and times: survival stay 1 3 7", answer=_survival, listed=True
    ),
    "gini": Question(least=1, most=1, example="a column of numbers: gini cost", answer=_method("gini")),
    "entropy": Question(least=1, most=1, example="a column: entropy ward", answer=_method("entropy")),
    "crosstab": Question(least=2, most=2, example="two columns: crosstab sex income", answer=_crosstab, listed=True),
    "correlation": Question(
        least=2,
        most=2,
        example="two columns: correlation age hours",
        answer=_method("correlation"),
        listed=True,
    ),
    "regression": Question(
        least=1, most=1, example='a formula: regression "hours ~ age + sex"', answer=_method("regression")
    ),
    "logistic": Question(least=1, most=1, example='a formula: logistic "ill ~ age + sex"', answer=_method("logistic")),
    "poisson": Question(least=1, most=1, example='a formula: poisson "visits ~ age"', answer=_method("poisson")),
    "trend": Question(
        least=2, most=2, example="a column and a date or number: trend ill day", answer=_method("trend"), listed=True
    ),
    "odds-ratio": Question(least=2, most=2, example=_EXPOSED.format("odds-ratio"), answer=_method("odds_ratio")),
    "risk-ratio": Question(least=2, most=2, example=_EXPOSED.format("risk-ratio"), answer=_method("risk_ratio")),
    "risk-difference": Question(
        least=2, most=2, example=_EXPOSED.format("risk-difference"), answer=_method("risk_difference")
    ),
    "standardised-rate": Question(
        least=2,
        most=MANY,
        example='an event, and strata with weights: standardised-rate "ill == true" "age < 40: 0.6" "age >= 40: 0.4"',
        answer=_standardised_rate,
    ),
}
"""By name, in the order in which they are listed."""


# --------------------
# A question as it is typed: its words, its columns, and groups beside one of them.


_CALL = re.compile(r"\s*([\w-]+)\s*\((.*)\)\s*", re.DOTALL)


def read_question(question: str, operands: list[str]) -> tuple[str, list[str]]:
    """The question and its operands, written as words or as a call."""
    call = _CALL.fullmatch(question)
    if call is not None and not operands:
        question = call[1]
        listed = question in QUESTIONS and QUESTIONS[question].listed
        operands = [part.strip() for part in call[2].split(",")] if listed else [call[2].strip()]
    names = tuple(QUESTIONS)
    if question not in names:
        raise ParameterError(f"query: must be one of {', '.join(names)}, got {question!r}.{nearest(question, names)}")
    operands = [operand for operand in operands if operand]
    known = QUESTIONS[question]
    if not known.least <= len(operands) <= known.most:
        raise ParameterError(f"query: {question} takes {known.example}; got {len(operands)} operands.")
    return question, operands


def refuse(by: str | list[str] | None, minus: str | None, over: str | None) -> None:
    """Refuse a comparison of groups that are not there."""
    if minus is not None and over is not None:
        raise ParameterError("query: take --minus or --over, not both.")
    if by is None and (minus is not None or over is not None):
        raise ParameterError("query: --minus and --over compare groups. Say by which columns with --by.")


def compared(answer: Answer, minus: str | None, over: str | None) -> Answer:
    """The groups beside one of them."""
    from kernelease.analysis.groups import (
        Groups,
        RegressionGroups,  # a question is read without them
        joined,
    )

    text = over if minus is None else minus
    if text is None or not isinstance(answer, Groups | RegressionGroups):
        return answer
    words = [part.strip() for part in text.split(",")]
    label = next((one for one in answer if joined(one) in (text, ", ".join(words))), text)
    return answer.over(label) if minus is None else answer.minus(label)


def grouping(by: str) -> str | list[str]:
    """One column, or several with commas between them."""
    names = [name.strip() for name in by.split(",")]
    return names if len(names) > 1 else by


# --------------------
# Estimates as tables for people and as records for programs.


def record(answer: Answer, level: float) -> dict[str, Any]:
    """What goes into JSON: `groups` of estimates, or for a cross-table `rows`, `columns` and `cells`. No NaN.

    A group is null where all rows are meant, and the coefficients of a model have a `term`. The errors of a date are in
    days.
    """
    if isinstance(answer, EstimateTable):
        cells = [[_fields(estimate, level) for estimate in row] for row in answer.estimates]
        return {"rows": list(answer.rows), "columns": list(answer.columns), "cells": cells}
    return {"groups": [{**named, **_fields(one, level)} for named, one in _entries(answer)]}


def _entries(answer: Answer) -> Iterable[tuple[Mapping[str, str | None], Estimate]]:
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


def show(answer: Answer, level: float) -> tuple[RenderableType, ...]:
    """What is shown to people."""
    if isinstance(answer, EstimateTable):
        cells = [(label, *map(str, row)) for label, row in zip(answer.rows, answer.estimates, strict=True)]
        every = {f"{row}, {column}": answer[row, column] for row in answer.rows for column in answer.columns}
        return (grid((answer.title, *answer.columns), cells), *(line(text) for text in _remarks(every)))
    estimates = {_label(named): one for named, one in _entries(answer)}
    header = (_title(answer), "estimate", f"{100.0 * level:.4g} % interval", "noise", "sampling", "bias")
    rows = [(label, *_told(estimate, level)) for label, estimate in estimates.items()]
    return (grid(header, rows), *(line(text) for text in _remarks(estimates)))


def _label(named: Mapping[str, str | None]) -> str:
    return ": ".join(part for part in named.values() if part is not None) or "all"


def _title(answer: Answer) -> str:
    if isinstance(answer, Groups | RegressionGroups):
        return joined(answer.by)
    return answer.formula if isinstance(answer, Regression) else ""


def _told(estimate: Estimate, level: float) -> tuple[str, ...]:
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
        named = "this" if weak == ["all"] else ", ".join(weak[:10]) + (" and others" if len(weak) > 10 else "")
        remarks[f"{why}, to answer {named}: the interval is most of what could be"] = None
    return list(remarks)
