"""Some records of a CSV file, as they stand in it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Integers

Flags: TypeAlias = NDArray[np.bool_]


@final
@dataclass(frozen=True, slots=True)
class Block:
    """Whole records in UTF-8, each with the newline that ends it. `ends[i]` is the position after record i."""

    text: bytes
    ends: Integers

    @classmethod
    def of_lines(cls, text: bytes) -> "Block":
        r"""Every line a record.

        >>> Block.of_lines(b"a,b\n\nc\n").ends.tolist()
        [4, 5, 7]
        """
        return cls(text, line_ends(text))

    @property
    def last(self) -> bytes:
        """The last record, with its newline."""
        return self.text[int(self.ends[-2]) if len(self.ends) > 1 else 0 :]

    def records(self) -> Iterator[bytes]:
        """The records without the newline, or carriage return and newline, that ends them."""
        start = 0
        for end in self.ends.tolist():
            yield self.text[start : end - 1].removesuffix(b"\r")
            start = end

    def without_first(self) -> "Block":
        """All records but the first."""
        cut = int(self.ends[0])
        return Block(self.text[cut:], self.ends[1:] - cut)

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


def line_ends(text: bytes) -> Integers:
    r"""The position after each newline.

    >>> line_ends(b'a,"b\nc"\nd').tolist()
    [5, 8]
    """
    return np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")) + 1
