"""One CSV file as a source."""

import gzip
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import Final, final

import pyarrow as pa

from kernelease.errors import SourceError
from kernelease.sources.csv.cells import CellParser
from kernelease.sources.csv.format import CsvFormat
from kernelease.sources.csv.lines import Block, line_blocks, record_blocks, record_pattern
from kernelease.sources.files import FileSource
from kernelease.sources.stamp import FileStamp

BLOCK_BYTES: Final = 2**20


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class CsvFile(FileSource):
    """A CSV file, plain or compressed with gzip: every cell a string, every line a row.

    The first line names the columns, unless `format.names` does; it is public. No line below it can raise: one with
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
            raise SourceError(f"CSV file {path} can't be opened: it may not be read, or is damaged.") from None
        return cls(path=path, stamp=stamp, header=names, format=format, batch_rows=batch_rows)

    def names(self) -> tuple[str, ...]:
        return self.header

    def declared_schema(self) -> None:
        return None

    def describe(self) -> str:
        return f"CSV file {self.path}"

    def _rows(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        positions = [self.header.index(name) for name in columns]
        parser = CellParser(
            width=len(self.header),
            separator=_separator(self.path, self.format),
            nulls=frozenset(text.encode() for text in self.format.nulls),
        )
        with _stream(self.path) as stream:
            if self.format.names is None:
                stream.readline(self.format.longest_line + 1)
            for block in self._blocks(stream, parser.separator):
                yield pa.RecordBatch.from_arrays(parser.columns(block, positions), names=list(columns))

    def _blocks(self, stream: BufferedIOBase, separator: str) -> Iterator[Block]:
        longest = self.format.longest_line
        lines = line_blocks(stream, size=BLOCK_BYTES, longest=longest)
        texts = (self.format.decode(block) for block in lines)
        if self.format.newlines_in_values:
            return record_blocks(texts, separator=separator, longest=longest)
        return (Block.of_lines(text) for text in texts)


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
    line, separator = stream.readline(csv.longest_line + 1), _separator(path, csv)
    text = csv.decode(line).removesuffix(b"\n").removesuffix(b"\r")
    if line.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise SourceError(f"CSV file {path} is in UTF-16. Convert it to UTF-8.")
    if not text:
        raise SourceError(f"CSV file {path} must begin with a line of column names, but its first line is empty.")
    if b"\r" in text or len(line) > csv.longest_line:
        raise SourceError(f"CSV file {path}: the first line is too long, or its lines end with a carriage return only.")
    if record_pattern(separator).fullmatch(text + b"\n") is None:
        raise SourceError(f"CSV file {path}: a quote in the header line is never closed.")
    parser = CellParser(width=0, separator=separator)
    return tuple((name or b"").decode() for name in parser.fields(text))


def _separator(path: Path, csv: CsvFormat) -> str:
    return csv.separator or ("\t" if ".tsv" in path.suffixes[-2:] else ",")
