"""A schema drafted by looking at the private rows: proposals. The owner decides which are public."""

import codecs
import datetime
import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.arrays import Floats
from kernelease.drafting.relations import SPURIOUS, Gap, find_relations
from kernelease.drafting.tally import (
    ANSWERS,
    LOCAL_NUMERALS,
    MARKS,
    NULL_SPELLINGS,
    Identifier,
    as_countable,
    date_format,
    find_identifiers,
    limits_in,
    marks_in,
    starts_with_nothing,
    text_of,
    unit_of,
)
from kernelease.errors import SchemaError
from kernelease.sources.csv_file import CsvFile, CsvFormat
from kernelease.sources.opening import open_declared, open_source
from kernelease.sources.source import source_columns
from kernelease.table.columns.cells import MOST_CELLS
from kernelease.table.columns.column import MOST_ATOMS
from kernelease.table.columns.listed import MOST_VALUES
from kernelease.table.columns.numbers import LARGEST_INTEGER, Number
from kernelease.table.draft import MARK, MOST_CATEGORIES, Lines, Looked, draft
from kernelease.table.parsing import DateFormat, Numerals, has_zone, parse_instant, parse_number
from kernelease.table.schema import Schema
from kernelease.table.toml import toml_value
from kernelease.table.written import Written

# ---- Rounded bounds: they say less about single rows than the smallest and the largest value.


def outward(low: float, high: float) -> tuple[float, float]:
    """Bounds around both, at multiples of a power of ten of which at least two are in their distance.

    What everybody knows stays as it is: months, days, hours, minutes and weeks. Around a single number, bounds are
    near.

    >>> outward(18, 93), outward(0, 103), outward(0.7, 98_234.5), outward(0, 23), outward(2013, 2013)
    ((10.0, 100.0), (0.0, 110.0), (0.0, 100000.0), (0.0, 23.0), (2010.0, 2020.0))
    >>> outward(7, 7), outward(0, 0)
    ((6.0, 8.0), (0.0, 1.0))
    """
    if (low, high) in _KNOWN:
        return float(low), float(high)
    span = max(high - low, _TINIEST) if high > low else max(abs(low), 1.0) / _NEAR
    step = 10.0 ** max(math.floor(math.log10(span / 2.0)), 0 if float(low).is_integer() and high == low else -math.inf)
    below, above = math.floor(low / step) * step, math.ceil(high / step) * step
    if below == above:
        below, above = below - step if below else 0.0, above + step
    return _tidy(below), _tidy(above)


_KNOWN = frozenset({(0, 23), (1, 24), (1, 31), (0, 59), (1, 52), (1, 53), (1, 365), (1, 366), (0, 360)})
_TINIEST = 1e-300  # limit: of a distance: half of it, and a power of ten near that, are floats
_NEAR = 100  # convention: the bounds around a number are about so much nearer to each other than it is to 0


def _tidy(number: float) -> float:
    """Without the digits that only rounding has left."""
    return float(f"{number:.12g}")


def whole_years(first: datetime.date, last: datetime.date) -> tuple[datetime.date, datetime.date]:
    """From the first day of a year to the last of another.

    >>> whole_years(datetime.date(2019, 3, 7), datetime.date(2024, 2, 29))
    (datetime.date(2019, 1, 1), datetime.date(2024, 12, 31))
    """
    return datetime.date(first.year, 1, 1), datetime.date(last.year, 12, 31)


# ---- The draft itself.


