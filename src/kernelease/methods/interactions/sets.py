"""The last round: sets of three or four columns, chosen privately where the fit of pairs is farthest from the table."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.fit.mixtures.mixture import Mixture
from kernelease.measured.block import MOST_COLUMNS, Block
from kernelease.measured.blocks import NoisyBlocks
from kernelease.methods.interactions.pairs import finest_cells
from kernelease.methods.interactions.resolution import Noise, coarser, width
from kernelease.methods.interactions.shares import MOST_TRIPLES

MOST_CANDIDATES = 1000  # limit: sets of three that are looked at
# research: Tables: sets of four. Those that are looked at: all of ten columns
MOST_FOURS = 250
MOST_NARROW = 20  # limit: columns of fewest cells of which every set of four is thought of: 4,845
MOST_NUMBERS = 40_000  # limit: noisy counts: half a second of exact draws
SMALLEST_LEAST = 1e-6  # limit: share of a cell: no column has a million
# research: Tables: one constant at a time. Rows expected in a cell of a set, over the noise of its count
VISIBLE = 1.0

Columns: TypeAlias = tuple[int, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The cells of each column in sets of three, and in sets of four: one cell where it can't be in any."""

    threes: tuple[Integers, ...]
    fours: tuple[Integers, ...]

    @classmethod
    def of(
        cls,
        noisy: NoisyBlocks,
        distributions: Sequence[Floats],
        pairs: Sequence[Block],
        *,
        count: int,
        share: float,
        noise: Noise,
    ) -> "Cells":
        """Cells of columns with these distributions.

        They never part what the cells of pairs hold together, and those of four not what those of three do.

        They hold so many rows that the cells of a set's columns together hold about as many as the noise of a count.
        No set of three is larger than all numbers that are set aside for this round, and no set of four than its part
        of them.
        """
        coarsening = _Coarsening(distributions=distributions, ordered=noisy.ordered or (0,) * noisy.width)
        known = finest_cells(pairs)
        held = [known.get(column, one) for column, one in enumerate(coarsening.one_cell)]
        if not count:
            return cls(threes=coarsening.one_cell, fours=coarsening.one_cell)
        visible = VISIBLE * noise(share / count) / noisy.rows
        threes = coarsening.of(held, visible ** (1.0 / 3.0), size=3, most=MOST_NUMBERS)
        fours = coarsening.of(threes, visible**0.25, size=4, most=MOST_NUMBERS // count)
        return cls(threes=threes, fours=fours)

    def any_sets(self, known: Sequence[Block]) -> bool:
        """Whether there is a set that can be measured and was not."""
        return len(_threes(self.threes, known)) > 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Coarsening:
    """How cells of columns become fewer: by what each holds, and, of the first atoms, next to its neighbours."""

    distributions: Sequence[Floats]
    ordered: Sequence[int]

    @property
    def one_cell(self) -> tuple[Integers, ...]:
        """All atoms of a column together."""
        return tuple(np.zeros(len(one), dtype=np.int64) for one in self.distributions)

    def of(self, cells: Sequence[Integers], least: float, *, size: int, most: int) -> tuple[Integers, ...]:
        """Cells of cells with at least such a share of the rows each, or more until no set has more than `most`."""
        least = max(SMALLEST_LEAST, least)
        while least < 1.0:
            columns = zip(cells, self.distributions, self.ordered, strict=True)
            found = tuple(coarser(own, one, least, ordered) for own, one, ordered in columns)
            if _widest(found, size) <= most:
                return found
            least *= 1.2
        return self.one_cell


def candidates(
    noisy: NoisyBlocks, mixture: Mixture, cells: Cells, *, count: int, share: float
) -> tuple[tuple[Block, ...], int]:
    """Sets that could be measured, for an equal part of the share; and how many of them may be.

    Sets that were measured already are left out. Of too many, half are those whose columns depend on each other most
    by the fitted model, which is public, and half those of fewest cells: what no fewer columns show (a parity, say) is
    seen best there.
    """
    threes = _threes(cells.threes, [block.block for block in noisy.blocks])
    dependence = _dependence(mixture, cells.threes)
    fours = _promising(_fours(cells.fours, threes, dependence), dependence, cells.fours, MOST_FOURS)
    most = min(count, len(threes), MOST_NUMBERS // _widest(cells.threes, 3))
    three_blocks = _blocks(_promising(threes, dependence, cells.threes, MOST_CANDIDATES), cells.threes, share / most)
    return three_blocks + _blocks(fours, cells.fours, share / most), most


def _blocks(sets: Sequence[Columns], cells: Sequence[Integers], share: float) -> tuple[Block, ...]:
    return tuple(Block(columns=s, groups=tuple(cells[i] for i in s), share=share) for s in sets)


def _promising(sets: Sequence[Columns], dependence: Floats, cells: Sequence[Integers], most: int) -> list[Columns]:
    """At most so many of the sets."""
    if len(sets) <= most:
        return list(sets)
    strongest = sorted(sets, key=lambda one: -_dependent(one, dependence))
    half, others = strongest[: most // 2], strongest[most // 2 :]
    widths = [width(grouping) for grouping in cells]
    smallest = sorted(others, key=lambda one: math.prod(widths[i] for i in one))
    return half + smallest[: most - len(half)]


def _dependent(one: Columns, dependence: Floats) -> float:
    """How much the columns of a set depend on each other: by as many pairs, the strongest, as can join them all."""
    return float(sum(sorted(dependence[i, j] for i, j in itertools.combinations(one, 2))[1 - len(one) :]))


def _threes(cells: Sequence[Integers], known: Sequence[Block]) -> list[Columns]:
    measured = {frozenset(block.columns) for block in known}
    return [s for s in itertools.combinations(_several(cells), 3) if frozenset(s) not in measured]


def _fours(cells: Sequence[Integers], threes: Sequence[Columns], dependence: Floats) -> list[Columns]:
    """All sets of the columns of fewest cells, and those of three that depend on each other most with one more."""
    several = _several(cells)
    narrow = sorted(sorted(several, key=lambda i: width(cells[i]))[:MOST_NARROW])
    sets: set[Columns] = set(itertools.combinations(narrow, 4))
    if len(several) > len(narrow):
        within = [s for s in threes if set(s) <= set(several)]
        strongest = sorted(within, key=lambda one: -_dependent(one, dependence))[: MOST_FOURS // 2]
        sets |= {tuple(sorted((*s, i))) for s in strongest for i in several if i not in s}
    return sorted(sets)


def _several(cells: Sequence[Integers]) -> list[int]:
    return [i for i, grouping in enumerate(cells) if width(grouping) > 1]


def _widest(cells: Sequence[Integers], size: int) -> int:
    """The most cells of a set of so many columns."""
    return math.prod(sorted(width(grouping) for grouping in cells)[-size:])


def most_numbers(sizes: Sequence[int], count: int | None) -> int:
    """The most counts of this round: of `count` sets, or of as many as there may be."""
    return min(MOST_NUMBERS, math.prod(sorted(sizes)[-MOST_COLUMNS:]) * (MOST_TRIPLES if count is None else count))


def expected_counts(mixture: Mixture, blocks: Sequence[Block], rows: float, unit: int) -> list[Integers]:
    """What the fitted model says of each block, as whole units."""
    return [np.rint(rows * unit * mixture.joint(block.columns, block.groups)).astype(np.int64) for block in blocks]


def handicaps(blocks: Sequence[Block], cells: Cells, noise: Noise, unit: int) -> list[int]:
    """What noise alone would put between a block's counts and the truth: Σ E|noise| over its cells, in units.

    Of four columns at least as much as of any three of them, whose cells are finer: where nothing can be seen, sets of
    four are not chosen for having fewer cells.
    """
    widths = [width(grouping) for grouping in cells.threes]

    def numbers(block: Block) -> int:
        widest = math.prod(sorted(widths[i] for i in block.columns)[-3:])
        return max(block.cells, widest) if len(block.columns) > 3 else block.cells

    return [round(math.sqrt(2.0 / math.pi) * noise(block.share) * numbers(block) * unit) for block in blocks]


def _dependence(mixture: Mixture, cells: Sequence[Integers]) -> Floats:
    """Of each pair of columns, the L1 distance between their joint distribution and the product: (D, D)."""
    parts = [mixture.grouped(column, group) for column, group in enumerate(cells)]
    dependence = np.zeros((len(cells),) * 2)
    for i, j in itertools.combinations(range(len(cells)), 2):
        joint = (parts[i] * mixture.weights[:, None]).T @ parts[j]
        dependence[i, j] = np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum()
    return dependence
