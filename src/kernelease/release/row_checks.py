"""Whether released rows are ones that the declared columns could have."""

import datetime
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Listed
from kernelease.table.domain import Domain
from kernelease.table.schema import Schema


def row_problems(table: pa.Table, domain: Domain) -> list[str]:
    """What is wrong with the rows, in words; vectors have nothing declared but finite weights."""
    weights = table.column(domain.weight_name).to_numpy()
    problems = [] if np.isfinite(weights).all() else ["a weight is not a number"]
    return problems if domain.schema is None else [*problems, *_against(table, domain.schema, domain.weight_name)]


def _against(table: pa.Table, schema: Schema, weight: str) -> Iterator[str]:
    if table.column_names != [*schema.order, weight]:
        yield f"the columns are not those of the schema, in its order, and {weight}"
        return
    odd = [c for c in (*schema.columns, *schema.structure.columns) if table.column(c.name).type != c.arrow_type]
    for column in odd:
        found = table.column(column.name).type
        yield f"column {column.name!r} is of type {found}, declared is {column.arrow_type}"
    for column in (one for one in schema if one not in odd):
        values = table.column(column.name)
        if values.null_count and not column.nullable:
            yield f"column {column.name!r} holds NULLs, but is not nullable"
        elif not _within(column, values):
            yield f"column {column.name!r} holds values outside its declaration"
    if odd:
        return
    for name in schema.structure.broken(table.select(schema.order)):
        yield f"column {name!r} does not hold what its row says"
    for rule in schema.constraints:
        if not rule.holds(table).all():
            yield f"a row breaks the constraint {rule.text!r}"


def _within(column: Column, values: pa.ChunkedArray) -> bool:
    """Whether every value is one that the column could have decoded."""
    if isinstance(column, Listed):
        return bool(pc.all(pc.is_in(values, value_set=column.every_value), min_count=0).as_py())
    low, high = getattr(column, "min", None), getattr(column, "max", None)
    if low is None or high is None:
        again = column.decode(column.encode(values), np.random.default_rng(0))
        return bool(pc.all(pc.equal(values.combine_chunks(), again), min_count=0).as_py())
    keys = pc.min_max(column.keys(values)).as_py()
    lowest, highest = (column.key(str(bound) if isinstance(bound, datetime.date) else bound) for bound in (low, high))
    return keys["min"] is None or bool(lowest <= keys["min"] and keys["max"] <= highest)
