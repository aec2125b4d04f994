"""What rows are, before any is read."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, count
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Integers, Rows
from kernelease.errors import ParameterError

if TYPE_CHECKING:  # named, never used: measured numbers know what rows are without knowing how columns are declared
    from kernelease.kernels.kernel import Kernel
    from kernelease.table.columns.column import Column
    from kernelease.table.schema import Schema


def free_name(wanted: str, columns: Iterable[str]) -> str:
    """The name of a column that released rows have beside those of the table.

    It is the first that is free of wanted, row_wanted, row_wanted_2, … Upper and lower case are one name, as in SQL.

    >>> free_name("weight", ["age"]), free_name("weight", ["Weight"]), free_name("weight", ["weight", "row_weight"])
    ('weight', 'row_weight', 'row_weight_2')
    """
    taken = {name.casefold() for name in columns}
    names = chain((wanted, f"row_{wanted}"), (f"row_{wanted}_{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


class Domain(ABC):
    """All that is public about rows before any is read. Synthetic ones become a table whose last column weighs them."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the table, for documents."""

    @property
    @abstractmethod
    def kernel(self) -> "Kernel":
        """How alike two rows are, as a method sees rows."""

    @property
    @abstractmethod
    def schema(self) -> "Schema | None":
        """The declared columns; vectors have none."""

    several: ClassVar[bool] = False
    """Whether these are rows of several tables."""

    @property
    def declarations(self) -> "dict[str, Any] | None":
        """All that is declared, as schema.json has it; None where nothing is."""
        return None if self.schema is None else self.schema.to_dict()

    @property
    def rules(self) -> tuple[str, ...]:
        """What every row keeps, in the words of the schema."""
        return () if self.schema is None else tuple(rule.text for rule in self.schema.constraints)

    @property
    def caps(self) -> "Mapping[str, int | None]":
        """Of several tables: how many records of each one parent has, at most."""
        return {}

    @property
    def weight_name(self) -> str:
        """The column of released rows that weighs them: the last."""
        return free_name("weight", () if self.schema is None else self.schema.order)

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...] | None:
        """The number of atoms of each declared column."""

    def with_columns(self, columns: "tuple[Column, ...]") -> "Domain":
        """The same rows, whose columns were laid otherwise; refused for vectors, which have no declared columns."""
        raise ParameterError("Vectors have no declared columns to lay.")

    @property
    def counted_sizes(self) -> tuple[int, ...] | None:
        """The number of atoms of each column that a method counts: of several tables, there are more."""
        return self.sizes

    @property
    @abstractmethod
    def protected(self) -> str:
        """Whom the guarantee protects, in words."""

    @property
    @abstractmethod
    def provenance(self) -> str:
        """How the publisher came to know all this, in words."""

    @property
    @abstractmethod
    def unit_weight(self) -> int:
        """What a row, or a person with several, adds to a count in all."""

    @property
    @abstractmethod
    def kernel_name(self) -> str:
        """The kernel in words, for a certificate."""

    @abstractmethod
    def table_of_points(self, points: Rows, weights: Floats, generator: np.random.Generator) -> pa.Table:
        """Points with their weights as a table."""

    @abstractmethod
    def draw_table(self, draw: Callable[[int], Integers], count: int, generator: np.random.Generator) -> pa.Table:
        """`count` rows of equal weight; draw(n) gives n rows of atom codes, (n, columns)."""
