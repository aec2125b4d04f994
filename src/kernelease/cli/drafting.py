"""`kernelease schema draft`: a schema to begin with, from what the owner lets it know."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelease.cli.knowledge import Knowledge
from kernelease.cli.options import Data, Json, Query, Quiet
from kernelease.cli.screen import Screen, facts, write_new
from kernelease.cli.writing import takes_writing
from kernelease.errors import ParameterError

if TYPE_CHECKING:
    from kernelease.table.written import Written


@takes_writing
def draft_command(
    data: Data,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The file to write; by default stdout.")
    ] = None,
    from_dictionary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            help="Take types, bounds and categories from the code book: CSV, Frictionless, JSON Schema, DDI, or the "
            "labels of an SPSS, Stata or SAS file.",
        ),
    ] = None,
    from_public: Annotated[
        Path | None,
        typer.Option(metavar="FILE", exists=True, help="Take bounds and categories from this PUBLIC table."),
    ] = None,
    private_bounds: Annotated[
        float | None,
        typer.Option(metavar="EPS", help="Measure bounds of numbers and frequent texts with noise, for this epsilon."),
    ] = None,
    look: Annotated[
        bool,
        typer.Option("--look", help="LOOK AT THE PRIVATE ROWS and propose: you decide which lines are public."),
    ] = False,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The ledger that --private-bounds is charged to.")
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The name of the table, as in its ledger; by default that of its file."),
    ] = None,
    query: Query = None,
    as_json: Json = False,
    quiet: Quiet = False,
    written: "Written",
) -> None:
    """Draft a schema from the names and declared types of a table's columns, and from nothing in its rows.

    What is left to decide is marked FILL IN. A code book fills in what it describes, a public table what it holds.
    --private-bounds finds bounds of numbers for half of EPS at the ledger's delta, and texts that many rows hold for
    the other half (for those the ledger needs a delta); where there is nothing to find of one kind, the other has it
    all or it is not spent. The file says what share of the budget that was, and what share of the cells the bounds may
    cut off. Dates are left to the owner. --look reads the rows: its draft marks every line that comes from them, can't
    be used before you have written confirmed = true, and releases say so.

    On a terminal, without any of these, it asks which.
    """
    from kernelease.cli.work.drafting import drafted, with_separator

    if out is not None:
        _check_target(out)
    told = Knowledge(
        dictionary=from_dictionary,
        public=from_public,
        epsilon=private_bounds,
        look=look,
        ledger=ledger,
        dataset=dataset,
    ).asked()
    screen = Screen(json=as_json, quiet=quiet)
    text = drafted(data, query, with_separator(data, query, written, screen), told, screen)
    if out is None and not as_json:
        typer.echo(text, nl=False)
        return
    if out is not None:
        _write(text, out, private=told.look)
        screen.note(f"{out}: {_what_next(told)}")
    screen.summary({"file": None if out is None else str(out), "schema": text}, facts([("file", out)]))


def _what_next(told: Knowledge) -> str:
    if told.look:
        return "this file is private. Delete every marked line that is not public knowledge, then set confirmed = true."
    return "replace every FILL IN by what is publicly known."


def _check_target(out: Path) -> None:
    """Refuse what `_write` would refuse, before --private-bounds spends anything."""
    if os.path.lexists(out):
        raise ParameterError(f"{out} already exists. Choose another name.")
    if not os.access(out.absolute().parent, os.W_OK | os.X_OK):
        raise ParameterError(f"{out} can't be written: its folder is missing or read-only.")


def _write(text: str, out: Path, *, private: bool) -> None:
    """The draft as a file, for its owner alone if it is private; on stdout where that fails: it may be paid for."""
    try:
        write_new(out, text, private=private)
    except ParameterError as error:
        typer.echo(text, nl=False)
        reason = getattr(error.__cause__, "strerror", "")
        raise ParameterError(f"{out} can't be written: {reason}. The draft is on stdout.") from error
