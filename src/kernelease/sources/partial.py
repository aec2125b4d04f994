"""What is done to the rows of one part: record batches in, one array of integers out. Tasks can be pickled."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease._version import __version__
from kernelease.arrays import BigIntegers, Floats, Integers, block_slices
from kernelease.errors import SourceError
from kernelease.exact.counts import CHUNK, PartialCounts, PartialWeights, shaped
from kernelease.exact.embedding import PartialSums
from kernelease.exact.persons import UnitCap
from kernelease.features.feature_map import FeatureMap
from kernelease.measured.blocks import Block
from kernelease.passes import Batch, Layout, Weighing
from kernelease.sources.source import plain
from kernelease.table.encode import Encoder
from kernelease.table.reading import identities, read_numbers
from kernelease.table.schema import Schema

Batches: TypeAlias = Iterable[pa.RecordBatch]
Stage: TypeAlias = Callable[[Batches], Iterator[pa.RecordBatch]]
Task: TypeAlias = Callable[[Batches], Integers]

CODED = pa.schema([("rows", pa.int64()), ("codes", pa.binary()), ("weights", pa.binary())])
"""A chunk of encoded rows: how many, their codes (uint16, column by column), their weights (int64) or null."""
PERSONAL = pa.schema([("person", pa.binary()), ("codes", pa.binary())])
"""An encoded row (int16 codes) and a keyed digest of its person, null for nobody."""
_LIMB, _LOWER = 32, 2**32 - 1  # bits, and the number that has them all: 2³¹ parts may be added up


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Encode:
    """Rows to chunks of codes."""

    schema: Schema

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """`CODED` batches."""
        encoder = Encoder(self.schema, fine=True)
        return _coded((encoder.encode(_plain(batch)).T, None) for batch in batches)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EncodePersons:
    """Rows to codes, each with its person's digest, so that all rows of a person can be brought to one part."""

    schema: Schema
    cap: UnitCap
    key: bytes

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """`PERSONAL` batches."""
        encoder = Encoder(self.schema, fine=True)
        width = 2 * encoder.width
        for batch in map(_plain, batches):
            positions, keys = identities(batch.column(self.cap.column))
            digests = [None if i is None else hashlib.blake2b(i, digest_size=16, key=self.key).digest() for i in keys]
            persons = pa.array(digests, pa.binary()).take(pa.array(positions, pa.int64()))
            rows = pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(width),
                batch.num_rows,
                [None, pa.py_buffer(np.ascontiguousarray(encoder.encode(batch), dtype="<i2"))],
            )
            made = pa.RecordBatch.from_arrays([persons, rows.cast(pa.binary())], schema=PERSONAL)
            yield made.filter(persons.is_valid()) if self.cap.rows_without_unit == "drop" else made


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """All rows of some persons to chunks of codes with weights."""

    cap: UnitCap
    columns: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """`CODED` batches, of `PERSONAL` ones."""
        rows = ((batch.column("person"), self._codes(batch)) for batch in batches)
        return _coded((codes.T, weights) for codes, weights in self.cap.keep(rows, self.columns))

    def _codes(self, batch: pa.RecordBatch) -> NDArray[np.int32]:
        content = b"".join(batch.column("codes").to_pylist())
        return np.frombuffer(content, dtype="<i2").reshape(-1, self.columns).astype(np.int32)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """Partial counts of `CODED` batches."""

    layout: Layout

    def __call__(self, batches: Batches) -> Integers:
        """The counts of all groups, one after the other."""
        counts = PartialCounts(self.layout)
        for batch in _chunks(batches):
            counts.add(batch)
        return counts.total()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Weigh:
    """Partial sums of weights of `CODED` batches: the moments of some blocks."""

    blocks: tuple[Block, ...]
    columns: int
    fine: tuple[int, ...]

    def __call__(self, batches: Batches) -> Integers:
        """As `in_limbs` has them: one block's sums after the other."""
        return in_limbs(weigh_blocks(_chunks(batches), self.blocks, self.columns, self.fine))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SumCodes:
    """Partial sums of the features of `CODED` batches: a row is its codes."""

    feature_map: FeatureMap
    columns: int

    def __call__(self, batches: Batches) -> Integers:
        """As `PartialSums` has them."""
        sums = PartialSums(self.feature_map)
        for codes, _ in _chunks(batches):
            sums.add(np.stack(codes[: self.columns], axis=1).astype(np.int64))
        return sums.total()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SumVectors:
    """Partial sums of the features of rows of numbers; without a map, only how many rows there are."""

    feature_map: FeatureMap | None

    def __call__(self, batches: Batches) -> Integers:
        """As `PartialSums` has them, or the number of rows."""
        if self.feature_map is None:
            return np.array([sum(batch.num_rows for batch in batches)], dtype=np.int64)
        sums = PartialSums(self.feature_map)
        for batch in batches:
            sums.add(_vectors(_plain(batch)))
        return sums.total()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Then:
    """A task after a stage, as one task."""

    stage: Stage
    task: Task
    version: str = __version__

    def __call__(self, batches: Batches) -> Integers:
        """Refused by a worker that has another version of this package: it may encode otherwise."""
        if self.version != __version__:
            raise SourceError(f"A worker has kernelease {__version__}, and {self.version} asks for its sums.")
        return self.task(self.stage(batches))


