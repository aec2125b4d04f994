"""What noisy numbers tell of the counts of a few columns: views, and the equations they add."""

import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError

Number = TypeVar("Number", np.float64, np.int64)
Weight = TypeVar("Weight", float, Floats)  # of all numbers alike, or of each


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """What sums of cells tell: `index[c]` is the sum that cell c is in, `weights` (1/variance) are those of the sums.

    A weight below 0 takes back what other sums would tell.
    """

    index: Integers  # (cells,)
    weights: Floats  # (sums,)


class View(ABC):
    """Noisy numbers y = G p + noise of the counts p of a few columns' cells, with P the inverse of its variance.

    Each kind of block makes its own (`Block.view`); those that say the same of the same cells are `merged` into one.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """Views with the same key are of the same sums."""

    @abstractmethod
    def merge(self, others: "Sequence[Any]") -> "View":
        """This and others of the same key as one, weighted by precision."""

    @property
    @abstractmethod
    def terms(self) -> tuple[Precision, ...]:
        """GᵀPG, as sums of cells."""

    @property
    @abstractmethod
    def by_precision(self) -> Floats:
        """GᵀPy: (cells,)."""

    @property
    @abstractmethod
    def only_total(self) -> bool:
        """Whether it says nothing but how many rows there are."""

    @property
    @abstractmethod
    def resolution(self) -> int:
        """How many counts it tells apart, with what is known of fewer columns; 0 where it tells none."""

    @abstractmethod
    def counts(self, estimates: Floats) -> tuple[Floats, float]:
        """Counts of cells with noise that is independent but for what fewer columns say, (cells,), and its variance.

        They are its own, or the `estimates` by all views where it has none.
        """

    @abstractmethod
    def bounds(self, beside: "Sequence[View]", shape: tuple[int, ...], *, known: bool) -> Floats:
        """An upper bound on the variance of each count, (cells,), with what is said `beside` it of fewer columns.

        `known` is whether the number of rows is.
        """

    def of_column(self, axis: int, shape: tuple[int, ...]) -> tuple[Floats, Floats] | None:
        """Of the cells of a single column: the variance of each number, and the part of all rows that it lacks.

        None where it is not of exactly these.
        """
        return None

    @property
    def rows_variance(self) -> float | None:
        """Of the number of rows, where it says nothing but that."""
        return None


def merge_views(views: Sequence[View]) -> tuple[View, ...]:
    """Views of the same sums as one."""
    same: dict[Hashable, list[View]] = {}
    for view in views:
        same.setdefault(view.key, []).append(view)
    return tuple(alike[0].merge(alike[1:]) for alike in same.values())


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySums(View):
    """Noisy sums over the cells of a marginal: `index[c]` is the sum that cell c is in; independent, with `precision`.

    They are how a block that holds only some of the columns, or has coarser cells, views the marginal.
    """

    index: Integers  # (cells,)
    values: Floats  # (sums,)
    precision: Floats  # (sums,), 1/variance

    @classmethod
    def of(cls, numbers: Floats, sigma: float, index: Integers, spread: Integers) -> "NoisySums":
        """A block's noisy numbers, added up: `index` is the sum of each cell, `spread` that of each number."""
        values = np.bincount(spread, weights=numbers.ravel()).astype(np.float64)
        members = np.maximum(1, np.bincount(spread))  # a forged cell may have no atoms
        return cls(index=index, values=values, precision=1.0 / (members * sigma**2))

    @staticmethod
    def coefficients(sigma: float, index: Integers, spread: Integers, weight: Floats) -> Floats:
        """How much each number counts where cells have the multipliers λ: (cells,) → (numbers,)."""
        members = np.maximum(1, np.bincount(spread)) * sigma**2
        weights: Floats = (np.bincount(index, weights=weight, minlength=len(members)) / members)[spread]
        return weights

    @property
    def key(self) -> Hashable:
        """Which cells are added up."""
        return self.index.tobytes()

    def merge(self, others: Sequence["NoisySums"]) -> "NoisySums":
        views = [self, *others]
        values, precision = best_mean([view.values for view in views], [view.precision for view in views])
        return NoisySums(index=self.index, values=values, precision=precision)

    @property
    def terms(self) -> tuple[Precision, ...]:
        return (Precision(index=self.index, weights=self.precision),)

    @property
    def by_precision(self) -> Floats:
        return (self.precision * self.values)[self.index]

    @property
    def only_total(self) -> bool:
        return len(self.values) == 1

    @property
    def resolution(self) -> int:
        return len(self.values)

    def counts(self, estimates: Floats) -> tuple[Floats, float]:
        return self.values[self.index], float(np.mean(1.0 / self.precision))

    def bounds(self, beside: Sequence[View], shape: tuple[int, ...], *, known: bool) -> Floats:
        """Of the sum that a cell is in, alone."""
        bounds: Floats = 1.0 / self.precision[self.index]
        return bounds

    def of_column(self, axis: int, shape: tuple[int, ...]) -> tuple[Floats, Floats] | None:
        """Counts lack nothing."""
        if len(self.values) != shape[axis]:
            return None
        wanted = np.broadcast_to(along(np.arange(shape[axis]), axis, len(shape)), shape).ravel()
        return (1.0 / self.precision, np.zeros(shape[axis])) if np.array_equal(self.index, wanted) else None

    @property
    def rows_variance(self) -> float | None:
        """That of the one sum."""
        return float(1.0 / self.precision[0]) if self.only_total else None


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
    return _join_groupings(*(np.ascontiguousarray(one, dtype=np.int64).tobytes() for one in (first, second)))


@functools.lru_cache(maxsize=256)  # the same few groupings meet in every question
def _join_groupings(*groupings: bytes) -> tuple[Integers, Integers]:
    first, second = (np.frombuffer(one, dtype=np.int64) for one in groupings)
    sizes = int(first.max()) + 1, int(second.max()) + 1
    edges = coo_array((np.ones(len(first)), (first, second + sizes[0])), shape=(sum(sizes), sum(sizes)))
    labels = connected_components(edges, directed=False)[1].astype(np.int64)
    labels.flags.writeable = False
    return labels[: sizes[0]], labels[sizes[0] :]


def best_mean(values: Sequence[Floats], precisions: Sequence[Weight]) -> tuple[Floats, Weight]:
    """Numbers that were measured several times as one: their mean weighted by precision (1/variance), and its own.

    >>> best_mean([np.array([10.0, 20.0]), np.array([13.0, 20.0])], [0.5, 0.25])
    (array([11., 20.]), 0.75)
    """
    precision = functools.reduce(operator.add, precisions)
    total = functools.reduce(operator.add, (one * own for one, own in zip(values, precisions, strict=True)))
    return total / precision, precision


def cell_ranges(lowest: Floats, highest: Floats, cells: Integers) -> tuple[Floats, Floats]:
    """The least of the one and the greatest of the other values in each cell; NaN where there is none."""
    low, high = np.full((2, int(cells.max()) + 1), np.nan)
    np.fmin.at(low, cells, lowest)  # a number wins over NaN
    np.fmax.at(high, cells, highest)
    return low, high
