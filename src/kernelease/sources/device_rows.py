"""Private rows in a GPU's memory."""

from typing import Any, final

import numpy as np

from kernelease.arrays import Rows, as_rows
from kernelease.cuda.device import as_device_rows, cupy
from kernelease.cuda.sums import device_total, sums_on_device
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap
from kernelease.privacy.neighbours import Neighbours
from kernelease.private.counts import ExactCounts
from kernelease.private.embedding import ExactEmbedding
from kernelease.private.rows import PrivateRows, public_number


@final
class DeviceRows(PrivateRows):
    """Vectors that live on a GPU, or were sent there. Sums of their features are the same integers as anywhere.

    What has no program for a GPU (`cuda.sums.sums_on_device`) is summed on the processor, from a copy.
    """

    __slots__ = ("_copy", "_rows")

    def __init__(self, data: Any) -> None:
        self._rows = as_device_rows(data)
        self._copy: Rows | None = None

    @property
    def width(self) -> int:
        """Asked of the shape, so of an empty array too."""
        return int(self._rows.shape[1])

    def public_count(self, neighbours: Neighbours) -> int | None:
        """N under replace-one."""
        return public_number(len(self._rows), neighbours)

    def array(self) -> Rows:
        """A copy in the processor's memory."""
        if self._copy is None:
            self._copy = as_rows(cupy().asnumpy(self._rows))
        return self._copy

    def counts(self) -> ExactCounts:
        """Refused: there are no atoms to count."""
        raise ParameterError("Interactions: counts need declared columns. Give a schema, or another method.")

    def embedding(self, feature_map: FeatureMap, *, threads: int = 1) -> ExactEmbedding:
        """The sum of the rows' features, on the GPU where it has a program for them."""
        if not sums_on_device(feature_map):
            return PrivateRows.embedding(self, feature_map, threads=threads)
        total = np.zeros(feature_map.width, dtype=object)
        for part in device_total(feature_map, self._rows):
            total += part.astype(object)
        return ExactEmbedding(feature_map, total, len(self._rows))
