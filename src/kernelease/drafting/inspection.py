"""The private look itself: one pass over the rows and one over the bytes of a CSV file; persons and constraints."""

import codecs
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, final

import numpy as np
import pyarrow as pa

from kernelease.arguments import SchemaLike, declared_of
from kernelease.arrays import Integers
from kernelease.drafting.findings import Finding, Level, Report, rough_share, share
from kernelease.drafting.relations import LOOKED_AT, Rules, find_relations
from kernelease.drafting.tally import Tally, column_findings, date_format, local_numerals
from kernelease.errors import in_words
from kernelease.relational.schema import TableOfRecords, Tables
from kernelease.sources.csv_file import CellParser, CsvFile, Place, looks_regular, record_ends
from kernelease.sources.opening import open_declared
from kernelease.sources.private_rows import given_tables, open_table
from kernelease.sources.source import DeclaredSource, ManyFiles, Source, check_columns
from kernelease.table.reading import (
    MOST_ROWS_PER_UNIT,
    identities,
    parse_instant,
    parse_number,
)
from kernelease.table.schema import Schema
from kernelease.table.toml import toml_key, toml_value
from kernelease.table.written import Records, canonical_encoding

# --------------------
# What a private look says about a CSV file: its encoding, its quotes, its records.


_CONTROLS = bytes(range(0x80, 0xA0))  # letters in cp1252, and control characters that nobody writes in latin-1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Records:
    """Counts of a file's records. All private."""

    all: int = 0
    ragged: int = 0
    swallowing: int = 0  # those that hold lines with as many cells as a record has: a quote takes these in
    swallowed: int = 0  # such lines
    unclosed: int = 0
    several_lines: int = 0
    shortened: int = 0


def file_findings(file: CsvFile) -> Iterator[Finding]:
    """What is wrong with a file before any cell is looked at."""
    found, open_end = _counted(file), _left_open(file)
    yield from _encoding(file)
    if found.all == 0:
        yield Finding(
            level=Level.DAMAGE,
            where=file.describe(),
            words="the file has no records but its first line",
            remedy="give the file with the rows; or, if its first line is one, [source] names = [...]",
            gist="the file has no records but its first line",
        )
    if open_end is not None:
        yield Finding(
            level=Level.DAMAGE,
            where=file.describe(),
            words=f"a quote that is never closed takes the {open_end:,} lines after it into one record",
            remedy='close it in the source; or [source] quote = "" for none',
            gist="a quote is never closed: the lines after it are lost in one record",
        )
    damaged = (
        (
            found.ragged,
            0,
            "have more or fewer cells than the header",
            "look at the separator and at quotes in these lines",
        ),
        (
            found.unclosed,
            0,
            "have a quote that is never closed",
            'close it in the source; or [source] quote = "" for none',
        ),
        (
            0 if open_end is not None else found.swallowing,
            found.swallowed,
            "take in the lines after them, by a quote that is closed too late",
            'close it in the source; or [source] quote = "" for none',
        ),
        (found.shortened, 0, "are longer than a record may be, and are cut", "look for a quote that is never closed"),
    )
    for count, lost, words, remedy in damaged:
        if count:
            level = Level.of_share((count + lost) / (found.all + lost))
            yield Finding(
                level=level,
                where=file.describe(),
                words=f"{share(count, found.all)} records {words}",
                remedy=remedy,
                gist=f"{rough_share(count, found.all)} records {words}",
            )
    if found.several_lines:
        yield Finding(
            level=Level.NOTE,
            where=file.describe(),
            words=f"{share(found.several_lines, found.all)} records go over several lines",
            remedy='nothing, if cells hold newlines; else [source] records = "lines" makes each line a record',
        )


def _counted(file: CsvFile) -> _Records:
    parser, longest = file.parser, file.format.longest_record
    total = ragged = swallowing = swallowed = unclosed = lines = shortened = 0
    for block in file.blocks():
        total += len(block.ends)
        regular = looks_regular(block, parser.width, parser.separator, parser.quote)
        several = block.text.count(b"\n") > len(block.ends)
        for record in block.records() if several else block.where(~regular).records():
            ragged += sum(1 for _ in parser.fields(record)) != parser.width
            taken_in = _lines_like_records(record, parser)
            swallowing += taken_in > 0
            swallowed += taken_in
            unclosed += record_ends(record, Place.START, parser.separator, parser.quote)[1] is Place.QUOTED
            lines += b"\n" in record
            shortened += len(record) >= longest
    return _Records(
        all=total,
        ragged=ragged,
        swallowing=swallowing,
        swallowed=swallowed,
        unclosed=unclosed,
        several_lines=lines,
        shortened=shortened,
    )


def _lines_like_records(record: bytes, parser: CellParser) -> int:
    """The lines of a record, after its first, that have as many separators as a record of the table."""
    if parser.width < 2 or b"\n" not in record:
        return 0
    separator = parser.separator.encode()
    return sum(line.count(separator) == parser.width - 1 for line in record.split(b"\n")[1:])


