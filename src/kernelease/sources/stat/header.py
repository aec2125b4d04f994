"""What a file of SPSS, Stata or SAS says about its columns, before any row is read."""

import codecs
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa

from kernelease.errors import SourceError
from kernelease.sources.paths import SAS, SPSS, STATA, kind_of
from kernelease.sources.sql import needs
from kernelease.sources.stat.clock import Clock, clock_of
from kernelease.table.dictionaries.described import Described
from kernelease.table.draft import type_word

_READERS: Final = {SPSS: "read_sav", STATA: "read_dta", SAS: "read_sas7bdat"}
_TRANSPORT: Final = ".xpt"
_TRANSPORT_RECORD = 80  # bytes: a SAS transport file has no count of rows, but is made of whole records
# Every byte is a character of latin-1 and comes back as that byte. So ReadStat decodes nothing, which it refuses to do
# for a whole file where one cell has a damaged byte, and each cell is decoded by itself.
_BYTES: Final = "LATIN1"
_WHOLE = re.compile(r"(?:F|N|COMMA|DOT)[0-9]+(?:\.0)?")  # SPSS: formats of numbers without decimals
_LONGEST_REMARK = 200  # characters: a line of labels that is still read


def pyreadstat() -> Any:
    """The reader, or a `SourceError` that names the extra."""
    try:
        import pyreadstat as reader
    except ImportError:
        raise needs("stat") from None
    return reader


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A column: its name, the bytes of that name as latin-1 has them, its declared type, and its value labels.

    Cells that the file declares to be missing (99 = refused) are NULL, as they are in its own software.
    """

    name: str
    raw: str
    type: pa.DataType
    clock: Clock | None
    measure: str
    labels: Mapping[Any, str]
    missing: tuple[Mapping[str, Any], ...]  # each from `lo` to `hi`
    elsewhere: bool = False  # Stata's strL: its texts lie apart, and pyreadstat raises for one that is damaged

    def array(self, cells: list[Any], encoding: str) -> pa.Array:
        """Cells as the file holds them, in Arrow. A label never takes the place of its code."""
        if pa.types.is_string(self.type):
            return pa.array([_text(cell, encoding) for cell in cells], pa.large_string())
        if self.clock is not None:
            return self.clock.read(np.array(cells, dtype=np.float64))
        return pa.array(cells, pa.float64())  # the file's own integers have at most 32 bits

    def described(self) -> Described:
        """As a code book says it: the codes that have labels are the values, the labels a remark."""
        codes = [code for code in self.labels if self._is_value(code)]
        if not codes or self.measure == "scale":
            return Described(type=type_word(self.type), nullable=True if self.missing else None)
        said = "; ".join(f"{_code(code)} = {self.labels[code]}" for code in codes)
        return Described(
            type="ordinal" if self.measure == "ordinal" else "category",
            values=_values(codes),
            nullable=True if self.missing else None,
            remark=said if len(said) <= _LONGEST_REMARK else f"{said[:_LONGEST_REMARK]}…",
        )

    def _is_value(self, code: Any) -> bool:
        """Whether a labelled code is a value of this column, and not one that stands for a missing one."""
        if isinstance(code, str) is not pa.types.is_string(self.type):
            return False  # Stata and SAS label missing values: .a, .b
        return not any(part["lo"] <= code <= part["hi"] for part in self.missing)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The columns of a file, the encoding of its texts, and the function that reads it."""

    path: Path
    software: str
    encoding: str
    variables: tuple[Variable, ...]
    reader: Callable[..., tuple[Any, Any]]

    @classmethod
    def read(cls, path: Path) -> "Header":
        """Names, formats, labels: all public, by the word of who has the file. No row is looked at."""
        software, library, transport = str(kind_of(path)), pyreadstat(), path.suffix.lower() == _TRANSPORT
        reader = getattr(library, "read_xport" if transport else _READERS[software])
        declared = {} if transport else {"user_missing": True}  # else the declarations of missing values are not told
        try:
            _, about = reader(path, metadataonly=True, **declared)
            _, raw = reader(path, metadataonly=True, encoding=_BYTES)
            whole = not transport or path.stat().st_size % _TRANSPORT_RECORD == 0
        except (library.ReadstatError, library.PyreadstatError, OSError, UnicodeError):
            raise SourceError(f"{path} is not a file of {software} that can be read.") from None
        if not whole:
            raise SourceError(f"{path} was cut off: a SAS transport file is made of records of 80 bytes.")
        pairs = zip(about.column_names, raw.column_names, strict=True)
        variables = tuple(_variable(software, about, name, bytes_) for name, bytes_ in pairs)
        encoding = _encoding(path, software, about.file_encoding)
        return cls(path=path, software=software, encoding=encoding, variables=variables, reader=reader)

    def cells(self, variables: tuple[Variable, ...], start: int, count: int) -> dict[str, pa.Array]:
        """The cells of some columns in `count` rows, fewer at the end of the file; `EOFError` if it is damaged."""
        library = pyreadstat()
        try:
            found, _ = self.reader(
                self.path,
                usecols=[variable.raw for variable in variables],
                row_offset=start,
                row_limit=count,
                encoding=_BYTES,
                disable_datetime_conversion=True,
                output_format="dict",
            )
        except (library.ReadstatError, library.PyreadstatError):
            raise EOFError from None
        return {variable.name: variable.array(found[variable.raw], self.encoding) for variable in variables}


def _variable(software: str, about: Any, name: str, raw: str) -> Variable:
    form = about.original_variable_types.get(name) or ""
    kind = about.readstat_variable_types[name]
    clock = None if kind == "string" else clock_of(software, form)
    return Variable(
        name=name,
        raw=raw,
        type=_type(kind, clock, whole=software == SPSS and _WHOLE.fullmatch(form) is not None),
        clock=clock,
        measure=about.variable_measure.get(name) or "unknown",
        labels=about.variable_value_labels.get(name) or {},
        missing=tuple(about.missing_ranges.get(name) or ()),
        elsewhere=software == STATA and kind == "string" and about.variable_storage_width.get(name) == 0,
    )


def _type(kind: str, clock: Clock | None, *, whole: bool) -> pa.DataType:
    if kind == "string":
        return pa.string()
    if clock is not None:
        return clock.type
    return pa.int64() if whole or kind.startswith("int") else pa.float64()


def _encoding(path: Path, software: str, declared: str | None) -> str:
    """The file's own, by its name in Python. Stata's is UTF-8 since its version 14, and Windows' before."""
    name = declared or ("cp1252" if software == STATA and not _is_stata_14(path) else "utf-8")
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise SourceError(f"{path} is in an encoding that is not known. Save it in UTF-8.") from None


def _is_stata_14(path: Path) -> bool:
    with path.open("rb") as file:
        release = re.search(rb"<release>([0-9]+)</release>", file.read(64))
    return release is not None and int(release[1]) >= 118


def _text(cell: str | None, encoding: str) -> str | None:
    """A text in the file's encoding; bytes that are not in it become U+FFFD. None for an empty one: it is missing."""
    return cell.encode("latin-1").decode(encoding, "replace") if cell else None


def _values(codes: list[Any]) -> tuple[Any, ...]:
    """Codes as a schema lists them: whole numbers if all are, else texts."""
    if all(isinstance(code, int | float) and float(code).is_integer() for code in codes):
        return tuple(int(code) for code in codes)
    return tuple(_code(code) for code in codes)


def _code(code: Any) -> str:
    return f"{code:g}" if isinstance(code, float) else str(code)
