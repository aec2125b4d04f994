"""Offsets of numbers from the middles of cells, and their sums over rows; groups and leaves."""

import dataclasses
import functools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.measured.blocks import Block, NoisyBlock, NoisyBlocks, RowSums, within
from kernelease.measured.sums import Ramp, Whole
from kernelease.privacy.sensitivity import Neighbours, Sensitivity, row_sensitivity
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Hierarchy

# --------------------
# Columns of two levels: groups, which are counted with other columns, and the leaves in them, counted alone.


Levels: TypeAlias = tuple[Integers | None, ...]
"""Of each column: the group of each atom where its atoms are leaves in groups, None elsewhere."""


def declared_levels(columns: Sequence[Column]) -> Levels:
    """The groups of columns whose atoms are leaves, as they are declared; None where each leaf is a group."""
    found = [column.atom_groups if isinstance(column, Hierarchy) else None for column in columns]
    return tuple(None if own is None or int(own.max()) + 1 == len(own) else own for own in found)


def levels_of(noisy: NoisyBlocks) -> Levels:
    """The groups of columns whose atoms are leaves: those without an order that were counted in fewer cells alone."""
    ordered = noisy.ordered or (0,) * len(noisy.sizes)
    found: dict[int, Integers] = {}
    for block in (one.block for one in noisy.blocks if one.block.alone):
        if not ordered[block.columns[0]] and block.cells < noisy.sizes[block.columns[0]]:
            found.setdefault(block.columns[0], block.groups[0])
    return tuple(found.get(column) for column in range(len(noisy.sizes)))


def in_groups(noisy: NoisyBlocks, levels: Levels) -> NoisyBlocks:
    """The same measurements in which groups are the atoms; those of leaves are left out."""
    if all(groups is None for groups in levels):
        return noisy
    sizes = (
        size if groups is None else int(groups.max()) + 1 for size, groups in zip(noisy.sizes, levels, strict=True)
    )
    return dataclasses.replace(
        noisy,
        sizes=tuple(sizes),
        blocks=tuple(_in_groups(one, levels) for one in noisy.blocks if not of_leaves(one.block, levels)),
        moments=tuple(_in_groups(one, levels) for one in noisy.moments),
    )


def of_leaves(block: Block, levels: Levels) -> bool:
    """Whether a block is of a column's leaves, one by one: there are always fewer groups."""
    if not block.alone or (groups := levels[block.columns[0]]) is None:
        return False
    return block.cells == len(groups)


def of_atoms(blocks: Sequence[Block], levels: Levels) -> list[Block]:
    """Blocks in cells of groups as such in cells of atoms; those that are in cells of atoms already stay.

    Blocks that share cells share them afterwards: thousands of candidates hold no array each.
    """
    if all(groups is None for groups in levels):
        return list(blocks)
    known: dict[tuple[int, int], Integers] = {}

    def spread(column: int, cells: Integers) -> Integers:
        own = levels[column]
        if own is None or len(cells) == len(own):
            return cells
        return known.setdefault((column, id(cells)), cells[own])

    return [dataclasses.replace(block, groups=tuple(map(spread, block.columns, block.groups))) for block in blocks]


def _in_groups(one: NoisyBlock, levels: Levels) -> NoisyBlock:
    if all(levels[column] is None for column in one.block.columns):
        return one
    groups = tuple(
        cells if own is None else within(own, cells)
        for cells, own in zip(one.block.groups, _of(one.block.columns, levels), strict=True)
    )
    return dataclasses.replace(one, block=dataclasses.replace(one.block, groups=groups))


def _of(columns: Sequence[int], levels: Levels) -> list[Integers | None]:
    return [levels[column] for column in columns]


# --------------------
# A number as the middle of its cell plus an offset: geometry that measuring and answering share.


