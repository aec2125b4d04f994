"""Simple answers from weighted synthetic rows: means, counts, probabilities, cross-tables.

They are the answers of the synthetic rows, which carry the noise of the release: a small group may be off by a lot.
"""

from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.analysis.conditions import Condition
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.table import Column, Schema

Flags: TypeAlias = NDArray[np.bool_]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One answer: of all rows (`label` None), or of those in one group."""

    label: str | None
    value: float | None  # None where no synthetic row can say
    share: float  # of all rows: the weight that the group has


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Crosstab:
    """Shares of all rows by the values of two columns: `shares[i, j]` has `rows[i]` and `columns[j]`."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    shares: Floats


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedRows:
    """Synthetic rows with their weights, and the schema that gives them meaning.

    `total` is how many private rows they stand for: public, or a noisy count.
    """

    table: pa.Table
    weights: Floats
    schema: Schema
    total: float

    def __post_init__(self) -> None:
        if len(self.weights) != self.table.num_rows or not self.weights.sum() > 0.0:
            raise ParameterError("WeightedRows: needs one weight per row, and weights that add up to more than 0.")

    @property
    def shares(self) -> Floats:
        """The weights, so that they add up to 1."""
        shares: Floats = self.weights / self.weights.sum()
        return shares

    def where(self, condition: Condition | None) -> Flags:
        """The rows of which the condition is true; all of them without one."""
        return np.ones(self.table.num_rows, dtype=bool) if condition is None else condition.holds(self.table)

    def groups(self, name: str | None) -> list[tuple[str | None, Flags]]:
        """The rows of each value (or cell, for numbers and dates) of a column that occurs, in the declared order."""
        if name is None:
            return [(None, np.ones(self.table.num_rows, dtype=bool))]
        column = self.schema.column(name)
        codes, labels = column.encode(self.table.column(name)), column.labels()
        return [(labels[code], codes == code) for code in np.unique(codes)]


def mean(
    rows: WeightedRows, column: str, *, where: Condition | None = None, by: str | None = None
) -> tuple[Group, ...]:
    """Σ w·x / Σ w over the rows whose value is not NULL. Booleans count as 0 and 1."""
    values = _numbers(rows.schema.column(column), rows.table)
    known = rows.where(where) & ~np.isnan(values)
    return tuple(
        Group(label=label, value=_ratio(rows.shares * values, rows.shares, known & member), share=share)
        for label, member, share in _members(rows, known, by)
    )


def count(rows: WeightedRows, *, where: Condition | None = None, by: str | None = None) -> tuple[Group, ...]:
    """How many private rows there are, by the release: its number of rows times the share of weight."""
    return tuple(
        Group(label=label, value=rows.total * share, share=share)
        for label, _, share in _members(rows, rows.where(where), by)
    )


def probability(
    rows: WeightedRows, event: Condition, *, where: Condition | None = None, by: str | None = None
) -> tuple[Group, ...]:
    """P(event | where): the share of weight, among the rows of the group, of those for which the event is true."""
    base, hits = rows.where(where), rows.where(event)
    return tuple(
        Group(label=label, value=_ratio(rows.shares * hits, rows.shares, base & member), share=share)
        for label, member, share in _members(rows, base, by)
    )


def crosstab(rows: WeightedRows, first: str, second: str, *, where: Condition | None = None) -> Crosstab:
    """Shares of the rows that fulfil the condition, by the values of two columns. They add up to 1, or are all 0."""
    chosen = rows.where(where)
    across = rows.groups(second)
    down = rows.groups(first)
    shares = np.array([[rows.shares[chosen & one & other].sum() for _, other in across] for _, one in down])
    return Crosstab(
        rows=tuple(str(label) for label, _ in down),
        columns=tuple(str(label) for label, _ in across),
        shares=shares / shares.sum() if shares.sum() > 0.0 else shares,
    )


def _members(rows: WeightedRows, chosen: Flags, by: str | None) -> list[tuple[str | None, Flags, float]]:
    return [(label, member, float(rows.shares[chosen & member].sum())) for label, member in rows.groups(by)]


def _ratio(numerator: Floats, denominator: Floats, chosen: Flags) -> float | None:
    total = float(denominator[chosen].sum())
    return float(numerator[chosen].sum()) / total if total > 0.0 else None


def _numbers(column: Column, table: pa.Table) -> Floats:
    """A column of numbers or booleans as float64, NaN for NULL."""
    values = table.column(column.name)
    if column.tag not in ("integer", "number", "boolean"):
        raise ParameterError(
            f"mean: column {column.name!r} is of type {column.tag} and has no mean. Ask for a probability instead."
        )
    numbers = values.cast(pa.int8()) if column.tag == "boolean" else values
    return np.asarray(numbers.cast(pa.float64()).to_numpy(), dtype=np.float64)
