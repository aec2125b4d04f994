"""What is asked of a release: an average over the rows of the private table."""

from dataclasses import dataclass
from typing import final

from kernelease.analysis.integrand import Amount, Function, Integrand
from kernelease.table import Column
from kernelease.table.expressions import Compared, Condition


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Σ numerator / Σ denominator over all rows; the denominator is 1 or 0 on each row, and 1 if there is none.

    With `total` it is Σ numerator itself: a count.
    """

    numerator: Integrand
    denominator: Integrand | None = None
    about: str = ""
    total: bool = False

    @property
    def parts(self) -> tuple[Integrand, ...]:
        """Numerator and denominator."""
        return (self.numerator,) if self.denominator is None else (self.numerator, self.denominator)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions in it."""
        return tuple(dict.fromkeys(condition for part in self.parts for condition in part.conditions))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns that it reads."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    @property
    def valued(self) -> frozenset[str]:
        """The columns whose values matter, beside the outcomes of tests of that column alone."""
        names: set[str] = set()
        for part in self.parts:
            if isinstance(part, Amount):
                names.add(part.column.name)
            elif isinstance(part, Function):
                names.update(part.names)
        for leaf in (leaf for condition in self.conditions for leaf in condition.leaves()):
            if isinstance(leaf, Compared) and isinstance(leaf.right, Column):
                names.update(leaf.names)
        return frozenset(names)
