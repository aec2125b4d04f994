"""The questions of `kernelease query`, as they are typed, and their estimates as tables and records."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

from kernelease.errors import ParameterError, closest

if TYPE_CHECKING:
    from kernelease.analysis.estimate import Estimate, Target
    from kernelease.analysis.groups import EstimateTable, Groups, Regression, RegressionGroups
    from kernelease.answers.questions import Questions
    from kernelease.answers.release import Release


# ---- Every question: what it is about, and which method of a release answers it.


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
    estimate: str = "unbiased"

    @property
    def rows(self) -> Any:
        """The questions about these rows, to the noisy numbers or to the model."""
        rows: Questions[Any, Any] = self.release.of(self.of)
        rows = rows if self.where is None else rows.where(self.where)
        rows = rows if self.by is None else rows.by(*([self.by] if isinstance(self.by, str) else self.by))
        return rows.estimate(self.estimate)


@final
@dataclass(frozen=True, slots=True)
class Question:
    """How many operands it takes, an example of them, and its answer: by default the method of its own name.

    `listed` operands have commas in a call.
    """

    least: int
    most: int
    example: str
    answer: Callable[[Asking], Any] | None = None
    listed: bool = False


def _crosstab(asked: Asking) -> Any:
    if asked.by is not None:
        first, second = asked.about
        by = asked.by if isinstance(asked.by, str) else ",".join(asked.by)
        raise ParameterError(f"query: crosstab takes no --by. Ask histogram {second} --by {first},{by}.")
    return asked.rows.crosstab(*asked.about)


def _standardised_rate(asked: Asking) -> Any:
    event, *strata = asked.about
    return asked.rows.standardised_rate(event, dict(_stratum(text) for text in strata))


def _stratum(text: str) -> tuple[str, float]:
    condition, _, weight = text.rpartition(":")
    if not condition.strip():
        raise ParameterError(f"query: a stratum is a condition and its weight, like 'age < 40: 0.6'; got {text!r}.")
    return condition.strip(), read_number(weight, "a stratum's weight")


def read_number(text: str, what: str) -> float:
    """A finite number, as it was typed."""
    number = _finite(text)
    if number is None:
        raise ParameterError(f"query: {what} is a number, like 0.9; got {text.strip()!r}.")
    return number


def answer(name: str, asked: Asking) -> Answer:
    """The answer to a question by name."""
    found: Answer
    if name in _OF_VECTORS or (name == "mean" and asked.release.schema is None):
        from kernelease.cli.work.estimates import vector_answer  # tables are asked without it

        return vector_answer(name, asked)
    special = QUESTIONS[name].answer
    found = special(asked) if special is not None else getattr(asked.rows, name.replace("-", "_"))(*asked.about)
    return found


def _quantile(asked: Asking) -> Any:
    column, share = asked.about
    return asked.rows.quantile(column, read_number(share, "the share of a quantile"))


def _survival(asked: Asking) -> Any:
    column, *times = asked.about
    return asked.rows.survival(column, [read_number(time, "a time") for time in times])


def _hazard(asked: Asking) -> Any:
    column, *rest = asked.about
    event = next((part for part in rest if _finite(part) is None), None)
    return asked.rows.hazard(column, [read_number(time, "a time") for time in rest if time != event], event)


def _finite(text: str) -> float | None:
    """The finite number that a text says, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


