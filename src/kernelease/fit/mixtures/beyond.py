"""What rows can match and a mixture can't: misfits, details of pairs, unheld blocks, leaves of groups."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from kernelease.arrays import Floats, Integers
from kernelease.measured.blocks import Block, NoisyBlock, NoisyBlocks, mean_counts, within

# --------------------
# How far a fit is from each measured block, in units of the block's own noise.


# convention: standard deviations of χ² per number: of a thousand blocks at the noise floor none passes it by chance
_DOUBT = 5.0
_TOLERANCE = 0.25  # convention: a χ² that is higher by so little is no sign of a model that can't hold the block


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """χ² per number of one block: about 1 where only noise stands between the block and the model."""

    columns: tuple[int, ...]
    numbers: int
    chi_squared: float

    @property
    def beyond_noise(self) -> bool:
        """Whether noise does not explain it.

        >>> Misfit(columns=(0, 1), numbers=4, chi_squared=3.0).beyond_noise
        False
        >>> Misfit(columns=(0, 1), numbers=400, chi_squared=3.0).beyond_noise
        True
        """
        return self.chi_squared > 1.0 + max(_TOLERANCE, _DOUBT * math.sqrt(2.0 / self.numbers))


def poor(misfits: Sequence[Misfit]) -> tuple[Misfit, ...]:
    """The blocks whose misfit noise does not explain, the worst first."""
    return tuple(sorted((one for one in misfits if one.beyond_noise), key=lambda one: -one.chi_squared))


# --------------------
# Details: pairs of columns that were measured in finer cells than those of the mixture.
#
# Within a cell a mixture has a column's atoms in the same proportions everywhere. Two columns that nearly determine
# each other go together more closely than that. Here their values move between rows of one cell, which changes
# nothing that the mixture knows: no single column, and no pair or larger set of cells.


MOST_GROUPS = 30_000  # limit: of rows that may exchange values: about three seconds
_DETAIL_TURNS = 15  # convention: after which a table has its margins to a thousandth
_LEAST_RATIO = 1e-3  # limit: of what there is, that is left where counts say that there is none
_TINY = 1e-12  # limit: of a share: none is 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """Noisy shares of pairs of fine cells, an axis for each of two columns, with noise of one standard deviation."""

    columns: tuple[int, int]
    fine: tuple[Integers, Integers]  # of each column: the fine cell of each atom
    shares: Floats
    deviation: float
    block: Block  # what the shares are of

    @classmethod
    def of(cls, noisy: NoisyBlock, rows: float) -> "Detail":
        """What a block says of a table of so many rows."""
        (first, second), (one, other) = noisy.block.columns, noisy.block.groups
        return cls(
            columns=(first, second),
            fine=(one, other),
            shares=noisy.values / rows,
            deviation=noisy.deviation / rows,
            block=noisy.block,
        )

    def own_cells(self, cells: Sequence[Integers]) -> tuple[Integers, Integers]:
        """Of the cells of all columns those of its own, which are one where a fine cell has atoms of several."""
        first, second = (join_cells(fine, cells[column]) for fine, column in zip(self.fine, self.columns, strict=True))
        return first, second

    def reverse(self) -> "Detail":
        """The same with its columns in the other order."""
        (first, second), (one, other) = self.columns, self.fine
        return Detail(
            columns=(second, first),
            fine=(other, one),
            shares=self.shares.T,
            deviation=self.deviation,
            block=replace(self.block, columns=(second, first), groups=(other, one)),
        )

    def sum_cells(self, cells: tuple[Integers, Integers], alone: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Shares of pairs of cells, and the variance of each; `alone` are shares of each column's atoms.

        What is centred is so here, too: with the means over cells taken out, which single columns tell.
        """
        rows, columns = (within(fine, own) for fine, own in zip(self.fine, cells, strict=True))
        margins = [np.bincount(fine, own).astype(np.float64) for fine, own in zip(self.fine, alone, strict=True)]
        shares = self.block.complete(self.shares, margins, 1.0)
        sums = np.zeros((int(rows.max()) + 1, int(columns.max()) + 1))
        np.add.at(sums, np.ix_(rows, columns), shares)
        held = (np.bincount(own).astype(np.float64) for own in (rows, columns))
        each = self.deviation**2 * self.block.cells / self.block.numbers  # of a number, before means are taken out
        variance: Floats = each * np.multiply.outer(*held)
        return self.block.numbers_in(sums), variance

    def ratios(self, there: Floats, cells: tuple[Integers, Integers]) -> Floats:
        """How many times as often as in these shares two fine cells should go together, within their pair of `cells`.

        What was measured beyond what is `there` has noise σ. Of the d pairs of fine cells that are in one pair of cells
        it is taken as far as James and Stein (1961) would: 1 − (d − 1)σ²/‖misfit‖² of it, or nothing. How much there is
        in all of them is left to the mixture.
        """
        misfit = self.shares - self.block.numbers_in(there)
        rows, columns = (within(fine, own) for fine, own in zip(self.fine, cells, strict=True))
        pair = np.add.outer(rows * (int(columns.max()) + 1), columns).ravel()
        held = np.maximum(np.bincount(pair), 1)
        misfit = misfit.ravel() - (np.bincount(pair, misfit.ravel()) / held)[pair]
        taken = 1.0 - (held - 1) * self.deviation**2 / np.maximum(np.bincount(pair, misfit**2), _TINY**2)
        wanted = there + (np.maximum(taken, 0.0)[pair] * misfit).reshape(there.shape)
        ratios: Floats = np.maximum(wanted / np.maximum(there, _TINY), _LEAST_RATIO)
        return ratios


