"""How pairs of columns would be measured: their cells and shares, by what is known of single columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.fit.mixtures.mixture import Mixture
from kernelease.measured.block import Block
from kernelease.methods.interactions.details import any_merged, detail_blocks
from kernelease.methods.interactions.pairs import (
    blocks_of,
    in_few_cells_too,
    interaction_noise,
    pair_blocks,
    pair_cells,
    with_share,
)
from kernelease.methods.interactions.resolution import Noise
from kernelease.methods.interactions.shares import Shares
from kernelease.table.columns.column import Column

TAKEN = 0.5  # research: Tables: details of pairs. Of the share of sets, the most that details have with their own


def seen(columns: Sequence[Column], shares: Shares, noise: Noise) -> Noise:
    """The noise through which pairs are seen, for each share of the budget."""
    return interaction_noise(columns, noise) if shares.interactions else noise


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """What a round of pairs is planned from: columns and their distributions, rows, shares, and the noise of a count.

    A `target` of few classes may `split` all pairs where they are counts; else pairs with it get a larger share.
    """

    columns: tuple[Column, ...]
    distributions: tuple[Floats, ...]
    rows: float
    shares: Shares
    noise: Noise
    target: int | None = None
    split: bool = False

    def every(self) -> tuple[Block, ...]:
        """A block for each pair, with what was set aside for details where there can be none."""
        splits = self.split and not self.shares.interactions
        blocks = pair_blocks(
            self.columns,
            self.distributions,
            rows=self.rows,
            share=self.shares.pairs,
            noise=seen(self.columns, self.shares, self.noise),
            target=self.target if splits else None,
            favoured=None if splits else self.target,
            centred=self.shares.interactions,
        )
        if not blocks or self.shares.details == 0.0 or any_merged(blocks, self.distributions):
            return blocks
        return with_share(blocks, self.shares.pairs + self.shares.details)

    def details(self, mixture: Mixture, pairs: Sequence[Block]) -> tuple[Block, ...]:
        """Those of the pairs that nearly determine each other by a first fit, once more in finer cells."""
        if self.shares.details == 0.0 or not any_merged(pairs, self.distributions):
            return ()
        return detail_blocks(
            self.columns,
            self.distributions,
            mixture,
            pairs,
            rows=self.rows,
            shares=(self.shares.details, self.shares.details + TAKEN * self.shares.triples),
            noise=seen(self.columns, self.shares, self.noise),
        )

    def cells(self) -> list[Integers]:
        """The cells of each column in pairs that are chosen."""
        share, most = self.shares.forest + self.shares.pairs, self.shares.most or 0
        if most == 0:
            return [np.zeros(column.size, dtype=np.int64) for column in self.columns]
        noise = seen(self.columns, self.shares, self.noise)
        return pair_cells(self.columns, self.distributions, rows=self.rows, share=share, noise=noise, most=most)

    def chosen(self, sets: Sequence[tuple[int, ...]], cells: Sequence[Integers], share: float) -> tuple[Block, ...]:
        """Pairs that were chosen, in these cells of their columns, as they are measured."""
        interactions = self.shares.interactions
        blocks = blocks_of(sets, cells, share, favoured=self.target, centred=interactions)
        if not interactions:
            return blocks
        noise = seen(self.columns, self.shares, self.noise)
        return in_few_cells_too(blocks, self.columns, self.distributions, rows=self.rows, noise=noise)
