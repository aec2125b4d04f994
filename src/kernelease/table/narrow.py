"""A column's codes in a byte or two each, batch by batch."""

from typing import Any, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.table.columns.column import Column
from kernelease.table.reading.arrow import dense

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
        """The code of every cell: (n,)."""
        if not isinstance(array, pa.DictionaryArray) or array.null_count or not 0 < len(array.dictionary) <= _BYTE:
            return self.column.encode(array).astype(self._kind)
        if not array.dictionary.equals(self._dictionary):
            every = np.zeros(_BYTE, dtype=self._kind)  # no byte is beyond its end, so that none has to be checked
            every[: len(array.dictionary)] = self.column.encode(array.dictionary)
            self._dictionary, self._codes = array.dictionary, pa.array(every)
        places = pa.array(dense(array.indices).astype(np.uint8))
        codes: NarrowCodes = dense(pc.take(self._codes, places, boundscheck=False))
        return codes
