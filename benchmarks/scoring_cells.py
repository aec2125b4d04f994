"""Cells to compare two tables in: the values of categories, and quantiles of the real table's numbers and dates.

They do not depend on how a contender discretises, and a value that many rows share has a cell of its own.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.arrays import Floats, Integers
from kernelease.table import Column, Schema

MOST = 20  # cells of a column of numbers


@dataclass(frozen=True)
class ScoringCells:
    """For each column its edges (numbers, dates) or labels (everything else); NULL comes last."""

    schema: Schema
    edges: tuple[Floats | None, ...]

    @classmethod
    def of(cls, schema: Schema, real: pa.Table) -> "ScoringCells":
        return cls(schema, tuple(_edges(column, real) if _is_numeric(column) else None for column in schema))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each column, NULL included."""
        return tuple(
            (len(column.labels()) if edges is None else len(edges) + 1) + 1
            for column, edges in zip(self.schema, self.edges, strict=True)
        )

    def encode(self, table: pa.Table) -> Integers:
        """The cell of every value: (n, columns)."""
        codes = [
            _labelled(column, table) if edges is None else _between(edges, _numbers(column, table))
            for column, edges in zip(self.schema, self.edges, strict=True)
        ]
        return np.column_stack(codes)


def _is_numeric(column: Column) -> bool:
    kind = column.arrow_type
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)


def _numbers(column: Column, table: pa.Table) -> Floats:
    """Values as floats, NULL as NaN."""
    values = table.column(column.name)
    if pa.types.is_date(column.arrow_type):
        values = values.cast(pa.date32()).cast(pa.int32())
    return values.cast(pa.float64()).to_numpy()


def _edges(column: Column, real: pa.Table) -> Floats:
    values = _numbers(column, real)
    shares = np.arange(1, MOST) / MOST
    return np.unique(np.quantile(values[~np.isnan(values)], shares, method="inverted_cdf"))


def _between(edges: Floats, values: Floats) -> Integers:
    cells = np.searchsorted(edges, values, side="left")
    return np.where(np.isnan(values), len(edges) + 1, cells)


def _labelled(column: Column, table: pa.Table) -> Integers:
    labels = pa.array([label for label in column.labels() if label != "NULL"])
    found = pc.index_in(table.column(column.name).cast(pa.string()), labels)
    return pc.fill_null(found, len(column.labels())).to_numpy().astype(np.int64)
