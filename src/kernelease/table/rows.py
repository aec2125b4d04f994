"""Synthetic rows that keep the declared constraints."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from kernelease.arrays import Integers
from kernelease.errors import ParameterError
from kernelease.table.decode import Decoder
from kernelease.table.schema import Schema

_ROUNDS = 60


def lawful_rows(
    schema: Schema, draw: Callable[[int], Integers], count: int, generator: np.random.Generator
) -> pa.Table:
    """`count` decoded rows that keep every constraint of the schema: (rows that break one are drawn again).

    `draw(n)` gives n rows of atom codes, (n, columns). Where constraints are so rare that fresh draws do not suffice,
    lawful rows are repeated; where there is none at all, a `ParameterError` says so.
    """
    decoder = Decoder(schema)
    parts: list[pa.Table] = []
    missing = count
    for _ in range(_ROUNDS if schema.constraints else 1):
        table = decoder.decode(draw(missing), generator)
        lawful = np.ones(table.num_rows, dtype=bool)
        for rule in schema.constraints:
            lawful &= rule.holds(table)
        parts.append(table.filter(pa.array(lawful)))
        missing = count - sum(part.num_rows for part in parts)
        if missing == 0:
            break
    rows = pa.concat_tables(parts)
    if rows.num_rows == 0:
        raise ParameterError("No synthetic row keeps the declared constraints: they contradict the measured counts.")
    if missing:
        rows = rows.take(pa.array(np.arange(count) % rows.num_rows))
    return rows.slice(0, count).combine_chunks()
