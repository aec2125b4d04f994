"""Rows of which nothing is known but what is public."""

from typing import final

import numpy as np

from kernelease.arrays import Rows
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap
from kernelease.privacy.neighbours import Neighbours
from kernelease.private.counts import ExactCounts
from kernelease.private.embedding import ExactEmbedding
from kernelease.private.rows import PrivateRows


@final
class BlankRows(PrivateRows):
    """A table whose every sum and count is 0, though it is said to have `count` rows, of which some are `published`.

    A method that measures it with recorded noise (`measured.recorded`) takes every step that it took on the private
    rows, so that anybody can see where those steps came from. `sizes` are the atoms of declared columns.
    """

    __slots__ = ("_count", "_published", "_sizes", "_unit", "_width")

    def __init__(
        self, *, width: int, count: int, published: Rows, sizes: tuple[int, ...] | None = None, unit: int = 1
    ) -> None:
        self._width = width
        self._count = count
        self._published = published
        self._sizes = sizes
        self._unit = unit

    @property
    def width(self) -> int:
        """Number of columns."""
        return self._width

    def public_count(self, neighbours: Neighbours) -> int | None:
        """What it is said to be, under replace-one."""
        return self._count if neighbours is Neighbours.REPLACE_ONE else None

    def array(self) -> Rows:
        """None of its rows is there."""
        return np.empty((0, self._width))

    def first(self, count: int) -> Rows:
        """Of the published ones."""
        return self._published[:count]

    def embedding(self, feature_map: FeatureMap, *, threads: int = 1) -> ExactEmbedding:
        """A sum of 0. Where persons have several rows there is none, as for rows that are there."""
        if self._unit != 1:
            raise ParameterError("This method protects rows, not persons. Take the Interactions method.")
        return ExactEmbedding(feature_map, np.zeros(feature_map.width, dtype=object), self._count)

    def counts(self) -> ExactCounts:
        """All 0."""
        if self._sizes is None:
            raise ParameterError("Interactions: counts need declared columns. Give a schema, or another method.")
        return ExactCounts.blank(self._sizes, unit=self._unit, count=self._count * self._unit)
