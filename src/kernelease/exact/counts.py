"""Exact contingency counts and moments of a table: the private side of the Interactions method."""

from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import BigIntegers, Integers
from kernelease.exact.counting import block_of, count_blocks, weigh_rows
from kernelease.exact.private import EncodedRows, Private, public_number
from kernelease.machine import cores
from kernelease.measured.blocks import MOST_COLUMNS, Block, NoisyBlock
from kernelease.measured.counts import Counts
from kernelease.passes import Forest
from kernelease.privacy.accounting import Selection
from kernelease.privacy.mechanisms import PrivacyFilter, measure, select
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import Neighbours, distance_sensitivity

Counter: TypeAlias = Callable[[Sequence[Block]], list[Integers]]
Again: TypeAlias = Callable[[Any], "ExactCounts"]  # of a schema
Weigher: TypeAlias = Callable[[Sequence[Block]], list[BigIntegers]]


@final
class ExactCounts(Private):
    """How many rows hold each combination of cells, for the blocks that are asked for. Private: it shows no value.

    Single columns are counted once, at the start; every other call is a pass over the rows. `privatise` and `choose`
    are the only ways out, and each charges the budget before it draws noise.
    """

    __slots__ = ("_count", "_counter", "_singles", "_weigher", "again", "sizes", "unit")

    def __init__(
        self, counter: Counter, sizes: tuple[int, ...], *, weigher: Weigher, unit: int = 1, count: int | None = None
    ) -> None:
        self.sizes = sizes
        self.again: Again | None = None  # counts of the same rows by another schema: some columns, in other cells
        self.unit = unit  # what one row (or person) adds in all
        self._counter, self._weigher = counter, weigher  # of counts, and of moments
        singles = [Counts(columns=(i,), groups=(np.arange(size),), share=0.0) for i, size in enumerate(sizes)]
        self._singles: dict[tuple[int, ...], Integers] = {(i,): table for i, table in enumerate(counter(singles))}
        rows = int(self._singles[0,].sum())  # every row is in exactly one cell of every block
        self._count = rows if count is None else count

    @classmethod
    def of(cls, rows: EncodedRows, sizes: tuple[int, ...], *, unit: int = 1) -> "ExactCounts":
        """Counts of encoded rows."""
        return cls(
            lambda blocks: count_blocks(rows, blocks, sizes, threads=cores()),
            sizes,
            unit=unit,
            weigher=lambda blocks: weigh_rows(rows, blocks, len(sizes), threads=cores()),
        )

    def first(self, columns: int) -> "ExactCounts":
        """The same rows with so many of their first columns alone."""
        counter, weigher, unit, count = self._counter, self._weigher, self.unit, self._count
        return ExactCounts(counter, self.sizes[:columns], weigher=weigher, unit=unit, count=count)

    def public_rows(self, neighbours: Neighbours) -> float | None:
        """The number of rows (or persons) where the relation makes it public, and None elsewhere.

        Raises `ParameterError` for an empty table where the number is public.
        """
        known = public_number(self._count, neighbours)
        return None if known is None else known / self.unit

    def privatise(
        self, blocks: Sequence[Block], budget: PrivacyFilter, *, noise: NoiseSource, stage: int = 0
    ) -> tuple[NoisyBlock, ...]:
        """Charge each block's share of the budget, then add noise to its counts, or sums of weights."""
        self.public_rows(budget.neighbours)
        exact, neighbours = self._exact(blocks), budget.neighbours
        moved, labels = [block.sensitivity(neighbours, self.unit) for block in blocks], [one.label for one in blocks]
        measured = [
            measure(table.ravel().astype(object), far, budget=budget, share=block.share, noise=noise, label=label)
            for block, table, far, label in zip(blocks, exact, moved, labels, strict=True)
        ]
        return tuple(
            [
                NoisyBlock(block=block, measurement=one, unit=self.unit, round=stage)
                for block, one in zip(blocks, measured, strict=True)
            ]
        )

    def choose(
        self,
        candidates: Sequence[Block],
        expected: Sequence[Integers],
        handicaps: Sequence[int],
        budget: PrivacyFilter,
        *,
        count: int,
        share: float,
        noise: NoiseSource,
        forest: bool = False,
    ) -> tuple[tuple[int, ...], tuple[Selection, ...]]:
        """Private choice of the `count` candidates whose counts are farthest from what is `expected` of them.

        Their places come back, and the selections as they were drawn: each is an index among those left by then.

        The score of a candidate is Σ |count − expected| over its cells, less its handicap: both are public integers in
        units, so that one row moves a score by exactly `distance_sensitivity` at most. Of four columns it is half of
        what their distance has beyond that of any three of them: what three show is theirs to show. Each choice
        costs an equal part of `share`, and candidates are chosen once. A `forest` is made of pairs that join columns
        which no chosen pairs join yet; where none is left, no more is chosen or charged.
        """
        step = distance_sensitivity(budget.neighbours, unit=self.unit)
        scores = [
            _distance(table - guess) - handicap
            for table, guess, handicap in zip(self._exact(candidates), expected, handicaps, strict=True)
        ]
        trees = Forest([candidate.columns for candidate in candidates], len(self.sizes))
        free = np.ones(len(candidates), dtype=bool)
        chosen: list[int] = []
        picks: list[Selection] = []
        while len(chosen) < count and (left := np.flatnonzero(free & trees.open if forest else free)).size:
            pick = select(
                [scores[index] for index in left],
                step,
                budget=budget,
                share=share / count,
                noise=noise,
                label="choice of a block",
            )
            index = int(left[pick.index])
            free[index] = False
            trees.join(index)
            chosen.append(index)
            picks.append(pick)
        return tuple(chosen), tuple(picks)

    def _exact(self, blocks: Sequence[Block]) -> list[NDArray[Any]]:
        """The exact integers of each block, in its shape: what it makes of counts, or of sums of weights."""
        weighted = [block for block in blocks if block.ramps]
        weighed = iter(self._weigher(weighted) if weighted else [])
        few, four = (self._joint(blocks, sizes) for sizes in (range(2, MOST_COLUMNS), [MOST_COLUMNS]))

        def table(block: Block) -> NDArray[Any]:
            if block.ramps:
                return next(weighed)
            if not block.columns:
                return np.array(self._singles[0,].sum())
            if len(block.columns) == 1:
                return block_of(self._singles, block)
            return next(four if len(block.columns) == MOST_COLUMNS else few)

        tables = [table(block) for block in blocks]
        return [block.exact(own) for block, own in zip(blocks, tables, strict=True)]

    def _joint(self, blocks: Sequence[Block], sizes: Container[int]) -> Iterator[Integers]:
        """The tables of counts of so many columns, in a pass of their own.

        Cells of four columns are coarser. In one pass with others they would be counted as fine as these.
        """
        wanted = [block for block in blocks if not block.ramps and len(block.columns) in sizes]
        return iter(self._counter(wanted) if wanted else [])


def _distance(away: Integers) -> int:
    """Σ |away| over the cells of a table; of four columns, half of what that is beyond the same of any three of them.

    A row moves Σ |away| by at most as much in sums along an axis as in the table, so their difference by twice that,
    and half of it, rounded down, by once.
    """
    whole = int(np.abs(away).sum())
    if away.ndim < MOST_COLUMNS:
        return whole
    return (whole - max(int(np.abs(away.sum(axis=axis)).sum()) for axis in range(away.ndim))) // 2
