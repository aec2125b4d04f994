"""One CSV file as a source, written as it is declared: bytes to whole records, records to columns of strings."""

import codecs
import functools
import gzip
import re
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto, unique
from functools import partial
from io import BufferedIOBase
from itertools import islice
from pathlib import Path
from typing import Final, Protocol, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from kernelease.arrays import Integers
from kernelease.errors import ParameterError, SourceError
from kernelease.sources.source import FileSource, FileStamp, Piece
from kernelease.table.written import Records, Written, cell_problems

# ---- Some records of a CSV file, as they stand in it.


Flags: TypeAlias = NDArray[np.bool_]


@final
@dataclass(frozen=True, slots=True)
class Block:
    """Whole records in UTF-8, each with the newline that ends it. `ends[i]` is the position after record i."""

    text: bytes
    ends: Integers

    @property
    def last(self) -> bytes:
        return self.text[int(self.ends[-2]) if len(self.ends) > 1 else 0 :]

    def records(self) -> Iterator[bytes]:
        """The records without the newline, or carriage return and newline, that ends them."""
        start = 0
        for end in self.ends.tolist():
            yield self.text[start : end - 1].removesuffix(b"\r")
            start = end

    def without_first(self) -> "Block":
        cut = int(self.ends[0])
        return Block(self.text[cut:], self.ends[1:] - cut)

    def where(self, chosen: Flags) -> "Block":
        lengths = np.diff(self.ends, prepend=0)
        text = np.frombuffer(self.text, dtype=np.uint8)[np.repeat(chosen, lengths)]
        return Block(text.tobytes(), lengths[chosen].cumsum())

    def halves(self) -> tuple["Block", "Block"]:
        """The first and the second half of the records."""
        middle = len(self.ends) // 2
        cut = int(self.ends[middle - 1])
        return Block(self.text[:cut], self.ends[:middle]), Block(self.text[cut:], self.ends[middle:] - cut)


def line_ends(text: bytes) -> Integers:
    r"""The position after each newline.

    >>> line_ends(b'a,"b\nc"\nd').tolist()
    [5, 8]
    """
    return np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")) + 1


# ---- Which quotes of a CSV text mean something, and so which newlines end a record.


@unique
class Place(Enum):
    """Where in a record one stands: all that has to be known of what came before.

    At the `START` of a field, `WITHIN` one that is not quoted (any more), in `QUOTED` text, or just after a quote that
    may have `CLOSED` it, unless another one follows. The automaton of these four reads any bytes whatever:

    | at | quote | separator | newline | other |
    | --- | --- | --- | --- | --- |
    | START, CLOSED | QUOTED | START | START, a record ends | WITHIN |
    | WITHIN | WITHIN | START | START, a record ends | WITHIN |
    | QUOTED | CLOSED | QUOTED | QUOTED | QUOTED |
    """

    START = auto()
    WITHIN = auto()
    QUOTED = auto()
    CLOSED = auto()


_LETTER_BEFORE: Final = {Place.START: ord("\n"), Place.WITHIN: 0, Place.QUOTED: 0}


def record_ends(text: bytes, place: Place, separator: str, quote: str = '"') -> tuple[Integers, Place]:
    r"""The position after each newline that ends a record, and where the text leaves off.

    Text may be cut anywhere: what follows goes on from the place. Where `quote` is empty, nothing is quoted.

    >>> ends, place = record_ends(b'1,"a\nb"\n2,"c\n', Place.START, ",")
    >>> ends.tolist(), place.name
    ([8], 'QUOTED')
    """
    ends = line_ends(text)
    if not text or not quote or (place is not Place.QUOTED and quote.encode() not in text):
        return ends, _place_after(text, place, separator)
    quotes = _meaningful(text, place, separator, quote)
    opened = np.searchsorted(quotes, ends) + (place is Place.QUOTED)
    if (len(quotes) + (place is Place.QUOTED)) % 2:
        after = Place.QUOTED
    elif len(quotes) and quotes[-1] == len(text) - 1:
        after = Place.CLOSED
    else:
        after = _place_after(text, place, separator)
    return ends[opened % 2 == 0], after


