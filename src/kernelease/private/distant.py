"""Private rows that lie elsewhere, in parts: only sums of integers come from there."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, final

import numpy as np

from kernelease.arrays import BigIntegers, Integers, Rows
from kernelease.errors import ParameterError, SourceError
from kernelease.features.feature_map import FeatureMap
from kernelease.privacy.neighbours import Neighbours
from kernelease.private.counting import Layout
from kernelease.private.counts import ExactCounts
from kernelease.private.embedding import ExactEmbedding
from kernelease.private.rows import PrivateRows, public_number
from kernelease.private.weighing import from_limbs

Summing: TypeAlias = Callable[[Any], Iterable[Any]]  # of a layout or a feature map: an array from each part


@final
class DistantRows(PrivateRows):
    """Rows in parts, each of which gives partial counts of a `Layout` or partial sums of a feature map.

    `summing` asks all parts, each once. A part's answer is an array of integers, and the sum of all is that of the
    table: however it is divided, and wherever it lies, nothing but speed depends on it. `counts` is None for vectors.
    """

    __slots__ = ("_count", "_counts", "_summing", "_width")

    def __init__(self, summing: Summing, *, width: int, counts: ExactCounts | None) -> None:
        self._summing = summing
        self._width = width
        self._counts = counts
        self._count: int | None = None

    @property
    def width(self) -> int:
        """Number of columns."""
        return self._width

    def public_count(self, neighbours: Neighbours) -> int | None:
        """The number of rows (or persons) under replace-one."""
        if neighbours is Neighbours.ADD_REMOVE:
            return None
        if self._counts is not None:
            return round(self._counts.public_rows(neighbours) or 0)
        if self._count is None:
            self._count = int(added_up(self._summing(None), 1)[0])
        return public_number(self._count, neighbours)

    def array(self) -> Rows:
        """Refused: rows stay where they are."""
        raise ParameterError("This method has to see the rows, and these stay where they lie. Take another method.")

    def counts(self) -> ExactCounts:
        """The table's counts."""
        if self._counts is None:
            raise ParameterError("Interactions: counts need declared columns. Give a schema, or another method.")
        return self._counts

    def embedding(self, feature_map: FeatureMap, *, threads: int = 1) -> ExactEmbedding:
        """The sum of the rows' features, from each part's own."""
        if self._counts is not None and self._counts.unit != 1:
            raise ParameterError("This method protects rows, not persons. Take the Interactions method.")
        return ExactEmbedding.merged(feature_map, [added_up(self._summing(feature_map), 2 * feature_map.width + 1)])


def distant_counts(summing: Summing, weighing: Summing, sizes: tuple[int, ...], *, unit: int) -> ExactCounts:
    """Counts of a table in parts, and moments: `weighing` asks all parts for those of some blocks, in limbs.

    A `SourceError` if a later pass finds another number of rows than the first did.
    """
    found: list[int] = []

    def count(blocks: Any) -> list[Integers]:
        layout = Layout.of(blocks, sizes)
        counts = added_up(summing(layout), layout.starts[-1])
        found.append(int(counts[: layout.starts[1]].sum()))  # every row is in one cell of every group
        if found[-1] != found[0]:
            raise SourceError("A later pass found other rows than the first. Give a query that always gives the same.")
        return layout.tables(counts, blocks)

    def weigh(blocks: Any) -> list[BigIntegers]:
        return from_limbs(added_up(weighing(blocks), 2 * sum(block.cells for block in blocks)), blocks)

    return ExactCounts(count, sizes, unit=unit, weigher=weigh)


def added_up(parts: Iterable[Any], length: int) -> Integers:
    """Σ of what the parts gave: integers of this length each, or a `SourceError`."""
    total: Integers = np.zeros(length, dtype=np.int64)
    for part in parts:
        array = np.asarray(part)
        if array.shape != (length,) or array.dtype != np.int64:
            raise SourceError(f"A part of the rows must give {length} integers of 64 bits; it gave something else.")
        total += array
    return total
