"""What a private look says about a column's cells, and the counts behind it."""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.drafting.findings import Finding, Level, examples, rough_share, share, short
from kernelease.errors import closest
from kernelease.table.columns.column import Celled, Column, Stepped
from kernelease.table.columns.listed import Boolean, Listed, String
from kernelease.table.columns.numeric import Integer, Number
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.reading import (
    DAY,
    FORMATS,
    MICROSECOND,
    DateFormat,
    Numerals,
    is_text,
    parse_number,
    read_instants,
    read_numbers,
)
from kernelease.table.toml import toml_value

# --------------------
# Counting what becomes of the cells of one column.


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
        """Some more cells."""
        plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        present = self._present(plain)
        self.rows += len(plain)
        self.missing += int((~present).sum())
        strange = present & self._strange(plain, present)
        self.strange += int(strange.sum())
        self._remember(plain.filter(pa.array(strange)))
        if is_text(plain.type):
            self.mangled += int(pc.sum(pc.match_substring(plain.cast(pa.large_string()), _REPLACEMENT)).as_py() or 0)

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
            self._bounded(ticks, present & ~bad, column.low, column.high)
            return bad
        if isinstance(column, Listed):
            return self._undeclared(array, column)
        if isinstance(column, Boolean):
            unsure = dataclasses.replace(column, nullable=True, default=None)
            return np.asarray(unsure.encode(array) == unsure.missing)
        return np.zeros(len(array), dtype=bool)

    def _numbers(self, numbers: NDArray[np.float64], present: Flags, low: float, high: float) -> Flags:
        bad = np.isnan(numbers)
        self._bounded(numbers, present & ~bad, low, high)
        if isinstance(self.column, Integer):
            finite = numbers[present & np.isfinite(numbers)]
            self.fractions += int((finite != np.floor(finite)).sum())
        return bad

    def _bounded(self, values: NDArray[Any], known: Flags, low: float, high: float) -> None:
        self.below += int((known & (values < low)).sum())
        self.above += int((known & (values > high)).sum())

    def _undeclared(self, array: pa.Array, column: Listed) -> Flags:
        if isinstance(column, String) and not column.values:  # free text has nothing that is not declared
            return np.zeros(len(array), dtype=bool)
        numbers = [value for value in column.vocabulary if isinstance(value, int)]
        bucket = column.other or (max(numbers) + 1 if numbers else True)
        probe = dataclasses.replace(column, nullable=True, default=None, other=bucket)
        return np.asarray(probe.encode(array) == len(column.vocabulary))

    def _remember(self, cells: pa.Array) -> None:
        for item in pc.value_counts(cells):
            cell = item["values"].as_py()
            text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
            if text in self.cells or len(self.cells) < _MOST_DISTINCT:
                self.cells[text] += item["counts"].as_py()


# --------------------
# Findings about one column, from these counts.


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
_MOST = 0.9  # of cells that can't be read: what reads so many of them is suggested


def column_findings(tally: Tally) -> Iterator[Finding]:
    """What the cells of a column become that the owner may not have meant."""
    if tally.strange and isinstance(tally.column, Listed):
        yield _undeclared(tally, tally.column)
    elif tally.strange:
        yield _unreadable(tally)
    yield from _clamped(tally)
    yield from _missing(tally)
    if tally.mangled:
        yield Finding(
            level=Level.of_share(tally.mangled / tally.rows),
            where=tally.column.name,
            words=f"{share(tally.mangled, tally.rows)} cells hold characters that were lost in decoding",
            remedy='[source] encoding = "latin-1", or the one that the file is written in',
            gist=f"characters were lost in decoding ({rough_share(tally.mangled, tally.rows)} cells)",
        )


def _unreadable(tally: Tally) -> Finding:
    column = tally.column
    kind = {"integer": "numbers", "number": "numbers", "boolean": "yes or no"}.get(column.tag, "dates")
    becomes = f"they become {column.labels()[column.unknown]}"
    return Finding(
        level=Level.of_share(tally.strange / tally.rows),
        where=column.name,
        words=f"{share(tally.strange, tally.rows)} cells can't be read as {kind}, {becomes}: {examples(tally.cells)}",
        remedy=_remedy(column, tally.cells),
        gist=f"can't be read as {kind} ({rough_share(tally.strange, tally.rows)} cells)",
    )


