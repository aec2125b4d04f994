"""Which two tables count as neighbours: the first thing that a guarantee has to say."""

from enum import Enum, unique
from typing import final

from kernelease.kinds import Kind


@final
@unique
class Neighbours(Kind, Enum):
    """The neighbour relation of a guarantee. Every sensitivity asks for one, and the certificate prints it."""

    REPLACE_ONE = "replace-one"
    """One row is exchanged for any other. The number of rows N is public. This is the paper's relation."""

    ADD_REMOVE = "add-remove"
    """One row is there or not. N is private: only a noisy count leaves the private side."""
