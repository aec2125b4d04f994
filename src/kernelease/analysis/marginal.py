"""What all noisy counts of a release together say about a few columns: the best linear unbiased estimate."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, cg

from kernelease.analysis.identity import Identity
from kernelease.arrays import Floats, Integers
from kernelease.errors import CapacityError, ParameterError
from kernelease.measured.block import Block
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.step import Law

REMEMBERED = 16  # solved functions of a marginal
DENSE = 512  # cells up to which a marginal's equations are factored, once; beyond, each function is iterated
KEPT = 8  # releases whose counts stay read


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BlockCounts:
    """A noisy block as plain numbers: `values` in rows or persons, each with independent noise of `sigma`."""

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
            laplace=noisy.measurement.law is Law.LAPLACE,
        )

    def covers(self, columns: tuple[int, ...]) -> bool:
        """Whether the block has all these columns."""
        return set(columns) <= set(self.block.columns)

    def sizes(self, columns: tuple[int, ...]) -> list[int]:
        """Number of cells of some of its columns."""
        return [self.block.shape[self.block.columns.index(column)] for column in columns]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySums:
    """Noisy sums over the cells of a marginal: `index[c]` is the sum that cell c is in; independent, with `precision`.

    They are how a block that holds only some of the columns, or has coarser cells, views the marginal.
    """

    index: Integers  # (cells,)
    values: Floats  # (sums,)
    precision: Floats  # (sums,), 1/variance

    def gather(self, function: Floats) -> Floats:
        """The sums of a function over the cells: (cells,) → (sums,)."""
        return np.bincount(self.index, weights=function, minlength=len(self.values)).astype(np.float64, copy=False)


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

    With p the exact counts (cells,), each view v says y_v = G_v p + noise of variance 1/P_v, and under replace-one
    Σp = N is known. For a function h of the cells, the estimate of h·p with the least variance among the unbiased
    linear ones is λ·u + a₀N, where

        M λ + a₀ 1 = h,   Σλ = 0,   M = Σ_v G_vᵀ P_v G_v,   u = Σ_v G_vᵀ P_v y_v

    (a₀ = 0 and no condition on Σλ where N is not known), and two such estimates have the covariance λ_h·k. M has few
    distinct eigenvalues, so that conjugate gradients need few iterations where it is large.
    """

    def __init__(
        self,
        columns: tuple[int, ...],
        groups: tuple[Integers, ...],
        views: tuple[NoisySums, ...],
        total: float | None,
        sources: tuple[tuple[int, BlockCounts], ...],
    ) -> None:
        super().__init__(columns, groups, total, sources)
        self.views = views
        self._solved: dict[bytes, tuple[Floats, float]] = {}

    def solve(self, function: Floats) -> tuple[Floats, float]:
        """(λ, a₀) of a function of the cells: (cells,) → (cells,), scalar. A few are remembered."""
        key = function.tobytes()
        found = self._solved.get(key)
        if found is None:
            found = self._solve(function)
            if len(self._solved) >= REMEMBERED:
                self._solved.clear()
            self._solved[key] = found
        return found

    def _solve(self, function: Floats) -> tuple[Floats, float]:
        if self.total is not None and self.size == 1:  # one cell holds everybody: nothing is left to estimate
            return np.zeros(1), float(function[0])
        free = self._inverse(function)
        if self.total is None:
            return free, 0.0
        constant = float(free.sum() / self._ones.sum())
        return free - constant * self._ones, constant

    def joint(self, functions: Sequence[Floats]) -> tuple[Floats, Floats]:
        solved = [self.solve(function) for function in functions]
        values = [float(weight @ self._weighted_sums) + constant * (self.total or 0.0) for weight, constant in solved]
        covariance = np.array([[float(weight @ other) for other in functions] for weight, _ in solved])
        return np.array(values), 0.5 * (covariance + covariance.T)

    def coefficients(self, function: Floats) -> dict[int, Floats]:
        weight = self.solve(function)[0]
        return {position: _weights(part, self.columns, self.groups, weight) for position, part in self.sources}

    @cached_property
    def counts(self) -> Floats:
        if self.total is not None and self.size == 1:
            return np.array([self.total])
        free = self._inverse(self._weighted_sums)
        if self.total is None:
            return free
        return free + float((self.total - free.sum()) / self._ones.sum()) * self._ones

    def variances(self) -> Floats:
        """What the finest view alone would have."""
        finest = max(self.views, key=lambda view: len(view.values), default=None)
        return np.zeros(self.size) if finest is None else 1.0 / finest.precision[finest.index]

    @cached_property
    def _weighted_sums(self) -> Floats:
        """u."""
        return self._apply([view.precision * view.values for view in self.views])

    @cached_property
    def _ones(self) -> Floats:
        return self._inverse(np.ones(self.size))

    @cached_property
    def _factor(self) -> tuple[Floats, bool]:
        """The Cholesky factor of M."""
        information = np.zeros((self.size, self.size))
        for view in self.views:
            information += np.where(view.index[:, None] == view.index, view.precision[view.index], 0.0)
        factor: tuple[Floats, bool] = cho_factor(information)
        return factor

    def _apply(self, sums: Sequence[Floats]) -> Floats:
        result = np.zeros(self.size)
        for view, part in zip(self.views, sums, strict=True):
            result += part[view.index]
        return result

    def _inverse(self, function: Floats) -> Floats:
        """M⁻¹ h."""
        norm = float(np.linalg.norm(function))
        if norm == 0.0:
            return np.zeros(self.size)
        if self.size <= DENSE:
            solved: Floats = cho_solve(self._factor, function)
            return solved
        diagonal = self._apply([view.precision for view in self.views])
        information = LinearOperator(
            (self.size, self.size),
            matvec=lambda x: self._apply([view.precision * view.gather(x.ravel()) for view in self.views]),
            dtype=np.float64,
        )
        scaling = LinearOperator((self.size, self.size), matvec=lambda x: x.ravel() / diagonal, dtype=np.float64)
        result, code = cg(information, function, M=scaling, rtol=1e-9, atol=0.0, maxiter=2000)
        if code != 0:
            raise CapacityError("The noisy counts could not be combined: the equations for it did not converge.")
        solution: Floats = result
        return solution


