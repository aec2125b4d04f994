"""`kernelease query`: simple questions to a release."""

import re
from enum import StrEnum, unique
from typing import Annotated, Any

import typer

from kernelease.analysis import Condition, Group, WeightedRows, count, crosstab, mean, parse_condition, probability
from kernelease.cli.options import Bundle, Json, Quiet
from kernelease.cli.screen import Screen, grid, number
from kernelease.errors import ParameterError
from kernelease.release.bundle import load
from kernelease.table.columns import nearest

_CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)


@unique
class Question(StrEnum):
    """What can be asked."""

    MEAN = "mean"
    COUNT = "count"
    PROBABILITY = "probability"
    CROSSTAB = "crosstab"


_OPERANDS = {
    Question.MEAN: (1, "a column: mean age"),
    Question.COUNT: (0, 'no operand: count --where "age > 30"'),
    Question.PROBABILITY: (1, 'a condition: probability "age > 30"'),
    Question.CROSSTAB: (2, "two columns: crosstab sex income"),
}


def query(
    bundle: Bundle,
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="mean COLUMN, count, probability CONDITION, or crosstab A B.")
    ],
    operands: Annotated[
        list[str] | None, typer.Argument(metavar="OPERANDS", help="What the question is about. mean(age) works, too.")
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="CONDITION", help="Only rows like these: \"age > 30 and sex == 'Female'\"."),
    ] = None,
    by: Annotated[str | None, typer.Option(metavar="COLUMN", help="One answer for each value of this column.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Ask a release for means, counts, probabilities and cross-tables.

    A condition has and, or, not, parentheses, the comparisons == != < <= > >=, in (...) and is null. Text goes in
    single quotes. The answers are those of the synthetic rows, and carry the noise of the release.
    """
    asked, about = _read(question, operands or [])
    release = load(bundle)
    if release.schema is None:
        raise ParameterError(f"{bundle}: has no schema, so its columns have no declared meaning to ask about.")
    rows = WeightedRows(
        table=release.rows, weights=release.weights, schema=release.schema, total=release.certificate.rows
    )
    condition = None if where is None else parse_condition(where, release.schema)
    screen = Screen(json=as_json, quiet=quiet)
    fields: dict[str, Any] = {"query": asked.value, "of": about, "where": where, "by": by}
    if asked is Question.CROSSTAB:
        _show_crosstab(screen, fields, rows, condition)
    else:
        _show_groups(screen, fields, asked, _answer(asked, rows, about, condition, by))


def _read(question: str, operands: list[str]) -> tuple[Question, list[str]]:
    """The question and its operands, written as words or as a call."""
    call = _CALL.fullmatch(question)
    if call is not None and not operands:
        question = call[1]
        operands = [part.strip() for part in call[2].split(",")] if question == "crosstab" else [call[2].strip()]
    names = tuple(item.value for item in Question)
    if question not in names:
        raise ParameterError(f"query: must be one of {', '.join(names)}, got {question!r}.{nearest(question, names)}")
    asked = Question(question)
    operands = [operand for operand in operands if operand]
    needed, example = _OPERANDS[asked]
    if len(operands) != needed:
        raise ParameterError(f"query: {asked.value} takes {example}; got {len(operands)} operands.")
    return asked, operands


def _answer(
    asked: Question, rows: WeightedRows, about: list[str], where: Condition | None, by: str | None
) -> tuple[Group, ...]:
    if asked is Question.MEAN:
        return mean(rows, about[0], where=where, by=by)
    if asked is Question.COUNT:
        return count(rows, where=where, by=by)
    return probability(rows, parse_condition(about[0], rows.schema), where=where, by=by)


def _show_groups(screen: Screen, fields: dict[str, Any], asked: Question, groups: tuple[Group, ...]) -> None:
    fields["groups"] = [{"group": item.label, "value": item.value, "share": item.share} for item in groups]
    header = (fields["by"] or "", asked.value, "share of rows")
    rows = [(item.label or "all", number(item.value), number(item.share)) for item in groups]
    screen.result(fields, grid(header, rows))


def _show_crosstab(screen: Screen, fields: dict[str, Any], rows: WeightedRows, where: Condition | None) -> None:
    first, second = fields["of"]
    if fields["by"] is not None:
        raise ParameterError("query: crosstab has two columns already, and takes no --by.")
    table = crosstab(rows, first, second, where=where)
    fields |= {"rows": list(table.rows), "columns": list(table.columns), "shares": table.shares.tolist()}
    lines = [(label, *map(number, shares)) for label, shares in zip(table.rows, table.shares, strict=True)]
    screen.result(fields, grid((f"{first} \\ {second}", *table.columns), lines))
