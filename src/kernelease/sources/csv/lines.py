"""A stream of bytes as blocks of whole lines, and those as blocks of whole records."""

import functools
import itertools
import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Protocol, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Integers

Flags: TypeAlias = NDArray[np.bool_]


class Readable(Protocol):
    """What a file, plain or compressed, has to offer."""

    def read(self, size: int, /) -> bytes: ...


@final
@dataclass(frozen=True, slots=True)
class Block:
    """Whole records, each with the newline that ends it. `ends[i]` is the position after record i."""

    text: bytes
    ends: Integers

    @classmethod
    def of_lines(cls, text: bytes) -> "Block":
        r"""Every line a record.

        >>> Block.of_lines(b"a,b\n\nc\n").ends.tolist()
        [4, 5, 7]
        """
        return cls(text, np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")) + 1)

    def records(self) -> Iterator[bytes]:
        """The records without the newline, or carriage return and newline, that ends them."""
        start = 0
        for end in self.ends.tolist():
            yield self.text[start : end - 1].removesuffix(b"\r")
            start = end

    def last_is_closed(self, separator: str) -> bool:
        """Whether no quoted field of the last record is left open. False if there is no record."""
        start = int(self.ends[-2]) if len(self.ends) > 1 else 0
        return record_pattern(separator).fullmatch(self.text, start) is not None

    def where(self, chosen: Flags) -> "Block":
        """Some of the records."""
        lengths = np.diff(self.ends, prepend=0)
        text = np.frombuffer(self.text, dtype=np.uint8)[np.repeat(chosen, lengths)]
        return Block(text.tobytes(), lengths[chosen].cumsum())

    def halves(self) -> tuple["Block", "Block"]:
        """The first and the second half of the records."""
        middle = len(self.ends) // 2
        cut = int(self.ends[middle - 1])
        return Block(self.text[:cut], self.ends[:middle]), Block(self.text[cut:], self.ends[middle:] - cut)


def line_blocks(stream: Readable, *, size: int, longest: int) -> Iterator[bytes]:
    """The stream in pieces of about `size` bytes that end with a newline; a line beyond `longest` bytes is cut there.

    A line ends at its newline. The last one may lack it. Memory is bounded by `size` + `longest`, whatever comes.
    """
    begun = b""  # of a line whose end has not come yet
    while piece := stream.read(size):
        cut = piece.rfind(b"\n") + 1
        if cut:
            yield _shortened(begun + piece[:cut], longest)
            begun = b""
        begun = (begun + piece[cut:])[:longest]
    if begun:
        yield begun + b"\n"


def _shortened(block: bytes, longest: int) -> bytes:
    ends = Block.of_lines(block).ends
    if np.diff(ends, prepend=0).max() <= longest + 1:
        return block
    return b"".join(line[:longest] + b"\n" for line in block[:-1].split(b"\n"))


def record_blocks(blocks: Iterable[bytes], *, separator: str, longest: int) -> Iterator[Block]:
    """Blocks of lines as blocks of records, in which a quoted field may hold newlines.

    A record that is not closed within `longest` bytes, or by the end of the file, is a lone quote: its first line is a
    record of its own, and the next line begins a new one. How the file was cut into blocks changes nothing.
    """
    record = record_pattern(separator)
    rest = b""
    for block in blocks:
        rest = yield from _take_records(rest + block, record, longest, final=False)
    yield from _take_records(rest, record, longest, final=True)


def _take_records(
    text: bytes, record: re.Pattern[bytes], longest: int, *, final: bool
) -> Generator[Block, None, bytes]:
    """Yield the records whose end is certain; return what is left.

    Lone quotes come in blocks apart: a parser that does not know about them would join their lines to the next ones.
    """
    if b'"' not in text:
        if text:
            yield Block.of_lines(text)
        return b""
    start = 0
    for _, group in itertools.groupby(_ends(text, record, longest, final), key=itemgetter(1)):
        ends = np.array([end for end, _ in group], dtype=np.int64)
        yield Block(text[start : ends[-1]], ends - start)
        start = int(ends[-1])
    return text[start:]


def _ends(text: bytes, record: re.Pattern[bytes], longest: int, final: bool) -> Iterator[tuple[int, bool]]:
    """Where each record ends, and whether it is whole; else it is the line of a lone quote."""
    position = 0
    while position < len(text):
        match = record.match(text, position)
        whole = match is not None and match.end() - position <= longest + 1
        if match is None and not final and len(text) - position <= longest:
            return
        position = match.end() if match is not None and whole else text.index(b"\n", position) + 1
        yield position, whole


@functools.cache
def record_pattern(separator: str) -> re.Pattern[bytes]:
    """A record up to its newline, every quoted field in it closed. Possessive: no input makes it try twice."""
    comma = re.escape(separator)
    field = rf'(?:"(?:[^"]++|"")*+"[^{comma}\n]*+|[^"{comma}\n][^{comma}\n]*+|)'
    return re.compile(rf"{field}(?:{comma}{field})*+\n".encode())
