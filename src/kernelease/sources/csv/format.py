"""How a CSV file is written: all of it declared, none of it guessed."""

from dataclasses import dataclass
from typing import final

import pyarrow as pa

from kernelease.errors import ParameterError
from kernelease.table.records import Records
from kernelease.table.written import ENCODINGS, QUOTES, Written, canonical_encoding


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
