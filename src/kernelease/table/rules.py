"""Rules between the columns of one row."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.errors import ParameterError, SchemaError
from kernelease.table.columns.column import Column
from kernelease.table.expressions.logic import Condition
from kernelease.table.expressions.parser import parse
from kernelease.table.expressions.tokens import shown


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A condition that every row of the table keeps: what a schema file lists under `constraints`.

    What is not known counts as kept, as in a CHECK of SQL: a row breaks the rule only if it surely does. Rules are
    public knowledge about the domain, not findings about the private rows.
    """

    text: str
    condition: Condition

    @classmethod
    def parse(cls, text: str, columns: Iterable[Column]) -> "Rule":
        """A rule from its text, or a `SchemaError`.

        >>> from kernelease.table.columns import Integer
        >>> columns = [Integer(name=name, min=0, max=9) for name in ("start", "end")]
        >>> rule = Rule.parse("start + 1 <= end", columns)
        >>> rule.columns, rule.holds(pa.table({"start": [1, 5, None], "end": [2, 3, 0]}))
        (('start', 'end'), array([ True, False,  True]))
        """
        try:
            return cls(text=text, condition=parse(text, columns))
        except ParameterError as error:
            raise SchemaError(f"constraint {shown(text, 200)}: {error}", path=("table", "constraints")) from None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in it, in order of appearance."""
        return self.condition.columns

    def holds(self, table: pa.Table) -> NDArray[np.bool_]:
        """Whether each row keeps the rule: (n,). The table has the types of the schema."""
        return self.condition.allows(table)
