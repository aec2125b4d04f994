"""Rows that have no declared columns: vectors, or any objects that a kernel compares."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Integers, Rows
from kernelease.errors import ParameterError
from kernelease.kernels.kernel import Kernel
from kernelease.table.domain import Domain


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
    def provenance(self) -> str:
        """The kernel's parameters are the publisher's choice."""
        return "chosen by the publisher without looking at the private rows"

    @property
    def unit_weight(self) -> int:
        """1."""
        return 1

    @property
    def schema(self) -> None:
        return None

    @property
    def sizes(self) -> None:
        return None

    def weighted(self, points: Rows, weights: Floats, generator: np.random.Generator) -> pa.Table:
        """Points as they are."""
        columns = {f"x{index}": _column(points[:, index]) for index in range(points.shape[1])}
        return pa.table({**columns, self.weight_name: weights})

    def drawn(self, draw: Callable[[int], Integers], count: int, generator: np.random.Generator) -> pa.Table:
        """Refused: vectors have no atoms."""
        raise ParameterError("Rows can only be drawn for declared columns. Give a schema, or another method.")


_PLAIN = (pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.date32(), pa.timestamp("us"))


def _column(cells: Rows) -> pa.Array:
    """One column of the table: as it is where one of a bundle's types serves all its cells, else text.

    It refuses nothing: by now the budget is charged.
    """
    values = [cell.value if isinstance(cell, Enum) else cell for cell in cells.tolist()]
    try:
        column = pa.array(values)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        column = None
    if column is not None and column.type in _PLAIN:
        return column
    return pa.array([None if value is None else _text(value) for value in values])


def _text(value: object) -> str:
    try:
        return str(value).encode(errors="replace").decode()
    except Exception:  # noqa: BLE001  # by now the budget is charged, and a cell's own __str__ must not cost the release
        return type(value).__name__
