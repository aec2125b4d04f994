"""Columns whose atoms are a declared list: categories and ordinals, names in groups, yes and no, text."""

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.arrays import Floats, Integers
from kernelease.errors import closest, is_encodable
from kernelease.table.columns.column import MOST_ATOMS, NULL_LABEL, Codes, Column
from kernelease.table.parsing import (
    as_bytes,
    dense,
    is_instant,
    is_number,
    is_text,
    parse_number,
    read_numbers,
    short_text,
    text_of_dates,
    through_distinct,
)

Value: TypeAlias = str | int

OTHER_LABEL = "__other__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Column):
    """A column of declared values: its atoms are these in their order, then `other` if declared, then NULL.

    Values are all strings or all integers, and are compared exactly: text by its bytes, numbers by value, so that 7
    is the value "7". Text that is not declared may still say a number or a flag that is: what a cell says does not
    depend on the type of its column, which other rows may decide. What is not declared becomes `other`; without such a
    bucket, what a missing cell becomes. A missing cell is NULL; in a column that is not nullable, it is `default`, else
    `other`, else the first value.
    """

    other: bool | str | int = False
    default: str | int | None = None

    family: ClassVar[str] = "label"
    _size_key: ClassVar[str] = "values"

    @property
    @abstractmethod
    def vocabulary(self) -> tuple[Value, ...]:
        """The declared values: the first atoms."""

    @property
    def other_label(self) -> Value | None:
        """What `other` decodes to; None where there is no such atom."""
        if self.other is True:
            return OTHER_LABEL
        return None if self.other is False else self.other

    def _check_listed(self) -> None:
        kind = type(self.vocabulary[0])
        for value in self.vocabulary:
            if kind not in (str, int) or type(value) is not kind or not is_encodable(str(value)):
                raise self.error("values", f"values must be all strings or all integers, got {value!r}.")
            if kind is int and abs(value) >= 2**53:  # type: ignore[arg-type]  # it is an int here
                raise self.error("values", f"integer values must be below 2^53, got {value}. Write them as strings.")
        repeated, times = Counter(self.vocabulary).most_common(1)[0]
        if times > 1:
            raise self.error("values", f"values must be distinct, but {repeated!r} is there {times} times. Remove one.")
        self._check_other(kind)
        self._check_default()

    def _check_other(self, kind: type) -> None:
        label = self.other_label
        if label is None:
            return
        if type(label) is not kind:
            raise self.error(
                "other",
                f"other must be a label of type {kind.__name__} like the values, got {self.other!r}. Write one.",
            )
        if label in self.vocabulary:
            raise self.error("other", f"other needs a label that is not among the values, got {label!r}.")

    def _check_default(self) -> None:
        if self.default is None:
            return
        if type(self.default) is not type(self.vocabulary[0]) or self.default not in self.vocabulary:
            near = self._near(self.default)
            raise self.error("default", f"default must be one of the values, got {self.default!r}.{near}")

    def _near(self, value: object) -> str:
        by_text = {str(known): known for known in self.vocabulary}
        near = closest(str(value), by_text, least=0.6)
        return f" Did you mean {by_text[near]!r}?" if near is not None else ""

    @property
    def _has_other(self) -> bool:
        return self.other_label is not None

    @property
    def size(self) -> int:
        return self.value_atoms + self._has_other + self.nullable

    @property
    def value_atoms(self) -> int:
        """The number of atoms that are values: one for each."""
        return len(self.vocabulary)

    @property
    def value_codes(self) -> tuple[int, ...]:
        """The code of each value."""
        return tuple(range(len(self.vocabulary)))

    @property
    def every_value(self) -> pa.Array:
        """All that may be released: values, the label of `other`, NULL."""
        return self._released_values(self.vocabulary)

    def _released_values(self, values: Iterable[Value]) -> pa.Array:
        special: list[Value | None] = [self.other_label] * self._has_other + [None] * self.nullable
        return pa.array([*values, *special], self.arrow_type)

    @property
    def missing(self) -> int:
        """NULL, else `default`, else `other`, else the first value."""
        if self.nullable:
            return self.size - 1
        if self.default is not None:
            return self.value_codes[self.vocabulary.index(self.default)]
        return self.value_atoms if self._has_other else 0

    @property
    def unknown(self) -> int:
        """`other`, else as for a missing cell."""
        return self.value_atoms if self._has_other else self.missing

    @property
    def arrow_type(self) -> pa.DataType:
        return pa.int64() if self._whole else pa.string()

    @property
    def _whole(self) -> bool:
        return type(self.vocabulary[0]) is int

    def labels(self) -> tuple[str, ...]:
        return tuple(map(str, self.vocabulary)) + self._special_labels

    @property
    def _special_labels(self) -> tuple[str, ...]:
        return (str(self.other_label),) * self._has_other + (NULL_LABEL,) * self.nullable

    def _encode(self, array: pa.Array) -> Codes:
        kind = array.type
        if is_text(kind):
            return self._from_numbers_in_text(as_bytes(array)) if self._whole else self._from_text(as_bytes(array))
        if is_number(kind):
            return self._from_numbers(read_numbers(array), self.missing)
        if pa.types.is_boolean(kind):
            flags = read_numbers(array)
            coded = zip(self.value_codes, self.vocabulary, strict=True)
            named = {str(value).lower(): code for code, value in reversed(list(coded))}
            if "true" in named or "false" in named:
                codes = (named.get("false", self.unknown), named.get("true", self.unknown))
                return np.array(codes, dtype=np.int32)[flags.astype(np.intp)]
            return self._from_numbers(flags, self.missing)
        if is_instant(kind) and not self._whole:
            return self._from_text(text_of_dates(array))
        return np.full(len(array), self.unknown, dtype=np.int32)

    @property
    def spellings(self) -> dict[str, int]:
        """The code of each text that says a declared value: as it is declared, or as short as a number or flag can be.

        >>> Category(name="ward", values=("01", "2.0", "True")).spellings
        {'true': 2, '2': 1, '1': 0, '01': 0, '2.0': 1, 'True': 2}
        """
        return _spellings(self)

    def _from_text(self, texts: pa.Array) -> Codes:
        spellings = self.spellings
        known = _texts((*spellings,), texts.type)
        codes = [*spellings.values()] + [self.missing] * (len(known) - len(spellings))
        return self._looked_up(pc.index_in(texts, value_set=known), codes)

    def _from_numbers_in_text(self, texts: pa.Array) -> Codes:
        codes = self._from_numbers(read_numbers(texts), self.unknown)
        np.copyto(codes, self.missing, where=dense(pc.binary_length(texts)) == 0)
        return codes

    def _from_numbers(self, numbers: Floats, absent: int) -> Codes:
        """Numbers by value; the first of two declared texts that say the same number has it."""
        known = self._known_numbers()
        keys = pa.array(numbers + 0.0)  # −0 is 0
        found = pc.index_in(keys, value_set=pa.array(list(known), pa.float64()))
        codes = self._looked_up(found, list(known.values()))
        np.copyto(codes, absent, where=np.isnan(numbers))
        return codes

    def _known_numbers(self) -> dict[float, int]:
        coded = zip(self.value_codes, self.vocabulary, strict=True)
        read = [(parse_number(str(value).encode()), code) for code, value in coded]
        return {number + 0.0: code for number, code in reversed(read) if not math.isnan(number)}

    def _looked_up(self, found: pa.Array, codes: list[int]) -> Codes:
        """Positions in a set of known keys (null: not in it) as codes."""
        table = np.array([*codes, self.unknown], dtype=np.int32)
        positions = dense(pc.fill_null(found, len(codes)))
        return table.take(positions)

    def _decode(self, codes: Codes, generator: np.random.Generator) -> pa.Array:
        return self.every_value.take(pa.array(codes))

    def decodes_to(self, values: pa.Array) -> bool:
        """Whether each is a declared value, or the label of `other`."""
        return bool(pc.all(pc.is_in(values.drop_null(), value_set=self.every_value), min_count=0).as_py())

    def keys(self, array: Any) -> Any:
        return pc.cast(array, self.arrow_type)

    def key(self, literal: object) -> Any:
        if type(literal) is type(self.vocabulary[0]) and (literal in self.vocabulary or literal == self.other_label):
            return literal
        raise self.error("values", f"{literal!r} is not one of the declared values.{self._near(literal)}")