@final
class Tabulation:
    """All noisy counts of a release, and the marginals of whatever columns were asked for: each is made once."""

    def __init__(self, noisy: NoisyBlocks) -> None:
        self.counts = tuple(BlockCounts.of(block) for block in noisy.blocks)
        self.sigmas = tuple(block.sigma for block in noisy.every)
        self.total = noisy.rows if noisy.neighbours is Neighbours.REPLACE_ONE else None
        self._marginals: dict[tuple[int, ...], tuple[MeasuredMarginal, ...]] = {}

    def marginals(self, columns: tuple[int, ...]) -> tuple[MeasuredMarginal, ...]:
        """The marginal of some columns from the blocks of each round that measured them jointly; none where none did.

        Blocks of different rounds are never mixed: which blocks a later round has was decided in sight of the noise of
        earlier ones, so that given the choice, only its own noise is known to be centred on 0.
        """
        found = self._marginals.get(columns)
        if found is None:
            rounds = sorted({part.round for part in self.counts if part.covers(columns)})
            found = tuple(self._marginal(columns, number) for number in rounds)
            self._marginals[columns] = found
        return found

    def aligned(self, columns: tuple[int, ...], cells: dict[int, Integers]) -> MeasuredMarginal | None:
        """The marginal of some columns in which some have these cells; None if there is none.

        A single column may have been counted in finer cells: they are added up.
        """
        for found in self.marginals(columns):
            groups = dict(zip(columns, found.groups, strict=True))
            if all(np.array_equal(own, groups[column]) for column, own in cells.items()):
                return found
        if len(columns) > 1:
            return None
        key = (columns[0], columns[0])
        if key not in self._marginals:
            self._marginals[key] = (self._marginal(columns, 0, (cells[columns[0]],)),)
        return self._marginals[key][0]

    def _marginal(
        self, columns: tuple[int, ...], number: int, groups: tuple[Integers, ...] | None = None
    ) -> MeasuredMarginal:
        counts = [item for item in enumerate(self.counts) if item[1].round == number]
        return _marginal(counts, columns, self.total, groups)


