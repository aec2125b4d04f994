"""Rows to atoms."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.errors import SchemaError
from kernelease.table.columns.celled import Celled
from kernelease.table.columns.column import Codes, Column
from kernelease.table.narrow import NarrowCodes, NarrowColumn
from kernelease.table.schema import Schema


@final
@dataclass(frozen=True, slots=True)
class Encoder:
    r"""Record batches to atom codes, column by column, each cell by itself.

    Columns of the source that are not declared are ignored. Which columns a source has is public, so that a missing
    one raises, before anything is spent; what is in the cells is not, and never raises. No message says what the
    source's columns are called: the first line of a CSV file without a header is somebody's row.

    >>> encoder = Encoder(Schema.parse('[columns.age]\ntype = "integer"\nmin = 17\nmax = 90'))
    >>> encoder.encode(pa.record_batch({"age": ["17", "old", "1e9"], "name": ["a", "b", "c"]}))
    array([[ 0],
           [ 0],
           [73]], dtype=int32)
    """

    schema: Schema
    fine: bool = False  # whether codes of finer cells follow those of all columns, for the columns that have some
    columns: tuple[Column, ...] = field(init=False, repr=False, compare=False)  # as they are encoded: found once

    def __post_init__(self) -> None:
        finer = finer_columns(self.schema).values() if self.fine else ()
        object.__setattr__(self, "columns", (*self.schema, *finer))

    @property
    def width(self) -> int:
        """How many codes a row has."""
        return len(self.columns)

    def check(self, source: pa.Schema) -> None:
        """A `SchemaError` if a declared column, or the privacy unit, is not in the source exactly once."""
        needed = [(column.name, column.source_name, ("columns", column.name)) for column in self.schema]
        if self.schema.unit is not None:
            needed.append((self.schema.unit, self.schema.unit, ("table", "unit")))
        for name, wanted, path in needed:
            found = source.names.count(name)
            if found == 0:
                raise SchemaError(
                    f"column {name!r}: the source has no column {wanted!r}. If it has another name there, declare "
                    'from = "THAT NAME"; for a CSV file, look at its first line: its separator (--separator), or '
                    "whether there is a header at all (--names).",
                    path=path,
                )
            if found > 1:
                raise SchemaError(
                    f"column {name!r}: the source has {found} columns of this name. Rename them.", path=path
                )

    def encode(self, batch: pa.RecordBatch | pa.Table) -> Codes:
        """The code of every cell: (n, width) int32, each column contiguous in memory."""
        self.check(batch.schema)
        codes = np.empty((batch.num_rows, self.width), dtype=np.int32, order="F")
        for i, column in enumerate(self.columns):
            codes[:, i] = column.encode(batch.column(column.name))
        return codes

    def narrow(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[NarrowCodes, ...]]:
        """The codes of each batch column by column, in a byte or two each: what is kept and counted."""
        columns = [NarrowColumn(column) for column in self.columns]
        for batch in batches:
            self.check(batch.schema)
            yield tuple(narrow.encode(batch.column(narrow.column.name)) for narrow in columns)


def finer_columns(schema: Schema) -> dict[int, Celled]:
    """The places of columns of numbers and dates whose cells hold several values, and each of them in finer cells."""
    found = ((place, column.finer) for place, column in enumerate(schema) if isinstance(column, Celled))
    return {place: finer for place, finer in found if finer is not None}
