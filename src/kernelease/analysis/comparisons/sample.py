"""Rows that an analyst has at hand, in the form of the release: encoded by its schema, and by person."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.arrays import Integers, Rows, as_rows
from kernelease.errors import ParameterError
from kernelease.table.columns.spelling import nearest
from kernelease.table.schema import Schema


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRows:
    """Rows (n, d), atom codes for a table, and whose row each is.

    The rows of one person count as their average, as in the release. `columns` are the ones that the sample has.
    """

    rows: Rows
    persons: Integers  # (n,): 0 … units − 1
    columns: frozenset[int] | None = None  # None: all of them

    @property
    def units(self) -> int:
        """The number of persons (of rows, where a row is one)."""
        return int(self.persons.max()) + 1 if len(self.persons) else 0


def as_table(data: Any) -> pa.Table:
    """An Arrow table from a table, a data frame, or a mapping of columns."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    try:
        if hasattr(data, "__arrow_c_stream__") or isinstance(data, Mapping):
            return pa.table(data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ParameterError(f"The sample can't be read as a table: {error}.") from None
    raise ParameterError(
        f"A sample must be an Arrow table, a data frame or a mapping of columns, got {type(data).__name__}."
    )


def sample_of_table(data: Any, schema: Schema) -> SampleRows:
    """A sample in the codes of a schema. It may lack columns, but not all. The unit's column says whose row each is."""
    table = as_table(data)
    if table.num_rows == 0:
        raise ParameterError("The sample is empty: there is nothing to compare with.")
    names = table.column_names
    present = frozenset(index for index, name in enumerate(schema.names) if names.count(name) == 1)
    if not present:
        hints = " ".join(nearest(name, schema.names) for name in names[:3])
        raise ParameterError(f"The sample has none of the release's columns ({', '.join(schema.names)}).{hints}")
    codes = np.zeros((table.num_rows, len(schema)), dtype=np.int64)
    for index in present:
        column = schema.columns[index]
        codes[:, index] = column.encode(table.column(column.name))
    return SampleRows(rows=codes, persons=_persons(table, schema.unit), columns=present)


def sample_of_rows(data: Any, width: int) -> SampleRows:
    """A sample of vectors: a two-dimensional array."""
    rows = as_rows(data)
    if rows.shape[1] != width:
        raise ParameterError(f"The sample must have {width} columns as the release has, got {rows.shape[1]}.")
    if len(rows) == 0:
        raise ParameterError("The sample is empty: there is nothing to compare with.")
    return SampleRows(rows=rows, persons=np.arange(len(rows)))


def _persons(table: pa.Table, unit: str | None) -> Integers:
    if unit is None or unit not in table.column_names:
        return np.arange(table.num_rows)
    encoded = pc.dictionary_encode(table.column(unit).combine_chunks(), null_encoding="encode")
    persons: Integers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return persons