_NEARLY_ALL = 0.95  # convention: of a column's cells that have one type, so that a few misprints don't hide it
_REPEATED = 2  # convention: rows of a value, on average, for values to be worth a list
_LONGEST_CODE = 16  # convention: characters of a code; what is longer is text
_MOST_GROUPS = 64  # convention: of codes, so that pairs of groups can be seen
_MOST_WRITTEN = 6  # convention: decimals that somebody chose; more are what a division left
_SHARED = 10  # convention: rows that have a number, for it to be listed: of fewer, it is somebody's
_MOST_OTHERS = 0.01  # convention: of rows without the most frequent number, those that don't keep to what others do
_APART = 3  # convention: steps of the last digit from one listed number to the next, on average: else digits say it
_MOST_POWER = 6  # convention: of ten, in steps that are looked for
_FEWEST_ORDERED = 3  # convention: of two values none is between
_NAMIBIA = "NA"
_STEPS = (1, 60, 300, 600, 900, 1800, 3600)  # convention: seconds that instants are apart: what clocks and loggers have
_ORDINARY = Numerals()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A schema drafted by looking: its TOML text, and the column that seems to identify persons. Private."""

    text: str
    unit: Identifier | None


def draft_by_looking(
    data: Any, name: str, *, query: str | None, written: Written, keys: Sequence[str] | None = None
) -> Proposal:
    """A schema that can't be used before it is confirmed, with a mark on each line from the rows.

    Bounds are rounded outward, values are listed, the way of writing is detected where it is not given. The rows are
    read whole, and the first of them once more for identifiers and for relations between columns; memory grows with the
    number of distinct cells. `keys` are columns of one of several tables that are known to be keys: then no unit is
    looked for.
    """
    written = _with_encoding(data, query, written)
    source = open_source(data, query=query, csv=CsvFormat.of(written))
    cells: dict[str, Counter[str]] = {column: Counter() for column in source.names()}
    nested = set()
    for batch in source.batches(source.names()):
        nested |= {field.name for field in batch.schema if pa.types.is_nested(field.type)}
        for column, counter in cells.items():
            for item in pc.value_counts(as_countable(batch.column(column))):
                value = item["values"].as_py()
                counter["" if value is None else text_of(value)] += item["counts"].as_py()
    looks = [_Look(name=column, cells=counter) for column, counter in cells.items()]
    numerals = _numerals(looks, written) if "decimal" in source.heeds() else written.numerals
    identifiers = {found.name: found for found in find_identifiers(source)}
    unit = unit_of(tuple(identifiers.values())) if keys is None else None
    left_out = {
        look.name: why for look in looks if (why := look.left_out(identifiers.get(look.name), unit)) is not None
    }
    left_out |= dict.fromkeys(keys or (), "it is a key")
    left_out |= dict.fromkeys(
        sorted(nested), "its cells are lists or records: make a column of each part in the source"
    )
    left_out |= {look.name: "it has no name: give it one in the source" for look in looks if not look.name}
    kept = [look for look in looks if look.name not in left_out]
    written = _detect_spellings(written, looks, kept, numerals, nulls="nulls" in source.heeds())

    gaps: dict[str, str] = {}  # the column that says how far another is from an earlier one, by the latter's name

    def draft_with(known: Mapping[str, Lines], rules: tuple[str, ...] = ()) -> str:
        return draft(
            _beside(source_columns(source), gaps),
            name,
            declared_types=False,
            known=known,
            written=written,
            looked=Looked(unit=None if unit is None else (unit.name, unit.most), rules=rules),
            left_out=left_out,
        )

    known = {look.name: look.lines(numerals) for look in kept}
    if not kept:  # nothing but identifiers
        return Proposal(text=draft_with(known), unit=unit)
    alone = Schema.parse(draft_with(known))
    declared = open_declared(data, alone, query=query)
    relations = find_relations(declared.batches(alone.names), alone)
    for one in relations:
        known[one.column] = one.lines if one.derived else (*known[one.column], *one.lines)
        if one.gap is not None:
            gaps[one.column], known[one.gap.name] = one.gap.name, _gap_lines(one.gap)
    return Proposal(text=draft_with(known, tuple(one.rule for one in relations if one.rule)), unit=unit)


def _gap_lines(gap: Gap) -> Lines:
    """The column that says how far two others are apart, in bounds and steps as any other number."""
    step = int(_clock_step(gap.step * 10**6))
    low, high = outward(gap.least, gap.most)
    bounds = {"min": math.floor(low / step) * step, "max": math.ceil(high / step) * step}
    lines = {"type": "integer", "from": gap.of, "minus": gap.minus, **bounds}
    lines |= {"resolution": step} if step > 1 else {}
    lines |= {"nullable": True} if gap.nullable else {}
    return tuple((key, value, MARK) for key, value in lines.items())


def _clock_step(apart: int) -> float:
    """The longest usual step, in seconds, of which a distance in microseconds is a multiple.

    >>> _clock_step(1_200_000_000), _clock_step(7_000_000), _clock_step(250_000)
    (600, 1, 0.01)
    """
    fractions = [10**digits for digits in range(6) if apart % 10**digits == 0]
    return max((step for step in _STEPS if apart % (step * 10**6) == 0), default=max(fractions) / 10**6)


def _beside(columns: pa.Schema, gaps: Mapping[str, str]) -> pa.Schema:
    """The columns of a source, before each that is near an earlier one the column that says how far it is."""
    every: list[Any] = []
    for field in columns:
        if field.name in gaps:
            every.append((gaps[field.name], pa.null()))
        every.append(field)
    return pa.schema(every)


@final
@dataclass(frozen=True, kw_only=True)
class _Look:
    """The distinct cells of a column, and how often each is there. Private."""

    name: str
    cells: Counter[str]

    @cached_property
    def present(self) -> Counter[str]:
        """The cells that hold a value. Among texts a word such as none may be an answer, and NA a country's code."""
        clear = Counter({cell: times for cell, times in self.cells.items() if cell and not _is_null(cell)})
        if len(clear) == len(self.cells) or (clear and not replace(self, cells=clear).is_text):
            return clear
        codes = bool(clear) and all(cell.isupper() and len(cell) == len(_NAMIBIA) for cell in clear)
        kept = [cell for cell in self.cells if not _is_null(cell, text=True) or (codes and cell == _NAMIBIA)]
        return Counter({cell: self.cells[cell] for cell in kept if cell})

    @property
    def is_text(self) -> bool:
        """Whether its values are neither numbers nor dates nor true and false."""
        ways = (replace(way, marks=self.marks) for way in (_ORDINARY, *LOCAL_NUMERALS))
        return not self._is_truth and not any(self.numeric(way) for way in ways) and self.form() is None

    @property
    def _is_truth(self) -> bool:
        """Whether its values are true and false. 0 and 1, yes and no are released as they are written, like others."""
        return all(cell.strip().lower() in ("true", "false") for cell in self.present)

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """Those that stand around digits in its cells."""
        return marks_in(self.present)

    def share(self, fits: Any) -> float:
        total = self.present.total()
        return sum(times for cell, times in self.present.items() if fits(cell)) / total if total else 0.0

    def numeric(self, numerals: Numerals) -> bool:
        """Whether nearly all are numbers so written, and no codes with zeros in front."""
        padded = any(len(cell) > 1 and cell[0] == "0" and cell.isdigit() for cell in self.present)
        padded = padded or any(starts_with_nothing(cell, numerals) for cell in self.present)
        read = {cell: _number(cell, numerals) for cell in self.present}
        small = any(number is not None and abs(number) < LARGEST_INTEGER for number in read.values())
        return small and not padded and self.share(lambda cell: read[cell] is not None) >= _NEARLY_ALL

    def form(self) -> str | None:
        """The format of its dates: empty for ISO 8601, None where cells are no dates."""
        if self.share(lambda cell: parse_instant(cell.encode()) is not None) >= _NEARLY_ALL:
            return ""
        return date_format(self.present)

    def left_out(self, found: Identifier | None, unit: Identifier | None) -> str | None:
        """Why the column is left out: it has no value, or looks like an identifier; None if neither."""
        if not self.present:
            return "no cell of it has a value"
        if found is None:
            return None
        if found is unit:
            return "it seems to name persons: see unit in [table]"
        if found.persons:
            return f"it looks like an identifier. If it names persons: unit = {toml_value(self.name)} in [table]"
        return "its values hardly repeat, as those of identifiers"

    def lines(self, numerals: Numerals) -> Lines:
        """What to write about it, each line from the rows with a mark; NULL only where a cell needs it."""
        domain = self._domain(numerals)
        unread = domain[0][1] in ("integer", "number", "date", "datetime") and not self._all_read(numerals)
        missing = unread or len(self.present) < len(self.cells)
        return (*domain, ("nullable", True, MARK)) if missing else domain

    def _all_read(self, numerals: Numerals) -> bool:
        """Whether no cell is a misprint, which becomes NULL among numbers or dates."""
        if self.numeric(numerals):
            return all(_number(cell, numerals) is not None for cell in self.present)
        form = self.form()
        return all(
            parse_instant(((form and DateFormat(form).iso(cell)) or cell).encode()) is not None for cell in self.present
        )

    def _domain(self, numerals: Numerals) -> Lines:
        if self._is_truth:
            return (("type", "boolean", MARK),)
        if self.numeric(numerals):
            return self._bounds(numerals)
        form = self.form()
        if form is not None:
            return self._dates(form)
        if len(self.present) <= MOST_CATEGORIES:
            order = in_order(tuple(self.present))
            return self._list_values("category") if order is None else self._list_values("ordinal", order)
        (kind, value, told), *others = self._many()
        return (kind, value, told + self._limits(numerals)), *others

    def _limits(self, numerals: Numerals) -> str:
        """What to do where all but limits, such as <0.5, are numbers."""
        limits = [cell for cell in self.present if limits_in((cell,))]
        rest = replace(self, cells=Counter({cell: self.present[cell] for cell in self.present if cell not in limits}))
        if not limits or not any(rest.numeric(way) for way in (numerals, _ORDINARY, *LOCAL_NUMERALS)):
            return ""
        signs = " ".join(f"--mark '{sign}'" for sign in limits_in(limits))
        return f" All but limits are numbers: drafted with {signs}, each is read as its limit"

    def _list_values(self, kind: str, values: Sequence[str] | None = None) -> Lines:
        """All values: none is left for `other`."""
        return ("type", kind, MARK), ("values", sorted(self.present) if values is None else list(values), MARK)

    def _many(self) -> Lines:
        """Texts of more values than pairs can show: codes by their beginnings, names as a list, else free text."""
        repeated = len(self.present) <= self.present.total() / _REPEATED
        codes = all(len(cell) <= _LONGEST_CODE and not any(map(str.isspace, cell)) for cell in self.present)
        if repeated and codes and len(self.present) <= MOST_VALUES:
            prefix = group_length(tuple(self.present))
            if prefix is not None:
                return (*self._list_values("hierarchy"), ("prefix", prefix, f"characters that say the group; {MARK}"))
        if repeated and len(self.present) < MOST_ATOMS:
            return self._list_values("category")
        longest = max(len(cell) for cell in self.present)
        told = f"{MARK} Of free text nothing is released: each becomes __other__"
        return ("type", "string", told), ("max_length", int(outward(0, longest)[1]), MARK)

    def _bounds(self, numerals: Numerals) -> Lines:
        rows: Counter[float] = Counter()
        for cell, count in self.present.items():
            number = _number(cell, numerals)
            if number is not None and abs(number) < LARGEST_INTEGER:
                rows[number] += count
        return _Numbers(rows=rows or Counter((0.0, 1.0))).lines()

    def _dates(self, form: str) -> Lines:
        texts = [((form and DateFormat(form).iso(cell)) or cell).encode() for cell in self.present]
        read = {text: ticks for text in texts if (ticks := parse_instant(text)) is not None}
        days = [datetime.date(1970, 1, 1) + datetime.timedelta(microseconds=ticks) for ticks in read.values()]
        first, last = whole_years(min(days), max(days))
        if not any(ticks % (86_400 * 10**6) for ticks in read.values()):
            return ("type", "date", MARK), ("min", first, MARK), ("max", last, MARK)
        zone = "Z" if all(map(has_zone, read)) else ""
        ends = f"{first}T00:00:00{zone}", f"{last}T23:59:59{zone}"
        moments = [datetime.datetime.fromisoformat(text) for text in ends]
        bounds: Lines = (("type", "datetime", MARK), ("min", moments[0], MARK), ("max", moments[1], MARK))
        step = _clock_step(math.gcd(*read.values()))
        return (*bounds, ("resolution", step, f"seconds; {MARK}")) if step != 1 else bounds