def _place_after(text: bytes, place: Place, separator: str) -> Place:
    """The place after a text whose last byte is no quote that means something, outside quotes."""
    if not text:
        return place
    return Place.START if text.endswith((b"\n", separator.encode())) else Place.WITHIN


def _meaningful(text: bytes, place: Place, separator: str, quote: str) -> Integers:
    """The quotes that open or close a quoted text, in turn; a doubled one closes and opens again at once.

    A quote opens at the start of a field, or right after one that closes; elsewhere outside quotes it is a character
    like others. A well-formed file has none of those, which shows without looking at quotes one by one: if every second
    one stands at the start of a field or after another quote, then, from the first on, they open and close in turn.
    """
    letters = np.frombuffer(text, dtype=np.uint8)
    quotes = np.flatnonzero(letters == ord(quote))
    before = letters[quotes - 1]
    if len(quotes) and quotes[0] == 0:
        before[0] = ord(quote) if place is Place.CLOSED else _LETTER_BEFORE[place]
    opening = before[1 if place is Place.QUOTED else 0 :: 2]
    if ((opening == ord(separator)) | (opening == ord("\n")) | (opening == ord(quote))).all():
        return quotes
    return _one_by_one(quotes, (before == ord(separator)) | (before == ord("\n")), place)


def _one_by_one(quotes: Integers, starts: NDArray[np.bool_], place: Place) -> Integers:
    """The same for quotes of which some are characters. `starts`: whether each stands at the start of a field."""
    found, quoted, closed = [], place is Place.QUOTED, -1 if place is Place.CLOSED else -2
    for position, at_start in zip(quotes.tolist(), starts.tolist(), strict=True):
        if quoted:
            quoted, closed = False, position
        elif at_start or position == closed + 1:
            quoted = True
        else:
            continue
        found.append(position)
    return np.array(found, dtype=np.int64)


# ---- Cutting a stream of bytes into blocks of whole records, in bounded memory.


class Readable(Protocol):
    """What a file, plain or compressed, has to offer."""

    def read(self, size: int, /) -> bytes: ...


def decode_stream(stream: Readable, *, size: int, encoding: str) -> Iterator[bytes]:
    r"""The stream as UTF-8, in pieces of about `size` bytes that may be cut anywhere but within a character.

    Bytes that mean nothing in the encoding become U+FFFD. None of them is a quote, a separator or a newline, so that
    they stay in their cell.

    >>> import io
    >>> b"".join(decode_stream(io.BytesIO("é".encode() + b"\xff,1"), size=1, encoding="utf-8")).decode()
    'é\ufffd,1'
    """
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while piece := stream.read(size):
        waiting, _ = decoder.getstate()  # of a character that is not all there yet
        yield piece if piece.isascii() and not waiting else decoder.decode(piece).encode()
    yield decoder.decode(b"", final=True).encode()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RecordReader:
    """The rules that cut a text into records: where one ends, and how much of a long one is kept.

    Of a record with more than `longest` bytes the first `longest` are kept and the others dropped up to its end, so
    that it stays one record. The end of the text ends its last record. Where records end by their quotes, a quoted
    field that is left open by either is closed there.
    """

    records: Records
    separator: str
    longest: int
    quote: str = '"'

    def blocks(self, texts: Iterable[bytes]) -> Iterator[Block]:
        """The records of a text that comes in pieces. How it was cut into pieces changes nothing."""
        begun, place = b"", Place.START  # of a record whose end has not come yet
        for piece in texts:
            ends, place = self.ends(piece, place)
            cut = int(ends[-1]) if len(ends) else 0
            if cut:
                yield self._shorten(Block(begun + piece[:cut], ends + len(begun)))
                begun = b""
            begun = (begun + piece[cut:])[: self.longest + 1]  # a byte more than is kept tells that there were more
        if begun:
            last = self._end_record(begun)
            yield Block(last, np.array([len(last)], dtype=np.int64))

    def ends(self, text: bytes, place: Place = Place.START) -> tuple[Integers, Place]:
        """The position after each record that ends in the text, and where the text leaves off."""
        if self.records is Records.QUOTED:
            return record_ends(text, place, self.separator, self.quote)
        return line_ends(text), Place.START

    def _shorten(self, block: Block) -> Block:
        lengths = np.diff(block.ends, prepend=0)
        if lengths.max() <= self.longest + 1:
            return block
        spans = zip((block.ends - lengths).tolist(), block.ends.tolist(), strict=True)
        kept = [self._end_record(block.text[start : end - 1]) for start, end in spans]
        return Block(b"".join(kept), np.cumsum([len(record) for record in kept]))

    def _end_record(self, record: bytes) -> bytes:
        """What is kept of a record, closed, with a newline. No character is cut in two."""
        kept = record[: self.longest].decode("utf-8", "ignore").encode()
        _, place = self.ends(kept)
        return kept + (self.quote.encode() if place is Place.QUOTED else b"") + b"\n"


