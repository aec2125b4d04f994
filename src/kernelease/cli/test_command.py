"""`kernelease test`: one test on private rows, in place of a release."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, final

import typer

from kernelease.cli.options import SIGNIFICANCE, Data, LedgerPath, SchemaFile, Writing, option
from kernelease.cli.screen import Screen, line

if TYPE_CHECKING:
    from kernelease.analysis.inference import PrivateTest

test = typer.Typer(no_args_is_help=True, help="One test on private rows, charged to the ledger, in place of a release.")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What both tests are told."""

    schema: SchemaFile
    epsilon: Annotated[float, option("--epsilon", "EPS", "What the test costs: it is pure, delta is 0.")]
    statistic: Annotated[
        str, option("--statistic", "NAME", "auto, kernel or rank; mean of two tables, slope of two columns.")
    ] = "auto"
    level: Annotated[
        float, option("--level", "RATE", "How often a true hypothesis may be rejected; chosen before.")
    ] = SIGNIFICANCE
    ledger: LedgerPath = None

    def keywords(self, writing: Writing) -> dict[str, Any]:
        """The same as the tests take it."""
        from kernelease.table.schema import Schema

        declared = Schema.load(self.schema).written_as(writing.read())
        chosen = {"statistic": self.statistic, "level": self.level, "ledger": self.ledger}
        return {"schema": declared, "privacy": (self.epsilon, 0.0), **chosen}


@test.command(name="two-sample")
def two_sample(
    first: Data,
    second: Annotated[str, typer.Argument(metavar="OTHER", help="The other private table, with the same columns.")],
    *,
    settings: Settings,
    columns: Annotated[
        str | None, option("--columns", "A,B,C", "Those to compare; by default all of the schema.")
    ] = None,
    screen: Screen,
    writing: Writing,
) -> None:
    """Test whether two private tables come from one distribution.

    Each row of either table is protected. Where the tables are of two data sets, charge each of their ledgers.
    """
    from kernelease.private_tests import private_two_sample_test

    names = None if columns is None else [name.strip() for name in columns.split(",")]
    _show(private_two_sample_test(first, second, columns=names, **settings.keywords(writing)), screen)


@test.command()
def independence(
    data: Data,
    first: Annotated[str, typer.Argument(metavar="COLUMN", help="One column.")],
    second: Annotated[str, typer.Argument(metavar="COLUMN", help="The other one.")],
    *,
    settings: Settings,
    screen: Screen,
    writing: Writing,
) -> None:
    """Test whether two columns of a private table are independent of each other."""
    from kernelease.private_tests import private_independence_test

    _show(private_independence_test(data, first, second, **settings.keywords(writing)), screen)


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
