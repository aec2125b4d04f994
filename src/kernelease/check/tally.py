"""What becomes of the cells of one column: the counts behind a private look."""

import dataclasses
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.table.columns.boolean import Boolean
from kernelease.table.columns.celled import Stepped
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Listed
from kernelease.table.columns.numeric import Integer, Number
from kernelease.table.columns.string import String
from kernelease.table.columns.temporal import Date
from kernelease.table.reading.arrow import is_text
from kernelease.table.reading.instants import DAY, MICROSECOND, read_instants
from kernelease.table.reading.numbers import read_numbers

_MOST_DISTINCT = 10_000  # of cells that are remembered; further ones are only counted
_EVER = 2**62  # beyond every instant, in days or microseconds
_REPLACEMENT = "\ufffd"  # what bytes become that mean nothing in the declared encoding

Flags = NDArray[np.bool_]


@final
@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts of one column's cells: missing, unreadable, beyond the bounds, not declared, mangled. All private."""

    column: Column
    rows: int = 0
    missing: int = 0
    below: int = 0
    above: int = 0
    fractions: int = 0
    mangled: int = 0
    strange: int = 0
    cells: Counter[str] = field(default_factory=Counter)
    """Cells that can't be read, or are not declared."""

    def add(self, array: pa.Array) -> None:
        """Some more cells."""
        plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        present = self._present(plain)
        self.rows += len(plain)
        self.missing += int((~present).sum())
        strange = present & self._strange(plain, present)
        self.strange += int(strange.sum())
        self._remember(plain.filter(pa.array(strange)))
        if is_text(plain.type):
            self.mangled += int(pc.sum(pc.match_substring(plain.cast(pa.large_string()), _REPLACEMENT)).as_py() or 0)

    def _present(self, array: pa.Array) -> Flags:
        there: Flags = ~array.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
        empty_is_declared = isinstance(self.column, Listed) and "" in self.column.vocabulary
        if is_text(array.type) and not empty_is_declared:
            there &= pc.binary_length(array).to_numpy(zero_copy_only=False) > 0  # NaN where there is none
        return there

    def _strange(self, array: pa.Array, present: Flags) -> Flags:
        """Which cells can't be read, or are not declared; those beyond the bounds are counted on the way."""
        column = self.column
        if isinstance(column, Integer | Number):
            return self._numbers(read_numbers(array), present, column.min, column.max)
        if isinstance(column, Stepped):
            ticks, absent = read_instants(array, DAY if isinstance(column, Date) else MICROSECOND, -_EVER, _EVER)
            bad = np.zeros(len(array), dtype=bool) if absent is None else absent
            self._bounded(ticks, present & ~bad, column.low, column.high)
            return bad
        if isinstance(column, Listed):
            return self._undeclared(array, column)
        if isinstance(column, Boolean):
            unsure = dataclasses.replace(column, nullable=True, default=None)
            return np.asarray(unsure.encode(array) == unsure.missing)
        return np.zeros(len(array), dtype=bool)

    def _numbers(self, numbers: NDArray[np.float64], present: Flags, low: float, high: float) -> Flags:
        bad = np.isnan(numbers)
        self._bounded(numbers, present & ~bad, low, high)
        if isinstance(self.column, Integer):
            finite = numbers[present & np.isfinite(numbers)]
            self.fractions += int((finite != np.floor(finite)).sum())
        return bad

    def _bounded(self, values: NDArray[Any], known: Flags, low: float, high: float) -> None:
        self.below += int((known & (values < low)).sum())
        self.above += int((known & (values > high)).sum())

    def _undeclared(self, array: pa.Array, column: Listed) -> Flags:
        if isinstance(column, String) and not column.values:  # free text has nothing that is not declared
            return np.zeros(len(array), dtype=bool)
        numbers = [value for value in column.vocabulary if isinstance(value, int)]
        bucket = column.other or (max(numbers) + 1 if numbers else True)
        probe = dataclasses.replace(column, nullable=True, default=None, other=bucket)
        return np.asarray(probe.encode(array) == len(column.vocabulary))

    def _remember(self, cells: pa.Array) -> None:
        for item in pc.value_counts(cells):
            cell = item["values"].as_py()
            text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
            if text in self.cells or len(self.cells) < _MOST_DISTINCT:
                self.cells[text] += item["counts"].as_py()
