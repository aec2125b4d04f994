"""How far two tables are apart in their one- and two-way marginals."""

import itertools
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats
from kernelease.errors import ParameterError


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalErrors:
    """Total variation distances: of each column's distribution, and of each pair's."""

    one_way: dict[int, float]
    two_way: dict[tuple[int, int], float]

    @property
    def mean_one_way(self) -> float:
        """The mean over columns."""
        return float(np.mean(list(self.one_way.values())))

    @property
    def mean_two_way(self) -> float:
        """The mean over pairs; 0 where there is one column only."""
        return float(np.mean(list(self.two_way.values()))) if self.two_way else 0.0


def marginal_errors(first: NDArray[Any], second: NDArray[Any], sizes: tuple[int, ...]) -> MarginalErrors:
    """½ Σ |p − q| of each column and pair, for two tables of atom codes (n, columns).

    >>> marginal_errors(np.array([[0, 0], [1, 1]]), np.array([[0, 1], [1, 0]]), (2, 2)).two_way
    {(0, 1): 1.0}
    """
    if len(first) == 0 or len(second) == 0:
        raise ParameterError("marginal_errors: both tables need at least one row.")
    columns = range(len(sizes))
    return MarginalErrors(
        one_way={i: _distance(first[:, i], second[:, i], sizes[i]) for i in columns},
        two_way={
            (i, j): _distance(_pair(first, i, j, sizes), _pair(second, i, j, sizes), sizes[i] * sizes[j])
            for i, j in itertools.combinations(columns, 2)
        },
    )


def _pair(codes: NDArray[Any], i: int, j: int, sizes: tuple[int, ...]) -> NDArray[np.int64]:
    joint: NDArray[np.int64] = codes[:, i].astype(np.int64) * sizes[j] + codes[:, j]
    return joint


def _distance(first: NDArray[Any], second: NDArray[Any], size: int) -> float:
    return 0.5 * float(np.abs(_shares(first, size) - _shares(second, size)).sum())


def _shares(codes: NDArray[Any], size: int) -> Floats:
    return np.bincount(codes, minlength=size) / len(codes)