def join_cells(fine: Integers, coarse: Integers) -> Integers:
    """The coarse cells of some atoms, which are one where a finer cell has atoms of several: then all refine them.

    >>> join_cells(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])).tolist()
    [0, 0, 0, 1]
    """
    size = int(coarse.max()) + 1
    links = coo_array((np.ones(len(fine)), (coarse, size + fine)), shape=(size + int(fine.max()) + 1,) * 2)
    parts: Integers = connected_components(links, directed=False)[1].astype(np.int64)
    return parts[coarse]


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
        alike = _number([cells[column][result[column]], *result[beside[column]]])
        if int(alike.max()) < MOST_GROUPS:
            _move(result, detail, detail.own_cells(cells), alike, generator)
            beside[column].append(other)
            beside[other].append(column)
    return result


def _moving_first(detail: Detail, cells: Sequence[Integers], beside: dict[int, list[int]]) -> Detail:
    """The detail with that column first whose values move: one that has finer cells, and is freer to."""
    first, second = (
        (int(fine.max()) == int(cells[column].max()), len(beside[column]))
        for column, fine in zip(detail.columns, detail.fine, strict=True)
    )
    return detail if first <= second else detail.reverse()


def _number(keys: Sequence[Integers]) -> Integers:
    """Numbers of the combinations of some keys, in their order: (n,) each → (n,).

    >>> _number([np.array([1, 0, 1, 1]), np.array([0, 5, 2, 0])]).tolist()
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
    shape = detail.shares.shape
    fine, theirs = detail.fine[0], detail.fine[1][rows[other]]
    counts = np.bincount(fine[rows[column]] * shape[1] + theirs, minlength=shape[0] * shape[1])
    theirs = theirs.astype(np.min_scalar_type(shape[1]))  # in few bytes, which are sorted faster
    ratios = detail.ratios(counts.reshape(shape) / rows.shape[1], cells)
    order = np.argsort(alike, kind="stable")
    for some in np.split(order, np.flatnonzero(np.diff(alike[order])) + 1):
        rows[column, some] = _exchange(rows[column, some], fine, theirs[some], ratios, generator)


def _exchange(
    values: Integers, fine: Integers, theirs: Integers, ratios: Floats, generator: np.random.Generator
) -> Integers:
    """The same atoms, (n,), in another order: beside `theirs`, (n,), in proportion to the ratios."""
    held, beside = np.bincount(values), np.bincount(theirs)
    atoms, others = np.flatnonzero(held), np.flatnonzero(beside)
    if len(atoms) < 2 or len(others) < 2:
        return values
    numbers, members = held[atoms], beside[others]
    table = _balance(ratios[np.ix_(fine[atoms], others)], numbers, members)
    dealt = whole(table.T / members[:, None], members, numbers, generator)
    owners = np.repeat(np.arange(len(others)), members)
    shuffled = np.repeat(np.tile(atoms, len(others)), dealt.ravel())[np.argsort(owners + generator.random(len(owners)))]
    result = np.empty_like(values)
    result[np.argsort(theirs, kind="stable")] = shuffled
    return result


def _balance(ratios: Floats, rows: Integers, columns: Integers) -> Floats:
    """The table nearest to the ratios, by Kullback and Leibler, with these sums: iterative proportional fitting."""
    table = ratios * np.outer(rows, columns)
    for _ in range(_DETAIL_TURNS):
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


# --------------------
# Unheld blocks: those that the mixture misses by more than noise explains, and that rows can meet.
#
# Columns that nearly determine each other take a component for each pair of values. Rows need none: they are moved by
# swaps, one pair of them after the other, to any table of two columns that has the columns' own counts.


_UNHELD_TURNS = 30  # convention: after which a table has its margins to a thousandth


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Unheld:
    """What was measured of a block of a table of so many rows, which a mixture is farther from than noise explains."""

    block: Block
    values: Floats  # with noise
    variances: Floats  # of each, as σ² of a block's numbers is
    rows: float

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of the block."""
        return self.block.columns

    @property
    def groups(self) -> tuple[Integers, ...]:
        """The cell of each atom, for each column of the block."""
        return self.block.groups

    def toward(self, expected: Floats, cells: Sequence[Integers]) -> Floats:
        """Expected counts, an axis for each column, moved toward the noisy ones; single columns stay as they are.

        They are of `cells` of each column's atoms, within which the block knows nothing: all that are in one of the
        block's own are multiplied by one number.
        """
        inside = self._inside(cells)
        there = np.zeros(self.block.grid)
        np.add.at(there, inside, expected)
        ratios = self._wanted_counts(there) / np.maximum(there, _TINY)
        return rake(expected * ratios[inside], expected)

    def misfit(self, rows: Integers) -> Misfit:
        """How far rows of atoms, (columns, n), are from the block, whose counts they hold to within a row at best."""
        block, count = self.block, rows.shape[1]
        at = [group[rows[column]] for column, group in zip(self.columns, self.groups, strict=True)]
        there = np.bincount(np.ravel_multi_index(at, block.grid), minlength=math.prod(block.grid)).reshape(block.grid)
        off = self._off(there * self.rows / count)
        squares = np.sum(off**2 / (self.variances + (self.rows / count) ** 2))
        return Misfit(columns=block.columns, numbers=block.numbers, chi_squared=float(squares) / block.numbers)

    def _inside(self, cells: Sequence[Integers]) -> tuple[Integers, ...]:
        """Which of the block's cells each of these is in, to index tables with."""
        return np.ix_(*(within(own, group) for own, group in zip(cells, self.groups, strict=True)))

    def _off(self, there: Floats) -> Floats:
        """Noisy counts less these."""
        return self.values - self.block.numbers_in(there)

    def _wanted_counts(self, there: Floats) -> Floats:
        """Counts that are nearer to the noisy ones, by 1 − 1/χ² of what they are off (James and Stein 1961)."""
        off = self._off(there * self.rows / there.sum())
        explained = self.block.numbers / float(np.sum(off**2 / self.variances))
        step = self.block.spread(max(0.0, 1.0 - explained) * off * there.sum() / self.rows)
        wanted: Floats = np.maximum(there + step, 0.0)
        return wanted


