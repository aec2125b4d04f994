"""The questions of `kernelease query`, as they are typed, and their estimates as tables and records."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

from kernelease.errors import ParameterError, nearest

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
    found: Answer = asked.rows.crosstab(*asked.about)
    return found


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
        from kernelease.cli.work.estimates import vector_answer  # tables are asked without it

        return vector_answer(name, asked)

    return answer


def _quantile(asked: Asking) -> Answer:
    column, share = asked.about
    found: Answer = asked.rows.quantile(column, read_number(share, "the share of a quantile"))
    return found


def _survival(asked: Asking) -> Answer:
    column, *times = asked.about
    found: Answer = asked.rows.survival(column, [read_number(time, "a time") for time in times])
    return found


def _hazard(asked: Asking) -> Answer:
    column, *rest = asked.about
    event = next((part for part in rest if not _is_number(part)), None)
    found: Answer = asked.rows.hazard(column, [read_number(time, "a time") for time in rest if time != event], event)
    return found


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
        least=2, most=2, example="two columns: correlation age hours", answer=_method("correlation"), listed=True
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
