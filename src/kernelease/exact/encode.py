"""Rows to atoms, and a cap on the rows of each person."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.arrays import Integers, block_slices
from kernelease.errors import ParameterError
from kernelease.passes import Batch
from kernelease.seeds import PublicSeed
from kernelease.table.columns.column import Codes, Column, NarrowColumn, encode_each
from kernelease.table.reading import MOST_ROWS_PER_UNIT, ROWS_WITHOUT_UNIT, common_weight, identities, numbers_in

if TYPE_CHECKING:
    from kernelease.table.schema import Schema

# --------------------
# Encoding rows as atoms.


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

    def narrow(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Batch]:
        """The codes of each batch column by column, in a byte or two each: what is kept and counted."""
        columns = [NarrowColumn(column) for column in self.columns]
        for batch in batches:
            self.schema.check_source(batch.schema.names)
            codes = encode_each(columns, [batch.column(column.name) for column in self.columns])
            yield codes + tuple(numbers_in(batch.column(name)) for name in self.numbers), None


# --------------------
# Capping the rows of each person.


_BLOCK = 65_536  # rows at a time
_NOBODY = -1  # the number of a row without a person


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UnitCap:
    r"""The cap on rows per person, enforced over a whole stream.

    Of a person with more than `max_rows` rows, those are kept whose encoded content comes first in the order of a
    keyed hash (BLAKE2b, keyed with a public seed), then of content: a function of that person's rows alone, whatever
    else is in the table and in whichever order it comes. Each person then counts as the average of their rows, in
    whole numbers: a row weighs `total` / (rows kept), where `total` = lcm(1, …, max_rows) is the same for everybody.

    Identifiers are compared as text, so that 7, 7.0 and "7" are one person. Rows without one (null, NaN, an empty
    text) are dropped, or make up one person together. Memory grows with the number of persons: an identifier and at
    most twice `max_rows` encoded rows each.

    >>> from kernelease.table.schema import Schema
    >>> cap = UnitCap(column="patient", max_rows=3)
    >>> schema = Schema.parse('[columns.age]\ntype = "integer"\nmin = 0\nmax = 9')
    >>> batch = pa.record_batch({"patient": ["a", "b", "a", None], "age": [1, 2, 3, 4]})
    >>> [(codes.ravel().tolist(), weights.tolist()) for codes, weights in cap.apply([batch], Encoder(schema))]
    [([1, 2, 3], [3, 6, 3])]
    """

    column: str
    max_rows: int
    rows_without_unit: str = "drop"
    seed: PublicSeed = field(default_factory=PublicSeed)

    def __post_init__(self) -> None:
        if not 1 <= self.max_rows <= MOST_ROWS_PER_UNIT:
            raise ParameterError(f"UnitCap: max_rows must be from 1 to {MOST_ROWS_PER_UNIT}, got {self.max_rows!r}.")
        if self.rows_without_unit not in ROWS_WITHOUT_UNIT:
            raise ParameterError(
                f"UnitCap: rows_without_unit must be {' or '.join(ROWS_WITHOUT_UNIT)}, got {self.rows_without_unit!r}."
            )

    @classmethod
    def of(cls, schema: "Schema", seed: PublicSeed | None = None) -> "UnitCap":
        """The cap that a schema declares."""
        if schema.unit is None or schema.max_rows_per_unit is None:
            raise ParameterError(f"UnitCap: table {schema.name!r} declares no unit; one row is one person.")
        return cls(
            column=schema.unit,
            max_rows=schema.max_rows_per_unit,
            rows_without_unit=schema.rows_without_unit,
            seed=seed or PublicSeed(),
        )

    @property
    def total(self) -> int:
        """What the rows of each person weigh together: lcm(1, …, max_rows)."""
        return common_weight(self.max_rows)

    def apply(self, batches: Iterable[pa.RecordBatch], encoder: Encoder) -> Iterator[tuple[Codes, Integers]]:
        """Blocks of encoded rows and their weights: ((n, columns) int32, (n,)). Reads all batches before the first."""
        return self.keep(((batch.column(self.column), encoder.encode(batch)) for batch in batches), encoder.width)

    def keep(self, rows: Iterable[tuple[pa.Array, Codes]], columns: int) -> Iterator[tuple[Codes, Integers]]:
        """The same of rows that are encoded already: persons' identifiers, and codes (n, columns)."""
        kept = _Kept(self, columns)
        for identifiers, codes in rows:
            kept.add(identifiers, codes)
        yield from kept.blocks()


