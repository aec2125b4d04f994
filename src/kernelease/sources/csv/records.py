"""A stream of bytes as blocks of whole records, in bounded memory."""

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from kernelease.arrays import Integers
from kernelease.sources.csv.block import Block, line_ends
from kernelease.sources.csv.quotes import Place, record_ends
from kernelease.table.records import Records


class Readable(Protocol):
    """What a file, plain or compressed, has to offer."""

    def read(self, size: int, /) -> bytes: ...


def decoded(stream: Readable, *, size: int, encoding: str) -> Iterator[bytes]:
    r"""The stream as UTF-8, in pieces of about `size` bytes that may be cut anywhere but within a character.

    Bytes that mean nothing in the encoding become U+FFFD. None of them is a quote, a separator or a newline, so that
    they stay in their cell.

    >>> import io
    >>> b"".join(decoded(io.BytesIO("é".encode() + b"\xff,1"), size=1, encoding="utf-8")).decode()
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
                yield self._shortened(Block(begun + piece[:cut], ends + len(begun)))
                begun = b""
            begun = (begun + piece[cut:])[: self.longest + 1]  # a byte more than is kept tells that there were more
        if begun:
            last = self._ended(begun)
            yield Block(last, np.array([len(last)], dtype=np.int64))

    def ends(self, text: bytes, place: Place = Place.START) -> tuple[Integers, Place]:
        """The position after each record that ends in the text, and where the text leaves off."""
        if self.records is Records.QUOTED:
            return record_ends(text, place, self.separator, self.quote)
        return line_ends(text), Place.START

    def _shortened(self, block: Block) -> Block:
        lengths = np.diff(block.ends, prepend=0)
        if lengths.max() <= self.longest + 1:
            return block
        spans = zip((block.ends - lengths).tolist(), block.ends.tolist(), strict=True)
        kept = [self._ended(block.text[start : end - 1]) for start, end in spans]
        return Block(b"".join(kept), np.cumsum([len(record) for record in kept]))

    def _ended(self, record: bytes) -> bytes:
        """What is kept of a record, closed, with a newline. No character is cut in two."""
        kept = record[: self.longest].decode("utf-8", "ignore").encode()
        _, place = self.ends(kept)
        return kept + (self.quote.encode() if place is Place.QUOTED else b"") + b"\n"
