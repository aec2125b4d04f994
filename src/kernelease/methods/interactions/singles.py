"""The first round: every column on its own."""

from collections.abc import Sequence

import numpy as np

from kernelease.arrays import Integers
from kernelease.measured.block import Block
from kernelease.table.columns.column import Column

POWER = 0.5  # research: Tables: what to measure. A column's share grows with this power of its atoms
LONG = 128  # research: Tables: one constant at a time. More ordered atoms than that are measured in runs, too
RUN = 16  # research: Tables: one constant at a time. Atoms of a run
COARSE = 1.0 / 3.0  # research: Tables: one constant at a time. Of a long column's share, for the runs
# research: Tables: interactions in place of counts. Beside interactions also shorter ones, of more ordered atoms than
# that, which get less for it
SHORTER, SHORTER_COARSE = 40, 0.15


def single_blocks(columns: Sequence[Column], share: float, *, interactions: bool = False) -> tuple[Block, ...]:
    """A block for each column, atom by atom, and a second one in runs of atoms for a long one.

    Noise on a sum of many atoms adds up; measured in runs as well, both the shape and the detail are seen. Counts of
    pairs show such sums, too, and `interactions` do not: beside these, shorter columns are measured in runs as well.
    """
    powers = np.array([float(column.size) ** POWER for column in columns])
    blocks = []
    for index, (column, part) in enumerate(zip(columns, share * powers / powers.sum(), strict=True)):
        ordered = column.in_order
        coarse = COARSE if ordered > LONG else SHORTER_COARSE if interactions and ordered > SHORTER else 0.0
        fine = part * (1.0 - coarse)
        blocks.append(Block(columns=(index,), groups=(np.arange(column.size),), share=float(fine)))
        if coarse > 0.0:
            blocks.append(Block(columns=(index,), groups=(_runs(column.size, ordered),), share=float(part - fine)))
    return tuple(blocks)


def smallest_block(columns: Sequence[Column], share: float) -> Block:
    """The column of fewest atoms: its sum tells the number of rows with least noise."""
    index = min(range(len(columns)), key=lambda i: (columns[i].size, i))
    return Block(columns=(index,), groups=(np.arange(columns[index].size),), share=share)


def _runs(atoms: int, ordered: int) -> Integers:
    runs = np.arange(ordered) // RUN
    return np.concatenate([runs, np.arange(atoms - ordered) + int(runs[-1]) + 1]).astype(np.int64)
