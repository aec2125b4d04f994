"""What the owner gives as private rows: a table, encoded and capped per person, or vectors.

Optional engines are rooms of their own: a GPU, Spark, a database that counts. Nobody enters one who did not ask for it,
or give rows that lie there.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from kernelease.arrays import as_rows
from kernelease.exact.counting import CHUNK
from kernelease.exact.counts import ExactCounts
from kernelease.exact.encode import Encoder, UnitCap, finer_columns
from kernelease.exact.private import EncodedRows
from kernelease.exact.rows import PrivateArray, PrivateRows, PrivateTable
from kernelease.measured.looks import ticked
from kernelease.seeds import PublicSeed
from kernelease.sources.opening import open_declared, open_source
from kernelease.sources.partitioned import Partitioned, distant_table, distant_vectors, is_spark_frame
from kernelease.sources.source import Source, check_columns
from kernelease.spool import Batch
from kernelease.table.reading import numbers_in
from kernelease.table.schema import Schema

_BYTE = 2**8  # codes that fit one


def private_table(data: Any, schema: Schema, *, seed: PublicSeed, push_down: bool = False) -> PrivateRows:
    """The rows of a file, a folder, a database or a data frame, as a schema declares them.

    With `push_down` the database counts, and its rows never leave it; the counts are the same to the bit.
    """
    # Opened once: every pass must find the file as it was at the first.
    source = open_declared(data, schema, batch_rows=CHUNK, as_text=False)
    if isinstance(source, Partitioned):
        return distant_table(source, schema, seed)
    if push_down:
        from kernelease.sources.pushdown import count_by_sql  # a room of its own

        return PrivateTable(count_by_sql(source, schema))
    check_columns(source, schema)
    if schema.unit is not None:
        rows, counts = _of_persons(source, schema, seed)
        return PrivateTable(counts, rows)
    rows = _encoded(source, schema)
    counts = ExactCounts.of(rows, schema.sizes)
    counts.again = lambda laid: _laid(rows, schema, laid)
    return PrivateTable(counts, rows)


def _encoded(source: Source, schema: Schema) -> EncodedRows:
    """The codes of columns, those of finer cells after them, and last the numbers of columns that may be laid."""
    encoder = Encoder(schema, fine=True)
    laid = [column.name for column in schema if ticked(column) is not None]

    def encode(piece: Any) -> Iterator[Batch]:
        batches, same = itertools.tee(piece())
        for batch, codes in zip(batches, encoder.narrow(same), strict=True):
            yield (*codes, *(numbers_in(batch.column(name)) for name in laid)), None

    return EncodedRows(
        lambda: source.pieces(schema.names), schema.sizes, encode=encode, fine=tuple(finer_columns(schema))
    )


def _laid(rows: EncodedRows, schema: Schema, laid: Schema) -> ExactCounts:
    """The same rows with the cells of another schema, from what was kept of the first pass."""
    fine, names = tuple(finer_columns(schema)), list(schema.names)
    kept = [column.name for column in schema if ticked(column) is not None]
    raw = {name: len(names) + len(fine) + place for place, name in enumerate(kept)}
    same = {name: place for place, name in enumerate(names) if schema.column(name) in laid.columns}
    finer = {name: len(names) + fine.index(place) for name, place in same.items() if place in fine}
    columns = Encoder(laid, fine=True).columns

    def encode(batch: Batch) -> Iterator[Batch]:
        codes, weights = batch
        found = []
        for place, column in enumerate(columns):
            known = (same if place < len(laid) else finer).get(column.name)
            if known is None:
                narrow = np.uint8 if column.size <= _BYTE and place < len(laid) else np.uint16
                found.append(column.encode(pa.array(codes[raw[column.name]])).astype(narrow))
            else:
                found.append(codes[known])
        yield tuple(found), weights

    again = EncodedRows(rows.batches, laid.sizes, encode=encode, fine=tuple(finer_columns(laid)))
    return ExactCounts.of(again, laid.sizes)


def _of_persons(source: Source, schema: Schema, seed: PublicSeed) -> tuple[EncodedRows, ExactCounts]:
    """The same of persons with several rows, and their weights. Which rows of a person are kept is by their codes."""
    encoder, cap = Encoder(schema, fine=True), UnitCap.of(schema, seed)
    columns = [*schema.names, cap.column]
    rows = EncodedRows(
        lambda: ((codes.T, weights) for codes, weights in cap.apply(source.batches(columns), encoder)),
        schema.sizes,
        weighted=True,
        fine=tuple(finer_columns(schema)),
    )
    counts = ExactCounts.of(rows, schema.sizes, unit=cap.total)
    counts.again = lambda laid: _of_persons(source, laid, seed)[1]
    return rows, counts


def private_vectors(data: Any, *, columns: int | None = None, device: str | None = None) -> PrivateRows:
    """Rows without declared columns: an array, here, on a GPU, or in parts elsewhere.

    `columns` is how many a method expects of an array; `device` is "cuda" for sums on a GPU, wherever the array lies.
    """
    if device is None and isinstance(data, np.ndarray | list | tuple):
        return PrivateArray(as_rows(data, columns=columns))
    from kernelease.cuda import on_device  # a room of its own, as Spark is
    from kernelease.sources.device_rows import DeviceRows

    if device == "cuda" or on_device(data):
        return DeviceRows(data if on_device(data) else as_rows(data, columns=columns))
    if isinstance(data, Partitioned) or is_spark_frame(data):
        source = open_source(data)
        return distant_vectors(source) if isinstance(source, Partitioned) else PrivateArray(as_rows(data))
    return PrivateArray(as_rows(data, columns=columns))