def _number(cell: str, numerals: Numerals) -> float | None:
    number = parse_number((cell if numerals.usual else numerals.plain_text(cell) or "").encode())
    return None if math.isnan(number) else number


@final
@dataclass(frozen=True, kw_only=True)
class _Numbers:
    """The distinct numbers of a column, and how many rows have each. Private.

    What nearly all rows keep to, digits, a list or a step, is proposed, and the line says how many do not: a few
    imputed means among whole numbers hide neither. Rows with the most frequent number don't count, since a column that
    is 0 for most is about the others.
    """

    rows: Counter[float]

    @cached_property
    def values(self) -> Floats:
        return np.array([*self.rows], dtype=np.float64)

    @cached_property
    def counts(self) -> Floats:
        return np.array([*self.rows.values()], dtype=np.float64)

    @property
    def _most_others(self) -> float:
        """Rows that may not keep to what is proposed."""
        return _MOST_OTHERS * (self.rows.total() - max(self.rows.values()))

    def lines(self) -> Lines:
        """Type, and either a list or bounds and how far values are apart."""
        decimals, rounded = self.digits()
        step, off = (1, 0) if decimals is None else self._step(decimals)
        size = _tidy(step * 10.0 ** -(decimals or 0))
        listed = self._few(decimals, step, off)
        if listed is not None:
            return listed
        low, high = outward(min(self.rows), max(self.rows))
        if step > 1:
            base = self._usual
            low, high = (
                _tidy(base + whole((end - base) / size) * size) for whole, end in ((math.floor, low), (math.ceil, high))
            )
        low, high = max(low, -LARGEST_INTEGER), min(high, LARGEST_INTEGER)
        told = self._mark_of(max(rounded, off))
        if self.whole:
            bounds: Lines = (("type", "integer", MARK), ("min", math.floor(low), MARK), ("max", math.ceil(high), MARK))
            return (*bounds, ("resolution", step, told)) if step > 1 else bounds
        bounds = (("type", "number", MARK), ("min", low, MARK), ("max", high, MARK))
        if decimals is None or not _can_be(min=low, max=high, decimals=decimals):
            return bounds
        return (*bounds, ("resolution", size, told) if step > 1 else ("decimals", decimals, told))

    @property
    def _usual(self) -> float:
        return max(self.rows, key=self.rows.__getitem__)

    @property
    def whole(self) -> bool:
        return all(number.is_integer() for number in self.rows)

    @staticmethod
    def _mark_of(others: int) -> str:
        told = "1 row has another, which counts" if others == 1 else f"{others:,} rows have others, which count"
        return f"{MARK} {told} as the nearest" if others else MARK

    def digits(self) -> tuple[int | None, int]:
        """How many decimals were written, before floats of eight or four bytes left their dust, and rows with more.

        >>> _Numbers(rows=Counter([6.904679999999999, 11.5078])).digits()
        (5, 0)
        >>> _Numbers(rows=Counter(np.array([1.1, 0.25, 7.125, 44.45], dtype="f4").tolist())).digits()
        (3, 0)
        >>> _Numbers(rows=Counter({1.0: 400, 2.0: 300, 3.0: 250, 4.0: 200, 6.5: 200, 2.1163865: 1})).digits()
        (1, 1)
        """
        if self.whole:
            return 0, 0
        for most, dust, decimals in itertools.product(
            (0.0, self._most_others), (2.0**-51, 2.0**-24), range(_MOST_WRITTEN + 1)
        ):
            slack = dust * np.abs(self.values)
            off = np.abs(np.round(self.values, decimals) - self.values) > slack
            by_chance = np.minimum(1.0, 2.0 * slack * 10.0**decimals)[~off & (slack > 0.0)]  # that nobody rounded
            if self.counts[off].sum() <= most and np.log(by_chance).sum() < math.log(SPURIOUS) * (1.0 + off.sum()):
                return decimals, int(self.counts[off].sum())
        return None, 0

    def _few(self, decimals: int | None, step: int, off: int) -> Lines | None:
        """The numbers that nearly all rows share, where these are few and far between, as of a scale; else None.

        `off` is how many rows a step of so many last digits would not hold; a list that holds more is better.
        """
        rows: Counter[float] = Counter()
        for number, count in self.rows.items():
            rows[_tidy(number) if decimals is None else round(number, decimals)] += count
        listed = sorted(number for number, count in rows.items() if count >= _SHARED)
        others = rows.total() - sum(rows[number] for number in listed)
        if not 1 < len(listed) <= MOST_CELLS or others > self._most_others:
            return None
        if decimals is not None:
            size = (step if off <= others else 1) * 10.0**-decimals
            if len(listed) * _APART > (listed[-1] - listed[0]) / size:
                return None
        if self.whole:
            return ("type", "integer", MARK), ("values", [int(number) for number in listed], self._mark_of(others))
        if not _can_be(min=listed[0], max=listed[-1], values=tuple(listed)):
            return None
        return ("type", "number", MARK), ("values", listed, self._mark_of(others))

    def _step(self, decimals: int) -> tuple[int, int]:
        """The largest round number of last digits that nearly all are apart, and rows that are not; else 1.

        Only where few numbers are legal then: a release finds coarse grids of many by itself.
        """
        ticks = np.rint((self.values - self._usual) * 10.0**decimals)
        for power, first in itertools.product(range(_MOST_POWER, -1, -1), (100, 50, 25, 20)):  # …, 10, 5, 2.5, 2
            step = first * 10**power / 10
            off = np.mod(ticks, step) != 0
            if (
                step.is_integer()
                and self.counts[off].sum() <= self._most_others
                and _FEWEST_ORDERED * step <= np.ptp(ticks) <= MOST_CELLS * step
                and _ways(off) - np.sum(~off & (ticks != 0)) * math.log(step) < math.log(SPURIOUS)
            ):
                return int(step), int(self.counts[off].sum())
        return 1, 0


