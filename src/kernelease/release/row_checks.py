"""Whether released rows are ones that the declared columns could have."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

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
        elif not column.decodes_to(values.combine_chunks()):
            finer = ", or with more digits than it declares" if column.family in ("number", "time") else ""
            yield f"column {column.name!r} holds values outside its declaration{finer}"
    if odd:
        return
    for name in schema.structure.broken(table.select(schema.order)):
        yield f"column {name!r} does not hold what its row says"
    for rule in schema.constraints:
        if not rule.holds(table).all():
            yield f"a row breaks the constraint {rule.text!r}"