BITS = 20  # of the weights of one column, at most…
BITS_OF_PRODUCT = 14  # …and of each of two: their product is then at most 2²⁸


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Offsets:
    """x = middle[cell] + unit[cell]·t, up to `slack`, where t is the weight that `ramp` gives to x.

    Units are the column's own: numbers, days, microseconds. Atoms without a number (NULL) have the weight 0, and their
    cells the middle NaN. A cell of a single value has the unit 0 where cells are told apart, and so has one that is
    too wide: its offsets are not measured.
    """

    middle: Floats  # (cells,)
    half: Floats  # (cells,): half its width
    unit: Floats  # (cells,)
    ramp: Ramp
    slack: float

    @property
    def widest(self) -> float:
        """Half the width of the widest cell that is measured."""
        return float(self.unit.max()) * self.ramp.limit

    @property
    def told_cells(self) -> NDArray[np.bool_]:
        """Whether offsets say where in a cell its numbers lie: (cells,)."""
        told: NDArray[np.bool_] = (self.half == 0.0) | (self.unit > 0.0)
        return told


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The lowest and the highest number of each of a column's cells of values, and of the finer ones that rows have.

    A column is asked once, and its cells are summed in many ways.
    """

    size: int  # atoms, those without a number too
    lowest: Floats  # (cells of values,)
    highest: Floats
    finer: tuple[Floats, Floats] | None  # the same of finer cells, where there are some

    @classmethod
    def of(cls, column: Celled) -> "Ends":
        """Those of a declared column."""
        lowest, highest = column.bounds()
        finer = None if (found := column.finer) is None else found.bounds()
        return cls(
            size=column.size,
            lowest=lowest.astype(np.float64),
            highest=highest.astype(np.float64),
            finer=None if finer is None else (finer[0].astype(np.float64), finer[1].astype(np.float64)),
        )


def offsets(
    column: Celled | Ends, cells: Integers, *, apart: bool, bits: int = BITS, narrow: float = math.inf
) -> Offsets | None:
    """The offsets of a column's numbers about the middles of cells: (atoms,) → `Offsets`.

    Where cells are told `apart`, each has its own unit, its half width over 2^bits; where they are not, the widest
    one's. Cells whose half width is above `narrow` are left out. None where no cell holds more than one value: nothing
    is left to measure.
    """
    ends = column if isinstance(column, Ends) else Ends.of(column)
    known = cells[: len(ends.lowest)]
    low, high = np.full((2, int(cells.max()) + 1), np.nan)
    np.fmin.at(low, known, ends.lowest)
    np.fmax.at(high, known, ends.highest)
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    if not np.nanmax(half) > 0.0:
        return None
    left_in = half <= max(narrow, float(half[half > 0.0].min()))  # NULL has no half
    unit = np.ldexp(np.where(left_in, half if apart else half[left_in].max(), 0.0), -bits)
    ramp = _ramp(ends, known, middle, unit, 1 << bits)
    return Offsets(middle=middle, half=half, unit=unit, ramp=ramp, slack=_slack(ends, known, middle, unit, ramp))


def measured_width(column: Celled | Ends, cells: Integers, ramp: Ramp) -> float:
    """Half the width of the widest cell that a ramp gives weights to: what `narrow` was."""
    found = offsets(column, cells, apart=True)
    weighed = np.bincount(cells, (ramp.start != 0) | (ramp.slope != 0)) > 0.0
    return 0.0 if found is None else float(np.max(found.half, where=weighed & ~np.isnan(found.half), initial=0.0))


def _ramp(ends: Ends, cells: Integers, middle: Floats, unit: Floats, limit: int) -> Ramp:
    """Weights that are linear in the fine code within each atom of several values, and constant in the others."""
    lowest, highest = ends.lowest, ends.highest
    scale = np.divide(1.0, unit, out=np.zeros_like(unit), where=unit > 0.0)[cells]
    start, slope = np.zeros((2, ends.size), dtype=np.int64)
    atoms = np.arange(len(lowest))
    if ends.finer is None:
        start[atoms] = np.rint((lowest - middle[cells]) * scale)
        return Ramp(start=start, slope=slope, limit=limit)
    first, last = ends.finer
    centre = first / 2 + last / 2
    left, right = (np.maximum(np.searchsorted(first, bound, side="right") - 1, 0) for bound in (lowest, highest))
    several, between = lowest < highest, (left + right) // 2
    rise = np.where(several, (centre[right] - centre[left]) / np.maximum(right - left, 1), 0.0)
    slope[atoms] = np.rint(rise * scale)
    at = np.where(several, centre[between], lowest)
    start[atoms] = np.rint((at - middle[cells]) * scale) - slope[atoms] * np.where(several, between, 0)
    return Ramp(start=start, slope=slope, limit=limit)


def _slack(ends: Ends, cells: Integers, middle: Floats, unit: Floats, ramp: Ramp) -> float:
    """The farthest that a legal value can be from middle + unit·t, by both ends of every fine cell in every atom."""
    lowest, highest = ends.lowest, ends.highest
    first, last = (lowest, highest) if ends.finer is None else ends.finer
    fine = np.arange(len(first))
    worst = 0.0
    for end in (first, last):  # a fine cell lies in one atom, or in two
        atom = np.maximum(np.searchsorted(lowest, end, side="right") - 1, 0)
        near = middle[cells[atom]] + unit[cells[atom]] * ramp.of(atom, fine)
        told = unit[cells[atom]] > 0.0
        for value in (np.maximum(first, lowest[atom]), np.minimum(last, highest[atom])):
            worst = max(worst, float(np.abs(np.where(told, value - near, 0.0)).max()))
    return worst


# --------------------
# Moments: sums of what rows weigh, by how far their numbers lie from the middles of cells.


@final
@dataclass(frozen=True, kw_only=True)
class Moments(RowSums):
    """Over the rows of each cell Σ Π_i t_i, where t_i is a public whole number of the row's value in column i.

    It is at most `ramps[i].limit` in size, or 1 where `ramps[i]` is None. In rows, each of them counts between −1 and
    1. Counts say nothing of where in its cell a number is, and moments nothing of counts: they are estimated apart
    (`estimate.offset_sums`), and rows are drawn to agree with them within cells.
    """

    ramps: tuple[Ramp | None, ...] = field()

    def __post_init__(self) -> None:
        if len(self.ramps) != len(self.columns) or self.ramp_count not in (1, 2):
            raise ParameterError("Moments: of its columns one or two are weighted; the others need None as their ramp.")
        RowSums.__post_init__(self)

    @cached_property
    def addends(self) -> tuple[Whole, ...]:
        """The product of its weights."""
        weights = [ramp.at(column) for column, ramp in zip(self.columns, self.ramps, strict=True) if ramp is not None]
        return (functools.reduce(operator.mul, weights),)

    def sensitivity(self, neighbours: Neighbours, unit: int) -> Sensitivity:
        """A row adds to one cell what it weighs; under replace-one another may take it away there."""
        return row_sensitivity(neighbours, unit=self.whole * unit)

    @property
    def label(self) -> str:
        """Offsets."""
        return f"offsets of columns {self.columns}"
