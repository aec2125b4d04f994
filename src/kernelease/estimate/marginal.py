"""What all noisy counts of a release together say about a few columns: the best linear unbiased estimate.

And how finely a function of a column is best summed over them.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, final

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.special import ndtri

from kernelease.arrays import Floats, Integers
from kernelease.errors import CapacityError
from kernelease.measured.blocks import Block, NoisyBlock, NoisyBlocks
from kernelease.measured.views import Precision, View, merge_views
from kernelease.privacy.accounting import Law
from kernelease.privacy.sensitivity import Neighbours

# --------------------------------------------------------------------------------------------------------------
# The equations of the best linear estimate: what all views tell of some cells, solved for any question.


SMALL = 256  # cells whose matrix is factored as it is, in no time
LARGEST = 2048  # unknowns that are factored, in about a second; beyond, each function is iterated
ACCURACY = 1e-9  # what a solution may leave over, relative to the function
EXACT = 1e-12  # what it leaves over where nothing is gained by solving for the rest as well
REFINED = 3  # times that what is left over is solved for


class Equations(ABC):
    """M λ = h for any number of functions h of the cells, M = Σ_t G_tᵀ P_t G_t with sums G_t of weights P_t.

    Most sums are of many cells, and few; those of single cells have a diagonal D of their own: M = D + GᵀPG.
    """

    def __init__(self, diagonal: Floats, sums: Any, weights: Floats) -> None:
        self.diagonal = diagonal  # D: (cells,)
        self.sums = sums  # G: (sums, cells), sparse
        self.spread = sums.T.tocsr()  # Gᵀ, by rows
        self.weights = weights  # P: (sums,)

    @property
    def matrix(self) -> Floats:
        """M: (cells, cells)."""
        matrix: Floats = (self.spread @ self.sums.multiply(self.weights[:, None])).toarray()
        matrix[np.diag_indices_from(matrix)] += self.diagonal
        return matrix

    def product(self, functions: Floats) -> Floats:
        """M of functions: (cells, k) → (cells, k)."""
        told = self.weights[:, None] * (self.sums @ functions)
        result: Floats = self.diagonal[:, None] * functions + self.spread @ told
        return result

    @abstractmethod
    def solve(self, functions: Floats) -> Floats:
        """M⁻¹ of functions: (cells, k) → (cells, k)."""


@final
class WholeEquations(Equations):
    """By the Cholesky factor of M: where cells are no more than sums of them."""

    @cached_property
    def _factor(self) -> tuple[Floats, bool]:
        try:
            factor: tuple[Floats, bool] = cho_factor(self.matrix)
        except np.linalg.LinAlgError:
            raise _no_solution() from None
        return factor

    def solve(self, functions: Floats) -> Floats:
        solved: Floats = cho_solve(self._factor, functions, check_finite=False)
        return solved


@final
class CorrectedEquations(Equations):
    """By what the sums add to the cells' own counts: M⁻¹ = D⁻¹ − D⁻¹GᵀKGD⁻¹ with K = P(1 + GD⁻¹GᵀP)⁻¹ (Woodbury).

    A pair of columns of m and n values has mn cells, and often m + n sums: K is that much smaller than M. It is there
    for weights of 0 and below, too.
    """

    @cached_property
    def _core(self) -> Floats:
        """K: (sums, sums)."""
        overlaps = (self.sums.multiply(1.0 / self.diagonal) @ self.spread).toarray()  # GD⁻¹Gᵀ
        try:
            core: Floats = self.weights[:, None] * np.linalg.inv(np.eye(len(overlaps)) + overlaps * self.weights)
        except np.linalg.LinAlgError:
            raise _no_solution() from None
        return core

    def solve(self, functions: Floats) -> Floats:
        solved, left = np.zeros_like(functions), functions
        for _ in range(REFINED):
            solved = solved + self._approximate(left)
            left = functions - self.product(solved)
            if _small(left, functions, EXACT):
                return solved
        if _small(left, functions, ACCURACY):
            return solved
        return IteratedEquations(self.diagonal, self.sums, self.weights).solve(functions)

    def _approximate(self, functions: Floats) -> Floats:
        own = functions / self.diagonal[:, None]
        solved: Floats = own - (self.spread @ (self._core @ (self.sums @ own))) / self.diagonal[:, None]
        return solved


@final
class IteratedEquations(Equations):
    """By conjugate gradients: where both cells and sums are very many. M has few distinct eigenvalues."""

    def solve(self, functions: Floats) -> Floats:
        iterative, size = import_module("scipy.sparse.linalg"), len(self.diagonal)  # loaded where it is needed
        shares = self.diagonal + self.spread @ self.weights
        every = iterative.LinearOperator(
            (size, size), matvec=lambda x: self.product(x.reshape(-1, 1)).ravel(), dtype=np.float64
        )
        scaling = iterative.LinearOperator((size, size), matvec=lambda x: x.ravel() / shares, dtype=np.float64)
        found = [iterative.cg(every, one, M=scaling, rtol=ACCURACY, atol=0.0, maxiter=2000) for one in functions.T]
        if any(code != 0 for _, code in found):
            raise CapacityError("The noisy counts could not be combined: the equations for it did not converge.")
        return np.stack([one for one, _ in found], axis=1)


def equations(size: int, terms: Sequence[Precision]) -> Equations:
    """The equations of so many cells, by all that was told of them."""
    diagonal, sums = np.zeros(size), dict[bytes, Precision]()
    for term in terms:
        if len(term.weights) == size and np.array_equal(np.bincount(term.index, minlength=size), np.ones(size)):
            diagonal = diagonal + term.weights[term.index]
        else:
            key = term.index.tobytes()
            weights = term.weights + (sums[key].weights if key in sums else 0.0)
            sums[key] = Precision(index=term.index, weights=weights)
    kinds = list(sums.values())
    weights = np.concatenate([np.zeros(0), *(kind.weights for kind in kinds)])
    return _cheapest(diagonal, len(weights))(diagonal, _summing(size, kinds), weights)


def _cheapest(diagonal: Floats, sums: int) -> type[Equations]:
    """The way to solve equations of so many sums that takes the least work: the smaller matrix is factored."""
    corrected = SMALL < len(diagonal) > sums and bool(np.all(diagonal > 0.0))
    if (sums if corrected else len(diagonal)) > LARGEST:
        return IteratedEquations
    return CorrectedEquations if corrected else WholeEquations


def _summing(size: int, kinds: Sequence[Precision]) -> Any:
    """G of several kinds of sums, one below the other: sparse, (sums, cells)."""
    starts = np.cumsum([0, *(len(kind.weights) for kind in kinds)])
    rows = [kind.index + start for kind, start in zip(kinds, starts[:-1], strict=True)]
    places = np.concatenate([np.zeros(0, dtype=np.int64), *rows]), np.tile(np.arange(size), len(kinds))
    return csr_array((np.ones(len(places[0])), places), shape=(int(starts[-1]), size))


def _small(left: Floats, functions: Floats, share: float) -> bool:
    return bool(np.all(np.linalg.norm(left, axis=0) <= share * np.linalg.norm(functions, axis=0)))


def _no_solution() -> CapacityError:
    return CapacityError("The noisy counts could not be combined: they leave some cells unknown.")


# --------------------------------------------------------------------------------------------------------------
# What all noisy counts of a release together say about a few columns: the best linear unbiased estimate.


DOUBT = 2.0  # standard errors that the rows of cut cells may be more than counted, as for quantiles
REMEMBERED = 16  # solved functions of a marginal
DENSE = 512  # cells up to which all of them are looked at together


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BlockCounts:
    """A noisy block as plain numbers: `values` in rows or persons, with noise of `sigma`, as its kind says."""

    block: Block
    values: Floats
    sigma: float
    round: int
    laplace: bool  # Laplace noise

    @classmethod
    def of(cls, noisy: NoisyBlock) -> "BlockCounts":
        """Read a released block, once."""
        return cls(
            block=noisy.block,
            values=noisy.values,
            sigma=noisy.sigma,
            round=noisy.round,
            laplace=noisy.measurement.step.law is Law.LAPLACE,
        )

    def covers(self, columns: tuple[int, ...]) -> bool:
        """Whether the block says how all these columns go together."""
        return self.block.covers(columns)

    def sizes(self, columns: tuple[int, ...]) -> list[int]:
        """Number of cells of some of its columns."""
        return [self.block.grid[self.block.columns.index(column)] for column in columns]


def parts_of(fine: Integers, cells: Integers) -> Integers | None:
    """The cell that each fine one is a part of, both given by atom; None where one is in several.

    >>> parts_of(np.array([0, 1, 1, 2]), np.array([0, 0, 0, 1])), parts_of(np.array([0, 0, 1]), np.array([0, 1, 1]))
    (array([0, 0, 1]), None)
    """
    coarse = np.zeros(int(fine.max()) + 1, dtype=np.int64)
    coarse[fine] = cells
    return coarse if np.array_equal(coarse[fine], cells) else None


class Marginal(ABC):
    """Estimates of the counts of the cells of a few columns, and of sums of functions of them, with their covariance.

    `groups` says the cell of each atom of each column, `total` is the public number of rows or None, and `sources` are
    the blocks behind the estimates with their positions in the release.
    """

    def __init__(
        self,
        columns: tuple[int, ...],
        groups: tuple[Integers, ...],
        total: float | None,
        sources: tuple[tuple[int, BlockCounts], ...],
    ) -> None:
        self.columns = columns
        self.groups = groups
        self.total = total
        self.sources = sources
        self.laplace = any(part.laplace for _, part in sources)  # whether some noise is Laplace
        self.shape = tuple(int(group.max()) + 1 for group in groups)  # cells along each column
        self.size = math.prod(self.shape)

    @property
    @abstractmethod
    def counts(self) -> Floats:
        """The estimate of the count of every cell: (cells,). It may be negative."""

    @abstractmethod
    def joint(self, functions: Sequence[Floats]) -> tuple[Floats, Floats]:
        """The estimates of several functions' sums over all rows, and their covariance: (k,), (k, k)."""

    @abstractmethod
    def coefficients(self, function: Floats) -> dict[int, Floats]:
        """The estimate of a function as a weighted sum of noisy counts: weights for the cells of each block."""

    @abstractmethod
    def variances(self) -> Floats:
        """An upper bound on the variance of each count: (cells,)."""

    def sampling(self, functions: Sequence[Floats]) -> Floats:
        """The covariance of such sums over N rows drawn independently, N·cov(h, k): (k, k).

        A person who counts as the average of several rows varies less than a row does: there it is an upper bound.
        """
        total = self.total or max(1.0, float(self.counts.sum()))
        stacked = np.stack(functions)
        centred = stacked - (stacked @ self.shares)[:, None]
        covariance: Floats = total * (centred * self.shares) @ centred.T
        return covariance

    @cached_property
    def shares(self) -> Floats:
        """A distribution over the cells near `counts`: no cell below 0, and all of them add up to 1."""
        counts: Floats = np.maximum(self.counts, 0.0)
        total = float(counts.sum())
        return counts / total if total > 0.0 else np.full(self.size, 1.0 / self.size)


