"""How a source writes its rows: what a schema file lists under [source]."""

import codecs
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Any, Final, final

from kernelease.errors import ParameterError, SchemaError, nearest
from kernelease.table.parsing import DateFormat, Numerals

# ---- What one record of a CSV file is.


@unique
class Records(StrEnum):
    """Where a record of a CSV file ends: a declared choice, since the guarantee is for one record.

    `QUOTED` is RFC 4180: at a newline that stands outside double quotes. `LINES` is at every newline, whatever is
    quoted; the guarantee is then for each line of the file, and one person's comment of five lines is five of them.
    """

    QUOTED = "quoted"
    LINES = "lines"


# ---- The table [source].


# Encodings in which a comma, a quote and a newline are the bytes that they are in ASCII, whatever stands before them:
# a damaged byte then stays within its cell.
ENCODINGS: Final = frozenset(
    ["utf-8", *(f"iso8859-{part}" for part in (1, 2, 5, 7, 9, 15)), *(f"cp125{page}" for page in range(9)), "koi8-r"]
)
QUOTES: Final = ('"', "'", "")
_LISTS = ("names", "nulls", "marks", "dates")
OF_FILES: Final = ("records", "separator", "quote", "encoding", "names", "nulls")
"""The keys about files: all are for CSV files, `nulls` for workbooks too."""
OF_TEXTS: Final = ("decimal", "thousands", "marks", "dates")
"""The keys about texts, wherever they come from; but the numbers of a workbook are no texts."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    r"""How rows are written, as far as it is declared; None means the usual way, and is not written down.

    Of CSV files: `records` says where one ends, `separator` and `quote` part cells ("" quotes nothing), `encoding`
    makes characters of bytes, `names` are the columns of a file without a header line, and `nulls` are texts that mean
    NULL where they stand unquoted. Of texts from any source: `decimal` and `thousands` in numbers, `marks`
    around them, such as $ or %, and `dates`, the formats of dates that are not ISO 8601. Each cell is read by itself.

    >>> Written(separator=";", decimal=",", dates="%d.%m.%Y").to_dict()
    {'separator': ';', 'decimal': ',', 'dates': ['%d.%m.%Y']}
    """

    records: Records | None = None
    separator: str | None = None
    quote: str | None = None
    encoding: str | None = None
    names: tuple[str, ...] | None = None
    nulls: tuple[str, ...] | None = None
    decimal: str | None = None
    thousands: str | None = None
    marks: tuple[str, ...] | None = None
    dates: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for key in _LISTS:
            object.__setattr__(self, key, self._list(key))
        given = self._raw_field("records")
        if given is not None and given not in tuple(Records):
            hint = nearest(str(given), tuple(Records))
            raise source_error("records", f"records must be {' or '.join(Records)}, got {given!r}.{hint}")
        object.__setattr__(self, "records", None if given is None else Records(given))
        self._check_cells()
        self._check_texts()

    def _raw_field(self, key: str) -> Any:
        return getattr(self, key)

    def _list(self, key: str) -> tuple[str, ...] | None:
        """A list of texts; a text alone counts as a list of one."""
        given = self._raw_field(key)
        items = (given,) if isinstance(given, str) else given
        if items is not None and (not isinstance(items, list | tuple) or not all(isinstance(i, str) for i in items)):
            raise source_error(key, f"{key} must be a list of strings, got {given!r}.")
        return tuple(items) if items else None

    def _check_cells(self) -> None:
        for key, message in cell_problems(self.separator, self.quote, self.encoding):
            raise source_error(key, message)
        if self.names is not None and len(set(self.names)) < len(self.names):
            raise source_error("names", "names must be distinct: they are the columns of a file without a header line.")

    def _check_texts(self) -> None:
        try:
            _ = self.numerals
        except ParameterError as error:
            raise source_error(str(error).split()[0], str(error)) from None
        try:
            formats = self.formats
        except ParameterError as error:
            raise source_error("dates", str(error)) from None
        if len({item.shape for item in formats}) < len(formats):
            raise source_error("dates", "of two formats one reads the other's dates, day for month. Keep one of them.")

    @property
    def numerals(self) -> Numerals:
        return Numerals(decimal=self.decimal or ".", thousands=self.thousands, marks=self.marks or ())

    @property
    def formats(self) -> tuple[DateFormat, ...]:
        return tuple(DateFormat(text) for text in self.dates or ())

    @classmethod
    def from_dict(cls, data: object) -> "Written":
        """What a [source] table says, or a `SchemaError`."""
        if not isinstance(data, Mapping):
            raise SchemaError(f"source must be a table: [source], got {data!r}.", path=("source",))
        known = tuple(field.name for field in dataclasses.fields(cls))
        for key in data:
            if key not in known:
                hint = nearest(str(key), known)
                raise source_error(str(key), f"unknown key {key!r}; known are {', '.join(known)}.{hint}")
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """What is declared, as JSON and TOML can hold it."""
        return {key: list(v) if isinstance(v, tuple) else str(v) for key, v in self._declarations()}

    def _declarations(self) -> Iterator[tuple[str, Any]]:
        for field in dataclasses.fields(self):
            if (value := getattr(self, field.name)) is not None:
                yield field.name, value

    def join(self, other: "Written") -> "Written":
        """Both declarations as one, or a `SchemaError` where they contradict each other."""
        for key, asked in other._declarations():
            declared = getattr(self, key)
            if declared is not None and declared != asked:
                raise source_error(
                    key, f"{key} = {as_toml(declared)} is declared, but {as_toml(asked)} was asked for. Leave out one."
                )
        return dataclasses.replace(self, **dict(other._declarations()))


def source_error(key: str, message: str) -> SchemaError:
    """A `SchemaError` about one key of [source]."""
    return SchemaError(f"[source]: {message}", path=("source", key))


def reason_unheeded(key: str, source: str) -> str:
    """Why a key says nothing about a source, as the end of a sentence."""
    meant, has = (
        ("CSV files", "rows") if key in OF_FILES else ("numbers in texts", "numbers: make its texts numbers, too")
    )
    return f"is for {meant}, and {source} has {has}"


def as_toml(value: object) -> str:
    """A declared value as a schema file has it."""
    return str(list(value)) if isinstance(value, tuple) else f'"{value}"'


def cell_problems(separator: Any, quote: Any, encoding: Any) -> Iterator[tuple[str, str]]:
    """What is wrong with how the cells of a CSV file are said to be parted, quoted and encoded: the key, and why."""
    if separator is not None and not _is_separator(separator):
        yield (
            "separator",
            "separator must be a tab or a printable ASCII character but a quote, as in --separator ';', "
            f"got {separator!r}.",
        )
    if quote is not None and quote not in QUOTES:
        yield "quote", f"quote must be a double quote, ' or empty, for none, got {quote!r}."
    if quote and quote == separator:
        yield "quote", f"quote and separator must differ, got {quote!r} for both."
    if encoding is not None and canonical_encoding(encoding) not in ENCODINGS:
        known = ", ".join(sorted(ENCODINGS))
        yield "encoding", f"encoding must be one of {known}, got {encoding!r}. Convert the file to UTF-8."


def canonical_encoding(encoding: object) -> str:
    """The one name of an encoding that may have several; empty if there is none such."""
    try:
        return codecs.lookup(str(encoding)).name
    except LookupError:
        return ""


def _is_separator(text: object) -> bool:
    """Whether cells may be parted by it: a tab, or a printable ASCII character but a double quote."""
    return (
        isinstance(text, str)
        and len(text) == 1
        and text.isascii()
        and (text.isprintable() or text == "\t")
        and text != '"'
    )
