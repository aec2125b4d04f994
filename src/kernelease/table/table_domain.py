"""The rows of a declared table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Integers, Rows
from kernelease.errors import ParameterError, SchemaError
from kernelease.kernels.kernel import Kernel
from kernelease.table.atom_kernel import atom_kernel
from kernelease.table.domain import Domain
from kernelease.table.rows import decode_lawfully, lawful_rows
from kernelease.table.schema import Schema
from kernelease.table.units import UnitCap


@final
@dataclass(frozen=True, slots=True)
class TableDomain(Domain):
    """The rows of a schema. A method sees them as atom codes, one for each column."""

    declared: Schema

    def __post_init__(self) -> None:
        if self.declared.confirmed is False:
            raise SchemaError(
                "[table]: confirmed is false: this schema was drafted by looking at the private rows. Keep of the "
                "lines that are marked so what is public knowledge, change the others, and write confirmed = true.",
                path=("table", "confirmed"),
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
    def provenance(self) -> str:
        """Public knowledge, by the publisher's word; and whether they came to it by looking at the rows."""
        if self.declared.confirmed is None:
            return "declared by the publisher without looking at the private rows"
        return "drafted by looking at the private rows; the publisher confirmed that all of it is public knowledge"

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
        return table.filter(pa.array(lawful)).combine_chunks().append_column(self.weight_name, pa.array(scaled))

    def drawn(self, draw: Callable[[int], Integers], count: int, generator: np.random.Generator) -> pa.Table:
        """Rows that keep the constraints, drawn again until they do."""
        table = lawful_rows(self.declared, draw, count, generator)
        return table.append_column(self.weight_name, pa.array(np.full(count, 1.0 / count)))
