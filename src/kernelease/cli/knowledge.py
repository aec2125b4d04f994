"""What the owner lets a draft know."""

import sys
from dataclasses import dataclass, replace
from enum import StrEnum, unique
from pathlib import Path
from typing import final

import typer

from kernelease.errors import ParameterError


@unique
class _Way(StrEnum):
    """Where a draft may take its bounds and categories from."""

    NAMES = "names"
    DICTIONARY = "dictionary"
    PUBLIC = "public"
    BOUNDS = "bounds"
    LOOK = "look"


_QUESTION = """\
What may the draft be made from?
  names       the names of the columns only; you fill in the rest
  dictionary  a code book: CSV, Frictionless Table Schema, JSON Schema, DDI, a file's value labels
  public      a public table with the same columns
  bounds      bounds measured with noise, for a part of the budget
  look        the private rows: you decide which lines are public knowledge
Which"""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What the owner lets the draft know, beside names and declared types: one thing at most."""

    dictionary: Path | None
    public: Path | None
    epsilon: float | None
    look: bool
    ledger: Path | None
    dataset: str | None = None  # the name of the table, where it is not that of its file

    def __post_init__(self) -> None:
        given = {
            "--from-dictionary": self.dictionary is not None,
            "--from-public": self.public is not None,
            "--private-bounds": self.epsilon is not None,
            "--look": self.look,
        }
        if sum(given.values()) > 1:
            both = " and ".join([name for name, there in given.items() if there][:2])
            raise ParameterError(f"{both} both give bounds. Give one of them.")
        if self.epsilon is not None and self.ledger is None:
            raise ParameterError(
                "--private-bounds spends budget: give its --ledger (`kernelease budget create` makes one)."
            )

    def ask(self) -> "Knowledge":
        """What was given; on a terminal, where nothing was, what the owner answers."""
        silent = self.dictionary is None and self.public is None and self.epsilon is None and not self.look
        if not silent or not on_a_terminal():
            return self
        way = _way(typer.prompt(_QUESTION, default=_Way.NAMES.value))
        if way is _Way.DICTIONARY:
            return replace(self, dictionary=Path(typer.prompt("The code book")))
        if way is _Way.PUBLIC:
            return replace(self, public=Path(typer.prompt("The public table")))
        if way is _Way.BOUNDS:
            ledger = self.ledger or Path(typer.prompt("The ledger"))
            return replace(self, epsilon=typer.prompt("Epsilon to spend", type=float), ledger=ledger)
        return replace(self, look=way is _Way.LOOK)


def on_a_terminal() -> bool:
    """Whether somebody is there to answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _way(answer: str) -> _Way:
    try:
        return _Way(answer.strip().lower())
    except ValueError:
        raise ParameterError(f"The answer must be one of {', '.join(_Way)}, got {answer!r}. Ask again.") from None
