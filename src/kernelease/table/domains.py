"""The kinds of rows: those of a declared table, vectors or objects that a kernel compares, vectors with classes."""

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Integers, Rows, finite_numbers
from kernelease.errors import ParameterError, SchemaError
from kernelease.kernels.discrete import Kronecker
from kernelease.kernels.dot_product import UNDECLARED, LabelledSphere
from kernelease.kernels.kernel import Kernel
from kernelease.table.atom_features import atom_kernel
from kernelease.table.columns.column import Column
from kernelease.table.decode import decode_lawfully, lawful_rows
from kernelease.table.domain import Domain
from kernelease.table.schema import Schema

# --------------------
# The rows of a declared table.


@final
@dataclass(frozen=True, slots=True)
class TableDomain(Domain):
    """The rows of a schema. A method sees them as atom codes, one for each column."""

    declared: Schema

    def __post_init__(self) -> None:
        if self.declared.confirmed is False:
            raise SchemaError(
                "[table]: confirmed is false: this schema was drafted by looking at the private rows. Go through the "
                "marked lines: keep what is public knowledge, change the rest, then write confirmed = true.",
                path=("table", "confirmed"),
            )

    @property
    def name(self) -> str:
        """The declared name."""
        return self.declared.name

    @property
    def kernel(self) -> Kernel:
        """The kernel of the columns' atoms."""
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
    def provenance(self) -> str:
        """Public knowledge, by the publisher's word; and whether they came to it by looking at the rows."""
        if self.declared.confirmed is None:
            return "declared by the publisher without looking at the private rows"
        return "drafted by looking at the private rows; the publisher confirmed that all of it is public knowledge"

    def with_columns(self, columns: tuple[Column, ...]) -> "TableDomain":
        """The same schema with these columns in place of those that are declared."""
        return TableDomain(replace(self.declared, columns=columns))

    @property
    def unit_weight(self) -> int:
        """1, or the common multiple that parts a person's weight among their rows."""
        return self.declared.unit_weight

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
        return table.filter(pa.array(lawful)).combine_chunks().append_column(self.weight_name, pa.array(scaled))

    def drawn(self, draw: Callable[[int], Integers], count: int, generator: np.random.Generator) -> pa.Table:
        """Rows that keep the constraints, drawn again until they do."""
        table = lawful_rows(self.declared, draw, count, generator)
        return table.append_column(self.weight_name, pa.array(np.full(count, 1.0 / count)))


# --------------------
# Rows that have no declared columns: vectors, or any objects that a kernel compares.


LABEL = "label"  # the column of released rows that holds the class of a vector. convention


@dataclass(frozen=True, slots=True)
class UndeclaredDomain(Domain, ABC):
    """Rows without declared columns, which a kernel compares."""

    kernel: Kernel

    @property
    def name(self) -> str:
        """None was given."""
        return "table"

    @property
    def kernel_name(self) -> str:
        """The kernel as Python writes it."""
        return repr(self.kernel)

    @property
    def protected(self) -> str:
        """Each row."""
        return "each row"

    @property
    def provenance(self) -> str:
        """The kernel's parameters are the publisher's choice, and so are classes."""
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

    def drawn(self, draw: Callable[[int], Integers], count: int, generator: np.random.Generator) -> pa.Table:
        """Refused: vectors have no atoms."""
        raise ParameterError("Rows can only be drawn for declared columns. Give a schema, or another method.")


@final
@dataclass(frozen=True, slots=True)
class VectorDomain(UndeclaredDomain):
    """Arrays of numbers or objects: x0, x1 and so on."""

    def weighted(self, points: Rows, weights: Floats, generator: np.random.Generator) -> pa.Table:
        """Points as they are."""
        columns = {f"x{index}": _column(points[:, index]) for index in range(points.shape[1])}
        return pa.table({**columns, self.weight_name: weights})


@final
@dataclass(frozen=True, slots=True)
class LabelledDomain(UndeclaredDomain):
    """Vectors of norm 1 that have a class: the columns x0, x1 and so on, and `label`."""

    kernel: LabelledSphere

    def weighted(self, points: Rows, weights: Floats, generator: np.random.Generator) -> pa.Table:
        """Vectors as they are, and the class that each row's last number is the place of."""
        columns = {f"x{index}": pa.array(points[:, index]) for index in range(self.kernel.dimension)}
        names = np.empty(len(self.kernel.classes), dtype=object)
        names[:] = self.kernel.classes
        label = _column(names[points[:, -1].astype(np.int64)])
        return pa.table({**columns, LABEL: label, self.weight_name: weights})

    def placed(self, rows: Rows) -> Floats:
        """Vectors followed by their class, as features take them: with its place in the list, or −1."""
        self.kernel.check_columns(rows)
        codes = Kronecker(values=self.kernel.classes).codes(rows[:, -1:])
        known = np.where(codes < len(self.kernel.classes), codes.astype(np.float64), UNDECLARED)
        return np.column_stack([finite_numbers(rows[:, :-1]), known])


def vector_domain(kernel: Kernel) -> VectorDomain | LabelledDomain:
    """The rows that a kernel compares."""
    return LabelledDomain(kernel) if isinstance(kernel, LabelledSphere) else VectorDomain(kernel)


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
