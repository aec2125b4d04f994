"""The `kernelease` command."""

import importlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, final

import typer
from typer.main import get_command

from kernelease._version import __version__
from kernelease.cli.exits import Commands
from kernelease.errors import ParameterError

COMMANDS = (
    *("schema", "check", "plan", "measure", "fit", "release", "verify", "report"),
    *("export", "query", "answers", "agreement", "test", "budget", "keys", "demo"),
)
"""In the order of the help. Each is what its module in this package calls by the same name."""


@final
class _OnDemand(Mapping[str, Any]):
    """The commands by name, each loaded when it is first asked for: `--version` needs none of them."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        if name not in self._loaded:
            self._loaded[name] = _loaded(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _loaded(name: str) -> Any:
    found = getattr(importlib.import_module(f"kernelease.cli.{name}"), name)
    alone = typer.Typer(add_completion=False)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
        return get_command(alone).commands[name]  # type: ignore[attr-defined]  # a group, for a Typer was added
    alone.command(name)(found)
    return get_command(alone)


class Root(Commands):
    """All commands, loaded on demand."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": _OnDemand()})

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, without loading them."""
        return list(self.commands)


app = typer.Typer(cls=Root, no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def _import(module: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise ParameterError(
            f"--import {module}: {error}. Name a module that Python finds: an installed one, or one in a folder of "
            "PYTHONPATH."
        ) from None


@app.callback()
def main(
    context: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A TOML file with a table per command, which fills in its options."),
    ] = None,
    modules: Annotated[
        list[str] | None,
        typer.Option("--import", metavar="MODULE", help="Import a module of your own: bundles may hold its kinds."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Publish a synthetic table in place of a private one, with a differential-privacy guarantee."""
    for stream in (sys.stdout, sys.stderr):  # a terminal that has no ✓ or ε shows a ?, and no traceback
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    for module in modules or ():
        _import(module)
    if config is not None:
        from kernelease.cli.config import read_config  # it reads TOML as schemas do, and loads them

        context.default_map = read_config(config, context.command)