def _left_open(file: CsvFile) -> int | None:
    """The lines after a quote that is open where the file ends, which are one record then; None where none is."""
    if file.records() is not Records.QUOTED:
        return None
    place, lines, parser = Place.START, 0, file.parser
    for piece in file.raw():
        ends, place = record_ends(piece, place, parser.separator, parser.quote)
        lines = piece[int(ends[-1]) :].count(b"\n") if len(ends) else lines + piece.count(b"\n")
    return max(0, lines - 1) if place is Place.QUOTED else None


def _encoding(file: CsvFile) -> Iterator[Finding]:
    declared, likely = canonical_encoding(file.format.encoding), likely_encoding(file)
    if declared == "utf-8" and likely is not None:
        yield Finding(
            level=Level.DAMAGE,
            where=file.describe(),
            words="the file is not in UTF-8: letters outside ASCII are lost",
            remedy=f'[source] encoding = "{likely}", or --encoding {likely}',
            gist=f"it is not in UTF-8: give --encoding {likely}",
        )
    elif declared != "utf-8" and likely is None and not all(piece.isascii() for piece in file.raw()):
        yield Finding(
            level=Level.DAMAGE,
            where=file.describe(),
            words=f"the file is in UTF-8, and is read as {file.format.encoding}: each other letter becomes two",
            remedy='[source] encoding = "utf-8", or no encoding at all',
            gist=f"it is in UTF-8, and is read as {file.format.encoding}",
        )


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


# --------------------
# What a private look says about persons with several rows: those that are declared, and those that seem to be there.
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

_WORDS = "person|persons|patient|subject|respondent|participant|individual|member|customer|client|user|employee|student"
_NAMED = re.compile(
    rf"(.*[_\-. ])?(id|ids|uid|pid|uuid|guid|ssn)|id[_\-. ].*|({_WORDS})[_\-. ]?(id|nr|no|num|number|code|key)?"
)
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
        """The number of persons."""
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
    if several > _MOST_ROWS or (values < _FEWEST and not column.named):
        return None
    others = [other for other in columns if other is not column]
    same = tuple(other.name for other in others if other.stays_within(column))
    if not column.named and not (same and _come_as_persons(column, others)):
        return None
    most = min(MOST_ROWS_PER_UNIT, max(2, int(np.quantile(column.counts, _COVERED, method="higher"))))
    return Identifier(name=column.name, values=values, most=most, named=column.named, same=same)


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


# --------------------
# The look itself.


MOST_LOOKED_AT = 2**20  # rows whose cells a release looks at by itself: damage of a format shows in fewer


@in_words
def check(data: Any, schema: SchemaLike, *, query: str | None = None, delta: float | None = None) -> Report:
    r"""What a release would make of the rows of a table, cell by cell, before any budget is spent.

    **Private**: the report may quote cells and exact counts. It is for the owner, who may look at the table anyway; it
    is no part of a release, and nothing in a release depends on it. What can be learned from the fact that somebody
    looked, and then published, docs/security.md says.

    `schema` may be the path of a schema file. Of several tables each is looked at, and how their keys meet: those that
    are missing, twice or nobody's. With `delta`, it is compared with 1/N.

    >>> import pyarrow as pa
    >>> ages = pa.table({"age": ["17", "n/a", "300"]})
    >>> report = check(ages, Schema.parse('[columns.age]\ntype = "integer"\nmin = 0\nmax = 120'))
    >>> report.level.name, [finding.words for finding in report.findings][0]
    ('DAMAGE', "1 of 3 (33.3 %) cells can't be read as numbers, they become 0: 'n/a' once")
    """
    declared = declared_of(schema)
    if isinstance(declared, Tables):
        return _check_tables(data, declared, delta)
    return _check_table(open_declared(data, declared, query=query), declared, delta)


def _check_table(source: Source, schema: Schema, delta: float | None) -> Report:
    check_columns(source, schema)
    found = [*_of_files(source), *_of_names(source, schema)]
    tallies = {column.name: Tally(column=column) for column in schema}
    rules = Rules(schema=schema)
    persons = None if schema.unit is None else Persons(unit=schema.unit, cap=schema.max_rows_per_unit or 1)
    for batch in source.batches([*schema.names, *([schema.unit] if schema.unit else [])]):
        rules.add(batch)
        for name, tally in tallies.items():
            tally.add(batch.column(name))
        if persons is not None:
            persons.add(batch.column(persons.unit))
    for tally in tallies.values():
        found += column_findings(tally)
    found += rules.findings()
    found += _of_identifiers(source, schema) if persons is None else persons.findings()
    found += [one.finding() for one in find_relations(source.batches(schema.names), schema)]
    found += _of_delta(delta, rules.rows if persons is None else persons.number)
    return Report(
        source=source.describe(),
        rows=rules.rows,
        findings=tuple(sorted(found, key=lambda item: -item.level)),
        persons=None if persons is None else persons.number,
    )


# --------------------
# Several tables: each of them, and how their keys meet.


