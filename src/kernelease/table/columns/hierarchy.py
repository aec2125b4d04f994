"""Names in groups: too many to count in pairs, where they are known by the upper level of a public hierarchy."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Integers
from kernelease.table.columns.column import MOST_ATOMS, NULL_LABEL, Codes
from kernelease.table.columns.listed import Required, Value

MOST_VALUES = 65_536  # of a hierarchy, `other` and NULL among them: two bytes tell them apart


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchy(Required):
    """Names without an order, in groups: diagnosis codes by chapter, municipalities by region.

    Its atoms are the values, group by group. They are counted on their own; with other columns it is the groups that
    are, so that noise, memory and time grow with these and not with the values. Groups are the beginnings of the
    values, `prefix` characters long; or `groups`, the group of each value in order.

    >>> code = Hierarchy(name="code", values=("E10", "I10", "E11"), prefix=1)
    >>> code.labels(), code.encode(pa.array(["I10", "E11", "E10"])).tolist()
    (('E10', 'E11', 'I10'), [2, 1, 0])
    >>> code.group_labels, code.atom_groups.tolist()
    (('E', 'I'), [0, 0, 1])
    """

    prefix: int | None = None
    groups: tuple[Value, ...] | None = None

    tag: ClassVar[str] = "hierarchy"
    ordered: ClassVar[bool] = False
    most_atoms: ClassVar[int] = MOST_VALUES

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
        if (groups := len(self.group_labels)) > MOST_ATOMS:
            raise self.error("values", f"{groups:,} groups are more than the limit of {MOST_ATOMS:,}. Declare fewer.")

    @property
    def _groups(self) -> tuple[str, ...]:
        """The group of each value."""
        return tuple(map(str, self.groups)) if self.groups is not None else _beginnings(self.values, self.prefix)

    @property
    def value_codes(self) -> tuple[int, ...]:
        """The code of each value."""
        return _order(self._groups)[2]

    @property
    def atom_groups(self) -> Integers:
        """The group of each atom, (size,): `other` and NULL have groups of their own."""
        groups, by_group, _ = _order(self._groups)
        own = groups[by_group]
        return np.concatenate([own, int(own[-1]) + 1 + np.arange(self.size - len(own))])

    @property
    def group_labels(self) -> tuple[str, ...]:
        """The groups, the label of `other`, NULL."""
        return tuple(dict.fromkeys(self._groups)) + self._special_labels

    @property
    def _special_labels(self) -> tuple[str, ...]:
        return (str(self.other_label),) * self._has_other + (NULL_LABEL,) * self.nullable

    def labels(self) -> tuple[str, ...]:
        """The values by group, the label of `other`, NULL."""
        return _labels(self.values, self._groups) + self._special_labels

    def _decode(self, codes: Codes, generator: np.random.Generator) -> pa.Array:
        values: list[Any] = [self.values[place] for place in _order(self._groups)[1].tolist()]
        special: list[Any] = [self.other_label] * self._has_other + [None] * self.nullable
        return pa.array(values + special, self.arrow_type).take(pa.array(codes))


@lru_cache(maxsize=16)
def _beginnings(values: tuple[Value, ...], prefix: int | None) -> tuple[str, ...]:
    return tuple(str(value)[:prefix] for value in values)


@lru_cache(maxsize=16)
def _labels(values: tuple[Value, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(values[place]) for place in _order(names)[1].tolist())


@lru_cache(maxsize=16)
def _order(names: tuple[str, ...]) -> tuple[Integers, Integers, tuple[int, ...]]:
    """The group of each value; the values by group; the place of each value among these."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    groups = np.array([numbers[name] for name in names], dtype=np.int64)
    by_group = np.argsort(groups, kind="stable")
    return groups, by_group, tuple(np.argsort(by_group).tolist())
