"""Values that stand for the atoms of a column: the extremes of each cell, and what a question can tell apart in it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Integers
from kernelease.table import Column, Date, Datetime, Integer, Number
from kernelease.table.columns import Celled, Stepped
from kernelease.table.expressions import Compared, Condition

EVEN = 5  # values spread over each cell, both ends among them
DAY = 86_400_000_000  # microseconds
LEAST = 1e-9  # of all rows, in every atom: so that every cell has an average
_DUST = 1e-9  # of a step: what binary fractions leave behind decimals


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Representatives:
    """Values of a column, and the atom of each: (m,). `weights` average over a cell: evenly spread values have some.

    A function that is monotone between them within each cell has its least and greatest value among them.
    """

    atoms: Integers
    values: pa.Array
    weights: Floats


def representatives(column: Column, conditions: Iterable[Condition] = ()) -> Representatives:
    """The values that decide how conditions, and functions that are monotone in a cell, come out on each atom."""
    if not isinstance(column, Celled):
        every = np.arange(column.size)
        values = column.decode(every, np.random.default_rng(0))
        return Representatives(atoms=every, values=values, weights=np.ones(column.size))
    first, last = extremes(column)
    spread = np.linspace(first, last, EVEN)  # (EVEN, cells)
    spread[0], spread[-1] = first, last
    numbers = _legal(column, spread, first)
    marks = _marks(column, conditions)
    atoms = column.encode(_arrow(column, np.append(numbers.ravel(), marks)))
    order, kept = np.unique(
        np.stack([atoms.astype(np.float64), np.append(numbers.ravel(), marks)]), axis=1, return_index=True
    )
    null = [column.cell_count] * column.nullable
    return Representatives(
        atoms=np.append(order[0].astype(np.int64), np.array(null, dtype=np.int64)),
        values=pa.concat_arrays([_arrow(column, order[1]), pa.nulls(len(null), column.arrow_type)]),
        weights=np.append(kept < numbers.size, np.ones(len(null))).astype(np.float64),
    )


def weighted(points: Representatives, shares: Floats) -> Representatives:
    """The same, where atoms weigh as much as a distribution says: (atoms,) → weights."""
    even = np.bincount(points.atoms, weights=points.weights, minlength=len(shares))
    return replace(points, weights=points.weights * (shares / even)[points.atoms])


def extremes(column: Celled) -> tuple[Floats, Floats]:
    """The least and the greatest value of each cell, in the column's own unit (days, microseconds): (cells,) each."""
    lowest, highest = column.bounds()
    return lowest.astype(np.float64), highest.astype(np.float64)


def _legal(column: Celled, numbers: Floats, first: Floats) -> Floats:
    step = _step(column)
    return numbers if step is None else np.asarray(first + np.rint((numbers - first) / step) * step)


def _step(column: Celled) -> float | None:
    """How far legal values are apart; None for a continuum."""
    if isinstance(column, Stepped):
        return float(column.tick)
    assert isinstance(column, Number)
    return column.resolution


def _marks(column: Celled, conditions: Iterable[Condition]) -> Floats:
    """The values around each number that a condition compares the column with, all of them legal."""
    found: list[float] = []
    for leaf in (leaf for condition in conditions for leaf in condition.leaves()):
        if isinstance(leaf, Compared) and column.name in leaf.names:
            found += _compared(column, leaf)
    low, high = (float(extreme) for extreme in (extremes(column)[0][0], extremes(column)[1][-1]))
    step, marks = _step(column), np.clip(np.array(found, dtype=np.float64), low, high)
    if step is None:
        around = np.concatenate([np.nextafter(marks, -np.inf), marks, np.nextafter(marks, np.inf)])
    else:
        level = np.floor((marks - low) / step + _DUST)
        around = low + np.concatenate([level - 1, level, level + 1]) * step
    return np.asarray(np.clip(around, low, high))


def _compared(column: Celled, leaf: Compared) -> list[float]:
    """What a test compares the column with: a literal, or the extremes of the other column's cells."""
    if not isinstance(leaf.right, Column):
        return [leaf.left.key(leaf.right) / (DAY if isinstance(column, Date) else 1)]
    other = leaf.right if leaf.left.name == column.name else leaf.left
    if not isinstance(other, Celled):
        return []
    scale = (DAY if isinstance(other, Date) else 1) / (DAY if isinstance(column, Date) else 1)
    return [float(value) * scale for ends in extremes(other) for value in ends]


def _arrow(column: Celled, numbers: Any) -> pa.Array:
    """Numbers in the column's own unit as values of its type."""
    if isinstance(column, Number):
        digits = None if column.resolution is None else 10 - math.floor(math.log10(column.resolution))
        return pa.array(numbers if digits is None else np.round(numbers, digits), pa.float64())
    whole = np.rint(numbers).astype(np.int64)
    if isinstance(column, Integer):
        return pa.array(whole)
    if isinstance(column, Datetime):
        return pa.array(whole).cast(column.arrow_type)
    return pa.array(whole.astype(np.int32)).cast(column.arrow_type)