def _ways(off: NDArray[np.bool_]) -> float:
    """The logarithm of how many ways there are to take as many out of all."""
    count, some = len(off), int(off.sum())
    return math.lgamma(count + 1) - math.lgamma(some + 1) - math.lgamma(count - some + 1)


def _can_be(**declared: Any) -> bool:
    """Whether float64 tells the declared numbers apart."""
    try:
        Number(name="it", **declared)
    except SchemaError:
        return False
    return True


def _is_null(cell: str, *, text: bool = False) -> bool:
    """Whether a cell says that there is no value; of texts, only what is hardly ever an answer."""
    return cell.strip().lower() in (NULL_SPELLINGS - ANSWERS if text else NULL_SPELLINGS)


def _numerals(looks: list[_Look], written: Written) -> Numerals:
    """The way of writing that makes numbers of the most columns; the ordinary one where no other does better.

    With the marks that stand around these numbers, as far as they make numbers of further columns. What the owner has
    said of it stays.
    """
    allowed = [
        way
        for way in (_ORDINARY, *LOCAL_NUMERALS)
        if written.decimal in (None, way.decimal) and written.thousands in (None, way.thousands)
    ] or [replace(written.numerals, marks=())]

    def best(marks: tuple[str, ...]) -> Numerals:
        ways = (replace(way, marks=marks) for way in allowed)
        return max(ways, key=lambda local: sum(look.numeric(local) for look in looks))

    plain = best(written.marks or ())
    if written.marks is not None:
        return plain
    marked = [look for look in looks if not look.numeric(plain) and look.marks]
    if not marked:
        return plain
    found = best(tuple(mark for mark in MARKS if any(mark in look.marks for look in marked)))
    read = [look for look in marked if look.numeric(found)]
    return replace(found, marks=tuple(mark for mark in found.marks if any(mark in look.marks for look in read)))


