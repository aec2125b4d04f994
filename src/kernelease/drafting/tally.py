"""What a private look says about a column's cells and about persons with several rows, and the counts behind it."""

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.arrays import Integers
from kernelease.drafting.findings import LOOKED_AT, Finding, Level, examples, rough_share, share, short
from kernelease.errors import closest
from kernelease.sources.source import Source
from kernelease.table.columns.cells import Celled, Stepped
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Boolean, Listed, String
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.parsing import (
    DAY,
    FORMATS,
    MICROSECOND,
    MOST_ROWS_PER_UNIT,
    UNREAD,
    DateFormat,
    Numerals,
    identities,
    is_text,
    parse_instant,
    parse_number,
    read_instants,
    read_numbers,
)
from kernelease.table.toml import toml_key, toml_value

# ---- Counting what becomes of the cells of one column.


_MOST_DISTINCT = 10_000  # of cells that are remembered; further ones are only counted
_EVER = 2**62  # beyond every instant, in days or microseconds
_REPLACEMENT = "\ufffd"  # what bytes become that mean nothing in the declared encoding

Flags = NDArray[np.bool_]


@final
@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts of one column's cells: missing, unreadable, beyond the bounds, not declared, mangled. All private."""

    column: Column
    rows: int = 0
    missing: int = 0
    below: int = 0
    above: int = 0
    fractions: int = 0
    mangled: int = 0
    strange: int = 0
    cells: Counter[str] = field(default_factory=Counter)
    """Cells that can't be read, or are not declared."""

    def add(self, array: pa.Array) -> None:
        plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        present = self._present(plain)
        self.rows += len(plain)
        self.missing += int((~present).sum())
        strange = present & self._strange(plain, present)
        self.strange += int(strange.sum())
        self._remember(plain.filter(pa.array(strange)))
        if is_text(plain.type):
            self.mangled += int(pc.sum(pc.match_substring(plain.cast(pa.large_string()), _REPLACEMENT)).as_py() or 0)

    def finding(self, count: int, words: str, remedy: str, *, gist: str = "", level: Level | None = None) -> Finding:
        """What is odd about so many cells. How bad that is follows from their share, where it is not said."""
        return Finding(
            level=Level.of_share(count / self.rows) if level is None else level,
            where=self.column.name,
            words=f"{share(count, self.rows)} cells {words}",
            remedy=remedy,
            gist=f"{gist} ({rough_share(count, self.rows)} cells)" if gist else "",
        )

    def _present(self, array: pa.Array) -> Flags:
        there: Flags = ~array.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
        empty_is_declared = isinstance(self.column, Listed) and "" in self.column.vocabulary
        if is_text(array.type) and not empty_is_declared:
            there &= pc.binary_length(array).to_numpy(zero_copy_only=False) > 0  # NaN where there is none
        return there

    def _strange(self, array: pa.Array, present: Flags) -> Flags:
        """Which cells can't be read, or are not declared; those beyond the bounds are counted on the way."""
        column = self.column
        if isinstance(column, Integer | Number):
            return self._numbers(read_numbers(array), present, column.min, column.max)
        if isinstance(column, Stepped):
            ticks, absent = read_instants(array, DAY if isinstance(column, Date) else MICROSECOND, -_EVER, _EVER)
            bad = np.zeros(len(array), dtype=bool) if absent is None else absent
            self._count_outside(ticks, present & ~bad, column.low, column.high)
            return bad
        if isinstance(column, Listed):
            return self._find_undeclared(array, column)
        if isinstance(column, Boolean):
            unsure = dataclasses.replace(column, nullable=True, default=None)
            return np.asarray(unsure.encode(array) == unsure.missing)
        return np.zeros(len(array), dtype=bool)

    def _numbers(self, numbers: NDArray[np.float64], present: Flags, low: float, high: float) -> Flags:
        bad = np.isnan(numbers)
        self._count_outside(numbers, present & ~bad, low, high)
        if isinstance(self.column, Integer):
            finite = numbers[present & np.isfinite(numbers)]
            self.fractions += int((finite != np.floor(finite)).sum())
        return bad

    def _count_outside(self, values: NDArray[Any], known: Flags, low: float, high: float) -> None:
        self.below += int((known & (values < low)).sum())
        self.above += int((known & (values > high)).sum())

    def _find_undeclared(self, array: pa.Array, column: Listed) -> Flags:
        if isinstance(column, String) and not column.values:  # free text has nothing that is not declared
            return np.zeros(len(array), dtype=bool)
        numbers = [value for value in column.vocabulary if isinstance(value, int)]
        bucket = column.other or (max(numbers) + 1 if numbers else True)
        probe = dataclasses.replace(column, nullable=True, default=None, other=bucket)
        return np.asarray(probe.encode(array) == len(column.vocabulary))

    def _remember(self, cells: pa.Array) -> None:
        for item in pc.value_counts(as_countable(cells)):
            text = text_of(item["values"].as_py()).removeprefix(UNREAD)
            if text in self.cells or len(self.cells) < _MOST_DISTINCT:
                self.cells[text] += item["counts"].as_py()


