"""A source as private rows: encoded, capped per person, and counted here or by the database itself."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pyarrow as pa

from kernelease.private.counts import ExactCounts
from kernelease.private.encoded import Batch, EncodedRows
from kernelease.private.rows import PrivateTable
from kernelease.seeds import PublicSeed
from kernelease.sources.opening import open_declared
from kernelease.sources.pushdown import count_by_sql
from kernelease.sources.source import Source
from kernelease.table.encode import Encoder, finer_columns
from kernelease.table.schema import Schema
from kernelease.table.units import UnitCap

T = TypeVar("T")


def private_table(data: Any, schema: Schema, *, seed: PublicSeed, push_down: bool = False) -> PrivateTable:
    """The rows of a file, a folder, a database or a data frame, as a schema declares them.

    With `push_down` the database counts, and its rows never leave it; the counts are the same to the bit.
    """
    source = open_declared(data, schema)  # opened once: every pass must find the file as it was at the first
    if push_down:
        return PrivateTable(count_by_sql(source, schema))
    Encoder(schema).check(pa.schema([(name, pa.null()) for name in source.names()]))
    weighted = schema.unit is not None
    unit = UnitCap.of(schema, seed).total if weighted else 1
    fine = tuple(finer_columns(schema))
    rows = EncodedRows(lambda: _batches(source, schema, seed), schema.sizes, weighted=weighted, fine=fine)
    return PrivateTable(ExactCounts.of(rows, schema.sizes, unit=unit), rows)


def _batches(source: Source, schema: Schema, seed: PublicSeed) -> Iterator[Batch]:
    """One pass: codes (columns, n), those of finer cells below them, and rows' weights where persons have several."""
    encoder = Encoder(schema, fine=True)
    batches = source.batches([*schema.names, *([schema.unit] if schema.unit else [])])
    if schema.unit is None:
        return one_ahead((encoder.encode(batch).T, None) for batch in batches)
    return ((codes.T, weights) for codes, weights in UnitCap.of(schema, seed).apply(batches, encoder))


def one_ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items in the same order, each made in another thread while the one before is in use.

    Two items are in memory at a time. An exception comes out where its item would have.

    >>> list(one_ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    nothing = object()
    with ThreadPoolExecutor(1) as worker:
        following = worker.submit(next, items, nothing)
        while (item := following.result()) is not nothing:
            following = worker.submit(next, items, nothing)
            yield item  # type: ignore[misc]  # not `nothing`
