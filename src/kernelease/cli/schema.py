"""`kernelease schema`: what is public knowledge about a table."""

import json
import os
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from kernelease.cli.options import Data, Json, Query, Quiet, RecordEnds
from kernelease.cli.screen import Screen, facts, grid, line
from kernelease.errors import ParameterError
from kernelease.methods.interactions.interactions import Interactions
from kernelease.privacy.ledger_file import LedgerFile
from kernelease.sources.csv.format import CsvFormat
from kernelease.sources.drafting import Found, draft_schema, measure_domain
from kernelease.sources.opening import open_source
from kernelease.sources.public import read_public
from kernelease.sources.source import Source
from kernelease.table.draft import draft, draft_from_public
from kernelease.table.jsonschema import json_schema
from kernelease.table.records import Records
from kernelease.table.schema import Schema
from kernelease.table.table_domain import TableDomain

schema = typer.Typer(no_args_is_help=True, help="Schema files: draft one, check one, or teach them to an editor.")


@schema.command("draft")
def draft_command(
    data: Data,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The file to write; by default stdout.")
    ] = None,
    from_public: Annotated[
        Path | None,
        typer.Option(metavar="FILE", exists=True, help="Take bounds and categories from this PUBLIC table."),
    ] = None,
    private_bounds: Annotated[
        float | None,
        typer.Option(metavar="EPS", help="Measure bounds of numbers and frequent texts with noise, for this epsilon."),
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The ledger that --private-bounds is charged to.")
    ] = None,
    query: Query = None,
    records: RecordEnds = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draft a schema from the names and declared types of a table's columns, and from nothing in its rows.

    What is left to decide is marked FILL IN. --private-bounds finds bounds of numbers, as powers of two, for half of
    EPS at the ledger's delta, and texts that many rows hold for the other half (for those the ledger needs a delta);
    where there is nothing to find of one kind, the other has it all or it is not spent. Dates are left to the owner.
    """
    if out is not None:
        _check_target(out)
    if from_public is not None and private_bounds is not None:
        raise ParameterError("--from-public and --private-bounds both give bounds. Give one of them.")
    screen = Screen(json=as_json, quiet=quiet)
    source = open_source(data, query=query, csv=CsvFormat(records=records or Records.QUOTED))
    if records is not None and source.records() is None:
        raise ParameterError(f"--records is for CSV files, and {source.describe()} has rows. Leave it out.")
    name = from_public.stem if from_public is not None else _name(data)
    if from_public is not None:
        text = _from_public(source, read_public(from_public), name, records)
    else:
        text = draft_schema(source, name, found=_found(source, private_bounds, ledger, screen), records=records)
    if out is None and not as_json:
        typer.echo(text, nl=False)
        return
    if out is not None:
        _write(text, out)
        screen.note(f"{out}: replace every FILL IN by what is publicly known.")
    screen.summary({"file": None if out is None else str(out), "schema": text}, facts([("file", out)]))


@schema.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A schema file.")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check a schema file, and list its columns with the number of atoms that each has."""
    loaded = Schema.load(file)
    Interactions().check(TableDomain(loaded))
    atoms = sum(loaded.sizes)
    derived = [(one, loaded.structure.derivations[one.name].column) for one in loaded.derived]
    fields: dict[str, Any] = {
        "name": loaded.name,
        "neighbours": loaded.neighbours,
        "unit": loaded.unit,
        "records": None if loaded.records is None else loaded.records.value,
        "constraints": [rule.text for rule in loaded.constraints],
        "atoms": atoms,
        "columns": [
            {"name": item.name, "type": item.tag, "atoms": item.size, "nullable": item.nullable} for item in loaded
        ],
        "derived": [
            {"name": item.name, "type": item.tag, "told": one.told, "nullable": item.nullable} for one, item in derived
        ],
    }
    about = facts(
        [
            ("table", loaded.name),
            ("neighbours", loaded.neighbours),
            ("unit", loaded.unit_in_words),
            ("atoms", f"{atoms:,} of all columns"),
        ]
    )
    rows = [(item.name, item.tag, "yes" if item.nullable else "no", f"{item.size:,}") for item in loaded]
    rows += [(item.name, item.tag, "yes" if item.nullable else "no", one.told) for one, item in derived]
    Screen(json=as_json, quiet=quiet).result(
        fields, about, line(""), grid(("column", "type", "nullable", "atoms"), rows, text=range(3))
    )


@schema.command("json")
def print_json_schema() -> None:
    """Print the JSON Schema of schema files, with which an editor can complete and check them."""
    typer.echo(json.dumps(json_schema(), indent=2))


def _name(data: str) -> str:
    """A name for the table from what was typed, never a database's address: that may hold a password."""
    return "table" if "://" in data else Path(data).name.split(".")[0] or "table"


def _found(source: Source, epsilon: float | None, ledger: Path | None, screen: Screen) -> Found | None:
    if epsilon is None:
        return None
    if ledger is None:
        raise ParameterError(
            "--private-bounds spends budget: give its --ledger (`kernelease budget create` makes one)."
        )
    books = LedgerFile.open(ledger)
    before = len(books.entries())
    found = measure_domain(source, epsilon=epsilon, ledger=books)
    for entry in books.entries()[before:]:
        asked = entry.charge.asked
        screen.note(
            f"{entry.charge.purpose}: epsilon {asked.epsilon:g} at delta {asked.delta:g} of the ledger is spent"
        )
    screen.note(books.remaining())
    return found


def _from_public(source: Source, public: pa.Table, name: str, records: Records | None) -> str:
    """A schema of the columns that both have; those that the public table lacks are left to fill in."""
    shared = [column for column in source.names() if column in public.column_names]
    if not shared:
        raise ParameterError("--from-public: the public table has no column of the private one.")
    text = draft_from_public(public.select(shared), name).with_records(records).to_toml()
    rest = pa.schema([(column, pa.null()) for column in source.names() if column not in shared])
    drafted = draft(rest, name, declared_types=False)
    return text + ("\n" + drafted[drafted.index("[columns.") :] if len(rest) else "")


def _check_target(out: Path) -> None:
    """Refuse what `_write` would refuse, before --private-bounds spends anything."""
    if os.path.lexists(out):
        raise ParameterError(f"{out} already exists. Choose another name.")
    if not os.access(out.absolute().parent, os.W_OK | os.X_OK):
        raise ParameterError(f"{out} can't be written: its folder is missing or read-only.")


def _write(text: str, out: Path) -> None:
    """The draft as a file; on stdout where that fails, since budget may have paid for it."""
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        typer.echo(text, nl=False)
        raise ParameterError(f"{out} can't be written: {error.strerror}. The draft is on stdout.") from error
