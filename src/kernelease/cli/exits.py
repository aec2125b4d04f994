"""Exit codes, and what becomes of errors and warnings."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from kernelease.errors import BudgetError, KerneleaseError
from kernelease.machine import require_memory

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


class Commands(TyperGroup):
    """The root of all commands: errors that kernelease raises on purpose become one line on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command. What is not a `KerneleaseError` is a defect, and keeps its traceback; notes end it."""
        try:
            require_memory(LEAST_MEMORY, "run a command")
            with _warnings_in_words():
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
