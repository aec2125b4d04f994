"""`kernelease check`: the owner's private look at a table before any budget is spent."""

from pathlib import Path
from typing import Annotated, Any

import typer

from kernelease.cli.command import FAILED
from kernelease.cli.options import Data, Query, SchemaFile, Writing, option, read_declared
from kernelease.cli.screen import Screen, check_free, write_new
from kernelease.errors import ParameterError


def check(
    data: Data,
    *,
    schema: SchemaFile,
    delta: Annotated[float | None, option("--delta", "DELTA", "The delta of the release: is it below 1/rows?")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail if any cell changes its meaning, however few there are.")
    ] = False,
    html: Annotated[Path | None, option("--html", "PAGE", "Also write a page for a browser. It is private.")] = None,
    query: Query = None,
    screen: Screen,
    writing: Writing,
) -> None:
    """Look at a private table as its schema declares it: what a release would make of its cells.

    PRIVATE: what it prints quotes cells and exact counts, and is for the owner's eyes, not for publication. Nothing is
    spent, nothing is written into a bundle. The exit code is 1 if many cells change their meaning, else 0.
    """
    from kernelease.relational.schema_of_tables import Tables, is_of_tables

    check_free(html)
    if is_of_tables(schema):
        if query is not None or writing.is_given:
            raise ParameterError(
                "Several tables: how each is written is said in its [tables.NAME.source]. Leave it out."
            )
        declared: Any = Tables.load(schema)
    else:
        declared = read_declared(data, schema, writing)

    from kernelease.cli.work.summary import look_page, show
    from kernelease.drafting.inspection import check as inspect

    report = inspect(data, declared, query=query, delta=delta)
    if html is not None:
        write_new(html, look_page(report), private=True)
    show(screen, report)
    if report.damaged(strict=strict):
        raise typer.Exit(FAILED)