@final
class MeasuredMarginal(Marginal):
    """The counts of the cells of a few columns, as all blocks that overlap with them estimate them.

    With p the exact counts (cells,), each view v says y_v = G_v p + noise of variance 1/P_v, where G_v adds up cells
    and, of some kinds, takes out what fewer columns say, and under replace-one Σp = N is known. For a
    function h of the cells, the estimate of h·p with the least variance among the unbiased linear ones is λ·u + a₀N,
    where

        M λ + a₀ 1 = h,   Σλ = 0,   M = Σ_v G_vᵀ P_v G_v,   u = Σ_v G_vᵀ P_v y_v

    (a₀ = 0 and no condition on Σλ where N is not known), and two such estimates have the covariance λ_h·k. All
    questions share one factor of M (`Equations`).
    """

    def __init__(
        self,
        columns: tuple[int, ...],
        groups: tuple[Integers, ...],
        views: tuple[View, ...],
        total: float | None,
        sources: tuple[tuple[int, BlockCounts], ...],
    ) -> None:
        super().__init__(columns, groups, total, sources)
        self.views = views
        self._solved: dict[bytes, tuple[Floats, float]] = {}

    def solve(self, functions: Sequence[Floats]) -> list[tuple[Floats, float]]:
        """(λ, a₀) of each function of the cells: (cells,) → (cells,), scalar. A few are remembered."""
        keys = [function.tobytes() for function in functions]
        found = {key: self._solved[key] for key in keys if key in self._solved}
        new = {key: function for key, function in zip(keys, functions, strict=True) if key not in found}
        if new:
            found |= dict(zip(new, self._solve(np.stack(list(new.values()))), strict=True))
            self._remember({key: found[key] for key in list(new)[:REMEMBERED]})
        return [found[key] for key in keys]

    def _remember(self, solved: dict[bytes, tuple[Floats, float]]) -> None:
        if len(self._solved) + len(solved) > REMEMBERED:
            self._solved.clear()
        self._solved.update(solved)

    def _solve(self, functions: Floats) -> list[tuple[Floats, float]]:
        if self.total is not None and self.size == 1:  # one cell holds everybody: nothing is left to estimate
            return [(np.zeros(1), float(function[0])) for function in functions]
        free = self._inverse(functions)
        if self.total is None:
            return [(weight, 0.0) for weight in free]
        constants = free.sum(axis=1) / self._ones.sum()
        return list(zip(free - constants[:, None] * self._ones, constants.tolist(), strict=True))

    def joint(self, functions: Sequence[Floats]) -> tuple[Floats, Floats]:
        solved = self.solve(functions)
        weights, constants = np.stack([weight for weight, _ in solved]), np.array([constant for _, constant in solved])
        covariance = weights @ np.stack(functions).T
        return weights @ self._weighted_sums + constants * (self.total or 0.0), 0.5 * (covariance + covariance.T)

    def coefficients(self, function: Floats) -> dict[int, Floats]:
        ((weight, _),) = self.solve([function])
        return {
            position: part.block.coefficients(part.sigma, self.columns, self.groups, weight)
            for position, part in self.sources
        }

    @cached_property
    def counts(self) -> Floats:
        if self.total is not None and self.size == 1:
            return np.array([self.total])
        free = self._inverse(self._weighted_sums[None]).ravel()
        if self.total is None:
            return free
        return free + float((self.total - free.sum()) / self._ones.sum()) * self._ones

    def variances(self) -> Floats:
        """What the view that tells most cells apart would have with those of fewer columns."""
        finest = self.finest
        if finest is None:
            return np.zeros(self.size)
        return finest.bounds(self.views, self.shape, known=self.total is not None)

    @property
    def finest(self) -> View | None:
        """The view that tells most of its cells apart, counts before others; None where nothing was left to measure."""
        finest = max(self.views, key=lambda view: view.resolution, default=None)
        return finest if finest is not None and finest.resolution else None

    @cached_property
    def information(self) -> Floats | None:
        """M, the inverse of the covariance of all counts' estimates: (cells, cells). None where cells are too many."""
        return self._equations.matrix if self.size <= DENSE else None

    @cached_property
    def _weighted_sums(self) -> Floats:
        """u."""
        return sum([view.by_precision for view in self.views], np.zeros(self.size))

    @cached_property
    def _ones(self) -> Floats:
        return self._inverse(np.ones((1, self.size))).ravel()

    @cached_property
    def _equations(self) -> Equations:
        return equations(self.size, [term for view in self.views for term in view.terms])

    def _inverse(self, functions: Floats) -> Floats:
        """M⁻¹ of functions: (k, cells) → (k, cells)."""
        return self._equations.solve(functions.T).T


