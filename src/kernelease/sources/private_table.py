"""A source as private rows: encoded, capped per person, and counted here or by the database itself."""

from typing import Any

from kernelease.private.counting import CHUNK
from kernelease.private.counts import ExactCounts
from kernelease.private.encoded import EncodedRows
from kernelease.private.rows import PrivateRows, PrivateTable
from kernelease.seeds import PublicSeed
from kernelease.sources.opening import open_declared
from kernelease.sources.partitioned import Partitioned, distant_table
from kernelease.sources.pushdown import count_by_sql
from kernelease.sources.source import Source, check_columns
from kernelease.table.encode import Encoder, UnitCap, finer_columns
from kernelease.table.schema import Schema


def private_table(data: Any, schema: Schema, *, seed: PublicSeed, push_down: bool = False) -> PrivateRows:
    """The rows of a file, a folder, a database or a data frame, as a schema declares them.

    With `push_down` the database counts, and its rows never leave it; the counts are the same to the bit.
    """
    # Opened once: every pass must find the file as it was at the first.
    source = open_declared(data, schema, batch_rows=CHUNK, as_text=False)
    if isinstance(source, Partitioned):
        return distant_table(source, schema, seed)
    if push_down:
        return PrivateTable(count_by_sql(source, schema))
    check_columns(source, schema)
    unit = 1 if schema.unit is None else UnitCap.of(schema, seed).total
    rows = _encoded(source, schema, seed)
    return PrivateTable(ExactCounts.of(rows, schema.sizes, unit=unit), rows)


def _encoded(source: Source, schema: Schema, seed: PublicSeed) -> EncodedRows:
    """The codes of columns, those of finer cells after them, and the rows' weights where persons have several."""
    encoder, fine = Encoder(schema, fine=True), tuple(finer_columns(schema))
    if schema.unit is None:
        return EncodedRows(
            lambda: source.pieces(schema.names),
            schema.sizes,
            encode=lambda piece: ((codes, None) for codes in encoder.narrow(piece())),
            fine=fine,
        )
    cap, columns = UnitCap.of(schema, seed), [*schema.names, schema.unit]
    return EncodedRows(
        lambda: ((codes.T, weights) for codes, weights in cap.apply(source.batches(columns), encoder)),
        schema.sizes,
        weighted=True,
        fine=fine,
    )
