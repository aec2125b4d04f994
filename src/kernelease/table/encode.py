"""Rows of a declared table as codes, column by column: private rows, and released or public ones alike.

What a cell becomes is its column's to say (`Column.encode`). Here is which columns are asked, in which order.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.table.columns.column import Codes, Column
from kernelease.table.parsing import dense, numbers_in

if TYPE_CHECKING:
    from kernelease.table.schema import Schema

# ---- Codes of columns, one or two bytes each, batch by batch.


NarrowCodes: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16]

_BYTE = 2**8  # codes, or places in a dictionary, that fit one


@final
class NarrowColumn:
    """A column that encodes batches in turn: as `Column.encode`, in one byte, or two from 257 atoms on.

    Batches of one part of a file tend to have the same dictionary. Its values are encoded once, as long as it stays.

    >>> from kernelease.table.columns.listed import Category
    >>> NarrowColumn(Category(name="city", values=("Ulm", "Bonn"))).encode(
    ...     pa.array(["Bonn", "Ulm"]).dictionary_encode()
    ... )
    array([1, 0], dtype=uint8)
    """

    __slots__ = ("_codes", "_dictionary", "_kind", "column")

    def __init__(self, column: Column) -> None:
        self.column = column
        self._kind: np.dtype[Any] = np.dtype(np.uint8 if column.size <= _BYTE else np.uint16)
        self._dictionary = pa.nulls(0)
        self._codes = pa.nulls(0)  # of each byte as a place in the dictionary

    def encode(self, array: pa.Array | pa.ChunkedArray) -> NarrowCodes:
        if not isinstance(array, pa.DictionaryArray) or array.null_count or not 0 < len(array.dictionary) <= _BYTE:
            return self.column.encode(array).astype(self._kind)
        if not array.dictionary.equals(self._dictionary):
            every = np.zeros(_BYTE, dtype=self._kind)  # no byte is beyond its end, so that none has to be checked
            every[: len(array.dictionary)] = self.column.encode(array.dictionary)
            self._dictionary, self._codes = array.dictionary, pa.array(every)
        places = pa.array(dense(array.indices).astype(np.uint8))
        codes: NarrowCodes = dense(pc.take(self._codes, places, boundscheck=False))
        return codes


# ---- Encoding rows as atoms.


@final
@dataclass(frozen=True, slots=True)
class Encoder:
    r"""Record batches to atom codes, column by column, each cell by itself.

    Columns of the source that are not declared are ignored. Which columns a source has is public, so that a missing
    one raises, before anything is spent; what is in the cells is not, and never raises. No message says what the
    source's columns are called: the first line of a CSV file without a header is somebody's row.

    >>> from kernelease.table.schema import Schema
    >>> encoder = Encoder(Schema.parse('[columns.age]\ntype = "integer"\nmin = 17\nmax = 90'))
    >>> encoder.encode(pa.record_batch({"age": ["17", "old", "1e9"], "name": ["a", "b", "c"]}))
    array([[ 0],
           [ 0],
           [73]], dtype=int32)
    """

    schema: "Schema"
    fine: bool = False  # whether codes of finer cells follow those of all columns, for the columns that have some
    numbers: tuple[str, ...] = ()  # columns whose numbers follow all codes: those that may be laid in other cells
    columns: tuple[Column, ...] = field(init=False, repr=False, compare=False)  # as they are encoded: found once
    finer: tuple[int, ...] = field(init=False, repr=False, compare=False)  # the places of columns that have such cells

    def __post_init__(self) -> None:
        finer = self.schema.finer if self.fine else {}
        object.__setattr__(self, "columns", (*self.schema, *finer.values()))
        object.__setattr__(self, "finer", tuple(finer))

    @property
    def width(self) -> int:
        """How many codes a row has."""
        return len(self.columns)

    def encode(self, batch: pa.RecordBatch | pa.Table) -> Codes:
        """The code of every cell: (n, width) int32, each column contiguous in memory. Persons are for `UnitCap`."""
        self.schema.check_source(batch.schema.names, released=True)
        codes = np.empty((batch.num_rows, self.width), dtype=np.int32, order="F")
        for i, column in enumerate(self.columns):
            codes[:, i] = column.encode(batch.column(column.name))
        return codes

    def narrow(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[tuple[NDArray[Any], ...], None]]:
        """The codes of each batch column by column, in a byte or two each, and no weights: what is kept and counted."""
        columns = [NarrowColumn(column) for column in self.columns]
        for batch in batches:
            self.schema.check_source(batch.schema.names)
            codes = [one.encode(batch.column(column.name)) for one, column in zip(columns, self.columns, strict=True)]
            yield (*codes, *(numbers_in(batch.column(name)) for name in self.numbers)), None
