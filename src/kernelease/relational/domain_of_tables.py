"""What is public about persons with records before any is read."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Integers, Rows
from kernelease.errors import ParameterError, SchemaError
from kernelease.kernels.kernel import Kernel
from kernelease.relational.schema_of_tables import WEIGHT, Tables
from kernelease.table.atom_features import atom_kernel
from kernelease.table.columns.column import Column
from kernelease.table.domain import Domain
from kernelease.table.schema import Schema


@final
@dataclass(frozen=True, slots=True)
class TablesDomain(Domain):
    """The rows of several tables. A method sees persons' paths, as atom codes of the flat schema."""

    tables: Tables
    laid: tuple[Column, ...] | None = None  # the columns of paths, where what was measured gave some other cells

    def __post_init__(self) -> None:
        if self.tables.confirmed is False:
            raise SchemaError(
                "[unit]: confirmed is false: this schema was drafted by looking at the private rows. Keep what is "
                "public knowledge, change the rest, then write confirmed = true.",
                path=("unit", "confirmed"),
            )

    several: ClassVar[bool] = True

    @property
    def declarations(self) -> dict[str, Any]:
        """All tables, with their keys."""
        return self.tables.to_dict()

    @property
    def rules(self) -> tuple[str, ...]:
        """Those of each table, then those across them."""
        return (*(rule.text for table in self.tables.tables for rule in table.schema.constraints), *self.tables.rules)

    @property
    def caps(self) -> dict[str, int | None]:
        """Of each table but that of persons."""
        return {table.name: table.max_rows for table in self.tables.tables[1:]}

    @property
    def name(self) -> str:
        """The declared name."""
        return self.tables.name

    @property
    def kernel(self) -> Kernel:
        """The kernel of the flat columns' atoms."""
        return atom_kernel(self.tables.flat.columns)

    @property
    def kernel_name(self) -> str:
        """The same for every table, since the schema is in the bundle."""
        return "of the schema's atoms"

    @property
    def protected(self) -> str:
        """Each person with all their records."""
        return self.tables.unit_in_words

    @property
    def provenance(self) -> str:
        """Public knowledge, by the publisher's word."""
        if self.tables.confirmed is None:
            return "declared by the publisher without looking at the private rows"
        return "drafted by looking at the private rows; the publisher confirmed that all of it is public knowledge"

    @property
    def unit_weight(self) -> int:
        """What a person's paths weigh together."""
        return WEIGHT

    @property
    def unit(self) -> str:
        """The key of persons, for the ledger."""
        return str(self.tables.root.key)

    @property
    def schema(self) -> Schema:
        """The columns of paths."""
        return self.tables.flat if self.laid is None else replace(self.tables.flat, columns=self.laid)

    def with_columns(self, columns: tuple[Column, ...]) -> "TablesDomain":
        """The same tables with these columns of paths."""
        return TablesDomain(self.tables, columns)

    def schema_of(self, name: str) -> Schema:
        """The schema of one table, with columns as they were laid."""
        table = self.tables.table(name)
        if self.laid is None:
            return table.schema
        flat = {column.name: column for column in self.laid}
        kept = ("name", "nullable", "source", "null_when", "default")
        columns = [
            replace(flat[f"{name}.{own.name}"], **{key: getattr(own, key) for key in kept if hasattr(own, key)})
            for own in table.schema
        ]
        return replace(table.schema, columns=tuple(columns))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Atoms of each column of paths."""
        return self.schema.sizes

    @property
    def counted_sizes(self) -> tuple[int, ...]:
        """Those, and the columns of siblings."""
        return self.tables.counted_with(self.schema.columns)

    def table_of_points(self, points: Rows, weights: Floats, generator: np.random.Generator) -> pa.Table:
        """Refused: weighted points have no keys."""
        raise ParameterError("Several tables: rows are drawn, not weighted. Leave the method out.")

    def draw_table(self, draw: Callable[[int], Integers], count: int, generator: np.random.Generator) -> pa.Table:
        """Refused: each table has rows of its own."""
        raise ParameterError("Several tables: rows are drawn table by table. Leave the method out.")
