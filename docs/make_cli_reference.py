"""Write docs/cli.md from the commands themselves: `python docs/make_cli_reference.py`. A test compares the two."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from kernelease.cli import app

TARGET = Path(__file__).with_name("cli.md")
_COMPLETION = ("install_completion", "show_completion")

_OPENING = """\
# The command line

<!-- Written by docs/make_cli_reference.py. Change the commands, not this file. -->

`kernelease` is the library on the command line: a release is `schema` → `check` → `plan` → `release`, or `measure` and
then `fit` as often as you like; whoever gets it has `verify`, `export`, `query` and `answers`. The
[tutorial](tutorial.md) goes through all of them. `kernelease COMMAND --help` prints what is here.

## What goes where

Results go to stdout, progress and notes to stderr. Bars are shown on a terminal only. With `--json`, stdout is exactly
one JSON object; with `--quiet` there are no bars, notes or summaries. Nothing printed depends on private rows other
than through the bundle that is released; under add-remove neighbours, nothing depends on their number either. The
exceptions are `check`, `release --check` and `schema draft --look`, which are for the owner's eyes and say so.
`NO_COLOR` turns colours off. `kernelease --install-completion` teaches your shell the commands.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | a check failed: `verify` found something that does not hold, or `check` damage |
| 2 | wrong usage or input; the message on stderr says what was expected and what to do |
| 3 | the budget does not cover the request; nothing was spent and nothing was written |
| 130 | interrupted; the message says what was spent |

A traceback is a defect of kernelease: please report it. What was spent after a [fault](faults.md) is told in the
message, at its end, and kept in the ledger.

## What a bundle holds

`--out` names a folder, or one file if the name ends in .zip. In it:

| file | what it is |
| --- | --- |
| data.parquet | synthetic rows, and last [their weights](schema.md#columns); missing after `measure` |
| measurements.json | the noisy numbers behind them, with their noise, and the method that measured them |
| fit.json | the settings that the rows were made with: with the measurements, they give the same rows |
| certificate.json | the guarantee, step by step, as `verify` recomputes it |
| datasheet.md | the same in words, as NIST SP 800-226 asks |
| schema.json | the declared columns |
| datapackage.json, croissant.json, registry.yaml | for other tools: Frictionless, Croissant, registries |
| SHA256SUMS, SHA256SUMS.sig, public_key.pem | sums of all files; with `--key`, a signature |

`verify` writes every document again from the numbers, and compares.

## Configuration file

`kernelease --config FILE COMMAND …` takes options (and arguments) from a TOML file with a table per command. What is
typed wins over the file. An unknown key is an error that names the line.

```toml
[release]
schema = "people.toml"
epsilon = 1.0
delta = 1e-9
ledger = "people.ledger"

[schema.draft]
out = "people.toml"
```

## Conditions

`query` reads conditions such as `age > 30 and (sex == 'female' or hours is null)`. [Their language](expressions.md) is
that of the rules in a schema. Text and dates go in single quotes; only rows of which a condition is surely true count.
"""


def reference() -> str:
    """The whole page."""
    root = get_command(app)
    parts = [_OPENING, "## Options of `kernelease` itself\n", _table(root), "## Commands\n"]
    for path, command in _commands(root, ("kernelease",)):
        parts += [f"### {' '.join(path)}\n", _usage(path, command), _help(command), _table(command)]
    return "\n".join(part for part in parts if part)


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, inner in sorted(command.commands.items()):
        if hasattr(inner, "commands"):
            yield from _commands(inner, (*path, name))
        else:
            yield (*path, name), inner


def _usage(path: tuple[str, ...], command: Any) -> str:
    words = [_argument(item) for item in command.params if _is_argument(item)]
    words += [f"{item.opts[0]} {item.metavar}" for item in command.params if item.required and not _is_argument(item)]
    return f"    {' '.join([*path, *words])} [OPTIONS]\n"


def _argument(parameter: Any) -> str:
    return str(parameter.metavar) if parameter.required else f"[{parameter.metavar}]"


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _help(command: Any) -> str:
    return "\n\n".join(" ".join(part.split()) for part in str(command.help).split("\n\n")) + "\n"


def _table(command: Any) -> str:
    rows = [_row(item) for item in command.params]
    return "\n".join(["| | |", "| --- | --- |", *rows, ""]) if rows else ""


def _row(parameter: Any) -> str:
    if _is_argument(parameter):
        name = f"`{parameter.metavar}`"
    else:
        value = " " + parameter.metavar.replace("|", "\\|") if parameter.metavar else ""
        name = ", ".join(f"`{option}{value}`" for option in parameter.opts)
    return f"| {name} | {_meaning(parameter)} |"


def _meaning(parameter: Any) -> str:
    default = getattr(parameter.default, "value", parameter.default)
    if parameter.required:
        return f"{parameter.help} Required."
    if default is None or default is False or parameter.name in _COMPLETION:
        return str(parameter.help)
    return f"{parameter.help} Default: `{default}`."


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