@final
class Tabulation:
    """All noisy counts of a release, and the marginals of whatever columns were asked for: each is made once."""

    def __init__(self, noisy: NoisyBlocks) -> None:
        told = noisy.without_details
        self.counts = tuple(map(BlockCounts.of, told.blocks))
        self.sigmas = tuple(block.sigma for block in told.every)
        self.total = noisy.rows if noisy.neighbours is Neighbours.REPLACE_ONE else None
        self._marginals: dict[tuple[int, ...], tuple[MeasuredMarginal, ...]] = {}
        self._grouped: dict[tuple[int, bytes], MeasuredMarginal] = {}  # single columns in other cells than their own
        self._holding: dict[int, list[tuple[int, BlockCounts]]] = {}  # the blocks of each column, with their positions
        self._counted = [item for item in enumerate(self.counts) if item[1].block.adds_up]
        for position, part in enumerate(self.counts):
            for column in part.block.columns:
                self._holding.setdefault(column, []).append((position, part))

    def covering(self, columns: tuple[int, ...]) -> list[tuple[int, BlockCounts]]:
        """The blocks that say how all these columns go together, with their positions, in order."""
        if not columns:
            return [item for item in enumerate(self.counts) if item[1].covers(columns)]
        fewest = min((self._holding.get(column, []) for column in columns), key=len)
        return [item for item in fewest if item[1].covers(columns)]

    def marginals(self, columns: tuple[int, ...]) -> tuple[MeasuredMarginal, ...]:
        """The marginal of some columns from the blocks of each round that measured them jointly; none where none did.

        Joint counts of different rounds are never mixed: which blocks a later round has was decided in sight of the
        noise of earlier ones, so that given the choice, only its own noise is known to be centred on 0. Centred counts
        need those of single columns, which every release has, whatever is chosen.
        """
        found = self._marginals.get(columns)
        if found is None:
            rounds = sorted({part.round for _, part in self.covering(columns)})
            found = tuple(self._marginal(columns, number) for number in rounds)
            self._marginals[columns] = found
        return found

    def marginal_in(self, columns: tuple[int, ...], cells: dict[int, Integers]) -> MeasuredMarginal | None:
        """The marginal of some columns in which some have these cells; None if there is none.

        A single column may have been counted in finer cells: they are added up.
        """
        for found in self.marginals(columns):
            known = dict(zip(columns, found.groups, strict=True))
            if all(np.array_equal(own, known[column]) for column, own in cells.items()):
                return found
        if len(columns) > 1:
            return None
        groups = cells[columns[0]]
        key = (columns[0], groups.tobytes())
        if key not in self._grouped:
            self._grouped[key] = self._marginal(columns, 0, (groups,))
        return self._grouped[key]

    def _marginal(
        self, columns: tuple[int, ...], number: int, groups: tuple[Integers, ...] | None = None
    ) -> MeasuredMarginal:
        near = self._telling(columns)
        counts = [item for item in near if item[1].round == number]
        if number and any(not part.block.adds_up and part.covers(columns) for _, part in counts):
            others = (item for item in near if item[1].round != number)
            counts += [item for item in others if len(item[1].block.columns) < len(columns)]
        return _marginal(counts, columns, self.total, groups)

    def _telling(self, columns: tuple[int, ...]) -> list[tuple[int, BlockCounts]]:
        """The blocks that say something of these columns, or of a number of rows that is not known, in order."""
        found = {item[0]: item for column in columns for item in self._holding.get(column, [])}
        if self.total is None:
            found |= dict(zip((position for position, _ in self._counted), self._counted, strict=True))
        told = [found[position] for position in sorted(found)]
        return [item for item in told if item[1].block.tells(columns)]