class _Kept:
    """The rows that are still candidates, as int16 codes, and the persons' numbers."""

    def __init__(self, cap: UnitCap, columns: int) -> None:
        self._cap = cap
        self._numbers: dict[bytes | None, int] = {}
        self._units: list[Integers] = [np.empty(0, dtype=np.int64)]
        self._codes: list[NDArray[np.int16]] = [np.empty((0, columns), dtype=np.int16)]
        self._pending = 0  # rows added since the last cut
        self._held = 0  # rows left by the last cut

    def add(self, identifiers: pa.Array, codes: Codes) -> None:
        units = self._number(identifiers)
        here = units != _NOBODY
        self._units.append(units[here])
        self._codes.append(np.ascontiguousarray(codes[here], dtype=np.int16))
        self._pending += int(here.sum())
        if self._pending > max(self._held, 16 * _BLOCK):
            self._cut()

    def blocks(self) -> Iterator[tuple[Codes, Integers]]:
        self._cut()
        units, codes = self._units[0], self._codes[0]
        rows = np.bincount(units, minlength=1)
        weights = self._cap.total // np.maximum(rows, 1)
        for block in block_slices(len(units), _BLOCK):
            yield np.asfortranarray(codes[block], dtype=np.int32), weights[units[block]].astype(np.int64)

    def _number(self, identifiers: pa.Array) -> Integers:
        """The number of the person of each row, in order of first appearance; −1 for nobody."""
        positions, keys = identities(identifiers)
        numbers = np.array([self._number_of(key) for key in keys], dtype=np.int64)
        return numbers.take(positions) if len(positions) else np.empty(0, dtype=np.int64)

    def _number_of(self, key: bytes | None) -> int:
        if key is None and self._cap.rows_without_unit == "drop":
            return _NOBODY
        return self._numbers.setdefault(key, len(self._numbers))

    def _cut(self) -> None:
        """Keep the first `max_rows` rows of every person. The first of the first are the first of all."""
        units, codes = np.concatenate(self._units), np.concatenate(self._codes)
        crowded = np.bincount(units, minlength=1) > self._cap.max_rows
        candidates = np.flatnonzero(crowded[units]) if len(units) else np.empty(0, dtype=np.intp)
        keep = np.ones(len(units), dtype=bool)
        keep[candidates[~self._first(units[candidates], codes[candidates])]] = False
        self._units, self._codes = [units[keep]], [codes[keep]]
        self._pending, self._held = 0, int(keep.sum())

    def _first(self, units: Integers, codes: NDArray[np.int16]) -> NDArray[np.bool_]:
        """Whether each row is among the first `max_rows` of its person, by hash and then by content."""
        hashes = self._hashes(codes)
        order = np.lexsort((hashes, units))
        before, after = order[:-1], order[1:]
        tied = (units[before] == units[after]) & (hashes[before] == hashes[after])
        if (codes[before[tied]] != codes[after[tied]]).any():  # two rows with one hash: once in 2⁶⁴
            order = np.lexsort((*codes.T[::-1], hashes, units))
        starts = np.flatnonzero(np.diff(units[order], prepend=_NOBODY))
        lengths = np.diff(np.append(starts, len(order)))
        rank = np.arange(len(order)) - np.repeat(starts, lengths)
        first = np.empty(len(order), dtype=bool)
        first[order] = rank < self._cap.max_rows
        return first

    def _hashes(self, codes: NDArray[np.int16]) -> NDArray[np.uint64]:
        key = self._cap.seed.value.to_bytes(8, "big")
        keyed = hashlib.blake2b(digest_size=8, key=key, person=b"rows per unit")
        rows, width = codes.astype("<i2").tobytes(), 2 * codes.shape[1]
        digests = [_digest(keyed.copy(), rows[i : i + width]) for i in range(0, len(rows), width)]
        return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def _digest(hasher: "hashlib.blake2b", row: bytes) -> bytes:
    hasher.update(row)
    return hasher.digest()
