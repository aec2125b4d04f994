"""How noisy blocks see the counts of a few columns, and the equations of the best linear estimate that follow."""

import functools
import itertools
import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from kernelease.arrays import Floats, Integers
from kernelease.errors import CapacityError, ParameterError
from kernelease.measured.blocks import Block, NoisyBlock
from kernelease.privacy.step import Law

# --------------------
# The equations: factored once for a set of columns, then solved for every question.


SMALL = 256  # cells whose matrix is factored as it is, in no time
LARGEST = 2048  # unknowns that are factored, in about a second; beyond, each function is iterated
ACCURACY = 1e-9  # what a solution may leave over, relative to the function
EXACT = 1e-12  # what it leaves over where nothing is gained by solving for the rest as well
REFINED = 3  # times that what is left over is solved for


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """What sums of cells tell: `index[c]` is the sum that cell c is in, `weights` (1/variance) are those of the sums.

    A weight below 0 takes back what other sums would tell.
    """

    index: Integers  # (cells,)
    weights: Floats  # (sums,)


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
            raise _undetermined() from None
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
            raise _undetermined() from None
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


def _undetermined() -> CapacityError:
    return CapacityError("The noisy counts could not be combined: they leave some cells unknown.")


# --------------------
# How a noisy block of counts sees the counts of a few columns: as sums of their cells.


Number = TypeVar("Number", np.float64, np.int64)
Weight = TypeVar("Weight", float, Floats)  # of all numbers alike, or of each


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BlockCounts:
    """A noisy block as plain numbers: `values` in rows or persons, each with independent noise of `sigma`.

    Of a centred block, noise is of `sigma` in every direction but those of the means that are taken out.
    """

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
        """Whether the block says how all these columns go together; a centred one, only of exactly its own."""
        own = set(self.block.columns)
        return own == set(columns) if self.block.centred else own >= set(columns)

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

    @property
    def terms(self) -> tuple[Precision, ...]:
        """GᵀPG."""
        return (Precision(index=self.index, weights=self.precision),)

    @property
    def weighted(self) -> Floats:
        """Gᵀ P y: (cells,)."""
        return (self.precision * self.values)[self.index]


def sums_view(counts: BlockCounts, columns: tuple[int, ...], groups: tuple[Integers, ...]) -> NoisySums:
    """A block as sums over the cells of the marginal; a block that has none of its columns is the sum of all cells."""
    index, spread = _sums(counts.block, columns, groups)
    values = np.bincount(spread, weights=counts.values.ravel()).astype(np.float64)
    merged = np.maximum(1, np.bincount(spread))  # a forged cell may have no atoms
    return NoisySums(index=index, values=values, precision=1.0 / (merged * counts.sigma**2))


def sums_weights(counts: BlockCounts, columns: tuple[int, ...], groups: tuple[Integers, ...], weight: Floats) -> Floats:
    """How much each cell of a block counts where the cells of the marginal have the multipliers λ."""
    index, spread = _sums(counts.block, columns, groups)
    merged = np.maximum(1, np.bincount(spread)) * counts.sigma**2
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
            index = index * cells + along(ours, place, index.ndim)
            spread = spread * cells + along(theirs, axis, spread.ndim)
    return index.ravel(), spread.ravel()


def along(values: NDArray[Number], axis: int, dimensions: int) -> NDArray[Number]:
    """Numbers along one of so many axes, to be broadcast along the others."""
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


def merged_sums(views: Sequence[NoisySums]) -> tuple[NoisySums, ...]:
    """Views of the same sums as one, weighted by precision."""
    same: dict[bytes, list[NoisySums]] = {}
    for view in views:
        same.setdefault(view.index.tobytes(), []).append(view)
    return tuple(_combined(group) for group in same.values())


def _combined(views: Sequence[NoisySums]) -> NoisySums:
    values, precision = best_mean([view.values for view in views], [view.precision for view in views])
    return NoisySums(index=views[0].index, values=values, precision=precision)