def tabulation(noisy: NoisyBlocks) -> Tabulation:
    """The counts of a release, read once: questions that follow find them, and what was computed from them."""
    return noisy.once(Tabulation)


def _marginal(
    counts: Sequence[tuple[int, BlockCounts]],
    columns: tuple[int, ...],
    total: float | None,
    groups: tuple[Integers, ...] | None = None,
) -> MeasuredMarginal:
    if groups is None:
        covering = [part for _, part in counts if part.covers(columns)]
        finest = max(covering, key=lambda part: (math.prod(part.sizes(columns)), -part.sigma))
        groups = tuple(finest.block.groups[finest.block.columns.index(column)] for column in columns)
    first = sorted(counts, key=lambda item: not item[1].block.adds_up)  # counts before contrasts
    views = [part.block.view(part.values, part.sigma, columns, groups) for _, part in first]
    told = merge_views([view for view in views if total is None or not view.only_total])
    return MeasuredMarginal(columns, groups, told, total, tuple(counts))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """The share of each cell's rows that are meant, and how far off that may be: at most, or as an error."""

    meant: Floats  # (cells,)
    slack: Floats  # (cells,)
    variance: Floats  # (cells,): of the number of rows that are meant, by where in the cell they lie


@final
class ConditionalMarginal(Marginal):
    """The cells of some columns of a larger marginal, of the rows in those of its cells whose flag is 1.

    A function of the columns is one of the larger marginal's cells, 0 where the flag is 0: all its estimates are those
    of the larger marginal, with the same noise. How many rows there are is not public. Where a condition cuts through a
    cell, its flag is the share of its rows that are likely meant.
    """

    def __init__(self, whole: Marginal, columns: tuple[int, ...], flags: Flags) -> None:
        places = [whole.columns.index(column) for column in columns]
        super().__init__(columns, tuple(whole.groups[place] for place in places), None, whole.sources)
        self._whole, self._flags, self._doubt = whole, flags.meant, flags
        self._cells = _cells(whole, places)

    @cached_property
    def counts(self) -> Floats:
        weights = self._whole.counts * self._flags
        return np.bincount(self._cells, weights=weights, minlength=self.size).astype(np.float64)

    def joint(self, functions: Sequence[Floats]) -> tuple[Floats, Floats]:
        return self._whole.joint([self._lift(function) for function in functions])

    def coefficients(self, function: Floats) -> dict[int, Floats]:
        return self._whole.coefficients(self._lift(function))

    def variances(self) -> Floats:
        return self._variances

    @cached_property
    def _variances(self) -> Floats:
        """Variances of the sums themselves."""
        every = np.eye(self.size)
        return np.array([max(0.0, float(self.joint([one])[1][0, 0])) for one in every])

    @property
    def is_cut(self) -> bool:
        """Whether it is not known of some rows if they are meant."""
        return bool(self._doubt.slack.any() or self._doubt.variance.any())

    def doubt(self, function: Floats) -> tuple[float, float]:
        """How far the sum of a function may be off by the rows of cells that are cut: at most, and as a variance."""
        lifted = function[self._cells]
        inside = float(lifted**2 @ self._doubt.variance)
        if not self._doubt.slack.any():
            return 0.0, inside
        value, variance = self._whole.joint([np.abs(lifted) * self._doubt.slack])
        return max(0.0, float(value[0])) + DOUBT * math.sqrt(max(0.0, float(variance[0, 0]))), inside

    def _lift(self, function: Floats) -> Floats:
        """A function of these cells as one of the larger marginal's: (cells,) → (cells of it,)."""
        return np.asarray(function[self._cells] * self._flags)