def _remedy(column: Column, cells: Counter[str]) -> str:
    """The line that makes most of these cells readable."""
    absent = [cell for cell in cells if cell.strip().lower() in NULL_SPELLINGS]
    present = Counter({cell: times for cell, times in cells.items() if cell not in absent})
    lines = []
    if present and isinstance(column, Date | Datetime) and (form := date_format(present)):
        lines.append(f'[source] dates = "{form}"')
    if present and isinstance(column, Integer | Number) and (local := local_numerals(present)):
        lines.append(f"[source] {_numerals_line(local)}")
    if absent:
        nullable = "" if column.nullable else f", and nullable = true in [columns.{column.name}]"
        lines.append(f"[source] nulls = {toml_value(sorted(absent))}{nullable}")
    return "; ".join(lines) or "correct them in the source, or declare the column as what it is"


def date_format(cells: Counter[str]) -> str | None:
    """The format that most of these cells are written in, if one reads nearly all of them.

    >>> date_format(Counter({"31/12/2024": 3, "01/02/2024": 5, "soon": 0}))
    '%d/%m/%Y'
    """
    total = cells.total()
    for text in FORMATS:
        form = DateFormat(text)
        if sum(times for cell, times in cells.items() if form.iso(cell) is not None) >= _MOST * max(total, 1):
            return text
    return None


def local_numerals(cells: Counter[str]) -> Numerals | None:
    """How most of these cells write numbers, if nearly all of them are numbers so written."""
    for local in LOCAL_NUMERALS:
        if any(starts_with_nothing(cell, local) for cell in cells):
            continue
        read = [(local.said(cell), times) for cell, times in cells.items()]
        known = sum(
            times for said, times in read if (number := parse_number((said or "").encode())) == number
        )  # no NaN
        if known >= _MOST * max(cells.total(), 1):
            return local
    return None


def starts_with_nothing(cell: str, local: Numerals) -> bool:
    """Whether a cell is a fraction, and its sign no sign of thousands: 0,125.

    >>> starts_with_nothing("0,125", Numerals(thousands=",")), starts_with_nothing("0,125", Numerals(decimal=","))
    (True, False)
    """
    return local.thousands is not None and cell.strip().lstrip("+-").startswith(f"0{local.thousands}")


def _numerals_line(local: Numerals) -> str:
    decimal = [f'decimal = "{local.decimal}"'] if local.decimal != "." else []
    return " and ".join([*decimal, *([f'thousands = "{local.thousands}"'] if local.thousands else [])])


def _undeclared(tally: Tally, column: Listed) -> Finding:
    known = [str(value) for value in column.vocabulary]
    most = sorted(tally.cells.items(), key=lambda item: (-item[1], item[0]))
    told = [f"{short(cell)!r} {times:,} times{_nearest(cell, known)}" for cell, times in most[:5]]
    more = f", and {len(most) - 5:,} others" if len(most) > 5 else ""
    bucket = column.other_label is not None
    part = tally.strange / tally.rows
    return Finding(
        level=Level.NOTE if bucket and part < _HALF else Level.of_share(part),
        where=column.name,
        words=f"{share(tally.strange, tally.rows)} cells are not among the declared values, "
        f"they become {column.labels()[column.unknown]}: {', '.join(told)}{more}",
        remedy=_listing(column, [cell for cell, _ in most], known),
        gist=f"not among the declared values ({rough_share(tally.strange, tally.rows)} cells)",
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


def _clamped(tally: Tally) -> Iterator[Finding]:
    column = tally.column
    if not isinstance(column, Celled):
        return
    low, high = column.labels()[0], column.labels()[column.cell_count - 1]
    for count, key, side, label in ((tally.below, "min", "below", low), (tally.above, "max", "above", high)):
        if count:
            part = count / tally.rows
            yield Finding(
                level=Level.DAMAGE if part >= _CLAMPED else Level.NOTE,
                where=column.name,
                words=f"{share(count, tally.rows)} cells are {side} {key} = {getattr(column, key)}: they are {label}",
                remedy=f"a {'lower' if key == 'min' else 'higher'} {key}, if public knowledge allows it",
            )
    if tally.fractions:
        yield Finding(
            level=Level.of_share(tally.fractions / tally.rows),
            where=column.name,
            words=f"{share(tally.fractions, tally.rows)} cells have decimals, which are cut off",
            remedy='type = "number"',
        )


_CLAMPED = 0.01  # convention: fewer cells beyond a bound are what a bound is for


def _missing(tally: Tally) -> Iterator[Finding]:
    column = tally.column
    if not tally.missing or column.nullable:
        return
    yield Finding(
        level=Level.of_share(tally.missing / tally.rows),
        where=column.name,
        words=f"{share(tally.missing, tally.rows)} cells are missing, and the column is declared without NULL: "
        f"they become {column.labels()[column.missing]}",
        remedy=f"nullable = true in [columns.{column.name}]",
        gist=f"missing, and declared without NULL ({rough_share(tally.missing, tally.rows)} cells)",
    )