def weigh_blocks(
    batches: Iterable[Batch], blocks: Sequence[Block], columns: int, fine: tuple[int, ...]
) -> list[BigIntegers]:
    """For each block, the sums of what rows add to it, each times its person's weight, in its shape."""
    part = PartialWeights(Weighing.of(blocks), columns, fine)
    for batch in batches:
        part.add(batch)
    return shaped(blocks, [part])


def in_limbs(tables: Sequence[BigIntegers]) -> Integers:
    """Sums of any size as 64-bit integers that can be added up: their lower 32 bits, then the rest of each."""
    flat = np.concatenate([table.ravel() for table in tables])
    return np.concatenate([flat & _LOWER, flat >> _LIMB]).astype(np.int64)


def from_limbs(limbs: Integers, blocks: Sequence[Block]) -> list[BigIntegers]:
    """The sums of each block, in its shape, from what `in_limbs` gave, added up over parts."""
    lower, upper = limbs.reshape(2, -1).astype(object)
    tables = np.split(lower + upper * (_LOWER + 1), np.cumsum([block.cells for block in blocks])[:-1])
    return [table.reshape(block.shape) for table, block in zip(tables, blocks, strict=True)]


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([plain(column) for column in batch.columns], names=batch.schema.names)


def _vectors(batch: pa.RecordBatch) -> Floats:
    """(n, d) float64, NaN where a cell is null or no number."""
    rows = np.empty((batch.num_rows, batch.num_columns))
    for i, column in enumerate(batch.columns):
        rows[:, i] = np.where(column.is_null().to_numpy(zero_copy_only=False), np.nan, read_numbers(column))
    return rows


def _coded(batches: Iterable[tuple[NDArray[Any], Integers | None]]) -> Iterator[pa.RecordBatch]:
    for codes, weights in batches:
        for part in block_slices(codes.shape[1], CHUNK):
            weight = None if weights is None else weights[part].tobytes()
            chunk = [part.stop - part.start], [codes[:, part].astype("<u2").tobytes()], [weight]
            arrays = [pa.array(cells, field.type) for cells, field in zip(chunk, CODED, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=CODED)


def _chunks(batches: Batches) -> Iterator[Batch]:
    for batch in batches:
        for chunk in batch.to_pylist():
            codes: NDArray[Any] = np.frombuffer(chunk["codes"], dtype="<u2").reshape(-1, chunk["rows"])
            yield [*codes], None if chunk["weights"] is None else np.frombuffer(chunk["weights"], dtype="<i8")
