"""What every derived column is: a declaration, and what it comes to among the columns of a schema."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.errors import SchemaError, nearest
from kernelease.table.columns.column import Column, is_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation(ABC):
    """How a derived column's value follows from its row. `column` says which values it may have; it has no atoms.

    `sources` are the columns that it is derived from, which may be derived themselves.
    """

    column: Column
    sources: tuple[str, ...]

    @abstractmethod
    def values(self, table: pa.Table) -> pa.Array | pa.ChunkedArray:
        """The value of each row of a table that has the sources: n values of `column.arrow_type`."""

    def lawful(self, values: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
        """Whether each value is within what was declared beside its derivation: (n,)."""
        return np.ones(len(values), dtype=bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived(ABC):
    """A declared column that other columns of its row determine.

    It is not read from private rows and not measured, so that it costs no budget, and it holds in every released row.
    """

    name: str
    type: str
    null_when: str | None = None

    types: ClassVar[tuple[str, ...]]
    """The types that such a column may have."""
    key: ClassVar[str]
    """The key of a schema file that makes a column one of these."""

    def __post_init__(self) -> None:
        if not is_name(self._given("name")):
            raise SchemaError(f"A column's name must be a non-empty string, got {self.name!r}.", path=("columns",))
        if self.type not in self.types:
            known = ", ".join(self.types)
            hint = nearest(str(self.type), self.types)
            raise self.error("type", f"type with {self.key} must be one of {known}, got {self.type!r}.{hint}")
        self._check()

    def _given(self, key: str) -> Any:
        """A field before it was checked: a file may say anything."""
        return getattr(self, key)

    @abstractmethod
    def _check(self) -> None:
        """Validate the fields, or raise `self.error`."""

    @abstractmethod
    def reads(self, known: Collection[str]) -> tuple[str, ...]:
        """Which of the known columns it is derived from."""

    @abstractmethod
    def bind(self, columns: Mapping[str, Column]) -> Derivation:
        """What it comes to among these columns, or a `SchemaError`."""

    @property
    @abstractmethod
    def told(self) -> str:
        """What it is derived from, in words."""

    def to_dict(self) -> dict[str, Any]:
        """The declaration without its name, as a schema file has it; defaults are left out."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "name"}
        left_out = {field.name for field in fields(self) if getattr(self, field.name) == field.default}
        return {key: _written(value) for key, value in given.items() if key not in left_out}

    def error(self, key: str, message: str) -> SchemaError:
        """A `SchemaError` about one key of this column."""
        return SchemaError(f"column {self.name!r}: {message}", path=("columns", self.name, key))


def derived_keys(kind: type[Derived]) -> tuple[str, ...]:
    """The keys that such a column may have in a file."""
    return tuple(field.name for field in fields(kind) if field.name != "name")


def required_keys(kind: type[Derived]) -> tuple[str, ...]:
    """The keys that it must have."""
    return tuple(field.name for field in fields(kind) if field.default is MISSING and field.name != "name")


def _written(value: Any) -> Any:
    """Pairs as a table, several values as a list."""
    if isinstance(value, tuple) and all(isinstance(item, tuple) for item in value):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value
