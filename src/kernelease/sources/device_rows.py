"""Private rows in a GPU's memory."""

from typing import Any, final

import numpy as np

from kernelease.arrays import Rows, as_rows
from kernelease.cuda.device import as_device_rows, cupy
from kernelease.cuda.sums import device_total, sums_on_device
from kernelease.exact.embedding import ExactEmbedding
from kernelease.exact.rows import PrivateArray
from kernelease.features.feature_map import FeatureMap


@final
class DeviceRows(PrivateArray):
    """Vectors that live on a GPU, or were sent there. Sums of their features are the same integers as anywhere.

    What has no program for a GPU (`cuda.sums.sums_on_device`) is summed on the processor, from a copy.
    """

    __slots__ = ("_copy",)

    def __init__(self, data: Any) -> None:
        super().__init__(as_device_rows(data))
        self._copy: Rows | None = None

    def array(self) -> Rows:
        """A copy in the processor's memory."""
        if self._copy is None:
            self._copy = as_rows(cupy().asnumpy(self._rows))
        return self._copy

    def embedding(self, feature_map: FeatureMap, *, threads: int = 1) -> ExactEmbedding:
        """The sum of the rows' features, on the GPU where it has a program for them."""
        if not sums_on_device(feature_map):
            return super().embedding(feature_map, threads=threads)
        total = np.zeros(feature_map.width, dtype=object)
        for part in device_total(feature_map, self._rows):
            total += part.astype(object)
        return ExactEmbedding(feature_map, total, len(self._rows))
