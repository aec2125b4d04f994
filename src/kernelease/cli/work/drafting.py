"""How a schema is drafted from what the owner lets it know."""

from dataclasses import replace

import pyarrow as pa

from kernelease.cli.options import Knowledge
from kernelease.cli.screen import Screen
from kernelease.drafting.drafts import Found, code_book, draft_schema, draft_several, measure_domain, table_name
from kernelease.drafting.looking import draft_by_looking
from kernelease.errors import ParameterError
from kernelease.ledgers import LedgerFile
from kernelease.sources.csv_file import LOST, CsvFile, CsvFormat
from kernelease.sources.opening import open_source, read_public
from kernelease.sources.source import ManyFiles, Source
from kernelease.table.draft import draft, draft_from_public
from kernelease.table.toml import toml_value
from kernelease.table.written import OF_FILES, OF_TEXTS, Written, reason_unheeded


def draft_text(data: str, query: str | None, written: Written, told: Knowledge, screen: Screen) -> str:
    """The text of a schema to begin with."""
    name = told.dataset or (told.public.stem if told.public is not None else table_name(data))
    if told.look:
        proposal = draft_by_looking(data, name, query=query, written=written)
        if (unit := proposal.unit) is not None:
            screen.note(
                f"Column {unit.name!r} looks like the name of persons with several rows: the draft says unit = "
                f"{toml_value(unit.name)} and max_rows_per_unit = {unit.most}. Keep them if these are persons: else "
                "each row is protected, and not each person."
            )
        return proposal.text
    source = open_source(data, query=query, csv=CsvFormat.of(written))
    for key in (*OF_FILES, *OF_TEXTS):
        if getattr(written, key) is not None and key not in source.heeds():
            flag = "null" if key == "nulls" else key
            raise ParameterError(f"--{flag} {reason_unheeded(key, source.describe())}. Leave it out.")
    if told.public is not None:
        return _from_public(source, read_public(told.public), name, written)
    known, paid = {}, ""
    if told.dictionary is not None:
        described = code_book(told.dictionary, source.names(), screen.note)
        known = {column: described[column].lines() for column in source.names() if column in described}
        if not known:
            raise ParameterError(
                "--from-dictionary: the code book describes no column of the table. Compare the names."
            )
        formats = {described[column].date_format for column in known} - {None}
        written = replace(written, dates=written.dates or tuple(sorted(map(str, formats))))
    elif (found := _measure_domain(source, name, written, told, screen)) is not None:
        known, paid = found.lines(source), found.paid
    return draft_schema(source, name, known=known, written=written, paid=paid)


def draft_tables_text(data: str, query: str | None, written: Written, told: Knowledge) -> str:
    """The same of several tables, whose columns and keys are told by their names, or by a look at the rows."""
    if told.dictionary is not None or told.public is not None or told.epsilon is not None:
        raise ParameterError("--tables: is drafted from names, or with --look. Draft each table alone for the rest.")
    if query is not None or written != Written():
        raise ParameterError("--tables: how each file is written is said in its [tables.NAME.source]. Leave it out.")
    return draft_several(data, look=told.look, name=told.dataset)


def with_separator(data: str, query: str | None, written: Written, screen: Screen) -> Written:
    """With the separator that the first line of a CSV file shows, where none is given: the header is public."""
    source = open_source(data, query=query, csv=CsvFormat.of(written))
    first = source.inner if isinstance(source, ManyFiles) else source
    if not isinstance(first, CsvFile):
        return written
    if any(LOST in name for name in first.header):
        screen.note("The first line is not in UTF-8: give --encoding, as latin-1 or cp1252.")
    other = first.other_separator() if written.separator is None else None
    if other is None:
        return written
    screen.note(f"The first line is parted by {other!r}: [source] separator says so.")
    return replace(written, separator=other)


def _measure_domain(source: Source, name: str, written: Written, told: Knowledge, screen: Screen) -> Found | None:
    if told.epsilon is None or told.ledger is None:
        return None
    books = LedgerFile.open(told.ledger)
    found = measure_domain(source, epsilon=told.epsilon, ledger=books, dataset=name, written=written)
    screen.note(found.paid)
    screen.note(f"The ledger: {books.remaining()}")
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