_EXPOSED = 'an event and an exposure, two conditions: {} "ill == true" "sex == \'F\'"'
QUESTIONS: dict[str, Question] = {
    "mean": Question(1, 1, "a column: mean age"),
    "count": Question(0, 0, 'no operand: count --where "age > 30"'),
    "probability": Question(1, 1, 'a condition: probability "age > 30"'),
    "quantile": Question(2, 2, "a column and a share: quantile hours 0.9", _quantile, listed=True),
    "standard-deviation": Question(1, 1, "a column of numbers: standard-deviation age"),
    "variance": Question(1, 1, "a column of numbers: variance age"),
    "difference-in-differences": Question(
        3,
        3,
        "a column and two conditions: difference-in-differences cost \"arm == 'drug'\" \"period == 'after'\"",
        listed=True,
    ),
    "histogram": Question(1, 1, "a column: histogram ward"),
    "survival": Question(2, MANY, "a column and times: survival stay 1 3 7", _survival, listed=True),
    "hazard": Question(
        3,
        MANY,
        'a column, times, and perhaps the condition of an event: hazard stay 0 3 7 "ill == true"',
        _hazard,
        listed=True,
    ),
    "weighted-mean": Question(2, 2, "a column and one of weights: weighted-mean age stay", listed=True),
    "gini": Question(1, 1, "a column of numbers: gini cost"),
    "entropy": Question(1, 1, "a column: entropy ward"),
    "crosstab": Question(2, 2, "two columns: crosstab sex income", _crosstab, listed=True),
    "correlation": Question(2, 2, "two columns: correlation age hours", listed=True),
    "regression": Question(1, 1, 'a formula: regression "hours ~ age + sex"'),
    "logistic": Question(1, 1, 'a formula: logistic "ill ~ age + sex"'),
    "poisson": Question(1, 1, 'a formula: poisson "visits ~ age"'),
    "trend": Question(2, 2, "a column and a date or number: trend ill day", listed=True),
    "odds-ratio": Question(2, 2, _EXPOSED.format("odds-ratio")),
    "risk-ratio": Question(2, 2, _EXPOSED.format("risk-ratio")),
    "risk-difference": Question(2, 2, _EXPOSED.format("risk-difference")),
    "standardised-rate": Question(
        2,
        MANY,
        'an event, and strata with weights: standardised-rate "ill == true" "age < 40: 0.6" "age >= 40: 0.4"',
        _standardised_rate,
    ),
    "covariance": Question(2, 2, "two columns of vectors: covariance x0 x1"),
    "density": Question(1, MANY, "a place among vectors: density 0.5 -1.2"),
    "axes": Question(1, 1, "a number of principal axes: axes 2"),
    "clusters": Question(1, 1, "a number of clusters: clusters 3"),
    "expected": Question(2, MANY, "a column of vectors, or a class, and the other numbers: expected x1 0.5"),
}
"""By name, in the order in which they are listed."""
_OF_VECTORS = ("covariance", "density", "axes", "clusters", "expected")


# ---- Reading a question as it is typed.


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
        raise ParameterError(f"query: must be one of {', '.join(names)}, got {question!r}.{_hint(question, operands)}")
    operands = [operand for operand in (*operands, *more) if operand]
    known = QUESTIONS[question]
    if not known.least <= len(operands) <= known.most:
        raise ParameterError(f"query: {question} takes {known.example}; got {len(operands)} operands.")
    return question, operands


def _hint(question: str, operands: list[str]) -> str:
    """What to ask instead of a question that there is not."""
    near = closest(question, QUESTIONS, least=0.7)
    if near is not None:
        return f" Did you mean {near}?"
    return _INSTEAD.get(question, "" if operands else f" What is asked goes before the column: mean {question!r}.")


_EXTREME = (
    " The least and the largest value are one person's, and no noise hides them: ask quantile COLUMN 0.01 or 0.99."
)
_INSTEAD = {"sum": " A sum is the mean of all times the count.", "min": _EXTREME, "max": _EXTREME}


def refuse(by: str | list[str] | None, minus: str | None, over: str | None) -> None:
    """Refuse a comparison of groups that are not there."""
    if minus is not None and over is not None:
        raise ParameterError("query: take --minus or --over, not both.")
    if by is None and (minus is not None or over is not None):
        raise ParameterError("query: --minus and --over compare groups. Say by which columns with --by.")


def compare_groups(answer: Answer, minus: str | None, over: str | None) -> Answer:
    """The groups beside one of them."""
    from kernelease.analysis.groups import Groups, RegressionGroups, join_label  # a question is read without them

    text = over if minus is None else minus
    if text is None or not isinstance(answer, Groups | RegressionGroups):
        return answer
    words = [part.strip() for part in text.split(",")]
    label = next((one for one in answer if join_label(one) in (text, ", ".join(words))), text)
    return answer.over(label) if minus is None else answer.minus(label)


def read_by(by: str) -> str | list[str]:
    """One column, or several with commas between them."""
    names = [name.strip() for name in by.split(",")]
    return names if len(names) > 1 else by
