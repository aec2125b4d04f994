"""`kernelease query`: questions to a release, and answers with error bars."""

from typing import Annotated, Any

import typer

from kernelease.cli.choices import Whose, Within
from kernelease.cli.options import Bundle, Json, Quiet
from kernelease.cli.screen import Screen


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
        Whose, typer.Option(help="Whose value: of the private table, or of the population it was drawn from.")
    ] = Whose.TABLE,
    spread: Annotated[
        Within, typer.Option(help="Where in their cells numbers may lie: anywhere, or (an assumption) evenly.")
    ] = Within.ANY,
    level: Annotated[float, typer.Option(metavar="LEVEL", help="How often the interval is to hold the truth.")] = 0.95,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Ask a release for means, counts, probabilities, quantiles, correlations, cross-tables and regressions.

    A condition has and, or, not, parentheses, the comparisons == != < <= > >=, in (...) and is null. Text goes in
    single quotes (docs/expressions.md). Answers come from the noisy measurements, with an interval that holds the truth
    as often as it says.
    """
    from kernelease.analysis.estimate import Target
    from kernelease.analysis.evidence import Spread
    from kernelease.cli.work.estimates import record, show
    from kernelease.cli.work.questions import answer_of, grouping, read_question, refuse
    from kernelease.release.bundle import load

    asked, about = read_question(question, operands or [])
    refuse(asked, where=where, by=by)
    columns, whose, within = None if by is None else grouping(by), Target(target.value), Spread(spread.value)
    answer = answer_of(load(bundle), asked, about, where=where, by=columns, target=whose, spread=within)
    fields: dict[str, Any] = {"query": asked.value, "of": about, "where": where, "by": by, "target": target.value}
    fields |= {"level": level, **record(answer, level)}
    title = asked.value if by is None else by
    Screen(json=as_json, quiet=quiet).result(fields, *show(answer, level, title))