# ---- Findings about one column, from these counts.


NULL_SPELLINGS: Final = frozenset(
    ["na", "n/a", "#n/a", "n.a.", "nan", "null", "none", "nil", "missing", "unknown", "-", "--", ".", "?", "k.a.", "nc"]
)
"""Texts that mean that there is no value, whatever their case."""
ANSWERS: Final = frozenset(["none", "nil", "missing", "unknown", "nc"])
"""Those that may be answers among other words: no pain is none."""
LOCAL_NUMERALS: Final = (  # groups of three before decimals: 25,770 in all rows is no number with three decimals
    Numerals(thousands=","),
    Numerals(decimal=","),
    Numerals(thousands=" "),
    Numerals(thousands="'"),
    Numerals(decimal=",", thousands="."),
    Numerals(decimal=",", thousands=" "),
)
MARKS: Final = (  # convention: what is no part of a number before or after it; the mark () is a minus in accounts
    *("$", "€", "£", "¥", "₹", "%", "()", "USD", "EUR", "GBP", "CHF", "kr"),
    *("kg", "g", "mg", "lb", "lbs", "km", "m", "cm", "mm", "mi", "ml", "l", "°C", "°F", "h", "min"),
)
_LIMIT = re.compile(r"\s*([<>])\s*[0-9]")
_DIGITS_WITHIN = re.compile("[0-9][0-9.,' \u00a0\u202f]*")
_MOST = 0.9  # of cells that can't be read: what reads so many of them is suggested


def column_findings(tally: Tally) -> Iterator[Finding]:
    """What the cells of a column become that the owner may not have meant."""
    column = tally.column
    if tally.strange:
        yield _undeclared_finding(tally, column) if isinstance(column, Listed) else _unreadable(tally)
    if isinstance(column, Celled):
        yield from _clamped_findings(tally, column)
    if tally.missing and not column.nullable:
        becomes = column.labels()[column.missing]
        yield tally.finding(
            tally.missing,
            f"are missing, and the column is declared without NULL: they become {becomes}",
            f"nullable = true in [columns.{column.name}]",
            gist="missing, and declared without NULL",
        )
    if tally.mangled:
        yield tally.finding(
            tally.mangled,
            "hold characters that were lost in decoding",
            '[source] encoding = "latin-1", or the one that the file is written in',
            gist="characters were lost in decoding",
        )


def _unreadable(tally: Tally) -> Finding:
    column = tally.column
    kind = {"integer": "numbers", "number": "numbers", "boolean": "yes or no"}.get(column.tag, "dates")
    becomes = f"they become {column.labels()[column.unknown]}"
    words = f"can't be read as {kind}, {becomes}: {examples(tally.cells)}"
    return tally.finding(tally.strange, words, _remedy(column, tally.cells), gist=f"can't be read as {kind}")


def _remedy(column: Column, cells: Counter[str]) -> str:
    """The line that makes most of these cells readable."""
    absent = [cell for cell in cells if cell.strip().lower() in NULL_SPELLINGS]
    present = Counter({cell: times for cell, times in cells.items() if cell not in absent})
    lines = []
    if present and isinstance(column, Date | Datetime) and (form := date_format(present)):
        lines.append(f'[source] dates = "{form}"')
    if present and isinstance(column, Integer | Number) and (local := local_numerals(present)):
        lines.append(f"[source] {_numerals_line(local)}")
    if isinstance(column, Integer | Number) and (signs := limits_in(present)):
        lines.append(f"[source] marks = {toml_value(list(signs))} reads each as its limit")
    if absent:
        nullable = "" if column.nullable else f", and nullable = true in [columns.{column.name}]"
        lines.append(f"[source] nulls = {toml_value(sorted(absent))}{nullable}")
    return "; ".join(lines) or "correct them in the source, or declare the column as what it is"


