"""`kernelease plan`: what to expect, before anyone touches the data."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from kernelease.cli.options import Analyses, Promise, SchemaFile, option
from kernelease.cli.screen import Html, Screen, check_free, write_new


def plan(
    *,
    schema: SchemaFile,
    rows: Annotated[int, option("--rows", "N", "How many rows (or persons) the table has, or may have.", min=1)],
    privacy: Promise,
    analysis: Analyses = None,
    simulate: Annotated[
        Path | None,
        option("--simulate", "FILE", "Rehearse on this PUBLIC table, and print the errors.", exists=True),
    ] = None,
    all_pairs: Annotated[bool, typer.Option("--all-pairs", help="List every pair, not only the noisiest.")] = False,
    html: Html = None,
    screen: Screen,
) -> None:
    """Say what a release would be like: noise, attackers, time, memory and size. No data are touched.

    The noise of a count is its standard deviation, in rows; what is smaller can't be seen in the release.
    """
    from kernelease.errors import ParameterError
    from kernelease.relational.schema_of_tables import Tables, load_schema

    check_free(html)
    declared = load_schema(schema)
    if not isinstance(declared, Tables):
        declared = replace(declared, analyses=(*declared.analyses, *(analysis or ())))
    elif analysis or simulate is not None:
        given = "--analysis" if analysis else "--simulate"
        raise ParameterError(f"{given}: is for one table. Several tables are planned without it: leave it out.")
    promised = privacy.read()

    from kernelease.cli.work import summary
    from kernelease.pipeline import plan as plan_release, rehearse
    from kernelease.report import sheet
    from kernelease.sources.opening import read_public

    public = None if simulate is None else read_public(simulate)
    expected = plan_release(declared, privacy=promised, rows=rows, like=public)
    fields, tables = summary.plan_fields(expected), summary.plan_tables(expected, all_pairs)
    parts = summary.plan_parts(expected)
    if public is not None and not isinstance(declared, Tables):
        with screen.progress() as progress:
            size = min(rows, summary.MOST_REHEARSED)
            errors = rehearse(public, schema=declared, privacy=promised, rows=size, progress=progress)
        fields["rehearsal"] = summary.rehearsal_fields(declared, errors, size)
        tables += summary.rehearsal_tables(declared, errors, size)
        parts += summary.rehearsal_parts(declared, errors, size)
    if html is not None:
        write_new(html, sheet.sheet(*parts, kicker="Plan", title=declared.name, headline=summary.PLANNED))
    screen.result(fields, *tables)
