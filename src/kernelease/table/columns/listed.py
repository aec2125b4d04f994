"""Columns whose atoms are a declared list of values."""

import math
from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.arrays import Floats
from kernelease.table.columns.column import NULL_LABEL, Codes, Column
from kernelease.table.columns.spelling import closest, is_encodable
from kernelease.table.reading.arrow import as_bytes, dense, is_text, text_of_dates
from kernelease.table.reading.instants import is_instant
from kernelease.table.reading.numbers import is_number, parse_number, read_numbers

Value: TypeAlias = str | int

OTHER_LABEL = "__other__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Column):
    """A column of declared values: its atoms are these in their order, then `other` if declared, then NULL.

    Values are all strings or all integers, and are compared exactly: text by its bytes, numbers by value, so that 7
    is the value "7". What is not declared becomes `other`; without such a bucket, what a missing cell becomes. A
    missing cell is NULL; in a column that is not nullable, it is `default`, else `other`, else the first value.
    """

    other: bool | str | int = False
    default: str | int | None = None

    family: ClassVar[str] = "label"

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
    def _size_key(self) -> str:
        return "values"

    @property
    def _has_other(self) -> bool:
        return self.other_label is not None

    @property
    def size(self) -> int:
        """Values, `other`, NULL."""
        return self.value_atoms + self._has_other + self.nullable

    @property
    def value_atoms(self) -> int:
        """The number of atoms that stand for values: one for each."""
        return len(self.vocabulary)

    @property
    def value_codes(self) -> tuple[int, ...]:
        """The code of each value."""
        return tuple(range(len(self.vocabulary)))

    @property
    def every_value(self) -> pa.Array:
        """All that may be released: values, the label of `other`, NULL."""
        values: list[Value | None] = [*self.vocabulary]
        return pa.array(values + [self.other_label] * self._has_other + [None] * self.nullable, self.arrow_type)

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
        """string, or int64 where the values are integers."""
        return pa.int64() if self._whole else pa.string()

    @property
    def _whole(self) -> bool:
        return type(self.vocabulary[0]) is int

    def labels(self) -> tuple[str, ...]:
        """The values, the label of `other`, NULL."""
        other = (str(self.other_label),) * self._has_other
        return tuple(str(value) for value in self.vocabulary) + other + (NULL_LABEL,) * self.nullable

    def centres(self) -> Floats:
        """NaN for every atom: the values are names."""
        return np.full(self.size, np.nan)

    def _encode(self, array: pa.Array) -> Codes:
        kind = array.type
        if is_text(kind):
            return self._from_numbers_in_text(as_bytes(array)) if self._whole else self._from_text(as_bytes(array))
        if is_number(kind):
            return self._from_numbers(read_numbers(array), self.missing)
        if pa.types.is_boolean(kind):
            return self._from_flags(array)
        if is_instant(kind) and not self._whole:
            return self._from_text(text_of_dates(array))
        return np.full(len(array), self.unknown, dtype=np.int32)

    def _from_text(self, texts: pa.Array) -> Codes:
        known = _texts(self.vocabulary, texts.type)
        codes = [*self.value_codes] + [self.missing] * (len(known) - len(self.vocabulary))
        return self._looked_up(pc.index_in(texts, value_set=known), codes)

    def _from_numbers_in_text(self, texts: pa.Array) -> Codes:
        codes = self._from_numbers(read_numbers(texts), self.unknown)
        np.copyto(codes, self.missing, where=dense(pc.binary_length(texts)) == 0)
        return codes

    def _from_numbers(self, numbers: Floats, absent: int) -> Codes:
        """Numbers by value; the first of two declared texts that say the same number has it."""
        coded = zip(self.value_codes, self.vocabulary, strict=True)
        read = [(parse_number(str(value).encode()), code) for code, value in coded]
        known = {number: code for number, code in reversed(read) if not math.isnan(number)}
        keys = pa.array(numbers + 0.0)  # −0 is 0
        found = pc.index_in(keys, value_set=pa.array(list(known), pa.float64()))
        codes = self._looked_up(found, list(known.values()))
        np.copyto(codes, absent, where=np.isnan(numbers))
        return codes

    def _from_flags(self, array: pa.Array) -> Codes:
        """Booleans by the values "true" and "false" in any case, else by those that say 1 and 0."""
        flags = read_numbers(array)
        coded = zip(self.value_codes, self.vocabulary, strict=True)
        named = {str(value).lower(): code for code, value in reversed(list(coded))}
        if "true" in named or "false" in named:
            codes = (named.get("false", self.unknown), named.get("true", self.unknown))
            return np.array(codes, dtype=np.int32)[flags.astype(np.intp)]
        return self._from_numbers(flags, self.missing)

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
        """`values`."""
        return self.values

    def _check(self) -> None:
        if not isinstance(self._given("values"), tuple | list) or not self.values:
            raise self.error("values", f"values must be a list of at least one value, got {self.values!r}.")
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

    def keys(self, array: Any) -> Any:
        return pc.index_in(pc.cast(array, self.arrow_type), value_set=pa.array(self.values, self.arrow_type))

    def key(self, literal: object) -> Any:
        if type(literal) is type(self.values[0]) and literal in self.values:
            return self.values.index(literal)
        raise self.error("values", f"{literal!r} is not one of the declared values.{self._near(literal)}")