def move_values(
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


def rake(table: Floats, like: Floats) -> Floats:
    """The table nearest to this one, by Kullback and Leibler, with single columns as the other has them."""
    for _ in range(_UNHELD_TURNS):
        for axis in range(table.ndim):
            others = tuple(other for other in range(table.ndim) if other != axis)
            there = table.sum(axis=others, keepdims=True)
            table = table * (like.sum(axis=others, keepdims=True) / np.maximum(there, _TINY))
    return table


# --------------------
# Leaves in groups: the probability of each leaf from its noisy count, and rows drawn accordingly.
#
# Of thousands of leaves most hold next to nothing, and noise on each adds up to more rows than there are. So counts
# are shrunk as their own distribution says: in each group, an unknown distribution of counts, of which those of all
# groups are a prior, is fitted to the noisy ones (Robbins 1956; Kiefer & Wolfowitz 1956), and a leaf gets its mean
# given what was seen. Leaves that stand out stay as they are; what is left of the group goes to the others, about
# evenly.


# research: Tables: leaves of a hierarchy. Standard deviations from which on a count is taken as it is; leaves that the
# distribution of all groups weighs
SEEN, PRIOR = 4.0, 20.0
STEP, STEPS = 0.25, 20  # convention: the distance of the counts that may be, in standard deviations; steps of the fit
_LEAST_LIKELIHOOD = 1e-300  # limit: of a likelihood: none is 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Leaves:
    """Of a column whose atoms are leaves in groups: the group of each atom, and its share within it: (atoms,) each."""

    groups: Integers
    inside: Floats

    def draw(self, rows: Integers, generator: np.random.Generator) -> Integers:
        """An atom for each row's group, (n,) → (n,): in each group in numbers as its shares say, to within a row."""
        order = np.argsort(rows + generator.random(len(rows)))
        group = rows[order]
        counts = np.bincount(group, minlength=int(self.groups.max()) + 1)
        rank = np.arange(len(group)) - (np.cumsum(counts) - counts)[group]
        marks = (rank + generator.random(len(counts))[group]) / counts[group]
        by_group = np.argsort(self.groups, kind="stable")
        members = np.bincount(self.groups)
        ends = np.cumsum(self.inside[by_group])  # a group's shares add up to 1: it ends at the next whole number
        place = np.searchsorted(ends, group + marks, side="right")
        last = np.cumsum(members)
        atoms = np.empty_like(rows)
        atoms[order] = by_group[np.clip(place, (last - members)[group], last[group] - 1)]
        return atoms


def leaves_of(
    noisy: NoisyBlocks, levels: Sequence[Integers | None], held: Sequence[Floats]
) -> tuple[Leaves | None, ...]:
    """The leaves of each column, where it has some: `levels` has their groups, and `held` the share of each group."""
    return tuple(
        None if groups is None else Leaves(groups=groups, inside=_inside(noisy, column, groups, shares))
        for column, (groups, shares) in enumerate(zip(levels, held, strict=True))
    )


def _inside(noisy: NoisyBlocks, column: int, groups: Integers, distribution: Floats) -> Floats:
    """The shares of leaves in their groups: even ones, where leaves were not counted."""
    fine = [
        one
        for one in noisy.blocks
        if one.block.columns == (column,) and one.block.alone and one.block.cells == len(groups)
    ]
    members = np.bincount(groups)
    if not fine:
        return 1.0 / members[groups]
    mean = mean_counts(fine, noisy.rows)
    order = np.argsort(groups, kind="stable")
    inside = np.empty(len(groups))
    inside[order] = shrunk_leaves(
        mean.counts[order], groups[order], noisy.rows * distribution, math.sqrt(mean.variance)
    )
    total = np.bincount(groups, inside)
    return np.where(total[groups] > 0.0, inside / np.maximum(total[groups], _LEAST_LIKELIHOOD), 1.0 / members[groups])


def shrunk_leaves(counts: Floats, groups: Integers, held: Floats, sigma: float) -> Floats:
    """Counts of leaves, none negative, from noisy ones: (atoms,). Those of a group add up to what it holds.

    Leaves come group by group. Noise is taken for normal: as Laplace noise it would be known no better.
    """
    values, seen = counts / sigma, counts > SEEN * sigma
    grid = np.arange(0.0, SEEN + STEP / 2, STEP)
    likelihood = np.exp(-0.5 * (np.clip(values, -SEEN, SEEN)[:, None] - grid) ** 2)
    means = _posterior_means(likelihood, grid, groups)
    parts = np.where(seen, counts, sigma * means)
    plain, light = (np.bincount(groups, np.where(which, parts, 0.0), minlength=len(held)) for which in (seen, ~seen))
    left = np.maximum(held - plain, 0.0)
    scaled = np.where(seen, parts, parts * (left / np.maximum(light, _LEAST_LIKELIHOOD))[groups])
    total = np.bincount(groups, scaled, minlength=len(held))
    result: Floats = scaled * (np.maximum(held, 0.0) / np.maximum(total, _LEAST_LIKELIHOOD))[groups]
    return result


def _posterior_means(likelihood: Floats, grid: Floats, groups: Integers) -> Floats:
    """E[count | what was seen of it], where each group has a distribution over the grid of its own: (atoms,).

    `likelihood` is of what was seen of each leaf, for each count of the grid: (atoms, grid). Expectation and
    maximisation, in turn.
    """
    members = np.bincount(groups)
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    beliefs = np.full((len(members), len(grid)), 1.0 / len(grid))
    posterior = likelihood
    for _ in range(STEPS):
        posterior = likelihood * beliefs[groups]
        posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), _LEAST_LIKELIHOOD)
        sums = np.add.reduceat(posterior, starts, axis=0)
        everywhere = sums.sum(axis=0) / sums.sum()
        beliefs = (sums + PRIOR * everywhere) / (members + PRIOR)[:, None]
    return posterior @ grid
