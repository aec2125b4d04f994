"""What a mixture can't hold, and rows can: blocks that are farther from it than noise explains.

Columns that nearly determine each other take a component for each pair of values. Rows need none: they are moved by
swaps, one pair of them after the other, to any table of two columns that has the columns' own counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.fit.mixtures.details import whole
from kernelease.fit.mixtures.misfit import Misfit
from kernelease.measured.block import within
from kernelease.measured.blocks import NoisyBlock, without_means

_TURNS = 30  # convention: after which a table has its margins to a thousandth
_TINY = 1e-12  # limit: of a count: none is 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Unheld:
    """A noisy block of a table of so many rows, which a mixture is farther from than noise explains."""

    noisy: NoisyBlock
    rows: float

    @property
    def columns(self) -> tuple[int, ...]:
        """Those of the block."""
        return self.noisy.block.columns

    @property
    def groups(self) -> tuple[Integers, ...]:
        """Of each of its columns: the cell of each atom."""
        return self.noisy.block.groups

    def toward(self, expected: Floats, cells: Sequence[Integers]) -> Floats:
        """Expected counts, an axis for each column, moved toward the noisy ones; single columns stay as they are.

        They are of `cells` of each column's atoms, within which the block knows nothing: all that are in one of the
        block's own are multiplied by one number.
        """
        inside = self._inside(cells)
        there = np.zeros(self.noisy.block.shape)
        np.add.at(there, inside, expected)
        ratios = self._wanted(there) / np.maximum(there, _TINY)
        return _raked(expected * ratios[inside], expected)

    def misfit(self, rows: Integers) -> Misfit:
        """How far rows of atoms, (columns, n), are from the block, whose counts they hold to within a row at best."""
        block, count = self.noisy.block, rows.shape[1]
        at = [group[rows[column]] for column, group in zip(self.columns, self.groups, strict=True)]
        there = np.bincount(np.ravel_multi_index(at, block.shape), minlength=block.cells).reshape(block.shape)
        off = self._off(there * self.rows / count)
        variance = block.numbers * (self.noisy.sigma**2 + (self.rows / count) ** 2)
        return Misfit(columns=block.columns, numbers=block.numbers, chi_squared=float(np.sum(off**2)) / variance)

    def _inside(self, cells: Sequence[Integers]) -> tuple[Integers, ...]:
        """Which of the block's cells each of these is in, to index tables with."""
        return np.ix_(*(within(own, group) for own, group in zip(cells, self.groups, strict=True)))

    def _off(self, there: Floats) -> Floats:
        """Noisy counts less these."""
        return self.noisy.values - (without_means(there) if self.noisy.block.centred else there)

    def _wanted(self, there: Floats) -> Floats:
        """Counts that are nearer to the noisy ones, by 1 − 1/χ² of what they are off (James and Stein 1961)."""
        off = self._off(there * self.rows / there.sum())
        explained = self.noisy.block.numbers * self.noisy.sigma**2 / float(np.sum(off**2))
        wanted: Floats = np.maximum(there + max(0.0, 1.0 - explained) * off * there.sum() / self.rows, 0.0)
        return wanted


def moved(
    rows: Integers, columns: Sequence[int], groups: Sequence[Integers], wanted: Floats, generator: np.random.Generator
) -> Integers:
    """The same rows, (columns, n), with values of the first of two columns moved between some, to the wanted counts.

    Of each pair of cells that has too many rows some are taken at random, and the values that they have together are
    dealt to them anew, as the pairs of cells that have too few ask.
    """
    (first, second), (one, other) = columns, groups
    beside = other[rows[second]]
    pair = one[rows[first]] * wanted.shape[1] + beside
    counts = np.bincount(pair, minlength=wanted.size).reshape(wanted.shape)
    shares = (wanted / np.maximum(wanted.sum(axis=0), _TINY)).T
    more = whole(shares, counts.sum(axis=0), counts.sum(axis=1), generator).T - counts
    order = np.split(np.argsort(pair + generator.random(len(pair))), np.cumsum(counts)[:-1])
    taken = np.concatenate([some[: max(0, -more)] for some, more in zip(order, more.ravel(), strict=True)])
    cells = np.repeat(np.tile(np.arange(len(more)), more.shape[1]), np.maximum(more, 0).T.ravel())
    takers = taken[np.argsort(beside[taken], kind="stable")][np.argsort(cells, kind="stable")]
    result = rows.copy()
    result[first, takers] = rows[first, taken]  # both in the order of the first column's cells
    return result


def _raked(table: Floats, like: Floats) -> Floats:
    """The table nearest to this one, by Kullback and Leibler, with single columns as the other has them."""
    for _ in range(_TURNS):
        for axis in range(table.ndim):
            others = tuple(other for other in range(table.ndim) if other != axis)
            there = table.sum(axis=others, keepdims=True)
            table = table * (like.sum(axis=others, keepdims=True) / np.maximum(there, _TINY))
    return table