def best_mean(values: Sequence[Floats], precisions: Sequence[Weight]) -> tuple[Floats, Weight]:
    """Numbers that were measured several times as one: their mean weighted by precision (1/variance), and its own.

    >>> best_mean([np.array([10.0, 20.0]), np.array([13.0, 20.0])], [0.5, 0.25])
    (array([11., 20.]), 0.75)
    """
    precision = functools.reduce(operator.add, precisions)
    total = functools.reduce(operator.add, (one * own for one, own in zip(values, precisions, strict=True)))
    return total / precision, precision


# --------------------
# How a noisy block of centred counts sees the counts of a few columns: as contrasts between sums of their cells.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyContrasts:
    """Centred counts of one or two of a marginal's columns, with noise of one `precision` in each.

    Along each of its columns, in the block's order, the marginal's cells and the block's make up the finest sums that
    both can form: `onto` is the sum of each cell of the marginal, `held` how many of the block's k cells are in a sum.

    Along one column, sums of centred counts are y_s = p_s − (n_s/k)Σp with noise of covariance σ²(n_s·1[s = t] −
    n_s n_t/k), of which 1[s = t]/(σ²n_s) is a generalised inverse: GᵀPG = 1[s = t]/(σ²n_s) − 1/(σ²k), which is what
    counts would tell less what they would tell of Σp. Of two columns it is the product of two such matrices, and of
    matrices of ones for other columns.
    """

    shape: tuple[int, ...]  # of the marginal
    axes: tuple[int, ...]  # of the block's columns in it
    onto: tuple[Integers, ...]
    held: tuple[Floats, ...]
    values: Floats  # of the sums: an axis for each of the block's columns
    precision: float  # 1/σ²

    def weighed(self, function: Floats) -> Floats:
        """PG of a function: (cells,) → a table of the sums."""
        table: Floats = function.reshape(self.shape).sum(axis=self._others).transpose(self._ranks)
        for axis, (cells, held) in enumerate(zip(self.onto, self.held, strict=True)):
            table = _summed(table, cells, len(held), axis)
        return self._told(table)

    @property
    def terms(self) -> tuple[Precision, ...]:
        """GᵀPG: what counts would tell, less what these would tell of the sums over either column, and of both."""
        chosen = itertools.product((True, False), repeat=len(self.axes))
        return tuple(self._term(kept) for kept in chosen)

    def _term(self, kept: tuple[bool, ...]) -> Precision:
        """Of the product of 1[s = t]/n_s along some columns, and of −1/k along the others."""
        index, weights = np.zeros((1,) * len(self.shape), dtype=np.int64), np.array([self.precision])
        for axis, cells, held, own in zip(self.axes, self.onto, self.held, kept, strict=True):
            if own:
                index = index * len(held) + along(cells, axis, len(self.shape))
                weights = np.multiply.outer(weights, 1.0 / held).ravel()
            else:
                weights = -weights / held.sum()
        return Precision(index=np.broadcast_to(index, self.shape).ravel(), weights=weights)

    @property
    def weighted(self) -> Floats:
        """GᵀPy: (cells,)."""
        return self._spread(self._told(self.values))

    @property
    def whole(self) -> bool:
        """Whether it is of all the marginal's columns, in the marginal's cells."""
        return len(self.axes) == len(self.shape) and all(
            len(held) == self.shape[axis] and float(held.max()) == 1.0
            for axis, held in zip(self.axes, self.held, strict=True)
        )

    @property
    def variances(self) -> Floats:
        """Of `values`: a table of the sums."""
        parts = (held - held**2 / held.sum() for held in self.held)
        variances: Floats = functools.reduce(np.multiply.outer, parts) / self.precision
        return variances

    @property
    def turned(self) -> "NoisyContrasts":
        """The same with its columns in the marginal's order."""
        order = np.argsort(self.axes).tolist()
        return NoisyContrasts(
            shape=self.shape,
            axes=tuple(self.axes[place] for place in order),
            onto=tuple(self.onto[place] for place in order),
            held=tuple(self.held[place] for place in order),
            values=self.values.transpose(order),
            precision=self.precision,
        )

    @property
    def _others(self) -> tuple[int, ...]:
        """The axes of the marginal's other columns."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.axes)

    @property
    def _ranks(self) -> list[int]:
        """Of each of the block's columns, its place among them in the marginal."""
        return [sorted(self.axes).index(axis) for axis in self.axes]

    def _told(self, table: Floats) -> Floats:
        """P of a table of the sums."""
        for axis, held in enumerate(self.held):
            table = table / along(held, axis, table.ndim) - table.sum(axis=axis, keepdims=True) / held.sum()
        return self.precision * table

    def _spread(self, table: Floats) -> Floats:
        """Of a table of the sums: for each cell of the marginal, what its sum has."""
        own: Floats = table[np.ix_(*self.onto)].transpose(np.argsort(self._ranks))
        return np.broadcast_to(np.expand_dims(own, self._others), self.shape).ravel()


