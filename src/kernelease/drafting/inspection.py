"""The private look itself: one pass over the rows and one over the bytes of a CSV file; persons and constraints."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from kernelease.arguments import SchemaLike, declared_of
from kernelease.drafting.findings import Finding, Level, Report, rough_share, share
from kernelease.drafting.looking import likely_encoding
from kernelease.drafting.relations import Rules, find_relations
from kernelease.drafting.tally import Persons, Tally, column_findings, find_identifiers
from kernelease.errors import in_words
from kernelease.relational.schema_of_tables import TableOfRecords, Tables
from kernelease.sources.csv_file import CellParser, CsvFile, Place, looks_regular, record_ends
from kernelease.sources.opening import given_tables, open_declared, open_table
from kernelease.sources.source import DeclaredSource, ManyFiles, Source, check_columns
from kernelease.table.schema import Schema
from kernelease.table.written import Records, canonical_encoding

# ---- What a private look says about a CSV file: its encoding, its quotes, its records.


def file_findings(file: CsvFile) -> Iterator[Finding]:
    """What is wrong with a file before any cell is looked at."""

    def finding(level: Level, words: str, remedy: str, gist: str = "") -> Finding:
        return Finding(level=level, where=file.describe(), words=words, remedy=remedy, gist=gist)

    found, open_end = _count_faults(file), _left_open(file)
    total, close_it = found["all"], 'close it in the source; or [source] quote = "" for none'
    yield from _encoding(file)
    if total == 0:
        words = "the file has no records but its first line"
        remedy = "give the file with the rows; or, if its first line is one, [source] names = [...]"
        yield finding(Level.DAMAGE, words, remedy, words)
    if open_end is not None:
        words = f"a quote that is never closed takes the {open_end:,} lines after it into one record"
        gist = "a quote is never closed: the lines after it are lost in one record"
        yield finding(Level.DAMAGE, words, close_it, gist)
    late = "take in the lines after them, by a quote that is closed too late"
    cut = "are longer than a record may be, and are cut"
    damaged = (
        (
            found["ragged"],
            0,
            "have more or fewer cells than the header",
            "look at the separator and at quotes in these lines",
        ),
        (found["unclosed"], 0, "have a quote that is never closed", close_it),
        (0 if open_end is not None else found["swallowing"], found["swallowed"], late, close_it),
        (found["shortened"], 0, cut, "look for a quote that is never closed"),
    )
    for count, lost, words, remedy in damaged:
        if count:
            level, rough = Level.of_share((count + lost) / (total + lost)), rough_share(count, total)
            yield finding(level, f"{share(count, total)} records {words}", remedy, f"{rough} records {words}")
    if several := found["several_lines"]:
        remedy = 'nothing, if cells hold newlines; else [source] records = "lines" makes each line a record'
        yield finding(Level.NOTE, f"{share(several, total)} records go over several lines", remedy)


def _count_faults(file: CsvFile) -> Counter[str]:
    """How many records a file has, and how many of them have which fault. Private.

    Those are `swallowing` that hold lines with as many cells as a record has: a quote takes these in.
    """
    parser, longest = file.parser, file.format.longest_record
    found: Counter[str] = Counter()
    for block in file.blocks():
        found["all"] += len(block.ends)
        regular = looks_regular(block, parser.width, parser.separator, parser.quote)
        several = block.text.count(b"\n") > len(block.ends)
        for record in block.records() if several else block.where(~regular).records():
            taken_in = _lines_like_records(record, parser)
            found.update(
                ragged=sum(1 for _ in parser.fields(record)) != parser.width,
                swallowing=taken_in > 0,
                swallowed=taken_in,
                unclosed=record_ends(record, Place.START, parser.separator, parser.quote)[1] is Place.QUOTED,
                several_lines=b"\n" in record,
                shortened=len(record) >= longest,
            )
    return found


def _lines_like_records(record: bytes, parser: CellParser) -> int:
    """The lines of a record, after its first, that have as many separators as a record of the table."""
    if parser.width < 2 or b"\n" not in record:
        return 0
    separator = parser.separator.encode()
    return sum(line.count(separator) == parser.width - 1 for line in record.split(b"\n")[1:])


def _left_open(file: CsvFile) -> int | None:
    """The lines after a quote that is open where the file ends, which are one record then; None where none is."""
    if file.records() is not Records.QUOTED:
        return None
    place, lines, parser = Place.START, 0, file.parser
    for piece in file.raw():
        ends, place = record_ends(piece, place, parser.separator, parser.quote)
        lines = piece[int(ends[-1]) :].count(b"\n") if len(ends) else lines + piece.count(b"\n")
    return max(0, lines - 1) if place is Place.QUOTED else None


def _encoding(file: CsvFile) -> Iterator[Finding]:
    declared, likely = canonical_encoding(file.format.encoding), likely_encoding(file)
    if declared == "utf-8" and likely is not None:
        yield Finding(
            level=Level.DAMAGE,
            where=file.describe(),
            words="the file is not in UTF-8: letters outside ASCII are lost",
            remedy=f'[source] encoding = "{likely}", or --encoding {likely}',
            gist=f"it is not in UTF-8: give --encoding {likely}",
        )
    elif declared != "utf-8" and likely is None and not all(piece.isascii() for piece in file.raw()):
        yield Finding(
            level=Level.DAMAGE,
            where=file.describe(),
            words=f"the file is in UTF-8, and is read as {file.format.encoding}: each other letter becomes two",
            remedy='[source] encoding = "utf-8", or no encoding at all',
            gist=f"it is in UTF-8, and is read as {file.format.encoding}",
        )


# ---- The look itself.


MOST_LOOKED_AT = 2**20  # rows whose cells a release looks at by itself: damage of a format shows in fewer


@in_words
def check(data: Any, schema: SchemaLike, *, query: str | None = None, delta: float | None = None) -> Report:
    r"""What a release would make of the rows of a table, cell by cell, before any budget is spent.

    **Private**: the report may quote cells and exact counts. It is for the owner, who may look at the table anyway; it
    is no part of a release, and nothing in a release depends on it. What can be learned from the fact that somebody
    looked, and then published, docs/security.md says.

    `schema` may be the path of a schema file. Of several tables each is looked at, and how their keys meet: those that
    are missing, twice or nobody's. With `delta`, it is compared with 1/N.

    >>> import pyarrow as pa
    >>> ages = pa.table({"age": ["17", "n/a", "300"]})
    >>> report = check(ages, Schema.parse('[columns.age]\ntype = "integer"\nmin = 0\nmax = 120'))
    >>> report.level.name, [finding.words for finding in report.findings][0]
    ('DAMAGE', "1 of 3 (33.3 %) cells can't be read as numbers, they become 0: 'n/a' once")
    """
    declared = declared_of(schema)
    if isinstance(declared, Tables):
        return _check_tables(data, declared, delta)
    return _check_table(open_declared(data, declared, query=query), declared, delta)


def _check_table(source: Source, schema: Schema, delta: float | None, keys: Collection[str] = ()) -> Report:
    """One table; its `keys` are declared where several tables are."""
    check_columns(source, schema)
    found = [*_of_files(source), *_of_names(source, (*schema.order, schema.unit, *keys))]
    tallies = {column.name: Tally(column=column) for column in schema}
    rules = Rules(schema=schema)
    persons = None if schema.unit is None else Persons(unit=schema.unit, cap=schema.max_rows_per_unit or 1)
    for batch in source.batches([*schema.names, *([schema.unit] if schema.unit else [])]):
        rules.add(batch)
        for name, tally in tallies.items():
            tally.add(batch.column(name))
        if persons is not None:
            persons.add(batch.column(persons.unit))
    for tally in tallies.values():
        found += column_findings(tally)
    found += rules.findings()
    found += _of_identifiers(source, schema) if persons is None else persons.findings()
    found += [one.finding() for one in find_relations(source.batches(schema.names), schema)]
    found += _of_delta(delta, rules.rows if persons is None else persons.number)
    return Report(
        source=source.describe(),
        rows=rules.rows,
        findings=tuple(sorted(found, key=lambda item: -item.level)),
        persons=None if persons is None else persons.number,
    )


# ---- Several tables: each of them, and how their keys meet.


def _check_tables(data: Any, tables: Tables, delta: float | None) -> Report:
    given = given_tables(data, tables)
    known: dict[str, Counter[bytes | None]] = {}
    found, rows = [], 0
    for table in tables.tables:
        source = open_table(given[table.name], table)
        keys = {key for key in (*table.keys, table.foreign_key) if key is not None}
        report = _check_table(source, table.schema, delta if table.parent is None else None, keys)
        found += [replace(one, where=f"{table.name}.{one.where}") for one in report.findings if one.where not in keys]
        rows += report.rows
        found += _of_keys(source, table, known)
    return Report(
        source=f"tables {', '.join(tables.names)}",
        rows=rows,
        findings=tuple(sorted(found, key=lambda item: -item.level)),
        persons=len(known[tables.root.name]) - (None in known[tables.root.name]),
    )


def _of_keys(source: Source, table: TableOfRecords, known: dict[str, Counter[bytes | None]]) -> Iterator[Finding]:
    """Keys that are missing or twice, records of nobody, and those beyond the cap."""
    counts = {key: Persons(unit=key, cap=table.max_rows or 1) for key in (table.key, table.foreign_key) if key}
    for batch in source.batches([*counts]):
        for key, persons in counts.items():
            persons.add(batch.column(key))
    lost: list[tuple[str, int, str]] = []
    if table.key is not None:
        own = known[table.name] = counts[table.key].rows
        twice = sum(count - 1 for key, count in own.items() if key is not None and count > 1)
        first = "of several rows with a key the first is the person's, by a hash of their content"
        every = "records of such a key belong to each of its rows, and are protected with none of them alone"
        lost += [
            (table.key, own[None], "rows have no key: nobody is behind them, and none refers to them"),
            (table.key, twice, f"rows have a key that another has: {every if table.parent else first}"),
        ]
    if table.foreign_key is not None:
        refers, parents = counts[table.foreign_key].rows, known[str(table.parent)]
        dangling = sum(count for key, count in refers.items() if key is not None and key not in parents)
        beyond = sum(max(0, count - (table.max_rows or 0)) for key, count in refers.items() if key is not None)
        gone = f"rows name a row of {table.parent} that is not there, and are left out"
        lost += [
            (table.foreign_key, refers[None], "rows name no parent, and are left out"),
            (table.foreign_key, dangling, gone),
            (table.foreign_key, beyond, f"rows are beyond max_rows = {table.max_rows}, and are left out"),
        ]
    for key, count, words in lost:
        if count:
            among = counts[key].rows.total()
            yield Finding(
                level=Level.of_share(count / among),
                where=f"{table.name}.{key}",
                words=f"{share(count, among)} {words}",
                remedy="correct the keys in the source, or raise max_rows where rows are beyond it; else it is as said",
            )


def format_damage(data: Any, schema: Schema, *, query: str | None = None) -> tuple[Finding, ...]:
    """What is wrong with the format of a source: the part of `check` that `kernelease release` does by itself.

    Of a CSV file that is its encoding, its quotes and its records, all of them; of any source the first cells of each
    column, a million rows at most: whether they can be read as declared, and are there. **Private**, as `check` is:
    what it finds decides whether the owner goes on, and nothing else. What cells say, once they are read, is left to
    `check`: values beyond a bound, rules, persons.
    """
    source = open_declared(data, schema, query=query)
    check_columns(source, schema)
    found, tallies = list(_of_files(source)), {column.name: Tally(column=column) for column in schema}
    rows = 0
    for batch in source.batches(schema.names):
        rows += batch.num_rows
        for name, tally in tallies.items():
            tally.add(batch.column(name))
        if rows >= MOST_LOOKED_AT:
            break
    found += [finding for tally in tallies.values() for finding in column_findings(tally)]
    return tuple(finding for finding in found if finding.gist and finding.level is Level.DAMAGE)


def _of_identifiers(source: Source, schema: Schema) -> Iterator[Finding]:
    """Columns that seem to identify somebody, where no unit is declared; of single rows only if they are released."""
    for found in find_identifiers(source):
        if found.persons or found.name in schema.names:
            yield found.finding(declared=found.name in schema.names)


def _of_files(source: Source) -> Iterator[Finding]:
    inner = source.inner if isinstance(source, DeclaredSource) else source
    for part in inner.files if isinstance(inner, ManyFiles) else (inner,):
        if isinstance(part, CsvFile):
            yield from file_findings(part)


def _of_names(source: Source, declared: Collection[str | None]) -> Iterator[Finding]:
    extra = [name for name in source.names() if name not in declared]
    if extra:
        yield Finding(
            level=Level.NOTE,
            where="columns",
            words=f"not in the schema, so not released: {', '.join(name or 'one without a name' for name in extra)}",
            remedy="nothing, if that is meant; else declare them",
        )


def _of_delta(delta: float | None, persons: int) -> Iterator[Finding]:
    if delta is not None and persons and delta * persons >= 1.0:
        yield Finding(
            level=Level.DAMAGE,
            where="delta",
            words=f"delta = {delta:g} is not below 1/{persons:,}: it would allow to publish a whole row of somebody",
            remedy=f"--delta {0.01 / persons:.0e} or less",
        )
