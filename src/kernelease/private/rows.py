"""Private rows, as a method gets them; and blank rows that take their place when steps are taken again."""

from abc import abstractmethod
from typing import Any, final

import numpy as np

from kernelease.arrays import Rows
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap
from kernelease.privacy.neighbours import Neighbours
from kernelease.private.counts import ExactCounts
from kernelease.private.embedding import ExactEmbedding
from kernelease.private.encoded import EncodedRows
from kernelease.private.private import Private

# --------------------
# Private rows.


class PrivateRows(Private):
    """The rows of a private table or array, behind the barrier: a method asks for sums, counts, or all of them."""

    __slots__ = ()

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of columns: public."""

    @abstractmethod
    def public_count(self, neighbours: Neighbours) -> int | None:
        """N where the relation makes it public, else None: nothing may then depend on it.

        Raises `ParameterError` for an empty table where the number is public.
        """

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


class PrivateVectors(PrivateRows):
    """Rows that are an array (n, d), wherever it lives; no column is declared, so there are no atoms to count."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Any) -> None:
        self._rows = rows

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


@final
class PrivateArray(PrivateVectors):
    """Vectors, or rows of any objects that a kernel compares."""

    __slots__ = ()

    def array(self) -> Rows:
        """The rows as they were given."""
        rows: Rows = self._rows
        return rows


@final
class PrivateTable(PrivateRows):
    """The encoded rows of a declared table; a row of `array` holds an atom code for each column.

    `encoded` is None where a database counts by itself, and its rows stay there.
    """

    __slots__ = ("_array", "_counts", "_encoded", "_width")

    def __init__(self, counts: ExactCounts, encoded: EncodedRows | None = None) -> None:
        self._counts = counts
        self._encoded = encoded
        self._array: Rows | None = None  # read once: a source may be gone at the next pass
        self._width = len(counts.sizes)

    @property
    def width(self) -> int:
        """Number of declared columns."""
        return self._width

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
            parts = [np.stack(codes[: self._width], axis=1) for codes, _ in self._encoded.batches()]
            self._array = np.concatenate([np.empty((0, self._width), dtype=np.int64), *parts])
        return self._array

    def counts(self) -> ExactCounts:
        """The table's counts."""
        return self._counts


def public_number(count: int, neighbours: Neighbours) -> int | None:
    """A number of rows where the relation makes it public, else None; a `ParameterError` if it is public and 0."""
    if neighbours is Neighbours.ADD_REMOVE:
        return None
    if count == 0:  # N is public under replace-one, so this says nothing private
        raise ParameterError("The table is empty: under replace-one there is no row to protect or describe.")
    return count


# --------------------
# Blank rows: every sum and count is 0, and only what is public is known.


@final
class BlankRows(PrivateRows):
    """A table whose every sum and count is 0, though it is said to have `count` rows, of which some are `published`.

    A method that measures it with recorded noise (`RecordedNoise`) takes every step that it took on the private
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
        """The first published rows, at most `count`."""
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
