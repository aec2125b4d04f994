"""Atoms back to rows."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.errors import ParameterError
from kernelease.table.schema import Schema


@final
@dataclass(frozen=True, slots=True)
class Decoder:
    r"""Atom codes to an Arrow table in the schema's order and types: a legal value for each code.

    Inside the cell of a number or date the value is uniform, from a public generator.

    >>> schema = Schema.parse('[columns.work]\ntype = "category"\nvalues = ["Private", "State-gov"]')
    >>> Decoder(schema).decode(np.array([[1], [0]]), np.random.default_rng(0)).to_pydict()
    {'work': ['State-gov', 'Private']}
    """

    schema: Schema

    def decode(self, codes: NDArray[Any], generator: np.random.Generator) -> pa.Table:
        """A row for each row of codes: (n, columns) → n rows."""
        array = np.asarray(codes)
        if array.ndim != 2 or array.shape[1] != len(self.schema):
            raise ParameterError(f"Decoder: codes must be (n, {len(self.schema)}), got shape {array.shape}.")
        columns = [column.decode(array[:, i], generator) for i, column in enumerate(self.schema)]
        return pa.Table.from_arrays(columns, schema=self.schema.arrow_schema())
