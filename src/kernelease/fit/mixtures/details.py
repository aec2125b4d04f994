"""Rows that keep to details: pairs of columns that were measured in finer cells than a mixture tells apart.

Within a cell a mixture has a column's atoms in the same proportions everywhere. Two columns that nearly determine each
other go together more closely than that. Here their values move between rows of one cell, which changes nothing that
the mixture knows: no single column, and no pair or larger set of cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.measured.block import within
from kernelease.measured.blocks import NoisyBlock, without_means

MOST_GROUPS = 30_000  # limit: of rows that may exchange values: about three seconds
_TURNS = 15  # convention: after which a table has its margins to a thousandth
_LEAST = 1e-3  # limit: of what there is, that is left where counts say that there is none
_TINY = 1e-12  # limit: of a share: none is 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """Noisy shares of pairs of fine cells, an axis for each of two columns, with noise of one standard deviation."""

    columns: tuple[int, int]
    fine: tuple[Integers, Integers]  # of each column: the fine cell of each atom
    shares: Floats
    deviation: float
    centred: bool  # whether means over the fine cells of each column were taken out

    @classmethod
    def of(cls, noisy: NoisyBlock, rows: float) -> "Detail":
        """What a block says of a table of so many rows."""
        (first, second), (one, other) = noisy.block.columns, noisy.block.groups
        return cls(
            columns=(first, second),
            fine=(one, other),
            shares=noisy.values / rows,
            deviation=noisy.deviation / rows,
            centred=noisy.block.centred,
        )

    def turned(self) -> "Detail":
        """The same with its columns in the other order."""
        (first, second), (one, other) = self.columns, self.fine
        return Detail(
            columns=(second, first),
            fine=(other, one),
            shares=self.shares.T,
            deviation=self.deviation,
            centred=self.centred,
        )

    def summed(self, cells: tuple[Integers, Integers], alone: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Shares of pairs of cells, and the variance of each; `alone` are shares of each column's atoms.

        What is centred is so here, too: with the means over cells taken out, which single columns tell.
        """
        rows, columns = (within(fine, own) for fine, own in zip(self.fine, cells, strict=True))
        shares = self.shares.copy()
        if self.centred:
            one, other = (np.bincount(fine, own).astype(np.float64) for fine, own in zip(self.fine, alone, strict=True))
            shares += one[:, None] / len(other) + other / len(one) - 1.0 / shares.size
        sums = np.zeros((int(rows.max()) + 1, int(columns.max()) + 1))
        np.add.at(sums, np.ix_(rows, columns), shares)
        held = (np.bincount(own).astype(np.float64) for own in (rows, columns))
        variance: Floats = self.deviation**2 * np.multiply.outer(*held)
        return without_means(sums) if self.centred else sums, variance

    def ratios(self, there: Floats, cells: tuple[Integers, Integers]) -> Floats:
        """How many times as often as in these shares two fine cells should go together, within their pair of `cells`.

        What was measured beyond what is `there` has noise σ. Of the d pairs of fine cells that are in one pair of cells
        it is taken as far as James and Stein (1961) would: 1 − (d − 1)σ²/‖misfit‖² of it, or nothing. How much there is
        in all of them is left to the mixture.
        """
        misfit = self.shares - (without_means(there) if self.centred else there)
        rows, columns = (within(fine, own) for fine, own in zip(self.fine, cells, strict=True))
        pair = np.add.outer(rows * (int(columns.max()) + 1), columns).ravel()
        held = np.maximum(np.bincount(pair), 1)
        misfit = misfit.ravel() - (np.bincount(pair, misfit.ravel()) / held)[pair]
        taken = 1.0 - (held - 1) * self.deviation**2 / np.maximum(np.bincount(pair, misfit**2), _TINY**2)
        wanted = there + (np.maximum(taken, 0.0)[pair] * misfit).reshape(there.shape)
        ratios: Floats = np.maximum(wanted / np.maximum(there, _TINY), _LEAST)
        return ratios


