"""`kernelease query`: questions to a release, and answers with error bars."""

import re
from collections.abc import Mapping
from enum import StrEnum, unique
from typing import Annotated, Any

import typer

from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.groups import EstimateTable
from kernelease.cli.estimates import record, show
from kernelease.cli.options import Bundle, Json, Quiet
from kernelease.cli.screen import Screen
from kernelease.errors import ParameterError
from kernelease.release.bundle import load
from kernelease.release.release import Release
from kernelease.table.columns.spelling import nearest

_CALL = re.compile(r"\s*([\w-]+)\s*\((.*)\)\s*", re.DOTALL)


@unique
class Statistic(StrEnum):
    """What can be asked."""

    MEAN = "mean"
    COUNT = "count"
    PROBABILITY = "probability"
    QUANTILE = "quantile"
    CORRELATION = "correlation"
    CROSSTAB = "crosstab"
    REGRESSION = "regression"
    ODDS_RATIO = "odds-ratio"
    RISK_RATIO = "risk-ratio"
    RISK_DIFFERENCE = "risk-difference"


_OPERANDS = {
    Statistic.MEAN: (1, "a column: mean age"),
    Statistic.COUNT: (0, 'no operand: count --where "age > 30"'),
    Statistic.PROBABILITY: (1, 'a condition: probability "age > 30"'),
    Statistic.QUANTILE: (2, "a column and a share: quantile hours 0.9"),
    Statistic.CORRELATION: (2, "two columns: correlation age hours"),
    Statistic.CROSSTAB: (2, "two columns: crosstab sex income"),
    Statistic.REGRESSION: (1, 'a formula: regression "hours ~ age + sex"'),
    Statistic.ODDS_RATIO: (2, 'an event and an exposure, two conditions: odds-ratio "ill == true" "sex == \'F\'"'),
    Statistic.RISK_RATIO: (2, 'an event and an exposure, two conditions: risk-ratio "ill == true" "sex == \'F\'"'),
    Statistic.RISK_DIFFERENCE: (2, 'an event and an exposure: risk-difference "ill == true" "sex == \'F\'"'),
}
_GROUPED = (Statistic.MEAN, Statistic.COUNT, Statistic.PROBABILITY, Statistic.QUANTILE)
_RATIOS = (Statistic.ODDS_RATIO, Statistic.RISK_RATIO, Statistic.RISK_DIFFERENCE)
_CONDITIONED = (*_GROUPED, *_RATIOS, Statistic.CROSSTAB)


def query(
    bundle: Bundle,
    question: Annotated[
        str,
        typer.Argument(
            metavar="QUESTION",
            help="mean COLUMN, count, probability CONDITION, quantile COLUMN SHARE, correlation A B, crosstab A B, "
            "regression FORMULA, odds-ratio, risk-ratio or risk-difference EVENT EXPOSURE.",
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
    target: Annotated[
        Target, typer.Option(help="Whose value: of the private table, or of the population it was drawn from.")
    ] = Target.TABLE,
    level: Annotated[float, typer.Option(metavar="LEVEL", help="How often the interval is to hold the truth.")] = 0.95,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Ask a release for means, counts, probabilities, quantiles, correlations, cross-tables and regressions.

    A condition has and, or, not, parentheses, the comparisons == != < <= > >=, in (...) and is null. Text goes in
    single quotes (docs/expressions.md). Answers come from the noisy measurements, with an interval that holds the truth
    as often as it says.
    """
    asked, about = _read(question, operands or [])
    _refuse(asked, where=where, by=by)
    columns = None if by is None else _columns(by)
    answer = _answer(load(bundle), asked, about, where=where, by=columns, target=target)
    fields: dict[str, Any] = {"query": asked.value, "of": about, "where": where, "by": by, "target": target.value}
    fields |= {"level": level, **record(answer, level)}
    title = asked.value if by is None else by
    Screen(json=as_json, quiet=quiet).result(fields, *show(answer, level, title))


def _read(question: str, operands: list[str]) -> tuple[Statistic, list[str]]:
    """The question and its operands, written as words or as a call."""
    call = _CALL.fullmatch(question)
    if call is not None and not operands:
        question = call[1]
        several = question in ("crosstab", "correlation", "quantile")
        operands = [part.strip() for part in call[2].split(",")] if several else [call[2].strip()]
    names = tuple(item.value for item in Statistic)
    if question not in names:
        raise ParameterError(f"query: must be one of {', '.join(names)}, got {question!r}.{nearest(question, names)}")
    asked = Statistic(question)
    operands = [operand for operand in operands if operand]
    needed, example = _OPERANDS[asked]
    if len(operands) != needed:
        raise ParameterError(f"query: {asked.value} takes {example}; got {len(operands)} operands.")
    return asked, operands


def _refuse(asked: Statistic, *, where: str | None, by: str | None) -> None:
    if by is not None and asked not in _GROUPED:
        raise ParameterError(f"query: {asked.value} takes no --by.")
    if where is not None and asked not in _CONDITIONED:
        raise ParameterError(f"query: {asked.value} takes no --where.")


def _answer(
    release: Release,
    asked: Statistic,
    about: list[str],
    *,
    where: str | None,
    by: str | list[str] | None,
    target: Target,
) -> Estimate | Mapping[Any, Estimate] | EstimateTable:
    match asked:
        case Statistic.MEAN:
            return release.mean(about[0], where=where, by=by, target=target)
        case Statistic.COUNT:
            return release.count(where, by=by, target=target)
        case Statistic.PROBABILITY:
            return release.probability(about[0], where=where, by=by, target=target)
        case Statistic.QUANTILE:
            return release.quantile(about[0], _share(about[1]), where=where, by=by, target=target)
        case Statistic.CORRELATION:
            return release.correlation(about[0], about[1], target=target)
        case Statistic.CROSSTAB:
            return release.crosstab(about[0], about[1], where=where, target=target)
        case Statistic.REGRESSION:
            return release.regression(about[0], target=target)
        case _:
            return _association(release, asked, about, where, target)


def _association(release: Release, asked: Statistic, about: list[str], where: str | None, target: Target) -> Estimate:
    event, exposure = about
    if asked is Statistic.ODDS_RATIO:
        return release.odds_ratio(event, exposure, where=where, target=target)
    if asked is Statistic.RISK_RATIO:
        return release.risk_ratio(event, exposure, where=where, target=target)
    return release.risk_difference(event, exposure, where=where, target=target)


def _columns(by: str) -> str | list[str]:
    """One column, or several with commas between them."""
    names = [name.strip() for name in by.split(",")]
    return names if len(names) > 1 else by


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"query: quantile takes a share between 0 and 1, like 0.9; got {text!r}.") from None