def contrasts_view(counts: BlockCounts, columns: tuple[int, ...], groups: tuple[Integers, ...]) -> NoisyContrasts:
    """A centred block, all of whose columns a marginal has, as a view of it."""
    axes, sums = _axes_and_sums(counts, columns, groups)
    values = counts.values
    for axis, (_, theirs) in enumerate(sums):
        values = _summed(values, theirs, int(theirs.max()) + 1, axis)
    return NoisyContrasts(
        shape=tuple(int(group.max()) + 1 for group in groups),
        axes=axes,
        onto=tuple(ours for ours, _ in sums),
        held=tuple(np.bincount(theirs).astype(np.float64) for _, theirs in sums),
        values=values,
        precision=counts.sigma**-2.0,
    )


def contrasts_weights(
    counts: BlockCounts, columns: tuple[int, ...], groups: tuple[Integers, ...], weight: Floats
) -> Floats:
    """How much each cell of a centred block counts where the cells of the marginal have the multipliers λ."""
    _, sums = _axes_and_sums(counts, columns, groups)
    table = contrasts_view(counts, columns, groups).weighed(weight)
    return table[np.ix_(*(theirs for _, theirs in sums))].ravel()


def merged_contrasts(views: Sequence[NoisyContrasts]) -> tuple[NoisyContrasts, ...]:
    """Views of the same sums of the same cells as one, weighted by precision."""
    same: dict[tuple[tuple[int, ...], bytes, bytes], list[NoisyContrasts]] = {}
    for view in views:
        key = view.axes, b"".join(map(np.ndarray.tobytes, view.onto)), b"".join(map(np.ndarray.tobytes, view.held))
        same.setdefault(key, []).append(view)
    return tuple(_combined_contrasts(alike) for alike in same.values())


def _combined_contrasts(views: Sequence[NoisyContrasts]) -> NoisyContrasts:
    first = views[0]
    values, precision = best_mean([view.values for view in views], [view.precision for view in views])
    return NoisyContrasts(
        shape=first.shape, axes=first.axes, onto=first.onto, held=first.held, values=values, precision=precision
    )


def _axes_and_sums(
    counts: BlockCounts, columns: tuple[int, ...], groups: tuple[Integers, ...]
) -> tuple[tuple[int, ...], list[tuple[Integers, Integers]]]:
    """Where a block's columns are, and along each the sum of each cell of the marginal and of the block."""
    axes = tuple(columns.index(column) for column in counts.block.columns)
    return axes, [common_coarsening(groups[at], own) for at, own in zip(axes, counts.block.groups, strict=True)]


def _summed(table: Floats, cells: Integers, count: int, axis: int) -> Floats:
    """A table whose cells along an axis are added up: the sum that each is in is given."""
    if count == table.shape[axis] and np.array_equal(cells, np.arange(count)):
        return table
    result = np.zeros((count, *np.delete(table.shape, axis)))
    np.add.at(result, cells, np.moveaxis(table, axis, 0))
    return np.moveaxis(result, 0, axis)
