"""What rows are: those of a declared table, or vectors that a kernel compares."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Integers, Rows
from kernelease.errors import ParameterError, SchemaError
from kernelease.kernels.kernel import Kernel
from kernelease.table.atom_kernel import atom_kernel
from kernelease.table.rows import decode_lawfully, lawful_rows
from kernelease.table.schema import Schema
from kernelease.table.units import UnitCap

WEIGHT = "weight"  # the last column of a release


class Domain(ABC):
    """All that is public about rows before any is read. Synthetic ones become a table with a column `weight`."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """Of the table, for documents."""

    @property
    @abstractmethod
    def kernel(self) -> Kernel:
        """How alike two rows are, as a method sees rows."""

    @property
    @abstractmethod
    def schema(self) -> Schema | None:
        """The declared columns; vectors have none."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...] | None:
        """The number of atoms of each declared column."""

    @property
    @abstractmethod
    def protected(self) -> str:
        """Whom the guarantee protects, in words."""

    @property
    @abstractmethod
    def unit_weight(self) -> int:
        """What a row, or a person with several, adds to a count in all."""

    @property
    @abstractmethod
    def kernel_name(self) -> str:
        """The kernel in words, for a certificate."""

    @abstractmethod
    def weighted(self, points: Rows, weights: Floats, generator: np.random.Generator) -> pa.Table:
        """Points with their weights as a table."""

    @abstractmethod
    def drawn(self, draw: Callable[[int], Integers], count: int, generator: np.random.Generator) -> pa.Table:
        """`count` rows of equal weight; draw(n) gives n rows of atom codes, (n, columns)."""


@final
@dataclass(frozen=True, slots=True)
class TableDomain(Domain):
    """The rows of a schema. A method sees them as atom codes, one for each column."""

    declared: Schema

    def __post_init__(self) -> None:
        if WEIGHT in self.declared.names:
            raise SchemaError(
                f"column {WEIGHT!r}: a release has a column of this name itself. Rename it in the source."
            )

    @property
    def name(self) -> str:
        """As declared."""
        return self.declared.name

    @property
    def kernel(self) -> Kernel:
        """Of the columns' atoms."""
        return atom_kernel(self.declared.columns)

    @property
    def kernel_name(self) -> str:
        """The same for every table, since the schema is in the bundle."""
        return "of the schema's atoms"

    @property
    def protected(self) -> str:
        """Each row, or each person with their rows."""
        return self.declared.unit_in_words

    @property
    def unit_weight(self) -> int:
        """1, or the common multiple that parts a person's weight among their rows."""
        return 1 if self.declared.unit is None else UnitCap.of(self.declared).total

    @property
    def schema(self) -> Schema:
        """The declared columns."""
        return self.declared

    @property
    def sizes(self) -> tuple[int, ...]:
        """Atoms of each column."""
        return self.declared.sizes

    def weighted(self, points: Rows, weights: Floats, generator: np.random.Generator) -> pa.Table:
        """Codes decoded; rows that can't keep the declared constraints are left out, and the others take their weight.

        Raises `ParameterError` where none is left.
        """
        table, lawful = decode_lawfully(self.declared, points.astype(np.int64), generator)
        if not lawful.any():
            raise ParameterError("No synthetic row keeps the declared constraints: they contradict what was measured.")
        kept = weights[lawful]
        total = float(kept.sum())
        scaled = kept * (float(weights.sum()) / total) if total != 0.0 and not lawful.all() else kept
        return table.filter(pa.array(lawful)).combine_chunks().append_column(WEIGHT, pa.array(scaled))

    def drawn(self, draw: Callable[[int], Integers], count: int, generator: np.random.Generator) -> pa.Table:
        """Rows that keep the constraints, drawn again until they do."""
        table = lawful_rows(self.declared, draw, count, generator)
        return table.append_column(WEIGHT, pa.array(np.full(count, 1.0 / count)))


@final
@dataclass(frozen=True, slots=True)
class VectorDomain(Domain):
    """Arrays of numbers or objects, without declared columns: x0, x1 and so on."""

    kernel: Kernel

    @property
    def name(self) -> str:
        """None was given."""
        return "table"

    @property
    def kernel_name(self) -> str:
        """As Python writes it."""
        return repr(self.kernel)

    @property
    def protected(self) -> str:
        """Each row."""
        return "each row"

    @property
    def unit_weight(self) -> int:
        """1."""
        return 1

    @property
    def schema(self) -> None:
        """None."""
        return None

    @property
    def sizes(self) -> None:
        """None."""
        return None

    def weighted(self, points: Rows, weights: Floats, generator: np.random.Generator) -> pa.Table:
        """Points as they are."""
        columns = {f"x{index}": _column(points[:, index]) for index in range(points.shape[1])}
        return pa.table({**columns, WEIGHT: weights})

    def drawn(self, draw: Callable[[int], Integers], count: int, generator: np.random.Generator) -> pa.Table:
        """Refused: vectors have no atoms."""
        raise ParameterError("Rows can only be drawn for declared columns. Give a schema, or another method.")


def _column(cells: Rows) -> pa.Array:
    """One column of the table: as it is where one plain type serves all its cells, else text. It refuses nothing."""
    values = [cell.value if isinstance(cell, Enum) else cell for cell in cells.tolist()]
    try:
        column = pa.array(values)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        column = None
    if column is not None and not pa.types.is_nested(column.type):
        return column
    return pa.array([None if value is None else _text(value) for value in values])


def _text(value: object) -> str:
    try:
        return str(value).encode(errors="replace").decode()
    except Exception:  # noqa: BLE001  # by now the budget is charged, and a cell's own __str__ must not cost the release
        return type(value).__name__
