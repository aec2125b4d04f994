"""Coarser cells of columns, beside their own: what blocks that see a column less finely are about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Integers
from kernelease.fit.mixtures.adam import Single
from kernelease.measured.block import within
from kernelease.measured.blocks import NoisyBlock


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Groupings:
    """For some columns, sums over groups of their cells, which follow the C cells of all columns: (M, C) → (M, X)."""

    cells: tuple[Integers, ...]  # of each column: the cell of each atom
    places: tuple[slice, ...]  # of each column: its cells among all
    coarse: dict[tuple[int, bytes], slice]  # column and grouping of its atoms → the groups' places
    one_hot: dict[tuple[int, bytes], Single]  # (cells of the column, groups)

    @classmethod
    def of(cls, blocks: Sequence[NoisyBlock], cells: tuple[Integers, ...], places: tuple[slice, ...]) -> "Groupings":
        """All groupings that some block has and that are not the columns' own cells: those of pairs first."""
        coarse, one_hot, end = {}, {}, places[-1].stop
        for block in sorted(blocks, key=lambda block: len(block.block.columns)):
            for column, group in zip(block.block.columns, block.block.groups, strict=True):
                key = (column, group.tobytes())
                if key not in coarse and not np.array_equal(group, cells[column]):
                    one_hot[key] = np.eye(int(group.max()) + 1, dtype=np.float32)[within(cells[column], group)]
                    coarse[key] = slice(end, end := end + one_hot[key].shape[1])
        return cls(cells=cells, places=places, coarse=coarse, one_hot=one_hot)

    def place(self, column: int, group: Integers) -> slice:
        """Where a block's cells of a column are."""
        return self.coarse.get((column, group.tobytes()), self.places[column])

    @property
    def width(self) -> int:
        """X: cells of all columns, and groups of them."""
        return sum(place.stop - place.start for place in (*self.places, *self.coarse.values()))

    @property
    def means(self) -> Single:
        """The mean probability of a column's cells, or groups of them, for each of these: (X,)."""
        widths = [place.stop - place.start for place in (*self.places, *self.coarse.values())]
        return np.repeat(1.0 / np.array(widths), widths).astype(np.float32)

    def extend(self, q: Single) -> Single:
        """Cells, and the sums over groups of them: (M, C) → (M, X)."""
        if not self.coarse:
            return q
        return np.concatenate([q, *(q[:, self.places[key[0]]] @ onto for key, onto in self.one_hot.items())], axis=1)

    def fold(self, slopes: Single) -> Single:
        """The transpose: what is asked of groups is asked of each of their cells, (M, X) → (M, C)."""
        slope = np.ascontiguousarray(slopes[:, : self.places[-1].stop])
        for key, onto in self.one_hot.items():
            slope[:, self.places[key[0]]] += slopes[:, self.coarse[key]] @ onto.T
        return slope