_CONTROLS = bytes(range(0x80, 0xA0))  # letters in cp1252, and control characters that nobody writes in latin-1


def likely_encoding(file: CsvFile) -> str | None:
    """None for a file in UTF-8; else the western encoding in which its bytes are letters."""
    decoder, utf8, controls = codecs.getincrementaldecoder("utf-8")(), True, False
    for piece in itertools.chain(file.raw(), (b"",)):
        if piece and piece.isascii() and not decoder.getstate()[0]:
            continue
        controls = controls or any(byte in piece for byte in _CONTROLS)
        try:
            decoder.decode(piece, final=not piece)
        except UnicodeDecodeError:
            utf8 = False
            decoder.reset()
    return None if utf8 else "cp1252" if controls else "latin-1"


def _with_encoding(data: Any, query: str | None, written: Written) -> Written:
    source = open_source(data, query=query, csv=CsvFormat.of(written))
    found = likely_encoding(source) if isinstance(source, CsvFile) and written.encoding is None else None
    return written if found is None else replace(written, encoding=found)


_SCALES = tuple(  # convention: answers that have an order, the lowest first
    tuple(scale.split(", "))
    for scale in (
        "strongly disagree, disagree, somewhat disagree, neutral, neither, neither agree nor disagree, somewhat agree, "
        "agree, strongly agree",
        "very dissatisfied, dissatisfied, neutral, satisfied, very satisfied",
        "never, rarely, seldom, sometimes, occasionally, often, usually, very often, always",
        "very poor, poor, bad, fair, average, good, very good, excellent",
        "none, minimal, mild, moderate, severe, very severe",
        "none, very low, low, medium, moderate, high, very high",
        "not at all, a little, slightly, somewhat, moderately, quite a bit, very, very much, extremely",
        "monday, tuesday, wednesday, thursday, friday, saturday, sunday",
        "january, february, march, april, may, june, july, august, september, october, november, december",
    )
)
_RANGE = re.compile(r"[<>≤≥]?\s*(\d+)\s*(?:(?:-|–|to|bis)\s*\d+|\+|and (?:over|more|older)|or more)?")