# ---- Records to columns of strings: by Arrow's parser where it agrees with the rules, else by the rules.


_FEW: Final = 16  # records that are not worth another try of the fast parser


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CellParser:
    """The rules that turn one record into `width` cells, each a text or NULL: a function of that record alone.

    A field that begins with a quote is what stands up to the next single quote, each doubled quote halved, and then
    what follows up to the separator; without a closing quote it is the rest of the record. Any other field is taken as
    it is. Unquoted fields that are empty, or among `nulls`, are NULL. Cells that are missing are NULL; fields beyond
    `width` are dropped.

    >>> CellParser(width=3, separator=",").cells(b'a,"b ""c"", d"')
    [b'a', b'b "c", d', None]
    >>> CellParser(width=2, separator=",").cells(b'"",,3')
    [b'', None]
    """

    width: int
    separator: str
    nulls: frozenset[bytes] = frozenset()
    quote: str = '"'
    expected: tuple[tuple[int, pa.DataType], ...] = ()  # of some columns: a type that cells may come in

    def fields(self, record: bytes) -> Iterator[bytes | None]:
        """All fields of one record, which has no newline at its end."""
        quote = self.quote.encode()
        for field in _field_pattern(self.separator, self.quote).finditer(record):
            quoted, after, bare = field.groups()
            if quoted is not None:
                yield quoted.replace(quote + quote, quote) + after
            else:
                yield None if bare == b"" or bare in self.nulls else bare

    def cells(self, record: bytes) -> list[bytes | None]:
        """The first `width` fields of one record, and NULL for those that are missing."""
        found = list(islice(self.fields(record), self.width))
        return found + [None] * (self.width - len(found))

    def columns(self, block: Block, positions: list[int]) -> list[pa.Array]:
        """The columns at these positions, for all records of the block (valid UTF-8).

        Arrow's parser reads what is regular, `cells` the rest. Both give the same: where Arrow may differ, its result
        is not used. Where all cells are what is expected of them, they come so: Arrow reads no text as a number that
        `read_numbers` reads otherwise.
        """
        arrays = self._fast(block, positions, dict(self.expected)) if self.expected else None
        arrays = self._fast(block, positions, {}) if arrays is None else arrays
        if arrays is not None:
            return arrays
        regular = looks_regular(block, self.width, self.separator, self.quote)
        parts = [self._halve(block.where(regular), positions), self._slow(block.where(~regular), positions)]
        order = np.argsort(np.concatenate([np.flatnonzero(regular), np.flatnonzero(~regular)]))
        return [pa.concat_arrays(pair).take(pa.array(order)) for pair in zip(*parts, strict=True)]

    def _halve(self, block: Block, positions: list[int]) -> list[pa.Array]:
        """As `columns`, by halving the block around an irregular record until few are left."""
        arrays = self._fast(block, positions, {})
        if arrays is not None:
            return arrays
        if len(block.ends) <= _FEW:
            return self._slow(block, positions)
        halves = [self._halve(half, positions) for half in block.halves()]
        return [pa.concat_arrays(pair) for pair in zip(*halves, strict=True)]

    def _slow(self, block: Block, positions: list[int]) -> list[pa.Array]:
        rows = [self.cells(record) for record in block.records()]
        return [pa.array([row[i] for row in rows], pa.string()) for i in positions]

    def _suits_arrow(self, block: Block) -> bool:
        """Whether Arrow's parser, if it finds as many rows as there are records, finds what `cells` does.

        It takes a lone carriage return for a newline, drops a byte-order mark at its beginning, and closes an open
        quote at its end after the newline: there must be none of these. A quote that a line leaves open lets it run on
        over the next ones, and then it finds fewer rows.
        """
        text = block.text
        lone_return = b"\r" in text and text.count(b"\r") != text.count(b"\r\n")
        return (
            not lone_return
            and not text.startswith(BOM_UTF8)
            and (record_ends(block.last, Place.START, self.separator, self.quote)[1] is Place.START)
        )

    def _fast(self, block: Block, positions: list[int], types: Mapping[int, pa.DataType]) -> list[pa.Array] | None:
        """Arrow's result if it is sure to be that of `cells`, else None."""
        if not self._suits_arrow(block):
            return None
        text = pa.py_buffer(block.text)
        names = [str(i) for i in range(self.width)]
        try:
            table = pyarrow.csv.read_csv(
                pa.BufferReader(text),
                read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=text.size, use_threads=False),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=self.separator, quote_char=self.quote or False, ignore_empty_lines=False
                ),
                convert_options=self._conversion({names[i]: types.get(i, pa.string()) for i in positions}),
            )
        except pa.ArrowInvalid:  # a ragged record, or a cell that is not as expected
            return None
        return [column.combine_chunks() for column in table.columns] if len(table) == len(block.ends) else None

    def _conversion(self, types: dict[str, pa.DataType]) -> pyarrow.csv.ConvertOptions:
        return pyarrow.csv.ConvertOptions(
            include_columns=list(types),
            column_types=types,
            check_utf8=False,  # it was made so
            null_values=["", *sorted(text.decode() for text in self.nulls)],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )


