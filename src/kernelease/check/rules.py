"""What a private look says about the declared constraints."""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.check.finding import Finding, Level, share
from kernelease.table.columns.boolean import Boolean
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Listed
from kernelease.table.columns.numeric import Integer
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.reading.instants import DAY, MICROSECOND, read_instants
from kernelease.table.reading.numbers import read_numbers
from kernelease.table.schema import Schema


@final
@dataclass(slots=True, kw_only=True)
class Rules:
    """How many rows break each constraint. Private."""

    schema: Schema
    rows: int = 0
    broken: Counter[str] = field(default_factory=Counter)

    def add(self, batch: pa.RecordBatch) -> None:
        """Some more rows."""
        self.rows += batch.num_rows
        for rule in self.schema.constraints:
            columns = {name: typed(self.schema.column(name), batch.column(name)) for name in rule.columns}
            self.broken[rule.text] += int((~rule.holds(pa.table(columns))).sum())

    def findings(self) -> Iterator[Finding]:
        """The constraints that rows break."""
        for rule, count in self.broken.items():
            if count:
                yield Finding(
                    level=Level.of_share(count / self.rows),
                    where="constraints",
                    words=f"{share(count, self.rows)} rows break {rule!r}; no synthetic row will",
                    remedy="correct the rows, or leave out the constraint if rows may break it",
                )


def typed(column: Column, array: pa.Array) -> pa.Array:
    """Cells as values of the column's own type, not clamped and not drawn; null for what is none.

    >>> from kernelease.table import Integer
    >>> typed(Integer(name="age", min=0, max=9), pa.array(["3", "old", None, "12"])).to_pylist()
    [3, None, None, 12]
    """
    plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    null = plain.is_null().to_numpy(zero_copy_only=False)
    if isinstance(column, Listed | Boolean):
        probe = dataclasses.replace(column, nullable=True, default=None)
        return probe.decode(probe.encode(plain), np.random.default_rng(0))  # each atom is one value: nothing is drawn
    if isinstance(column, Date | Datetime):
        ticks, absent = read_instants(plain, DAY if isinstance(column, Date) else MICROSECOND, -(2**40), 2**55)
        absent = null if absent is None else absent | null
        whole = pa.array(ticks, mask=absent)
        return (whole.cast(pa.int32(), safe=False) if isinstance(column, Date) else whole).cast(column.arrow_type)
    numbers = read_numbers(plain)
    absent = null | ~np.isfinite(numbers) | (np.abs(numbers) >= 2.0**62)
    kept = np.where(absent, 0.0, numbers)
    return pa.array(np.floor(kept).astype(np.int64) if isinstance(column, Integer) else kept, mask=absent)
