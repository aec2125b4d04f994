"""What all noisy counts of a release together say about a few columns: the best linear unbiased estimate."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias, final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.estimate.views import (
    BlockCounts,
    Equations,
    NoisyContrasts,
    NoisySums,
    along,
    contrasts_view,
    contrasts_weights,
    equations,
    merged_contrasts,
    merged_sums,
    sums_view,
    sums_weights,
)
from kernelease.measured.blocks import NoisyBlocks
from kernelease.privacy.neighbours import Neighbours

REMEMBERED = 16  # solved functions of a marginal
DENSE = 512  # cells up to which all of them are looked at together

View: TypeAlias = NoisySums | NoisyContrasts


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
    (`NoisySums`) and takes out what fewer columns say (`NoisyContrasts`), and under replace-one Σp = N is known. For a
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
        return {position: self._weights(part, weight) for position, part in self.sources}

    def _weights(self, part: BlockCounts, weight: Floats) -> Floats:
        weights = contrasts_weights if part.block.centred else sums_weights
        return weights(part, self.columns, self.groups, weight)

    @cached_property
    def counts(self) -> Floats:
        if self.total is not None and self.size == 1:
            return np.array([self.total])
        free = self._inverse(self._weighted_sums[None]).ravel()
        if self.total is None:
            return free
        return free + float((self.total - free.sum()) / self._ones.sum()) * self._ones

    def variances(self) -> Floats:
        """What the finest counts alone would have, or centred ones with what they leave out."""
        if self.contrasts is None:
            finest = max(self.sums, key=lambda view: len(view.values), default=None)
            return np.zeros(self.size) if finest is None else 1.0 / finest.precision[finest.index]
        if len(self.shape) == 1:
            return self._of_counts(self.contrasts.held[0], self.contrasts.variances)
        return self._beside(self.contrasts)

    def _of_counts(self, held: Floats, variances: Floats) -> Floats:
        """Of counts y_s + (n_s/k)·N: (cells,)."""
        result: Floats = variances + (held / held.sum()) ** 2 * self._rows_variance
        return result

    def _beside(self, view: NoisyContrasts) -> Floats:
        """Of x_ab + x_a/n + x_b/m − N/mn, in which N is what was counted without regard to the two, or is known."""
        (first, lacks_first), (second, lacks_second) = self._alone(0), self._alone(1)
        (m, n), variances = self.shape, view.variances.copy()
        if view.axes == (1, 0):
            variances = variances.T
        if lacks_first.any() or lacks_second.any():
            lacks = lacks_first[:, None] / n + lacks_second / m - 1.0 / self.size
            variances = variances + first[:, None] / n**2 + second / m**2 + lacks**2 * self._rows_variance
        else:  # N is the sum of the first column
            variances = variances + first[:, None] / n**2
            variances = variances + (second * (1.0 - 2.0 / n) + second.sum() / n**2) / m**2
        result: Floats = variances.ravel()
        return result

    def _alone(self, axis: int) -> tuple[Floats, Floats]:
        """Of a single column, cell by cell: the variance of what was measured, and the part of N that it lacks."""
        size = self.shape[axis]
        for view in self.views:
            if isinstance(view, NoisyContrasts) and view.axes == (axis,) and len(view.values) == size:
                return view.variances, view.held[0] / view.held[0].sum()
        wanted = np.broadcast_to(along(np.arange(size), axis, len(self.shape)), self.shape).ravel()
        for sums in self.sums:
            if len(sums.values) == size and np.array_equal(sums.index, wanted):
                return 1.0 / sums.precision, np.zeros(size)
        raise ParameterError("An interaction was measured of a column that was not counted on its own.")

    @property
    def _rows_variance(self) -> float:
        """Of the number of rows as it was counted without regard to these columns; 0 where it is known."""
        if self.total is not None:
            return 0.0
        for view in self.sums:
            if len(view.values) == 1:
                return float(1.0 / view.precision[0])
        raise ParameterError("A column was measured up to the number of rows, which was not counted.")

    @property
    def sums(self) -> tuple[NoisySums, ...]:
        """The views that are sums of cells."""
        return tuple(view for view in self.views if isinstance(view, NoisySums))

    @property
    def contrasts(self) -> NoisyContrasts | None:
        """The view of its columns' centred counts in its own cells, where their counts were not measured."""
        found = [view for view in self.views if isinstance(view, NoisyContrasts) and view.whole]
        counted = any(len(view.values) == self.size for view in self.sums)
        return None if counted or not found else found[0]

    @cached_property
    def information(self) -> Floats | None:
        """M, the inverse of the covariance of all counts' estimates: (cells, cells). None where cells are too many."""
        return self._equations.matrix if self.size <= DENSE else None

    @cached_property
    def _weighted_sums(self) -> Floats:
        """u."""
        return sum((view.weighted for view in self.views), np.zeros(self.size))

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
        self.counts = tuple(BlockCounts.of(block) for block in told.blocks)
        self.sigmas = tuple(block.sigma for block in told.every)
        self.total = noisy.rows if noisy.neighbours is Neighbours.REPLACE_ONE else None
        self._marginals: dict[tuple[int, ...], tuple[MeasuredMarginal, ...]] = {}
        self._grouped: dict[tuple[int, bytes], MeasuredMarginal] = {}  # single columns in other cells than their own
        self._holding: dict[int, list[tuple[int, BlockCounts]]] = {}  # the blocks of each column, with their positions
        self._counted = [item for item in enumerate(self.counts) if not item[1].block.centred]
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

    def aligned(self, columns: tuple[int, ...], cells: dict[int, Integers]) -> MeasuredMarginal | None:
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
        if number and any(part.block.centred and part.covers(columns) for _, part in counts):
            others = (item for item in near if item[1].round != number)
            counts += [item for item in others if len(item[1].block.columns) < len(columns)]
        return _marginal(counts, columns, self.total, groups)

    def _telling(self, columns: tuple[int, ...]) -> list[tuple[int, BlockCounts]]:
        """The blocks that say something of these columns, or of a number of rows that is not known, in order."""
        found = {item[0]: item for column in columns for item in self._holding.get(column, [])}
        if self.total is None:
            found |= dict(zip((position for position, _ in self._counted), self._counted, strict=True))
        told = (found[position] for position in sorted(found))
        return [item for item in told if not item[1].block.centred or set(item[1].block.columns) <= set(columns)]


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
    sums = [sums_view(part, columns, groups) for _, part in counts if not part.block.centred]
    contrasts = merged_contrasts([contrasts_view(part, columns, groups) for _, part in counts if part.block.centred])
    merged = merged_sums([view for view in sums if total is None or len(view.values) > 1])
    return MeasuredMarginal(columns, groups, (*merged, *contrasts), total, tuple(counts))
