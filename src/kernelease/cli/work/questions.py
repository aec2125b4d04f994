"""The questions of `kernelease query`, as they are typed, and their estimates: for people to read, and for programs."""

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

from rich.console import RenderableType

from kernelease.analysis.estimate import Estimate, Parts
from kernelease.analysis.groups import EstimateTable, Groups, Regression, RegressionGroups, joined
from kernelease.cli.screen import grid, line, number
from kernelease.errors import ParameterError, nearest

if TYPE_CHECKING:
    from kernelease.analysis.estimate import Estimate, Target
    from kernelease.analysis.groups import EstimateTable, Groups, Regression, RegressionGroups
    from kernelease.answers.questions import Questions
    from kernelease.answers.release import Release


# --------------------------------------------------------------------------------------------------------------
# Estimates as tables for people and as records for programs.


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


# --------------------------------------------------------------------------------------------------------------
# The questions of `kernelease query`, as they are typed, and their estimates as tables and records.


# --------------------
# Every question: what it is about, and which method of a release answers it.


Answer: TypeAlias = "Estimate | Groups | Regression | RegressionGroups | EstimateTable"
MANY = 1000  # operands: as many as one likes


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A question to a release: its operands, and the rows that it is about."""

    release: "Release"
    about: tuple[str, ...]
    where: str | None
    by: str | list[str] | None
    of: "Target"

    @property
    def rows(self) -> "Questions[Any, Any]":
        """The questions about these rows."""
        rows: Questions[Any, Any] = self.release.of(self.of)
        rows = rows if self.where is None else rows.where(self.where)
        return rows if self.by is None else rows.by(*([self.by] if isinstance(self.by, str) else self.by))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """How many operands it takes, an example of them, and its answer. `listed` operands have commas in a call."""

    least: int
    most: int
    example: str
    answer: Callable[[Asking], Answer]
    listed: bool = False


def _crosstab(asked: Asking) -> Answer:
    if asked.by is not None:
        first, second = asked.about
        by = asked.by if isinstance(asked.by, str) else ",".join(asked.by)
        raise ParameterError(f"query: crosstab takes no --by. Ask histogram {second} --by {first},{by}.")
    return asked.rows.crosstab(*asked.about)


def _standardised_rate(asked: Asking) -> Answer:
    event, *strata = asked.about
    weights = dict(_stratum(text) for text in strata)
    found: Answer = asked.rows.standardised_rate(event, weights)
    return found


def _stratum(text: str) -> tuple[str, float]:
    condition, _, weight = text.rpartition(":")
    if not condition.strip():
        raise ParameterError(f"query: a stratum is a condition and its weight, like 'age < 40: 0.6'; got {text!r}.")
    return condition.strip(), read_number(weight, "a stratum's weight")


def read_number(text: str, what: str) -> float:
    """A finite number, as it was typed."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError(f"query: {what} is a number, like 0.9; got {text.strip()!r}.")
    return number


def _method(name: str) -> Callable[[Asking], Answer]:
    """The question of that name, with the operands as they are."""

    def answer(asked: Asking) -> Answer:
        found: Answer = getattr(asked.rows, name)(*asked.about)
        return found

    return answer


def _mean(asked: Asking) -> Answer:
    return _of_vectors("mean")(asked) if asked.release.schema is None else _method("mean")(asked)


def _of_vectors(name: str) -> Callable[[Asking], Answer]:
    """A question to a release of vectors."""

    def answer(asked: Asking) -> Answer:
        from kernelease.cli.work.vectors import vector_answer  # tables are asked without it

        return vector_answer(name, asked)

    return answer


def _quantile(asked: Asking) -> Answer:
    column, share = asked.about
    found: Answer = asked.rows.quantile(column, read_number(share, "the share of a quantile"))
    return found


def _survival(asked: Asking) -> Answer:
    column, *times = asked.about
    return asked.rows.survival(column, [read_number(time, "a time") for time in times])


def _hazard(asked: Asking) -> Answer:
    column, *rest = asked.about
    event = next((part for part in rest if not _is_number(part)), None)
    return asked.rows.hazard(column, [read_number(time, "a time") for time in rest if time != event], event)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


