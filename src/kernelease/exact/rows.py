"""Private rows, as a method gets them."""

from abc import abstractmethod
from typing import Any, final

import numpy as np

from kernelease.arrays import Rows
from kernelease.errors import ParameterError
from kernelease.exact.counts import ExactCounts
from kernelease.exact.embedding import ExactEmbedding
from kernelease.features.feature_map import FeatureMap
from kernelease.passes import EncodedRows
from kernelease.privacy.sensitivity import Neighbours, Private, public_number


class PrivateRows(Private):
    """The rows of a private table or array, behind the barrier: a method asks for sums, counts, or all of them."""

    __slots__ = ()

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of columns: public."""

    @abstractmethod
    def public_count(self, neighbours: Neighbours) -> int | None:
        """N where the relation makes it public, else None: nothing may then depend on it. Refused if public and 0."""

    @abstractmethod
    def array(self) -> Rows:
        """All rows in memory: (n, d). Private."""

    @abstractmethod
    def counts(self) -> ExactCounts:
        """The rows, ready to be counted. Private."""

    def embedding(self, feature_map: FeatureMap, *, threads: int = 1) -> ExactEmbedding:
        """The sum of the rows' features. Private."""
        return ExactEmbedding.of(self.array(), feature_map, threads=threads)

    def first(self, count: int) -> Rows:
        """The first rows, at most `count`: for those that are published."""
        return self.array()[:count]


class PrivateArray(PrivateRows):
    """Vectors, or rows of any objects that a kernel compares: (n, d). No column is declared, so nothing is counted."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Any) -> None:
        self._rows: Rows = rows

    @property
    def width(self) -> int:
        """Asked of the shape, so of an empty array too."""
        return int(self._rows.shape[1])

    def public_count(self, neighbours: Neighbours) -> int | None:
        """N under replace-one."""
        return public_number(len(self._rows), neighbours)

    def counts(self) -> ExactCounts:
        """Refused: there are no atoms to count."""
        raise ParameterError("Interactions: counts need declared columns. Give a schema, or another method.")

    def array(self) -> Rows:
        """The rows as they were given."""
        return self._rows


@final
class PrivateTable(PrivateRows):
    """The encoded rows of a declared table; a row of `array` holds an atom code for each column.

    `encoded` is None where a database counts by itself, and its rows stay there.
    """

    __slots__ = ("_array", "_counts", "_encoded")

    def __init__(self, counts: ExactCounts, encoded: EncodedRows | None = None) -> None:
        self._counts = counts
        self._encoded = encoded
        self._array: Rows | None = None  # read once: a source may be gone at the next pass

    @property
    def width(self) -> int:
        """Number of declared columns."""
        return len(self._counts.sizes)

    def public_count(self, neighbours: Neighbours) -> int | None:
        """The number of rows (or persons) under replace-one."""
        known = self._counts.public_rows(neighbours)
        return None if known is None else round(known)

    def array(self) -> Rows:
        """Every row's codes; refused for persons with several rows, and for rows that stay in a database."""
        if self._encoded is None:
            raise ParameterError("This method has to see the rows, so the database can't count: leave push-down out.")
        if self._counts.unit != 1 or self._encoded.weighted:
            raise ParameterError("This method protects rows, not persons. Take the Interactions method.")
        if self._array is None:
            parts = [np.stack(codes[: self.width], axis=1) for codes, _ in self._encoded.batches()]
            self._array = np.concatenate([np.empty((0, self.width), dtype=np.int64), *parts])
        return self._array

    def counts(self) -> ExactCounts:
        """The table's counts."""
        return self._counts
