"""`kernelease schema draft`: a schema to begin with, from what the owner lets it know."""

import os
import sys
from dataclasses import dataclass, replace
from enum import StrEnum, unique
from pathlib import Path
from typing import Annotated, final

import pyarrow as pa
import typer

from kernelease.check.looking import draft_by_looking
from kernelease.cli.options import Data, Json, Query, Quiet
from kernelease.cli.screen import Screen, facts
from kernelease.cli.writing import takes_writing
from kernelease.errors import ParameterError
from kernelease.privacy.ledger_file import LedgerFile
from kernelease.sources.csv.file import LOST, CsvFile
from kernelease.sources.csv.format import CsvFormat
from kernelease.sources.drafting import Found, code_book, draft_schema, measure_domain
from kernelease.sources.files import ManyFiles
from kernelease.sources.opening import open_source
from kernelease.sources.public import read_public
from kernelease.sources.source import Source
from kernelease.table.draft import draft, draft_from_public
from kernelease.table.written import OF_FILES, OF_TEXTS, Written, unheeded


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
    query: Query = None,
    as_json: Json = False,
    quiet: Quiet = False,
    written: Written,
) -> None:
    """Draft a schema from the names and declared types of a table's columns, and from nothing in its rows.

    What is left to decide is marked FILL IN. A code book fills in what it describes, a public table what it holds.
    --private-bounds finds bounds of numbers, as powers of two, for half of EPS at the ledger's delta, and texts that
    many rows hold for the other half (for those the ledger needs a delta); where there is nothing to find of one kind,
    the other has it all or it is not spent. Dates are left to the owner. --look reads the rows: its draft marks every
    line that comes from them, can't be used before you have written confirmed = true, and releases say so.

    On a terminal, without any of these, it asks which.
    """
    if out is not None:
        _check_target(out)
    told = _Knowledge(
        dictionary=from_dictionary, public=from_public, epsilon=private_bounds, look=look, ledger=ledger
    ).asked()
    screen = Screen(json=as_json, quiet=quiet)
    text = _drafted(data, query, _with_separator(data, query, written, screen), told, screen)
    if out is None and not as_json:
        typer.echo(text, nl=False)
        return
    if out is not None:
        _write(text, out)
        screen.note(f"{out}: {_what_next(told)}")
    screen.summary({"file": None if out is None else str(out), "schema": text}, facts([("file", out)]))


@unique
class _Way(StrEnum):
    """Where a draft may take its bounds and categories from."""

    NAMES = "names"
    DICTIONARY = "dictionary"
    PUBLIC = "public"
    BOUNDS = "bounds"
    LOOK = "look"


_QUESTION = """\
What may the draft be made from?
  names       the names of the columns only; you fill in the rest
  dictionary  a code book: CSV, Frictionless Table Schema, JSON Schema, DDI, a file's value labels
  public      a public table with the same columns
  bounds      bounds measured with noise, for a part of the budget
  look        the private rows: you decide which lines are public knowledge
Which"""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Knowledge:
    """What the owner lets the draft know, beside names and declared types: one thing at most."""

    dictionary: Path | None
    public: Path | None
    epsilon: float | None
    look: bool
    ledger: Path | None

    def __post_init__(self) -> None:
        given = {
            "--from-dictionary": self.dictionary is not None,
            "--from-public": self.public is not None,
            "--private-bounds": self.epsilon is not None,
            "--look": self.look,
        }
        if sum(given.values()) > 1:
            both = " and ".join([name for name, there in given.items() if there][:2])
            raise ParameterError(f"{both} both give bounds. Give one of them.")
        if self.epsilon is not None and self.ledger is None:
            raise ParameterError(
                "--private-bounds spends budget: give its --ledger (`kernelease budget create` makes one)."
            )

    def asked(self) -> "_Knowledge":
        """As it is; on a terminal, where nothing was given, as the owner answers."""
        silent = self.dictionary is None and self.public is None and self.epsilon is None and not self.look
        if not silent or not _on_a_terminal():
            return self
        way = _way(typer.prompt(_QUESTION, default=_Way.NAMES.value))
        if way is _Way.DICTIONARY:
            return replace(self, dictionary=Path(typer.prompt("The code book")))
        if way is _Way.PUBLIC:
            return replace(self, public=Path(typer.prompt("The public table")))
        if way is _Way.BOUNDS:
            ledger = self.ledger or Path(typer.prompt("The ledger"))
            return replace(self, epsilon=typer.prompt("Epsilon to spend", type=float), ledger=ledger)
        return replace(self, look=way is _Way.LOOK)