def date_format(cells: Counter[str]) -> str | None:
    """The format that most of these cells are written in, if one reads nearly all of them but ISO dates among them.

    >>> date_format(Counter({"31/12/2024": 3, "01/02/2024": 5, "soon": 0}))
    '%d/%m/%Y'
    """
    others = Counter({cell: times for cell, times in cells.items() if parse_instant(cell.encode()) is None})
    for text in FORMATS:
        form = DateFormat(text)
        read = sum(times for cell, times in others.items() if form.iso(cell) is not None)
        if read >= _MOST * max(others.total(), 1):
            return text
    return None


def local_numerals(cells: Counter[str]) -> Numerals | None:
    """How most of these cells write numbers, if nearly all of them are numbers so written."""
    marks = marks_in(cells)
    ways: tuple[Numerals, ...] = (Numerals(), *LOCAL_NUMERALS) if marks else LOCAL_NUMERALS
    for way in ways:
        local = dataclasses.replace(way, marks=marks)
        if any(starts_with_nothing(cell, local) for cell in cells):
            continue
        read = [(local.plain_text(cell), times) for cell, times in cells.items()]
        known = sum(
            times for said, times in read if (number := parse_number((said or "").encode())) == number
        )  # no NaN
        if known >= _MOST * max(cells.total(), 1):
            return local
    return None


def marks_in(cells: Iterable[str]) -> tuple[str, ...]:
    """The marks that stand before or after digits.

    >>> marks_in(["$1,250", "(3)", "7 kg", "A1"])
    ('$', '()', 'kg')
    """
    ends = {_DIGITS_WITHIN.sub("0", cell.strip()) for cell in cells}
    ends |= {cell[1:-1] for cell in ends if cell[:1] == "(" and cell[-1:] == ")"}
    around = {part.strip(" +-\u00a0") for cell in ends for part in cell.split("0")}
    return tuple(mark for mark in MARKS if mark in around or (mark == "()" and {"(", ")"} <= around))


def limits_in(cells: Iterable[str]) -> tuple[str, ...]:
    """The signs that make limits of numbers, as of what a laboratory can't measure; none where a cell is no limit.

    >>> limits_in(["<0.5", "> 90"]), limits_in(["<0.5", "low"])
    (('<', '>'), ())
    """
    found = [_LIMIT.match(cell) for cell in cells]
    return tuple(sorted({one[1] for one in found if one})) if all(found) else ()


def starts_with_nothing(cell: str, local: Numerals) -> bool:
    """Whether a cell is a fraction, and its sign no sign of thousands: 0,125.

    >>> starts_with_nothing("0,125", Numerals(thousands=",")), starts_with_nothing("0,125", Numerals(decimal=","))
    (True, False)
    """
    return local.thousands is not None and cell.strip().lstrip("+-").startswith(f"0{local.thousands}")


def _numerals_line(local: Numerals) -> str:
    decimal = [f'decimal = "{local.decimal}"'] if local.decimal != "." else []
    thousands = [f'thousands = "{local.thousands}"'] if local.thousands else []
    return " and ".join([*decimal, *thousands, *([f"marks = {toml_value(list(local.marks))}"] if local.marks else [])])


def _undeclared_finding(tally: Tally, column: Listed) -> Finding:
    known = [str(value) for value in column.vocabulary]
    most = sorted(tally.cells.items(), key=lambda item: (-item[1], item[0]))
    told = [f"{short(cell)!r} {times:,} times{_nearest(cell, known)}" for cell, times in most[:5]]
    more = f", and {len(most) - 5:,} others" if len(most) > 5 else ""
    becomes = column.labels()[column.unknown]
    meant = column.other_label is not None and tally.strange / tally.rows < _HALF
    return tally.finding(
        tally.strange,
        f"are not among the declared values, they become {becomes}: {', '.join(told)}{more}",
        _listing(column, [cell for cell, _ in most], known),
        gist="not among the declared values",
        level=Level.NOTE if meant else None,
    )


_HALF = 0.5  # convention: a bucket for what is not listed that takes half of the rows was not meant


def _nearest(cell: str, known: list[str]) -> str:
    near = closest(cell, known, least=0.6)
    return f" (nearest: {near!r})" if near is not None else ""


