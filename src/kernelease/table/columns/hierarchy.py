"""Names in groups: too many to count one by one, and known by the upper level of a public hierarchy."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Integers
from kernelease.table.columns.column import NULL_LABEL, Codes
from kernelease.table.columns.listed import Required, Value

MOST_VALUES = 65_536  # of a hierarchy: a schema that lists them stays at some MB


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchy(Required):
    """Names without an order, in groups: diagnosis codes by chapter, municipalities by region.

    Its atoms are the groups, so that noise, memory and time grow with these and not with the values. A released value
    is any of its group, each as likely. Groups are the beginnings of the values, `prefix` characters long; or
    `groups`, the group of each value in order.

    >>> code = Hierarchy(name="code", values=("E10", "E11", "I10"), prefix=1)
    >>> code.labels(), code.encode(pa.array(["I10", "E11", "E10"])).tolist()
    (('E', 'I'), [1, 0, 0])
    """

    prefix: int | None = None
    groups: tuple[Value, ...] | None = None

    tag: ClassVar[str] = "hierarchy"
    ordered: ClassVar[bool] = False

    def _check_listed(self) -> None:
        if len(self.values) > MOST_VALUES:
            raise self.error("values", f"{len(self.values):,} values are more than the limit of {MOST_VALUES:,}.")
        super(Hierarchy, self)._check_listed()
        if (self.prefix is None) == (self.groups is None):
            raise self.error(
                "type", "a hierarchy needs prefix, how many characters say the group, or groups: one of them."
            )
        if self.prefix is not None and (type(self.prefix) is not int or self.prefix < 1):
            raise self.error("prefix", f"prefix must be a number of characters, at least 1, got {self.prefix!r}.")
        if self.groups is not None:
            object.__setattr__(self, "groups", tuple(self.groups))
            if len(self._groups) != len(self.values):
                told = f"{len(self._groups):,} for {len(self.values):,} values"
                raise self.error("groups", f"groups must be the group of each value, in their order, got {told}.")

    @property
    def _groups(self) -> tuple[str, ...]:
        """The group of each value."""
        given = (str(value)[: self.prefix] for value in self.values) if self.groups is None else map(str, self.groups)
        return tuple(given)

    @property
    def _members(self) -> tuple[Integers, Integers, Integers]:
        """The group of each value; the values by group; where each group begins among these."""
        return _grouped(self._groups)

    @property
    def value_atoms(self) -> int:
        """The number of groups."""
        return len(self._members[2]) - 1

    @property
    def value_codes(self) -> tuple[int, ...]:
        """The group of each value."""
        return tuple(self._members[0].tolist())

    def labels(self) -> tuple[str, ...]:
        """The groups, the label of `other`, NULL."""
        other = (str(self.other_label),) * self._has_other
        return tuple(dict.fromkeys(self._groups)) + other + (NULL_LABEL,) * self.nullable

    def _decode(self, codes: Codes, generator: np.random.Generator) -> pa.Array:
        _, by_group, starts = self._members
        grouped = codes < self.value_atoms
        inside = np.where(grouped, codes, 0)
        drawn = by_group[generator.integers(starts[inside], starts[inside + 1])]
        places = np.where(grouped, drawn, codes - self.value_atoms + len(self.values))
        special: list[Any] = [self.other_label] * self._has_other + [None] * self.nullable
        return pa.array([*self.values, *special], self.arrow_type).take(pa.array(places))


@lru_cache(maxsize=16)
def _grouped(groups: tuple[str, ...]) -> tuple[Integers, Integers, Integers]:
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    codes = np.array([numbers[group] for group in groups], dtype=np.int64)
    ends = np.cumsum(np.bincount(codes))
    return codes, np.argsort(codes, kind="stable"), np.concatenate([[0], ends]).astype(np.int64)
