"""Pages for a browser that a command writes beside what it prints."""

import os
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from kernelease.errors import ParameterError

_OWNER_ALONE, _EVERYBODY = 0o600, 0o666  # who may read: the second as far as the system's mask allows

Html: TypeAlias = Annotated[
    Path | None, typer.Option("--html", metavar="PAGE", help="Also write a page for a browser. It needs no network.")
]


def check_free(page: Path | None) -> None:
    """Refuse a page that exists already, before anything is done."""
    if page is not None and os.path.lexists(page):
        raise ParameterError(f"{page} already exists. Choose another name for the page.")


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