@functools.cache
def _field_pattern(separator: str, quote: str) -> re.Pattern[bytes]:
    """A field and the separator before it. Possessive: no input makes it try twice."""
    comma = re.escape(separator)
    bare = rf"([^{comma}]*+)"
    quoted = rf"{quote}((?:[^{quote}]++|{quote}{quote})*+){quote}?+{bare}" if quote else r"(?!)()()"  # none: no match
    return re.compile(rf"(?:\A|{comma})(?:{quoted}|{bare})".encode())


def looks_regular(block: Block, width: int, separator: str, quote: str = '"') -> Flags:
    r"""Which records look as if they had `width` fields: a guess that decides about speed, and about nothing else.

    >>> text = b'1,2\n1,2,3\n1,"2,3"\r\n1,"2\n'
    >>> looks_regular(Block(text, line_ends(text)), 2, ",").tolist()
    [True, False, True, False]
    """
    text = np.frombuffer(block.text, dtype=np.uint8)
    starts = np.concatenate([[0], block.ends[:-1]])
    marks = text == ord(quote) if quote else np.zeros(len(text), dtype=bool)
    quotes = np.concatenate([[0], marks.cumsum(dtype=np.int32)])  # before each position
    commas = np.flatnonzero(text == ord(separator))
    record = np.repeat(np.arange(len(starts), dtype=np.int32), block.ends - starts)[commas]
    outside = (quotes[commas] - quotes[starts][record]) % 2 == 0
    fields = 1 + np.bincount(record[outside], minlength=len(block.ends))
    returns = np.add.reduceat(text == ord("\r"), starts, dtype=np.int64) - (text[block.ends - 2] == ord("\r"))
    regular: Flags = (fields == width) & ((quotes[block.ends] - quotes[starts]) % 2 == 0) & (returns == 0)
    return regular