def _cells(whole: Marginal, places: Sequence[int]) -> Integers:
    """The cell of some columns, for each cell of all."""
    grid = np.indices(whole.shape).reshape(len(whole.shape), -1)
    cell = np.zeros(whole.size, dtype=np.int64)
    for place in places:
        cell = cell * whole.shape[place] + grid[place]
    return cell


# --------------------------------------------------------------------------------------------------------------
# How finely to sum a function of a column: some ways, and the one for each cell that makes the interval shortest.


LEVEL = 0.95  # of the interval that is made shortest
MOST = 2.0  # standard errors by which a cell may hold more rows than counted


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What stands for the function on each fine cell, how far off it may be there, and noise beyond that of counts."""

    values: Floats  # (fine cells,)
    slack: Floats  # (fine cells,)
    variances: Floats  # (cells,)


def best_ways(marginal: Marginal, cells: Integers, ways: Sequence[Way]) -> Integers:
    """For each cell, which way to take: (fine cells,) → (cells,). `cells` says which one each fine cell is a part of.

    The first way is the same on all parts of a cell: it has no noise of how rows are spread over these, and the most
    slack. From it on, that change is made, again and again, which shortens the 95 % interval most. A cell is taken to
    hold as many rows as the noise allows: were it taken at its count, one that noise has emptied would be summed so
    that its rows count least.
    """
    size, noise = int(cells.max()) + 1, marginal.variances()
    counts, covariance = marginal.joint([(cells == cell).astype(np.float64) for cell in range(size)])
    rows = np.maximum(counts, 0.0) + MOST * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    variances = [
        np.bincount(cells, noise * (way.values - ways[0].values) ** 2, minlength=size) + way.variances for way in ways
    ]
    bounds = [rows * _largest(way.slack, cells, size) for way in ways]
    base = float(marginal.joint([ways[0].values])[1][0, 0])
    return _greedy(np.array(variances), np.array(bounds), max(0.0, base))


def _largest(slack: Floats, cells: Integers, size: int) -> Floats:
    largest = np.zeros(size)
    np.maximum.at(largest, cells, slack)
    return largest


def _greedy(variances: Floats, bounds: Floats, base: float) -> Integers:
    """The way of each cell, by the variance and the bound of each: (ways, cells), (ways, cells) → (cells,).

    >>> _greedy(np.array([[0.0, 0.0, 0.0], [1.0, 1e6, 1.0]]), np.array([[50.0, 50.0, 0.0], [1.0, 1.0, 0.0]]), 100.0)
    array([1, 0, 0])
    """
    factor, every = float(ndtri(0.5 + LEVEL / 2.0)), np.arange(bounds.shape[1])
    chosen = np.zeros(bounds.shape[1], dtype=np.int64)
    while True:
        variance, bound = base + float(variances[chosen, every].sum()), float(bounds[chosen, every].sum())
        longer = factor * np.sqrt(np.maximum(variance + variances - variances[chosen, every], 0.0))
        change = longer + bounds - bounds[chosen, every] - factor * math.sqrt(variance)
        way, cell = np.unravel_index(int(np.argmin(change)), change.shape)
        if not change[way, cell] < -1e-9 * (factor * math.sqrt(variance) + bound):
            return chosen
        chosen[cell] = way
