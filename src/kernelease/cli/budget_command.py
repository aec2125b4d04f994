"""`kernelease budget`: the ledger of a data set."""

from pathlib import Path
from typing import Annotated

import typer

from kernelease.cli.options import Promise, Relation, option
from kernelease.cli.screen import Html, Screen, check_free, write_new

budget = typer.Typer(no_args_is_help=True, help="The budget ledger of a data set: make one, look at one.")

_Path = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger, an SQLite file beside the private data.")]


@budget.command()
def create(
    ledger: _Path,
    *,
    privacy: Promise,
    dataset: Annotated[
        str | None,
        option(
            "--dataset", "NAME", "The name of the data set, as in the schema; by default the first that is charged."
        ),
    ] = None,
    neighbours: Annotated[
        Relation,
        option("--neighbours", "replace-one|add-remove", "Which two tables must look alike: as in the schema."),
    ] = Relation.REPLACE_ONE,
    unit: Annotated[
        str | None, option("--unit", "COLUMN", "The column that identifies a person, if the schema has one.")
    ] = None,
    screen: Screen,
) -> None:
    """Make a ledger with a cap of (epsilon, delta): all that may ever be spent on this data set."""
    from kernelease.cli.work.ledger_pages import book_facts, book_fields
    from kernelease.ledgers import LedgerFile
    from kernelease.privacy.sensitivity import Neighbours

    cap = privacy.read(Neighbours(neighbours.value))
    made = LedgerFile.create(ledger, cap=cap, dataset=dataset, unit=unit)
    screen.summary(book_fields(made, []), book_facts(made, []))


@budget.command()
def show(
    ledger: _Path,
    *,
    timeline: Annotated[bool, typer.Option("--timeline", help="Also show what was left after each entry.")] = False,
    html: Html = None,
    screen: Screen,
) -> None:
    """Show what was asked for, when, on what, for whom and by which version, and what is left."""
    from kernelease.cli.work.ledger_pages import book_fields, book_page, book_tables
    from kernelease.ledgers import LedgerFile

    check_free(html)
    opened = LedgerFile.open(ledger)
    entries = opened.entries()
    if html is not None:
        write_new(html, book_page(opened, entries))
    screen.result(book_fields(opened, entries), *book_tables(opened, entries, timeline=timeline))
