"""The `kernelease` command, its exit codes, and what becomes of errors and warnings."""

import importlib
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, final

import typer
from typer.core import TyperGroup
from typer.main import get_command

from kernelease._version import __version__
from kernelease.cli.options import option, spread_groups
from kernelease.errors import BudgetError, KerneleaseError, ParameterError, SchemaError, nearest
from kernelease.machine import require_memory
from kernelease.strangers import parse_toml, read_text, web_refusal

FAILED = 1
"""A check failed: `verify` found something that does not hold."""
WRONG = 2
"""Wrong usage or input. Nothing was spent, unless the message says otherwise."""
REFUSED = 3
"""The privacy budget does not cover the request. Nothing was spent and nothing written."""
INTERRUPTED = 130
"""Control-C, as shells count it."""
LEAST_MEMORY = 2**25
"""Bytes without which no command begins: where libraries can't even be loaded, they end the process themselves."""


def notes(error: BaseException) -> list[str]:
    """What was added to an error on its way: that budget is spent, and where its worth lies."""
    return list(getattr(error, "__notes__", []))


UsageError: type[Exception] = typer.BadParameter.__bases__[0]  # of the click that Typer uses, its own or another's
_USAGE = (  # what click says of a wrong call, and what is said here
    (r"Missing (?:option|argument|parameter:?) '?([^'.]+)'?.*", r"\1 is missing."),
    (r"No such option:? '?([^' ]+?)'?\.? \(Possible options: ([^,)]+).*\)", r"There is no option \1. Did you mean \2?"),
    (r"No such option:? '?([^' ]+?)'?\.?( Did you mean .*\?)?", r"There is no option \1.\2"),
    (r"No such command '(.*?)'\.(.*)", r"There is no command \1.\2"),
    (r"Option '(.*)' requires an argument\.", r"\1 needs a value after it."),
    (r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", r"Too many words: \1. A text with spaces goes in quotes."),
    (r"Invalid value for '(.*?)': .*valid (?:number|float).*", r"\1 must be a number, with a point: 0.5 or 1e-6."),
    (r"Invalid value for '(.*?)': .*valid integer.*", r"\1 must be a whole number, as 1000."),
    (r"Invalid value for '(.*?)': .*(?:greater than or equal to|>=) ?(\d+).*", r"\1 must be at least \2."),
    (r"Invalid value for '(.*?)': .*'(.*?)' is not one of (.*?)\.?", r"\1 must be one of \3, got '\2'."),
    (r"Invalid value for '(.*?)': .*'(.*?)' does not exist\.", r"\1: there is no file or folder \2. Check its name."),
    (r"Invalid value for '(.*?)': (.*)", r"\1: \2"),
)
_DECLARED = {  # what is no option, but a line of the schema
    "neighbours": 'neighbours = "add-remove"',
    "unit": 'unit = "patient_id", with max_rows_per_unit',
    "constraints": 'constraints = ["age >= 18"]',
}


def usage_in_words(message: str, command: str) -> str:
    """A wrong call in one line: what is wrong with it, and where to look.

    >>> usage_in_words("Missing option '--schema'.", "kernelease release")
    '--schema is missing. `kernelease release --help` lists what there is.'
    """
    path = re.search(r"'([^']+)' does not exist", message)
    if path and (refusal := web_refusal(path[1])):
        return refusal
    declared = re.match(rf"No such option:? '?--({'|'.join(_DECLARED)})\b", message)
    if declared:
        return f"--{declared[1]} is no option. Write it in the schema, below [table]: {_DECLARED[declared[1]]}."
    matches = ((re.fullmatch(said, message, re.DOTALL), told) for said, told in _USAGE)
    told = next((found.expand(told) for found, told in matches if found), message)
    return f"{told} `{command} --help` lists what there is."


@contextmanager
def _usage_in_words() -> Iterator[None]:
    """Wrong calls become one line on stderr. That no word was given at all is none: help is shown then."""
    try:
        yield
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            raise
        context: Any = getattr(error, "ctx", None)
        started = "" if context is None else str(context.find_root().info_name)  # as python -m kernelease
        path = "" if context is None else context.command_path.removeprefix(started)
        command = " ".join(["kernelease", *path.split()])
        typer.echo(f"error: {usage_in_words(error.format_message(), command)}", err=True)  # type: ignore[attr-defined]  # click's
        raise typer.Exit(WRONG) from None


class Commands(TyperGroup):
    """The root of all commands: errors that kernelease raises on purpose become one line on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command. What is not a `KerneleaseError` is a defect, and keeps its traceback; notes end it."""
        try:
            require_memory(LEAST_MEMORY, "run a command")
            with _warnings_in_words(), _usage_in_words():
                return super().invoke(ctx)
        except KerneleaseError as error:
            typer.echo(" ".join([f"error: {error}", *notes(error)]), err=True)
            refused = isinstance(error, BudgetError) and not notes(error)
            raise typer.Exit(REFUSED if refused else WRONG) from None
        except MemoryError as error:  # no defect: the table, or what was asked for, is too large for this machine
            typer.echo(" ".join(["error: there is not enough memory.", *notes(error)]), err=True)
            raise typer.Exit(WRONG) from None
        except KeyboardInterrupt as error:  # the bars are gone by now, so that what is said here stays on the screen
            typer.echo(" ".join(["Interrupted.", *notes(error)]), err=True)
            raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _warnings_in_words() -> Iterator[None]:
    """Warnings that are meant for users go to stderr, one line each; those for developers are dropped."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            for text in dict.fromkeys(str(item.message) for item in caught if item.category is UserWarning):
                typer.echo(f"warning: {text}", err=True)


# ---- The `kernelease` command.


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
            self._loaded[name] = _load(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _load(name: str) -> Any:
    found = getattr(importlib.import_module(f"kernelease.cli.{name}_command"), name)
    alone = typer.Typer(add_completion=False)
    if isinstance(found, typer.Typer):
        for command in found.registered_commands:
            command.callback = None if command.callback is None else spread_groups(command.callback)
        alone.add_typer(found, name=name)
        return _readable(get_command(alone).commands[name])  # type: ignore[attr-defined]  # a group: a Typer was added
    alone.command(name)(spread_groups(found))
    return _readable(get_command(alone))


def _readable(command: Any) -> Any:
    """The command, with no word after an option that takes none: help would say `--json <bool>`."""
    for one in (command, *getattr(command, "commands", {}).values()):
        _clear(one.get_params(typer.Context(one)))
    return command


def _clear(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


class Root(Commands):
    """All commands, loaded on demand."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": _OnDemand()})

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, without loading them."""
        return list(self.commands)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args[:1] == ["query"]:  # after a space, a negative number is no option, and still a number
            args = [f" {arg}" if re.fullmatch(r"-\.?\d[\d.e-]*", arg) else arg for arg in args]
        with _usage_in_words():
            return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> Any:
        return _clear(super().get_params(ctx))


app = typer.Typer(cls=Root, no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)


# ---- The configuration file: a TOML table per command, whose keys are the names of its options and arguments.


_NOT_FOR_FILES = ("help", "config", "version", "install_completion", "show_completion")


def read_config(path: Path, group: Any) -> dict[str, Any]:
    """Defaults for the commands of a group, by parameter name. An unknown key is an error that suggests a known one."""
    try:
        text = read_text(path)
        data = parse_toml(text)
    except OSError as error:
        raise ParameterError(
            f"The configuration file {path} can't be read: {error.strerror}. Check its name."
        ) from error
    except ValueError as error:  # not TOML, not text, or more than is read
        raise ParameterError(
            f"The configuration file {path} is not valid TOML: {error}. Write name = value, one in a line."
        ) from error
    try:
        return _defaults(data, group, ())
    except SchemaError as error:
        from kernelease.table.toml import locate  # it knows columns, and loads them

        line = locate(text, error.path)
        raise ParameterError(f"{path.name}{'' if line is None else f', line {line}'}: {error}") from None


def _defaults(table: dict[str, Any], command: Any, where: tuple[str, ...]) -> dict[str, Any]:
    """What a table of the file says, by parameter name; a `SchemaError` says where it is wrong."""
    commands = getattr(command, "commands", None)
    if commands is None:
        return _options(table, command, where)
    result = {}
    for key, value in table.items():
        path = (*where, key)
        if key not in commands:
            raise SchemaError(f"there is no command {' '.join(path)!r}.{nearest(key, tuple(commands))}", path=path)
        if not isinstance(value, dict):
            raise SchemaError(f"must be a table of options: [{'.'.join(path)}].", path=path)
        result[key] = _defaults(value, commands[key], path)
    return result


def _options(table: dict[str, Any], command: Any, where: tuple[str, ...]) -> dict[str, Any]:
    known = option_names(command)
    result = {}
    for key, value in table.items():
        name, path = key.replace("-", "_"), (*where, key)
        if name not in known:
            hint = nearest(name, tuple(known)).replace("_", "-")
            raise SchemaError(f"{' '.join(where)!r} has no option {key!r}.{hint}", path=path)
        if isinstance(value, dict):
            raise SchemaError(f"{key} must be a value, not a table.", path=path)
        result[known[name]] = value
    return result


def option_names(command: Any) -> dict[str, str]:
    """What a configuration file may set of a command: its name in the file, and the parameter that it fills.

    An option goes by its long name, an argument by its own, both with - or _ between words.
    """
    names = {}
    for parameter in command.params:
        long = [option for option in parameter.opts if option.startswith("--")]
        name = long[0].removeprefix("--") if long else str(parameter.name)
        if name.replace("-", "_") not in _NOT_FOR_FILES:
            names[name.replace("-", "_")] = str(parameter.name)
    return names


# ---- The command itself.


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    config: Annotated[
        Path | None,
        option("--config", "FILE", "A TOML file with a table per command, which fills in its options."),
    ] = None,
    modules: Annotated[
        list[str] | None,
        option("--import", "MODULE", "Import a module of your own: bundles may hold its kinds."),
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
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise ParameterError(
                f"--import {module}: {error}. Name a module that Python finds: an installed one, or one in a folder of "
                "PYTHONPATH."
            ) from None
    if config is not None:
        context.default_map = read_config(config, context.command)
