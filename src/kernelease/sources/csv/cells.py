"""Records as columns of strings: Arrow's parser where it agrees with the rules, the rules themselves elsewhere."""

import functools
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, final

import numpy as np
import pyarrow as pa
import pyarrow.csv

from kernelease.sources.csv.block import Block, Flags
from kernelease.sources.csv.quotes import Place, record_ends

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
        parts = [
            self._halved(block.where(regular), positions),
            self._slow(block.where(~regular), positions),
        ]
        order = np.argsort(np.concatenate([np.flatnonzero(regular), np.flatnonzero(~regular)]))
        return [pa.concat_arrays(pair).take(pa.array(order)) for pair in zip(*parts, strict=True)]

    def _halved(self, block: Block, positions: list[int]) -> list[pa.Array]:
        """As `columns`, by halving the block around an irregular record until few are left."""
        arrays = self._fast(block, positions, {})
        if arrays is not None:
            return arrays
        if len(block.ends) <= _FEW:
            return self._slow(block, positions)
        halves = [self._halved(half, positions) for half in block.halves()]
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
        return not lone_return and not text.startswith(BOM_UTF8) and self._is_closed(block.last)

    def _is_closed(self, record: bytes) -> bool:
        """Whether no quoted field of a record is left open."""
        return record_ends(record, Place.START, self.separator, self.quote)[1] is Place.START

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

    >>> looks_regular(Block.of_lines(b'1,2\n1,2,3\n1,"2,3"\r\n1,"2\n'), 2, ",").tolist()
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
