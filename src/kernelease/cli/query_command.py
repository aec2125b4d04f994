"""`kernelease query`: questions to a release, and answers with error bars."""

from typing import Annotated, Any

import typer

from kernelease.cli.options import Bundle, Whence, Whose, option
from kernelease.cli.screen import Screen


def query(
    bundle: Bundle,
    question: Annotated[
        str,
        typer.Argument(
            metavar="QUESTION",
            help="mean COLUMN, count, probability CONDITION, quantile COLUMN SHARE, standard-deviation COLUMN, "
            "histogram COLUMN, survival COLUMN TIMES, gini COLUMN, entropy COLUMN, crosstab A B, correlation A B, "
            "regression, logistic or poisson FORMULA, trend COLUMN OVER, odds-ratio, risk-ratio or risk-difference "
            "EVENT EXPOSURE, standardised-rate EVENT STRATA; of vectors mean COLUMN, covariance A B, density NUMBERS, "
            "axes COUNT, clusters COUNT, expected COLUMN NUMBERS.",
        ),
    ],
    operands: Annotated[
        list[str] | None, typer.Argument(metavar="OPERANDS", help="What the question is about. mean(age) works, too.")
    ] = None,
    *,
    where: Annotated[
        str | None, option("--where", "CONDITION", "Only rows like these: \"age > 30 and sex == 'Female'\".")
    ] = None,
    by: Annotated[
        str | None,
        option("--by", "COLUMNS", "One answer for each value of this column, or of several: sex,region."),
    ] = None,
    minus: Annotated[
        str | None,
        option("--minus", "GROUP", "With --by: every other group less this one, with their joint noise."),
    ] = None,
    over: Annotated[
        str | None,
        option("--over", "GROUP", "With --by: every other group over this one, with their joint noise."),
    ] = None,
    of: Annotated[
        Whose, typer.Option(help="Whose value: of the private table, or of the population it was drawn from.")
    ] = Whose.TABLE,
    estimate: Annotated[
        Whence,
        typer.Option(
            help="From the noisy numbers alone, or from the rows of the model: often nearer, and may be biased."
        ),
    ] = Whence.UNBIASED,
    level: Annotated[float, option("--level", "LEVEL", "How often the interval is to hold the truth.")] = 0.95,
    parts: Annotated[
        bool, typer.Option("--parts", help="Also show what each error is made of: noise, sampling, bias.")
    ] = False,
    screen: Screen,
) -> None:
    """Ask a release: averages, distributions, models and comparisons, each with its interval.

    Every question takes --where and --by; what was not measured together is refused, with what to ask instead. A
    condition has and, or, not, parentheses, the comparisons == != < <= > >=, in (...) and is null. Text goes in single
    quotes (docs/expressions.md). A formula is written hours ~ age + sex, and a stratum "age < 40: 0.6". Answers come
    from the noisy measurements, with an interval that holds the truth as often as it says.
    """
    from kernelease.cli.work.typed_questions import Asking, answer, compare_groups, read_by, read_question, refuse

    name, about = read_question(question, operands or [])
    columns = None if by is None else read_by(by)
    refuse(columns, minus, over)

    from kernelease.analysis.estimate import Target
    from kernelease.answers.release import load_table
    from kernelease.cli.work.estimates import record, show

    whose = Target(of.value)
    asked = Asking(
        release=load_table(bundle), about=tuple(about), where=where, by=columns, of=whose, estimate=estimate.value
    )
    found = compare_groups(answer(name, asked), minus, over)
    fields: dict[str, Any] = {"query": name, "of": about, "where": where, "by": by, "minus": minus, "over": over}
    fields |= {"target": of.value, "estimate": estimate.value, "level": level, **record(found, level)}
    screen.result(fields, *show(found, level, parts=parts))
