"""Conditions, and how they are joined: true, false, or not known."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.errors import ParameterError


class Condition(ABC):
    """A test of each row on its own. `str` writes it as the grammar reads it."""

    __slots__ = ()

    @abstractmethod
    def test(self, table: pa.Table) -> Any:
        """Of each row of a table with the types of the schema: true, false, or null where that is not known."""

    @abstractmethod
    def leaves(self) -> "Iterator[Leaf]":
        """The single tests that it is made of."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in it, in order of appearance."""
        return tuple(dict.fromkeys(name for leaf in self.leaves() for name in leaf.names))

    def holds(self, table: pa.Table) -> NDArray[np.bool_]:
        """Whether the condition is surely true of each row: (n,)."""
        return self._flags(table, False)

    def allows(self, table: pa.Table) -> NDArray[np.bool_]:
        """Whether the condition may be true of each row, since it is not surely false: (n,)."""
        return self._flags(table, True)

    def _flags(self, table: pa.Table, unknown: bool) -> NDArray[np.bool_]:
        return np.asarray(pc.fill_null(self.test(table), unknown), dtype=bool)


class Leaf(Condition):
    """A single test: a condition that holds no other."""

    __slots__ = ()

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns that it reads."""

    def leaves(self) -> "Iterator[Leaf]":
        yield self


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Negated(Condition):
    """`not condition`."""

    part: Condition

    def leaves(self) -> Iterator[Leaf]:
        yield from self.part.leaves()

    def test(self, table: pa.Table) -> Any:
        return pc.invert(self.part.test(table))

    def __str__(self) -> str:
        return f"not {_within(self.part)}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Joined(Condition):
    """Several conditions, joined by `and` or by `or`."""

    parts: tuple[Condition, ...]
    every: bool  # and; else or

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise ParameterError(f"and, or: join at least two conditions, got {len(self.parts)}.")

    def leaves(self) -> Iterator[Leaf]:
        for part in self.parts:
            yield from part.leaves()

    def test(self, table: pa.Table) -> Any:
        join = pc.and_kleene if self.every else pc.or_kleene
        return reduce(join, (part.test(table) for part in self.parts))

    def __str__(self) -> str:
        return (" and " if self.every else " or ").join(_within(part) for part in self.parts)


def _within(part: Condition) -> str:
    return f"({part})" if isinstance(part, Joined) else str(part)