def _listing(column: Listed, cells: list[str], known: list[str]) -> str:
    """What to write for values that are in the rows and not in the schema."""
    absent = [cell for cell in cells if cell.strip().lower() in NULL_SPELLINGS]
    if len(absent) == len(cells):
        return f"[source] nulls = {toml_value(sorted(absent))}, or list them in values"
    folded = {value.casefold().strip(): value for value in known}
    respelt = {folded[cell.casefold().strip()]: cell for cell in reversed(cells) if cell.casefold().strip() in folded}
    if respelt:
        values = [respelt.get(value, value) for value in known]
        return f"the file writes them otherwise: values = {toml_value(values)}"
    if column.other_label is None:
        return "list them in values if they are public knowledge, or declare other = true"
    return "list in values those that are public knowledge"


def _clamped_findings(tally: Tally, column: Celled) -> Iterator[Finding]:
    low, high = column.labels()[0], column.labels()[column.cell_count - 1]
    for count, key, side, label in ((tally.below, "min", "below", low), (tally.above, "max", "above", high)):
        if count:
            words = f"are {side} {key} = {getattr(column, key)}: they are {label}"
            remedy = f"a {'lower' if key == 'min' else 'higher'} {key}, if public knowledge allows it"
            level = Level.DAMAGE if count / tally.rows >= _CLAMPED else Level.NOTE
            yield tally.finding(count, words, remedy, level=level)
    if tally.fractions:
        yield tally.finding(tally.fractions, "have decimals, which are cut off", 'type = "number"')


_CLAMPED = 0.01  # convention: fewer cells beyond a bound are what a bound is for


# ---- What a private look says about persons with several rows: those declared, and those that seem to be there.
#
# An identifier is known by its name, or by what its values do. Those of persons with several rows repeat, other
# columns stay the same within each (a birthday, a sex), and their rows come as persons' rows do: as many of each
# person, or side by side, or one for each year or visit. Numbers and codes of other things rarely do both. What is
# found is a question to the owner, never an answer: only they know whether a column names persons.


_MANY = 0.1  # convention: a cap that leaves out one row in ten was chosen too low, or on purpose

# Conventions, all of them about what is asked and none about what is released:
_FEWEST = 20  # values of a column that may name persons, where its name does not say so
_MOST_ROWS = 50  # of one person, on average: a value that is more frequent names a place or a kind
_REPEATED = 1.1  # rows of one person, on average: below, a few rows are double
_SAME = 0.98  # of a person's other rows, that have the value of the first: the column stays the same
_VARIED = 0.9  # chance of two rows to agree in a column: above, it is the same in all rows
_LEVEL = 0.9  # of persons that have as many rows as most do
_SIDE_BY_SIDE = 1.05  # stretches of equal values, over the number of values
_EXPECTED, _FOUND = 10.0, 0.02  # pairs of rows that agree in a person and a date by chance; and of those, found
_COVERED = 0.95  # of persons whose rows a proposed cap leaves in

