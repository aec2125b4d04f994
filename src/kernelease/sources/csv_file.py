"""One CSV file as a source, written as it is declared."""

import gzip
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import BufferedIOBase
from itertools import islice
from pathlib import Path
from typing import Final, final

import pyarrow as pa

from kernelease.errors import ParameterError, SourceError
from kernelease.sources.csv_records import Block, CellParser, Place, RecordReader, decoded, record_ends
from kernelease.sources.source import FileSource, FileStamp, Piece
from kernelease.table.written import ENCODINGS, QUOTES, Records, Written, canonical_encoding

# --------------------
# How a CSV file is written: all of it declared, none of it guessed.


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
        if self.separator is not None and not _is_separator(self.separator):
            raise ParameterError(
                f"CsvFormat: separator must be a tab or a printable ASCII character but a quote, "
                f"got {self.separator!r}."
            )
        if self.quote not in QUOTES or self.quote == self.separator:
            raise ParameterError(
                f"CsvFormat: quote must be a double quote, ' or empty, and not the separator, got {self.quote!r}."
            )
        if canonical_encoding(self.encoding) not in ENCODINGS:
            known = ", ".join(sorted(ENCODINGS))
            raise ParameterError(
                f"CsvFormat: encoding must be one of {known}, got {self.encoding!r}. Convert the file to UTF-8."
            )
        if self.records not in tuple(Records):
            raise ParameterError(f"CsvFormat: records must be {' or '.join(Records)}, got {self.records!r}.")
        object.__setattr__(self, "records", Records(self.records))
        if not 2**8 <= self.longest_record <= 2**24:
            raise ParameterError(
                f"CsvFormat: longest_record must be from 2^8 to 2^24 bytes, got {self.longest_record!r}."
            )
        if self.names is not None and len(set(self.names)) != max(1, len(self.names)):
            raise ParameterError(f"CsvFormat: names must be distinct, at least one, got {self.names!r}.")


def _is_separator(text: str) -> bool:
    return len(text) == 1 and text.isascii() and (text.isprintable() or text == "\t") and text != '"'


# --------------------
# One CSV file as a source.


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
        """The rules that make cells of its records."""
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
            texts = decoded(stream, size=BLOCK_BYTES, encoding=self.format.encoding)
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
