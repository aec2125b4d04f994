"""How a noisy block of counts sees the counts of a few columns: as sums of their cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from kernelease.analysis.equations import Precision
from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.measured.block import Block
from kernelease.measured.blocks import NoisyBlock
from kernelease.privacy.step import Law

Number = TypeVar("Number", np.float64, np.int64)


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
    precision: NDArray[np.float64] = np.sum([view.precision for view in views], axis=0)
    values = np.sum([view.precision * view.values for view in views], axis=0) / precision
    return NoisySums(index=views[0].index, values=values, precision=precision)