# ---- How a CSV file is written: all of it declared, none of it guessed.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CsvFormat:
    r"""The dialect of a CSV file. Nothing in it is inferred from the rows.

    `separator` is a comma, or a tab in a .tsv file, unless given. A field that begins with a double quote ends at the
    next one; a doubled quote within it is a quote. `quote` may be a single quote instead, or "" where
    nothing is quoted and a quote is a character like others. `names` are the columns of a file that has no header line.
    `nulls` are texts that mean NULL when they stand unquoted, besides the empty one.

    `records` says where a record ends: at a newline outside quotes, or at every newline. Of a record with more than
    `longest_record` bytes, in UTF-8, the rest is dropped; it stays one record.

    `expected` are columns of which it is known what their cells will be read as: numbers (float64) or labels (a
    dictionary of texts). Where all cells of a block are such, they come so, and no text is made of them.

    >>> CsvFormat(separator=";", nulls=("NA", "?"), encoding="latin-1").separator
    ';'
    """

    separator: str | None = None
    quote: str = '"'
    records: Records = Records.QUOTED
    nulls: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None
    encoding: str = "utf-8"
    longest_record: int = 2**20
    expected: tuple[tuple[str, pa.DataType], ...] = ()

    @classmethod
    def of(cls, written: Written) -> "CsvFormat":
        """The format that a schema declares."""
        return cls(
            separator=written.separator,
            quote='"' if written.quote is None else written.quote,
            records=written.records or Records.QUOTED,
            nulls=written.nulls or (),
            names=written.names,
            encoding=written.encoding or "utf-8",
        )

    def __post_init__(self) -> None:
        for _, message in cell_problems(self.separator, self.quote, self.encoding):
            raise ParameterError(f"CsvFormat: {message}")
        if self.records not in tuple(Records):
            raise ParameterError(f"CsvFormat: records must be {' or '.join(Records)}, got {self.records!r}.")
        object.__setattr__(self, "records", Records(self.records))
        if not 2**8 <= self.longest_record <= 2**24:
            raise ParameterError(
                f"CsvFormat: longest_record must be from 2^8 to 2^24 bytes, got {self.longest_record!r}."
            )
        if self.names is not None and len(set(self.names)) != max(1, len(self.names)):
            raise ParameterError(f"CsvFormat: names must be distinct, at least one, got {self.names!r}.")


# ---- One CSV file as a source.


