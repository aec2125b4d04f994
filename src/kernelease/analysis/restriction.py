"""The rows that a question is about: a condition as flags of the cells that were counted."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from kernelease.analysis.cell_labels import cell_label
from kernelease.analysis.conditional_marginal import ConditionalMarginal
from kernelease.analysis.estimands import Indicator
from kernelease.analysis.identity import Identity
from kernelease.analysis.marginal import Marginal, tabulation
from kernelease.analysis.representatives import CellValues, Representatives, cell_values, representatives
from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.measured.blocks import NoisyBlocks
from kernelease.table.columns.column import Column

KEPT = 512  # marginals of chosen rows that stay at hand: those of a few questions by group


def conditional_marginals(
    declared: tuple[Column, ...], noisy: NoisyBlocks, chosen: Indicator, columns: tuple[int, ...]
) -> tuple[Marginal, ...]:
    """What was measured of some columns among the rows that fulfil a condition, by each round that did.

    All columns of the condition must have been counted together with them, in cells that it does not cut through. A
    round that did not is left out; where the condition cuts through the cells of all, it is refused.
    """
    return _conditional(Identity(declared), Identity(noisy), chosen, columns)


@lru_cache(maxsize=KEPT)
def _conditional(
    declared: Identity[tuple[Column, ...]], noisy: Identity[NoisyBlocks], chosen: Indicator, columns: tuple[int, ...]
) -> tuple[Marginal, ...]:
    own = {index for index, column in enumerate(declared.held) if column.name in chosen.columns}
    measured = tabulation(noisy.held).marginals(tuple(sorted(own | set(columns))))
    found = [(whole, _values(declared.held, chosen, whole)) for whole in measured]
    exact = [(whole, functions) for whole, functions in found if functions.exact]
    if found and not exact:
        raise ParameterError(_cut(declared.held, *found[0], chosen))
    return tuple(
        ConditionalMarginal(whole, columns, _flags(declared.held, chosen, whole, functions))
        for whole, functions in exact
    )


def _axes(
    declared: Sequence[Column], chosen: Indicator, marginal: Marginal
) -> list[tuple[Column, Representatives, Integers]]:
    """The columns of the condition: representatives, and the cell of each atom."""
    every = zip((declared[index] for index in marginal.columns), marginal.groups, strict=True)
    return [
        (column, representatives(column, chosen.conditions), groups)
        for column, groups in every
        if column.name in chosen.columns
    ]


def _values(declared: Sequence[Column], chosen: Indicator, marginal: Marginal) -> CellValues:
    """Whether rows are meant, in the cells of the condition's columns."""
    axes = _axes(declared, chosen, marginal)
    return cell_values([(column.name, points, groups) for column, points, groups in axes], chosen, None)


def _flags(declared: Sequence[Column], chosen: Indicator, marginal: Marginal, functions: CellValues) -> Floats:
    """1 for each cell of a marginal whose rows are meant, and 0 for the others: (cells,)."""
    sizes = [
        size if declared[index].name in chosen.columns else 1
        for index, size in zip(marginal.columns, marginal.shape, strict=True)
    ]
    return np.broadcast_to(functions.least(0.0)[0].reshape(sizes), marginal.shape).ravel()


def _cut(declared: Sequence[Column], marginal: Marginal, functions: CellValues, chosen: Indicator) -> str:
    """Which cell the condition cuts through, and what to ask instead."""
    axes = _axes(declared, chosen, marginal)
    far = int(np.argmax(functions.greatest(0.0)[0] - functions.least(0.0)[0]))
    place = np.unravel_index(far, [int(groups.max()) + 1 for _, _, groups in axes])
    cells = [
        (column, points, np.flatnonzero(groups == cell))
        for (column, points, groups), cell in zip(axes, place, strict=True)
    ]
    through = [one for one in cells if _varies(*one, chosen)] or cells
    told = " and ".join(f"{column.name} {cell_label(column, atoms.tolist())}" for column, _, atoms in through)
    together = ", ".join(declared[index].name for index in marginal.columns)
    return (
        f"condition: it cuts through {told}, one cell of what was counted of {together}. Ask with a condition at the "
        "ends of cells, so that all rows of a cell are meant or none."
    )


def _varies(column: Column, points: Representatives, atoms: Integers, chosen: Indicator) -> bool:
    """Whether a test of this column alone has several outcomes in a cell."""
    inside = np.isin(points.atoms, atoms)
    table = pa.table({column.name: points.values.filter(pa.array(inside))})
    leaves = [leaf for part in chosen.conditions for leaf in part.leaves() if leaf.names == (column.name,)]
    return any(len(set(leaf.test(table).to_pylist())) > 1 for leaf in leaves)
