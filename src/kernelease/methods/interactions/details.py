"""Details: pairs of columns that nearly determine each other, once more in finer cells.

The cells of pairs are as fine as counts of two independent columns can be seen. Where one column nearly determines the
other, rows are along a line, not all over the table: much finer cells hold enough of them. Which pairs those are, the
first fit of all pairs tells, which is public.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.fit.mixtures.mixture import Mixture
from kernelease.measured.block import Block, refined
from kernelease.methods.interactions.pairs import finest_cells
from kernelease.methods.interactions.resolution import Noise, cells_of, width
from kernelease.table.columns.column import Column

MOST_NUMBERS = 200_000  # limit: noisy counts: two and a half seconds of exact draws
# research: Tables: details of pairs. The part of one column that the other tells (Goodman & Kruskal's τ) from which on
# a pair has a detail; the same times what is left to be told; and rows in cells of several atoms, for there to be any
STRONG, WORTH, LEAST_MERGED = 0.22, 0.015, 0.1
# research: Tables: details of pairs. Rows of a fine cell of an ordered column, over the noise of a count
SEEN = 4.0
# derived: Σ n/√share over details, of n cells along the line each, is least where shares go with this power of n
POWER = 2.0 / 3.0


def merged(cells: Integers, distribution: Floats) -> float:
    """The share of rows in cells that hold several atoms."""
    return float(distribution[np.bincount(cells)[cells] > 1].sum())


def any_merged(pairs: Sequence[Block], distributions: Sequence[Floats]) -> bool:
    """Whether some column has so many rows in cells of several atoms that there may be details."""
    return any(merged(own, distributions[column]) > LEAST_MERGED for column, own in finest_cells(pairs).items())


def most_numbers(sizes: Sequence[int]) -> int:
    """The most counts of details."""
    return min(MOST_NUMBERS, sum(one * other for one, other in itertools.combinations(sizes, 2)))


def detail_blocks(
    columns: Sequence[Column],
    distributions: Sequence[Floats],
    mixture: Mixture,
    pairs: Sequence[Block],
    *,
    rows: float,
    shares: tuple[float, float],
    noise: Noise,
) -> tuple[Block, ...]:
    """Blocks of a forest of pairs, the closest first: each for what a pair has, within the `shares` of all together."""
    cells = finest_cells(pairs)
    links = _links(mixture, cells, distributions)
    each, (least, most) = float(np.mean([block.share for block in pairs])), shares

    def share(count: int) -> float:
        return min(most, max(least, count * each))

    expected = max(1, min(len(links), len(columns) - 1))  # of a forest
    seen = SEEN * noise(share(expected) / expected) / rows
    fine = {i: _fine(columns[i], distributions[i], cells[i], seen) for link in links for i in link.columns}
    sets = _forest([link.columns for link in links], {i: width(own) for i, own in fine.items()})
    needs = np.array([max(width(fine[i]) for i in pair) ** POWER for pair in sets])
    return tuple(
        Block(columns=pair, groups=tuple(fine[i] for i in pair), share=float(part), centred=pairs[0].centred)
        for pair, part in zip(sets, share(len(sets)) * needs / needs.sum(), strict=True)
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    """Two columns, and how much there is to be gained from a closer look at them."""

    columns: tuple[int, int]
    worth: float


def _links(mixture: Mixture, cells: dict[int, Integers], distributions: Sequence[Floats]) -> list[_Link]:
    """The pairs that nearly determine each other, by the mixture, and have something left to be told within cells."""
    parts = {column: mixture.grouped(column, own) for column, own in cells.items()}
    open_to = [column for column, own in cells.items() if merged(own, distributions[column]) > WORTH]
    links = []
    for pair in itertools.combinations(sorted(cells), 2):
        if not set(pair).isdisjoint(open_to):
            one, other = pair
            told = determined((parts[one] * mixture.weights[:, None]).T @ parts[other])
            if told > STRONG:
                left = max(_left(mixture, i, j, cells[i], parts[i]) for i, j in (pair, pair[::-1]))
                links.append(_Link(columns=pair, worth=told * left))
    return sorted((link for link in links if link.worth > WORTH), key=lambda link: (-link.worth, link.columns))


def _left(mixture: Mixture, column: int, other: int, cells: Integers, part: Floats) -> float:
    """How much the atoms of two columns may still tell of each other within the `cells` of the one, (M, cells).

    That is no more than either of them varies there, by Gini's measure 1 − Σp².
    """
    alone = mixture.marginal(column)
    held = np.maximum(np.bincount(cells, alone), 1e-300)
    own = 1.0 - np.bincount(cells, alone**2) / held**2
    beside = (part * mixture.weights[:, None]).T @ mixture.columns[other]  # (cells, atoms)
    theirs = 1.0 - (beside**2).sum(axis=1) / held**2
    return float(held @ np.minimum(own, theirs))


def determined(joint: Floats) -> float:
    """The part of the one column's variation that the other explains: Goodman & Kruskal's τ, of both the larger.

    >>> round(determined(np.array([[0.5, 0.0], [0.0, 0.5]])), 6), round(determined(np.full((2, 2), 0.25)), 6)
    (1.0, 0.0)
    """
    parts = []
    for table in (joint, joint.T):
        alone = float((table.sum(axis=1) ** 2).sum())
        given = float((table**2 / np.maximum(table.sum(axis=0), 1e-300)).sum())
        parts.append((given - alone) / (1.0 - alone) if alone < 1.0 else 0.0)
    return max(parts)


def _forest(pairs: Sequence[tuple[int, int]], widths: dict[int, int]) -> list[tuple[int, int]]:
    """The pairs that join columns no earlier one joins, as long as there is room for their numbers.

    What goes with one column goes with those that go with it: a pair that closes a ring adds little.
    """
    parts: dict[int, int] = {}
    kept, numbers = [], 0
    for pair in pairs:
        one, other = (parts.setdefault(column, column) for column in pair)
        size = math.prod(widths[column] for column in pair)
        if one != other and numbers + size <= MOST_NUMBERS:
            kept.append(pair)
            numbers += size
            parts = {column: one if part == other else part for column, part in parts.items()}
    return kept


def _fine(column: Column, distribution: Floats, cells: Integers, least: float) -> Integers:
    """Atoms, or runs of them in an order that hold so many rows; none in two cells."""
    if not column.in_order:
        return np.arange(column.size)
    return refined([cells, cells_of(distribution, least, column.in_order)])
