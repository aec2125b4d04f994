"""What is done to the rows of one part: record batches in, one array of integers out.

A stage or a task is one of these functions with all but its batches given (`functools.partial`), and can be pickled.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease._version import __version__
from kernelease.arrays import BigIntegers, Floats, Integers, block_slices
from kernelease.errors import SourceError
from kernelease.exact.counting import CHUNK, PartialCounts, PartialWeights, sums_of_blocks
from kernelease.exact.persons import UnitCap
from kernelease.exact.rows import PartialSums
from kernelease.features.feature_map import FeatureMap
from kernelease.measured.blocks import Block
from kernelease.passes import Batch, Layout, Weighing
from kernelease.sources.source import plain
from kernelease.table.encode import Encoder
from kernelease.table.parsing import identities, read_numbers
from kernelease.table.schema import Schema

Batches: TypeAlias = Iterable[pa.RecordBatch]
Stage: TypeAlias = Callable[[Batches], Iterator[pa.RecordBatch]]
Task: TypeAlias = Callable[[Batches], Integers]

CODED = pa.schema([("rows", pa.int64()), ("codes", pa.binary()), ("weights", pa.binary())])
"""A chunk of encoded rows: how many, their codes (uint16, column by column), their weights (int64) or null."""
PERSONAL = pa.schema([("person", pa.binary()), ("codes", pa.binary())])
"""An encoded row (int16 codes) and a keyed digest of its person, null for nobody."""
_LIMB, _LOWER = 32, 2**32 - 1  # bits, and the number that has them all: 2³¹ parts may be added up


# ---- Stages: rows to chunks of codes.


def encode(schema: Schema, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Rows to `CODED` batches."""
    encoder = Encoder(schema, fine=True)
    return _code_batches((encoder.encode(_plain(batch)).T, None) for batch in batches)


def encode_persons(schema: Schema, cap: UnitCap, key: bytes, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Rows to `PERSONAL` batches: by their digests all rows of a person can be brought to one part."""
    encoder = Encoder(schema, fine=True)
    width = 2 * encoder.width
    for batch in map(_plain, batches):
        positions, keys = identities(batch.column(cap.column))
        digests = [None if i is None else hashlib.blake2b(i, digest_size=16, key=key).digest() for i in keys]
        persons = pa.array(digests, pa.binary()).take(pa.array(positions, pa.int64()))
        rows = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(width),
            batch.num_rows,
            [None, pa.py_buffer(np.ascontiguousarray(encoder.encode(batch), dtype="<i2"))],
        )
        made = pa.RecordBatch.from_arrays([persons, rows.cast(pa.binary())], schema=PERSONAL)
        yield made.filter(persons.is_valid()) if cap.rows_without_unit == "drop" else made


def cap_persons(cap: UnitCap, columns: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """All rows of some persons, as `PERSONAL` batches, to `CODED` ones with weights."""

    def codes(batch: pa.RecordBatch) -> NDArray[np.int32]:
        content = b"".join(batch.column("codes").to_pylist())
        return np.frombuffer(content, dtype="<i2").reshape(-1, columns).astype(np.int32)

    rows = ((batch.column("person"), codes(batch)) for batch in batches)
    return _code_batches((kept.T, weights) for kept, weights in cap.keep(rows, columns))


# ---- Tasks: what a part is asked for.


def count(layout: Layout, batches: Batches) -> Integers:
    """The counts of all groups in `CODED` batches, one after the other."""
    counts = PartialCounts(layout)
    for batch in _chunks(batches):
        counts.add(batch)
    return counts.total()


def weigh(blocks: tuple[Block, ...], columns: int, fine: tuple[int, ...], batches: Batches) -> Integers:
    """Sums of weights in `CODED` batches, the moments of some blocks, as `in_limbs` has them."""
    return in_limbs(weigh_blocks(_chunks(batches), blocks, columns, fine))


def sum_codes(feature_map: FeatureMap, columns: int, batches: Batches) -> Integers:
    """Sums of the features of `CODED` batches, where a row is its codes: as `PartialSums` has them."""
    sums = PartialSums(feature_map)
    for codes, _ in _chunks(batches):
        sums.add(np.stack(codes[:columns], axis=1).astype(np.int64))
    return sums.total()


def sum_vectors(feature_map: FeatureMap | None, batches: Batches) -> Integers:
    """Sums of the features of rows of numbers, as `PartialSums` has them; without a map, the number of rows."""
    if feature_map is None:
        return np.array([sum(batch.num_rows for batch in batches)], dtype=np.int64)
    sums = PartialSums(feature_map)
    for batch in batches:
        sums.add(_vectors(_plain(batch)))
    return sums.total()


def run_after(stage: Stage, task: Task, version: str, batches: Batches) -> Integers:
    """A task after a stage, refused by a worker whose package is of another version: it may encode otherwise."""
    if version != __version__:
        raise SourceError(f"A worker has kernelease {__version__}, and {version} asks for its sums.")
    return task(stage(batches))


def weigh_blocks(
    batches: Iterable[Batch], blocks: Sequence[Block], columns: int, fine: tuple[int, ...]
) -> list[BigIntegers]:
    """For each block, the sums of what rows add to it, each times its person's weight, in its shape."""
    part = PartialWeights(Weighing.of(blocks), columns, fine)
    for batch in batches:
        part.add(batch)
    return sums_of_blocks(blocks, [part])


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


def _code_batches(batches: Iterable[tuple[NDArray[Any], Integers | None]]) -> Iterator[pa.RecordBatch]:
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
