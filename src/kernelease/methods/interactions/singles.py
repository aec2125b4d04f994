"""The first rounds: every column on its own, and again for as much as its first counts show that it needs."""

from collections.abc import Sequence

import numpy as np

from kernelease.arrays import Integers
from kernelease.measured.block import Block
from kernelease.privacy.neighbours import Neighbours
from kernelease.table.columns.column import Column

POWER = 0.5  # research: Tables: what to measure. A column's share grows with this power of its atoms
FIRST = 0.3  # research: Tables: single columns, twice. Of the share of single columns, for a first look
LONG = 128  # research: Tables: one constant at a time. More ordered atoms than that are measured in runs, too
RUN = 16  # research: Tables: one constant at a time. Atoms of a run
COARSE = 1.0 / 3.0  # research: Tables: one constant at a time. Of a long column's share, for the runs
# research: Tables: interactions in place of counts. Beside interactions also shorter ones, of more ordered atoms than
# that, which get less for it
SHORTER, SHORTER_COARSE = 40, 0.15
LEAVES = 2.0  # research: Tables: leaves of a hierarchy. Of the share of a column's groups, for its leaves


def single_blocks(
    columns: Sequence[Column],
    share: float,
    *,
    centred: bool,
    interactions: bool = False,
    needs: Sequence[float] | None = None,
    leaves: Sequence[int] = (),
) -> tuple[Block, ...]:
    """A block for each column, atom by atom, and a second one in runs of atoms for a long one.

    Noise on a sum of many atoms adds up; measured in runs as well, both the shape and the detail are seen. Counts of
    pairs show such sums, too, and `interactions` do not: beside these, shorter columns are measured in runs as well.
    A column's part of the share follows from how many of its atoms there are to be seen: its `needs`, or all. Where
    they are `centred`, noise is less, and the number of rows has to be known from elsewhere.

    A column whose atoms are groups of `leaves`, so many (0: none), has a block of these, too, for a part beside
    that of the groups. It is not centred: of so many counts the mean says next to nothing.
    """
    sizes = [column.size for column in columns] if needs is None else needs
    beside = [LEAVES if count else 0.0 for count in leaves] or [0.0] * len(columns)
    powers = np.array(sizes, dtype=np.float64) ** POWER
    whole = float((powers * (1.0 + np.array(beside))).sum())
    blocks = []
    for index, (column, part) in enumerate(zip(columns, share * powers / whole, strict=True)):
        ordered = column.in_order
        coarse = COARSE if ordered > LONG else SHORTER_COARSE if interactions and ordered > SHORTER else 0.0
        fine = part * (1.0 - coarse)
        several = centred and column.size > 1  # what has one value has nothing but its mean
        blocks.append(Block(columns=(index,), groups=(np.arange(column.size),), share=float(fine), centred=several))
        if coarse > 0.0:
            runs = _runs(column.size, ordered)
            blocks.append(Block(columns=(index,), groups=(runs,), share=float(part - fine), centred=several))
        if beside[index] > 0.0:
            every = np.arange(leaves[index])
            blocks.append(Block(columns=(index,), groups=(every,), share=float(beside[index] * part)))
    return tuple(blocks)


def first_look(columns: int, *, pure: bool) -> float:
    """The part of single columns' share for a first look at them: all, where a second one has nothing to share out.

    Nor is there one where privacy is pure: of Laplace noise, two looks for half the price each have more than one.
    """
    return 1.0 if columns == 1 or pure else FIRST


def number_of_rows(share: float) -> Block:
    """A block of no columns: one cell, in which every row is."""
    return Block(columns=(), groups=(), share=share)


def centres(columns: int, neighbours: Neighbours, *, pure: bool) -> bool:
    """Whether single columns are measured without their mean, and so up to the number of rows.

    Under add-remove a row moves them less then: half as far (squared), where there are two values. Under replace-one it
    moves no mean, and where privacy is pure it moves them farther, in L1. One column alone tells the number best.
    """
    return columns > 1 and neighbours is Neighbours.ADD_REMOVE and not pure


def _runs(atoms: int, ordered: int) -> Integers:
    runs = np.arange(ordered) // RUN
    return np.concatenate([runs, np.arange(atoms - ordered) + int(runs[-1]) + 1]).astype(np.int64)
