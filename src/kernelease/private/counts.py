"""Exact contingency counts and moments of a table: the private side of the Interactions method."""

from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import BigIntegers, Integers
from kernelease.errors import ParameterError
from kernelease.machine import cores
from kernelease.measured.blocks import MOST_COLUMNS, Block, NoisyBlock, NoisyBlocks, estimated_rows, sensitivity_of
from kernelease.privacy.mechanisms import PrivacyFilter, measure, select
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import distance_sensitivity
from kernelease.privacy.step import Selection
from kernelease.private.counting import block_of, count_blocks, weigh_rows
from kernelease.private.encoded import EncodedRows
from kernelease.private.private import Private

# --------------------
# A forest over columns: which pairs would join two of its trees.


@final
class Forest:
    """Columns joined to trees by pairs; at first every column is a tree of its own.

    >>> forest = Forest([(0, 1), (1, 2), (0, 2)], 3)
    >>> forest.join(0), forest.join(1), forest.open.tolist()
    (None, None, [False, False, False])
    """

    __slots__ = ("_first", "_second", "_tree")

    def __init__(self, pairs: Sequence[tuple[int, ...]], columns: int) -> None:
        self._tree: Integers = np.arange(columns)
        self._first, self._second = (np.array([pair[end] for pair in pairs], dtype=np.int64) for end in (0, -1))

    @property
    def open(self) -> NDArray[np.bool_]:
        """Whether each pair would join two trees."""
        joins: NDArray[np.bool_] = self._tree[self._first] != self._tree[self._second]
        return joins

    def join(self, pair: int) -> None:
        """Make one tree of the two that a pair touches."""
        one, other = self._tree[self._first[pair]], self._tree[self._second[pair]]
        self._tree[self._tree == other] = one


# --------------------
# The counts and moments themselves.


Counter: TypeAlias = Callable[[Sequence[Block]], list[Integers]]
Weigher: TypeAlias = Callable[[Sequence[Block]], list[BigIntegers]]


