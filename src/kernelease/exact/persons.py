"""Persons: which rows are one's, a cap on how many there are of each, and what each of them weighs."""

import hashlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.arrays import Integers, block_slices
from kernelease.errors import ParameterError
from kernelease.privacy.sensitivity import Private
from kernelease.seeds import PublicSeed
from kernelease.table.columns.column import Codes
from kernelease.table.encode import Encoder
from kernelease.table.parsing import MOST_ROWS_PER_UNIT, ROWS_WITHOUT_UNIT, common_weight, dense, identities

if TYPE_CHECKING:
    from kernelease.table.schema import Schema

NOBODY = -1  # the number of a key that is missing, or that no row has
_BLOCK = 65_536  # rows at a time


@final
class Keys(Private):
    """Keys by numbers. They are compared as text, so that 7, 7.0 and "7" are one; null, NaN and "" are none."""

    __slots__ = ("_numbers", "_order", "_sorted")

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] | None = None
        self._sorted, self._order = np.zeros(1, dtype=np.int64), np.full(1, NOBODY)  # the last 0 has no number

    def digests(self, numbers: NDArray[Any]) -> NDArray[np.uint64]:
        """A digest of each row's key, (n,): a function of the key alone, unlike its number."""
        every = [int.from_bytes(hashlib.blake2b(key, digest_size=8).digest()) for key in self._spellings()]
        return np.array([*every, 0], dtype=np.uint64).take(numbers)

    def number(self, array: pa.Array, *, new: bool) -> Integers:
        """The number of each row's key, (n,): a `new` one gets the next number, else it is nobody's."""
        if self._numbers is None and pa.types.is_integer(array.type) and not pa.types.is_uint64(array.type):
            return self._among_sorted(dense(array).astype(np.int64), ~dense(array.is_null()).astype(bool), new=new)
        known, (positions, keys) = self._spellings(), identities(array)
        if new:
            known |= zip((key for key in dict.fromkeys(keys) if key and key not in known), itertools.count(len(known)))
        return np.array([known.get(key or b"", NOBODY) for key in keys], dtype=np.int64).take(positions)

    def _spellings(self) -> dict[bytes, int]:
        if self._numbers is None:
            keys = self._sorted[np.argsort(self._order)][1:].tolist()
            self._numbers = {str(key).encode(): number for number, key in enumerate(keys)}
        return self._numbers

    def _among_sorted(self, keys: Integers, there: NDArray[np.bool_], *, new: bool) -> Integers:
        if new:
            more = distinct(keys[there & (self._among_sorted(keys, there, new=False) == NOBODY)])
            places, numbers = np.searchsorted(self._sorted, more), len(self._sorted) - 1 + np.arange(len(more))
            self._sorted, self._order = np.insert(self._sorted, places, more), np.insert(self._order, places, numbers)
        begins = np.flatnonzero(_firsts(keys))  # rows of one key often lie together
        at = np.repeat(np.searchsorted(self._sorted, keys[begins]), np.diff(begins, append=len(keys)))
        same = there & (self._sorted.take(at, mode="clip") == keys)
        return np.where(same, self._order.take(at, mode="clip"), NOBODY)


def distinct(values: Integers) -> Integers:
    """In order, each once: quick where they are in order nearly."""
    values = np.sort(values, kind="stable")
    return values.compress(_firsts(values))


def _firsts(values: Integers) -> NDArray[np.bool_]:
    """Whether each differs from the one before."""
    firsts = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=firsts[1:])
    return firsts


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
    """The rows that are still candidates, as int16 codes, and the numbers of their persons."""

    def __init__(self, cap: UnitCap, columns: int) -> None:
        self._cap = cap
        self._keys = Keys()
        self._units: list[Integers] = [np.empty(0, dtype=np.int64)]
        self._codes: list[NDArray[np.int16]] = [np.empty((0, columns), dtype=np.int16)]
        self._pending = 0  # rows added since the last cut
        self._held = 0  # rows left by the last cut

    def add(self, identifiers: pa.Array, codes: Codes) -> None:
        units = self._keys.number(identifiers, new=True) + 1  # 0 are those without a person
        here = (units > 0) | (self._cap.rows_without_unit != "drop")
        self._units.append(units[here])
        self._codes.append(np.ascontiguousarray(codes[here], dtype=np.int16))
        self._pending += int(here.sum())
        if self._pending > max(self._held, 16 * _BLOCK):
            self._drop_extra_rows()

    def blocks(self) -> Iterator[tuple[Codes, Integers]]:
        self._drop_extra_rows()
        units, codes = self._units[0], self._codes[0]
        rows = np.bincount(units, minlength=1)
        weights = self._cap.total // np.maximum(rows, 1)
        for block in block_slices(len(units), _BLOCK):
            yield np.asfortranarray(codes[block], dtype=np.int32), weights[units[block]].astype(np.int64)

    def _drop_extra_rows(self) -> None:
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
        starts = np.flatnonzero(np.diff(units[order], prepend=NOBODY))
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
