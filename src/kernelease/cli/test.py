"""`kernelease test`: one test on private rows, in place of a release."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kernelease.cli.options import SIGNIFICANCE, Data, Json, LedgerPath, Quiet, SchemaFile, takes_writing
from kernelease.cli.screen import Screen, line

if TYPE_CHECKING:
    from kernelease.analysis.inference import PrivateTest
    from kernelease.table.written import Written

test = typer.Typer(no_args_is_help=True, help="One test on private rows, charged to the ledger, in place of a release.")

_Epsilon: TypeAlias = Annotated[
    float, typer.Option("--epsilon", metavar="EPS", help="What the test costs: it is pure, delta is 0.")
]
_Level: TypeAlias = Annotated[
    float, typer.Option("--level", metavar="RATE", help="How often a true hypothesis may be rejected; chosen before.")
]
_Statistic: TypeAlias = Annotated[
    str,
    typer.Option("--statistic", metavar="NAME", help="auto, kernel or rank; mean of two tables, slope of two columns."),
]


@test.command(name="two-sample")
@takes_writing
def two_sample(
    first: Data,
    second: Annotated[str, typer.Argument(metavar="OTHER", help="The other private table, with the same columns.")],
    *,
    schema: SchemaFile,
    epsilon: _Epsilon,
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="A,B,C", help="Those to compare; by default all of the schema.")
    ] = None,
    statistic: _Statistic = "auto",
    level: _Level = SIGNIFICANCE,
    ledger: LedgerPath = None,
    as_json: Json = False,
    quiet: Quiet = False,
    written: "Written",
) -> None:
    """Test whether two private tables come from one distribution.

    Each row of either table is protected. Where the tables are of two data sets, charge each of their ledgers.
    """
    from kernelease.private_tests import private_two_sample_test
    from kernelease.table.schema import Schema

    names = None if columns is None else [name.strip() for name in columns.split(",")]
    declared = Schema.load(schema).written_as(written)
    result = private_two_sample_test(
        first,
        second,
        schema=declared,
        privacy=(epsilon, 0.0),
        columns=names,
        statistic=statistic,
        level=level,
        ledger=ledger,
    )
    _show(result, Screen(json=as_json, quiet=quiet))


@test.command()
@takes_writing
def independence(
    data: Data,
    first: Annotated[str, typer.Argument(metavar="COLUMN", help="One column.")],
    second: Annotated[str, typer.Argument(metavar="COLUMN", help="The other one.")],
    *,
    schema: SchemaFile,
    epsilon: _Epsilon,
    statistic: _Statistic = "auto",
    level: _Level = SIGNIFICANCE,
    ledger: LedgerPath = None,
    as_json: Json = False,
    quiet: Quiet = False,
    written: "Written",
) -> None:
    """Test whether two columns of a private table are independent of each other."""
    from kernelease.private_tests import private_independence_test
    from kernelease.table.schema import Schema

    declared = Schema.load(schema).written_as(written)
    result = private_independence_test(
        data, first, second, schema=declared, privacy=(epsilon, 0.0), statistic=statistic, level=level, ledger=ledger
    )
    _show(result, Screen(json=as_json, quiet=quiet))


def _show(result: "PrivateTest", screen: Screen) -> None:
    fields = {
        "hypothesis": result.hypothesis,
        "rejected": result.rejected,
        "level": result.level,
        "margin": result.margin,
        "noise": result.noise,
        "epsilon": result.epsilon,
        "protected": result.protected,
        "ledger_entry": result.entry,
        "private": result.private,
    }
    screen.result(fields, line(result.words))
