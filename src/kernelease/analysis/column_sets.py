"""Sets of columns that were counted together, each from all the blocks that hold it."""

import itertools
import math
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks
from kernelease.privacy.step import Law

Key: TypeAlias = tuple[tuple[int, bytes], ...]
"""Columns and the grouping of their atoms: what two releases must share to be compared."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSet:
    """Noisy counts of the cells of some columns: the margins of several blocks, weighted by their precision.

    Noise is of variance `variance` and independent among cells, up to the number of rows: what adds up to 0 over the
    cells of each column is independent between sets.
    """

    columns: tuple[int, ...]
    groups: tuple[Integers, ...]
    counts: Floats  # an axis for each column
    variance: float
    law: Law

    @property
    def key(self) -> Key:
        """What the set is, whoever measured it."""
        return tuple((column, groups.tobytes()) for column, groups in zip(self.columns, self.groups, strict=True))


def column_sets(
    noisy: NoisyBlocks, *, among: frozenset[int] | None = None, every_round: bool = False
) -> dict[Key, ColumnSet]:
    """All sets of columns that some block holds; `among` limits the columns.

    Blocks that were selected in sight of the private rows (of a later round) are left out where others are there: how
    they would vary with another sample of rows is not known. `every_round` takes them all.
    """
    planned = [block for block in noisy.blocks if every_round or block.round == 0]
    sets: dict[Key, ColumnSet] = {}
    for block in planned or noisy.blocks:
        for one in _subsets(block, among):
            sets[one.key] = _combined(sets[one.key], one) if one.key in sets else one
    return sets


def _subsets(block: NoisyBlock, among: frozenset[int] | None) -> list[ColumnSet]:
    """Each set of a block's columns, with its margins."""
    columns = sorted(zip(block.block.columns, range(len(block.block.columns)), strict=True))
    found = []
    for size in range(1, len(columns) + 1):
        for chosen in itertools.combinations(columns, size):
            if among is None or {column for column, _ in chosen} <= among:
                found.append(_margin(block, tuple(axis for _, axis in chosen)))
    return found


def _margin(block: NoisyBlock, axes: tuple[int, ...]) -> ColumnSet:
    shape, values = block.block.shape, block.values
    others = tuple(axis for axis in range(len(shape)) if axis not in axes)
    ranks = np.argsort(np.argsort(axes))
    return ColumnSet(
        columns=tuple(block.block.columns[axis] for axis in axes),
        groups=tuple(block.block.groups[axis] for axis in axes),
        counts=np.transpose(values.sum(axis=others), tuple(ranks)),
        variance=block.sigma**2 * math.prod(shape[axis] for axis in others),
        law=block.measurement.law,
    )


def _combined(one: ColumnSet, other: ColumnSet) -> ColumnSet:
    share = other.variance / (one.variance + other.variance)  # of the first
    return ColumnSet(
        columns=one.columns,
        groups=one.groups,
        counts=share * one.counts + (1.0 - share) * other.counts,
        variance=share * one.variance,
        law=one.law,
    )
