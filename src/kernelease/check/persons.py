"""What a private look says about persons with several rows: those that are declared, and those that seem to be there.

An identifier is known by its name, or by what its values do. Those of persons with several rows repeat, other columns
stay the same within each (a birthday, a sex), and their rows come as persons' rows do: as many of each person, or side
by side, or one for each year or visit. Numbers and codes of other things rarely do both. What is found is a question to
the owner, never an answer: only they know whether a column names persons.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Integers
from kernelease.check.columns import date_format, local_numerals
from kernelease.check.finding import Finding, Level, share
from kernelease.sources.source import Source
from kernelease.table.reading.instants import parse_instant
from kernelease.table.reading.numbers import parse_number
from kernelease.table.toml import toml_key, toml_value
from kernelease.table.units import identities

_MANY = 0.1  # convention: a cap that leaves out one row in ten was chosen too low, or on purpose

# Conventions, all of them about what is asked and none about what is released:
LOOKED_AT = 2**18  # rows in which identifiers are looked for: persons show in fewer
_FEWEST = 20  # values of a column that may name persons, where its name does not say so
_MOST_ROWS = 50  # of one person, on average: a value that is more frequent names a place or a kind
_REPEATED = 1.1  # rows of one person, on average: below, a few rows are double
_SAME = 0.98  # of a person's other rows, that have the value of the first: the column stays the same
_VARIED = 0.9  # chance of two rows to agree in a column: above, it is the same in all rows
_LEVEL = 0.9  # of persons that have as many rows as most do
_SIDE_BY_SIDE = 1.05  # stretches of equal values, over the number of values
_EXPECTED, _FOUND = 10.0, 0.02  # pairs of rows that agree in a person and a date by chance; and of those, found
_COVERED = 0.95  # of persons whose rows a proposed cap leaves in

_WORDS = "person|persons|patient|subject|respondent|participant|individual|member|customer|client|user|employee|student"
_NAMED = re.compile(
    rf"(.*[_\-. ])?(id|ids|uid|pid|uuid|guid|ssn)|id[_\-. ].*|({_WORDS})[_\-. ]?(id|nr|no|num|number|code|key)?"
)
_CAMEL = re.compile(r".*[a-z](Id|ID)|ID[A-Z].*")


@final
@dataclass(slots=True, kw_only=True)
class Persons:
    """How many rows each person has. Private."""

    unit: str
    cap: int
    rows: Counter[bytes | None] = field(default_factory=Counter)

    def add(self, identifiers: pa.Array) -> None:
        """Some more rows, by the identifier of their person."""
        positions, keys = identities(identifiers)
        counts = np.bincount(positions, minlength=len(keys)).tolist()
        self.rows.update({key: count for key, count in zip(keys, counts, strict=True) if count})

    @property
    def number(self) -> int:
        """Of persons."""
        return len(self.rows) - (None in self.rows)

    def findings(self) -> Iterator[Finding]:
        """Rows that the cap leaves out, and rows of nobody."""
        total, nobody = self.rows.total(), self.rows[None]
        beyond = [count - self.cap for key, count in self.rows.items() if key is not None and count > self.cap]
        if beyond:
            many, lost = share(len(beyond), self.number), share(sum(beyond), total)
            yield Finding(
                level=Level.DAMAGE if sum(beyond) >= _MANY * total else Level.NOTE,
                where=self.unit,
                words=f"{many} persons have more than {self.cap} rows; {lost} rows are left out",
                remedy="a higher max_rows_per_unit, if rows of one person matter; each person then adds more noise",
            )
        if nobody:
            yield Finding(
                level=Level.of_share(nobody / total),
                where=self.unit,
                words=f"{share(nobody, total)} rows have no {self.unit}",
                remedy='rows_without_unit = "drop" leaves them out, "one-unit" counts them as one person',
            )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Identifier:
    """A column that seems to identify somebody: each row, or a person with several. Private.

    `most` is how many rows of one value cover nearly all persons; 1 where every row has a value of its own.
    """

    name: str
    values: int
    most: int
    named: bool  # known by the column's name
    same: tuple[str, ...] = ()  # columns that stay the same within each value

    @property
    def persons(self) -> bool:
        """Whether somebody has several rows, not too many to be a person's."""
        return self.most > 1

    def finding(self, *, declared: bool) -> Finding:
        """What `check` says where no unit is declared."""
        key = toml_key(self.name)
        if not self.persons:
            return Finding(
                level=Level.LOOK,
                where=self.name,
                words="every row has another value: it looks like an identifier, of which nothing can be released",
                remedy=f"leave [columns.{key}] out, unless its values measure something",
            )
        stay = f", the same within each: {', '.join(self.same[:3])}" if self.same else ""
        without = f", without [columns.{key}]" if declared else ""
        return Finding(
            level=Level.LOOK,
            where=self.name,
            words=f"{self.values:,} values repeat, most on up to {self.most} rows{stay}. They look like persons with "
            "several rows, and without unit each row is protected, not each person",
            remedy=f"unit = {toml_value(self.name)} and max_rows_per_unit = {self.most} in [table]{without}, if they "
            "are persons",
        )


def find_identifiers(source: Source) -> tuple[Identifier, ...]:
    """The columns that seem to identify somebody, in the order of the source."""
    names, batches, rows = source.names(), [], 0
    for batch in source.batches(names):
        batches.append(batch)
        rows += batch.num_rows
        if rows >= LOOKED_AT:
            break
    columns = [_Cells.of(name, [batch.column(place) for batch in batches]) for place, name in enumerate(names)]
    return tuple(found for column in columns if (found := _identifier(column, columns)) is not None)