@final
class ExactCounts(Private):
    """How many rows hold each combination of cells, for the blocks that are asked for. Private: it shows no value.

    Single columns are counted once, at the start; every other call is a pass over the rows. `privatise` and `choose`
    are the only ways out, and each charges the budget before it draws noise.
    """

    __slots__ = ("_count", "_counter", "_singles", "_weigher", "sizes", "unit")

    def __init__(self, counter: Counter, sizes: tuple[int, ...], *, weigher: Weigher, unit: int = 1) -> None:
        self.sizes = sizes
        self.unit = unit  # what one row (or person) adds in all
        self._counter, self._weigher = counter, weigher  # of counts, and of moments
        singles = [Block(columns=(i,), groups=(np.arange(size),), share=0.0) for i, size in enumerate(sizes)]
        self._singles: dict[tuple[int, ...], Integers] = {(i,): table for i, table in enumerate(counter(singles))}
        self._count = int(self._singles[0,].sum())  # every row is in exactly one cell of every block

    @classmethod
    def of(cls, rows: EncodedRows, sizes: tuple[int, ...], *, unit: int = 1) -> "ExactCounts":
        """Counts of encoded rows."""
        return cls(
            lambda blocks: count_blocks(rows, blocks, sizes, threads=cores()),
            sizes,
            unit=unit,
            weigher=lambda blocks: weigh_rows(rows, blocks, len(sizes), threads=cores()),
        )

    @classmethod
    def blank(cls, sizes: tuple[int, ...], *, unit: int, count: int) -> "ExactCounts":
        """Counts that are all 0, of a table of which `count` (in units) is said to be the number of rows."""
        blank = cls(
            lambda blocks: [np.zeros(block.shape, dtype=np.int64) for block in blocks],
            sizes,
            weigher=lambda blocks: [np.zeros(block.shape, dtype=object) for block in blocks],
            unit=unit,
        )
        blank._count = count
        return blank

    def public_rows(self, neighbours: Neighbours) -> float | None:
        """The number of rows (or persons) where the relation makes it public, and None elsewhere.

        Raises `ParameterError` for an empty table where the number is public.
        """
        if neighbours is not Neighbours.REPLACE_ONE:
            return None
        if self._count == 0:
            raise ParameterError("The table is empty: under replace-one there is no row to protect or describe.")
        return self._count / self.unit

    def privatise(
        self, blocks: Sequence[Block], budget: PrivacyFilter, *, noise: NoiseSource, stage: int = 0
    ) -> tuple[NoisyBlock, ...]:
        """Charge each block's share of the budget, then add noise to its counts, or sums of weights."""
        self.public_rows(budget.neighbours)
        noisy = []
        for block, exact in zip(blocks, self._exact(blocks), strict=True):
            measurement = measure(
                exact.ravel().astype(object),
                sensitivity_of(block, budget.neighbours, self.unit),
                budget=budget,
                share=block.share,
                noise=noise,
                label=_what(block),
            )
            noisy.append(NoisyBlock(block=block, measurement=measurement, unit=self.unit, round=stage))
        return tuple(noisy)

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
        """The exact grouped counts, centred ones, or sums of weights, of each block, in its shape."""
        weighted = [block for block in blocks if block.weighted]
        weighed = iter(self._weigher(weighted) if weighted else [])
        few, four = (self._joint(blocks, sizes) for sizes in (range(2, MOST_COLUMNS), [MOST_COLUMNS]))

        def table(block: Block) -> NDArray[Any]:
            if block.weighted:
                return next(weighed)
            if not block.columns:
                return np.array(self._singles[0,].sum())
            if len(block.columns) == 1:
                counts = block_of(self._singles, block)
            else:
                counts = next(four if len(block.columns) == MOST_COLUMNS else few)
            return centred(counts) if block.centred else counts

        return [table(block) for block in blocks]

    def _joint(self, blocks: Sequence[Block], sizes: Container[int]) -> Iterator[Integers]:
        """The tables of counts of so many columns, in a pass of their own.

        Cells of four columns are coarser. In one pass with others they would be counted as fine as these.
        """
        wanted = [block for block in blocks if not block.weighted and len(block.columns) in sizes]
        return iter(self._counter(wanted) if wanted else [])


def centred(counts: Integers) -> BigIntegers:
    """Counts less their means along each axis, times the number of cells, exactly: (m·I − J) X (n·I − J) of two."""
    table: BigIntegers = counts.astype(object)
    for axis, size in enumerate(counts.shape):
        table = size * table - table.sum(axis=axis, keepdims=True)
    return table


def _distance(away: Integers) -> int:
    """Σ |away| over the cells of a table; of four columns, half of what that is beyond the same of any three of them.

    A row moves Σ |away| by at most as much in sums along an axis as in the table, so their difference by twice that,
    and half of it, rounded down, by once.
    """
    whole = int(np.abs(away).sum())
    if away.ndim < MOST_COLUMNS:
        return whole
    return (whole - max(int(np.abs(away.sum(axis=axis)).sum()) for axis in range(away.ndim))) // 2


def _what(block: Block) -> str:
    if not block.columns:
        return "number of rows"
    what = "offsets" if block.weighted else "centred counts" if block.centred else "counts"
    return f"{what} of columns {block.columns}"


def joined(
    parts: Sequence[NoisyBlock],
    counts: ExactCounts,
    neighbours: Neighbours,
    *,
    ordered: tuple[int, ...] = (),
    selections: tuple[Selection, ...] = (),
    moments: Sequence[NoisyBlock] = (),
) -> NoisyBlocks:
    """All that was measured so far, with the number of rows: public, or estimated from the noisy counts."""
    known = counts.public_rows(neighbours)
    return NoisyBlocks(
        sizes=counts.sizes,
        blocks=tuple(parts),
        neighbours=neighbours,
        rows=estimated_rows(tuple(parts)) if known is None else known,
        ordered=ordered,
        selections=selections,
        moments=tuple(moments),
    )
