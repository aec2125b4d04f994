"""Atoms that a question can't tell apart, put into one class: so that questions of many columns stay small."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.analysis.representatives import Representatives, representatives
from kernelease.arrays import Integers
from kernelease.table import Column
from kernelease.table.expressions import Condition, Leaf


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """The class of each atom of a column, and representatives of the classes."""

    groups: Integers  # (atoms,)
    points: Representatives


def classes(column: Column, conditions: Sequence[Condition], *, parts: int) -> Classes:
    """Atoms with the same outcomes of all tests of this column alone, in `parts` ranges where its values matter, too.

    With one part, only the tests matter: the representatives of a class are one of each outcome.
    """
    points = representatives(column, conditions)
    leaves = [leaf for condition in conditions for leaf in condition.leaves() if leaf.names == (column.name,)]
    outcome = _outcomes(points, column, leaves)
    signature = np.zeros((column.size, int(outcome.max()) + 1 + 1), dtype=np.int64)
    signature[points.atoms, outcome] = 1
    signature[:, -1] = _ranges(column, parts)
    groups = np.unique(signature, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    kind = np.stack([groups[points.atoms], outcome], axis=1)
    first = np.unique(kind, axis=0, return_index=True)[1]
    last = len(kind) - 1 - np.unique(kind[::-1], axis=0, return_index=True)[1]
    kept = np.unique(first if parts == 1 else np.concatenate([first, (first + last) // 2, last]))
    chosen = Representatives(
        atoms=points.atoms[kept], values=points.values.take(pa.array(kept)), weights=np.ones(len(kept))
    )
    return Classes(groups=groups, points=chosen)


def _outcomes(points: Representatives, column: Column, leaves: Sequence[Leaf]) -> Integers:
    """A number for each combination of outcomes (true, false, null) of the tests: (m,)."""
    table = pa.table({column.name: points.values})
    flags = [np.zeros(len(points.atoms), dtype=np.int64)]
    flags += [np.asarray(pc.fill_null(pc.cast(leaf.test(table), pa.int8()), 2), dtype=np.int64) for leaf in leaves]
    return np.unique(np.stack(flags, axis=1), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _ranges(column: Column, parts: int) -> Integers:
    """Neighbouring atoms in at most so many ranges; NULL and other on their own."""
    if parts == 1:
        return np.zeros(column.size, dtype=np.int64)
    if not column.ordered:
        return np.arange(column.size)
    ordinary = int(np.count_nonzero(~np.isnan(column.centres())))
    ranges = np.arange(column.size)
    ranges[:ordinary] = ranges[:ordinary] * min(parts, ordinary) // max(1, ordinary)
    ranges[ordinary:] += parts
    return ranges