BLOCK_BYTES: Final = 2**20  # read at a time
LOST: Final = "\ufffd"  # what a byte becomes that means nothing in the declared encoding
OTHER_SEPARATORS: Final = (";", "\t", "|", ",")
"""What parts the cells of files whose first line is one cell, most likely."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class CsvFile(FileSource):
    """A CSV file, plain or compressed with gzip: every cell a string, every record a row.

    The first record names the columns, unless `format.names` does; it is public. No record below it can raise: one with
    too few fields ends in NULLs, one with too many loses the rest, an empty one is a row of NULLs.
    """

    header: tuple[str, ...]
    format: CsvFormat

    @classmethod
    def open(cls, path: Path, format: CsvFormat, *, batch_rows: int) -> "CsvFile":
        """Read the header; no row is looked at."""
        stamp = FileStamp.of(path)
        try:
            with _stream(path) as stream:
                names = format.names or _header(stream, path, format)
        except (OSError, EOFError):
            raise SourceError(
                f"CSV file {path} can't be opened: it may not be read, or is damaged. Save it again."
            ) from None
        return cls(path=path, stamp=stamp, header=names, format=format, batch_rows=batch_rows)

    def names(self) -> tuple[str, ...]:
        return self.header

    def declared_schema(self) -> None:
        return None

    def describe(self) -> str:
        return f"CSV file {self.path}"

    def records(self) -> Records:
        return self.format.records

    def other_separator(self) -> str | None:
        """The sign that seems to part the cells of its first line, which is public, where that is one cell now."""
        return next((sign for sign in OTHER_SEPARATORS if len(self.header) == 1 and sign in self.header[0]), None)

    def hint(self) -> str:
        """What its first line says about a column that is not found in it."""
        other, said = self.other_separator(), ""
        if other is not None:
            name = "a tab" if other == "\t" else f"{other!r}"
            said += f" Its first line is one cell with {name} in it: give --separator, or [source] separator."
        if self.header[0].lstrip().lower().startswith(("<!doctype", "<html", "<?xml")):
            said += " Its first line is that of a web page: download the table itself."
        if any(LOST in name for name in self.header):
            said += f" Its first line is not in {self.format.encoding}: give --encoding, or [source] encoding."
        return said

    def _parts(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        positions, parser = [self.header.index(name) for name in columns], self.parser

        def cells(block: Block) -> tuple[pa.RecordBatch]:
            return (pa.RecordBatch.from_arrays(parser.columns(block, positions), names=list(columns)),)

        return (partial(cells, block) for block in self.blocks())

    @property
    def parser(self) -> CellParser:
        return CellParser(
            width=len(self.header),
            separator=_separator(self.path, self.format),
            nulls=frozenset(text.encode() for text in self.format.nulls),
            quote=self.format.quote,
            expected=tuple(
                (self.header.index(name), kind) for name, kind in self.format.expected if name in self.header
            ),
        )

    def blocks(self) -> Iterator[Block]:
        """Its records below the header, as they stand in it: private."""
        with _stream(self.path) as stream:
            texts = decode_stream(stream, size=BLOCK_BYTES, encoding=self.format.encoding)
            blocks = _reader(self.path, self.format).blocks(texts)
            if self.format.names is None:
                yield from (first.without_first() for first in islice(blocks, 1) if len(first.ends) > 1)
            yield from blocks

    def raw(self) -> Iterator[bytes]:
        """Its bytes, decompressed: private."""
        with _stream(self.path) as stream:
            while piece := stream.read(BLOCK_BYTES):
                yield piece


@contextmanager
def _stream(path: Path) -> Iterator[BufferedIOBase]:
    """The file after its byte-order mark, decompressed."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            if stream.read(len(BOM_UTF8)) != BOM_UTF8:
                stream.seek(0)
            yield stream
    except zlib.error:
        raise EOFError from None


def _header(stream: BufferedIOBase, path: Path, csv: CsvFormat) -> tuple[str, ...]:
    raw, reader = stream.read(csv.longest_record + 1), _reader(path, csv)
    if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise SourceError(f"CSV file {path} is in UTF-16. Convert it: iconv -f UTF-16 -t UTF-8.")
    text = raw.decode(csv.encoding, "replace").encode()
    ends, _ = reader.ends(text)  # of the first record, and of others that are not looked at
    record = (text[: ends[0] - 1] if len(ends) else text).removesuffix(b"\r")
    if not raw:
        raise SourceError(f"CSV file {path} is empty. Check its name, or save it again.")
    if not record:
        raise SourceError(
            f"CSV file {path} must begin with a line of column names, but its first line is empty. "
            "Remove it; where there is no header, give --names."
        )
    if record_ends(record, Place.START, reader.separator, reader.quote)[1] is Place.QUOTED:
        raise SourceError(f"CSV file {path}: a quote in the header is never closed.")
    if record.count(b"\r") != record.count(b"\r\n") or (not len(ends) and len(raw) > csv.longest_record):
        raise SourceError(f"CSV file {path}: the first line is too long, or its lines end with a carriage return only.")
    parser = CellParser(width=0, separator=reader.separator, quote=reader.quote)
    return tuple((name or b"").decode() for name in parser.fields(record))


def _reader(path: Path, csv: CsvFormat) -> RecordReader:
    return RecordReader(
        records=csv.records, separator=_separator(path, csv), longest=csv.longest_record, quote=csv.quote
    )


def _separator(path: Path, csv: CsvFormat) -> str:
    return csv.separator or ("\t" if ".tsv" in path.suffixes[-2:] else ",")
