"""What the analyst's methods need of a release."""

from typing import Protocol

import pyarrow as pa

from kernelease.arrays import Floats, Rows
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.table.schema import Schema


class Released(Protocol):
    """The public parts of a release."""

    @property
    def schema(self) -> Schema | None:
        """Of tables."""

    @property
    def blocks(self) -> NoisyBlocks | None:
        """Noisy counts."""

    @property
    def embedding(self) -> NoisyEmbedding | None:
        """A noisy mean of a feature map."""

    @property
    def rows(self) -> pa.Table:
        """Synthetic rows."""

    @property
    def points(self) -> Rows:
        """Synthetic rows as an array."""

    @property
    def weights(self) -> Floats:
        """Of the rows."""