@lru_cache(maxsize=256)
def _spellings(column: Listed) -> dict[str, int]:
    flags = zip(("false", "true"), column.encode(pa.array([False, True])).tolist(), strict=True)
    declared = zip(map(str, column.vocabulary), column.value_codes, strict=True)
    return (
        {flag: code for flag, code in flags if code != column.unknown}
        | {short_text(number): code for number, code in column._known_numbers().items()}
        | dict(declared)
    )


@lru_cache(maxsize=256)
def _texts(vocabulary: tuple[Value, ...], kind: pa.DataType) -> pa.Array:
    """The values as bytes, and the empty text after them, unless it is one of them."""
    known = [str(value).encode() for value in vocabulary]
    return pa.array(known if b"" in known else [*known, b""], kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Required(Listed):
    """A listed column that must declare its values."""

    values: tuple[Value, ...]

    @property
    def vocabulary(self) -> tuple[Value, ...]:
        return self.values

    def _check(self) -> None:
        if not isinstance(self._raw_field("values"), tuple | list) or not self.values:
            got = repr(self.values) if self.values else "none"
            raise self.error("values", f"values must be a list of at least one value, got {got}.")
        object.__setattr__(self, "values", tuple(self.values))
        self._check_listed()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Category(Required):
    """Names without an order. Declare `values` from public knowledge: a value that one person has gives them away.

    >>> work = Category(name="workclass", values=("Private", "State-gov"), other=True, nullable=True)
    >>> work.encode(pa.array(["State-gov", "Pirate", None, ""])).tolist()
    [1, 2, 3, 3]
    >>> work.decode(np.array([0, 2, 3]), np.random.default_rng(0)).to_pylist()
    ['Private', '__other__', None]
    """

    tag: ClassVar[str] = "category"
    ordered: ClassVar[bool] = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ordinal(Required):
    """Names in an order, lowest first. `centres` are the ranks 0, 1, …; `other` and NULL have none.

    >>> Ordinal(name="pain", values=("none", "some", "much"), nullable=True).centres()
    array([ 0.,  1.,  2., nan])
    """

    tag: ClassVar[str] = "ordinal"
    ordered: ClassVar[bool] = True
    family: ClassVar[str] = "rank"

    def centres(self) -> Floats:
        """The rank of each value; NaN for `other` and NULL."""
        ranks = np.full(self.size, np.nan)
        ranks[: len(self.values)] = np.arange(len(self.values))
        return ranks

    @property
    def in_order(self) -> int:
        return len(self.values)

    def keys(self, array: Any) -> Any:
        return pc.index_in(pc.cast(array, self.arrow_type), value_set=pa.array(self.values, self.arrow_type))

    def key(self, literal: object) -> Any:
        if type(literal) is type(self.values[0]) and literal in self.values:
            return self.values.index(literal)
        raise self.error("values", f"{literal!r} is not one of the declared values.{self._near(literal)}")


# ---- Hierarchies: values in public groups. With other columns only the groups are counted.


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
        return tuple(map(str, self.groups)) if self.groups is not None else _beginnings(self.values, self.prefix)

    @property
    def value_codes(self) -> tuple[int, ...]:
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

    def labels(self) -> tuple[str, ...]:
        return _labels(self.values, self._groups) + self._special_labels

    def _decode(self, codes: Codes, generator: np.random.Generator) -> pa.Array:
        values = (self.values[place] for place in _order(self._groups)[1].tolist())
        return self._released_values(values).take(pa.array(codes))


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


# ---- Yes and no.


WORDS = {**dict.fromkeys((b"false", b"f", b"no", b"n"), 0.0), **dict.fromkeys((b"true", b"t", b"yes", b"y"), 1.0)}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Boolean(Column):
    """false and true, then NULL. Read from booleans, from the numbers 0 and 1, and from text.

    Text is true, t, yes, y, 1 or false, f, no, n, 0 in any case, blanks around it ignored. Anything else is NULL; in
    a column that is not nullable, `default`, or false where none is declared.

    >>> Boolean(name="insured", nullable=True).encode(pa.array(["Yes", "no", "1", "perhaps"])).tolist()
    [1, 0, 1, 2]
    """

    default: bool | None = None

    tag: ClassVar[str] = "boolean"
    ordered: ClassVar[bool] = False
    family: ClassVar[str] = "boolean"
    arrow_type: ClassVar[pa.DataType] = pa.bool_()

    def _check(self) -> None:
        if self._raw_field("default") not in (None, False, True) or type(self.default) is int:
            raise self.error("default", f"default must be true or false, got {self.default!r}.")

    @property
    def size(self) -> int:
        return 2 + self.nullable

    @property
    def missing(self) -> int:
        return 2 if self.nullable else int(bool(self.default))

    def labels(self) -> tuple[str, ...]:
        return ("false", "true") + (NULL_LABEL,) * self.nullable

    def centres(self) -> Floats:
        return np.array([0.0, 1.0, np.nan])[: self.size]

    def _encode(self, array: pa.Array) -> Codes:
        numbers = through_distinct(as_bytes(array), _parse) if is_text(array.type) else read_numbers(array)
        codes = np.full(len(array), self.unknown, dtype=np.int32)
        np.copyto(codes, 0, where=numbers == 0.0)
        np.copyto(codes, 1, where=numbers == 1.0)
        return codes

    def _decode(self, codes: Codes, generator: np.random.Generator) -> pa.Array:
        return pa.array(codes == 1, mask=codes == 2)

    def decodes_to(self, values: pa.Array) -> bool:
        return True

    def keys(self, array: Any) -> Any:
        return pc.cast(array, pa.bool_())

    def key(self, literal: object) -> bool:
        if not isinstance(literal, bool):
            raise self.error("type", f"is compared with true or false, not with {literal!r}.")
        return literal


def _parse(texts: pa.Array) -> Floats:
    numbers = read_numbers(texts)
    words = [WORDS.get(text.strip(b" \t\r\n\f\x0b").lower(), np.nan) for text in texts.to_pylist()]
    return np.where(np.isnan(numbers), np.array(words, dtype=np.float64), numbers)


# ---- Text.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class String(Listed):
    """Text: a public vocabulary `values` and `other`, or free text of at most `max_length` characters.

    Free text has the atoms "" and `other` only: that is all that may be counted about text of which nothing is
    public. Kernels on strings read it whole, up to `max_length`.

    >>> String(name="note", max_length=200).encode(pa.array(["", "it hurts", "it hurts more"])).tolist()
    [0, 1, 1]
    >>> String(name="drug", values=("aspirin", "heparin")).labels()
    ('aspirin', 'heparin', '__other__')
    """

    other: bool | str | int = True
    values: tuple[str, ...] = ()
    max_length: int | None = None

    tag: ClassVar[str] = "string"
    ordered: ClassVar[bool] = False
    arrow_type: ClassVar[pa.DataType] = pa.string()

    @property
    def vocabulary(self) -> tuple[Value, ...]:
        """`values`, or the empty text alone where none are declared."""
        return self.values or ("",)

    def _check(self) -> None:
        given = self._raw_field("values")
        if not isinstance(given, tuple | list) or not all(isinstance(value, str) for value in given):
            raise self.error("values", f"values must be a list of strings, got {self.values!r}.")
        object.__setattr__(self, "values", tuple(given))
        if not self.values and self.max_length is None:
            raise self.error("type", "a string needs values, its public vocabulary, or max_length. Declare one.")
        if not self.values and self.other is False:
            raise self.error("other", "free text needs the other bucket: remove other = false, or declare values.")
        self._check_length()
        self._check_listed()

    def _check_length(self) -> None:
        if self.max_length is None:
            return
        if type(self.max_length) is not int or not 1 <= self.max_length <= 2**20:
            raise self.error("max_length", f"max_length must be an integer from 1 to 2^20, got {self.max_length!r}.")
        if too_long := [value for value in self.values if len(value) > self.max_length]:
            raise self.error("values", f"{too_long[0]!r} is longer than max_length = {self.max_length}. Raise it.")