def _check_tables(data: Any, tables: Tables, delta: float | None) -> Report:
    given = given_tables(data, tables)
    known: dict[str, Counter[bytes | None]] = {}
    found, rows = [], 0
    for table in tables.tables:
        source = open_table(given[table.name], table, as_text=True)
        keys = {key for key in (*table.keys, table.foreign_key) if key is not None}
        report = _check_table(source, table.schema, delta if table.parent is None else None)
        found += [replace(one, where=f"{table.name}.{one.where}") for one in report.findings if one.where not in keys]
        rows += report.rows
        found += _of_keys(source, table, known)
    return Report(
        source=f"tables {', '.join(tables.names)}",
        rows=rows,
        findings=tuple(sorted(found, key=lambda item: -item.level)),
        persons=len(known[tables.root.name]) - (None in known[tables.root.name]),
    )


def _of_keys(source: Source, table: TableOfRecords, known: dict[str, Counter[bytes | None]]) -> Iterator[Finding]:
    """Keys that are missing or twice, records of nobody, and those beyond the cap."""
    counts = {key: Persons(unit=key, cap=table.max_rows or 1) for key in (table.key, table.foreign_key) if key}
    for batch in source.batches([*counts]):
        for key, persons in counts.items():
            persons.add(batch.column(key))
    if table.key is not None:
        own = known[table.name] = counts[table.key].rows
        twice = sum(count - 1 for key, count in own.items() if key is not None and count > 1)
        first = "of several rows with a key the first is the person's, by a hash of their content"
        every = "records that refer to such a key belong to each of its rows"
        yield from _lost(
            table, table.key, own[None], own, "rows have no key: nobody is behind them, and none refers to them"
        )
        yield from _lost(
            table, table.key, twice, own, f"rows have a key that another has: {every if table.parent else first}"
        )
    if table.foreign_key is not None:
        refers, parents = counts[table.foreign_key].rows, known[str(table.parent)]
        dangling = sum(count for key, count in refers.items() if key is not None and key not in parents)
        beyond = sum(max(0, count - (table.max_rows or 0)) for key, count in refers.items() if key is not None)
        yield from _lost(table, table.foreign_key, refers[None], refers, "rows name no parent, and are left out")
        yield from _lost(
            table,
            table.foreign_key,
            dangling,
            refers,
            f"rows name a row of {table.parent} that is not there, and are left out",
        )
        yield from _lost(
            table, table.foreign_key, beyond, refers, f"rows are beyond max_rows = {table.max_rows}, and are left out"
        )


def _lost(table: TableOfRecords, key: str, count: int, among: Counter[bytes | None], words: str) -> Iterator[Finding]:
    if count:
        yield Finding(
            level=Level.of_share(count / among.total()),
            where=f"{table.name}.{key}",
            words=f"{share(count, among.total())} {words}",
            remedy="correct the keys in the source, or raise max_rows where rows are beyond it; else it is as said",
        )


def format_damage(data: Any, schema: Schema, *, query: str | None = None) -> tuple[Finding, ...]:
    """What is wrong with the format of a source: the part of `check` that `kernelease release` does by itself.

    Of a CSV file that is its encoding, its quotes and its records, all of them; of any source the first cells of each
    column, a million rows at most: whether they can be read as declared, and are there. **Private**, as `check` is:
    what it finds decides whether the owner goes on, and nothing else. Bounds, rules and persons are left to `check`.
    """
    source = open_declared(data, schema, query=query)
    check_columns(source, schema)
    found, tallies = list(_of_files(source)), {column.name: Tally(column=column) for column in schema}
    rows = 0
    for batch in source.batches(schema.names):
        rows += batch.num_rows
        for name, tally in tallies.items():
            tally.add(batch.column(name))
        if rows >= MOST_LOOKED_AT:
            break
    found += [finding for tally in tallies.values() for finding in column_findings(tally)]
    return tuple(finding for finding in found if finding.gist and finding.level is Level.DAMAGE)


def _of_identifiers(source: Source, schema: Schema) -> Iterator[Finding]:
    """Columns that seem to identify somebody, where no unit is declared; of single rows only if they are released."""
    for found in find_identifiers(source):
        if found.persons or found.name in schema.names:
            yield found.finding(declared=found.name in schema.names)


def _of_files(source: Source) -> Iterator[Finding]:
    inner = source.inner if isinstance(source, DeclaredSource) else source
    for part in inner.parts if isinstance(inner, ManyFiles) else (inner,):
        if isinstance(part, CsvFile):
            yield from file_findings(part)


def _of_names(source: Source, schema: Schema) -> Iterator[Finding]:
    extra = [name for name in source.names() if name not in (*schema.order, schema.unit)]
    if extra:
        yield Finding(
            level=Level.NOTE,
            where="columns",
            words=f"not in the schema, so not released: {', '.join(extra)}",
            remedy="nothing, if that is meant; else declare them",
        )


def _of_delta(delta: float | None, persons: int) -> Iterator[Finding]:
    if delta is not None and persons and delta * persons >= 1.0:
        yield Finding(
            level=Level.DAMAGE,
            where="delta",
            words=f"delta = {delta:g} is not below 1/{persons:,}: it would allow to publish a whole row of somebody",
            remedy=f"--delta {0.01 / persons:.0e} or less",
        )
