"""`kernelease query`: questions to a release, and answers with error bars."""

import re
from typing import Annotated, Any

import typer

from kernelease.analysis.coefficients import RegressionGroups
from kernelease.analysis.estimate import Target
from kernelease.analysis.groups import Groups, joined
from kernelease.cli.estimates import record, show
from kernelease.cli.options import Bundle, Json, Quiet
from kernelease.cli.questions import QUESTIONS, Answer, Asked
from kernelease.cli.screen import Screen
from kernelease.errors import ParameterError
from kernelease.release.bundle import load
from kernelease.table.columns.spelling import nearest

_CALL = re.compile(r"\s*([\w-]+)\s*\((.*)\)\s*", re.DOTALL)


def query(
    bundle: Bundle,
    question: Annotated[
        str,
        typer.Argument(
            metavar="QUESTION",
            help="mean COLUMN, count, probability CONDITION, quantile COLUMN SHARE, histogram COLUMN, survival COLUMN "
            "TIMES, gini COLUMN, entropy COLUMN, crosstab A B, correlation A B, regression, logistic or poisson "
            "FORMULA, trend COLUMN OVER, odds-ratio, risk-ratio or risk-difference EVENT EXPOSURE, standardised-rate "
            "EVENT STRATA.",
        ),
    ],
    operands: Annotated[
        list[str] | None, typer.Argument(metavar="OPERANDS", help="What the question is about. mean(age) works, too.")
    ] = None,
    *,
    where: Annotated[
        str | None,
        typer.Option(metavar="CONDITION", help="Only rows like these: \"age > 30 and sex == 'Female'\"."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="One answer for each value of this column, or of several: sex,region."),
    ] = None,
    minus: Annotated[
        str | None,
        typer.Option(metavar="GROUP", help="With --by: every other group less this one, with their joint noise."),
    ] = None,
    over: Annotated[
        str | None,
        typer.Option(metavar="GROUP", help="With --by: every other group over this one, with their joint noise."),
    ] = None,
    target: Annotated[
        Target, typer.Option(help="Whose value: of the private table, or of the population it was drawn from.")
    ] = Target.TABLE,
    level: Annotated[float, typer.Option(metavar="LEVEL", help="How often the interval is to hold the truth.")] = 0.95,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Ask a release: averages, distributions, models and comparisons, each with its interval.

    Every question takes --where and --by; what was not measured together is refused, with what to ask instead. A
    condition has and, or, not, parentheses, the comparisons == != < <= > >=, in (...) and is null. Text goes in single
    quotes (docs/expressions.md). A formula is written hours ~ age + sex, and a stratum "age < 40: 0.6". Answers come
    from the noisy measurements, with an interval that holds the truth as often as it says.
    """
    name, about = _read(question, operands or [])
    columns = None if by is None else _columns(by)
    _refuse(columns, minus, over)
    asked = Asked(release=load(bundle), about=tuple(about), where=where, by=columns, target=target)
    answer = _compared(QUESTIONS[name].answer(asked), minus, over)
    fields: dict[str, Any] = {"query": name, "of": about, "where": where, "by": by, "minus": minus, "over": over}
    fields |= {"target": target.value, "level": level, **record(answer, level)}
    Screen(json=as_json, quiet=quiet).result(fields, *show(answer, level))


def _read(question: str, operands: list[str]) -> tuple[str, list[str]]:
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


def _refuse(by: str | list[str] | None, minus: str | None, over: str | None) -> None:
    if minus is not None and over is not None:
        raise ParameterError("query: take --minus or --over, not both.")
    if by is None and (minus is not None or over is not None):
        raise ParameterError("query: --minus and --over compare groups. Say by which columns with --by.")


def _compared(answer: Answer, minus: str | None, over: str | None) -> Answer:
    """The groups beside one of them."""
    text = over if minus is None else minus
    if text is None or not isinstance(answer, Groups | RegressionGroups):
        return answer
    words = [part.strip() for part in text.split(",")]
    label = next((one for one in answer if joined(one) in (text, ", ".join(words))), text)
    return answer.over(label) if minus is None else answer.minus(label)


def _columns(by: str) -> str | list[str]:
    """One column, or several with commas between them."""
    names = [name.strip() for name in by.split(",")]
    return names if len(names) > 1 else by
