"""A forest over columns that grows by pairs: which pairs join two of its trees."""

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Integers


@final
class Forest:
    """At first every column is a tree of its own.

    >>> forest = Forest([(0, 1), (1, 2), (0, 2)], 3)
    >>> forest.join(0), forest.join(1), forest.open.tolist()
    (None, None, [False, False, False])
    """

    __slots__ = ("_first", "_second", "_tree")

    def __init__(self, pairs: Sequence[tuple[int, ...]], columns: int) -> None:
        self._tree: Integers = np.arange(columns)
        self._first, self._second = (np.array([pair[end] for pair in pairs], dtype=np.int64) for end in (0, -1))

    @property
    def open(self) -> NDArray[np.bool_]:
        """Of each pair, whether it would join two trees."""
        joins: NDArray[np.bool_] = self._tree[self._first] != self._tree[self._second]
        return joins

    def join(self, pair: int) -> None:
        """Make one tree of the two that a pair touches."""
        one, other = self._tree[self._first[pair]], self._tree[self._second[pair]]
        self._tree[self._tree == other] = one