def in_detail(
    rows: Integers, details: Sequence[Detail], cells: Sequence[Integers], generator: np.random.Generator
) -> Integers:
    """The same rows of atoms, (columns, n), with values moved within `cells`, so that details are met one by one.

    Each leaves those before it as they are: values move between rows that are alike in the columns beside them.
    """
    result = rows.copy()
    beside: dict[int, list[int]] = {column: [] for column in range(len(rows))}
    for one in details:
        detail = _moving_first(one, cells, beside)
        column, other = detail.columns
        alike = _numbered([cells[column][result[column]], *result[beside[column]]])
        if int(alike.max()) < MOST_GROUPS:
            _move(result, detail, (cells[column], cells[other]), alike, generator)
            beside[column].append(other)
            beside[other].append(column)
    return result


def _moving_first(detail: Detail, cells: Sequence[Integers], beside: dict[int, list[int]]) -> Detail:
    """The detail with that column first whose values move: one that has finer cells, and is freer to."""
    first, second = (
        (int(fine.max()) == int(cells[column].max()), len(beside[column]))
        for column, fine in zip(detail.columns, detail.fine, strict=True)
    )
    return detail if first <= second else detail.turned()


def _numbered(keys: Sequence[Integers]) -> Integers:
    """Numbers of the combinations of some keys, in their order: (n,) each → (n,).

    >>> _numbered([np.array([1, 0, 1, 1]), np.array([0, 5, 2, 0])]).tolist()
    [1, 0, 2, 1]
    """
    numbers = np.zeros_like(keys[0])
    for key in keys:
        numbers = np.unique(numbers * (int(key.max()) + 1) + key, return_inverse=True)[1]
    return numbers


def _move(
    rows: Integers,
    detail: Detail,
    cells: tuple[Integers, Integers],
    alike: Integers,
    generator: np.random.Generator,
) -> None:
    """Move the values of a detail's first column, in place, between rows that are `alike`."""
    column, other = detail.columns
    fine, theirs = detail.fine[0], detail.fine[1][rows[other]]
    shape = detail.shares.shape
    counts = np.bincount(fine[rows[column]] * shape[1] + theirs, minlength=shape[0] * shape[1])
    ratios = detail.ratios(counts.reshape(shape) / rows.shape[1], cells)
    order = np.argsort(alike, kind="stable")
    for some in np.split(order, np.flatnonzero(np.diff(alike[order])) + 1):
        rows[column, some] = _exchanged(rows[column, some], fine, theirs[some], ratios, generator)


def _exchanged(
    values: Integers, fine: Integers, theirs: Integers, ratios: Floats, generator: np.random.Generator
) -> Integers:
    """The same atoms, (n,), in another order: beside `theirs`, (n,), in proportion to the ratios."""
    atoms, numbers = np.unique(values, return_counts=True)
    others, place, members = np.unique(theirs, return_inverse=True, return_counts=True)
    if len(atoms) < 2 or len(others) < 2:
        return values
    table = _balanced(ratios[np.ix_(fine[atoms], others)], numbers, members)
    dealt = whole(table.T / members[:, None], members, numbers, generator)
    owners = np.repeat(np.arange(len(others)), members)
    shuffled = np.repeat(np.tile(atoms, len(others)), dealt.ravel())[np.argsort(owners + generator.random(len(owners)))]
    result = np.empty_like(values)
    result[np.argsort(place, kind="stable")] = shuffled
    return result


def _balanced(ratios: Floats, rows: Integers, columns: Integers) -> Floats:
    """The table nearest to the ratios, by Kullback and Leibler, with these sums: iterative proportional fitting."""
    table = ratios * np.outer(rows, columns)
    for _ in range(_TURNS):
        table = table * (rows / table.sum(axis=1))[:, None]
        table = table * (columns / table.sum(axis=0))
    return table


def whole(shares: Floats, members: Integers, numbers: Integers, generator: np.random.Generator) -> Integers:
    """Whole numbers near shares · members, (others, atoms), whose sums are exactly `members` and `numbers`."""
    marks = np.floor(np.cumsum(shares * members[:, None], axis=1) + generator.random((len(members), 1))).astype(
        np.int64
    )
    marks[:, -1] = members
    dealt = np.diff(np.minimum(marks, members[:, None]), axis=1, prepend=0)
    surplus = dealt.sum(axis=0) - numbers
    while surplus.any():
        much, little = int(surplus.argmax()), int(surplus.argmin())
        owner = int(np.where(dealt[:, much] > 0, shares[:, little] - shares[:, much], -np.inf).argmax())
        dealt[owner, [much, little]] += (-1, 1)
        surplus[[much, little]] += (-1, 1)
    return dealt
