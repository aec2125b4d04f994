"""Whom a guarantee is about, and which two tables count as neighbours."""

from dataclasses import dataclass
from enum import Enum, unique
from typing import final

from kernelease.errors import ParameterError
from kernelease.kinds import Kind

# --------------------
# Which two tables count as neighbours: the first thing that a guarantee has to say.


@final
@unique
class Neighbours(Kind, Enum):
    """The neighbour relation of a guarantee. Every sensitivity asks for one, and the certificate prints it."""

    REPLACE_ONE = "replace-one"
    """One row is exchanged for any other. The number of rows N is public. This is the paper's relation."""

    ADD_REMOVE = "add-remove"
    """One row is there or not. N is private: only a noisy count leaves the private side."""


# --------------------
# Whom a guarantee is about.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A data set by its name, and what is protected in it: each row, or each person that a column identifies.

    `dataset` is the name that the owner gives (None: not named), never a digest of the data. `unit` names the column
    that identifies a person (None: each row stands for one). Loss of one subject says nothing about another's.
    """

    dataset: str | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("dataset", self.dataset), ("unit", self.unit)):
            if value is not None and not is_text(value):
                raise ParameterError(f"Subject: {name} must be a text that is not empty, got {value!r}.")

    @property
    def unit_in_words(self) -> str:
        """Whom one unit of the loss is counted for."""
        return "each row" if self.unit is None else f"each {self.unit}"


ROWS = Subject()  # each row of a data set that has no name


def is_text(value: object) -> bool:
    """Whether a value is a text that is not empty."""
    return isinstance(value, str) and bool(value)