def unit_of(found: Sequence[Identifier]) -> Identifier | None:
    """The one that persons with several rows seem to go by: by its name if one does, else with the most values."""
    several = [one for one in found if one.persons]
    return max(several, key=lambda one: (one.named, one.values), default=None)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Cells:
    """A column's cells as codes, −1 for none, with the distinct ones as texts. Private."""

    name: str
    codes: Integers
    texts: tuple[str, ...]

    @classmethod
    def of(cls, name: str, arrays: Sequence[pa.Array]) -> "_Cells":
        """Of pieces, which may differ in type."""
        known: dict[str, int] = {"": -1}
        codes = []
        for array in arrays:
            coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
            own = [
                -1 if text is None else known.setdefault(_text(text), len(known) - 1)
                for text in coded.dictionary.to_pylist()
            ]
            places = coded.indices.fill_null(len(own)).to_numpy(zero_copy_only=False)
            codes.append(np.array([*own, -1], dtype=np.int64)[places])
        return cls(name=name, codes=np.concatenate([np.empty(0, dtype=np.int64), *codes]), texts=tuple(known)[1:])

    @cached_property
    def counts(self) -> Integers:
        """Rows of each value."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))

    @cached_property
    def present(self) -> int:
        """Rows that have a value."""
        return int(self.counts.sum())

    @property
    def named(self) -> bool:
        """Whether its name says that it identifies."""
        return bool(_NAMED.fullmatch(self.name.lower()) or _CAMEL.fullmatch(self.name))

    @property
    def whole(self) -> bool:
        """Whether all are whole numbers."""
        return all(parse_number(text.encode()).is_integer() for text in self.texts)

    @property
    def keys(self) -> bool:
        """Whether its values may be keys: whole numbers, or texts that are no dates and no other numbers."""
        read = [parse_number(text.encode()) for text in self.texts]
        if all(math.isfinite(number) for number in read):
            return all(number.is_integer() for number in read)
        some = Counter(self.texts[:_TRIED])
        dates = all(parse_instant(text.encode()) is not None for text in some)
        return not dates and date_format(some) is None and local_numerals(some) is None

    @property
    def agreement(self) -> float:
        """The chance of two rows to have the same value."""
        return float(((self.counts / max(self.present, 1)) ** 2).sum())

    def stays_within(self, other: "_Cells") -> bool:
        """Whether it is the same in nearly all rows of each value of another column, and not in all rows anyway."""
        kept = other.codes >= 0
        codes, own = other.codes[kept], self.codes[kept]
        _, first = np.unique(codes, return_index=True)
        known = np.zeros(len(other.texts), dtype=np.int64)
        known[codes[first]] = own[first]
        later = np.ones(len(codes), dtype=bool)
        later[first] = False
        same = float((own[later] == known[codes[later]]).mean()) if later.any() else 0.0
        return same >= _SAME and self.agreement <= _VARIED

    def once_within(self, other: "_Cells") -> bool:
        """Whether each of its values is in at most one row of each value of another column, as years of persons are."""
        expected = float((other.counts.astype(np.float64) ** 2).sum()) / 2.0 * self.agreement
        kept = (other.codes >= 0) & (self.codes >= 0)
        both = other.codes[kept] * len(self.texts) + self.codes[kept]
        return expected >= _EXPECTED and len(both) - len(np.unique(both)) <= _FOUND * expected


def _identifier(column: _Cells, columns: Sequence[_Cells]) -> Identifier | None:
    values = len(column.texts)
    if values < 2 or not column.keys:
        return None
    several = column.present / values
    if several < _REPEATED:
        return _of_rows(column) if values >= _FEWEST else None
    if several > _MOST_ROWS or (values < _FEWEST and not column.named):
        return None
    others = [other for other in columns if other is not column]
    same = tuple(other.name for other in others if other.stays_within(column))
    if not column.named and not (same and _come_as_persons(column, others)):
        return None
    most = int(np.quantile(column.counts, _COVERED, method="higher"))
    return Identifier(name=column.name, values=values, most=max(2, most), named=column.named, same=same)


def _of_rows(column: _Cells) -> Identifier | None:
    """Values of which every row has another: texts, or numbers in order or all of one length; not measurements."""
    numbered = column.whole
    codes = column.codes[column.codes >= 0]
    if numbered and not column.named:
        read = np.array([parse_number(text.encode()) for text in column.texts])[codes]
        in_order = bool((np.diff(read) > 0).all())
        lengths = {len(text) for text in column.texts}
        if not in_order and not (len(lengths) == 1 and max(lengths) >= _DIGITS):
            return None
    return Identifier(name=column.name, values=len(column.texts), most=1, named=column.named)


_TRIED = 1000  # values that dates and numbers are looked for in
_DIGITS = 6  # convention: numbers that all have so many digits are keys


def _come_as_persons(column: _Cells, others: Sequence[_Cells]) -> bool:
    """Whether its rows come as persons' rows do: as many of each, side by side, or one for each value of another."""
    level = float((column.counts == np.bincount(column.counts).argmax()).mean()) >= _LEVEL
    stretches = 1 + int((np.diff(column.codes) != 0).sum())
    return (
        level
        or stretches <= _SIDE_BY_SIDE * len(column.texts)
        or any(other.once_within(column) for other in others if other.agreement >= 1.0 / _EVERY)
    )


_EVERY = 1000  # convention: a date or visit has fewer values that matter


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