def _on_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _way(answer: str) -> _Way:
    try:
        return _Way(answer.strip().lower())
    except ValueError:
        raise ParameterError(f"The answer must be one of {', '.join(_Way)}, got {answer!r}. Ask again.") from None


def _drafted(data: str, query: str | None, written: Written, told: _Knowledge, screen: Screen) -> str:
    name = told.public.stem if told.public is not None else _name(data)
    if told.look:
        return draft_by_looking(data, name, query=query, written=written)
    source = open_source(data, query=query, csv=CsvFormat.of(written))
    _refuse_of_files(source, written)
    if told.public is not None:
        return _from_public(source, read_public(told.public), name, written)
    known = {}
    if told.dictionary is not None:
        described = code_book(told.dictionary)
        known = {column: described[column].lines() for column in source.names() if column in described}
        if not known:
            raise ParameterError(
                "--from-dictionary: the code book describes no column of the table. Compare the names."
            )
        formats = {described[column].date_format for column in known} - {None}
        written = replace(written, dates=written.dates or tuple(sorted(map(str, formats))))
    elif (found := _found(source, told, screen)) is not None:
        known = found.lines(source)
    return draft_schema(source, name, known=known, written=written)


def _what_next(told: _Knowledge) -> str:
    if told.look:
        return "private until you have confirmed it: keep of the marked lines what is public, then confirmed = true."
    return "replace every FILL IN by what is publicly known."


def _with_separator(data: str, query: str | None, written: Written, screen: Screen) -> Written:
    """With the separator that the first line of a CSV file shows, where none is given: the header is public."""
    source = open_source(data, query=query, csv=CsvFormat.of(written))
    first = source.parts[0] if isinstance(source, ManyFiles) else source
    if not isinstance(first, CsvFile):
        return written
    if any(LOST in name for name in first.header):
        screen.note("The first line is not in UTF-8: give --encoding, as latin-1 or cp1252.")
    other = first.other_separator() if written.separator is None else None
    if other is None:
        return written
    screen.note(f"The first line is parted by {other!r}: [source] separator says so.")
    return replace(written, separator=other)


def _refuse_of_files(source: Source, written: Written) -> None:
    for key in (*OF_FILES, *OF_TEXTS):
        if getattr(written, key) is not None and key not in source.heeds():
            flag = "null" if key == "nulls" else key
            raise ParameterError(f"--{flag} {unheeded(key, source.describe())}. Leave it out.")


def _name(data: str) -> str:
    """A name for the table from what was typed, never a database's address: that may hold a password."""
    return "table" if "://" in data else Path(data).name.split(".")[0] or "table"


def _found(source: Source, told: _Knowledge, screen: Screen) -> Found | None:
    if told.epsilon is None or told.ledger is None:
        return None
    books = LedgerFile.open(told.ledger)
    before = len(books.entries())
    found = measure_domain(source, epsilon=told.epsilon, ledger=books)
    for entry in books.entries()[before:]:
        asked = entry.charge.asked
        screen.note(
            f"{entry.charge.purpose}: epsilon {asked.epsilon:g} at delta {asked.delta:g} of the ledger is spent"
        )
    screen.note(books.remaining())
    return found


def _from_public(source: Source, public: pa.Table, name: str, written: Written) -> str:
    """A schema of the columns that both have; those that the public table lacks are left to fill in."""
    shared = [column for column in source.names() if column in public.column_names]
    if not shared:
        raise ParameterError("--from-public: the public table has no column of the private one.")
    text = draft_from_public(public.select(shared), name).written_as(written).to_toml()
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
