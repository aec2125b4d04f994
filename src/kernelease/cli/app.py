"""The `kernelease` command."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from kernelease._version import __version__
from kernelease.cli.answers import answers
from kernelease.cli.budget import budget
from kernelease.cli.config import read_config
from kernelease.cli.demo import demo
from kernelease.cli.exits import Commands
from kernelease.cli.export import export
from kernelease.cli.fit import fit
from kernelease.cli.keys import keys
from kernelease.cli.measure import measure
from kernelease.cli.plan import plan
from kernelease.cli.query import query
from kernelease.cli.release import release
from kernelease.cli.report import report
from kernelease.cli.schema import schema
from kernelease.cli.verify import verify

app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)
app.add_typer(schema, name="schema")
for command in (plan, measure, fit, release, verify, report, export, query, answers):
    app.command()(command)
app.add_typer(budget, name="budget")
app.add_typer(keys, name="keys")
app.command()(demo)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A TOML file with a table per command, which fills in its options."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Publish a synthetic table in place of a private one, with a differential-privacy guarantee."""
    for stream in (sys.stdout, sys.stderr):  # a terminal that has no ✓ or ε shows a ?, and no traceback
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if config is not None:
        context.default_map = read_config(config, context.command)
