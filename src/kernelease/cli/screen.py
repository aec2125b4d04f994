"""Where a command writes: its result to stdout, everything else to stderr, pages beside it."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias, final

import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from kernelease.errors import ParameterError
from kernelease.progress import SILENT, Progress, show_progress

# ---- The terminal.


_WIDTH = 120  # of what goes to a file or a pipe, so that it is the same everywhere


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Results as tables or, with `json`, as exactly one JSON object. With `quiet`, no progress, notes or summaries."""

    json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, notes or summary.")] = False

    def result(self, fields: dict[str, Any], *shown: RenderableType) -> None:
        """What the command was asked for."""
        if self.json:
            typer.echo(json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False))
            return
        console = _console(stderr=False)
        with console.capture() as captured:
            for item in shown:
                console.print(item)
        typer.echo("\n".join(text.rstrip() for text in captured.get().split("\n")), nl=False)

    def summary(self, fields: dict[str, Any], *shown: RenderableType) -> None:
        """What was done, at the end of a command whose result is a file."""
        if self.json or not self.quiet:
            self.result(fields, *shown)

    def note(self, text: str) -> None:
        """Something worth knowing that is no result."""
        if not self.quiet:
            typer.echo(text, err=True)

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Bars for the stages of a long call, on a terminal; nothing elsewhere."""
        with show_progress(SILENT if self.quiet else None, console=_console(stderr=True)) as progress:
            yield progress


def facts(pairs: Iterable[tuple[str, object]]) -> Table:
    """A table of names and values. Values are never read as markup."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(Text(name), Text(str(value)))
    return table


def grid(header: Sequence[str], rows: Iterable[Sequence[object]], *, text: Sequence[int] = (0,)) -> Table:
    """A table with a header. All columns but those of `text` hold numbers, and are aligned to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(header):
        table.add_column(Text(name), justify="left" if index in text else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    return table


def line(text: str) -> Text:
    """A line of plain text."""
    return Text(text)


def number(value: float | None) -> str:
    """A number in four digits, or a dash where there is none.

    >>> number(0.123456), number(39073.6), number(None)
    ('0.1235', '39,074', '-')
    """
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDTH
    return console


# ---- Pages for a browser that a command writes beside what it prints.


_OWNER_ALONE, _EVERYBODY = 0o600, 0o666  # who may read: the second as far as the system's mask allows

Html: TypeAlias = Annotated[
    Path | None, typer.Option("--html", metavar="PAGE", help="Also write a page for a browser. It needs no network.")
]


def check_free(page: Path | None) -> None:
    """Refuse a page that exists already, or whose folder does not, before anything is done."""
    if page is not None and os.path.lexists(page):
        raise ParameterError(f"{page} already exists. Choose another name for the page.")
    if page is not None and not page.absolute().parent.is_dir():
        raise ParameterError(f"{page} can't be written: its folder is missing. Make it first.")


def write_new(page: Path, text: str, *, private: bool = False) -> None:
    """Write a page that is not there yet; a private one only its owner may read."""
    mode = _OWNER_ALONE if private else _EVERYBODY
    try:
        descriptor = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(descriptor, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise ParameterError(
            f"{page} can't be written: {error.strerror}. Choose another place for the page."
        ) from error
