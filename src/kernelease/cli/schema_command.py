"""`kernelease schema`: what is public knowledge about a table; a draft of it, a check, and help for editors."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelease.cli.options import Data, Knowledge, Query, Writing
from kernelease.cli.screen import Screen, facts, grid, line, write_new
from kernelease.errors import ParameterError

if TYPE_CHECKING:
    from kernelease.relational.schema_of_tables import Tables

schema = typer.Typer(no_args_is_help=True, help="Schema files: draft one, check one, or teach them to an editor.")


# ---- `kernelease schema draft`: a schema to begin with, from what the owner lets it know.


@schema.command("draft")
def draft_command(
    data: Data,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The file to write; by default stdout.")
    ] = None,
    knowledge: Knowledge,
    tables: Annotated[
        bool,
        typer.Option("--tables", help="Several tables: DATA is a folder with a file for each; keys are found, too."),
    ] = False,
    query: Query = None,
    screen: Screen,
    writing: Writing,
) -> None:
    """Draft a schema from the names and declared types of a table's columns, and from nothing in its rows.

    What is left to decide is marked FILL IN. A code book fills in what it describes, a public table what it holds.
    --private-bounds finds bounds of numbers for half of EPS at the ledger's delta, and texts that many rows hold for
    the other half (for those the ledger needs a delta); where there is nothing to find of one kind, the other has it
    all or it is not spent. The file says what share of the budget that was, and what share of the cells the bounds may
    cut off. Dates are left to the owner. --look reads the rows: its draft marks every line that comes from them, can't
    be used before you have written confirmed = true, and releases say so.

    Of several tables (--tables) it finds which columns are keys, which table the others hang on, and where, by the
    names of columns; with --look by their values, too, and proposes how many records of one parent to keep.

    On a terminal, without any of these, it asks which.
    """
    from kernelease.cli.work.drafting import draft_tables_text, draft_text, with_separator

    if out is not None:
        _check_target(out)
    told = knowledge.ask()
    if tables:
        text = draft_tables_text(data, query, writing.read(), told)
    else:
        text = draft_text(data, query, with_separator(data, query, writing.read(), screen), told, screen)
    if out is None and not screen.json:
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
        raise ParameterError(f"{out} can't be written: its folder is missing or read-only. Make it first.")


def _write(text: str, out: Path, *, private: bool) -> None:
    """The draft as a file, for its owner alone if it is private; on stdout where that fails: it may be paid for."""
    try:
        write_new(out, text, private=private)
    except ParameterError as error:
        typer.echo(text, nl=False)
        reason = getattr(error.__cause__, "strerror", "")
        raise ParameterError(f"{out} can't be written: {reason}. The draft is on stdout.") from error


# ---- `kernelease schema check` and `json`.


@schema.command()
def check(file: Annotated[Path, typer.Argument(metavar="FILE", help="A schema file.")], *, screen: Screen) -> None:
    """Check a schema file, and list its columns with the number of atoms that each has."""
    from kernelease.methods.interactions.interactions import Interactions
    from kernelease.relational.schema_of_tables import Tables, is_of_tables
    from kernelease.table.domains import TableDomain
    from kernelease.table.schema import Schema

    if is_of_tables(file):
        _check_tables(Tables.load(file), screen)
        return
    loaded = Schema.load(file)
    Interactions().check(TableDomain(loaded))
    atoms = sum(loaded.sizes)
    derived = [(one, loaded.structure.derivations[one.name].column) for one in loaded.derived]
    fields: dict[str, Any] = {
        "name": loaded.name,
        "neighbours": loaded.neighbours,
        "unit": loaded.unit,
        "records": None if loaded.records is None else loaded.records.value,
        "source": loaded.source.to_dict(),
        "constraints": [rule.text for rule in loaded.constraints],
        "atoms": atoms,
        "columns": [
            {"name": item.name, "type": item.tag, "atoms": item.size, "nullable": item.nullable} for item in loaded
        ],
        "derived": [
            {"name": item.name, "type": item.tag, "told": one.in_words, "nullable": item.nullable}
            for one, item in derived
        ],
    }
    about = facts(
        [
            ("table", loaded.name),
            ("neighbours", loaded.neighbours),
            ("unit", loaded.unit_in_words),
            ("atoms", f"{atoms:,} of all columns: values, or cells of numbers and dates, that are told apart"),
        ]
    )
    rows = [(item.name, item.tag, "yes" if item.nullable else "no", f"{item.size:,}") for item in loaded]
    rows += [(item.name, item.tag, "yes" if item.nullable else "no", one.in_words) for one, item in derived]
    screen.result(fields, about, line(""), grid(("column", "type", "nullable", "atoms"), rows, text=range(3)))


def _check_tables(loaded: "Tables", screen: Screen) -> None:
    """The tables of a schema of several: where each hangs, and how many atoms its columns have."""
    rows = [
        (table.name, item.name, item.tag, "yes" if item.nullable else "no", f"{item.size:,}")
        for table in loaded.tables
        for item in table.schema
    ]
    fields = {
        "name": loaded.name,
        "neighbours": loaded.neighbours,
        "unit": loaded.unit_in_words,
        "tables": [
            {"name": table.name, **table.hanging, "columns": list(table.schema.names)} for table in loaded.tables
        ],
        "rules": list(loaded.rules),
        "atoms": sum(loaded.flat.sizes),
    }
    about = facts([(key, fields[key]) for key in ("name", "neighbours", "unit")])
    hangs = [(table.name, table.parent or "", table.foreign_key or "", table.max_rows or "") for table in loaded.tables]
    screen.result(
        fields,
        about,
        line(""),
        grid(("table", "parent", "foreign_key", "max_rows"), hangs, text=range(3)),
        line(""),
        grid(("table", "column", "type", "nullable", "atoms"), rows, text=range(4)),
    )


@schema.command("json")
def print_json_schema() -> None:
    """Print the JSON Schema of schema files, with which an editor can complete and check them."""
    from kernelease.table.jsonschema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))