_KEY = r"[_\-. ]?(id|nr|no|num|number|code|key)?"
_WORDS = "person|persons|patient|subject|respondent|participant|individual|member|customer|client|user|employee|student"
_MORE = (
    "household|family|account|borrower|pupil|child|resident|tenant|citizen|donor|driver|worker|subscriber|policyholder"
)
_NAMED = re.compile(rf"(.*[_\-. ])?(id|ids|uid|pid|uuid|guid|ssn)|id[_\-. ].*|({_WORDS}){_KEY}")
_PERSONS = re.compile(rf"({_WORDS}|{_MORE}){_KEY}")  # some of these words also name a count or a kind, of few values
_CAMEL = re.compile(r".*[a-z](Id|ID)|ID[A-Z].*")
_TIMES = re.compile(r"(.*[_\-. ])?(day|date|week|month|quarter|year|hour|minute|second|time)s?([_\-. ].*)?")


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
        return len(self.rows) - (None in self.rows)

    def findings(self) -> Iterator[Finding]:
        """Rows that the cap leaves out, and rows of nobody."""
        total, nobody = self.rows.total(), self.rows[None]
        beyond = [count - self.cap for key, count in self.rows.items() if key is not None and count > self.cap]
        if beyond:
            many, lost = share(len(beyond), self.number), share(sum(beyond), total)
            higher = "a higher max_rows_per_unit, if rows of one person matter; each person then adds more noise"
            fewer = f"{self.cap} is the most: if that loses too much, make fewer rows of each person, as one a day"
            yield Finding(
                level=Level.DAMAGE if sum(beyond) >= _MANY * total else Level.NOTE,
                where=self.unit,
                words=f"{many} persons have more than {self.cap} rows; {lost} rows are left out",
                remedy=higher if self.cap < MOST_ROWS_PER_UNIT else fewer,
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
                words="its values hardly repeat: it looks like an identifier, of which nothing can be released",
                remedy=f"leave [columns.{key}] out, unless its values measure something",
            )
        stay = f", the same within each: {', '.join(self.same[:3])}" if self.same else ""
        often = f"most on up to {self.most}" if self.most < MOST_ROWS_PER_UNIT else f"many on {self.most} or more"
        without = f", without [columns.{key}]" if declared else ""
        return Finding(
            level=Level.LOOK,
            where=self.name,
            words=f"{self.values:,} values repeat, {often} rows{stay}. They look like persons with "
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
    """The column that seems to identify persons with several rows: by its name, else the one with most values."""
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
        for array in map(as_countable, arrays):
            coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
            own = [
                -1 if text is None else known.setdefault(text_of(text), len(known) - 1)
                for text in coded.dictionary.to_pylist()
            ]
            places = coded.indices.fill_null(len(own)).to_numpy(zero_copy_only=False)
            codes.append(np.array([*own, -1], dtype=np.int64)[places])
        return cls(name=name, codes=np.concatenate([np.empty(0, dtype=np.int64), *codes]), texts=tuple(known)[1:])

    @cached_property
    def counts(self) -> Integers:
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))

    @cached_property
    def present(self) -> int:
        return int(self.counts.sum())

    @property
    def names_identifier(self) -> bool:
        """Whether its name says that it identifies."""
        return bool(_NAMED.fullmatch(self.name.lower()) or _CAMEL.fullmatch(self.name))

    @property
    def names_persons(self) -> bool:
        """Whether its name says whom it identifies, and it has as many values as persons are."""
        return len(self.texts) >= _FEWEST and bool(_PERSONS.fullmatch(self.name.lower()))

    @property
    def whole(self) -> bool:
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
        """Whether each of its values is in at most one row of each value of another column, as years of persons are.

        That is: of the pairs of rows that agree in the other one, hardly any agree in both.
        """
        kept = (other.codes >= 0) & (self.codes >= 0)
        both = np.unique(other.codes[kept] * len(self.texts) + self.codes[kept], return_counts=True)[1]
        expected = _pairs(np.bincount(other.codes[kept])) * self.agreement
        return expected >= _EXPECTED and _pairs(both) <= _FOUND * expected


def _pairs(counts: Integers) -> float:
    """Pairs of rows that have the same value, of so many rows of each."""
    return float((counts * (counts - 1.0)).sum()) / 2.0


def _identifier(column: _Cells, columns: Sequence[_Cells]) -> Identifier | None:
    values = len(column.texts)
    if values < 2 or not column.keys or _TIMES.fullmatch(column.name.lower()):
        return None
    several = column.present / values
    if several < _REPEATED:
        return _of_rows(column) if values >= _FEWEST else None
    named = column.names_identifier or column.names_persons
    if (several > _MOST_ROWS and not column.names_persons) or (values < _FEWEST and not named):
        return None
    others = [other for other in columns if other is not column]
    same = tuple(other.name for other in others if other.stays_within(column))
    if not named and not (same and _come_as_persons(column, others)):
        return None
    most = min(MOST_ROWS_PER_UNIT, max(2, int(np.quantile(column.counts, _COVERED, method="higher"))))
    return Identifier(name=column.name, values=values, most=most, named=named, same=same)


def _of_rows(column: _Cells) -> Identifier | None:
    """Values of which every row has another: texts, or numbers in order or all of one length; not measurements."""
    numbered = column.whole
    codes = column.codes[column.codes >= 0]
    if numbered and not column.names_identifier:
        read = np.array([parse_number(text.encode()) for text in column.texts])[codes]
        in_order = bool((np.diff(read) > 0).all())
        lengths = {len(text) for text in column.texts}
        if not in_order and not (len(lengths) == 1 and max(lengths) >= _DIGITS):
            return None
    return Identifier(name=column.name, values=len(column.texts), most=1, named=column.names_identifier)


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


def as_countable(array: pa.Array) -> pa.Array:
    """Cells that Arrow can count: of lists and records, of which nothing is read, their type for each."""
    plain = array.storage if isinstance(array, pa.ExtensionArray) else array
    if not pa.types.is_nested(plain.type):
        return plain
    return pc.if_else(plain.is_valid(), str(plain.type), pa.scalar(None, pa.string()))


def text_of(value: object) -> str:
    """A cell as text, whatever its bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