def in_order(values: Sequence[str]) -> tuple[str, ...] | None:
    """Values that have an order in everybody's mind, the lowest first: answers, days, ranges; None for all others.

    >>> in_order(["Agree", "Neither", "Disagree"]), in_order(["55+", "18-24", "25-54"]), in_order(["red", "blue"])
    (('Disagree', 'Neither', 'Agree'), ('18-24', '25-54', '55+'), None)
    """
    if len(values) < _FEWEST_ORDERED:
        return None
    for scale in _SCALES:
        if all(value.strip().lower() in scale for value in values):
            return tuple(sorted(values, key=lambda value: scale.index(value.strip().lower())))
    ranges = [_RANGE.fullmatch(value.strip()) for value in values]
    starts = [(int(found[1]), value[0] not in "<≤") for found, value in zip(ranges, values, strict=True) if found]
    if len(set(starts)) < len(values) or all(map(str.isdigit, values)):  # codes have no order
        return None
    return tuple(value for _, value in sorted(zip(starts, values, strict=True)))


def group_length(codes: Sequence[str]) -> int | None:
    """How many characters of codes say their group: as many as make no more than 64 groups; None where none parts them.

    >>> group_length([f"{letter}{number:02d}" for letter in "EI" for number in range(100)])
    2
    """
    lengths = range(1, max(map(len, codes)))
    groups = {length: len({code[:length] for code in codes}) for length in lengths}
    parting = [length for length in lengths if 1 < groups[length] < len(codes)]
    return max((length for length in parting if groups[length] <= _MOST_GROUPS), default=min(parting, default=None))


def _detect_spellings(
    written: Written, looks: list[_Look], kept: list[_Look], numerals: Numerals, *, nulls: bool
) -> Written:
    """With the spellings of NULL, numbers and dates that are in the rows, where the owner has not said otherwise."""
    kept_words = {cell for look in looks for cell in look.present}
    spelt = sorted({cell for look in looks for cell in look.cells if cell and _is_null(cell)} - kept_words)
    texts = [look for look in kept if not look.numeric(numerals)]
    dates = sorted({form for look in texts if (form := look.form())})
    return replace(
        written,
        nulls=written.nulls or (tuple(spelt) if nulls else None),
        decimal=written.decimal or (None if numerals.decimal == "." else numerals.decimal),
        thousands=written.thousands or numerals.thousands,
        marks=written.marks or numerals.marks,
        dates=written.dates or tuple(dates),
    )