_EXPOSED = 'an event and an exposure, two conditions: {} "ill == true" "sex == \'F\'"'
QUESTIONS: dict[str, Question] = {
    "mean": Question(least=1, most=1, example="a column: mean age", answer=_mean),
    "count": Question(least=0, most=0, example='no operand: count --where "age > 30"', answer=_method("count")),
    "probability": Question(
        least=1, most=1, example='a condition: probability "age > 30"', answer=_method("probability")
    ),
    "quantile": Question(
        least=2, most=2, example="a column and a share: quantile hours 0.9", answer=_quantile, listed=True
    ),
    "standard-deviation": Question(
        least=1, most=1, example="a column of numbers: standard-deviation age", answer=_method("standard_deviation")
    ),
    "variance": Question(least=1, most=1, example="a column of numbers: variance age", answer=_method("variance")),
    "difference-in-differences": Question(
        least=3,
        most=3,
        example="a column and two conditions: difference-in-differences cost \"arm == 'drug'\" \"period == 'after'\"",
        answer=_method("difference_in_differences"),
        listed=True,
    ),
    "histogram": Question(least=1, most=1, example="a column: histogram ward", answer=_method("histogram")),
    "survival": Question(
        least=2, most=MANY, example="a column and times: survival stay 1 3 7", answer=_survival, listed=True
    ),
    "hazard": Question(
        least=3,
        most=MANY,
        example='a column, times, and perhaps the condition of an event: hazard stay 0 3 7 "ill == true"',
        answer=_hazard,
        listed=True,
    ),
    "weighted-mean": Question(
        least=2,
        most=2,
        example="a column and one of weights: weighted-mean age stay",
        answer=_method("weighted_mean"),
        listed=True,
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
    "covariance": Question(
        least=2, most=2, example="two columns of vectors: covariance x0 x1", answer=_of_vectors("covariance")
    ),
    "density": Question(
        least=1, most=MANY, example="a place among vectors: density 0.5 -1.2", answer=_of_vectors("density")
    ),
    "axes": Question(least=1, most=1, example="a number of principal axes: axes 2", answer=_of_vectors("axes")),
    "clusters": Question(least=1, most=1, example="a number of clusters: clusters 3", answer=_of_vectors("clusters")),
    "expected": Question(
        least=2,
        most=MANY,
        example="a column of vectors, or a class, and the other numbers: expected x1 0.5",
        answer=_of_vectors("expected"),
    ),
}
"""By name, in the order in which they are listed."""


# --------------------
# Reading a question as it is typed.


_CALL = re.compile(r"\s*([\w-]+)\s*\((.*)\)\s*", re.DOTALL)


_HABITS = {  # what other tools call it, and the operands that it has by itself
    "median": ("quantile", ("0.5",)),
    "average": ("mean", ()),
    "share": ("probability", ()),
    **dict.fromkeys(("std", "sd"), ("standard-deviation", ())),
    "var": ("variance", ()),
    **dict.fromkeys(("value-counts", "value_counts", "table"), ("histogram", ())),
    "corr": ("correlation", ()),
}


def read_question(question: str, operands: list[str]) -> tuple[str, list[str]]:
    """The question and its operands, written as words or as a call."""
    call = _CALL.fullmatch(question)
    if call is not None and not operands:
        question = call[1]
        listed = question in QUESTIONS and QUESTIONS[question].listed
        operands = [part.strip() for part in call[2].split(",")] if listed else [call[2].strip()]
    question, more = _HABITS.get(question, (question.replace("_", "-"), ()))
    names = tuple(QUESTIONS)
    if question not in names:
        raise ParameterError(f"query: must be one of {', '.join(names)}, got {question!r}.{nearest(question, names)}")
    operands = [operand for operand in (*operands, *more) if operand]
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


def compare_groups(answer: Answer, minus: str | None, over: str | None) -> Answer:
    """The groups beside one of them."""
    from kernelease.analysis.groups import Groups, RegressionGroups, joined  # a question is read without them

    text = over if minus is None else minus
    if text is None or not isinstance(answer, Groups | RegressionGroups):
        return answer
    words = [part.strip() for part in text.split(",")]
    label = next((one for one in answer if joined(one) in (text, ", ".join(words))), text)
    return answer.over(label) if minus is None else answer.minus(label)


def read_by(by: str) -> str | list[str]:
    """One column, or several with commas between them."""
    names = [name.strip() for name in by.split(",")]
    return names if len(names) > 1 else by