def tabulation(noisy: NoisyBlocks) -> Tabulation:
    """The counts of a release, read once: questions that follow find them, and what was computed from them."""
    return _tabulation(Identity(noisy))


@lru_cache(maxsize=KEPT)
def _tabulation(noisy: Identity[NoisyBlocks]) -> Tabulation:
    return Tabulation(noisy.held)


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
    sources = tuple(item for item in counts if total is None or set(columns) & set(item[1].block.columns))
    views = [_view(part, columns, groups) for _, part in sources]
    merged = _merged([view for view in views if total is None or len(view.values) > 1])
    return MeasuredMarginal(columns, groups, merged, total, sources)


def _view(counts: BlockCounts, columns: tuple[int, ...], groups: tuple[Integers, ...]) -> NoisySums:
    """A block as sums over the cells of the marginal; a block that has none of its columns is the sum of all cells."""
    index, spread = _sums(counts.block, columns, groups)
    values, merged = (np.bincount(spread, weights=part).astype(np.float64) for part in (counts.values.ravel(), None))
    return NoisySums(index=index, values=values, precision=1.0 / (merged * counts.sigma**2))


def _weights(counts: BlockCounts, columns: tuple[int, ...], groups: tuple[Integers, ...], weight: Floats) -> Floats:
    """How much each cell of a block counts where the cells of the marginal have the multipliers λ."""
    index, spread = _sums(counts.block, columns, groups)
    merged = np.bincount(spread) * counts.sigma**2
    weights: Floats = (np.bincount(index, weights=weight, minlength=len(merged)) / merged)[spread]
    return weights


def _sums(block: Block, columns: tuple[int, ...], groups: tuple[Integers, ...]) -> tuple[Integers, Integers]:
    """The finest sums that both the marginal and a block can form: the sum of each cell of one and of the other."""
    index = np.zeros(tuple(int(group.max()) + 1 for group in groups), dtype=np.int64)
    spread = np.zeros(block.shape, dtype=np.int64)
    for axis, column in enumerate(block.columns):
        if column in columns:
            place = columns.index(column)
            ours, theirs = common_coarsening(groups[place], block.groups[axis])
            cells = int(theirs.max()) + 1
            index = index * cells + _along(ours, place, index.ndim)
            spread = spread * cells + _along(theirs, axis, spread.ndim)
    return index.ravel(), spread.ravel()


def _along(values: Integers, axis: int, dimensions: int) -> Integers:
    return values.reshape([-1 if other == axis else 1 for other in range(dimensions)])


def common_coarsening(first: Integers, second: Integers) -> tuple[Integers, Integers]:
    """The finest cells that both groupings of the same atoms can tell: maps from the cells of each to them.

    >>> common_coarsening(np.array([0, 0, 1, 2]), np.array([0, 1, 2, 2]))
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    if len(first) != len(second):
        raise ParameterError("Two groupings of one column must cover the same atoms.")
    if np.array_equal(first, second):
        same = np.arange(int(first.max()) + 1)
        return same, same
    sizes = int(first.max()) + 1, int(second.max()) + 1
    edges = coo_array((np.ones(len(first)), (first, second + sizes[0])), shape=(sum(sizes), sum(sizes)))
    labels = connected_components(edges, directed=False)[1].astype(np.int64)
    return labels[: sizes[0]], labels[sizes[0] :]


def _merged(views: Sequence[NoisySums]) -> tuple[NoisySums, ...]:
    """Views of the same sums as one, weighted by precision."""
    same: dict[bytes, list[NoisySums]] = {}
    for view in views:
        same.setdefault(view.index.tobytes(), []).append(view)
    return tuple(_combined(group) for group in same.values())


def _combined(views: Sequence[NoisySums]) -> NoisySums:
    precision: NDArray[np.float64] = np.sum([view.precision for view in views], axis=0)
    values = np.sum([view.precision * view.values for view in views], axis=0) / precision
    return NoisySums(index=views[0].index, values=values, precision=precision)
