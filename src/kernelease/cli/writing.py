"""The options that say how the rows of a source are written: those of [source] in a schema file."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelease.cli.options import RecordEnd

if TYPE_CHECKING:
    from kernelease.table.schema import Schema
    from kernelease.table.written import Written

_TAB = ("tab", "\\t")  # how a tab is typed


def _option(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel="How the rows are written")


_OPTIONS: dict[str, Any] = {
    "records": Annotated[
        RecordEnd | None,
        _option(
            "--records",
            "quoted|lines",
            "Where a record of a CSV file ends: at a newline outside quotes, as RFC 4180 says, or at every newline. "
            "By default, as all of these, as the schema says, else quoted.",
        ),
    ],
    "separator": Annotated[
        str | None, _option("--separator", "SIGN", "Between the cells of a CSV file: , or ; or | or tab.")
    ],
    "quote": Annotated[
        str | None, _option("--quote", "SIGN", "Around cells of a CSV file: a double quote, ' or empty, for none.")
    ],
    "encoding": Annotated[
        str | None, _option("--encoding", "NAME", "Of a CSV file: utf-8, latin-1, cp1252 and others.")
    ],
    "names": Annotated[
        str | None, _option("--names", "A,B,C", "The columns of a CSV file that has no header line, in order.")
    ],
    "null": Annotated[
        list[str] | None,
        _option("--null", "TEXT", "A text that means NULL in a CSV file or a workbook; may be given several times."),
    ],
    "decimal": Annotated[str | None, _option("--decimal", "SIGN", "Before the decimals of numbers in texts: . or ,")],
    "thousands": Annotated[
        str | None, _option("--thousands", "SIGN", "Between thousands of numbers in texts: , . ' or a blank.")
    ],
    "dates": Annotated[
        list[str] | None,
        _option("--dates", "FORMAT", "How dates are written in texts, as %d/%m/%Y; may be given several times."),
    ],
}


def takes_writing(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options in place of its parameter `written`, a `Written`."""
    signature = inspect.signature(command)
    own = [parameter for name, parameter in signature.parameters.items() if name != "written"]
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _OPTIONS.items()
    ]

    @functools.wraps(command)
    def wrapped(*given: Any, **named: Any) -> None:
        said = {name: named.pop(name) for name in _OPTIONS}
        command(*given, **named, written=_written(**said))

    wrapped.__annotations__ = {one.name: one.annotation for one in (*own, *options)}
    wrapped.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]  # what typer reads
    return wrapped


def read_declared(data: str, schema: Path, written: "Written") -> "Schema":
    """The schema in a file, with what the options say, for a source that is there.

    Whatever is wrong with them is told before anything is loaded that reads rows or works with them.
    """
    from kernelease.sources.files import refuse_missing
    from kernelease.table.schema import Schema

    declared = Schema.load(schema).written_as(written)
    refuse_missing(data)
    return declared


def _written(*, separator: str | None, names: str | None, null: list[str] | None, **given: Any) -> "Written":
    from kernelease.table.written import Written

    return Written(
        separator="\t" if separator in _TAB else separator,
        names=None if names is None else tuple(name.strip() for name in names.split(",")),
        nulls=None if not null else tuple(null),
        **given,
    )
