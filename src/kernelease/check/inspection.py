"""The private look itself: one pass over the rows, and one over the bytes of a CSV file."""

from collections.abc import Iterator
from typing import Any

from kernelease.arguments import SchemaLike, schema_of
from kernelease.check.columns import column_findings
from kernelease.check.file import file_findings
from kernelease.check.finding import Finding, Level
from kernelease.check.persons import Persons, find_identifiers
from kernelease.check.report import Report
from kernelease.check.rules import Rules
from kernelease.check.tally import Tally
from kernelease.sources.csv.file import CsvFile
from kernelease.sources.declared import DeclaredSource, check_columns
from kernelease.sources.files import ManyFiles
from kernelease.sources.opening import open_declared
from kernelease.sources.source import Source
from kernelease.table.schema import Schema

MOST_LOOKED_AT = 2**20  # rows whose cells a release looks at by itself: damage of a format shows in fewer


def check(data: Any, schema: SchemaLike, *, query: str | None = None, delta: float | None = None) -> Report:
    r"""What a release would make of the rows of a table, cell by cell, before any budget is spent.

    **Private**: the report may quote cells and exact counts. It is for the owner, who may look at the table anyway; it
    is no part of a release, and nothing in a release depends on it. What can be learned from the fact that somebody
    looked, and then published, docs/security.md says.

    `schema` may be the path of a schema file. With `delta`, it is compared with 1/N.

    >>> import pyarrow as pa
    >>> ages = pa.table({"age": ["17", "n/a", "300"]})
    >>> report = check(ages, Schema.parse('[columns.age]\ntype = "integer"\nmin = 0\nmax = 120'))
    >>> report.level.name, [finding.words for finding in report.findings][0]
    ('DAMAGE', "1 of 3 (33.3 %) cells can't be read as numbers, they become 0: 'n/a' once")
    """
    schema = schema_of(schema)
    source = open_declared(data, schema, query=query)
    check_columns(source, schema)
    found = [*_of_files(source), *_of_names(source, schema)]
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
    found += _of_delta(delta, rules.rows if persons is None else persons.number)
    return Report(
        source=source.describe(),
        rows=rules.rows,
        findings=tuple(sorted(found, key=lambda item: -item.level)),
        persons=None if persons is None else persons.number,
    )


def format_damage(data: Any, schema: Schema, *, query: str | None = None) -> tuple[Finding, ...]:
    """What is wrong with the format of a source: the part of `check` that `kernelease release` does by itself.

    Of a CSV file that is its encoding, its quotes and its records, all of them; of any source the first cells of each
    column, a million rows at most: whether they can be read as declared, and are there. **Private**, as `check` is:
    what it finds decides whether the owner goes on, and nothing else. Bounds, rules and persons are left to `check`.
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
    for part in inner.parts if isinstance(inner, ManyFiles) else (inner,):
        if isinstance(part, CsvFile):
            yield from file_findings(part)


def _of_names(source: Source, schema: Schema) -> Iterator[Finding]:
    extra = [name for name in source.names() if name not in (*schema.names, schema.unit)]
    if extra:
        yield Finding(
            level=Level.NOTE,
            where="columns",
            words=f"not in the schema, so not released: {', '.join(extra)}",
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
