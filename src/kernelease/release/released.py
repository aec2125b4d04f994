"""What the analyst's methods need of a release."""

from typing import Protocol

import pyarrow as pa

from kernelease.arrays import Floats, Rows
from kernelease.measured.measured import Measured
from kernelease.release.measurements import Measurements
from kernelease.table.schema import Schema


class Released(Protocol):
    """The public parts of a release."""

    @property
    def schema(self) -> Schema | None:
        """Of tables."""

    @property
    def measured(self) -> Measured:
        """Noisy numbers."""

    @property
    def measurements(self) -> Measurements:
        """The same with what they were made by, and certified as."""

    @property
    def table(self) -> pa.Table:
        """Synthetic rows, weights last."""

    @property
    def weight_name(self) -> str:
        """The column of `table` that holds the weights."""

    @property
    def rows(self) -> pa.Table:
        """Synthetic rows."""

    @property
    def points(self) -> Rows:
        """Synthetic rows as an array."""

    @property
    def weights(self) -> Floats:
        """Of the rows."""
